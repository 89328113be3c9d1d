"""Whether rewards contradict the variances they were assumed to have: if they do, no guarantee is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexdesign.arms.labels import called
from convexdesign.arms.read import LabelledVectors
from convexdesign.estimation import Observations, least_squares
from convexdesign.typing import Floats, Indices

__all__ = [
    "LEVEL",
    "VOID",
    "GuaranteeWarning",
    "and_more_arms",
    "arm_name",
    "assumption_violation",
    "contradicted_arms",
    "too_far_from_any_line",
]

# What warnings of violated assumptions say, before the remedy.
VOID = "the guarantee is void"
# Probability that results are ever wrongly said to contradict what an algorithm assumes; all its checks share it.
LEVEL = 1e-6


class GuaranteeWarning(UserWarning):
    """The data contradict an assumption of the algorithm: its promise (delta) is void."""


def assumption_violation(
    arms: LabelledVectors,
    number: int,
    batch: Observations,
    everything: Observations,
    bounds: tuple[Any, Any],
    level: float,
    theta: Floats | None = None,
) -> str | None:
    """What in the batch just told contradicts low <= s_x² <= high, in words; VARIANCES, scalar or (n,); or None.

    number: of this batch, from 1. Wrong with probability at most `level` over all batches: half of it for single
    batches, 1/(t(t + 1)) of that for batch t, and half for all together.
    """
    low, high = (np.broadcast_to(end, batch.n_arms) for end in bounds)
    half = level / 2.0
    bad = contradicted_arms(batch, low, high, half / (number * (number + 1)))
    if bad.size:
        return (
            f"the rewards of arm {arm_name(arms, bad[0])}{and_more_arms(bad.size)} have variance "
            f"{batch.sample_variance()[bad[0]]:g}, which is not between {low[bad[0]]:g} and {high[bad[0]]:g}"
        )
    # All batches together are looked at after 1, 2, 4, 8, ... of them: errors that gross are found early.
    if number & (number - 1) == 0 and too_far_from_any_line(arms, everything, high, half, theta):
        return f"the rewards are further from every linear model than variances up to {high.max():g} allow"
    return None


def arm_name(arms: LabelledVectors, i: int) -> str:
    """What an arm is called in messages."""
    return called(arms.names, i)


def and_more_arms(arms: int, link: str = "and") -> str:
    """What follows the name of the first of so many arms."""
    if arms == 1:
        return ""
    return f", {link} of {arms - 1} more {'arm' if arms == 2 else 'arms'},"


def contradicted_arms(batch: Observations, low: Floats, high: Floats, level: float) -> Indices:
    """Arms whose rewards in one batch contradict low <= s_x² <= high, (n,) each.

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
    arms: LabelledVectors, everything: Observations, high: Floats, level: float, theta: Floats | None
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
    fit = least_squares(arms, everything, high)
    squares = fit.residual_variance * (everything.total - fit.rank)
    return bool(squares > limit)
