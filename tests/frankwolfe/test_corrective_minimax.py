"""The corrective step for minimax designs: certificates recomputed, closed forms, singular optima."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cholesky, solve_triangular

from convexdesign.frankwolfe.corrective_minimax import correct_minimax
from convexdesign.frankwolfe.minimax_systems import DenseSystem, MatrixSpaceSystem
from convexdesign.frankwolfe.minimax_systems import whitened as whiten

shapes = st.sampled_from(
    ("gauss", "sphere", "ball", "signs", "collinear", "polynomial", "grid", "duplicates", "scales", "unequal")
)


def certified_gap(U, T, w, mu, prior=None):
    """The upper value over the bound sum (b'v)^2 / (tr(B'A0B) + max_i sum_j (b_j'u_i)^2), b_j = sqrt(mu_j) C v_j."""
    A0 = np.zeros((U.shape[1],) * 2) if prior is None else prior
    L = cholesky(A0 + U.T @ (w[:, None] * U), lower=True)
    half = solve_triangular(L, T.T, lower=True)
    B = solve_triangular(L.T, half, lower=False) * np.sqrt(mu)
    bound = ((T * B.T).sum(axis=1) ** 2).sum() / (np.trace(B.T @ A0 @ B) + ((U @ B) ** 2).sum(axis=1).max())
    return (half**2).sum(axis=0).max() / bound - 1


def some_targets(kind, U, seed):
    rng = np.random.default_rng(seed)
    n, r = U.shape
    T = {
        "random": lambda: rng.standard_normal((12, r)),
        "one": lambda: rng.standard_normal((1, r)),
        "one arm": lambda: U[:1],
        "arms, rescaled": lambda: U * np.exp(rng.standard_normal((n, 1))),
        "oracle": lambda: (U[:1] - U[1:]) / 10.0 ** rng.uniform(-3, 3, (n - 1, 1)),
        "subspace": lambda: rng.standard_normal((8, 1)) * U[:1] + rng.standard_normal((8, 1)) * U[-1:],
    }[kind]()
    size = np.linalg.norm(T, axis=1)
    return T[size > 1e-9 * size.max()] / size.max()


targets = st.sampled_from(("random", "one", "one arm", "arms, rescaled", "oracle", "subspace"))


def some_prior(r, seed):
    B = np.random.default_rng(seed).standard_normal((r, max(1, r // 2)))
    return 0.01 * B @ B.T


@settings(deadline=None, max_examples=120, derandomize=True)
@given(
    shape=shapes,
    kind=targets,
    d=st.integers(1, 6),
    n=st.integers(7, 150),
    seed=st.integers(0, 10**6),
    prior=st.booleans(),
    tol=st.sampled_from((1e-3, 1e-6)),
)
def test_reaches_the_gap_asked_for_whatever_the_arms(whitened, shape, kind, d, n, seed, prior, tol):
    U = whitened(shape, n, d, seed)
    T = some_targets(kind, U, seed)
    A0 = some_prior(U.shape[1], seed) if prior else None
    result = correct_minimax(U, T, tol, prior=A0)
    assert (result.weights > 0).all()
    assert (result.multipliers > 0).all()
    assert result.weights.sum() == pytest.approx(1, abs=1e-12)
    gap = certified_gap(U, T, result.weights, result.multipliers, A0)
    assert gap <= 1.001 * tol
    assert gap >= -1e-9
    assert result.gap == pytest.approx(gap, abs=1e-8)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    shape=shapes,
    kind=targets,
    d=st.integers(1, 5),
    n=st.integers(6, 60),
    seed=st.integers(0, 10**6),
    prior=st.booleans(),
)
def test_both_representations_solve_the_linearised_conditions(whitened, shape, kind, d, n, seed, prior):
    U = whitened(shape, n, d, seed)
    T = some_targets(kind, U, seed)
    r, m = U.shape[1], len(T)
    rng = np.random.default_rng(seed)
    A0 = some_prior(r, seed) if prior else None
    w, mu, s = rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, m), 10 ** rng.uniform(-2, 1, m)
    diagonal = rng.uniform(0.5, 2, n)
    parts = whiten(np.asfortranarray(np.concatenate([U, T]).T), n, w, A0)
    # The Hessian of sum mu_v log f_v, written out without any change of coordinates.
    prior_matrix = np.zeros((r, r)) if A0 is None else A0
    N = np.einsum("ia,ib->iab", U, U) + prior_matrix
    C = np.linalg.inv(np.einsum("i,iab->ab", w, N))
    f = np.einsum("va,ab,vb->v", T, C, T)
    J = np.einsum("va,ab,ibc,cd,vd->vi", T, C, N, C, T, optimize=True) / f[:, None]
    second = np.einsum("va,ab,ibc,cd,kde,ef,vf->vik", T, C, N, C, N, C, T, optimize=True)
    H0 = np.einsum("v,vik->ik", mu / f, second + second.transpose(0, 2, 1)) - (J.T * mu) @ J
    r1, r2 = rng.standard_normal(n), rng.standard_normal(m)
    for representation in (DenseSystem, MatrixSpaceSystem):
        around = representation(*parts)
        dw, dmu = around.system(diagonal, mu, s)(r1, r2)
        scale = 1 + abs(H0).max()
        assert H0 @ dw + diagonal * dw - J.T @ dmu == pytest.approx(r1, abs=1e-8 * scale)
        assert J @ dw + s / mu * dmu == pytest.approx(r2, abs=1e-8 * scale)
        assert around.variances == pytest.approx(f, rel=1e-7)
        assert around.pull(mu) == pytest.approx(J.T @ mu, rel=1e-7)


def test_targets_equal_to_the_arms_have_value_rank(whitened):
    U = whitened("ball", 50, 4, 2)
    result = correct_minimax(U, U, 1e-9)
    L = cholesky(U.T @ (result.weights[:, None] * U), lower=True)
    assert (solve_triangular(L, U.T, lower=True) ** 2).sum(axis=0).max() == pytest.approx(4, rel=1e-8)


@pytest.mark.parametrize("omega", [1.0, 0.1, 0.01, 1e-3])
def test_one_target_between_two_arms(omega):
    arms = np.array([[1.0, 0.0], [np.cos(omega), np.sin(omega)]])
    target = np.array([[0.0, 1.0]])
    # Arms (1, 0), (cos w, sin w), target (0, 1): value ((1 + cos w) / sin w)^2, weights proportional to (cos w, 1).
    w = correct_minimax(arms, target * omega, 1e-9).weights
    assert w == pytest.approx(np.array([np.cos(omega), 1]) / (1 + np.cos(omega)), abs=1e-4)


def test_a_singular_optimum_is_certified():
    # The target is the longest arm, so all weight goes there and A(w) loses rank; the certificate still closes.
    U = np.vstack([np.eye(4), np.full((1, 4), 2.0)])
    result = correct_minimax(U, U[4:], 1e-8)
    assert certified_gap(U, U[4:], result.weights, result.multipliers) <= 1.001e-8
    assert result.weights[4] == pytest.approx(1, abs=1e-6)


def test_unequal_noise_on_a_basis():
    # Arms e_i / s_i, targets e_i: value sum s_i^2 with weights proportional to s_i^2.
    s = np.array([1.0, 2.0, 0.5, 3.0])
    result = correct_minimax(np.diag(1 / s), np.eye(4), 1e-10)
    assert result.weights == pytest.approx(s**2 / 14.25, abs=1e-6)
    assert np.max(s**2 / result.weights) == pytest.approx(14.25, rel=1e-9)


def test_a_warm_start_saves_steps_when_a_few_arms_and_targets_join(whitened):
    warm = cold = 0
    for seed in range(8):
        U, rng = whitened("gauss", 80, 5, seed), np.random.default_rng(seed)
        T = rng.standard_normal((30, 5))
        first = correct_minimax(U[:70], T[:25], 1e-2)
        start = np.append(first.weights, np.zeros(10)), np.append(first.multipliers, np.zeros(5))
        again = correct_minimax(U, T, 1e-3, start=start)
        assert certified_gap(U, T, again.weights, again.multipliers) <= 1.001e-3
        warm += again.steps
        cold += correct_minimax(U, T, 1e-3).steps
    assert warm < cold


def test_the_value_does_not_depend_on_the_coordinates(whitened):
    U = whitened("sphere", 40, 3, 4)
    T = some_targets("random", U, 4)
    M = np.random.default_rng(1).standard_normal((3, 3))
    values = []
    for w in (correct_minimax(U, T, 1e-10).weights, correct_minimax(U @ M, T @ M, 1e-10).weights):
        half = solve_triangular(cholesky(U.T @ (w[:, None] * U), lower=True), T.T, lower=True)
        values.append((half**2).sum(axis=0).max())
    assert values[0] == pytest.approx(values[1], rel=1e-9)
