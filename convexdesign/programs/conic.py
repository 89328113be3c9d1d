"""solve_conic: any criterion and any weight set by conic programming, certified at every step.

The program is solved over a few targets (and a few arms, where there are many and W is the whole simplex); every arm and
target is priced with the solution; violators join; until the certificate over all of them closes. Where the solver is the
obstacle and not the choice of targets, the next of a sequence of attempts is made: tighter tolerances, another formulation,
another backend. Whatever happens, the best certified design so far is what comes back.
"""

from __future__ import annotations

import numpy as np

from convexdesign.arms.groups import rows_of_arms
from convexdesign.certificate import evaluate
from convexdesign.criteria import oracle_of
from convexdesign.criteria.program_size import require_memory
from convexdesign.errors import SolverError
from convexdesign.outcome import Outcome, Report
from convexdesign.problem import Canonical
from convexdesign.programs.backends import TimeUp, run
from convexdesign.programs.constraints import feasible_set
from convexdesign.programs.fallback import fallback_sequence
from convexdesign.programs.pricing import Solution, price, refined
from convexdesign.programs.record import Record
from convexdesign.programs.working_sets import CONIC, ConicTuning, anchors, first_arms, first_targets
from convexdesign.trace import Trace
from convexdesign.typing import Floats

__all__ = ["solve_conic"]


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
    tuning: ConicTuning = CONIC,
) -> Outcome:
    """Weights within a relative `tol` of the optimum, with the dual certificate of that, by CVXPY on Clarabel or SCS.

    formulation and backend ("clarabel" | "scs") leave no other attempts; start (n,) weights tell which targets
    matter, never more; max_iter counts conic programs; time_limit in seconds; report is called with a Snapshot per
    program. Raises InputError for a formulation that does not fit or constraints that contradict each other, SolverError
    when nothing usable was found.
    """
    problem = canonical.problem
    feasible = None if problem.weight_set.is_simplex else feasible_set(problem.weight_set, problem.arms.n, time_limit)
    trace = Trace("conic", tol, max_iter, time_limit, report)
    record = Record(canonical, feasible, trace)
    oracle = oracle_of(problem)
    formulations = oracle.formulations(canonical)
    spanning = anchors(canonical, tuning)
    arms = np.union1d(first_arms(canonical, tuning), spanning)
    names = tuple(formulations)
    attempts = fallback_sequence(names, oracle.by_speed(names, canonical.rank, arms.size), formulation, backend)
    targets = np.empty(0, dtype=np.intp)
    if any(formulations[attempt.formulation].by_target for attempt in attempts):
        targets = first_targets(canonical, _first_factor(canonical, start), tuning)

    level, least_gap, failures = 0, np.inf, []
    while level < len(attempts) and not record.finished:
        attempt = record.attempt = attempts[level]
        trace.iterations += 1
        chosen = formulations[attempt.formulation]
        size = chosen.size(arms.size, targets.size)
        try:
            require_memory(size, _alternative(canonical))
            if trace.time_left is not None and size.seconds_per_iteration > trace.time_left:
                raise TimeUp(f"one step would take about {size.seconds_per_iteration:.2g} s, longer than the time left")
            program = chosen.build(canonical.arms[rows_of_arms(arms, problem.responses)], targets, feasible)
            run(program, attempt.backend, attempt.accuracy, trace.time_left, size)
        except TimeUp as error:
            failures.append(f"{attempt.formulation} on {error}")
            trace.out_of_time = True
            break
        except SolverError as error:
            failures.append(f"{attempt.formulation} on {error}")
            level += 1
            continue
        solution = Solution(program.weights(), program.multipliers(), program.vectors())
        step = price(canonical, solution, arms, targets, record)
        if record.finished:
            break
        if step.solver_gap > max(tol, step.gap) / 2 and (better := refined(step, tol)) is not None:
            step = min(step, price(canonical, better, arms, targets, record), key=lambda s: s.gap)
        more_arms, more_targets = step.violators(tol, tuning)
        if step.solver_gap > max(tol, step.gap) / 2 or more_arms.size + more_targets.size == 0:
            level += 1
        if step.gap < tuning.progress * least_gap:
            arms, targets = step.needed(tuning)
        arms, targets = np.union1d(arms, np.union1d(spanning, more_arms)), np.union1d(targets, more_targets)
        least_gap = min(least_gap, step.gap)
    if record.best is None and trace.limit_reached() is not None:
        # No time even for one program.
        boxed = problem.weight_set.is_box
        first = (
            problem.weight_set.projected(_first_weights(canonical, start))
            if boxed or feasible is None
            else feasible.inner
        )
        if first is not None:
            record.add(first, None, 0)
    if record.best is None:
        reasons = "; ".join(dict.fromkeys(failures))
        raise SolverError(reasons or "the time limit was reached before the first conic program was solved")
    return record.outcome()


def _alternative(canonical: Canonical) -> str:
    """What to do where a program is too large."""
    problem = canonical.problem
    if not problem.weight_set.is_simplex:
        return "take fewer arms or columns, or leave out the constraints on the weights, without which less is needed"
    if oracle_of(problem).has_corrective_step:
        return "method='frank-wolfe' needs little"
    return (
        f"for {problem.criterion.formula} there is no other method: take fewer columns, or a criterion that has a method for "
        "so many (D, A, G, I)"
    )


def _first_weights(canonical: Canonical, start: Floats | None) -> Floats:
    """The weights given, arms added since at weight zero; the coarse design otherwise."""
    weights = np.zeros(canonical.problem.arms.n)
    if start is not None:
        weights[: start.size] = start
    else:
        weights[canonical.coarse] = canonical.coarse_weights
    return weights / weights.sum()


def _first_factor(canonical: Canonical, start: Floats | None) -> Floats:
    """F with FF' = A^-1 at the weights given, where they measure everything; at the coarse design otherwise."""
    if start is not None:
        at = evaluate(canonical, _first_weights(canonical, start))
        if np.isfinite(at.value):
            return at.factor
    return canonical.basis
