"""Rewards of two values: how many there are and their mean say all, so that what was left out or rounded is put right."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.typing import Floats

__all__ = ["SAME", "half_digit", "put_right", "rounded_put_right", "summed"]

# How far from a whole number the number of rewards that are the higher value may be, for rounding in double precision.
WHOLE = 1e-6
# Sums of squares that differ from the exact one by less differ by rounding in double precision alone.
SAME = 1e-9
# What is further from the exact sum of squares than this share of it is no rounding, however few digits were written.
COARSEST = 0.1


def summed(low: float, high: float, count: int, number: int) -> tuple[float, float]:
    """Mean and sum of squares about it, as `Observations.from_successes` has them, of one arm's rewards.

    >>> summed(0.0, 1.0, 32, 2)
    (0.0625, 1.875)
    """
    found = Observations.from_successes([count], [number], low=low, high=high)
    return float(found.mean[0]), float(found.m2[0])


def half_digit(text: str) -> float:
    """Half a unit in the last digit that was written; 0 where it is no number.

    >>> half_digit("0.0605")
    5e-05
    """
    try:
        exponent = Decimal(text).as_tuple().exponent
    except InvalidOperation:
        return 0.0
    return 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0


def put_right(
    low: float,
    high: float,
    count: int,
    mean: float,
    m2: float | None,
    *,
    mean_slack: float = 0.0,
    m2_slack: float = 0.0,
) -> tuple[float, float] | None:
    """The exact mean and sum of squares of rewards that are all low or high, where those given are these but for rounding.

    None where they are not: `mean` must make a whole number of rewards `high`, and m2 (None: not given) be the sum of
    squares that follows. slack: half a unit in the last digit that was written.

    >>> put_right(0.0, 1.0, 32, 0.0625, 1.88, m2_slack=0.005)
    (0.0625, 1.875)
    """
    number, room = count * (mean - low) / (high - low), count * mean_slack / (high - low)
    whole = round(number) if abs(number) <= 2.0 * count else -1
    if not 0 <= whole <= count or abs(number - whole) > WHOLE + (room if room < 0.5 else 0.0):
        return None
    exact_mean, exact = summed(low, high, count, whole)
    if m2 is not None and abs(m2 - exact) > max(SAME * exact, min(m2_slack * (1.0 + SAME), COARSEST * exact)):
        return None
    return (mean if abs(number - whole) <= WHOLE else exact_mean), exact


def rounded_put_right(low: Floats, high: Floats, told: Observations) -> tuple[Observations, list[int]]:
    """Observations whose sums of squares are exact where they were rounded, and the arms where they were."""
    m2, arms = told.m2.copy(), []
    for i in np.flatnonzero(told.count > 1).tolist():
        given = float(m2[i])
        found = put_right(
            float(low[i]),
            float(high[i]),
            int(told.count[i]),
            float(told.mean[i]),
            given,
            m2_slack=half_digit(repr(given)),
        )
        if found is not None and abs(found[1] - given) > SAME * found[1]:
            m2[i] = found[1]
            arms.append(i)
    return (Observations(told.count, told.mean, m2) if arms else told), arms
