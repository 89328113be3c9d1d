"""Small minimax problems: one master holds every arm and every target, so that nothing is left to price."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.certificate import Witness
from convexdesign.frankwolfe.corrective_minimax import correct_minimax
from convexdesign.frankwolfe.found import Found
from convexdesign.frankwolfe.symmetric import combine
from convexdesign.frankwolfe.trace import Trace
from convexdesign.negligible import without_least_leverage
from convexdesign.problem import Canonical, PairTargets, VectorTargets
from convexdesign.problem.responses import squares, stacked
from convexdesign.typing import Indices

__all__ = ["minimax_whole"]


# Up to so many arms and as many targets a master over all of them is faster than any search.
FEW = 64


def minimax_whole(canonical: Canonical, trace: Trace) -> Found | None:
    """The design by one interior point over everything; None for larger problems, or where it falls short of the tolerance.

    Elimination loops solve thousands of problems with a handful of arms: what they cost is calls, not arithmetic.
    """
    problem = canonical.problem
    index = _few_targets(canonical)
    if index is None or problem.arms.n > FEW:
        return None
    arms, targets = canonical.whiten_arms(np.arange(problem.arms.n)), canonical.whiten_targets(index)
    # A zero target (an oracle's best item) wants nothing, and has no logarithm.
    wanted = targets.any(axis=1)
    if not wanted.all():
        index, targets = index[wanted], targets[wanted]
    answer = correct_minimax(arms, targets, 0.5 * trace.tol, canonical.prior, None, min(60, trace.iterations_left))
    trace.iterations += answer.steps
    limit = trace.limit_reached()
    if answer.gap > trace.tol and limit is None:
        return None
    weights = answer.weights
    factor = dtrtri(dpotrf(combine(stacked(arms).T, weights, canonical.prior), lower=1)[0], lower=1)[0].T
    images = targets @ factor
    value = float(np.einsum("ij,ij->i", images, images).max()) * canonical.target_scale
    support = int(np.count_nonzero(weights > 1e-9))
    trace.record(value, value / (1.0 + answer.gap), answer.gap, support, index.size)
    leverages = weights * squares(arms @ factor)
    weights = without_least_leverage(weights, leverages, 0.5 * (trace.tol - answer.gap))
    vectors = (np.sqrt(answer.multipliers)[:, None] * images) @ (canonical.basis @ factor).T
    return Found(weights, Witness.found(canonical, index, vectors), limit if answer.gap > trace.tol else None, 0.0)


def _few_targets(canonical: Canonical) -> Indices | None:
    """The indices of all targets, if they are few."""
    targets = canonical.problem.targets
    if targets.m > FEW:
        return None
    if isinstance(targets, PairTargets):
        return targets.all()
    return np.arange(targets.m) if isinstance(targets, VectorTargets) else None
