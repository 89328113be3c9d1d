"""Pricing targets, the largest v'Cv: explicit ones by a screen, pairs of items by a front of far pairs."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from convexdesign.frankwolfe.screen import FEW_ENTRIES, Priced, Screen
from convexdesign.problem import Canonical, PairTargets, VectorTargets
from convexdesign.problem.pairs import FEW_PAIRS
from convexdesign.typing import Floats, Indices

__all__ = ["Pricing", "target_pricing"]


# Pairs kept between full scans.
PAIRS = 50_000
# Items whose pairs are dealt with first where there are more than twice as many.
FEW_ITEMS = 1500
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
    the geometry has changed much. Where items are many, pairs of a few of them, the outermost and some at random, are
    dealt with first: their scans cost next to nothing, and the full scan then finds the geometry nearly settled.
    """

    def __init__(self, canonical: Canonical, targets: PairTargets):
        self.canonical = canonical
        self.targets = targets
        self.passes = 0
        self.front: Indices = np.empty(0, dtype=np.intp)
        self.vectors: Floats = np.empty((0, canonical.rank))
        self._behind = np.inf
        self._inverse: Floats = np.empty((0, 0))
        self._few = _few_items(canonical, targets) if targets.n_items > 2 * FEW_ITEMS else None

    def price(self, factor: Floats, level: float) -> Priced:
        """As Screen.price."""
        values = self._values(factor)
        if values.max(initial=0.0) <= level and not self._proven(factor, level):
            values = self._scan_few(factor)
            if values.max(initial=0.0) <= level:
                self._scan_all(factor)
                values = self._values(factor)
        below = bool(values.max() <= level) and self._proven(factor, level)
        return Priced(self.front, self.vectors, values, below)

    def _values(self, factor: Floats) -> Floats:
        image = self.vectors @ factor
        return np.asarray(np.einsum("ij,ij->i", image, image))

    def _proven(self, factor: Floats, level: float) -> bool:
        if not np.isfinite(self._behind):
            return False
        stretch = float(np.linalg.norm(self._inverse @ factor, 2) ** 2) * (1.0 + 1e-10)
        return stretch * self._behind <= level

    def _scan_few(self, factor: Floats) -> Floats:
        """The front among the few items; their values (none once these items have no violator left)."""
        if self._few is None:
            return np.empty(0)
        few = PairTargets(self.targets.items.take(self._few, axis=0))
        index, _ = few.front(self.canonical.basis @ factor, PAIRS)
        first, second = (self._few.take(part) for part in np.divmod(index, few.n_items))
        self.front = first * self.targets.n_items + second
        self.vectors = self.canonical.whiten_targets(self.front)
        return self._values(factor)

    def _scan_all(self, factor: Floats) -> None:
        self._few = None
        self.front, rest = self.targets.front(self.canonical.basis @ factor, PAIRS)
        self.vectors = self.canonical.whiten_targets(self.front)
        self._behind = rest / self.canonical.target_scale
        self._inverse = np.asarray(np.linalg.inv(factor), dtype=float)
        self.passes += 1


def _few_items(canonical: Canonical, targets: PairTargets) -> Indices:
    """The FEW_ITEMS / 2 items farthest from the mean in whitened coordinates, and as many others at random, in order."""
    image = np.asarray(targets.items, dtype=float) @ canonical.basis
    image -= image.mean(axis=0)
    distance = np.einsum("ij,ij->i", image, image)
    outermost = np.argpartition(-distance, FEW_ITEMS // 2)[: FEW_ITEMS // 2]
    random = np.random.default_rng(0).choice(targets.n_items, FEW_ITEMS // 2, replace=False)
    return np.union1d(outermost, random)


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
