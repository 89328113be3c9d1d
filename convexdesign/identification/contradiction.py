"""Whether rewards contradict the variances they were assumed to have: if they do, no guarantee is left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations

__all__ = ["GuaranteeWarning", "contradicted"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class GuaranteeWarning(UserWarning):
    """The data contradict an assumption of the algorithm: its promise (delta) is void."""


def contradicted(observations: Observations, low: Any, high: Any, level: float) -> Indices:
    """Arms whose rewards in one batch contradict low <= s_x² <= high; VARIANCES, scalar or (n,).

    Wrong with probability at most `level` over all arms, whatever the earlier batches were: with c pulls, S = m2,
    k = c - 1 and t = log(2n/level), strictly sub-Gaussian noise of variance s² has S > s² (c + 2 sqrt(ct) + 2t) with
    probability at most exp(-t) (Laurent and Massart 2000 for S at most the squares about the true mean), and
    S < s² (k - 2 sqrt(3kt)) as well (from E exp(-lS/s²) <= exp(-(l - 3l²)k); see `variance_wealth`).
    """
    c = observations.count.astype(float)
    k = np.maximum(c - 1.0, 0.0)
    t = np.log(2.0 * c.size / level)
    too_large = observations.m2 > high * (c + 2.0 * np.sqrt(c * t) + 2.0 * t)
    too_small = observations.m2 < low * (k - 2.0 * np.sqrt(3.0 * k * t))
    return np.flatnonzero((c > 1) & (too_large | too_small))
