"""Targets as an oracle: the vectors v_j whose values are wanted, of which a solver asks only the worst few.

Pairs of items are never materialised: 100,000 items have five thousand million differences.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convexdesign.problem.arms import block_rows, quadratic_rows

__all__ = ["PairTargets", "Targets", "VectorTargets"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@runtime_checkable
class Targets(Protocol):
    """Vectors v_j in R^d, numbered by integers (not always consecutive: a pair (i, j) has the number i |Z| + j)."""

    @property
    def m(self) -> int:
        """How many targets there are."""
        ...

    @property
    def d(self) -> int: ...

    def take(self, index: Indices) -> Floats:
        """The vectors at the indices, shape (k, d)."""
        ...

    def worst(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        """The k targets with the largest |F'v|^2, largest first, and these values; fewer if there are fewer."""
        ...

    def outside(self, null: Floats, size: Floats, tolerance: float) -> int | None:
        """The index of a target with |N'v| > tolerance |S'v|, the most extreme one, or None; N (d, k), S (d, l)."""
        ...

    def label(self, index: int) -> str:
        """What a user calls this target."""
        ...


class VectorTargets:
    """Explicit targets v_j = f_j (x_j - o): rows x (m, d), offset o (d,) and factors f (m,), both optional.

    The offset and the factors give the oracles' scaled differences without a second array.
    """

    def __init__(
        self,
        rows: NDArray[Any],
        names: tuple[str, ...] | None = None,
        *,
        noun: str = "target",
        offset: Floats | None = None,
        factor: Floats | None = None,
    ):
        self.rows = rows
        self.names = names
        self.noun = noun
        self.offset = offset
        self.factor = factor

    @property
    def m(self) -> int:
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        return int(self.rows.shape[1])

    def take(self, index: Indices) -> Floats:
        rows = np.asarray(self.rows.take(index, axis=0), dtype=float)
        if self.offset is not None:
            rows = rows - self.offset
        return rows if self.factor is None else rows * self.factor.take(index)[:, None]

    def values(self, factor: Floats) -> Floats:
        """|F'v_j|^2 for every target, shape (m,)."""
        if self.offset is None:
            out = quadratic_rows(self.rows, factor)
        else:
            out = np.empty(self.m)
            step = block_rows(self.d)
            for start in range(0, self.m, step):
                image = (self.rows[start : start + step] - self.offset) @ factor
                np.einsum("ij,ij->i", image, image, out=out[start : start + step])
        if self.factor is not None:
            out *= self.factor
            out *= self.factor
        return out

    def worst(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        values = self.values(factor)
        return largest(values, k)

    def outside(self, null: Floats, size: Floats, tolerance: float) -> int | None:
        origin = np.zeros(self.d) if self.offset is None else self.offset
        found, extreme = None, tolerance
        step = block_rows(self.d)
        for start in range(0, self.m, step):
            rows = np.asarray(self.rows[start : start + step], dtype=float)
            # The size of a difference is that of its terms: cancellation leaves their rounding behind.
            length = np.linalg.norm(rows @ size, axis=1) + np.linalg.norm(origin @ size)
            part = np.linalg.norm((rows - origin) @ null, axis=1)
            if self.factor is not None:
                part = np.where(self.factor[start : start + step] == 0, 0.0, part)
            share = np.divide(part, length, out=np.where(part > 0, np.inf, 0.0), where=length > 0)
            worst = int(np.argmax(share))
            if share[worst] > extreme:
                found, extreme = start + worst, float(share[worst])
        return found

    def label(self, index: int) -> str:
        own = f"{self.noun} {index}" if self.names is None else f"{self.noun} {index} ({self.names[index]})"
        return own


class PairTargets:
    """All differences z_i - z_j, i < j, of the items (N, d), numbered i N + j; never materialised."""

    def __init__(self, items: NDArray[Any], names: tuple[str, ...] | None = None):
        self.items = items
        self.names = names

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
        image = np.asarray(self.items, dtype=float) @ factor
        image -= image.mean(axis=0)
        square = np.einsum("ij,ij->i", image, image)
        order = np.argsort(-square, kind="stable")
        image, square = image[order], square[order]
        radius = np.sqrt(square)
        best_pairs = np.empty(0, dtype=np.intp)
        best_values = np.empty(0)
        threshold = -1.0
        n = len(square)
        step = max(1, min(n, 2**20 // max(n, 1) + 1, 512)) if n > 2048 else n
        for start in range(0, n - 1, step):
            stop = min(start + step, n)
            # |t_i - t_j| <= r_i + r_j: partners too close to the centre cannot reach the threshold.
            if threshold > 0:
                reach = int(np.searchsorted(-radius, radius[start] - np.sqrt(threshold), side="right"))
            else:
                reach = n
            if reach <= start:
                break
            distance = (
                square[start:stop, None] + square[None, start:reach] - 2.0 * image[start:stop] @ image[start:reach].T
            )
            cols = distance.shape[1]
            keep = np.flatnonzero((distance > threshold).ravel())
            i, j = np.divmod(keep, cols)
            fresh = j > i
            i, j, keep = i[fresh], j[fresh], keep[fresh]
            values = distance.ravel()[keep]
            if values.size > k:
                top = np.argpartition(-values, k - 1)[:k]
                i, j, values = i[top], j[top], values[top]
            first, second = order[start + i], order[start + j]
            low, high = np.minimum(first, second), np.maximum(first, second)
            best_pairs = np.concatenate([best_pairs, low * self.n_items + high])
            best_values = np.concatenate([best_values, values])
            if best_values.size > k:
                top = np.argpartition(-best_values, k - 1)[:k]
                best_pairs, best_values = best_pairs[top], best_values[top]
            if best_values.size == k:
                threshold = float(best_values.min())
        return self._exact(best_pairs, factor)

    def _exact(self, pairs: Indices, factor: Floats) -> tuple[Indices, Floats]:
        # The expanded square loses digits when items are close together; the difference itself does not.
        image = self.take(pairs) @ factor
        values = np.einsum("ij,ij->i", image, image)
        order = np.lexsort((pairs, -values))
        return pairs[order], values[order]

    def outside(self, null: Floats, size: Floats, tolerance: float) -> int | None:
        rows = np.asarray(self.items, dtype=float)
        part = rows @ null
        length = np.linalg.norm(rows @ size, axis=1)
        deviation = np.linalg.norm(part - part[0], axis=1) - tolerance * (length + length[0])
        # Two items can differ by more than each does from the first, but then one of those is outside as well.
        other = int(np.argmax(deviation))
        return other if deviation[other] > 0 else None

    def label(self, index: int) -> str:
        i, j = self.pair(index)
        if self.names is None:
            return f"item {i} - item {j}"
        return f"item {i} ({self.names[i]}) - item {j} ({self.names[j]})"


def largest(values: Floats, k: int) -> tuple[Indices, Floats]:
    """The indices of the k largest entries, largest first, and the entries."""
    if k == 1:
        top = np.array([np.argmax(values)])
    elif k >= values.size:
        top = np.argsort(-values, kind="stable")
    else:
        top = np.argpartition(-values, k - 1)[:k]
        top = top[np.argsort(-values[top], kind="stable")]
    return top, values[top]
