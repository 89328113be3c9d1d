"""The working set: a first choice, violators that differ from one another, and which members may be forgotten."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from convexdesign.arms.groups import repeat_per_response, rows_of_arms, squared_norms
from convexdesign.frankwolfe.symmetric import coordinates, symmetric_dimension
from convexdesign.typing import Floats, Indices

__all__ = [
    "Priced",
    "WorkingSet",
    "apart_at",
    "batch_size",
    "first_arms",
    "most_apart",
    "peaked",
    "spanning",
    "violators",
]


# Candidates are compared in groups of so many times the limit, and never more of them in all: there may be many copies.
LOOK_AHEAD = 5
MOST_LOOKED_AT = 5000
# Vectors closer than this are one.
SAME = 1e-13


@dataclass(frozen=True, eq=False)
class Priced:
    """Vectors (k, r) of the candidate set with their indices and values; below: no vector at all exceeds the level.

    Arms with several responses are as many vectors each, their values sums.
    """

    index: Indices
    vectors: Floats
    values: Floats
    below: bool
    responses: int = 1


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Indices (k,), whitened vectors (k, r), and weights (k,) to start from, zero for those just added.

    Arms with several responses are as many vectors each.
    """

    index: Indices
    vectors: Floats
    weights: Floats | None = None
    responses: int = 1

    @property
    def size(self) -> int:
        return int(self.index.size)

    def kept(self, members: NDArray[np.bool_], weights: Floats) -> WorkingSet:
        """The members marked, with these weights."""
        if members.all():
            return replace(self, weights=weights)
        rows = self.vectors[repeat_per_response(members, self.vectors)]
        return WorkingSet(self.index[members], rows, weights[members], self.responses)

    def chosen(self, places: Indices) -> WorkingSet:
        """The members at these places, without weights."""
        rows = self.vectors.take(rows_of_arms(places, self.responses), axis=0)
        return WorkingSet(self.index.take(places), rows, None, self.responses)

    def joined_by(self, priced: Priced, chosen: Indices) -> WorkingSet:
        """With the chosen of the priced vectors that are not members yet, at weight zero."""
        members = set(self.index.tolist())
        chosen = chosen[[i not in members for i in priced.index.take(chosen).tolist()]]
        if chosen.size == 0:
            return self
        weights = np.zeros(self.size) if self.weights is None else self.weights
        return WorkingSet(
            np.concatenate([self.index, priced.index.take(chosen)]),
            np.concatenate([self.vectors, priced.vectors.take(rows_of_arms(chosen, self.responses), axis=0)]),
            np.concatenate([weights, np.zeros(chosen.size)]),
            self.responses,
        )


def apart_at(gap: float) -> float:
    """1 - |cos| between vectors that join a working set: far from the optimum one of a cluster speaks for all of it."""
    return float(min(0.5, np.sqrt(max(gap, 0.0)) / 4.0))


def violators(priced: Priced, level: float, limit: int, gap: float, factor: Floats | None = None) -> Indices:
    """Up to `limit` of the priced vectors above the level, largest first, leaving out any nearly parallel to one taken.

    Nearly parallel means |cos| > 1 - `apart_at(gap)` after the map by the factor (r, k). Where too few would be left, as among
    many near-copies, less is asked for.
    """
    above = np.flatnonzero(priced.values > level)
    if above.size > MOST_LOOKED_AT:
        above = above[np.argpartition(-priced.values.take(above), MOST_LOOKED_AT)[:MOST_LOOKED_AT]]
    order = above[np.argsort(-priced.values.take(above), kind="stable")]
    unit = priced.vectors.take(rows_of_arms(order, priced.responses), axis=0)
    if factor is not None:
        unit = unit @ factor
    if priced.responses > 1:
        # Groups are compared by the information they give, whose cosine is for single vectors that of these, squared.
        unit = coordinates(unit.T, responses=priced.responses).T
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    apart = apart_at(gap)
    taken = most_apart(unit, apart, limit)
    while taken.size < min(limit // 2, order.size) and apart > SAME:
        apart /= 10.0
        taken = most_apart(unit, apart, limit)
    return order.take(taken)


def most_apart(unit: Floats, apart: float, limit: int) -> Indices:
    """The first `limit` unit vectors no two of which have |cos| > 1 - apart, group by group."""
    taken: list[int] = []
    step = LOOK_AHEAD * limit
    for start in range(0, unit.shape[0], step):
        group = unit[start : start + step]
        free = np.abs(group @ unit[taken].T).max(axis=1, initial=0.0) <= 1.0 - apart
        close = np.abs(group @ group.T) > 1.0 - apart
        for i in np.flatnonzero(free).tolist():
            if free[i]:
                taken.append(start + i)
                if len(taken) == limit:
                    return np.array(taken, dtype=np.intp)
                free &= ~close[i]
    return np.array(taken, dtype=np.intp)


def first_arms(vectors: Floats, size: int, responses: int = 1) -> Indices:
    """Indices of about `size` arms to begin with, spanning if the arms do: those of high leverage |u_i|^2.

    Where leverages are flat, the highest say nothing and may be much alike, so a random choice among the upper half is
    taken instead; the seed is fixed. vectors (n responses, r) in coordinates where a good design has information I.
    """
    n = vectors.shape[0] // responses
    if n <= size:
        return np.arange(n)
    leverage = squared_norms(vectors, responses)
    if not peaked(vectors, responses):
        upper = np.flatnonzero(leverage >= np.median(leverage))
        chosen = np.random.default_rng(0).choice(upper, min(size, upper.size), replace=False)
    else:
        chosen = np.argpartition(-leverage, size - 1)[:size]
    return np.union1d(chosen, spanning(vectors, responses))


def peaked(vectors: Floats, responses: int = 1) -> bool:
    """Whether some leverages |u_i|^2 stand out, more than twice the median: only then do they say which arms matter."""
    leverage = squared_norms(vectors, responses)
    below, above = (leverage.size - 1) // 2, leverage.size // 2
    middle = np.partition(leverage, (below, above))
    return bool(leverage.max() > middle[below] + middle[above])


def spanning(vectors: Floats, responses: int = 1) -> Indices:
    """Indices of r arms (n, r), or fewer of several responses, that span as far as all do, large and well apart, by QR."""
    r = vectors.shape[1]
    size = max(500, 4 * r)
    if vectors.shape[0] > size * responses:
        # Pivoting over the longest rows usually suffices, and costs little.
        length = squared_norms(vectors, responses)
        longest = np.argpartition(-length, size - 1)[:size]
        pivots, full = _pivots(vectors.take(rows_of_arms(longest, responses), axis=0), responses)
        if full:
            return longest.take(pivots)
    return _pivots(vectors, responses)[0]


def _pivots(vectors: Floats, responses: int) -> tuple[Indices, bool]:
    r = vectors.shape[1]
    triangle, order = scipy.linalg.qr(vectors.T, mode="r", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diagonal(triangle))
    full = diagonal.size == r and bool(diagonal[-1] > 1e-3 * diagonal[0])
    if responses > 1:
        return np.unique(order[:r] // responses), full
    return np.asarray(order[:r], dtype=np.intp), full


def batch_size(r: int) -> int:
    """How many vectors to add at a time: enough to learn every direction, few enough to keep the master small."""
    return max(40, 2 * r, min(symmetric_dimension(r) // 2, 200))
