"""Single rewards and whole numbers of pulls: the laws that the world says, and every pull counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import convexdesign as cd
from convexdesign.simulation import LinearEnvironment, Pulls, PullsItself, simulate

ARMS = np.array([[1.0, 0.0], [0.5, 0.5]])


@pytest.mark.parametrize("noise", ["gaussian", "uniform", "symmetric-beta", "bernoulli"])
def test_single_rewards_have_the_mean_and_variance_of_their_arms(noise):
    variance = None if noise == "bernoulli" else [0.01, 4.0]
    world = LinearEnvironment(ARMS, [0.3, 0.9], noise_variance=variance, noise=noise, rng=1)
    arms = np.tile([1, 0], 20_000)
    rewards = world.rewards(arms)
    for arm in (0, 1):
        of = rewards[arms == arm]
        error = np.sqrt(world.noise_variance[arm] / of.size)
        assert abs(of.mean() - world.mean[arm]) < 5 * error
        assert of.var() == pytest.approx(world.noise_variance[arm], rel=0.06)
    if noise == "gaussian":
        standard = (rewards - world.mean[arms]) / np.sqrt(world.noise_variance[arms])
        assert stats.kstest(standard, "norm").pvalue > 1e-3
    if noise == "bernoulli":
        assert set(rewards) == {0.0, 1.0}


class CountsAlone:
    """A world that takes whole numbers of pulls and nothing else; arm i always pays i."""

    n_arms = 3

    def pull(self, counts):
        return cd.estimation.Observations(counts, np.where(counts > 0, np.arange(3.0), 0.0), np.zeros(3))


def test_a_world_of_counts_gives_single_rewards_too():
    pull = Pulls(CountsAlone())
    assert pull.rewards([2, 0, 2, 1]).tolist() == [2.0, 0.0, 2.0, 1.0]
    assert pull.rewards(1).tolist() == [1.0]
    assert pull([0, 5, 1]).mean.tolist() == [0.0, 1.0, 2.0]
    assert pull.samples == 11


@pytest.mark.parametrize(
    ("arms", "words"), [([3], r"arms\[0\] is 3"), ([-1], "-1"), ([0.5], "dtype float"), ("x", "arms")]
)
def test_what_is_no_arm_is_refused_and_not_counted(arms, words):
    pull = Pulls(CountsAlone())
    with pytest.raises(cd.InputError, match=words):
        pull.rewards(arms)
    assert pull.samples == 0


def test_what_is_no_world_or_no_function_is_refused():
    with pytest.raises(cd.InputError, match="no pull"):
        Pulls(3)
    with pytest.raises(cd.InputError, match="run"):
        PullsItself(3)


def test_simulate_runs_it_to_its_end():
    assert simulate(PullsItself(lambda pull, rng: pull([1, 1, 1]).total)(np.random.default_rng(0)), CountsAlone()) == 3
