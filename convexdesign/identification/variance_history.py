"""Whether the variance of an arm's noise has changed on the way: bounds learned from all rewards need one that stays."""

from __future__ import annotations

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.estimation.error_bound import Noise
from convexdesign.identification.evidence import BETS, SUB_GAUSSIAN_BETS
from convexdesign.typing import Floats, Indices

__all__ = ["VarianceHistory", "variance_ends"]

# Bets on a variance being smaller than it is.
BELOW = np.asarray(0.45 / 2.0 ** np.arange(14), dtype=float)


class VarianceHistory:
    """Pulls, degrees of freedom and sums of squares (3, n) after every round."""

    def __init__(self, n: int) -> None:
        self._sums: tuple[Floats, ...] = (np.zeros((3, n)),)

    def add(self, observations: Observations) -> None:
        """Take in a round."""
        dof = np.maximum(observations.count - 1, 0)
        # Not in place: a copy of an algorithm in an earlier state keeps its own history.
        self._sums = (*self._sums, self._sums[-1] + np.array([observations.count, dof, observations.m2]))

    def changed(self, level: float, noise: Noise) -> tuple[Indices, Floats, Floats]:
        """Arms (k,) whose variances in two halves of the rounds cannot be equal, and these sample variances (k,), (k,).

        Wrong with probability at most `level` over all arms and rounds: both halves have ends that hold at any time
        with all but level/(4n) each, and of that the second has 1/(c(c + 1)) where it begins after round c.
        """
        now = self._sums[-1]
        n, none = now.shape[1], np.zeros(0)
        samples = np.array([sums[0].sum() for sums in self._sums])
        c = int(np.argmin(np.abs(samples - samples[-1] / 2.0)))
        if not 0 < c < len(self._sums) - 1:
            return np.zeros(0, dtype=np.intp), none, none
        first, second = self._sums[c], now - self._sums[c]
        a = variance_ends(first, 4.0 * n / level, noise)
        b = variance_ends(second, 4.0 * n * c * (c + 1) / level, noise)
        arms = np.flatnonzero((first[1] > 0) & (second[1] > 0) & ((a[1] < b[0]) | (b[1] < a[0])))
        return arms, first[2, arms] / first[1, arms], second[2, arms] / second[1, arms]


def variance_ends(sums: Floats, threshold: float, noise: Noise) -> tuple[Floats, Floats]:
    """Ends (n,), (n,) between which a VARIANCE lies at all times, but for probability 1/threshold on each side.

    sums (3, n): pulls c, degrees of freedom k and sums of squares S. exp(-lS/s²)/E(l) with E(l) >= E exp(-lS/s²) is a
    supermartingale for any allocation; so is the mean over a grid of J values of l, which is at least a J-th of each.
    Upper end: E as in `log_variance_wealth`. Lower end, l = -h: E = (1 - 2h)^(-k/2), as S/s² is chi-square; for strictly
    sub-Gaussian errors e with c in place of k, since S <= Σe² and E exp(he²/s²) = E exp(sqrt(2h) g e/s) <= E exp(hg²), g
    standard normal.
    """
    count, dof, squares = sums
    gaussian = noise == "gaussian"
    l, h = (BETS if gaussian else SUB_GAUSSIAN_BETS)[:, None], BELOW[:, None]  # noqa: E741
    psi = np.log1p(2.0 * l) / 2.0 if gaussian else l - 3.0 * l**2
    least = ((dof * psi - np.log(threshold * l.size)) / l).max(axis=0)
    grown = -0.5 * (dof if gaussian else count) * np.log1p(-2.0 * h)
    most = ((np.log(threshold * h.size) + grown) / h).min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return squares / most, np.where(least > 0, squares / least, np.inf)
