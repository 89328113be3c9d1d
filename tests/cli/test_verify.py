"""`convexdesign verify`: efficiencies known in closed form."""

import json

import numpy as np
import pytest

IDENTITY = "a,b\n1,0\n0,1\n"


@pytest.fixture
def identity(tmp_path):
    """Telling e1 from e2: weights (a, b) have the value 1/a + 1/b, 4 at best, so the efficiency is 4ab/(a + b)."""
    path = tmp_path / "eye.csv"
    path.write_text(IDENTITY)
    return path


def written(tmp_path, text):
    path = tmp_path / "given.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("option", "text", "efficiency"),
    [
        ("--weights", "0.5\n0.5\n", 1.0),
        ("--weights", "0.9\n0.1\n", 0.36),
        ("--counts", "3\n1\n", 0.75),
        ("--counts", "arm,count\n1,30\n0,10\n", 0.75),  # by index, in another order
        ("--counts", "arm,count\n1,7\n", 0.0),  # e1 is never measured
    ],
)
def test_efficiency(cli, identity, tmp_path, option, text, efficiency):
    result = cli("verify", identity, "--problem", "xy-allocation", option, written(tmp_path, text), "--json")
    assert result.code == 0, result.err
    document = json.loads(result.out)
    low, high = document["efficiency_interval"]
    assert low - 1e-9 <= efficiency <= high + 1e-9
    assert document["efficiency"] == low == pytest.approx(efficiency, abs=1e-6)
    assert (document["value"] is None) == (efficiency == 0)  # infinite


def test_tol_asks_for_more_than_knowing_the_efficiency(cli, identity, tmp_path):
    base = ("verify", identity, "--problem", "xy-allocation", "--counts", written(tmp_path, "49\n51\n"))
    # 4 * .49 * .51 = .9996: the gap is 4.0016e-4.
    assert cli(*base, "--tol", 1e-3).code == 0
    strict = cli(*base, "--tol", 1e-4)
    assert strict.code == 3
    assert "NOT within the tolerance" in strict.out


def test_text_names_both_ends_and_a_useless_design(cli, identity, tmp_path):
    out = cli("verify", identity, "--problem", "xy-allocation", "--counts", written(tmp_path, "3\n1\n")).out
    assert "efficiency" in out
    assert "0.75" in out
    useless = cli("verify", identity, "--problem", "xy-allocation", "--counts", written(tmp_path, "3\n0\n"))
    assert "useless as it is" in useless.out
    assert "item 0 - item 1 is not measured; moving 1 % of the effort to arm 1" in useless.out


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--weights", "0.5\n0.6\n", "sum to 1.1"),
        ("--weights", "1.5\n-0.5\n", r"weights[1] is -0.5"),
        ("--counts", "1.5\n2\n", "whole numbers"),
        ("--counts", "1\n2\n3\n", "there are 2 arms"),
        ("--counts", "0\n0\n", "measure something"),
    ],
)
def test_bad_weights_and_counts_are_refused(cli, identity, tmp_path, option, text, message):
    result = cli("verify", identity, "--problem", "xy-allocation", option, written(tmp_path, text))
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_exactly_one_of_weights_and_counts(cli, identity, tmp_path):
    given = written(tmp_path, "1\n1\n")
    assert cli("verify", identity, "--problem", "xy-allocation").code == 2
    both = cli("verify", identity, "--problem", "xy-allocation", "--weights", given, "--counts", given)
    assert both.code == 2
    assert "exactly one" in both.err


# ------------------------------------------------------- designs of other programs


@pytest.fixture
def square(tmp_path):
    """Four corners, named, for a model with two factors; uniform weights are D-optimal."""
    path = tmp_path / "square.csv"
    path.write_text("name,one,a,b\nmm,1,-1,-1\nmp,1,-1,1\npm,1,1,-1\npp,1,1,1\n")
    return path


@pytest.mark.parametrize(
    ("text", "options", "efficiency"),
    [
        ("b,a,one,count\n-1,-1,1,2\n-1,1,1,2\n1,-1,1,2\n1,1,1,1\n1,1,1,1\n", (), 1.0),
        ("one,a,b\n1,-1,-1\n1,-1,1\n1,1,-1\n1,1,1\n", (), 1.0),
        ("arm,weight\npp,0.25\nmm,0.25\npm,0.25\nmp,0.25\n", (), 1.0),
        ("arm,weight\npp,0.2501\nmm,0.2501\npm,0.2501\nmp,0.2501\n", ("--normalise",), 1.0),
        ("arm,effort\npp,1\nmm,1\npm,1\nmp,1\n", ("--column", "effort"), 1.0),
        ("arm,weight,count\npp,0.5,1\nmm,0.2,1\npm,0.2,1\nmp,0.1,1\n", ("--measure", "counts"), 1.0),
        ("one,a,b,count\n1,-1,-1.02,3\n1,-1,1,3\n1,1,-1,3\n1,1,1,3\n", ("--match-tol", 0.02), 1.0),
        # Three corners in equal parts: det 16/27, of 1 at best.
        ("arm,count\npp,2\nmm,2\npm,2\n", (), (16 / 27) ** (1 / 3)),
    ],
)
def test_a_listed_design_is_matched_and_judged(cli, square, tmp_path, text, options, efficiency):
    result = cli("verify", square, "--problem", "d-optimal", "--design", written(tmp_path, text), *options, "--json")
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert document["efficiency"] == pytest.approx(efficiency, abs=1e-6)
    assert document["optimal"] == (efficiency == 1)
    if efficiency < 1:
        assert document["improvement"]["names"] == ["mp"]
        assert document["worst_arms"][0]["arm"] == "mp"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("one,a,b,count\n1,-1,-1,3\n1,0.5,1,3\n", (), "row 2 at (1, 0.5, 1), nearest arm pp"),
        ("one,a,b,weight\n1,-1,-1,0.5\n1,1,1,0.4\n", (), "sum to 0.9, not 1"),
        ("arm,count\nzz,3\n", (), "no arm 'zz'"),
        ("arm,count\npp,3\n", ("--column", "n"), "no column 'n'"),
        ("arm,count\npp,3\n", ("--counts", "w.csv"), "exactly one of --weights, --counts and --design"),
    ],
)
def test_listed_designs_that_do_not_fit_are_refused(cli, square, tmp_path, text, options, message):
    result = cli("verify", square, "--problem", "d-optimal", "--design", written(tmp_path, text), *options)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


@pytest.mark.parametrize("named", [True, False], ids=["names", "indices"])
def test_the_file_that_solve_wrote_is_a_design(cli, identity, tmp_path, named):
    """It holds weights and the counts that they were rounded to: the counts, unless told otherwise."""
    arms = tmp_path / "arms.csv"
    arms.write_text("name,a,b\nfirst,1,0\nsecond,0,1\n" if named else "1,0\n0,1\n")
    solved = tmp_path / "solved.csv"
    assert cli("solve", arms, "--problem", "xy-allocation", "--round", 3, "--output", solved).code == 0
    base = ("verify", arms, "--problem", "xy-allocation", "--design", solved)
    assert "design           counts of 2 arms" in cli(*base).out
    assert "design           counts of 2 arms" in cli(*base, "--column", "count").out
    for words in (("--column", "weight"), ("--measure", "weights")):
        assert "design           weights of 2 arms" in cli(*base, *words).out
    # What is no pair of weights and their counts is not guessed.
    solved.write_text("arm,weight,count\n0,0.5,1\n1,0.7,2\n")
    assert "say which by column (--column)" in cli(*base).err


def test_weights_that_were_rounded_are_normalised(cli, identity, tmp_path):
    base = ("verify", identity, "--problem", "xy-allocation", "--weights", written(tmp_path, "0.51\n0.51\n"))
    refused = cli(*base)
    assert refused.code == 2
    assert "sum to 1.02, not 1; --normalise divides them" in refused.err
    assert cli(*base, "--normalise", "--tol", 1e-6).code == 0


def test_all_ways_to_give_a_design_are_named(cli, identity):
    assert "--weights, --counts and --design" in cli("verify", identity, "--problem", "xy-allocation").err


def test_settings_go_through_the_formula(cli, tmp_path):
    """A quadratic in a and a category: the listed rows are settings, in another order, with a column of counts."""
    table = tmp_path / "factors.csv"
    table.write_text("a,kind\n" + "".join(f"{a},{k}\n" for a in (-1, 0, 1) for k in ("new", "old")))
    listed = written(tmp_path, "kind,count,a\nold,2,1\nnew,1,1\nnew,1,1\nold,2,0\nnew,2,0\nold,2,-1\nnew,2,-1\n")
    words = ("verify", table, "--problem", "d-optimal", "--formula", "1 + a + a**2 + kind")
    result = cli(*words, "--design", listed)
    assert result.code == 0, result.err
    assert "counts of 6 arms" in result.out
    assert "12 measurements in all" in result.out
    assert "optimal: within" in result.out
    by_name = written(
        tmp_path, 'arm,count\n"a=1, kind=old",3\n"a=0, kind=new",3\n"a=-1, kind=new",3\n"a=0, kind=old",3\n'
    )
    again = cli(*words, "--design", by_name, "--json")
    assert again.code == 0, again.err
    assert 0 < json.loads(again.out)["efficiency"] < 1


def test_the_equivalence_theorem_is_drawn(cli, square, tmp_path):
    picture = tmp_path / "equivalence.svg"
    words = ("verify", square, "--problem", "d-optimal", "--counts", written(tmp_path, "1\n2\n3\n4\n"))
    assert cli(*words, "--plot", picture).code == 0
    assert picture.read_text().startswith("<?xml")
    assert cli(*words, "--plot", tmp_path / "x.doc").code == 2


# ---------------------------------------------------------- points off the list


@pytest.fixture
def vendor(tmp_path):
    """A 2 x 2 factorial as arms, and a design with one point between them."""
    arms, design = tmp_path / "factors.csv", tmp_path / "vendor.csv"
    arms.write_text("temp,time\n-1,-1\n1,-1\n-1,1\n1,1\n")
    design.write_text("temp,time,n\n-1,-1,2\n1,-1,2\n-1,1,2\n1,0.5,1\n1,0.5,1\n")
    return arms, design


def test_points_that_are_no_arms_are_added_where_wanted(cli, vendor):
    """The design's determinant over that of the factorial, which stays optimal: a point inside adds nothing to it."""
    arms, design = vendor
    words = ("verify", arms, "--problem", "d-optimal", "--design", design, "--formula", "1 + temp + time")
    refused = cli(*words)
    assert refused.code == 2
    assert "row 4 with temp=1, time=0.5, nearest arm temp=1, time=1, off by 0.25 of the range" in refused.err
    assert "--add-points" in refused.err
    added = cli(*words, "--add-points", "--json")
    assert added.code == 0, added.err
    assert "1 point of" in added.err
    X = np.array([[1, -1, -1], [1, 1, -1], [1, -1, 1], [1, 1, 0.5]])
    expected = np.linalg.det(X.T @ X / 4) ** (1 / 3)
    document = json.loads(added.out)
    assert document["efficiency"] == pytest.approx(expected, rel=1e-5)
    assert document["problem"]["n_arms"] == 5
    table = cli("efficiencies", arms, "--design", design, "--formula", "1 + temp + time", "--add-points", "--json")
    first = json.loads(table.out)["efficiencies"][0]
    assert (first["criterion"], first["efficiency"]) == ("D", pytest.approx(expected, rel=1e-5))


def test_a_better_point_that_was_added_lowers_the_efficiency_of_the_rest(cli, vendor, tmp_path):
    """All effort on +-1 while the vendor's list has 2: c-optimal for the slope through the origin, efficiency 1/4 of it."""
    arms, design = tmp_path / "line.csv", tmp_path / "few.csv"
    arms.write_text("name,x\nlow,-1\nhigh,1\n")
    design.write_text("x,n\n1,3\n2,1\n")
    result = cli("verify", arms, "--problem", "d-optimal", "--design", design, "--add-points", "--json")
    assert json.loads(result.out)["efficiency"] == pytest.approx((3 * 1 + 1 * 4) / 4 / 4, rel=1e-6)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--add-points", "--counts", "COUNTS"), "--add-points is for the points of a --design"),
        (("--column", "n", "--counts", "COUNTS"), "--column says how to read a --design"),
        (("--measure", "counts", "--counts", "COUNTS"), "--measure says how to read a --design"),
    ],
)
def test_options_of_a_listed_design_are_never_ignored(cli, vendor, tmp_path, words, part):
    (tmp_path / "counts.csv").write_text("1\n1\n1\n1\n")
    words = [str(tmp_path / "counts.csv") if word == "COUNTS" else word for word in words]
    result = cli("verify", vendor[0], "--problem", "d-optimal", *words)
    assert result.code == 2
    assert part in result.err


def test_points_cannot_be_added_to_a_problem_that_a_file_states(cli, problem_file, tmp_path):
    design = tmp_path / "design.csv"
    design.write_text("x1,x2,n\n1,0,1\n0,2,1\n")
    result = cli("verify", problem_file, "--design", design, "--add-points")
    assert result.code == 2
    assert "--add-points needs a table of arms" in result.err
