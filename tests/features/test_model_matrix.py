"""One coding for arms, region, items and runs: a formula over settings means the same wherever it is used."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import convexdesign as cd
from convexdesign.features import model_matrix

P = cd.DesignProblem
ARMS = pd.DataFrame({"t": np.linspace(-1, 1, 11)})
REGION = pd.DataFrame({"t": np.linspace(0.5, 1, 6)})
# Bases of one space of functions, and so of one problem.
QUADRATICS = ["t + t**2", "poly(t, 2)", "center(t) + center(t)**2", "scale(t) + I(scale(t)**2)", "poly(t, 2, raw=True)"]
LEVELS = pd.DataFrame({"c": ["A", "B", "A", "B"], "t": [0.0, 0, 1, 1]}, index=list("wxyz"))


@pytest.mark.parametrize("formula", QUADRATICS)
def test_predictions_over_a_region_do_not_depend_on_the_basis(formula):
    """I-, G- and c-values are invariant under invertible maps of arms and region together."""
    expected = cd.solve(P.i_optimal(model_matrix(ARMS, "t + t**2"), model_matrix(REGION, "t + t**2"))).value
    arms = model_matrix(ARMS, formula)
    for region in (model_matrix(REGION, formula), model_matrix(REGION, arms.spec), arms.spec.apply(REGION)):
        assert cd.solve(P.i_optimal(arms, region)).value == pytest.approx(expected, rel=1e-6)
        assert cd.solve(P.i_optimal(arms, region[region.columns[::-1]])).value == pytest.approx(expected, rel=1e-6)
    targets = model_matrix(REGION, formula)
    assert cd.solve(P(arms, targets)).value == pytest.approx(
        cd.solve(P(model_matrix(ARMS, "t + t**2"), model_matrix(REGION, "t + t**2"))).value, rel=1e-6
    )


@pytest.mark.parametrize("formula", QUADRATICS)
def test_rows_selected_from_a_region_keep_their_settings(formula):
    arms, region = model_matrix(ARMS, formula), model_matrix(REGION, formula)
    part = P.i_optimal(arms, region.iloc[[4, 1]]).stated.region.values
    np.testing.assert_allclose(part, arms.spec.apply(REGION.iloc[[4, 1]]).to_numpy(), rtol=1e-12)
    again = pickle.loads(pickle.dumps(arms))
    np.testing.assert_array_equal(P.i_optimal(again, region).stated.region.values, arms.spec.apply(REGION).to_numpy())


def test_a_region_changed_after_it_was_coded_is_refused():
    arms, region = model_matrix(ARMS, "center(t)"), model_matrix(REGION, "center(t)")
    region.iloc[0, 1] = 7.0
    with pytest.raises(
        cd.InputError, match=r"changed since; make region by the arms' own: model_matrix\(settings, arms.spec"
    ):
        P.i_optimal(arms, region)
    with pytest.raises(cd.InputError, match="arms were coded by 'center"):
        P.i_optimal(arms, model_matrix(REGION, "0 + I(center(t) + 1) + center(t)"))


def test_levels_are_those_of_the_arms():
    arms = model_matrix(LEVELS, "c + t")
    only_b = pd.DataFrame({"c": ["B", "B"], "t": [0.5, 1.0]})
    coded = P.i_optimal(arms, model_matrix(only_b, "c + t")).stated.region.values
    np.testing.assert_array_equal(coded, [[1, 1, 0.5], [1, 1, 1.0]])
    strange = pd.DataFrame({"c": ["B", "C"], "t": [0.0, 1.0]}, index=list("pq"))
    with pytest.raises(cd.InputError, match=r"region: column 'c' is 'C' in row q, but its levels .* are A, B"):
        P.i_optimal(arms, model_matrix(strange, "c + t"))
    with pytest.raises(cd.InputError, match="'c' is 'C' in row q"):
        arms.spec.apply(strange)
    with pytest.raises(cd.InputError, match="no column 'c'"):
        arms.spec.apply(strange[["t"]])
    with pytest.raises(cd.InputError, match="'t' holds text, but numbers"):
        arms.spec.apply(strange.astype(str))


def test_a_design_that_lists_runs_is_coded_as_the_arms_are():
    runs = ARMS.iloc[[3, 4, 10, 10]]
    expected = cd.match_design(model_matrix(ARMS, "t"), model_matrix(runs, "t"))
    for formula in ("center(t)", "scale(t)"):
        found = cd.match_design(P.d_optimal(model_matrix(ARMS, formula)), model_matrix(runs, formula))
        assert found.tolist() == expected.tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 2]


def test_tables_of_other_libraries_are_taken():
    frame = pl.DataFrame({"t": [0.0, 1.0, 2.0], "c": ["u", "v", "u"]})
    arms = model_matrix(frame, "t*c")
    assert list(arms.columns) == ["Intercept", "t", "c[T.v]", "t:c[T.v]"]
    np.testing.assert_array_equal(arms.spec.apply({"t": [5.0], "c": ["v"]}).to_numpy(), [[1, 5, 1, 5]])


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("1 + log(a) + b", r"the term 'log\(a\)' is -inf in row second \(a = 0.0\)"),
        ("1 + sqrt(b)", r"'sqrt\(b\)' is nan in row third \(b = -4.0\)"),
        ("1 + a**-1", r"'I\(a \*\* -1\)' is inf in row second"),
        ("exp(a):b", r"'exp\(a\):b' is -inf in row third"),
        ("scale(one)", r"'scale\(one\)' is nan in row first"),
    ],
)
def test_terms_that_are_not_finite_name_term_row_and_value(formula, message):
    table = pd.DataFrame({"a": [1.0, 0, 800], "b": [1.0, 0, -4], "one": 1.0}, index=["first", "second", "third"])
    with pytest.raises(cd.InputError, match=message):
        model_matrix(table, formula)


def test_only_columns_that_the_formula_uses_must_be_filled_in():
    table = pd.DataFrame({"a": [1.0, 2.0], "y": [np.nan, np.nan]})
    assert model_matrix(table, "a").shape == (2, 2)
    with pytest.raises(cd.InputError, match="column 'y' of the table is empty"):
        model_matrix(table, "a + y")
