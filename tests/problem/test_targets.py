"""Target oracles against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.problem import ArrayArms, PairTargets, ScaledArms, VectorTargets


@st.composite
def items_and_factor(draw):
    n, d = draw(st.integers(2, 30)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    items = rng.standard_normal((n, d))
    ugly = draw(st.sampled_from(["plain", "ties", "duplicates", "far", "scales"]))
    if ugly == "ties":
        items = np.round(items)
    elif ugly == "duplicates":
        items = items[rng.integers(0, max(1, n // 3), n)]
    elif ugly == "far":
        items = items + 1e4
    elif ugly == "scales":
        items = items * 10.0 ** rng.uniform(-3, 3, d)
    return items, rng.standard_normal((d, draw(st.integers(1, 4))))


@given(items_and_factor(), st.integers(1, 40))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_worst_pairs_are_those_of_brute_force(data, k):
    items, factor = data
    n = len(items)
    i, j = np.triu_indices(n, 1)
    brute = (((items[i] - items[j]) @ factor) ** 2).sum(axis=1)
    targets = PairTargets(items)
    index, values = targets.worst(factor, k)
    assert index.size == min(k, i.size) == np.unique(index).size
    assert np.all(np.diff(values) <= 0)
    scale = (np.abs(items) ** 2).sum(axis=1).max() * (factor**2).sum()
    np.testing.assert_allclose(values, -np.sort(-brute)[: index.size], atol=1e-12 * scale)
    first, second = np.divmod(index, n)
    assert np.all(first < second)
    np.testing.assert_allclose((((items[first] - items[second]) @ factor) ** 2).sum(axis=1), values, rtol=1e-9, atol=0)


def test_many_items_are_priced_in_blocks():
    rng = np.random.default_rng(5)
    items = rng.standard_normal((5000, 3))
    factor = rng.standard_normal((3, 3))
    _, values = PairTargets(items).worst(factor, 7)
    image = items @ factor
    # The furthest pairs have an end on the hull; brute force over all 12.5 million pairs in rows.
    best = np.concatenate([((image[i] - image[i + 1 :]) ** 2).sum(axis=1) for i in range(4999)])
    np.testing.assert_allclose(values, -np.sort(-best)[:7], rtol=1e-10)


@pytest.mark.parametrize("scale", [None, np.array([1.0, 2.0, 0.5])])
def test_arms_oracle_agrees_with_the_array(scale):
    X = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 4.0]])
    Y = X if scale is None else X * scale[:, None]
    arms = ArrayArms(X) if scale is None else ScaledArms(ArrayArms(X), scale)
    F = np.array([[1.0, 0.5], [0.0, 2.0]])
    np.testing.assert_allclose(arms.quadratic(F), ((Y @ F) ** 2).sum(axis=1))
    np.testing.assert_allclose(arms.take(np.array([2, 0])), Y[[2, 0]])
    np.testing.assert_allclose(np.vstack([rows for _, rows in arms.map(lambda rows: rows)]), Y)


def test_scaled_differences_are_what_they_say():
    X = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 4.0]])
    targets = VectorTargets(X, offset=X[1], factor=np.array([2.0, 0.0, -1.0]))
    expected = np.array([[2.0], [0.0], [-1.0]]) * (X - X[1])
    np.testing.assert_allclose(targets.take(np.arange(3)), expected)
    index, values = targets.worst(np.eye(2), 2)
    brute = (expected**2).sum(axis=1)
    assert list(index) == list(np.argsort(-brute)[:2])
    np.testing.assert_allclose(values, np.sort(brute)[::-1][:2])
