"""Pricing targets, the largest v'Cv: explicit ones by a screen, pairs of items by a front of far pairs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from convexdesign.frankwolfe.screen import FEW_ENTRIES, Priced, Screen
from convexdesign.problem import Canonical, PairTargets, VectorTargets
from convexdesign.problem.pairs import FEW_PAIRS

__all__ = ["Pricing", "target_pricing"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Pairs kept between full scans.
PAIRS = 50_000
# Targets of a kind known only by their worst: how many to ask for.
ASKED = 1000


class Pricing(Protocol):
    """Anything that prices vectors at a factor F (r, k) against a level, as Screen does."""

    passes: int

    def price(self, factor: Floats, level: float) -> Priced: ...


def target_pricing(canonical: Canonical) -> Pricing:
    """The pricing that suits the problem's targets; values are those of whitened, scaled targets."""
    targets = canonical.problem.targets
    if isinstance(targets, PairTargets):
        if targets.m <= FEW_PAIRS:
            return Screen.of_all(canonical.whiten_targets, targets.all())
        return PairPricing(canonical, targets)
    if isinstance(targets, VectorTargets):
        basis = canonical.basis / np.sqrt(canonical.target_scale)
        front = np.arange(targets.m if targets.m * targets.d <= FEW_ENTRIES else 0)
        return Screen(lambda F: targets.values(basis @ F), canonical.whiten_targets, targets.m, front)
    return WorstPricing(canonical)


class PairPricing:
    """The front: pairs that were far apart at F_0, with the level that no other pair exceeded.

    The bound of `screen` holds for differences as for any vectors, so a scan over all pairs is needed only when
    the geometry has changed much.
    """

    def __init__(self, canonical: Canonical, targets: PairTargets):
        self.canonical = canonical
        self.targets = targets
        self.passes = 0
        self.front: Indices = np.empty(0, dtype=np.intp)
        self.vectors: Floats = np.empty((0, canonical.rank))
        self._behind = np.inf
        self._inverse: Floats = np.empty((0, 0))

    def price(self, factor: Floats, level: float) -> Priced:
        values = self._values(factor)
        if values.size == 0 or (values.max() <= level and not self._proven(factor, level)):
            self._scan(factor)
            values = self._values(factor)
        return Priced(self.front, self.vectors, values, bool(values.max() <= level) and self._proven(factor, level))

    def _values(self, factor: Floats) -> Floats:
        image = self.vectors @ factor
        return np.asarray(np.einsum("ij,ij->i", image, image))

    def _proven(self, factor: Floats, level: float) -> bool:
        stretch = float(np.linalg.norm(self._inverse @ factor, 2) ** 2) * (1.0 + 1e-10)
        return stretch * self._behind <= level

    def _scan(self, factor: Floats) -> None:
        self.front, rest = self.targets.front(self.canonical.basis @ factor, PAIRS)
        self.vectors = self.canonical.whiten_targets(self.front)
        self._behind = rest / self.canonical.target_scale
        self._inverse = np.asarray(np.linalg.inv(factor), dtype=float)
        self.passes += 1


class WorstPricing:
    """A full pass per pricing, for targets that offer nothing but their worst."""

    def __init__(self, canonical: Canonical):
        self.canonical = canonical
        self.passes = 0

    def price(self, factor: Floats, level: float) -> Priced:
        basis = self.canonical.basis / np.sqrt(self.canonical.target_scale)
        index, values = self.canonical.problem.targets.worst(basis @ factor, ASKED)
        self.passes += 1
        return Priced(index, self.canonical.whiten_targets(index), values, bool(values[0] <= level))
