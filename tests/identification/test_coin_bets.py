"""Bets on rewards in a range: expectation at most one by enumeration, validity on ties, samples, and what contradicts them."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.identification.coin_bets import BoundedEvidence, _price
from convexdesign.identification.reward_range import reward_range_of
from convexdesign.identification.sized_bets import SIZES, WEIGHTS

I = cd.identification  # noqa: E741


def test_sizes_have_probabilities():
    assert pytest.approx(1.0) == WEIGHTS.sum()
    assert WEIGHTS.min() > 0
    assert np.all(np.diff(SIZES) > 0)


@given(c=st.floats(0.0, 0.99), share=st.floats(0.0, 1.0), most=st.floats(0.0, 50.0))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_price_bounds_the_logarithm(c, share, most):
    """log(1 + u) >= u - k(c) u² for u >= -c, with equality at -c."""
    price = float(_price(np.array([c]))[0])
    u = -c + share * (c + most)
    assert np.log1p(u) >= u - price * u**2 - 1e-12
    assert np.log1p(-c) == pytest.approx(-c - price * c**2, abs=1e-11)


@pytest.mark.parametrize("noise", ["bernoulli", "bounded"])
@pytest.mark.parametrize("rates", [(0.3, 0.3), (0.05, 0.05), (0.9, 0.9), (0.2, 0.5), (0.5, 0.5)])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.0, 7.0)])
def test_wealth_is_at_most_one_on_average_where_the_leader_is_no_better(noise, rates, ends):
    """Two adaptive rounds, all outcomes enumerated with their probabilities; counts, guesses and centres of the second
    follow the first, wrong as they may be."""
    arms, low, width = np.eye(2), ends[0], ends[1] - ends[0]
    direction = np.array([[1.0, -1.0]])

    def observed(counts, ones):
        share = np.asarray(ones) / counts
        return Observations(counts, low + width * share, counts * width**2 * share * (1.0 - share))

    def chance(counts, ones):
        return float(np.prod(binom.pmf(ones, counts, rates)))

    total, growths = 0.0, []
    first = np.array([3, 4])
    for ones in product(range(4), range(5)):
        evidence = BoundedEvidence(arms, reward_range_of(noise, ends, 2))
        bets = evidence.bets(1)
        centres = low + width * np.array([0.4, 0.1])
        bets.take(evidence.take(observed(first, ones), np.array([0.1, 0.3]) * width**2, centres), direction)
        second = np.array([5, 2]) if ones[0] > ones[1] else np.array([2, 4])
        centres = low + width * (np.array(ones) + 0.5) / (first + 1.0)
        guesses = 0.05 * width**2 * (1.0 + np.array(ones))
        for more in product(range(second[0] + 1), range(second[1] + 1)):
            now = BoundedEvidence(arms, reward_range_of(noise, ends, 2))
            later = now.bets(1)
            later.V, later.first, later.logs, later.paid = bets.V, bets.first, bets.logs, bets.paid
            later.take(now.take(observed(second, more), guesses, centres), direction)
            wealth = float(np.exp(later.log_wealth()[0]))
            total += chance(first, ones) * chance(second, more) * wealth
            growths.append(wealth)
    assert total <= 1.0 + 1e-12
    assert max(growths) > 1.3  # and it can win
    if rates == (0.5, 0.5) and noise == "bernoulli":
        assert total > 0.5  # nor is it thrown away


def test_wealth_of_single_bets_is_their_product():
    """By the definition, reward by reward, for arms that are no unit vectors and a shift."""
    rng = np.random.default_rng(0)
    arms = rng.uniform(0.2, 1.0, (4, 2))
    evidence = BoundedEvidence(arms, reward_range_of("bernoulli", (0.0, 2.0), 4))
    counts, guesses, centres = np.array([3, 5, 2, 4]), rng.uniform(0.2, 1.0, 4), rng.uniform(0.5, 1.5, 4)
    index = np.repeat(np.arange(4), counts)
    rewards = 2.0 * rng.integers(0, 2, index.size)
    summary = evidence.take(Observations.from_rewards(4, index, rewards), guesses, centres)
    direction, shift = np.array([[0.5, -0.3]]), 0.07
    bets = evidence.bets(1)
    bets.take(summary, evidence.space.coordinates(direction), shift)
    A = arms.T @ (arms * (counts / guesses)[:, None])
    h = (arms / guesses[:, None]) @ np.linalg.solve(A, direction[0])
    np.testing.assert_allclose(counts * h @ arms, direction[0], atol=1e-12)
    v = direction[0] @ np.linalg.solve(A, direction[0])
    risk = np.where(h > 0, h * centres, -h * (2.0 - centres)).max()
    wealth = 0.0
    for size, weight in zip(SIZES, WEIGHTS):
        stake = min(size * np.sqrt(v) / v, 0.9 / risk)
        factors = 1.0 + stake * h[index] * (rewards - centres[index])
        wealth += weight * factors.prod() * np.exp(stake * (h[index] @ centres[index] + shift))
    assert bets.log_wealth()[0] == pytest.approx(np.log(wealth), abs=1e-9)


def conversions(rates, seed, **options):
    algorithm = I.MartingaleElimination(np.eye(len(rates)), delta=options.pop("delta", 0.05), **options)
    environment = cd.simulation.LinearEnvironment(np.eye(len(rates)), rates, noise="bernoulli", rng=seed)
    return cd.simulation.simulate(algorithm, environment)


@pytest.mark.parametrize("noise", ["bernoulli", "bounded"])
def test_best_items_that_tie_are_rarely_lost_at_small_rates(noise):
    """40 runs at delta = .2, two best of three rates; P(Bin(40, .2) > 18) < 1e-4."""
    lost = 0
    for seed in range(40):
        found = conversions(
            [0.004, 0.004, 0.002], seed, delta=0.2, noise=noise, reward_range=(0, 1), max_samples=40_000
        )
        lost += 0 not in found.survivors
    assert lost <= 18


def test_level_sets_of_rates():
    """20 runs at delta = .1: P(Bin(20, .1) > 8) < 1e-4."""
    wrong = 0
    for seed in range(20):
        found = conversions([0.01, 0.03, 0.06], seed, delta=0.1, objective=I.LevelSet(0.02), noise="bernoulli")
        wrong += found.answer != (1, 2)
    assert wrong <= 8


def test_about_as_many_samples_as_gaussian_noise_of_known_variances_and_a_tenth_of_the_proxy():
    rates = np.array([0.012, 0.018, 0.010])
    arms = np.eye(3)

    def mean(law, runs, **options):
        variance = {} if law == "bernoulli" else {"noise_variance": rates * (1.0 - rates)}
        samples = [
            cd.simulation.simulate(
                I.MartingaleElimination(arms, **options),
                cd.simulation.LinearEnvironment(arms, rates, noise=law, rng=seed, **variance),
            ).samples
            for seed in range(runs)
        ]
        return np.mean(samples)

    bernoulli = mean("bernoulli", 40, noise="bernoulli")
    assert bernoulli < 1.3 * mean("gaussian", 40, known_variances=rates * (1.0 - rates))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", I.GuaranteeWarning)  # the variances are far below their proxy
        assert 10.0 * bernoulli < mean("gaussian", 5, known_variances=0.25)


def test_rewards_that_are_not_as_said_are_named():
    algorithm = I.MartingaleElimination(np.eye(2), noise="bernoulli")
    counts = algorithm.ask().counts
    index = np.repeat([0, 1], counts)
    rewards = (np.arange(index.size) % 2).astype(float)
    rewards[-1] = 0.5
    with pytest.warns(I.GuaranteeWarning, match=r"arm 1 are not either 0 or 1 .* noise='bounded'"):
        algorithm.tell(0, Observations.from_rewards(2, index, rewards))
    bounded = I.MartingaleElimination(np.eye(2), noise="bounded", reward_range=(0.0, 1.0))
    rewards[-1] = 30.0
    with pytest.warns(I.GuaranteeWarning, match="arm 1 are not between 0 and 1"):
        bounded.tell(bounded.ask(), Observations.from_rewards(2, index, rewards))


def test_prices_are_ranges_of_their_own_and_survive_a_store(tmp_path):
    prices = np.array([9.0, 12.0])
    algorithm = I.MartingaleElimination(np.eye(2), noise="bernoulli", reward_range=(0.0, prices))
    with cd.Experiment.create(tmp_path / "prices.db", algorithm) as x:
        batch = x.ask()
        rng = np.random.default_rng(1)
        index = np.repeat([0, 1], batch.counts)
        rewards = prices[index] * rng.integers(0, 2, index.size)
        x.tell(batch, Observations.from_rewards(2, index, rewards))
        assert "one of the two values given for its arm (Bernoulli noise)" in x.status().guarantee
        assert not x.status().void
        x.ask()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"noise": "bounded"}, "needs reward_range"),
        ({"reward_range": (0, 1)}, "which has none"),
        ({"noise": "bernoulli", "reward_range": (1, 0)}, "low < high"),
        ({"noise": "bernoulli", "reward_range": 3}, "must be a pair"),
        ({"noise": "bernoulli", "reward_range": (0, [1, 2, 3])}, "one for each of 2 arms"),
        ({"noise": "bernoulli", "known_variances": 0.25}, "leave known_variances out"),
        ({"noise": "bounded", "reward_range": (0, 1), "variance_bounds": (0.1, 1)}, "leave variance_bounds out"),
        ({"noise": "poisson"}, "poisson"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(options, match):
    with pytest.raises(cd.InputError, match=match):
        I.MartingaleElimination(np.eye(2), **options)
