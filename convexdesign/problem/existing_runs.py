"""Runs already made, as a table: counted where they are arms, and otherwise worth the information X'X / s^2 that they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from convexdesign.arguments import whole_at_least
from convexdesign.arms.labels import default_names
from convexdesign.arms.read import LabelledVectors, read_alike
from convexdesign.errors import InputError
from convexdesign.typing import Floats

__all__ = ["read_existing_runs"]


# The column of a table of runs that says how many there are of each.
COUNTS = ("count", "counts")
# A run is an arm when no coordinate differs by more than this share of its largest size.
SAME = 1e-9


def read_existing_runs(rows: LabelledVectors, noise: Floats | None, table: Any) -> tuple[Floats | None, Floats | None]:
    """How often each arm (n,) was run or, where some run is of no arm, the information (d, d) of all; the other is None.

    noise: the variances of the arms, None for one; runs off the list need one that is common to all.
    """
    if rows.responses > 1:
        raise InputError("existing_runs are of arms with one response each; give existing_counts or prior_information")
    if isinstance(table, Mapping):
        import pandas

        table = pandas.DataFrame(table)
    table, counts = _counted(rows, table)
    X = np.asarray(read_alike(rows, _own_columns(rows, table), "existing_runs").values, dtype=float)
    counts = np.ones(len(X)) if counts is None else counts
    place = _places(rows, X)
    if (place >= 0).all():
        return np.bincount(place, weights=counts, minlength=rows.n).astype(float), None
    variance = 1.0 if noise is None else float(noise.flat[0])
    if noise is not None and (noise != variance).any():
        run = int(np.argmax(place < 0))
        raise InputError(
            f"existing_runs: run {run} is no setting of the arms, whose noise differs, so that its own is not known; add it "
            "to the arms, or give prior_information"
        )
    return None, (X * (counts / variance)[:, None]).T @ X


def _counted(rows: LabelledVectors, table: Any) -> tuple[Any, Floats | None]:
    """The table without its column of counts, and these."""
    spec = getattr(rows.matrix, "spec", None)
    own = {*(rows.columns or ()), *(() if spec is None else spec.factors)}
    names = [str(name) for name in getattr(table, "columns", ())] if not isinstance(table, np.ndarray) else []
    column = next((name for name in COUNTS if name in names and name not in own), None)
    if column is None:
        return table, None
    counts = [whole_at_least(0, x, f"existing_runs: {column}[{k}]") for k, x in enumerate(list(table[column]))]
    return table[[name for name in names if name != column]], np.array(counts, dtype=float)


def _own_columns(rows: LabelledVectors, table: Any) -> Any:
    """The columns that name coordinates, of a table that has others as well, such as a run sheet."""
    known = rows.columns
    if known is None or default_names(known) or isinstance(table, np.ndarray) or not hasattr(table, "columns"):
        return table
    names = [str(name) for name in table.columns]
    return table[list(known)] if set(known) < set(names) else table


def _places(rows: LabelledVectors, X: Floats) -> Any:
    """The arm that each run (m, d) is, -1 where it is none."""
    place = np.full(len(X), -1)
    different, inverse = np.unique(X, axis=0, return_inverse=True)
    found = np.full(len(different), -1)
    scale = np.abs(X).max(axis=0) * SAME
    step = max(1, 2**22 // max(different.size, 1))
    for start in range(0, rows.n, step):
        part = np.asarray(rows.source.take(np.arange(start, min(start + step, rows.n))), dtype=float)
        same = (np.abs(different[:, None, :] - part) <= scale).all(axis=2)
        new = (found < 0) & same.any(axis=1)
        found[new] = start + same[new].argmax(axis=1)
        if (found >= 0).all():
            break
    place[:] = found[inverse.ravel()]
    return place
