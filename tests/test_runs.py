"""Run sheets: every run once, in random order within blocks, and read back."""

from __future__ import annotations

import itertools

import numpy as np
import pandas
import pytest

import convexdesign as cd
from convexdesign.runs import arms_of_runs, sheet_of

SETTINGS = pandas.DataFrame(list(itertools.product(["A", "B"], [150.0, 170.0, 190.0])), columns=["resin", "temp"])
PROBLEM = cd.DesignProblem.d_optimal(cd.features.model_matrix(SETTINGS, "resin + temp + temp**2"))
COUNTS = np.array([2, 0, 1, 3, 1, 2])


def test_a_sheet_has_every_run_with_its_settings():
    sheet = sheet_of(PROBLEM, COUNTS, seed=3)
    assert list(sheet.columns) == ["run", "arm", "replicate", "resin", "temp"]
    assert sheet["run"].tolist() == list(range(1, 10))
    assert np.bincount(sheet["arm"], minlength=6).tolist() == COUNTS.tolist()
    for row in sheet.itertuples():
        assert (row.resin, row.temp) == tuple(SETTINGS.iloc[row.arm])
    for arm, group in sheet.groupby("arm"):
        assert group["replicate"].tolist() == list(range(1, COUNTS[arm] + 1))


def test_the_order_is_that_of_the_seed_and_every_order_can_come():
    first = sheet_of(PROBLEM, COUNTS, seed=3)
    pandas.testing.assert_frame_equal(first, sheet_of(PROBLEM, COUNTS, seed=3))
    firsts = {sheet_of(PROBLEM, COUNTS, seed=s)["arm"].iloc[0] for s in range(60)}
    assert firsts == set(
        np.flatnonzero(COUNTS)
    )  # an arm with one run of nine is missed with probability (8/9)^60 < .001


def test_runs_are_shuffled_within_blocks():
    sheet = sheet_of(PROBLEM, COUNTS, seed=0, blocks="resin")
    assert sheet["block"].tolist() == ["A"] * 3 + ["B"] * 6
    assert (sheet["block"] == sheet["resin"]).all()
    other = sheet_of(PROBLEM, COUNTS, seed=0, blocks=[1, 2, 1, 2, 1, 2])
    assert other["block"].is_monotonic_increasing
    with pytest.raises(cd.InputError, match=r"no column 'day'.*resin, temp"):
        sheet_of(PROBLEM, COUNTS, blocks="day")


def test_a_sheet_is_read_back_by_arm_or_by_settings():
    sheet = sheet_of(PROBLEM, COUNTS, seed=1)
    order = sheet["arm"].tolist()
    assert arms_of_runs(PROBLEM, sheet) == order
    assert arms_of_runs(PROBLEM, sheet.drop(columns="arm")) == order
    as_text = sheet.drop(columns="arm").astype(str)
    assert arms_of_runs(PROBLEM, as_text) == order
    strange = sheet.drop(columns="arm")
    strange.loc[4, "temp"] = 155.0
    with pytest.raises(cd.InputError, match=r"run 5 .*temp = 155"):
        arms_of_runs(PROBLEM, strange)
    with pytest.raises(cd.InputError, match="run 1 is of arm 6"):
        arms_of_runs(PROBLEM, pandas.DataFrame({"arm": [6]}))


def test_named_arms_and_plain_coordinates():
    named = cd.DesignProblem.d_optimal(pandas.DataFrame([[1, -1], [1, 1]], index=["low", "high"], columns=["one", "x"]))
    sheet = sheet_of(named, np.array([1, 2]))
    assert sorted(sheet["arm"]) == ["high", "high", "low"]
    assert set(sheet.columns) == {"run", "arm", "replicate", "one", "x"}
    assert sorted(arms_of_runs(named, sheet)) == [0, 1, 1]
