"""Whether rewards contradict the variances they were assumed to have: if they do, no guarantee is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexdesign.estimation import Observations, least_squares
from convexdesign.problem.read import Rows
from convexdesign.typing import Floats, Indices

__all__ = ["VOID", "GuaranteeWarning", "contradicted_arms", "too_far_from_any_line"]


# What warnings of contradictions say, before the remedy.
VOID = "the guarantee is void"


class GuaranteeWarning(UserWarning):
    """The data contradict an assumption of the algorithm: its promise (delta) is void."""


def contradicted_arms(batch: Observations, low: Any, high: Any, level: float) -> Indices:
    """Arms whose rewards in one batch contradict low <= s_x² <= high; VARIANCES, scalar or (n,).

    Wrong with probability at most `level` over all arms, whatever the earlier batches were: with c pulls, S = m2,
    k = c - 1 and t = log(2n/level), strictly sub-Gaussian noise of variance s² has S > s² (c + 2 sqrt(ct) + 2t) with
    probability at most exp(-t) (Laurent and Massart 2000 for S at most the squares about the true mean), and
    S < s² (k - 2 sqrt(3kt)) as well (from E exp(-lS/s²) <= exp(-(l - 3l²)k); see `log_variance_wealth`).
    """
    c = batch.count.astype(float)
    k = np.maximum(c - 1.0, 0.0)
    t = np.log(2.0 * c.size / level)
    too_large = batch.m2 > high * (c + 2.0 * np.sqrt(c * t) + 2.0 * t)
    too_small = batch.m2 < low * (k - 2.0 * np.sqrt(3.0 * k * t))
    return np.flatnonzero((c > 1) & (too_large | too_small))


def too_far_from_any_line(
    arms: Rows, everything: Observations, high: Any, level: float, theta: Floats | None = None
) -> bool:
    """Whether the rewards of all batches are further from every x'theta than variances of at most `high` allow.

    Ever true with probability at most `level`, however counts were chosen: E exp(e²/(4s²)) <= sqrt(2) for one error, so
    exp(Σ e²/(4 s²) - N log(2)/2) is a supermartingale in the number N of pulls, and the weighted squares about the
    least squares fit are at most those about the truth. Finds gross errors that single pulls of many arms reveal.
    theta (d,): an estimate, if there is one; where it is near enough, the fit is too.
    """
    limit = 2.0 * np.log(2.0) * everything.total - 4.0 * np.log(level)
    if theta is not None:
        about = everything.m2 + everything.count * (everything.mean - np.asarray(arms.values, dtype=float) @ theta) ** 2
        if np.sum(about / high) <= limit:
            return False
    fit = least_squares(arms, everything, np.broadcast_to(high, everything.n_arms))
    squares = fit.residual_variance * (everything.total - fit.rank)
    return bool(squares > limit)
