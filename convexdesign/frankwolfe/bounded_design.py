"""Designs with bounds on the weights, for criteria that are smooth in them, by an interior point method over all arms."""

from __future__ import annotations

import numpy as np

from convexdesign.certificate import certify
from convexdesign.errors import SolverError
from convexdesign.frankwolfe.bounded import Smooth, fits, seconds_per_step, within_bounds
from convexdesign.frankwolfe.trace import Trace
from convexdesign.outcome import Outcome, Report, Status
from convexdesign.problem import Canonical, Criterion

__all__ = ["interior_point", "is_for"]


KINDS = {Criterion.AVERAGE: Smooth.AVERAGE, Criterion.D: Smooth.D, Criterion.DS: Smooth.INTEREST}
# The gap is judged elsewhere, with other roundings.
ALMOST = 0.5


def is_for(canonical: Canonical) -> bool:
    """Whether the criterion is smooth, the weights have no limits but bounds, and the arms are few enough to hold."""
    problem = canonical.problem
    return problem.criterion in KINDS and problem.weight_set.is_box and fits(problem.arms.n, canonical.rank)


def interior_point(
    canonical: Canonical,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Weights within their bounds and a relative `tol` of the optimum; bounds that are reached are reached exactly.

    max_iter counts steps; time_limit in seconds; report is called once, with the result. Raises SolverError where `is_for` is
    false or the arms that may have weight do not span.
    """
    if not is_for(canonical):
        raise SolverError(
            "the interior point method is for smooth criteria, bounds on the weights and not too many arms"
        )
    trace = Trace("interior-point", tol, max_iter, time_limit, report)
    W, n = canonical.problem.weight_set, canonical.problem.arms.n
    lower = np.zeros(n) if W.lower is None else W.lower
    upper = np.where(W.allowed(n), np.ones(n) if W.upper is None else W.upper, 0.0)
    arms = canonical.whiten_arms(np.arange(n))
    each = seconds_per_step(n, canonical.rank)

    def no_time() -> bool:
        return time_limit is not None and trace.seconds + each > time_limit

    try:
        found = within_bounds(
            arms,
            KINDS[canonical.problem.criterion],
            canonical.aim,
            lower,
            np.maximum(upper, lower),
            ALMOST * tol,
            prior=canonical.prior,
            max_steps=trace.iterations_left,
            stop=no_time,
        )
    except np.linalg.LinAlgError as error:
        raise SolverError(str(error)) from None
    trace.iterations = found.steps
    proven = certify(canonical, W.projected(found.weights) if not W.is_simplex else found.weights)
    trace.record(proven.value, proven.bound, proven.gap, int(np.count_nonzero(found.weights)))
    ended = None if found.gap <= tol else trace.limit_reached() or (Status.TIME_LIMIT if no_time() else None)
    return Outcome(found.weights, None, ended, trace.stats(2.0 * found.steps))
