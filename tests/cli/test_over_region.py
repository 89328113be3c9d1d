"""`solve`, `round` and `verify --runs` of problem files over regions: exit codes, documents, and what goes round in files."""

import json

import numpy as np
import pandas
import pytest

import convexdesign as cd
from convexdesign.cli.over_region import read_run_table

MODEL = """
title = "A curve for every batch"
kind = "d-optimal"

[model]
formula = "1 + batch + x + x**2"

[region]
levels = { batch = ["A", "B"] }
box = { x = [0, 10] }
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(MODEL)
    return path


def test_solve_says_and_writes_the_settings(cli, model, tmp_path):
    result = cli("solve", model, "--json")
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert document["certified"]
    assert document["proof"] == "sum of squares"
    assert sorted(set(document["settings"]["batch"])) == ["A", "B"]
    text = cli("solve", model, "-o", tmp_path / "points.csv").out
    points = pandas.read_csv(tmp_path / "points.csv")
    assert points["weight"].sum() == pytest.approx(1)
    np.testing.assert_allclose(sorted(set(points["x"].round(3))), [0, 5, 10], atol=1e-2)
    assert "proven by sum of squares" in text
    assert "terms: 1, batch[B], x, x**2" in text


def test_a_run_sheet_goes_round(cli, model, tmp_path):
    result = cli("round", model, "--n", 8, "--run-sheet", tmp_path / "runs.csv", "-o", tmp_path / "plan.csv", "--json")
    assert result.code == 0, result.err
    plan = json.loads(result.out)
    assert sum(plan["counts"]) == 8
    for name in ("runs.csv", "plan.csv"):
        judged = json.loads(cli("verify", model, "--runs", tmp_path / name, "--json").out)
        assert judged["efficiency"] == pytest.approx(plan["efficiency"], abs=1e-6)
        assert len(judged["moves"]) == 8
    assert cli("verify", model, "--runs", tmp_path / "runs.csv", "--tol", 0.2).code == 0
    assert cli("verify", model, "--runs", tmp_path / "runs.csv", "--tol", 1e-6).code == 3


def test_a_saved_design_is_rounded_without_its_problem(cli, model, tmp_path):
    assert cli("solve", model, "-o", tmp_path / "design.json").code == 0
    result = cli("round", tmp_path / "design.json", "--n", 6)
    assert result.code == 0, result.err
    assert "6 runs" in result.out


def test_verify_reads_tables_of_other_programs_and_says_what_should_move(cli, model, tmp_path):
    path = tmp_path / "jmp.csv"
    path.write_text("Pattern;batch;x;Yield\n+-;A;0;1,5\n++;A;4;2,5\n--;B;10;2\n-+;B;5;2\n00;A;10;1\n0-;B;0;3\n")
    picture = tmp_path / "runs.png"
    result = cli("verify", model, "--runs", path, "--delimiter", ";", "--decimal", ",", "--plot", picture)
    assert result.code == 0, result.err
    assert "1 of 6 should move" in result.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    problem = cd.problemfile.load_problem(model).problem()
    runs = {"batch": list("AABBAB"), "x": [0, 4, 10, 5, 10, 0]}
    assert f"{cd.verify(problem, runs=runs).efficiency:.5f}" in result.out


def test_runs_outside_the_region_are_named(cli, model, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("batch,x\nA,0\nA,5\nB,12\nB,0\nA,10\n")
    result = cli("verify", model, "--runs", path)
    assert result.code == 3
    assert "rows 2 lie outside the region" in result.out


def test_errors_of_run_tables_name_the_file(cli, model, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("Batch,x\nA,0\n")
    assert "runs.csv: the runs have no column 'batch'" in cli("verify", model, "--runs", path).err
    assert "there is a column 'Batch'" in cli("verify", model, "--runs", path).err
    for text, said in (
        ("batch,x\nA,0\nC,1\n", "runs.csv: row 1: batch is 'C'; its levels are A, B"),
        ("batch,x (mg)\nA,0\n", "there is a column 'x (mg)': call it x"),
        ("Plan of May,\nbatch,x\nA,0\n", "the first line has Plan of May)"),
        ("batch,x,count\nA,0,1.5\n", "count in row 0 is 1.5; counts are whole numbers"),
        ("batch,x,weight\nA,0,70.5\n", "the column weight sums to 70.5"),
    ):
        path.write_text(text)
        assert said in cli("verify", model, "--runs", path).err


TABLES = {
    # What other programs write, and the note on what is passed over.
    "an empty column at the end, names of answers twice": ("run,k,y,y,\n3,0.5,1,,\n4,1,2,,\n,,,,\n", "over: y, y"),
    "a first line for Excel": ("sep=;\nrun;k\n3;0.5\n4;1\n", ""),
    "rows of R": ('"run" "k"\n"1" 3 0.5\n"2" 4 1\n', ""),
    "a first factor that is called run": ("\ufeffrun,k\n3,0.5\n4,1\n", ""),
    "how often under another name": ("run,k,Freq\n3,0.5,2\n4,1,2\n", "call Freq count if it says"),
}


@pytest.mark.parametrize("name", list(TABLES))
def test_tables_of_other_programs(name, tmp_path, capsys):
    problem = cd.DesignProblem.d_optimal(cd.Model.formula("1 + run + k").over(cd.Region.box(run=(1, 9), k=(0, 1))))
    text, said = TABLES[name]
    (tmp_path / "runs.csv").write_text(text, encoding="utf-8")
    runs = read_run_table(problem, tmp_path / "runs.csv", {})["runs"]
    assert runs.to_dict("list") == {"run": [3, 4], "k": [0.5, 1]}
    assert said in (found := capsys.readouterr().err)
    assert bool(said) == bool(found)


def test_coded_settings_are_not_taken_for_those_of_the_problem(tmp_path):
    problem = cd.DesignProblem.d_optimal(cd.Model.formula("1 + t").over(cd.Region.box(t=(150, 190))))
    (tmp_path / "runs.csv").write_text("t\n-1\n1\n0\n")
    with pytest.raises(cd.InputError, match=r"look coded.* t = 170 \+ 20 z"):
        read_run_table(problem, tmp_path / "runs.csv", {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("verify", "{model}", "--runs", "{bad}"), "no column 'batch'"),
        (("verify", "{model}", "--counts", "{bad}"), "states a problem over a region"),
        (("verify", "{model}", "--runs", "{bad}", "--diagnostics"), "leave it out"),
        (("verify", "{model}", "--runs", "{bad}", "--column", "x"), "--runs alone"),
        (("round", "{model}", "--budget", "3"), "--n, --effort and --seed alone"),
        (("round", "{model}", "--n", "2"), "give n >= 4"),
        (("solve", "{model}", "--method", "conic"), "method is not known"),
        (("certify", "{model}", "--weights", "{bad}"), "over a region give --runs"),
    ],
)
def test_what_cannot_be_done_over_a_region_is_refused(cli, model, tmp_path, arguments, message):
    bad = tmp_path / "bad.csv"
    bad.write_text("x\n1\n")
    result = cli(*(a.format(model=model, bad=bad) for a in arguments))
    assert result.code == 2
    assert message in result.err


def test_a_certificate_of_runs_is_written_and_examined(cli, model, tmp_path):
    runs, out = tmp_path / "runs.csv", tmp_path / "certificate.json"
    assert cli("solve", str(model), "--output", str(runs)).code == 0
    done = cli("certify", str(model), "--runs", str(runs), "-o", str(out), "--tol", "1e-5")
    assert done.code == 0, done.err
    assert cli("check", str(out), str(model)).out.startswith("proven           efficiency at least 0.99999")
    out.write_text(out.read_text().replace('"most": "', '"most": "1'))
    assert cli("check", str(out), str(model)).code == 3


def test_a_design_for_several_values_of_the_parameters_is_told_and_drawn(cli, tmp_path):
    path = tmp_path / "model.toml"
    model = '[model]\nformula = "1 + x"\nlink = "logit"\nthetas = [[0, 1], [0, 2]]\n[region]\nbox = { x = [-3, 3] }\n'
    path.write_text('title = "t"\nkind = "d-optimal"\nover = "worst"\n' + model)
    written = ("-o", tmp_path / "points.csv", "--plot", tmp_path / "phi.svg")
    result = cli("solve", path, "--json", *written)
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert min(document["efficiencies"]) == pytest.approx(document["value"], abs=1e-9)
    assert pandas.read_csv(tmp_path / "points.csv")["weight"].sum() == pytest.approx(1)
    assert (tmp_path / "phi.svg").stat().st_size > 1000
    text = cli("solve", path).out
    assert "2 values of the parameters" in text
    assert "certified, the tolerance is 1.0e-06" in text
    for arguments in (
        ("solve", path, "--round", 4),
        ("solve", path, "-o", tmp_path / "d.json"),
        ("round", path, "--n", 4),
    ):
        assert cli(*arguments).code == 2
