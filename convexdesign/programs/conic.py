"""solve_conic: any criterion and any weight set by conic programming, certified at every step.

The program is solved over a few targets (and a few arms, where there are many and W is the whole simplex); every arm and
target is priced with the solution; violators join; until the certificate over all of them closes. Where the solver is the
obstacle and not the choice of targets, the next rung of the ladder is tried: tighter tolerances, another formulation,
another backend. Whatever happens, the best certified design so far is what comes back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.certificate import evaluate
from convexdesign.design import Outcome, Report
from convexdesign.errors import SolverError
from convexdesign.problem import Canonical, Criterion
from convexdesign.programs.backends import run
from convexdesign.programs.constraints import Feasible
from convexdesign.programs.formulations import formulations_of, witness_of
from convexdesign.programs.ladder import ladder
from convexdesign.programs.program import Floats, Program
from convexdesign.programs.record import Record
from convexdesign.programs.working_sets import first_arms, first_targets, violating_arms, violating_targets

__all__ = ["solve_conic"]

Indices = NDArray[np.intp]

# Members of a working set are dropped only after the gap has fallen by this factor, or they would come and go.
PROGRESS = 0.9
# Targets within this share of the largest variance stay, and so do arms of at least this weight.
NEAR_WORST = 0.9
LEAST_WEIGHT = 1e-7


def solve_conic(
    canonical: Canonical,
    *,
    formulation: str | None = None,
    backend: str | None = None,
    start: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Weights within a relative `tol` of the optimum, with the witness of that, by CVXPY on Clarabel or SCS.

    formulation and backend ("clarabel" | "scs") leave the ladder no other choice; start (n,) weights tell which targets
    matter, never more; max_iter counts conic programs; time_limit in seconds; report is called with a Snapshot per
    program. Raises InputError for a formulation that does not fit or constraints that contradict each other, SolverError
    when nothing usable was found.
    """
    problem = canonical.problem
    feasible = None if problem.weight_set.is_simplex else Feasible(problem.weight_set, problem.arms.n)
    constrain = None if feasible is None else feasible.constrain
    record = Record(canonical, feasible, tol, max_iter, time_limit, report)
    builds = formulations_of(canonical)
    arms = first_arms(canonical)
    rungs = ladder(builds, canonical.rank, arms.size, tol, formulation, backend)
    targets = np.empty(0, dtype=np.intp)
    if problem.criterion is Criterion.MINIMAX:
        targets = first_targets(canonical, _first_factor(canonical, start))

    level, least_gap, failures = 0, np.inf, []
    while level < len(rungs) and not record.finished:
        rung = rungs[level]
        record.programs += 1
        program = builds[rung.formulation](canonical.arms[arms], targets, constrain)
        try:
            run(program, rung.backend, rung.accuracy, record.time_left)
        except SolverError as error:
            failures.append(f"{rung.formulation} on {error}")
            level += 1
            continue
        step = _price(canonical, program, arms, targets, record)
        more_arms, more_targets = step.violators(tol)
        if step.solver_gap > max(tol, step.gap) / 2 or more_arms.size + more_targets.size == 0:
            level += 1
        if step.gap < PROGRESS * least_gap:
            arms, targets = step.needed()
        arms, targets = np.union1d(arms, more_arms), np.union1d(targets, more_targets)
        least_gap = min(least_gap, step.gap)
    if record.best is None:
        raise SolverError("; ".join(failures) or "a limit was reached before the first conic program was solved")
    return record.outcome(rung.formulation, rung.backend)


@dataclass(frozen=True, eq=False)
class Step:
    """A restricted solution priced against everything: F (d, k) with A^-1 = FF', and what the arms and targets say.

    sensitivity (n,): sum_j (b_j'u_i)^2 of every arm; variances: of the targets of the program; level: the largest of these;
    gap: the certified gap; solver_gap: the part of it that is due to the solver and not to arms or targets left out.
    """

    canonical: Canonical
    arms: Indices
    targets: Indices
    weights: Floats
    multipliers: Floats
    factor: Floats
    sensitivity: Floats
    variances: Floats
    gap: float
    solver_gap: float

    def violators(self, tol: float) -> tuple[Indices, Indices]:
        """Arms and targets left out that prove the restricted solution wrong."""
        allowed = 1.0 + tol / 4
        more_arms = more_targets = np.empty(0, dtype=np.intp)
        if self.arms.size < self.sensitivity.size:
            limit = allowed * float(self.sensitivity[self.arms].max())
            more_arms = violating_arms(self.sensitivity, limit, self.canonical.rank)
        if self.targets.size:
            limit = allowed * float(self.variances.max())
            more_targets = violating_targets(self.canonical, self.factor, limit, self.gap)
        return np.setdiff1d(more_arms, self.arms), np.setdiff1d(more_targets, self.targets)

    def needed(self) -> tuple[Indices, Indices]:
        """The arms with weight, and the targets that decide or nearly do."""
        arms, targets = self.arms, self.targets
        if arms.size < self.sensitivity.size:
            arms = arms[self.weights > LEAST_WEIGHT]
        if targets.size:
            targets = targets[(self.variances >= NEAR_WORST * self.variances.max()) | (self.multipliers > LEAST_WEIGHT)]
        return arms, targets


def _price(canonical: Canonical, program: Program, arms: Indices, targets: Indices, record: Record) -> Step:
    """Certify the solution and price all arms and targets with it."""
    weights = np.zeros(canonical.merged.size)
    weights[arms] = program.weights()
    full = canonical.expand(weights)
    certificate = record.add(full, witness_of(canonical, program, targets), targets.size)
    factor = evaluate(canonical, full).factor
    # The sum over j depends on B'B alone; its triangular factor is small.
    triangle = np.asarray(np.linalg.qr(program.vectors(), mode="r"))
    image = canonical.arms @ triangle.T
    sensitivity = np.einsum("ij,ij->i", image, image)
    variances = np.empty(0)
    missed = float(sensitivity.max() / sensitivity[arms].max())
    if targets.size:
        image = canonical.problem.targets.take(targets) @ factor
        variances = np.einsum("ij,ij->i", image, image)
        missed *= certificate.value / float(variances.max())
    solver_gap = (1.0 + certificate.gap) / missed - 1.0 if np.isfinite(missed) else 0.0
    multipliers = program.multipliers()
    return Step(
        canonical,
        arms,
        targets,
        weights[arms],
        multipliers,
        factor,
        sensitivity,
        variances,
        certificate.gap,
        solver_gap,
    )


def _first_factor(canonical: Canonical, start: Floats | None) -> Floats:
    """F with FF' = A^-1 at the weights given, where they measure everything; at the coarse design otherwise."""
    if start is not None:
        weights = np.zeros(canonical.problem.arms.n)
        weights[: start.size] = start
        at = evaluate(canonical, weights)
        if np.isfinite(at.value):
            return at.factor
    return canonical.basis
