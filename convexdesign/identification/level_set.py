"""All items above a threshold: each is placed on one side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import real, shown
from convexdesign.errors import InputError
from convexdesign.estimation.row_space import RowSpace
from convexdesign.identification.objectives import NONE, ItemPartition, Items, Objective, Untold, as_tuple
from convexdesign.problem import DesignProblem
from convexdesign.typing import Floats

__all__ = ["LevelSet"]


@dataclass(frozen=True)
class LevelSet(Objective):
    """Find every item z with z'theta above a threshold: place every item on one side.

    An estimate places every item whose value is further from the threshold than its accuracy.

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
        # Every item has one wrong side.
        return len(items.values)

    def start(self, items: Items) -> ItemPartition:
        # Items that are zero, up to rounding, have the value 0 without a measurement.
        known = np.flatnonzero(items.zero)
        above, below = (known, NONE) if self.threshold < 0 else (NONE, known)
        return ItemPartition(np.flatnonzero(~items.zero), above, below)

    def settled(self, items: Items, known: ItemPartition) -> bool:
        # Every item is placed.
        return known.undecided.size == 0

    def allocation(self, arms: Any, items: Items, known: ItemPartition, noise_variance: Floats) -> DesignProblem:
        # The allocation that estimates the undecided items best.
        rows = items.values[known.undecided]
        return DesignProblem.level_set_allocation(arms, rows, noise_variance=noise_variance)

    def decide(self, items: Items, known: ItemPartition, theta: Floats, accuracy: float) -> ItemPartition:
        # Every item whose value is more than the accuracy away from the threshold is placed.
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
        # Every undecided item is placed on the side of its estimate.
        above = items.values[known.undecided] @ theta > self.threshold
        return self.place(known, above, ~above)

    def answer(self, items: Items, known: ItemPartition) -> tuple[int, ...]:
        # The items placed above.
        return as_tuple(known.above)

    def gaps(self, items: Items, theta: Floats) -> Floats:
        # |z'theta - threshold|.
        return np.asarray(np.abs(items.values @ theta - self.threshold))

    def oracle(
        self, arms: Any, items: Items, theta: Floats, noise_variance: Floats, epsilon: float = 0.0
    ) -> DesignProblem | None:
        # The level-set oracle on the items more than epsilon from the threshold; zero items need no measurement and are left
        # out. Raises InputError for an item on the threshold.
        wanted = ~items.zero & (self.gaps(items, theta) > epsilon if epsilon > 0 else True)
        if not wanted.any():
            return None
        return DesignProblem.level_set_oracle(
            arms, items.values[wanted], theta=theta, threshold=self.threshold, noise_variance=noise_variance
        )

    def true_answer(self, items: Items, theta: Floats) -> NDArray[np.bool_]:
        # z'theta > threshold.
        return np.asarray(items.values @ theta > self.threshold)

    def unidentifiable(self, space: RowSpace, items: Items, known: ItemPartition) -> Untold:
        # Those that they cannot place.
        values = items.values[known.undecided]
        outside = np.flatnonzero(~space.contains(values))
        untold = known.undecided[outside]
        words = [f"on which side of the threshold item {items.name(k)} lies" for k in untold]
        return Untold(untold, words, values[outside])
