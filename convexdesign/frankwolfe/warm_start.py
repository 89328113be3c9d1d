"""Where a related design says to begin: at its arms, at the targets it serves worst, and at those its proof rested on.

The proof of the related design is a set of vectors b_j = sqrt(mu_j) A^-1 v_j. For the problem it belongs to, v_j is the
target with the largest |b_j'v|, because (b_j'v)^2 <= mu_j (v_j'A^-1v_j)(v'A^-1v) and no variance exceeds that of v_j. So
asking the present problem for the largest |b_j'v| finds the same target where it still exists, and the likeliest
successor where it was eliminated, without any correspondence between the two problems' targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.certificate import Witness
from convexdesign.frankwolfe.screen import Screen
from convexdesign.frankwolfe.symmetric import combine, dimension
from convexdesign.frankwolfe.working_set import WorkingSet, batch_size, spanning
from convexdesign.problem import Canonical, PairTargets, Targets, VectorTargets
from convexdesign.problem.responses import stacked
from convexdesign.typing import Floats, Indices

__all__ = ["MOST_ARMS", "Start", "heaviest", "loudest", "spans", "started", "with_proof"]


# The weights given are mixed with this share of uniform ones: alone they might not even span.
UNIFORM = 1e-4
# So many times r(r+1)/2 arms of the start are taken, the heaviest: on a sphere optima have several times as many.
MOST_ARMS = 8
# Vectors of the old proof shorter (squared) than this share of the longest proved nothing.
FAINT = 1e-6
# Arms span well where no pivot of L is below this share of the largest.
WELL = 1e-2


@dataclass(frozen=True, eq=False)
class Start:
    """A related design: weights (k,) of the first k arms, and the witness of its bound, if there is one."""

    weights: Floats
    proof: Witness | None = None


def started(canonical: Canonical, start: Start, screen: Screen) -> tuple[WorkingSet, Floats | None]:
    """The heaviest arms of the start, weighted (nearly) as there, and F with FF' = A^-1, if there is one.

    Where these arms hardly span, some of the screen that do are added.
    """
    index = heaviest(start.weights, MOST_ARMS * dimension(canonical.rank))
    weights = np.zeros(canonical.problem.arms.n)
    weights[index] = start.weights[index]
    arms, lower = _weighted(canonical, index, weights)
    if lower is None or not spans(lower):
        anchors = screen.front[spanning(screen.vectors)]
        arms, lower = _weighted(canonical, np.union1d(index, anchors), weights)
    return arms, None if lower is None else dtrtri(lower, lower=1)[0].T


def _weighted(canonical: Canonical, index: Indices, weights: Floats) -> tuple[WorkingSet, Floats | None]:
    """The arms at the indices with their shares of the weights (n,), and L, LL' = A, if there is one."""
    vectors = canonical.whiten_arms(index)
    share = weights.take(index)
    share = (1.0 - UNIFORM) * share / share.sum() + UNIFORM / share.size
    lower, info = dpotrf(combine(stacked(vectors).T, share, canonical.prior), lower=1)
    return WorkingSet(index, vectors, share), None if info else lower


def spans(lower: Floats) -> bool:
    """Whether the arms of A = LL' span well."""
    diagonal = lower.diagonal()
    return bool(diagonal.min() > WELL * diagonal.max())


def with_proof(canonical: Canonical, proof: Witness, factor: Floats) -> WorkingSet | None:
    """The targets that a related design's proof points at, with multipliers; None where it says nothing here.

    b'v = sqrt(mu) v'Cv for the target v that b was made from, so that C = FF' at the related weights gives the multiplier.
    """
    size = float(np.abs(proof.vectors).max(initial=0.0))
    if proof.vectors.ndim != 2 or proof.vectors.shape[1] != canonical.given.arms.d or not 0.0 < size < np.inf:
        return None
    proofs = proof.within(canonical) / size  # what they point at does not depend on it
    length = np.linalg.norm(proofs @ canonical.inverse.T, axis=1) ** 2
    telling = heaviest(np.where(length > FAINT * length.max(), length, 0.0), 2 * batch_size(canonical.rank))
    proofs = proofs.take(telling, axis=0)
    index = loudest(canonical.problem.targets, proofs)
    vectors = canonical.whiten_targets(index)
    nonzero = vectors.any(axis=1)
    index, vectors = index[nonzero], vectors[nonzero]
    image = vectors @ factor
    hits = ((proofs @ canonical.inverse.T) @ vectors.T) ** 2
    variances = np.einsum("ij,ij->i", image, image)
    own = hits.argmax(axis=1) if index.size else np.empty(0, dtype=np.intp)
    multipliers = np.bincount(own, hits[np.arange(own.size), own], index.size) / variances**2
    total = multipliers.sum()
    return WorkingSet(index, vectors, multipliers / total) if np.isfinite(total) and total > 0.0 else None


def loudest(targets: Targets, vectors: Floats) -> Indices:
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
    for start, (index, values) in targets.source.map(partial(_loudest, vectors=vectors, origin=targets.offset), *along):
        found = np.where(values > best, start + index, found)
        best = np.maximum(values, best)
    return np.unique(found)


def _loudest(
    rows: Floats, factor: Floats | None = None, *, vectors: Floats, origin: Floats | None
) -> tuple[Indices, Floats]:
    """The row of the block with the largest |f b'(x - o)| for each b, and this value."""
    values = np.abs((rows if origin is None else rows - origin) @ vectors.T)
    if factor is not None:
        values *= np.abs(factor)[:, None]
    index = values.argmax(axis=0)
    return index, values[index, np.arange(index.size)]


def heaviest(weights: Floats, limit: int) -> Indices:
    """Indices of the positive entries, of the largest `limit` where there are more."""
    index = np.flatnonzero(weights > 0.0)
    if index.size > limit:
        index = np.sort(index[np.argpartition(-weights.take(index), limit)[:limit]])
    return index
