"""match_design: weights or counts of a design that lists points, in the order of a problem's arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import choice, nearest, real, shown
from convexdesign.arms.read import LabelledVectors, read_rows, read_vector
from convexdesign.arms.source import Arms
from convexdesign.errors import InputError
from convexdesign.features.model import coded_alike
from convexdesign.matching.listing import (
    LABELS,
    SUM_TOLERANCE,
    Listing,
    Measure,
    SamplingEffort,
    checked,
    effort_at,
    effort_column,
    is_labelled,
    kind_of,
    read_listing,
)
from convexdesign.problem import DesignProblem
from convexdesign.typing import Floats, Indices

__all__ = ["Nearest", "OffListError", "coordinate_scale", "match_design", "match_listing", "nearest_arms"]


class OffListError(InputError):
    """Points that are no arms: `points` (k, d) are their coordinates, each once, in the order listed; names: in words."""

    def __init__(self, message: str, points: Floats, names: tuple[str, ...]) -> None:
        super().__init__(message)
        self.points = points
        self.names = names


# Distances this close are equal: no file tells such arms apart.
EQUAL = 1e-9
# Points named in a message.
NAMED = 5


def match_design(
    arms: DesignProblem | ArrayLike | Any,
    points: Any,
    weights: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    *,
    column: str | None = None,
    measure: Measure | None = None,
    tol: float = 1e-6,
    normalise: bool = False,
) -> NDArray[Any]:
    """Weights or counts over the arms, from a design that lists its points, as `verify` takes them.

    Rows of the same arm are added. Coordinates are found by their names where arms and points both have names,
    otherwise they are all columns but the last one's effort, in order. A point is the arm that differs by at most tol
    in every coordinate, relative to the coordinate's range over all arms (to its size where that is zero).

    Parameters
    ----------
    arms : DesignProblem or array_like, shape (n, d)
        A problem, or what its constructors take as arms.
    points : path, DataFrame, array_like or list of str
        A CSV or NPY file, a DataFrame or an array with one row a point and the arm's coordinates, or with the arm's
        name (or, where the arms have none, its index from 0); or a list of names.
    weights, counts : array_like, shape (k,), optional
        The effort, one a point; at most one of the two, where `points` does not hold it.
    column : str, optional
        The column of points that holds the effort. By default the one headed weight, proportion, share, ... or count,
        n, reps, freq, ... (the counts, where a file that names the arms has weights and what they were rounded to, as
        `solve --round` writes it). Without any, every row is one measurement.
    measure : {"weights", "counts"}, optional
        What the column is; by default counts where all are whole and do not sum to 1.
    tol : float
        How far from an arm a point may be, relative to the range of each coordinate.
    normalise : bool
        Divide weights by their sum, which must be 1 (to 1e-6) otherwise.

    Returns
    -------
    array, shape (n,)
        Weights, float64, or counts, int64.

    Raises
    ------
    InputError
        For points that are no arm, naming the nearest, and for points that two arms are equally near to (1e-9), naming
        both: list such arms by name.

    Examples
    --------
    >>> import convexdesign as cd
    >>> arms = [[1, -1], [1, 0], [1, 1]]
    >>> cd.match_design(arms, [[1, 1, 2], [1, -1, 1], [1, 1, 3]])
    array([1, 0, 5])
    >>> cd.match_design(arms, [[1, 1], [1, -1]], weights=[0.25, 0.75])
    array([0.75, 0.  , 0.25])
    """
    if isinstance(arms, DesignProblem) and arms.responses > 1:
        raise InputError(
            f"the arms have {arms.responses} responses each, so a row of numbers does not tell which is meant; "
            "list the design by arm, one weight or count each in their order"
        )
    if isinstance(arms, DesignProblem):
        rows = arms.stated.arms
    else:
        rows = read_rows(arms, "arms")
    listing = read_listing(coded_alike(rows.matrix, points, "points"))
    if weights is None and counts is None:
        return match_listing(rows, listing, column=column, measure=measure, tol=tol, normalise=normalise)
    if (weights is not None and counts is not None) or column is not None or measure is not None:
        raise InputError("give one of weights=, counts= and column= (with measure=)")
    name: Measure = "counts" if weights is None else "weights"
    effort = read_vector(counts if weights is None else weights, name, listing.rows, listing.labels, "points")
    return _collected(rows, listing, range(listing.values.shape[1]), SamplingEffort(name, effort), tol, normalise)


def match_listing(
    rows: LabelledVectors,
    listing: Listing,
    *,
    column: str | None = None,
    measure: Measure | None = None,
    tol: float = 1e-6,
    normalise: bool = False,
) -> NDArray[Any]:
    """`match_design` for a table that has been read."""
    choice(measure, (None, "weights", "counts"), "measure")
    at = effort_column(rows, listing, column, measure)
    effort = SamplingEffort("counts", np.ones(listing.rows)) if at is None else effort_at(listing, at, measure)
    rest = [j for j in range(listing.values.shape[1]) if j != at]
    if listing.columns is not None and (rows.columns is not None or len(rest) > rows.d or _only_names(rows, listing)):
        # The other of a weight and a count, where one was chosen.
        own = set(rows.columns or ())
        rest = [j for j in rest if listing.columns[j] in own or kind_of(listing.columns[j]) is None]
    return _collected(rows, listing, rest, effort, tol, normalise)


def _only_names(rows: LabelledVectors, listing: Listing) -> bool:
    """Whether all columns but those of names are headed like weights or counts: no coordinates then."""
    columns = [name for name in listing.columns or () if name.lower() not in LABELS]
    return is_labelled(rows, listing) and all(kind_of(name) is not None for name in columns)


def _collected(
    rows: LabelledVectors,
    listing: Listing,
    candidates: Sequence[int],
    effort: SamplingEffort,
    tol: float,
    normalise: bool,
) -> NDArray[Any]:
    """The effort added up over the arms."""
    if not 0 < real(tol) < np.inf:
        raise InputError(f"tol is {shown(tol)}; give a positive share of each coordinate's range, such as 1e-6")
    values = checked(listing, effort)
    arms = _arms_of(rows, listing, list(candidates), real(tol))
    out = np.zeros(rows.n)
    np.add.at(out, arms, values)
    if effort.measure == "counts":
        return out.astype(np.int64)
    total = float(out.sum())
    if normalise:
        return np.asarray(out / total)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(
            f"{listing.source}: the weights sum to {total:.9g}, not 1; normalise to divide them by their sum, or take them as "
            "counts"
        )
    return out


def _arms_of(rows: LabelledVectors, listing: Listing, candidates: list[int], tol: float) -> Indices:
    """The arm of each row: by coordinates where they are given, otherwise by name; where both are, they must agree."""
    columns = listing.columns
    labels, coordinates = listing.labels, candidates
    if columns is not None:
        known = set(rows.columns or ())
        numbered = [j for j in candidates if columns[j].lower() in LABELS and columns[j] not in known]
        coordinates = [j for j in candidates if j not in numbered]
        if labels is None and len(numbered) == 1:
            labels = tuple(f"{value:.15g}" for value in listing.values[:, numbered[0]])
    if not coordinates:
        if labels is None:
            raise InputError(f"{listing.source}: neither coordinates nor names of arms; give one or the other")
        return _by_name(rows, listing, labels)
    points = listing.values[:, _in_order(rows, listing, coordinates)]
    if labels is not None and rows.names is not None and set(labels) <= set(rows.names):
        named = _by_name(rows, listing, labels)
        _check_agreement(rows, listing, points, named, tol)
        return named
    return _by_value(rows, listing, points, tol)


def _in_order(rows: LabelledVectors, listing: Listing, coordinates: list[int]) -> list[int]:
    """The columns of the listing in the order of the arms' coordinates."""
    columns = None if listing.columns is None else [listing.columns[j] for j in coordinates]
    if columns is not None and rows.columns is not None:
        missing = [name for name in rows.columns if name not in columns]
        if not missing and len(columns) == rows.d:
            return [coordinates[columns.index(name)] for name in rows.columns]
        unnamed = list(rows.columns) == [f"x{j + 1}" for j in range(rows.d)]
        if missing and not unnamed:
            raise InputError(
                f"{listing.source}: there is no column {missing[0]!r}, a coordinate of the arms ({', '.join(rows.columns)}); "
                f"found {', '.join(columns)}"
            )
    if len(coordinates) != rows.d:
        names = f" ({', '.join(columns)})" if columns else ""
        raise InputError(
            f"{listing.source}: {len(coordinates)} columns{names} beside the effort, but the arms have {rows.d} coordinates; "
            "name the column of weights or counts, and leave out what is neither"
        )
    return coordinates


def _by_name(rows: LabelledVectors, listing: Listing, labels: Sequence[str]) -> Indices:
    if rows.names is None:
        return _by_index(rows, listing, labels)
    where: dict[str, int] = {}
    for i, name in enumerate(rows.names):
        where.setdefault(name, i)
    for row, label in enumerate(labels):
        if label not in where:
            close = nearest(label, where)
            hint = f"did you mean {close!r}?" if close else f"the arms are {', '.join(list(where)[:NAMED])}, ..."
            raise InputError(f"{listing.place(row)}: there is no arm {label!r}; {hint}")
    found = np.array([where[label] for label in labels], dtype=np.intp)
    if len(where) < rows.n:
        names = np.asarray(rows.names, dtype=object)
        for label in labels:
            same = np.flatnonzero(names == label)
            if same.size > 1:
                raise InputError(f"arms {same[0]} and {same[1]} are both called {label!r}; give arms different names")
    return found


def _by_index(rows: LabelledVectors, listing: Listing, labels: Sequence[str]) -> Indices:
    for row, label in enumerate(labels):
        if not (label.isdecimal() and len(label) <= 18 and int(label) < rows.n):
            raise InputError(
                f"{listing.place(row)}: {label[:40]!r} is no arm; the arms have no names, so list them by index, 0 to "
                f"{rows.n - 1}, or by coordinates"
            )
    return np.array([int(label) for label in labels], dtype=np.intp)


def _by_value(rows: LabelledVectors, listing: Listing, points: Floats, tol: float) -> Indices:
    near = nearest_arms(rows.source, points)
    (first, second), (best, next_best) = near.arms.T, near.distances.T
    off = np.flatnonzero(best > tol)
    if off.size:
        named = "; ".join(_unmatched(rows, listing, points, row, first[row], best[row]) for row in off[:NAMED])
        more = f"; and {off.size - NAMED} more" * (off.size > NAMED)
        raise OffListError(
            f"{off.size} of {listing.rows} points are no arms, to a tolerance of {tol:g} of each coordinate's range: "
            f"{named}{more}. Correct them, raise the tolerance where they were rounded, or add them to the arms (--add-points)",
            *_each_once(listing, points, off),
        )
    tied = np.flatnonzero((next_best <= tol) & (next_best - best <= EQUAL))
    if tied.size:
        row = tied[0]
        raise InputError(
            f"{listing.place(row)}: {_written(points[row])} is equally near to {_called(rows, first[row])} and "
            f"{_called(rows, second[row])}; list these arms by name or index"
        )
    return np.asarray(first)


def _each_once(listing: Listing, points: Floats, off: Indices) -> tuple[Floats, tuple[str, ...]]:
    """The points of these rows without repetitions, and their settings, or else their numbers in order."""
    first: dict[tuple[float, ...], int] = {}
    for row in off.tolist():
        first.setdefault(tuple(points[row].tolist()), row)
    names = [
        f"added point {k}" if listing.settings is None else f"{listing.settings[row]} (added)"
        for k, row in enumerate(first.values(), 1)
    ]
    return np.array(list(first)), tuple(names)


def _check_agreement(rows: LabelledVectors, listing: Listing, points: Floats, named: Indices, tol: float) -> None:
    """InputError where a row names one arm and holds the coordinates of another."""
    held = rows.source.take(named)
    off = (np.abs(held - points) / coordinate_scale(rows.source)).max(axis=1)
    for row in np.flatnonzero(off > tol)[:1]:
        raise InputError(
            f"{listing.place(row)}: {_called(rows, named[row])} is at {_written(held[row])}, but the row says "
            f"{_written(points[row])}; correct the name or the coordinates"
        )


def _unmatched(rows: LabelledVectors, listing: Listing, points: Floats, row: int, arm: int, distance: float) -> str:
    if listing.settings is not None and rows.settings is not None:
        place = f"{listing.place(row)} with {listing.settings[row]}"
        return f"{place}, nearest {_called(rows, arm)}, off by {distance:.2g} of the range"
    at = _written(rows.source.take(np.array([arm]))[0])
    place = f"{listing.place(row)} at {_written(points[row])}"
    return f"{place}, nearest {_called(rows, arm)} at {at}, off by {distance:.2g} of the range"


def _called(rows: LabelledVectors, arm: int) -> str:
    return rows.called(arm) if rows.names is None else f"arm {rows.names[arm]}"


def _written(point: Floats) -> str:
    shown = ", ".join(f"{value:.6g}" for value in point[:8])
    return f"({shown}{', ...' * (point.size > 8)})"


@dataclass(frozen=True, eq=False)
class Nearest:
    """For each point the two nearest arms, indices and distances (k, 2); infinitely far where there is one arm only."""

    arms: Indices
    distances: Floats


def nearest_arms(arms: Arms, points: Floats) -> Nearest:
    """max over coordinates of |x_ij - p_kj| / scale_j, least over the arms, for points (k, d).

    scale_j is that of `coordinate_scale`. One pass over the arms for the scale and one for the distances.
    """
    scale = coordinate_scale(arms)
    k = points.shape[0]
    index, distance = np.zeros((k, 2), dtype=np.intp), np.full((k, 2), np.inf)
    for start, (found, near) in arms.map(partial(_two_nearest, points=points / scale, scale=scale)):
        both, distances = np.hstack([index, found + start]), np.hstack([distance, near])
        order = np.argsort(distances, axis=1, kind="stable")[:, :2]
        index, distance = np.take_along_axis(both, order, 1), np.take_along_axis(distances, order, 1)
    return Nearest(index, distance)


def coordinate_scale(arms: Arms) -> Floats:
    """The range of each coordinate over the arms, (d,); where that is zero, its size there, or one."""
    parts = [part for _, part in arms.map(_limits)]
    low, high = np.min([part[0] for part in parts], axis=0), np.max([part[1] for part in parts], axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    spread = high - low
    return np.asarray(np.where(spread > 0, spread, np.where(size > 0, size, 1.0)))


def _limits(rows: Floats) -> Floats:
    return np.stack([rows.min(axis=0), rows.max(axis=0)])


def _two_nearest(rows: Floats, points: Floats, scale: Floats) -> tuple[Indices, Floats]:
    from scipy.spatial.distance import cdist

    distances = cdist(points, rows / scale, "chebyshev")
    if distances.shape[1] == 1:
        distances = np.hstack([distances, np.full_like(distances, np.inf)])
    order = np.argpartition(distances, 1, axis=1)[:, :2]
    near = np.take_along_axis(distances, order, 1)
    # Equal distances: the arm given first comes first.
    first = np.lexsort((order, near), axis=1)
    return np.take_along_axis(order, first, 1), np.take_along_axis(near, first, 1)
