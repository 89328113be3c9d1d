"""Minimax designs within bounds on the weights: the bound recomputed, large problems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.frankwolfe import interior_point
from convexdesign.frankwolfe.bounded_minimax import minimax_within_bounds
from convexdesign.frankwolfe.tuning import BOUNDED
from convexdesign.judging import judged
from convexdesign.outcome import Status
from convexdesign.problem import canonicalise
from convexdesign.programs.prover import prover

P = cd.DesignProblem


def recomputed_gap(arms, targets, lower, upper, w, mu, prior=None):
    """Largest variance over the bound of weak duality, written out with an inverse and a knapsack filled by hand."""
    groups = arms.reshape(w.size, -1, arms.shape[1])
    A = np.einsum("i,ilr,ils->rs", w, groups, groups) + (0.0 if prior is None else prior)
    C = np.linalg.inv(A)
    f = np.einsum("vr,rs,vs->v", targets, C, targets)
    B = np.sqrt(mu)[:, None] * (targets @ C)
    q = np.square(np.einsum("ilr,vr->ilv", groups, B)).sum(axis=(1, 2))
    most, left = float(lower @ q), 1.0 - lower.sum()
    for i in np.argsort(-q):
        step = min(left, upper[i] - lower[i])
        most, left = most + step * q[i], left - step
    held = 0.0 if prior is None else np.einsum("vr,rs,vs->", B, prior, B)
    return f.max() * (most + held) / float(mu @ f**2) - 1.0


def random_problem(seed):
    rng = np.random.default_rng(seed)
    r, n = int(rng.integers(2, 7)), int(rng.integers(12, 120))
    arms = rng.standard_normal((2 * n if seed % 5 == 4 else n, r))
    targets = arms[:n] if seed % 2 else rng.standard_normal((15, r)) * 10.0 ** rng.uniform(-2, 2, (15, 1))
    prior = np.diag(rng.uniform(0, 0.3, r)) if seed % 4 == 1 else None
    lower = rng.uniform(0, 0.3, n) / n * (seed % 3 == 1)
    upper = rng.uniform(1.2, 5.0, n) / n
    if seed % 7 == 0:
        lower[3] = upper[3]
        upper[4] = lower[4] = 0.0
    return arms, targets, lower, upper, prior


@pytest.mark.parametrize("seed", range(30))
def test_the_gap_is_true_and_bounds_are_reached_exactly(seed):
    arms, targets, lower, upper, prior = random_problem(seed)
    found = minimax_within_bounds(arms, targets, lower, upper, 1e-8, prior=prior)
    w, r = found.weights, arms.shape[1]
    assert found.gap <= 1e-8
    assert recomputed_gap(arms, targets, lower, upper, w, found.multipliers, prior) <= 1.1e-8
    assert np.all((lower <= w) & (w <= upper))
    assert w.sum() == pytest.approx(1.0, abs=1e-13)
    assert np.count_nonzero((w > lower) & (w < upper)) <= r * (r + 1) // 2 + 1


@pytest.mark.parametrize("seed", range(4))
def test_working_sets_find_the_optimum_of_all_arms_at_once(seed):
    rng = np.random.default_rng(seed)
    n = 2500
    X = rng.standard_normal((n, 3))
    caps = rng.uniform(5, 50, n) / n
    Z = rng.standard_normal((12, 3))
    limits = {"max_weight": caps, "min_weight": 0.1 / n if seed % 2 else None}
    if seed == 3:
        limits |= {"prior_information": 10.0 * np.eye(3), "n_new": 100}
    problem = P.xy_allocation(X, Z, **limits) if seed == 2 else P.g_optimal(X, **limits)
    canonical = canonicalise(problem)
    few = replace(BOUNDED, many=0, minimax_most=400, sample=500)
    by_sets, at_once = (
        judged(canonical, interior_point(canonical, tuning=tuning), prover(canonical), 1e-6)
        for tuning in (few, replace(BOUNDED, many=10**9))
    )
    assert by_sets.status is cd.Status.CERTIFIED
    assert at_once.status is cd.Status.CERTIFIED
    assert by_sets.value == pytest.approx(at_once.value, rel=2e-6)


def test_capped_g_over_many_arms_is_certified_and_uses_whole_caps():
    X = np.random.default_rng(0).standard_normal((20_000, 6))
    design = cd.solve(P.g_optimal(X, max_weight=1 / 300))
    assert design.status is cd.Status.CERTIFIED
    assert design.stats.method == "interior-point"
    assert design.weights.max() <= 1 / 300
    assert 300 <= design.support.size <= 300 + 21


def test_bounds_that_leave_one_design_are_that_design():
    X = np.random.default_rng(0).standard_normal((10, 3))
    design = cd.solve(P.g_optimal(X, max_weight=0.1))
    assert design.status is cd.Status.CERTIFIED
    assert np.allclose(design.weights, 0.1)


def test_a_limit_of_steps_is_told():
    X = np.random.default_rng(0).standard_normal((300, 5))
    canonical = canonicalise(P.g_optimal(X, max_weight=0.02))
    assert interior_point(canonical, max_iter=2).ended is Status.ITERATION_LIMIT
