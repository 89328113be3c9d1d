"""Differences of items as targets, never materialised: 100,000 items have five thousand million of them.

|F'(z_i - z_j)|^2 is a squared distance between transformed items, so the worst targets are the farthest pairs of points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.problem.targets import Called
from convexdesign.typing import Floats, Indices

__all__ = ["FarPairs", "PairTargets", "far_pairs"]


# A block of squared distances that stays in the processor's cache.
BLOCK = (128, 2048)
# So few pairs are simply written out.
FEW_PAIRS = 2000
# Share of the largest squared distance above which one pair, or the worst few, are looked for.
ONE = 1.0 - 1e-9
FEW = 0.8


class PairTargets:
    """All differences z_i - z_j, i < j, of the items (N, d), numbered i N + j."""

    def __init__(self, items: NDArray[Any], called: Called | None = None, few: int = FEW_PAIRS):
        """few: so many pairs are written out."""
        self.items = items
        self.called = called
        self.few = few

    @property
    def m(self) -> int:
        return self.n_items * (self.n_items - 1) // 2

    @property
    def n_items(self) -> int:
        return int(self.items.shape[0])

    @property
    def d(self) -> int:
        return int(self.items.shape[1])

    def pair(self, index: int) -> tuple[int, int]:
        """The two items (i, j) of the target with this number."""
        return divmod(int(index), self.n_items)

    def take(self, index: Indices) -> Floats:
        first, second = np.divmod(np.asarray(index, dtype=np.intp), self.n_items)
        return np.asarray(self.items.take(first, axis=0), dtype=float) - self.items.take(second, axis=0)

    def worst(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        if self.m <= self.few:
            index, values = self._exact(self.all(), factor)
            return index[:k], values[:k]
        points = self._points(factor)
        share = ONE if k == 1 else FEW
        while True:
            pairs = far_pairs(points, k, share)
            if pairs.first.size >= min(k, self.m):
                break
            share = share / 2 if share > 1e-2 else 0.0
        index, values = self._exact(self._numbers(pairs), factor)
        return index[:k], values[:k]

    def all(self) -> Indices:
        """The numbers of all pairs, in order; for few items."""
        return _all_pairs(self.n_items)

    def candidates(self, factor: Floats, limit: int) -> tuple[Indices, float]:
        """The targets worse than some level, about `limit` at most, and that level: no other target exceeds it."""
        pairs = far_pairs(self._points(factor), limit, FEW)
        return self._numbers(pairs), pairs.rest

    def size(self, factor: Floats) -> float:
        """The order of magnitude of the largest |F'v|^2; zero only if all are."""
        # By the triangle inequality the largest difference is at most twice the largest from the first item.
        image = (np.asarray(self.items, dtype=float) - self.items[0]) @ factor
        return float(np.einsum("ij,ij->i", image, image).max())

    def outside(self, null: Floats, size: Floats, tolerance: float) -> int | None:
        rows = np.asarray(self.items, dtype=float)
        part = rows @ null
        length = np.linalg.norm(rows @ size, axis=1)
        deviation = np.linalg.norm(part - part[0], axis=1) - tolerance * (length + length[0])
        # Two items can differ by more than each does from the first, but then one of those is outside as well.
        other = int(np.argmax(deviation))
        return other if deviation[other] > 0 else None

    def shares_outside(self, index: Indices, null: Floats, size: Floats) -> Floats:
        first, second = (self.items.take(i, axis=0) for i in np.divmod(np.asarray(index, dtype=np.intp), self.n_items))
        part = np.linalg.norm(self.take(index) @ null, axis=1)
        length = np.linalg.norm(first @ size, axis=1) + np.linalg.norm(second @ size, axis=1)
        return np.asarray(np.divide(part, length, out=np.where(part > 0, np.inf, 0.0), where=length > 0))

    def label(self, index: int) -> str:
        return " - ".join(
            f"item {i}" if self.called is None else _term(self.called(i, "item")) for i in self.pair(index)
        )

    def _points(self, factor: Floats) -> Floats:
        points = np.asarray(self.items, dtype=float) @ factor
        points -= points.mean(axis=0)
        return points

    def _numbers(self, pairs: FarPairs) -> Indices:
        low, high = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
        return np.asarray(low * self.n_items + high)

    def _exact(self, numbers: Indices, factor: Floats) -> tuple[Indices, Floats]:
        # The expanded square loses digits when items are close together; the difference itself does not.
        image = self.take(numbers) @ factor
        values = np.einsum("ij,ij->i", image, image)
        order = np.lexsort((numbers, -values))
        return numbers[order], values[order]


@lru_cache(maxsize=16)
def _all_pairs(n: int) -> Indices:
    """The numbers i n + j of all pairs i < j of n items, in order; read-only."""
    numbers = np.flatnonzero(~np.tri(n, dtype=bool))
    numbers.flags.writeable = False
    return numbers


def _term(name: str) -> str:
    """The name as a term of a difference: in brackets where it is itself several words with signs between them."""
    return f"({name})" if any(mark in name for mark in ("=", " - ", " + ")) else name


@dataclass(frozen=True, eq=False)
class FarPairs:
    """Pairs of points (first, second) with squared distances; every other pair has at most `rest`."""

    first: Indices
    second: Indices
    squares: Floats
    rest: float


def far_pairs(points: Floats, limit: int, share: float, block: tuple[int, int] = BLOCK) -> FarPairs:
    """The pairs of points (N, r), centred, with squared distance above about `share` of the largest, at most 2 `limit`.

    A walk to the farthest point and on from there gives a distance close to the largest, and so the level. Since
    |t_i - t_j| <= |t_i| + |t_j|, only points far enough from the centre can be in such a pair. share = 0 asks for all.
    block: rows and columns of squared distances that are computed at a time.
    """
    square = np.einsum("ij,ij->i", points, points)
    largest = float(square.max())
    level = share * walk(points, square) if share > 0.0 else -1.0
    radius = np.sqrt(square)
    near = np.sqrt(max(level, 0.0)) * (1.0 - 1e-12) - radius.max()
    kept = np.flatnonzero(radius >= near)
    order = kept[np.argsort(-radius[kept], kind="stable")]
    found = _Pairs(limit, level)
    for first, second, values in _blocks(points[order], square[order], found, block):
        found.add(first, second, values)
    first, second, squares = found.all()
    # Expanded squares are exact to a few units in the last place of the largest.
    return FarPairs(order[first], order[second], squares, max(found.level, 0.0) + 1e-13 * largest)


def walk(points: Floats, square: Floats) -> float:
    """A squared distance close to the largest: from the outermost point to the farthest, and on while it grows."""
    at, best = int(np.argmax(square)), 0.0
    while True:
        distance = square + square[at] - 2.0 * (points @ points[at])
        at = int(np.argmax(distance))
        if not distance[at] > best * (1.0 + 1e-12):
            return best
        best = float(distance[at])


class _Pairs:
    """Pairs above a level that rises when there are more than twice the limit."""

    def __init__(self, limit: int, level: float):
        self.limit = limit
        self.level = level
        self.count = 0
        self.parts: list[tuple[Indices, Indices, Floats]] = []

    def add(self, first: Indices, second: Indices, values: Floats) -> None:
        self.parts.append((first, second, values))
        self.count += values.size
        if self.count > 2 * self.limit:
            first, second, values = self.all()
            top = np.argpartition(-values, self.limit - 1)[: self.limit]
            self.parts = [(first[top], second[top], values[top])]
            self.count, self.level = top.size, float(values[top].min())

    def all(self) -> tuple[Indices, Indices, Floats]:
        if not self.parts:
            empty = np.empty(0, dtype=np.intp)
            return empty, empty, np.empty(0)
        first, second, values = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        return first, second, values


def _blocks(
    points: Floats, square: Floats, found: _Pairs, block: tuple[int, int]
) -> Iterator[tuple[Indices, Indices, Floats]]:
    """Pairs i < j above the level, block by block; points are sorted by decreasing distance from the centre.

    With [t, |t|^2, 1] on one side and [-2t, 1, |t|^2] on the other, one matrix product gives squared distances.
    """
    n = square.size
    rows, columns = block
    one = np.ones((n, 1))
    left = np.hstack([points, square[:, None], one])
    right = np.ascontiguousarray(np.hstack([-2.0 * points, one, square[:, None]]).T)
    inward = -np.sqrt(square)
    buffer = np.empty(rows * min(columns, n))
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        reach = n
        if found.level > 0.0:
            reach = int(np.searchsorted(inward, -np.sqrt(found.level) * (1.0 - 1e-12) - inward[start], side="right"))
        if reach <= start:
            break
        for column in range(start, reach, columns):
            end = min(column + columns, reach)
            width = end - column
            part = buffer[: (stop - start) * width].reshape(stop - start, width)
            np.matmul(left[start:stop], right[:, column:end], out=part)
            flat = part.ravel()
            hit = np.flatnonzero(flat > found.level)
            if hit.size == 0:
                continue
            first, second = np.divmod(hit, width)
            first, second = first + start, second + column
            if column < stop:
                upper = second > first
                first, second, hit = first[upper], second[upper], hit[upper]
            yield first, second, flat[hit]
