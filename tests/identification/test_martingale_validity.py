"""Ville's inequality for the bets and the upper ends, and the promise on ties: seeded samples of the full counts.

`python validation/martingale_promise.py` runs those.
"""

from __future__ import annotations

import numpy as np
import pytest
from martingale_promise import (
    ALLOCATIONS,
    cases,
    control,
    is_wrong,
    promise,
    ruin,
    variance_cover,
)
from scipy.stats import binom

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.identification.evidence import Bets, Evidence

I = cd.identification  # noqa: E741


def most(runs, rate):
    """So many or more of `runs` have probability below 1e-4 at this rate."""
    return int(binom.isf(1e-4, runs, rate)) + 1


def test_wealth_rarely_gets_large_whatever_the_allocation():
    """100 runs of 12 rounds for each of five allocations and three levels. False alarm: below 0.15 % in all."""
    table = ruin(100, seed=1, rounds=12)
    assert set(table["allocation"]) == set(ALLOCATIONS)
    for row in table.itertuples():
        assert row.share * row.runs < most(row.runs, row.a), row


def test_upper_ends_hold_at_all_times_and_chi_square_quantiles_do_not():
    """1,000 runs of 300 looks. False alarm: below 0.03 % for the mixture; the quantile misses a times as often as it may."""
    table = variance_cover(1000, seed=1, steps=300).set_index(["upper end", "a"])["share"]
    for a in (0.5, 0.2, 0.05):
        assert table["mixture", a] * 1000 < most(1000, a)
        assert table["quantile", a] * 1000 > most(1000, a)
    assert table["quantile", 0.05] > 4 * 0.05


def test_promise_holds_on_apart_near_and_tied_items():
    """Two runs of each of 40 instances at three deltas; 80 runs per delta. False alarm: below 0.03 % in all."""
    (table,) = promise(2, seed=5, jobs=1, progress=False)
    assert len(table) == 120
    for delta, part in table.groupby("delta"):
        assert part["errors"].sum() < most(int(part["runs"].sum()), delta)
        ends = part["undecided"] + part["epsilon_good"]
        tied = part["case"].str.contains("tie")
        assert not ends[~tied].any()
        assert (part["epsilon_good"] > 0)[part["case"].str.contains("epsilon")].mean() > 0.5


def test_a_twentieth_of_the_variances_breaks_it():
    """Six runs of 16 tied instances: 96 runs, more errors than delta = .05 explains at level 1e-4."""
    (table,) = control(6, seed=5, jobs=1, progress=False)
    assert table["errors"].sum() > most(int(table["runs"].sum()), 0.05)


def test_cases_are_what_they_say():
    every = cases()
    assert len(every) == 40
    for case in every:
        values = np.sort(case.values)
        if isinstance(case.world.objective, I.BestArm):
            gap = values[-1] - values[-2]
        else:
            gap = np.abs(values - case.world.objective.threshold).min()
        if "near" in case.name:
            assert gap == pytest.approx(1e-3, rel=1e-6)
        elif "tie" in case.name:
            assert gap < 1e-12
        else:
            assert gap >= 0.2
        assert np.array_equal(case.world.arms, case.world.items) == ("items = arms" in case.name)


def test_errors_are_counted_strictly():
    from dataclasses import replace

    tie = next(c for c in cases() if "best-arm" in c.name and "tie, 6" in c.name and "near" not in c.name)
    order = np.argsort(tie.values)
    good = I.Result((), I.AnswerStatus.UNDECIDED, tuple(sorted(order[-2:].tolist())), (), (), 10, 0, 1, 0.05)
    assert not is_wrong(tie, good)
    assert is_wrong(tie, replace(good, survivors=(int(order[-1]),)))
    assert is_wrong(tie, replace(good, answer=(int(order[0]),), status=I.AnswerStatus.EPSILON_GOOD))
    level = next(c for c in cases() if "level-set" in c.name and "tie, 6" in c.name and "near" not in c.name)
    on = int(np.argmin(np.abs(level.values - level.world.objective.threshold)))
    nothing = replace(good, survivors=tuple(range(level.values.size)))
    assert not is_wrong(level, nothing)
    assert is_wrong(level, replace(nothing, above=(on,)))
    assert is_wrong(level, replace(nothing, below=(on,)))


def test_no_union_over_items_is_paid_because_all_bets_are_against_one_hypothesis():
    """A hundred copies, in all but name, of a rival that ties with the best item: losing the best has one hypothesis.

    60 runs at delta = .5 on pairs that tie: were each direction a bet of its own at level delta, the best would be lost
    in most runs. P(Bin(60, .5) > 44) < 0.01 %.
    """
    rng = np.random.default_rng(0)
    arms = np.eye(3)
    # All in one plane of equal value.
    items = np.vstack([[1.0, 0.0, 0.0], np.c_[np.ones(100), rng.standard_normal((100, 2)) * 0.5]])
    lost = 0
    for seed in range(60):
        algorithm = I.MartingaleElimination(arms, items, delta=0.5, known_variances=1.0, max_samples=3_000)
        env = cd.simulation.LinearEnvironment(arms, [1.0, 0.0, 0.0], noise_variance=1.0, rng=seed)
        lost += 0 not in cd.simulation.simulate(algorithm, env).survivors
    assert lost <= 44


def test_gaussian_means_may_be_weighed_by_sums_of_squares_of_their_own_round():
    """E exp(lambda M - lambda² V/2) = 1 with v from the round's own m2, by simulation: within 4 standard errors of 1,
    false alarm 0.01 %; and by the same count for the wealth itself."""
    rng = np.random.default_rng(3)
    evidence_of_one = []
    for _ in range(1500):
        counts = np.array([5, 5])
        m2 = rng.chisquare(4, 2)
        # Larger where the squares are: any function of them will do, as long as it is at least the variance 1.
        upper = np.maximum(1.0, m2 / 2.0)
        mean = rng.standard_normal(2) / np.sqrt(counts)
        evidence, bets = Evidence(np.eye(2)), Bets(1)
        summary = evidence.add(Observations(counts, mean, m2), upper)
        bets.add(*summary.of(evidence.space.coordinates(np.array([[1.0, -1.0]]))))
        evidence_of_one.append(float(np.exp(bets.log_wealth()[0])))
    wealth = np.array(evidence_of_one)
    assert wealth.mean() <= 1.0 + 4.0 * wealth.std() / np.sqrt(wealth.size)
