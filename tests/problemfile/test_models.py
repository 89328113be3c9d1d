"""Problem files over factor tables: a formula, with region, runs done, costs and names as tables and columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.problemfile import load_problem

TABLE = "tag,resin,temp,price\n" + "".join(f"{r}{t},{r},{t},{t / 10}\n" for r in "AB" for t in (150, 170, 190))
REGION = "temp,resin\n155,B\n165,A\n"
DONE = "resin,temp,count\nA,150,2\nB,155,1\n"
HEAD = 'title = "Resin"\nkind = "{kind}"\narms = "arms.csv"\n'
MODEL = '[model]\nformula = "resin + poly(temp, 2)"\n'


@pytest.fixture
def load(tmp_path):
    for name, text in (("arms", TABLE), ("region", REGION), ("done", DONE)):
        (tmp_path / f"{name}.csv").write_text(text)

    def run(text, kind="d-optimal", model=MODEL):
        path = tmp_path / "problem.toml"
        path.write_text(HEAD.format(kind=kind) + text + model)
        return load_problem(path).problem()

    return run


def test_a_file_says_what_python_says(load, tmp_path):
    table = pd.read_csv(tmp_path / "arms.csv", index_col="tag")
    arms = cd.features.model_matrix(table, "resin + poly(temp, 2)")
    done, region = pd.read_csv(tmp_path / "done.csv"), pd.read_csv(tmp_path / "region.csv")
    problem = load(
        'arm_names = { column = "tag" }\nregion = "region.csv"\ncosts = { column = "price" }\n'
        'existing_runs = "done.csv"\nn_new = 200\n',
        kind="i-optimal",
    )
    expected = cd.DesignProblem.i_optimal(arms, region, costs="price", existing_runs=done, n_new=200)
    assert list(problem.arms.names) == list(table.index)
    np.testing.assert_array_equal(problem.rows.values, arms)
    np.testing.assert_array_equal(problem.stated.region.values, expected.stated.region.values)
    np.testing.assert_array_equal(problem.costs, table["price"])
    np.testing.assert_array_equal(problem.prior, expected.prior)
    assert cd.solve(problem).variance({"resin": "B", "temp": 160.0}) > 0


@pytest.mark.parametrize("written", ['"poly(temp, 2)[2]"', '{ "poly(temp, 2)[2]" = 1 }'])
def test_terms_by_name(load, written):
    columns = load("").rows.columns
    c = load(f"direction = {written}\n", kind="c-optimal").stated.direction
    assert columns[int(np.argmax(c))] == "poly(temp, 2)[2]"
    K = load('interest = ["resin[T.B]"]\n', kind="ds-optimal").stated.interest
    assert columns[int(np.argmax(K[:, 0]))] == "resin[T.B]"


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ('costs = { column = "prize" }\n', "d-optimal", ["costs", "no column 'prize'", "tag, resin, temp, price"]),
        ('costs = { column = "resin" }\n', "d-optimal", ["costs", "column 'resin' holds text"]),
        ('region = "none.csv"\n', "i-optimal", ["none.csv"]),
        ('direction = "tempo"\n', "c-optimal", ["direction", "'tempo'", "resin[T.B]"]),
        ('existing_runs = "done.csv"\n', "d-optimal", ["n_new is missing"]),
        ("interest = [true]\n", "ds-optimal", ["interest"]),
    ],
)
def test_mistakes_are_named(load, text, kind, parts):
    with pytest.raises(cd.InputError) as caught:
        load(text, kind=kind)
    for part in ("problem.toml", *parts):
        assert part in str(caught.value)


def test_a_formula_is_for_a_table_of_settings(load, tmp_path):
    (tmp_path / "problem.toml").write_text('title = "T"\nkind = "d-optimal"\narms = [[1.0, 2.0]]\n' + MODEL)
    with pytest.raises(cd.InputError, match=r"arms: with a \[model\] they are settings"):
        load_problem(tmp_path / "problem.toml")
    with pytest.raises(cd.InputError, match=r"model.formula.*no column|cannot be used on columns"):
        load("", model='[model]\nformula = "pressure"\n')


def test_runs_done_of_plain_arms_by_column(tmp_path):
    (tmp_path / "arms.csv").write_text("one,x\n1,-1\n1,0\n1,1\n")
    (tmp_path / "done.csv").write_text("x,one,count\n0,1,3\n1,1,1\n")
    path = tmp_path / "p.toml"
    path.write_text('title = "T"\nkind = "d-optimal"\narms = "arms.csv"\nexisting_runs = "done.csv"\nn_new = 4\n')
    assert load_problem(path).problem().stated.existing_counts.tolist() == [0, 3, 1]
