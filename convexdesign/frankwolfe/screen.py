"""The largest of very many values |F'x_i|^2, for a sequence of matrices F, from one or two passes over all x_i.

A pass at F_0 gives q_i = |F_0'x_i|^2 for every i. Whatever the next F is,

    |F'x_i|^2 <= lambda q_i,      lambda = the largest eigenvalue of F'(F_0 F_0')^-1 F,

so a vector with small q_i cannot be among the largest values for some time. Only the front, the vectors with the
largest q_i, is evaluated from then on; the bound proves that nothing behind it exceeds a given level. Where it
proves nothing any more, the front is extended down to level / lambda if that is not too far, otherwise a new pass is
made. This is what keeps a solve over a million arms at one or two passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convexdesign.problem.responses import squares
from convexdesign.typing import Floats, Indices

__all__ = ["FEW_ENTRIES", "Priced", "Screen"]


# Vectors of up to so many entries are all in the front: evaluating them costs no more than the rest of a step.
FEW_ENTRIES = 100_000
# The front: this share of all vectors, and all of them where they are few.
SHARE = 0.02
SMALLEST_FRONT = 5000
# Extending the front copies vectors; beyond this share of all a pass is cheaper.
WIDEST_FRONT = 0.05
# Eigenvalues of F_0 F_0' are lifted to this share of their mean: a matrix that ignores a direction bounds nothing in it.
LIFT = 0.1


@dataclass(frozen=True, eq=False)
class Priced:
    """Vectors (k, r) of the front with their indices and values; below: no vector at all exceeds the level.

    Arms with several responses are groups (k, l, r) of vectors, their values sums.
    """

    index: Indices
    vectors: Floats
    values: Floats
    below: bool

    def at(self, factor: Floats) -> Priced:
        """The same vectors with their values at another F; nothing is known of others."""
        return Priced(self.index, self.vectors, squares(self.vectors @ factor), False)


class Screen:
    """The state between pricings: the front and, once a pass was made, q for all vectors.

    values: F (r, k) -> |F'x_i|^2 for all n vectors; take: indices -> vectors (k, r). The front may begin as any sample,
    which then holds until nothing in it exceeds the level, or empty, so that a pass comes first.
    """

    def __init__(
        self,
        values: Callable[[Floats], Floats],
        take: Callable[[Indices], Floats],
        n: int,
        front: Indices,
        vectors: Floats | None = None,
    ):
        self.values = values
        self.take = take
        self.n = n
        self.front = front
        self.vectors = take(front) if vectors is None else vectors
        self.passes = 0
        self._q: Floats | None = None
        self._inverse: Floats | None = None
        self._lift = np.empty((0, 0))
        self._behind = np.inf if front.size < n else -np.inf
        self._stale = False

    @classmethod
    def of_all(cls, take: Callable[[Indices], Floats], index: Indices) -> Screen:
        """A screen whose front is everything there is: nothing is behind it, and no pass is ever made."""
        return cls(lambda F: np.empty(0), take, index.size, index)

    def price(self, factor: Floats, level: float) -> Priced:
        """Values of the front at F: some exceed the level, or it is proven that none anywhere does."""
        if self._stale:
            self._renew_front()
        values = self._front_values(factor)
        if values.max(initial=0.0) <= level and not self._proven(factor, level):
            if not self._extend(level / self._stretch(factor)):
                if self._pass(factor) <= level:
                    return Priced(self.front, self.vectors, values, True)
                self._renew_front()
            values = self._front_values(factor)
        below = bool(values.max(initial=0.0) <= level) and self._proven(factor, level)
        return Priced(self.front, self.vectors, values, below)

    def look_over(self, factor: Floats) -> None:
        """A pass over all vectors now: the front is made of those with the largest |F'x_i|^2 at this F."""
        self._pass(factor)
        self._renew_front()

    def _front_values(self, factor: Floats) -> Floats:
        return squares(self.vectors @ factor)

    def _stretch(self, factor: Floats) -> float:
        if self._inverse is None:
            return np.inf
        # The margin covers the rounding of the eigenvalue.
        return float(np.linalg.norm(self._inverse @ factor, 2) ** 2) * (1.0 + 1e-10)

    def _proven(self, factor: Floats, level: float) -> bool:
        if self._behind <= 0.0:
            return True
        return bool(np.isfinite(self._behind)) and self._stretch(factor) * self._behind <= level

    def _extend(self, cut: float) -> bool:
        if self._q is None:
            return False
        front = np.flatnonzero(self._q > cut)
        if front.size > max(WIDEST_FRONT * self.n, SMALLEST_FRONT):
            return False
        self.front, self.vectors, self._behind = front, self.take(front), cut
        return True

    def _pass(self, factor: Floats) -> float:
        """q for all vectors at this F, and the largest. The front is renewed when next it is needed."""
        eigenvalues, vectors = np.linalg.eigh(factor @ factor.T)
        lifted = np.maximum(eigenvalues, LIFT * eigenvalues.mean())
        self._q = self.values(factor)
        self._lift = vectors * np.sqrt(lifted - np.maximum(eigenvalues, 0.0))
        self._inverse = vectors.T / np.sqrt(lifted)[:, None]
        self._stale = True
        self.passes += 1
        return float(self._q.max())

    def _renew_front(self) -> None:
        """The vectors with the largest q, and where that is lifted also those with the largest true values."""
        assert self._q is not None
        size = max(int(SHARE * self.n), SMALLEST_FRONT)
        front = self._q >= _largest(self._q, size)
        if self._lift.any():
            self._q += self.values(self._lift[:, self._lift.any(axis=0)])
        self._behind = _largest(self._q, size)
        self.front = np.flatnonzero(front | (self._q >= self._behind))
        self.vectors = self.take(self.front)
        self._stale = False


def _largest(values: Floats, k: int) -> float:
    """The k-th largest value, or minus infinity if there are no more than k."""
    return float(np.partition(values, values.size - k)[values.size - k]) if k < values.size else -np.inf
