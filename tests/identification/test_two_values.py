"""Rewards of two values are noticed by their sums alone, those with a density never are, and promises that fail for them are
refused.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.errors import InputError
from convexdesign.estimation import Observations
from convexdesign.identification.two_values import alike, two_values

I = cd.identification  # noqa: E741
NONE = Observations.empty(4)


def told(draw, pulls, n=4, seed=0):
    arms = np.repeat(np.arange(n), pulls)
    return Observations.from_rewards(n, arms, draw(np.random.default_rng(seed), arms))


def ones(rng, arms, share=0.2):
    return (rng.random(arms.size) < share).astype(float)


DENSITIES = {
    "gaussian": lambda rng, arms: rng.standard_normal(arms.size),
    "far from zero": lambda rng, arms: 1e6 + rng.standard_normal(arms.size),
    "uniform": lambda rng, arms: rng.uniform(size=arms.size),
    "mostly zero": lambda rng, arms: ones(rng, arms) * rng.lognormal(size=arms.size),
    "three values": lambda rng, arms: rng.integers(0, 3, arms.size).astype(float),
    "rounded": lambda rng, arms: np.round(rng.standard_normal(arms.size), 1),
}
PAIRS = {
    "conversions": lambda rng, arms: ones(rng, arms),
    "one price": lambda rng, arms: 9.0 * ones(rng, arms),
    "own prices": lambda rng, arms: (9.0 + 3.7 * arms) * ones(rng, arms),
    "signs": lambda rng, arms: 1.0 - 2.0 * ones(rng, arms),
    "losses": lambda rng, arms: -4.0 * ones(rng, arms),
    "neither is zero": lambda rng, arms: 5.0 + 2.3 * ones(rng, arms),
    "far from zero": lambda rng, arms: 100.0 + ones(rng, arms),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_other_rewards_are_never_said_to_take_two_values(name):
    for seed in range(100):
        first, second = (told(DENSITIES[name], pulls, seed=2 * seed + k) for k, pulls in enumerate((30, 200)))
        assert two_values(NONE, first) is None
        assert two_values(first, second) is None


@pytest.mark.parametrize("name", PAIRS)
def test_two_values_are_found_in_two_batches_at_most(name):
    for seed in range(20):
        first, second = (told(PAIRS[name], pulls, seed=2 * seed + k) for k, pulls in enumerate((64, 200)))
        found = two_values(first, second)
        assert found.arms.tolist() == [0, 1, 2, 3]
        arms = np.arange(4)
        both = [PAIRS[name](FixedChance(value), arms) for value in (0.0, 1.0)]
        np.testing.assert_allclose(found.low, np.minimum(*both), atol=1e-6)
        np.testing.assert_allclose(found.high, np.maximum(*both), atol=1e-6)


class FixedChance:
    """Draws the one number there is."""

    def __init__(self, value):
        self.value = value

    def random(self, size):
        return np.full(size, self.value)


def test_one_arm_among_others():
    def mixed(rng, arms):
        return np.where(arms == 2, 7.0 * ones(rng, arms), rng.standard_normal(arms.size))

    found = two_values(told(mixed, 64), told(mixed, 100, seed=1))
    assert (found.arms.tolist(), found.low.tolist()) == ([2], [0.0])
    assert found.words(0) == "either 0 or 7"


def test_sums_of_very_many_rewards_are_no_coincidence():
    """Their relative spread is below that of rounding."""
    for n in (10**9, 10**15, 10**18):
        counts = np.full(4, n)
        batch = Observations(counts, np.ones(4), counts * (1.0 + 1e-10))  # as if either 0 or 2
        assert two_values(NONE, batch) is None


def test_alike_is_said_of_enough_rewards_only():
    counts = np.array([9, 10, 10, 0])
    assert alike(Observations(counts, np.full(4, 0.5), np.array([0.0, 0.0, 1e-9, 0.0]))).tolist() == [1]


ARMS = np.eye(3)


def conversions(counts, scale=1.0, rate=0.3):
    number = np.round(np.asarray(counts) * rate)
    share = number / np.maximum(counts, 1)
    return Observations(counts, scale * share, scale**2 * counts * share * (1.0 - share))


@pytest.mark.parametrize(
    "algorithm",
    [
        I.MartingaleElimination(ARMS),
        I.MartingaleElimination(ARMS, noise="sub-gaussian"),
        I.MartingaleElimination(ARMS, variance_bounds=(0.001, 9.0)),
        I.MartingaleElimination(ARMS, known_variances=0.21),
        I.Rage(ARMS, delta=1e-4, variance_bounds=(0.01, 0.21)),
        I.HRage(ARMS, variance_bounds=(0.1, 1.0)),
        I.StaticAllocation(ARMS, delta=1e-4, known_variances=0.21),
    ],
    ids=lambda a: type(a).__name__,
)
def test_refused_where_the_promise_does_not_hold_for_them(algorithm):
    batch = algorithm.ask()
    before = json.dumps(algorithm.state_dict())
    with pytest.raises(InputError, match=r"arm 0.*either 0 or 1.*right if.*noise='bernoulli'.*confirm_noise=True"):
        algorithm.tell(batch, conversions(batch.counts))
    # Nothing was changed: the batch can be told something else.
    assert json.dumps(algorithm.state_dict()) == before
    assert algorithm.samples == 0
    assert algorithm.ask() is batch


@pytest.mark.parametrize(
    "algorithm",
    [
        I.MartingaleElimination(ARMS, confirm_noise=True),
        I.MartingaleElimination(ARMS, noise="bernoulli"),
        I.MartingaleElimination(ARMS, noise="bounded", reward_range=(0, 2)),
        I.Rage(ARMS, variance_bounds=(0.0, 0.25)),  # the variance proxy of rewards from 0 to 1
        I.Rage(ARMS, noise="bernoulli"),
        I.StaticAllocation(ARMS, variance_bounds=(0.1, 0.25)),
    ],
    ids=lambda a: type(a).__name__,
)
def test_taken_where_it_holds_or_is_confirmed(algorithm):
    batch = algorithm.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        algorithm.tell(batch, conversions(batch.counts))
    assert algorithm.samples == batch.total


def test_values_are_named_for_each_arm_where_they_differ():
    algorithm = I.MartingaleElimination(np.eye(2))
    batch = algorithm.ask()
    scale = np.array([9.0, 12.5])
    with pytest.raises(
        InputError, match=r"arm 0, and of 1 more arm, are either 0 or 9,.*reward_range=the two values of"
    ):
        algorithm.tell(batch, conversions(batch.counts, scale))


def test_arms_have_their_names_in_warnings_and_refusals():
    import pandas as pd

    arms = pd.DataFrame(np.eye(2), index=["old page", "new page"])
    algorithm = I.MartingaleElimination(arms)
    batch = algorithm.ask()
    with pytest.raises(InputError, match="arm old page"):
        algorithm.tell(batch, conversions(batch.counts))
    with pytest.warns(I.GuaranteeWarning, match="new page.*without any variance.*void.*bernoulli"):
        algorithm.tell(batch, Observations(batch.counts, [0.1, 0.0], [0.3 * batch.counts[0], 0.0]))


def test_every_line_names_the_noise():
    for algorithm, noise in (
        (I.MartingaleElimination(ARMS), "Gaussian noise of any variances"),
        (I.MartingaleElimination(ARMS, noise="sub-gaussian"), "strictly sub-Gaussian"),
        (I.MartingaleElimination(ARMS, noise="bernoulli"), "either 0 or 1 (Bernoulli noise)"),
        (I.MartingaleElimination(ARMS, noise="bounded", reward_range=(-1, 2)), "between -1 and 2 (bounded noise)"),
        (I.Rage(ARMS, noise="bounded", reward_range=(-1, 2)), "between -1 and 2 (bounded noise)"),
        (I.HRage(ARMS, variance_bounds=(0.1, 1.0)), "Gaussian noise of variances x'Sigma x"),
    ):
        assert noise in algorithm.assumption
        assert noise in repr(algorithm)
    # A result says it itself.
    world = cd.instances.soare(kappa=2.0)
    result = cd.simulation.simulate(
        I.MartingaleElimination(world.arms),
        cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0),
    )
    assert "Gaussian noise" in result.assumption


def test_h_rage_says_why_not():
    with pytest.raises(InputError, match=r"H-RAGE does not hold.*depend on their means.*MartingaleElimination"):
        I.HRage(ARMS, variance_bounds=(0.1, 1.0), noise="bernoulli")


def test_rage_with_the_proxy_of_a_range():
    """Its bound is (b - a)²/4, 20 runs at delta = .2: P(Bin(20, .2) > 11) < 0.1 %."""
    low, high = np.array([0.0, 0.0, -2.0]), np.array([1.0, 3.0, 1.0])
    algorithm = I.Rage(ARMS, noise="bounded", reward_range=(low, high))
    assert algorithm.variance_bounds == (0.0, 9.0 / 4.0)
    with pytest.raises(InputError, match=r"variance proxies of up to 2\.25"):
        I.Rage(ARMS, variance_bounds=(0.1, 2.0), noise="bounded", reward_range=(low, high))
    wrong = 0
    for seed in range(20):
        found = cd.simulation.simulate(
            I.Rage(ARMS, delta=0.2, noise="bernoulli"),
            cd.simulation.LinearEnvironment(ARMS, [0.5, 0.3, 0.2], noise="bernoulli", rng=seed),
        )
        wrong += found.answer != (0,)
    assert wrong <= 11
    batch = algorithm.ask()
    with pytest.warns(I.GuaranteeWarning, match="arm 0.*not between 0 and 1.*reward_range"):
        algorithm.tell(batch, Observations(batch.counts, [2.0, 1.0, 0.0], batch.counts * 0.1))
