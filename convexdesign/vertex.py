"""Small supports: weights moved to a vertex of the set of designs that are optimal within the tolerance.

- One target c alone (Elfving): c'A^-1c is least at weights |a_i| / sum |a_k| for the a of least sum |a_i| with
  sum_i a_i y_i = c, a linear program, whose vertices have at most r arms.
- With bounds and linear constraints: the same information matrix has a design at a vertex of what they allow, with at most
  r(r+1)/2 + 1 arms between their bounds and one more for every constraint that holds with equality
  (`rounding.sparsification_within`), whatever the criterion.
- With other convex constraints besides: the same, where the weights moved keep these; first by any arms, then by those that
  such constraints do not depend on.
- log det and average variances: the same information matrix has a design of at most r(r+1)/2 + 1 arms (Caratheodory). Of two
  arms that tell nearly the same, neighbours on a grid, one is left out where the best weights on the others are within the
  tolerance; they are found by Newton's method on the few arms that are left.

Nothing is believed: every step is evaluated against the bound of the certificate, which holds for any weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from convexdesign.arms.groups import grouped, repeat_per_response
from convexdesign.certificate import Certificate, revalued
from convexdesign.criteria import oracle_of
from convexdesign.frankwolfe.bounded import within_bounds
from convexdesign.problem import Canonical
from convexdesign.problem.projection import into_rows, misses_of
from convexdesign.rounding.sparsification import sparsify
from convexdesign.rounding.sparsification_within import LinearLimits, between, settled_at_lower_bounds, sparsify_within
from convexdesign.typing import Floats, Indices

__all__ = ["Room", "at_vertex"]


# Supports beyond this are left as they are: they are no smeared points.
MOST_ARMS = 400
MOST_ENTRIES = 4_000_000
# Arms whose squared correlation in the metric of the design is above this are neighbours.
NEIGHBOURS = 0.999
NEWTON_STEPS = 40
# Neighbours are merged where that leaves the gap below this share of the tolerance.
MERGED = 0.5
MOST_MERGED = 60
# What solvers leave of zero is below one of these, the most first that the certificate allows.
DUST = (1e-4, 1e-5, 1e-6, 1e-7)
# The gap to which weights are found again on fewer arms, and what constraints may be missed by.
SETTLED = 1e-10
# A row with less room than this share of its terms is in the way.
NEAR = 1e-6
ROUNDING = 1e-12
# A weight at or below it, as a share of an even one, is zero.
ZERO = 1e-9


@dataclass(frozen=True, eq=False)
class Room:
    """Bounds and linear rows that weights move within; how far weights miss all constraints; and what moves them inside."""

    limits: LinearLimits
    missed: Callable[[Floats], float]
    into: Callable[[Floats], Floats]

    @classmethod
    def linear(cls, limits: LinearLimits, own: Callable[[Floats], float]) -> Room:
        """Where that is all there is; own: by how much the weights miss sum and bounds."""
        rows, right, equalities = np.vstack([limits.E, limits.G]), np.r_[limits.e, limits.h], len(limits.E)

        def missed(w: Floats) -> float:
            return max(own(w), float(misses_of(rows, right, w, equalities).max(initial=0.0)))

        return cls(limits, missed, lambda w: into_rows(w, limits.lower, limits.upper, rows, right, equalities))


def at_vertex(
    canonical: Canonical,
    weights: Floats,
    certificate: Certificate,
    tol: float,
    room: Room | None = None,
) -> tuple[Floats, Certificate]:
    """The weights (n,) on fewer arms where a certificate within tol allows it, and their certificate.

    room: what constraints allow, None for weights without any.
    """
    problem = canonical.problem
    if room is not None and certificate.gap <= tol:
        return _within(canonical, weights, certificate, room, tol)
    support, r = np.flatnonzero(weights != 0), canonical.rank
    if not problem.weight_set.is_simplex or problem.responses > 1 or certificate.gap > tol:
        return weights, certificate
    if not 1 < support.size <= MOST_ARMS or support.size * r**4 > 4 * MOST_ENTRIES * r:
        return weights, certificate
    oracle = oracle_of(problem)
    if oracle.smooth_form is None and oracle.numbered(problem) == 1 and canonical.prior is None:
        target = problem.targets.take(np.zeros(1, dtype=np.int64))[0] @ canonical.basis
        fewer = _elfving(canonical.whiten_arms(support), target)
        return _better(canonical, weights, certificate, support, fewer, tol)
    if oracle.smooth_form is None or support.size <= r:
        return weights, certificate
    arms = canonical.whiten_arms(support)
    if support.size <= r * (r + 1) // 2 and not _neighbours(arms, weights[support], canonical.prior):
        return weights, certificate
    return _without_neighbours(canonical, weights, certificate, support, arms, tol)


def _within(
    canonical: Canonical,
    weights: Floats,
    certificate: Certificate,
    room: Room,
    tol: float,
) -> tuple[Floats, Certificate]:
    """The weights at a vertex of what is allowed, with their information; then without dust and without neighbours."""
    limits = room.limits
    cleared = settled_at_lower_bounds(weights, limits)
    if np.count_nonzero(cleared) < np.count_nonzero(weights):
        weights, certificate = _allowed(canonical, weights, certificate, room, cleared, tol)
    weights, certificate = _sparsified(canonical, weights, certificate, room, tol)
    if not canonical.problem.weight_set.is_box:  # there it is gone already
        weights, certificate = _cleared(canonical, weights, certificate, room, tol)
        polished = _settled(canonical, weights, limits)
        if polished is not weights:
            weights, certificate = _allowed(canonical, weights, certificate, room, polished, tol)
    return _merged(canonical, weights, certificate, room, tol)


def _sparsified(
    canonical: Canonical, weights: Floats, certificate: Certificate, room: Room, tol: float
) -> tuple[Floats, Certificate]:
    """The weights at a vertex of what is allowed."""
    limits, r = room.limits, canonical.rank
    index = between(weights, limits)
    if not r * (r + 1) // 2 < index.size <= MOST_ARMS or index.size * r**4 > 4 * MOST_ENTRIES * r:
        return weights, certificate
    arms = grouped(canonical.whiten_arms(index), canonical.problem.responses)
    held = _information(canonical, np.where(np.isin(np.arange(weights.size), index), 0.0, weights))
    for even_sum in (False, True):
        moved = sparsify_within(arms, weights, limits, held, even_sum=even_sum)
        weights, certificate = _allowed(canonical, weights, certificate, room, moved, tol)
        if between(weights, limits).size < index.size:
            break
    return weights, certificate


def _cleared(
    canonical: Canonical, weights: Floats, certificate: Certificate, room: Room, tol: float
) -> tuple[Floats, Certificate]:
    """Without what solvers leave of zero."""
    size = np.minimum(room.limits.upper, 1.0)
    for cut in DUST:
        cleared = np.where(weights - room.limits.lower < cut * size, room.limits.lower, weights)
        few = np.count_nonzero(weights)
        if np.count_nonzero(cleared) < few:
            weights, certificate = _allowed(canonical, weights, certificate, room, cleared, MERGED * tol)
        if np.count_nonzero(weights) < few:
            break
    return weights, certificate


def _information(canonical: Canonical, weights: Floats) -> Floats:
    """A0 and what the weights give, in whitened coordinates."""
    used = np.flatnonzero(weights != 0)
    held = np.zeros((canonical.rank, canonical.rank)) if canonical.prior is None else canonical.prior
    if not used.size:
        return held
    U = canonical.whiten_arms(used)
    return held + (U * repeat_per_response(weights[used], U)[:, None]).T @ U


def _allowed(
    canonical: Canonical,
    weights: Floats,
    certificate: Certificate,
    room: Room,
    moved: Floats,
    tol: float,
) -> tuple[Floats, Certificate]:
    """Moved weights on fewer arms where they miss the constraints no more than before and are certified, else the weights."""
    moved = room.into(moved)
    missed = room.missed(moved)
    if np.count_nonzero(moved) > np.count_nonzero(weights) or missed > max(certificate.feasibility, ROUNDING):
        return weights, certificate
    again = revalued(certificate, canonical, moved)
    if again.gap > max(tol, certificate.gap) or again.rank < certificate.rank:
        return weights, certificate
    return moved, replace(again, feasibility=max(missed, certificate.feasibility))


def _merged(
    canonical: Canonical,
    weights: Floats,
    certificate: Certificate,
    room: Room,
    tol: float,
) -> tuple[Floats, Certificate]:
    """Neighbours between their bounds made one, where the constraints allow that and the criterion does not tell."""
    if canonical.problem.responses > 1 or oracle_of(canonical.problem).smooth(canonical) is None:
        return weights, certificate
    limits = room.limits
    tried: set[int] = set()
    while len(tried) < MOST_MERGED:
        index = between(weights, limits)
        left = [int(i) for i in index[np.argsort(weights[index], kind="stable")] if int(i) not in tried]
        if not left or not 1 < index.size <= MOST_ARMS:
            break
        arms, w = canonical.whiten_arms(index), weights[index]
        held = _information(canonical, np.where(np.isin(np.arange(weights.size), index), 0.0, weights))
        if not _neighbours(arms, w, held):
            break
        tried.add(left[0])
        at = int(np.searchsorted(index, left[0]))
        nearest = int(index[_nearest(arms, w, at, held)])
        moved = weights.copy()
        moved[nearest] += moved[left[0]] - limits.lower[left[0]]
        moved[left[0]] = limits.lower[left[0]]
        if moved[nearest] > limits.upper[nearest] or (limits.G @ moved > limits.h + ROUNDING).any():
            continue
        moved = _settled(canonical, moved, limits)
        weights, certificate = _allowed(canonical, weights, certificate, room, moved, MERGED * tol)
    return weights, certificate


def _settled(canonical: Canonical, weights: Floats, limits: LinearLimits) -> Floats:
    """The best weights on the arms between their bounds, the others where they are; as given where a row is in the way."""
    smooth = oracle_of(canonical.problem).smooth(canonical)
    used = np.flatnonzero(weights != 0)
    tight = limits.G @ weights > limits.h - NEAR * (np.abs(limits.G) @ weights + np.abs(limits.h))
    if smooth is None or len(limits.E) or tight.any() or not used.size <= MOST_ARMS:
        return weights
    free = np.isin(used, between(weights, limits))
    low, high = (np.where(free, bound[used], weights[used]) for bound in (limits.lower, limits.upper))
    try:
        found = within_bounds(canonical.whiten_arms(used), *smooth, low, high, SETTLED, prior=canonical.prior)
    except np.linalg.LinAlgError:
        return weights
    out = weights.copy()
    out[used] = found.weights
    return out


def _better(
    canonical: Canonical, weights: Floats, certificate: Certificate, support: Indices, few: Floats | None, tol: float
) -> tuple[Floats, Certificate]:
    """The weights few (k,) on the support where these are fewer and certified to tol, else the weights as they are."""
    if few is None or np.count_nonzero(few) > np.count_nonzero(weights):
        return weights, certificate
    fewer = np.zeros_like(weights)
    fewer[support] = few
    again = revalued(certificate, canonical, fewer)
    if again.gap <= max(tol, certificate.gap):
        return fewer, replace(again, feasibility=canonical.problem.weight_set.violation(fewer))
    return weights, certificate


def _elfving(arms: Floats, target: Floats) -> Floats | None:
    """Weights (k,) from the representation of the target (r,) by arms (k, r) with the least sum of absolute coefficients."""
    from scipy.optimize import linprog

    size = float(np.abs(arms).max())
    scale = float(np.abs(target).max())
    if not (size > 0 and scale > 0):
        return None
    found = linprog(
        np.ones(2 * len(arms)),
        A_eq=np.hstack([arms.T, -arms.T]) / size,
        b_eq=target / scale,
        method="highs-ds",
    )
    if found.status != 0:
        return None
    a = np.abs(found.x[: len(arms)] - found.x[len(arms) :])
    a[a <= ZERO * a.max()] = 0.0
    return np.asarray(a / a.sum())


def _neighbours(arms: Floats, w: Floats, prior: Floats | None) -> bool:
    """Whether two arms tell nearly the same."""
    A = (arms * w[:, None]).T @ arms
    lam, Q = np.linalg.eigh(A if prior is None else A + prior)
    Z = arms @ (Q / np.sqrt(np.maximum(lam, 1e-14 * lam[-1])))
    K = Z @ Z.T
    d = np.maximum(np.diag(K), 1e-300)
    K = K * K / d / d[:, None]
    np.fill_diagonal(K, 0.0)
    return bool(K.max() > NEIGHBOURS)


def _without_neighbours(
    canonical: Canonical, weights: Floats, certificate: Certificate, support: Indices, arms: Floats, tol: float
) -> tuple[Floats, Certificate]:
    """Arms left out one after another, the lightest first, each with the best weights on the others."""
    w = weights[support]
    if w.size > arms.shape[1] * (arms.shape[1] + 1) // 2:
        w = sparsify(arms, w, canonical.prior)
        weights, certificate = _better(canonical, weights, certificate, support, w, tol)
        w = weights[support]
    polished = _best_weights(canonical, arms, w)
    weights, certificate = _better(canonical, weights, certificate, support, polished, tol)
    tried: set[int] = set()
    while True:
        w = weights[support]
        left = [int(i) for i in np.argsort(w, kind="stable") if w[i] > 0 and int(i) not in tried]
        if not left or np.count_nonzero(w) <= 1 or not _neighbours(arms[w > 0], w[w > 0], canonical.prior):
            return weights, certificate
        tried.add(left[0])
        without = w.copy()
        without[left[0]] = 0.0
        # Its neighbour starts with its weight.
        nearest = _nearest(arms, w, left[0], canonical.prior)
        without[nearest] += w[left[0]]
        fewer = _best_weights(canonical, arms, without)
        weights, certificate = _better(canonical, weights, certificate, support, fewer, MERGED * tol)


def _nearest(arms: Floats, w: Floats, i: int, prior: Floats | None) -> int:
    """The other arm in use that tells most of what arm i does."""
    A = (arms * w[:, None]).T @ arms
    C = np.linalg.pinv(A if prior is None else A + prior)
    along = np.square(arms @ C @ arms[i]) / np.maximum(np.einsum("ij,jk,ik->i", arms, C, arms), 1e-300)
    along[w == 0] = -1.0
    along[i] = -1.0
    return int(np.argmax(along))


def _best_weights(canonical: Canonical, arms: Floats, start: Floats) -> Floats | None:
    """The best weights (k,) on the arms in use at the start, by Newton's method; None where they measure too little."""
    used = np.flatnonzero(start != 0)
    U, w = arms[used], start[used] / start.sum()
    for _ in range(NEWTON_STEPS):
        found = _model(canonical, U, w)
        if found is None:
            return None
        value, g, H = found
        k = w.size
        system = np.zeros((k + 1, k + 1))
        system[:k, :k] = H + 1e-12 * np.trace(H) / k * np.eye(k)
        system[:k, k] = system[k, :k] = 1.0
        step = np.linalg.lstsq(system, np.append(-g, 0.0), rcond=None)[0][:k]
        falling = step < 0
        limit = float(np.min(-w[falling] / step[falling], initial=np.inf))
        t = min(1.0, limit)
        while t > 1e-10:
            after = np.maximum(w + t * step, 0.0)
            there = _model(canonical, U, after)
            if there is not None and there[0] <= value + 1e-15 * abs(value):
                break
            t *= 0.5
        else:
            break
        w = after / after.sum()
        alive = w > ZERO / k
        used, U, w = used[alive], U[alive], w[alive] / w[alive].sum()
        if alive.all() and float(np.abs(t * step).max()) < 1e-13:
            break
    out = np.zeros_like(start)
    out[used] = w
    return out


def _model(canonical: Canonical, U: Floats, w: Floats) -> tuple[float, Floats, Floats] | None:
    """What is to be least, its gradient (k,) and its Hessian (k, k) in the weights; None where they measure too little."""
    from scipy.linalg import solve_triangular

    form = oracle_of(canonical).smooth_form
    A = (U * w[:, None]).T @ U
    if canonical.prior is not None:
        A = A + canonical.prior
    try:
        factor: Floats = np.asarray(np.linalg.cholesky(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    if form is None or not np.diag(factor).min() > 1e-12 * np.diag(factor).max():
        return None
    Z, L = (solve_triangular(factor, X, lower=True, check_finite=False) for X in (U.T, canonical.contrast_matrix))
    L, value, _ = form.at(factor, L)
    return value, -np.square(form.image(L, Z)).sum(axis=0), form.hessian(L, Z)
