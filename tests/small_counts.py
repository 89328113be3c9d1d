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
    """The criterion written out; of singular M on its range, where that has all that is wanted, and infinite elsewhere."""
    lam, Q = np.linalg.eigh(M)
    keep = lam > 1e-9 * max(lam[-1], 1e-300)
    C = (Q[:, keep] / lam[keep]) @ Q[:, keep].T
    lost = Q[:, ~keep]
    if isinstance(criterion, AverageVariance):
        wanted = criterion.Q
    elif isinstance(criterion, Volume):
        wanted = criterion.L
    elif isinstance(criterion.targets, SphereTargets):
        wanted = criterion.targets.H
    else:
        wanted = criterion.targets.rows.T
    if np.abs(lost.T @ wanted).max(initial=0.0) > 1e-7 * np.abs(wanted).max():
        return np.inf
    if isinstance(criterion, AverageVariance):
        return np.trace(C @ criterion.Q)
    if isinstance(criterion, Volume):
        return np.linalg.det(criterion.L.T @ C @ criterion.L) ** (1 / criterion.L.shape[1])
    if isinstance(criterion.targets, SphereTargets):
        return np.linalg.eigvalsh(criterion.targets.H.T @ C @ criterion.targets.H)[-1]
    return max(t @ C @ t for t in criterion.targets.rows)


def best_by_enumeration(U, n, criterion, prior=None, lower=0, upper=np.inf):
    """The smallest criterion over all whole-number designs within the limits; U (k, r) or groups (k, l, r)."""
    every = compositions(n, len(U))
    allowed = every[np.all((every >= lower) & (every <= upper), axis=1)]
    groups = U if U.ndim == 3 else U[:, None]
    M = np.einsum("ci,ilr,ils->crs", allowed, groups, groups) + (0 if prior is None else prior)
    return min((textbook(criterion, m) for m in M), default=np.inf)


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


def singular_problem(seed):
    """A tiny problem on whole-number vectors whose best counts often measure less than all of the range, or n too small."""
    rng = np.random.default_rng([seed, 1])
    r = int(rng.integers(2, 5))
    k = int(rng.integers(r, 7))
    n = int(rng.integers(1, 6))
    U = rng.integers(-1, 2, (k, r)).astype(float)
    U[:r] += 2.0 * np.eye(r)
    if seed % 7 == 3:
        U = np.stack([U, rng.integers(-1, 2, (k, r)) * (rng.random((k, 1)) < 0.4)], axis=1)
    few = rng.integers(-1, 2, (r, int(rng.integers(1, r + 1)))).astype(float)
    few[0, np.abs(few).sum(axis=0) == 0] = 1.0
    criterion = [
        Minimax(MatrixTargets(few[:, :1].T)),
        Minimax(MatrixTargets(few.T)),
        AverageVariance(few @ few.T),
        Volume(np.linalg.qr(few)[0][:, :1]),
        Minimax(MatrixTargets(np.array([few[:, 0], 0.5 * few[:, -1]]))),
        AverageVariance(np.eye(r)),
    ][seed % 6]
    held = np.zeros((r, r))
    held[0, 0] = 1.5
    prior = held if seed % 5 == 0 else None
    lower, upper = np.zeros(k, dtype=int), np.full(k, n)
    if seed % 4 == 1:
        lower[int(rng.integers(k))] = 1
    if seed % 8 == 2:
        upper[int(rng.integers(k))] = 0
    if seed % 8 == 6:
        upper[:] = max(1, -(-n // (k - 1)))
    return U, rng.dirichlet(np.ones(k)), n, criterion, prior, lower, upper
