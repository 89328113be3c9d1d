"""Points of a region, and the search for the largest values of a function on it. Nothing here is trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import combinations, islice, product
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    from convexdesign.regions.region import Region

__all__ = ["apart", "clusters", "inner_points", "maximise", "spread_points", "thinned"]

Function = Callable[[Floats], Floats]
# A full grid is as fine as this many points allow; the coarsest is used up to so many.
GRID = 3000
COARSEST = 60_000
ATTEMPTS = 200
# Corners of a polytope are sought among so many, and the middles between any two of these.
MOST_CORNERS = 20_000
MOST_PAIRED = 60
# Sweeps of the coordinate search; its steps shrink as parabolas fit.
SWEEPS = 40
# Small, so that a search ends at the maximum that it began at, and all are found.
FIRST_STEP = 0.02


def inner_points(region: Region, count: int, rng: np.random.Generator) -> Floats:
    """Up to `count` random points of the continuous part of the region."""
    low, high = _limits(region)
    if not region.inequalities:
        return low + (high - low) * rng.random((count, region.q))
    found = np.empty((0, region.q))
    for _ in range(ATTEMPTS):
        x = low + (high - low) * rng.random((max(4 * count, 1000), region.q))
        found = np.vstack([found, x[region.inside(x, 0.0)]])
        if len(found) >= count:
            return found[:count]
    return found if len(found) else _driven_inside(region, count, rng)


def _driven_inside(region: Region, count: int, rng: np.random.Generator) -> Floats:
    """Points found by reducing the violation, for thin regions."""
    low, high = _limits(region)
    x = low + (high - low) * rng.random((min(count, 50), region.q))

    def violation(x: Floats) -> Floats:
        return np.asarray(-sum((np.maximum(-g.at(x), 0.0) for g in region.inequalities), np.zeros(len(x))))

    x = _in_box(violation, x, low, high)
    return x[region.inside(x)]


def spread_points(
    region: Region, degree: int, rng: np.random.Generator, least: int, per_axis: int | None = None
) -> Floats:
    """Points to start from: a Chebyshev grid of the box where it is small, as far as inside, boundary and random points."""
    low, high = _limits(region)
    per_axis = 2 * degree + 1 if per_axis is None else per_axis
    while per_axis > degree + 1 and per_axis**region.q > GRID:
        per_axis -= 1
    parts = []
    if region.q and per_axis**region.q <= COARSEST:
        axis = np.round(np.cos(np.pi * np.arange(per_axis) / max(per_axis - 1, 1)), 15) + 0.0
        u = np.array(list(product(axis, repeat=region.q)))
        parts.append((low + high) / 2.0 + (high - low) / 2.0 * u)
    elif region.q:
        u = rng.choice(np.linspace(-1.0, 1.0, degree + 1), size=(GRID, region.q))
        parts.append((low + high) / 2.0 + (high - low) / 2.0 * u)
    x = np.vstack(parts) if parts else np.empty((0, region.q))
    if region.inequalities:
        x = x[region.inside(x, 0.0)]
        seeds = inner_points(region, max(4 * least, 200), rng)
        x = np.vstack([vertices(region), x, seeds, boundary_points(region, seeds, rng)])
    if len(x) < 2 * least:
        x = np.vstack([x, inner_points(region, 4 * least, rng)])
    return x


def vertices(region: Region) -> Floats:
    """Corners of the box cut by the region's linear inequalities, as far as inside, and the middles between any two."""
    q = region.q
    rows = [(*np.eye(q)[k], -b) for k in range(q) for b in (float(region.lower[k]), float(region.upper[k]))]
    for g in region.inequalities:
        if g.degree == 1:
            slope = [float(g.terms.get(tuple(int(j == k) for j in range(q)), 0)) for k in range(q)]
            rows.append((*slope, float(g.constant_term())))
    if not q or len(rows) == 2 * q or comb(len(rows), q) > MOST_CORNERS:
        return np.empty((0, q))
    table = np.array(rows)[np.array(list(combinations(range(len(rows)), q)))]
    size = np.linalg.norm(table[:, :, :q], axis=2)
    regular = np.abs(np.linalg.det(table[:, :, :q])) > 1e-9 * size.prod(axis=1)
    x = np.linalg.solve(table[regular, :, :q], -table[regular, :, q:])[:, :, 0]
    x = thinned(x[region.inside(x)], *_limits(region), 1e-6)
    if len(x) > MOST_PAIRED:
        return x
    j, i = np.tril_indices(len(x), -1)
    return np.vstack([x, (x[i] + x[j]) / 2.0])


def boundary_points(region: Region, seeds: Floats, rng: np.random.Generator) -> Floats:
    """The last points of the region on random rays from the seeds, by bisection."""
    low, high = _limits(region)
    direction = rng.standard_normal(seeds.shape) * (high - low)
    reach, short = np.ones(len(seeds)), np.zeros(len(seeds))
    for _ in range(60):
        middle = (reach + short) / 2.0
        ok = region.inside(seeds + middle[:, None] * direction, 0.0)
        short, reach = np.where(ok, middle, short), np.where(ok, reach, middle)
    return np.asarray(seeds + short[:, None] * direction)


def maximise(
    value: Function,
    region: Region,
    starts: Floats,
    most: int,
    climb: Function | None = None,
    deadline: float = np.inf,
) -> tuple[Floats, Floats]:
    """Local maxima of the function on the region from the best of the starts, best first: points (k, q) and values (k,).

    climb: for regions with inequalities, what moves rows to maxima near them. After the deadline nothing moves.
    """
    if not region.q:
        return starts[:1], value(starts[:1])
    low, high = _limits(region)
    order = np.argsort(-value(starts), kind="stable")[: 40 * most]
    x = thinned(starts[order], low, high, 0.01, 4 * most)
    if climb is None:
        x = _in_box(value, x, low, high, deadline)
    elif time.perf_counter() < deadline:
        found = climb(x)
        x = np.vstack([found[region.inside(found, 0.0)], x])
    height = value(x)
    order = np.argsort(-height, kind="stable")
    x = thinned(x[order], low, high, 1e-4 if climb is None else 1e-3, most)
    return x, value(x)


def thinned(x: Floats, low: Floats, high: Floats, distance: float, most: int | None = None) -> Floats:
    """The rows in order, at most so many, without those closer to an earlier one than a share of the box."""
    return x[apart((x - low) / (high - low), distance, most)]


def apart(u: Floats, distance: float, most: int | None = None) -> Indices:
    """Places of the rows in order, at most so many, without those within a distance of an earlier one in all coordinates."""
    return np.array([near[0] for near in islice(clusters(u, distance), most)], dtype=np.intp)


def clusters(u: Floats, distance: float) -> Iterator[Indices]:
    """Around every row in order that is in no cluster yet the rows within a distance in all coordinates, itself first."""
    from scipy.spatial import cKDTree

    if not u.shape[1]:
        yield from [np.arange(len(u))] if len(u) else []
        return
    tree, left = cKDTree(u), np.ones(len(u), dtype=bool)
    for k in range(len(u)):
        if left[k]:
            left[k] = False
            near = np.sort(np.array(tree.query_ball_point(u[k], distance, p=np.inf), dtype=np.intp))
            near = near[left[near]]
            left[near] = False
            yield np.append(k, near)


def _limits(region: Region) -> tuple[Floats, Floats]:
    return np.array(region.lower, dtype=float), np.array(region.upper, dtype=float)


def _in_box(value: Function, x: Floats, low: Floats, high: Floats, deadline: float = np.inf) -> Floats:
    """Coordinate ascent of all rows at once: a parabola through three points, or the better end; steps adapt by row."""
    x = np.clip(x, low, high)
    best = value(x)
    step = np.full(x.shape, FIRST_STEP) * (high - low)
    going = np.arange(len(x))
    for _ in range(SWEEPS):
        at, height, reach = x[going], best[going], step[going]
        for k in range(x.shape[1]):
            if time.perf_counter() > deadline:
                break
            at, height = _along(value, at, height, reach, k, low[k], high[k])
        x[going], step[going] = at, reach
        still = height - best[going] <= 1e-13 * np.abs(height)
        share = (reach / (high - low)).max(axis=1)
        best[going] = height
        if np.all(still & (share <= 1e-4)) or time.perf_counter() > deadline:
            break
        # The others are polished as long as any one moves.
        going = going[~(still & (share <= 1e-6))]
    return x


def _along(
    value: Function, x: Floats, best: Floats, step: Floats, k: int, low: float, high: float
) -> tuple[Floats, Floats]:
    """Rows with their values after a move along coordinate k; their steps are changed in place."""
    trials = []
    for sign in (-1.0, 1.0):
        y = x.copy()
        y[:, k] = np.clip(x[:, k] + sign * step[:, k], low, high)
        trials.append((y, value(y)))
    (a, fa), (b, fb) = trials
    with np.errstate(all="ignore"):
        left, right = x[:, k] - a[:, k], b[:, k] - x[:, k]
        slope_left, slope_right = (best - fa) / left, (fb - best) / right
        bend = (slope_right - slope_left) / ((left + right) / 2.0)
        slope = (slope_left * right + slope_right * left) / (left + right)
        shift = np.where(bend < 0, -slope / bend, np.sign(slope) * 2.0 * step[:, k])
    shift = np.nan_to_num(np.clip(shift, -4.0 * step[:, k], 4.0 * step[:, k]))
    c = x.copy()
    c[:, k] = np.clip(x[:, k] + shift, low, high)
    moved = np.zeros(len(x))
    for y, fy in (*trials, (c, value(c))):
        better = fy > best
        moved = np.where(better, np.abs(y[:, k] - x[:, k]), moved)
        x, best = np.where(better[:, None], y, x), np.where(better, fy, best)
    step[:, k] = np.clip(np.where(moved > 0, moved, step[:, k] / 4.0), 1e-7 * (high - low), None)
    return x, best
