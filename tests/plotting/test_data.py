"""The data of each plot, checked against what the picture claims, without drawing anything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from convexdesign.errors import InputError
from convexdesign.plotting import (
    allocation_data,
    comparison_data,
    convergence_data,
    elfving_data,
    ellipse_data,
    equivalence_data,
    map_data,
    rounds_data,
    sensitivity,
    variances_data,
)

weight_vectors = arrays(float, st.integers(1, 40), elements=st.sampled_from([0.0, 1e-9, 0.01, 0.2, 0.5, 1.0]))


@settings(deadline=None, max_examples=200, derandomize=True)
@given(weight_vectors, st.integers(1, 45))
def test_allocation_accounts_for_every_arm_and_all_weight(w, max_bars):
    data = allocation_data(w, [f"arm {i}" for i in range(w.size)], max_bars)
    assert len(data.arms) <= max(max_bars, 0) or w.size <= max_bars
    np.testing.assert_array_equal(data.weights, w[data.arms])
    assert data.names == tuple(f"arm {i}" for i in data.arms)
    assert data.weights.sum() + data.hidden_weight == pytest.approx(w.sum(), rel=1e-12, abs=1e-15)
    assert np.count_nonzero(data.weights) + data.hidden == np.count_nonzero(w)
    if w.size > max_bars:
        assert np.all(np.diff(data.weights) <= 0)
        assert np.all(data.weights > 0)
        left_out = np.delete(w, data.arms)
        assert left_out.max(initial=0.0) <= data.weights.min(initial=np.inf)
    else:
        np.testing.assert_array_equal(data.arms, np.arange(w.size))


def test_allocation_names_default_to_indices():
    assert allocation_data([0.25, 0.75]).names == ("0", "1")


@pytest.mark.parametrize(
    ("weights", "names", "max_bars", "message"),
    [
        ([0.5, -0.5], None, 5, r"weights\[1\] = -0.5"),
        ([0.5, np.nan], None, 5, r"weights\[1\] = nan"),
        ([[0.5, 0.5]], None, 5, r"shape \(1, 2\)"),
        ([], None, 5, "shape"),
        ([0.5, 0.5], ["a"], 5, "1 names for 2 arms"),
        ([0.5, 0.5], None, 0, "max_bars"),
    ],
)
def test_allocation_refuses(weights, names, max_bars, message):
    with pytest.raises(InputError, match=message):
        allocation_data(weights, names, max_bars)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 30), st.integers(1, 12))
def test_comparison_shows_the_arms_that_some_design_favours_most(seed, k, n, max_arms):
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(n, 0.3), size=k)
    data = comparison_data({f"design {j}": W[j] for j in range(k)}, None, max_arms)
    assert data.designs == tuple(f"design {j}" for j in range(k))
    np.testing.assert_array_equal(data.weights, W[:, data.arms])
    left_out = np.delete(W, data.arms, axis=1)
    assert left_out.max(initial=0.0) <= data.weights.max(axis=0).min()
    assert data.hidden == np.count_nonzero(left_out.max(axis=0))
    assert data.hidden_weight == pytest.approx(left_out.sum(axis=1).max(), abs=1e-15)


def test_comparison_refuses_designs_over_different_arms_and_none_at_all():
    with pytest.raises(InputError, match=r"'a': 2, 'b': 3"):
        comparison_data({"a": [0.5, 0.5], "b": [0.2, 0.3, 0.5]})
    with pytest.raises(InputError, match="no designs"):
        comparison_data({})
    with pytest.raises(InputError, match="max_arms"):
        comparison_data({"a": [1.0]}, max_arms=0)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_ellipse_boundary_and_its_reach(seed):
    """z'A z = 1 on the boundary, and the largest v'z on it is sqrt(v'A^-1 v): the standard deviation."""
    rng = np.random.default_rng(seed)
    X, w, s2 = rng.standard_normal((6, 2)), rng.dirichlet(np.ones(6)), rng.uniform(0.1, 10, 6)
    V, A0 = rng.standard_normal((3, 2)), np.diag(rng.uniform(0, 1, 2))
    data = ellipse_data(X, w, V, s2, A0, points=2001)
    A = A0 + sum(w[i] * np.outer(X[i], X[i]) / s2[i] for i in range(6))
    np.testing.assert_allclose(np.einsum("ki,ij,kj->k", data.boundary, A, data.boundary), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(data.boundary[0], data.boundary[-1])
    reach = (data.boundary @ V.T).max(axis=0)
    np.testing.assert_allclose(reach, np.sqrt(np.diag(V @ np.linalg.inv(A) @ V.T)), rtol=1e-5)
    np.testing.assert_allclose(data.deviations, np.sqrt(np.diag(V @ np.linalg.inv(A) @ V.T)), rtol=1e-9)


@pytest.mark.parametrize(
    ("arms", "weights", "noise", "message"),
    [
        (np.eye(3), [1, 0, 0], None, "two coordinates"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], None, "lie on one line"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0], None, "1 weights for 2 arms"),
        ([[1.0, 0.0], [0.0, np.inf]], [0.5, 0.5], None, "finite"),
        ([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5], [1.0, 0.0], "positive"),
    ],
)
def test_ellipse_refuses(arms, weights, noise, message):
    with pytest.raises(InputError, match=message):
        ellipse_data(arms, weights, noise_variance=noise)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_weighted_mean_of_sensitivities_is_a_trace(seed):
    """sum_i w_i y_i'CMCy_i = tr(CM) at C = A(w)^-1: the bound of the picture, from its other formula."""
    rng = np.random.default_rng(seed)
    Y, w = rng.standard_normal((9, 3)), rng.dirichlet(np.ones(9))
    L = rng.standard_normal((3, 3))
    M = L @ L.T
    data = equivalence_data(sensitivity(Y, w, M), w)
    assert data.bound == pytest.approx(np.trace(np.linalg.inv(Y.T @ (Y * w[:, None])) @ M), rel=1e-9)
    assert equivalence_data(sensitivity(Y, w), w).bound == pytest.approx(3.0, rel=1e-9)


def test_equivalence_on_closed_forms():
    """Quadratic regression: D is thirds on {-1, 0, 1}, bound 3; A is (1/4, 1/2, 1/4) with bound tr = 8."""
    x = np.linspace(-1, 1, 201)
    Y = np.vander(x, 3, increasing=True)
    w = np.zeros(201)
    w[[0, 100, 200]] = 1 / 3
    D = equivalence_data(sensitivity(Y, w), w, x)
    assert D.bound == pytest.approx(3.0)
    assert abs(D.excess) < 1e-12
    w[[0, 100, 200]] = 0.25, 0.5, 0.25
    A = equivalence_data(sensitivity(Y, w, np.eye(3)), w, x)
    assert A.bound == pytest.approx(8.0)
    assert abs(A.excess) < 1e-12
    uniform = np.full(201, 1 / 201)
    assert equivalence_data(sensitivity(Y, uniform), uniform, x).excess > 0.5


def test_sensitivity_where_the_arms_do_not_span_and_with_a_prior():
    Y = np.array([[1.0, 1.0], [2.0, 2.0]])
    np.testing.assert_allclose(sensitivity(Y, [0.0, 1.0]), [0.25, 1.0])
    prior = np.diag([1.0, 3.0])
    np.testing.assert_allclose(sensitivity(np.eye(2), [0.5, 0.5], prior=prior), [1 / 1.5, 1 / 3.5])


def test_equivalence_sorts_by_position_and_refuses_mismatches():
    data = equivalence_data([1.0, 2.0, 3.0], [0.0, 0.5, 0.5], [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(data.positions, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(data.sensitivity, [2.0, 3.0, 1.0])
    np.testing.assert_array_equal(data.weights, [0.5, 0.5, 0.0])
    with pytest.raises(InputError, match="one shape"):
        equivalence_data([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="positive somewhere"):
        equivalence_data([1.0, np.nan], [1.0, 0.0])
    with pytest.raises(InputError, match="one weight an arm"):
        sensitivity(np.eye(2), [1.0])
    with pytest.raises(InputError, match="finite matrix"):
        sensitivity([1.0, 2.0], [0.5, 0.5])


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.one_of(st.floats(1e-12, 10), st.just(np.inf), st.just(np.nan))),
        min_size=1,
        max_size=30,
    )
)
def test_convergence_is_the_best_gap_so_far(history):
    x, g = np.array(history).T
    if not np.isfinite(g).any():
        with pytest.raises(InputError, match="no finite gap"):
            convergence_data({"m": (x, g)})
        return
    (curve,) = convergence_data({"m": (x, g)})
    assert np.all(np.diff(curve.positions) >= 0)
    assert np.all(np.diff(curve.gaps) <= 0)
    assert curve.gaps[-1] == np.nanmin(g[np.isfinite(g)])
    assert len(curve.gaps) == np.count_nonzero(np.isfinite(g))


def test_convergence_floors_zero_gaps_and_refuses_bad_histories():
    (curve,) = convergence_data({"m": ([0, 1], [0.5, 0.0])}, floor=1e-12)
    np.testing.assert_array_equal(curve.gaps, [0.5, 1e-12])
    with pytest.raises(InputError, match=r"'m'.*equal vectors"):
        convergence_data({"m": ([0, 1], [0.5])})
    with pytest.raises(InputError, match="positions must be finite"):
        convergence_data({"m": ([0, np.nan], [0.5, 0.1])})
    with pytest.raises(InputError, match="no histories"):
        convergence_data({})


def linear_program(Y: np.ndarray, v: np.ndarray) -> float:
    """(min sum |h_i| subject to sum_i h_i y_i = v)^2, by linear programming."""
    from scipy.optimize import linprog

    found = linprog(np.ones(2 * len(Y)), A_eq=np.hstack([Y.T, -Y.T]), b_eq=v, bounds=(0, None), method="highs")
    return float(found.fun) ** 2


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_elfving_agrees_with_the_linear_program_and_its_weights_attain_it(seed, n):
    rng = np.random.default_rng(seed)
    X, v, s2 = rng.standard_normal((n, 2)), rng.standard_normal(2), rng.uniform(0.1, 10, n)
    data = elfving_data(X, v, s2)
    Y = X / np.sqrt(s2)[:, None]
    assert data.value == pytest.approx(linear_program(Y, v), rel=1e-7)
    A = Y.T @ (Y * data.weights[:, None])
    assert v @ np.linalg.pinv(A, rcond=1e-12) @ v == pytest.approx(data.value, rel=1e-6)
    assert data.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(data.touch * np.sqrt(data.value), v, atol=1e-9)
    # Every arm and its negative lie in the hull: on its inner side of every edge, walked in order.
    edges = np.diff(data.hull, axis=0)
    side = np.cross(
        np.c_[edges, np.zeros(len(edges))][:, None],
        np.c_[Y, np.zeros(n)] - np.c_[data.hull[:-1], np.zeros(len(edges))][:, None],
    )
    assert np.all(side[:, :, 2] >= -1e-9)


def test_elfving_on_two_nearly_parallel_arms():
    """Arms (1, 0) and (cos w, sin w), target (0, 1): the value is ((1 + cos w) / sin w)^2."""
    w = 0.1
    data = elfving_data([[1, 0], [np.cos(w), np.sin(w)]], [0, 1])
    assert data.value == pytest.approx(((1 + np.cos(w)) / np.sin(w)) ** 2, rel=1e-10)


@pytest.mark.parametrize(
    ("arms", "target", "noise", "message"),
    [
        (np.eye(3), [1, 0, 0], None, "two coordinates"),
        ([[1.0, 1.0], [2.0, 2.0]], [1, 0], None, "one line"),
        (np.eye(2), [0, 0], None, "target is zero"),
        (np.eye(2), [1, 0], [1.0, -1.0], "positive"),
    ],
)
def test_elfving_refuses(arms, target, noise, message):
    with pytest.raises(InputError, match=message):
        elfving_data(arms, target, noise)


def test_rounds_start_with_all_items_and_no_samples():
    data = rounds_data([10, 40], [5, 1], n_items=7)
    np.testing.assert_array_equal(data.samples, [0, 10, 40])
    np.testing.assert_array_equal(data.undecided, [7, 5, 1])
    with pytest.raises(InputError, match="one length"):
        rounds_data([10], [5, 1], n_items=7)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_variances_are_sorted_and_lie_on_their_bars(seed, bounded):
    rng = np.random.default_rng(seed)
    values, error = rng.uniform(0.1, 3.0, 9), rng.uniform(0.0, 2.0, 9)
    bounds = (0.5, 2.0) if bounded else None
    data = variances_data(values, error, bounds)
    np.testing.assert_array_equal(data.variance, np.sort(values))
    np.testing.assert_array_equal(data.variance, values[data.arms])
    assert np.all(data.low <= data.variance)
    assert np.all(data.variance <= data.high)
    assert np.all(data.low >= min(0.5 if bounded else 0.0, values.min()))
    with pytest.raises(InputError, match="one length"):
        variances_data(values, error[1:])


def test_arms_with_several_responses_in_the_plane():
    """Information with correlated noise; every response is drawn with its arm's weight."""
    arms = np.array([np.eye(2), [[1.0, 1.0], [1.0, -1.0]]])
    noise = np.array([[1.0, 0.5], [0.5, 2.0]])
    data = ellipse_data(arms, [0.25, 0.75], noise_variance=np.stack([noise, noise]))
    expected = sum(w * x @ np.linalg.inv(noise) @ x.T for w, x in zip((0.25, 0.75), arms))
    np.testing.assert_allclose(data.information, expected)
    np.testing.assert_array_equal(data.arms, [[1, 0], [0, 1], [1, 1], [1, -1]])
    np.testing.assert_array_equal(data.weights, [0.25, 0.25, 0.75, 0.75])
    with pytest.raises(InputError, match="3 weights for 2 arms"):
        ellipse_data(arms, [0.2, 0.3, 0.5])


def test_sensitivity_of_several_responses_is_their_sum():
    groups = np.random.default_rng(0).standard_normal((5, 2, 3))
    w = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    C = np.linalg.inv(np.einsum("n,nlr,nls->rs", w, groups, groups))
    np.testing.assert_allclose(sensitivity(groups, w), np.einsum("nlr,rs,nls->n", groups, C, groups))
    assert w @ sensitivity(groups, w) == pytest.approx(3)


def test_a_map_adds_the_arms_of_one_setting():
    data = map_data([[1, 0], [0, 0], [1, 0], [0, 5]], [0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 3.0, 4.0])
    assert data.settings.tolist() == [[0, 0], [0, 5], [1, 0]]
    np.testing.assert_allclose(data.weights, [0.2, 0.4, 0.4])
    assert data.values.tolist() == [2.0, 4.0, 3.0]
    assert sorted(data.labelled.tolist()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("points", "values", "message"),
    [
        ([[0, 0, 0]], None, "two columns"),
        ([[0, np.nan]], None, r"settings\[0, 1\] = nan"),
        ([[0, 0]], [1, 2], "values"),
    ],
)
def test_a_map_refuses_what_it_cannot_place(points, values, message):
    with pytest.raises(InputError, match=message):
        map_data(points, [1.0], values)
