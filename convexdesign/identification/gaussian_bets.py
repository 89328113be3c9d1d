"""Bets on Gaussian rewards that pay for the variance that the round itself shows, not for a bound on it.

Let h_x be the weights of the means in y'theta_k = Σ h_x mean_x, so that Σ h_x x = y, and t_x = size h_x/v. A bet of
this size on y'theta_k grows by exp(Σ t_x mean_x), for which it must pay Σ t_x² s_x²/(2 c_x) of unknown s². An upper end
U_x of s_x² in its place costs the more the fewer pulls there were. But m2_x, the sum of squares of the very round, is
s_x² chi² with k = c_x - 1 degrees of freedom, independent of the mean, and E exp(-a m2_x) = (1 + 2 a s_x²)^(-k/2). So

    E exp(t_x (mean_x - mu_x) - a_x m2_x) = exp(t_x² s_x²/(2 c_x)) (1 + 2 a_x s_x²)^(-k/2) <= 1

for all s_x² <= U_x, where a_x = (exp(e_x) - 1)/(2 U_x), e_x = t_x² U_x/(c_x k). Proof: log of the left side is k/2 (e_x
s_x²/U_x - log(1 + 2 a_x s_x²)), convex in s_x²; it is zero at s_x² = 0 and at U_x. Here U_x and the h_x are known
before the round. For small e_x the price a_x m2_x is t_x²/(2 c_x) times the sample variance m2_x/k, and (1 + e_x/2):
the bound U hardly matters any more. Where e_x is large, as in a first round or with a single pull, the price is t_x²
U'_x/(2 c_x), U' the upper end with the round's own m2, given which the mean is still Gaussian. Which of the two is
decided by what is known before the round. If all t_x are of the latter kind, h may depend on m2 too. Multiplied over
the arms, and with Σ t_x mu_x = size y'theta/v <= 0, the growth has an expectation of at most one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.identification.evidence import Evidence, information_factor
from convexdesign.identification.sized_bets import BLOCK, SizedBets, StakedRound
from convexdesign.typing import Floats

__all__ = ["GaussianEvidence", "GaussianRound"]


@dataclass(frozen=True, eq=False)
class GaussianRound(StakedRound):
    """A round of Gaussian rewards: the fit with guessed variances, and what bets on its p pulled arms pay.

    loads (p, r): h = loads g are the weights of the means in y'theta_k, g the coordinates of y. Prices of t (p,):
    (exp(rates t²) - 1) squares where rates t² <= most, else fallback t²; (p,) each.
    """

    loads: Floats
    rates: Floats
    squares: Floats
    most: Floats
    fallback: Floats

    def growth(self, coordinates: Floats, sizes: Floats, precision: Floats) -> tuple[Floats, Floats]:
        """The logarithms (k, s) by which bets of sizes (k, s) on k directions multiply their wealth, against y'theta <= 0,
        and size/v as it was staked; precision (k,): 1/v.
        """
        stakes = sizes * precision[:, None]
        growth = stakes * (coordinates @ self.coefficients)[:, None]
        step = max(1, BLOCK // max(1, sizes.shape[1] * self.rates.size))
        for start in range(0, coordinates.shape[0], step):
            part = slice(start, start + step)
            h2 = (coordinates[part] @ self.loads.T) ** 2
            growth[part] -= self._price(stakes[part, :, None] ** 2 * h2[:, None, :])
        return growth, stakes

    def _price(self, t2: Floats) -> Floats:
        """What stakes with the squares t2 (..., p) pay, summed over the arms."""
        e = self.rates * t2
        own = e <= self.most
        return np.asarray(
            np.where(own, np.expm1(np.where(own, e, 0.0)) * self.squares, self.fallback * t2).sum(axis=-1)
        )


@dataclass(eq=False)
class GaussianEvidence(Evidence):
    """Evidence from Gaussian rewards of unknown variances."""

    def take(
        self, observations: Observations, guesses: Floats, before: Floats, after: Floats, excess: Floats
    ) -> GaussianRound | None:
        """Take in a round; None where it says nothing. All (n,).

        guesses: VARIANCES for weights, known before its rewards, or from its sums of squares where `before` is infinite for
        all arms (those of the ends with these sums cost least). before, after: upper ends without and with these sums.
        excess: by what factor the latter are likely to exceed the variances, known before its rewards.
        """
        count = observations.count.astype(float)
        p = np.where(np.isfinite(after), count / guesses, 0.0)
        F, within = information_factor(self.rows, p)
        if F is None:
            return None
        pulled = np.flatnonzero(p != 0)
        loads = (p[pulled, None] * self.rows[pulled]) @ (F.T @ F)
        c, high = count[pulled], before[pulled]
        known = np.isfinite(high) & (c > 1)
        rates, squares = np.zeros((2, c.size))
        np.divide(high, c * (c - 1.0), out=rates, where=known)
        np.divide(observations.m2[pulled], 2.0 * high, out=squares, where=known)
        # (exp(e) - 1)/e is about the excess there.
        over = np.maximum(np.where(known, excess[pulled], 1.0) - 1.0, 0.0)
        most = np.where(known, 2.0 * over / (1.0 + 0.6 * over), -1.0)
        summary = GaussianRound(
            loads.T @ observations.mean[pulled],
            F,
            loads,
            rates,
            squares,
            most,
            after[pulled] / (2.0 * c),
            within=within,
        )
        self.summaries.append(summary)
        return summary

    def bets(self, m: int) -> SizedBets:
        """Bets on m directions that nothing was staked on yet."""
        return SizedBets(m)
