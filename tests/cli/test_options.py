"""Formulas, costs, bounds on the weights and information held, as options of `solve` and `verify`."""

import csv
import json
import sys

import numpy as np
import pytest

import convexdesign as cd

QUADRATIC = "1 + a + b + a**2 + b**2 + a:b"


def solved(result) -> dict:
    assert result.code == 0, result.err
    return json.loads(result.out)


@pytest.fixture
def grid(tmp_path):
    """{-1, 0, 1}^2 as factor settings."""
    path = tmp_path / "factors.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a in (-1, 0, 1) for b in (-1, 0, 1)))
    return path


@pytest.fixture
def three(tmp_path):
    """Three separate means: e1, e2, e3, named."""
    path = tmp_path / "eye.csv"
    path.write_text("name,x,y,z\nred,1,0,0\ngreen,0,1,0\nblue,0,0,1\n")
    return path


# -------------------------------------------------------------------- formula


def test_quadratic_model_on_a_grid(cli, grid):
    """D-optimal on the 3x3 grid: det .01142700, corners .145791, edges .080161, centre .096193 (certified elsewhere)."""
    document = solved(cli("solve", grid, "--problem", "d-optimal", "--formula", QUADRATIC, "--json"))
    assert np.exp(document["value"]) == pytest.approx(0.01142700, rel=1e-5)
    weight = dict(zip(document["names"], document["weights"]))
    assert weight["a=-1, b=1"] == pytest.approx(0.145791, abs=1e-4)
    assert weight["a=0, b=0"] == pytest.approx(0.096193, abs=1e-4)
    assert document["columns"] == ["Intercept", "a", "b", "I(a ** 2)", "I(b ** 2)", "a:b"]


def test_terms_are_named_in_text_and_can_be_of_interest(cli, grid):
    """The interaction alone: all weight on the corners, information 1."""
    words = ("solve", grid, "--problem", "ds-optimal", "--interest", "a:b", "--formula", QUADRATIC)
    result = cli(*words)
    assert result.code == 0
    assert "I(a ** 2)" in result.out
    document = solved(cli(*words, "--json"))
    assert document["value"] == pytest.approx(0.0, abs=1e-5)
    unknown = cli("solve", grid, "--problem", "ds-optimal", "--interest", "a:c", "--formula", QUADRATIC)
    assert unknown.code == 2
    assert "a:b" in unknown.err


def test_weights_and_counts_written_by_name_verify_with_the_same_formula(cli, grid, tmp_path):
    out = tmp_path / "w.csv"
    words = (grid, "--problem", "d-optimal", "--formula", QUADRATIC)
    document = solved(cli("solve", *words, "--round", 9, "--output", out, "--json"))
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["arm"] for row in rows] == document["names"]
    assert [int(row["count"]) for row in rows] == document["rounded"]["counts"]
    assert cli("verify", *words, "--weights", out, "--tol", 1e-5).code == 0
    verified = solved(cli("verify", *words, "--counts", out, "--json"))
    assert verified["efficiency"] == pytest.approx(document["rounded"]["efficiency"], abs=1e-6)


def test_region_and_items_are_settings_too(cli, grid, tmp_path):
    """The average over the settings themselves of a model without interaction, two levels each: d = 3."""
    corners = tmp_path / "corners.csv"
    corners.write_text("b,a\n-1,-1\n1,-1\n-1,1\n1,1\n")  # columns by name, not by place
    words = ("solve", corners, "--problem", "i-optimal", "--region", grid, "--formula", "1 + a + b", "--json")
    # Over the grid a^2 and b^2 average 2/3, so with uniform corners the value is 1 + 2/3 + 2/3.
    assert solved(cli(*words))["value"] == pytest.approx(7 / 3, rel=1e-5)


def test_categories(cli, tmp_path):
    path = tmp_path / "colours.csv"
    path.write_text("colour\nred\ngreen\nnone\n")
    document = solved(cli("solve", path, "--problem", "g-optimal", "--formula", "0 + colour", "--json"))
    assert document["value"] == pytest.approx(3.0, rel=1e-5)
    assert document["columns"] == ["colour[green]", "colour[none]", "colour[red]"]
    assert document["names"] == ["colour=red", "colour=green", "colour=none"]


@pytest.mark.parametrize(
    ("formula", "words"),
    [("1 + c", "columns ['a', 'b']"), ("y ~ a", "formula"), ("a +", "formula")],
)
def test_bad_formulas(cli, grid, formula, words):
    result = cli("solve", grid, "--problem", "d-optimal", "--formula", formula)
    assert result.code == 2
    assert words in result.err
    assert "Traceback" not in result.err


def test_a_formula_needs_the_same_factors_everywhere(cli, grid, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a\n1\n")
    result = cli("solve", grid, "--problem", "i-optimal", "--region", other, "--formula", "a + b")
    assert result.code == 2
    assert "other.csv has no column 'b'" in result.err


def test_a_formula_does_not_go_with_a_problem_file(cli, problem_file):
    result = cli("solve", problem_file, "--formula", "a + b")
    assert result.code == 2
    assert "--formula cannot be combined" in result.err


def test_without_formulaic_the_extra_is_named(cli, grid, monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    result = cli("solve", grid, "--problem", "d-optimal", "--formula", "a + b")
    assert result.code == 2
    assert "convexdesign[formula]" in result.err


# ------------------------------------------------- costs, bounds, information


def test_costs_from_a_file_by_name(cli, three, tmp_path):
    """With a share w of the budget each arm gives w/c measurements per unit: c_i / w_i are equal, their value 1+2+5."""
    prices = tmp_path / "prices.csv"
    prices.write_text("arm,price\nblue,5\nred,1\ngreen,2\n")
    document = solved(cli("solve", three, "--problem", "g-optimal", "--costs", prices, "--json"))
    assert document["value"] == pytest.approx(8.0, rel=1e-5)
    assert document["weights"] == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=1e-4)


def test_bounds_on_the_weights(cli, three, tmp_path):
    """D-optimal on e1, e2, e3: without bounds thirds; the product of the rest is largest where it is equal."""
    caps = tmp_path / "caps.csv"
    caps.write_text("arm,most\nred,0.2\n")  # arms that are not listed have no bound
    document = solved(cli("solve", three, "--problem", "d-optimal", "--max-weight", caps, "--json"))
    assert document["weights"] == pytest.approx([0.2, 0.4, 0.4], abs=1e-3)
    assert document["value"] == pytest.approx(np.log(0.2 * 0.4 * 0.4), abs=1e-5)
    floors = tmp_path / "floors.csv"
    floors.write_text("arm,least\nblue,0.5\n")
    document = solved(cli("solve", three, "--problem", "d-optimal", "--min-weight", floors, "--json"))
    assert document["weights"] == pytest.approx([0.25, 0.25, 0.5], abs=1e-3)
    document = solved(cli("solve", three, "--problem", "d-optimal", "--max-weight", "0.4", "--json"))
    assert document["value"] == pytest.approx(-3 * np.log(3), abs=1e-5)


@pytest.mark.parametrize("form", ["counts", "information"])
def test_information_held(cli, three, tmp_path, form):
    """10, 4 and 0 measurements made, 16 planned: 10 each in all, so 0, 6 and 10 of the next."""
    held = tmp_path / "held.csv"
    if form == "counts":
        held.write_text("arm,count\nred,10\ngreen,4\n")
        words = ("--existing-counts", held)
    else:
        held.write_text("x,y,z\n10,0,0\n0,4,0\n0,0,0\n")
        words = ("--prior-information", held)
    document = solved(cli("solve", three, "--problem", "g-optimal", *words, "--n-new", 16, "--json"))
    assert document["weights"] == pytest.approx([0, 6 / 16, 10 / 16], abs=1e-3)
    assert document["value"] == pytest.approx(16 / 10, rel=1e-5)


def test_all_options_reach_python(cli, three, tmp_path):
    noise = tmp_path / "noise.csv"
    noise.write_text("arm,count,variance\nred,7,1\ngreen,7,2\nblue,9,4\n")  # the column `variance` is the one meant
    words = ("--noise-variance", noise, "--costs", 3, "--min-weight", 0.1, "--max-weight", 0.5)
    document = solved(cli("solve", three, "--problem", "a-optimal", *words, "--json"))
    same = cd.DesignProblem.a_optimal(np.eye(3), noise_variance=[1, 2, 4], costs=3.0, min_weight=0.1, max_weight=0.5)
    assert document["value"] == pytest.approx(cd.solve(same).value, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--costs", "0"], ["costs", "positive"]),
        (["--costs", "dear"], ["--costs dear: neither a number nor a file"]),
        (["--min-weight", "0.5"], ["min_weight sums to 1.5"]),
        (["--max-weight", "0.2"], ["max_weight sums to 0.6"]),
        (["--max-weight", "2"], ["between 0 and 1"]),
        (["--n-new", "5"], ["n_new is given without"]),
        (["--existing-counts", "COUNTS"], ["n_new is missing"]),
        (["--existing-counts", "nowhere.csv", "--n-new", "5"], ["nowhere.csv", "does not exist"]),
        (["--existing-counts", "COUNTS", "--n-new", "0"], ["n_new is 0"]),
        (["--prior-information", "COUNTS", "--n-new", "5"], ["prior_information"]),
        (["--interest", "x"], ["takes no --interest"]),
        (["--round", "0"], ["--round 0"]),
        (["--round", "2"], ["3"]),  # three means need three measurements
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_options(cli, three, tmp_path, options, parts):
    (tmp_path / "counts.csv").write_text("arm,count\nred,10\n")
    words = [str(tmp_path / "counts.csv") if word == "COUNTS" else word for word in options]
    result = cli("solve", three, "--problem", "g-optimal", *words)
    assert result.code == 2, result.err
    assert result.out == ""
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err


# -------------------------------------------------------------- one coding


def test_runs_and_region_are_coded_as_the_arms_are(cli, tmp_path):
    arms, runs, region = tmp_path / "arms.csv", tmp_path / "runs.csv", tmp_path / "region.csv"
    arms.write_text("x\n" + "\n".join(map(str, range(0, 100, 10))) + "\n")
    runs.write_text("x\n40\n50\n60\n60\n70\n70\n70\n70\n80\n80\n")
    region.write_text("x\n70\n80\n95\n")
    for command, key in (
        (("verify", arms, "--problem", "g-optimal", "--design", runs), "efficiency"),
        (("solve", arms, "--problem", "i-optimal", "--region", region), "value"),
    ):
        found = [
            json.loads(cli(*command, "--formula", f, "--json").out)[key] for f in ("1 + x", "center(x)", "poly(x, 1)")
        ]
        assert found == pytest.approx([found[0]] * 3, rel=1e-6)


def test_levels_of_a_region_must_be_levels_of_the_arms(cli, tmp_path):
    arms, region = tmp_path / "arms.csv", tmp_path / "region.csv"
    arms.write_text("c,t\nA,0\nB,0\nA,1\nB,1\n")
    region.write_text("c,t\nB,0\nC,1\n")
    result = cli("solve", arms, "--problem", "i-optimal", "--region", region, "--formula", "c + t")
    assert result.code == 2
    assert "region.csv: column 'c' is 'C' in row 2, but its levels" in result.err


def test_numbers_in_the_order_of_a_formula_whose_terms_come_in_another(cli, grid, tmp_path):
    words = ("solve", grid, "--problem", "c-optimal", "--json", "--formula", "1 + a + a:b + b", "--direction")
    refused = cli(*words, "0,0,1,0")
    assert refused.code == 2
    assert "the coordinates are Intercept, a, b, a:b" in refused.err
    written, sorted_ = tmp_path / "written.csv", tmp_path / "sorted.csv"
    written.write_text("Intercept,a,a:b,b\n0,0,1,0.5\n")
    sorted_.write_text("Intercept,a,b,a:b\n0,0,0.5,1\n")
    assert solved(cli(*words, written))["value"] == solved(cli(*words, sorted_))["value"]


def test_terms_that_are_not_finite_and_empty_columns_are_named(cli, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n0,1\n1,2\n2,7\n")
    result = cli("solve", path, "--problem", "d-optimal", "--formula", "1 + log(a) + b")
    assert result.code == 2
    assert "the term 'log(a)' is -inf in row 1 (a = 0.0)" in result.err
    path.write_text("x,Y\n0,\n1,\n2,\n")
    for formula in (("--formula", "1 + x"), ()):
        result = cli("solve", path, "--problem", "d-optimal", *formula)
        assert result.code == 2
        assert "'Y' is empty" in result.err


# -------------------------------------------------------------- one table


@pytest.fixture
def table(tmp_path):
    """Settings of two factors, with what an engineer knows of each: price, noise, cap, day and name."""
    path = tmp_path / "table.csv"
    rows = [(r, t) for r in "AB" for t in (150, 170, 190)]
    lines = [
        f"{r},{t},{10 + k},{1 + (r == 'B')},0.4,{'mon' if t < 180 else 'tue'},{r}{t}" for k, (r, t) in enumerate(rows)
    ]
    path.write_text("resin,temp,price,noise,cap,day,tag\n" + "\n".join(lines) + "\n")
    return path


def test_columns_of_the_table_are_costs_noise_caps_and_names(cli, table, tmp_path):
    words = ("solve", table, "--problem", "d-optimal", "--formula", "resin + temp + temp**2", "--json")
    by_name = solved(
        cli(*words, "--costs", "price", "--noise-variance", "noise", "--max-weight", "cap", "--arm-names", "tag")
    )
    assert by_name["names"] == ["A150", "A170", "A190", "B150", "B170", "B190"]
    one_each = {"costs": range(10, 16), "noise-variance": (1, 1, 1, 2, 2, 2), "max-weight": (0.4,) * 6}
    files = []
    for name, values in one_each.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(map(str, values)) + "\n")
        files += [f"--{name}", path]
    plain = tmp_path / "plain.csv"
    plain.write_text("\n".join(",".join(line.split(",")[:2]) for line in table.read_text().splitlines()) + "\n")
    by_file = solved(cli("solve", plain, *words[2:], *files))
    assert by_name["value"] == by_file["value"]
    assert by_name["weights"] == by_file["weights"]
    assert by_file["names"][0] == "resin=A, temp=150"
    wrong = cli(*words, "--costs", "prize")
    assert wrong.code == 2
    assert (
        "neither a number nor a file with one number an arm nor a column of the table (resin, temp, price" in wrong.err
    )
    text = cli(*words, "--costs", "day")
    assert text.code == 2
    assert "column 'day' holds text" in text.err


def test_columns_of_a_table_of_vectors_are_no_coordinates(cli, tmp_path):
    path, plain = tmp_path / "arms.csv", tmp_path / "plain.csv"
    path.write_text("one,x,price\n1,-1,4\n1,0,1\n1,1,9\n")
    plain.write_text("one,x\n1,-1\n1,0\n1,1\n")
    by_name = solved(cli("solve", path, "--problem", "d-optimal", "--costs", "price", "--json"))
    problem = cd.DesignProblem.d_optimal([[1, -1], [1, 0], [1, 1]], costs=[4, 1, 9])
    assert by_name["value"] == pytest.approx(cd.solve(problem).value, rel=1e-9)


def test_runs_done_are_settings_on_the_list_and_off_it(cli, table, tmp_path):
    done = tmp_path / "done.csv"
    words = ("solve", table, "--problem", "d-optimal", "--formula", "resin + temp", "--n-new", 6, "--json")
    counts = tmp_path / "counts.csv"
    done.write_text("temp,resin\n150,A\n150,A\n190,B\n")
    counts.write_text("2\n0\n0\n0\n0\n1\n")
    on_list = solved(cli(*words, "--existing-design", done))
    assert on_list["value"] == solved(cli(*words, "--existing-counts", counts))["value"]
    done.write_text("temp,resin,count\n155.5,A,2\n190,B,1\n")
    X = np.array([[1, 0, 155.5], [1, 0, 155.5], [1, 1, 190]])
    arms = [[1, r, t] for r in (0, 1) for t in (150, 170, 190)]
    expected = cd.solve(cd.DesignProblem.d_optimal(arms, prior_information=X.T @ X, n_new=6)).value
    assert solved(cli(*words, "--existing-design", done))["value"] == pytest.approx(expected, rel=1e-6)
    done.write_text("temp,resin\n150,C\n")
    strange = cli(*words, "--existing-design", done)
    assert strange.code == 2
    assert "existing_runs: column 'resin' is 'C'" in strange.err


@pytest.mark.parametrize("text", ["temp**2", "I(temp ** 2)=1", "temp**2=1, resin[T.B]=0"])
def test_directions_by_terms(cli, table, text):
    words = ("solve", table, "--problem", "c-optimal", "--formula", "resin + temp + temp**2", "--json")
    settings = np.array([[1, r, t, t * t] for r in (0, 1) for t in (150.0, 170, 190)])
    expected = cd.solve(cd.DesignProblem.c_optimal(settings, [0, 0, 0, 1])).value
    assert solved(cli(*words, "--direction", text))["value"] == pytest.approx(expected, rel=1e-5)
    wrong = cli(*words, "--direction", "temp**3")
    assert wrong.code == 2
    assert "neither a file nor numbers nor terms, of Intercept, resin[T.B], temp, I(temp ** 2)" in wrong.err


def test_a_saved_design_keeps_its_table(cli, table, tmp_path):
    saved, sheet = tmp_path / "design.json", tmp_path / "runs.csv"
    words = (table, "--problem", "d-optimal", "--formula", "resin + center(temp)")
    assert cli("solve", *words, "--output", saved).code == 0
    found = cli(
        "round", saved, "-n", 8, "--groups", "day", "--per-group", "mon=5,tue=1-3", "--run-sheet", sheet, "--json"
    )
    document = solved(found)
    assert np.add.reduceat(np.array(document["counts"])[[0, 1, 3, 4, 2, 5]], [0, 4]).tolist() == [5, 3]
    with sheet.open(newline="") as file:
        runs = list(csv.DictReader(file))
    assert {(run["day"], run["temp"]) for run in runs} <= {("mon", "150.0"), ("mon", "170.0"), ("tue", "190.0")}
    again = cli("verify", *words, "--runs", sheet, "--json")
    assert json.loads(again.out)["efficiency"] == pytest.approx(document["efficiency"], abs=1e-6)
    loaded = cd.Design.load(saved)
    assert loaded.variance({"resin": "A", "temp": 150.0}) == pytest.approx(
        loaded.variance(loaded.problem.rows.values[0])
    )
    none = cli("round", saved, "-n", 8, "--groups", "week", "--per-group", 4)
    assert none.code == 2
    assert "groups: there is no column 'week'" in none.err
    impossible = cli("round", saved, "-n", 8, "--groups", "day", "--per-group", 5)
    assert impossible.code == 2
    assert "the nearest n that works is 10" in impossible.err
