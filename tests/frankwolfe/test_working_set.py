"""Choosing arms: a spanning start, violators in order and apart, and crumbs that cannot matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.frankwolfe.working_set import Priced, WorkingSet, first_arms, spanning, violators
from convexdesign.negligible import without_least_leverage

shapes = st.sampled_from(("gauss", "sphere", "signs", "collinear", "grid", "duplicates", "scales"))


@settings(deadline=None, max_examples=40, derandomize=True)
@given(shape=shapes, n=st.integers(3, 200), d=st.integers(1, 8), seed=st.integers(0, 10**6), size=st.integers(1, 50))
def test_the_first_arms_span_what_all_arms_do(whitened, shape, n, d, seed, size):
    U = whitened(shape, n, d, seed)
    chosen = first_arms(U, size)
    assert np.linalg.matrix_rank(U[chosen]) == U.shape[1]
    assert chosen.size == np.unique(chosen).size <= max(size + U.shape[1], n if n <= size else 0)
    assert np.linalg.matrix_rank(U[spanning(U)]) == U.shape[1] == spanning(U).size


def test_spanning_looks_beyond_the_longest_rows():
    # The last direction is only in the shortest of many rows.
    U = np.zeros((5000, 3))
    U[:, :2] = np.random.default_rng(0).standard_normal((5000, 2))
    U[4321] = [0.0, 0.0, 1e-3]
    assert np.linalg.matrix_rank(U[spanning(U)], tol=1e-6) == 3


def test_violators_are_the_largest_and_well_apart():
    rng = np.random.default_rng(0)
    V = rng.standard_normal((500, 3))
    priced = Priced(np.arange(500), V, (V**2).sum(axis=1), False)
    taken = violators(priced, 2.0, 20, gap=0.5)
    assert taken[0] == np.argmax(priced.values)
    assert (priced.values[taken] > 2.0).all()
    assert (np.diff(priced.values[taken]) <= 0).all()
    unit = V[taken] / np.linalg.norm(V[taken], axis=1, keepdims=True)
    cosines = np.abs(unit @ unit.T)[np.triu_indices(taken.size, 1)]
    assert cosines.max() <= 1 - np.sqrt(0.5) / 4
    # Near the optimum only exact repetitions are left out.
    assert violators(priced, 2.0, 20, gap=0.0).size == 20


def test_joining_adds_only_what_is_new():
    V = np.eye(4)
    priced = Priced(np.array([7, 8, 9, 10]), V, np.arange(4.0), False)
    members = WorkingSet(np.array([8, 3]), V[:2], np.array([0.25, 0.75]))
    joined = members.joined_by(priced, np.array([0, 1, 3]))
    assert joined.index.tolist() == [8, 3, 7, 10]
    assert joined.weights.tolist() == [0.25, 0.75, 0.0, 0.0]


@settings(deadline=None, max_examples=40, derandomize=True)
@given(shape=shapes, n=st.integers(5, 60), d=st.integers(1, 5), seed=st.integers(0, 10**6), power=st.floats(-9, -1))
def test_trimming_raises_no_variance_beyond_the_allowance(whitened, shape, n, d, seed, power):
    U = whitened(shape, n, d, seed)
    rng = np.random.default_rng(seed)
    w = 10.0 ** rng.uniform(-12, 0, n)
    w /= w.sum()
    A = U.T @ (w[:, None] * U)
    leverages = w * np.einsum("ij,ji->i", U, np.linalg.solve(A, U.T))
    allowance = 10.0**power
    kept = without_least_leverage(w, leverages, allowance)
    assert kept.sum() == pytest.approx(1)
    assert (kept[kept > 0] >= w[kept > 0]).all()
    # A' >= (1 - allowance) A in the order of matrices, so that no direction at all loses more.
    root = np.linalg.cholesky(A)
    ratio = np.linalg.solve(root, np.linalg.solve(root, U.T @ (kept[:, None] * U)).T)
    assert np.linalg.eigvalsh((ratio + ratio.T) / 2).min() >= 1 - allowance - 1e-7
