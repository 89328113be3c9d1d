"""Pricing all arms and targets of a problem, in whitened coordinates: the largest of very many values |F'x_i|^2 for a sequence
of matrices F, from one or two passes over all x_i, and pairs of items by sets of far pairs.

A pass at F_0 gives q_i = |F_0'x_i|^2 for every i. Whatever the next F is,

    |F'x_i|^2 <= lambda q_i,      lambda = the largest eigenvalue of F'(F_0 F_0')^-1 F,

so a vector with small q_i cannot be among the largest values for some time. Only the candidate set, the vectors with the
largest q_i, is evaluated from then on; the bound proves that nothing outside it exceeds a given level. Where it
proves nothing any more, the set is extended down to level / lambda if that is not too far, otherwise a new pass is
made. This is what keeps a solve over a million arms at one or two passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from convexdesign.arms.groups import squared_norms
from convexdesign.frankwolfe.tuning import TUNING, Tuning
from convexdesign.frankwolfe.working_set import Priced, WorkingSet, spanning
from convexdesign.problem import Canonical, PairTargets, VectorTargets
from convexdesign.typing import Floats, Indices

__all__ = ["Pricing", "Screen", "arm_pool", "arm_screen", "target_pricing"]


# Eigenvalues of F_0 F_0' are lifted to this share of their mean: a matrix that ignores a direction bounds nothing in it.
LIFT = 0.1
# Targets of a kind known only by their worst: how many to ask for.
ASKED = 1000


class Screen:
    """The state between pricings: the candidate set and, once a pass was made, q for all vectors.

    values: F (r, k) -> |F'x_i|^2 for all n vectors; take: indices -> vectors (k responses, r). The set may begin as any
    sample, which then holds until nothing in it exceeds the level, or empty, so that a pass comes first.
    """

    def __init__(
        self,
        values: Callable[[Floats], Floats],
        take: Callable[[Indices], Floats],
        n: int,
        candidates: Indices,
        tuning: Tuning = TUNING,
        responses: int = 1,
    ):
        self.values = values
        self.take = take
        self.n = n
        self.responses = responses
        self.tuning = tuning
        self.candidates = candidates
        self.vectors = take(candidates)
        self.passes = 0
        self._q: Floats | None = None
        self._inverse: Floats | None = None
        self._lift = np.empty((0, 0))
        self._behind = np.inf if candidates.size < n else -np.inf
        self._outdated = False

    @classmethod
    def of_all(cls, take: Callable[[Indices], Floats], index: Indices) -> Screen:
        """A screen whose candidate set is everything there is: and no pass is ever made."""
        return cls(lambda F: np.empty(0), take, index.size, index)

    def price(self, factor: Floats, level: float) -> Priced:
        """Values of the candidates at F: some exceed the level, or it is proven that none anywhere does."""
        if self._outdated:
            self._renew_candidates()
        values = self._candidate_values(factor)
        if values.max(initial=0.0) <= level and not self._proven(factor, level):
            if not self._extend(level / self._growth_bound(factor)):
                if self._pass(factor) <= level:
                    return Priced(self.candidates, self.vectors, values, True, self.responses)
                self._renew_candidates()
            values = self._candidate_values(factor)
        below = bool(values.max(initial=0.0) <= level) and self._proven(factor, level)
        return Priced(self.candidates, self.vectors, values, below, self.responses)

    def look_over(self, factor: Floats) -> None:
        """A pass over all vectors now: the candidate set is made of those with the largest |F'x_i|^2 at this F."""
        self._pass(factor)
        self._renew_candidates()

    def _candidate_values(self, factor: Floats) -> Floats:
        return squared_norms(self.vectors @ factor, self.responses)

    def _growth_bound(self, factor: Floats) -> float:
        if self._inverse is None:
            return np.inf
        # The margin covers the rounding of the eigenvalue.
        return float(np.linalg.norm(self._inverse @ factor, 2) ** 2) * (1.0 + 1e-10)

    def _proven(self, factor: Floats, level: float) -> bool:
        if self._behind <= 0.0:
            return True
        return bool(np.isfinite(self._behind)) and self._growth_bound(factor) * self._behind <= level

    def _extend(self, cut: float) -> bool:
        if self._q is None:
            return False
        chosen = np.flatnonzero(self._q > cut)
        if chosen.size > max(self.tuning.widest * self.n, self.tuning.fewest):
            return False
        self.candidates, self.vectors, self._behind = chosen, self.take(chosen), cut
        return True

    def _pass(self, factor: Floats) -> float:
        """q for all vectors at this F, and the largest. The candidate set is renewed when next it is needed."""
        eigenvalues, vectors = np.linalg.eigh(factor @ factor.T)
        lifted = np.maximum(eigenvalues, LIFT * eigenvalues.mean())
        self._q = self.values(factor)
        self._lift = vectors * np.sqrt(lifted - np.maximum(eigenvalues, 0.0))
        self._inverse = vectors.T / np.sqrt(lifted)[:, None]
        self._outdated = True
        self.passes += 1
        return float(self._q.max())

    def _renew_candidates(self) -> None:
        """The vectors with the largest q, and where that is lifted also those with the largest true values."""
        assert self._q is not None
        size = max(int(self.tuning.share * self.n), self.tuning.fewest)
        chosen = self._q >= _largest(self._q, size)
        if self._lift.any():
            self._q += self.values(self._lift[:, self._lift.any(axis=0)])
        self._behind = _largest(self._q, size)
        self.candidates = np.flatnonzero(chosen | (self._q >= self._behind))
        self.vectors = self.take(self.candidates)
        self._outdated = False


def _largest(values: Floats, k: int) -> float:
    """The k-th largest value, or minus infinity if there are no more than k."""
    return float(np.partition(values, values.size - k)[values.size - k]) if k < values.size else -np.inf


class Pricing(Protocol):
    """Anything that prices vectors at a factor F (r, k) against a level, as Screen does."""

    passes: int

    def price(self, factor: Floats, level: float) -> Priced: ...


def arm_screen(canonical: Canonical, *, pass_first: bool = False, tuning: Tuning = TUNING) -> Screen:
    """Prices |F'u_i|^2 over all arms. Few arms are all candidates; of many, a sample or, by a pass, the outstanding ones.

    The sample is the one that the canonical form was found from. pass_first spends a pass at the coarse design, which
    finds the arms of high leverage and, unless the optimum looks very different, is the only one needed.
    """
    arms, basis, coarse = canonical.problem.arms, canonical.basis, canonical.coarse
    few = arms.n * arms.d <= tuning.few_entries
    candidates = np.arange(arms.n) if few else coarse[:0] if pass_first else coarse
    whiten, responses = canonical.whiten_arms, arms.responses
    screen = Screen(lambda F: arms.quadratic(basis @ F), whiten, arms.n, candidates, tuning, responses)
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


def target_pricing(canonical: Canonical, tuning: Tuning = TUNING) -> Pricing:
    """The pricing that suits the problem's targets; values are those of whitened, scaled targets."""
    targets = canonical.problem.targets
    if isinstance(targets, PairTargets):
        if targets.m <= tuning.few_pairs:
            return Screen.of_all(canonical.whiten_targets, targets.all())
        return PairPricing(canonical, targets, tuning)
    if isinstance(targets, VectorTargets):
        basis = canonical.basis / np.sqrt(canonical.target_scale)
        candidates = np.arange(targets.m if targets.m * targets.d <= tuning.few_entries else 0)
        return Screen(lambda F: targets.values(basis @ F), canonical.whiten_targets, targets.m, candidates, tuning)
    return WorstPricing(canonical)


class PairPricing:
    """The candidate set: pairs that were far apart at F_0, with the level that no other pair exceeded.

    The bound above holds for differences as for any vectors, so a scan over all pairs is needed only when
    the geometry has changed much. Where items are many, pairs of a few of them, the outermost and some at random, are
    dealt with first: their scans cost next to nothing, and the full scan then finds the geometry nearly settled.
    """

    def __init__(self, canonical: Canonical, targets: PairTargets, tuning: Tuning):
        self.canonical = canonical
        self.targets = targets
        self.tuning = tuning
        self.passes = 0
        self.candidates: Indices = np.empty(0, dtype=np.intp)
        self.vectors: Floats = np.empty((0, canonical.rank))
        self._behind = np.inf
        self._inverse: Floats = np.empty((0, 0))
        few = tuning.few_items
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
        index, _ = few.candidates(self.canonical.basis @ factor, self.tuning.pairs)
        first, second = (self._few.take(part) for part in np.divmod(index, few.n_items))
        self.candidates = first * self.targets.n_items + second
        self.vectors = self.canonical.whiten_targets(self.candidates)
        return self._values(factor)

    def _scan_all(self, factor: Floats) -> None:
        self._few = None
        self.candidates, rest = self.targets.candidates(self.canonical.basis @ factor, self.tuning.pairs)
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
