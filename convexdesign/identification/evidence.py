"""What each round says of any direction, and the bets on directions that add it up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.estimation.row_space import RowSpace, row_space
from convexdesign.identification.wealth import log_wealth
from convexdesign.typing import Floats

__all__ = ["SCALES", "Bets", "Evidence", "Summary"]


# Bets for every size of V from the first round's to a million times that, at which most experiments have long ended.
SCALES = np.asarray(16.0 ** np.arange(6) / 16.0, dtype=float)


@dataclass(frozen=True, eq=False)
class Summary:
    """One round, all that is kept of it: theta_k as b with y'theta_k = g'b for coordinates g of y, v_k = |F g|²."""

    coefficients: Floats
    spread: Floats

    def of(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """y'theta_k and 1/v_k, (m,) each, for directions with these coordinates (m, r); zeros where y = 0."""
        image = coordinates @ self.spread.T
        v = np.einsum("ij,ij->i", image, image)
        precision = np.divide(1.0, v, out=np.zeros_like(v), where=v > 0)
        return np.asarray(coordinates @ self.coefficients), precision


@dataclass(eq=False)
class Evidence:
    """Round summaries (theta_k, Q_k), from which M(y), V(y) and the wealth of any fixed direction y follow.

    A round with precisions p_x = c_k(x)/U_x has A_k = Σ p_x xx', theta_k = A_k^-1 Σ p_x mean_k(x) x and
    Q_k = A_k^-1: with the weights 1/U_x the bound v_k = y'Q_k y on the variance of y'theta_k is the smallest that weighted
    least squares can have, U being upper bounds. A round that does not determine all of the span of the arms, or whose
    U are infinite, contributes nothing; that too is known before its rewards.
    """

    arms: Floats
    space: RowSpace = field(init=False)
    rows: Floats = field(init=False)
    summaries: list[Summary] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.space = row_space(self.arms)
        self.rows = self.space.coordinates(self.arms)

    def add(self, observations: Observations, upper: Floats) -> Summary | None:
        """Take in a round whose VARIANCES are at most `upper` (n,), bounds chosen before its rewards; None if nothing."""
        p = np.where(np.isfinite(upper), observations.count / upper, 0.0)
        R: Floats = np.asarray(np.linalg.qr(np.sqrt(p)[:, None] * self.rows, mode="r"))
        diagonal = np.abs(np.diag(R))
        if R.shape[0] < R.shape[1] or not diagonal.min() > 1e-12 * diagonal.max():
            return None
        spread = np.asarray(np.linalg.inv(R.T), dtype=float)
        summary = Summary(spread.T @ (spread @ (self.rows.T @ (p * observations.mean))), spread)
        self.summaries.append(summary)
        return summary

    def log_wealth(self, directions: Floats, shift: float = 0.0, since: int = 0) -> Floats:
        """The largest log wealth against y'theta + shift <= 0 of rows y (m, d) in the rounds from `since` on; (m,), >= 0."""
        bets = Bets(directions.shape[0])
        coordinates = self.space.coordinates(directions)
        for summary in self.summaries[since:]:
            estimates, precision = summary.of(coordinates)
            bets.add(estimates + shift, precision)
        return bets.best


class Bets:
    """Bets on m directions, each against y_k'theta <= 0 in every round k; y_k may be another in every round.

    M = Σ_k y_k'theta_k/v_k and V = Σ_k 1/v_k, (m,) each; `best` (m,): the largest log wealth so far, at least 0. The
    scales of a mixture are fixed by the first v of its direction, hence before any reward that M contains. A round with
    1/v = 0 makes no bet.
    """

    def __init__(self, m: int) -> None:
        self.M, self.V, self.first, self.best = np.zeros((4, m))

    def add(self, estimates: Floats, precision: Floats) -> None:
        """Take in y_k'theta_k and 1/v_k, (m,) each, y_k and v_k chosen before the rewards of round k."""
        # Not in place: a copy of an algorithm in an earlier state keeps its own sums.
        self.M = self.M + estimates * precision
        self.V = self.V + precision
        self.first = np.where(self.first > 0, self.first, precision)
        self.best = np.maximum(self.best, self.log_wealth())

    def log_wealth(self, shift: float = 0.0) -> Floats:
        """The log wealth (m,) now, or had the bets been against y_k'theta + shift <= 0; 0 where there was no bet."""
        begun = self.first > 0
        M, V, first = self.M + shift * self.V, self.V, np.where(begun, self.first, 1.0)
        return np.where(begun, log_wealth(M, V, SCALES[:, None] * first), 0.0)
