"""Bounds hold for any weights and any vectors; they are what the formulas say; nothing unmeasured passes."""

from __future__ import annotations

import numpy as np
import pytest
from geometry import adversarial
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import log_det, minimax_bound, minimax_value

import convexdesign as cd
from convexdesign.certificate import DualCertificate, certify, evaluate, vector_bound
from convexdesign.problem import canonicalise

P = cd.DesignProblem
seeds = st.integers(0, 2**31 - 1)


def random_weights(rng, n):
    """Weights over ten orders of magnitude, some zero, never all."""
    w = 10.0 ** rng.uniform(-10, 0, n) * (rng.random(n) < 0.8)
    w[rng.integers(n)] = 1.0
    return w / w.sum()


@given(seeds)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_weights_beat_a_bound_from_any_vectors(seed):
    rng = np.random.default_rng(seed)
    case = adversarial(seed)
    # Any weights at all against any vectors at all: random ones, wild in scale, for a random set of targets.
    weights = random_weights(rng, len(case.arms))
    value = minimax_value(case.arms, case.variance, case.targets, weights)
    k = int(rng.integers(1, 6))
    if case.problem.kind == "xy-allocation":
        i, j = np.triu_indices(len(case.arms), 1)
        chosen = rng.integers(0, i.size, k)
        index = i[chosen] * len(case.arms) + j[chosen]
    else:
        index = rng.integers(0, case.problem.targets.m, k)
    index = np.unique(index)
    scale = np.abs(case.arms).max(axis=0)
    vectors = rng.standard_normal((index.size, case.arms.shape[1])) / np.where(scale > 0, scale, 1)
    vectors *= 10.0 ** rng.uniform(-3, 3, (index.size, 1))
    bound, _ = vector_bound(
        canonicalise(case.problem), DualCertificate(index, vectors), case.problem.weight_set.support
    )
    assert bound <= value * (1 + 1e-9)
    again = minimax_bound(case.arms, case.variance, vectors, case.problem.targets.take(index))
    assert bound == pytest.approx(again, rel=1e-9, abs=1e-300)


@given(seeds)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_value_and_own_bound_of_any_weights(seed):
    rng = np.random.default_rng(seed)
    case = adversarial(seed)
    weights = random_weights(rng, len(case.arms))
    certificate = certify(canonicalise(case.problem), weights)
    value = minimax_value(case.arms, case.variance, case.targets, weights)
    if np.isfinite(certificate.value) and np.isfinite(value):
        assert certificate.value == pytest.approx(value, rel=1e-5)
        assert certificate.bound <= value * (1 + 1e-9)
        assert certificate.gap >= 0


def test_a_design_that_misses_a_target_has_infinite_value():
    problem = P([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    canonical = canonicalise(problem)
    certificate = certify(canonical, np.array([1.0, 0.0, 0.0]))
    assert certificate.value == np.inf
    assert certificate.gap == np.inf
    assert certificate.worst_target == 1
    # A singular design is fine where it measures what is wanted.
    along = canonicalise(P.c_optimal([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [2.0, 2.0]))
    assert evaluate(along, np.array([0.0, 0.0, 1.0])).value == pytest.approx(4.0)
    assert evaluate(along, np.array([1.0, 0.0, 0.0])).value == np.inf


def test_log_det_and_its_bound():
    rng = np.random.default_rng(11)
    X, s2 = rng.standard_normal((9, 3)), rng.uniform(0.1, 4, 9)
    problem = P.d_optimal(X, noise_variance=s2)
    best = cd.solve(problem, tol=1e-9)
    assert best.value == pytest.approx(log_det(X, s2, best.weights), abs=1e-9)
    for _ in range(50):
        weights = random_weights(rng, 9)
        certificate = certify(best.canonical, weights)
        assert certificate.value == pytest.approx(log_det(X, s2, weights), abs=1e-6)
        assert certificate.bound >= best.value - 1e-9
        efficiency = np.exp((certificate.value - best.value) / 3)
        assert certificate.efficiency <= efficiency * (1 + 1e-9)


@given(seeds)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_repeated_targets_count_once_for_the_average_variance(seed):
    """However often a dual certificate names its targets, and with whatever vectors, no bound passes any weights' value."""
    rng = np.random.default_rng(seed)
    X, s2 = rng.standard_normal((7, 3)), rng.uniform(0.1, 4, 7)
    problem = P.average_variance(X, X.T @ X, noise_variance=s2)
    design = cd.solve(problem, tol=1e-9)
    own = design.certificate.dual
    chosen = rng.integers(0, 3, rng.integers(4, 12))
    spoilt = own.vectors[chosen] * rng.uniform(0.5, 1.5, (chosen.size, 1))
    bound, _ = vector_bound(design.canonical, DualCertificate(chosen, spoilt), problem.weight_set.support)
    assert bound <= design.value * (1 + 1e-12)
    twice = DualCertificate(np.tile(own.targets, 2), np.tile(own.vectors, (2, 1)))
    assert vector_bound(design.canonical, twice, problem.weight_set.support)[0] == pytest.approx(
        design.bound, rel=1e-12
    )
    for wrong in (-1, 3):
        with pytest.raises(cd.InputError, match="a dual certificate names target"):
            vector_bound(
                design.canonical, DualCertificate(own.targets * 0 + wrong, own.vectors), problem.weight_set.support
            )


def test_status_needs_the_weights_to_lie_in_the_feasible_set():
    from convexdesign.outcome import Status, status_of

    problem = P.g_optimal(np.eye(3), max_weight=[0.4, 0.3, 0.3])
    canonical = canonicalise(problem)
    inside = certify(canonical, np.array([0.4, 0.3, 0.3]))
    outside = certify(canonical, np.array([1, 1, 1]) / 3)
    assert inside.feasibility == 0
    assert outside.feasibility == pytest.approx((1 / 3 - 0.3) / 0.3)
    assert status_of(outside, 1e9) is Status.STALLED
    assert status_of(inside, 1e9) is Status.CERTIFIED


@given(seeds)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_support_function_of_bounds_and_inequalities_is_an_upper_bound_and_attained(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    lower, upper = rng.uniform(0, 0.5 / n, n), rng.uniform(1.2 / n, 1, n)
    w0 = lower + (1 - lower.sum()) * (upper - lower) / (upper - lower).sum()
    G = rng.standard_normal((2, n))
    h = G @ w0 + rng.uniform(0, 0.1, 2)
    q = rng.standard_normal(n)
    box = P.g_optimal(np.eye(n), min_weight=lower, max_weight=upper).weight_set
    cut = P.g_optimal(np.eye(n), min_weight=lower, max_weight=upper, inequalities=(G, h)).weight_set
    for weight_set, rows in ((box, {}), (cut, {"A_ub": G, "b_ub": h})):
        best = linprog(-q, A_eq=np.ones((1, n)), b_eq=[1], bounds=list(zip(lower, upper)), **rows)
        assert weight_set.support(q) == pytest.approx(-best.fun, abs=1e-9)
        assert weight_set.violation(best.x) <= 1e-9
