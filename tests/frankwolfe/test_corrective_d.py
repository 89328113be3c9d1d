"""The corrective step for D: optimality recomputed from the data, closed forms, invariances, agreement of methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cho_factor, cho_solve

from convexdesign.frankwolfe.corrective_smooth import correct_d, d_interior

shapes = st.sampled_from(
    ("gauss", "sphere", "ball", "signs", "collinear", "polynomial", "grid", "duplicates", "scales", "unequal")
)


def certified_gap(U, w, prior=None):
    """max_i tr(A^-1 N_i) / r - 1 from the definitions, with nothing of the solver's."""
    A0 = np.zeros((U.shape[1],) * 2) if prior is None else prior
    factor = cho_factor(A0 + sum(wi * np.outer(u, u) for wi, u in zip(w, U)))
    q = [u @ cho_solve(factor, u) + np.trace(cho_solve(factor, A0)) for u in U]
    return max(q) / U.shape[1] - 1


def some_prior(r, seed):
    B = np.random.default_rng(seed).standard_normal((r, max(1, r // 2)))
    return 0.3 * B @ B.T


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    shape=shapes,
    d=st.integers(1, 6),
    n=st.integers(6, 120),
    seed=st.integers(0, 10**6),
    prior=st.booleans(),
    tol=st.sampled_from((1e-3, 1e-6, 1e-9)),
)
def test_reaches_the_gap_asked_for_whatever_the_arms(whitened, shape, d, n, seed, prior, tol):
    U = whitened(shape, n, d, seed)
    A0 = some_prior(U.shape[1], seed) if prior else None
    result = correct_d(U, tol, prior=A0)
    assert (result.weights >= 0).all()
    assert result.weights.sum() == pytest.approx(1, abs=1e-12)
    assert certified_gap(U, result.weights, A0) <= 1.001 * tol + 1e-12
    assert result.gap == pytest.approx(certified_gap(U, result.weights, A0), abs=1e-10)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(shape=shapes, d=st.integers(1, 6), n=st.integers(6, 120), seed=st.integers(0, 10**6), prior=st.booleans())
def test_the_interior_point_alone_reaches_it_too(whitened, shape, d, n, seed, prior):
    U = whitened(shape, n, d, seed)
    r = U.shape[1]
    A0 = some_prior(r, seed) if prior else None
    columns = np.asfortranarray(U.T)
    state, _ = d_interior(np.full(n, r / n), columns, A0, 1e-8)
    assert certified_gap(U, state.weights / state.weights.sum(), A0) <= 1.001e-8


@pytest.mark.parametrize("n", [400, 40])
def test_both_linear_algebras_agree(whitened, n):
    # n = 400 arms in R^5 solves in the 15-dimensional space of symmetric matrices, n = 40 mostly in the arms' own.
    U = whitened("sphere", n, 5, 3)
    w = correct_d(U, 1e-10).weights
    subset = correct_d(U[w > 1e-9], 1e-10).weights
    full = np.zeros(n)
    full[w > 1e-9] = subset
    A, B = U.T @ (w[:, None] * U), U.T @ (full[:, None] * U)
    # The optimal information matrix is unique although the weights need not be.
    assert pytest.approx(B, abs=1e-4) == A


@pytest.mark.parametrize(("degree", "log_det"), [(1, 0.0), (2, -1.9095425), (3, -5.2746008)])
def test_polynomial_designs_have_their_known_determinants(degree, log_det):
    support = {1: [-1, 1], 2: [-1, 0, 1], 3: [-1, -(5**-0.5), 5**-0.5, 1]}[degree]
    x = np.union1d(np.linspace(-1, 1, 41), support)
    X = np.vander(x, degree + 1, increasing=True)
    w = correct_d(X, 1e-9).weights
    assert np.linalg.slogdet(X.T @ (w[:, None] * X))[1] == pytest.approx(log_det, abs=1e-6)
    assert w[np.isin(x, support)] == pytest.approx(1 / (degree + 1), abs=1e-5)


def test_as_many_arms_as_dimensions_get_equal_weights(whitened):
    assert correct_d(whitened("gauss", 7, 7, 0), 1e-12).weights == pytest.approx(1 / 7)


def test_scaling_the_coordinates_changes_nothing(whitened):
    U = whitened("ball", 60, 4, 1)
    M = np.random.default_rng(0).standard_normal((4, 4))
    assert correct_d(U @ M, 1e-11).weights == pytest.approx(correct_d(U, 1e-11).weights, abs=1e-6)


def test_a_start_may_have_zero_weights(whitened):
    U = whitened("gauss", 80, 4, 5)
    start = np.zeros(80)
    start[:6] = 1 / 6
    assert certified_gap(U, correct_d(U, 1e-8, start=start).weights) <= 1.001e-8


def test_a_start_that_does_not_span_is_refused(whitened):
    U = np.eye(3)
    with pytest.raises(np.linalg.LinAlgError, match="span"):
        correct_d(U, 1e-6, start=np.array([1.0, 0.0, 0.0]))


def test_overwhelming_prior_information_leaves_the_direction_least_known():
    # With A0 = diag(1e6, 0) only the second coordinate is worth measuring.
    prior = np.diag([1e6, 0.0])
    result = correct_d(np.eye(2), 1e-9, prior=prior)
    assert result.weights == pytest.approx([0, 1], abs=1e-5)
