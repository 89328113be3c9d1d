"""What an objective asks of a round: which design, what an estimate decides, when all is decided, what to answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.problem.objectives import BestArm, LevelSet, Objective
from convexdesign.problem.read import Rows
from convexdesign.problem.same_items import nearly_zero, same_items
from convexdesign.typing import Floats, Indices

__all__ = ["BestArmGoal", "Goal", "LevelSetGoal", "Standing", "goal_for"]


@dataclass(frozen=True, eq=False)
class Standing:
    """What is known about the items, as increasing indices.

    undecided: still in the race, or not yet placed. above, below: placed on a side of the threshold (level sets
    only). For the best arm, items in none of the three have been eliminated.
    """

    undecided: Indices
    above: Indices
    below: Indices


NONE = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class BestArmGoal:
    """Find argmax_z z'theta: tell the surviving items apart until one is left."""

    items: Rows

    @property
    def mistakes(self) -> int:
        """How many hypotheses an error can come from: an item is dropped when "it is the best" is rejected."""
        return 1

    @cached_property
    def values(self) -> Floats:
        """The items (m, d) as numbers."""
        return np.asarray(self.items.values, dtype=float)

    @cached_property
    def group(self) -> Indices:
        """(m,): equal numbers for items equal up to rounding, which no measurement can or need tell apart."""
        return same_items(self.values)

    def start(self) -> Standing:
        """Everything undecided."""
        return Standing(np.arange(self.values.shape[0]), NONE, NONE)

    def settled(self, standing: Standing) -> bool:
        """Whether one item is left, or copies of one."""
        group = self.group[standing.undecided]
        return bool(np.all(group == group[0]))

    def allocation(self, arms: Any, standing: Standing, noise_variance: Floats) -> DesignProblem:
        """The XY-allocation on the surviving items, one of each that are equal."""
        items = self.values[self._one_of_each(standing.undecided)]
        return DesignProblem.xy_allocation(arms, items, noise_variance=noise_variance)

    def _one_of_each(self, items: Indices) -> Indices:
        """Of some items, increasing, the first of all that are equal."""
        return items[np.sort(np.unique(self.group[items], return_index=True)[1])]

    def decide(self, standing: Standing, theta: Floats, accuracy: float) -> Standing:
        """Drop every item that another survivor beats by more than `accuracy` under theta, with all its copies."""
        first = self._one_of_each(standing.undecided)
        scores = self.values[first] @ theta
        left = self.group[first[scores.max() - scores <= accuracy]]
        return replace(standing, undecided=standing.undecided[np.isin(self.group[standing.undecided], left)])

    def answer(self, standing: Standing, theta: Floats | None = None) -> tuple[int, ...]:
        """The survivors; with an estimate theta the best of them, and its copies."""
        if theta is None:
            return as_tuple(standing.undecided)
        return as_tuple(self.conclude(standing, theta).undecided)

    def conclude(self, standing: Standing, theta: Floats) -> Standing:
        """What theta alone says: the best item, and its copies, are left."""
        first = self._one_of_each(standing.undecided)
        best = self.group[first[int(np.argmax(self.values[first] @ theta))]]
        return replace(standing, undecided=standing.undecided[self.group[standing.undecided] == best])

    def gaps(self, theta: Floats) -> Floats:
        """(m,): how far each item is from being the answer, (z* - z)'theta; zero for the best item and its copies."""
        best = int(np.argmax(self.values @ theta))
        gaps = (self.values[best] - self.values) @ theta
        return np.where(self.group == self.group[best], 0.0, gaps)

    def oracle(self, arms: Any, theta: Floats, noise_variance: Floats, epsilon: float = 0.0) -> DesignProblem | None:
        """The best-arm oracle on the items more than epsilon worse than the best; None where there are none.

        Copies of the best item are left out. Raises InputError where different items tie for the best.
        """
        gaps = self.gaps(theta)
        best = int(np.argmax(self.values @ theta))
        wanted = (self.group != self.group[best]) & (gaps > epsilon if epsilon > 0 else True)
        if not wanted.any():
            return None
        chosen = self._one_of_each(np.flatnonzero(wanted))
        chosen = np.sort(np.append(chosen, best))
        return DesignProblem.best_arm_oracle(arms, self.values[chosen], theta=theta, noise_variance=noise_variance)


@dataclass(frozen=True, eq=False)
class LevelSetGoal:
    """Find {z: z'theta > threshold}: place every item on one side."""

    items: Rows
    threshold: float

    @property
    def mistakes(self) -> int:
        """How many hypotheses an error can come from: every item has one wrong side."""
        return int(self.values.shape[0])

    @cached_property
    def values(self) -> Floats:
        """The items (m, d) as numbers."""
        return np.asarray(self.items.values, dtype=float)

    @cached_property
    def zero(self) -> NDArray[np.bool_]:
        """(m,): whether an item is zero, up to rounding."""
        return nearly_zero(self.values)

    def start(self) -> Standing:
        """Everything undecided but items that are zero, up to rounding: their value is 0 without a measurement."""
        zero = self.zero
        known, nothing = np.flatnonzero(zero), NONE
        above, below = (known, nothing) if self.threshold < 0 else (nothing, known)
        return Standing(np.flatnonzero(~zero), above, below)

    def settled(self, standing: Standing) -> bool:
        """Whether every item is placed."""
        return standing.undecided.size == 0

    def allocation(self, arms: Any, standing: Standing, noise_variance: Floats) -> DesignProblem:
        """The allocation that estimates the undecided items best."""
        items = self.values[standing.undecided]
        return DesignProblem.level_set_allocation(arms, items, noise_variance=noise_variance)

    def decide(self, standing: Standing, theta: Floats, accuracy: float) -> Standing:
        """Place every item whose value under theta is more than `accuracy` away from the threshold."""
        distance = self.values[standing.undecided] @ theta - self.threshold
        return self.place(standing, distance > accuracy, distance < -accuracy)

    def place(self, standing: Standing, above: NDArray[np.bool_], below: NDArray[np.bool_]) -> Standing:
        """Move undecided items, marked in their order, to their sides; above wins where both are marked."""
        items = standing.undecided
        below = below & ~above
        return Standing(
            items[~(above | below)],
            np.sort(np.concatenate([standing.above, items[above]])),
            np.sort(np.concatenate([standing.below, items[below]])),
        )

    def answer(self, standing: Standing, theta: Floats | None = None) -> tuple[int, ...]:
        """The items placed above; with an estimate theta also the undecided ones that it puts there."""
        above = standing.above
        if theta is not None:
            likely = standing.undecided[self.values[standing.undecided] @ theta > self.threshold]
            above = np.sort(np.concatenate([above, likely]))
        return as_tuple(above)

    def conclude(self, standing: Standing, theta: Floats) -> Standing:
        """What theta alone says: every undecided item is placed on the side of its estimate."""
        above = self.values[standing.undecided] @ theta > self.threshold
        return self.place(standing, above, ~above)

    def gaps(self, theta: Floats) -> Floats:
        """(m,): how far each item is from the threshold, |z'theta - threshold|."""
        return np.asarray(np.abs(self.values @ theta - self.threshold))

    def oracle(self, arms: Any, theta: Floats, noise_variance: Floats, epsilon: float = 0.0) -> DesignProblem | None:
        """The level-set oracle on the items more than epsilon from the threshold; None where there are none.

        Zero items need no measurement and are left out. Raises InputError for an item on the threshold.
        """
        wanted = ~self.zero & (self.gaps(theta) > epsilon if epsilon > 0 else True)
        if not wanted.any():
            return None
        return DesignProblem.level_set_oracle(
            arms, self.values[wanted], theta=theta, threshold=self.threshold, noise_variance=noise_variance
        )


Goal = BestArmGoal | LevelSetGoal


def goal_for(objective: Objective, items: Rows) -> Goal:
    """The goal of an objective on these items; InputError for anything that is not an objective."""
    if isinstance(objective, BestArm):
        return BestArmGoal(items)
    if isinstance(objective, LevelSet):
        return LevelSetGoal(items, objective.threshold)
    raise InputError(f"objective is {objective!r}; give BestArm() or LevelSet(threshold)")


def as_tuple(items: Indices) -> tuple[int, ...]:
    """Indices as plain integers."""
    return tuple(int(i) for i in items)
