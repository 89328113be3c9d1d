"""Observations from tables of counts, means and sums of squares: what other programs have summarised already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.tables import arm_numbers, chunks_of, decimal_numbers, index_of
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["observations_from_aggregates"]


def observations_from_aggregates(
    source: str | Path | IO[Any],
    arms: int | Sequence[str],
    *,
    arm: str = "arm",
    delimiter: str = ",",
    decimal: str = ".",
    chunk_rows: int = 100_000,
) -> Observations:
    """Read a CSV file with columns arm, count, mean and m2 (or the sample variance, m2 / (count - 1)).

    One line may be one batch: lines of the same arm are merged. Without a column of arms the lines are the arms in
    order. Cells may be empty where they mean nothing: the mean of no pulls, the variance of one. arms and arm as for
    `observations_from_frame`. Raises InputError naming row and value.

    >>> import io
    >>> import convexdesign as cd
    >>> table = io.StringIO("arm,count,mean,m2\\n0,2,1.0,2.0\\n1,1,5.0,\\n0,2,3.0,2.0\\n")
    >>> o = cd.estimation.observations_from_aggregates(table, arms=2)
    >>> o.count.tolist(), o.mean.tolist(), o.m2.tolist()
    ([4, 1], [2.0, 5.0], [8.0, 0.0])
    """
    n_arms, index = index_of(arms)
    total = Observations.empty(n_arms)
    rows = 0
    listed = True
    for first_row, chunk in chunks_of(source, arm if index is not None else None, delimiter, decimal, chunk_rows):
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
