"""`convexdesign estimate`: closed forms of chi-square intervals, every layout of the same data, bad input."""

import csv
import gzip
import io
import json
import sys

import numpy as np
import pytest
from scipy.stats import chi2

RAW = "arm,reward\nleft,1\nup,2\nleft,3\ntilt,5\nup,8\nleft,5\ntilt,6\ntilt,7\n"
# left: 1, 3, 5; up: 2, 8; tilt: 5, 6, 7.
COUNT, MEAN, M2 = [3, 2, 3], [3.0, 5.0, 6.0], [8.0, 18.0, 2.0]


@pytest.fixture
def observed(tmp_path):
    def write(text, name="observed.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def document(result) -> dict:
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_intervals_are_chi_square_with_bonferroni(cli, arms, observed):
    found = document(cli("estimate", observed(RAW), "--arms", arms, "--delta", 0.1, "--json"))
    assert found["names"] == ["left", "up", "tilt"]
    assert (found["count"], found["mean"], found["measurements"]) == (COUNT, MEAN, 8)
    dof, share = np.array(COUNT) - 1, 0.1 / 3
    np.testing.assert_allclose(found["variance"], np.array(M2) / dof)
    np.testing.assert_allclose(found["low"], M2 / chi2.ppf(1 - share / 2, dof))
    np.testing.assert_allclose(found["high"], M2 / chi2.ppf(share / 2, dof))


LAYOUTS = {
    "by index": "arm,reward\n0,1\n1,2\n0,3\n2,5\n1,8\n0,5\n2,6\n2,7\n",
    "semicolons and more columns": "when;reward;arm\n"
    "x;1;left\nx;2;up\nx;3;left\nx;5;tilt\nx;8;up\nx;5;left\nx;6;tilt\nx;7;tilt\n",
    "aggregates": "arm,count,mean,m2\ntilt,3,6,2\nleft,3,3,8\nup,2,5,18\n",
    "variances": "arm\tcount\tmean\tvariance\n2\t3\t6\t1\n0\t3\t3\t4\n1\t2\t5\t18\n",
    "in order": "count,mean,m2\n3,3,8\n2,5,18\n3,6,2\n",
    "batches": "arm,count,mean,m2\ntilt,3,6,2\nleft,2,2,2\nup,2,5,18\nleft,1,5,0\n",
    "byte-order mark": "\ufeff" + RAW,
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_layout_gives_the_same(cli, arms, observed, text):
    expected = document(cli("estimate", observed(RAW), "--arms", arms, "--json"))
    found = document(cli("estimate", observed(text, "other.csv"), "--arms", arms, "--json"))
    for name in ("count", "mean", "variance", "low", "high", "model"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)


def test_decimal_commas_where_said(cli, observed):
    eye = observed("1,0;0,0\n0,0;1,0\n", "arms.csv")
    path = observed("arm;reward\n0;1,5\n0;2,5\n1;7\n")
    found = document(cli("estimate", path, "--arms", eye, "--decimal", ",", "--json"))
    assert found["mean"] == [2.0, 7.0]
    unsaid = cli("estimate", path, "--arms", eye)
    assert unsaid.code == 2
    assert "row 1: reward is '1,5'" in unsaid.err


def test_standard_input_and_compressed_files(cli, arms, observed, tmp_path, monkeypatch):
    expected = document(cli("estimate", observed(RAW), "--arms", arms, "--json"))
    packed = tmp_path / "observed.csv.gz"
    packed.write_bytes(gzip.compress(RAW.encode()))
    assert document(cli("estimate", packed, "--arms", arms, "--json")) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RAW.encode())))
    assert document(cli("estimate", "-", "--arms", arms, "--json")) == expected


def test_other_names_of_columns(cli, arms, observed):
    path = observed(RAW.replace("arm,reward", "variant,y"))
    found = document(cli("estimate", path, "--arms", arms, "--arm-column", "variant", "--reward-column", "y", "--json"))
    assert found["count"] == COUNT


def test_the_model_covers_arms_never_measured(cli, arms, observed):
    """x'Sigma x of a third direction is not determined by two; a third measured arm determines it for all."""
    two = document(cli("estimate", observed("arm,reward\nleft,1\nleft,2\nup,4\nup,7\n"), "--arms", arms, "--json"))
    assert two["model"] is None
    assert "tilt" in two["note"]
    assert two["mean"] == [1.5, 5.5, None]
    assert (two["variance"][2], two["low"][2], two["high"][2]) == (None, 0.0, None)
    three = document(cli("estimate", observed(RAW), "--arms", arms, "--json"))
    X = np.array([[1, 0], [0, 1], [np.cos(0.5), np.sin(0.5)]])
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", X, three["Sigma"], X), three["model"])


def test_replicates_have_intervals_of_the_quadratic_form(cli, arms, observed):
    """Three arms in two dimensions determine Sigma: each fits its own sample variance; a fourth is known with them."""
    found = document(cli("estimate", observed(RAW), "--arms", arms, "--json"))
    np.testing.assert_allclose(found["replicates"], [4.0, 18.0, 1.0])
    assert all(a <= b <= c for a, b, c in zip(found["replicates_low"], found["replicates"], found["replicates_high"]))
    many = observed("arm,count,mean,m2\nleft,1001,5,1000\nup,1001,0,4000\ntilt,1001,7,2000\n")
    sure = document(cli("estimate", many, "--arms", arms, "--json"))
    np.testing.assert_allclose(sure["replicates"], [1.0, 4.0, 2.0])
    assert all(b < 1.5 * a for a, b in zip(sure["replicates"], sure["replicates_high"]))
    once = document(cli("estimate", observed("arm,reward\nleft,1\nleft,2\nup,4\ntilt,3\n"), "--arms", arms, "--json"))
    assert once["replicates"] is None
    assert "not determined by the 1 arms" in once["replicates_note"]


def test_known_bounds_cut_intervals_and_contradictions_are_said(cli, arms, observed):
    many = observed("arm,count,mean,m2\nleft,1001,0,1000\nup,1001,0,4000\ntilt,1001,0,2000\n")
    words = ("estimate", many, "--arms", arms, "--variance-bounds")
    cut = cli(*words, 1.05, 4.0, "--json")
    assert cut.err == ""
    found = document(cut)
    assert found["low"][0] == found["variance"][0] == 1.05
    assert found["high"][1] == 4.0
    wrong = cli(*words, 1.0, 2.0)
    assert wrong.code == 0
    assert "arm up has variance" in wrong.err
    assert "contradicts" in wrong.err


def test_the_table_written_is_noise_for_solve_and_observations_again(cli, arms, observed, tmp_path):
    out = tmp_path / "variances.csv"
    found = document(cli("estimate", observed(RAW), "--arms", arms, "--output", out, "--json"))
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["variance"]) for row in rows] == found["variance"]
    assert [float(row["high"]) for row in rows] == found["high"]
    solved = cli("solve", arms, "--problem", "g-optimal", "--noise-variance", out, "--json")
    listed = tmp_path / "plain.csv"
    listed.write_text("4\n18\n1\n")
    same = cli("solve", arms, "--problem", "g-optimal", "--noise-variance", listed, "--json")
    assert json.loads(solved.out)["value"] == pytest.approx(json.loads(same.out)["value"], rel=1e-9)
    assert document(cli("estimate", out, "--arms", arms, "--json"))["variance"] == found["variance"]


def test_text(cli, arms, observed):
    shown = cli("estimate", observed(RAW), "--arms", arms)
    assert shown.code == 0
    assert "8 measurements of 3 arms" in shown.out
    assert "all at once with probability 0.95" in shown.out
    words = " ".join(cli("estimate", "--help").out.split())
    assert "chi-square" in words
    assert "Bonferroni" in words


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        ("", [], ["observed.csv is empty", "arm,reward"]),
        ("a,b\n1,2\n", [], ["the header is 'a,b'", "--arm-column"]),
        ("arm,reward\n", [], ["no measurement"]),
        ("arm,reward\nleft,1\nlft,2\n", [], ["row 2: arm is 'lft'", "left, up, tilt"]),
        ("arm,reward\nlft,1\n", [], ["row 1: arm is 'lft'", "left, up, tilt"]),
        ("arm,reward\n0,1\n3,2\n", [], ["row 2: arm is 3", "0 to 2"]),
        ("arm,reward\nleft,1\nup,much\n", [], ["row 2: reward is 'much'"]),
        ("arm,count,mean,m2\nleft,2,1,-1\n", [], ["row 1: m2 is -1"]),
        ("arm,count,mean\nleft,2,1\n", [], ["no column 'm2' or 'variance'"]),
        (RAW, ["--delta", "0"], ["delta is 0"]),
        (RAW, ["--variance-bounds", "2", "1"], ["variance_bounds are (2, 1)"]),
        (RAW, ["--variance-bounds", "2"], ["--variance-bounds"]),
        (RAW, ["--decimal", ";"], ["decimal must be"]),
        (RAW, ["--output", "no/where.csv"], ["--output", "does not exist"]),
        (RAW, ["--arms", "nowhere.csv"], ["nowhere.csv"]),
    ],
)
def test_bad_input(cli, arms, observed, text, options, parts):
    words = options if "--arms" in options else [*options, "--arms", str(arms)]
    result = cli("estimate", observed(text), *words)
    assert result.code == 2, result.err
    assert result.out == ""
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err


def test_missing_observations_and_arms(cli, arms, observed):
    assert "no such file" in cli("estimate", "nowhere.csv", "--arms", arms).err
    assert cli("estimate", observed(RAW)).code == 2


@pytest.mark.parametrize(
    "content", [b"junk", gzip.compress(b"arm,reward\n0,1\n" * 50)[:-12]], ids=["no gzip", "cut short"]
)
def test_what_is_not_compressed_as_its_name_says_is_refused_in_words(cli, tmp_path, content):
    (tmp_path / "arms.csv").write_text("a,b\n1,0\n0,1\n")
    (tmp_path / "told.csv.gz").write_bytes(content)
    result = cli("estimate", tmp_path / "told.csv.gz", "--arms", tmp_path / "arms.csv")
    assert result.code == 2
    assert "told.csv.gz is damaged, or not compressed by gzip" in result.err
