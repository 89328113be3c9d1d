"""Rounding up and efficient rounding: exact sums, the published guarantees, limits, and very large totals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.errors import InputError
from convexdesign.rounding import apportion, limits, round_up

weights_and_total = st.tuples(
    st.lists(st.floats(1e-6, 1.0) | st.just(0.0), min_size=1, max_size=25).filter(lambda w: sum(w) > 0),
    st.integers(1, 10**15),
)


def exact(w):
    total = sum(Fraction(x) for x in w)
    return [Fraction(x) / total for x in w]


@given(weights_and_total)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_round_up_never_falls_short_and_adds_at_most_one_pull_per_arm(case):
    w, N = case
    counts = round_up(np.array(w), limits(N, len(w)))
    shares = exact(w)
    assert all(int(n) >= N * p for n, p in zip(counts, shares))
    assert all(int(n) - N * p < 1 for n, p in zip(counts, shares))
    assert N <= sum(map(int, counts)) <= N + sum(p > 0 for p in shares)


@given(weights_and_total)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_apportion_sums_exactly_and_keeps_the_efficiency_bound(case):
    w, N = case
    counts = apportion(np.array(w), limits(N, len(w)))
    shares = exact(w)
    support = sum(p > 0 for p in shares)
    assert sum(map(int, counts)) == N
    assert all(n == 0 for n, p in zip(counts, shares) if p == 0)
    if support <= N:
        # min n_i / (N w_i) >= 1 - l/N is what makes the efficiency at least 1 - l/N, in exact arithmetic.
        assert all(Fraction(int(n), N) >= (1 - Fraction(support, N)) * p for n, p in zip(counts, shares))
        # Efficient rounding: no pull could move and raise the smallest ratio n_i/w_i.
        ratios = [Fraction(int(n)) / p for n, p in zip(counts, shares) if p > 0]
        without = [Fraction(int(n) - 1) / p for n, p in zip(counts, shares) if p > 0]
        assert max(without) <= min(ratios)


@given(st.lists(st.integers(0, 20), min_size=2, max_size=12), st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_limits_are_kept_exactly(lower, data):
    k = len(lower)
    upper = [lo + data.draw(st.integers(0, 30)) for lo in lower]
    N = data.draw(st.integers(max(sum(lower), 1), max(sum(upper), 1)))
    if sum(upper) < N:
        return
    w = np.array(data.draw(st.lists(st.floats(0, 1), min_size=k, max_size=k)))
    w[data.draw(st.integers(0, k - 1))] += 0.1
    counts = apportion(w, limits(N, k, lower, upper))
    assert counts.sum() == N
    assert np.all(counts >= lower)
    assert np.all(counts <= upper)


def test_counts_of_1e15_are_exact_integers():
    w = np.random.default_rng(0).dirichlet(np.ones(130))
    N = 10**15
    counts = apportion(w, limits(N, 130))
    assert counts.dtype == np.int64
    assert sum(map(int, counts)) == N
    assert max(abs(int(n) - N * p) for n, p in zip(counts, exact(w))) < 2


def test_a_cap_far_below_the_weight_moves_everything_else_in_proportion():
    counts = apportion(np.array([0.98, 0.01, 0.01]), limits(10**12, 3, max_counts=[10, 10**12, 10**12]))
    assert counts.tolist() == [10, 5 * 10**11 - 5, 5 * 10**11 - 5]


def test_ceil_says_which_cap_is_in_its_way():
    with pytest.raises(InputError, match=r"max_counts\[1\] = 2"):
        round_up(np.array([0.5, 0.5]), limits(10, 2, max_counts=[10, 2], min_counts=None))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((0, 3), "n is 0"),
        ((2.5, 3), "n is 2.5"),
        ((2**60, 3), "2\\^53"),
        ((5, 3, [1, -1, 0]), r"min_counts\[1\] is -1"),
        ((5, 3, None, [1, 1.5, 9]), r"max_counts\[1\] is 1.5"),
        ((5, 3, 2), "min_counts add up to 6"),
        ((5, 3, None, 1), "max_counts add up to 3"),
        ((5, 3, [0, 3, 0], [5, 2, 5]), r"min_counts\[1\] = 3"),
        ((5, 3, [0, 3]), "shape"),
    ],
)
def test_impossible_limits_are_named(args, message):
    with pytest.raises(InputError, match=message):
        limits(*args)


def test_infinite_caps_mean_no_cap():
    assert limits(7, 2, None, [np.inf, 3]).upper.tolist() == [7, 3]
