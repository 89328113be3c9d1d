"""A design as other programs write it: a table of points or names, with weights or counts beside them or without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from convexdesign.errors import InputError
from convexdesign.problem.finite import check_finite, numeric
from convexdesign.typing import Floats

__all__ = ["Listing", "read_listing"]


@dataclass(frozen=True, eq=False)
class Listing:
    """values (k, c): the numbers of each row; columns: their c names, None where there are none; labels: k names or None.

    source: what the table is called in messages; first: the number of its first row there.
    """

    values: Floats
    columns: tuple[str, ...] | None
    labels: tuple[str, ...] | None
    source: str = "points"
    first: int = 0

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
    except TypeError as error:
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
