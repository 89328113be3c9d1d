"""`convexdesign solve`: against known values, in every form of input, and what it writes read back."""

import csv
import json

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problemfile import find, load_problem

SOARE = np.array([[1.0, 0.0], [0.0, 1.0], [np.cos(0.5), np.sin(0.5)]])


def solved(result) -> dict:
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert document["certified"] is True
    assert document["gap"] <= document["tol"]
    upper = document["lower_bound"] is None
    assert (document["bound"] >= document["value"] - 1e-9) if upper else (document["bound"] <= document["value"] + 1e-9)
    assert sum(document["weights"]) == pytest.approx(1.0)
    assert document["support"] == [i for i, w in enumerate(document["weights"]) if w > 0]
    return document


def test_a_problem_file_by_path_and_by_name(cli, problem_file):
    document = solved(cli("solve", problem_file, "--json"))
    assert document["value"] == pytest.approx(4.0, rel=1e-5)
    assert document["names"] == ["left", "up", "tilt"]
    assert document["problem"]["kind"] == "xy-allocation"
    oracle = solved(cli("solve", "experiment-2-best-arm", "--json"))
    assert oracle["value"] == pytest.approx(11796.468, rel=1e-5)


def test_the_weights_in_the_json_have_the_value_reported(cli):
    """Recomputed by plain linear algebra from the library's data."""
    document = solved(cli("solve", "experiment-2-best-arm", "--json"))
    problem = load_problem(find("experiment-2-best-arm")).problem()
    Y = problem.arms.take(np.arange(problem.n_arms))
    A = Y.T @ (np.array(document["weights"])[:, None] * Y)
    V = problem.targets.take(np.arange(problem.targets.m))
    worst = np.einsum("ij,ji->i", V, np.linalg.solve(A, V.T)).max()
    assert document["value"] == pytest.approx(worst, rel=1e-6)


def written(path) -> list[dict]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


KINDS = {
    # problem, options, the same in Python
    "g-optimal": ([], cd.DesignProblem.g_optimal(SOARE)),
    "d-optimal": ([], cd.DesignProblem.d_optimal(SOARE)),
    "variance-g-optimal": ([], cd.DesignProblem.variance_g_optimal(SOARE)),
    "xy-allocation": (["--noise-variance", "2.5"], cd.DesignProblem.xy_allocation(SOARE, noise_variance=2.5)),
    "level-set-allocation": (["--items", "ITEMS"], cd.DesignProblem.level_set_allocation(SOARE, [[1, 1], [2, 0]])),
    "best-arm-oracle": (
        ["--theta", "1,0", "--noise-variance", "NOISE"],
        cd.DesignProblem.best_arm_oracle(SOARE, theta=[1, 0], noise_variance=[1, 20, 1]),
    ),
    "level-set-oracle": (
        ["--theta", "THETA", "--threshold", "0.9"],
        cd.DesignProblem.level_set_oracle(SOARE, theta=[1, 0.25], threshold=0.9),
    ),
    "c-optimal": (["--direction", "-1,2"], cd.DesignProblem.c_optimal(SOARE, [-1, 2])),
    "minimax": (["--targets", "ITEMS"], cd.DesignProblem(SOARE, [[1, 1], [2, 0]])),
    "ds-optimal": (["--interest", "1"], cd.DesignProblem.ds_optimal(SOARE, interest=[1])),
    "a-optimal": ([], cd.DesignProblem.a_optimal(SOARE)),
    "i-optimal": (["--region", "ITEMS"], cd.DesignProblem.i_optimal(SOARE, region=[[1, 1], [2, 0]])),
    "average-variance": (["--matrix", "MATRIX"], cd.DesignProblem.average_variance(SOARE, M=[[3, 1], [1, 2]])),
    "e-optimal": ([], cd.DesignProblem.e_optimal(SOARE)),
    "phi2-optimal": ([], cd.DesignProblem.phi2_optimal(SOARE)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_arms_gives_the_same_as_python(cli, arms, tmp_path, kind):
    options, problem = KINDS[kind]
    (tmp_path / "ITEMS").write_text("a,b\n1,1\n2,0\n")
    (tmp_path / "MATRIX").write_text("a,b\n3,1\n1,2\n")
    (tmp_path / "THETA").write_text("1\n0.25\n")
    (tmp_path / "NOISE").write_text("name,noise\ntilt,1\nup,20\nleft,1\n")  # by name, in another order
    words = [str(tmp_path / word) if word.isupper() else word for word in options]
    document = solved(cli("solve", arms, "--problem", kind, *words, "--json"))
    design = cd.solve(problem)
    assert document["value"] == pytest.approx(design.value, rel=1e-5, abs=1e-5)


def test_every_kind_there_is_can_be_asked_for():
    from convexdesign.problemfile import KINDS as known

    assert set(known) == set(KINDS)


def test_decimal_comma_and_delimiter_can_be_said(cli, tmp_path):
    """Two whole numbers a line can be read in two ways; the options decide."""
    path = tmp_path / "eye.csv"
    path.write_text("1,0\n2,1\n")
    words = ("solve", path, "--problem", "xy-allocation", "--json")
    assert cli(*words).code == 2
    document = solved(cli(*words, "--delimiter", ",", "--decimal", "."))
    assert document["value"] == pytest.approx(4.0, rel=1e-5)


def test_interest_as_a_matrix_of_combinations(cli, arms, tmp_path):
    K = tmp_path / "K.csv"
    K.write_text("combination\n1\n-1\n")
    document = solved(cli("solve", arms, "--problem", "ds-optimal", "--interest", K, "--json"))
    # One combination: minus the log of the c-optimal value.
    c = cd.solve(cd.DesignProblem.c_optimal(SOARE, [1, -1]))
    assert document["value"] == pytest.approx(-np.log(c.value), rel=1e-5)


def test_text_says_what_was_solved_and_how_well(cli, problem_file):
    result = cli("solve", problem_file)
    assert result.code == 0
    assert result.err == ""
    assert "xy-allocation: 3 arms in 2 dimensions, 3 targets" in result.out
    assert "certified, the tolerance is 1.0e-06" in result.out
    document = solved(cli("solve", problem_file, "--json"))
    for i in document["support"]:
        assert document["names"][i] in result.out


def test_weights_written_are_the_weights_printed_and_verify(cli, problem_file, tmp_path):
    out = tmp_path / "w.csv"
    document = solved(cli("solve", problem_file, "--output", out, "--json"))
    rows = written(out)
    assert [row["arm"] for row in rows] == ["left", "up", "tilt"]
    assert [float(row["weight"]) for row in rows] == document["weights"]
    verified = cli("verify", problem_file, "--weights", out, "--tol", 1e-5, "--json")
    assert verified.code == 0
    assert json.loads(verified.out)["efficiency"] == pytest.approx(1.0, abs=1e-5)


def test_names_that_look_like_numbers_go_to_files_as_indices(cli, tmp_path):
    """Names "2", "1", "0" would be read back as indices, in the wrong order."""
    path = tmp_path / "p.toml"
    path.write_text(
        'title = "t"\nkind = "c-optimal"\narms = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]]\n'
        'arm_names = ["2", "1", "0"]\ndirection = [3.0, 1.0]\n'
    )
    out = tmp_path / "w.csv"
    solved(cli("solve", path, "-o", out, "--json"))
    assert [row["arm"] for row in written(out)] == ["0", "1", "2"]
    assert cli("verify", path, "--weights", out, "--tol", 1e-5).code == 0


def test_output_json_is_a_design_that_loads(cli, problem_file, tmp_path):
    out = tmp_path / "design.json"
    document = solved(cli("solve", problem_file, "--output", out, "--json"))
    design = cd.Design.load(out)
    assert design.weights.tolist() == document["weights"]
    assert design.status is cd.Status.CERTIFIED


@pytest.mark.parametrize(("ending", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_plot_writes_the_format_of_the_ending(cli, problem_file, tmp_path, ending, magic):
    picture = tmp_path / f"plot{ending}"
    assert cli("solve", problem_file, "--plot", picture).code == 0
    assert picture.read_bytes().startswith(magic)


@pytest.mark.parametrize("formulation", ["sdp", "socp", "dual-socp", "matrix-fractional"])
def test_formulations_and_backends_are_passed_on(cli, problem_file, formulation):
    document = solved(
        cli("solve", problem_file, "--method", "conic", "--formulation", formulation, "--backend", "clarabel", "--json")
    )
    assert (document["formulation"], document["backend"]) == (formulation, "clarabel")
    assert document["value"] == pytest.approx(4.0, rel=1e-5)


def test_large_supports_are_cut_and_the_rest_is_counted(cli, tmp_path):
    """All 60 columns of the identity are needed for G; 20 are shown and 40 counted."""
    path = tmp_path / "eye.npy"
    np.save(path, np.eye(60))
    result = cli("solve", path, "--problem", "g-optimal")
    assert result.code == 0
    assert "and 40 more arms with weight 0.666667" in result.out


def test_names_with_brackets_are_printed_as_they_are(cli, tmp_path):
    path = tmp_path / "arms.csv"
    path.write_text('name,a,b\n"[red]",1,0\n"x[0]",0,1\n')
    out = cli("solve", path, "--problem", "g-optimal").out
    assert "[red]" in out
    assert "x[0]" in out


def test_several_responses_from_a_file_and_from_arrays(cli, tmp_path):
    """The library's plots in pairs, 108/95; and three-dimensional NPY arrays of arms and of covariances."""
    document = solved(cli("solve", "plots-in-pairs-xy", "--json"))
    assert document["value"] == pytest.approx(108 / 95, rel=1e-6)
    assert document["problem"]["responses"] == 2
    shown = cli("solve", "plots-in-pairs-xy", "--round", 12).out
    assert "10 arms in 4 dimensions with up to 2 responses, 6 targets" in shown
    X = np.random.default_rng(1).standard_normal((6, 3, 2))
    S = np.tile([[1.0, 0.5], [0.5, 2.0]], (6, 1, 1))
    np.save(tmp_path / "arms.npy", X)
    np.save(tmp_path / "noise.npy", S)
    command = (
        "solve",
        tmp_path / "arms.npy",
        "--problem",
        "d-optimal",
        "--noise-variance",
        tmp_path / "noise.npy",
        "--json",
    )
    document = solved(cli(*command))
    A = sum(w * x @ np.linalg.inv(s) @ x.T for w, x, s in zip(document["weights"], X, S))
    assert document["value"] == pytest.approx(np.linalg.slogdet(A)[1])


def test_what_takes_one_response_says_so(cli, tmp_path):
    out = tmp_path / "certificate.json"
    for command in (("certify", "plots-in-pairs-xy", "--output", out),):
        result = cli(*command)
        assert result.code == 2
        assert "arms with one response each" in result.err
    (tmp_path / "w.csv").write_text(
        "arm,weight\n" + "".join(f"{a}+{b},0.1666666667\n" for a, b in ("AB", "AC", "AD", "BC", "BD", "CD"))
    )
    verified = cli("verify", "plots-in-pairs-xy", "--weights", tmp_path / "w.csv", "--tol", "1e-6")
    assert verified.code == 0
    assert cli("verify", "plots-in-pairs-xy", "--weights", tmp_path / "w.csv", "--rigorous").code == 2


def test_progress_is_shown_where_it_is_wanted(cli, arms, monkeypatch):
    import convexdesign.showing as showing

    monkeypatch.setattr(showing, "DELAY", 0.0)
    labels = []
    monkeypatch.setattr(showing.ProgressLine, "clear", lambda line: labels.append(line.label))
    words = (arms, "--problem", "xy-allocation")
    assert cli("solve", *words).code == 0  # standard error is no terminal
    assert cli("solve", *words, "--no-progress").code == 0
    assert labels == []
    assert cli("solve", *words, "--progress", "--round", 10).code == 0
    assert labels == ["solve", "round"]


def test_the_number_of_steps_can_be_limited(cli, arms):
    words = ("solve", arms, "--problem", "xy-allocation", "--method", "frank-wolfe-vanilla", "--json")
    few = cli(*words, "--max-iter", 3)
    assert few.code == 3
    assert json.loads(few.out)["iterations"] == 3
    bad = cli(*words, "--max-iter", 0)
    assert bad.code == 2
    assert "max_iter" in bad.err
