"""Designs for an experiment that must go on: several methods, none trusted, each within its time, each recorded."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.certificate import DualCertificate
from convexdesign.design import Design
from convexdesign.errors import ConvergenceWarning, SolverError
from convexdesign.experiment.bounded import bounded
from convexdesign.identification.allocations import DESIGN_TOLERANCE, Allocation, thinned
from convexdesign.judging import better, judged
from convexdesign.outcome import Outcome, Stats
from convexdesign.problem import Canonical, DesignProblem, canonicalise
from convexdesign.programs.prover import prover
from convexdesign.solving import solve
from convexdesign.typing import Floats

__all__ = ["LAST_DESIGN", "METHODS", "DesignAttempt", "Designer"]


# Tried in turn until one is within the tolerance; each is a method of `solve`.
METHODS = ("frank-wolfe", "conic", "frank-wolfe-away")
LAST_DESIGN = "the last certified design"
# The best that was found is used up to this certified gap: at most twice the optimum, so at most twice the samples.
WORST_GAP = 1.0


@dataclass(frozen=True)
class DesignAttempt:
    """What one method came to: the certified gap of its weights, None where it had none, and why it was not enough."""

    problem: str
    method: str
    gap: float | None
    failure: str | None


class Designer:
    """Solves designs as `allocations.allocate` does, and is not stopped by a method that raises, hangs or is wrong.

    seconds: for each method. last: weights (n,) of the last certified design, on the arms in play, for when no method
    gives anything better. Weights are all that is taken from a method: value, bound and gap are computed here, from the
    data. `attempts` lists every method tried. Raises SolverError where nothing has a certified gap of at most 1.
    """

    def __init__(self, seconds: float, last: Floats | None, in_play: NDArray[np.intp]) -> None:
        self.seconds = seconds
        self.last = None if last is None else last[in_play]
        self.attempts: list[DesignAttempt] = []

    def __call__(self, problem: DesignProblem, tol: float = DESIGN_TOLERANCE, remember: bool = True) -> Allocation:
        canonical = canonicalise(problem)
        best: Design | None = None
        for method in METHODS:
            best = better(best, self._attempt(canonical, method, tol))
            if best is not None and best.gap <= tol:
                return thinned(best)
        best = better(best, self._last_design(canonical, best, tol))
        if best is None or not best.gap <= WORST_GAP:
            said = "; ".join(f"{a.method}: {a.failure}" for a in self.attempts if a.problem == problem.kind)
            raise SolverError(
                f"no certified design for the next batch ({said}); nothing was asked for, ask again later"
            )
        return thinned(best)

    def record(self) -> list[dict[str, Any]]:
        """All attempts as plain data."""
        return [asdict(attempt) for attempt in self.attempts]

    def _attempt(self, canonical: Canonical, method: str, tol: float) -> Design | None:
        problem = canonical.problem

        def work() -> tuple[Floats, DualCertificate | None]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is judged here
                found = solve(canonical.given, method=method, tol=tol, time_limit=self.seconds)
            return found.weights, found.certificate.dual

        try:
            weights, dual = bounded(work, self.seconds)
            design = _judged(canonical, weights, dual, method, tol)
        except SolverError as error:
            self._note(problem, method, None, str(error))
            return None
        failure = None if design.gap <= tol else f"its certified gap is above {tol:g}"
        self._note(problem, method, design.gap, failure)
        return design

    def _last_design(self, canonical: Canonical, best: Design | None, tol: float) -> Design | None:
        """The last certified design, judged for this problem with the best bound that is known for it."""
        if self.last is None or not self.last.sum() > 0:
            return None
        dual = None if best is None else best.certificate.dual
        try:
            design = _judged(canonical, self.last / self.last.sum(), dual, LAST_DESIGN, tol)
        except SolverError as error:
            self._note(canonical.problem, LAST_DESIGN, None, str(error))
            return None
        self._note(canonical.problem, LAST_DESIGN, design.gap, None)
        return design

    def _note(self, problem: DesignProblem, method: str, gap: float | None, failure: str | None) -> None:
        known = gap if gap is not None and np.isfinite(gap) else None
        self.attempts.append(DesignAttempt(problem.kind, method, known, failure))


def _judged(canonical: Canonical, weights: Any, dual: DualCertificate | None, method: str, tol: float) -> Design:
    """Weights, wherever they come from, with a certificate computed here. SolverError where they are no weights."""
    w = np.asarray(weights, dtype=float)
    if w.shape != (canonical.problem.arms.n,) or not np.isfinite(w).all() or w.min() < 0 or not w.sum() > 0:
        raise SolverError("it returned something that is no design")
    prove, stats = prover(canonical), Stats(method)
    design = judged(canonical, Outcome(w, None, None, stats), prove, tol)
    if dual is not None:
        with suppress(Exception):  # vectors of a wrong shape, or for targets that are none: the bound stays our own
            design = better(design, judged(canonical, Outcome(w, dual, None, stats), prove, tol)) or design
    if not np.isfinite(design.value):
        raise SolverError("its design leaves something unmeasured")
    return design
