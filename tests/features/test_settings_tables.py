"""Tables of settings wherever vectors go: region, items, targets, runs and single settings are coded as the arms."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.features import model_matrix

P = cd.DesignProblem
SETTINGS = pd.DataFrame(
    [
        (r, t, 10.0 + 3 * k, 1.0 + 0.5 * (r == "B"))
        for k, (r, t) in enumerate(itertools.product("AB", [150.0, 170, 190]))
    ],
    columns=["resin", "temp", "price", "noise"],
)
REGION = pd.DataFrame({"temp": [155.0, 165, 185], "resin": ["B", "A", "B"]})
FORMULA = "resin + poly(temp, 2)"
ARMS = model_matrix(SETTINGS, FORMULA)
CODED = ARMS.spec.apply(REGION)


def value(problem: cd.DesignProblem) -> float:
    return float(cd.solve(problem).value)


def test_tables_of_settings_are_coded_as_the_arms():
    np.testing.assert_array_equal(P.i_optimal(ARMS, REGION).stated.region.values, CODED)
    np.testing.assert_array_equal(P.xy_allocation(ARMS, REGION).stated.items.values, CODED)
    np.testing.assert_array_equal(P(ARMS, REGION).stated.targets.values, CODED)
    np.testing.assert_array_equal(P.i_optimal(ARMS, REGION.to_dict("list")).stated.region.values, CODED)
    with pytest.raises(cd.InputError, match=r"region: column 'resin' is 'C' in row 0"):
        P.i_optimal(ARMS, REGION.assign(resin="C"))
    with pytest.raises(
        cd.InputError, match=r"region: there is no column 'temp'.*150|region: there is no column 'temp'"
    ):
        P.i_optimal(ARMS, REGION[["resin"]])


def test_one_setting_is_coded_as_the_arms():
    design = cd.solve(P.d_optimal(ARMS))
    expected = design.variance(CODED.to_numpy())
    np.testing.assert_allclose(design.variance(REGION), expected, rtol=1e-12)
    one = design.variance({"temp": 155.0, "resin": "B"})
    assert isinstance(one, float)
    assert one == pytest.approx(expected[0], rel=1e-12)
    plan = design.round(9)
    np.testing.assert_allclose(
        plan.diagnostics().prediction_variance(REGION), plan.diagnostics().prediction_variance(CODED.to_numpy())
    )


def test_columns_of_the_table_go_by_their_names():
    by_name = P.d_optimal(ARMS, costs="price", noise_variance="noise")
    np.testing.assert_array_equal(by_name.costs, SETTINGS["price"])
    np.testing.assert_array_equal(by_name.noise_variance, SETTINGS["noise"])
    with pytest.raises(cd.InputError, match=r"costs: there is no column 'prize'.*resin, temp, price, noise"):
        P.d_optimal(ARMS, costs="prize")
    with pytest.raises(cd.InputError, match="costs is the text 'price', but the arms"):
        P.d_optimal(np.eye(2), costs="price")
    plan = cd.solve(P.d_optimal(ARMS)).round(8, costs="price", budget=130.0, groups="resin", per_group=4)
    assert SETTINGS["price"] @ plan.counts <= 130.0
    assert np.bincount(np.repeat((SETTINGS["resin"] == "B").to_numpy(), plan.counts)).tolist() == [4, 4]


def test_runs_done_are_a_table_of_settings():
    done = SETTINGS.iloc[[0, 0, 4]][["temp", "resin"]]
    counts = np.bincount([0, 0, 4], minlength=6)
    by_table = P.d_optimal(ARMS, noise_variance="noise", existing_runs=done, n_new=6)
    np.testing.assert_array_equal(by_table.stated.existing_counts, counts)
    assert value(by_table) == value(P.d_optimal(ARMS, noise_variance="noise", existing_counts=counts, n_new=6))
    numbered = pd.DataFrame({"temp": [150.0, 170], "resin": ["A", "B"], "count": [2, 1]})
    again = P.d_optimal(ARMS, existing_runs=numbered, n_new=6)
    np.testing.assert_array_equal(again.stated.existing_counts, counts)


def test_runs_done_off_the_list_count_with_their_information():
    done = pd.concat([REGION, SETTINGS.iloc[[1]][["temp", "resin"]]], ignore_index=True)
    X = ARMS.spec.apply(done).to_numpy()
    problem = P.d_optimal(ARMS, noise_variance=2.0, existing_runs=done, n_new=6)
    expected = P.d_optimal(ARMS, noise_variance=2.0, prior_information=X.T @ X / 2, n_new=6)
    np.testing.assert_allclose(problem.prior, expected.prior, rtol=1e-12)
    assert value(problem) == pytest.approx(value(expected), rel=1e-9)
    with pytest.raises(cd.InputError, match=r"existing_runs: run 0 is no setting of the arms.*noise"):
        P.d_optimal(ARMS, noise_variance="noise", existing_runs=done, n_new=6)
    with pytest.raises(cd.InputError, match="n_new is missing"):
        P.d_optimal(ARMS, existing_runs=done)
    with pytest.raises(cd.InputError, match="only one of"):
        P.d_optimal(ARMS, existing_runs=done, prior_information=np.eye(4), n_new=3)


def test_runs_done_are_vectors_where_the_arms_are():
    plain = pd.DataFrame([[1.0, -1], [1, 0], [1, 1]], columns=["one", "x"])
    done = pd.DataFrame({"x": [1.0, 0.25], "one": [1.0, 1.0]})
    X = done[["one", "x"]].to_numpy()
    problem = P.d_optimal(plain, existing_runs=done, n_new=4)
    np.testing.assert_allclose(problem.prior, X.T @ X / 4, rtol=1e-12)


def test_a_run_table_is_verified_as_its_counts():
    problem = P.d_optimal(ARMS)
    plan = cd.solve(problem).round(9)
    expected = cd.verify(problem, counts=plan.counts)
    by_runs = cd.verify(problem, runs=plan.run_sheet(seed=4).drop(columns="arm"))
    assert by_runs.efficiency == expected.efficiency
    np.testing.assert_array_equal(by_runs.counts, plan.counts)


def test_a_model_is_one_over_regions_and_tables():
    model = cd.Model.formula("1 + temp + temp**2")
    arms = model.over(SETTINGS)
    assert arms.columns.tolist() == ["Intercept", "temp", "I(temp ** 2)"]
    over = model.over(cd.Region.levels(temp=[150, 170, 190]))
    np.testing.assert_array_equal(np.asarray(arms, dtype=float), over.at(SETTINGS[["temp"]]))
    with pytest.raises(cd.InputError, match="region is of type int"):
        model.over(3)


@pytest.mark.parametrize("written", ["temp**2", "I(temp**2)", "I(temp ** 2)", "temp ** 2"])
def test_terms_go_by_any_of_their_names(written):
    arms = model_matrix(SETTINGS, "resin + temp + temp**2 + resin:temp")
    columns = arms.columns.tolist()
    K = P.ds_optimal(arms, interest=[written, "temp:resin[T.B]"]).stated.interest
    assert np.flatnonzero(K[:, 0]).tolist() == [columns.index("I(temp ** 2)")]
    assert np.flatnonzero(K[:, 1]).tolist() == [columns.index("resin[T.B]:temp")]
    # A category is of interest with all its levels.
    day = model_matrix(SETTINGS.assign(day=["u", "v", "w"] * (len(SETTINGS) // 3)), "temp + C(day)")
    assert np.flatnonzero(P.ds_optimal(day, interest=["C(day)"]).stated.interest.any(axis=1)).tolist() == [
        day.columns.get_loc(f"C(day)[T.{level}]") for level in "vw"
    ]
    assert np.flatnonzero(P.ds_optimal(arms, interest="resin").stated.interest).tolist() == [
        columns.index("resin[T.B]")
    ]
    direction = P.c_optimal(arms, direction=written).stated.direction
    assert direction.tolist() == np.eye(len(columns))[columns.index("I(temp ** 2)")].tolist()
