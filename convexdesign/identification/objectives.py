"""What an identification problem asks for, the best item or all items above a threshold, and what that means in a round:
which design, what an estimate decides, when all is decided, what to answer, what some arms cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import real, real_array, shown
from convexdesign.errors import InputError
from convexdesign.estimation.row_space import RowSpace
from convexdesign.problem import DesignProblem
from convexdesign.problem.same_items import nearly_zero, same_items
from convexdesign.typing import Floats, Indices

__all__ = ["BestArm", "ItemPartition", "Items", "LevelSet", "Objective", "as_tuple", "checked_objective", "true_answer"]

NONE = np.empty(0, dtype=np.intp)
# Parts outside a space that agree to this share of the items' size are the same.
SAME = 1e-7


@dataclass(frozen=True, eq=False)
class Items:
    """The items (m, d) that are asked about, with what all objectives need to know of them."""

    values: Floats
    names: tuple[str, ...] | None = None

    def name(self, i: int) -> str:
        """What an item is called in messages."""
        return str(i) if self.names is None else str(self.names[i])

    @cached_property
    def group(self) -> Indices:
        """(m,): equal numbers for items equal up to rounding, which no measurement can or need tell apart."""
        return same_items(self.values)

    @cached_property
    def zero(self) -> NDArray[np.bool_]:
        """(m,): whether an item is zero, up to rounding."""
        return nearly_zero(self.values)

    def one_of_each(self, items: Indices) -> Indices:
        """Of some items, increasing, the first of all that are equal."""
        return items[np.sort(np.unique(self.group[items], return_index=True)[1])]


@dataclass(frozen=True, eq=False)
class ItemPartition:
    """What is known about the items, as increasing indices.

    undecided: still in the race, or not yet placed. above, below: placed on a side of the threshold (level sets
    only). For the best arm, items in none of the three have been eliminated.
    """

    undecided: Indices
    above: Indices
    below: Indices

    def without(self, items: Indices) -> ItemPartition:
        """The partition of all other items."""
        left = (np.setdiff1d(side, items) for side in (self.undecided, self.above, self.below))
        return ItemPartition(*left)

    def record(self) -> dict[str, Any]:
        """The partition as plain data."""
        return {"undecided": self.undecided.tolist(), "above": self.above.tolist(), "below": self.below.tolist()}


@dataclass(frozen=True)
class BestArm:
    """Find argmax over items z of z'theta: tell the items apart until one is left.

    Examples
    --------
    >>> BestArm()
    BestArm()
    """

    def mistakes(self, items: Items) -> int:
        """How many hypotheses an error can come from.

        An item is dropped when "it is the best" is rejected.

        Parameters
        ----------
        items : Items
            All items.

        Returns
        -------
        int
            A number of union bounds.
        """
        return 1

    def start(self, items: Items) -> ItemPartition:
        """What is known before anything was measured.

        Parameters
        ----------
        items : Items
            All items.

        Returns
        -------
        ItemPartition
            Undecided but for items that are zero, in level sets.
        """
        return ItemPartition(np.arange(len(items.values)), NONE, NONE)

    def settled(self, items: Items, known: ItemPartition) -> bool:
        """Whether the answer is known.

        One item is left, or copies of one.

        Parameters
        ----------
        items : Items
            All items.
        known : ItemPartition
            What is known of them.

        Returns
        -------
        bool
            Whether nothing is left to tell.
        """
        group = items.group[known.undecided]
        return bool(np.all(group == group[0]))

    def allocation(self, arms: Any, items: Items, known: ItemPartition, noise_variance: Floats) -> DesignProblem:
        """The problem whose design tells what is undecided best.

        The XY-allocation on the surviving items, one of each that are equal.

        Parameters
        ----------
        arms : Arms or array
            What can be measured.
        items : Items
            All items.
        known : ItemPartition
            What is known of them.
        noise_variance : array, shape (n,)
            VARIANCES.

        Returns
        -------
        DesignProblem
            For `solve`.
        """
        rows = items.values[items.one_of_each(known.undecided)]
        return DesignProblem.xy_allocation(arms, rows, noise_variance=noise_variance)

    def decide(self, items: Items, known: ItemPartition, theta: Floats, accuracy: float) -> ItemPartition:
        """What an estimate of a given accuracy settles.

        Every item that another survivor beats by more than the accuracy is dropped, with all its copies.

        Parameters
        ----------
        items : Items
            All items.
        known : ItemPartition
            What was known of them.
        theta : array, shape (d,)
            The estimate.
        accuracy : float
            How far the differences, or values, that it gives may be off.

        Returns
        -------
        ItemPartition
            What is known then.
        """
        first = items.one_of_each(known.undecided)
        scores = items.values[first] @ theta
        left = items.group[first[scores.max() - scores <= accuracy]]
        return replace(known, undecided=known.undecided[np.isin(items.group[known.undecided], left)])

    def conclude(self, items: Items, known: ItemPartition, theta: Floats) -> ItemPartition:
        """What an estimate alone says, right or wrong.

        The best item, and its copies, are left.

        Parameters
        ----------
        items : Items
            All items.
        known : ItemPartition
            What was known of them.
        theta : array, shape (d,)
            The estimate.

        Returns
        -------
        ItemPartition
            Nothing undecided.
        """
        first = items.one_of_each(known.undecided)
        best = items.group[first[int(np.argmax(items.values[first] @ theta))]]
        return replace(known, undecided=known.undecided[items.group[known.undecided] == best])

    def answer(self, items: Items, known: ItemPartition) -> tuple[int, ...]:
        """The answer as far as it is known.

        The survivors.

        Parameters
        ----------
        items : Items
            All items.
        known : ItemPartition
            What is known of them.

        Returns
        -------
        tuple of int
            Indices of items.
        """
        return as_tuple(known.undecided)

    def gaps(self, items: Items, theta: Floats) -> Floats:
        """How far each item is from changing the answer.

        (z* - z)'theta; zero for the best item and its copies.

        Parameters
        ----------
        items : Items
            All items.
        theta : array, shape (d,)
            The coefficients.

        Returns
        -------
        array, shape (m,)
            In the units of the rewards.
        """
        best = int(np.argmax(items.values @ theta))
        gaps = (items.values[best] - items.values) @ theta
        return np.where(items.group == items.group[best], 0.0, gaps)

    def oracle(
        self, arms: Any, items: Items, theta: Floats, noise_variance: Floats, epsilon: float = 0.0
    ) -> DesignProblem | None:
        """The oracle's problem on the items that matter.

        The best-arm oracle on the items more than epsilon worse than the best; copies of the best item are left out.
        Raises InputError where different items tie for the best.

        Parameters
        ----------
        arms : Arms or array
            What can be measured.
        items : Items
            All items.
        theta : array, shape (d,)
            The true coefficients.
        noise_variance : array, shape (n,)
            VARIANCES.
        epsilon : float
            Items no further than this from the answer's edge do not matter.

        Returns
        -------
        DesignProblem or None
            None where no item matters.
        """
        gaps, group = self.gaps(items, theta), items.group
        best = int(np.argmax(items.values @ theta))
        wanted = (group != group[best]) & (gaps > epsilon if epsilon > 0 else True)
        if not wanted.any():
            return None
        chosen = np.sort(np.append(items.one_of_each(np.flatnonzero(wanted)), best))
        return DesignProblem.best_arm_oracle(arms, items.values[chosen], theta=theta, noise_variance=noise_variance)

    def true_answer(self, items: Items, theta: Floats) -> NDArray[np.bool_]:
        """Which items are the answer.

        A maximiser, or equal to one up to rounding.

        Parameters
        ----------
        items : Items
            All items.
        theta : array, shape (d,)
            The true coefficients.

        Returns
        -------
        array of bool, shape (m,)
            True for those.
        """
        means = items.values @ theta
        return np.isin(items.group, items.group[means == means.max()])

    def unidentifiable(self, space: RowSpace, items: Items, known: ItemPartition) -> tuple[list[str], Floats]:
        """What measurements in a row space leave open among the undecided.

        Items whose parts outside the space agree can be told apart; from the largest such class, one item is named
        against every item of the other classes.

        Parameters
        ----------
        space : RowSpace
            What the measurements tell.
        items : Items
            All items.
        known : ItemPartition
            What is known of them.

        Returns
        -------
        pair
            The items in words, and the directions (k, d).
        """
        undecided = known.undecided
        values = items.values[undecided]
        scaled = values / space.scale
        parts = scaled - (scaled @ space.basis) @ space.basis.T
        size = float(np.linalg.norm(scaled, axis=1).max())
        classes = np.unique(np.round(parts / (SAME * size)), axis=0, return_inverse=True)[1].ravel()
        reference = int(np.argmax(classes == np.bincount(classes).argmax()))
        differences = values - values[reference]
        others = items.group[undecided] != items.group[undecided[reference]]  # copies need not be told apart
        apart = np.flatnonzero(~space.contains(differences) & others)
        against = items.name(undecided[reference])
        return [f"item {items.name(undecided[k])} from item {against}" for k in apart], differences[apart]


@dataclass(frozen=True)
class LevelSet:
    """Find every item z with z'theta above a threshold: place every item on one side.

    Parameters
    ----------
    threshold : float
        In the units of the measurements.

    Examples
    --------
    >>> LevelSet(0.9)
    LevelSet(threshold=0.9)
    """

    threshold: float

    def __post_init__(self) -> None:
        threshold = real(self.threshold)
        if not np.isfinite(threshold):
            raise InputError(f"threshold must be a finite number, got {shown(self.threshold)}")
        object.__setattr__(self, "threshold", threshold)

    def mistakes(self, items: Items) -> int:
        """How many hypotheses an error can come from.

        Every item has one wrong side.

        Parameters
        ----------
        items : Items
            All items.

        Returns
        -------
        int
            A number of union bounds.
        """
        return len(items.values)

    def start(self, items: Items) -> ItemPartition:
        """What is known before anything was measured.

        Items that are zero, up to rounding, have the value 0 without a measurement.

        Parameters
        ----------
        items : Items
            All items.

        Returns
        -------
        ItemPartition
            Undecided but for items that are zero, in level sets.
        """
        known = np.flatnonzero(items.zero)
        above, below = (known, NONE) if self.threshold < 0 else (NONE, known)
        return ItemPartition(np.flatnonzero(~items.zero), above, below)

    def settled(self, items: Items, known: ItemPartition) -> bool:
        """Whether the answer is known.

        Every item is placed.

        Parameters
        ----------
        items : Items
            All items.
        known : ItemPartition
            What is known of them.

        Returns
        -------
        bool
            Whether nothing is left to tell.
        """
        return known.undecided.size == 0

    def allocation(self, arms: Any, items: Items, known: ItemPartition, noise_variance: Floats) -> DesignProblem:
        """The problem whose design tells what is undecided best.

        The allocation that estimates the undecided items best.

        Parameters
        ----------
        arms : Arms or array
            What can be measured.
        items : Items
            All items.
        known : ItemPartition
            What is known of them.
        noise_variance : array, shape (n,)
            VARIANCES.

        Returns
        -------
        DesignProblem
            For `solve`.
        """
        rows = items.values[known.undecided]
        return DesignProblem.level_set_allocation(arms, rows, noise_variance=noise_variance)

    def decide(self, items: Items, known: ItemPartition, theta: Floats, accuracy: float) -> ItemPartition:
        """What an estimate of a given accuracy settles.

        Every item whose value is more than the accuracy away from the threshold is placed.

        Parameters
        ----------
        items : Items
            All items.
        known : ItemPartition
            What was known of them.
        theta : array, shape (d,)
            The estimate.
        accuracy : float
            How far the differences, or values, that it gives may be off.

        Returns
        -------
        ItemPartition
            What is known then.
        """
        distance = items.values[known.undecided] @ theta - self.threshold
        return self.place(known, distance > accuracy, distance < -accuracy)

    def place(self, known: ItemPartition, above: NDArray[np.bool_], below: NDArray[np.bool_]) -> ItemPartition:
        """Move undecided items to their sides; above wins where both are marked.

        Parameters
        ----------
        known : ItemPartition
            What was known.
        above : array of bool
            Marks, in the order of the undecided items.
        below : array of bool
            Likewise.

        Returns
        -------
        ItemPartition
            What is known then.
        """
        items = known.undecided
        below = below & ~above
        return ItemPartition(
            items[~(above | below)],
            np.sort(np.concatenate([known.above, items[above]])),
            np.sort(np.concatenate([known.below, items[below]])),
        )

    def conclude(self, items: Items, known: ItemPartition, theta: Floats) -> ItemPartition:
        """What an estimate alone says, right or wrong.

        Every undecided item is placed on the side of its estimate.

        Parameters
        ----------
        items : Items
            All items.
        known : ItemPartition
            What was known of them.
        theta : array, shape (d,)
            The estimate.

        Returns
        -------
        ItemPartition
            Nothing undecided.
        """
        above = items.values[known.undecided] @ theta > self.threshold
        return self.place(known, above, ~above)

    def answer(self, items: Items, known: ItemPartition) -> tuple[int, ...]:
        """The answer as far as it is known.

        The items placed above.

        Parameters
        ----------
        items : Items
            All items.
        known : ItemPartition
            What is known of them.

        Returns
        -------
        tuple of int
            Indices of items.
        """
        return as_tuple(known.above)

    def gaps(self, items: Items, theta: Floats) -> Floats:
        """How far each item is from changing the answer.

        |z'theta - threshold|.

        Parameters
        ----------
        items : Items
            All items.
        theta : array, shape (d,)
            The coefficients.

        Returns
        -------
        array, shape (m,)
            In the units of the rewards.
        """
        return np.asarray(np.abs(items.values @ theta - self.threshold))

    def oracle(
        self, arms: Any, items: Items, theta: Floats, noise_variance: Floats, epsilon: float = 0.0
    ) -> DesignProblem | None:
        """The oracle's problem on the items that matter.

        The level-set oracle on the items more than epsilon from the threshold; zero items need no measurement and are
        left out. Raises InputError for an item on the threshold.

        Parameters
        ----------
        arms : Arms or array
            What can be measured.
        items : Items
            All items.
        theta : array, shape (d,)
            The true coefficients.
        noise_variance : array, shape (n,)
            VARIANCES.
        epsilon : float
            Items no further than this from the answer's edge do not matter.

        Returns
        -------
        DesignProblem or None
            None where no item matters.
        """
        wanted = ~items.zero & (self.gaps(items, theta) > epsilon if epsilon > 0 else True)
        if not wanted.any():
            return None
        return DesignProblem.level_set_oracle(
            arms, items.values[wanted], theta=theta, threshold=self.threshold, noise_variance=noise_variance
        )

    def true_answer(self, items: Items, theta: Floats) -> NDArray[np.bool_]:
        """Which items are the answer.

        z'theta > threshold.

        Parameters
        ----------
        items : Items
            All items.
        theta : array, shape (d,)
            The true coefficients.

        Returns
        -------
        array of bool, shape (m,)
            True for those.
        """
        return np.asarray(items.values @ theta > self.threshold)

    def unidentifiable(self, space: RowSpace, items: Items, known: ItemPartition) -> tuple[list[str], Floats]:
        """What measurements in a row space leave open among the undecided.

        Those that they cannot place.

        Parameters
        ----------
        space : RowSpace
            What the measurements tell.
        items : Items
            All items.
        known : ItemPartition
            What is known of them.

        Returns
        -------
        pair
            The items in words, and the directions (k, d).
        """
        values = items.values[known.undecided]
        outside = np.flatnonzero(~space.contains(values))
        return [f"on which side of the threshold item {items.name(known.undecided[k])} lies" for k in outside], values[
            outside
        ]


Objective = BestArm | LevelSet


def checked_objective(objective: Any) -> Objective:
    """The objective; InputError for anything that is not one."""
    if not isinstance(objective, (BestArm, LevelSet)):
        raise InputError(f"objective is {shown(objective)}; give BestArm() or LevelSet(threshold)")
    return objective


def true_answer(objective: Objective, items: ArrayLike, theta: ArrayLike) -> tuple[int, ...]:
    """The items that answer the objective when theta is known.

    BestArm: every maximiser of z'theta (one index unless items tie exactly), and items equal to one up to rounding.
    LevelSet: every item with z'theta > threshold (possibly none).

    Parameters
    ----------
    objective : BestArm or LevelSet
        What is asked.
    items : array_like, shape (m, d)
        What it is asked about.
    theta : array_like, shape (d,)
        The true coefficients.

    Returns
    -------
    tuple of int
        Indices in increasing order.

    Examples
    --------
    >>> true_answer(BestArm(), [[1.0, 0.0], [0.0, 1.0]], [0.2, 0.7])
    (1,)
    >>> true_answer(LevelSet(0.1), [[1.0, 0.0], [0.0, 1.0]], [0.2, 0.7])
    (0, 1)
    """
    values, truth = real_array(items, "items"), real_array(theta, "theta")
    if values.ndim != 2 or not len(values) or truth.shape != values.shape[1:]:
        raise InputError(
            f"items must be a matrix with one row each, and theta a vector with one entry per column; got shapes "
            f"{values.shape} and {truth.shape}"
        )
    chosen = checked_objective(objective).true_answer(Items(values), truth)
    return as_tuple(np.flatnonzero(chosen))


def as_tuple(items: Indices) -> tuple[int, ...]:
    """Indices as plain integers."""
    return tuple(int(i) for i in items)
