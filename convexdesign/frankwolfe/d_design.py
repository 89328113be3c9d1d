"""Fully corrective Frank-Wolfe for log det A, and with it for G-optimality by the Kiefer-Wolfowitz theorem.

Frank and Wolfe's method asks for the arm along which the objective rises fastest: the one with the largest
q_i = tr(A^-1 N_i), N_i = y_i y_i' + A0. The fully corrective version keeps every arm found so far and optimises all
their weights again, so that only the arms missing from the working set remain to be found. When the largest q over
all arms is at most (1 + tol) r, the weights are optimal to that gap, whatever was left out.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.frankwolfe.arm_screen import arm_pool, arm_screen
from convexdesign.frankwolfe.corrective_d import CorrectedD, correct_d
from convexdesign.frankwolfe.screen import Priced, Screen
from convexdesign.frankwolfe.symmetric import combine, dimension
from convexdesign.frankwolfe.trace import Trace
from convexdesign.frankwolfe.warm_start import MOST_ARMS, heaviest, spans
from convexdesign.frankwolfe.working_set import WorkingSet, batch_size, first_arms, peaked, violators
from convexdesign.negligible import without_least_leverage
from convexdesign.outcome import Status
from convexdesign.problem import Canonical, Criterion
from convexdesign.problem.responses import squares, stacked
from convexdesign.typing import Floats

__all__ = ["d_design", "first_working_set"]


# The master problem is solved to this share of the gap: its weights only serve the next pricing.
MASTER_SHARE = 0.1
FIRST_GAP = 1e-2
# A related design with a larger gap is not begun from.
NEAR = 0.3


def d_design(canonical: Canonical, trace: Trace, start: Floats | None = None) -> tuple[Floats, Status | None, float]:
    """Weights (n,) that maximise log det A to the gap asked for, the limit that came first, and passes over the arms."""
    r, tol = canonical.rank, trace.tol
    screen = arm_screen(canonical, pass_first=peaked(canonical.whiten_arms(canonical.coarse)))
    working = first_working_set(canonical, screen, start)
    gap, newton = FIRST_GAP, True
    while True:
        everything = working.size == canonical.problem.arms.n
        master_tol = 0.5 * tol if everything else max(MASTER_SHARE * gap, 0.3 * tol)
        design = correct_d(
            working.vectors,
            master_tol,
            working.weights,
            canonical.prior,
            newton=newton,
            max_iter=trace.iterations_left,
            stop=trace.time_is_up,
        )
        trace.iterations += design.steps
        newton = newton and not design.newton_failed
        factor, held, log_det = _inverse_factor(working.vectors, design.weights, canonical.prior)
        priced = screen.price(factor, (1.0 + tol) * r - held)
        gap = float(priced.values.max() + held) / r - 1.0
        _record(canonical, trace, log_det, gap, int(np.count_nonzero(design.weights)))
        ended = trace.limit_reached()
        if priced.below or ended is not None:
            break
        fresh = violators(priced, (1.0 + 0.5 * tol) * r - held, batch_size(r), gap)
        enlarged = _without_idle(working, design, gap).joined_by(priced, fresh)
        if enlarged.size == working.size and design.gap > master_tol:
            break  # nothing left to add, and the master cannot be solved any better
        working = enlarged
    weights = np.zeros(canonical.problem.arms.n)
    leverages = design.weights * (design.variances - held)
    weights[working.index] = without_least_leverage(design.weights, leverages, 0.5 * (tol - gap))
    return weights, ended, float(screen.passes)


def first_working_set(canonical: Canonical, screen: Screen, start: Floats | None) -> WorkingSet:
    """A choice of arms by leverage; or, where the weights given are not far from D-optimal, their arms and what these lack."""
    r = canonical.rank
    # On a sphere an optimal design exists among some multiple of p = r(r+1)/2 random arms.
    pool = arm_pool(canonical, screen)
    related = None if start is None else _related(canonical, start)
    if related is not None:
        own, share = related
        factor, held, _ = _inverse_factor(own.vectors, share, canonical.prior)
        priced = Priced(pool.index, pool.vectors, squares(pool.vectors @ factor), False)
        gap = float(priced.values.max() + held) / r - 1.0
        if gap <= NEAR:
            return own.joined_by(priced, violators(priced, r - held, batch_size(r), gap))
    size = 4 * min(dimension(r), 750)
    if peaked(pool.vectors):
        # Where some arms stand out, an optimum has few times r of them.
        size = min(size, max(6 * r, 400))
    chosen = first_arms(pool.vectors, size)
    return WorkingSet(pool.index.take(chosen), pool.vectors.take(chosen, axis=0))


def _related(canonical: Canonical, start: Floats) -> tuple[WorkingSet, Floats] | None:
    """The heaviest arms of a related design, with their weights; None where these hardly span."""
    index = heaviest(start, MOST_ARMS * dimension(canonical.rank))
    vectors = canonical.whiten_arms(index)
    nonzero = squares(vectors) > 0.0
    index, vectors = index[nonzero], vectors[nonzero]
    share = start.take(index)
    if not index.size:
        return None
    share = share / share.sum()
    lower, info = dpotrf(combine(stacked(vectors).T, share, canonical.prior), lower=1)
    return (WorkingSet(index, vectors, share), share) if info == 0 and spans(lower) else None


def _inverse_factor(vectors: Floats, weights: Floats, prior: Floats | None) -> tuple[Floats, float, float]:
    """F with FF' = A(w)^-1, tr(A^-1 A0) and log det A."""
    lower, _ = dpotrf(combine(stacked(vectors).T, weights, prior), lower=1)
    inverse, _ = dtrtri(lower, lower=1)
    held = 0.0 if prior is None else float(np.vdot(inverse.T @ inverse, prior))
    return inverse.T, held, 2.0 * float(np.log(np.diagonal(lower)).sum())


def _without_idle(working: WorkingSet, design: CorrectedD, gap: float) -> WorkingSet:
    """Once there are many arms, forget those without weight that are far from getting any."""
    r = working.vectors.shape[-1]
    keep = np.ones(working.size, dtype=bool)
    if working.size > 2 * dimension(r):
        keep = (design.weights > 0.0) | (design.variances > (1.0 - 3.0 * gap) * r)
    return working.kept(keep, design.weights)


def _record(canonical: Canonical, trace: Trace, log_det: float, gap: float, support: int) -> None:
    """A line of history in the user's units; gap covers the arms priced so far."""
    problem, r = canonical.problem, canonical.rank
    if problem.criterion is Criterion.D:
        value = log_det + float(np.linalg.slogdet(canonical.inverse @ canonical.inverse.T)[1])
        trace.record(value, value + r * float(np.log1p(gap)), gap, support)
    else:
        bound = problem.common_variance * r
        trace.record(bound * (1.0 + gap), bound, gap, support, problem.targets.m)
