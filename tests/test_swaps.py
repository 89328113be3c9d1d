"""The swap of a run that gains most, against trying every one."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import convexdesign as cd
from convexdesign.runs import sheet_of

RNG = np.random.default_rng(1)
X = RNG.standard_normal((9, 3))


@pytest.mark.parametrize("kind", ["d_optimal", "a_optimal", "g_optimal"])
@pytest.mark.parametrize("costs", [None, np.linspace(1, 3, 9)])
def test_the_best_swap_is_the_best_of_all(kind, costs):
    problem = getattr(cd.DesignProblem, kind)(X, costs=costs)
    counts = np.array([2, 1, 1, 0, 0, 1, 0, 1, 0])

    def efficiency(n):
        return cd.verify(problem, counts=n).efficiency

    trials = {}
    for o in np.flatnonzero(counts):
        for i in range(9):
            moved = counts.copy()
            moved[o] -= 1
            moved[i] += 1
            if i != o and np.linalg.matrix_rank((X * moved[:, None]).T @ X) == 3:
                trials[o, i] = efficiency(moved)
    (o, i), best = max(trials.items(), key=lambda trial: trial[1])
    swap = cd.verify(problem, counts=counts).swaps(1)[0]
    assert (swap.given, swap.taken) == (o, i)
    assert swap.factor == pytest.approx(best / efficiency(counts), rel=1e-5)
    assert str(swap).startswith(f"replace a run at arm {o} by one at arm {i}: ")


def test_swaps_keep_the_constraints_and_the_blocks_and_name_the_run():
    """Three by three in two blocks that share the runs evenly: no run changes its block, whoever says so."""
    grid = pandas.DataFrame(
        [(a, b, d) for a in (-1.0, 0, 1) for b in (-1.0, 0, 1) for d in "uv"], columns=["a", "b", "day"]
    )
    X = cd.features.model_matrix(grid, "1 + a + b + a:b + a**2 + b**2 + C(day)")
    day = (grid["day"] == "u").to_numpy(float)
    halves = (np.vstack([day, -day]), [0.5, -0.5])
    counts = np.array([1, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0])
    assert counts @ day == 6
    free, held = (cd.DesignProblem.d_optimal(X, **given) for given in ({}, {"inequalities": halves}))
    sheet = sheet_of(free, counts, seed=1, blocks="day")
    best = cd.verify(free, counts=counts).swaps(50)
    kept = [(s.given, s.taken) for s in best if day[s.given] == day[s.taken]]
    assert len(kept) < len(best)
    by_runs, by_rows = cd.verify(free, runs=sheet).swaps(50), cd.verify(held, counts=counts).swaps(50)
    assert (
        kept == [(s.given, s.taken) for s in by_rows][: len(kept)] == [(s.given, s.taken) for s in by_runs][: len(kept)]
    )
    first = by_runs[0]
    assert sheet["arm"][first.run - 1] == first.given
    assert str(first).startswith(f"replace run {first.run} ({first.names[0]}) by {first.names[1]}: ")
    assert by_rows[0].run is None


def test_a_plan_that_no_swap_improves_is_not_called_simply_not_optimal():
    grid = np.array([(a, b) for a in (-1.0, 0, 1) for b in (-1.0, 0, 1)])
    F = np.c_[np.ones(9), grid, grid[:, 0] * grid[:, 1], grid**2]
    problem = cd.DesignProblem.d_optimal(F)
    plan = cd.solve(problem).round(11)
    verified = cd.verify(problem, counts=plan.counts)
    assert verified.swaps() == []
    text = verified.summary()
    assert "no plan of 11 runs that is better was found" in text
    assert "NOT optimal as proportions" in text
    assert verified.best_plan.efficiency == pytest.approx(verified.efficiency, rel=1e-6)
