"""The same information from a vertex of the weights that bounds and linear constraints allow.

The weights v with sum_i v_i (u_i u_i', 1) as given, E v = e, l <= v <= u and G v <= h are a polytope. At a vertex of it the
arms strictly between their bounds have independent columns (u_i u_i', 1, E_i, G_i over the rows G that hold with equality):
there are at most r(r+1)/2 + 1 and one for every active row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.rounding.sparsification import lifted_points
from convexdesign.typing import Floats, Indices

__all__ = ["LinearLimits", "between", "settled_at_lower_bounds", "sparsify_within"]


# Columns that differ from combinations of others by less than this share are such.
RANK = 1e-11
# A row with less room than this share of its terms, and a weight nearer to its bound than this share, is there.
ACTIVE = 1e-9
# A weight that is above its lower bound by less than this share of what it may be is at it.
AT_BOUND = 1e-12


@dataclass(frozen=True, eq=False)
class LinearLimits:
    """lower <= w <= upper (n,), E w = e and G w <= h."""

    lower: Floats
    upper: Floats
    E: Floats
    e: Floats
    G: Floats
    h: Floats


def sparsify_within(
    arms: Floats, weights: Floats, limits: LinearLimits, prior: Floats | None = None, *, even_sum: bool = True
) -> Floats:
    """Weights (n,) at a vertex with the information of the weights given, within the limits up to rounding.

    arms (k, r) or (k, l, r) are those of the weights that are strictly between their bounds, as `between` says; even_sum=False:
    the sum is not kept by itself, which at an optimum follows from the rest.
    """
    index = between(weights, limits)
    w, low, high = weights[index].astype(float), limits.lower[index], limits.upper[index]
    room = limits.h - limits.G @ weights
    active = room <= ACTIVE * (np.abs(limits.G) @ weights + np.abs(limits.h))
    lifted = lifted_points(arms, w, prior)
    lifted = lifted if even_sum else lifted[:, :-1]
    points = np.hstack([lifted, limits.E[:, index].T, limits.G[active][:, index].T])
    loose = limits.G[~active][:, index]
    moved = _to_vertex(points, w, low, high, loose, np.maximum(room[~active], 0.0))
    moved = _polished(points, points.T @ w, moved, low, high)
    out = weights.astype(float).copy()
    out[index] = moved
    return out


def between(weights: Floats, limits: LinearLimits) -> Indices:
    """The arms strictly between their bounds, as far as rounding tells."""
    size = _largest(limits)
    inside = (weights - limits.lower > AT_BOUND * size) & (limits.upper - weights > ACTIVE * size)
    return np.flatnonzero(inside)


def settled_at_lower_bounds(weights: Floats, limits: LinearLimits) -> Floats:
    """The weights (n,), those that are at their lower bounds up to rounding exactly there."""
    return np.where(weights - limits.lower <= AT_BOUND * _largest(limits), limits.lower, weights)


def _largest(limits: LinearLimits) -> Floats:
    return np.where(limits.upper < 1.0, limits.upper, 1.0)


def _to_vertex(points: Floats, w: Floats, low: Floats, high: Floats, G: Floats, room: Floats) -> Floats:
    """v with v'points = w'points, low <= v <= high and G v <= G w + room, and nothing left to move along.

    Moves along directions z with z'points = 0 until a weight meets a bound or a row its limit; that then stays.
    """
    from scipy.linalg import qr

    norms = np.maximum(np.linalg.norm(points, axis=1), 1e-300)
    size = np.maximum(np.abs(points).max(axis=0), 1e-300)
    Q, R, _ = qr(points / size / norms[:, None], pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > RANK * diagonal[0]))
    N = np.asfortranarray(Q[:, rank:] / norms[:, None])
    v, room = w.copy(), room.copy()
    fixed = np.zeros(v.size, dtype=bool)
    while N.shape[1]:
        z = N[:, 0]
        least = 1e-13 * float(np.abs(z).max())
        # Either way along z is allowed: that which meets a lower bound first leaves the fewest arms.
        down, up = (_step(v, s * z, low, high, fixed, least) for s in (1.0, -1.0))
        sign = 1.0 if down[0] <= up[0] else -1.0
        step, i = down if sign > 0 else up
        z = sign * z
        change = -(G @ z)
        blocking = np.flatnonzero(change > 1e-13 * np.maximum(np.abs(G) @ np.abs(z), 1e-300))
        row = -1
        if blocking.size:
            steps = room[blocking] / change[blocking]
            k = int(np.argmin(steps))
            if steps[k] < step:
                step, row = float(steps[k]), int(blocking[k])
        if not np.isfinite(step):
            N = N[:, 1:]
            continue
        v = np.clip(v - step * z, low, high)
        room = np.maximum(room - step * change, 0.0)
        if row < 0:
            v[i] = low[i] if z[i] > 0 else high[i]
            fixed[i] = True
            along = N[i]
        else:
            along = G[row] @ N
        c = int(np.argmax(np.abs(along)))
        pivot = N[:, c] / along[c]
        factors = np.delete(along, c)
        N = np.asfortranarray(np.delete(N, c, axis=1) - np.outer(pivot, factors))
    return v


def _step(v: Floats, z: Floats, low: Floats, high: Floats, fixed: NDArray[np.bool_], least: float) -> tuple[float, int]:
    """How far v - t z stays within its bounds, and which weight ends it."""
    t = np.full(v.size, np.inf)
    falling, rising = (z > least) & ~fixed, (z < -least) & ~fixed
    t[falling] = (v - low)[falling] / z[falling]
    t[rising] = (high - v)[rising] / -z[rising]
    i = int(np.argmin(t))
    return float(t[i]), i


def _polished(points: Floats, goal: Floats, v: Floats, low: Floats, high: Floats) -> Floats:
    """Least-squares corrections of what is still between its bounds, for the rounding of all moves."""
    for _ in range(2):
        free = (v > low) & (v < high)
        if not free.any():
            break
        size = np.maximum(np.abs(points).max(axis=0), 1e-300)
        correction = np.linalg.lstsq((points[free] / size).T, (goal - points.T @ v) / size, rcond=1e-11)[0]
        after = v[free] + correction
        if (after < low[free]).any() or (after > high[free]).any():
            break
        v = v.copy()
        v[free] = after
    return v
