"""Confidence sequences: intervals for y'theta of chosen directions y that hold at all times at once.

The wealth of the bets against y'theta <= m, `Bets.log_wealth(-m)`, falls in m and exceeds k, ever, with probability at most
1/k where that is true. So the m that it rules out lie below y'theta at all times but with that probability, and the bets on
-y give the upper end. A union over 2 |Y| such events makes the intervals of |Y| directions, all fixed beforehand, simultaneous;
being valid at all times, they may be cut by what earlier rounds gave. Howard, Ramdas, McAuliffe and Sekhon (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.estimation.error_bound import Noise
from convexdesign.identification.evidence import Bets, Evidence, variance_upper_ends
from convexdesign.typing import Floats

__all__ = ["Sequences", "evidence_of_rounds", "lower_ends", "sequences"]

# Steps of the search for an end: doublings to get below it, secants to find it, to this share of a first guess of the width.
DOUBLINGS, SECANTS, PRECISION = 80, 60, 1e-12


@dataclass(frozen=True, eq=False)
class Sequences:
    """Ends (rounds, k) of the intervals of k directions after every round; infinite where nothing is known yet."""

    low: Floats
    high: Floats

    def within(self, least: Floats, most: Floats) -> Sequences:
        """Ends that leave [least, most] (k,) put there: the values are known to lie between."""
        if np.isinf(least).all() and np.isinf(most).all():
            return self
        return Sequences(np.clip(self.low, least, most), np.clip(self.high, least, most))


def sequences(evidence: Evidence, rounds: Sequence[int], directions: Floats, threshold: float) -> Sequences:
    """Intervals of rows y (k, d) after each round, whose ends are where the wealth reaches exp(threshold).

    rounds: how many of the summaries of the evidence there were after each. y = 0 has the interval [0, 0].
    """
    coordinates = evidence.space.coordinates(directions)
    up, down = evidence.bets(len(directions)), evidence.bets(len(directions))
    low, high = np.full(len(directions), -np.inf), np.full(len(directions), np.inf)
    lows, highs = np.empty((2, len(rounds), len(directions)))
    done = 0
    for k, number in enumerate(rounds):
        news = evidence.summaries[done:number]
        for summary in news:
            up.take(summary, coordinates)
            down.take(summary, -coordinates)
        if news:
            estimates = news[-1].of(coordinates)[0]
            low = np.maximum(low, lower_ends(up, estimates, threshold))
            high = np.minimum(high, -lower_ends(down, -estimates, threshold))
        done = number
        lows[k], highs[k] = low, high
    zero = ~np.asarray(coordinates, dtype=float).any(axis=1)
    lows[:, zero] = highs[:, zero] = 0.0
    return Sequences(lows, highs)


def lower_ends(bets: Bets, estimates: Floats, threshold: float) -> Floats:
    """The largest m (k,), but for rounding, with a log wealth against y'theta <= m of at least the threshold.

    -inf where nothing was bet. The search begins near `estimates` (k,). The log wealth is that of a mean of exponentials of
    linear functions of m, so convex, and falls: the secant through two points that are ruled out meets the threshold at one
    that is ruled out too, and so from below to the end.
    """
    begun = bets.V > 0
    step = np.sqrt(2.0 * threshold / np.where(begun, bets.V, 1.0))

    def log_wealth(m: Floats) -> Floats:
        return np.where(begun, bets.log_wealth(-m), np.inf)

    low = estimates - step
    value = log_wealth(low)
    for _ in range(DOUBLINGS):
        short = value < threshold
        if not short.any():
            break
        low, step = np.where(short, low - step, low), np.where(short, 2.0 * step, step)
        value = log_wealth(low)
    found = begun & (value >= threshold)
    before, value_before = low - step, log_wealth(low - step)
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(SECANTS):
            move = (value - threshold) * (low - before) / (value_before - value)
            move = np.where(np.isfinite(move), np.maximum(move, 0.0), 0.0)
            new = low + move
            value_new = log_wealth(new)
            good = value_new >= threshold  # beyond it by rounding alone: stay
            before, value_before = np.where(good, low, before), np.where(good, value, value_before)
            low, value = np.where(good, new, low), np.where(good, value_new, value)
            if not np.any(good & (move > PRECISION * step)):
                break
    return np.where(found, low, -np.inf)


def evidence_of_rounds(
    arms: Floats,
    rounds: Sequence[Observations],
    high: Floats,
    alpha: float | None,
    noise: Noise = "gaussian",
) -> tuple[Evidence, list[int]]:
    """The evidence of rounds with counts chosen from earlier rounds, and how many summaries there are after each.

    high (n,): what the VARIANCES are at most. alpha: upper ends of them may be learnt too, at the price of this probability;
    None: they are not, as for noise that only these bounds, or proxies, describe.
    """
    evidence = Evidence(np.asarray(arms, dtype=float))
    upper = np.asarray(high, dtype=float)
    squares, dof = np.zeros((2, upper.size))
    numbers = []
    for observations in rounds:
        before = upper
        if alpha is not None:
            squares = squares + observations.m2
            dof = dof + np.maximum(observations.count - 1, 0)
            ends = variance_upper_ends(squares, dof, upper.size / alpha, np.inf, noise)
            # Rewards that are all alike do not make an arm free of noise.
            upper = np.minimum(upper, np.where(ends > 0, ends, np.inf))
        evidence.add(observations, upper if noise == "gaussian" else before)
        numbers.append(len(evidence.summaries))
    return evidence, numbers
