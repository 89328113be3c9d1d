"""The arms and targets of a restricted program: where to start, whom to add, whom to drop.

A minimax design rests on few of its targets and, over the whole simplex, on few of its arms: at most r(r+1)/2 + 1 of each
decide. So a program is solved over small sets; then all arms and targets are priced, and those that prove the restricted
solution wrong are added.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from convexdesign.problem import Canonical
from convexdesign.programs.program import Floats

__all__ = ["diverse", "first_arms", "first_targets", "violating_arms", "violating_targets"]

Indices = NDArray[np.intp]

# All arms take part up to this many; beyond, and only over the whole simplex, they are generated too.
FEW_ARMS = 400
# All targets take part up to this many.
FEW_TARGETS = 40
# Candidates among which diverse ones are looked for.
CANDIDATES = 2000


def first_arms(canonical: Canonical) -> Indices:
    """Positions in `canonical.arms` to start from: all, or the heaviest of the coarse design and a spanning set."""
    n, r = canonical.arms.shape
    size = max(150, r * (r + 1))
    if not canonical.problem.weight_set.is_simplex or n <= max(FEW_ARMS, size):
        return np.arange(n)
    coarse = np.zeros(canonical.problem.arms.n)
    coarse[canonical.coarse] = canonical.coarse_weights
    leverage = np.einsum("ij,ij->i", canonical.arms, canonical.arms)
    weight = coarse[canonical.merged] + 1e-9 * leverage / leverage.sum()
    heaviest = np.argpartition(-weight, size)[:size]
    pivots = scipy.linalg.qr((np.sqrt(weight)[:, None] * canonical.arms).T, mode="r", pivoting=True)[1][:r]
    return np.union1d(heaviest, pivots)


def first_targets(canonical: Canonical, factor: Floats) -> Indices:
    """Targets to start from: all if few, otherwise diverse ones among the worst of the design with A^-1 = FF'."""
    if canonical.problem.targets.m <= FEW_TARGETS:
        return np.sort(canonical.problem.targets.worst(factor, FEW_TARGETS)[0])
    index, _ = canonical.problem.targets.worst(factor, CANDIDATES)
    size = max(FEW_TARGETS, 6 * canonical.rank)
    return np.sort(diverse(canonical, factor, index, size, closeness=0.8))


def violating_targets(canonical: Canonical, factor: Floats, level: float, gap: float) -> Indices:
    """Diverse targets of variance above the level, F (d, k) with A^-1 = FF'; far from the optimum more diverse ones."""
    index, values = canonical.problem.targets.worst(factor, CANDIDATES)
    above = index[values > level]
    size = max(FEW_TARGETS, 2 * canonical.rank)
    return diverse(canonical, factor, above, size, closeness=1.0 - np.sqrt(min(gap, 1.0)) / 4.0)


def violating_arms(sensitivity: Floats, level: float, rank: int) -> Indices:
    """The arms whose sensitivity sum_j (b_j'u_i)^2 exceeds the level, the largest of them."""
    size = max(FEW_TARGETS, 2 * rank)
    order = np.argsort(-sensitivity, kind="stable")[:size]
    return order[sensitivity[order] > level]


def diverse(canonical: Canonical, factor: Floats, index: Indices, size: int, closeness: float) -> Indices:
    """Up to `size` of the targets, in the order given, none with |cos| above the closeness to one chosen before.

    Angles are those between F'v, in which equal lengths mean equal variances.
    """
    image = canonical.problem.targets.take(index) @ factor
    image /= np.maximum(np.linalg.norm(image, axis=1, keepdims=True), np.finfo(float).tiny)
    free = np.ones(index.size, dtype=bool)
    chosen: list[int] = []
    for k in range(index.size):
        if len(chosen) == size:
            break
        if free[k]:
            chosen.append(k)
            free &= np.abs(image @ image[k]) <= closeness
    return index[chosen]
