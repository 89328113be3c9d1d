"""Arguments at the border: what a caller hands over as a number, a choice, a path or an array is one, or an InputError says so.

`real` and `whole` never raise: they turn what is no number into nan and None, which fail every comparison that follows, so that
a function has one check and one message for what is no number and what is out of range.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError

__all__ = [
    "and_more",
    "check_finite",
    "choice",
    "flag",
    "function",
    "generator",
    "instance",
    "is_one_of",
    "nearest",
    "numeric",
    "positive",
    "probability",
    "real",
    "real_array",
    "shown",
    "text_of",
    "to_path",
    "whole",
    "whole_at_least",
]

# Larger entries would overflow when squared twice; they mean a wrong unit, not a measurement.
LARGEST_ENTRY = 1e75
# Beyond it, not every whole number is a double.
EXACT_INTEGERS = 2**53
# Entries looked at together: a file is read once, and memory holds no second copy.
BLOCK_ENTRIES = 2**16


def and_more(number: int) -> str:
    """ "(and 3 more) ", for messages that name one of several; nothing where it is the only one.

    >>> f"arm 4 {and_more(0)}is off, arm 7 {and_more(3)}is off"
    'arm 4 is off, arm 7 (and 3 more) is off'
    """
    return f"(and {number:,} more) " if number else ""


def shown(value: Any) -> str:
    """A value for a message, not longer than a line."""
    try:
        text = repr(value)
    except Exception:  # an object's own representation may fail
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:97] + "..."


def real(value: Any) -> float:
    """The real number; nan for anything else, and infinity for a whole number beyond all floats."""
    if isinstance(value, (bool, np.bool_)):
        return float("nan")
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu":
        value = value[()]
    if not isinstance(value, (Real, Decimal, np.integer, np.floating)):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if bool(value > 0) else -float("inf")  # type: ignore[operator]
    except ValueError:  # a signalling nan
        return float("nan")


def whole(value: Any) -> int | None:
    """The whole number, of any type of number; None for anything else."""
    number = real(value)
    if np.isnan(number) or (np.isinf(number) and not isinstance(value, int)):
        return None
    return int(value) if int(value) == value else None


def whole_at_least(least: int, value: Any, what: str) -> int:
    """The whole number; InputError for anything else, and below the least."""
    number = whole(value)
    if number is None or number < least:
        raise InputError(f"{what} is {shown(value)}; give a whole number of at least {least}")
    return number


def positive(value: Any, what: str, remedy: str = "give a positive number") -> float:
    """The number; InputError unless it is finite and above zero."""
    if not 0 < real(value) < np.inf:
        raise InputError(f"{what} is {shown(value)}; {remedy}")
    return real(value)


def probability(value: Any, what: str = "delta") -> float:
    """A probability of failure; InputError unless it lies strictly between 0 and 1."""
    if not 0 < real(value) < 1:
        raise InputError(f"{what} is {shown(value)}; a probability of failure lies strictly between 0 and 1")
    return real(value)


def is_one_of(value: Any, choices: Sequence[Any]) -> bool:
    """Whether the value is text (or None) and one of the choices; arrays compare with nothing."""
    return (value is None or isinstance(value, str)) and value in choices


def nearest(wrong: str, known: Iterable[str]) -> str | None:
    """The one of the known names that may have been meant, if any is like the wrong one."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(wrong, list(known), 1)), None)


def choice(value: Any, choices: Sequence[Any], what: str) -> None:
    """InputError unless the value is one of the choices."""
    if not is_one_of(value, choices):
        raise InputError(
            f"{what} is {shown(value)}; choose one of {', '.join(str(c) for c in choices if c is not None)}"
        )


def flag(value: Any, what: str) -> bool:
    """True or False; InputError for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{what} is {shown(value)}; give True or False")
    return bool(value)


def text_of(value: Any, what: str) -> str:
    """Text; InputError for anything else."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {shown(value)}; give text")
    return value


def to_path(value: Any, what: str = "path") -> Path:
    """A path; InputError for what is none."""
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str) and "\0" not in path:
            return Path(path)
    raise InputError(f"{what} is {shown(value)}; give the path of a file, as text or a pathlib.Path")


def instance(value: Any, kind: type | UnionType, what: str, remedy: str) -> None:
    """InputError unless the value is of that kind."""
    if not isinstance(value, kind):
        name = kind.__name__ if isinstance(kind, type) else " or ".join(part.__name__ for part in kind.__args__)
        raise InputError(f"{what} must be {name}, got {shown(value)}; {remedy}")


def function(value: Any, what: str) -> None:
    """InputError unless the value can be called."""
    if not callable(value):
        raise InputError(f"{what} is {shown(value)}; give a function")


def generator(rng: Any) -> np.random.Generator:
    """numpy.random.default_rng of a seed, a Generator or None; InputError for anything else."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"rng is {shown(rng)}; give a numpy Generator, a seed (a whole number of at least 0) or None"
        ) from None


def numeric(source: Any, what: str, whole: bool = False) -> NDArray[Any]:
    """The source as an array of real numbers; InputError otherwise, and for integers that double precision would round.

    whole: counts or indices are read; integers stay integers, so that none is rounded, and their reader judges the rest.
    """
    if np.ma.is_masked(source):
        at = ", ".join(str(int(k)) for k in np.argwhere(np.ma.getmaskarray(source))[0])
        raise InputError(f"{what}[{at}] is masked; fill it in or drop its row")
    try:
        values = source if isinstance(source, np.ndarray) else np.asarray(source)
        if values.dtype == object:
            if values.ndim == 0 and values[()] is None:
                raise TypeError("None is given")
            given, values = values, values.astype(float)
            if not whole:
                integers = np.array([isinstance(value, int) for value in given.flat]).reshape(given.shape)
                _refuse_rounded(given, integers, what)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be numbers in a rectangular array: {error}") from None
    except Exception as error:  # data frames of any library, each with errors of its own
        raise InputError(f"{what} must be numbers in a rectangular array: {type(error).__name__}") from None
    if values.dtype.kind not in "fiub":
        raise InputError(f"{what} must be real numbers, got dtype {values.dtype}; convert them first")
    if (
        not whole
        and values.dtype.kind in "iu"
        and values.size
        and max(int(values.max()), -int(values.min())) > EXACT_INTEGERS
    ):
        _refuse_rounded(values, (values > EXACT_INTEGERS) | (values < -EXACT_INTEGERS), what)
    return values


def _refuse_rounded(values: NDArray[Any], doubtful: NDArray[np.bool_], what: str) -> None:
    """InputError for a whole number that float64 would change: two arms could become one without a word."""
    for at in np.argwhere(doubtful):
        found = int(values[tuple(at)])
        if int(float(found)) != found:
            place = f"{what}[{', '.join(str(int(k)) for k in at)}]" if at.size else what
            raise InputError(
                f"{place} is {found}, which double precision rounds to {int(float(found))}; subtract a common offset, "
                "or convert to float yourself if the difference does not matter"
            )


def real_array(source: Any, what: str) -> NDArray[np.float64]:
    """The source as a float64 array; InputError for what is no array of real, finite numbers."""
    values = np.asarray(numeric(source, what), dtype=float)
    check_finite(values, what)
    return values


def check_finite(values: NDArray[Any], what: str, names: Sequence[str] | None = None, first: int = 0) -> None:
    """InputError, with its place, for an entry that is not finite or absurdly large; rows are numbered from `first`."""
    plain = np.atleast_1d(np.asarray(values))  # slices of np.memmap itself are slow to make
    width = plain[0].size if plain.shape[0] else 1
    step = max(1, BLOCK_ENTRIES // max(width, 1))
    for start in range(0, plain.shape[0], step):
        block = plain[start : start + step]
        # Largest and smallest are nan where any entry is.
        if block.size and not max(float(block.max()), -float(block.min())) <= LARGEST_ENTRY:
            _refuse(block, what, names, first + start, scalar=values.ndim == 0)


def _refuse(block: NDArray[Any], what: str, names: Sequence[str] | None, first: int, *, scalar: bool) -> None:
    bad = ~(np.abs(np.asarray(block, dtype=float)) <= LARGEST_ENTRY)
    at = [int(k) for k in np.unravel_index(int(np.argmax(bad)), bad.shape)]
    found, row = block[tuple(at)], first + at[0]
    place = what if scalar else f"{what}[{', '.join(str(k) for k in (row, *at[1:]))}]"
    named = f" ({names[row]})" if names else ""
    remedy = f"rescale below {LARGEST_ENTRY:g} (change the unit)" if np.isfinite(found) else "remove or impute it"
    raise InputError(f"{place}{named} is {found}; {remedy}")
