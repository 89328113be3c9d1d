"""Fully corrective Frank-Wolfe for smooth criteria: log det A, with it G-optimality by Kiefer and Wolfowitz, and tr(A^-1 M).

Frank and Wolfe's method asks for the arm along which the objective improves fastest: the one with the largest q_i, which is
tr(A^-1 N_i), N_i = y_i y_i' + A0, for log det, and |B'y_i|^2 + tr(B'A0B), B = A^-1 L, for the average variance with M = LL'.
The fully corrective version keeps every arm found so far and optimises all their weights again, so that only the arms missing
from the working set remain to be found. When the largest q over all arms is at most (1 + tol) sum_k w_k q_k, the weights are
optimal to that gap, whatever was left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from convexdesign.arms.groups import repeat_per_response, squared_norms
from convexdesign.criteria import oracle_of
from convexdesign.frankwolfe.corrective_smooth import Corrected, correct_average, correct_d
from convexdesign.frankwolfe.pricing import Screen, arm_pool, arm_screen
from convexdesign.frankwolfe.start import MOST_ARMS, largest_weights, spans
from convexdesign.frankwolfe.symmetric import combine, symmetric_dimension
from convexdesign.frankwolfe.tuning import TUNING, Tuning
from convexdesign.frankwolfe.working_set import Priced, WorkingSet, batch_size, first_arms, peaked, violators
from convexdesign.negligible import without_least_leverage
from convexdesign.outcome import Outcome
from convexdesign.problem import Canonical
from convexdesign.trace import Trace
from convexdesign.typing import Floats

__all__ = ["smooth_design"]


@dataclass(frozen=True, eq=False)
class Slope:
    """q_i = |F'u_i|^2 + held at some weights, their mean `total` by these, and the objective in whitened coordinates."""

    factor: Floats
    held: float
    total: float
    objective: float

    def gap(self, priced: Priced) -> float:
        """The largest q of those priced, relative to the mean, less one."""
        return float(priced.values.max() + self.held) / self.total - 1.0

    def level(self, gap: float) -> float:
        """The |F'u|^2 of an arm at this gap."""
        return (1.0 + gap) * self.total - self.held


class Master(Protocol):
    """What differs between the criteria: their corrective step, slope and history."""

    def solve(self, working: WorkingSet, tol: float, trace: Trace) -> Corrected: ...

    def slope(self, vectors: Floats, weights: Floats) -> Slope: ...

    def is_settled(self, design: Corrected) -> bool:
        """Whether the step did what it could; otherwise all arms are asked which are missing before it is taken further."""
        ...

    def history(self, slope: Slope, gap: float) -> tuple[float, float, int]:
        """Value and bound in the user's units, and the number of targets."""
        ...


def smooth_design(
    canonical: Canonical, trace: Trace, log_det: bool, start: Floats | None = None, tuning: Tuning = TUNING
) -> Outcome:
    """Weights (n,) that are optimal to the gap that the trace asks for; start (k,): weights of a related design.

    log_det: whether it is log det A that is maximised; otherwise it is tr(A^-1 M).
    """
    r, tol = canonical.rank, trace.tol
    pass_first = log_det and peaked(canonical.whiten_arms(canonical.coarse), canonical.problem.responses)
    screen = arm_screen(canonical, pass_first=pass_first, tuning=tuning)
    master: Master = LogDetMaster(canonical, tuning)
    if not log_det:
        master = AverageVarianceMaster(canonical, tuning, screen.candidates.size == screen.n)
    working = _first_working_set(canonical, screen, start, tuning)
    gap = tuning.first_gap
    while True:
        everything = working.size == canonical.problem.arms.n
        master_tol = 0.5 * tol if everything else max(tuning.master_share * gap, tuning.final_share * tol)
        design = master.solve(working, master_tol, trace)
        trace.iterations += design.steps
        slope = master.slope(working.vectors, design.weights)
        if not master.is_settled(design):
            screen.look_over(slope.factor)
        priced = screen.price(slope.factor, slope.level(tol))
        gap = slope.gap(priced)
        value, bound, targets = master.history(slope, gap)
        trace.record(value, bound, gap, int(np.count_nonzero(design.weights)), targets)
        ended = trace.limit_reached()
        if priced.below or ended is not None:
            break
        fresh = violators(priced, slope.level(0.5 * tol), batch_size(r), gap)
        kept = _without_idle(working, design, gap)
        enlarged = kept.joined_by(priced, fresh)
        if enlarged.size == kept.size == working.size and design.gap > master_tol:
            break  # nothing left to add, and the master cannot be solved any better
        working = enlarged
    share = design.weights
    if log_det:
        share = without_least_leverage(share, share * (r * design.relative - slope.held), 0.5 * (tol - gap))
    weights = np.zeros(canonical.problem.arms.n)
    weights[working.index] = share
    return Outcome(weights, None, ended, trace.stats(float(screen.passes)))


class LogDetMaster:
    """log det A, and the largest variance of the arms where Kiefer and Wolfowitz's theorem holds."""

    def __init__(self, canonical: Canonical, tuning: Tuning):
        self.canonical, self.tuning = canonical, tuning
        # Where Newton's method failed once, arms are alike, and the interior point is the better first choice.
        self.newton = True

    def solve(self, working: WorkingSet, tol: float, trace: Trace) -> Corrected:
        most, prior = trace.iterations_left, self.canonical.prior
        design = correct_d(
            working.vectors,
            tol,
            working.weights,
            prior,
            responses=working.responses,
            newton=self.newton,
            max_iter=most,
            stop=trace.time_is_up,
            tuning=self.tuning,
        )
        self.newton = self.newton and not design.slow
        return design

    def slope(self, vectors: Floats, weights: Floats) -> Slope:
        return _log_det_slope(vectors, weights, self.canonical.prior)

    def is_settled(self, design: Corrected) -> bool:
        return True

    def history(self, slope: Slope, gap: float) -> tuple[float, float, int]:
        return oracle_of(self.canonical).history(self.canonical, slope.objective, gap)


class AverageVarianceMaster:
    """tr(A^-1 M); patient: whether all arms were looked over, so that the master may be solved at any price."""

    def __init__(self, canonical: Canonical, tuning: Tuning, patient: bool):
        self.canonical, self.tuning, self.patient = canonical, tuning, patient

    def solve(self, working: WorkingSet, tol: float, trace: Trace) -> Corrected:
        contrast_matrix, prior, most = self.canonical.contrast_matrix, self.canonical.prior, trace.iterations_left
        return correct_average(
            working.vectors,
            contrast_matrix,
            tol,
            working.weights,
            prior,
            most,
            self.patient,
            trace.time_is_up,
            working.responses,
            self.tuning,
        )

    def slope(self, vectors: Floats, weights: Floats) -> Slope:
        contrast_matrix, prior = self.canonical.contrast_matrix, self.canonical.prior
        factor, _ = dpotrf(combine(vectors.T, weights, prior), lower=1)
        B = dpotrs(factor, contrast_matrix, lower=1)[0]
        value = float(np.vdot(B, contrast_matrix))
        return Slope(B, 0.0 if prior is None else float(np.vdot(B, prior @ B)), value, value)

    def is_settled(self, design: Corrected) -> bool:
        settled = self.patient or not design.slow
        self.patient = self.patient or design.slow
        return settled

    def history(self, slope: Slope, gap: float) -> tuple[float, float, int]:
        return slope.objective, slope.objective / (1.0 + gap), 0


def _log_det_slope(vectors: Floats, weights: Floats, prior: Floats | None) -> Slope:
    """F with FF' = A(w)^-1, tr(A^-1 A0), r and log det A."""
    lower, _ = dpotrf(combine(vectors.T, weights, prior), lower=1)
    inverse, _ = dtrtri(lower, lower=1)
    held = 0.0 if prior is None else float(np.vdot(inverse.T @ inverse, prior))
    return Slope(inverse.T, held, float(len(lower)), 2.0 * float(np.log(np.diagonal(lower)).sum()))


def _first_working_set(canonical: Canonical, screen: Screen, start: Floats | None, tuning: Tuning) -> WorkingSet:
    """A choice of arms by leverage; or, where the weights given are not far from D-optimal, their arms and what these lack."""
    r = canonical.rank
    # On a sphere an optimal design exists among some multiple of p = r(r+1)/2 random arms.
    pool = arm_pool(canonical, screen)
    related = None if start is None else _related(canonical, start)
    if related is not None:
        assert related.weights is not None
        slope = _log_det_slope(related.vectors, related.weights, canonical.prior)
        values = squared_norms(pool.vectors @ slope.factor, pool.responses)
        priced = Priced(pool.index, pool.vectors, values, False, pool.responses)
        gap = slope.gap(priced)
        if gap <= tuning.smooth_near:
            return related.joined_by(priced, violators(priced, slope.level(0.0), batch_size(r), gap))
    size = 4 * min(symmetric_dimension(r), 750)
    if peaked(pool.vectors, pool.responses):
        # Where some arms stand out, an optimum has few times r of them.
        size = min(size, max(6 * r, 400))
    return pool.chosen(first_arms(pool.vectors, size, pool.responses))


def _related(canonical: Canonical, start: Floats) -> WorkingSet | None:
    """The arms of a related design with the largest weights, and these; None where they hardly span."""
    index = largest_weights(start, MOST_ARMS * symmetric_dimension(canonical.rank))
    vectors = canonical.whiten_arms(index)
    responses = canonical.problem.responses
    nonzero = squared_norms(vectors, responses) > 0.0
    index, vectors = index[nonzero], vectors[repeat_per_response(nonzero, vectors)]
    share = start.take(index)
    if not index.size:
        return None
    share = share / share.sum()
    lower, info = dpotrf(combine(vectors.T, share, canonical.prior), lower=1)
    return WorkingSet(index, vectors, share, responses) if info == 0 and spans(lower) else None


def _without_idle(working: WorkingSet, design: Corrected, gap: float) -> WorkingSet:
    """Once there are many arms, forget those without weight that are far from getting any."""
    keep = np.ones(working.size, dtype=bool)
    if working.size > 2 * symmetric_dimension(working.vectors.shape[1]):
        keep = (design.weights > 0.0) | (design.relative > 1.0 - 3.0 * gap)
    return working.kept(keep, design.weights)
