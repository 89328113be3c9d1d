"""From a command's arguments to a DesignProblem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convexdesign.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convexdesign.problem import DesignProblem
    from convexdesign.problem.read import Rows
    from convexdesign.problemfile import ProblemFile

__all__ = ["find_problem", "read_problem"]


def read_problem(
    source: str,
    *,
    kind: str | None = None,
    items: Path | None = None,
    targets: Path | None = None,
    theta: str | None = None,
    threshold: float | None = None,
    noise_variance: str | None = None,
    direction: str | None = None,
    interest: str | None = None,
    region: Path | None = None,
    matrix: Path | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> DesignProblem:
    """The problem in a TOML file or the library, or built from a table of arms and the options.

    Options that the problem does not take, and options missing that it needs, raise InputError: nothing given is
    ever ignored. delimiter and decimal hold for every CSV file.
    """
    given: dict[str, Any] = {
        "items": items,
        "targets": targets,
        "theta": theta,
        "threshold": threshold,
        "noise_variance": noise_variance,
        "direction": direction,
        "interest": interest,
        "region": region,
        "M": matrix,
    }
    given = {name: value for name, value in given.items() if value is not None}
    path = Path(source)
    if path.is_file() and path.suffix.lower() != ".toml":
        if kind is None:
            raise InputError(f"{source} holds arms only; say what to do with them, e.g. --problem xy-allocation")
        check_options(kind, given)
        return _Tables(delimiter, decimal).problem(path, kind, given)
    extra = [flag(name) for name in (["problem"] if kind else []) + list(given)]
    if extra and (path.is_file() or not path.suffix):
        raise InputError(
            f"{', '.join(extra)} cannot be combined with {source}, which states the whole problem; change the file, "
            "or give a table of arms (CSV or NPY)"
        )
    return find_problem(source).problem()


def find_problem(source: str) -> ProblemFile:
    """The problem file at a path or, for a bare name without a file, in the library."""
    from convexdesign.problemfile import find, load_problem

    path = Path(source)
    if path.is_file():
        return load_problem(path)
    if path.suffix or path.name != source:
        raise InputError(f"{source}: there is no such file; check the spelling and the folder")
    try:
        return load_problem(find(source))
    except InputError as error:
        raise InputError(f"there is no file {source}, and {error} (`convexdesign problems` lists them)") from None


def check_options(kind: str, given: dict[str, Any]) -> None:
    """InputError where the kind is unknown, lacks an option it needs, or was given one it does not take."""
    from convexdesign.problemfile import KINDS

    if kind not in KINDS:
        from difflib import get_close_matches

        close = get_close_matches(kind, list(KINDS), n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(f"--problem {kind} is unknown; {hint}The kinds are {', '.join(KINDS)}")
    needs, takes = KINDS[kind].needs, KINDS[kind].takes
    missing = [flag(name) for name in needs if name not in given]
    if missing:
        raise InputError(f"--problem {kind} needs {' and '.join(missing)}")
    for name in given:
        if name not in (*needs, *takes, "noise_variance"):
            raise InputError(f"--problem {kind} takes no {flag(name)}; leave it out")


class _Tables:
    """Reads the files of one command, all CSV files in one dialect."""

    def __init__(self, delimiter: str | None, decimal: str | None):
        self.delimiter = delimiter
        self.decimal = decimal

    def problem(self, path: Path, kind: str, given: dict[str, Any]) -> DesignProblem:
        """The problem of the kind named over a table of arms, from the options given."""
        from convexdesign.problemfile import KINDS

        arms = self.rows(path)
        n, d = arms.values.shape
        arguments: dict[str, Any] = {}
        for name, value in given.items():
            if name in ("items", "targets"):
                arguments[name] = self.rows(value)
            elif name in ("region", "M"):
                arguments[name] = self.rows(value).values
            elif name in ("theta", "direction"):
                arguments[name] = self.vector(name, value, d)
            elif name == "interest":
                arguments[name] = self.interest(value)
            elif name == "noise_variance":
                arguments[name] = self.number_or_per_arm(value, n, arms.names)
            else:
                arguments[name] = value
        return KINDS[kind].constructor(arms, **arguments)

    def rows(self, path: Path) -> Rows:
        from convexdesign.problem.read import Rows
        from convexdesign.tables import read_table

        table = read_table(path, **self.dialect(path))
        return Rows(table.values, table.names, table.columns)

    def vector(self, name: str, text: str, d: int) -> list[float]:
        """d numbers: written out with commas, or one row or one column of a file."""
        numbers = numbers_in(text)
        if numbers is None:
            if not Path(text).exists():
                raise InputError(f"{flag(name)} {text}: neither a file nor numbers separated by commas")
            values = self.rows(Path(text)).values
            if 1 not in values.shape:
                raise InputError(
                    f"{flag(name)} {text}: one row or one column of numbers expected, found {values.shape}"
                )
            numbers = values.ravel().tolist()
        if len(numbers) != d:
            raise InputError(f"{flag(name)} has {len(numbers)} numbers; the arms have {d} coordinates")
        return numbers

    def interest(self, text: str) -> list[int] | NDArray[np.float64]:
        """Indices of coordinates, written out with commas, or a matrix of combinations from a file."""
        numbers = numbers_in(text)
        if numbers is None:
            if not Path(text).exists():
                raise InputError(f"--interest {text}: neither a file nor indices separated by commas")
            return self.rows(Path(text)).values
        if not all(number.is_integer() for number in numbers):
            raise InputError(f"--interest {text}: indices are whole numbers, counted from 0")
        return [int(number) for number in numbers]

    def number_or_per_arm(self, text: str, n: int, names: Sequence[str] | None) -> float | NDArray[np.float64]:
        """One number for all arms, or a file with one an arm (in their order, or by name or index)."""
        from convexdesign.tables import read_vector

        numbers = numbers_in(text)
        if numbers is not None and len(numbers) == 1:
            return numbers[0]
        if not Path(text).exists():
            raise InputError(f"--noise-variance {text}: neither a number nor a file with one variance an arm")
        return read_vector(text, n, names=names, **self.dialect(Path(text)))

    def dialect(self, path: Path) -> dict[str, Any]:
        """delimiter and decimal for `path`; nothing for NPY files, which have none."""
        return {} if path.suffix.lower() == ".npy" else {"delimiter": self.delimiter, "decimal": self.decimal}


def numbers_in(text: str) -> list[float] | None:
    """The numbers of "1, -2.5, 3e-4", or None where the text is anything else."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def flag(name: str) -> str:
    """The option that sets a constructor's argument."""
    return {"M": "--matrix"}.get(name, "--" + name.replace("_", "-"))
