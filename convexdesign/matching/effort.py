"""How much of each listed point: which column says so, and whether it holds weights or counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from convexdesign.errors import InputError
from convexdesign.matching.listing import Listing
from convexdesign.problem.read import Rows
from convexdesign.typing import Floats

__all__ = [
    "LABELS",
    "SUM_TOLERANCE",
    "Effort",
    "Measure",
    "checked",
    "effort_at",
    "effort_column",
    "is_labelled",
    "kind_of",
]

Measure = Literal["weights", "counts"]

# How columns are headed that hold the effort, whatever their case.
HEADS: dict[Measure, list[str]] = {
    "weights": ["weight", "weights", "w", "wt", "proportion", "proportions", "prop", "share", "shares", "mass"],
    "counts": [
        "count",
        "counts",
        "n",
        "rep",
        "reps",
        "rep..",
        "replicates",
        "replications",
        "freq",
        "frequency",
        "runs",
    ],
}
# How columns of numbers are headed that name the arms.
LABELS = ("arm", "arms", "name", "names", "label", "index", "id", "run")
# Weights whose sum is further from one than this are not proportions, or were rounded.
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Effort:
    """How much of each row of a listing: weights or counts, (k,)."""

    measure: Measure
    values: Floats


def effort_column(rows: Rows, listing: Listing, column: str | None, measure: Measure | None) -> int | None:
    """Which column holds the effort; None where every row is one measurement."""
    columns = listing.columns
    if columns is None:
        if column is not None:
            raise InputError(f"{listing.source}: there are no column names, so no column {column!r}; leave column out")
        d, width = rows.d, listing.values.shape[1]
        if listing.labels is not None and width <= 1:
            return 0 if width else None
        if width not in (d, d + 1):
            raise InputError(
                f"{listing.source}: {width} columns; give {d} coordinates, and weights or counts behind them"
            )
        return d if width == d + 1 else None
    if column is not None:
        if column not in columns:
            raise InputError(f"{listing.source}: there is no column {column!r}; the columns are {', '.join(columns)}")
        return columns.index(column)
    own = set(rows.columns or ())
    kinds: tuple[Measure, ...] = ("weights", "counts") if measure is None else (measure,)
    found = [j for j, name in enumerate(columns) if name not in own and kind_of(name) in kinds]
    if len(found) == 2 and is_labelled(rows, listing) and (counts := _rounded(listing, found)) is not None:
        return counts
    if len(found) > 1:
        names = " and ".join(repr(columns[j]) for j in found)
        raise InputError(f"{listing.source}: columns {names} could both be the effort; say which by column (--column)")
    return found[0] if found else None


def is_labelled(rows: Rows, listing: Listing) -> bool:
    """Whether a column names the arms."""
    own = set(rows.columns or ())
    return listing.labels is not None or any(c.lower() in LABELS and c not in own for c in listing.columns or ())


def _rounded(listing: Listing, pair: list[int]) -> int | None:
    """The counts, where the columns are weights and the counts that they were rounded to, as `solve --round` writes them."""
    by_kind = {kind_of(listing.columns[j]): j for j in pair} if listing.columns is not None else {}
    if set(by_kind) != {"weights", "counts"}:
        return None
    weights, counts = (listing.values[:, by_kind[kind]] for kind in ("weights", "counts"))
    whole = bool(np.all(counts == np.floor(counts)))
    return by_kind["counts"] if whole and abs(float(weights.sum()) - 1.0) <= SUM_TOLERANCE else None


def kind_of(name: str) -> Measure | None:
    """What a column with this header holds, if it is a usual one."""
    return next((kind for kind, heads in HEADS.items() if name.lower() in heads), None)


def effort_at(listing: Listing, at: int, measure: Measure | None) -> Effort:
    """The effort in a column; what it is, by `measure`, the header, or the numbers."""
    values = listing.values[:, at]
    kind = measure or (None if listing.columns is None else kind_of(listing.columns[at]))
    if kind is None:
        # Nobody's header says: one whole measurement in all would be both, and is the same design.
        whole = bool(np.all(values == np.floor(values)))
        near = abs(float(values.sum()) - 1.0) <= SUM_TOLERANCE
        if not whole and not near:
            raise InputError(
                f"{listing.source}: the last column sums to {values.sum():.9g} and is not whole; say with measure whether it "
                "holds weights or counts"
            )
        kind = "weights" if near else "counts"
    return Effort(kind, values)


def checked(listing: Listing, effort: Effort) -> Floats:
    """The values; InputError, with the row, for negative ones, broken counts, and nothing but zeros."""
    values, name = effort.values, effort.measure.removesuffix("s")
    bad = np.flatnonzero(values < 0)
    if bad.size:
        raise InputError(f"{listing.place(bad[0])}: the {name} is {values[bad[0]]:g}; it cannot be negative")
    if effort.measure == "counts":
        broken = np.flatnonzero(values != np.floor(values))
        if broken.size:
            raise InputError(
                f"{listing.place(broken[0])}: the count is {values[broken[0]]:g}; counts are whole numbers (or are these "
                "weights?)"
            )
    if not values.any():
        raise InputError(f"{listing.source}: all {effort.measure} are zero; a design must measure something")
    return values
