"""Far pairs against all pairs: nothing above the level is missed, whatever the geometry and the blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.problem import PairTargets
from convexdesign.problem.pairs import far_pairs

shapes = st.sampled_from(("gauss", "sphere", "lattice", "outlier", "same"))


def points(shape, n, r, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, r))
    if shape == "sphere":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    if shape == "lattice":
        X = rng.integers(-1, 2, (n, r)).astype(float)
    if shape == "outlier":
        X[0] *= 1e6
    if shape == "same":
        X[:] = X[0]
    return X - X.mean(axis=0)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    shape=shapes,
    n=st.integers(2, 120),
    r=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    limit=st.integers(1, 400),
    share=st.sampled_from((0.0, 0.5, 0.8, 1 - 1e-9)),
    block=st.sampled_from((7, 128)),
)
def test_every_pair_left_out_is_below_the_rest(shape, n, r, seed, limit, share, block):
    X = points(shape, n, r, seed)
    found = far_pairs(X, limit, share, (block, 3 * block))
    i, j = np.triu_indices(n, 1)
    truth = dict(zip(zip(i.tolist(), j.tolist()), ((X[i] - X[j]) ** 2).sum(axis=1), strict=True))
    got = {tuple(sorted(p)) for p in zip(found.first.tolist(), found.second.tolist(), strict=True)}
    assert len(got) == found.first.size <= 2 * limit
    largest = max(truth.values())
    for pair, square in truth.items():
        assert pair in got or square <= found.rest + 1e-14 * largest
    for a, b, square in zip(found.first, found.second, found.squares, strict=True):
        assert square == pytest.approx(truth[tuple(sorted((a, b)))], abs=1e-12 * (1 + largest))


@pytest.mark.parametrize("few", [0, 2000])
@pytest.mark.parametrize("k", [1, 2, 10, 10**6])
@pytest.mark.parametrize("shape", ["gauss", "sphere", "lattice", "same"])
def test_the_worst_pairs_are_the_worst_of_all(shape, k, few):
    items = points(shape, 60, 4, 1)
    F = np.random.default_rng(2).standard_normal((4, 3))
    targets = PairTargets(items, few=few)
    index, values = targets.worst(F, k)
    i, j = np.triu_indices(60, 1)
    truth = np.sort((((items[i] - items[j]) @ F) ** 2).sum(axis=1))[::-1]
    assert index.size == min(k, targets.m)
    assert values == pytest.approx(truth[: index.size], abs=1e-12)
    assert ((targets.take(index) @ F) ** 2).sum(axis=1) == pytest.approx(values, abs=1e-12)


def test_identical_items_have_size_zero():
    assert PairTargets(np.full((5, 2), 0.1)).size(np.eye(2)) == 0.0
