"""What a conic solve has proven so far: the best weights, the best bound, and what they came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from convexdesign.certificate import Certificate, DualCertificate
from convexdesign.outcome import Outcome, Status, better_of, status_of
from convexdesign.problem import Canonical
from convexdesign.programs.constraints import Feasible
from convexdesign.programs.fallback import SolverAttempt
from convexdesign.programs.prover import Prover, prover
from convexdesign.trace import Trace
from convexdesign.typing import Floats

__all__ = ["Record"]

# Smaller weights are a solver's zeros, in the history.
CARRIES = 1e-8


@dataclass
class Record:
    """Certifies every iterate, remembers the best value and the best bound, and says when to stop.

    feasible is None where W is the whole simplex; the iterations of the trace are programs; attempt: what is being tried,
    found_by: what the best weights came from.
    """

    canonical: Canonical
    feasible: Feasible | None
    trace: Trace
    attempt: SolverAttempt | None = None
    found_by: SolverAttempt | None = None
    best: Certificate | None = None
    weights: Floats | None = None
    prove: Prover = field(init=False)

    def __post_init__(self) -> None:
        self.prove = prover(self.canonical, lambda: self.trace.time_left)

    @property
    def certified(self) -> bool:
        """Whether the gap asked for is proven."""
        return self.best is not None and status_of(self.best, self.trace.tol) is Status.CERTIFIED

    @property
    def finished(self) -> bool:
        """Whether the gap asked for is proven, or a limit reached."""
        return self.certified or self.trace.limit_reached() is not None

    def add(self, weights: Floats, dual: DualCertificate | None, targets: int) -> Certificate:
        """Certify an iterate and keep what is best of it: its weights, its bound, or both."""
        if self.feasible is not None:
            weights = self.feasible.projected(weights, self.trace.time_left)
        certificate = self.prove(weights, dual)
        is_better, best = True, certificate
        if self.best is not None:
            best, is_better = better_of(self.best, certificate, self.canonical)
        self.best = best
        if is_better:
            self.weights, self.found_by = weights, self.attempt
        support = int(np.count_nonzero(weights > CARRIES))
        self.trace.record(certificate.value, certificate.bound, certificate.gap, support, targets)
        return certificate

    def outcome(self) -> Outcome:
        """The best weights and the dual certificate of the best bound."""
        assert self.best is not None
        assert self.weights is not None
        stats = self.trace.stats(passes=2.0 * len(self.trace.history))
        if self.found_by is not None:
            stats = replace(stats, formulation=self.found_by.formulation, backend=self.found_by.backend)
        ended = None if self.certified else self.trace.limit_reached()
        return Outcome(self.weights, self.best.dual, ended, stats, interior=True)
