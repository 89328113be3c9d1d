"""`convexdesign efficiencies`: closed forms on the unit vectors."""

import json

import numpy as np
import pytest


@pytest.fixture
def identity(tmp_path):
    path = tmp_path / "eye.csv"
    path.write_text("name,a,b\nleft,1,0\nup,0,1\n")
    return path


def written(tmp_path, text):
    path = tmp_path / "given.csv"
    path.write_text(text)
    return path


def test_weights_on_the_unit_vectors(cli, identity, tmp_path):
    """Weights (.8, .2): D sqrt(4 .8 .2), A and I 4/(1/.8 + 1/.2), G .5/.2 over 1, E .2/.5."""
    given = written(tmp_path, "arm,weight\nup,0.2\nleft,0.8\n")
    result = cli("efficiencies", identity, "--weights", given, "--json")
    assert result.code == 0, result.err
    rows = {row["criterion"]: row for row in json.loads(result.out)["efficiencies"]}
    expected = {"D": 0.8, "A": 0.64, "G": 0.4, "I": 0.64, "E": 0.4}
    for name, efficiency in expected.items():
        low, high = rows[name]["efficiency_interval"]
        assert low - 1e-9 <= efficiency <= high + 1e-9
        assert low == pytest.approx(efficiency, abs=1e-5)
        assert rows[name]["note"] is None
    assert list(rows) == list(expected)


def test_counts_and_unequal_noise(cli, identity, tmp_path):
    """Variances (1, 4): 1 : 4 pulls balance the two means, which is G-optimal."""
    noise = tmp_path / "noise.csv"
    noise.write_text("arm,variance\nleft,1\nup,4\n")
    given = written(tmp_path, "1\n4\n")
    result = cli("efficiencies", identity, "--counts", given, "--noise-variance", noise, "--json")
    rows = {row["criterion"]: row for row in json.loads(result.out)["efficiencies"]}
    assert rows["G"]["efficiency"] == pytest.approx(1.0, abs=1e-5)
    assert rows["G"]["value"] == pytest.approx(5.0, rel=1e-6)
    assert rows["D"]["efficiency"] == pytest.approx(0.8, abs=1e-5)


def test_what_does_not_exist_is_said(cli, tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("a,b\n1,1\n2,2\n")
    given = written(tmp_path, "1\n1\n")
    document = json.loads(cli("efficiencies", path, "--counts", given, "--json").out)
    rows = {row["criterion"]: row for row in document["efficiencies"]}
    assert rows["A"]["efficiency"] is None
    assert "rank 1" in rows["A"]["note"]
    assert rows["D"]["efficiency"] == pytest.approx(5 / 8, abs=1e-5)  # (1 + 4)/2 over 4
    shown = cli("efficiencies", path, "--counts", given)
    assert shown.code == 0
    assert "A: the arms have rank 1" in shown.out


def test_factor_settings(cli, tmp_path):
    """Four corners once each: orthogonal, so everything is 1 for a model of main effects."""
    path = tmp_path / "corners.csv"
    path.write_text("a,b\n-1,-1\n1,-1\n-1,1\n1,1\n")
    given = written(tmp_path, "1\n1\n1\n1\n")
    result = cli("efficiencies", path, "--counts", given, "--formula", "1 + a + b")
    assert result.code == 0
    assert result.out.count("1.000000") >= 5  # each upper end; lower ones may be a digit below
    for name in ("D", "A", "G", "I", "E"):
        assert name in result.out


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["EYE"], ["exactly one of --weights, --counts and --design"]),
        (["EYE", "--weights", "GIVEN", "--counts", "GIVEN"], ["exactly one"]),
        (["EYE", "--weights", "GIVEN"], ["sum to 3"]),
        (["nowhere.csv", "--counts", "GIVEN"], ["nowhere.csv", "does not exist"]),
        (["problem.toml", "--counts", "GIVEN"], ["takes a table of arms"]),
        (["EYE", "--counts", "GIVEN", "--noise-variance", "0"], ["noise_variance", "positive"]),
        (["EYE", "--counts", "EYE"], ["several columns", "'count'"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input(cli, identity, tmp_path, words, parts):
    given = written(tmp_path, "1\n2\n")
    words = [{"EYE": str(identity), "GIVEN": str(given)}.get(word, word) for word in words]
    result = cli("efficiencies", *words)
    assert result.code == 2
    assert result.out == ""
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err


def test_criteria_are_chosen_and_one_out_of_reach_is_said(cli, identity, tmp_path, monkeypatch):
    given = written(tmp_path, "0.8\n0.2\n")
    rows = json.loads(cli("efficiencies", identity, "--weights", given, "--criteria", "e,d", "--json").out)
    assert [row["criterion"] for row in rows["efficiencies"]] == ["E", "D"]
    wrong = cli("efficiencies", identity, "--weights", given, "--criteria", "DX")
    assert wrong.code == 2
    assert "there is no criterion 'X'; give some of D, A, G, I, E, such as --criteria DA" in wrong.err
    # As if E in two dimensions were too large for this machine: all that is known is that it lies between 0 and 1.
    monkeypatch.setattr("convexdesign.criteria.program_size.memory_allowed", lambda: 1.0)
    result = cli("efficiencies", identity, "--weights", given, "--json")
    assert result.code == 3
    by_name = {row["criterion"]: row for row in json.loads(result.out)["efficiencies"]}
    assert by_name["E"]["efficiency_interval"] == [0.0, 1.0]
    assert "GB of memory" in by_name["E"]["note"]
    assert by_name["A"]["efficiency"] == pytest.approx(0.64, abs=1e-5)


CORNERS_AND_CENTRE = "a,b,count\n1,1,3\n0,0,2\n-1,-1,3\n1,-1,3\n-1,1,3\n"


@pytest.mark.parametrize("option", ["--counts", "--design"])
def test_a_list_of_settings_is_read_by_its_columns(cli, tmp_path, option):
    """Three runs at each corner and two at the centre of 14: sum a^2 = 12, so each is (12/14)^(2/3) D-efficient."""
    path = tmp_path / "grid.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a in (0, -1, 1) for b in (1, 0, -1)))
    given = written(tmp_path, CORNERS_AND_CENTRE)
    result = cli("efficiencies", path, option, given, "--formula", "1 + a + b", "--criteria", "D", "--json")
    assert result.code == 0, result.err
    (row,) = json.loads(result.out)["efficiencies"]
    assert row["efficiency"] == pytest.approx((12 / 14) ** (2 / 3), abs=1e-6)


def test_a_column_of_settings_is_never_taken_for_indices(cli, tmp_path):
    """One factor with levels 2, 1, 0 in this order: counts stand beside levels, not beside the numbers of arms."""
    path = tmp_path / "levels.csv"
    path.write_text("dose\n2\n1\n0\n")
    given = written(tmp_path, "dose,count\n0,4\n1,1\n2,1\n")
    words = ("verify", path, "--problem", "g-optimal", "--formula", "1 + dose", "--counts", given, "--json")
    found = json.loads(cli(*words).out)
    assert found["value"] == pytest.approx(np.max([x @ np.linalg.solve(MOMENTS, x) for x in LEVELS]), rel=1e-9)


LEVELS = np.array([[1.0, 2.0], [1.0, 1.0], [1.0, 0.0]])
MOMENTS = LEVELS.T @ np.diag([1 / 6, 1 / 6, 4 / 6]) @ LEVELS
