"""match_design: points and names find their arms whatever the order; what does not fit is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convexdesign as cd

P = cd.DesignProblem
SQUARE = pd.DataFrame(
    {"temp": [300.0, 300.0, 350.0, 350.0], "dose": [0.1, 0.3, 0.1, 0.3]}, index=["low", "rich", "hot", "full"]
)


def written(tmp_path, text):
    path = tmp_path / "other.csv"
    path.write_text(text)
    return path


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.integers(0, 10**6))
def test_shuffled_split_and_rounded_points_come_back(seed):
    """Any design, its rows split in two, shuffled, in scaled columns and printed with ten digits, is what it was."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    arms = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-8, 9, d) + 10.0 ** rng.integers(-3, 3, d)
    arms = np.vstack([arms, arms[:1] + 1e-3 * np.ptp(arms, axis=0)])  # a close pair, still apart
    counts = rng.integers(0, 9, n + 1)
    counts[0] += 1
    support = np.flatnonzero(counts)
    first = rng.integers(0, counts[support] + 1)
    rows = rng.permutation(np.concatenate([support, support]))
    parts = {int(i): [int(a), int(counts[i] - a)] for i, a in zip(support, first)}
    effort = np.array([parts[int(i)].pop() for i in rows])
    spread = np.ptp(arms, axis=0)
    shown = arms[rows] + 1e-9 * spread * rng.uniform(-1, 1, (rows.size, d))
    assert np.array_equal(cd.match_design(arms, np.column_stack([shown, effort])), counts)
    share = cd.match_design(P.d_optimal(arms), shown, weights=effort / effort.sum())
    assert share == pytest.approx(counts / counts.sum(), abs=1e-12)


def test_columns_are_found_by_name_in_any_order_and_kind_of_frame():
    frame = pd.DataFrame({"Count": [3, 1], "dose": [0.3, 0.1], "temp": [350, 300]})
    for table in (frame, pl.from_pandas(frame)):
        found = cd.match_design(P.g_optimal(SQUARE), table)
        assert found.dtype == np.int64
        assert found.tolist() == [1, 0, 0, 3]
    weights = frame.rename(columns={"Count": "proportion"}).assign(proportion=[0.75, 0.25])
    assert cd.match_design(SQUARE, weights).tolist() == [0.25, 0, 0, 0.75]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arm,weight\nfull,0.25\nlow,0.5\nfull,0.25\n", [0.5, 0, 0, 0.5]),
        ("weight;arm\n0.25;full\n0.75;hot\n", [0, 0, 0.75, 0.25]),
        ("full,2\nlow,1\n", [1, 0, 0, 2]),
        ("arm\nfull\nlow\nfull\n", [1, 0, 0, 2]),
        ("temp,dose,n\n300,0.1,2\n350,0.3,5\n", [2, 0, 0, 5]),
        ("temp,dose\n300,0.1\n350,0.3\n300,0.1\n", [2, 0, 0, 1]),
        ("300,0.1,2\n350,0.3,5\n", [2, 0, 0, 5]),
        ("run,temp,dose\n1,350,0.3\n2,300,0.3\n3,350,0.3\n", [0, 1, 0, 2]),
        ("name,dose,temp,reps\nfull,0.3,350,4\nlow,0.1,300,1\n", [1, 0, 0, 4]),
        ("point,dose,temp,reps\nP1,0.3,350,4\nP2,0.1,300,1\n", [1, 0, 0, 4]),
        ("temp;dose;count\n300;0,1;2\n350;0,3;5\n", [2, 0, 0, 5]),
    ],
)
def test_files_of_every_form(tmp_path, text, expected):
    assert cd.match_design(P.d_optimal(SQUARE), written(tmp_path, text)).tolist() == expected


def test_lists_indices_and_arrays(tmp_path):
    assert cd.match_design(SQUARE, ["hot", "hot", "low"]).tolist() == [1, 0, 2, 0]
    assert cd.match_design(SQUARE, ["hot", "low"], counts=[4, 5]).tolist() == [5, 0, 4, 0]
    bare = SQUARE.to_numpy()
    assert cd.match_design(bare, written(tmp_path, "arm,count\n3,2\n0,7\n")).tolist() == [7, 0, 0, 2]
    np.save(tmp_path / "d.npy", np.column_stack([bare[[3, 0]], [2, 7]]))
    assert cd.match_design(bare, tmp_path / "d.npy").tolist() == [7, 0, 0, 2]


def test_what_solve_writes_and_frames_hold_is_read_back():
    design = cd.solve(P.g_optimal(SQUARE))
    frame = design.to_frame()[["arm", "weight"]]
    assert cd.match_design(design.problem, frame) == pytest.approx(design.weights)
    rounded = design.round(9)
    assert np.array_equal(cd.match_design(design.problem, rounded.to_frame()), rounded.counts)


def test_lifted_and_noisy_arms_are_matched_as_given():
    X = np.array([[1.0, 2.0], [0.5, 1.0], [3.0, -1.0]])
    lifted = P.variance_g_optimal(X, noise_variance=[1, 2, 3], costs=[3, 2, 1])
    assert cd.match_design(lifted, X[[2, 0]], counts=[4, 6]).tolist() == [6, 0, 4]


def test_arms_made_block_by_block():
    rows = np.random.default_rng(0).standard_normal((5000, 3))
    blocks = cd.BlockArms(5000, 3, lambda start, stop: rows[start:stop])
    found = cd.match_design(blocks, rows[[4999, 17]], counts=[1, 2])
    assert np.flatnonzero(found).tolist() == [17, 4999]
    assert found[[17, 4999]].tolist() == [2, 1]


# -------------------------------------------------------------------- tolerance


def test_the_tolerance_is_relative_to_the_range_of_the_column():
    # temp ranges over 50, dose over .2.
    near = [[300 + 50 * 9e-7, 0.1]]
    assert cd.match_design(SQUARE, near).tolist() == [1, 0, 0, 0]
    with pytest.raises(cd.InputError, match="no arms, to a tolerance of 1e-06"):
        cd.match_design(SQUARE, [[300 + 50 * 1.1e-6, 0.1]])
    with pytest.raises(cd.InputError, match="no arms"):
        cd.match_design(SQUARE, [[300, 0.1 + 0.2 * 1.1e-6]])
    assert cd.match_design(SQUARE, [[301, 0.1]], tol=0.03).tolist() == [1, 0, 0, 0]
    # A constant column is compared at its own size.
    ones = np.column_stack([np.full(3, 1e6), [0, 1, 2]])
    assert cd.match_design(ones, [[1e6 + 0.5, 1]]).tolist() == [0, 1, 0]


def test_points_that_are_no_arm_are_named_with_the_nearest():
    with pytest.raises(cd.InputError) as caught:
        cd.match_design(SQUARE, [[300, 0.1], [349, 0.3], [300, 0.15]])
    message = str(caught.value)
    assert "2 of 3 points are no arms" in message
    assert "points[1] at (349, 0.3), nearest arm full at (350, 0.3), off by 0.02 of the range" in message
    assert "points[2] at (300, 0.15), nearest arm low" in message


@pytest.mark.parametrize("gap", [0.0, 1e-12])
def test_two_arms_equally_near_are_both_named(gap):
    arms = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, gap]])
    with pytest.raises(cd.InputError, match=r"points\[0\]: \(1, 0\) is equally near to arm 1 and arm 2"):
        cd.match_design(arms, [[1, 0]])
    assert cd.match_design(arms, [[0, 1]]).tolist() == [1, 0, 0]


def test_halfway_between_two_arms_within_the_tolerance():
    with pytest.raises(cd.InputError, match="equally near to arm 0 and arm 1"):
        cd.match_design([[0.0], [1.0], [10.0]], [[0.5]], tol=0.1)
    assert cd.match_design([[0.0], [1.0], [10.0]], [[0.4]], tol=0.1).tolist() == [1, 0, 0]


def test_twins_are_told_apart_by_name():
    twins = pd.DataFrame([[1.0, 0.0], [1.0, 0.0]], index=["old", "new"], columns=["a", "b"])
    assert cd.match_design(twins, ["new"], counts=[3]).tolist() == [0, 3]
    listed = pd.DataFrame({"a": [1.0], "b": [0.0], "count": [3]}, index=["new"])
    assert cd.match_design(twins, listed).tolist() == [0, 3]


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,weight\nful,0.5\nlow,0.5\n", r"row 1: there is no arm 'ful'; did you mean 'full'\?"),
        ("name,dose,temp,reps\nfull,0.1,350,4\n", r"row 1: arm full is at \(350, 0.3\), but the row says"),
        ("temp,dose,weight,count\n300,0.1,1,4\n", "'weight' and 'count' could both be the effort"),
        ("temp,dosage,count\n300,0.1,4\n", "there is no column 'dose'"),
        ("temp,dose,block,count\n300,0.1,1,4\n", "3 columns"),
        ("temp,dose,weight\n300,0.1,0.33\n350,0.1,0.66\n", "the weights sum to 0.99, not 1; normalise"),
        ("temp,dose,count\n300,0.1,-4\n", "row 1: the count is -4"),
        ("temp,dose,count\n300,0.1,4\n300,0.1,0.5\n", "row 2: the count is 0.5; counts are whole numbers"),
        ("temp,dose,count\n300,0.1,0\n", "all counts are zero"),
        ("weight\n1\n", "neither coordinates nor names"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, text, message):
    with pytest.raises(cd.InputError, match=message):
        cd.match_design(P.d_optimal(SQUARE), written(tmp_path, text))


def test_the_column_can_be_named_and_the_measure_said(tmp_path):
    both = written(tmp_path, "temp,dose,weight,count\n300,0.1,0.5,4\n350,0.3,0.5,5\n")
    assert cd.match_design(SQUARE, both, measure="counts", column="count").size == 4
    odd = written(tmp_path, "temp,dose,effort\n300,0.1,2\n350,0.3,6\n")
    assert cd.match_design(SQUARE, odd, column="effort").tolist() == [2, 0, 0, 6]
    assert cd.match_design(SQUARE, odd, column="effort", measure="weights", normalise=True).tolist() == [
        0.25,
        0,
        0,
        0.75,
    ]
    with pytest.raises(cd.InputError, match="there is no column 'mass'; the columns are temp, dose, effort"):
        cd.match_design(SQUARE, odd, column="mass")
    with pytest.raises(cd.InputError, match="say with measure"):
        cd.match_design(SQUARE.to_numpy(), [[300, 0.1, 0.5], [350, 0.3, 0.6]])
    with pytest.raises(cd.InputError, match="measure is 'mass'"):
        cd.match_design(SQUARE, odd, measure="mass")
    with pytest.raises(cd.InputError, match="one of weights=, counts="):
        cd.match_design(SQUARE, ["low"], weights=[1], counts=[1])
    for tol in (0, -1, np.nan):
        with pytest.raises(cd.InputError, match="tol"):
            cd.match_design(SQUARE, ["low"], tol=tol)


def test_a_matched_design_is_verified():
    """The book's D-optimal design for a quadratic, listed by its three points."""
    problem = P.d_optimal(np.vander(np.linspace(-1, 1, 21), 3))
    design = [[x**2, x, 1] for x in (-1, 0, 1)]
    assert cd.verify(problem, weights=cd.match_design(problem, design, weights=[1 / 3] * 3)).is_optimal()
    assert cd.verify(problem, counts=cd.match_design(problem, design * 4)).is_optimal()
