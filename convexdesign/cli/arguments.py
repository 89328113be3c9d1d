"""The options that several commands share, each declared once; those that belong together make one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import partial, wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from convexdesign.cli.completion import choices, files_and_problems
from convexdesign.problem.kinds import KINDS

__all__ = [
    "Dialect",
    "JudgedDesign",
    "ProblemOptions",
    "about_problem",
    "about_tables",
    "argument",
    "for_kinds",
    "option",
    "parameters_of",
    "with_options",
]


def option(*flags: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """An option of a command, to be written behind its type in Annotated."""
    return typer.Option(*flags, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """An argument of a command that has no default."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, **more)


# Sections of the help, beside "Options".
ABOUT_PROBLEM = "What states the problem, of a table of arms"
ABOUT_TABLES = "How tables are written (found out where left out)"


def about_problem(*flags: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """An option that states the problem."""
    return option(*flags, help=help, metavar=metavar, rich_help_panel=ABOUT_PROBLEM, **more)


def about_tables(*flags: str, help: str, metavar: str | None = None) -> Any:
    """An option that says how tables are written."""
    return option(*flags, help=help, metavar=metavar, rich_help_panel=ABOUT_TABLES)


# ------------------------------------------------------------------ what a command is told beside its problem

AsJson = Annotated[bool, option("--json", help="Print one JSON document, also for errors, and nothing else.")]
Seed = Annotated[int, option("--seed", help="The same seed gives the same numbers.")]
Jobs = Annotated[int, option("--jobs", help="Processes to spread the runs over; -1 for all cores.")]
Progress = Annotated[bool, option("--progress/--no-progress", help="Bars on standard error, with the time left.")]
Watched = Annotated[
    bool | None,
    option("--progress/--no-progress", help="How far it is, on standard error; by default where that is a terminal."),
]
Delta = Annotated[float, option("--delta", help="The probability of error allowed.")]
BurnIn = Annotated[
    str,
    option(
        "--burn-in",
        help="Of h-rage: sharp, replicates, adaptive, paper or released.",
        autocompletion=choices("sharp", "replicates", "adaptive", "paper", "released"),
    ),
]
RewardRange = Annotated[
    tuple[float, float] | None,
    option(
        "--reward-range",
        metavar="LOW HIGH",
        help="Of --noise bernoulli: the two values of rewards, 0 and 1 if left out. Of --noise bounded: all lie between.",
    ),
]
Budget = Annotated[
    int | None, option("--budget", metavar="N", help="Of martingale: so many measurements, then the best guess.")
]
SmallestGap = Annotated[
    float | None,
    option(
        "--smallest-gap",
        metavar="NUMBER",
        help="Of martingale: the order of the smallest gap that matters, between items or from the threshold, in units of the "
        "rewards. Gaps of this order are found with fewer measurements; the promise holds whatever it is.",
    ),
]

# ------------------------------------------------------------------ designs that list their points


class Measure(StrEnum):
    """What the effort in a listed design is."""

    weights = "weights"
    counts = "counts"


@dataclass(frozen=True)
class JudgedDesign:
    """A design that somebody made, in one of three files, and how the points of a listed one are read."""

    weights: Annotated[
        Path | None, option("--weights", metavar="CSV", help="Proportions that sum to 1, one an arm.")
    ] = None
    counts: Annotated[
        Path | None, option("--counts", metavar="CSV", help="Whole numbers of measurements, one an arm.")
    ] = None
    design: Annotated[
        Path | None,
        option(
            "--design",
            metavar="CSV",
            help="A design of any program: points (or names of arms) with weights or counts, or one row a measurement.",
        ),
    ] = None
    column: Annotated[
        str | None, option("--column", metavar="NAME", help="The column of --design with weights or counts.")
    ] = None
    measure: Annotated[
        Measure | None, option("--measure", help="What that column holds, where its name does not say.")
    ] = None
    match_tol: Annotated[
        float, option("--match-tol", help="How far a point may be from its arm, as a share of each column's range.")
    ] = 1e-6
    add_points: Annotated[
        bool,
        option(
            "--add-points", help="Points of --design that are no arms become arms: whatever a vendor proposes counts."
        ),
    ] = False
    normalise: Annotated[
        bool, option("--normalise", help="Divide the weights by their sum, where they were rounded.")
    ] = False

    @property
    def files(self) -> list[Path]:
        """The files given: one, where the design is said once."""
        return [path for path in (self.weights, self.counts, self.design) if path is not None]


# ------------------------------------------------------------------ how tables are written

Delimiter = Annotated[
    str | None, about_tables("--delimiter", metavar="CHAR", help="What separates cells in CSV files.")
]
Decimal = Annotated[str | None, about_tables("--decimal", metavar="CHAR", help="The decimal mark in CSV files.")]


@dataclass(frozen=True)
class Dialect:
    """How tables are written; None is found out."""

    delimiter: Delimiter = None
    decimal: Decimal = None
    header: Annotated[
        bool | None, about_tables("--header/--no-header", help="Whether CSV files begin with a line of names.")
    ] = None
    names: Annotated[
        bool | None, about_tables("--names/--no-names", help="Whether the first column names the rows.")
    ] = None
    encoding: Annotated[
        str | None,
        about_tables("--encoding", metavar="NAME", help="How CSV files are written, if not in UTF-8: cp1252."),
    ] = None

    @property
    def text(self) -> dict[str, Any]:
        """How all CSV files are written, as arguments of `tables.read_table`."""
        return {"delimiter": self.delimiter, "decimal": self.decimal, "encoding": self.encoding}

    @property
    def rows(self) -> dict[str, Any]:
        """As arguments of `tables.table.read_rows`, for tables of vectors."""
        return {**self.text, "header": self.header, "names": self.names}


FOUND_OUT = Dialect()


# ------------------------------------------------------------------ what states a problem

NoiseVariance = Annotated[
    str | None,
    about_problem(
        "--noise-variance",
        metavar="CSV|NUMBER|COLUMN",
        help="Variance (not standard deviation) of one measurement: one number for all arms, a file with one an arm, or a "
        "column of the table. 1 if left out.",
    ),
]
Formula = Annotated[
    str | None,
    about_problem(
        "--formula",
        metavar="TERMS",
        help="The table holds factor settings, and this is the model: '1 + a + b + a:b + a**2', C(c) for categories. "
        "Items, targets and region are then settings of the same factors. Needs convexdesign[formula].",
    ),
]


def about_kind(kinds: Sequence[str]) -> Any:
    """The option that says what to do with a table of arms, of these kinds."""
    return about_problem(
        "--problem",
        metavar="KIND",
        help=f"What to do with a table of arms: {', '.join(kinds)}. With --help behind it, what applies to it alone.",
        autocompletion=choices(*kinds),
    )


@dataclass(frozen=True)
class ProblemOptions:
    """A problem file or a table of arms, and the options that say what to do with a table; None where not given."""

    source: Annotated[
        str,
        argument(
            "FILE",
            "A problem file (TOML), a name from `convexdesign problems`, or a table of arms (CSV or NPY, one arm "
            "a row), which needs --problem.",
            autocompletion=files_and_problems,
        ),
    ]
    problem: Annotated[str | None, about_kind(tuple(KINDS))] = None
    formula: Formula = None
    arm_names: Annotated[
        str | None,
        about_problem(
            "--arm-names", metavar="COLUMN", help="The column of settings that names the arms (with --formula)."
        ),
    ] = None
    items: Annotated[
        Path | None, about_problem("--items", metavar="CSV", help="Items, one a row; the arms themselves if left out.")
    ] = None
    targets: Annotated[
        Path | None, about_problem("--targets", metavar="CSV", help="Targets, one a row (for minimax).")
    ] = None
    theta: Annotated[
        str | None,
        about_problem(
            "--theta", metavar="CSV|a,b,...", help="The parameter, for the oracles: a file, numbers or TERM=NUMBER,..."
        ),
    ] = None
    threshold: Annotated[
        float | None, about_problem("--threshold", help="The threshold, for level-set-oracle, in units of the outcome.")
    ] = None
    direction: Annotated[
        str | None,
        about_problem(
            "--direction",
            metavar="CSV|a,b,...|TERM",
            help="The combination of theta to estimate, for c-optimal: a file, numbers, a term, or TERM=NUMBER,...",
        ),
    ] = None
    interest: Annotated[
        str | None,
        about_problem(
            "--interest",
            metavar="CSV|i,j,...",
            help="The parameters of interest, for ds-optimal: indices from 0, names of columns (or of terms), or a file "
            "with one combination a column.",
        ),
    ] = None
    region: Annotated[
        Path | None, about_problem("--region", metavar="CSV", help="Where to predict, one point a row, for i-optimal.")
    ] = None
    matrix: Annotated[
        Path | None, about_problem("--matrix", metavar="CSV", help="The matrix M of weights, for average-variance.")
    ] = None
    noise_variance: NoiseVariance = None
    costs: Annotated[
        str | None,
        about_problem(
            "--costs",
            metavar="CSV|NUMBER|COLUMN",
            help="The price of one measurement of each arm; the weights become shares of a budget.",
        ),
    ] = None
    min_weight: Annotated[
        str | None,
        about_problem(
            "--min-weight", metavar="CSV|NUMBER|COLUMN", help="Lower bounds on the weights; 0 for arms not in the file."
        ),
    ] = None
    max_weight: Annotated[
        str | None,
        about_problem(
            "--max-weight", metavar="CSV|NUMBER|COLUMN", help="Upper bounds on the weights; 1 for arms not in the file."
        ),
    ] = None
    existing_counts: Annotated[
        Path | None,
        about_problem(
            "--existing-counts",
            metavar="CSV|COLUMN",
            help="Measurements already made of each arm; the weights are those of the next --n-new.",
        ),
    ] = None
    existing_design: Annotated[
        Path | None,
        about_problem(
            "--existing-design",
            metavar="CSV",
            help="Or the runs already made, one row each (or with a column count), as settings or vectors, also off the list.",
        ),
    ] = None
    prior_information: Annotated[
        Path | None,
        about_problem(
            "--prior-information",
            metavar="CSV",
            help="Or the total information already held, a matrix with one row a coordinate; needs --n-new.",
        ),
    ] = None
    n_new: Annotated[
        float | None,
        about_problem("--n-new", metavar="N", help="How many measurements are planned (with --costs: the budget)."),
    ] = None
    dialect: Dialect = FOUND_OUT


def for_kinds(*kinds: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`with_options` for a command that takes problems of these kinds alone: help lists what applies to them."""
    return partial(with_options, kinds=kinds)


def with_options(command: Callable[..., None], kinds: Sequence[str] = tuple(KINDS)) -> Callable[..., None]:
    """Let a command take options that belong together as one value: a parameter whose type is a dataclass of them.

    On the command line, and in --help, they stand in its place.
    """
    groups = {name: kind for name, kind in get_type_hints(command).items() if is_dataclass(kind)}

    @wraps(command)
    def run(**given: Any) -> None:
        values = {name: _gathered(kind, given) for name, kind in groups.items()}
        command(**values, **given)

    # typer reads both; keyword-only, so that arguments without a default may come in any order.
    parameters = [
        p.replace(annotation=Annotated[str | None, about_kind(kinds)]) if p.name == "problem" else p
        for p in parameters_of(command)
    ]
    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.kinds = kinds  # type: ignore[attr-defined]
    del run.__wrapped__  # type: ignore[attr-defined]
    return run


def parameters_of(taken: Callable[..., Any]) -> Iterator[Parameter]:
    """The parameters of a command, or of a dataclass of options; those that are such a dataclass replaced by its own."""
    hints = get_type_hints(taken, include_extras=True)
    for parameter in signature(taken).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            yield from parameters_of(kind)  # type: ignore[arg-type]
        else:
            yield parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind)


def _gathered(kind: Any, given: dict[str, Any]) -> Any:
    """The dataclass of options, its fields taken out of what was given."""
    hints = get_type_hints(kind)
    return kind(
        **{
            field.name: _gathered(hints[field.name], given)
            if is_dataclass(hints[field.name])
            else given.pop(field.name)
            for field in fields(kind)
        }
    )
