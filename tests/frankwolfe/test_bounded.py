"""Interior points within bounds on the weights: optimality derived anew, exact bounds, closed forms, large problems."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria.average import AverageForm
from convexdesign.criteria.log_det import InterestForm, LogDetForm
from convexdesign.frankwolfe.bounded import within_bounds

P = cd.DesignProblem
FORMS = (AverageForm(), LogDetForm(), InterestForm())


def information(arms, weights, prior):
    groups = arms.reshape(weights.size, -1, arms.shape[1])
    A = np.einsum("i,ilr,ils->rs", weights, groups, groups)
    return A if prior is None else A + prior


def gradient(kind, arms, L, weights, prior):
    """-df/dw_i, written out with inverses."""
    C = np.linalg.inv(information(arms, weights, prior))
    weight = {
        AverageForm(): lambda: C @ L @ L.T @ C,
        LogDetForm(): lambda: C,
        InterestForm(): lambda: C @ L @ np.linalg.inv(L.T @ C @ L) @ L.T @ C,
    }[kind]()
    groups = arms.reshape(weights.size, -1, arms.shape[1])
    return np.einsum("ilr,rs,ils->i", groups, weight, groups)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    r, n = int(rng.integers(2, 6)), int(rng.integers(12, 60))
    arms = rng.standard_normal((2 * n if seed % 5 == 4 else n, r))
    kind = FORMS[seed % 3]
    contrast_matrix = rng.standard_normal((r, int(rng.integers(1, r))))
    prior = np.diag(rng.uniform(0, 0.3, r)) if seed % 4 == 1 else None
    lower = rng.uniform(0, 0.3, n) / n * (seed % 2)
    upper = rng.uniform(1.2, 5.0, n) / n
    if seed % 7 == 0:
        lower[3] = upper[3]
        upper[4] = lower[4] = 0.0
    return arms, kind, contrast_matrix, lower, upper, prior


@pytest.mark.parametrize("seed", range(36))
def test_first_order_conditions_hold_and_bounds_are_reached_exactly(seed):
    """At the optimum q is one constant inside the bounds, less at the lower and more at the upper ones."""
    arms, kind, contrast_matrix, lower, upper, prior = random_problem(seed)
    found = within_bounds(arms, kind, contrast_matrix, lower, upper, 1e-9, prior=prior)
    w = found.weights
    assert found.gap <= 1e-9
    assert np.all((lower <= w) & (w <= upper))
    assert w.sum() == pytest.approx(1.0, abs=1e-13)
    q = gradient(kind, arms, contrast_matrix, w, prior)
    # The best weights for this q are w itself: a fractional knapsack, here filled by hand.
    best, left = lower.copy(), 1.0 - lower.sum()
    for i in np.argsort(-q):
        best[i] += min(left, upper[i] - lower[i])
        left -= best[i] - lower[i]
    assert q @ (best - w) <= 1e-8 * (q @ w)
    # Few weights are strictly between their bounds: no more than symmetric matrices have entries, and one.
    r = arms.shape[-1]
    assert np.count_nonzero((w > lower) & (w < upper)) <= r * (r + 1) // 2 + 1


def test_many_arms_in_few_dimensions_are_solved_in_the_space_of_matrices():
    arms = np.random.default_rng(0).standard_normal((3000, 4))
    for kind in FORMS:
        found = within_bounds(arms, kind, np.eye(4)[:, :2], np.zeros(3000), np.full(3000, 1e-3), 1e-8)
        assert found.gap <= 1e-8
        q = gradient(kind, arms, np.eye(4)[:, :2], found.weights, None)
        assert q @ found.weights >= (1 - 1e-7) * np.sort(q)[-1000:].mean()


def test_strata_that_may_take_twice_their_share_are_sampled_alike():
    """sum 1/w_i is least at equal weights: 400^2. No program of this size could be built."""
    design = cd.solve(P.a_optimal(np.eye(400), max_weight=2 / 400))
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(160_000, rel=1e-6)
    assert np.allclose(design.weights, 1 / 400, rtol=1e-3)


@pytest.mark.parametrize("bounds", [{}, {"max_weight": 0.01}])
def test_a_optimality_in_two_hundred_dimensions_is_certified(bounds):
    X = np.random.default_rng(0).standard_normal((600, 200))
    design = cd.solve(P.a_optimal(X, **bounds))
    assert design.status is cd.Status.CERTIFIED
    C = np.linalg.inv((X.T * design.weights) @ X)
    q = np.square(X @ C).sum(axis=1)
    cap = bounds.get("max_weight", 1.0)
    assert design.weights.max() <= cap
    most = np.sort(q)[::-1][: round(1 / cap)].mean()
    assert np.trace(C) >= design.lower_bound >= np.trace(C) ** 2 / most * (1 - 1e-9)


def test_ceil_adds_at_most_one_run_for_each_arm_in_use():
    levels = np.array([(a, b) for a in range(9) for b in range(9)], float)
    X = cd.features.polynomial(levels, 2)
    design = cd.solve(P.d_optimal(X, max_weight=0.1))
    assert design.support.size == np.count_nonzero(design.weights > 1e-5) <= 22
    assert 60 <= design.round(60, "ceil").total <= 60 + design.support.size
    # Weights at their cap are no more than that, whatever rounding says: 6 runs of 60, not 7.
    assert design.round(60, "ceil").counts.max() == 6


def test_a_time_limit_before_the_first_step_leaves_weights_within_the_bounds():
    X = np.random.default_rng(0).standard_normal((500, 40))
    with pytest.warns(cd.ConvergenceWarning, match="time limit"):
        design = cd.solve(P.d_optimal(X, max_weight=0.01), time_limit=1e-6)
    assert design.status is cd.Status.TIME_LIMIT
    assert design.weights.max() <= 0.01
