"""`convexdesign verify`: efficiencies known in closed form."""

import json

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
    assert "does not measure some target" in useless.out


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
