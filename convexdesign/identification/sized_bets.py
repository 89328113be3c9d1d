"""Bets whose wealth is no function of two sums: one of each size is kept, and their mean is the wealth.

Where a round's growth depends on the size of a bet by more than its square, as with stakes on rewards in a range or with
variances that the round itself tells, the mixture over sizes has no closed form. It is the mean over a grid, weighted by the
probabilities of its cells under the mixture of half-normal laws of `log_wealth`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.identification.evidence import SCALES, SHARES, Bets, CoordinateFit
from convexdesign.typing import Floats

__all__ = ["BLOCK", "SIZES", "WEIGHTS", "SizedBets", "StakedRound"]

# Sizes of bets, in standard deviations of the first round's estimate: the half-normal laws that `log_wealth` mixes, on a
# grid fine enough that a size between two points loses less than a percent of what it would win.
RATIO = 1.25
SIZES = np.asarray(RATIO ** np.arange(np.log(2e-4) // np.log(RATIO), np.log(16.0) // np.log(RATIO) + 1), dtype=float)
# Where the order of the gaps is told: sizes in such gaps, and their law, normal about one with this deviation, above zero. It
# asks for less evidence than the mixture above for gaps from a half to three times the told one.
TOLD_SIZES = np.asarray(1.15 ** np.arange(-30, 13), dtype=float)
TOLD_DEVIATION = 0.5
# The share of that law; the rest is the mixture above, so that gaps of any other order, which some items may well have, cost
# two or three nats more and not in proportion.
TOLD_SHARE = 0.9
# Numbers held at once while the growth of many bets is computed.
BLOCK = 2**21


def _weights() -> Floats:
    from math import erf

    edges = np.append(SIZES / np.sqrt(RATIO), np.inf)
    edges[0] = 0.0
    # The half-normal law of scale rho has standard deviation 1/sqrt(rho).
    below = np.array([[erf(edge * np.sqrt(scale / 2.0)) for edge in edges] for scale in SCALES])
    return np.asarray(SHARES @ np.diff(below, axis=1))


# The probability of each size, that of its cell under the mixture of half-normal laws; they sum to one.
WEIGHTS = _weights()


def _told_weights() -> Floats:
    from math import erf

    edges = np.append(TOLD_SIZES / np.sqrt(1.15), np.inf)
    edges[0] = 0.0
    below = np.array([erf((edge - 1.0) / (TOLD_DEVIATION * np.sqrt(2.0))) for edge in edges])
    return np.asarray(np.diff(below) / (below[-1] - below[0]))


# The probability of each of these sizes, that of its cell, and of the sizes above.
TOLD_WEIGHTS = np.concatenate([TOLD_SHARE * _told_weights(), (1.0 - TOLD_SHARE) * WEIGHTS])


@dataclass(frozen=True, eq=False)
class StakedRound(CoordinateFit, ABC):
    """A round of which bets of every size win something else."""

    @abstractmethod
    def growth(self, coordinates: Floats, sizes: Floats, precision: Floats) -> tuple[Floats, Floats]:
        """The logarithms (k, s) by which bets of sizes (k, s) on k directions multiply their wealth, against y'theta <= 0,
        and size/v as it was staked; precision (k,): 1/v.
        """


class SizedBets(Bets):
    """Bets on m directions, one of each size at once; see the module. `V`, `first` and `best` as in `Bets`.

    gap: the order of the values y'theta that matter, if it is known; then some sizes are gaps. The others, or all, are the
    first round's deviations.
    logs (m, s): log wealth of each size, paid (m, s): Σ size/v as staked, which is what a shift of y'theta is worth.
    """

    def __init__(self, m: int, gap: float | None = None) -> None:
        super().__init__(m)
        self.gap = gap
        self.log_weights = np.log(WEIGHTS if gap is None else TOLD_WEIGHTS)
        self.logs, self.paid = np.zeros((2, m, self.log_weights.size))

    def take(
        self,
        summary: CoordinateFit,
        coordinates: Floats,
        shift: float = 0.0,
        active: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take in a round, against y'theta + shift <= 0 of each direction with these coordinates (m, r), chosen before."""
        estimates, precision = summary.of(coordinates)
        if active is not None:
            precision = np.where(active, precision, 0.0)
        on = np.flatnonzero(precision > 0)
        self.V = self.V + precision
        self.first = np.where(self.first > 0, self.first, precision)
        sizes = SIZES / np.sqrt(self.first[on])[:, None]
        if self.gap is not None:
            told = np.broadcast_to(self.gap * TOLD_SIZES, (on.size, TOLD_SIZES.size))
            sizes = np.concatenate([told, sizes], axis=1)
        if isinstance(summary, StakedRound):
            growth, stakes = summary.growth(coordinates[on], sizes, precision[on])
        else:
            # v bounds the variance of y'theta_k.
            stakes = sizes * precision[on, None]
            growth = stakes * (estimates[on, None] - sizes / 2.0)
        self.logs, self.paid = self.logs.copy(), self.paid.copy()
        self.logs[on] += growth + shift * stakes
        self.paid[on] += stakes
        self.best = np.maximum(self.best, self.log_wealth())

    def log_wealth(self, shift: float | Floats = 0.0) -> Floats:
        """The log wealth (m,) now, or had the bets been against y'theta + shift <= 0 of each (one shift, or (m,))."""
        logs = self.logs + np.asarray(shift)[..., None] * self.paid + self.log_weights
        most = logs.max(axis=1)
        return np.asarray(most + np.log(np.exp(logs - most[:, None]).sum(axis=1)))
