"""verify: the certified efficiency of anybody's design."""

from __future__ import annotations

import numpy as np
import pytest
from independent import minimax_value

import convexdesign as cd

P = cd.DesignProblem
X = np.random.default_rng(2).standard_normal((10, 3))
S2 = np.random.default_rng(3).uniform(0.5, 4, 10)
FIRST, SECOND = np.triu_indices(10, 1)
XY = P.xy_allocation(X, noise_variance=S2)


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_holds_the_true_efficiency_and_is_narrow(seed):
    w = np.random.default_rng(seed).dirichlet(np.ones(10))
    result = cd.verify(XY, weights=w)
    assert result.value == pytest.approx(minimax_value(X, S2, X[FIRST] - X[SECOND], w), rel=1e-9)
    best = cd.solve(XY, tol=1e-9)
    low, high = result.efficiency_interval
    assert low == result.efficiency
    assert low <= best.value / result.value * (1 + 1e-12)
    assert best.lower_bound / result.value <= high * (1 + 1e-12)
    assert high - low <= 1e-6


def test_counts_are_verified_as_proportions():
    counts = np.arange(10)
    by_counts, by_weights = cd.verify(XY, counts=counts), cd.verify(XY, weights=counts / counts.sum())
    assert by_counts.efficiency == pytest.approx(by_weights.efficiency, rel=1e-12)
    assert cd.verify(XY, counts=counts * 10**12).efficiency == pytest.approx(by_counts.efficiency, rel=1e-9)


def test_the_optimum_itself_is_efficient_and_the_useless_design_is_not():
    best = cd.solve(XY, tol=1e-8)
    result = cd.verify(XY, weights=best.weights)
    assert result.efficiency >= 1 - 2e-7
    assert result.efficiency_interval[1] <= 1.0
    nothing = cd.verify(XY, counts=[1] + [0] * 9)
    assert nothing.efficiency == 0.0
    assert nothing.value == np.inf


def test_log_det_efficiency():
    # For two orthogonal arms the D-efficiency of (w, 1 - w) is 2 sqrt(w (1 - w)).
    result = cd.verify(P.d_optimal(np.eye(2)), weights=[0.9, 0.1])
    assert result.efficiency == pytest.approx(2 * np.sqrt(0.09), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of weights= and counts="),
        ({"weights": [0.1] * 10, "counts": [1] * 10}, "exactly one"),
        ({"weights": [0.1] * 9}, r"weights must be a vector of length 10, got shape \(9,\)"),
        ({"weights": [0.2] * 10}, "weights sum to 2, not 1; normalise=True divides them"),
        ({"weights": [-1e-3, 1.0] + [0] * 8, "normalise": True}, r"weights\[0\] is -0.001"),
        ({"weights": [0.0] * 10, "normalise": True}, "all weights are zero"),
        ({"weights": [0.1] * 10, "normalise": "yes"}, "normalise is 'yes'; give True or False"),
        ({"counts": [1] * 10, "normalise": True}, "normalise=True is for weights"),
        ({"weights": [-0.1, 1.1] + [0] * 8}, r"weights\[0\] is -0.1"),
        ({"weights": [np.nan] + [0] * 9}, r"weights\[0\] is nan"),
        ({"counts": [0] * 10}, "all counts are zero"),
        ({"counts": [1.5] + [1] * 9}, r"counts\[0\] is 1.5; counts are whole numbers"),
        ({"counts": [-1] + [1] * 9}, r"counts\[0\] is -1"),
    ],
)
def test_bad_designs_are_named(arguments, message):
    with pytest.raises(cd.InputError, match=message):
        cd.verify(XY, **arguments)


def test_normalised_weights_are_those_with_sum_one_and_what_a_solver_left_below_zero_is_none():
    weights = np.random.default_rng(8).dirichlet(np.ones(10))
    weights[3] = 0.0
    weights /= weights.sum()
    plain = cd.verify(XY, weights)
    below = weights.copy()
    below[3] = -1e-8
    for scaled in (7.0 * weights, 1e-9 * weights, 300.0 * below, weights):
        found = cd.verify(XY, scaled, normalise=True)
        np.testing.assert_allclose(found.weights, weights, atol=1e-15)
        assert found.efficiency == pytest.approx(plain.efficiency, rel=1e-12)


def test_proportions_of_ones_own_are_rounded_with_a_certified_efficiency():
    """The efficiency of the counts is what `verify` finds for them, and bounded by that of the proportions as n grows."""
    rng = np.random.default_rng(4)
    arms = rng.standard_normal((7, 3))
    problem = cd.DesignProblem.xy_allocation(arms, noise_variance=rng.uniform(0.5, 3.0, 7))
    weights = rng.dirichlet(np.ones(7))
    given = cd.verify(problem, weights=weights)
    for method in ("auto", "ceil", "apportion"):
        plan = given.round(500, method)
        low, high = cd.verify(problem, counts=plan.counts).efficiency_interval
        assert low - 1e-5 <= plan.efficiency <= high + 1e-5
    plan = given.round(500, "apportion", min_counts=5)
    assert plan.counts.min() >= 5
    assert plan.counts.sum() == 500
    np.testing.assert_allclose(given.round(10**6, "apportion").counts / 1e6, weights, atol=1e-5)
    with pytest.raises(cd.InputError, match="n is 0"):
        given.round(0)
