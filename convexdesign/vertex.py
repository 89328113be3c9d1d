"""Small supports: weights moved to a vertex of the set of designs that are optimal within the tolerance.

- One target c alone (Elfving): c'A^-1c is least at weights |a_i| / sum |a_k| for the a of least sum |a_i| with
  sum_i a_i y_i = c, a linear program, whose vertices have at most r arms.
- log det and average variances: the same information matrix has a design of at most r(r+1)/2 + 1 arms (Caratheodory). Of two
  arms that tell nearly the same, neighbours on a grid, one is left out where the best weights on the others are within the
  tolerance; they are found by Newton's method on the few arms that are left.

Nothing is believed: every step is evaluated against the bound of the certificate, which holds for any weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from convexdesign.certificate import Certificate, revalued
from convexdesign.criteria import oracle_of
from convexdesign.problem import Canonical
from convexdesign.typing import Floats, Indices

__all__ = ["at_vertex"]


# Supports beyond this are left as they are: they are no smeared points.
MOST_ARMS = 400
MOST_ENTRIES = 4_000_000
# Arms whose squared correlation in the metric of the design is above this are neighbours.
NEIGHBOURS = 0.999
NEWTON_STEPS = 40
# Neighbours are merged where that leaves the gap below this share of the tolerance.
MERGED = 0.5
# A weight at or below it, as a share of an even one, is zero.
ZERO = 1e-9


def at_vertex(
    canonical: Canonical, weights: Floats, certificate: Certificate, tol: float
) -> tuple[Floats, Certificate]:
    """The weights (n,) on fewer arms where a certificate within tol allows it, and their certificate."""
    problem = canonical.problem
    support, r = np.flatnonzero(weights), canonical.rank
    if not problem.weight_set.is_simplex or problem.responses > 1 or certificate.gap > tol:
        return weights, certificate
    if not 1 < support.size <= MOST_ARMS or support.size * r**4 > 4 * MOST_ENTRIES * r:
        return weights, certificate
    arms = canonical.whiten_arms(support)
    oracle = oracle_of(problem)
    if oracle.smooth_form is None and oracle.numbered(problem) == 1 and canonical.prior is None:
        target = problem.targets.take(np.zeros(1, dtype=np.int64))[0] @ canonical.basis
        return _better(canonical, weights, certificate, support, _elfving(arms, target), tol)
    if oracle.smooth_form is None or support.size <= r:
        return weights, certificate
    if support.size <= r * (r + 1) // 2 and not _neighbours(arms, weights[support], canonical.prior):
        return weights, certificate
    return _without_neighbours(canonical, weights, certificate, support, arms, tol)


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
    from convexdesign.rounding.sparsification import sparsify

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
    used = np.flatnonzero(start)
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
