"""Regret minimisation: its guarantee as a matrix inequality, with and without prior information."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigvalsh

from convexdesign.rounding import limits, regret, regret_guarantee


@pytest.mark.parametrize("r", [1, 2, 4, 7])
@pytest.mark.parametrize("with_prior", [False, True])
def test_information_is_at_least_the_guaranteed_share(r, with_prior):
    rng = np.random.default_rng(10 * r + with_prior)
    for _ in range(8):
        n = int(rng.integers(r, 60))
        N = int(rng.integers(max(2 * r, 2), 40 * r))
        U = rng.standard_normal((n, r)) * rng.exponential(size=(n, 1))
        w = rng.dirichlet(np.ones(n))
        B = rng.standard_normal((r, r))
        H = 0.3 * N * B @ B.T if with_prior else None
        counts = regret(U, w, limits(N, n), H)
        assert counts.sum() == N
        M, A = (U * counts[:, None]).T @ U, N * (U * w[:, None]).T @ U
        if H is not None:
            M, A = M + H, A + H
        assert eigvalsh(M, A)[0] >= regret_guarantee(r, N) - 1e-9


def test_the_guarantee_grows_with_the_pulls_that_are_chosen_one_by_one():
    assert regret_guarantee(10, 5) == 0.0
    assert regret_guarantee(1, 3) == 1.0
    assert regret_guarantee(10, 100) < regret_guarantee(10, 1000) < regret_guarantee(10, 10_000)
    assert regret_guarantee(10, 10**9) == regret_guarantee(10, 10_000) > 0.92


def test_many_pulls_are_mostly_proportional_and_keep_the_guarantee():
    rng = np.random.default_rng(5)
    U = rng.standard_normal((12, 3))
    w = rng.dirichlet(np.ones(12))
    N = 10**9
    counts = regret(U, w, limits(N, 12))
    assert counts.sum() == N
    M, A = (U * counts[:, None]).T @ U, N * (U * w[:, None]).T @ U
    assert eigvalsh(M, A)[0] >= regret_guarantee(3, N)
    assert np.abs(counts / N - w).max() < 1e-4


def test_far_fewer_pulls_than_support_still_estimate_everything():
    rng = np.random.default_rng(3)
    U = rng.standard_normal((400, 6))
    w = np.full(400, 1 / 400)
    counts = regret(U, w, limits(30, 400))
    M, A = (U * counts[:, None]).T @ U, 30 * (U * w[:, None]).T @ U
    assert eigvalsh(M, A)[0] >= regret_guarantee(6, 30) > 0.2


def test_caps_and_minimum_counts_are_kept():
    rng = np.random.default_rng(4)
    U = rng.standard_normal((12, 3))
    counts = regret(U, np.full(12, 1 / 12), limits(20, 12, min_counts=[1] * 4 + [0] * 8, max_counts=2))
    assert counts.sum() == 20
    assert np.all(counts <= 2)
    assert np.all(counts[:4] >= 1)
