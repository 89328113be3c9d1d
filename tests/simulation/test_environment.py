"""Simulated rewards: exact Gaussian statistics against single draws, and worlds that cannot be."""

import numpy as np
import pytest
from scipy import stats

from convexdesign.errors import InputError
from convexdesign.simulation import LinearEnvironment
from convexdesign.simulation.environment import NOISES, block_statistics, gaussian_statistics, standard_noise

ARMS = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
THETA = np.array([3.0, -1.0])


def environment(**options):
    return LinearEnvironment(ARMS, THETA, **({"noise_variance": [0.25, 4.0, 9.0], "rng": 0} | options))


@pytest.mark.parametrize("noise", NOISES)
def test_variances_are_variances_and_means_are_means(noise):
    # 200,000 pulls an arm: mean and variance within 5 standard errors, kurtosis at most 3: false alarm below 1e-5.
    counts = np.full(3, 200_000)
    env = environment(noise=noise, rng=1)
    obs = env.pull(counts)
    variance = np.array([0.25, 4.0, 9.0])
    assert np.abs((obs.mean - ARMS @ THETA) / np.sqrt(variance / counts)).max() < 5
    assert np.abs((obs.sample_variance() / variance - 1) / np.sqrt(2.0 / counts)).max() < 5
    # Read as standard deviations, 4 and 9 would have given 16 and 81, 0.25 would have given 0.0625.
    np.testing.assert_allclose(obs.sample_variance(), variance, rtol=0.02)


def test_sigma_gives_the_quadratic_form():
    env = LinearEnvironment(ARMS, THETA, Sigma=[[1.0, 0.5], [0.5, 2.0]])
    np.testing.assert_allclose(env.noise_variance, [1.0, 8.0, 4.0])
    np.testing.assert_allclose(env.mean, [3.0, -2.0, 2.0])


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_exact_gaussian_statistics_have_the_law_of_single_draws(count):
    # Kolmogorov-Smirnov between 3,000 draws of either path, for mean and m2: each at level 1e-4, 8 tests in all.
    mean, variance, counts = np.full(3000, 1.5), np.full(3000, 4.0), np.full(3000, count)
    exact = gaussian_statistics(mean, variance, counts, np.random.default_rng(2))
    single = block_statistics(mean, variance, counts, standard_noise("gaussian", np.random.default_rng(3)), block=1000)
    assert stats.ks_2samp(exact.mean, single.mean).pvalue > 1e-4
    if count == 1:
        assert not exact.m2.any()
        assert not single.m2.any()
        return
    assert stats.ks_2samp(exact.m2, single.m2).pvalue > 1e-4
    # Independence of mean and m2 in the exact path, as for Gaussian samples: |correlation| < 4.5/sqrt(3000).
    for obs in (exact, single):
        assert abs(np.corrcoef(obs.mean, obs.m2)[0, 1]) < 4.5 / np.sqrt(3000)


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        ("gaussian", stats.norm()),
        ("uniform", stats.uniform(-np.sqrt(3), 2 * np.sqrt(3))),
        ("symmetric-beta", stats.beta(2, 2, -np.sqrt(5), 2 * np.sqrt(5))),
    ],
)
def test_standard_noise_has_its_law_mean_zero_and_variance_one(noise, law):
    # Kolmogorov-Smirnov at level 1e-4.
    draws = standard_noise(noise, np.random.default_rng(4))(20_000)
    assert stats.kstest(draws, law.cdf).pvalue > 1e-4
    assert law.mean() == pytest.approx(0.0, abs=1e-12)
    assert law.var() == pytest.approx(1.0)
    # Strictly sub-Gaussian: the moment generating function, by quadrature, stays below exp(t²/2).
    low, high = law.support() if np.isfinite(law.support()).all() else (-30.0, 30.0)
    for t in (0.5, 1.0, 2.0, 4.0):
        assert law.expect(lambda e, t=t: np.exp(t * e - t**2 / 2), lb=low, ub=high) <= 1 + 1e-9


@pytest.mark.parametrize("block", [1, 7, 64, 10**6])
def test_blocks_cover_every_pull_once(block):
    # The draws are 0, 1, 2, ... so each arm's sum shows which ones it got.
    numbers = iter(range(10**6))
    counts = np.array([5, 0, 3, 11, 0, 1])
    obs = block_statistics(
        np.zeros(6), np.ones(6), counts, lambda k: np.array([next(numbers) for _ in range(k)], float), block
    )
    np.testing.assert_array_equal(obs.count, counts)
    np.testing.assert_allclose(obs.mean, [2.0, 0.0, 6.0, 13.0, 0.0, 19.0])
    np.testing.assert_allclose(obs.m2, [10.0, 0.0, 2.0, 110.0, 0.0, 0.0])


def test_ten_billion_gaussian_pulls_need_no_samples():
    obs = environment().pull(np.array([10**10, 10**12, 0]))
    # Five standard errors each: false alarm below 3e-6.
    np.testing.assert_allclose(obs.mean[:2], [3.0, -2.0], atol=5 * np.sqrt(0.25 / 10**10))
    np.testing.assert_allclose(obs.m2[:2] / obs.count[:2], [0.25, 4.0], rtol=5 * np.sqrt(2 / 10**10))
    assert (obs.mean[2], obs.m2[2]) == (0.0, 0.0)


@pytest.mark.parametrize("noise", NOISES)
def test_seeds_repeat_and_calls_differ(noise):
    counts = np.array([3, 4, 5])
    env = environment(noise=noise, rng=5)
    first, second = env.pull(counts), env.pull(counts)
    assert not np.any(first.mean == second.mean)
    np.testing.assert_array_equal(environment(noise=noise, rng=5).pull(counts).mean, first.mean)
    generator = np.random.default_rng(5)
    np.testing.assert_array_equal(environment(noise=noise, rng=generator).pull(counts).m2, first.m2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one"),
        ({"noise_variance": 1.0, "Sigma": np.eye(2)}, "exactly one"),
        ({"noise_variance": [1.0, 0.0, 1.0]}, r"noise_variance\[1\] is 0"),
        ({"noise_variance": [1.0, 1.0]}, "one entry per arm"),
        ({"noise_variance": np.nan}, "nan"),
        ({"Sigma": np.eye(3)}, "shape"),
        ({"Sigma": [[1.0, 2.0], [2.0, 1.0]]}, "not positive semidefinite"),
        ({"Sigma": [[1.0, 0.5], [0.4, 1.0]]}, "not symmetric"),
        ({"Sigma": [[1.0, np.nan], [np.nan, 1.0]]}, r"Sigma\[0, 1\] is nan"),
        ({"Sigma": [[1.0, 0.0], [0.0, 0.0]]}, "x'Sigma x is 0 for arm 1"),
        ({"Sigma": [[1.0, -1.0], [-1.0, 1.0]]}, "x'Sigma x is 0 for arm 2"),
        ({"noise_variance": 1.0, "noise": "gamma"}, "noise is 'gamma'"),
        ({"noise_variance": 1.0, "theta": [1.0]}, "theta"),
    ],
)
def test_worlds_that_cannot_be_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        LinearEnvironment(ARMS, **({"theta": THETA} | options))


@pytest.mark.parametrize("counts", [[1, 2], [1, 2, -1], [0.5, 1, 1], "abc"])
def test_counts_are_whole_numbers_one_per_arm(counts):
    with pytest.raises(InputError, match="counts"):
        environment().pull(counts)


def test_rewards_of_two_values_have_the_rates_of_the_means():
    """10^6 pulls: within five standard errors (false alarm below 2e-6)."""
    env = LinearEnvironment(np.eye(2), [0.02, 0.7], noise="bernoulli", rng=3)
    seen = env.pull([10**6, 10**6])
    rates = np.array([0.02, 0.7])
    assert np.all(np.abs(seen.mean - rates) < 5.0 * np.sqrt(rates * (1.0 - rates) / 1e6))
    np.testing.assert_allclose(seen.m2, 1e6 * seen.mean * (1.0 - seen.mean))
    np.testing.assert_allclose(env.noise_variance, rates * (1.0 - rates))
    with pytest.raises(InputError, match="leave noise_variance and Sigma out"):
        LinearEnvironment(np.eye(2), [0.02, 0.7], 1.0, noise="bernoulli")
    with pytest.raises(InputError, match=r"x'theta is 1.2 for arm 1"):
        LinearEnvironment(np.eye(2), [0.02, 1.2], noise="bernoulli")


def test_rewards_in_a_range_keep_to_it_and_have_the_means_and_variances():
    """10^5 pulls: within five standard errors of the mean, and the variances to 5 % (false alarm below 1e-5)."""
    arms, low, high = np.eye(2), -1.0, 3.0
    variance = np.array([0.3, 2.0])
    env = LinearEnvironment(arms, [0.5, 1.5], variance, noise="bounded", reward_range=(low, high), rng=3)
    seen = env.pull([10**5, 10**5])
    assert np.all(np.abs(seen.mean - [0.5, 1.5]) < 5.0 * np.sqrt(variance / 1e5))
    np.testing.assert_allclose(seen.sample_variance(), variance, rtol=0.05)
    single = [float(env.pull([1, 0]).mean[0]) for _ in range(200)]
    assert low <= min(single) < 0.0 < 1.0 < max(single) <= high
    with pytest.raises(InputError, match=r"arm 1: rewards between 0 and 1 with mean 0.5 have VARIANCES below"):
        LinearEnvironment(arms, [0.5, 0.5], [0.2, 0.25], noise="bounded", reward_range=(0, 1))
    with pytest.raises(InputError, match="reward_range is None; give a pair"):
        LinearEnvironment(arms, [0.5, 0.5], 0.1, noise="bounded")
    with pytest.raises(InputError, match="noise='gaussian' has none"):
        LinearEnvironment(arms, [0.5, 0.5], 0.1, reward_range=(0, 1))


def test_two_values_of_ones_own():
    env = LinearEnvironment(np.eye(2), [0.9, -1.0], noise="bernoulli", reward_range=(-2, 7), rng=0)
    np.testing.assert_allclose(env.noise_variance, [2.9 * 6.1, 1.0 * 8.0])
    seen = env.pull([10**6, 1])
    assert seen.mean[1] in (-2.0, 7.0)
    assert abs(seen.mean[0] - 0.9) < 5.0 * np.sqrt(2.9 * 6.1 / 1e6)
    np.testing.assert_allclose(seen.m2[0], 1e6 * (seen.mean[0] + 2.0) * (7.0 - seen.mean[0]))
