"""Observations against the raw rewards they summarise."""

import io
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.errors import InputError
from convexdesign.estimation import Observations, observations_from_csv, observations_from_frame


def exact_statistics(values):
    """Mean and sum of squared deviations in rational arithmetic."""
    exact = [Fraction(float(v)) for v in values]
    mean = sum(exact) / len(exact)
    return float(mean), float(sum((v - mean) ** 2 for v in exact))


def assert_same(a, b, rtol=1e-12):
    np.testing.assert_array_equal(a.count, b.count)
    np.testing.assert_allclose(a.mean, b.mean, rtol=rtol, atol=1e-300)
    np.testing.assert_allclose(a.m2, b.m2, rtol=1e3 * rtol, atol=1e-300)


rewards = st.lists(st.tuples(st.integers(0, 3), st.floats(-1e3, 1e3)), min_size=1, max_size=40)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(rewards, st.sampled_from([0.0, 1e6]), st.integers(0, 40))
def test_equals_rational_arithmetic_however_the_rewards_are_split(pairs, shift, split):
    arms = np.array([a for a, _ in pairs])
    y = np.array([r for _, r in pairs]) + shift
    whole = Observations.from_rewards(4, arms, y)
    parts = Observations.from_rewards(4, arms[:split], y[:split]).merge(
        Observations.from_rewards(4, arms[split:], y[split:])
    )
    for obs in (whole, parts):
        for arm in range(4):
            mine = y[arms == arm]
            assert obs.count[arm] == mine.size
            if mine.size:
                mean, m2 = exact_statistics(mine)
                assert obs.mean[arm] == pytest.approx(mean, rel=1e-14, abs=1e-12)
                # One rounding of a mean near 1e6 moves a deviation of 1e3 by 1e-10.
                assert obs.m2[arm] == pytest.approx(m2, rel=1e-11, abs=1e-15 * mean**2)


def test_merging_is_commutative_associative_and_has_a_zero():
    rng = np.random.default_rng(0)
    a, b, c = (Observations.from_rewards(5, rng.integers(0, 5, k), rng.normal(1e6, 1, k)) for k in (7, 11, 3))
    assert_same(a.merge(b), b.merge(a))
    assert_same(a.merge(b).merge(c), a.merge(b.merge(c)))
    assert_same(a.merge(Observations.empty(5)), a, rtol=0)
    assert_same(Observations.empty(5).merge(a), a, rtol=0)


def test_a_trillion_pulls_at_mean_a_million_keep_the_variance():
    # Forty doublings of the same thousand rewards: about 1e15 pulls, mean 1e6, sample variance near 1.
    y = 1e6 + np.random.default_rng(1).standard_normal(1000)
    mean, m2 = exact_statistics(y)
    obs = Observations.from_rewards(1, np.zeros(1000, dtype=int), y)
    for _ in range(40):
        obs = obs.merge(obs)
    assert obs.count[0] == 1000 * 2**40
    assert obs.mean[0] == pytest.approx(mean, rel=1e-15)
    assert obs.m2[0] / obs.count[0] == pytest.approx(m2 / 1000, rel=1e-9)
    # Adding single pulls to 1e12 of them: each must still count.
    big = Observations([10**12], [1e6], [1e12])
    one = Observations.from_rewards(1, [0], [1e6 + 1e6])
    assert big.merge(one).m2[0] - 1e12 == pytest.approx(1e12, rel=1e-9)
    assert big.merge(one).mean[0] - 1e6 == pytest.approx(1e-6, abs=1.2e-10)


def test_constant_rewards_have_no_spread_at_all():
    obs = Observations.from_rewards(2, [0] * 7 + [1], [0.1] * 7 + [1e6])
    np.testing.assert_array_equal(obs.m2, [0.0, 0.0])
    np.testing.assert_array_equal(obs.mean, [0.1, 1e6])
    np.testing.assert_array_equal(obs.sample_variance(), [0.0, np.nan])


def test_values_cannot_be_changed():
    count = np.array([2, 0])
    obs = Observations(count, [1.0, 9.0], [0.5, 9.0])
    count[0] = 5
    assert obs.count.tolist() == [2, 0]
    assert obs.mean.tolist() == [1.0, 0.0]
    assert obs.m2.tolist() == [0.5, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        obs.mean[0] = 3.0
    with pytest.raises(AttributeError):
        obs.count = count


@pytest.mark.parametrize(
    ("count", "mean", "m2", "message"),
    [
        ([1, -2], [0, 0], [0, 0], r"count\[1\] is -2"),
        ([1, 1.5], [0, 0], [0, 0], r"count\[1\] is 1.5"),
        ([1, 2], [0, np.nan], [0, 0], r"mean\[1\] is nan"),
        ([1, 2], [0, 0], [0, np.inf], r"m2\[1\] is inf"),
        ([1, 2], [0, 0], [0, -1], r"m2\[1\] is -1"),
        ([1, 2], [0, 0], [1, 0], r"m2\[0\] is 1 at count 1"),
        ([1, 2], [0], [1, 0], "mean has shape"),
        ([[1]], [0], [0], "shape"),
        (["a"], [0], [0], "real numbers"),
    ],
)
def test_impossible_statistics_are_refused(count, mean, m2, message):
    with pytest.raises(InputError, match=message):
        Observations(count, mean, m2)


@pytest.mark.parametrize(
    ("arms", "y", "message"),
    [
        ([0, 3], [1, 1], r"arms\[1\] is 3"),
        ([-1], [1], r"arms\[0\] is -1"),
        ([0.5], [1], "integer indices"),
        ([0, 1], [1, np.nan], r"rewards\[1\] is nan \(arm 1\)"),
        ([0, 1], [1], "one length"),
    ],
)
def test_bad_rewards_are_refused_by_place(arms, y, message):
    with pytest.raises(InputError, match=message):
        Observations.from_rewards(3, arms, y)
    with pytest.raises(InputError, match="3 arms with 2"):
        Observations.empty(3).merge(Observations.empty(2))


@pytest.mark.parametrize("frame_type", [pd.DataFrame, pl.DataFrame])
def test_tables_with_names_or_numbers_agree_with_arrays(frame_type, tmp_path):
    rng = np.random.default_rng(2)
    arms, y = rng.integers(0, 3, 500), rng.standard_normal(500)
    names = ["NA", "007", "blue"]
    expected = Observations.from_rewards(3, arms, y)
    numbered = frame_type({"arm": arms, "reward": y})
    named = frame_type({"variant": [names[a] for a in arms], "y": y})
    assert_same(observations_from_frame(numbered, 3), expected, rtol=0)
    assert_same(observations_from_frame(named, names, arm="variant", reward="y"), expected, rtol=0)
    path = tmp_path / "pulls.csv"
    pd.DataFrame({"variant": [names[a] for a in arms], "y": y}).to_csv(path, index=False)
    assert_same(observations_from_csv(path, names, arm="variant", reward="y", chunk_rows=7), expected)
    text = pd.DataFrame({"arm": arms, "reward": y}).to_csv(index=False)
    assert_same(observations_from_csv(io.StringIO(text), 3, chunk_rows=64), expected)


class CountedLines(io.StringIO):
    """Remembers the largest piece that anybody asked for."""

    largest = 0

    def read(self, size=-1):
        piece = super().read(size)
        self.largest = max(self.largest, len(piece))
        return piece


def test_a_csv_stream_is_never_held_whole():
    lines = 300_000
    stream = CountedLines("arm,reward\n" + "0,1.0\n1,2.0\n" * (lines // 2))
    obs = observations_from_csv(stream, 2, chunk_rows=1000)
    assert obs.count.tolist() == [lines // 2, lines // 2]
    assert stream.largest < 300_000  # of 1.8 million characters


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,reward\n0,1\n1,\n", "row 2: reward is ''"),
        ("arm,reward\n0,1\n5,1\n", "row 2: arm is 5"),
        ("arm,reward\n0,1\n0,x\n", "row 2: reward is 'x'"),
        ("a,reward\n0,1\n", "no column 'arm'"),
        ("", "cannot be read"),
    ],
)
def test_bad_csv_is_refused_by_row(text, message):
    with pytest.raises(InputError, match=message):
        observations_from_csv(io.StringIO(text), 2, chunk_rows=1)


def test_unknown_names_and_missing_rewards_in_frames():
    with pytest.raises(InputError, match=r"row 1: arm is 'green'; known arms: red"):
        observations_from_frame(pd.DataFrame({"arm": ["red", "green"], "reward": [1, 2]}), ["red"])
    with pytest.raises(InputError, match="row 0: reward is None"):
        observations_from_frame(pl.DataFrame({"arm": [0, 0], "reward": [None, 2.0]}), 1)
    with pytest.raises(InputError, match="distinct"):
        observations_from_frame(pd.DataFrame({"arm": ["r"], "reward": [1]}), ["r", "r"])
