"""design and whole: what they return is what their docstrings say, recomputed from the arrays."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.plugin import design, whole

RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 4))
Y = RNG.standard_normal((7, 4))
S2 = RNG.uniform(0.2, 4.0, 40)


def worst(weights, targets, s2):
    A = X.T @ ((weights / s2)[:, None] * X)
    return max(y @ np.linalg.solve(A, y) for y in targets)


def test_the_value_is_that_of_the_weights_and_the_weights_are_optimal():
    for pairs, targets in ((False, Y), (True, [a - b for a, b in combinations(Y, 2)])):
        weights, value = design(X, Y, S2, pairs=pairs)
        assert weights.sum() == pytest.approx(1.0)
        assert weights.min() >= 0
        assert value == pytest.approx(worst(weights, targets, S2), rel=1e-9)
        # The same optimum by the general problem, with the differences written out.
        problem = cd.DesignProblem(X, np.array(targets), noise_variance=S2)
        assert cd.verify(problem, weights).is_optimal(2e-6)


def test_without_targets_the_arms_are_the_targets():
    weights, value = design(X)
    assert value == pytest.approx(4.0, rel=1e-6)  # Kiefer and Wolfowitz: the dimension
    assert worst(weights, X, np.ones(40)) == pytest.approx(value)


def test_the_weights_belong_to_the_caller():
    weights, _ = design(X, Y)
    weights *= 2.0
    assert design(X, Y)[0].sum() == pytest.approx(1.0)


def test_a_start_changes_no_answer_and_may_be_weights_of_fewer_arms():
    old, _ = design(X[:30], Y)
    cold, value = design(X, Y)
    for start in (old, cold, 5.0 * cold, np.ones(3), cd.solve(cd.DesignProblem(X[:30], Y))):
        _, found = design(X, Y, start=start)
        assert found == pytest.approx(value, rel=2e-6)


def test_counts_sum_to_n_and_no_variance_grows_by_more_than_is_promised():
    weights, value = design(X, Y, S2)
    arms = np.count_nonzero(weights)
    for n in (arms, 57, 1000, 10**12):
        counts = whole(weights, n)
        assert counts.dtype == np.int64
        assert counts.sum() == n
        assert (counts >= (1 - arms / n) * n * weights - 1e-6).all()
        if n > arms:
            assert worst(counts / n, Y, S2) <= value / (1 - arms / n) * (1 + 1e-9)
    assert whole(7.0 * weights, 57).tolist() == whole(weights, 57).tolist()


@pytest.mark.parametrize(
    ("weights", "n", "words"),
    [
        ([0.5, -0.1, 0.6], 10, r"weights\[1\] is -0.1.*np.maximum"),
        ([0.0, 0.0], 10, "all zero"),
        ([[0.5, 0.5]], 10, r"shape \(1, 2\)"),
        ([0.5, np.nan], 10, r"weights\[1\]"),
        ([0.5, 0.5], 2.5, "n is 2.5"),
    ],
)
def test_what_is_no_share_is_refused(weights, n, words):
    with pytest.raises(cd.InputError, match=words):
        whole(weights, n)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (np.ones(41), "arms may be added"),
        (np.zeros(40), "all weights of warm_start are zero"),
        (-np.ones(40), r"warm_start\[0\] is -1"),
        (np.full(40, np.inf), r"warm_start\[0\]"),
        ("earlier", "warm_start"),
        (np.ones((4, 10)), "vector of length 40"),
    ],
)
def test_what_are_no_weights_is_refused_as_a_start(start, words):
    with pytest.raises(cd.InputError, match=words):
        cd.solve(cd.DesignProblem(X, Y), warm_start=start)


def test_labelled_weights_start_the_arms_they_name():
    named = pd.DataFrame(X, index=[f"x{i}" for i in range(40)])
    problem = cd.DesignProblem(named, Y)
    weights = pd.Series(cd.solve(problem).weights, index=named.index)
    straight, mixed = (cd.solve(problem, warm_start=w) for w in (weights, weights.sample(frac=1.0, random_state=0)))
    np.testing.assert_array_equal(straight.weights, mixed.weights)
    with pytest.raises(cd.InputError, match="'y' is no arm"):
        cd.solve(problem, warm_start=weights.rename({"x3": "y"}))


def test_weights_alone_save_steps_over_rounds_of_elimination():
    items = np.random.default_rng(1).standard_normal((400, 8))
    last, cold, warm = cd.solve(cd.DesignProblem.xy_allocation(items)).weights, 0, 0
    for survivors in (384, 369, 354, 340, 326, 313):
        problem = cd.DesignProblem.xy_allocation(items, items[:survivors])
        cold += cd.solve(problem).stats.iterations
        found = cd.solve(problem, warm_start=last)
        assert found.status is cd.Status.CERTIFIED
        warm, last = warm + found.stats.iterations, found.weights
    assert warm < 0.75 * cold  # half, when it was written
