"""The first working sets of a minimax design: arms of a D-optimal design, and the targets that are worst for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.frankwolfe.arm_screen import arm_pool
from convexdesign.frankwolfe.corrective_d import correct_d
from convexdesign.frankwolfe.screen import Screen
from convexdesign.frankwolfe.symmetric import combine, dimension
from convexdesign.frankwolfe.target_pricing import Pricing
from convexdesign.frankwolfe.warm_start import Start, heaviest, joined, started, targets_of_proof
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
    canonical: Canonical, arm_screen: Screen, targets: Pricing, start: Start | None
) -> tuple[WorkingSet, WorkingSet]:
    """Arms and targets for the first master; with those of a related design to start from, if one is given.

    Both sets only grow by a start, so that a misleading one costs time and nothing else.
    """
    size = batch_size(canonical.rank)
    pool = arm_pool(canonical, arm_screen)
    chosen, factor = _coarse_design(canonical, pool.vectors, max(2 * size, FEW))
    arms = WorkingSet(pool.index.take(chosen), pool.vectors.take(chosen, axis=0))
    own = None
    if start is not None:
        arms, own = started(canonical, arms, start)
    priced = targets.price(factor if own is None else own, 0.0)
    if canonical.problem.targets.m <= FEW:
        # A zero target (an oracle's best item) wants nothing, and has no logarithm.
        worst = np.flatnonzero(priced.values > 0.0)
    elif own is None:
        worst = violators(priced, 0.0, size, 0.5, factor)
    else:
        both = violators(priced, 0.0, size, 0.5, own), violators(priced.at(factor), 0.0, size, 0.5, factor)
        worst = np.union1d(*both)
    members = WorkingSet(priced.index.take(worst), priced.vectors.take(worst, axis=0))
    if start is not None and start.proof is not None:
        members = joined(members, targets_of_proof(canonical, start.proof), canonical.whiten_targets)
    return arms, members


def _coarse_design(canonical: Canonical, vectors: Floats, size: int) -> tuple[Indices, Floats]:
    """Up to about `size` arms, the heaviest of a D-optimal design over those of high leverage, and its F, FF' = A^-1."""
    r, n = canonical.rank, vectors.shape[0]
    if n <= size:
        return np.arange(n), np.eye(r)
    pool = first_arms(vectors, 4 * min(dimension(r), 750))
    vectors = vectors.take(pool, axis=0)
    design = correct_d(vectors, COARSE_GAP, prior=canonical.prior)
    lower, _ = dpotrf(combine(vectors.T, design.weights, canonical.prior), lower=1)
    members = np.union1d(heaviest(design.weights, size), spanning(vectors))
    return pool.take(members), dtrtri(lower, lower=1)[0].T
