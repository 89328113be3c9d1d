"""The arms and targets of a restricted program: where to start, whom to add, whom to drop.

A minimax design rests on few of its targets and, over the whole simplex, on few of its arms: at most r(r+1)/2 + 1 of each
decide. So a program is solved over small sets; then all arms and targets are priced, and those that prove the restricted
solution wrong are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.arms.groups import repeat_per_response, squared_norms
from convexdesign.frankwolfe.working_set import apart_at, most_apart, spanning
from convexdesign.problem import Canonical
from convexdesign.typing import Floats, Indices

__all__ = [
    "CONIC",
    "ConicTuning",
    "anchors",
    "diverse",
    "first_arms",
    "first_targets",
    "violating_arms",
    "violating_targets",
]


@dataclass(frozen=True)
class ConicTuning:
    """When arms and targets are generated, and who stays: measured by `python benchmarks/frank_wolfe.py`.

    few_arms: all arms take part up to this many; beyond, and only over the whole simplex, they are generated too. few_targets:
    all targets take part up to this many. candidates: among so many diverse ones are looked for. Targets within the share
    near_worst of the largest variance stay, and so do arms of at least least_weight; working sets are cut back when the gap
    fell to the share `progress`.
    """

    few_arms: int = 400
    few_targets: int = 40
    candidates: int = 2000
    near_worst: float = 0.9
    least_weight: float = 1e-7
    progress: float = 0.9


CONIC = ConicTuning()


def first_arms(canonical: Canonical, tuning: ConicTuning = CONIC) -> Indices:
    """Positions in `canonical.arms` to start from: all of few, otherwise the heaviest of the coarse design."""
    n, r = canonical.merged.size, canonical.rank
    size = max(150, r * (r + 1))
    if not _generated(canonical, tuning):
        return np.arange(n)
    return np.argpartition(-_coarse_weight(canonical), size)[:size]


def anchors(canonical: Canonical, tuning: ConicTuning = CONIC) -> Indices:
    """Positions of arms that span as all do, large and well apart: kept always, so that every target can be measured."""
    if not _generated(canonical, tuning):
        return np.empty(0, dtype=np.intp)
    arms = canonical.arms
    root = repeat_per_response(np.sqrt(_coarse_weight(canonical)), arms)[:, None]
    return np.unique(spanning(root * arms, canonical.problem.responses))


def _generated(canonical: Canonical, tuning: ConicTuning) -> bool:
    """Whether only some of the arms take part: those left out have weight zero, which only the simplex always allows."""
    n, r = canonical.merged.size, canonical.rank
    return canonical.problem.weight_set.is_simplex and n > max(tuning.few_arms, r * (r + 1))


def _coarse_weight(canonical: Canonical) -> Floats:
    """The weights of the coarse design, (n,); where that has none, a little by leverage."""
    coarse = np.zeros(canonical.problem.arms.n)
    coarse[canonical.coarse] = canonical.coarse_weights
    leverage = squared_norms(canonical.arms, canonical.problem.responses)
    return np.asarray(coarse[canonical.merged] + 1e-9 * leverage / leverage.sum())


def first_targets(canonical: Canonical, factor: Floats, tuning: ConicTuning = CONIC) -> Indices:
    """Targets to start from: all if few, otherwise diverse ones among the worst of the design with A^-1 = FF'."""
    if canonical.problem.targets.m <= tuning.few_targets:
        return np.sort(canonical.problem.targets.worst(factor, tuning.few_targets)[0])
    index, _ = canonical.problem.targets.worst(factor, tuning.candidates)
    size = max(tuning.few_targets, 6 * canonical.rank)
    chosen = diverse(canonical, factor, index, size, apart=0.2)
    if chosen.size < size / 2:
        # The worst of very many targets are all alike: take the extreme ones in directions all around.
        directions = np.random.default_rng(0).standard_normal((size - chosen.size, factor.shape[1], 1))
        extreme = [canonical.problem.targets.worst(factor @ g, 1)[0] for g in directions]
        chosen = np.concatenate([chosen, *extreme])
    return np.unique(chosen)


def violating_targets(
    canonical: Canonical, factor: Floats, level: float, gap: float, tuning: ConicTuning = CONIC
) -> Indices:
    """Diverse targets of variance above the level, F (d, k) with A^-1 = FF'; far from the optimum more diverse ones."""
    index, values = canonical.problem.targets.worst(factor, tuning.candidates)
    above = index[values > level]
    size = max(tuning.few_targets, 2 * canonical.rank)
    return diverse(canonical, factor, above, size, apart_at(gap))


def violating_arms(sensitivity: Floats, level: float, rank: int, tuning: ConicTuning = CONIC) -> Indices:
    """The arms whose sensitivity sum_j (b_j'u_i)^2 exceeds the level, the largest of them."""
    size = max(tuning.few_targets, 2 * rank)
    order = np.argsort(-sensitivity, kind="stable")[:size]
    return order[sensitivity[order] > level]


def diverse(canonical: Canonical, factor: Floats, index: Indices, size: int, apart: float) -> Indices:
    """Up to `size` of the targets, in the order given, none with |cos| > 1 - apart to one chosen before.

    Angles are those between F'v, in which equal lengths mean equal variances.
    """
    image = canonical.problem.targets.take(index) @ factor
    image /= np.maximum(np.linalg.norm(image, axis=1, keepdims=True), np.finfo(float).tiny)
    return index[most_apart(image, apart, size)]
