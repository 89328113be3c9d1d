"""Summaries made elsewhere: the same observations as from single rewards, in any layout."""

import io

import numpy as np
import pandas as pd
import pytest

from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation import (
    Observations,
    UniformEstimator,
    chi_square_intervals,
    model_variances,
    observations_from_aggregates,
)
from convexdesign.simulation import LinearEnvironment, simulate


def batches(rng, n=4, number=30):
    """Batches of rewards with means of a million, and everything at once."""
    arms = rng.integers(n, size=(number, 5))
    arms[:, :] = arms[:, :1]  # one arm a batch
    rewards = 1e6 + rng.standard_normal(arms.shape)
    return arms, rewards, Observations.from_rewards(n, arms.ravel(), rewards.ravel())


@pytest.mark.parametrize("spread", ["m2", "variance"])
@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_lines_are_batches_and_merge(spread, chunk_rows):
    arms, rewards, expected = batches(np.random.default_rng(0))
    names = ["a", "b", "c", "7"]
    table = pd.DataFrame(
        {
            "arm": [names[i] for i in arms[:, 0]],
            "mean": rewards.mean(axis=1),
            "count": rewards.shape[1],
            spread: rewards.var(axis=1, ddof=1) * (rewards.shape[1] - 1 if spread == "m2" else 1),
        }
    )
    text = io.StringIO(table.to_csv(index=False))
    found = observations_from_aggregates(text, names, chunk_rows=chunk_rows)
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(found.m2, expected.m2, rtol=1e-6)


def test_what_to_frame_writes_reads_back():
    _, _, expected = batches(np.random.default_rng(1))
    found = observations_from_aggregates(io.StringIO(expected.to_frame().to_csv()), 4)
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_allclose(found.m2, expected.m2, rtol=1e-12)


def test_rows_in_the_order_of_the_arms_and_cells_that_mean_nothing():
    found = observations_from_aggregates(io.StringIO("count;mean;variance\n2;1,5;0,5\n1;3;\n0;;\n"), 3, **COMMA)
    assert found.count.tolist() == [2, 1, 0]
    assert found.mean.tolist() == [1.5, 3, 0]
    assert found.m2.tolist() == [0.5, 0, 0]


COMMA = {"delimiter": ";", "decimal": ","}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,count,mean,m2\n0,2,1,1\n1,1.5,1,1\n", r"row 2: count is .*1.5.*whole number"),
        ("arm,count,mean,m2\n0,-2,1,1\n", "row 1: count is .*-2"),
        ("arm,count,mean,m2\n0,2,,1\n", "row 1: mean is ''"),
        ("arm,count,mean,m2\n0,2,1,-1\n", "row 1: m2 is .*-1.*at least 0"),
        ("arm,count,mean,variance\n0,2,1,?\n", "row 1: variance is '?'"),
        ("arm,count,mean,m2\n5,2,1,1\n", "row 1: arm is 5; arm indices run from 0 to 1"),
        ("arm,count,mean\n0,2,1\n", "no column 'm2' or 'variance' among"),
        ("arm,mean,m2\n0,2,1\n", "no column 'count' among"),
        ("count,mean,m2\n2,1,1\n", "1 rows for 2 arms; add a column 'arm'"),
        ("count,mean,m2\n2,1,1\n2,1,1\n2,1,1\n", "more than 2 rows for 2 arms"),
    ],
)
def test_bad_rows_are_named(text, message):
    with pytest.raises(InputError, match=message):
        observations_from_aggregates(io.StringIO(text), 2)


# ------------------------------------------------------------------ intervals


def test_intervals_hold_all_variances_at_once():
    """4,000 runs at delta = .1 of three arms with 2, 5 and 40 pulls.

    Bonferroni holds at least .9; by independence exactly (1 - .1/3)^3 = .9033. Bounds: four standard errors around it;
    a right implementation fails with probability below 1e-4.
    """
    rng = np.random.default_rng(5)
    truth, counts, runs = np.array([1.0, 4.0, 0.25]), np.array([2, 5, 40]), 4000
    m2 = truth * rng.chisquare(counts - 1, size=(runs, 3))
    held = 0
    for row in m2:
        low, high = chi_square_intervals(Observations(counts, np.zeros(3), row), delta=0.1)
        held += bool(np.all((low <= truth) & (truth <= high)))
    expected = (1 - 0.1 / 3) ** 3
    assert abs(held / runs - expected) <= 4 * np.sqrt(expected * (1 - expected) / runs)


def test_arms_without_spread_do_not_cost_anything():
    alone = chi_square_intervals(Observations([9], [0.0], [4.0]))
    beside = chi_square_intervals(Observations([0, 9, 1], [0.0, 0.0, 0.0], [0.0, 4.0, 0.0]))
    for one, other in zip(alone, beside, strict=True):
        assert one[0] == other[1]
    assert beside[0][[0, 2]].tolist() == [0, 0]
    assert np.isinf(beside[1][[0, 2]]).all()
    with pytest.raises(InputError, match="delta is 1"):
        chi_square_intervals(Observations([9], [0.0], [4.0]), delta=1)


# ---------------------------------------------------------------------- model


def test_the_model_is_the_uniform_estimator_on_the_same_data():
    arms = np.random.default_rng(2).standard_normal((9, 2))
    env = LinearEnvironment(arms, [1.0, -1.0], Sigma=[[1.0, 0.3], [0.3, 2.0]], rng=3)

    class Recording:
        def pull(self, counts):
            self.told = env.pull(counts)
            return self.told

    world = Recording()
    expected = simulate(UniformEstimator(arms, 500, rng=1), world)
    found = model_variances(arms, world.told)
    np.testing.assert_allclose(found.variances, expected.variances, rtol=1e-12)
    np.testing.assert_allclose(found.Sigma, expected.Sigma, rtol=1e-9)
    assert model_variances(arms, world.told, (0.5, 1.0)).variances.max() <= 1.0


def test_what_the_data_cannot_tell():
    with pytest.raises(UnidentifiableError, match="2 measurements leave nothing for the noise"):
        model_variances([[1.0, 0.0], [0.0, 1.0]], Observations([1, 1], [1.0, 2.0], [0.0, 0.0]))
    with pytest.raises(UnidentifiableError, match="variance of arm 1"):
        model_variances([[1.0, 0.0], [0.0, 1.0]], Observations([9, 0], [1.0, 0.0], [2.0, 0.0]))
