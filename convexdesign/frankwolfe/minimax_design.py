"""Fully corrective Frank-Wolfe for the minimax problem, two-sided: arms and targets are both generated.

The master problem over a few arms and targets is solved by interior point. Its answer prices everything else: a
target v is violated when v'Cv exceeds the master's value, an arm y is attractive when y'CSCy exceeds the master's
largest; S = sum_j mu_j v_j v_j', C = A(w)^-1. With the largest of each over ALL targets and arms the certificate is

    gap = max_v v'Cv  *  (max_i y_i'CSCy_i + tr(CSC A0))  /  sum_j mu_j (v_j'Cv_j)^2  -  1.

Violators that differ from one another join the working sets, members of no use leave, and so on until it closes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.arms.groups import squared_norms
from convexdesign.certificate import DualCertificate
from convexdesign.frankwolfe.corrective_minimax import CorrectedMinimax, correct_minimax
from convexdesign.frankwolfe.pricing import Pricing, Screen, arm_screen, target_pricing
from convexdesign.frankwolfe.start import Start, first_members, related_members
from convexdesign.frankwolfe.symmetric import combine
from convexdesign.frankwolfe.tuning import TUNING, Tuning
from convexdesign.frankwolfe.working_set import Priced, WorkingSet, batch_size, spanning, violators
from convexdesign.negligible import without_least_leverage
from convexdesign.outcome import Outcome, Status
from convexdesign.problem import Canonical, PairTargets, VectorTargets
from convexdesign.trace import Trace
from convexdesign.typing import Floats, Indices

__all__ = ["minimax_design"]


@dataclass(frozen=True, eq=False)
class MinimaxMaster:
    """A master over these arms and targets with its answer.

    factor F (r, r): FF' = C; images F'v (m, r) and variances v'Cv of the member targets.
    """

    arms: WorkingSet
    targets: WorkingSet
    answer: CorrectedMinimax
    prior: Floats | None
    factor: Floats
    images: Floats
    variances: Floats

    @classmethod
    def of(cls, arms: WorkingSet, targets: WorkingSet, prior: Floats | None, answer: CorrectedMinimax) -> MinimaxMaster:
        """The point of an answer."""
        lower, _ = dpotrf(combine(arms.vectors.T, answer.weights, prior), lower=1)
        factor = dtrtri(lower, lower=1)[0].T
        images = targets.vectors @ factor
        return cls(arms, targets, answer, prior, factor, images, np.einsum("jk,jk->j", images, images))

    @cached_property
    def root(self) -> Floats:
        """R (r, r) with RR' = CSC."""
        eigenvalues, axes = np.linalg.eigh((self.images.T * self.answer.multipliers) @ self.images)
        return np.asarray(self.factor @ (axes * np.sqrt(np.maximum(eigenvalues, 0.0))))

    @cached_property
    def held(self) -> float:
        """tr(CSC A0)."""
        return 0.0 if self.prior is None else float(np.vdot(self.root, self.prior @ self.root))

    @cached_property
    def sensitivities(self) -> Floats:
        """y'CSCy + held of the member arms."""
        return squared_norms(self.arms.vectors @ self.root, self.arms.responses) + self.held

    @cached_property
    def hits(self) -> float:
        """sum_j mu_j (v_j'Cv_j)^2."""
        return float(self.answer.multipliers @ self.variances**2)


@dataclass(frozen=True, eq=False)
class Prices:
    """The worst targets and the steepest arms at a point; value and gap cover everything priced so far.

    settled: nothing outside the master matters, so that value and gap are final for this point.
    """

    worst: Priced
    steepest: Priced
    value: float
    gap: float
    settled: bool


def minimax_design(canonical: Canonical, trace: Trace, start: Start | None = None, tuning: Tuning = TUNING) -> Outcome:
    """Weights whose worst variance is within the gap asked for of the optimum, with the dual certificate of that."""
    tol = trace.tol
    small = _whole(canonical, trace, tuning)
    if small is not None:
        return small
    arm_prices, target_prices = arm_screen(canonical, pass_first=True, tuning=tuning), target_pricing(canonical, tuning)
    arms, targets, master_tol = _first_master(canonical, arm_prices, target_prices, start, tol, tuning)
    best: tuple[float, MinimaxMaster] | None = None
    forgot_at = np.inf
    while True:
        point = _solve_master(arms, targets, canonical.prior, master_tol, trace, tuning)
        prices = _price(point, arm_prices, target_prices, tol)
        _record(canonical, trace, point, prices.value, prices.gap)
        if best is None or prices.gap < best[0]:
            best = prices.gap, point
        ended = trace.limit_reached()
        if (prices.settled and prices.gap <= tol) or ended is not None:
            break
        forget = prices.gap < tuning.fall * forgot_at
        forgot_at = prices.gap if forget else forgot_at
        arms, targets, added = _next_master(point, prices, forget, tol)
        if added == 0 and (point.answer.gap > master_tol or master_tol == tuning.final_share * tol):
            break  # nothing is missing, and the master cannot be solved any better
        master_tol = tuning.final_share * tol
        if not prices.settled:
            master_tol = max(tuning.master_share * min(prices.gap, 1.0), master_tol)
    return _outcome(canonical, trace, best[1], best[0], ended, arm_prices.passes)


def _whole(canonical: Canonical, trace: Trace, tuning: Tuning) -> Outcome | None:
    """The design by one master that holds every arm and every target, so that nothing is left to price.

    None for larger problems, or where it falls short of the tolerance. Elimination loops solve thousands of problems with a
    handful of arms: what they cost is calls, not arithmetic.
    """
    index, n = _few_targets(canonical, tuning.whole), canonical.problem.arms.n
    if index is None or n > tuning.whole:
        return None
    everyone = np.arange(n)
    arms = WorkingSet(everyone, canonical.whiten_arms(everyone), None, canonical.problem.responses)
    targets = WorkingSet(index, canonical.whiten_targets(index))
    # A zero target (an oracle's best item) wants nothing, and has no logarithm.
    wanted = targets.vectors.any(axis=1)
    if not wanted.all():
        targets = WorkingSet(index[wanted], targets.vectors[wanted])
    answer = correct_minimax(
        arms.vectors,
        targets.vectors,
        0.5 * trace.tol,
        canonical.prior,
        None,
        min(tuning.minimax_steps, trace.iterations_left),
        arms.responses,
    )
    trace.iterations += answer.steps
    ended = trace.limit_reached()
    if answer.gap > trace.tol and ended is None:
        return None
    point = MinimaxMaster.of(arms, targets, canonical.prior, answer)
    _record(canonical, trace, point, float(point.variances.max()), answer.gap)
    return _outcome(canonical, trace, point, answer.gap, ended if answer.gap > trace.tol else None, 0)


def _few_targets(canonical: Canonical, most: int) -> Indices | None:
    """The indices of all targets, if they are few."""
    targets = canonical.problem.targets
    if targets.m > most:
        return None
    if isinstance(targets, PairTargets):
        return targets.all()
    return np.arange(targets.m) if isinstance(targets, VectorTargets) else None


def _first_master(
    canonical: Canonical,
    arm_prices: Screen,
    target_prices: Pricing,
    start: Start | None,
    tol: float,
    tuning: Tuning,
) -> tuple[WorkingSet, WorkingSet, float]:
    """The first arms and targets, and how far to solve over them.

    A related design is priced as it is, and joined by its violators. One that is far from the optimum knows nothing that
    a first choice does not, and is left aside.
    """
    related = None if start is None else related_members(canonical, arm_prices, target_prices, start)
    if related is not None:
        arms, targets = related
        assert arms.weights is not None
        assert targets.weights is not None
        point = MinimaxMaster.of(
            arms, targets, canonical.prior, CorrectedMinimax(arms.weights, targets.weights, np.inf, 0)
        )
        prices = _price(point, arm_prices, target_prices, tol)
        if prices.gap <= tuning.minimax_near:
            arms, targets, _ = _next_master(point, prices, False, tol)
            return arms, targets, max(tuning.master_share * min(prices.gap, 1.0), tuning.final_share * tol)
    arms, targets = first_members(canonical, arm_prices, target_prices, tuning)
    # All the way at once where everything is in the master already.
    everything = arms.size == canonical.problem.arms.n and targets.size == canonical.problem.targets.m
    return arms, targets, 0.5 * tol if everything else tuning.master_share


def _solve_master(
    arms: WorkingSet, targets: WorkingSet, prior: Floats | None, master_tol: float, trace: Trace, tuning: Tuning
) -> MinimaxMaster:
    warm = None if arms.weights is None or targets.weights is None else (arms.weights, targets.weights)
    answer = correct_minimax(
        arms.vectors,
        targets.vectors,
        master_tol,
        prior,
        warm,
        min(tuning.minimax_steps, trace.iterations_left),
        arms.responses,
    )
    trace.iterations += answer.steps
    return MinimaxMaster.of(arms, targets, prior, answer)


def _price(point: MinimaxMaster, arms: Pricing, targets: Pricing, tol: float) -> Prices:
    level, height = float(point.variances.max()), float(point.sensitivities.max())
    worst = targets.price(point.factor, level * (1.0 + tol / 3.0))
    steepest = arms.price(point.root, height * (1.0 + tol / 3.0) - point.held)
    value = max(level, float(worst.values.max(initial=0.0)))
    height = max(height, float(steepest.values.max(initial=0.0)) + point.held)
    return Prices(worst, steepest, value, value * height / point.hits - 1.0, worst.below and steepest.below)


def _next_master(point: MinimaxMaster, prices: Prices, forget: bool, tol: float) -> tuple[WorkingSet, WorkingSet, int]:
    """The members worth keeping and the violators, with the number added."""
    arms, targets = _members(point, prices.gap, forget)
    before = arms.size + targets.size
    size, gap = batch_size(point.factor.shape[0]), prices.gap
    high = float(point.sensitivities.max()) * (1.0 + 0.1 * tol) - point.held
    arms = arms.joined_by(prices.steepest, violators(prices.steepest, high, size, gap))
    high = float(point.variances.max()) * (1.0 + 0.1 * tol)
    targets = targets.joined_by(prices.worst, violators(prices.worst, high, size, gap, point.factor))
    return arms, targets, arms.size + targets.size - before


def _members(point: MinimaxMaster, gap: float, forget: bool) -> tuple[WorkingSet, WorkingSet]:
    """Arms and targets with weight or near to getting some, and always arms that span: optima can be singular."""
    w, mu = point.answer.weights, point.answer.multipliers
    arms = np.ones(w.size, dtype=bool)
    targets = np.ones(mu.size, dtype=bool)
    size = 1.5 * batch_size(point.factor.shape[0])
    if forget and w.size > size:
        arms = (w > 1e-2 / w.size) | (point.sensitivities > (1.0 - 2.0 * gap) * point.sensitivities.max())
        arms[spanning(point.arms.vectors, point.arms.responses)] = True
    if forget and mu.size > size:
        targets = (mu > 1e-2 / mu.size) | (point.variances > (1.0 - 2.0 * gap) * point.variances.max())
    return point.arms.kept(arms, w), point.targets.kept(targets, mu)


def _record(canonical: Canonical, trace: Trace, point: MinimaxMaster, value: float, gap: float) -> None:
    value = value * canonical.target_scale
    support = int(np.count_nonzero(point.answer.weights > 1e-9))
    trace.record(value, value / (1.0 + gap), gap, support, point.targets.size)


def _outcome(
    canonical: Canonical, trace: Trace, point: MinimaxMaster, gap: float, ended: Status | None, passes: int
) -> Outcome:
    leverages = point.answer.weights * squared_norms(point.arms.vectors @ point.factor, point.arms.responses)
    weights = np.zeros(canonical.problem.arms.n)
    weights[point.arms.index] = without_least_leverage(point.answer.weights, leverages, 0.5 * (trace.tol - gap))
    vectors = (np.sqrt(point.answer.multipliers)[:, None] * point.images) @ (canonical.basis @ point.factor).T
    dual = DualCertificate.found(canonical, point.targets.index, vectors)
    return Outcome(weights, dual, ended, trace.stats(passes))
