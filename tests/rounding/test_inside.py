"""Plans inside constraints, against trying every plan; starts that measure enough."""

from __future__ import annotations

import numpy as np
import pytest
from rounding.test_plans import is_plan, random_plans
from small_counts import compositions, textbook

from convexdesign.errors import InputError
from convexdesign.rounding import AverageVariance, MatrixTargets, Minimax, Volume
from convexdesign.rounding.count_limits import limits
from convexdesign.rounding.inside import round_inside, spanning_plan
from convexdesign.rounding.plans import CountInequalities, Plans


@pytest.mark.parametrize("seed", range(12))
def test_the_best_plan_inside_is_found_and_proven(seed):
    rng = np.random.default_rng(100 + seed)
    plans = random_plans(rng)
    U = rng.standard_normal((5, 2))
    criterion = [Volume(np.eye(2)), AverageVariance(np.eye(2)), Minimax(MatrixTargets(U))][seed % 3]
    every = [n for n in compositions(6, 5) if is_plan(plans, n)]
    quotas = np.full(5, 6 / 5)
    if not every:
        assert round_inside(U, quotas, plans, criterion, method="auto") is None
        return
    best = min(textbook(criterion, (U * n[:, None]).T @ U) for n in every)
    found = round_inside(U, quotas, plans, criterion, method="auto")
    assert is_plan(plans, found.counts)
    assert found.value == pytest.approx(best, rel=1e-7)
    proven = round_inside(U, quotas, plans, criterion, method="optimal", effort=0.1, time_limit=5.0)
    assert is_plan(plans, proven.counts)
    assert proven.value == pytest.approx(best, rel=2e-6)
    assert best * (1 - 2e-6) <= proven.lower_bound <= best * (1 + 1e-9)


def test_a_plan_judged_by_what_it_gives_for_its_cost():
    rng = np.random.default_rng(4)
    U, price = rng.standard_normal((5, 2)), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    plans = Plans(
        limits(6, 5), CountInequalities(np.array([[1.0, 1, 0, 0, 0]]), np.array([3.0]), ("few",)), price=price
    )
    criterion = Volume(np.eye(2))
    best = min(
        textbook(criterion, (U * n[:, None]).T @ U) * (price @ n) for n in compositions(6, 5) if n[0] + n[1] <= 3
    )
    found = round_inside(U, np.full(5, 6 / 5), plans, criterion, method="auto")
    assert found.value * (price @ found.counts) == pytest.approx(best, rel=1e-9)


def test_a_start_that_measures_too_little_is_mended():
    # The quotas are of one arm alone; at most two of it may be pulled.
    U = np.eye(4)
    plans = Plans(limits(5, 4), CountInequalities(np.array([[1.0, 0, 0, 0]]), np.array([2.0]), ("few",)))
    counts, works = spanning_plan(U, np.array([5.0, 0, 0, 0]), plans, Volume(np.eye(4)), None)
    assert works
    assert sorted(counts) == [1, 1, 1, 2]


def test_where_every_plan_measures_too_little_it_is_said():
    plans = Plans(limits(5, 3), CountInequalities(np.array([[0.0, 0, 1]]), np.array([0.0]), ("none of the third",)))
    with pytest.raises(InputError, match="estimates all"):
        round_inside(np.eye(3), np.full(3, 5 / 3), plans, Volume(np.eye(3)), method="auto")
