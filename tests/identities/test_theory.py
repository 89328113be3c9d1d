"""Facts about optimal designs that hold whatever the solver: equivalences, invariances, closed forms."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import convexdesign as cd

P = cd.DesignProblem
seeds = st.integers(0, 2**31 - 1)


def draw(seed, n=12, d=3):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(d + 1, n + 1)), int(rng.integers(1, d + 1))
    return rng, rng.standard_normal((n, d)), 10.0 ** rng.uniform(-1, 1, n)


def value(problem):
    design = cd.solve(problem)
    assert design.status is cd.Status.CERTIFIED
    return design.value


@given(seeds)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_kiefer_wolfowitz(seed):
    rng, X, _ = draw(seed)
    s2 = float(rng.uniform(0.1, 10))
    g = cd.solve(P.g_optimal(X, noise_variance=s2))
    assert g.value == pytest.approx(s2 * np.linalg.matrix_rank(X), rel=2e-6)
    d = cd.solve(P.d_optimal(X, noise_variance=s2))
    assert cd.verify(P.g_optimal(X, noise_variance=s2), weights=d.weights).efficiency > 1 - 1e-2
    # Stated as targets the theorem is not used, and the minimax solvers must find it.
    assert value(P(X, X, noise_variance=s2)) == pytest.approx(g.value, rel=3e-6)


def test_kiefer_wolfowitz_fails_for_unequal_noise():
    # Basis arms: the G value is the sum of variances, while the D-design is uniform and its value d max s^2.
    s2 = np.array([1.0, 4.0, 0.25, 9.0])
    g = P.g_optimal(np.eye(4), noise_variance=s2)
    assert value(g) == pytest.approx(14.25, rel=2e-6)
    d = cd.solve(P.d_optimal(np.eye(4), noise_variance=s2))
    np.testing.assert_allclose(d.weights, 0.25, atol=1e-4)
    assert cd.verify(g, weights=[0.25] * 4).efficiency == pytest.approx(14.25 / 36, rel=1e-6)


@given(seeds)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_invariance_under_linear_maps_permutation_scaling_and_duplication(seed):
    rng, X, s2 = draw(seed)
    V = X[:3] - X[1:4] if len(X) > 3 else X
    base = value(P(X, V, noise_variance=s2))
    M = np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0] * 10.0 ** rng.uniform(-3, 3, X.shape[1])
    assert value(P(X @ M, V @ M, noise_variance=s2)) == pytest.approx(base, rel=3e-6)
    order = rng.permutation(len(X))
    assert value(P(X[order], V[::-1], noise_variance=s2[order])) == pytest.approx(base, rel=3e-6)
    assert value(P(X, 3 * V, noise_variance=s2)) == pytest.approx(9 * base, rel=3e-6)
    assert value(P(X, V, noise_variance=7 * s2)) == pytest.approx(7 * base, rel=3e-6)
    assert value(P(np.vstack([X, X]), np.vstack([V, -V, 0 * V]), noise_variance=np.tile(s2, 2))) == pytest.approx(
        base, rel=3e-6
    )
    # A noisier copy of an arm changes nothing; embedding in more dimensions changes nothing.
    assert value(P(np.vstack([X, X]), V, noise_variance=np.r_[s2, 2 * s2])) == pytest.approx(base, rel=3e-6)
    E = rng.standard_normal((X.shape[1], X.shape[1] + 2))
    assert value(P(X @ E, V @ E, noise_variance=s2)) == pytest.approx(base, rel=3e-6)


@given(seeds)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_one_target_is_elfvings_linear_program(seed):
    rng, X, s2 = draw(seed)
    c = rng.standard_normal(len(X)) @ X
    Y = X / np.sqrt(s2)[:, None]
    # sqrt(t*) = min |h|_1 subject to Y'h = c.
    n = len(X)
    lp = linprog(np.ones(2 * n), A_eq=np.hstack([Y.T, -Y.T]), b_eq=c)
    assert value(P.c_optimal(X, c, noise_variance=s2)) == pytest.approx(lp.fun**2, rel=3e-6)


@given(seeds)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_more_targets_cost_more_and_more_arms_help(seed):
    rng, X, s2 = draw(seed)
    V = rng.standard_normal((4, len(X))) @ X
    few, many = value(P(X, V[:2], noise_variance=s2)), value(P(X, V, noise_variance=s2))
    assert few <= many * (1 + 2e-6)
    more = np.vstack([X, rng.standard_normal(X.shape)])
    assert value(P(more, V, noise_variance=np.r_[s2, s2])) <= many * (1 + 2e-6)


@given(seeds)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_sensitivity_averages_to_the_trace(seed):
    # sum_i w_i y_i'CSCy_i = tr(CS) at C = A(w)^-1 without prior information.
    rng, X, s2 = draw(seed)
    design = cd.solve(P(X, X, noise_variance=s2), tol=1e-3)
    Y = X / np.sqrt(s2)[:, None]
    C = np.linalg.inv(design.information)
    S = (B := rng.standard_normal((X.shape[1],) * 2)) @ B.T
    left = design.weights @ np.einsum("ij,jk,ik->i", Y, C @ S @ C, Y)
    assert left == pytest.approx(np.trace(C @ S), rel=1e-8)


def basis_pairs(d):
    return P.xy_allocation(np.eye(d))


CIRCLE = [2 * np.pi * k / 6 for k in range(6)]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (basis_pairs(2), 4.0),
        (basis_pairs(5), 10.0),
        (P.xy_allocation([[np.cos(a), np.sin(a)] for a in CIRCLE]), 8.0),
        (P.c_optimal([[1, 0], [np.cos(0.1), np.sin(0.1)]], [0, 1]), ((1 + np.cos(0.1)) / np.sin(0.1)) ** 2),
        (P(np.eye(4), np.eye(4)[0] - np.eye(4)[1:], noise_variance=[1.0, 4.0, 0.25, 9.0]), (1 + np.sqrt(13.25)) ** 2),
        (P.variance_g_optimal([[np.cos(k * np.pi / 5), np.sin(k * np.pi / 5)] for k in range(5)]), 3.0),
        (P.variance_g_optimal([[1, 0], [0, 1], [-1, 0], [0, -1]]), 2.0),
        (P.variance_g_optimal(np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T), 7.0),
        (P.c_optimal(np.vander(np.linspace(-1, 1, 21), 3, increasing=True), [0, 0, 1]), 4.0),
        (P.c_optimal(np.vander(np.linspace(-1, 1, 21), 3, increasing=True), [1, 2, 4]), 49.0),
    ],
    ids=[
        "xy-2",
        "xy-5",
        "hexagon",
        "two-arm-c",
        "star",
        "circle-phi",
        "four-points-phi",
        "signs-phi",
        "c",
        "c-outside",
    ],
)
def test_closed_forms(problem, expected):
    design = cd.solve(problem)
    assert design.status is cd.Status.CERTIFIED
    assert design.lower_bound <= expected * (1 + 1e-9)
    assert design.value == pytest.approx(expected, rel=1.1e-6)


def test_polynomial_d_designs_sit_at_the_fekete_points():
    grid = np.sort(np.r_[np.linspace(-1, 1, 41), 1 / np.sqrt(5), -1 / np.sqrt(5)])
    for k, expected in ((1, 0.0), (2, -1.9095425), (3, -5.2746008)):
        design = cd.solve(P.d_optimal(np.vander(grid, k + 1, increasing=True)), tol=1e-8)
        assert design.value == pytest.approx(expected, abs=2e-7)
        heavy = np.flatnonzero(design.weights > 1e-3)
        np.testing.assert_allclose(design.weights[heavy], 1 / (k + 1), atol=1e-3)
        legendre = np.polynomial.legendre.Legendre.basis(k).deriv()
        roots = np.sort(np.r_[-1, legendre.roots(), 1])
        np.testing.assert_allclose(grid[heavy], roots, atol=1e-12)


REFERENCE = Path(__file__).parents[1] / "reference.toml"


def test_the_reference_values_of_the_paper_instances():
    """soare, experiments 1 and 2: certified values, recomputed elsewhere."""
    values = {entry["id"]: entry for entry in tomllib.loads(REFERENCE.read_text())["value"]}
    soare = [[1, 0], [0, 1], [np.cos(0.5), np.sin(0.5)]]
    checks = {
        "soare-xy": P.xy_allocation(soare),
        "soare-oracle-homoskedastic": P.best_arm_oracle(soare, theta=[1, 0]),
        "soare-oracle-heteroskedastic": P.best_arm_oracle(soare, theta=[1, 0], noise_variance=[1, 20, 1]),
    }
    for name, problem in checks.items():
        assert value(problem) == pytest.approx(values[name]["value"], rel=2e-6)
    hetero = cd.solve(checks["soare-oracle-heteroskedastic"])
    np.testing.assert_allclose(hetero.weights, [0.5, 0, 0.5], atol=1e-4)
    for name, instance in (
        ("experiment-1-oracle", cd.instances.experiment_1()),
        ("experiment-2-oracle", cd.instances.experiment_2()),
    ):
        s2 = instance.noise_variance
        problem = P.best_arm_oracle(instance.arms, instance.items, theta=instance.theta, noise_variance=s2)
        assert value(problem) == pytest.approx(values[name]["value"], rel=2e-6)
        plain = P.best_arm_oracle(instance.arms, instance.items, theta=instance.theta, noise_variance=s2.max())
        assert value(plain) == pytest.approx(values[name]["homoskedastic_upper_bound"], rel=2e-6)


def test_xy_over_random_unit_arms():
    X = np.random.default_rng(0).standard_normal((200, 10))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert value(P.xy_allocation(X)) == pytest.approx(35.930062, rel=1.2e-6)
