"""The largest of very many values |F'x_i|^2, for a sequence of matrices F, from one or two passes over all x_i.

A pass at F_0 gives q_i = |F_0'x_i|^2 for every i. Whatever the next F is,

    |F'x_i|^2 <= lambda q_i,      lambda = the largest eigenvalue of F'(F_0 F_0')^-1 F,

so a vector with small q_i cannot be among the largest values for some time. Only the candidate set, the vectors with the
largest q_i, is evaluated from then on; the bound proves that nothing outside it exceeds a given level. Where it
proves nothing any more, the set is extended down to level / lambda if that is not too far, otherwise a new pass is
made. This is what keeps a solve over a million arms at one or two passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convexdesign.arms.groups import squared_norms
from convexdesign.problem.pairs import FEW_PAIRS
from convexdesign.typing import Floats, Indices

__all__ = ["SIZES", "Priced", "Screen", "Sizes"]


# Eigenvalues of F_0 F_0' are lifted to this share of their mean: a matrix that ignores a direction bounds nothing in it.
LIFT = 0.1


@dataclass(frozen=True)
class Sizes:
    """From which sizes on the ways of large problems are the faster: benchmarks/large_arms.py and many_items.py measure them.

    whole: up to so many arms and as many targets, everything is in one master; first_targets: up to so many, all of these
    are in the first. few_entries: vectors of up to so many entries are all candidates, since evaluating them costs no more
    than the rest of a step. Otherwise the candidate set holds a share of all vectors, and no fewer than `fewest`; extending it
    copies vectors, and beyond the share `widest` of all a pass is cheaper. few_pairs: up to so many pairs of items are all
    candidates, otherwise `pairs` between full scans; few_items: those whose pairs come first where items are more than twice
    as many.
    """

    whole: int = 64
    first_targets: int = 64
    few_entries: int = 100_000
    share: float = 0.02
    fewest: int = 5000
    widest: float = 0.05
    few_pairs: int = FEW_PAIRS
    pairs: int = 50_000
    few_items: int = 1500


SIZES = Sizes()


@dataclass(frozen=True, eq=False)
class Priced:
    """Vectors (k, r) of the candidate set with their indices and values; below: no vector at all exceeds the level.

    Arms with several responses are as many vectors each, their values sums.
    """

    index: Indices
    vectors: Floats
    values: Floats
    below: bool
    responses: int = 1


class Screen:
    """The state between pricings: the candidate set and, once a pass was made, q for all vectors.

    values: F (r, k) -> |F'x_i|^2 for all n vectors; take: indices -> vectors (k responses, r). The set may begin as any
    sample, which then holds until nothing in it exceeds the level, or empty, so that a pass comes first.
    """

    def __init__(
        self,
        values: Callable[[Floats], Floats],
        take: Callable[[Indices], Floats],
        n: int,
        candidates: Indices,
        sizes: Sizes = SIZES,
        responses: int = 1,
    ):
        self.values = values
        self.take = take
        self.n = n
        self.responses = responses
        self.sizes = sizes
        self.candidates = candidates
        self.vectors = take(candidates)
        self.passes = 0
        self._q: Floats | None = None
        self._inverse: Floats | None = None
        self._lift = np.empty((0, 0))
        self._behind = np.inf if candidates.size < n else -np.inf
        self._outdated = False

    @classmethod
    def of_all(cls, take: Callable[[Indices], Floats], index: Indices) -> Screen:
        """A screen whose candidate set is everything there is: and no pass is ever made."""
        return cls(lambda F: np.empty(0), take, index.size, index)

    def price(self, factor: Floats, level: float) -> Priced:
        """Values of the candidates at F: some exceed the level, or it is proven that none anywhere does."""
        if self._outdated:
            self._renew_candidates()
        values = self._candidate_values(factor)
        if values.max(initial=0.0) <= level and not self._proven(factor, level):
            if not self._extend(level / self._growth_bound(factor)):
                if self._pass(factor) <= level:
                    return Priced(self.candidates, self.vectors, values, True, self.responses)
                self._renew_candidates()
            values = self._candidate_values(factor)
        below = bool(values.max(initial=0.0) <= level) and self._proven(factor, level)
        return Priced(self.candidates, self.vectors, values, below, self.responses)

    def look_over(self, factor: Floats) -> None:
        """A pass over all vectors now: the candidate set is made of those with the largest |F'x_i|^2 at this F."""
        self._pass(factor)
        self._renew_candidates()

    def _candidate_values(self, factor: Floats) -> Floats:
        return squared_norms(self.vectors @ factor, self.responses)

    def _growth_bound(self, factor: Floats) -> float:
        if self._inverse is None:
            return np.inf
        # The margin covers the rounding of the eigenvalue.
        return float(np.linalg.norm(self._inverse @ factor, 2) ** 2) * (1.0 + 1e-10)

    def _proven(self, factor: Floats, level: float) -> bool:
        if self._behind <= 0.0:
            return True
        return bool(np.isfinite(self._behind)) and self._growth_bound(factor) * self._behind <= level

    def _extend(self, cut: float) -> bool:
        if self._q is None:
            return False
        chosen = np.flatnonzero(self._q > cut)
        if chosen.size > max(self.sizes.widest * self.n, self.sizes.fewest):
            return False
        self.candidates, self.vectors, self._behind = chosen, self.take(chosen), cut
        return True

    def _pass(self, factor: Floats) -> float:
        """q for all vectors at this F, and the largest. The candidate set is renewed when next it is needed."""
        eigenvalues, vectors = np.linalg.eigh(factor @ factor.T)
        lifted = np.maximum(eigenvalues, LIFT * eigenvalues.mean())
        self._q = self.values(factor)
        self._lift = vectors * np.sqrt(lifted - np.maximum(eigenvalues, 0.0))
        self._inverse = vectors.T / np.sqrt(lifted)[:, None]
        self._outdated = True
        self.passes += 1
        return float(self._q.max())

    def _renew_candidates(self) -> None:
        """The vectors with the largest q, and where that is lifted also those with the largest true values."""
        assert self._q is not None
        size = max(int(self.sizes.share * self.n), self.sizes.fewest)
        chosen = self._q >= _largest(self._q, size)
        if self._lift.any():
            self._q += self.values(self._lift[:, self._lift.any(axis=0)])
        self._behind = _largest(self._q, size)
        self.candidates = np.flatnonzero(chosen | (self._q >= self._behind))
        self.vectors = self.take(self.candidates)
        self._outdated = False


def _largest(values: Floats, k: int) -> float:
    """The k-th largest value, or minus infinity if there are no more than k."""
    return float(np.partition(values, values.size - k)[values.size - k]) if k < values.size else -np.inf
