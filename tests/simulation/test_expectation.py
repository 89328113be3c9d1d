"""How many measurements an experiment will need: parameters with the gap that was asked for, runs that are what they say."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.simulation.expectation import hard_theta, plausible_theta

I = cd.identification  # noqa: E741
ARMS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])


@pytest.mark.parametrize("gap", [0.01, 1.0, 30.0])
def test_parameters_have_the_gap(gap):
    rng = np.random.default_rng(0)
    best = I.MartingaleElimination(ARMS)
    levels = I.MartingaleElimination(ARMS, objective=I.LevelSet(0.7))
    drawn = set()
    for _ in range(20):
        first, second = np.sort(ARMS @ plausible_theta(best, gap, rng))[:-3:-1]
        assert first - second == pytest.approx(gap)
        values = ARMS @ plausible_theta(levels, gap, rng)
        assert np.abs(values - 0.7).min() == pytest.approx(gap)
        drawn.add(round(float(values[0]), 6))
    assert len(drawn) > 10


def test_rates_lie_between_zero_and_one_around_the_usual_one():
    rng = np.random.default_rng(1)
    algorithm = I.MartingaleElimination(np.eye(3), noise="bernoulli")
    for _ in range(20):
        rates = plausible_theta(algorithm, 0.005, rng, baseline=0.02, rates=True)
        assert rates.min() > 0
        assert rates.max() < 0.2
        first, second = np.sort(rates)[:-3:-1]
        assert first - second == pytest.approx(0.005)


def test_typical_rates_keep_near_the_usual_one_and_hard_ones_tie():
    """Twelve variants at 3 %: no rate is drawn a multiple of it, as a scaled direction alone would."""
    rng = np.random.default_rng(2)
    algorithm = I.MartingaleElimination(np.eye(12), noise="bernoulli")
    drawn = np.sort([plausible_theta(algorithm, 0.005, rng, baseline=0.03, rates=True) for _ in range(40)], axis=1)
    assert np.all(drawn.std(axis=1) <= 0.005)
    assert drawn.max() < 0.05
    assert np.allclose(drawn[:, -1] - drawn[:, -2], 0.005)
    best = set()
    for _ in range(10):
        rates = hard_theta(algorithm, 0.005, rng, baseline=0.03, rates=True)
        assert np.allclose(np.sort(rates), [0.03] * 11 + [0.035])
        best.add(int(np.argmax(rates)))
    assert len(best) > 3


def test_hard_levels_and_items_that_cannot_tie():
    rng = np.random.default_rng(3)
    levels = I.MartingaleElimination(np.eye(4), objective=I.LevelSet(0.7))
    sides = np.array([hard_theta(levels, 0.1, rng) - 0.7 for _ in range(10)])
    assert np.allclose(np.abs(sides), 0.1)
    assert {-1.0, 1.0} == set(np.sign(sides).ravel())
    # The last item is the mean of the first two: it lies where they do.
    first, second = np.sort(ARMS @ hard_theta(I.MartingaleElimination(ARMS), 0.1, rng))[:-3:-1]
    assert first - second == pytest.approx(0.1)
    level = I.MartingaleElimination(ARMS, objective=I.LevelSet(0.7))
    for _ in range(5):
        assert np.abs(ARMS @ hard_theta(level, 0.1, rng) - 0.7).min() == pytest.approx(0.1)


def test_the_range_of_rewards_is_simulated():
    priced = I.MartingaleElimination(np.eye(2), noise="bernoulli", reward_range=(0.0, 20.0))
    found = cd.simulation.expected_samples(priced, [4.0], baseline=6.0, runs=2)
    assert found["best"].iloc[1] == pytest.approx(10.0)
    assert found["right"].tolist() == [1.0, 1.0]
    own = I.MartingaleElimination(np.eye(2), noise="bernoulli", reward_range=(0.0, [20.0, 30.0]))
    with pytest.raises(cd.InputError, match="ranges of rewards of their own"):
        cd.simulation.expected_samples(own, [4.0], baseline=6.0)


def test_the_measurements_fall_with_the_square_of_the_gap():
    algorithm = I.MartingaleElimination(np.eye(2), known_variances=1.0)
    found = cd.simulation.expected_samples(algorithm, [0.05, 0.1], noise_variance=1.0, runs=8, hard=False)
    assert found["gap"].tolist() == [0.05, 0.1]
    assert np.allclose(found["best"] - found["second"], found["gap"])
    assert np.allclose(found["second"], found["lowest"])  # of two
    assert 2.0 < found["mean"].iloc[0] / found["mean"].iloc[1] < 8.0
    assert np.all(found["low"] <= found["median"])
    assert np.all(found["median"] <= found["high"])
    assert np.all(found["right"] >= 0.9)
    assert not algorithm.begun
    few = [cd.simulation.expected_samples(algorithm, [0.1], noise_variance=1.0, runs=2, hard=False) for _ in range(2)]
    assert few[0].equals(few[1])
    assert len(few[0]) == 1


def test_what_cannot_be_simulated():
    algorithm = I.MartingaleElimination(np.eye(2))
    with pytest.raises(cd.InputError, match="give noise_variance"):
        cd.simulation.expected_samples(algorithm, [1.0])
    with pytest.raises(cd.InputError, match="runs"):
        cd.simulation.expected_samples(algorithm, [1.0], 1.0, runs=0)
    with pytest.raises(cd.InputError, match="leave noise_variance out"):
        cd.simulation.expected_samples(I.MartingaleElimination(np.eye(2), noise="bernoulli"), [0.1], 1.0, baseline=0.5)
    algorithm.ask()
    pulls = np.repeat([0, 1], algorithm.ask().counts)
    algorithm.tell(0, cd.estimation.Observations.from_rewards(2, pulls, np.arange(float(pulls.size))))
    with pytest.raises(cd.InputError, match="has begun"):
        cd.simulation.expected_samples(algorithm, [1.0], 1.0)


def test_runs_without_an_answer_are_counted():
    algorithm = I.MartingaleElimination(np.eye(2), max_samples=200)
    found = cd.simulation.expected_samples(algorithm, [0.001], noise_variance=1.0, runs=4)
    assert found["undecided"].tolist() == [1.0] * 2
    assert found["case"].tolist() == ["typical", "hard"]
    assert found["right"].tolist() == [0.0] * 2
    assert found["mean"].iloc[0] <= 200


@pytest.mark.parametrize(
    ("gap", "options", "message"),
    [
        (0.0, {}, "gap is 0"),
        (float("nan"), {}, "gap is"),
        (2.0, {"rates": True, "baseline": 0.5}, "no parameter was found.* around 0.5; is the gap meant so"),
        (0.1, {"rates": True}, "baseline is 0, but rewards .*give baseline=, the usual rate"),
        (0.1, {"rates": True, "baseline": 3.0}, "baseline is 3, but rewards lie between 0 and 1"),
        (0.1, {"baseline": 1.0}, "items are not alike"),
    ],
)
def test_what_no_parameter_has(gap, options, message):
    arms = np.eye(2)
    items = None if "rates" in options else np.array([[1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(cd.InputError, match=message):
        plausible_theta(I.MartingaleElimination(arms, items), gap, np.random.default_rng(0), **options)


def test_a_baseline_that_no_parameter_gives_is_refused():
    algorithm = I.MartingaleElimination(np.array([[1.0], [2.0]]))
    with pytest.raises(cd.InputError, match="no parameter gives all arms this mean"):
        plausible_theta(algorithm, 0.1, np.random.default_rng(0), baseline=0.3)
