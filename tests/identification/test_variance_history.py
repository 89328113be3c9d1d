"""A variance that changes on the way is noticed, one that stays hardly ever is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.identification.variance_history import VarianceHistory, variance_ends

I = cd.identification  # noqa: E741


@pytest.mark.parametrize("noise", ["gaussian", "sub-gaussian"])
def test_ends_hold_at_any_time(noise):
    """1,000 walks of 60 rounds at threshold 10, two sides: P(Bin(1000, .2) > 260) < 1e-5."""
    rng = np.random.default_rng(1)
    runs = 1000
    sums, missed = np.zeros((3, runs)), np.zeros(runs, dtype=bool)
    for _ in range(60):
        # The next round is long where the variance looks small: an allocation that follows the squares.
        counts = np.where(sums[2] < sums[1], 4, 2)
        sums += np.array([counts, counts - 1, rng.chisquare(counts - 1)])
        low, high = variance_ends(sums, 10.0, noise)
        missed |= (low > 1.0) | (high < 1.0)
    assert missed.sum() <= 260
    # They close in: at a threshold of 10, 10^6 degrees of freedom tell a percent or so.
    low, high = variance_ends(np.array([[1e6], [1e6], [1e6]]), 10.0, noise)
    assert 0.98 < low[0] < 1.0 < high[0] < 1.02


def test_halves_of_a_fixed_variance_agree_and_a_ratio_is_noticed():
    """At level .2, 200 histories: P(Bin(200, .2) > 65) < 1e-4; the ends are far from tight."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(200):
        history, said = VarianceHistory(3), False
        for counts in ([20, 20, 20], [40, 2, 9], [90, 50, 50], [300, 100, 7]):
            counts = np.array(counts)
            history.add(Observations(counts, np.zeros(3), rng.chisquare(counts - 1)))
            said |= bool(history.changed(0.2, "gaussian")[0].size)
        wrong += said
    assert wrong <= 65
    history = VarianceHistory(2)
    for variance in (1.0, 1.0, 4.0, 4.0):
        history.add(Observations([400, 400], np.zeros(2), [399.0, 399.0 * variance]))
    arms, before, after = history.changed(1e-6, "gaussian")
    assert (arms.tolist(), before.tolist(), after.tolist()) == ([1], [1.0], [4.0])


def run(algorithm, later):
    """Gaussian rewards, whose variance on arm 1 is another after a thousand pulls."""
    rng = np.random.default_rng(0)
    pulls = 0
    while not algorithm.done:
        counts = algorithm.ask().counts
        variance = np.array([1.0, 1.0 if pulls < 1000 else later])
        pulls += counts.sum()
        m2 = variance * rng.chisquare(np.maximum(counts - 1, 1)) * (counts > 1)
        mean = np.sqrt(variance / np.maximum(counts, 1)) * rng.standard_normal(2)
        algorithm.tell(algorithm.ask(), Observations(counts, mean, m2))


@pytest.mark.parametrize("noise", ["gaussian", "sub-gaussian"])
def test_a_run_says_which_arm_and_what_to_do(noise):
    with pytest.warns(I.GuaranteeWarning, match=r"arm 1 had variance .*second.*void: .*noise=.bounded."):
        run(I.MartingaleElimination(np.eye(2), noise=noise, max_samples=50_000), 9.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(I.MartingaleElimination(np.eye(2), noise=noise, max_samples=50_000), 1.0)


def test_rewards_in_a_range_may_change_their_variances():
    algorithm = I.MartingaleElimination(np.eye(2), noise="bounded", reward_range=(0, 1), max_samples=20_000)
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while not algorithm.done:
            counts = algorithm.ask().counts
            width = 0.1 if len(algorithm.rounds) < 4 else 0.9
            arms = np.repeat(np.arange(2), counts)
            algorithm.tell(
                algorithm.ask(),
                Observations.from_rewards(2, arms, 0.5 + width * (rng.random(arms.size) - 0.5)),
            )
