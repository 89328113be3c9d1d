"""Whole numbers keep what the problem and its user allow, or it is said what is in the way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import convexdesign as cd

P = cd.DesignProblem
GRID = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=2)))
F = np.column_stack([np.ones(9), GRID, GRID[:, 0] * GRID[:, 1], GRID**2])
COST = 2.0 + np.arange(9)


def efficiency(plan, bound):
    """D-efficiency against a bound per unit spent, written out."""
    M = (F * plan.counts[:, None]).T @ F
    spent = plan.counts.sum() if plan.problem.costs is None else plan.cost
    return np.exp((np.linalg.slogdet(M)[1] - 6 * np.log(spent) - bound) / 6)


def test_units_with_one_run_each():
    u = np.linspace(-1, 1, 6)
    arms = np.array([[t == 0, t == 1, x, x * x] for x in u for t in (0, 1)], float)
    block = np.kron(np.eye(6), np.ones(2))
    p = P.d_optimal(arms, inequalities=(np.r_[block, -block], np.r_[np.full(6, 1 / 6), np.full(6, -1 / 6)]))
    design = cd.solve(p)
    plan = design.round(6)
    assert plan.counts.reshape(6, 2).sum(axis=1).tolist() == [1] * 6
    assert plan.is_allowed
    assert cd.verify(p, counts=plan.counts).is_allowed
    best = max(
        np.linalg.slogdet(arms[2 * np.arange(6) + t].T @ arms[2 * np.arange(6) + t])[1]
        for t in map(np.array, itertools.product((0, 1), repeat=6))
    )
    U = arms[plan.counts > 0]
    assert np.linalg.slogdet(U.T @ U)[1] == pytest.approx(best, rel=1e-9)
    with pytest.raises(cd.InputError, match=r"inequalities row .* nearest n that works is (6|12)"):
        design.round(7)


@pytest.mark.parametrize("as_function", [False, True])
def test_a_mean_cost_as_a_constraint_on_the_weights(as_function):
    limit = {"constraints": lambda w: [COST @ w <= 5.0]} if as_function else {"inequalities": (COST[None], [5.0])}
    design = cd.solve(P.d_optimal(F, **limit))
    plan = design.round(9)
    assert COST @ plan.counts <= 45 * (1 + 1e-12)
    assert plan.is_allowed
    assert plan.efficiency == pytest.approx(efficiency(plan, design.bound), rel=1e-8)
    assert plan.efficiency <= 1


def test_a_budget_alone_with_a_number_and_with_limits_of_groups():
    design = cd.solve(P.d_optimal(F, costs=COST))
    for options in (
        {"budget": 60},
        {"n": 10, "budget": 60},
        {"n": 10, "budget": 60, "inequalities": (GRID.T[:1], [-2])},
    ):
        plan = design.round(**options)
        assert plan.cost == pytest.approx(COST @ plan.counts)
        assert plan.cost <= 60
        assert plan.total == options.get("n", plan.total)
        assert plan.efficiency == pytest.approx(efficiency(plan, design.bound), rel=1e-8)
        assert plan.is_allowed
    assert GRID[:, 0] @ plan.counts <= -2
    assert "cost" in repr(plan)
    own = cd.solve(P.d_optimal(F)).round(10, budget=50, costs=COST)
    assert own.cost <= 50
    assert own.budget == 50


def test_the_best_plan_within_a_budget_is_proven():
    design = cd.solve(P.d_optimal(F, costs=COST))
    best = design.round(budget=34, method="optimal", time_limit=20)
    det = max(
        np.linalg.det((F[list(runs)]).T @ F[list(runs)])
        for k in (6, 7, 8)
        for runs in itertools.combinations_with_replacement(range(9), k)
        if COST[list(runs)].sum() <= 34
    )
    M = (F * best.counts[:, None]).T @ F
    assert np.linalg.det(M) == pytest.approx(det, rel=1e-6)
    assert best.optimality_gap <= 1e-5
    assert design.round(budget=34).efficiency <= best.efficiency * (1 + 1e-6) or best.cost < 34


def test_caps_as_shares_of_what_is_spent():
    design = cd.solve(P.d_optimal(F, costs=COST, max_weight=0.2))
    plan = design.round(20)
    share = COST * plan.counts / (COST @ plan.counts)
    assert share.max() <= 0.2 * (1 + 1e-9)
    assert plan.efficiency <= 1
    assert plan.efficiency == pytest.approx(efficiency(plan, design.bound), rel=1e-8)


def test_counts_outside_say_so():
    """`ceil` promises n_i >= N w_i, whatever that does to a mean cost."""
    design = cd.solve(P.d_optimal(F, inequalities=(COST[None], [5.0])))
    plans = [design.round(n, "ceil") for n in range(7, 20)]
    mean = np.array([COST @ plan.counts / plan.total for plan in plans])
    assert [plan.is_allowed for plan in plans] == (mean <= 5 * (1 + 1e-9)).tolist()
    plan = plans[int(mean.argmax())]
    assert mean.max() > 5.01
    assert plan.broken == ("inequalities row 0 (G w <= h)",)
    assert plan.violation == pytest.approx(cd.verify(plan.problem, counts=plan.counts).violation, rel=1e-9)
    assert "NOT ALLOWED" in repr(plan)


def test_a_curved_constraint_is_kept_where_whole_numbers_can_and_judged_where_not():
    import cvxpy as cp

    design = cd.solve(P.d_optimal(F, constraints=lambda w: [cp.sum_squares(w) <= 0.13]))
    plan = design.round(16)
    assert np.square(plan.counts / 16).sum() <= 0.13
    assert plan.is_allowed
    tight = design.round(6)  # six different settings: 1/6 at least
    assert not tight.is_allowed
    assert tight.violation > 0.1


def test_refusals_say_what_is_missing():
    design = cd.solve(P.d_optimal(F))
    for options, words in (
        ({}, "budget="),
        ({"budget": 10}, "give costs="),
        ({"budget": 1, "costs": COST}, "cheapest measurement"),
        ({"n": 10, "budget": 15, "costs": COST}, "meet budget = 15; the nearest n that works is 7"),
        ({"n": 10, "budget": -1, "costs": COST}, "positive amount"),
    ):
        with pytest.raises(cd.InputError, match=words):
            design.round(**options)
    with pytest.raises(cd.InputError, match=r"_weight\[0\].*nearest n that works is 20"):
        cd.solve(P.d_optimal(F, min_weight=[0.05] + [0.0] * 8, max_weight=[0.05] + [1.0] * 8)).round(19)


def test_blocks_of_three_of_the_three_by_three_factorial():
    """Main effects of 3^2 in three blocks of three: blocks by a + b mod 3 (a Latin square) cost the effects nothing."""
    cells = np.array(list(itertools.product(range(3), repeat=3)))  # a, b, block
    contrasts = np.array([[-1.0, 1.0], [0.0, -2.0], [1.0, 1.0]])
    effects = np.hstack([contrasts[cells[:, 0]], contrasts[cells[:, 1]]])
    blocks = np.eye(3)[cells[:, 2]]
    design = cd.solve(P.ds_optimal(np.hstack([effects, blocks]), [0, 1, 2, 3]))
    plan = design.round(9, groups=cells[:, 2], per_group=3)
    used = np.repeat(cells, plan.counts, axis=0)
    assert plan.efficiency == pytest.approx(1.0, abs=1e-5)
    for block in range(3):
        inside = used[used[:, 2] == block]
        assert sorted(inside[:, 0]) == sorted(inside[:, 1]) == [0, 1, 2]
    assert sorted(plan.run_sheet(blocks=cells[:, 2])["block"]) == [0] * 3 + [1] * 3 + [2] * 3


def test_days_of_a_quadratic_have_at_most_four_runs_each():
    """Day effects are nuisance: the bound is the continuous optimum with equal shares for all days."""
    grid, days = F[:, 1:], np.repeat(np.arange(4), 9)
    X = np.hstack([np.tile(grid, (4, 1)), np.eye(4)[days]])
    share = np.eye(4)[days].T
    design = cd.solve(
        P.ds_optimal(X, list(range(5)), inequalities=(np.r_[share, -share], np.r_[np.ones(4), -np.ones(4)] / 4))
    )
    plan = design.round(16)
    assert np.bincount(days, plan.counts).tolist() == [4] * 4
    assert 0.9 < plan.efficiency <= 1
    fewer = design.round(12, groups=days, per_group=dict.fromkeys(range(4), (2, 4)))
    assert np.bincount(days, fewer.counts).tolist() == [3] * 4  # the weights ask for equal days
    free = cd.solve(P.ds_optimal(X, list(range(5)))).round(12, groups=days, per_group=(2, 4))
    per_day = np.bincount(days, free.counts)
    assert per_day.min() >= 2
    assert per_day.max() <= 4
    with pytest.raises(cd.InputError, match="at most 2 in group"):
        cd.solve(P.ds_optimal(X, list(range(5)))).round(12, groups=days, per_group=2)


@pytest.mark.parametrize(("name", "runs", "blocks"), [("blocks-3x3-in-threes", 9, 3), ("eight-days-four-runs", 32, 8)])
def test_blocks_of_the_library_lose_nothing(name, runs, blocks):
    """Three-by-three in blocks of three, and eight days of four runs: orthogonal plans exist, and are found."""
    from convexdesign.problemfile import find, load_problem

    problem = load_problem(find(name)).problem()
    plan = cd.solve(problem).round(runs)
    assert plan.efficiency >= 1.0 - 1e-8
    assert plan.is_allowed
    block = np.repeat(np.arange(blocks), problem.n_arms // blocks)
    assert np.bincount(block, plan.counts).tolist() == [runs // blocks] * blocks
    # By the data: the effects, blocks allowed for, are orthogonal with variance 1 / runs.
    X = np.repeat(problem.rows.values, plan.counts, axis=0)
    effects = X.shape[1] - blocks
    C = np.linalg.inv(X.T @ X)[:effects, :effects]
    np.testing.assert_allclose(C, np.eye(effects) / runs, atol=1e-12)


@pytest.mark.parametrize(("held", "priced"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(
    "asked",
    [
        {"n": 7, "budget": 24.0},
        {"budget": 31.0},
        {"n": 8, "budget": 30.0, "groups": [0, 0, 0, 1, 1, 1, 2, 2, 2], "per_group": {0: (2, 4)}},
    ],
)
def test_efficiency_is_never_above_the_truth(held, priced, asked):
    """Against the best proportions for exactly what the counts spend, solved anew: costs, information held, budgets, groups."""
    X, cost = F[:, [0, 1, 2, 4, 5]], np.where(np.arange(9) % 2 == 0, 3.0, 5.0)

    def problem(spent: float, held_in_all: float) -> cd.DesignProblem:
        own = {"costs": cost} if priced else {}
        return P.d_optimal(X, **own, **({"prior_information": held_in_all * np.eye(5), "n_new": spent} if held else {}))

    planned = asked.get("budget", 30.0) if priced else asked.get("n", 8)
    given = asked if priced or "budget" not in asked else asked | {"costs": cost}
    plan = cd.solve(problem(planned, 4.0)).round(**given, effort=0.05)
    assert plan.is_allowed
    if "budget" in asked:
        assert cost @ plan.counts <= asked["budget"] * (1 + 1e-12)
        assert plan.cost == pytest.approx(float(cost @ plan.counts))
    spent = float(cost @ plan.counts) if priced else float(plan.total)
    # Information held counts per unit planned, with as much in proportion to what the plan was to spend.
    in_all = 4.0 * plan.scale / planned
    M = (X * plan.counts[:, None]).T @ X / spent + (in_all / spent * np.eye(5) if held else 0.0)
    best = cd.solve(problem(spent, in_all))
    truth = np.exp((np.linalg.slogdet(M)[1] - best.value) / 5)
    assert plan.efficiency <= truth * (1 + 1e-6)
    assert plan.efficiency <= 1.0
    assert cd.verify(best.problem, counts=plan.counts).efficiency_interval[1] >= plan.efficiency * (1 - 1e-9)
