"""`convexdesign round`: counts against exhaustive values, files read back, limits and mistakes."""

import json

import numpy as np
import pytest

import convexdesign as cd


def done(result, code=0) -> dict:
    assert result.code == code, result.err
    return json.loads(result.out)


def test_best_counts_of_a_quadratic_on_a_grid(cli):
    """N = 7 on the 3x3 grid: det of the best design .00815987 per measurement, by exhaustive search."""
    document = done(cli("round", "grid-3x3-d", "--n", 7, "--method", "optimal", "--json"))
    assert sum(document["counts"]) == document["total"] == 7
    assert np.exp(document["value"]) == pytest.approx(0.00815987, rel=1e-5)
    assert document["efficiency"] == pytest.approx((0.00815987 / 0.01142700) ** (1 / 6), rel=1e-5)
    assert document["optimality_gap"] <= 1e-5


def test_counts_written_verify_with_the_efficiency_printed(cli, arms, tmp_path):
    out = tmp_path / "n.csv"
    words = (arms, "--problem", "xy-allocation", "--noise-variance", 2)
    document = done(cli("round", *words, "--n", 11, "--output", out, "--json"))
    assert out.read_text().splitlines()[0] == "arm,count"
    verified = done(cli("verify", *words, "--counts", out, "--json"))
    assert verified["efficiency"] == pytest.approx(document["efficiency"], abs=1e-6)
    # The value 8 per measurement (2 x 4), over 11 measurements, divided by the efficiency.
    assert document["max_variance"] == pytest.approx(8 / 11 / document["efficiency"], rel=1e-5)


def test_a_saved_design_is_rounded_as_it_is(cli, problem_file, tmp_path):
    saved = tmp_path / "design.json"
    assert cli("solve", problem_file, "--output", saved).code == 0
    document = done(cli("round", saved, "-n", 5, "--method", "apportion", "--json"))
    assert document["weights"] == cd.Design.load(saved).weights.tolist()
    assert document["total"] == 5
    extra = cli("round", saved, "-n", 5, "--problem", "g-optimal")
    assert extra.code == 2
    assert "--problem cannot be combined" in extra.err


def test_ceil_may_take_one_more_per_arm(cli):
    document = done(cli("round", "experiment-3-xy", "--n", 101, "--method", "ceil", "--json"))
    support = int(np.count_nonzero(document["weights"]))
    assert 101 <= document["total"] <= 101 + support
    assert document["n"] == 101


def test_limits_as_numbers_and_files(cli, arms, tmp_path):
    caps = tmp_path / "caps.csv"
    caps.write_text("arm,count\nup,2\n")  # no cap for the others
    words = ("round", arms, "--problem", "g-optimal", "--n", 9, "--json")
    counts = done(cli(*words, "--max-counts", caps))["counts"]
    assert counts[1] <= 2
    assert sum(counts) == 9
    assert min(done(cli(*words, "--min-counts", 2))["counts"]) >= 2


def test_text_shows_counts_and_the_proof(cli, problem_file):
    result = cli("round", problem_file, "--n", 10)
    assert result.code == 0
    assert "10 measurements" in result.out
    assert "proven" in result.out
    optimal = cli("round", problem_file, "--n", 10, "--method", "optimal")
    assert "whole numbers" in optimal.out


def test_proportions_that_are_not_certified(cli, tmp_path):
    """One multiplicative step proves no gap of 1e-12; counts and efficiency are there anyway."""
    saved = tmp_path / "d.json"
    hasty = ("--method", "multiplicative", "--tol", 1e-12, "--time-limit", 1e-6)
    assert cli("solve", "experiment-2-best-arm", *hasty, "--output", saved).code == 3
    document = done(cli("round", saved, "--n", 1000, "--json"), code=3)
    assert document["certified"] is False
    assert 0 < document["efficiency"] < 1


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ([], ["--n"]),
        (["--n", "0"], ["--n 0"]),
        (["--n", "1.5"], ["--n"]),
        (["--n", "1"], ["2"]),  # two dimensions need two measurements
        (["--n", "5", "--method", "floor"], ["floor", "apportion"]),
        (["--n", "5", "--min-counts", "3"], ["min_counts add up to 9"]),
        (["--n", "5", "--max-counts", "1"], ["max_counts add up to 3"]),
        (["--n", "5", "--min-counts", "few"], ["--min-counts few: neither a number nor a file"]),
        (["--n", "5", "--output", "no/where.csv"], ["--output", "does not exist"]),
        (["--n", "5", "--theta", "1,0"], ["--theta cannot be combined"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input(cli, problem_file, options, parts):
    result = cli("round", problem_file, *options)
    assert result.code == 2
    assert result.out == ""
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err


def test_a_broken_saved_design(cli, tmp_path):
    path = tmp_path / "d.json"
    path.write_text("{}")
    result = cli("round", path, "--n", 5, "--json")
    assert result.code == 2
    assert "not a saved design" in json.loads(result.out)["error"]["message"]


def test_effort_is_a_word_or_seconds(cli, problem_file):
    words = ("round", problem_file, "--n", 10, "--json")
    for effort in ("quick", "0.05"):
        assert done(cli(*words, "--effort", effort))["total"] == 10
    wrong = cli(*words, "--effort", "hard")
    assert wrong.code == 2
    assert "effort" in json.loads(wrong.out)["error"]["message"]


def test_a_budget_is_kept_and_what_is_outside_ends_with_three(cli, tmp_path):
    arms = tmp_path / "arms.csv"
    arms.write_text("x0,x1,x2\n" + "".join(f"1,{x},{x * x}\n" for x in (-2, -1, 0, 1, 2)), encoding="utf-8")
    costs = tmp_path / "costs.csv"
    costs.write_text("5\n2\n1\n2\n5\n", encoding="utf-8")
    words = ("round", arms, "--problem", "d-optimal", "--costs", costs)
    plan = done(cli(*words, "--budget", 40, "--json"))
    assert plan["cost"] <= 40
    assert plan["cost"] == np.dot(plan["counts"], [5, 2, 1, 2, 5])
    text = cli(*words, "--n", 9, "--budget", 40).out
    assert "of 40" in text
    assert "per unit of budget" in text
    assert cli(*words).code == 2
    # At least .13 everywhere: of 7 the second and fourth arm have .91, rounded up 1, the others 5.18 together, rounded up 6 or
    # more, and 1/8 < .13.
    document = done(cli("round", *words[1:4], "--min-weight", 0.13, "--n", 7, "--method", "ceil", "--json"), 3)
    assert document["counts"][1] == document["counts"][3] == 1
    assert not document["allowed"]
    assert document["broken"] == ["min_weight[1]", "min_weight[3]"]


def test_the_command_line_writes_and_reads_one(cli, tmp_path):
    arms, out = tmp_path / "factors.csv", tmp_path / "runs.csv"
    arms.write_text("resin,temp\n" + "".join(f"{r},{t}\n" for r in "AB" for t in (150, 170, 190)), encoding="utf-8")
    words = (arms, "--formula", "resin + temp + temp**2", "--problem", "d-optimal")
    assert cli("round", *words, "--n", 11, "--run-sheet", out, "--seed", 5).code == 0
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "run,arm,replicate,resin,temp"
    assert len(lines) == 12
    text = cli("verify", *words, "--runs", out, "--diagnostics").out
    assert "standard error" in text
    assert "no plan of 11 runs that is better was found" in text or "whole numbers" in text
