"""How the counts of broken promises are made and judged, on a small share of them."""

from __future__ import annotations

from itertools import islice

import identification_promise
import pandas as pd


def test_promises_and_controls_are_judged_by_the_errors():
    table = pd.DataFrame({"errors": [0, 60, 110, 1000], "runs": [1000] * 4, "delta": [0.05] * 4})
    assert identification_promise._judged(table.copy())["passed"].tolist() == [True, True, False, False]
    judged = identification_promise._judged(table.copy(), must_fail=True)
    assert judged["passed"].tolist() == [False, False, True, True]


def test_counts_of_random_instances_and_controls_runs():
    # Two of the twenty instances: one chooses among the arms, one among other items.
    lines = pd.concat(islice(identification_promise.random_instances(2, 0, 1, False), 8))
    assert set(lines["algorithm"]) == set(identification_promise.ALGORITHMS)
    assert (lines["runs"] == 2).all()
    summary = identification_promise._summary(lines.assign(passed=True))
    assert (summary["instances"] == 2).all()
    assert (summary["runs"] == 4).all()
    # A twentieth of the pulls: wrong about half the time, P(Bin(30, .05) > 7) < 0.02 %.
    control = next(identification_promise.controls(30, 0, 1, False))
    assert (control["errors"] > 7).all()
