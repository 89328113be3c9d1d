"""Plans by mixed-integer programs, against trying every plan."""

from __future__ import annotations

import numpy as np
import pytest
from rounding.test_plans import is_plan, random_plans
from small_counts import compositions

from convexdesign.rounding.count_limits import limits
from convexdesign.rounding.plans import CountInequalities, Plans
from convexdesign.rounding.whole_program import best_by, broken_for_least, nearest_plan, nearest_total, no_plan


@pytest.mark.parametrize("seed", range(10))
def test_a_plan_is_found_exactly_where_there_is_one_and_it_is_the_nearest(seed):
    rng = np.random.default_rng(seed)
    plans = random_plans(rng)
    every = [n for n in compositions(6, 5) if is_plan(plans, n)]
    quotas = 6 * rng.dirichlet(np.ones(5))
    found = nearest_plan(plans, quotas)
    assert (found is None) == (not every)
    if every:
        assert is_plan(plans, found)
        least = min(np.abs(n - quotas).sum() for n in every)
        assert np.abs(found - quotas).sum() <= least * 1.03  # to within the tolerance of the program
        g, p = rng.standard_normal((3, 5)), rng.standard_normal(3)
        best = max((p + g @ n).min() for n in every)
        assert (p + g @ best_by(plans, g, p)).min() >= best - 0.03 * abs(best)


def test_a_very_large_total_is_rounded_near_its_aim():
    rows = CountInequalities(np.array([[1.0, -1.0, 0.0]]), np.zeros(1), ("no more of the first",))
    plans = Plans(limits(10**12 + 1, 3), rows)
    found = nearest_plan(plans, np.array([0.4, 0.3, 0.3]) * (10**12 + 1))
    assert found is not None
    assert plans.holds(found)


def test_where_there_is_no_plan_the_constraints_and_the_nearest_total_are_named():
    def plans_for(n):
        even = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
        return Plans(limits(n, 2), CountInequalities(even, np.array([0.0, 0.0, 99.0]), ("equal", "equal", "room")))

    assert broken_for_least(plans_for(7)) == ["equal"]
    assert nearest_total(plans_for, 7) in (6, 8)
    assert "meet equal; the nearest n that works is 6" in str(no_plan(["equal"], plans_for, 7, "n = 7"))
    assert str(no_plan(["a", "b"], None, 7, "budget = 3")).endswith("meet a, b; relax them")
