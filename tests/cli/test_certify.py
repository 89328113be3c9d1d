"""`convexdesign certify`, `check` and `verify --rigorous`: proofs as files, tampering, and what cannot be certified."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from convexdesign.rigorous import check as checker

TOML = (
    'title = "two"\nkind = "{kind}"\narms = [[1.0, 0.0], [0.0, 1.0]]\nnoise_variance = [1.0, 4.0]\n'
    'arm_names = ["left", "up"]\n'
)


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Telling two means of variances 1 and 4 apart: weights (1/3, 2/3), value (1 + 2)^2."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "two.toml"
    path.write_text(TOML.format(kind="xy-allocation"))
    return path


def test_a_certificate_is_accepted_here_and_by_the_checker_alone(cli, two, tmp_path):
    done = cli("certify", two, "--tol", 1e-8, "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["certificate"] == "certificate.json"
    assert 0 <= document["gap"] <= 1e-8
    path = tmp_path / "certificate.json"
    checked = cli("check", path, two, "--json")
    assert checked.code == 0
    found = json.loads(checked.out)
    assert found["accepted"] is True
    assert found["efficiency"] == document["efficiency"]
    alone = subprocess.run(
        [sys.executable, "-I", "-S", checker.__file__, str(path), str(two)], capture_output=True, text=True
    )
    assert alone.returncode == 0, alone.stderr
    assert "efficiency at least 0.99999999" in cli("check", path, two).out


def test_other_weights_are_certified_as_far_as_they_are_good(cli, two, tmp_path):
    """Equal weights: 1/.5 + 4/.5 = 10 against 9."""
    given = tmp_path / "w.csv"
    given.write_text("arm,weight\nleft,0.5\nup,0.5\n")
    words = ("certify", two, "--weights", given, "--output", "w.json")
    done = cli(*words, "--json")
    assert done.code == 3
    document = json.loads(done.out)
    assert document["certified"] is False
    assert document["efficiency"] == pytest.approx(0.9, rel=1e-8)
    assert cli(*words, "--tol", 0.12).code == 0
    assert "NOT within the tolerance" in cli(*words).out
    counts = tmp_path / "n.csv"
    counts.write_text("1\n2\n")
    assert cli("certify", two, "--counts", counts).code == 0


def test_a_changed_certificate_and_another_problem_are_rejected(cli, two, tmp_path):
    assert cli("certify", two).code == 0
    path = tmp_path / "certificate.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"value": document["bound"]}))
    changed = cli("check", path, two)
    assert changed.code == 3
    assert "certificate.json is rejected: a field is missing, added or changed" in changed.out
    path.write_text(json.dumps(document))
    assert cli("check", path, two).code == 0
    other = cli("check", path, "soare-xy", "--json")
    assert other.code == 3
    found = json.loads(other.out)
    assert (found["accepted"], found["efficiency"]) == (False, None)
    assert "other data" in found["reason"]
    for text in ("[]", "{}", "1", '{"weights": 3}'):
        path.write_text(text)
        assert cli("check", path, two).code == 3


def test_noise_from_Sigma_is_taken_exactly(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "sigma.toml"
    path.write_text(
        'title = "t"\nkind = "g-optimal"\narms = [[1.0, 0.1], [0.3, 1.0], [0.7, 0.7]]\n'
        "Sigma = [[1.1, 0.3], [0.3, 0.7]]\n"
    )
    assert cli("certify", path).code == 0
    assert cli("check", "certificate.json", path).code == 0


def test_determinants_count_by_their_root(cli, tmp_path, monkeypatch):
    """D on two unit vectors: weights (.8, .2) have det .16 against .25, efficiency .8."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "d.toml"
    path.write_text(TOML.format(kind="d-optimal"))
    given = tmp_path / "w.csv"
    given.write_text("0.8\n0.2\n")
    document = json.loads(cli("certify", path, "--weights", given, "--json").out)
    assert document["efficiency"] == pytest.approx(0.8, rel=1e-8)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["certify"], ["FILE"]),
        (["certify", "nowhere.toml"], ["nowhere.toml"]),
        (["certify", "parabola-e"], ["e-optimal", "certificate can be written for"]),
        (["certify", "two-arms-capped"], ["with constraints"]),
        (["certify", "arms.csv"], ["problem file (TOML)"]),
        (["certify", "two.toml", "--tol", "0"], ["--tol 0 must be positive"]),
        (["certify", "two.toml", "--output", "no/where.json"], ["--output", "does not exist"]),
        (["certify", "two.toml", "--weights", "w.csv", "--counts", "w.csv"], ["exactly one"]),
        (["certify", "two.toml", "--weights", "w.csv"], ["weights sum to 3"]),
        (["certify", "two.toml", "--counts", "half.csv"], ["counts must be", "whole"]),
        (["certify", "two.toml", "--counts", "less.csv"], ["counts must be nonnegative"]),
        (["check", "two.toml"], ["FILE"]),
        (["check", "nowhere.json", "two.toml"], ["nowhere.json"]),
        (["check", "two.toml", "two.toml"], ["is not JSON", "convexdesign certify"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input(cli, two, words, parts):
    Path("arms.csv").write_text("a,b\n1,0\n0,1\n")
    Path("w.csv").write_text("1\n2\n")
    Path("half.csv").write_text("0.5\n1\n")
    Path("less.csv").write_text("-1\n1\n")
    result = cli(*words)
    assert result.code == 2, (result.out, result.err)
    assert result.out == ""
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err
    assert not Path("certificate.json").exists()


def test_without_flint_the_extra_is_named(cli, two, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "flint", None)
    result = cli("certify", two)
    assert result.code == 2
    assert "convexdesign[rigorous]" in result.err


def test_rigorous_verification(cli, two, tmp_path):
    given = tmp_path / "w.csv"
    given.write_text("0.5\n0.5\n")
    words = ("verify", two, "--weights", given, "--json")
    proven = json.loads(cli(*words, "--rigorous").out)
    plain = json.loads(cli(*words).out)
    low, high = proven["efficiency_interval"]
    assert low <= 0.9 <= high
    assert high - low < 1e-8
    assert (proven["rigorous"], plain["rigorous"]) == (True, False)
    assert plain["efficiency"] == pytest.approx(low, abs=1e-6)
    assert "exactly as given" in cli(*words[:-1], "--rigorous").out
