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
) -> DesignProblem:
    """The problem in a TOML file or the library, or built from a table of arms and the options.

    Options that the problem does not take, and options missing that it needs, raise InputError: nothing given is
    ever ignored.
    """
    given = {
        "problem": kind,
        "items": items,
        "targets": targets,
        "theta": theta,
        "threshold": threshold,
        "noise_variance": noise_variance,
        "direction": direction,
    }
    path = Path(source)
    if path.is_file() and path.suffix.lower() != ".toml":
        if kind is None:
            raise InputError(f"{source} holds arms only; say what to do with them, e.g. --problem xy-allocation")
        return problem_from_arms(path, kind, {name: value for name, value in given.items() if name != "problem"})
    extra = [flag(name) for name, value in given.items() if value is not None]
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


def problem_from_arms(path: Path, kind: str, given: dict[str, Any]) -> DesignProblem:
    """The problem of the kind named over a table of arms; `given` holds every other option, None where absent."""
    from convexdesign.problem.read import Rows
    from convexdesign.problemfile import KINDS
    from convexdesign.tables import read_table

    check_options(kind, given)
    table = read_table(path)
    arms = Rows(table.values, table.names, table.columns)
    n, d = arms.values.shape
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name in ("items", "targets"):
            read = read_table(value)
            arguments[name] = Rows(read.values, read.names, read.columns)
        elif name in ("theta", "direction"):
            arguments[name] = vector(name, value, d)
        elif name == "noise_variance":
            arguments[name] = number_or_per_arm(value, n, arms.names)
        else:
            arguments[name] = value
    return KINDS[kind].constructor(arms, **arguments)


def check_options(kind: str, given: dict[str, Any]) -> None:
    """InputError where the kind is unknown, lacks an option it needs, or was given one it does not take."""
    from convexdesign.problemfile import KINDS

    if kind not in KINDS:
        from difflib import get_close_matches

        close = get_close_matches(kind, list(KINDS), n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(f"--problem {kind} is unknown; {hint}The kinds are {', '.join(KINDS)}")
    needs, takes = KINDS[kind].needs, KINDS[kind].takes
    missing = [flag(name) for name in needs if given.get(name) is None]
    if missing:
        raise InputError(f"--problem {kind} needs {' and '.join(missing)}")
    for name, value in given.items():
        if value is not None and name not in (*needs, *takes, "noise_variance"):
            raise InputError(f"--problem {kind} takes no {flag(name)}; leave it out")


def vector(name: str, text: str, d: int) -> Any:
    """d numbers: written out with commas, or one row or one column of a file."""
    numbers = numbers_in(text)
    if numbers is None:
        from convexdesign.tables import read_table

        if not Path(text).exists():
            raise InputError(f"{flag(name)} {text}: neither a file nor numbers separated by commas")
        table = read_table(text).values
        if 1 not in table.shape:
            raise InputError(f"{flag(name)} {text}: one row or one column of numbers expected, found {table.shape}")
        numbers = table.ravel().tolist()
    if len(numbers) != d:
        raise InputError(f"{flag(name)} has {len(numbers)} numbers; the arms have {d} coordinates")
    return numbers


def number_or_per_arm(text: str, n: int, names: Sequence[str] | None) -> float | NDArray[np.float64]:
    """One number for all arms, or a file with one an arm (in their order, or by name or index)."""
    numbers = numbers_in(text)
    if numbers is not None and len(numbers) == 1:
        return numbers[0]
    from convexdesign.tables import read_vector

    if not Path(text).exists():
        raise InputError(f"--noise-variance {text}: neither a number nor a file with one variance an arm")
    return read_vector(text, n, names=names)


def numbers_in(text: str) -> list[float] | None:
    """The numbers of "1, -2.5, 3e-4", or None where the text is anything else."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")
