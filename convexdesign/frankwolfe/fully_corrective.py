"""frank_wolfe: the fully corrective method over the whole simplex, for every criterion that has a corrective step."""

from __future__ import annotations

from dataclasses import dataclass

from convexdesign.certificate import DualCertificate
from convexdesign.criteria import oracle_of
from convexdesign.errors import SolverError
from convexdesign.frankwolfe.minimax_design import minimax_design
from convexdesign.frankwolfe.smooth_design import smooth_design
from convexdesign.frankwolfe.start import Start
from convexdesign.frankwolfe.tuning import TUNING, Tuning
from convexdesign.outcome import Outcome, Report
from convexdesign.problem import Canonical
from convexdesign.trace import Trace
from convexdesign.typing import Floats

__all__ = ["frank_wolfe"]


# Working sets could come and go for ever; so many pricings without progress end the solve.
PATIENCE = 40
# The gap is judged elsewhere, with other roundings.
ALMOST = 0.99


def frank_wolfe(
    canonical: Canonical,
    *,
    start: Floats | None = None,
    dual: DualCertificate | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    tuning: Tuning = TUNING,
) -> Outcome:
    """Weights within a relative `tol` of the optimum, with the dual certificate of that, by corrective steps on working sets.

    start (k,), k <= n: weights of a related design to begin with, and its dual certificate; neither is trusted. max_iter
    counts Newton and interior point steps; time_limit in seconds; report is called with a Snapshot per outer iteration;
    tuning: what was measured, such as which problems count as large.
    Raises SolverError for criteria and weight sets that this method does not handle.
    """
    problem = canonical.problem
    if not problem.weight_set.is_simplex:
        raise SolverError("Frank-Wolfe works over all weights on the simplex; use method='conic' for constraints")
    trace = Trace("frank-wolfe", ALMOST * tol, max_iter, time_limit, report, patience=PATIENCE)
    found = oracle_of(problem).corrective_step(canonical, _Steps(canonical, trace, start, dual, tuning))
    if found is None:
        raise SolverError(
            f"Frank-Wolfe does not handle this criterion ({problem.criterion.formula}); use method='conic'"
        )
    return found


@dataclass(frozen=True, eq=False)
class _Steps:
    """The corrective steps there are, for one solve."""

    canonical: Canonical
    trace: Trace
    start: Floats | None
    dual: DualCertificate | None
    tuning: Tuning

    def log_det(self) -> Outcome:
        return smooth_design(self.canonical, self.trace, True, self.start, self.tuning)

    def average_variance(self) -> Outcome:
        return smooth_design(self.canonical, self.trace, False, self.start, self.tuning)

    def two_sided(self) -> Outcome:
        start = None if self.start is None else Start(self.start, self.dual)
        return minimax_design(self.canonical, self.trace, start, self.tuning)
