"""What a design measures at all, decided by exact rank: near a tolerance, doubles cannot tell a small part from none.

Every double is a whole number times a power of two, so that vectors can be reduced modulo a prime without rounding. A
vector outside the span of the measured arms modulo two primes is outside, and one inside is inside, but for coincidences
of probability 10^-17 or so; `verify(rigorous=True)` does without these.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial

import numpy as np

from convexdesign.arms.source import Arms, ArrayArms
from convexdesign.evaluation import OUTSIDE_TOLERANCE, Evaluation
from convexdesign.problem import Canonical, DesignProblem
from convexdesign.problem.exact_rank import PRIMES, residues
from convexdesign.problem.pairs import PairTargets
from convexdesign.problem.targets import VectorTargets
from convexdesign.typing import Counts, Floats, Indices

__all__ = ["Reach", "exactly_unmeasured", "reach"]

# Vectors at some indices, modulo a prime.
Take = Callable[[Indices, int], Counts]

BLOCK = 4096
# Multiplications beyond which the question is left open.
MOST_WORK = 1e9
# A share outside the range that the rounding of the data, and of the range itself, explains: this times the condition.
ROUNDING = 64 * np.finfo(float).eps


class Reach(Enum):
    """Whether a design measures what is wanted."""

    MEASURED = "measured"
    UNMEASURED = "not measured"
    UNKNOWN = "too little is measured, or lost, for double precision to tell"


def reach(canonical: Canonical, weights: Floats, at: Evaluation) -> tuple[Reach, int]:
    """Whether weights evaluated by `at` measure everything wanted, and a target that they do not, or -1.

    A target that leaves the range by no more than rounding counts as measured: its own numbers are no better known.
    """
    problem = canonical.problem
    claimed = at.value != problem.criterion.worst_value
    if at.rank == canonical.rank or at.rank == 0:
        return (Reach.MEASURED, -1) if claimed else (Reach.UNKNOWN if at.rank else Reach.UNMEASURED, at.worst_target)
    if claimed:
        size = np.linalg.svd(canonical.inverse @ at.factor, compute_uv=False)
        tolerance = min(ROUNDING * size[0] / size[-1], OUTSIDE_TOLERANCE)
        if problem.targets.outside(at.null, canonical.basis, tolerance) is None:
            return Reach.MEASURED, -1
    found = exactly_unmeasured(canonical, weights)
    if found is None:
        return Reach.UNKNOWN, at.worst_target
    if found < 0:
        return (Reach.MEASURED, -1) if claimed else (Reach.UNKNOWN, at.worst_target)
    return Reach.UNMEASURED, found if claimed else at.worst_target


def exactly_unmeasured(canonical: Canonical, weights: Floats) -> int | None:
    """The first wanted vector outside the span of the arms with weight and what is held, -1 for none, None for not known."""
    problem = canonical.given
    found = {_unmeasured(problem, np.flatnonzero(weights != 0), prime) for prime in PRIMES}
    return found.pop() if len(found) == 1 else None


def _unmeasured(problem: DesignProblem, support: Indices, prime: int) -> int | None:
    d = problem.arms.d
    counts = problem.stated.existing_counts
    if counts is not None and problem.prior is not None:
        support = np.union1d(support, np.flatnonzero(np.asarray(counts, dtype=float)))
    wanted = _wanted(problem)
    if wanted is None:
        return None
    index, take = wanted
    if (support.size + index.size) * problem.responses * d * d > MOST_WORK:
        return None
    span = _Span(prime, d)
    if problem.prior is not None and counts is None:
        span.add(residues(np.asarray(problem.stated.prior_information, dtype=float), prime))
    for start in range(0, support.size, BLOCK):
        if span.rank == d:
            return -1
        span.add(_arms(problem, support[start : start + BLOCK], prime))
    for start in range(0, index.size, BLOCK):
        part = index[start : start + BLOCK]
        outside = span.reduced(take(part, prime)).any(axis=1).reshape(part.size, -1).any(axis=1)
        if outside.any():
            return int(part[np.argmax(outside)])
    return -1


class _Span:
    """Rows in reduced echelon form modulo a prime."""

    def __init__(self, prime: int, d: int):
        self.prime = prime
        self.rows: Counts = np.empty((0, d), dtype=np.int64)
        self.pivots: list[int] = []

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def reduced(self, rows: Counts) -> Counts:
        """The rows less their part in the span; zero where they lie in it."""
        for pivot, row in zip(self.pivots, self.rows):
            rows = (rows - rows[:, pivot][:, None] * row) % self.prime
        return rows

    def add(self, rows: Counts) -> None:
        """Span these rows too."""
        rows = self.reduced(rows)
        while rows.any():
            first = int(np.argmax(rows.any(axis=1)))
            pivot = int(np.argmax(rows[first] != 0))
            row = rows[first] * pow(int(rows[first, pivot]), -1, self.prime) % self.prime
            self.rows = (self.rows - self.rows[:, pivot][:, None] * row) % self.prime
            self.rows = np.vstack([self.rows, row])
            self.pivots.append(pivot)
            rows = (rows - rows[:, pivot][:, None] * row) % self.prime


def _wanted(problem: DesignProblem) -> tuple[Indices, Take] | None:
    """Numbers of vectors that span what is wanted, and a way to take them; None where they are rounded, as a root of M is."""
    targets = problem.targets
    if problem.criterion.on_range:
        return np.flatnonzero(problem.weight_set.allowed(problem.arms.n)), partial(_arms, problem)
    if problem.stated.lifted:
        return np.arange(problem.arms.n), partial(_arms, problem)
    if isinstance(targets, PairTargets):
        items = ArrayArms(targets.items)
        return np.arange(items.n), partial(_differences, items, items.take(np.array([0]))[0])
    if isinstance(targets, VectorTargets) and problem.moments is None:
        return np.arange(targets.m), partial(_differences, targets.source, targets.offset)
    return None


def _differences(source: Arms, offset: Floats | None, index: Indices, prime: int) -> Counts:
    """x - o for the rows x at the indices, modulo the prime."""
    rows = residues(source.take(index), prime)
    return rows if offset is None else (rows - residues(offset[None, :], prime)) % prime


def _arms(problem: DesignProblem, index: Indices, prime: int) -> Counts:
    """The arms as given, modulo the prime, response by response: noise and costs change no span."""
    rows = residues(problem.stated.arms.source.take(index), prime)
    return _phi(rows, prime) if problem.stated.lifted else rows


def _phi(rows: Counts, prime: int) -> Counts:
    first, second = np.triu_indices(rows.shape[1])
    return np.asarray(rows[:, first] * rows[:, second] % prime * np.where(first == second, 1, 2) % prime)
