"""Caratheodory's bound on the support, at no change of information."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.rounding import sparsify


def information(U, w):
    return (U * w[:, None]).T @ U


@given(st.integers(1, 5), st.integers(1, 200), st.integers(0, 10**6), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_support_bound_and_same_information(r, n, seed, whole):
    rng = np.random.default_rng(seed)
    # Whole-number arms make many exact dependencies and duplicates.
    U = rng.integers(-2, 3, (n, r)).astype(float) if whole else rng.standard_normal((n, r))
    w = rng.dirichlet(np.full(n, 0.7))
    v = sparsify(U, w)
    assert np.all(v >= 0)
    assert np.count_nonzero(v) <= r * (r + 1) // 2 + 1
    assert v.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(information(U, v), information(U, w), rtol=0, atol=1e-11 * np.abs(U).max() ** 2)
    assert np.all(w[v > 0] > 0)


def test_dense_designs_in_higher_dimension_keep_every_variance():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((3000, 10)) @ np.diag(np.geomspace(1e-4, 1e4, 10))
    w = np.full(3000, 1 / 3000)
    v = sparsify(U, w)
    assert np.count_nonzero(v) <= 56
    before = np.einsum("ir,rs,is->i", U, np.linalg.inv(information(U, w)), U)
    after = np.einsum("ir,rs,is->i", U, np.linalg.inv(information(U, v)), U)
    np.testing.assert_allclose(after, before, rtol=1e-7)


def test_a_small_support_is_left_alone():
    w = np.array([0.2, 0.3, 0.5, 0.0])
    assert sparsify(np.ones((4, 2)), w) is w
