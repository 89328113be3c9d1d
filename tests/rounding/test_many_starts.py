"""Plans from many starts: known best designs, limits kept, seeded, and never below the exchange from one start."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from small_counts import compositions, textbook

import convexdesign as cd
from convexdesign.criteria.exchange import information
from convexdesign.rounding import AverageVariance, Volume
from convexdesign.rounding.count_limits import limits
from convexdesign.rounding.many_starts import useful_arms


@pytest.fixture(scope="module")
def six_factors():
    Z = np.array(list(itertools.product([-1, 1], repeat=6)), float)
    return cd.solve(cd.DesignProblem.d_optimal(cd.features.interactions(Z)))


@pytest.mark.parametrize(
    ("n", "least"), [(22, 0.9259), (24, 0.9171), (26, 0.9205), (28, 0.9338), (32, 1.0), (40, 0.9695)]
)
def test_six_factors_with_interactions(six_factors, n, least):
    """64 candidates, 22 parameters: what 100 restarts of the exchange find; at 32 the half fraction is orthogonal."""
    assert six_factors.round(n).efficiency >= least - 5e-5


def test_an_orthogonal_half_fraction_is_found():
    Z = np.array(list(itertools.product([-1.0, 1.0], repeat=5)))
    design = cd.solve(cd.DesignProblem.d_optimal(np.column_stack([np.ones(32), Z])))
    plan = design.round(16)
    assert plan.efficiency == pytest.approx(1.0, abs=1e-6)
    F = np.column_stack([np.ones(32), Z])
    assert np.array_equal((F.T * plan.counts) @ F, 16 * np.eye(6))


@pytest.mark.parametrize("kind", ["d_optimal", "a_optimal", "g_optimal", "e_optimal"])
def test_auto_is_never_below_the_exchange_and_optimal_never_below_auto(kind):
    arms = np.random.default_rng(3).standard_normal((15, 3))
    design = cd.solve(getattr(cd.DesignProblem, kind)(arms))
    auto = design.round(8)
    assert auto.efficiency >= design.round(8, "exchange").efficiency * (1 - 1e-9)
    # Too little time to prove anything by branching: what the proportions prove stands.
    best = design.round(8, "optimal", time_limit=1e-6)
    assert best.efficiency >= auto.efficiency * (1 - 1e-9)
    # No counts are better than the best proportions.
    assert best.optimality_gap <= 1 / best.efficiency - 1 + 1e-12


def test_optimal_says_proven_or_not_and_the_better_of_the_two_bounds():
    """A search gives its own bound, the best proportions another: 1/efficiency - 1 is never less than the gap told."""
    t = np.linspace(-1, 1, 5)
    small = cd.solve(cd.DesignProblem.d_optimal(np.stack([np.ones(5), t, t * t], axis=1)))
    proven = small.round(4, "optimal")
    assert "PROVEN best" in repr(proven)
    assert "NOT" not in repr(proven)
    # Four runs of three points: what branching proves is far below what the proportions do.
    assert proven.optimality_gap < 1e-5 < 1 / proven.efficiency - 1
    large = cd.solve(cd.DesignProblem.d_optimal(np.random.default_rng(0).standard_normal((200, 8))))
    cut_short = large.round(30, "optimal", time_limit=1e-6)
    assert "NOT proven best" in repr(cut_short)
    assert cut_short.optimality_gap == pytest.approx(1 / cut_short.efficiency - 1, rel=1e-9)


def test_a_long_search_shows_its_progress(six_factors, capsys, monkeypatch):
    monkeypatch.setattr("convexdesign.showing.DELAY", 0.0)
    monkeypatch.setattr("convexdesign.showing.BETWEEN", 0.001)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for method in ("auto", "optimal"):
        six_factors.round(24, method, effort=0.3, time_limit=0.5, progress=True)
        assert "round" in capsys.readouterr().err


def test_a_thousand_of_ten_thousand_are_picked_at_most_once():
    arms = np.random.default_rng(0).standard_normal((10_000, 5))
    plan = cd.solve(cd.DesignProblem.d_optimal(arms, max_weight=1 / 1000)).round(1000, max_counts=1)
    assert plan.total == 1000
    assert plan.counts.max() == 1
    assert plan.efficiency >= 0.9999


def test_the_same_seed_gives_the_same_plan_and_limits_are_kept(six_factors):
    caps = np.where(np.arange(64) % 5 == 0, 0, 1 + np.arange(64) % 2)
    plans = [six_factors.round(25, max_counts=caps, rng=np.random.default_rng(7)) for _ in range(2)]
    assert np.array_equal(plans[0].counts, plans[1].counts)
    assert np.all(plans[0].counts <= caps)
    assert plans[0].total == 25


def test_effort_is_a_word_or_seconds(six_factors):
    assert six_factors.round(24, effort=0.05).total == 24
    assert six_factors.round(24, effort="thorough", rng=np.random.default_rng(1)).efficiency >= 0.91708
    for wrong in ("hard", 0, -1.0, "1"):
        with pytest.raises(cd.InputError, match="effort"):
            six_factors.round(24, effort=wrong)


@pytest.mark.parametrize("seed", range(8))
def test_arms_left_out_are_in_no_better_plan(seed):
    """Every composition that is better than the counts uses none of the arms that the proof leaves out."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((7, 2)) * rng.uniform(0.2, 1.0, (7, 1))
    criterion = [Volume(np.eye(2)), AverageVariance(np.eye(2))][seed % 2]
    design = np.zeros(7)
    design[np.argsort(-np.linalg.norm(U, axis=1))[:4]] = 0.25
    start = np.bincount(rng.choice(np.flatnonzero(design), 4), minlength=7)
    start[np.flatnonzero(design)[:2]] += 1
    start = start * (start.cumsum() <= 6)
    n = int(start.sum())
    kept = useful_arms(U, design, start, limits(n, 7), criterion, None)
    value = textbook(criterion, information(U, start))
    for counts in compositions(n, 7)[::5]:
        if textbook(criterion, information(U, counts)) < value * (1 - 1e-7):
            assert np.all(kept.upper[counts > 0] > 0)
    assert np.all(kept.upper[start > 0] > 0)
