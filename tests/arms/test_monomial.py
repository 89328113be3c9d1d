"""Matrices with single entries: the same products and singular values as dense ones, bit by bit where nothing is added."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.arms.monomial import column_sizes, inverse_of, single_entries, times
from convexdesign.problem.compensated import in_two_parts
from convexdesign.problem.coordinates import span_of

N = 160


def monomial(seed, empty=0):
    rng = np.random.default_rng(seed)
    out = np.zeros((N, N))
    out[np.arange(N), rng.permutation(N)] = rng.standard_normal(N) * 10.0 ** rng.uniform(-3, 3, N)
    out[:empty] = 0.0
    return out


@pytest.mark.parametrize("empty", [0, 3])
def test_products_are_those_of_dense_matrices(empty):
    A, B = monomial(0, empty), np.random.default_rng(1).standard_normal((N, N))
    for first, second in ((A, B), (B, A), (B, A.T), (A, A.T), (A, B[:, :3]), (B[:2], A), (A, monomial(4))):
        assert np.array_equal(times(first, second), first @ second)
    assert single_entries(B) is None
    assert np.array_equal(times(B, B), B @ B)


def test_inverses_are_those_of_dense_matrices():
    A, B = monomial(0), np.random.default_rng(1).standard_normal((N, N))
    assert inverse_of(A) == pytest.approx(np.linalg.inv(A), rel=1e-12)
    assert np.array_equal(inverse_of(B), np.linalg.inv(B))
    for singular in (monomial(0, empty=1), np.vstack([A[:-1], 2.0 * A[:1]])):
        with pytest.raises(np.linalg.LinAlgError):
            inverse_of(singular)


def test_singular_values_are_the_lengths_of_columns():
    A = np.vstack([monomial(0), monomial(1)])
    assert np.sort(column_sizes(A)) == pytest.approx(np.sort(np.linalg.svd(A, compute_uv=False)), rel=1e-12)
    span, spread = span_of(monomial(2, empty=5))
    assert span.shape == (N, N - 5)
    assert spread == pytest.approx(1.0)


def test_compensated_products_of_sparse_matrices_are_exact():
    rng = np.random.default_rng(3)
    A, B = monomial(0), np.where(rng.random((N, N)) < 0.05, rng.standard_normal((N, N)), 0.0)
    high, low = in_two_parts(A, B)
    assert np.array_equal(high, A @ B)
    k = int(np.flatnonzero(A[7])[0])
    j = int(np.flatnonzero(B[k])[0])
    assert Fraction(high[7, j]) + Fraction(low[7, j]) == Fraction(A[7, k]) * Fraction(B[k, j])


@pytest.mark.parametrize("kind", ["c_optimal", "average_variance"])
def test_hundreds_of_strata_are_the_allocation_of_one_number(kind):
    rng = np.random.default_rng(2)
    H = 500
    N_h, S = np.round(rng.lognormal(4, 1.2, H)).clip(2), rng.lognormal(2, 1, H)
    n = int(0.1 * N_h.sum())
    bounds = {"min_weight": 2 / n, "max_weight": np.minimum(N_h / n, 1.0)}
    make = getattr(cd.DesignProblem, kind)
    design = cd.solve(make(np.eye(H), N_h if kind == "c_optimal" else np.diag(N_h**2), noise_variance=S**2, **bounds))
    assert design.status.name == "CERTIFIED"
    assert design.value == pytest.approx(cd.allocate_strata(S, N_h, **bounds).value, rel=1e-9)
