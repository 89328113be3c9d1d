"""Verification.improvement and worst_arms: derivatives against finite differences, moves against the criterion itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from textbook import PROBLEMS, P, X, criterion, moved

import convexdesign as cd

EYE = np.eye(3)


def weights_of(seed, n=9):
    return np.random.default_rng(seed).dirichlet(np.full(n, 2.0))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_derivative_is_that_of_finite_differences(name, seed):
    problem, w, a = PROBLEMS[name], weights_of(seed), 1e-5
    v = cd.verify(problem, weights=w)
    assert v.value == pytest.approx(criterion(problem, w), rel=1e-9)
    table = v.worst_arms(9)
    assert sorted(table.index) == list(range(9))
    for i, derivative in table["derivative"].items():
        ahead, behind = (criterion(problem, moved(w, np.eye(9)[i], s)) for s in (a, -a))
        assert derivative == pytest.approx((ahead - behind) / (2 * a), rel=1e-4, abs=1e-6 * abs(v.value))
    order = table["derivative"].to_numpy()
    assert np.all(np.diff(order) <= 0) if problem.criterion.maximised else np.all(np.diff(order) >= 0)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_move_is_to_the_best_arm_and_worth_what_it_says(name):
    problem, w = PROBLEMS[name], weights_of(5)
    v = cd.verify(problem, weights=w)
    step, table = v.improvement(share=0.02), v.worst_arms(1)
    assert step.arms == (table.index[0],)
    assert step.name == f"arm {step.arm}"
    assert step.derivative == pytest.approx(table["derivative"].iloc[0], rel=1e-12)
    assert np.array_equal(step.toward, np.eye(9)[step.arm])
    assert 0 < step.share <= 0.02
    assert step.value == pytest.approx(criterion(problem, moved(w, step.toward, step.share)), rel=1e-9)
    better = step.value > v.value if problem.criterion.maximised else step.value < v.value
    assert better
    # The gain is the growth of the efficiency, whoever computes it.
    again = cd.verify(problem, weights=moved(w, step.toward, step.share))
    assert again.efficiency / v.efficiency - 1 == pytest.approx(step.gain, rel=1e-4)


def test_a_share_too_large_is_halved_until_it_helps():
    # 1/w1 + 1/w2 at (.4, .6): all of the effort on the first arm would be useless.
    step = cd.verify(P.c_optimal(EYE[:2, :2], [1, 1]), weights=[0.4, 0.6]).improvement(share=0.9)
    assert step.arm == 0
    assert step.share == 0.225  # .45 leads beyond (.6, .4)
    assert step.value < 1 / 0.24


def test_one_target_decides_and_is_named():
    v = cd.verify(P.g_optimal(EYE, noise_variance=[1, 2, 4]), weights=[0.5, 0.3, 0.2])
    step = v.improvement()
    assert step.targets == ("arm 2",)
    # s^2 / w = 20 at the third arm: the derivative is h - g = 20 - 20^2 / 4.
    assert (step.arm, step.derivative) == (2, pytest.approx(20 - 100))


# ------------------------------------------------------------------------ ties


def test_tied_targets_get_the_steepest_mix():
    # All three variances are 3 with noise (1, 1, 1); with noise (1, 2, 4) weights s^2/7 make them equal.
    v = cd.verify(P(EYE, [[1, 0, 0], [0, 1, 0], [1, 1, 0]], noise_variance=[1, 1, 1]), weights=[0.25, 0.25, 0.5])
    one = v.improvement()
    assert one.targets == ("target 2",)  # 8 against 4 and 4: no tie
    v = cd.verify(P(EYE, [[1, 0, 0], [0, 2, 0]]), weights=[0.1, 0.4, 0.5])
    step = v.improvement()
    assert set(step.targets) == {"target 0", "target 1"}
    # f = 1/w1 = 4/w2 = 10. Towards z: max(10 - 100 z1, 10 - 25 z2), least at z = (.2, .8, 0): -10.
    assert step.toward == pytest.approx([0.2, 0.8, 0.0], abs=1e-9)
    assert step.derivative == pytest.approx(-10)
    assert step.arms == (1, 0)
    # One arm alone leaves the other target where it is: its variance grows as effort is taken away.
    assert v.worst_arms(3)["derivative"].tolist() == pytest.approx([10, 10, 10])


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.integers(0, 10**6))
def test_the_mix_is_that_of_the_whole_linear_program(seed):
    rng = np.random.default_rng(seed)
    Y, w = rng.standard_normal((8, 3)), rng.dirichlet(np.ones(8))
    C = np.linalg.inv((Y.T * w) @ Y)
    V = rng.standard_normal((4, 3))
    V /= np.sqrt(np.einsum("ij,jk,ik->i", V, C, V))[:, None]  # all variances are 1
    step = cd.verify(P(Y, V), weights=w).improvement()
    gains = (Y @ C @ V.T) ** 2
    whole = linprog(
        np.append(np.zeros(8), -1.0),
        A_ub=np.hstack([-gains.T, np.ones((4, 1))]),
        b_ub=np.zeros(4),
        A_eq=[[1.0] * 8 + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * 8 + [(None, None)],
    )
    assert len(step.targets) == 4
    assert step.derivative == pytest.approx(1 + whole.fun, abs=1e-6)
    a = 1e-7
    assert (criterion(P(Y, V), moved(w, step.toward, a)) - 1) / a == pytest.approx(step.derivative, abs=1e-4)


def test_a_multiple_least_eigenvalue_moves_towards_the_best_weights():
    # A = I / 2 at (.5, .5, 0, 0): no single arm raises both eigenvalues, (0, 0, .5, .5) raises both to 2.
    v = cd.verify(P.e_optimal([[1, 0], [0, 1], [2, 0], [0, 2]]), weights=[0.5, 0.5, 0, 0])
    assert v.worst_arms(4)["derivative"].tolist() == pytest.approx([-0.5] * 4)
    step = v.improvement(share=0.1)
    assert sorted(step.arms) == [2, 3]
    assert step.derivative == pytest.approx(1.5, abs=1e-5)
    assert step.value == pytest.approx(0.65, abs=1e-5)


def test_arms_that_tell_something_only_together():
    # The variance of theta_1 is 1 at (1, 0, 0); one of the others alone tells nothing about it, both do, 1 / (1 + 3a).
    v = cd.verify(P.c_optimal([[1, 0], [2, 1], [2, -1]], [1, 0]), weights=[1, 0, 0])
    assert v.worst_arms(3)["derivative"].tolist() == pytest.approx([0, 1, 1])
    step = v.improvement(share=0.1)
    assert sorted(step.arms) == [1, 2]
    assert step.derivative == pytest.approx(-3, abs=1e-5)
    assert step.value == pytest.approx(1 / 1.3, rel=1e-6)


def test_constraints_on_the_weights_are_kept():
    problem = P.g_optimal(X, max_weight=0.3, min_weight=0.02)
    w = np.full(9, 1 / 9)
    step = cd.verify(problem, weights=w).improvement(share=0.5)
    after = moved(w, step.toward, step.share)
    assert after.max() <= 0.3 + 1e-9
    assert after.min() >= 0.02 - 1e-9
    assert step.gain > 0


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_improves_an_optimal_design(name):
    v = cd.verify(PROBLEMS[name], weights=cd.solve(PROBLEMS[name], tol=1e-9).weights)
    assert v.is_optimal()
    # No move gains more than the gap leaves.
    assert v.improvement().gain <= v.gap + 1e-9


# --------------------------------------------------------- what is not measured


def test_the_cure_is_named_with_the_target():
    v = cd.verify(P.c_optimal(EYE, [0, 1, 1]), counts=[3, 2, 0])
    step = v.improvement(share=0.1)
    assert step.targets == ("direction 0",)
    assert (step.arms, step.derivative, step.gain) == ((2,), -np.inf, np.inf)
    # (.54, .36, .1): 1 / .36 + 1 / .1.
    assert step.value == pytest.approx(1 / 0.36 + 10)
    assert v.worst_arms(1)["derivative"].tolist() == [-np.inf]
    both = cd.verify(P.a_optimal(EYE), weights=[1, 0, 0])
    assert sorted(both.improvement().arms) == [1, 2]
    assert both.worst_arms(2).index.tolist() == list(both.improvement().arms)
    assert np.isnan(both.worst_arms(2)["derivative"]).all()  # neither is enough alone


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.integers(0, 10**6))
def test_the_cure_measures_everything_and_no_arm_of_it_is_idle(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    Y = rng.integers(-2, 3, size=(12, d)) * 10.0 ** rng.integers(-5, 6, size=d)
    k = int(rng.integers(1, d))
    V = rng.standard_normal((k, 12)) @ Y  # in the range of the arms
    w = np.zeros(12)
    w[rng.integers(0, 12)] = 1.0
    Q = Y / np.where(np.abs(Y).max(axis=0) > 0, np.abs(Y).max(axis=0), 1)
    T = V / np.where(np.abs(Y).max(axis=0) > 0, np.abs(Y).max(axis=0), 1)

    def measures(arms):
        rank = np.linalg.matrix_rank(Q[arms], tol=1e-9)
        return all(np.linalg.matrix_rank(np.vstack([Q[arms], t / np.abs(t).max()]), tol=1e-9) == rank for t in T)

    given = list(np.flatnonzero(w))
    v = cd.verify(P(Y, V), weights=w)
    assert (v.efficiency == 0) == (not measures(given))
    if v.efficiency > 0:
        return
    step = v.improvement()
    assert measures(given + list(step.arms))
    assert np.isfinite(step.value)
    assert step.value == pytest.approx(cd.verify(P(Y, V), weights=moved(w, step.toward, step.share)).value, rel=1e-8)
    assert len(step.arms) <= np.linalg.matrix_rank(Q, tol=1e-9) - 1
    table = v.worst_arms(12)
    for arm, derivative in table["derivative"].items():
        assert (derivative == -np.inf) == measures([*given, arm])


@pytest.mark.parametrize("share", [0, 1, -0.1, "all", np.nan])
def test_shares_are_between_zero_and_one(share):
    v = cd.verify(P.g_optimal(EYE), weights=[0.2, 0.3, 0.5])
    with pytest.raises(cd.InputError, match="share"):
        v.improvement(share)
