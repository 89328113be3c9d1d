"""The best item: told apart from all others, which are dropped one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation.row_space import RowSpace
from convexdesign.identification.objectives import NONE, ItemPartition, Items, Objective, Untold, as_tuple
from convexdesign.problem import DesignProblem
from convexdesign.typing import Floats, Indices

__all__ = ["BestArm", "alike_outside"]

# Parts outside a space that agree to this share of the items' size are the same.
SAME = 1e-7


@dataclass(frozen=True)
class BestArm(Objective):
    """Find argmax over items z of z'theta: tell the items apart until one is left.

    An estimate drops every item, with its copies, that a survivor beats by more than its accuracy. Different items that tie
    for the best can never be told apart.

    Examples
    --------
    >>> BestArm()
    BestArm()
    """

    def mistakes(self, items: Items) -> int:
        # An item is dropped when "it is the best" is rejected.
        return 1

    def start(self, items: Items) -> ItemPartition:
        return ItemPartition(np.arange(len(items.values)), NONE, NONE)

    def settled(self, items: Items, known: ItemPartition) -> bool:
        # One item is left, or copies of one.
        group = items.group[known.undecided]
        return bool(np.all(group == group[0]))

    def allocation(self, arms: Any, items: Items, known: ItemPartition, noise_variance: Floats) -> DesignProblem:
        # The XY-allocation on the surviving items, one of each that are equal.
        rows = items.values[items.one_of_each(known.undecided)]
        return DesignProblem.xy_allocation(arms, rows, noise_variance=noise_variance)

    def decide(self, items: Items, known: ItemPartition, theta: Floats, accuracy: float) -> ItemPartition:
        # Every item that another survivor beats by more than the accuracy is dropped, with all its copies.
        first = items.one_of_each(known.undecided)
        scores = items.values[first] @ theta
        left = items.group[first[scores.max() - scores <= accuracy]]
        return replace(known, undecided=known.undecided[np.isin(items.group[known.undecided], left)])

    def conclude(self, items: Items, known: ItemPartition, theta: Floats) -> ItemPartition:
        # The best item, and its copies, are left.
        first = items.one_of_each(known.undecided)
        best = items.group[first[int(np.argmax(items.values[first] @ theta))]]
        return replace(known, undecided=known.undecided[items.group[known.undecided] == best])

    def answer(self, items: Items, known: ItemPartition) -> tuple[int, ...]:
        # The survivors.
        return as_tuple(known.undecided)

    def gaps(self, items: Items, theta: Floats) -> Floats:
        # (z* - z)'theta; zero for the best item and its copies.
        best = int(np.argmax(items.values @ theta))
        gaps = (items.values[best] - items.values) @ theta
        return np.where(items.group == items.group[best], 0.0, gaps)

    def oracle(
        self, arms: Any, items: Items, theta: Floats, noise_variance: Floats, epsilon: float = 0.0
    ) -> DesignProblem | None:
        # The best-arm oracle on the items more than epsilon worse than the best; copies of the best item are left out. Raises
        # InputError where different items tie for the best.
        gaps, group = self.gaps(items, theta), items.group
        best = int(np.argmax(items.values @ theta))
        wanted = (group != group[best]) & (gaps > epsilon if epsilon > 0 else True)
        if not wanted.any():
            return None
        chosen = np.sort(np.append(items.one_of_each(np.flatnonzero(wanted)), best))
        return DesignProblem.best_arm_oracle(arms, items.values[chosen], theta=theta, noise_variance=noise_variance)

    def true_answer(self, items: Items, theta: Floats) -> NDArray[np.bool_]:
        # A maximiser, or equal to one up to rounding.
        means = items.values @ theta
        return np.isin(items.group, items.group[means == means.max()])

    def unidentifiable(self, space: RowSpace, items: Items, known: ItemPartition) -> Untold:
        # Items whose parts outside the space agree can be told apart; from the largest such class, one item is named against
        # every item of the other classes.
        undecided = known.undecided
        values = items.values[undecided]
        classes = alike_outside(space, values)
        reference = int(np.argmax(classes == np.bincount(classes).argmax()))
        differences = values - values[reference]
        others = items.group[undecided] != items.group[undecided[reference]]  # copies need not be told apart
        apart = np.flatnonzero(~space.contains(differences) & others)
        against = items.name(undecided[reference])
        words = [f"item {items.name(undecided[k])} from item {against}" for k in apart]
        return Untold(undecided[apart], words, differences[apart])


def alike_outside(space: RowSpace, values: Floats) -> Indices:
    """(m,): equal numbers for rows (m, d) whose parts outside a space agree: what is in it tells them apart."""
    scaled = values / space.scale
    parts = scaled - (scaled @ space.basis) @ space.basis.T
    size = float(np.linalg.norm(scaled, axis=1).max()) or 1.0
    return np.asarray(np.unique(np.round(parts / (SAME * size)), axis=0, return_inverse=True)[1].ravel())
