"""Observations from tables of single rewards: DataFrames, and CSV files too large to hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.estimation.observations import Observations

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "arm_numbers",
    "chunks_of",
    "decimal_numbers",
    "index_of",
    "observations_from_csv",
    "observations_from_frame",
]


def observations_from_frame(
    frame: Any, arms: int | Sequence[str], *, arm: str = "arm", reward: str = "reward"
) -> Observations:
    """Summarise a pandas or polars DataFrame with one row a pull.

    arms: the number of arms, when the column `arm` holds their indices, or the arms' names in order, when it
    holds names. Raises InputError naming row and value for an unknown arm or a reward that is not a number.

    >>> import pandas as pd
    >>> import convexdesign as cd
    >>> pulls = pd.DataFrame({"arm": ["blue", "red", "blue"], "reward": [1.0, 2.0, 3.0]})
    >>> cd.estimation.observations_from_frame(pulls, ["red", "blue"]).mean
    array([2., 2.])
    """
    n_arms, index = index_of(arms)
    return _summarise(frame, n_arms, index, arm, reward, first_row=0)


def observations_from_csv(
    source: str | Path | IO[Any],
    arms: int | Sequence[str],
    *,
    arm: str = "arm",
    reward: str = "reward",
    delimiter: str = ",",
    decimal: str = ".",
    chunk_rows: int = 100_000,
) -> Observations:
    """Summarise a CSV file or stream with a header and one line a pull, holding `chunk_rows` lines at a time.

    Arguments as for `observations_from_frame`; delimiter and decimal mark of the file are not guessed. Errors count
    the rows from 1, after the header.

    >>> import io
    >>> import convexdesign as cd
    >>> cd.estimation.observations_from_csv(io.StringIO("arm,reward\\n0,1.5\\n1,2.5\\n"), arms=2).mean
    array([1.5, 2.5])
    """
    n_arms, index = index_of(arms)
    total = Observations.empty(n_arms)
    for first_row, chunk in chunks_of(source, arm if index is not None else None, delimiter, decimal, chunk_rows):
        total = total.merge(_summarise(chunk, n_arms, index, arm, reward, first_row, decimal))
    return total


def chunks_of(
    source: str | Path | IO[Any], text: str | None, delimiter: str, decimal: str, chunk_rows: int
) -> Iterator[tuple[int, pd.DataFrame]]:
    """The number of the first row (from 1) and the rows of each chunk; the column `text` stays text."""
    import pandas as pd

    first_row = 1
    # Names stay text: "007" is not 7 and "NA" is not missing. Bad numbers are found, and named, by the caller.
    types = None if text is None else {text: str}
    try:
        with pd.read_csv(
            source, sep=delimiter, decimal=decimal, chunksize=chunk_rows, dtype=types, na_filter=False
        ) as reader:
            for chunk in reader:
                yield first_row, chunk
                first_row += len(chunk)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(f"the CSV cannot be read: {error}") from None


def index_of(arms: int | Sequence[str]) -> tuple[int, dict[str, int] | None]:
    """The number of arms and, where they have names, the index of each."""
    if isinstance(arms, (int, np.integer)):
        if arms < 1:
            raise InputError(f"arms is {arms}; give the number of arms, at least 1, or their names")
        return int(arms), None
    index = {str(name): k for k, name in enumerate(arms)}
    if len(index) != len(arms) or not index:
        raise InputError("arm names must be distinct, and at least one")
    return len(index), index


def _summarise(
    frame: Any,
    n_arms: int,
    index: dict[str, int] | None,
    arm: str,
    reward: str,
    first_row: int,
    decimal: str = ".",
) -> Observations:
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise InputError(f"give a pandas or polars DataFrame: {error}") from None
    for column in (arm, reward):
        if column not in table.columns:
            raise InputError(f"no column {column!r} among {table.columns}; name it with arm= or reward=")
    numbers = arm_numbers(table[arm].to_list(), n_arms, index, arm, first_row)
    return Observations.from_rewards(n_arms, numbers, _rewards(table[reward].to_list(), reward, first_row, decimal))


def arm_numbers(
    given: list[Any], n_arms: int, index: dict[str, int] | None, column: str, first_row: int
) -> NDArray[np.intp]:
    """The arms of a column, by name or by number; InputError naming the row for one that is not known."""
    if index is None:
        # One bad entry turns a whole CSV column to text, so indices are known in both forms.
        known: dict[Any, int] = {k: k for k in range(n_arms)} | {str(k): k for k in range(n_arms)}
        numbers = [known.get(value, -1) for value in given]
        allowed = f"arm indices run from 0 to {n_arms - 1}; for names give arms=[names in order]"
    else:
        numbers = [index.get(str(value), -1) for value in given]
        allowed = f"known arms: {', '.join(list(index)[:5])}{', ...' if n_arms > 5 else ''}"
    out = np.array(numbers, dtype=np.intp)
    if np.any(out < 0):
        at = int(np.argmax(out < 0))
        raise InputError(f"row {first_row + at}: {column} is {given[at]!r}; {allowed}")
    return out


def _rewards(given: list[Any], column: str, first_row: int, decimal: str) -> NDArray[np.float64]:
    values = decimal_numbers(given, decimal)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InputError(
            f"row {first_row + bad[0]}: {column} is {given[bad[0]]!r}, not a finite number; remove the row"
        )
    return values


def decimal_numbers(given: list[Any], decimal: str = ".") -> NDArray[np.float64]:
    """The numbers of a column, NaN where an entry is none; one bad entry leaves a CSV column as text."""
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number(value, decimal) for value in given])


def _number(value: Any, decimal: str) -> float:
    try:
        return float(value.replace(",", ".") if decimal == "," and isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
