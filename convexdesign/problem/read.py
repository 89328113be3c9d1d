"""The border: what users pass as vectors becomes a checked float64 matrix with names, or an error that says where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.problem.arms import Arms, ArrayArms
from convexdesign.problem.dask_arms import DaskArms, is_dask
from convexdesign.problem.finite import check_finite, numeric

__all__ = ["Rows", "by_name", "read_positive", "read_rows", "read_vector"]

# Below this many bytes an input is copied, so that a problem stays a value whatever happens to the array.
COPY_BELOW = 64 * 2**20
# Smaller variances and costs would make vectors too large to be squared; they mean a wrong unit.
SMALLEST_POSITIVE = 1e-75


@dataclass(frozen=True, eq=False)
class Rows:
    """Row vectors as given: an array (n, d) or an oracle, row names and column names where the source had them."""

    held: NDArray[Any] | Arms
    names: Sequence[str] | None = None
    columns: tuple[str, ...] | None = None

    @property
    def source(self) -> Arms:
        """The vectors as an oracle, wherever they lie."""
        return ArrayArms(self.held, self.names) if isinstance(self.held, np.ndarray) else self.held

    @property
    def values(self) -> NDArray[Any]:
        """The array (n, d); InputError where the vectors are made block by block or lie on a cluster."""
        return self.array("this works on all vectors at once")

    def array(self, why: str) -> NDArray[Any]:
        """The array (n, d), or an InputError that says why one is needed."""
        if isinstance(self.held, np.ndarray):
            return self.held
        raise InputError(
            f"{self.held!r} are not in memory, but {why}: pass an array, a memory map (np.load(path, mmap_mode='r')) "
            "or fewer vectors"
        )

    @property
    def responses(self) -> int:
        """How many numbers one measurement returns; more than one only for arms that are matrices."""
        return 1

    @property
    def n(self) -> int:
        return int(self.held.shape[0]) if isinstance(self.held, np.ndarray) else self.held.n

    @property
    def d(self) -> int:
        return int(self.held.shape[1]) if isinstance(self.held, np.ndarray) else self.held.d


def read_rows(source: Any, what: str, width: int | None = None) -> Rows:
    """Read rows from an array, nested lists, a pandas or polars DataFrame, BlockArms or a Dask array.

    Arrays above 64 MB and memory maps are kept as they are, whatever their numeric type, and read block by block;
    everything else becomes a read-only float64 copy. Row labels of a DataFrame (a non-default index, or one column of
    strings) become names. Raises InputError for anything that is not a finite, non-empty numeric matrix, naming the
    place; blocks made by a function or on a cluster are checked as they are made.
    """
    if isinstance(source, Rows):
        if source.responses > 1:
            raise InputError(
                f"{what} have {source.responses} responses each, but this takes one vector each; only a DesignProblem takes "
                "arms with several"
            )
        return source
    if is_dask(source):
        source = DaskArms(source, what)
    if not isinstance(source, (np.ndarray, list, tuple)) and isinstance(source, Arms):
        _check_width(source.d, what, width)
        return Rows(source, source.names)
    names = columns = None
    if not isinstance(source, np.ndarray) and hasattr(source, "columns"):
        source, names, columns = _from_frame(source, what)
    values = numeric(source, what)
    if values.ndim != 2:
        hint = (
            "one row per vector: use x.reshape(-1, 1) for scalars or x.reshape(1, -1) for one vector"
            if values.ndim == 1
            else "one row per vector"
        )
        if values.ndim == 3 and what == "arms":
            hint = "one row per vector: only a DesignProblem takes arms with several responses, (n, d, r)"
        raise InputError(f"{what} must be a matrix, {hint}; got shape {values.shape}")
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise InputError(f"{what} are empty (shape {values.shape}); give at least one vector with at least one entry")
    _check_width(values.shape[1], what, width)
    check_finite(values, what, names)
    if values.nbytes < COPY_BELOW and not isinstance(values, np.memmap):
        values = np.array(values, dtype=float, order="C")
    elif values.dtype.itemsize > 8:
        values = np.asarray(values, dtype=float)
    values = values.view()
    values.flags.writeable = False
    return Rows(values, names, columns)


def _check_width(d: int, what: str, width: int | None) -> None:
    if width is not None and d != width:
        raise InputError(f"{what} have {d} entries each, but the arms have {width}; they must agree")


def read_vector(source: Any, what: str, length: int) -> NDArray[np.float64]:
    """A finite vector of the length given, as a read-only float64 copy."""
    values = np.array(numeric(source, what), dtype=float)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.shape != (length,):
        raise InputError(f"{what} must be a vector of length {length}, got shape {values.shape}")
    check_finite(values, what)
    values.flags.writeable = False
    return values


def read_positive(source: Any, what: str, n: int, remedy: str) -> NDArray[np.float64] | None:
    """Positive numbers, one per arm, from a scalar or a vector; None when all are one."""
    if source is None:
        return None
    if hasattr(source, "to_numpy"):
        source = source.to_numpy()
    values = numeric(source, what)
    if values.ndim > 1 and values.size == n == max(values.shape):
        values = values.ravel()
    if values.ndim and values.shape != (n,):
        raise InputError(f"{what} must be a scalar or have one entry per arm ({n}), got shape {values.shape}")
    check_finite(values, what)
    bad = np.flatnonzero(np.atleast_1d(values) < SMALLEST_POSITIVE)
    if bad.size:
        at, value = f"[{bad[0]}]" if values.ndim else "", float(np.atleast_1d(values)[bad[0]])
        advice = remedy if value <= 0 else f"rescale above {SMALLEST_POSITIVE:g} (change the unit)"
        raise InputError(f"{what}{at} is {value:g}; {advice}")
    out = np.array(np.broadcast_to(np.asarray(values, dtype=float), (n,)))
    out.flags.writeable = False
    return out


def by_name(source: Any, what: str, names: Sequence[str] | None) -> Any:
    """The entries of a labelled Series in the order of the arms' names; anything else, and arms without names, as they are."""
    index = getattr(source, "index", None)
    if names is None or not hasattr(source, "to_numpy") or index is None or type(index).__name__ == "RangeIndex":
        return source
    labels = tuple(str(label) for label in index)
    if labels == tuple(names):
        return source
    place = {label: k for k, label in enumerate(labels)}
    if len(place) < len(labels) or len(set(names)) < len(names):
        raise InputError(f"{what} and the arms have labels in different orders, and some twice; make the labels unique")
    missing = [name for name in names if name not in place]
    if missing or len(labels) > len(names):
        label, where = (
            (missing[0], "no entry for arm") if missing else (min(set(labels) - set(names)), "no arm for entry")
        )
        raise InputError(f"{what} is labelled, but there is {where} {label!r}; give plain numbers or the arms' labels")
    return source.to_numpy()[[place[name] for name in names]]


def _from_frame(frame: Any, what: str) -> tuple[Any, tuple[str, ...] | None, tuple[str, ...]]:
    import narwhals as nw

    try:
        data = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise InputError(f"{what} must be an array, lists or a DataFrame: {error}") from None
    names = _index_names(data)
    text = [
        c for c in data.columns if not data.get_column(c).dtype.is_numeric() and data.get_column(c).dtype != nw.Boolean
    ]
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
