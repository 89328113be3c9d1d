"""Labelled input is put into the order of what it belongs to, or refused with both lists of names."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest

import convexdesign as cd
from convexdesign.tables import read_table

P = cd.DesignProblem
ARMS = pd.DataFrame(
    [[1.0, 0, 0], [1, 1, 1], [1, 2, 4], [1, 4, 16]], index=list("ABCD"), columns=["one", "dose", "square"]
)
ORDER = ["square", "one", "dose"]
ARM_ORDER = ["C", "A", "D", "B"]
THETA = pd.Series({"one": 1.0, "dose": 0.5, "square": -0.3})
ROOT = pd.DataFrame([[1.0, 2, 0], [0, 1, 1], [0, 0, 3]], index=ARMS.columns, columns=ARMS.columns)
PSD = ROOT.T @ ROOT
REGION = pd.DataFrame([[1.0, 3, 9], [1, 0.5, 0.25]], columns=ARMS.columns)
ITEMS = pd.DataFrame([[1.0, 3, 9], [1, 5, 25], [0, 1, 2]], columns=ARMS.columns)
PER_ARM = pd.Series({"A": 1.0, "B": 2.0, "C": 5.0, "D": 3.0})


def as_polars(values: pd.Series) -> pl.DataFrame:
    return pl.DataFrame({"what": list(values.index), "value": values.to_numpy()})


def as_frame(values: pd.Series) -> pd.DataFrame:
    return values.to_frame("value")


def as_row(values: pd.Series) -> pd.DataFrame:
    return values.to_frame().T.reset_index(drop=True)


VECTORS = {"series": lambda v: v, "frame": as_frame, "row": as_row, "dict": dict, "polars": as_polars}

PER_COORDINATE = {
    "theta": lambda v: cd.solve(P.best_arm_oracle(ARMS, ITEMS, theta=v)).value,
    "theta and threshold": lambda v: cd.solve(P.level_set_oracle(ARMS, theta=v, threshold=0.123)).value,
    "direction": lambda v: cd.solve(P.c_optimal(ARMS, v)).value,
    "v": lambda v: cd.solve(P.d_optimal(ARMS)).variance(v),
    "theta of an oracle": lambda v: cd.identification.OracleAllocation(ARMS, theta=v, noise_variance=1.0).theta,
    "theta of an environment": lambda v: cd.simulation.LinearEnvironment(ARMS, v, noise_variance=1.0).theta,
}


@pytest.mark.parametrize("form", VECTORS)
@pytest.mark.parametrize("what", PER_COORDINATE)
def test_vectors_per_coordinate_follow_the_names_of_the_arms_columns(what, form):
    use, label = PER_COORDINATE[what], VECTORS[form]
    plain = use(THETA.to_numpy())
    for order in itertools.permutations(ARMS.columns):
        np.testing.assert_array_equal(use(label(THETA[list(order)])), plain)


@pytest.mark.parametrize("what", PER_COORDINATE)
def test_vectors_with_other_names_are_refused_with_both_lists(what):
    wrong = THETA.rename({"dose": "dosis"})
    with pytest.raises(cd.InputError, match=r"one, dosis, square, but .* one, dose, square: 'dosis' is no coordinate"):
        PER_COORDINATE[what](wrong)


MATRICES = {
    "M": lambda m: cd.solve(P.average_variance(ARMS, m)).value,
    "prior_information": lambda m: cd.solve(P.d_optimal(ARMS, prior_information=m, n_new=5)).value,
}


@pytest.mark.parametrize("what", MATRICES)
def test_matrices_follow_the_names_of_the_arms_columns(what):
    use = MATRICES[what]
    plain = use(PSD.to_numpy())
    moved = PSD.loc[ORDER, ORDER]
    assert use(moved) == plain
    assert use(PSD.loc[:, ORDER]) == plain  # rows and columns each by their own labels
    assert use(moved.reset_index(drop=True)) == plain  # columns alone have labels
    assert use(pl.from_pandas(moved)) == plain
    assert use(pd.DataFrame(moved.to_numpy(), index=ORDER)) == plain  # rows alone have labels
    with pytest.raises(cd.InputError, match="'dosis' is no coordinate and 'dose' has no entry"):
        use(PSD.rename(columns={"dose": "dosis"}))


ROWS = {
    "region": lambda r: P.i_optimal(ARMS, r),
    "items": lambda r: P.level_set_allocation(ARMS, r),
    "targets": lambda r: P(ARMS, r),
    "rows of v": lambda r: cd.solve(P.d_optimal(ARMS)).variance(r),
}


@pytest.mark.parametrize("what", ROWS)
def test_columns_of_items_targets_and_region_follow_those_of_the_arms(what):
    def value(frame):
        out = ROWS[what](frame)
        return cd.solve(out).value if isinstance(out, P) else out

    plain = value(REGION.to_numpy())
    np.testing.assert_array_equal(value(REGION[ORDER]), plain)
    np.testing.assert_array_equal(value(pl.from_pandas(REGION[ORDER])), plain)
    with pytest.raises(cd.InputError, match="a, b, c, but the coordinates of the arms are one, dose, square"):
        value(REGION.set_axis(["a", "b", "c"], axis=1))


D = P.d_optimal
ARM_INPUTS = {
    "noise_variance": lambda v: cd.solve(D(ARMS, noise_variance=v)).value,
    "costs": lambda v: cd.solve(D(ARMS, costs=v)).value,
    "existing_counts": lambda v: cd.solve(D(ARMS, existing_counts=v, n_new=3)).value,
    "min_weight": lambda v: D(ARMS, min_weight=_scaled(v, 0.01)).weight_set.lower,
    "max_weight": lambda v: D(ARMS, max_weight=_scaled(v, 0.1)).weight_set.upper,
    "weights": lambda v: cd.verify(D(ARMS), weights=_scaled(v, 1 / 11)).efficiency,
    "counts": lambda v: cd.verify(D(ARMS), counts=v).efficiency,
    "min_counts": lambda v: cd.solve(D(ARMS)).round(30, min_counts=v).counts,
    "max_counts": lambda v: cd.verify(D(ARMS), counts=[1, 1, 1, 1]).round(10, max_counts=v).counts,
    "noise_variance of an oracle": lambda v: (
        cd.identification.OracleAllocation(ARMS, theta=THETA.to_numpy(), noise_variance=v).noise_variance
    ),
    "known_variances": lambda v: cd.identification.MartingaleElimination(ARMS, known_variances=v).known_variances,
    "noise_variance of a fit": lambda v: (
        cd.estimation.least_squares(
            ARMS, cd.estimation.Observations([2] * 4, [1.0, 2, 4, 9], [0.5] * 4), noise_variance=v
        ).theta
    ),
}


def _scaled(v, factor):
    if isinstance(v, dict):
        return {name: value * factor for name, value in v.items()}
    if isinstance(v, pl.DataFrame):
        return v.with_columns(pl.col("value") * factor)
    return v * factor


@pytest.mark.parametrize("form", VECTORS)
@pytest.mark.parametrize("what", ARM_INPUTS)
def test_vectors_per_arm_follow_the_arms_names(what, form):
    use = ARM_INPUTS[what]
    plain = use(PER_ARM.to_numpy())
    np.testing.assert_array_equal(use(VECTORS[form](PER_ARM[ARM_ORDER])), plain)


@pytest.mark.parametrize("what", ARM_INPUTS)
def test_vectors_of_other_arms_are_refused_with_both_lists(what):
    with pytest.raises(cd.InputError, match="the labels are a, b, c, d, but the arms are A, B, C, D: 'a' is no arm"):
        ARM_INPUTS[what](PER_ARM.rename(str.lower))
    with pytest.raises(cd.InputError, match="'C' has no entry"):
        ARM_INPUTS[what](PER_ARM.drop("C"))


def test_inequalities_name_their_arms_and_rows():
    G = pd.DataFrame([[1.0, 1, 0, 0], [0, 0, 1, 1]], index=["low", "high"], columns=ARMS.index)
    h = pd.Series({"low": 0.9, "high": 0.3})
    plain = D(ARMS, inequalities=(G.to_numpy(), h.to_numpy())).weight_set
    for given in ((G[ARM_ORDER], h[["high", "low"]]), {"G": G[ARM_ORDER], "h": h}, [G.to_numpy().tolist(), h.tolist()]):
        found = D(ARMS, inequalities=given).weight_set
        np.testing.assert_array_equal(found.G, plain.G)
        np.testing.assert_array_equal(found.h, plain.h)
    with pytest.raises(cd.InputError, match=r"columns of G .* A, B, C, X, but the arms are A, B, C, D"):
        D(ARMS, inequalities=(G.rename(columns={"D": "X"}), h))
    with pytest.raises(cd.InputError, match="give G and h"):
        D(ARMS, inequalities={"G": G})


def test_interest_by_names_by_labelled_combinations_and_wrong_names():
    by_index = P.ds_optimal(ARMS, [1, 2]).contrast_matrix
    np.testing.assert_array_equal(P.ds_optimal(ARMS, ["dose", "square"]).contrast_matrix, by_index)
    K = pd.DataFrame({"first": [0.0, 1, 0], "second": [1.0, 0, 2]}, index=ARMS.columns)
    np.testing.assert_array_equal(P.ds_optimal(ARMS, K.loc[ORDER]).contrast_matrix, K.to_numpy())
    with pytest.raises(cd.InputError, match=r"interest names 'dosis', but .* one, dose, square"):
        P.ds_optimal(ARMS, ["dosis"])
    with pytest.raises(cd.InputError, match="have no names; give indices"):
        P.ds_optimal(ARMS.to_numpy(), ["dose"])


def test_arms_without_names_are_called_by_their_numbers():
    plain = np.array([0.1, 0.2, 0.3, 0.4])
    weights = pd.Series(plain)
    problem = D(ARMS.to_numpy())
    for given in (weights, weights.sort_values(ascending=False), weights[::-1], weights.to_numpy()):
        assert cd.verify(problem, weights=given).weights.tolist() == plain.tolist()
    # A text index says nothing about arms without names: positions count.
    assert cd.verify(problem, weights=weights.set_axis(list("wxyz"))).weights.tolist() == plain.tolist()


def test_a_sliced_table_keeps_the_numbers_of_its_rows():
    arms, noise = ARMS.reset_index(drop=True), pd.Series([1.0, 2.0, 5.0, 3.0])
    part, own = arms[1:], noise[1:]
    expected = D(part.to_numpy(), noise_variance=own.to_numpy()).noise_variance
    np.testing.assert_array_equal(D(part, noise_variance=own).noise_variance, expected)
    np.testing.assert_array_equal(D(part, noise_variance=own[::-1]).noise_variance, expected)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"supplier": list("aabb"), "x": [0.0, 1, 0, 1]}), "'supplier' holds 'a' in rows 0 and 1"),
        (pd.DataFrame({"one": 1.0, "x": pd.Categorical([0, 1, 2])}), "'x' is of category type"),
        (pd.DataFrame({"one": 1.0, "x": pd.Series([0, 1, 2], dtype=object)}), "'x' is neither numbers nor text"),
        (pd.DataFrame({"one": 1.0, "day": pd.date_range("2020-01-01", periods=3)}), "'day' is neither"),
        (pl.DataFrame({"one": [1.0, 1.0], "x": pl.Series(["u", "v"], dtype=pl.Categorical)}), "'x' is of category"),
    ],
)
def test_no_column_is_lost_as_a_name_of_rows(frame, message):
    with pytest.raises(cd.InputError, match=message):
        P.d_optimal(frame)


def test_a_table_that_was_read_is_taken_and_a_path_says_how(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("n,x,y\na,1,0\nb,0,1\n", encoding="utf-8")
    rows = P.d_optimal(read_table(path)).rows
    assert (rows.names, rows.columns) == (("a", "b"), ("x", "y"))
    with pytest.raises(cd.InputError, match="read_table"):
        P.d_optimal(path)
