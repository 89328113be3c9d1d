"""An upper bound on a sensitivity over all pieces of a region, by sums of squares or branch and bound, or what refutes it."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import numpy as np

from convexdesign.regions.exchange import Search
from convexdesign.regions.proof import RegionProver, SensitivityBound, likely_points
from convexdesign.regions.relaxation_size import RelaxationSize
from convexdesign.regions.search import inner_points, spread_points
from convexdesign.regions.sum_of_squares import Bound
from convexdesign.typing import Floats, Indices

__all__ = ["prove_everywhere"]

# Cells that one piece may be cut into, and how often one is halved.
MOST_CELLS = 400
# The same with inequalities, whose relaxations are larger.
FEW_CELLS = 40
DEEPEST = 14
# What a proof may take after the deadline.
LEAST_SECONDS = 0.5
# Settings at random among which one is sought that a refuted design has missed.
DENSE = 2000


def prove_everywhere(
    search: Search,
    prover: RegionProver | None,
    B: Floats,
    most: float,
    enough: Any,
    deadline: float,
    priced: bool = True,
) -> tuple[SensitivityBound, tuple[Indices, Floats] | None]:
    """The largest bound of all pieces, each by the first relaxation that suffices; and missed settings, with larger p_b.

    B: the vectors b_j; most: the largest p_b that is known.
    """
    if prover is None:
        return branch_everywhere(search, B, most, enough, deadline, priced)
    started = time.perf_counter()
    bounds: list[Bound | None] = []
    missed_where, missed_x = [], []
    worst, degree, further, memory, trivial = 0.0, 0, 0.0, 0.0, False
    # A design without a proof is worth little: a small one is made after the deadline, too.
    until = max(deadline, started + LEAST_SECONDS)
    for piece in range(len(search.starts)):
        attempt = Attempt(search, B, most, piece, enough, until, priced)
        value = attempt.bound(prover, 0)
        trivial |= attempt.by_coefficients
        further += attempt.further
        memory = max(memory, attempt.memory)
        bounds.extend(attempt.bounds)
        worst, degree = max(worst, value), max(degree, attempt.degree)
        if len(attempt.missed):
            missed_where.append(np.full(len(attempt.missed), piece))
            missed_x.append(attempt.missed)
    missed = (np.concatenate(missed_where), np.vstack(missed_x)) if missed_x else None
    if not further > 0 or missed is not None:
        further = memory = np.nan
    seconds = time.perf_counter() - started
    return SensitivityBound(worst, degree, tuple(bounds), seconds, further, memory, trivial), missed


def branch_everywhere(
    search: Search, B: Floats, most: float, enough: Any, deadline: float, priced: bool
) -> tuple[SensitivityBound, tuple[Indices, Floats] | None]:
    """The same by branch and bound, for the largest bound that is enough."""
    started = time.perf_counter()
    lam = largest_that_suffices(most, enough)
    branch = search.branch(priced)
    worst, missed_where, missed_x = 0.0, [], []
    for piece in range(len(search.starts)):
        proof = branch.prove(piece, B, lam, deadline)
        worst = max(worst, proof.value)
        if len(proof.refuting):
            x = search.best_near(piece, B, proof.refuting, 20, priced)[0]
            missed_where.append(np.full(len(x), piece))
            missed_x.append(x)
    missed = (np.concatenate(missed_where), np.vstack(missed_x)) if missed_x else None
    if missed is not None and np.isinf(worst):
        # Refuted: what is known is a bound that is larger by halves.
        for factor in (1e-3, 1e-1, 1.0, 10.0):
            higher = [branch.prove(k, B, lam * (1.0 + factor), deadline) for k in range(len(search.starts))]
            worst = max(proof.value for proof in higher)
            if np.isfinite(worst):
                break
    seconds = time.perf_counter() - started
    # What stopped was the number of boxes, or the clock: the next step is as many again.
    further = np.nan if missed is not None or enough(worst) or not enough(most) else seconds
    return SensitivityBound(worst, 0, (), seconds, further), missed


def largest_that_suffices(most: float, enough: Any) -> float:
    """A bound a little above `most`, the largest that is enough where any is."""
    if not enough(most * (1.0 + 1e-13)):
        return most * (1.0 + 1e-6)
    low, high = 1e-13, 1.0
    while high / low > 1.02:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if enough(most * (1.0 + middle)) else (low, middle)
    return most * (1.0 + low)


class Attempt:
    """An attempt to prove one piece: relaxations in turn, then halves of the box, until enough is proven or refuted."""

    def __init__(self, search: Search, B: Floats, most: float, piece: int, enough: Any, deadline: float, priced: bool):
        self.search, self.B, self.most, self.piece = search, B, most, piece
        self.enough, self.deadline, self.priced = enough, deadline, priced
        self.bounds: list[Bound | None] = []
        self.degree, self.cells = 0, 0
        # About what the next step of the proof would take, where one is left that might suffice.
        self.further = self.memory = 0.0
        self.by_coefficients = False
        self.missed: Floats = np.empty((0, search.region.q))

    def bound(self, prover: RegionProver, depth: int) -> float:
        """What is proven of p_b on the prover's cell."""
        p, charge = prover.polynomial(self.piece, self.B)
        best: Bound | None = None
        left: RelaxationSize | None = None
        started = time.perf_counter()
        for relaxation in prover.hierarchy(p)[: 2 if depth else None]:
            limit = None if np.isinf(self.deadline) else max(self.deadline - time.perf_counter(), 0.0)
            bound = prover.bound(self.piece, p, charge, relaxation, limit)
            if bound is None:
                size = prover.size(p, relaxation)
                left = size if left is None or size.seconds < left.seconds else left
                continue
            if not self.enough(bound.value) and not self.hopeless():
                bound = prover.corrected(p, charge, relaxation, bound, self.wanted, self.most)
            if best is None or bound.value < best.value:
                best = bound
            if self.enough(best.value):
                break
            if not depth:
                self.missed = missed_points(self.search, self.B, self.most, self.piece, bound, self.priced)
                if len(self.missed):
                    break
        value = np.inf if best is None else best.value
        most = FEW_CELLS if self.search.region.inequalities else MOST_CELLS
        # Halves take about as long each as this cell.
        halves = 2.0 * (time.perf_counter() - started)
        over = time.perf_counter() + halves / 2.0 > self.deadline or self.cells > most or depth >= DEEPEST
        if best is None or self.enough(value) or len(self.missed) or over or self.hopeless():
            if not (self.enough(value) or len(self.missed) or self.hopeless()):
                # A relaxation that was left out, or else both halves of this cell.
                self.further += halves if left is None else left.seconds
                self.memory = max(self.memory, 0.0 if left is None else left.memory)
            if best is None:
                value = prover.bound_by_coefficients(p, charge)
                self.by_coefficients |= bool(np.isfinite(value))
            self.bounds.append(best)
            self.degree = max(self.degree, 0 if best is None else best.degree)
            return value
        self.cells += 2
        return min(value, max(self.bound(half, depth + 1) for half in prover.halves))

    @cached_property
    def wanted(self) -> float:
        """A bound that is a little less than the largest that suffices."""
        return self.most + 0.9 * (largest_that_suffices(self.most, self.enough) - self.most)

    def hopeless(self) -> bool:
        """Whether even the largest sensitivity that was found, were it the bound, would not be enough."""
        return not self.enough(self.most)


def missed_points(search: Search, B: Floats, most: float, piece: int, bound: Any, priced: bool) -> Floats:
    """Settings with a larger sensitivity than any known, sought where the relaxation has its mass."""
    frame, region = search.frame, search.region
    if not region.q:
        return np.empty((0, 0))
    pool = np.vstack([search.starts[piece], spread_points(region, 4, search.rng, 50)])
    near = np.vstack(
        [frame.unscaled(likely_points(bound, frame.scaled(pool), 40)), inner_points(region, DENSE, search.rng)]
    )
    x, height = search.best_near(piece, B, near, 20, priced)
    return np.asarray(x[height > most * (1.0 + 1e-9)])
