"""The screen against evaluating everything: it never overlooks a vector above the level, and says so only with proof."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.frankwolfe.pricing import Screen
from convexdesign.frankwolfe.tuning import Tuning


def values(X, F):
    return ((X @ F) ** 2).sum(axis=1)


def random_factor(rng, r, singular):
    F = rng.standard_normal((r, r)) @ np.diag(10.0 ** rng.uniform(-2, 0, r))
    return F[:, : max(1, r // 2)] if singular else F


@settings(deadline=None, max_examples=80, derandomize=True)
@given(
    n=st.integers(1, 300),
    r=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    begin=st.sampled_from(("empty", "sample", "all")),
    drift=st.sampled_from((0.0, 0.01, 0.3, 3.0)),
    singular=st.booleans(),
)
def test_below_means_below_for_every_vector(n, r, seed, begin, drift, singular):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, r)) * 10.0 ** rng.uniform(-1, 1, (n, 1))
    candidates = {"empty": np.arange(0), "sample": np.arange(0, n, 7), "all": np.arange(n)}[begin]
    screen = Screen(lambda F: values(X, F), lambda i: X[i], n, candidates, Tuning(fewest=5))
    F = random_factor(rng, r, singular)
    for _ in range(6):
        truth = values(X, F)
        level = float(np.quantile(truth, rng.uniform(0.5, 1.0)) * rng.choice([0.999999, 1.000001]))
        priced = screen.price(F, level)
        assert priced.values == pytest.approx(truth[priced.index], rel=1e-9)
        assert priced.vectors == pytest.approx(X[priced.index])
        if truth.max() > level * (1 + 1e-9):
            # Violators exist, so at least one is shown.
            assert priced.values.max() > level
        if priced.below:
            assert truth.max() <= level * (1 + 1e-9)
        else:
            assert priced.values.max() > level
        F = F + drift * F.std() * rng.standard_normal(F.shape)


def test_a_candidate_set_of_everything_never_needs_a_pass():
    X = np.random.default_rng(0).standard_normal((50, 3))
    screen = Screen.of_all(lambda i: X[i], np.arange(50))
    for scale in (1.0, 2.0, 0.1):
        assert screen.price(scale * np.eye(3), 1e9).below
    assert screen.passes == 0


def test_small_changes_cost_no_further_pass():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50_000, 4))
    screen = Screen(lambda F: values(X, F), lambda i: X[i], len(X), np.arange(0))
    screen.price(np.eye(4), 0.0)
    for _ in range(10):
        F = np.eye(4) + 0.05 * rng.standard_normal((4, 4))
        level = values(X, F).max()
        assert screen.price(F, level * (1 + 1e-9)).below
        assert not screen.price(F, level * (1 - 1e-9)).below
    assert screen.passes == 1
