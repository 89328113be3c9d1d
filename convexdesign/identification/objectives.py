"""What an identification problem asks for, the best item or all items above a threshold, and what that means in a round:
which design, what an estimate decides, when all is decided, what to answer, what some arms cannot tell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import real_array, shown
from convexdesign.errors import InputError
from convexdesign.estimation.row_space import RowSpace
from convexdesign.problem import DesignProblem
from convexdesign.problem.same_items import nearly_zero, same_items
from convexdesign.typing import Floats, Indices

__all__ = ["NONE", "ItemPartition", "Items", "Objective", "Untold", "as_tuple", "checked_objective", "true_answer"]

NONE = np.empty(0, dtype=np.intp)


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

    def with_more(self, start: ItemPartition, items: Indices) -> ItemPartition:
        """The partition with more items, of which is known what `start` knows."""
        pairs = ((self.undecided, start.undecided), (self.above, start.above), (self.below, start.below))
        return ItemPartition(*(np.union1d(now, np.intersect1d(begun, items)) for now, begun in pairs))

    def record(self) -> dict[str, Any]:
        """The partition as plain data."""
        return {"undecided": self.undecided.tolist(), "above": self.above.tolist(), "below": self.below.tolist()}


@dataclass(frozen=True, eq=False)
class Untold:
    """What some arms cannot tell: items (k,), in words, and along which directions (k, d)."""

    items: Indices
    words: list[str]
    directions: Floats


class Objective(ABC):
    """What is asked of the items: `BestArm` or `LevelSet`.

    Examples
    --------
    >>> from convexdesign.identification import BestArm, Objective
    >>> isinstance(BestArm(), Objective)
    True
    """

    @abstractmethod
    def mistakes(self, items: Items) -> int:
        """How many hypotheses an error can come from.

        Parameters
        ----------
        items : Items
            All items.

        Returns
        -------
        int
            A number of union bounds.
        """

    @abstractmethod
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

    @abstractmethod
    def settled(self, items: Items, known: ItemPartition) -> bool:
        """Whether the answer is known.

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

    @abstractmethod
    def allocation(self, arms: Any, items: Items, known: ItemPartition, noise_variance: Floats) -> DesignProblem:
        """The problem whose design tells what is undecided best.

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

    @abstractmethod
    def decide(self, items: Items, known: ItemPartition, theta: Floats, accuracy: float) -> ItemPartition:
        """What an estimate of a given accuracy settles.

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

    @abstractmethod
    def conclude(self, items: Items, known: ItemPartition, theta: Floats) -> ItemPartition:
        """What an estimate alone says, right or wrong.

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

    @abstractmethod
    def answer(self, items: Items, known: ItemPartition) -> tuple[int, ...]:
        """The answer as far as it is known.

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

    @abstractmethod
    def gaps(self, items: Items, theta: Floats) -> Floats:
        """How far each item is from changing the answer.

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

    @abstractmethod
    def oracle(
        self, arms: Any, items: Items, theta: Floats, noise_variance: Floats, epsilon: float = 0.0
    ) -> DesignProblem | None:
        """The oracle's problem on the items that matter.

        Raises InputError where the answer is not one: items that tie for the best, or lie on the threshold.

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

    @abstractmethod
    def true_answer(self, items: Items, theta: Floats) -> NDArray[np.bool_]:
        """Which items are the answer.

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

    @abstractmethod
    def unidentifiable(self, space: RowSpace, items: Items, known: ItemPartition) -> Untold:
        """What measurements in a row space leave open among the undecided.

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
        Untold
            Without the items in it, the others are told.
        """


def checked_objective(objective: Any) -> Objective:
    """The objective; InputError for anything that is not one."""
    if not isinstance(objective, Objective):
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
    >>> from convexdesign.identification import BestArm, LevelSet, true_answer
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
