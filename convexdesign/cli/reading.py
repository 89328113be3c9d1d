"""From a command's arguments to a DesignProblem."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from convexdesign.arguments import nearest
from convexdesign.cli.output import counted, say
from convexdesign.errors import InputError
from convexdesign.files import check_regular, is_file
from convexdesign.problem.kinds import COMMON, KINDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convexdesign.arms.read import LabelledVectors
    from convexdesign.cli.arguments import JudgedDesign, ProblemOptions
    from convexdesign.features import ModelSpec
    from convexdesign.matching import OffListError
    from convexdesign.problem import DesignProblem
    from convexdesign.problemfile import ProblemFile

__all__ = [
    "as_options",
    "find_problem",
    "options_advised",
    "options_given",
    "read_design",
    "read_judged",
    "read_matched",
    "read_per_arm",
    "read_problem",
    "read_stated",
]


# What is taken as existing_runs.
HELD = "existing_design"
# How the column is headed that is meant, in a file with several; otherwise like the argument.
USUAL_COLUMNS = {
    "noise_variance": ("variance", "noise_variance"),
    "existing_counts": ("count", "existing_counts"),
    "weights": ("weight", "weights"),
    "counts": ("count", "counts"),
    "min_counts": ("count", "min_counts"),
    "max_counts": ("count", "max_counts"),
}


def read_problem(
    stated: ProblemOptions, *, table: bool = False, more: OffListError | None = None, notes: bool = True
) -> DesignProblem:
    """What `read_stated` reads, of a list of arms; InputError for a problem over a region."""
    from convexdesign.problem.continuum import ContinuumProblem

    found: DesignProblem = read_stated(stated, table=table, more=more, notes=notes)
    if isinstance(found, ContinuumProblem):
        raise InputError(
            f"{stated.source} states a problem over a region; this command takes lists of arms. Such problems are for "
            "solve, round and verify --runs"
        )
    return found


def read_stated(
    stated: ProblemOptions, *, table: bool = False, more: OffListError | None = None, notes: bool = True
) -> Any:
    """The problem in a TOML file or the library, perhaps over a region, or built from a table of arms and the options.

    Options that the problem does not take, and options missing that it needs, raise InputError: nothing given is
    ever ignored. delimiter, decimal, encoding and header hold for every CSV file. table: the source can only be a table of
    arms. more: points that are arms too, behind those of the table. notes: whether to say what a table looks like.
    """
    if stated.source == "-":
        raise InputError("- is standard input, from which no problem and no arms are read; name a file")
    given = given_for_arms(stated)
    path = Path(stated.source)
    if exists(stated.source) and not is_file(path) and not path.is_dir():
        check_regular(path, "a problem file, or a table of arms (CSV or NPY)", None)
    if table or (is_file(path) and path.suffix.lower() != ".toml"):
        if stated.problem is None:
            raise InputError(f"{stated.source} holds arms only; say what to do with them, e.g. --problem xy-allocation")
        check_options(stated.problem, given)
        if stated.formula is not None and (stated.dialect.header is False or stated.dialect.names is not None):
            raise InputError("tables for a --formula begin with a line of names, and columns are called by them")
        with options_advised():
            found = _Tables(stated, more).problem(path, stated.problem, given)
        if stated.formula is None and notes:
            note_settings(found.stated.arms)
        return found
    if more is not None:
        raise InputError(
            f"--add-points needs a table of arms; {stated.source} states the whole problem: add the points to its arms"
        )
    extra = options_given(stated)
    if extra and path.is_dir():
        check_regular(path, "a table of arms (CSV or NPY)", None)
    if extra and (is_file(path) or not path.suffix):
        raise InputError(
            f"{', '.join(extra)} cannot be combined with {stated.source}, which states the whole problem; "
            "change the file, or give a table of arms (CSV or NPY)"
        )
    return find_problem(stated.source).problem()


def given_for_arms(stated: ProblemOptions) -> dict[str, Any]:
    """What was given of the options that tell about a table of arms, beyond kind, formula and dialect."""
    named = ("items", "targets", "theta", "threshold", "direction", "interest", "region", "matrix", *COMMON, HELD)
    return {name: getattr(stated, name) for name in named if getattr(stated, name) is not None}


def options_given(stated: ProblemOptions) -> list[str]:
    """The options given that only a table of arms can use."""
    extra = [name for name in ("problem", "formula", "arm_names") if getattr(stated, name) is not None]
    return [flag(name) for name in [*extra, *given_for_arms(stated)]]


def find_problem(source: str) -> ProblemFile:
    """The problem file at a path or, for a bare name without a file, in the library."""
    from convexdesign.problemfile import find, load_problem

    path = Path(source)
    if is_file(path):
        return load_problem(path)
    if exists(source) and (path.suffix or path.name != source):
        check_regular(path, "a problem file", None)
    if path.suffix or path.name != source:
        raise InputError(f"{source}: there is no such file; check the spelling and the folder")
    try:
        return load_problem(find(source))
    except InputError as error:
        raise InputError(f"there is no file {source}, and {error} (`convexdesign problems` lists them)") from None


def read_design(
    problem: DesignProblem, weights: Path | None, counts: Path | None, stated: ProblemOptions
) -> dict[str, Any]:
    """The design to judge, as the keyword `weights` or `counts`, from exactly one of two files."""
    if (weights is None) == (counts is None):
        raise InputError("give exactly one of --weights and --counts")
    name: Literal["weights", "counts"] = "counts" if weights is None else "weights"
    path = counts if weights is None else weights
    assert path is not None
    if lists_points(path, problem, stated):
        return read_matched(problem, path, stated, measure=name)
    with options_advised():
        return {name: _Tables(stated).per_arm(name, path, problem.n_arms, problem.arms.names)}


def lists_points(path: Path, problem: DesignProblem, stated: ProblemOptions) -> bool:
    """Whether a file lists points with how much of each: columns called as coordinates or factors of the arms are in it."""
    from convexdesign.arms.labels import default_names
    from convexdesign.matching.listing import LABELS, kind_of
    from convexdesign.tables.factors import first_line

    rows = problem.stated.arms
    settings = rows.settings
    columns = rows.columns or ()
    called = set(columns) if columns and not default_names(columns) else set()
    called |= set() if settings is None else set(rows.matrix.spec.factors)
    head = first_line(path, delimiter=stated.dialect.delimiter, encoding=stated.dialect.encoding)
    kinds = [kind_of(name) for name in head if name not in called]
    points = [name for name in head if name in called and name.lower() not in LABELS]
    return bool(points) and any(kind is not None for kind in kinds)


def read_judged(
    stated: ProblemOptions, judged: JudgedDesign, *, table: bool = False
) -> tuple[DesignProblem, dict[str, Any]]:
    """A problem, and the design of it in one of three files; with the design's own points among the arms, if wanted."""
    from convexdesign.cli.arguments import Measure
    from convexdesign.matching import OffListError

    problem = read_problem(stated, table=table)
    made_of = problem.stated.arms
    if judged.design is None and len(judged.files) == 1 and lists_points(judged.files[0], problem, stated):
        measure = Measure.counts if judged.weights is None else Measure.weights
        judged = replace(judged, weights=None, counts=None, design=judged.files[0], measure=measure)
    if judged.add_points and judged.design is None:
        raise InputError("--add-points is for the points of a --design; give one, or leave it out")
    try:
        return problem, design_given(problem, stated, judged, made_of)
    except OffListError as error:
        if not judged.add_points:
            raise
        problem = read_problem(stated, table=table, more=error, notes=False)
        say(f"note: {counted(error.points.shape[0], 'point')} of {judged.design} added to the arms of {stated.source}")
    return problem, design_given(problem, stated, judged, made_of)


def read_runs(stated: ProblemOptions, path: Path) -> tuple[DesignProblem, dict[str, Any]]:
    """A problem, and a run sheet."""
    from convexdesign.tables.factors import read_factors

    problem = read_problem(stated)
    table = read_factors(path, unique=False, **stated.dialect.text)
    sheet = {name.strip(): column for name, column in table.cells.items()}
    return problem, {"runs": sheet}


def design_given(
    problem: DesignProblem, stated: ProblemOptions, judged: JudgedDesign, made_of: LabelledVectors
) -> dict[str, Any]:
    """The design to judge, as the keyword `weights` or `counts`, from exactly one of three files."""
    if len(judged.files) != 1:
        raise InputError("give exactly one of --weights, --counts and --design")
    measure, normalise = judged.measure and judged.measure.value, judged.normalise
    if judged.design is not None:
        how: dict[str, Any] = {"column": judged.column, "measure": measure, "tol": judged.match_tol, "made_of": made_of}
        return read_matched(problem, judged.design, stated, normalise=normalise, **how)
    for name, said in (("column", judged.column), ("measure", measure)):
        if said is not None:
            raise InputError(f"--{name} says how to read a --design; give one, or leave it out")
    given = read_design(problem, judged.weights, judged.counts, stated)
    if judged.weights is None:
        return given
    return {"weights": scaled(given["weights"], judged.weights, normalise)}


# Weights whose sum is further from one than this are a mistake, not rounding.
SUM_TOLERANCE = 1e-6


def scaled(values: NDArray[np.float64], path: Path, normalise: bool) -> NDArray[np.float64]:
    """Weights that sum to 1, divided by their sum where that is wanted; InputError where it is needed."""
    import numpy as np

    total = float(values.sum())
    if normalise and total > 0:
        # What a solver left below zero is none; a weight that is negative stays so, and is named.
        kept = np.where((values < 0) & (values >= -SUM_TOLERANCE * total), 0.0, values)
        return np.asarray(kept / kept.sum())
    if total > 0 and abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(
            f"{path}: the weights sum to {total:.9g}, not 1; --normalise divides them by their sum, --counts takes whole "
            "numbers of measurements"
        )
    return values


def read_matched(
    problem: DesignProblem,
    path: Path,
    stated: ProblemOptions,
    *,
    column: str | None = None,
    measure: Literal["weights", "counts"] | None = None,
    tol: float = 1e-6,
    normalise: bool = False,
    made_of: LabelledVectors | None = None,
) -> dict[str, Any]:
    """The design that a file lists by points, settings or names, as the keyword `weights` or `counts`.

    made_of: the arms whose settings the file may list, where the problem's own are no longer made of settings alone.
    """
    from convexdesign.matching import match_design, read_listing

    listing = None
    with options_advised():
        if made_of is not None or problem.stated.arms.settings is not None:
            from convexdesign.cli.formulas import read_listed_settings

            listing = read_listed_settings(path, made_of or problem.stated.arms, stated.dialect.text)
        if listing is None:
            listing = read_listing(path, header=stated.dialect.header, **stated.dialect.text)
    found = match_design(problem, listing, column=column, measure=measure, tol=tol, normalise=normalise)
    return {"counts" if found.dtype.kind == "i" else "weights": found}


def read_per_arm(
    stated: ProblemOptions, name: str, text: str, problem: DesignProblem
) -> float | str | NDArray[np.float64]:
    """One number for all arms, a file with one an arm, or the name of a column of the settings."""
    settings = problem.rows.settings
    if settings is not None and text in settings.columns:
        return text
    with options_advised():
        return _Tables(stated).number_or_per_arm(name, text, problem.n_arms, problem.arms.names)


def check_options(kind: str, given: dict[str, Any]) -> None:
    """InputError where the kind is unknown, lacks an option it needs, or was given one it does not take."""
    if kind not in KINDS:
        close = nearest(kind, KINDS)
        hint = "" if close is None else f"did you mean {close}? "
        raise InputError(f"--problem {kind} is unknown; {hint}The kinds are {', '.join(KINDS)}")
    needs, takes = ([flag(name) for name in names] for names in (KINDS[kind].needs, KINDS[kind].takes))
    options = [flag(name) for name in given]
    missing = [option for option in needs if option not in options]
    if missing:
        raise InputError(f"--problem {kind} needs {' and '.join(missing)}")
    for option in options:
        if option not in (*needs, *takes, *map(flag, (*COMMON, HELD))):
            raise InputError(f"--problem {kind} takes no {option}; leave it out")


class _Tables:
    """Reads the files of one command, all CSV files in one dialect, factor settings by one formula."""

    def __init__(self, stated: ProblemOptions, more: OffListError | None = None):
        self.more = more
        self.dialect, self.text = stated.dialect, stated.dialect.text
        self.formula, self.arm_names = stated.formula, stated.arm_names
        self.spec: ModelSpec | None = None

    def problem(self, path: Path, kind: str, given: dict[str, Any]) -> DesignProblem:
        """The problem of the kind named over a table of arms, from the options given."""
        from convexdesign.tables.table import stored_array

        points: dict[str, Path] = {name: given[name] for name in ("items", "targets", "region") if name in given}
        tables = self.tables({"arms": path, **points})
        arms, arguments = self.columns_by_name(tables["arms"], given)
        arms = arms if self.more is None else with_points(arms, self.more)
        n, d = arms.n, arms.d
        arguments |= {name: tables[name] for name in points}
        for name, value in given.items():
            if name in arguments:
                continue
            if name == "matrix":
                arguments["M"] = self.rows(value)
            elif name == "prior_information":
                arguments[name] = self.rows(value)
            elif name in ("theta", "direction"):
                arguments[name] = self.vector(name, value, d, arms.columns)
            elif name == HELD:
                arguments["existing_runs"] = self.runs(value)
            elif name == "interest":
                arguments[name] = self.interest(value, arms.columns)
            elif name == "existing_counts":
                arguments[name] = self.per_arm(name, value, n, arms.names)
            elif name == "noise_variance" and arms.responses > 1 and (stored := stored_array(Path(value))) is not None:
                arguments[name] = stored
            elif name in COMMON and name != "n_new":
                arguments[name] = self.number_or_per_arm(name, value, n, arms.names, _columns_of(tables["arms"]))
            else:
                arguments[name] = value
        return KINDS[kind].constructor(arms, **arguments)

    def columns_by_name(self, arms: LabelledVectors, given: dict[str, Any]) -> tuple[LabelledVectors, dict[str, Any]]:
        """What options take from columns of the table of arms, and the arms without those among their coordinates."""
        import numpy as np

        from convexdesign.arms.read import LabelledVectors
        from convexdesign.problem.common import PER_ARM

        columns = _columns_of(arms)
        named = {name: str(given[name]) for name in PER_ARM if name in given and str(given[name]) in columns}
        if not named:
            return arms, {}
        settings = arms.settings
        if settings is None:
            places = {name: columns.index(column) for name, column in named.items()}
            left = [k for k in range(len(columns)) if k not in places.values()]
            if not left:
                raise InputError("every column of the table is taken by an option; none is left for the coordinates")
            values = np.ascontiguousarray(arms.values[:, left])
            kept = LabelledVectors(values, arms.names, tuple(columns[k] for k in left))
            return kept, {name: arms.values[:, k] for name, k in places.items()}
        for name, column in named.items():
            if settings[column].dtype.kind not in "fiu":
                raise InputError(f"{flag(name)} {column}: column {column!r} holds text, where numbers are needed")
        return arms, {name: settings[column].to_numpy() for name, column in named.items()}

    def runs(self, path: Path) -> Any:
        """A table of runs: settings where there is a formula, else vectors by the names of their columns, if these have any."""
        import pandas

        if self.formula is not None:
            from convexdesign.tables.factors import read_factors

            return pandas.DataFrame(dict(read_factors(path, **self.text, unique=False).columns))
        rows = self.rows(path)
        named = rows.columns is not None and rows.columns[0] != "x1"
        return pandas.DataFrame(rows.values, columns=list(rows.columns or ())) if named else rows.values

    def tables(self, paths: dict[str, Path]) -> dict[str, LabelledVectors]:
        """The tables of vectors: as they are, or the settings of factors taken through the formula."""
        if self.formula is None:
            return {name: self.rows(path) for name, path in paths.items()}
        from convexdesign.cli.formulas import read_settings

        self.spec, rows = read_settings(paths, self.formula, self.text, self.arm_names)
        return rows

    def rows(self, path: Path) -> LabelledVectors:
        from convexdesign.tables.table import read_rows

        return read_rows(path, **self.dialect.rows)

    def vector(self, name: str, text: str, d: int, columns: Sequence[str] | None) -> Any:
        """d numbers: written out with commas, by terms, or one row or one column of a file, perhaps with coordinates' names."""
        numbers = numbers_in(text)
        if numbers is None:
            by_terms = None if columns is None else _by_terms(text, columns)
            if by_terms is not None:
                return by_terms
            if not exists(text):
                terms = "" if columns is None else f" nor terms, of {', '.join(columns[:20])}"
                raise InputError(f"{flag(name)} {text}: neither a file nor numbers{terms or ' separated by commas'}")
            rows = self.rows(Path(text))
            if 1 not in rows.values.shape:
                raise InputError(
                    f"{flag(name)} {text}: one row or one column of numbers expected, found {rows.values.shape}"
                )
            return rows
        if len(numbers) != d:
            raise InputError(f"{flag(name)} has {len(numbers)} numbers; the arms have {d} coordinates")
        self.check_order(name, text)
        return numbers

    def check_order(self, name: str, text: str) -> None:
        """InputError for numbers in an order that two people would read in two ways: as written, or as the terms come."""
        if self.spec is not None and self.spec.reordered:
            terms = ", ".join(self.spec.columns)
            raise InputError(
                f"{flag(name)} {text}: the coordinates are {terms}, main effects before products, which is not the order of "
                f"the formula; say which by names, in a file with the first line {','.join(self.spec.columns)}"
            )

    def interest(self, text: str, columns: Sequence[str] | None) -> Any:
        """Coordinates by index or name, written out with commas, or a matrix of combinations from a file."""
        from convexdesign.arms.labels import places_of_term

        numbers = numbers_in(text)
        if numbers is None:
            named = [part.strip() for part in text.split(",")]
            if columns is not None and all(places_of_term(part, columns) for part in named):
                return named
            if not exists(text):
                known = "" if columns is None else f"; the columns are {', '.join(columns[:20])}"
                raise InputError(f"--interest {text}: neither a file nor indices nor names of columns{known}")
            return self.rows(Path(text))
        if not all(number.is_integer() for number in numbers):
            raise InputError(f"--interest {text}: indices are whole numbers, counted from 0")
        if self.spec is not None and self.spec.reordered:
            raise InputError(f"--interest {text}: give the names of terms, of {', '.join(self.spec.columns)}")
        return [int(number) for number in numbers]

    def number_or_per_arm(
        self, name: str, text: str, n: int, names: Sequence[str] | None, columns: Sequence[str] = ()
    ) -> float | NDArray[np.float64]:
        """One number for all arms, or a file with one an arm (in their order, or by name or index)."""
        numbers = numbers_in(text)
        if numbers is not None and len(numbers) == 1:
            return numbers[0]
        if not exists(text):
            known = f" nor a column of the table ({', '.join(columns[:20])})" if columns else ""
            raise InputError(f"{flag(name)} {text}: neither a number nor a file with one number an arm{known}")
        return self.per_arm(name, Path(text), n, names)

    def per_arm(self, name: str, path: Path, n: int, names: Sequence[str] | None) -> NDArray[np.float64]:
        """A file with one number an arm: no bound for arms that it leaves out, otherwise 0."""
        from convexdesign.tables import read_vector

        unlisted = {"max_weight": 1.0, "max_counts": 2.0**53}.get(name, 0.0)
        usual = USUAL_COLUMNS.get(name, (name,))
        return read_vector(
            path, n, names=names, usual=usual, unlisted=unlisted, header=self.dialect.header, **self.text
        )


def _columns_of(arms: LabelledVectors) -> list[str]:
    """The columns of the table of arms: settings and all that stands beside them, or named coordinates."""
    settings = arms.settings
    if settings is not None:
        return [str(name) for name in settings.columns]
    return [] if arms.columns is None or arms.columns[0] == "x1" or arms.responses > 1 else list(arms.columns)


def _by_terms(text: str, columns: Sequence[str]) -> list[float] | None:
    """Numbers (d,) of "term" or "term=1, other=-0.5", the other terms zero; None where the text says no terms."""
    from convexdesign.arms.labels import place_of_term

    numbers = [0.0] * len(columns)
    for part in text.split(","):
        term, equals, number = part.rpartition("=")
        place = place_of_term((term if equals else part).strip(), columns)
        try:
            value = float(number) if equals else 1.0
        except ValueError:
            return None
        if place is None:
            return None
        numbers[place] = value
    return numbers


# Factors have this many levels at most, and models this many factors, where a table is taken for one of settings.
MOST_LEVELS, MOST_FACTORS = 5, 12


def note_settings(arms: LabelledVectors) -> None:
    """A note where named columns of a few levels each, without a constant, look like factors: their model has no intercept."""
    import numpy as np

    columns, values = arms.columns, arms.values
    if columns is None or columns[0] == "x1" or arms.responses > 1 or not 2 <= arms.d <= MOST_FACTORS:
        return
    if arms.n > 4096 or np.isin(values, (0.0, 1.0)).all():  # indicators of what an arm is made of are coordinates
        return
    for column in np.asarray(values).T:
        levels, times = np.unique(column, return_counts=True)
        if not 2 <= levels.size <= MOST_LEVELS or times.min() < 2:
            return
    say(
        f"note: these look like factor settings, and are taken as coordinates: no intercept, no interactions. For a model of "
        f"them, say --formula '1 + {' + '.join(columns)}'"
    )


def with_points(arms: LabelledVectors, more: OffListError) -> LabelledVectors:
    """The arms and more points behind them, called as what they are where arms have names."""
    import numpy as np

    from convexdesign.arms.read import LabelledVectors

    if arms.responses > 1:
        raise InputError(f"--add-points: the arms have {arms.responses} responses each, which a point does not state")
    names = None if arms.names is None else (*arms.names, *more.names)
    return LabelledVectors(np.ascontiguousarray(np.vstack([arms.values, more.points])), names, arms.columns)


def exists(text: str) -> bool:
    """Whether there is anything at that path; False too for what can be no path."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def numbers_in(text: str) -> list[float] | None:
    """The numbers of "1, -2.5, 3e-4", or None where the text is anything else."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def flag(name: str) -> str:
    """The option that sets a constructor's argument."""
    return {"M": "--matrix"}.get(name, "--" + name.replace("_", "-"))


# ------------------------------------------------------------------ advice

SWITCH = re.compile(r"\b(header|names)=(True|False)")
VALUE = re.compile(r"\b(delimiter|decimal|encoding)=('[^']*')")
BARE = re.compile(r"\b(delimiter|decimal|encoding)=(?!=)")


def as_options(message: str) -> str:
    """names=True as --names, names=False as --no-names, decimal=',' as --decimal ','.

    >>> as_options("pass names=True if it names the rows, or decimal=',' (and header= otherwise)")
    "pass --names if it names the rows, or --decimal ',' (and --header or --no-header otherwise)"
    """
    message = message.replace(", features.model_matrix)", ")")
    message = SWITCH.sub(lambda found: f"--{'' if found[2] == 'True' else 'no-'}{found[1]}", message)
    message = BARE.sub(r"--\1", VALUE.sub(r"--\1 \2", message))
    return re.sub(r"\b(header|names)=(?!=)", r"--\1 or --no-\1", message)


@contextmanager
def options_advised() -> Iterator[None]:
    """Errors of what is read inside advise options."""
    try:
        yield
    except InputError as error:
        raise InputError(as_options(str(error))) from None
