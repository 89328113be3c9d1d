"""Supports at a vertex of the designs that are optimal within the tolerance: known optima on fine grids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import convexdesign as cd

P = cd.DesignProblem
T = np.linspace(0, 20, 2001)
DECAYS = np.c_[T * np.exp(-T), np.exp(-0.1 * T) - np.exp(-T), T * np.exp(-0.1 * T)]


def test_three_points_of_a_fine_grid_are_three_arms():
    design = cd.solve(P.d_optimal(DECAYS))
    assert design.status.name == "CERTIFIED"
    assert design.support.size == 3
    # As many points as coefficients: equal weights are best on them.
    assert np.abs(design.weights[design.support] - 1 / 3).max() < 1e-5
    assert cd.verify(design.problem, weights=design.weights).is_optimal()


def test_a_quadratic_has_its_three_points():
    x = np.linspace(-1, 1, 1001)
    design = cd.solve(P.d_optimal(np.c_[np.ones(1001), x, x * x]))
    assert x[design.support].tolist() == [-1.0, 0.0, 1.0]
    assert np.abs(design.weights[design.support] - 1 / 3).max() < 1e-5
    average = cd.solve(P.a_optimal(np.c_[np.ones(1001), x, x * x]))
    assert x[average.support].tolist() == [-1.0, 0.0, 1.0]
    # A-optimal for a quadratic on [-1, 1]: 1/4, 1/2, 1/4.
    assert np.abs(average.weights[average.support] - [0.25, 0.5, 0.25]).max() < 1e-5


@pytest.mark.parametrize("seed", range(6))
def test_one_target_needs_no_more_arms_than_dimensions(seed):
    """Elfving: the optimal value is the square of the least sum |a_i| with sum a_i x_i = c."""
    rng = np.random.default_rng(seed)
    X, c = rng.standard_normal((60, 4)), rng.standard_normal(4)
    design = cd.solve(P.c_optimal(X, c))
    least = linprog(np.ones(120), A_eq=np.hstack([X.T, -X.T]), b_eq=c).fun
    assert design.support.size <= 4
    assert design.status.name == "CERTIFIED"
    assert design.value == pytest.approx(least**2, rel=1e-6)


def test_a_target_that_is_an_arm_itself_needs_that_arm_alone():
    design = cd.solve(P.c_optimal(np.eye(5) + 0.1, np.full(5, 0.1) + np.eye(5)[0]))
    assert design.weights.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["d_optimal", "a_optimal", "ds_optimal", "i_optimal"])
def test_arms_given_many_times_do_not_make_the_support_larger(kind):
    rng = np.random.default_rng(3)
    X = np.repeat(rng.standard_normal((15, 3)), 40, axis=0) + 1e-7 * rng.standard_normal((600, 3))
    more = {"ds_optimal": ([0, 1],), "i_optimal": (X[:50],)}.get(kind, ())
    design = cd.solve(getattr(P, kind)(X, *more))
    assert design.status.name == "CERTIFIED"
    assert design.support.size <= 6
    assert cd.verify(design.problem, weights=design.weights).efficiency >= 1 - 2e-6


def test_bounded_weights_and_several_targets_are_left_as_they_are():
    x = np.linspace(-1, 1, 101)
    design = cd.solve(P.d_optimal(np.c_[np.ones(101), x, x * x], max_weight=0.05))
    assert design.support.size >= 20
    assert design.weights.max() <= 0.05
