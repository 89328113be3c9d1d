"""Pricing all arms and targets of a problem, in whitened coordinates: by screens, and pairs of items by sets of far pairs."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from convexdesign.frankwolfe.screen import SIZES, Priced, Screen, Sizes
from convexdesign.frankwolfe.working_set import WorkingSet, spanning
from convexdesign.problem import Canonical, PairTargets, VectorTargets
from convexdesign.typing import Floats, Indices

__all__ = ["Pricing", "arm_pool", "arm_screen", "target_pricing"]


# Targets of a kind known only by their worst: how many to ask for.
ASKED = 1000


class Pricing(Protocol):
    """Anything that prices vectors at a factor F (r, k) against a level, as Screen does."""

    passes: int

    def price(self, factor: Floats, level: float) -> Priced: ...


def arm_screen(canonical: Canonical, *, pass_first: bool = False, sizes: Sizes = SIZES) -> Screen:
    """Prices |F'u_i|^2 over all arms. Few arms are all candidates; of many, a sample or, by a pass, the outstanding ones.

    The sample is the one that the canonical form was found from. pass_first spends a pass at the coarse design, which
    finds the arms of high leverage and, unless the optimum looks very different, is the only one needed.
    """
    arms, basis, coarse = canonical.problem.arms, canonical.basis, canonical.coarse
    few = arms.n * arms.d <= sizes.few_entries
    candidates = np.arange(arms.n) if few else coarse[:0] if pass_first else coarse
    whiten, responses = canonical.whiten_arms, arms.responses
    screen = Screen(lambda F: arms.quadratic(basis @ F), whiten, arms.n, candidates, sizes, responses)
    if pass_first and not few:
        screen.price(np.eye(canonical.rank), 0.0)
    return screen


def arm_pool(canonical: Canonical, screen: Screen) -> WorkingSet:
    """The candidates, and arms that span: those of high leverage need not, as short arms alone may know a direction."""
    pool = WorkingSet(screen.candidates, screen.vectors, None, screen.responses)
    if pool.size == canonical.problem.arms.n:
        return pool
    anchors = canonical.coarse[spanning(canonical.whiten_arms(canonical.coarse), screen.responses)]
    missing = np.setdiff1d(anchors, pool.index)
    vectors = np.concatenate([pool.vectors, canonical.whiten_arms(missing)])
    return WorkingSet(np.concatenate([pool.index, missing]), vectors, None, screen.responses)


def target_pricing(canonical: Canonical, sizes: Sizes = SIZES) -> Pricing:
    """The pricing that suits the problem's targets; values are those of whitened, scaled targets."""
    targets = canonical.problem.targets
    if isinstance(targets, PairTargets):
        if targets.m <= sizes.few_pairs:
            return Screen.of_all(canonical.whiten_targets, targets.all())
        return PairPricing(canonical, targets, sizes)
    if isinstance(targets, VectorTargets):
        basis = canonical.basis / np.sqrt(canonical.target_scale)
        candidates = np.arange(targets.m if targets.m * targets.d <= sizes.few_entries else 0)
        return Screen(lambda F: targets.values(basis @ F), canonical.whiten_targets, targets.m, candidates, sizes)
    return WorstPricing(canonical)


class PairPricing:
    """The candidate set: pairs that were far apart at F_0, with the level that no other pair exceeded.

    The bound of `screen` holds for differences as for any vectors, so a scan over all pairs is needed only when
    the geometry has changed much. Where items are many, pairs of a few of them, the outermost and some at random, are
    dealt with first: their scans cost next to nothing, and the full scan then finds the geometry nearly settled.
    """

    def __init__(self, canonical: Canonical, targets: PairTargets, sizes: Sizes):
        self.canonical = canonical
        self.targets = targets
        self.sizes = sizes
        self.passes = 0
        self.candidates: Indices = np.empty(0, dtype=np.intp)
        self.vectors: Floats = np.empty((0, canonical.rank))
        self._behind = np.inf
        self._inverse: Floats = np.empty((0, 0))
        few = sizes.few_items
        self._few = _few_items(canonical, targets, few) if targets.n_items > 2 * few else None

    def price(self, factor: Floats, level: float) -> Priced:
        """As Screen.price."""
        values = self._values(factor)
        if values.max(initial=0.0) <= level and not self._proven(factor, level):
            values = self._scan_few(factor)
            if values.max(initial=0.0) <= level:
                self._scan_all(factor)
                values = self._values(factor)
        below = bool(values.max() <= level) and self._proven(factor, level)
        return Priced(self.candidates, self.vectors, values, below)

    def _values(self, factor: Floats) -> Floats:
        image = self.vectors @ factor
        return np.asarray(np.einsum("ij,ij->i", image, image))

    def _proven(self, factor: Floats, level: float) -> bool:
        if not np.isfinite(self._behind):
            return False
        growth = float(np.linalg.norm(self._inverse @ factor, 2) ** 2) * (1.0 + 1e-10)
        return growth * self._behind <= level

    def _scan_few(self, factor: Floats) -> Floats:
        """The candidates among the few items; their values (none once these items have no violator left)."""
        if self._few is None:
            return np.empty(0)
        few = PairTargets(self.targets.items.take(self._few, axis=0))
        index, _ = few.front(self.canonical.basis @ factor, self.sizes.pairs)
        first, second = (self._few.take(part) for part in np.divmod(index, few.n_items))
        self.candidates = first * self.targets.n_items + second
        self.vectors = self.canonical.whiten_targets(self.candidates)
        return self._values(factor)

    def _scan_all(self, factor: Floats) -> None:
        self._few = None
        self.candidates, rest = self.targets.front(self.canonical.basis @ factor, self.sizes.pairs)
        self.vectors = self.canonical.whiten_targets(self.candidates)
        self._behind = rest / self.canonical.target_scale
        self._inverse = np.asarray(np.linalg.inv(factor), dtype=float)
        self.passes += 1


def _few_items(canonical: Canonical, targets: PairTargets, count: int) -> Indices:
    """Half of the count: the items farthest from the mean in whitened coordinates; and as many others at random; in order."""
    image = np.asarray(targets.items, dtype=float) @ canonical.basis
    image -= image.mean(axis=0)
    distance = np.einsum("ij,ij->i", image, image)
    outermost = np.argpartition(-distance, count // 2)[: count // 2]
    random = np.random.default_rng(0).choice(targets.n_items, count // 2, replace=False)
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
