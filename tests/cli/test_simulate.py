"""`convexdesign simulate`: the same runs as in Python, whatever the number of processes; what is counted as an error."""

import csv
import json

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.cli.simulate import ALGORITHMS

SETTING = "soare-best-arm"


def document(result) -> dict:
    assert result.code == 0, result.err
    return json.loads(result.out)


def simulated(cli, *words) -> dict:
    return document(cli("simulate", *words, "--no-progress", "--json"))


def test_the_oracle_takes_what_its_formula_says(cli):
    """2 psi* log(2 |Z| / delta) pulls, rounded up on two arms; psi* = 266.91527 (certified), |Z| = 3."""
    found = simulated(cli, SETTING, "--algorithm", "oracle", "--replications", 5)
    (row,) = found["algorithms"]
    pulls = 2 * 266.91527 * np.log(2 * 3 / 0.05)
    assert pulls <= row["mean_samples"] <= pulls + 2
    assert row["standard_error"] == 0
    assert found["lower_bound"] == pytest.approx(2 * 0.95 * np.log(0.95 / 0.05) * 266.91527, rel=1e-5)
    assert found["lower_bound_theorem_1"] == pytest.approx(2 * np.log(1 / (2.4 * 0.05)) * 266.91527, rel=1e-5)
    assert row["times_lower_bound"] == pytest.approx(row["mean_samples"] / found["lower_bound"])
    assert found["truth"] == [0]


def test_runs_are_those_of_python_on_any_number_of_processes(cli, tmp_path):
    words = (SETTING, "--algorithm", "rage,oracle-equal-noise", "--replications", 3, "--seed", 7, "--delta", 0.1)
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    one = simulated(cli, *words, "--output", files[0])
    two = simulated(cli, *words, "--output", files[1], "--jobs", 2)
    assert one == two
    assert files[0].read_text() == files[1].read_text()
    world = cd.instances.soare()
    frame = cd.simulation.replicate(
        lambda rng: cd.identification.Rage(world.arms, delta=0.1, variance_bounds=(1.0, 20.0), rng=rng),
        lambda rng: cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=rng),
        replications=3,
        seed=7,
    )
    with files[0].open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["algorithm"] == "rage"]
    assert [int(row["samples"]) for row in rows] == frame.samples.tolist()
    assert one["algorithms"][0]["mean_samples"] == pytest.approx(frame.samples.mean())
    assert one["algorithms"][0]["standard_error"] == pytest.approx(frame.samples.sem())


def test_every_algorithm_runs_and_is_right(cli):
    """Two runs each on a problem with a wide gap, at delta = 1e-6: an error has probability below 1.4e-5."""
    words = [word for name in ALGORITHMS for word in ("--algorithm", name)]
    found = simulated(cli, "two-gap.toml", *words, "--replications", 2, "--delta", 1e-6)
    rows = {row["algorithm"]: row for row in found["algorithms"]}
    assert list(rows) == list(ALGORITHMS)
    for row in rows.values():
        assert (row["errors"], row["undecided"], row["runs"]) == (0, 0, 2)
    assert rows["h-rage"]["burn_in_samples"] > 0
    assert rows["rage"]["burn_in_samples"] == 0
    assert found["variance_bounds"] == [1.0, 2.0]


@pytest.fixture(autouse=True)
def wide_gap(tmp_path, monkeypatch):
    """Arms e1 and e2 of means 2 and 0, variances 1 and 2; in the directory where the commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two-gap.toml").write_text(
        'title = "two"\nkind = "best-arm-oracle"\narms = [[1.0, 0.0], [0.0, 1.0]]\ntheta = [2.0, 0.0]\n'
        'noise_variance = [1.0, 2.0]\narm_names = ["good", "bad"]\n'
    )


def test_level_sets_from_a_table_of_arms(cli, arms):
    words = ("--problem", "level-set-oracle", "--theta", "1,0", "--threshold", 0.5, "--noise-variance", 0.5)
    found = simulated(cli, arms, *words, "--algorithm", "rage", "--replications", 2, "--delta", 1e-6)
    assert found["truth"] == [0, 2]
    assert found["variance_bounds"] == [0.5, 0.5]
    assert found["algorithms"][0]["errors"] == 0


def test_undecided_runs_are_not_errors(cli):
    found = simulated(cli, SETTING, "--algorithm", "rage", "--replications", 2, "--max-samples", 10)
    (row,) = found["algorithms"]
    assert (row["undecided"], row["errors"]) == (2, 0)


def test_a_budget_ends_with_a_guess(cli):
    found = simulated(cli, SETTING, "--algorithm", "martingale", "--replications", 3, "--budget", 100)
    (row,) = found["algorithms"]
    assert (row["mean_samples"], row["undecided"]) == (100, 0)


def test_a_told_gap_takes_fewer_samples(cli):
    """The tilted arm is .12 behind; told, a run takes about 3.6 nats and not 4.9, a deviation of a run being half of that."""
    words = (SETTING, "--algorithm", "martingale", "--replications", 16)
    told, rest = (simulated(cli, *words, *more) for more in (("--smallest-gap", 0.12), ()))
    assert (told["smallest_gap"], rest["smallest_gap"]) == (0.12, None)
    assert told["algorithms"][0]["mean_samples"] < rest["algorithms"][0]["mean_samples"]
    assert (
        "--smallest-gap is martingale's alone"
        in cli("simulate", SETTING, "--algorithm", "rage", "--smallest-gap", 1).err
    )


def test_epsilon_counts_near_misses_as_right(cli):
    """e1 and the tilted arm differ by .12: with epsilon = 1 either will do, and every run is cheap."""
    words = ("--algorithm", "rage", "--replications", 4)
    near = simulated(cli, SETTING, *words, "--epsilon", 1.0)["algorithms"][0]
    exact = simulated(cli, SETTING, *words)["algorithms"][0]
    assert near["errors"] == 0
    assert near["mean_samples"] < exact["mean_samples"]


def test_the_bound_is_for_right_answers_alone(cli):
    words = (SETTING, "--algorithm", "rage", "--replications", 2, "--no-progress")
    found = document(cli("simulate", *words, "--epsilon", 1.0, "--json"))
    assert found["lower_bound"] is None
    assert "times_lower_bound" not in found["algorithms"][0]
    shown, exact = (cli("simulate", *words, "--epsilon", epsilon).out for epsilon in (1.0, 0.0))
    for text in ("times the bound", "no algorithm needs fewer"):
        assert text not in shown
        assert text in exact


@pytest.mark.parametrize("jobs", [1, 2])
def test_void_runs_are_counted_and_said_once(cli, tmp_path, jobs):
    """Variances 1 and 2 where the algorithms are told that none is above .02."""
    words = ("two-gap.toml", "--algorithm", "rage,oracle", "--variance-bounds", 0.01, 0.02, "--replications", 3)
    result = cli("simulate", *words, "--no-progress", "--jobs", jobs, "--output", tmp_path / "runs.csv", "--json")
    rows = {row["algorithm"]: row for row in document(result)["algorithms"]}
    assert (rows["rage"]["void"], rows["oracle"]["void"]) == (3, 0)
    assert result.err.count("warning") == 1
    assert "rage: void in 3 of 3 runs; the first: the rewards" in result.err
    with (tmp_path / "runs.csv").open(newline="") as file:
        assert [row["void"] for row in csv.DictReader(file)] == ["True"] * 3 + ["False"] * 3
    assert "void" in cli("simulate", *words, "--no-progress").out


def test_options_reach_the_algorithms(cli):
    words = ("two-gap.toml", "--algorithm", "h-rage", "--replications", 2)
    known = simulated(cli, *words, "--known-variances")["algorithms"][0]
    assert known["burn_in_samples"] == 0
    sharp = simulated(cli, *words)["algorithms"][0]
    wide = simulated(cli, *words, "--variance-bounds", 0.5, 4)["algorithms"][0]
    assert wide["burn_in_samples"] > sharp["burn_in_samples"] > 0
    noisy = simulated(cli, *words, "--noise", "uniform", "--known-variances")
    assert noisy["noise"] == "uniform"


def test_text_and_progress(cli):
    shown = cli("simulate", "two-gap.toml", "--algorithm", "oracle", "--replications", 2)
    assert shown.code == 0
    assert "the best item: good" in shown.out
    assert "0 of 2" in shown.out
    assert "oracle: 100%" in shown.err
    assert "replications" not in shown.out
    assert cli("simulate", "two-gap.toml", "--algorithm", "oracle", "--replications", 2, "--no-progress").err == ""


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["two-gap.toml"], ["--algorithm"]),
        (["two-gap.toml", "--algorithm", "lucky"], ["lucky", "h-rage"]),
        (["soare-xy", "--algorithm", "rage"], ["xy-allocation", "best-arm-oracle or level-set-oracle"]),
        (["two-gap.toml", "--algorithm", "rage", "--delta", "1"], ["delta is 1"]),
        (["two-gap.toml", "--algorithm", "rage", "--replications", "0"], ["replications is 0"]),
        (["two-gap.toml", "--algorithm", "rage", "--seed", "-1"], ["seed is -1"]),
        (["two-gap.toml", "--algorithm", "rage", "--variance-bounds", "2", "1"], ["variance_bounds are (2, 1)"]),
        (["two-gap.toml", "--algorithm", "h-rage", "--burn-in", "short"], ["burn_in is 'short'", "sharp"]),
        (["two-gap.toml", "--algorithm", "rage", "--noise", "cauchy"], ["cauchy", "gaussian"]),
        (["two-gap.toml", "--algorithm", "rage", "--epsilon", "-1"], ["epsilon is -1"]),
        (["two-gap.toml", "--algorithm", "rage", "--max-samples", "0"], ["max_samples is 0"]),
        (["two-gap.toml", "--algorithm", "martingale", "--budget", "0"], ["budget", "0"]),
        (["two-gap.toml", "--algorithm", "martingale,rage", "--budget", "9"], ["--budget is martingale's alone"]),
        (["two-gap.toml", "--algorithm", "rage", "--output", "no/runs.csv"], ["--output", "does not exist"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input(cli, words, parts):
    result = cli("simulate", *words, "--no-progress")
    assert result.code == 2, result.err
    assert result.out == ""
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("costs = [1.0, 2.0]", "no costs"),
        ("max_weight = 0.9", "no bounds"),
        ("existing_counts = [1, 1]\nn_new = 5", "no information held"),
    ],
)
def test_what_identification_does_not_take_is_refused(cli, tmp_path, field, part):
    text = (tmp_path / "two-gap.toml").read_text()
    (tmp_path / "more.toml").write_text(text + field + "\n")
    result = cli("simulate", "more.toml", "--algorithm", "rage")
    assert result.code == 2
    assert part in result.err


@pytest.mark.parametrize(
    ("error", "code"), [(cd.InputError("odd"), 2), (cd.SolverError("stuck"), 3), (KeyError("k"), 1)]
)
def test_a_run_that_fails_has_the_code_of_its_cause(cli, monkeypatch, error, code):
    def fails(*_):
        raise error

    monkeypatch.setattr("convexdesign.cli.simulate.record", fails)
    result = cli("simulate", "two-gap.toml", "--algorithm", "oracle", "--replications", 1, "--no-progress")
    assert result.code == code
    assert "replication 0 of seed 0 failed" in result.err
    assert ("Traceback" in result.err) == (code == 1)


def test_rewards_of_two_values_and_in_a_range(cli, tmp_path):
    """Rates .5 and .2 of two pages, at delta = 1e-3; rewards between 0 and 4 as well."""
    (tmp_path / "pages.csv").write_text("page,a,b\nold,1,0\nnew,0,1\n")
    words = (tmp_path / "pages.csv", "--problem", "best-arm-oracle", "--delta", 1e-3, "--replications", 3)
    found = simulated(
        cli, *words, "--theta", "0.5,0.2", "--noise", "bernoulli", "--algorithm", "martingale,rage,static,oracle"
    )
    assert (found["reward_range"], found["lower_bound"], found["variance_bounds"]) == ([0.0, 1.0], None, None)
    assert [(row["errors"], row["void"]) for row in found["algorithms"]] == [(0, 0)] * 4
    within = ("--noise", "bounded", "--reward-range", 0, 4, "--noise-variance", 1, "--algorithm", "martingale,rage")
    found = simulated(cli, *words, "--theta", "3,1", *within)
    assert [(row["errors"], row["void"]) for row in found["algorithms"]] == [(0, 0)] * 2
    for refused, reason in (
        (["--noise", "bernoulli", "--algorithm", "h-rage"], "H-RAGE does not hold"),
        (["--noise", "bernoulli", "--algorithm", "martingale", "--known-variances"], "rests on no variances"),
        (["--noise", "bernoulli", "--algorithm", "martingale", "--noise-variance", 1], "the means say the variances"),
        (["--noise", "bounded", "--algorithm", "rage"], "reward_range is None"),
        (["--reward-range", 0, 1, "--algorithm", "rage"], "has none; leave it out"),
    ):
        said = cli("simulate", *words, "--theta", "0.5,0.2", *refused, "--no-progress")
        assert said.code == 2
        assert reason in said.err


def test_runs_are_in_the_file_as_they_come(cli, tmp_path, monkeypatch):
    """What was found before an interruption is kept."""
    import convexdesign.cli.simulate as module

    path, kept, runs = tmp_path / "runs.csv", module.record, []

    def interrupted(*given):
        runs.append(path.read_text(encoding="utf-8"))
        if len(runs) == 3:
            raise KeyboardInterrupt
        return kept(*given)

    monkeypatch.setattr(module, "record", interrupted)
    result = cli("simulate", "two-gap.toml", "--algorithm", "oracle", "--output", path, "--no-progress")
    assert result.code == 130
    assert [text.count("\n") for text in runs] == [0, 2, 3]
    with path.open(newline="") as file:
        assert [row["replication"] for row in csv.DictReader(file)] == ["0", "1"]
