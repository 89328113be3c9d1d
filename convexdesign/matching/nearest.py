"""The arms nearest to given points, in units of each coordinate's range over the arms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from convexdesign.problem.arms import Arms
from convexdesign.typing import Floats, Indices

__all__ = ["Nearest", "coordinate_scale", "nearest_arms"]


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
