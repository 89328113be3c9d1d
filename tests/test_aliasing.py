"""Where a design leaves coefficients open, every print of it says so and names the coordinates."""

import itertools

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd

ALIASED = [[1, -1, -2], [1, 1, 2], [1, 3, 6]]  # the third column is twice the second
NOTE = "rank 2 of 3 (columns 1, 2 are aliased)"
KINDS = {
    "d": cd.DesignProblem.d_optimal,
    "g": cd.DesignProblem.g_optimal,
    "i": lambda X, **k: cd.DesignProblem.i_optimal(X, X, **k),
    "xy": cd.DesignProblem.xy_allocation,
    "c": lambda X, **k: cd.DesignProblem.c_optimal(X, np.sum(X, axis=0), **k),
    "ds": lambda X, **k: cd.DesignProblem.ds_optimal(X, np.array(X, float)[:2].T, **k),
    "average": lambda X, **k: cd.DesignProblem.average_variance(X, np.array(X, float).T @ X, **k),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_print_of_a_design_says_that_columns_are_aliased(kind):
    problem = KINDS[kind](ALIASED, min_weight=0.1)
    d = cd.solve(problem)
    assert d.status is cd.Status.CERTIFIED
    assert d.rank_note == NOTE
    v = cd.verify(problem, weights=d.weights)
    for text in (repr(d), repr(v), d._repr_html_(), repr(d.round(12))):
        assert NOTE in text
    assert "\nrank             2 of 3 (columns 1, 2 are aliased)\n" in v.summary()
    assert d.to_frame().attrs["rank"] == NOTE


def test_a_full_rank_is_not_worth_a_word():
    d = cd.solve(cd.DesignProblem.d_optimal(np.eye(2)))
    assert d.rank == 2
    assert d.rank_note == ""
    assert "rank" not in repr(d)
    assert not d.to_frame().attrs


def test_names_of_columns_and_terms_that_are_not_measured():
    F = pd.DataFrame(
        [[1, a, b, a * a, 0] for a in (-1, 1) for b in (-1, 0, 1)], columns=["one", "a", "b", "a^2", "nothing"]
    )
    d = cd.solve(cd.DesignProblem.d_optimal(F))
    assert d.rank_note == "rank 3 of 5 (columns one, a^2 are aliased; column nothing is not measured)"


def test_terms_that_a_plan_leaves_open_are_named_and_no_others():
    """One time and one resin of two: 1 and time are one, temp and temp x time are, and the square is told."""
    table = pd.DataFrame(
        list(itertools.product((120.0, 150.0, 180.0), (10.0, 20.0), "AB")), columns=["temp", "time", "resin"]
    )
    X = cd.features.model_matrix(table, "1 + temp + time + temp:time + temp**2 + C(resin)")
    counts = ((table["time"] == 20.0) & (table["resin"] == "A")).to_numpy(int)
    note = cd.verify(cd.DesignProblem.d_optimal(X), counts=counts).rank_note
    aliased = "columns Intercept, temp, time, temp:time are aliased"
    assert note == f"rank 3 of 6 ({aliased}; column C(resin)[T.B] is not measured)"


def test_a_term_lost_to_constraints_is_named():
    G = np.array([[1, a, b] for a in (-1, 1) for b in (-1, 0, 1)], float)
    d = cd.solve(cd.DesignProblem.d_optimal(G, max_weight=[1, 1, 1, 0, 0, 0]))
    assert d.rank_note == "rank 2 of 3 (columns 0, 1 are aliased)"


@pytest.mark.parametrize("exponent", [-9, 0, 9])
def test_units_of_the_columns_do_not_change_what_is_named(exponent):
    d = cd.solve(cd.DesignProblem.d_optimal(np.array(ALIASED) * [1.0, 1.0, 10.0**exponent]))
    assert d.rank_note == NOTE


def test_a_design_of_one_arm_says_what_it_leaves_open():
    v = cd.verify(cd.DesignProblem.c_optimal(np.eye(2), [1.0, 0.0]), weights=[1.0, 0.0])
    assert v.rank_note == "rank 1 of 2 (column 1 is not measured)"
