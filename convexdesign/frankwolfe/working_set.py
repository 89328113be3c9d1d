"""Which vectors enter the working set: a first choice, violators that differ from one another, and a spanning set."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from convexdesign.frankwolfe.symmetric import dimension

__all__ = ["diverse", "first_arms", "spanning"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# How far beyond the limit to look for vectors that are not too close to one another.
LOOK_AHEAD = 5


def first_arms(vectors: Floats, size: int) -> Indices:
    """Indices of about `size` arms to begin with, always spanning: those of high leverage |u_i|^2.

    Where leverages are flat, the highest say nothing and may be much alike, so a random choice among the upper half is
    taken instead; the seed is fixed. vectors (n, r) in coordinates where a good design has information I.
    """
    n = vectors.shape[0]
    if n <= size:
        return np.arange(n)
    leverage = np.einsum("ij,ij->i", vectors, vectors)
    median = float(np.median(leverage))
    if leverage.max() <= 2.0 * median:
        upper = np.flatnonzero(leverage >= median)
        chosen = np.random.default_rng(0).choice(upper, min(size, upper.size), replace=False)
    else:
        chosen = np.argpartition(-leverage, size - 1)[:size]
    return np.union1d(chosen, spanning(vectors))


def spanning(vectors: Floats) -> Indices:
    """Indices of r rows (n, r) that span, chosen large and well apart by QR with pivoting."""
    r = vectors.shape[1]
    size = max(2000, 4 * r)
    pool = np.arange(vectors.shape[0])
    if pool.size > size:
        # Pivoting over the longest rows usually suffices, and costs little.
        length = np.einsum("ij,ij->i", vectors, vectors)
        longest = np.argpartition(-length, size - 1)[:size]
        pivots, full = _pivots(vectors.take(longest, axis=0))
        if full:
            return longest.take(pivots)
    return _pivots(vectors)[0]


def _pivots(vectors: Floats) -> tuple[Indices, bool]:
    r = vectors.shape[1]
    triangle, order = scipy.linalg.qr(vectors.T, mode="r", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diagonal(triangle))
    full = diagonal.size == r and bool(diagonal[-1] > 1e-3 * diagonal[0])
    return np.asarray(order[:r], dtype=np.intp), full


def diverse(vectors: Floats, order: Indices, limit: int, gap: float) -> Indices:
    """The first `limit` of the vectors, in this order, leaving out any nearly parallel to one taken before.

    Nearly parallel means |cos| > 1 - sqrt(gap)/4: far from the optimum one of a cluster speaks for all of it.
    """
    order = order[: LOOK_AHEAD * limit]
    unit = vectors.take(order, axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    close = np.abs(unit @ unit.T) > 1.0 - np.sqrt(max(gap, 0.0)) / 4.0
    free = np.ones(order.size, dtype=bool)
    taken = []
    for i in range(order.size):
        if free[i]:
            taken.append(i)
            if len(taken) == limit:
                break
            free &= ~close[i]
    return order.take(taken)


def batch_size(r: int) -> int:
    """How many vectors to add at a time: enough to learn every direction, few enough to keep the master small."""
    return max(40, 2 * r, min(dimension(r) // 2, 200))
