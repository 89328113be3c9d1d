"""Proven upper bounds on quadratic forms over very many vectors: doubles with an error bound, then balls for the few
that decide.

For a factor F (d, k) of doubles and a vector x known to relative error e per entry, p = fl(F'x) satisfies
| |p| - |F'x| | <= (gamma + e) | |F|'|x| | <= (gamma + e) sqrt(d) |D|x||, with D the row norms of F and gamma a bound for sums
of d products in any order (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). Everything computed
from it is enlarged by a few units more. Overflow gives infinity, which is a valid upper bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from convexdesign.balls import down, up
from convexdesign.rigorous.data import UNIT, ExactRows
from convexdesign.typing import Floats, Indices

__all__ = ["Largest", "largest_pair", "largest_row", "row_bounds"]


# An exact evaluation of some vectors: balls of their quadratic forms.
Exact = Callable[[Indices], list[Any]]

# At most this many vectors are evaluated in balls; the others keep their bound in doubles.
EXACT_ROWS = 20_000
EXACT_PAIRS = 20_000
# What underflow can hide.
TINY = 1e-290


@dataclass(frozen=True)
class Largest:
    """low <= the largest value <= high, proven; index: where low is attained."""

    low: float
    high: float
    index: int


def _gamma(d: int) -> float:
    return (d + 4) * UNIT * (1.0 + 1e-6)


def _images(X: Floats, F: Floats, relative_error: float) -> tuple[Floats, Floats]:
    """fl(F'x) for rows x, and a bound on the error of its length."""
    d = X.shape[1]
    spread = np.sqrt(np.square(F).sum(axis=1))
    error = np.square(X * spread).sum(axis=1)
    relative = (_gamma(d) + relative_error) * np.sqrt(d)
    return X @ F, relative * np.sqrt(error) * (1.0 + (d + 16) * UNIT) + TINY


def _bounds(X: Floats, F: Floats, relative_error: float) -> Floats:
    enlarge = 1.0 + (F.shape[1] + 32) * UNIT
    with np.errstate(over="ignore", invalid="ignore"):
        P, error = _images(X, F, relative_error)
        length = np.sqrt(np.einsum("ij,ij->i", P, P)) * enlarge + error
        out = length * length * enlarge
    out[np.isnan(out)] = np.inf
    return np.asarray(out)


def row_bounds(rows: ExactRows, F: Floats) -> Floats:
    """Doubles (n,) at least |F'x_i|^2."""
    return rows.map(partial(_bounds, F=F, relative_error=rows.relative_error))


def largest_row(bounds: Floats, exact: Exact) -> Largest:
    """The largest of n quadratic forms, given upper bounds in doubles and a way to evaluate some of them exactly.

    A negative bound marks an index that does not take part.
    """
    first = _most_promising(bounds)
    values = exact(first)
    lows = [down(v) for v in values]
    best = int(np.argmax(lows))
    low = lows[best]
    left = np.flatnonzero(bounds > low)
    left = left[~np.isin(left, first)]
    chosen = left[np.argsort(-bounds[left], kind="stable")[:EXACT_ROWS]]
    index = int(first[best])
    high = max(up(v) for v in values)
    for start in range(0, chosen.size, 1024):
        part = chosen[start : start + 1024]
        for i, v in zip(part, exact(part)):
            high = max(high, up(v))
            if down(v) > low:
                low, index = down(v), int(i)
    others = np.ones(bounds.size, dtype=bool)
    others[first] = False
    others[chosen] = False
    return Largest(low, max(high, float(bounds[others].max(initial=0.0))), index)


def _most_promising(bounds: Floats) -> Indices:
    """The few with the largest finite bounds: evaluating them first leaves little to do."""
    finite = np.flatnonzero(np.isfinite(bounds) & (bounds >= 0))
    if finite.size == 0:
        return np.flatnonzero(bounds >= 0)[:8]
    k = min(8, finite.size)
    return finite[np.argpartition(-bounds[finite], k - 1)[:k]]


def largest_pair(items: ExactRows, F: Floats, factor: float, exact: Callable[[Indices, Indices], list[Any]]) -> Largest:
    """The largest form over differences z_i - z_j that are bounded by factor |F'(z_i - z_j)|^2; index is i N + j.

    A pair can only matter where |t_i - t_j| + error reaches the root of the best exact value so far, t = F'z.
    """
    P, error = _images(items.floats(), F, items.relative_error)
    P = P - P.mean(axis=0)  # any shift is allowed: it is one more rounding of each coordinate
    radius = np.sqrt(np.square(P).sum(axis=1))
    most = float(radius.max()) if radius.size else 0.0
    slack = 2.0 * float(error.max()) + 8.0 * (F.shape[1] + 4) * UNIT * (
        most + float(np.abs(P).max(initial=0.0)) + _size(items, F)
    )
    order = np.argsort(-radius, kind="stable")
    seed = _farthest(P, int(order[0]))
    low = down(exact(np.array([seed[0]]), np.array([seed[1]]))[0])
    index = seed[0] * items.n + seed[1]
    reach = np.sqrt(max(low, 0.0) / factor) * (1.0 - 8 * UNIT) - slack
    if reach <= 0:
        return Largest(low, float((2.0 * most + slack) ** 2 * factor * (1.0 + 16 * UNIT)), index)
    first, second = _pairs_beyond(P[order], radius[order], reach)
    first, second = order[first], order[second]
    high = low
    rest = 0.0
    if first.size > EXACT_PAIRS:
        length = np.sqrt(np.square(P[first] - P[second]).sum(axis=1))
        keep = np.argsort(-length, kind="stable")
        rest = float(
            (length[keep[EXACT_PAIRS]] * (1.0 + (F.shape[1] + 32) * UNIT) + slack) ** 2 * factor * (1.0 + 8 * UNIT)
        )
        first, second = first[keep[:EXACT_PAIRS]], second[keep[:EXACT_PAIRS]]
    for i, j, v in zip(first, second, exact(first, second)):
        high = max(high, up(v))
        if down(v) > low:
            low, index = down(v), int(min(i, j)) * items.n + int(max(i, j))
    return Largest(low, max(high, rest, float(np.nextafter(low, np.inf))), index)


def _size(items: ExactRows, F: Floats) -> float:
    """A bound on |F'z| before centring."""
    return float(np.sqrt(row_bounds(items, F).max()))


def _farthest(P: Floats, start: int) -> tuple[int, int]:
    """A far pair by walking to the farthest point a few times."""
    i = start
    for _ in range(4):
        j = int(np.argmax(np.square(P - P[i]).sum(axis=1)))
        i, start = j, i
    return (min(i, start), max(i, start)) if i != start else (0, min(1, len(P) - 1))


def _pairs_beyond(P: Floats, radius: Floats, reach: float) -> tuple[Indices, Indices]:
    """Positions i < j, sorted by falling radius, of every pair with |P_i - P_j| >= reach up to expansion's rounding."""
    n, k = P.shape
    square = radius * radius
    # |a|^2 + |b|^2 - 2 a'b in doubles is within this of the squared distance.
    threshold = reach * reach * (1.0 - 8 * UNIT) - 8.0 * (k + 8) * UNIT * float(square[0])
    firsts, seconds = [], []
    step = max(1, min(512, 2**21 // max(n, 1)))
    for start in range(0, n - 1, step):
        stop = min(start + step, n)
        last = int(np.searchsorted(-radius, radius[start] - reach * (1.0 - 1e-9), side="right"))
        if last <= start + 1:
            break
        distance = square[start:stop, None] + square[None, start:last] - 2.0 * (P[start:stop] @ P[start:last].T)
        i, j = np.divmod(np.flatnonzero((distance >= threshold).ravel()), last - start)
        ordered = j > i
        firsts.append(start + i[ordered])
        seconds.append(start + j[ordered])
    if not firsts:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    return np.concatenate(firsts), np.concatenate(seconds)
