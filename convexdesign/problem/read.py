"""The border: what users pass as vectors becomes a checked float64 matrix with names, or an error that says where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError

__all__ = ["Rows", "read_positive", "read_rows", "read_vector"]

# Larger entries would overflow when squared twice; they mean a wrong unit, not a measurement.
LARGEST_ENTRY = 1e75
# Below this many bytes an input is copied, so that a problem stays a value whatever happens to the array.
COPY_BELOW = 64 * 2**20


@dataclass(frozen=True, eq=False)
class Rows:
    """A matrix of row vectors as given: values (n, d), row names and column names where the source had them."""

    values: NDArray[Any]
    names: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None


def read_rows(source: Any, what: str, width: int | None = None) -> Rows:
    """Read rows from an array, nested lists, or a pandas or polars DataFrame.

    float64 and float32 arrays above 64 MB (and memory maps) are kept as they are; everything else becomes a
    read-only float64 copy. Row labels of a DataFrame (a non-default index, or one column of strings) become names.
    Raises InputError for anything that is not a finite, non-empty numeric matrix, naming the place.
    """
    if isinstance(source, Rows):
        return source
    names = columns = None
    if not isinstance(source, np.ndarray) and hasattr(source, "columns"):
        source, names, columns = _from_frame(source, what)
    values = _numeric(source, what)
    if values.ndim != 2:
        hint = (
            "one row per vector: use x.reshape(-1, 1) for scalars or x.reshape(1, -1) for one vector"
            if values.ndim == 1
            else "one row per vector"
        )
        raise InputError(f"{what} must be a matrix, {hint}; got shape {values.shape}")
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise InputError(f"{what} are empty (shape {values.shape}); give at least one vector with at least one entry")
    if width is not None and values.shape[1] != width:
        raise InputError(f"{what} have {values.shape[1]} entries each, but the arms have {width}; they must agree")
    _check_finite(values, what, names)
    if values.nbytes < COPY_BELOW and not isinstance(values, np.memmap):
        values = np.array(values, dtype=float, order="C")
    elif values.dtype not in (np.float64, np.float32):
        values = np.asarray(values, dtype=float)
    values = values.view()
    values.flags.writeable = False
    return Rows(values, names, columns)


def read_vector(source: Any, what: str, length: int) -> NDArray[np.float64]:
    """A finite vector of the length given, as a read-only float64 copy."""
    values = np.array(_numeric(source, what), dtype=float)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.shape != (length,):
        raise InputError(f"{what} must be a vector of length {length}, got shape {values.shape}")
    _check_finite(values, what, None)
    values.flags.writeable = False
    return values


def read_positive(source: Any, what: str, n: int, remedy: str) -> NDArray[np.float64] | None:
    """Positive numbers, one per arm, from a scalar or a vector; None when all are one."""
    if source is None:
        return None
    if hasattr(source, "to_numpy"):
        source = source.to_numpy()
    values = _numeric(source, what)
    if values.ndim == 2 and 1 in values.shape and values.size == n:
        values = values.ravel()
    if values.ndim and values.shape != (n,):
        raise InputError(f"{what} must be a scalar or have one entry per arm ({n}), got shape {values.shape}")
    _check_finite(values, what, None)
    bad = np.flatnonzero(np.atleast_1d(values) <= 0)
    if bad.size:
        at = f"[{bad[0]}]" if values.ndim else ""
        raise InputError(f"{what}{at} is {np.atleast_1d(values)[bad[0]]:g}; {remedy}")
    out = np.array(np.broadcast_to(np.asarray(values, dtype=float), (n,)))
    out.flags.writeable = False
    return out


def _numeric(source: Any, what: str) -> NDArray[Any]:
    try:
        values = source if isinstance(source, np.ndarray) else np.asarray(source)
        if values.dtype == object:
            values = values.astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers in a rectangular array: {error}") from None
    if values.dtype.kind not in "fiub":
        raise InputError(f"{what} must be real numbers, got dtype {values.dtype}; convert them first")
    return values


def _check_finite(values: NDArray[Any], what: str, names: tuple[str, ...] | None) -> None:
    # One sum is finite exactly when all entries are (short of overflow); only a failure needs the search.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum(dtype=float))
        if not suspicious and values.size:
            suspicious = max(abs(float(values.max())), abs(float(values.min()))) > LARGEST_ENTRY
    if not suspicious:
        return
    for row, entry in enumerate(np.atleast_1d(values)):
        bad = ~(np.abs(np.asarray(entry, dtype=float)) <= LARGEST_ENTRY)
        if bad.any():
            place = f"[{row}]" if values.ndim == 1 else f"[{row}, {int(np.argmax(bad))}]"
            found = entry if values.ndim <= 1 else entry[int(np.argmax(bad))]
            named = f" ({names[row]})" if names else ""
            remedy = (
                "remove or impute it"
                if not np.isfinite(found)
                else f"rescale below {LARGEST_ENTRY:g} (change the unit)"
            )
            raise InputError(f"{what}{place if values.ndim else ''}{named} is {found}; {remedy}")


def _from_frame(frame: Any, what: str) -> tuple[Any, tuple[str, ...] | None, tuple[str, ...]]:
    import narwhals as nw

    try:
        data = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise InputError(f"{what} must be an array, lists or a DataFrame: {error}") from None
    names = _index_names(data)
    text = [c for c in data.columns if not data.get_column(c).dtype.is_numeric() and data.get_column(c).dtype != nw.Boolean]
    if len(text) == 1 and names is None:
        names = tuple(str(v) for v in data.get_column(text[0]).to_list())
        data = data.drop(text[0])
    elif text:
        raise InputError(f"{what}: column {text[0]!r} is not numeric; drop or encode it")
    return data.to_numpy(), names, tuple(str(c) for c in data.columns)


def _index_names(data: Any) -> tuple[str, ...] | None:
    import narwhals as nw

    index = nw.maybe_get_index(data)
    if index is None or type(index).__name__ == "RangeIndex":
        return None
    return tuple(str(v) for v in index)
