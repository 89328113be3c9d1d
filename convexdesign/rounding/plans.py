"""The set of whole-number plans to choose from: a total, limits of single counts, linear rows R n <= b, shares of the cost.

Constraints on weights are homogeneous in the counts: with w_i = c_i n_i / c'n (c the costs of one pull), g'w <= h is
(g - h 1)'diag(c) n <= 0, whatever the total. A plan need not use its whole total: pulls of a slack arm, a row of zeros
without cost, stand for those not made, so that budgets need no search of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from convexdesign.rounding.count_limits import Limits
from convexdesign.typing import Counts, Floats, Indices

__all__ = ["MEETS", "CountInequalities", "Plans", "Shares", "no_rows"]


# A row is met when it is exceeded by no more than this share of its terms: rounding of its numbers, never a pull.
MEETS = 1e-9
# Numbers that one evaluation of swaps may hold.
BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class CountInequalities:
    """R n <= b for counts n (k,): R (m, k), b (m,), and a name for each row, as messages call it."""

    R: Floats
    b: Floats
    names: tuple[str, ...]

    @cached_property
    def size(self) -> Floats:
        """|R|, for what rounding may add."""
        return np.abs(self.R)

    def __len__(self) -> int:
        return len(self.b)

    def __add__(self, other: CountInequalities) -> CountInequalities:
        return CountInequalities(
            np.vstack([self.R, other.R]), np.concatenate([self.b, other.b]), (*self.names, *other.names)
        )

    def taken(self, index: Indices) -> CountInequalities:
        """The rows for some of the arms, where the others are not pulled."""
        return CountInequalities(self.R[:, index], self.b, self.names)

    def with_slack_arm(self) -> CountInequalities:
        """The rows with one more arm, which none of them counts."""
        return CountInequalities(np.pad(self.R, ((0, 0), (0, 1))), self.b, self.names)

    def in_their_units(self) -> CountInequalities:
        """Each row divided by its largest entry."""
        size = self.size.max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        return CountInequalities(self.R / size[:, None], self.b / size, self.names)

    def room(self, counts: Counts | Floats) -> Floats:
        """By how much each row may still grow, what rounding adds included; negative where it is broken."""
        allowance = MEETS * (self.size @ counts + np.abs(self.b))
        return np.asarray(self.b - self.R @ counts + allowance)

    def broken(self, counts: Counts | Floats) -> Indices:
        """The rows that the counts break."""
        return np.flatnonzero(self.room(counts) < 0)


def no_rows(k: int) -> CountInequalities:
    """No constraint on k counts."""
    return CountInequalities(np.empty((0, k)), np.empty(0), ())


@dataclass(frozen=True, eq=False)
class Shares:
    """lower_i c'n <= c_i n_i <= upper_i c'n: limits (k,) of every arm's share of the cost."""

    costs: Floats
    lower: Floats
    upper: Floats

    def taken(self, index: Indices) -> Shares:
        """The limits for some of the arms, where the others are not pulled."""
        return Shares(self.costs[index], self.lower[index], self.upper[index])

    def with_slack_arm(self) -> Shares:
        """The limits with one more arm, which costs nothing."""
        return Shares(np.append(self.costs, 0.0), np.append(self.lower, 0.0), np.append(self.upper, 1.0))

    def broken(self, counts: Counts | Floats) -> tuple[Indices, Indices]:
        """The arms with less, and those with more than their share."""
        spent = self.costs * counts
        total = float(spent.sum())
        low = np.flatnonzero(spent < self.lower * total * (1.0 - MEETS))
        return low, np.flatnonzero(spent > self.upper * total * (1.0 + MEETS))

    def as_rows(self) -> CountInequalities:
        """The same as rows, one for every limit that says something."""
        k = self.costs.size
        high, low = np.flatnonzero(self.upper < 1.0), np.flatnonzero(self.lower > 0.0)
        R = np.vstack([-np.outer(self.upper[high], self.costs), np.outer(self.lower[low], self.costs)])
        R[np.arange(high.size), high] += self.costs[high]
        R[high.size + np.arange(low.size), low] -= self.costs[low]
        names = [f"max_weight[{i}]" for i in high] + [f"min_weight[{i}]" for i in low]
        return CountInequalities(R.reshape(-1, k), np.zeros(len(R)), tuple(names))

    def swaps(self, counts: Counts, out: Indices, into: Indices) -> NDArray[np.bool_]:
        """Which moves of one pull meet the limits afterwards, shape (a, b)."""
        c = self.costs
        spent = c * counts
        after = float(spent.sum()) + c[into] - c[out][:, None]
        meets = np.ones(after.shape, dtype=bool)
        if (self.upper < 1.0).any():
            # Every arm's cost over its limit is at most the whole; a giver's falls, a taker's rises.
            upper = np.maximum(self.upper, 1e-300)
            most = after * (1.0 + MEETS)
            meets &= _largest_without(spent / upper, out)[:, None] <= most
            meets &= ((spent - c) / upper)[out][:, None] <= most
            meets &= ((spent + c) / upper)[into] <= most
        if (self.lower > 0.0).any():
            held = self.lower > 0
            least = after * (1.0 - MEETS)
            ratio, fewer, more = (
                np.divide(x, self.lower, out=np.full_like(spent, np.inf), where=held)
                for x in (spent, spent - c, spent + c)
            )
            meets &= fewer[out][:, None] >= least
            meets &= more[into] >= least
            meets &= -_largest_without(-ratio, into) >= least
        return meets


def _largest_without(values: Floats, index: Indices) -> Floats:
    """The largest of all values but that of each arm of the index, shape (len(index),)."""
    first = int(np.argmax(values))
    second = float(np.delete(values, first).max(initial=-np.inf))
    return np.where(index == first, second, values[first])


@dataclass(frozen=True, eq=False)
class Plans:
    """Counts n (k,) with bounds.total pulls, bounds.lower <= n <= bounds.upper, R n <= b and shares within their limits.

    slack: whether the last arm is the slack arm, whose pulls are those not made. price (k,): the criterion is multiplied by
    the cost of the plan, price'n, where that is what a plan is judged by.
    """

    bounds: Limits
    rows: CountInequalities
    shares: Shares | None = None
    slack: bool = field(default=False)
    price: Floats | None = None

    @property
    def is_box(self) -> bool:
        """Whether limits of single counts are all there is."""
        return len(self.rows) == 0 and self.shares is None

    @cached_property
    def all_rows(self) -> CountInequalities:
        """The rows, with limits of shares among them."""
        return self.rows if self.shares is None else self.rows + self.shares.as_rows()

    def holds(self, counts: Counts) -> bool:
        """Whether the counts are one of the plans."""
        inside = bool(np.all((counts >= self.bounds.lower) & (counts <= self.bounds.upper)))
        if not inside or int(counts.sum()) != self.bounds.total or self.rows.broken(counts).size:
            return False
        return self.shares is None or not any(broken.size for broken in self.shares.broken(counts))

    def taken(self, index: Indices) -> Plans:
        """The plans that pull no other arms."""
        bounds = Limits(self.bounds.total, self.bounds.lower[index], self.bounds.upper[index])
        shares = None if self.shares is None else self.shares.taken(index)
        price = None if self.price is None else self.price[index]
        return Plans(bounds, self.rows.taken(index), shares, self.slack, price)

    def tightened(self, upper: Counts) -> Plans:
        """The plans with these upper limits."""
        return replace(self, bounds=replace(self.bounds, upper=np.minimum(self.bounds.upper, upper)))

    def worth(self, value: float, counts: Counts) -> float:
        """What a plan with this value of the criterion is judged by."""
        return value if self.price is None else value * float(self.price @ counts)

    def worths(self, values: Floats, counts: Counts, out: Indices, into: Indices) -> Floats:
        """What plans after moves of one pull are judged by: values (a, b) of the criterion, out (a,), into (b,)."""
        if self.price is None:
            return values
        return values * (float(self.price @ counts) + self.price[into] - self.price[out][:, None])

    def givers(self, counts: Counts) -> Indices:
        """Arms that may give a pull away, as far as their own limits go."""
        return np.flatnonzero(counts > self.bounds.lower)

    def takers(self, counts: Counts) -> Indices:
        """Arms that may take another pull, as far as their own limits go."""
        return np.flatnonzero(counts < self.bounds.upper)

    def swaps(self, counts: Counts, out: Indices, into: Indices) -> NDArray[np.bool_]:
        """Which moves of one pull from `out` (a,) to another of `into` (b,) are within rows and shares, shape (a, b)."""
        meets = out[:, None] != into
        if self.is_box or not meets.size:
            return meets
        room = self.rows.room(counts)
        given, taken = self.rows.R[:, out], self.rows.R[:, into]
        binding = np.flatnonzero(taken.max(axis=1) - given.min(axis=1) > room)
        step = max(1, BLOCK // meets.size)
        for start in range(0, binding.size, step):
            k = binding[start : start + step]
            change = taken[k][:, None, :] - given[k][:, :, None]
            meets &= np.all(change <= room[k][:, None, None], axis=0)
        return meets if self.shares is None else meets & self.shares.swaps(counts, out, into)
