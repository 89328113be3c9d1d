"""A design as other programs write it: a table of points or names, with how much of each, as weights or as counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from convexdesign.arguments import check_finite, is_one_of, numeric, shown
from convexdesign.arms.read import LabelledVectors
from convexdesign.errors import InputError
from convexdesign.typing import Floats

__all__ = [
    "LABELS",
    "SUM_TOLERANCE",
    "Listing",
    "Measure",
    "SamplingEffort",
    "checked",
    "effort_at",
    "effort_column",
    "is_labelled",
    "kind_of",
    "read_listing",
]


@dataclass(frozen=True, eq=False)
class Listing:
    """values (k, c): the numbers of each row; columns: their c names, None where there are none; labels: k names or None.

    source: what the table is called in messages; first: the number of its first row there; settings: each row as it was
    written, "a=-1, b=2", where the values are coded from settings.
    """

    values: Floats
    columns: tuple[str, ...] | None
    labels: tuple[str, ...] | None
    source: str = "points"
    first: int = 0
    settings: tuple[str, ...] | None = None

    @property
    def rows(self) -> int:
        return int(self.values.shape[0])

    def place(self, row: int) -> str:
        """What a row is called in messages."""
        return f"{self.source}, row {row + self.first}" if self.first else f"{self.source}[{row}]"


def read_listing(
    source: Any,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Listing:
    """Read a design from a CSV or NPY file, a pandas or polars DataFrame, an array, or a list of names.

    One column of text, or a labelled index of the DataFrame, holds names; they may repeat. Raises InputError for several
    columns of text, for what is not finite, and whatever `convexdesign.tables` refuses.
    """
    if isinstance(source, Listing):
        return source
    if isinstance(source, (str, PathLike)):
        return _from_file(Path(source), {"delimiter": delimiter, "decimal": decimal}, header, encoding)
    if not isinstance(source, np.ndarray) and hasattr(source, "columns"):
        return _from_frame(source)
    if isinstance(source, Sequence) and source and all(isinstance(entry, str) for entry in source):
        return Listing(np.empty((len(source), 0)), (), tuple(source))
    values = np.array(numeric(source, "points"), dtype=float)
    if values.ndim != 2 or values.shape[0] == 0:
        raise InputError(
            f"points must be a matrix, one row a point, got shape {values.shape}; use x.reshape(-1, 1) for scalars"
        )
    check_finite(values, "points")
    return Listing(values, None, None)


def _from_file(path: Path, dialect: dict[str, Any], header: bool | None, encoding: str | None) -> Listing:
    from convexdesign.tables.dialect import read_text_table
    from convexdesign.tables.factors import read_factors
    from convexdesign.tables.table import is_npy, read_npy
    from convexdesign.tables.text import read_text

    if is_npy(path):
        return Listing(np.array(read_npy(path, ndim=2)), None, None, str(path), 1)
    parse = partial(read_text_table, header=header, names=None, comment=None, keep_index=True, **dialect)
    try:
        reading = read_text(path, encoding, parse)
    except InputError:
        # Names that repeat, or stand in another column than the first.
        factors = read_factors(path, unique=False, encoding=encoding, **dialect)
        labels = {name: column for name, column in factors.columns.items() if isinstance(column[0], str)}
        named = factors.names or _only_labels(labels, str(path))
        numbers = {name: column for name, column in factors.columns.items() if name not in labels}
        values = np.array(list(numbers.values()), dtype=float).reshape(len(numbers), factors.n).T
        return Listing(values, tuple(numbers), named, str(path), 1)
    columns = reading.columns if reading.has_header else None
    return Listing(reading.values, columns, reading.names, str(path), 1)


def _from_frame(frame: Any) -> Listing:
    import narwhals as nw

    try:
        data = nw.from_native(frame, eager_only=True)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError) as error:
        raise InputError(f"points must be a file, an array or a DataFrame: {error}") from None
    if len(data) == 0:
        raise InputError("points are empty; list at least one")
    numbers = [c for c in data.columns if data.get_column(c).dtype.is_numeric()]
    texts = {str(c): data.get_column(c).to_list() for c in data.columns if c not in numbers}
    labels = _only_labels(texts, "points")
    index = nw.maybe_get_index(data)
    if labels is None and index is not None and type(index).__name__ != "RangeIndex":
        labels = tuple(str(entry) for entry in index)
    values = np.column_stack([data.get_column(c).to_numpy() for c in numbers]) if numbers else np.empty((len(data), 0))
    check_finite(values, "points", labels)
    return Listing(np.asarray(values, dtype=float), tuple(str(c) for c in numbers), labels)


def _only_labels(texts: dict[str, Any], source: str) -> tuple[str, ...] | None:
    if len(texts) > 1:
        raise InputError(f"{source}: columns {', '.join(map(repr, texts))} hold text; keep the one that names the arms")
    return next((tuple(str(entry) for entry in column) for column in texts.values()), None)


Measure = Literal["weights", "counts"]

# How columns are headed that hold the effort, whatever their case.
_COUNTS = ["count", "counts", "n", "rep", "reps", "rep..", "replicates", "replications", "freq", "frequency", "runs"]
_WEIGHTS = ["weight", "weights", "w", "wt", "proportion", "proportions", "prop", "share", "shares", "mass"]
HEADS: dict[Measure, list[str]] = {"weights": _WEIGHTS, "counts": _COUNTS}
# How columns of numbers are headed that name the arms.
LABELS = ("arm", "arms", "name", "names", "label", "index", "id", "run")
# Weights whose sum is further from one than this are not proportions, or were rounded.
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class SamplingEffort:
    """How much of each row of a listing: weights or counts, (k,)."""

    measure: Measure
    values: Floats


def effort_column(rows: LabelledVectors, listing: Listing, column: str | None, measure: Measure | None) -> int | None:
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
        if not is_one_of(column, columns):
            raise InputError(
                f"{listing.source}: there is no column {shown(column)}; the columns are {', '.join(columns)}"
            )
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


def is_labelled(rows: LabelledVectors, listing: Listing) -> bool:
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


def effort_at(listing: Listing, at: int, measure: Measure | None) -> SamplingEffort:
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
    return SamplingEffort(kind, values)


def checked(listing: Listing, effort: SamplingEffort) -> Floats:
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
