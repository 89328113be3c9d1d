"""The targets of G over a region among several problems: h(x) for all of its settings, by local search and then by proof."""

from __future__ import annotations

import numpy as np

from convexdesign.regions.everywhere import prove_everywhere
from convexdesign.regions.exchange import Search
from convexdesign.regions.problem import RegionProblem
from convexdesign.typing import Floats, Indices

__all__ = ["PredictedTargets"]

SEARCHES = 40


class PredictedTargets:
    """Of a problem that predicts its region: the settings with the largest |F'h(x)|^2, as far as a search finds them."""

    # More than any list of them.
    m = np.iinfo(np.int64).max

    def __init__(self, problem: RegionProblem):
        self.search, self.frame = Search(problem), problem.frame
        self.factor: Floats = np.empty((0, 0))
        self.rows: Floats = np.empty((0, self.frame.d))
        self.heights: Floats = np.empty(0)

    def worst(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        """The k local maxima that are largest; they are numbered until the next factor."""
        if not np.array_equal(factor, self.factor):
            parts = []
            for piece, starts in enumerate(self.search.starts):
                x, height = self.search.best_near(piece, factor.T, starts, SEARCHES, priced=False)
                parts.append((self.frame.piece_rows(piece, x, weighted=False), height))
            rows, heights = np.vstack([a for a, _ in parts]), np.concatenate([b for _, b in parts])
            order = np.argsort(-heights, kind="stable")
            self.factor, self.rows, self.heights = factor.copy(), rows[order], heights[order]
        few = min(k, len(self.heights))
        return np.arange(few), self.heights[:few]

    def take(self, index: Indices) -> Floats:
        """The targets by the numbers of `worst`."""
        return self.rows[index]

    def proven(self, factor: Floats, tol: float, deadline: float) -> tuple[float, Floats]:
        """An upper bound on |F'h(x)|^2 over the region, and targets with more than was known."""
        found = float(self.worst(factor)[1][0])
        enough = found * (1.0 + tol)
        bound, missed = prove_everywhere(
            self.search, self.search.variances, factor.T, found, lambda most: most <= enough, deadline, priced=False
        )
        if missed is None:
            return bound.value, np.empty((0, self.frame.d))
        return bound.value, self.frame.rows(*missed, weighted=False)
