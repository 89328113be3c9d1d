"""Bets on rewards that are only known to lie in a range: no variance is assumed, bounded or estimated for their validity.

A bet on one reward Y of arm x, whose mean is mu and which lies in [low, high], multiplies the wealth by 1 + t(Y - m), with
a stake t and a centre m that were chosen before; it stays nonnegative while t(m - low) <= 1 and -t(high - m) <= 1. On
average it does so by 1 + t(mu - m) <= exp(t(mu - m)), whatever else is true of Y. A round bets on y'theta through the
weights h_x of an unbiased estimate y'theta_k = Σ h_x Σ_j Y_xj, so that Σ c_x h_x x = y, with stakes t_x = (size/v) h_x
and one size for all arms: the product of all these factors, times exp(Σ c_x t_x m_x), has expectation at most
exp(Σ c_x t_x mu_x) = exp(size y'theta/v), which is at most one where y'theta <= 0. For every sequence of sizes chosen
beforehand the products of rounds are therefore a supermartingale, and so is their mean over a grid of sizes.

Variances enter through the guesses g_x in the weights, and through v, their guess of the variance of y'theta_k: these
make bets good, not valid. With rewards of two values the logarithm of the product needs their numbers alone. For others
the inequality log(1 + u) >= u - k(c) u², k(c) = -(log(1 - c) + c)/c², for u >= -c (Fan, Grama and Liu 2015, 4.1) bounds it from
below by means and sums of squares: still a supermartingale, as less is won.
Proof of the inequality: (u - log(1 + u))/u² falls in u on (-1, inf), as it is the integral of s/(1 + su) over [0, 1].

Sources: Waudby-Smith and Ramdas (2024), betting; Howard et al. (2021), the empirical Bernstein boundary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.identification.evidence import Evidence, information_factor
from convexdesign.identification.reward_range import RewardRange
from convexdesign.identification.sized_bets import BLOCK, SizedBets, StakedRound
from convexdesign.typing import Floats

__all__ = ["BoundedEvidence", "BoundedRound"]

# At most this share of what a bet may stake.
LARGEST_STAKE = 0.9


@dataclass(frozen=True, eq=False)
class BoundedRound(StakedRound):
    """A round of rewards in a range: the fit with guessed variances, and what bets on its p pulled arms win.

    loads (p, r): h = loads g are the weights of the rewards in y'theta_k, g the coordinates of y. centres, below,
    above (p,): m, m - low and high - m. highs (p,): how many rewards were the higher of two
    values; None where they may be others. squares (p,): Σ (Y - m)².
    """

    loads: Floats
    count: Floats
    mean: Floats
    centres: Floats
    below: Floats
    above: Floats
    highs: Floats | None
    squares: Floats

    def growth(self, coordinates: Floats, sizes: Floats, precision: Floats) -> tuple[Floats, Floats]:
        """The logarithms (k, s) by which bets of sizes (k, s) on k directions multiply their wealth, against y'theta <= 0,
        and size/v as it was staked; precision (k,): 1/v.
        """
        growth, stakes = np.empty_like(sizes), np.empty_like(sizes)
        step = max(1, BLOCK // max(1, sizes.shape[1] * self.count.size))
        for start in range(0, coordinates.shape[0], step):
            part = slice(start, start + step)
            h = coordinates[part] @ self.loads.T
            # What a unit of stake may lose on one reward, at worst.
            risk = np.maximum(np.where(h > 0, h * self.below, -h * self.above).max(axis=1), 0.0)
            most = np.divide(LARGEST_STAKE, risk, out=np.full_like(risk, np.inf), where=risk > 0)
            stakes[part] = np.minimum(sizes[part] * precision[part, None], most[:, None])
            growth[part] = self._won(stakes[part][:, :, None] * h[:, None, :])
        return growth, stakes

    def _won(self, t: Floats) -> Floats:
        """Σ over the arms (last axis) of what stakes t on their rewards win, in logarithms."""
        if self.highs is not None:
            return np.asarray(
                np.log1p(t * self.above) @ self.highs
                + np.log1p(-t * self.below) @ (self.count - self.highs)
                + t @ (self.count * self.centres)
            )
        c = np.where(t > 0, t * self.below, -t * self.above)
        return np.asarray(t @ (self.count * self.mean) - (_price(c) * t**2) @ self.squares)


def _price(c: Floats) -> Floats:
    """k(c) = -(log(1 - c) + c)/c² for 0 <= c < 1; 1/2 at 0.

    >>> _price(np.array([0.0, 1e-5, 0.5])).round(6)
    array([0.5     , 0.500003, 0.772589])
    """
    small = c < 1e-4
    safe = np.where(small, 0.5, c)
    return np.asarray(np.where(small, 0.5 + c / 3.0, -(np.log1p(-safe) + safe) / safe**2))


@dataclass(eq=False)
class BoundedEvidence(Evidence):
    """Evidence from rewards in a range."""

    reward_range: RewardRange | None = None

    def take(self, observations: Observations, guesses: Floats, centres: Floats) -> BoundedRound | None:
        """Take in a round; guessed VARIANCES (n,) and centres (n,), within the range, were chosen before its rewards."""
        within = self.reward_range
        assert within is not None
        found, within_arms = information_factor(self.rows, observations.count / guesses)
        if found is None:
            return None
        pulled = np.flatnonzero(observations.count != 0)
        inverse = found.T @ found
        loads = (self.rows[pulled] / guesses[pulled, None]) @ inverse
        count, mean = observations.count[pulled].astype(float), observations.mean[pulled]
        m = centres[pulled]
        summary = BoundedRound(
            loads.T @ (count * mean),
            found,
            loads,
            count,
            mean,
            m,
            m - within.low[pulled],
            within.high[pulled] - m,
            within.highs(observations)[pulled] if within.two_valued else None,
            observations.m2[pulled] + count * (mean - m) ** 2,
            within=within_arms,
        )
        self.summaries.append(summary)
        return summary

    def bets(self, m: int) -> SizedBets:
        """Bets on m directions that nothing was staked on yet."""
        return SizedBets(m)
