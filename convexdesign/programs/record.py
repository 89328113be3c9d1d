"""What a conic solve has proven so far: the best weights, the best bound, the history, and the limits it keeps to."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from convexdesign.certificate import Certificate, Witness, certify, stronger
from convexdesign.design import FEASIBILITY_TOLERANCE, Outcome, Report, Snapshot, Stats, Status
from convexdesign.problem import Canonical
from convexdesign.problem.responses import spread, stacked
from convexdesign.programs.constraints import Feasible
from convexdesign.programs.ladder import Rung
from convexdesign.typing import Floats

__all__ = ["Record"]

# Weights below these are set to zero at the end, the most first, if the certificate allows it.
CUTS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


@dataclass
class Record:
    """Certifies every iterate, remembers the best value and the best bound, and says when to stop.

    feasible is None where W is the whole simplex; max_iter counts programs; time_limit in seconds; rung: what is being
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
    rung: Rung | None = None
    found_by: Rung | None = None
    out_of_time: bool = False
    best: Certificate | None = None
    weights: Floats | None = None
    history: list[Snapshot] = field(default_factory=list)

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
        return self.limit is not None or (self.best is not None and _rank(self.best) <= (False, self.tol))

    def certify(self, weights: Floats, witness: Witness | None) -> Certificate:
        """The certificate of weights (n,), with the tightest proven support function of W there is."""
        if self.feasible is None:
            return certify(self.canonical, weights, witness)
        feasible, left = self.feasible, self.time_left
        violation = feasible.violation(weights, left)
        support = lambda q: feasible.support(q, left)  # noqa: E731
        return certify(self.canonical, weights, witness, support=support, feasibility=violation)

    def add(self, weights: Floats, witness: Witness | None, targets: int) -> Certificate:
        """Certify an iterate and keep what is best of it: its weights, its bound, or both."""
        if self.feasible is not None:
            weights = self.feasible.projected(weights, self.time_left)
        certificate = self.certify(weights, witness)
        if self.best is None:
            self.best, self.weights, self.found_by = certificate, weights, self.rung
        else:
            fresh = stronger(certificate, self.best, self.canonical)
            self.best = stronger(self.best, certificate, self.canonical)
            if _rank(fresh) < _rank(self.best):
                self.best, self.weights, self.found_by = fresh, weights, self.rung
        seconds = time.perf_counter() - self.started
        support = int(np.count_nonzero(weights > CUTS[-1]))
        snapshot = Snapshot(
            seconds, self.programs, certificate.value, certificate.bound, certificate.gap, support, targets
        )
        self.history.append(snapshot)
        if self.report is not None:
            self.report(snapshot)
        return certificate

    def outcome(self) -> Outcome:
        """The best weights, cleared of dust, and the witness of the best bound."""
        assert self.best is not None
        assert self.weights is not None
        ended = None if _rank(self.best) <= (False, self.tol) else self.limit
        stats = Stats(
            "conic",
            None if self.found_by is None else self.found_by.formulation,
            None if self.found_by is None else self.found_by.backend,
            iterations=self.programs,
            passes=2.0 * len(self.history),
            seconds=time.perf_counter() - self.started,
            history=tuple(self.history),
        )
        return Outcome(self._without_dust(self.weights, self.best), self.best.witness, ended, stats)

    def _without_dust(self, weights: Floats, certificate: Certificate) -> Floats:
        """Interior points are never zero. Small weights are set to zero unless that costs more than half of the gap allowed.

        A few stay where A(w) would be singular without them: some optima are, but then rounding decides what is measured.
        """
        weight_set = self.canonical.problem.weight_set
        if not weight_set.is_box:
            return weights  # moving weight between arms may leave W
        spanning = self._spanning(weights)
        least = 0.0 if weight_set.lower is None else weight_set.lower
        for cut in CUTS:
            fewer = np.where((weights - least < cut) & ~spanning, least, weights)
            fewer = fewer / fewer.sum() if weight_set.is_simplex else weight_set.projected(fewer)
            if self.certify(fewer, certificate.witness).gap <= max(certificate.gap, self.tol / 2):
                return fewer
        return weights

    def _spanning(self, weights: Floats) -> NDArray[np.bool_]:
        """Marks the arms that, with the prior, span all that is measured: pivots of the rows sqrt(w_i) u_i."""
        carried = np.flatnonzero(weights)
        held = self.canonical.prior_root
        arms = self.canonical.whiten_arms(carried)
        rows = np.vstack([held, np.sqrt(spread(weights[carried], arms))[:, None] * stacked(arms)])
        pivots = scipy.linalg.qr(rows.T, mode="r", pivoting=True, check_finite=False)[1][: self.canonical.rank]
        marked = np.zeros(weights.size, dtype=bool)
        owner = spread(carried, arms)
        marked[owner[pivots[pivots >= len(held)] - len(held)]] = True
        return marked


def _rank(certificate: Certificate) -> tuple[bool, float]:
    """Weights outside W come last, then by gap."""
    return certificate.feasibility > FEASIBILITY_TOLERANCE, certificate.gap
