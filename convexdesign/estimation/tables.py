"""Observations from tables: single rewards in DataFrames or in CSV files too large to hold, and counts, means and sums of
squares that other programs have summarised."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import is_one_of, shown, text_of, to_path, whole_at_least
from convexdesign.errors import InputError
from convexdesign.estimation.observations import MOST_ARMS, Observations
from convexdesign.files import check_regular
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "arm_numbers",
    "chunks_of",
    "decimal_numbers",
    "index_of",
    "observations_from_aggregates",
    "observations_from_csv",
    "observations_from_frame",
]


# More lines than memory holds at a time.
MOST_LINES = 10**9


def observations_from_frame(
    frame: Any, arms: int | Sequence[str], *, arm: str = "arm", reward: str = "reward"
) -> Observations:
    """Summarise a pandas or polars DataFrame with one row a pull.

    Parameters
    ----------
    frame : DataFrame
        The pulls.
    arms : int or sequence of str
        The number of arms, when the column `arm` holds their indices, or the arms' names in order, when it holds names.
    arm : str
        The column of arms.
    reward : str
        The column of rewards.

    Returns
    -------
    Observations
        Per arm.

    Raises
    ------
    InputError
        Naming row and value for an unknown arm or a reward that is not a number.

    Examples
    --------
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
    encoding: str = "utf-8",
) -> Observations:
    r"""Summarise a CSV file or stream with a header and one line a pull.

    Parameters
    ----------
    source : path or file
        A CSV file or an open one.
    arms : int or sequence of str
        The number of arms, or their names in order.
    arm : str
        The column of arms, which holds indices or names.
    reward : str
        The column of rewards.
    delimiter, decimal : str
        Of the file; they are not guessed.
    chunk_rows : int
        Lines held at a time.
    encoding : str
        Of the file; not guessed.

    Returns
    -------
    Observations
        Per arm.

    Raises
    ------
    InputError
        Naming row (from 1, after the header) and value.

    Examples
    --------
    >>> import io
    >>> import convexdesign as cd
    >>> cd.estimation.observations_from_csv(io.StringIO("arm,reward\n0,1.5\n1,2.5\n"), arms=2).mean
    array([1.5, 2.5])
    """
    n_arms, index = index_of(arms)
    arm, reward = text_of(arm, "arm"), text_of(reward, "reward")
    total = Observations.empty(n_arms)
    text = arm if index is not None else None
    for first_row, chunk in chunks_of(source, text, delimiter, decimal, chunk_rows, encoding):
        total = total.merge(_summarise(chunk, n_arms, index, arm, reward, first_row, decimal))
    return total


def chunks_of(
    source: str | Path | IO[Any],
    text: str | None,
    delimiter: str,
    decimal: str,
    chunk_rows: int,
    encoding: str = "utf-8",
) -> Iterator[tuple[int, pd.DataFrame]]:
    """The number of the first row (from 1) and the rows of each chunk; the column `text` stays text."""
    import pandas as pd

    chunk_rows = check_csv_options(delimiter, decimal, chunk_rows)
    encoding = text_of(encoding, "encoding")
    if not hasattr(source, "read"):
        source = to_path(source, "source")
        check_regular(source, "a CSV file", None)
    first_row = 1
    # Names stay text: "007" is not 7 and "NA" is not missing. Bad numbers are found, and named, by the caller.
    types = None if text is None else {text: str}
    try:
        with pd.read_csv(
            source,
            sep=delimiter,
            decimal=decimal,
            chunksize=chunk_rows,
            dtype=types,
            na_filter=False,
            encoding=encoding,
        ) as reader:
            for chunk in reader:
                yield first_row, chunk
                first_row += len(chunk)
    except UnicodeDecodeError as error:
        raise InputError(
            f"the CSV is not {encoding} text (byte 0x{error.object[error.start]:02x}). If the file was saved by a Windows "
            "program, pass encoding='cp1252'; otherwise save it as UTF-8"
        ) from None
    except LookupError:
        raise InputError(f"encoding {shown(encoding)} is unknown to Python; for example 'utf-8' or 'cp1252'") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OSError) as error:
        raise InputError(f"the CSV cannot be read: {error}") from None


def check_csv_options(delimiter: Any, decimal: Any, chunk_rows: Any) -> int:
    """The number of lines; InputError for it and for marks that no CSV file is read with."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"delimiter is {shown(delimiter)}; give one character such as ',' ';' or a tab")
    if not is_one_of(decimal, (".", ",")):
        raise InputError(f"decimal must be '.' or ',', got {shown(decimal)}")
    lines = whole_at_least(1, chunk_rows, "chunk_rows")
    if lines > MOST_LINES:
        raise InputError(f"chunk_rows is {shown(chunk_rows)}; give a number of lines that memory holds")
    return lines


def index_of(arms: int | Sequence[str]) -> tuple[int, dict[str, int] | None]:
    """The number of arms and, where they have names, the index of each."""
    if isinstance(arms, (int, np.integer)):
        if isinstance(arms, bool) or not 1 <= arms <= MOST_ARMS:
            raise InputError(f"arms is {shown(arms)}; give the number of arms, at least 1, or their names")
        return int(arms), None
    ordered = isinstance(arms, Collection) and not isinstance(arms, (set, frozenset, str, bytes))
    if not ordered or getattr(arms, "ndim", 1) != 1 or not all(map(np.isscalar, arms)):
        raise InputError(f"arms is {shown(arms)}; give the number of arms, or their names")
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
    except (TypeError, ValueError, nw.exceptions.NarwhalsError) as error:
        raise InputError(f"frame must be a pandas or polars DataFrame: {error}") from None
    for column in (arm, reward):
        if not isinstance(column, str) or column not in table.columns:
            raise InputError(f"no column {shown(column)} among {table.columns}; name it with arm= or reward=")
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


def observations_from_aggregates(
    source: str | Path | IO[Any],
    arms: int | Sequence[str],
    *,
    arm: str = "arm",
    delimiter: str = ",",
    decimal: str = ".",
    chunk_rows: int = 100_000,
    encoding: str = "utf-8",
) -> Observations:
    r"""Read a CSV file with columns arm, count, mean and m2 (or the sample variance, m2 / (count - 1)).

    One line may be one batch: lines of the same arm are merged. Without a column of arms the lines are the arms in
    order. Cells may be empty where they mean nothing: the mean of no pulls, the variance of one.

    Parameters
    ----------
    source : path or file
        A CSV file or an open one.
    arms : int or sequence of str
        The number of arms, or their names in order.
    arm : str
        The column of arms, which holds indices or names.
    delimiter, decimal : str
        Of the file; they are not guessed.
    chunk_rows : int
        Lines held at a time.
    encoding : str
        Of the file; not guessed.

    Returns
    -------
    Observations
        Per arm.

    Raises
    ------
    InputError
        Naming row and value.

    Examples
    --------
    >>> import io
    >>> import convexdesign as cd
    >>> table = io.StringIO("arm,count,mean,m2\n0,2,1.0,2.0\n1,1,5.0,\n0,2,3.0,2.0\n")
    >>> o = cd.estimation.observations_from_aggregates(table, arms=2)
    >>> o.count.tolist(), o.mean.tolist(), o.m2.tolist()
    ([4, 1], [2.0, 5.0], [8.0, 0.0])
    """
    n_arms, index = index_of(arms)
    arm = text_of(arm, "arm")
    total = Observations.empty(n_arms)
    rows = 0
    listed = True
    text = arm if index is not None else None
    for first_row, chunk in chunks_of(source, text, delimiter, decimal, chunk_rows, encoding):
        rows += len(chunk)
        listed = arm in chunk.columns
        if listed:
            numbers = arm_numbers(chunk[arm].to_list(), n_arms, index, arm, first_row)
        elif rows <= n_arms:
            numbers = np.arange(first_row - 1, rows)
        else:
            break
        total = total.merge(_grouped(n_arms, numbers, *_columns(chunk, first_row, decimal)))
    if not listed and rows != n_arms:
        more = "more than " if rows > n_arms else ""
        raise InputError(f"there are {more}{min(rows, n_arms)} rows for {n_arms} arms; add a column {arm!r}")
    return total


def _columns(chunk: pd.DataFrame, first_row: int, decimal: str) -> tuple[Floats, Floats, Floats]:
    """count, mean and m2 of every row, checked."""
    spread = next((name for name in ("m2", "variance") if name in chunk.columns), "m2")
    for name in ("count", "mean", spread):
        if name not in chunk.columns:
            wanted = "'m2' or 'variance'" if name == spread else repr(name)
            raise InputError(f"no column {wanted} among {[str(c) for c in chunk.columns]}")
    count, mean, m2 = (decimal_numbers(chunk[name].to_list(), decimal) for name in ("count", "mean", spread))
    wrong = {
        "count": ~((count >= 0) & (count == np.floor(count)) & (count < 2.0**63)),
        "mean": ~np.isfinite(mean) & ~(count == 0),
        spread: ~((m2 >= 0) & np.isfinite(m2)) & ~(count <= 1),
    }
    needs = {"count": "a whole number", "mean": "a finite number", spread: "a finite number of at least 0"}
    for name, bad in wrong.items():
        if bad.any():
            at = int(np.argmax(bad))
            given = chunk[name].to_list()[at]
            raise InputError(f"row {first_row + at}: {name} is {given!r}, not {needs[name]}; correct the row")
    m2 = np.where(count > 1, m2 if spread == "m2" else m2 * (count - 1), 0.0)
    return count, np.where(count > 0, mean, 0.0), m2


def _grouped(n_arms: int, index: NDArray[np.intp], count: Floats, mean: Floats, m2: Floats) -> Observations:
    """Rows of the same arm as one: m2 = sum m2_k + sum count_k (mean_k - mean)^2."""
    pulls = np.bincount(index, weights=count, minlength=n_arms)
    centre = np.bincount(index, weights=count * mean, minlength=n_arms) / np.maximum(pulls, 1)
    # A second pass about the first centre keeps the digits of means that are large beside their differences.
    centre += np.bincount(index, weights=count * (mean - centre[index]), minlength=n_arms) / np.maximum(pulls, 1)
    squares = np.bincount(index, weights=m2 + count * (mean - centre[index]) ** 2, minlength=n_arms)
    return Observations(pulls.astype(np.int64), centre, np.where(pulls > 1, squares, 0.0))
