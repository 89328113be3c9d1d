"""What a restricted solution is worth against all arms and all targets, and which of those left out prove it wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.arms.groups import rows_of_arms, squared_norms
from convexdesign.certificate import Certificate, DualCertificate, evaluate
from convexdesign.frankwolfe import correct_minimax
from convexdesign.frankwolfe.symmetric import combine
from convexdesign.problem import Canonical
from convexdesign.programs.record import Record
from convexdesign.programs.working_sets import CONIC, ConicTuning, violating_arms, violating_targets
from convexdesign.typing import Floats, Indices

__all__ = ["Solution", "Step", "price", "refined"]


@dataclass(frozen=True, eq=False)
class Step:
    """A restricted solution, priced.

    arms, targets: the working sets, and on them weights, variances v'A^-1v and multipliers; factor F (d, k), A^-1 = FF';
    sensitivity: sum_j (b_j'u_i)^2 of every arm; solver_gap: the part of the certified gap that is due to the solver, and
    not to the arms and targets left out.
    """

    canonical: Canonical
    certificate: Certificate
    arms: Indices
    targets: Indices
    weights: Floats
    variances: Floats
    multipliers: Floats
    factor: Floats
    sensitivity: Floats
    solver_gap: float

    @property
    def gap(self) -> float:
        """The certified gap, over all arms and targets."""
        return self.certificate.gap

    def violators(self, tol: float, tuning: ConicTuning = CONIC) -> tuple[Indices, Indices]:
        """Arms and targets left out that prove the restricted solution wrong, by more than a part of the tolerance."""
        allowed = 1.0 + tol / 4
        more_arms = more_targets = np.empty(0, dtype=np.intp)
        if self.arms.size < self.sensitivity.size:
            limit = allowed * float(self.sensitivity[self.arms].max())
            more_arms = violating_arms(self.sensitivity, limit, self.canonical.rank, tuning)
        if self.targets.size:
            limit = allowed * float(self.variances.max())
            more_targets = violating_targets(self.canonical, self.factor, limit, self.gap, tuning)
            if not np.isfinite(self.certificate.value):  # a target that A(w) does not measure at all
                more_targets = np.append(more_targets, self.certificate.worst_target)
        return np.setdiff1d(more_arms, self.arms), np.setdiff1d(more_targets, self.targets)

    def needed(self, tuning: ConicTuning = CONIC) -> tuple[Indices, Indices]:
        """The arms with weight, and the targets that decide or nearly do."""
        arms, targets = self.arms, self.targets
        if arms.size < self.sensitivity.size:
            arms = arms[self.weights > tuning.least_weight]
        if targets.size:
            targets = targets[
                (self.variances >= tuning.near_worst * self.variances.max()) | (self.multipliers > tuning.least_weight)
            ]
        return arms, targets


@dataclass(frozen=True, eq=False)
class Solution:
    """Of a program over some arms and targets: weights, multipliers, and vectors b_j (k, r)."""

    weights: Floats
    multipliers: Floats
    vectors: Floats


def price(canonical: Canonical, solution: Solution, arms: Indices, targets: Indices, record: Record) -> Step:
    """Certify a solution over some arms (positions in `canonical.arms`) and targets, and price all others with it."""
    weights = np.zeros(canonical.merged.size)
    weights[arms] = solution.weights
    everyone = canonical.expand(weights)
    certificate = record.add(everyone, _dual_of(canonical, solution.vectors, targets), targets.size)
    factor = evaluate(canonical, everyone).factor
    # The sum over j depends on B'B alone; its triangular factor is small.
    triangle = np.asarray(np.linalg.qr(solution.vectors, mode="r"))
    sensitivity = squared_norms(canonical.arms @ triangle.T, canonical.problem.responses)
    missed = _excess(float(sensitivity.max()), float(sensitivity[arms].max()))
    variances = np.empty(0)
    if targets.size:
        variances = squared_norms(canonical.problem.targets.take(targets) @ factor, 1)
        missed *= _excess(certificate.value, float(variances.max()))
    solver_gap = (1.0 + certificate.gap) / missed - 1.0 if np.isfinite(missed) else 0.0
    return Step(
        canonical,
        certificate,
        arms,
        targets,
        solution.weights,
        variances,
        solution.multipliers,
        factor,
        sensitivity,
        solver_gap,
    )


def _dual_of(canonical: Canonical, vectors: Floats, targets: Indices) -> DualCertificate:
    """The vectors b_j (k, r) of a solution in the coordinates of the problem, Wb: (Wb)'y = b'u."""
    numbers = targets if targets.size == vectors.shape[0] else np.arange(vectors.shape[0])
    return DualCertificate.found(canonical, numbers, vectors @ canonical.basis.T)


def refined(step: Step, tol: float) -> Solution | None:
    """The step's solution with more digits, from the corrective step of Frank-Wolfe: minimax over the whole simplex."""
    canonical = step.canonical
    if step.targets.size == 0 or not canonical.problem.weight_set.is_simplex:
        return None
    responses = canonical.problem.responses
    arms, targets = canonical.arms[rows_of_arms(step.arms, responses)], canonical.whiten_targets(step.targets)
    # A zero target (an oracle's best item) wants nothing, and has no logarithm.
    wanted = targets.any(axis=1)
    start = step.weights, step.multipliers[wanted]
    if not start[1].sum() > 0:
        return None
    try:
        start = start[0], start[1] / start[1].sum()
        better = correct_minimax(arms, targets[wanted], tol / 4, canonical.prior, start, responses=responses)
    except np.linalg.LinAlgError:
        return None
    multipliers = np.zeros(wanted.size)
    multipliers[wanted] = better.multipliers
    A = combine(arms.T, better.weights, canonical.prior)
    vectors = np.sqrt(multipliers)[:, None] * np.linalg.solve(A, targets.T).T
    return Solution(better.weights, multipliers, vectors)


def _excess(overall: float, restricted: float) -> float:
    return overall / restricted if restricted > 0 else np.inf
