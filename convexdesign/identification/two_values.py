"""Whether rewards take two values only, as conversions and prices paid do: then they are no Gaussian noise.

Rewards of an arm that are all a or b satisfy Σ(y - a)(b - y) = 0, so that their mean m and sum of squares about it have
m2 = n(m - a)(b - m), and n(m - a)/(b - a) of them are b, a whole number. With a density, each of these equations, which
numbers must satisfy to eight digits or so, is a coincidence of as small a probability. Digits are added up over arms and
batches, less those that the values themselves were found from. Single rewards are looked at themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations
from convexdesign.typing import Floats, Indices

__all__ = ["ALIKE", "TwoValues", "alike", "two_values", "two_values_of_singles"]

# Digits that must agree before rewards are said to take two values: wrong once in 10^12 batches or less.
DIGITS = 12.0
# Fewer rewards may be two values, or one, because they were rounded.
FEWEST, ALIKE = 20, 10
# To what share of their size the equations must hold, and what rounding leaves of numbers that were subtracted.
RELATIVE, ROUNDING = 1e-8, 1e-13
# Rewards are often written with so many digits: then the two values are too.
UNITS = (1.0, 0.1, 0.01)
# How many equations of an arm the two values of each candidate were found from.
SPENT = (0, 1, 1, 2)


@dataclass(frozen=True, eq=False)
class TwoValues:
    """Arms (k,), indices, all of whose rewards are low or high, (k,) each."""

    arms: Indices
    low: Floats
    high: Floats

    def words(self, k: int) -> str:
        """The two values of the k-th of them."""
        return f"either {self.low[k]:g} or {self.high[k]:g}"


def two_values(before: Observations, batch: Observations) -> TwoValues | None:
    """The arms whose rewards, those before and those of a batch, take two values only; None where there are none.

    >>> visits, bought = np.array([64, 70]), np.array([3, 8])
    >>> rate = bought / visits
    >>> found = two_values(Observations.empty(2), Observations(visits, rate * 9.0, 81.0 * bought * (1.0 - rate)))
    >>> found.arms, found.high.round(9)
    (array([0, 1]), array([9., 9.]))
    """
    points = _Points.of(before, batch)
    varying = np.any(points.m2 > 0, axis=0) & (points.n.sum(axis=0) >= FEWEST)
    if not varying.any():
        return None
    lows, highs = points.candidates()
    for low, high, every in zip(lows, highs, points.digits(lows, highs)):
        digits = np.where(varying, every, -np.inf)
        agree = digits > -np.inf
        # All arms that vary at once, or those that are enough by themselves.
        if np.all(agree == varying) and digits[agree].sum() >= DIGITS:
            found = np.flatnonzero(agree)
        else:
            found = np.flatnonzero(digits >= DIGITS)
        if found.size:
            return TwoValues(found, np.minimum(low, high)[found], np.maximum(low, high)[found])
    return None


def two_values_of_singles(n: int, arms: NDArray[np.integer], rewards: Floats) -> TwoValues | None:
    """The arms, of n, with enough single rewards (k,), all of which are one of two numbers; None where there are none.

    Rewards with a density are never equal, so that one arm among others is enough, and so are few of the other value.

    >>> found = two_values_of_singles(2, np.repeat([0, 1], 20), np.r_[np.arange(20.0), 25.0, np.zeros(19)])
    >>> found.arms, found.high
    (array([1]), array([25.]))
    """
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, arms, rewards)
    np.maximum.at(high, arms, rewards)
    between = (rewards != low[arms]) & (rewards != high[arms])
    enough = np.bincount(arms, minlength=n) >= FEWEST
    found = np.flatnonzero(enough & (low < high) & (np.bincount(arms, between, n) == 0))
    return TwoValues(found, low[found], high[found]) if found.size else None


def alike(observations: Observations) -> Indices:
    """Arms that were pulled often enough, and whose rewards are all the same number."""
    return np.flatnonzero((observations.count >= ALIKE) & (observations.m2 == 0.0))


@dataclass(frozen=True, eq=False)
class _Points:
    """Numbers of rewards, means and sums of squares (2, 1, n): before, and of the batch; n = 0 where there are none.

    Candidates are (4, n), so that what is compared of each part, candidate and arm is (2, 4, n).
    """

    n: Floats
    mean: Floats
    m2: Floats

    @classmethod
    def of(cls, before: Observations, batch: Observations) -> _Points:
        n, mean, m2 = (
            np.array([[getattr(o, name)] for o in (before, batch)], dtype=float) for name in ("count", "mean", "m2")
        )
        return cls(n, mean, m2)

    def candidates(self) -> tuple[Floats, Floats]:
        """Values a and b (4, n) that rewards may take, in the order in which they are tried."""
        zeros = np.zeros(self.n.shape[2])
        n, total, squares = (part.sum(axis=(0, 1)) for part in (self.n, self.n * self.mean, self._squares))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            other = squares / total  # Σy² = bΣy where a = 0
            # Of each part m2/n + m² = (a + b)m - ab; the origin is the mean, for digits.
            middle = total / n
            x, q = (self.mean - middle)[:, 0], (self.m2 / self.n)[:, 0]
            q = q + x**2
            slope = (q[1] - q[0]) / (x[1] - x[0])
            product = q[0] - slope * x[0]
            root = np.sqrt(slope**2 / 4.0 + product)
            low, high = middle + slope / 2.0 - root, middle + slope / 2.0 + root
        # Whole numbers have Σy² = n by chance, but not Σy² = Σy.
        return np.array([zeros, zeros - 1.0, zeros, low]), np.array([zeros + 1.0, zeros + 1.0, other, high])

    @property
    def _squares(self) -> Floats:
        """Σy² of each part."""
        return np.asarray(self.n * self.mean**2 + self.m2)

    def digits(self, a: Floats, b: Floats) -> Floats:
        """To how many digits all equations of an arm but those spent hold (4, n), -inf where one does not."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            width, size = np.abs(b - a), np.maximum(np.abs(a), np.abs(b))
            product = (self.mean - a) * (b - self.mean)
            slack = self.n * (RELATIVE * np.abs(product) + ROUNDING * size * width)
            whole = self.n * (self.mean - a) / (b - a)
            margin = np.minimum(self.n * (0.1 * RELATIVE + ROUNDING * size / width), 0.5)
            # Rewards that vary are neither all a nor all b.
            nearest = np.where(self.m2 > 0, np.clip(np.round(whole), 1.0, self.n - 1.0), np.round(whole))
            right = (np.abs(self.m2 - self.n * product) <= slack) & (np.abs(whole - nearest) <= margin)
            agree = np.all(right | (self.n == 0), axis=0)
            # Sums of squares of n rewards with a density are spread over a share of about sqrt(2/n).
            squares = -np.log10(np.clip(slack / (np.sqrt(self.n) * np.abs(product)), 1e-15, 1.0))
            numbers = -np.log10(np.maximum(2.0 * margin, 1e-15))
        # Rewards that are all the same tell nothing, nor do no rewards.
        told = (self.n > 0) & (self.m2 > 0)
        kept = np.arange(2)[:, None, None] < 2 - np.array(SPENT)[:, None]
        squares = np.where(kept, np.sort(np.where(told, squares, 0.0), axis=0), 0.0)
        digits = (squares + np.where(told, numbers, 0.0)).sum(axis=0)
        agree &= np.isfinite(digits)
        # Units decide nothing where digits are too few, as they are of nearly all batches.
        if np.where(agree, digits, 0.0).sum(axis=1).max() >= DIGITS:
            agree &= self._of_units(a) & self._of_units(b)
        return np.where(agree, digits, -np.inf)

    def _of_units(self, value: Floats) -> NDArray[np.bool_]:
        """Whether values of the arms (4, n) are multiples of the units that their rewards are multiples of."""
        fits = np.ones(value.shape, dtype=bool)
        for unit in UNITS:
            given = _whole(self.n * self.mean / unit) & _whole(self._squares / unit**2)
            fits &= ~given.all(axis=0) | _whole(value / unit)
        return fits


def _whole(values: Floats) -> NDArray[np.bool_]:
    """Whether numbers are whole, up to rounding."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(values - np.round(values)) <= np.minimum(RELATIVE * (1.0 + np.abs(values)), 0.1))
