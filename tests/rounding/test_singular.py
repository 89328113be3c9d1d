"""Whole numbers that measure no more than is wanted: against enumeration, with the least n that works."""

from __future__ import annotations

import re

import numpy as np
import pytest
from small_counts import best_by_enumeration, singular_problem

from convexdesign.errors import InputError
from convexdesign.rounding import MatrixTargets, Method, Minimax, round_weights


def check(seed):
    """The finite optimum and what every method says of it; "too few" where no counts estimate what is wanted."""
    U, w, n, criterion, prior, lower, upper = singular_problem(seed)
    options = {"prior": prior, "min_counts": lower, "max_counts": upper}
    if lower.sum() > n or upper.sum() < n:
        return "limits"
    best = best_by_enumeration(U, n, criterion, prior, lower, upper)
    if not np.isfinite(best):
        with pytest.raises(InputError) as refusal:
            round_weights(U, w, n, criterion, method=Method.OPTIMAL, **options)
        said = str(refusal.value)
        # Caps above n do not grow with n.
        free = np.where(upper == n, 99, upper)
        if "no n works" in said:
            assert not np.isfinite(best_by_enumeration(U, min(int(free.sum()), 7), criterion, prior, lower, free)), seed
            return "never"
        least = int(re.search(r"least n that works is (\d+)", said)[1])
        assert n < least, seed
        assert np.isfinite(best_by_enumeration(U, least, criterion, prior, lower, free)), seed
        assert not np.isfinite(best_by_enumeration(U, least - 1, criterion, prior, lower, free)), seed
        return "too few"
    found = round_weights(U, w, n, criterion, method=Method.OPTIMAL, **options)
    assert found.value == pytest.approx(best, rel=2e-6), seed
    assert found.lower_bound <= best * (1 + 1e-9), seed  # a false bound would be above the true optimum
    assert found.optimality_gap <= 2e-6, seed
    assert found.total == n, seed
    assert np.all((found.counts >= lower) & (found.counts <= upper)), seed
    quick = round_weights(U, w, n, criterion, method=Method.AUTO, **options)
    assert best * (1 - 1e-9) <= quick.value < np.inf, seed
    M = np.einsum("i,ilr,ils->rs", found.counts, *2 * [U if U.ndim == 3 else U[:, None]])
    singular = np.linalg.matrix_rank(M + (0 if prior is None else prior)) < len(M)
    return "singular" if singular else "regular"


def test_equals_enumeration_where_optima_may_be_singular():
    outcomes = [check(seed) for seed in range(80)]
    # All that can happen does.
    assert outcomes.count("singular") > 4
    assert outcomes.count("regular") > 20
    assert outcomes.count("too few") > 8


def test_the_best_counts_may_lie_outside_the_range_of_the_best_weights():
    k = 1 / 1.01
    arms = np.array([[1, 1, 0, 0, 0], [1, -1, 0, 0, 0], [k, 0, 1, 0, 0], [k, 0, -0.5, 1, 0], [k, 0, -0.5, -1, 0]])
    target = Minimax(MatrixTargets(np.eye(5)[:1]))
    weights = np.array([0.5, 0.5, 0, 0, 0])
    found = round_weights(arms, weights, 3, target, method=Method.OPTIMAL)
    assert found.counts.tolist() == [0, 0, 1, 1, 1]
    assert found.value == pytest.approx(1.01**2 / 3)
    assert found.lower_bound == pytest.approx(1.01**2 / 3, rel=2e-6)


def test_one_pull_of_an_arm_along_the_only_target_is_enough():
    arms = np.array([[1.0, 1.0], [1.0, -1.0], [0.9, 0.0]])
    target = Minimax(MatrixTargets(np.array([[1.0, 0.0]])))
    for method in (Method.AUTO, Method.APPORTION, Method.OPTIMAL):
        found = round_weights(arms, np.array([0.5, 0.5, 0.0]), 1, target, method=method)
        assert found.counts.tolist() == [0, 0, 1]
        assert found.value == pytest.approx(1 / 0.81)


def test_the_least_number_is_claimed_only_where_all_smaller_sets_were_tried():
    """Among 60 random arms in 14 dimensions no sets of twelve can all be tried."""
    arms = np.random.default_rng(0).standard_normal((60, 14))
    target = Minimax(MatrixTargets(np.eye(14)[:1]))
    with pytest.raises(InputError, match=r"no arms were found .* 14 are enough"):
        round_weights(arms, np.full(60, 1 / 60), 5, target)
    # Here the combination of three is planted.
    planted = np.vstack([arms, np.eye(14)[0] - arms[0] - arms[1]])
    assert np.isfinite(round_weights(planted, np.full(61, 1 / 61), 3, target).value)
    with pytest.raises(InputError, match="least n that works is 3"):
        round_weights(planted[[0, 1, 2, 3, 60]], np.full(5, 0.2), 2, target)
