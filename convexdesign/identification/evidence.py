"""What is kept of each round, and the bets on any direction computed from it on demand."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations
from convexdesign.estimation.row_space import RowSpace, row_space
from convexdesign.identification.wealth import log_wealth

__all__ = ["Evidence"]

Floats = NDArray[np.float64]

# Bets for every size of V from the first round's to a million times that, at which most experiments have long ended.
SCALES = 16.0 ** np.arange(6) / 16.0
# Directions whose bets on all rounds are held at once.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class _Summary:
    """theta_k as b with y'theta_k = g'b for coordinates g of y, and spread F with v_k = |F g|²."""

    coefficients: Floats
    spread: Floats


@dataclass(eq=False)
class Evidence:
    """Round summaries (theta_k, Q_k), from which M(y), V(y) and the wealth of any direction y follow.

    A round with precisions p_x = c_k(x)/U_x has A_k = Σ p_x xx', theta_k = A_k^-1 Σ p_x mean_k(x) x and
    Q_k = A_k^-1: with the weights 1/U_x the bound v_k = y'Q_k y on the variance of y'theta_k is the smallest that weighted
    least squares can have, U being upper bounds. A round that does not determine all of the span of the arms, or whose
    U are infinite, contributes nothing; that too is known before its rewards.
    """

    arms: Floats
    space: RowSpace = field(init=False)
    rows: Floats = field(init=False)
    summaries: list[_Summary] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.space = row_space(self.arms)
        self.rows = self.space.coordinates(self.arms)

    def add(self, observations: Observations, upper: Floats) -> None:
        """Take in a round whose VARIANCES are at most `upper` (n,), bounds chosen before its rewards."""
        p = np.where(np.isfinite(upper), observations.count / upper, 0.0)
        R: Floats = np.asarray(np.linalg.qr(np.sqrt(p)[:, None] * self.rows, mode="r"))
        diagonal = np.abs(np.diag(R))
        if R.shape[0] < R.shape[1] or not diagonal.min() > 1e-12 * diagonal.max():
            return
        spread = np.asarray(np.linalg.inv(R.T), dtype=float)
        self.summaries.append(_Summary(spread.T @ (spread @ (self.rows.T @ (p * observations.mean))), spread))

    def totals(self, directions: Floats, shift: Floats | float = 0.0) -> tuple[Floats, Floats]:
        """M = Σ_k (y'theta_k + shift)/v_k and V = Σ_k 1/v_k of rows y (m, d) after every round, (rounds, m) each."""
        G = self.space.coordinates(directions).T
        r = self.space.rank
        spreads = np.array([s.spread for s in self.summaries]).reshape(-1, r, r)
        estimates = np.array([s.coefficients for s in self.summaries]).reshape(-1, r) @ G
        precision = 1.0 / np.einsum("kim,kim->km", image := spreads @ G, image)
        return np.cumsum((estimates + shift) * precision, axis=0), np.cumsum(precision, axis=0)

    def best_log_wealth(self, directions: Floats, shift: Floats | float = 0.0) -> Floats:
        """The largest log wealth so far against y'theta + shift <= 0 for rows y (m, d), shape (m,); at least 0."""
        best = np.zeros(directions.shape[0])
        shifts = np.broadcast_to(np.asarray(shift, dtype=float), best.shape)
        if not self.summaries:
            return best
        for start in range(0, directions.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            M, V = self.totals(directions[rows], shifts[rows])
            # The scales are fixed by the first round's v, hence before its rewards.
            wealth = log_wealth(M, V, SCALES[:, None, None] * V[0])
            best[rows] = np.maximum(wealth.max(axis=0), 0.0)
        return best
