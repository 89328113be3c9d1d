"""Fully corrective Frank-Wolfe for the average variance tr(A^-1 M): A-, I- and L-optimality over large arm sets.

The arm along which the objective falls fastest has the largest q_i = |B'y_i|^2, B = A^-1 L, M = LL'. All weights found so far
are optimised again after each pricing; when the largest q over all arms (and what is held) is at most (1 + tol) tr(A^-1 M), the
weights are optimal to that gap.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from convexdesign.frankwolfe.corrective_average import correct_average
from convexdesign.frankwolfe.d_design import first_working_set
from convexdesign.frankwolfe.screen import Screen
from convexdesign.frankwolfe.symmetric import combine, dimension
from convexdesign.frankwolfe.trace import Trace
from convexdesign.frankwolfe.working_set import batch_size, violators
from convexdesign.outcome import Status
from convexdesign.problem import Canonical
from convexdesign.problem.responses import squares, stacked
from convexdesign.typing import Floats

__all__ = ["average_design"]


# The master problem is solved to this share of the gap: its weights only serve the next pricing.
MASTER_SHARE = 0.1


def average_design(
    canonical: Canonical, screen: Screen, trace: Trace, start: Floats | None = None
) -> tuple[Floats, Status | None, float]:
    """Weights (n,) of least average variance to the gap asked for, the limit that came first, and passes over the arms."""
    r, tol, aim = canonical.rank, trace.tol, canonical.aim
    working = first_working_set(canonical, screen, start)
    gap, looked_over = 1e-2, screen.front.size == screen.n
    while True:
        everything = working.size == canonical.problem.arms.n
        master_tol = 0.5 * tol if everything else max(MASTER_SHARE * gap, 0.3 * tol)
        design = correct_average(
            working.vectors,
            aim,
            master_tol,
            working.weights,
            canonical.prior,
            trace.iterations_left,
            looked_over,
            trace.time_is_up,
        )
        trace.iterations += design.steps
        solved = working.index
        factor, _ = dpotrf(combine(stacked(working.vectors).T, design.weights, canonical.prior), lower=1)
        B = dpotrs(factor, aim, lower=1)[0]
        value = float(np.vdot(B, aim))
        held = 0.0 if canonical.prior is None else float(np.vdot(B, canonical.prior @ B))
        if design.slow and not looked_over:
            # Before the master problem is solved at any price, all arms are asked which are missing from it.
            screen.look_over(B)
            looked_over = True
        priced = screen.price(B, (1.0 + tol) * value - held)
        gap = float(priced.values.max() + held) / value - 1.0
        trace.record(value, value / (1.0 + gap), gap, int(np.count_nonzero(design.weights)))
        ended = trace.limit_reached()
        if priced.below or ended is not None:
            break
        fresh = violators(priced, (1.0 + 0.5 * tol) * value - held, batch_size(r), gap)
        if working.size > 2 * dimension(r):
            q = squares(working.vectors @ B) + held
            working = working.kept((design.weights > 0.0) | (q > (1.0 - 3.0 * gap) * value), design.weights)
        else:
            working = working.kept(np.ones(working.size, dtype=bool), design.weights)
        enlarged = working.joined_by(priced, fresh)
        if enlarged.size == working.size and design.gap > master_tol:
            break  # nothing left to add, and the master cannot be solved any better
        working = enlarged
    weights = np.zeros(canonical.problem.arms.n)
    weights[solved] = design.weights
    return weights, ended, float(screen.passes)
