"""The same criterion with a memory: passes over very many targets only when the few worst ones may have changed."""

from __future__ import annotations

import numpy as np

from convexdesign.criteria.exchange import MatrixCriterion, inverse_factor
from convexdesign.criteria.worst_target import Minimax
from convexdesign.typing import Floats

__all__ = ["CachedCriterion"]


# Targets kept at hand. More of them stay the worst for longer, but each swap looks at some.
POOL = 512


class CachedCriterion(MatrixCriterion):
    """A criterion with exactly the values of another, which asks it only where its worst targets may be others.

    The targets that were worst at M0 are kept, with a bound f on all others there: elsewhere these are at most
    lambda_max(M^-1 M0) f, so that the kept ones decide phi(M) wherever that is no more than their own largest.
    """

    def __init__(self, criterion: MatrixCriterion) -> None:
        self._criterion = criterion
        self._local: MatrixCriterion | None = None

    @property
    def criterion(self) -> MatrixCriterion:
        """The criterion without the memory."""
        return self._criterion

    @property
    def lists_targets(self) -> bool:
        """Whether there are targets to remember."""
        return isinstance(self._criterion, Minimax)

    def _at(self, M: Floats) -> MatrixCriterion | None:
        """The criterion on a few targets which decide phi(M); None where M is singular."""
        if self._local is None or not self._local.settles(M):
            F = inverse_factor(M)
            if F is None:
                return None
            self._local = self._criterion.restricted(F, POOL)
        return self._local

    def _at_factor(self, F: Floats) -> MatrixCriterion:
        G = np.asarray(np.linalg.inv(F), dtype=float)
        return self._at(G.T @ G) or self._criterion

    def value(self, M: Floats) -> float:
        local = self._at(M)
        return np.inf if local is None else local.value(M)

    def cuts(self, F: Floats, k: int) -> Floats:
        if F.shape[0] != F.shape[1]:  # of singular information
            return self._criterion.cuts(F, k)
        return self._at_factor(F).cuts(F, k)

    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        return self._at_factor(F).swaps(F, out, into)

    def restricted(self, F: Floats, k: int) -> MatrixCriterion:
        return self._criterion.restricted(F, k)

    def settles(self, M: Floats) -> bool:
        return self._criterion.settles(M)

    def projected(self, Q: Floats) -> MatrixCriterion | None:
        inside = self._criterion.projected(Q)
        return None if inside is None else CachedCriterion(inside)

    def wanted(self, N: Floats) -> Floats:
        return self._criterion.wanted(N)
