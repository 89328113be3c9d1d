"""`convexdesign problems` and `convexdesign demo`."""

import json

import numpy as np
import pytest

from convexdesign.problemfile import find, library, load_problem


def test_problems_lists_every_file_of_the_library(cli):
    listed = json.loads(cli("problems", "--json").out)["problems"]
    assert [entry["name"] for entry in listed] == [path.stem for path in library()]
    for entry in listed:
        file = load_problem(entry["path"])
        assert entry["kind"] == file.kind
        size = (None, file.arms.d) if file.is_over_region else file.arms.values.shape[:2]
        assert (entry["n_arms"], entry["dimension"]) == size
        if file.reference is not None:
            assert entry["value"] == file.reference.value


def test_problems_as_a_table_cuts_no_name(cli, monkeypatch):
    for width in (40, 120, 250):
        monkeypatch.setenv("COLUMNS", str(width))
        result = cli("problems")
        assert result.code == 0
        for path in library():
            assert path.stem in result.out
            assert width < 250 or load_problem(path).title in result.out


def test_demo_numbers_follow_from_the_weights(cli, tmp_path):
    """Both values recomputed by plain linear algebra from the library's data and the weights reported."""
    picture = tmp_path / "demo.png"
    result = cli("demo", "--plot", picture, "--json")
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert picture.read_bytes().startswith(b"\x89PNG")
    problem = load_problem(find("experiment-2-best-arm")).problem()
    Y = problem.arms.take(np.arange(problem.n_arms))
    V = problem.targets.take(np.arange(problem.targets.m))

    def worst(w, rows):
        return np.einsum("ij,ji->i", V, np.linalg.solve(rows.T @ (np.array(w)[:, None] * rows), V.T)).max()

    informed, blind = document["heteroskedastic"], document["homoskedastic"]
    assert informed["value"] == pytest.approx(worst(informed["weights"], Y), rel=1e-6)
    assert blind["value"] == pytest.approx(worst(blind["weights"], Y), rel=1e-6)
    assert document["ratio"] == pytest.approx(blind["value"] / informed["value"])
    assert document["ratio"] > 1.0
    assert document["certified"]
    # The published bound for the blind design: largest variance times its value for unit noise.
    X = Y * np.sqrt(np.array(document["noise_variance"]))[:, None]
    assert blind["assumed_value"] == pytest.approx(worst(blind["weights"], X), rel=1e-6)
    bound = max(document["noise_variance"]) * blind["assumed_value"]
    assert bound == pytest.approx(45297.49, rel=1e-5)
    assert blind["value"] <= bound * (1 + 1e-9)


def test_demo_as_text(cli):
    result = cli("demo")
    assert result.code == 0
    assert result.err == ""
    assert "11796.4" in result.out
    assert "times as many measurements" in result.out
