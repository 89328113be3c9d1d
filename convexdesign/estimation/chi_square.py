"""Confidence intervals for the noise variance of each arm on its own, without any model across arms."""

from __future__ import annotations

import numpy as np

from convexdesign.errors import InputError
from convexdesign.estimation.observations import Observations
from convexdesign.typing import Floats

__all__ = ["chi_square_intervals"]


def chi_square_intervals(observations: Observations, delta: float = 0.05) -> tuple[Floats, Floats]:
    """Lower and upper ends (n_arms,) that hold ALL noise VARIANCES s_x² at once with probability at least 1 - delta.

    m2 / s_x² is chi-square with count - 1 degrees of freedom, so s_x² lies between m2 / q(1 - a/2) and m2 / q(a/2) with
    probability 1 - a exactly; a = delta / k over the k arms with two pulls or more (Bonferroni). Arms with fewer get
    0 and infinity. Exact for Gaussian noise and numbers of pulls that were fixed beforehand: not for counts that
    depend on the rewards; heavier tails than Gaussian make the intervals too short.

    >>> import convexdesign as cd
    >>> o = cd.estimation.Observations.from_rewards(2, arms=[0, 0, 0, 1], rewards=[1.0, 2.0, 3.0, 7.0])
    >>> low, high = cd.estimation.chi_square_intervals(o, delta=0.05)
    >>> low.round(3).tolist(), high.round(1).tolist()
    ([0.271, 0.0], [39.5, inf])
    """
    from scipy.stats import chi2

    if not 0 < delta < 1:
        raise InputError(f"delta is {delta!r}; a probability of failure lies strictly between 0 and 1")
    known = observations.count > 1
    low, high = np.zeros(observations.n_arms), np.full(observations.n_arms, np.inf)
    if known.any():
        share = delta / np.count_nonzero(known)
        dof, m2 = observations.count[known] - 1, observations.m2[known]
        low[known] = m2 / chi2.isf(share / 2, dof)
        high[known] = m2 / chi2.ppf(share / 2, dof)
    return low, high
