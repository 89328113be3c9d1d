"""Fully corrective Frank-Wolfe for log det A, and with it for G-optimality by the Kiefer-Wolfowitz theorem.

Frank and Wolfe's method asks for the arm along which the objective rises fastest: the one with the largest
q_i = tr(A^-1 N_i), N_i = y_i y_i' + A0. The fully corrective version keeps every arm found so far and optimises all
their weights again, so that only the arms missing from the working set remain to be found. When the largest q over
all arms is at most (1 + tol) r, the weights are optimal to that gap, whatever was left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.design import Status
from convexdesign.frankwolfe.corrective_d import CorrectedD, correct_d
from convexdesign.frankwolfe.screen import Priced, Screen
from convexdesign.frankwolfe.symmetric import combine, dimension
from convexdesign.frankwolfe.trace import Trace
from convexdesign.frankwolfe.working_set import batch_size, diverse, first_arms
from convexdesign.problem import Canonical, Criterion

__all__ = ["d_design"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# The master problem is solved to this share of the gap: its weights only serve the next pricing.
MASTER_SHARE = 0.1
FIRST_GAP = 1e-2


@dataclass(frozen=True, eq=False)
class Working:
    """The working set: indices (k,), whitened arms (k, r) and weights (k,) to start from, zero for those just added."""

    index: Indices
    vectors: Floats
    weights: Floats | None


def d_design(canonical: Canonical, trace: Trace, start: Floats | None = None) -> tuple[Floats, Status | None, float]:
    """Weights (n,) that maximise log det A to the gap asked for, the limit that came first, and passes over the arms."""
    r, tol = canonical.rank, trace.tol
    screen = arm_screen(canonical)
    working = _first(canonical, screen, start)
    gap, newton = FIRST_GAP, True
    while True:
        master_tol = max(MASTER_SHARE * gap, 0.3 * tol)
        design = correct_d(
            working.vectors, master_tol, working.weights, canonical.prior, newton=newton, max_iter=trace.iterations_left
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
        enlarged = _enlarged(working, design, priced, gap, (1.0 + 0.5 * tol) * r - held)
        if enlarged.index.size == working.index.size and design.gap > master_tol:
            break  # nothing left to add, and the master cannot be solved any better
        working = enlarged
    weights = np.zeros(canonical.problem.arms.n)
    weights[working.index] = design.weights
    return weights, ended, float(screen.passes)


def arm_screen(canonical: Canonical) -> Screen:
    """Prices arms; the front begins as the sample the canonical form was found from, all arms where they are few."""
    arms, basis = canonical.problem.arms, canonical.basis
    return Screen(lambda F: arms.quadratic(basis @ F), canonical.whiten_arms, arms.n, canonical.coarse)


def _first(canonical: Canonical, screen: Screen, start: Floats | None) -> Working:
    r = canonical.rank
    if start is not None and np.count_nonzero(start) <= 4 * dimension(r):
        index = np.flatnonzero(start)
        vectors = canonical.whiten_arms(index)
        if canonical.prior is not None or np.linalg.matrix_rank(vectors) == r:
            return Working(index, vectors, start[index] / start[index].sum())
    chosen = first_arms(screen.vectors, first_size(r))
    return Working(screen.front.take(chosen), screen.vectors.take(chosen, axis=0), None)


def first_size(r: int) -> int:
    """How many arms to begin with: enough for an optimal design on the sphere to exist among them, while affordable."""
    return 4 * min(dimension(r), 750)


def _inverse_factor(vectors: Floats, weights: Floats, prior: Floats | None) -> tuple[Floats, float, float]:
    """F with FF' = A(w)^-1, tr(A^-1 A0) and log det A."""
    A = combine(vectors.T, weights, prior)
    lower, _ = dpotrf(A, lower=1)
    inverse, _ = dtrtri(lower, lower=1)
    held = 0.0 if prior is None else float(np.vdot(inverse.T @ inverse, prior))
    return inverse.T, held, 2.0 * float(np.log(np.diagonal(lower)).sum())


def _enlarged(working: Working, design: CorrectedD, priced: Priced, gap: float, level: float) -> Working:
    """Add the diverse violators; once there are many arms, forget those without weight that are far from getting any."""
    r = working.vectors.shape[1]
    order = np.flatnonzero(priced.values > level)
    order = order[np.argsort(-priced.values[order], kind="stable")]
    fresh = diverse(priced.vectors, order, batch_size(r), gap)
    fresh = fresh[~np.isin(priced.index.take(fresh), working.index)]
    kept = np.arange(working.index.size)
    if kept.size > 2 * dimension(r):
        kept = np.flatnonzero((design.weights > 0.0) | (design.variances > (1.0 - 3.0 * gap) * r))
    return Working(
        np.concatenate([working.index.take(kept), priced.index.take(fresh)]),
        np.concatenate([working.vectors.take(kept, axis=0), priced.vectors.take(fresh, axis=0)]),
        np.concatenate([design.weights.take(kept), np.zeros(fresh.size)]),
    )


def _record(canonical: Canonical, trace: Trace, log_det: float, gap: float, support: int) -> None:
    """A line of history in the user's units; gap covers the arms priced so far."""
    problem, r = canonical.problem, canonical.rank
    if problem.criterion is Criterion.D:
        value = log_det + float(np.linalg.slogdet(canonical.inverse @ canonical.inverse.T)[1])
        trace.record(value, value + r * float(np.log1p(gap)), gap, support)
    else:
        bound = problem.common_variance * r
        trace.record(bound * (1.0 + gap), bound, gap, support, problem.targets.m)
