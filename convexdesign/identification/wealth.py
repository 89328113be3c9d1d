"""Wealth of a bet against y'theta <= 0: a test martingale, and the upper confidence ends of variances that it needs.

Both are nonnegative, start at one, and have expectation at most one under what they bet against, whatever the data-driven
choices were, as long as those used earlier rounds only. By Ville's inequality they ever reach 1/p with probability at
most p.
"""

from __future__ import annotations

import numpy as np

from convexdesign.estimation.error_bound import Noise
from convexdesign.typing import Floats

__all__ = ["log_variance_wealth", "log_wealth", "variance_upper_ends"]


# Bets on a variance: the best l for k degrees of freedom and threshold a is about sqrt(log(a)/k), so this geometric
# grid serves from two pulls to a hundred million.
BETS = np.asarray(4.0 / 4.0 ** np.arange(9), dtype=float)
# Below 1/3, where strictly sub-Gaussian rewards leave something to win.
SUB_GAUSSIAN_BETS = BETS[BETS < 0.3]


def log_wealth(M: Floats, V: Floats, rho: Floats) -> Floats:
    """log mean_j 2 sqrt(rho_j/(V + rho_j)) exp(M²/(2(V + rho_j))) Phi(M/sqrt(V + rho_j)); rho along the first axis.

    M = Σ_k y'theta_k / v_k and V = Σ_k 1/v_k, with v_k a bound on the variance of y'theta_k known before round k. Where
    y'theta <= 0, exp(lambda M - lambda² V / 2) is a supermartingale for every lambda >= 0; this is its mean over
    lambda from half-normal laws with density 2 sqrt(rho/2pi) exp(-rho lambda²/2), and over rho. rho must be fixed
    before the first reward that M contains. Grows with M.

    >>> float(log_wealth(np.zeros(1), np.zeros(1), np.ones((3, 1)))[0])
    0.0
    """
    from scipy.special import log_ndtr

    total = V + rho
    size = M / np.sqrt(total)
    return _log_mean(np.log(2.0) + 0.5 * np.log(rho / total) + 0.5 * size**2 + log_ndtr(size))


def log_variance_wealth(squares: Floats, dof: Floats, variance: Floats, noise: Noise = "gaussian") -> Floats:
    """log of a bet against the noise VARIANCE being as large as `variance` (n,); zero without degrees of freedom.

    squares: S = Σ_k m2_k and dof = Σ_k max(c_k - 1, 0), both (n,), over rounds whose counts c_k were chosen from earlier
    rounds only. The mean over a grid of l of exp(-l S/s² + dof psi(l)), which is

    - for Gaussian noise a martingale with psi(l) = log(1 + 2l)/2, as m2_k/s² is chi-square given the past;
    - for strictly sub-Gaussian noise a supermartingale with psi(l) = l - 3l². Proof: D = (e_i - e_j)²/2 of two errors has
      mean s² and E D² <= 3 s⁴, so exp(-x) <= 1 - x + x²/2 gives E exp(-aD/s²) <= exp(-a + 3a²/2). m2 of c pulls is the
      average, over all ways to form floor(c/2) disjoint pairs, of Σ D times b = (c - 1)/floor(c/2) <= 2; by
      convexity E exp(-l m2/s²) <= exp(floor(c/2) (-bl + 3b²l²/2)) <= exp(-(c - 1)(l - 3l²)).

    >>> float(log_variance_wealth(np.zeros(1), np.zeros(1), np.ones(1))[0])
    0.0
    """
    logs = _bets(squares / variance, dof, noise)[0]
    return np.asarray(_log_mean(logs))


def variance_upper_ends(
    squares: Floats, dof: Floats, threshold: float, high: float = np.inf, noise: Noise = "gaussian"
) -> Floats:
    """The largest VARIANCES (n,) up to `high` against which the wealth stays below `threshold`; arguments as above.

    If all s_x² <= high, then with probability at least 1 - n/threshold the ends of every round hold s_x² for all n
    arms at once. The equation in t = S/s² is convex and decreasing, and Newton's method from below stays on the side
    where the end is too large rather than too small; it starts where the best single bet alone would suffice.
    """
    goal = np.log(threshold)
    logs, bets = _bets(np.zeros_like(squares), dof, noise)
    t = np.maximum(((logs - np.log(bets.size) - goal) / bets[:, None]).max(axis=0), 0.0)
    for _ in range(60):
        logs, bets = _bets(t, dof, noise)
        value = _log_mean(logs)
        share = np.exp(logs - logs.max(axis=0))
        slope = (share * bets[:, None]).sum(axis=0) / share.sum(axis=0)
        step = np.maximum(value - goal, 0.0) / slope
        t = t + step
        if np.all(step <= 1e-10 * t):
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(t > 0, squares / t, np.inf)
    return np.minimum(ends, high)


def _bets(t: Floats, dof: Floats, noise: Noise) -> tuple[Floats, Floats]:
    """-l t + dof psi(l) for every l of the grid (first axis), and the grid."""
    if noise == "gaussian":
        bets, psi = BETS, np.asarray(0.5 * np.log1p(2.0 * BETS))
    else:
        bets = SUB_GAUSSIAN_BETS
        psi = bets - 3.0 * bets**2
    return np.asarray(-bets[:, None] * t + psi[:, None] * dof), bets


def _log_mean(logs: Floats) -> Floats:
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.mean(np.exp(logs - most), axis=0)))
