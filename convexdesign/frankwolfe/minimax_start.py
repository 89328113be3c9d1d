"""The first working sets of a minimax design: arms of a D-optimal design, and the targets that are worst for it."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.frankwolfe.arm_screen import arm_pool
from convexdesign.frankwolfe.corrective_d import correct_d
from convexdesign.frankwolfe.screen import Screen
from convexdesign.frankwolfe.symmetric import combine, dimension
from convexdesign.frankwolfe.target_pricing import Pricing
from convexdesign.frankwolfe.warm_start import Start, heaviest, started, with_proof
from convexdesign.frankwolfe.working_set import WorkingSet, batch_size, first_arms, spanning, violators
from convexdesign.problem import Canonical
from convexdesign.problem.responses import stacked
from convexdesign.typing import Floats, Indices

__all__ = ["first_members", "related_members"]


# Up to so many arms or targets all of them enter the master at once.
FEW = 64
# The D-optimal design need not be exact, but its geometry decides which targets are looked at.
COARSE_GAP = 1e-3


def first_members(canonical: Canonical, arm_screen: Screen, targets: Pricing) -> tuple[WorkingSet, WorkingSet]:
    """Arms and targets for the first master."""
    size = batch_size(canonical.rank)
    pool = arm_pool(canonical, arm_screen)
    chosen, factor = _coarse_design(canonical, pool.vectors, max(2 * size, FEW))
    arms = WorkingSet(pool.index.take(chosen), pool.vectors.take(chosen, axis=0))
    priced = targets.price(factor, 0.0)
    if canonical.problem.targets.m <= FEW:
        # A zero target (an oracle's best item) wants nothing, and has no logarithm.
        worst = np.flatnonzero(priced.values > 0.0)
    else:
        worst = violators(priced, 0.0, size, 0.5, factor)
    return arms, WorkingSet(priced.index.take(worst), priced.vectors.take(worst, axis=0))


def related_members(
    canonical: Canonical, arm_screen: Screen, targets: Pricing, start: Start
) -> tuple[WorkingSet, WorkingSet] | None:
    """Arms and targets of a related design with weights and multipliers; None where it is singular here."""
    arms, factor = started(canonical, start, arm_screen)
    if factor is None:
        return None
    if start.proof is not None:
        told = with_proof(canonical, start.proof, factor)
        if told is not None:
            return arms, told
    priced = targets.price(factor, 0.0)
    worst = violators(priced, 0.0, batch_size(canonical.rank), 0.5, factor)
    values = priced.values.take(worst)
    worst = worst[values > 0.0]
    multipliers = np.full(worst.size, 1.0 / max(worst.size, 1))
    return arms, WorkingSet(priced.index.take(worst), priced.vectors.take(worst, axis=0), multipliers)


def _coarse_design(canonical: Canonical, vectors: Floats, size: int) -> tuple[Indices, Floats]:
    """Up to about `size` arms, the heaviest of a D-optimal design over those of high leverage, and its F, FF' = A^-1."""
    r, n = canonical.rank, vectors.shape[0]
    if n <= size:
        return np.arange(n), np.eye(r)
    pool = first_arms(vectors, 4 * min(dimension(r), 750))
    vectors = vectors.take(pool, axis=0)
    design = correct_d(vectors, COARSE_GAP, prior=canonical.prior)
    lower, _ = dpotrf(combine(stacked(vectors).T, design.weights, canonical.prior), lower=1)
    members = np.union1d(heaviest(design.weights, size), spanning(vectors))
    return pool.take(members), dtrtri(lower, lower=1)[0].T
