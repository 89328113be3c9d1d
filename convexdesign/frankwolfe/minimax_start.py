"""The first working sets of a minimax design: arms of a D-optimal design, and the targets that are worst for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.frankwolfe.corrective_d import correct_d
from convexdesign.frankwolfe.screen import Screen
from convexdesign.frankwolfe.symmetric import combine, dimension
from convexdesign.frankwolfe.target_pricing import Pricing
from convexdesign.frankwolfe.working_set import WorkingSet, batch_size, first_arms, spanning, violators
from convexdesign.problem import Canonical

__all__ = ["first_members"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Up to so many arms or targets all of them enter the master at once.
FEW = 64
# The D-optimal design need not be exact, but its geometry decides which targets are looked at.
COARSE_GAP = 1e-3


def first_members(
    canonical: Canonical, arm_screen: Screen, targets: Pricing, start: Floats | None
) -> tuple[WorkingSet, WorkingSet]:
    """Arms and targets for the first master; start (n,) are weights whose heaviest arms are to be among them."""
    size = batch_size(canonical.rank)
    favoured = _heaviest(start, 4 * size)
    pool = _pool(canonical, arm_screen, favoured)
    chosen, factor = _coarse_design(canonical, pool.vectors, max(2 * size, FEW))
    if favoured.size:
        chosen = np.union1d(chosen, np.flatnonzero(np.isin(pool.index, favoured)))
    arms = WorkingSet(pool.index.take(chosen), pool.vectors.take(chosen, axis=0))
    priced = targets.price(factor, 0.0)
    few = canonical.problem.targets.m <= FEW
    # A zero target (an oracle's best item) wants nothing, and has no logarithm.
    worst = np.flatnonzero(priced.values > 0.0) if few else violators(priced, 0.0, size, 0.5, factor)
    return arms, WorkingSet(priced.index.take(worst), priced.vectors.take(worst, axis=0))


def _heaviest(weights: Floats | None, most: int) -> Indices:
    if weights is None:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(weights)[np.argsort(-weights[np.flatnonzero(weights)], kind="stable")[:most]]


def _pool(canonical: Canonical, arm_screen: Screen, favoured: Indices) -> WorkingSet:
    """The front and the favoured arms, with arms that span: a direction may be known by arms of low leverage alone."""
    front = WorkingSet(arm_screen.front, arm_screen.vectors)
    if front.size == canonical.problem.arms.n:
        return front
    anchors = canonical.coarse[spanning(canonical.whiten_arms(canonical.coarse))]
    missing = np.setdiff1d(np.union1d(anchors, favoured), front.index)
    vectors = np.concatenate([front.vectors, canonical.whiten_arms(missing)])
    return WorkingSet(np.concatenate([front.index, missing]), vectors)


def _coarse_design(canonical: Canonical, vectors: Floats, size: int) -> tuple[Indices, Floats]:
    """Up to about `size` arms, the heaviest of a D-optimal design over those of high leverage, and its F, FF' = A^-1."""
    r, n = canonical.rank, vectors.shape[0]
    if n <= size:
        return np.arange(n), np.eye(r)
    pool = first_arms(vectors, 4 * min(dimension(r), 750))
    vectors = vectors.take(pool, axis=0)
    design = correct_d(vectors, COARSE_GAP, prior=canonical.prior)
    lower, _ = dpotrf(combine(vectors.T, design.weights, canonical.prior), lower=1)
    heaviest = _heaviest(design.weights, size)
    return pool.take(np.union1d(heaviest, spanning(vectors))), dtrtri(lower, lower=1)[0].T
