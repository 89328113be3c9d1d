"""The border: what users pass as vectors becomes a checked float64 matrix with names, or an error that says where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import check_finite, numeric
from convexdesign.arms.dask import DaskArms, is_dask
from convexdesign.arms.labels import ARMS, COORDINATES, in_order, index_labels, order_of
from convexdesign.arms.source import Arms, ArrayArms
from convexdesign.errors import InputError
from convexdesign.features.model import coded_alike, coded_settings, settings_of
from convexdesign.typing import Floats, Indices

__all__ = [
    "LabelledVectors",
    "aligned",
    "column_or_numbers",
    "has_responses",
    "read_alike",
    "read_arms",
    "read_groups",
    "read_positive",
    "read_rows",
    "read_vector",
]

# Below this many bytes an input is copied, so that a problem stays a value whatever happens to the array.
COPY_BELOW = 64 * 2**20
# Smaller variances and costs would make vectors too large to be squared; they mean a wrong unit.
SMALLEST_POSITIVE = 1e-75
# Coefficients of a combination written out, largest first, and the share of the largest below which one is left out.
TERMS_SHOWN = 4
LEAST_TERM = 1e-6
ENCODE = "code it as a factor (features.model_matrix), or, where it names the rows, make it the index (set_index)"


@dataclass(frozen=True, eq=False)
class LabelledVectors:
    """Arms or other vectors as given: rows in an array (n r, d), or a source; names of arms and columns where there were any.

    responses r: how many rows an arm has, 1 for ordinary vectors; counts (n,): how many of them are its own where that
    differs, the rows beyond being zero.
    """

    held: NDArray[Any] | Arms
    names: Sequence[str] | None = None
    columns: tuple[str, ...] | None = None
    # The model matrix they were read from, where they came as one: it knows how its columns were coded.
    matrix: Any = field(default=None, kw_only=True)
    responses: int = field(default=1, kw_only=True)
    counts: Indices | None = field(default=None, kw_only=True)

    @property
    def source(self) -> Arms:
        """The vectors as a source, wherever they lie."""
        return ArrayArms(self.held, self.names, self.responses) if isinstance(self.held, np.ndarray) else self.held

    @property
    def values(self) -> NDArray[Any]:
        """The array as given, (n, d), or of several responses (n, d, r); InputError where the vectors are in no array."""
        return self.array("this works on all vectors at once")

    def array(self, why: str) -> NDArray[Any]:
        """The array as given, or an InputError that says why one is needed."""
        if not isinstance(self.held, np.ndarray):
            raise InputError(
                f"{self.held!r} are not in memory, but {why}: pass an array, a memory map (np.load(path, mmap_mode='r')) "
                "or fewer vectors"
            )
        if self.responses == 1:
            return self.held
        return self.held.reshape(self.n, self.responses, self.d).transpose(0, 2, 1)

    @property
    def settings(self) -> Any:
        """The table (n rows) of settings that the vectors were made of; None where they were not, or that cannot be told."""
        if self.matrix is None or self.responses > 1:
            return None
        found = settings_of(self.matrix)
        return found if found is not None and len(found) == self.n else None

    def called(self, index: int, noun: str = "arm") -> str:
        """What a user calls this vector: its name, or "a=-1, b=2" of the factors it was made of, or "arm 3"."""
        if self.names is not None:
            return self.names[index]
        table = self.settings
        if table is None:
            return f"{noun} {index}"
        factors = [name for name in table.columns if name in self.matrix.spec.factors]
        row = {name: table[name].iloc[index] for name in factors}
        return ", ".join(
            f"{name}={value:.6g}" if isinstance(value, (float, np.floating)) else f"{name}={value}"
            for name, value in row.items()
        )

    def column_called(self, index: int, noun: str) -> str:
        """What a user calls this coordinate, after what it is."""
        return f"{noun} {index if self.columns is None else self.columns[index]}"

    def combination(self, vector: Floats) -> str:
        """What a user calls a combination of coordinates: 0.8 a - 0.6 b, the largest entries first; a alone for one."""
        order = np.argsort(-np.abs(vector), kind="stable")
        order = order[np.abs(vector[order]) > LEAST_TERM * abs(vector[order[0]])]
        if order.size == 1:
            return self.column_called(int(order[0]), "coefficient")
        sign, names = np.sign(vector[order[0]]), self.columns or [f"[{j}]" for j in range(self.d)]
        terms = [f"{'-' if sign * vector[j] < 0 else '+'} {abs(vector[j]):.3g} {names[j]}" for j in order[:TERMS_SHOWN]]
        return " ".join(terms).removeprefix("+ ") + (" ..." if order.size > TERMS_SHOWN else "")

    @property
    def vectors(self) -> LabelledVectors:
        """The response vectors x_ik, arm by arm, each with its arm's name: ordinary vectors as they are."""
        if self.responses == 1:
            return self
        owner, number = self.places
        names = None if self.names is None else tuple(self.names[i] for i in owner.tolist())
        return LabelledVectors(
            np.ascontiguousarray(self.source.take(np.arange(self.n))[owner * self.responses + number]), names
        )

    @property
    def places(self) -> tuple[Indices, Indices]:
        """The arm and the number within it of every response vector."""
        counts = np.full(self.n, self.responses) if self.counts is None else self.counts
        owner, number = np.nonzero(np.arange(self.responses) < counts[:, None])
        return owner, number

    @property
    def how_many(self) -> str:
        """The number of responses in words."""
        several = f"{self.responses} response{'s' * (self.responses > 1)}"
        return several if self.counts is None else f"up to {several}"

    @property
    def n(self) -> int:
        return int(self.held.shape[0]) // self.responses if isinstance(self.held, np.ndarray) else self.held.n

    @property
    def d(self) -> int:
        return int(self.held.shape[1]) if isinstance(self.held, np.ndarray) else self.held.d


def read_arms(source: Any, counts: Sequence[int] | None = None) -> LabelledVectors:
    """Arms from whatever `read_rows` takes, or with several responses: an array (n, d, r), or a list of n matrices (d, r_i).

    Where r = 1 they are ordinary arms; of more responses a copy is held in memory. Matrices of different r_i are filled
    up with zero columns; counts (n,) says how many are not, in an array filled up already. Raises InputError naming the
    place, as `read_rows` does.
    """
    if isinstance(source, np.ndarray):
        own = None if counts is None else np.asarray(counts, dtype=np.intp)
        return _read_groups(source, own) if source.ndim == 3 else read_rows(source, "arms")
    if has_responses(source):
        return _read_groups(*_filled_up(source))
    return source if isinstance(source, LabelledVectors) else read_rows(source, "arms")


def read_groups(arms: Any) -> tuple[Floats, int]:
    """Rows (n r, d) and r, from whitened arms (n, d) or groups of rows (n, r, d)."""
    Y = np.asarray(arms, dtype=np.float64)
    if Y.ndim not in (2, 3) or not np.all(np.isfinite(Y)):
        raise InputError(f"arms must be a finite matrix with one row an arm, got shape {Y.shape}")
    return Y.reshape(-1, Y.shape[-1]), 1 if Y.ndim == 2 else Y.shape[1]


def has_responses(source: Any) -> bool:
    """Whether arms are given as matrices: an array of three dimensions, or a list that begins with a matrix."""
    if isinstance(source, np.ndarray):
        return source.ndim == 3
    if not (isinstance(source, (list, tuple)) and source):
        return False
    first = source[0]
    if isinstance(first, np.ndarray):
        return first.ndim == 2
    return isinstance(first, (list, tuple)) and len(first) > 0 and isinstance(first[0], (list, tuple, np.ndarray))


def _filled_up(matrices: Sequence[Any]) -> tuple[NDArray[Any], Indices | None]:
    """(n, d, r) with r the largest number of columns, and how many each matrix has (None where all have r)."""
    parts = [numeric(matrix, f"arms[{i}]") for i, matrix in enumerate(matrices)]
    for i, part in enumerate(parts):
        if part.ndim != 2 or 0 in part.shape:
            raise InputError(
                f"arms[{i}] has shape {part.shape}; where one arm is a matrix all are, (d, r_i), a column per response"
            )
        if part.shape[0] != parts[0].shape[0]:
            raise InputError(
                f"arms[{i}] has {part.shape[0]} rows and arms[0] has {parts[0].shape[0]}; an arm is a matrix (d, r_i) "
                "with one row per parameter and one column per response"
            )
    counts = np.array([part.shape[1] for part in parts], dtype=np.intp)
    out = np.zeros((len(parts), parts[0].shape[0], int(counts.max())))
    for i, part in enumerate(parts):
        check_finite(part, f"arms[{i}]")
        out[i, :, : part.shape[1]] = part
    return out, None if bool(np.all(counts == counts[0])) else counts


def _read_groups(given: NDArray[Any], counts: Indices | None) -> LabelledVectors:
    values = numeric(given, "arms")
    if 0 in values.shape:
        raise InputError(
            f"arms are empty (shape {values.shape}); give at least one arm, with at least one entry and one response"
        )
    if values.shape[2] == 1:
        return read_rows(np.ascontiguousarray(values[:, :, 0]), "arms")
    check_finite(values, "arms")
    n, d, responses = values.shape
    held = np.array(values.transpose(0, 2, 1), dtype=float, order="C").reshape(n * responses, d)
    held.flags.writeable = False
    return LabelledVectors(held, responses=responses, counts=counts)


def read_rows(source: Any, what: str, width: int | None = None) -> LabelledVectors:
    """Read rows from an array, nested lists, a pandas or polars DataFrame, BlockArms or a Dask array.

    Arrays above 64 MB and memory maps are kept as they are, whatever their numeric type, and read block by block;
    everything else becomes a read-only float64 copy. Row labels of a DataFrame (a non-default index, or one column of
    strings) become names. Raises InputError for anything that is not a finite, non-empty numeric matrix, naming the
    place; blocks made by a function or on a cluster are checked as they are made.
    """
    if isinstance(source, LabelledVectors):
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
        return LabelledVectors(source, source.names)
    names = columns = None
    matrix = source if getattr(source, "spec", None) is not None else None
    if isinstance(source, (str, PathLike)):
        raise InputError(
            f"{what} is text ({str(source)[:80]!r}); where it is the path of a file read that first, with "
            "convexdesign.tables.read_table(path)"
        )
    if not isinstance(source, np.ndarray) and hasattr(source, "columns"):
        frame: Any = source
        if type(source).__module__ == "convexdesign.tables.table":  # above this layer, so known by name
            source, names, columns = frame.values, frame.names, frame.columns
        else:
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
    return LabelledVectors(values, names, columns, matrix=matrix)


def _check_width(d: int, what: str, width: int | None) -> None:
    if width is not None and d != width:
        raise InputError(f"{what} have {d} entries each, but the arms have {width}; they must agree")


def aligned(arms: LabelledVectors, other: LabelledVectors, what: str) -> LabelledVectors:
    """The other rows with their columns in the order of the arms', where both name them; InputError listing both otherwise."""
    order = None
    recoded = coded_alike(arms.matrix, other.matrix, what)
    if recoded is not other.matrix:
        other = read_rows(recoded, what)
    if arms.columns is not None and other.columns is not None:
        order = order_of(other.columns, arms.columns, what, COORDINATES)
    _check_width(other.d, what, arms.d)
    if order is None:
        return other
    values = np.ascontiguousarray(other.values[:, order])
    values.flags.writeable = False
    return LabelledVectors(values, other.names, arms.columns)


def read_alike(arms: LabelledVectors, source: Any, what: str) -> LabelledVectors:
    """Rows in the coordinates of the arms: vectors, or a table of settings where the arms were made of some."""
    return aligned(arms, read_rows(coded_settings(arms.matrix, source, what), what), what)


def column_or_numbers(arms: LabelledVectors, given: Any, what: str) -> Any:
    """The column of the arms' settings (n,) where its name is given; anything else as it is."""
    if not isinstance(given, str):
        return given
    settings = arms.settings
    if settings is None:
        raise InputError(
            f"{what} is the text {given!r}, but the arms were made of no table of settings (features.model_matrix) whose "
            "column that could be; give numbers"
        )
    if given not in settings.columns:
        raise InputError(f"{what}: there is no column {given!r}; the table has {', '.join(map(str, settings.columns))}")
    return settings[given].to_numpy()


def read_vector(
    source: Any, what: str, length: int, names: Sequence[str] | None = None, of: str = ARMS
) -> NDArray[np.float64]:
    """A finite vector of the length given, as a read-only float64 copy; with labels in the order of the names."""
    values = np.array(numeric(in_order(source, what, names, of), what), dtype=float)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.shape != (length,):
        raise InputError(f"{what} must be a vector of length {length}, got shape {values.shape}")
    check_finite(values, what)
    values.flags.writeable = False
    return values


def read_positive(
    source: Any, what: str, n: int, remedy: str, names: Sequence[str] | None = None
) -> NDArray[np.float64] | None:
    """Positive numbers, one per arm, from a scalar or a vector, with labels in the order of the names; None as it is."""
    if source is None:
        return None
    values = numeric(in_order(source, what, names), what)
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


def _from_frame(frame: Any, what: str) -> tuple[Any, tuple[str, ...] | None, tuple[str, ...] | None]:
    """The numbers of a DataFrame, names of its rows (its labels, or one column of text), and of its columns."""
    import narwhals as nw

    try:
        data = nw.from_native(frame, eager_only=True)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError) as error:
        raise InputError(f"{what} must be an array, lists or a DataFrame: {error}") from None
    counted = index_labels(frame.columns) is None if hasattr(frame.columns, "step") else False
    names = index_labels(nw.maybe_get_index(data))
    other = [c for c in data.columns if not _is_numeric(data.get_column(c).dtype)]
    if len(other) == 1 and names is None:
        names = _row_names(data.get_column(other[0]), f"{what}: column {other[0]!r}")
        data = data.drop(other[0])
    elif other:
        raise InputError(f"{what}: column {other[0]!r} is not numeric; drop it, or {ENCODE}")
    return data.to_numpy(), names, None if counted else tuple(str(c) for c in data.columns)


def _is_numeric(dtype: Any) -> bool:
    import narwhals as nw

    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def _row_names(column: Any, what: str) -> tuple[str, ...]:
    """Text that differs from row to row names the rows; InputError for what would be lost as such."""
    import narwhals as nw

    entries = column.to_list()
    category = isinstance(column.dtype, (nw.Categorical, nw.Enum))
    if category or not all(isinstance(entry, str) for entry in entries):
        found = f"of category type ({column.dtype})" if category else f"neither numbers nor text ({column.dtype})"
        raise InputError(f"{what} is {found}; where it holds numbers make it numeric (astype(float)), or {ENCODE}")
    first: dict[str, int] = {}
    for row, entry in enumerate(entries):
        if first.setdefault(entry, row) != row:
            raise InputError(
                f"{what} holds {entry!r} in rows {first[entry]} and {row}, so it does not name the rows; drop it, or {ENCODE}"
            )
    return tuple(entries)
