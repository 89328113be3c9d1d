"""Confidence sequences: what they rule out is what the wealth rules out, and they hold at all times."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.identification.coin_bets import BoundedEvidence
from convexdesign.identification.evidence import Evidence
from convexdesign.identification.intervals import evidence_of_rounds, lower_ends, sequences
from convexdesign.identification.reward_range import RewardRange

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
THETA = np.array([0.4, -0.2])


def rounds_of(rng, number=6, variance=1.0):
    env = cd.simulation.LinearEnvironment(ARMS, THETA, noise_variance=variance, rng=rng)
    return [env.pull(rng.integers(5, 40, 3)) for _ in range(number)]


def test_ends_are_where_the_wealth_reaches_the_threshold():
    rng = np.random.default_rng(0)
    evidence, _ = evidence_of_rounds(ARMS, rounds_of(rng), np.ones(3), None)
    y = np.array([[1.0, 0.0], [1.0, -1.0], [0.3, 2.0]])
    bets = evidence.bets(3)
    for summary in evidence.summaries:
        bets.take(summary, evidence.space.coordinates(y))
    estimates = evidence.summaries[-1].of(evidence.space.coordinates(y))[0]
    found = lower_ends(bets, estimates, 3.0)
    assert lower_ends(bets, estimates + [100.0, -100.0, 3.0], 3.0) == pytest.approx(found, abs=1e-9)
    for k in range(3):
        # The wealth of the bets against y'theta <= m, found by another search, on one direction.
        expected = brentq(lambda m, k=k: bets.log_wealth(-m)[k] - 3.0, -50.0, float(bets.M[k] / bets.V[k]), xtol=1e-12)
        assert found[k] == pytest.approx(expected, abs=1e-9)
    assert np.all(bets.log_wealth(-found) >= 3.0)
    assert np.all(bets.log_wealth(-found - 1e-6) < 3.0)


def test_intervals_turn_around_with_their_direction_and_only_shrink():
    rng = np.random.default_rng(1)
    evidence, numbers = evidence_of_rounds(ARMS, rounds_of(rng), np.full(3, np.inf), 0.005)
    y = np.array([[1.0, 0.0], [1.0, -1.0]])
    found, mirrored = sequences(evidence, numbers, y, 4.0), sequences(evidence, numbers, -y, 4.0)
    assert np.array_equal(found.low, -mirrored.high)
    assert np.array_equal(found.high, -mirrored.low)
    assert np.all(np.diff(found.low, axis=0) >= 0)
    assert np.all(np.diff(found.high, axis=0) <= 0)
    assert np.all(found.low < found.high)
    half = sequences(evidence, numbers, 0.5 * y, 4.0)
    assert half.low == pytest.approx(0.5 * found.low, rel=1e-9)


def test_a_direction_that_is_zero_is_known():
    evidence, numbers = evidence_of_rounds(ARMS, rounds_of(np.random.default_rng(2), 1), np.ones(3), None)
    found = sequences(evidence, numbers, np.zeros((1, 2)), 4.0)
    assert found.low.tolist() == found.high.tolist() == [[0.0]]


def test_nothing_is_known_of_arms_that_were_not_pulled():
    observations = Observations([10, 0, 0], [1.0, 0.0, 0.0], [9.0, 0.0, 0.0])
    evidence, numbers = evidence_of_rounds(ARMS, [observations], np.ones(3), None)
    found = sequences(evidence, numbers, ARMS, 4.0)
    assert np.isinf(found.low).tolist() == np.isinf(found.high).tolist() == [[False, True, True]]
    # What is known of the first is what is known where nothing else is an arm.
    apart, numbers = evidence_of_rounds(ARMS[:1], [Observations([10], [1.0], [9.0])], np.ones(1), None)
    one = sequences(apart, numbers, ARMS[:1], 4.0)
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx((one.low[0, 0], one.high[0, 0]))


def test_variances_that_are_learnt_from_wide_bounds_are_nearly_as_good_as_told():
    rng = np.random.default_rng(3)
    told = rounds_of(rng, 8)
    widths = []
    for high, alpha in ((1.0, None), (np.inf, 0.005)):
        evidence, numbers = evidence_of_rounds(ARMS, told, np.full(3, high), alpha)
        found = sequences(evidence, numbers, ARMS, 4.0)
        widths.append(found.high[-1] - found.low[-1])
    assert np.all(widths[1] > widths[0])
    assert np.all(widths[1] < 1.6 * widths[0])
    # Not twice as wide as intervals for one look at one arm, told the variances and the counts beforehand.
    count = sum(observations.count for observations in told)
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", ARMS, np.linalg.inv((ARMS.T * count) @ ARMS), ARMS))
    assert np.all(widths[0] < 2.0 * 2.0 * 1.96 * deviations)


@pytest.mark.parametrize("learnt", [False, True])
def test_intervals_hold_at_all_times_though_counts_follow_the_rewards(learnt):
    """Counts chosen to deceive: the arm that looks best gets most. Misses at any round count; 60 runs."""
    runs, alpha = 60, 0.3
    rng = np.random.default_rng(4)
    threshold = np.log(2 * len(ARMS) / (0.9 * alpha if learnt else alpha))
    missed, truth = 0, ARMS @ THETA
    for _ in range(runs):
        env = cd.simulation.LinearEnvironment(ARMS, THETA, noise_variance=[1.0, 4.0, 0.25], rng=rng)
        told, counts = [], np.array([3, 3, 3])
        for _ in range(5):
            told.append(env.pull(counts))
            best = np.argmax(sum(o.count * o.mean for o in told) / sum(o.count for o in told))
            counts = np.where(np.arange(3) == best, 40, 2)
        bounds = np.full(3, np.inf) if learnt else np.array([1.0, 4.0, 0.25])
        evidence, numbers = evidence_of_rounds(ARMS, told, bounds, 0.1 * alpha if learnt else None)
        found = sequences(evidence, numbers, ARMS, threshold)
        missed += bool(np.any((found.low > truth) | (found.high < truth)))
    assert missed <= runs * alpha


def test_rewards_in_a_range_have_intervals_too():
    rng = np.random.default_rng(5)
    rates = np.array([0.02, 0.05])
    evidence = BoundedEvidence(np.eye(2), RewardRange(np.zeros(2), np.ones(2), two_valued=True))
    numbers = []
    for _ in range(6):
        ones = rng.binomial(2000, rates)
        mean = ones / 2000
        evidence.take(Observations([2000, 2000], mean, 2000 * mean * (1 - mean)), rates * (1 - rates), rates)
        numbers.append(len(evidence.summaries))
    found = sequences(evidence, numbers, np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]]), np.log(6 / 0.05))
    truth = np.array([0.02, 0.05, 0.03])
    assert np.all(found.low[-1] < truth)
    assert np.all(truth < found.high[-1])
    # As narrow as intervals for Gaussian rewards of these variances.
    gaussian = Evidence(np.eye(2))
    for summary in evidence.summaries:
        gaussian.add(Observations([2000, 2000], summary.mean, [0.0, 0.0]), rates * (1 - rates))
    same = sequences(gaussian, numbers, np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]]), np.log(6 / 0.05))
    assert np.all(found.high[-1] - found.low[-1] < 1.15 * (same.high[-1] - same.low[-1]))
