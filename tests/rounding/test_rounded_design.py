"""Rounding by method name: guarantees against the weights, limits, singular optima, too few pulls."""

from __future__ import annotations

import numpy as np
import pytest

from convexdesign.errors import InputError
from convexdesign.rounding import (
    AverageVariance,
    MatrixTargets,
    Method,
    Minimax,
    Volume,
    regret_guarantee,
    round_weights,
)

CHEAP = [Method.CEIL, Method.APPORTION, Method.REGRET, Method.EXCHANGE, Method.AUTO]


def random_problem(seed, n_arms=40, r=4):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n_arms, r))
    w = rng.dirichlet(np.full(n_arms, 0.3))
    criterion = [Minimax(MatrixTargets(U)), AverageVariance(np.eye(r)), Volume(np.eye(r))][seed % 3]
    return U, w, criterion, criterion.value((U * w[:, None]).T @ U)


@pytest.mark.parametrize("seed", range(3))
def test_guarantees_against_the_weights(seed):
    U, w, criterion, t = random_problem(seed)
    support = 4 * 5 // 2 + 1
    for N in (15, 60, 1000, 10**7):
        methods = CHEAP if N <= 60 else [Method.CEIL, Method.APPORTION, Method.EXCHANGE]
        found = {m: round_weights(U, w, N, criterion, method=m) for m in methods}
        ceil = found.pop(Method.CEIL)
        assert N <= ceil.total <= N + support
        assert ceil.value <= t / N * (1 + 1e-9)
        assert all(whole.total == N for whole in found.values())
        # Weights below a thousandth of a pull may be dropped at a loss of at most 1e-6.
        apportioned = found[Method.APPORTION].value
        assert apportioned <= t / N / (1 - support / N) * (1 + 2e-6)
        assert found[Method.EXCHANGE].value <= apportioned
        if N <= 60:
            assert found[Method.REGRET].value <= t / N / max(regret_guarantee(4, N), 1e-9) * (1 + 2e-6)
            assert found[Method.AUTO].value <= min(apportioned, found[Method.REGRET].value)
        for whole in found.values():
            M = (U * whole.counts[:, None]).T @ U
            assert whole.value == pytest.approx(criterion.value(M), rel=1e-9)


@pytest.mark.parametrize("method", [Method.APPORTION, Method.REGRET, Method.EXCHANGE, Method.AUTO, Method.OPTIMAL])
def test_limits_hold_for_every_method(method):
    U, w, criterion, _ = random_problem(1, n_arms=8, r=3)
    lower = np.array([1, 0, 0, 0, 0, 0, 0, 2])
    whole = round_weights(U, w, 12, criterion, method=method, min_counts=lower, max_counts=3)
    assert whole.total == 12
    assert np.all(whole.counts >= lower)
    assert np.all(whole.counts <= 3)
    assert np.isfinite(whole.value)


def test_information_already_held_moves_pulls_to_what_is_unknown():
    U = np.eye(2)
    held = np.diag([6.0, 0.0])
    whole = round_weights(U, np.array([0.5, 0.5]), 4, Minimax(MatrixTargets(U)), method=Method.OPTIMAL, prior=held)
    assert whole.counts.tolist() == [0, 4]
    assert whole.value == pytest.approx(1 / 4)
    # One pull completes what is held; without it two are needed.
    assert round_weights(U, np.array([0.5, 0.5]), 1, Volume(np.eye(2)), prior=held).counts.tolist() == [0, 1]


def test_too_few_pulls_name_the_least_number_that_works():
    U = np.random.default_rng(0).standard_normal((10, 5))
    w = np.full(10, 0.1)
    with pytest.raises(InputError, match="least n that works is 5"):
        round_weights(U, w, 4, Volume(np.eye(5)))
    assert np.isfinite(round_weights(U, w, 5, Volume(np.eye(5))).value)
    with pytest.raises(InputError, match="least n that works is 6"):
        round_weights(np.vstack([U, U[:1]]), np.full(11, 1 / 11), 5, Volume(np.eye(5)), min_counts=[1] + [0] * 9 + [1])
    with pytest.raises(InputError, match="span 2 of 5"):
        round_weights(U, w, 9, Volume(np.eye(5)), max_counts=[9, 9] + [0] * 8)


def test_one_target_needs_only_the_arms_that_measure_it():
    U = np.eye(3)
    target = Minimax(MatrixTargets(np.array([[2.0, 1.0, 0.0]])))
    whole = round_weights(U, np.array([2 / 3, 1 / 3, 0.0]), 3, target)
    assert whole.counts.tolist() == [2, 1, 0]
    assert whole.value == pytest.approx(4 / 2 + 1 / 1)
    # Interior points leave traces of weight, which must not cost a pull.
    traces = round_weights(U, np.array([2 / 3, 1 / 3 - 1e-7, 1e-7]), 3, target)
    assert traces.counts.tolist() == [2, 1, 0]


def test_a_dense_optimum_is_sparsified_before_rounding_unless_told_otherwise():
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    U = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    w = np.full(60, 1 / 60)
    few = round_weights(U, w, 1000, Volume(np.eye(2)), method=Method.APPORTION)
    assert np.count_nonzero(few.counts) <= 4
    many = round_weights(U, w, 1000, Volume(np.eye(2)), method=Method.APPORTION, reduce_support=False)
    assert np.count_nonzero(many.counts) == 60


def test_the_pool_of_targets_never_hides_the_worst():
    rng = np.random.default_rng(7)
    U = rng.standard_normal((30, 3))
    T = rng.standard_normal((5000, 3))
    for N in (12, 50, 400):
        whole = round_weights(U, np.full(30, 1 / 30), N, Minimax(MatrixTargets(T)))
        M = (U * whole.counts[:, None]).T @ U
        assert whole.value == pytest.approx(np.einsum("jr,rs,js->j", T, np.linalg.inv(M), T).max(), rel=1e-9)


def test_repeated_arms_do_not_count_as_new_directions():
    U = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(InputError, match="span 1 of 2"):
        round_weights(U, np.full(3, 1 / 3), 6, Volume(np.eye(2)), min_counts=[1, 0, 0])
