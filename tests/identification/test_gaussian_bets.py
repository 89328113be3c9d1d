"""Bets that pay for the variances of the round itself, and level sets that pass capital on: expectations in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.identification.evidence import CoordinateFit
from convexdesign.identification.gaussian_bets import GaussianEvidence
from convexdesign.identification.shared_capital import SharedCapital
from convexdesign.identification.sized_bets import SIZES, TOLD_SIZES, TOLD_WEIGHTS, WEIGHTS, SizedBets

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def told(count, mean, squares, upper, excess=1.5, guesses=None):
    evidence = GaussianEvidence(ARMS)
    observations = Observations(np.array(count), np.array(mean), np.array(squares))
    guesses = np.ones(3) if guesses is None else guesses
    summary = evidence.take(observations, guesses, np.full(3, upper), np.full(3, upper), np.full(3, excess))
    return evidence, summary


def growth(summary, coordinates, sizes):
    precision = summary.of(coordinates)[1]
    return summary.growth(coordinates, np.atleast_2d(sizes), precision)


@pytest.mark.parametrize("variances", [(0.2, 1.0, 2.0), (2.0, 2.0, 2.0), (1e-6, 0.5, 1.9)])
@pytest.mark.parametrize("excess", [1.05, 1.5, 10.0])
@pytest.mark.parametrize("size", [0.3, 2.0, 8.0])
def test_a_bet_at_the_boundary_has_mean_at_most_one(variances, excess, size):
    """Means are Gaussian, sums of squares chi-square, all independent: the mean of the growth is a product over the arms."""
    count, upper = (5, 2, 30), 2.0
    y = np.array([[1.0, -1.0]])
    evidence, summary = told(count, np.zeros(3), np.zeros(3), upper, excess)
    g = evidence.space.coordinates(y)
    precision = summary.of(g)[1]
    h = (g @ summary.loads.T)[0]
    np.testing.assert_allclose(h @ ARMS, y[0], atol=1e-12)
    t = size / np.sqrt(precision[0]) * precision[0] * h
    log_mean = 0.0
    for x, (c, s2) in enumerate(zip(count, variances)):
        log_mean += t[x] ** 2 * s2 / (2.0 * c)
        price = summary.rates[x] * t[x] ** 2
        if price <= summary.most[x]:
            a = np.expm1(price) / (2.0 * upper)
            log_mean -= (c - 1) / 2.0 * np.log1p(2.0 * a * s2)  # E exp(-a s² chi²)
        else:
            log_mean -= summary.fallback[x] * t[x] ** 2
    assert log_mean <= 1e-12
    if max(variances) == min(variances) == upper:
        assert log_mean == pytest.approx(0.0, abs=1e-9)  # nothing is wasted where the bound is exact
    # And the growth is what it was taken to be: the stakes on the means less the prices.
    means, m2 = np.array([0.3, -0.2, 0.1]), np.array([3.0, 0.5, 31.0])
    _, real = told(count, means, m2, upper, excess)
    expected = t @ means
    for x in range(3):
        own = summary.rates[x] * t[x] ** 2 <= summary.most[x]
        expected -= (
            np.expm1(summary.rates[x] * t[x] ** 2) * m2[x] / (2 * upper) if own else upper * t[x] ** 2 / (2 * count[x])
        )
    found, stakes = growth(real, g, size / np.sqrt(precision[0]))
    assert found[0, 0] == pytest.approx(expected, rel=1e-9)
    assert stakes[0, 0] == pytest.approx(size / np.sqrt(precision[0]) * precision[0])


def test_a_bet_costs_the_variance_that_rounds_show_whatever_the_bound():
    """400 pulls of each arm of variance 1: with a bound of 3 no more than 1 % is lost against the true variance."""
    count = [400, 400, 400]
    for upper in (1.0, 3.0):
        evidence, summary = told(count, [0.1, 0.0, 0.1], [399.0, 399.0, 399.0], upper, excess=3.0)
        g = evidence.space.coordinates(np.array([[1.0, 0.0]]))
        v = 1.0 / summary.of(g)[1][0]
        size = 2.0 / np.sqrt(v)  # in units of y'theta-hat: two standard deviations
        found = growth(summary, g, size * v)[0][0, 0]
        estimate = (g @ summary.coefficients)[0]
        assert found == pytest.approx(size * estimate - size**2 * v / 2, rel=0.03)


def test_arms_with_one_pull_or_without_a_bound_pay_for_the_upper_end():
    evidence = GaussianEvidence(ARMS)
    observations = Observations([1, 9, 9], [0.1, 0.2, 0.3], [0.0, 8.0, 8.0])
    before, after = np.array([2.0, np.inf, 2.0]), np.array([2.0, 5.0, 1.5])
    summary = evidence.take(observations, np.ones(3), before, after, np.full(3, 2.0))
    assert summary.most[0] < 0
    assert summary.most[1] < 0
    assert summary.most[2] > 0
    np.testing.assert_allclose(summary.fallback, [1.0, 5.0 / 18.0, 1.5 / 18.0])
    # Without any end an arm says nothing; the others say what they span, and nothing of what lies off it.
    third = np.array([np.inf, np.inf, 1.0])
    alone = GaussianEvidence(ARMS).take(observations, np.ones(3), third, third, np.full(3, 2.0))
    assert alone is not None
    found, precision = alone.of(evidence.space.coordinates(np.vstack([ARMS, [-2.0, -2.0], [1.0, 1.001]])))
    assert precision.tolist() == pytest.approx([0.0, 0.0, 9.0, 2.25, 0.0])
    assert found[2:4] == pytest.approx([0.3, -0.6])
    assert np.abs(alone.factor).max() < 10.0


def test_capital_is_passed_on_and_wrong_bets_never_have_more_than_they_began_with():
    """Exact: the wrong bets' total changes by their own growth alone, whoever is placed, rightly or wrongly, and by what items
    that join bring: as much as each of the others began with, for both of their bets."""
    rng = np.random.default_rng(0)
    for trial in range(200):
        m = int(rng.integers(2, 7))
        more = int(rng.integers(0, 3))
        items, later = np.arange(m + more), np.arange(m, m + more)
        shared = SharedCapital(items, np.zeros(m + more, dtype=bool), later)
        wrong = rng.integers(0, 2, m + more)  # which of the two bets of each item is wrong
        log_wealth, threshold = np.zeros((2, m + more)), np.log(20.0)
        before = np.exp(shared.capital(log_wealth))[wrong, items][:m].sum()
        assert before == pytest.approx(1.0)
        for number in range(12):
            if number == 4:
                now = np.exp(shared.log_units + log_wealth)[wrong, items]
                before = now[shared.waiting].sum()
                assert shared.join(later) == pytest.approx(more / m)
                after = np.exp(shared.log_units + log_wealth)[wrong, items][shared.waiting].sum()
                assert after - before == pytest.approx(more / m)
            waiting = shared.waiting.copy()
            news = rng.normal(0.0, 1.5, (2, m + more))
            if number < 4:
                news[:, m:] = 0.0
            log_wealth = log_wealth + news
            grown = np.exp(shared.log_units + log_wealth)[wrong, items]
            shared.take(log_wealth, threshold)
            now = np.exp(shared.log_units + log_wealth)[wrong, items]
            # What those still waiting have is no more than all who waited before had after the round's growth.
            total = now[shared.waiting].sum()
            assert total <= grown[waiting].sum() * (1.0 + 1e-9), trial
        np.testing.assert_allclose(shared.capital(log_wealth), shared.log_units + log_wealth, rtol=1e-9, atol=1e-9)


def test_copies_are_one_item_and_zeros_are_none():
    shared = SharedCapital(np.array([0, 0, 2, 3]), np.array([False, False, True, False]), np.empty(0, dtype=int))
    assert shared.share == pytest.approx(-np.log(2.0))
    shared.take(np.array([[4.0, 9.0, 0.0, 0.0], [-1.0, -9.0, 0.0, 0.0]]), 3.0)
    np.testing.assert_array_equal(shared.best[:, 0], shared.best[:, 1])
    # Item 3 has its half and what was left of the other's.
    expected = np.log(0.5 + 0.5 * np.exp(-1.0))
    np.testing.assert_allclose(shared.capital(np.zeros((2, 4)))[:, 3], expected)
    # With bets that count for more, the first share alone grows.
    more = shared.capital(np.zeros((2, 4)), np.ones((2, 4)))[:, 3]
    np.testing.assert_allclose(more, np.log(0.5 * np.exp(1.0) + 0.5 * np.exp(-1.0)))
    # A copy of what was there, or a zero, brings nothing when it joins.
    assert (
        SharedCapital(shared.representative, np.eye(4, dtype=bool)[2], np.array([1, 2])).join(np.array([1, 2])) == 0.0
    )


def test_a_told_gap_makes_a_mixture_of_probability_one_that_asks_for_less():
    """Expected evidence, M = gap · V: by V at which log(20) is reached. Any law of sizes fixed beforehand is a fair bet."""
    assert TOLD_WEIGHTS.sum() == pytest.approx(1.0, abs=1e-12)
    assert WEIGHTS.sum() == pytest.approx(1.0, abs=1e-12)
    # At y'theta = 0 a plain round of variance v multiplies each size's wealth by exp(size e/v - size²/2v), of mean one.
    y = np.array([[1.0]])
    for gap in (0.7, 1.0, 1.6):
        needed = {}
        for told in (None, 1.0):
            bets = SizedBets(1, told)
            while bets.log_wealth()[0] < np.log(20.0):
                bets.take(CoordinateFit(np.array([gap]), np.array([[5.0]])), y)  # v = 25
            needed[told] = bets.V[0]
        assert needed[1.0] < 0.85 * needed[None]
    bets, e = SizedBets(1, 2.0), np.array([0.3, -0.1])
    for estimate in e:
        bets.take(CoordinateFit(np.array([estimate]), np.array([[0.5]])), y)
    sizes = np.concatenate([2.0 * TOLD_SIZES, 0.5 * SIZES])  # gaps, and deviations of the first estimate
    by_hand = TOLD_WEIGHTS @ np.exp(sizes * e.sum() / 0.25 - 2 * sizes**2 / 0.5)
    assert np.exp(bets.log_wealth()[0]) == pytest.approx(by_hand)
    shifted = TOLD_WEIGHTS @ np.exp(sizes * (e.sum() + 0.2) / 0.25 - 2 * sizes**2 / 0.5)
    assert np.exp(bets.log_wealth(0.1)[0]) == pytest.approx(shifted)


def test_gaps_of_another_order_than_the_told_one_cost_little_more():
    """An item ten times further off is not left to bets that are a tenth of what it wants."""
    y = np.array([[1.0]])
    needed = {}
    for told in (None, 0.1):
        bets = SizedBets(1, told)
        while bets.log_wealth()[0] < np.log(20.0):
            bets.take(CoordinateFit(np.array([1.0]), np.array([[5.0]])), y)
        needed[told] = bets.V[0]
    assert needed[0.1] < 1.8 * needed[None]


def test_a_wrong_gap_costs_samples_and_never_the_answer():
    arms, theta = np.eye(3), np.array([1.0, 0.5, 0.0])
    for told in (0.02, 0.5, 10.0):
        algorithm = cd.identification.MartingaleElimination(arms, smallest_gap=told)
        environment = cd.simulation.LinearEnvironment(arms, theta, np.ones(3), rng=0)
        assert cd.simulation.simulate(algorithm, environment).answer == (0,)
    with pytest.raises(cd.InputError, match="smallest_gap is -1"):
        cd.identification.MartingaleElimination(arms, smallest_gap=-1)


def test_the_first_round_claims_no_more_than_its_means_are_worth():
    """Whatever bounds were told: v bounds the variance of y'theta_1, unless an upper end fails (1 in 1000 by the proof)."""
    rng = np.random.default_rng(11)
    arms, items = rng.standard_normal((12, 2)), rng.standard_normal((6, 2))
    noise = np.geomspace(0.2, 20.0, 12)
    world = cd.simulation.LinearEnvironment(arms, [1.0, -0.5], noise, rng=3)
    for told in ((0.2, 20.0), (1e-6, 1e6)):
        algo = cd.identification.MartingaleElimination(arms, items, variance_bounds=told)
        batch = algo.ask()
        algo.tell(batch, world.pull(batch.counts))
        (summary,) = algo.evidence.summaries
        coordinates = algo.evidence.space.coordinates(items)
        h = coordinates @ summary.loads.T
        true = h**2 @ (noise / batch.counts)[np.flatnonzero(batch.counts)]
        assert np.all(true <= summary.variances(coordinates) * (1.0 + 1e-9)), told
