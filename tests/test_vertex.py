"""Supports at a vertex of the designs that are optimal within the tolerance: known optima on fine grids."""

from __future__ import annotations

import cvxpy as cp
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


def between_bounds(design: cd.Design) -> int:
    """Arms strictly between their bounds."""
    W, w = design.problem.weight_set, design.weights
    lower = np.zeros(w.size) if W.lower is None else W.lower
    upper = np.ones(w.size) if W.upper is None else W.upper
    return int(np.count_nonzero((w > lower + 1e-9) & (w < upper - 1e-9)))


@pytest.mark.parametrize("kind", ["d_optimal", "a_optimal", "g_optimal", "c_optimal", "ds_optimal"])
def test_constraints_add_one_arm_each(kind):
    """Arms between their bounds: at most r(r+1)/2, and one for every constraint that holds with equality."""
    rng = np.random.default_rng(1)
    X, G = rng.standard_normal((150, 3)), rng.random((2, 150))
    more = {"ds_optimal": ([0, 1],), "c_optimal": ([1.0, 2, 3],)}.get(kind, ())
    for given in (
        {"inequalities": (G, [0.3, 0.35])},
        {"constraints": lambda w: [G @ w <= np.array([0.3, 0.35])]},
        {"max_weight": 0.05},
        {"max_weight": 0.06, "inequalities": (G, [0.35, 0.4]), "min_weight": np.where(np.arange(150) < 3, 0.01, 0.0)},
    ):
        design = cd.solve(getattr(P, kind)(X, *more, **given))
        assert design.status.name == "CERTIFIED"
        assert between_bounds(design) <= 6 + 2 * ("max_weight" not in given or "inequalities" in given)
        assert design.certificate.feasibility <= 1e-12
        checked = cd.verify(design.problem, weights=design.weights)
        assert checked.is_allowed
        assert checked.efficiency_interval[1] >= 1 / (1 + design.gap) - 1e-9


def test_a_smeared_design_within_constraints_has_its_few_points():
    """1, x, x^2 on [-1, 1] with at most a quarter below zero: -1 has 1/4, and the others (1 - 1/4) / 2 each."""
    x = np.linspace(-1, 1, 401)
    F, below = np.c_[np.ones(401), x, x * x], (x < 0).astype(float)
    for given in ({"inequalities": (below[None], [0.25])}, {"constraints": lambda w: [below @ w <= 0.25]}):
        assert x[cd.solve(P.d_optimal(F, **given)).support].tolist() == [-1.0, 0.0, 1.0]
        # Of a concave function weights are as near as the root of the gap.
        design = cd.solve(P.d_optimal(F, **given), tol=1e-9)
        assert x[design.support].tolist() == [-1.0, 0.0, 1.0]
        assert np.abs(design.weights[design.support] - [0.25, 0.375, 0.375]).max() < 1e-5
    # A curved constraint: the weights below and above zero may have a length of 0.4, or so much that nothing is asked.
    above = (x > 0).astype(float)
    for length, end in ((0.4, 0.4 / np.sqrt(2.0)), (0.9, 1 / 3)):
        design = cd.solve(P.d_optimal(F, constraints=lambda w: [cp.norm(cp.hstack([below @ w, above @ w])) <= length]))  # noqa: B023
        assert x[design.support].tolist() == [-1.0, 0.0, 1.0]
        assert np.abs(design.weights[design.support] - [end, 1 - 2 * end, end]).max() < 1e-5
        assert design.certificate.feasibility <= 1e-12
    capped = cd.solve(P.d_optimal(F, max_weight=np.where(x == 0, 0.2, 1.0), inequalities=(below[None], [0.45])))
    assert capped.status.name == "CERTIFIED"
    assert between_bounds(capped) <= 7


def test_information_is_kept_on_the_way_to_a_vertex():
    from convexdesign.rounding.sparsification_within import LinearLimits, between, sparsify_within

    rng = np.random.default_rng(5)
    U, w = rng.standard_normal((80, 3)), rng.random(80)
    w /= w.sum()
    E, G = rng.random((1, 80)), rng.random((4, 80))
    limits = LinearLimits(np.zeros(80), np.full(80, 0.05), E, E @ w, G, G @ w + [0.0, 1e-3, 1e-2, 1.0])
    moved = sparsify_within(U[between(w, limits)], w, limits)
    A, B = ((U * v[:, None]).T @ U for v in (w, moved))
    np.testing.assert_allclose(A, B, atol=1e-12)
    assert moved.sum() == pytest.approx(1.0, abs=1e-13)
    assert moved.min() >= 0
    assert moved.max() <= 0.05
    assert (E @ moved)[0] == pytest.approx(float((E @ w)[0]), abs=1e-13)
    room = limits.h - G @ moved
    assert room.min() >= -1e-12
    # A vertex: as many arms between their bounds as equations that hold.
    assert between(moved, limits).size <= 7 + 1 + int((room < 1e-9).sum())
