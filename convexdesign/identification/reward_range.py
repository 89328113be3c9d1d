"""Between which values rewards lie, arm by arm: what bets on bounded rewards rest on, and whether rewards keep to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import numeric, shown
from convexdesign.arms.labels import called
from convexdesign.errors import InputError
from convexdesign.estimation import Observations
from convexdesign.typing import Floats, Indices

__all__ = ["BOUNDED_NOISES", "RewardRange", "reward_range_of"]

# The laws of rewards that are known by their range alone: two values, or all between them.
BOUNDED_NOISES = ("bernoulli", "bounded")
# Means and sums of squares of rewards within their range may miss it by so much, for rounding, relative to its width.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RewardRange:
    """Rewards of arm x lie between low_x and high_x, (n,) each; two_valued: they are one of the two.

    >>> from convexdesign.estimation import Observations
    >>> cents = RewardRange(np.zeros(2), np.array([9.0, 12.0]), two_valued=True)
    >>> cents.outside(Observations.from_rewards(2, [0, 0, 1, 1], [0.0, 9.0, 12.0, 9.0]))
    array([False,  True])
    """

    low: Floats
    high: Floats
    two_valued: bool

    @property
    def width(self) -> Floats:
        """(n,): high - low."""
        return self.high - self.low

    @property
    def largest_variances(self) -> Floats:
        """(n,): no rewards in the range have larger VARIANCES (Popoviciu)."""
        return self.width**2 / 4.0

    @property
    def assumption(self) -> str:
        """What bets on such rewards rest on, in words that follow "if"."""
        if np.ptp(self.low) > 0 or np.ptp(self.high) > 0:
            between, values = "in the range given for its arm", "one of the two values given for its arm"
        else:
            low, high = self.low[0], self.high[0]
            between, values = f"between {low:g} and {high:g}", f"either {low:g} or {high:g}"
        which = f"{values} (Bernoulli noise)" if self.two_valued else f"{between} (bounded noise)"
        return f"rewards are independent with means x'theta, and every reward is {which}, of any variances"

    def of_arm(self, i: int) -> str:
        """What the rewards of arm i are, in words."""
        low, high = self.low[i], self.high[i]
        return f"either {low:g} or {high:g}" if self.two_valued else f"between {low:g} and {high:g}"

    def contradiction(self, i: int, observations: Observations) -> str:
        """What it is about the rewards of arm i that `outside` names, in words; a guess at the mistake where there is one."""
        count, mean, m2 = (getattr(observations, name)[i] for name in ("count", "mean", "m2"))
        low, high = self.low[i], self.high[i]
        these = f"{count:,} of them have mean {mean:g}" if count > 1 else f"one is {mean:g}"
        if not low <= mean <= high or count == 1:
            percent = low == 0.0 and high == 1.0 and 1.0 < mean <= 100.0
            return these + (": percent must be divided by 100" if percent else "")
        implied = count * (mean - low) * (high - mean)
        number = count * (mean - low) / (high - low)
        if self.two_valued and abs(number - round(number)) > 1e-6 * max(1.0, number):
            return f"{these}, so that {number:.10g} would be {high:g}"
        at_most = "" if self.two_valued else "at most "
        return f"{these}, and squares about it of {m2:g}, which with that mean are {at_most}{implied:g}"

    def highs(self, observations: Observations) -> Floats:
        """How many rewards of each arm (n,) were the higher value, where all are one of the two."""
        share = (observations.mean - self.low) / self.width
        return np.asarray(observations.count * np.clip(share, 0.0, 1.0), dtype=float)

    def outside(self, observations: Observations) -> NDArray[np.bool_]:
        """(n,): whether some reward of an arm cannot be as said.

        Rewards within the range have their mean in it, and squares of at most c (mean - low)(high - mean) about that:
        exactly so much where they are one of the two ends.
        """
        count, width = observations.count, self.width
        slack = ROUNDING * width + 1e-12 * np.abs(observations.mean)
        below, above = observations.mean - self.low, self.high - observations.mean
        most = count * np.maximum(below, 0.0) * np.maximum(above, 0.0)
        room = count * slack * width
        wrong = (below < -slack) | (above < -slack) | (observations.m2 > most + room)
        if self.two_valued:
            wrong |= observations.m2 < most - room
            highs = self.highs(observations)
            wrong |= np.abs(highs - np.round(highs)) > np.maximum(1.0, count) * slack / width + 1e-6
        return np.asarray((count > 0) & wrong)

    def single_outside(self, arms: Indices, rewards: Floats) -> NDArray[np.bool_]:
        """(k,): whether a single reward of an arm cannot be as said; sums hide one reward outside among many within."""
        low, high = self.low[arms], self.high[arms]
        slack = ROUNDING * (high - low) + 1e-12 * np.abs(rewards)
        if self.two_valued:
            return np.asarray(np.minimum(np.abs(rewards - low), np.abs(rewards - high)) > slack)
        return np.asarray((rewards < low - slack) | (rewards > high + slack))


def reward_range_of(noise: str, reward_range: Any, n: int, names: Sequence[str] | None = None) -> RewardRange | None:
    """The range of n arms' rewards; None for noise that is known by its variances. InputError where it makes no sense.

    reward_range: (low, high), scalars or (n,) each; (0, 1) where it is left out for two-valued rewards.
    """
    if noise not in BOUNDED_NOISES:
        if reward_range is not None:
            raise InputError(
                f"reward_range is given, and noise is {noise!r}, which has none; give noise='bernoulli' for rewards that "
                "are one of its two ends, noise='bounded' for all rewards between them"
            )
        return None
    if reward_range is None:
        if noise == "bounded":
            raise InputError("noise='bounded' needs reward_range=(low, high), between which all rewards lie")
        reward_range = (0.0, 1.0)
    low, high = _ends(reward_range, n)
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high) & (low < high)))
    if bad.size:
        i = bad[0]
        raise InputError(
            f"reward_range of arm {called(names, i)} is ({low[i]:g}, {high[i]:g}); it needs low < high, both finite"
        )
    return RewardRange(low, high, noise == "bernoulli")


def _ends(reward_range: Any, n: int) -> tuple[Floats, Floats]:
    try:
        low, high = reward_range
    except (TypeError, ValueError):
        raise InputError(f"reward_range must be a pair (low, high), got {shown(reward_range)}") from None
    ends = []
    for name, end in (("low", low), ("high", high)):
        values = np.asarray(numeric(end, f"reward_range's {name} end"), dtype=float)
        if values.shape not in ((), (n,)):
            raise InputError(
                f"reward_range's {name} end has shape {values.shape}; give one number, or one for each of {n} arms"
            )
        ends.append(np.array(np.broadcast_to(values, n)))
    return ends[0], ends[1]
