"""The first working sets of a minimax design: arms of a D-optimal design, and the targets that are worst for it.

A related design says to begin at its arms, at the targets it serves worst, and at those its bound rested on. Its dual
certificate is a set of vectors b_j = sqrt(mu_j) A^-1 v_j. For the problem it belongs to, v_j is the target with the largest
|b_j'v|, because (b_j'v)^2 <= mu_j (v_j'A^-1v_j)(v'A^-1v) and no variance exceeds that of v_j. So
asking the present problem for the largest |b_j'v| finds the same target where it still exists, and the likeliest
successor where it was eliminated, without any correspondence between the two problems' targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.arms.groups import squared_projections
from convexdesign.certificate import DualCertificate
from convexdesign.frankwolfe.corrective_smooth import correct_d
from convexdesign.frankwolfe.pricing import Pricing, Screen, arm_pool
from convexdesign.frankwolfe.symmetric import combine, symmetric_dimension
from convexdesign.frankwolfe.tuning import TUNING, Tuning
from convexdesign.frankwolfe.working_set import WorkingSet, batch_size, first_arms, spanning, violators
from convexdesign.problem import Canonical, PairTargets, Targets, VectorTargets
from convexdesign.typing import Floats, Indices

__all__ = [
    "MOST_ARMS",
    "Start",
    "first_members",
    "largest_weights",
    "most_aligned_targets",
    "related_members",
    "spans",
    "targets_of_dual",
]


# The weights given are mixed with this share of uniform ones: alone they might not even span.
UNIFORM = 1e-4
# So many times r(r+1)/2 arms of the start are taken, those of largest weights: on a sphere optima have several times as many.
MOST_ARMS = 8
# Vectors of the old dual certificate shorter (squared) than this share of the longest proved nothing.
NEGLIGIBLE = 1e-6
# An optimum near by rests on targets whose variance is at least this share of the largest; nearly parallel ones (as for this
# gap, see `violators`) speak for each other. Measured on six-round eliminations: as few steps as with the old dual vectors.
TIED = 0.9
TIED_GAP = 0.02
# The D-optimal design need not be exact, but its geometry decides which targets are looked at.
COARSE_GAP = 1e-3
# Arms span well where no pivot of L is below this share of the largest.
WELL = 1e-2


@dataclass(frozen=True, eq=False)
class Start:
    """A related design: weights (k,) of the first k arms, and the dual certificate of its bound, if there is one."""

    weights: Floats
    dual: DualCertificate | None = None


def first_members(
    canonical: Canonical, arm_screen: Screen, targets: Pricing, tuning: Tuning = TUNING
) -> tuple[WorkingSet, WorkingSet]:
    """Arms and targets for the first master."""
    size = batch_size(canonical.rank)
    pool = arm_pool(canonical, arm_screen)
    chosen, factor = _coarse_design(canonical, pool, max(2 * size, tuning.first_targets))
    arms = pool.chosen(chosen)
    priced = targets.price(factor, 0.0)
    if canonical.problem.targets.m <= tuning.first_targets:
        # A zero target (an oracle's best item) wants nothing, and has no logarithm.
        worst = np.flatnonzero(priced.values > 0.0)
    else:
        worst = violators(priced, 0.0, size, 0.5, factor)
    return arms, WorkingSet(priced.index.take(worst), priced.vectors.take(worst, axis=0))


def related_members(
    canonical: Canonical, arm_screen: Screen, targets: Pricing, start: Start
) -> tuple[WorkingSet, WorkingSet] | None:
    """Arms and targets of a related design with weights and multipliers; None where it is singular here."""
    arms, factor = _started(canonical, start, arm_screen)
    if factor is None:
        return None
    if start.dual is not None:
        members = targets_of_dual(canonical, start.dual, factor)
        if members is not None:
            return arms, members
    priced = targets.price(factor, 0.0)
    tied = TIED * float(priced.values.max(initial=0.0))
    worst = violators(priced, tied, batch_size(canonical.rank), TIED_GAP, factor)
    multipliers = balancing(arms, priced.vectors.take(worst, axis=0), factor)
    return arms, WorkingSet(priced.index.take(worst), priced.vectors.take(worst, axis=0), multipliers)


def balancing(arms: WorkingSet, targets: Floats, factor: Floats) -> Floats:
    """Multipliers mu >= 0 of the targets (k, r), sum 1, that make all sensitivities sum_j mu_j (y_i'Cv_j)^2 of the arms as
    equal as can be, C = FF': at an optimum they are, for its arms, and mu is all that its bound needs. Least squares, arm i
    counting by its weight.
    """
    from scipy.optimize import nnls

    assert arms.weights is not None
    hits = squared_projections(arms.vectors @ factor, (targets @ factor).T, arms.responses)
    root = np.sqrt(arms.weights)
    size = float(hits.max(initial=0.0))
    alike = np.full(targets.shape[0], 1.0 / max(targets.shape[0], 1))
    if not 0.0 < size < np.inf:
        return alike
    try:
        found = nnls(root[:, None] * (hits / size), root)[0]
    except RuntimeError:  # its own limit of iterations
        return alike
    total = float(found.sum())
    return found / total if 0.0 < total < np.inf else alike


def _coarse_design(canonical: Canonical, pool: WorkingSet, size: int) -> tuple[Indices, Floats]:
    """About `size` places in the pool, of largest weight in a D-optimal design over high leverages, and its F, FF' = A^-1."""
    r, k = canonical.rank, pool.responses
    if pool.size <= size:
        return np.arange(pool.size), np.eye(r)
    first = first_arms(pool.vectors, 4 * min(symmetric_dimension(r), 750), k)
    vectors = pool.chosen(first).vectors
    design = correct_d(vectors, COARSE_GAP, prior=canonical.prior, responses=k)
    lower, _ = dpotrf(combine(vectors.T, design.weights, canonical.prior), lower=1)
    members = np.union1d(largest_weights(design.weights, size), spanning(vectors, k))
    return first.take(members), dtrtri(lower, lower=1)[0].T


def _started(canonical: Canonical, start: Start, screen: Screen) -> tuple[WorkingSet, Floats | None]:
    """The arms of the start with the largest weights, weighted (nearly) as there, and F with FF' = A^-1, if there is one.

    Where these arms hardly span, some of the screen that do are added.
    """
    index = largest_weights(start.weights, MOST_ARMS * symmetric_dimension(canonical.rank))
    weights = np.zeros(canonical.problem.arms.n)
    weights[index] = start.weights[index]
    arms, lower = _weighted(canonical, index, weights)
    if lower is None or not spans(lower):
        anchors = screen.candidates[spanning(screen.vectors, screen.responses)]
        arms, lower = _weighted(canonical, np.union1d(index, anchors), weights)
    return arms, None if lower is None else dtrtri(lower, lower=1)[0].T


def _weighted(canonical: Canonical, index: Indices, weights: Floats) -> tuple[WorkingSet, Floats | None]:
    """The arms at the indices with their shares of the weights (n,), and L, LL' = A, if there is one."""
    vectors = canonical.whiten_arms(index)
    share = weights.take(index)
    share = (1.0 - UNIFORM) * share / share.sum() + UNIFORM / share.size
    lower, info = dpotrf(combine(vectors.T, share, canonical.prior), lower=1)
    return WorkingSet(index, vectors, share, canonical.problem.responses), None if info else lower


def spans(lower: Floats) -> bool:
    """Whether the arms of A = LL' span well."""
    diagonal = lower.diagonal()
    return bool(diagonal.min() > WELL * diagonal.max())


def targets_of_dual(canonical: Canonical, dual: DualCertificate, factor: Floats) -> WorkingSet | None:
    """The targets that a related design's dual certificate points at, with multipliers; None where it says nothing here.

    b'v = sqrt(mu) v'Cv for the target v that b was made from, so that C = FF' at the related weights gives the multiplier.
    """
    size = float(np.abs(dual.vectors).max(initial=0.0))
    if dual.vectors.ndim != 2 or dual.vectors.shape[1] != canonical.given.arms.d or not 0.0 < size < np.inf:
        return None
    directions = dual.within(canonical) / size  # what they point at does not depend on it
    length = np.linalg.norm(directions @ canonical.inverse.T, axis=1) ** 2
    longest = largest_weights(np.where(length > NEGLIGIBLE * length.max(), length, 0.0), 2 * batch_size(canonical.rank))
    directions = directions.take(longest, axis=0)
    index = most_aligned_targets(canonical.problem.targets, directions)
    vectors = canonical.whiten_targets(index)
    nonzero = vectors.any(axis=1)
    index, vectors = index[nonzero], vectors[nonzero]
    image = vectors @ factor
    hits = ((directions @ canonical.inverse.T) @ vectors.T) ** 2
    variances = np.einsum("ij,ij->i", image, image)
    own = hits.argmax(axis=1) if index.size else np.empty(0, dtype=np.intp)
    multipliers = np.bincount(own, hits[np.arange(own.size), own], index.size) / variances**2
    total = multipliers.sum()
    return WorkingSet(index, vectors, multipliers / total) if np.isfinite(total) and total > 0.0 else None


def most_aligned_targets(targets: Targets, vectors: Floats) -> Indices:
    """For each vector b (k, d) the index of the target with the largest |b'v|, without repetitions; one pass."""
    if isinstance(targets, PairTargets):
        spread = np.asarray(targets.items, dtype=float) @ vectors.T
        high, low = spread.argmax(axis=0), spread.argmin(axis=0)
        apart = high != low
        return np.unique(np.minimum(high, low)[apart] * targets.n_items + np.maximum(high, low)[apart])
    if not isinstance(targets, VectorTargets):
        return np.empty(0, dtype=np.intp)
    best, found = np.full(vectors.shape[0], -1.0), np.zeros(vectors.shape[0], dtype=np.intp)
    along = () if targets.factor is None else (targets.factor,)
    for start, (index, values) in targets.source.map(
        partial(_most_aligned, vectors=vectors, origin=targets.offset), *along
    ):
        found = np.where(values > best, start + index, found)
        best = np.maximum(values, best)
    return np.unique(found)


def _most_aligned(
    rows: Floats, factor: Floats | None = None, *, vectors: Floats, origin: Floats | None
) -> tuple[Indices, Floats]:
    """The row of the block with the largest |f b'(x - o)| for each b, and this value."""
    values = np.abs((rows if origin is None else rows - origin) @ vectors.T)
    if factor is not None:
        values *= np.abs(factor)[:, None]
    index = values.argmax(axis=0)
    return index, values[index, np.arange(index.size)]


def largest_weights(weights: Floats, limit: int) -> Indices:
    """Indices of the positive entries, of the largest `limit` where there are more."""
    index = np.flatnonzero(weights > 0.0)
    if index.size > limit:
        index = np.sort(index[np.argpartition(-weights.take(index), limit)[:limit]])
    return index
