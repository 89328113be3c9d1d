"""The smooth criteria and the options every problem takes: reference values, identities, bounds proven under constraints."""

from __future__ import annotations

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import convexdesign as cd
from convexdesign.certificate import DualCertificate, certify, vector_bound
from convexdesign.problem import canonicalise

P = cd.DesignProblem
GRID = np.vander(np.linspace(-1, 1, 21), 3, increasing=True)
BV = np.vstack(
    [
        3 * np.column_stack([f(np.linspace(3 * np.pi / 4, np.pi, 10)) for f in (np.cos, np.sin)]),
        1.5 * np.column_stack([f(np.linspace(0, -np.pi / 2, 10)) for f in (np.cos, np.sin)]),
    ]
)
seeds = st.integers(0, 2**31 - 1)


def solved(problem, **options):
    design = cd.solve(problem, **options)
    assert design.status is cd.Status.CERTIFIED
    return design


def quadratic_terms():
    a, b = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=2))).T
    return np.column_stack([a**0, a, b, a**2, b**2, a * b])


@pytest.mark.parametrize(
    ("problem", "value", "heavy"),
    [
        (P.a_optimal(GRID), 8.0, {0: 1 / 4, 10: 1 / 2, 20: 1 / 4}),
        (P.e_optimal(GRID), 1 / 5, {0: 1 / 5, 10: 3 / 5, 20: 1 / 5}),
        (P.d_optimal(BV), 2.3150076, {0: 0.5, 9: 0.5}),
        (P.a_optimal(BV), 0.8495279, {0: 0.29661, 9: 0.37796, 19: 0.32543}),
        (P.e_optimal(BV), 1.8, {9: 0.2, 19: 0.8}),
        (P.d_optimal(quadratic_terms()), np.log(0.01142700), {0: 0.145791, 1: 0.080161, 4: 0.096193}),
        (P.a_optimal(quadratic_terms()), 17.8921718, {0: 0.093952, 1: 0.097755, 4: 0.23317}),
    ],
    ids=["A-quadratic", "E-quadratic", "D-published", "A-published", "E-published", "D-3x3", "A-3x3"],
)
def test_reference_values(problem, value, heavy):
    design = solved(problem, method="conic", tol=1e-8)
    assert design.value == pytest.approx(value, rel=1e-6, abs=2e-7)
    for arm, weight in heavy.items():
        assert design.weights[arm] == pytest.approx(weight, abs=2e-4)


def test_average_variance_is_of_the_inverse_and_not_the_trace_of_the_information():
    # Maximising the trace of the information puts all weight on the longest arm, which leaves A^-1 infinite.
    X = np.array([[10.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    design = solved(P.a_optimal(X))
    A = X.T @ (design.weights[:, None] * X)
    assert design.value == pytest.approx(np.trace(np.linalg.inv(A)), rel=1e-9)
    longest = np.argmax((X**2).sum(axis=1))
    assert design.weights[longest] < 0.5
    assert cd.verify(P.a_optimal(X), weights=np.eye(3)[longest]).efficiency == 0.0


@given(seeds)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_relations_between_criteria(seed):
    rng = np.random.default_rng(seed)
    X, s2 = rng.standard_normal((10, 3)), rng.uniform(0.2, 5, 10)
    a = solved(P.a_optimal(X, noise_variance=s2))
    assert solved(P.average_variance(X, np.eye(3), noise_variance=s2)).value == pytest.approx(a.value, rel=3e-6)
    c = rng.standard_normal(3)
    one = solved(P.c_optimal(X, c, noise_variance=s2)).value
    assert solved(P.average_variance(X, np.outer(c, c), noise_variance=s2)).value == pytest.approx(one, rel=3e-6)
    assert solved(P.i_optimal(X, c[None, :], noise_variance=s2)).value == pytest.approx(one, rel=3e-6)
    # D_s of everything is D; of one coordinate it is the c-optimal variance, minus its logarithm.
    d = solved(P.d_optimal(X, noise_variance=s2))
    assert solved(P.ds_optimal(X, [0, 1, 2], noise_variance=s2)).value == pytest.approx(d.value, abs=5e-6)
    M = rng.standard_normal((3, 3))
    rotated = solved(P.ds_optimal(X, M, noise_variance=s2))
    assert rotated.value == pytest.approx(d.value - 2 * np.linalg.slogdet(M)[1], abs=5e-6)
    first = solved(P.c_optimal(X, [1, 0, 0], noise_variance=s2)).value
    assert solved(P.ds_optimal(X, [0], noise_variance=s2)).value == pytest.approx(-np.log(first), abs=5e-6)
    # 1 / lambda_min is the largest variance over the unit sphere: more than that of any one coordinate.
    e = solved(P.e_optimal(X, noise_variance=s2))
    assert 1 / e.value >= first * (1 - 1e-5)
    assert a.value >= 1 / e.value * (1 - 1e-5)


@given(seeds)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_vectors_prove_more_than_the_optimum(seed):
    """Any vectors at all, against any weights at all, for the criteria beyond minimax."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 10)), int(rng.integers(1, 4))
    X, s2 = rng.standard_normal((n, d)), 10.0 ** rng.uniform(-1, 1, n)
    A0 = None if rng.random() < 0.5 else (lambda R: R @ R.T)(rng.standard_normal((d, d)))
    options = {"noise_variance": s2} | ({} if A0 is None else {"prior_information": A0, "n_new": 2.0})
    weights = rng.dirichlet(np.full(n, 0.3))
    for problem in (
        P.d_optimal(X, **options),
        P.ds_optimal(X, [0], **options),
        P.a_optimal(X, **options),
        P.i_optimal(X, X, **options),
        P.e_optimal(X, **options),
    ):
        canonical = canonicalise(problem)
        own = certify(canonical, weights)
        k = own.dual.vectors.shape[0]
        noise = rng.standard_normal(own.dual.vectors.shape) * 10.0 ** rng.uniform(-3, 1)
        for vectors in (own.dual.vectors + noise, noise):
            bound, _ = vector_bound(canonical, DualCertificate(np.arange(k), vectors), problem.weight_set.support)
            if not np.isfinite(own.value):
                continue
            if problem.criterion.maximised:
                assert bound >= own.value - 1e-8 * (1 + abs(own.value))
            else:
                assert bound <= own.value * (1 + 1e-8)


def test_not_spanning_arms():
    X = np.column_stack([GRID, GRID[:, 0] + GRID[:, 1]])
    d = solved(P.d_optimal(X))
    assert d.certificate.rank == 3
    np.testing.assert_allclose(d.weights[[0, 10, 20]], 1 / 3, atol=1e-3)
    for problem in (P.a_optimal(X), P.e_optimal(X)):
        with pytest.raises(
            cd.UnidentifiableError, match=r"rank 3 in R\^4: the coefficients of columns 0, 1, 3 are aliased"
        ):
            cd.solve(problem)
    with pytest.raises(cd.UnidentifiableError, match="coefficient 0 lies outside"):
        cd.solve(P.ds_optimal(X, [0]))
    assert solved(P.ds_optimal(X, [2])).value == pytest.approx(solved(P.ds_optimal(GRID, [2])).value, abs=5e-6)
    with pytest.raises(cd.UnidentifiableError, match="point 1 "):
        cd.solve(P.i_optimal(X, np.vstack([X[0], [1.0, 0, 0, 0]])))


# ------------------------------------------------------------------------------------------------------------ constraints


def brute_force(problem, X, A0, feasible, values):
    """The best value over many feasible weights: no certified bound may exceed it."""
    best = -np.inf if problem.criterion.maximised else np.inf
    for w in feasible:
        A = (0 if A0 is None else A0) + X.T @ (w[:, None] * X)
        if np.linalg.cond(A) < 1e10:
            best = (max if problem.criterion.maximised else min)(best, values(A))
    return best


@given(seeds)
@settings(max_examples=12, deadline=None, derandomize=True)
def test_bounds_under_constraints_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = 4
    X = rng.standard_normal((n, 2))
    lower, upper = np.array([0.1, 0.0, 0.05, 0.0]), np.array([0.6, 0.4, 0.5, 0.5])
    G, h = np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([0.7])
    grid = [np.array(c) / 24 for c in itertools.product(range(25), repeat=n) if sum(c) == 24]
    boxed = [w for w in grid if np.all(w >= lower - 1e-12) and np.all(w <= upper + 1e-12)]
    cut = [w for w in boxed if G @ w <= h + 1e-12]
    round_ball = [w for w in boxed if w @ w <= 0.32]
    box = {"min_weight": lower, "max_weight": upper}
    sets = [
        (box, boxed),
        (box | {"inequalities": (G, h)}, cut),
        (box | {"constraints": lambda w: [cp.sum_squares(w) <= 0.32]}, round_ball),
    ]
    criteria = [
        (lambda **k: P.g_optimal(X, **k), lambda A: np.einsum("ij,jk,ik->i", X, np.linalg.inv(A), X).max()),
        (lambda **k: P.a_optimal(X, **k), lambda A: np.trace(np.linalg.inv(A))),
        (lambda **k: P.d_optimal(X, **k), lambda A: np.linalg.slogdet(A)[1]),
        (lambda **k: P.e_optimal(X, **k), lambda A: np.linalg.eigvalsh(A)[0]),
    ]
    for (build, values), (options, feasible) in itertools.product(criteria, sets):
        problem = build(**options)
        design = solved(problem)
        best = brute_force(problem, X, None, feasible, values)
        if problem.criterion.maximised:
            assert design.bound >= best - 1e-9
            assert design.value >= best - 1e-6
        else:
            assert design.bound <= best * (1 + 1e-9)
            assert design.value <= best * (1 + 1e-6)
        w = design.weights
        assert np.all(w >= lower - 1e-8)
        assert np.all(w <= upper + 1e-8)


def test_constraints_that_do_not_bind_change_nothing():
    plain = solved(P.xy_allocation(GRID))
    for options in (
        {"max_weight": 1.0},
        {"min_weight": 0.0},
        {"inequalities": (np.ones((1, 21)), [2.0])},
        {"constraints": lambda w: [cp.norm(w) <= 5]},
    ):
        assert solved(P.xy_allocation(GRID, **options)).value == pytest.approx(plain.value, rel=3e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_weight": 0.1}, "min_weight sums to 2.1 over the arms"),
        ({"max_weight": 0.01}, "max_weight sums to 0.21 over the arms"),
        (
            {"min_weight": 0.04, "max_weight": [0.03] + [0.5] * 20},
            r"min_weight\[0\] = 0.04 exceeds max_weight\[0\] = 0.03",
        ),
        ({"max_weight": 1.5}, r"max_weight\[0\] is 1.5; a bound on a weight lies between 0 and 1"),
        ({"min_weight": [0.1] * 3}, "min_weight must be a vector of length 21"),
        ({"constraints": 3}, "constraints must be a function"),
        ({"inequalities": (np.ones((1, 5)), [1.0])}, "has 5 columns, but there are 21 arms"),
        ({"costs": 0.0}, "costs is 0; a cost must be positive"),
        ({"n_new": 5}, "n_new is given without"),
        ({"existing_counts": [1] * 21}, "n_new is missing"),
        ({"existing_counts": [1] * 21, "n_new": 0}, "n_new is 0"),
        ({"existing_counts": [0.5] * 21, "n_new": 5}, r"existing_counts\[0\] is 0.5"),
        ({"prior_information": np.eye(2), "n_new": 5}, r"must be a square matrix \(3, 3\), got shape \(2, 2\)"),
        ({"prior_information": -np.eye(3), "n_new": 5}, "not positive semidefinite"),
        ({"prior_information": np.arange(9).reshape(3, 3), "n_new": 5}, "not symmetric"),
        ({"prior_information": np.eye(3), "existing_counts": [1] * 21, "n_new": 5}, "not both"),
    ],
)
def test_bad_options_are_named_when_the_problem_is_built(options, message):
    with pytest.raises(cd.InputError, match=message):
        P.g_optimal(GRID, **options)


@pytest.mark.parametrize("pinned", [{"max_weight": [0, 1, 0]}, {"min_weight": [0, 1, 0]}], ids=["caps", "floors"])
def test_arms_that_may_have_no_weight_do_not_identify_anything(pinned):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(
        cd.UnidentifiableError, match=r"arm 0 lies outside the range of the arms that may have weight \(rank 1 of 2\)"
    ):
        cd.solve(P.g_optimal(X, **pinned))
    with pytest.raises(cd.UnidentifiableError, match="aliased"):
        cd.solve(P.a_optimal(X, **pinned))
    # D works on the range of what is allowed.
    assert solved(P.d_optimal(X, **pinned)).weights.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"min_weight": [0.5, 0.5, 0.0]}, 4.0),
        ({"max_weight": [0.1, 0.1, 0.8]}, 90 / 17),
        ({"max_weight": [1.0, 0.0, 1.0]}, None),
    ],
)
def test_bounds_are_kept_exactly(options, value):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for problem in (P.g_optimal(X, **options), P.a_optimal(X, **options), P.e_optimal(X, **options)):
        design = solved(problem)
        assert np.all(design.weights >= options.get("min_weight", 0.0))
        assert np.all(design.weights <= options.get("max_weight", 1.0))
        assert design.certificate.feasibility <= 1e-15
    if value is not None:
        assert solved(P.g_optimal(X, **options)).value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-60, 1e-8, 1e-5, 1.0, 1e4, 1e8])
def test_the_unit_does_not_decide_whether_e_is_solved(scale):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert solved(P.e_optimal(X * scale)).value == pytest.approx(scale**2 / 2, rel=2e-6)


@pytest.mark.parametrize(
    "held", [{"prior_information": np.eye(2) * 1e12}, {"existing_counts": [10**15] * 3}], ids=["matrix", "counts"]
)
def test_information_that_dwarfs_any_new_one_leaves_every_design_optimal(held):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    design = solved(P.g_optimal(X, n_new=1, **held))
    assert design.weights.sum() == pytest.approx(1.0)


def test_contradictions_and_nonconvexity_are_named_when_it_is_solved():
    with pytest.raises(cd.InputError, match=r"no weights satisfy all constraints.*inequalities"):
        cd.solve(P.g_optimal(GRID, inequalities=(-np.ones((1, 21)), [-2.0])))
    with pytest.raises(cd.InputError, match=r"(?s)not convex by the DCP rules.*not DCP"):
        cd.solve(P.g_optimal(GRID, constraints=lambda w: [cp.norm(w) >= 0.5]))
    with pytest.raises(cd.InputError, match="need method='conic'"):
        cd.solve(P.g_optimal(GRID, max_weight=0.2), method="frank-wolfe")
    with pytest.raises(TypeError, match="did you mean 'max_weight'"):
        P.g_optimal(GRID, max_weights=0.2)


# ---------------------------------------------------------------------------------------------------- costs and prior data


@given(seeds)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_costs_are_noise_in_another_coin(seed):
    rng = np.random.default_rng(seed)
    X, s2, costs = rng.standard_normal((8, 2)), rng.uniform(0.5, 2, 8), rng.uniform(0.5, 5, 8)
    # Per unit of budget an arm of cost c and variance s^2 tells as much as one of variance s^2 c.
    dear = solved(P(X, X, noise_variance=s2, costs=costs))
    assert dear.value == pytest.approx(solved(P(X, X, noise_variance=s2 * costs)).value, rel=3e-6)
    # A budget B buys B w / c pulls, whose total information is B times the design's.
    pulls = 1000 * dear.weights / costs
    np.testing.assert_allclose(X.T @ ((pulls / s2)[:, None] * X), 1000 * dear.information, rtol=1e-9)


@pytest.mark.parametrize("method", ["conic", "frank-wolfe"])
def test_information_held(method):
    rng = np.random.default_rng(8)
    X, s2 = rng.standard_normal((8, 3)), rng.uniform(0.5, 2, 8)
    plain = solved(P(X, X, noise_variance=s2), method=method)
    for nothing in ({"prior_information": np.zeros((3, 3))}, {"existing_counts": np.zeros(8)}):
        same = solved(P(X, X, noise_variance=s2, n_new=10, **nothing), method=method)
        assert same.value == pytest.approx(plain.value, rel=3e-6)
    counts = rng.integers(0, 20, 8)
    held = X.T @ ((counts / s2)[:, None] * X)
    by_counts = solved(P(X, X, noise_variance=s2, existing_counts=counts, n_new=30), method=method)
    by_matrix = solved(P(X, X, noise_variance=s2, prior_information=held, n_new=30), method=method)
    assert by_counts.value == pytest.approx(by_matrix.value, rel=3e-6)
    A = held / 30 + X.T @ ((by_counts.weights / s2)[:, None] * X)
    np.testing.assert_allclose(by_counts.information, A, rtol=1e-9)
    assert by_counts.value == pytest.approx(np.einsum("ij,ji->i", X, np.linalg.solve(A, X.T)).max(), rel=1e-9)
    # More data never hurts; data already optimal for the total leave the value of the total.
    assert by_counts.value <= plain.value
    optimal = solved(P(X, X, noise_variance=s2, prior_information=10 * plain.information, n_new=10), method=method)
    assert optimal.value == pytest.approx(plain.value / 2, rel=3e-6)


@pytest.mark.parametrize("method", ["conic", "frank-wolfe"])
def test_a_very_informative_prior_moves_the_design_to_what_is_not_covered(method):
    # The first two coordinates are known; everything goes to the third.
    prior = np.diag([1e9, 1e9, 0.0])
    design = solved(P(np.eye(3), np.eye(3), prior_information=prior, n_new=10), method=method)
    np.testing.assert_allclose(design.weights, [0, 0, 1], atol=1e-4)
    assert design.value == pytest.approx(1.0, rel=1e-5)
    # A prior may make identifiable what the arms alone do not.
    alone = P([[1.0, 0.0]], np.eye(2))
    with pytest.raises(cd.UnidentifiableError):
        cd.solve(alone)
    helped = solved(P([[1.0, 0.0]], np.eye(2), prior_information=np.diag([0.0, 4.0]), n_new=2), method=method)
    assert helped.value == pytest.approx(1.0, rel=1e-6)


# -------------------------------------------------------------------------------------------------------------------- table


def test_efficiencies_are_true_ratios():
    rng = np.random.default_rng(5)
    X, s2 = rng.standard_normal((7, 2)), rng.uniform(0.5, 2, 7)
    counts = rng.integers(1, 9, 7)
    table = cd.efficiencies(X, counts=counts, noise_variance=s2)
    w = counts / counts.sum()
    A = X.T @ ((w / s2)[:, None] * X)
    C = np.linalg.inv(A)
    values = {
        "D": np.linalg.slogdet(A)[1],
        "A": np.trace(C),
        "G": np.einsum("ij,jk,ik->i", X, C, X).max(),
        "I": np.einsum("ij,jk,ik->i", X, C, X).mean(),
        "E": np.linalg.eigvalsh(A)[0],
    }
    for name, value in values.items():
        assert table.loc[name, "value"] == pytest.approx(value, rel=1e-9)
        assert 0 < table.loc[name, "efficiency"] <= table.loc[name, "efficiency_high"] <= 1
        assert table.loc[name, "efficiency_high"] - table.loc[name, "efficiency"] < 1e-5
    # The linear program of Elfving is a third opinion on one of them: the E-optimum is at most 1 / (c-optimum).
    c = np.linalg.eigh(A)[1][:, 0]
    Y = X / np.sqrt(s2)[:, None]
    lp = linprog(np.ones(14), A_eq=np.hstack([Y.T, -Y.T]), b_eq=c)
    assert table.loc["E", "optimum"] <= 1 / lp.fun**2 * (1 + 1e-6)


def test_efficiencies_of_arms_that_do_not_span():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = cd.efficiencies([[1.0, 1.0], [2.0, 2.0]], weights=[0.5, 0.5])
    assert np.isnan(table.loc["A", "efficiency"])
    assert "aliased" in table.loc["E", "note"]
    assert table.loc["D", "efficiency"] == pytest.approx(2.5 / 4, rel=1e-6)
