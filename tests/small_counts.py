"""Tiny problems, and their best whole-number designs by trying every one."""

from __future__ import annotations

import itertools

import numpy as np

from convexdesign.rounding import AverageVariance, MatrixTargets, Minimax, SphereTargets, Volume


def compositions(n, k):
    """Every (n_1, ..., n_k) of nonnegative whole numbers with sum n, as rows."""
    if k == 1:
        return np.array([[n]])
    bars = np.array(list(itertools.combinations(range(n + k - 1), k - 1)), dtype=int).reshape(-1, k - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + k - 1)])
    return np.diff(edges, axis=1) - 1


def textbook(criterion, M):
    """The criterion written out with inverses and determinants, for information that may be singular."""
    if np.linalg.matrix_rank(M, tol=1e-9 * np.trace(M)) < len(M):
        return np.inf
    C = np.linalg.inv(M)
    if isinstance(criterion, AverageVariance):
        return np.trace(C @ criterion.Q)
    if isinstance(criterion, Volume):
        return np.linalg.det(criterion.L.T @ C @ criterion.L) ** (1 / criterion.L.shape[1])
    if isinstance(criterion.targets, SphereTargets):
        return np.linalg.eigvalsh(criterion.targets.H.T @ C @ criterion.targets.H)[-1]
    return max(t @ C @ t for t in criterion.targets.rows)


def best_by_enumeration(U, n, criterion, prior=None, lower=0, upper=np.inf):
    """The smallest criterion over all whole-number designs within the limits."""
    every = compositions(n, len(U))
    allowed = every[np.all((every >= lower) & (every <= upper), axis=1)]
    M = np.einsum("ci,ir,is->crs", allowed, U, U) + (0 if prior is None else prior)
    return min(textbook(criterion, m) for m in M)


def tiny_problem(seed):
    """Arms, weights, n, criterion, prior and limits of a random problem with at most a few thousand designs."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 4))
    k = int(rng.integers(r, 6))
    n = int(rng.integers(r + 1, 8))
    U = rng.integers(-2, 3, (k, r)).astype(float) if seed % 3 == 0 else rng.standard_normal((k, r))
    U[:r] += 3.0 * np.eye(r)
    if np.linalg.matrix_rank(U) < r:
        U[:r] += np.eye(r)
    B = rng.standard_normal((r, r))
    criterion = [
        Minimax(MatrixTargets(U)),
        Minimax(MatrixTargets(rng.standard_normal((int(rng.integers(r, 6)), r)) + 2.0 * np.eye(r, r)[0])),
        AverageVariance(B @ B.T),
        Volume(np.eye(r)),
        Volume(np.eye(r)[:, :1]),
        Minimax(SphereTargets(np.eye(r))),
    ][seed % 6]
    prior = None if seed % 4 else 0.3 * B.T @ B
    lower, upper = np.zeros(k, dtype=int), np.full(k, n)
    if seed % 5 == 0:
        lower[int(rng.integers(k))] = 1
        upper[:] = max(2, -(-n // k))
    return U, rng.dirichlet(np.ones(k)), n, criterion, prior, lower, upper
