"""What a conic solve has proven so far: the best weights, the best bound, the history, and the limits it keeps to."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from convexdesign.certificate import Certificate, Witness
from convexdesign.outcome import Outcome, Report, Snapshot, Stats, Status, better_of, status_of
from convexdesign.problem import Canonical
from convexdesign.programs.constraints import Feasible
from convexdesign.programs.fallback import SolverAttempt
from convexdesign.programs.prover import Prover, prover
from convexdesign.typing import Floats

__all__ = ["Record"]

# Smaller weights are a solver's zeros, in the history.
CARRIES = 1e-8


@dataclass
class Record:
    """Certifies every iterate, remembers the best value and the best bound, and says when to stop.

    feasible is None where W is the whole simplex; max_iter counts programs; time_limit in seconds; attempt: what is being
    tried, found_by: what the best weights came from.
    """

    canonical: Canonical
    feasible: Feasible | None
    tol: float
    max_iter: int | None
    time_limit: float | None
    report: Report | None
    started: float = field(default_factory=time.perf_counter)
    programs: int = 0
    attempt: SolverAttempt | None = None
    found_by: SolverAttempt | None = None
    out_of_time: bool = False
    best: Certificate | None = None
    weights: Floats | None = None
    history: list[Snapshot] = field(default_factory=list)
    prove: Prover = field(init=False)

    def __post_init__(self) -> None:
        self.prove = prover(self.canonical, lambda: self.time_left)

    @property
    def time_left(self) -> float | None:
        """Seconds left, never negative; None without a limit."""
        if self.time_limit is None:
            return None
        return max(self.time_limit - (time.perf_counter() - self.started), 0.0)

    @property
    def limit(self) -> Status | None:
        """The limit that has been reached, if any."""
        if self.max_iter is not None and self.programs >= self.max_iter:
            return Status.ITERATION_LIMIT
        return Status.TIME_LIMIT if self.out_of_time or self.time_left == 0.0 else None

    @property
    def finished(self) -> bool:
        """Whether the gap asked for is proven, or a limit reached."""
        return self.limit is not None or (self.best is not None and status_of(self.best, self.tol) is Status.CERTIFIED)

    def add(self, weights: Floats, witness: Witness | None, targets: int) -> Certificate:
        """Certify an iterate and keep what is best of it: its weights, its bound, or both."""
        if self.feasible is not None:
            weights = self.feasible.projected(weights, self.time_left)
        certificate = self.prove(weights, witness)
        is_better, best = True, certificate
        if self.best is not None:
            best, is_better = better_of(self.best, certificate, self.canonical)
        self.best = best
        if is_better:
            self.weights, self.found_by = weights, self.attempt
        seconds = time.perf_counter() - self.started
        support = int(np.count_nonzero(weights > CARRIES))
        snapshot = Snapshot(
            seconds, self.programs, certificate.value, certificate.bound, certificate.gap, support, targets
        )
        self.history.append(snapshot)
        if self.report is not None:
            self.report(snapshot)
        return certificate

    def outcome(self) -> Outcome:
        """The best weights and the witness of the best bound."""
        assert self.best is not None
        assert self.weights is not None
        ended = None if status_of(self.best, self.tol) is Status.CERTIFIED else self.limit
        stats = Stats(
            "conic",
            None if self.found_by is None else self.found_by.formulation,
            None if self.found_by is None else self.found_by.backend,
            iterations=self.programs,
            passes=2.0 * len(self.history),
            seconds=time.perf_counter() - self.started,
            history=tuple(self.history),
        )
        return Outcome(self.weights, self.best.witness, ended, stats, interior=True)
