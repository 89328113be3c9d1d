"""Sets of plans: which moves stay inside, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from small_counts import compositions

from convexdesign.rounding.count_limits import limits
from convexdesign.rounding.plans import CountInequalities, Plans, Shares, no_rows


def random_plans(rng, k=5, n=6):
    rows = CountInequalities(rng.integers(-2, 3, (2, k)).astype(float), rng.integers(0, 6, 2).astype(float), ("a", "b"))
    shares = None
    if rng.random() < 0.6:
        shares = Shares(rng.uniform(0.5, 3.0, k), rng.choice([0.0, 0.05], k), rng.choice([0.3, 0.5, 1.0], k))
    return Plans(limits(n, k, max_counts=rng.integers(2, 5, k)), rows, shares)


def is_plan(plans, n):
    """Written out, exactly as far as whole numbers and short decimals go."""
    if (n < plans.bounds.lower).any() or (n > plans.bounds.upper).any() or n.sum() != plans.bounds.total:
        return False
    if (plans.rows.R @ n > plans.rows.b + 1e-9).any():
        return False
    if plans.shares is None:
        return True
    share = plans.shares.costs * n / (plans.shares.costs @ n)
    return bool((share <= plans.shares.upper + 1e-9).all() and (share >= plans.shares.lower - 1e-9).all())


@pytest.mark.parametrize("seed", range(12))
def test_plans_and_moves_between_them_follow_the_definition(seed):
    plans = random_plans(np.random.default_rng(seed))
    for n in compositions(6, 5)[::3]:
        assert plans.holds(n) == is_plan(plans, n)
        out, into = plans.givers(n), plans.takers(n)
        if (n > plans.bounds.upper).any() or (n < plans.bounds.lower).any():
            continue
        meets = plans.swaps(n, out, into)
        for a, o in enumerate(out):
            for b, i in enumerate(into):
                moved = n.copy()
                moved[o] -= 1
                moved[i] += 1
                assert meets[a, b] == (o != i and is_plan(plans, moved)), (n, o, i)


def test_shares_as_rows_say_the_same():
    rng = np.random.default_rng(1)
    shares = Shares(rng.uniform(1, 3, 4), np.array([0.1, 0, 0, 0.2]), np.array([0.5, 1, 0.4, 1]))
    for n in compositions(5, 4):
        assert bool(shares.as_rows().broken(n).size) == any(x.size for x in shares.broken(n))
    assert shares.as_rows().names == ("max_weight[0]", "max_weight[2]", "min_weight[0]", "min_weight[3]")


def test_without_constraints_only_moves_to_oneself_are_excluded():
    plans = Plans(limits(4, 3), no_rows(3))
    assert plans.is_box
    assert plans.swaps(np.array([2, 2, 0]), np.arange(2), np.arange(3)).sum() == 4
