"""Certificates over regions: closed forms pass through rational arithmetic, files are read, what is changed is refused."""

import copy
import json
import subprocess
import sys
from fractions import Fraction
from math import log
from pathlib import Path

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problemfile import check_certificate, find, load_problem, write_certificate
from convexdesign.regions.rational import exact_problem, fractions_of, region_certificate
from convexdesign.rigorous import check_region

D, M, R = cd.DesignProblem, cd.Model, cd.Region


def line(degree, low=-1, high=1):
    return M.polynomial("x", degree).over(R.box(x=(low, high)))


def box(q, degree=2):
    names = [f"x{k}" for k in range(q)]
    return M.polynomial(names, degree).over(R.box(**dict.fromkeys(names, (-1, 1))))


def scheffe():
    return M.formula("0 + a + b + c + a:b + a:c + b:c").over(R.simplex(["a", "b", "c"]))


# The problem, the closed form of its optimum (of determinants the logarithm), and how far the design may be from it.
ANSWERS = {
    "cubic": (lambda: D.d_optimal(line(3)), -5.2746008399),
    "square": (lambda: D.d_optimal(box(2)), -4.471776419),
    "disc": (lambda: D.d_optimal(M.polynomial(["a", "b"], 2).over(R.ball(["a", "b"]))), -8.248544698),
    "mixture": (lambda: D.d_optimal(scheffe()), -19.068322982),
    "leading": (lambda: D.c_optimal(line(3), {"x**3": 1.0}), 16),
    "extrapolation": (lambda: D.c_optimal(line(3), [1, 2, 4, 8]), 676),
    "least eigenvalue": (lambda: D.e_optimal(line(3)), 1 / 25),
    "noise": (lambda: D.d_optimal(line(1), noise_variance="1/(1 - x**2)"), log(1 / 3 * (2 / 3) ** 2)),
    "prediction": (lambda: D.g_optimal(line(3), noise_variance=2.0), 8),
    "moved": (lambda: D.d_optimal(line(4, 100, 200)), -10.0549575728 + 20 * log(50)),
}


@pytest.mark.parametrize("name", list(ANSWERS))
def test_known_answers_are_theorems(name):
    make, answer = ANSWERS[name]
    problem = make()
    document = region_certificate(cd.solve(problem))
    stated = exact_problem(problem)
    ratio = check_region.check(document, stated)
    value, bound = (check_region.fraction(document[name]) for name in ("value", "bound"))
    if stated.kind == "d-optimal":
        found = [log(x.numerator) - log(x.denominator) for x in (value, bound)]
        assert 0 <= -log(ratio) <= problem.curve.d * 1e-6
    else:
        found = [float(value), float(bound)]
        assert 1 - 1e-6 <= ratio <= 1
    assert found == pytest.approx([answer, answer], rel=2e-6, abs=5e-6)
    low, high = sorted(found)
    assert low <= answer + 1e-8 * abs(answer)
    assert high >= answer - 1e-8 * abs(answer)


MORE = {
    "ring": lambda: D.d_optimal(
        M.polynomial(["a", "b"], 2).over(R.box(a=(-2, 2), b=(-2, 2)) & R.where("1 <= a**2 + b**2 <= 4"))
    ),
    "cut": lambda: D.d_optimal(
        M.formula("1 + temp*time + temp**2 + time**2").over(
            R.box(temp=(150, 190), time=(1, 4)) & R.where("temp + 10*time <= 210")
        )
    ),
    "strip": lambda: D.d_optimal(
        M.polynomial(["a", "b"], 2).over(R.box(a=(-1, 1), b=(-1, 1)) & R.where("-0.1 <= a - b <= 0.1"))
    ),
    "polytope": lambda: D.a_optimal(
        M.polynomial(["a", "b"], 1).over(R.polytope([[1, 1], [-1, 0.3], [0.2, -1]], [1, 0.1, 0], names=["a", "b"]))
    ),
    "levels": lambda: D.d_optimal(
        M.formula("1 + batch*x + x**2").over(R.levels(batch=["A", "B", "C"]) * R.box(x=(-1, 1)))
    ),
    "interest": lambda: D.ds_optimal(line(3), ["x", "x**3"]),
    "items": lambda: D.xy_allocation(line(2), items={"x": [-1.0, 0.0, 1.0]}),
    "costs": lambda: D.i_optimal(line(2), noise_variance="1 + x**2", costs="2 + x"),
    "held": lambda: D.i_optimal(line(3), existing_runs={"x": [-1.0, -1.0, 0.0]}, n_new=6),
}


@pytest.mark.parametrize("name", list(MORE))
def test_the_proof_in_rational_arithmetic_is_the_one_in_double_precision(name):
    problem = MORE[name]()
    design = cd.solve(problem)
    ratio = check_region.check(region_certificate(design), exact_problem(problem))
    root = problem.curve.d if problem.kind == "d_optimal" else 2 if problem.kind == "ds_optimal" else 1
    assert float(ratio) ** (1 / root) == pytest.approx(1 / (1 + design.gap), abs=1e-8)


def resealed(document):
    document["digest"] = check_region.base.sha256(document)
    return document


def changed(document, *path, to):
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to(place[path[-1]])
    return resealed(document)


def longer(text):
    return check_region.hexadecimal(check_region.fraction(text) * Fraction(1_000_001, 1_000_000))


def shorter(text):
    return check_region.hexadecimal(check_region.fraction(text) * Fraction(999_999, 1_000_000))


FORGED = {
    "weights": (("weights", 0), lambda w: w + 1),
    "no weight": (("weights", 0), lambda w: 0),
    "setting": (("settings", 0, "at", 0), shorter),
    "setting outside": (("settings", 0, "at", 0), longer),
    "lambda": (("most",), shorter),
    "a square": (("pieces", 0, "squares", "sum", 0, "root", 0, 0), lambda r: r + 10**9),
    "a basis": (("pieces", 0, "squares", "sum", 5, "basis", 0, 0), lambda n: n + 1),
    "an inequality": (("pieces", 0, "squares", "sum", -1, "times"), lambda names: []),
    "an unknown inequality": (("pieces", 0, "squares", "sum", -1, "times"), lambda names: ["g7"]),
    "a vector": (("vectors", "rows", 0, 0), lambda b: b + 2**80),
    "axes": (("frame", "axes", 0, 0), shorter),
    "centre": (("frame", "centre", 0), lambda c: "1/10"),
    "a wall": (("frame", "walls", 0, "above"), lambda w: {}),
    "a negative multiplier": (("frame", "walls", 0, "above", "1"), lambda y: "-" + y),
    "value": (("value",), longer),
    "bound": (("bound",), shorter),
    "kind": (("kind",), lambda k: "a-optimal"),
    "data": (("data",), lambda d: d[::-1]),
    "pieces": (("pieces",), lambda p: []),
    "cut outside": (("pieces", 0), lambda cell: {"cut": 0, "at": "2/1", "low": cell, "high": cell}),
}


@pytest.fixture(scope="module")
def genuine():
    problem = D.d_optimal(box(2))
    return region_certificate(cd.solve(problem)), exact_problem(problem)


@pytest.mark.parametrize("name", list(FORGED))
def test_what_is_changed_is_refused(genuine, name):
    document, problem = genuine
    path, to = FORGED[name]
    assert check_region.check(copy.deepcopy(document), problem) > 0
    with pytest.raises((check_region.Rejected, *check_region.ERRORS)):
        check_region.check(changed(copy.deepcopy(document), *path, to=to), problem)


def test_a_certificate_of_another_region_or_model_is_refused(genuine):
    document, _ = genuine
    wider = D.d_optimal(M.polynomial(["x0", "x1"], 2).over(R.box(x0=(-1, 1), x1=(-1, 1.0000001))))
    other = D.d_optimal(M.formula("1 + x0 + x1 + x0**2 + x0:x1").over(R.box(x0=(-1, 1), x1=(-1, 1))))
    for problem in (wider, other):
        with pytest.raises(check_region.Rejected, match="other data"):
            check_region.check(document, exact_problem(problem))
        # Even with the data sealed as these: the proof does not hold for them.
        forged = resealed({**copy.deepcopy(document), "data": exact_problem(problem).digest()})
        with pytest.raises((check_region.Rejected, *check_region.ERRORS)):
            check_region.check(forged, exact_problem(problem))


def test_a_quarter_of_the_box_is_no_proof_of_it(genuine):
    document, problem = genuine
    forged = copy.deepcopy(document)
    forged["frame"]["axes"] = [["1/2", "0/1"], ["0/1", "1/2"]]
    with pytest.raises(check_region.Rejected):
        check_region.check(resealed(forged), problem)


GALLERY = ["interval-cubic-e", "interval-cubic-noise", "simplex-scheffe-d"]


AVERAGED = {
    "ball": ('formula = "1 + a*b + a**2"', "ball = { centre = { a = 1, b = -0.5 }, radius = 2 }", ""),
    "mixture": ('formula = "0 + a + b + c + a:b"', 'simplex = { names = ["a", "b", "c"], lower = { b = 0.1 } }', ""),
    "product": (
        'formula = "1 + k + a*b + c**2"',
        'levels = { k = ["p", "q"] }\nbox = { c = [0, 3] }\nball = { centre = ["a", "b"] }',
        "",
    ),
    "another": (
        'formula = "1 + a*b"',
        'box = { a = [-1, 1], b = [0, 1] }\nwhere = "a + b <= 1.5"',
        "[average_over]\nball = { centre = { a = 0, b = 0.5 }, radius = 0.5 }",
    ),
}


@pytest.mark.parametrize("name", list(AVERAGED))
def test_moments_of_shapes_are_those_of_the_package(name, tmp_path):
    model, region, over = AVERAGED[name]
    path = tmp_path / "problem.toml"
    path.write_text(f'title = "t"\nkind = "i-optimal"\n[model]\n{model}\n[region]\n{region}\n{over}\n')
    exact = check_region.read(path)
    problem = load_problem(path).problem()
    assert fractions_of(problem.fields["M"]) == [[Fraction(float(x)) for x in row] for row in exact.aim["M"]]
    write_certificate(path, tmp_path / "certificate.json")
    assert check_certificate(tmp_path / "certificate.json", path) > 1 - 2e-6


@pytest.mark.parametrize(
    ("region", "over"),
    [
        ('simplex = { names = ["a", "b"], upper = 0.7 }', ""),
        ('polytope = { A = [[1], [-1]], b = [1, 1], names = ["a"] }', ""),
        ("box = { a = [0, 1] }", "[average_over]\nbox = { b = [0, 1] }"),
    ],
)
def test_averages_over_other_shapes_or_factors_are_refused(region, over, tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(f'title = "t"\nkind = "i-optimal"\n[model]\nformula = "1 + a"\n[region]\n{region}\n{over}\n')
    with pytest.raises(check_region.Rejected, match=r"average_over|this checker knows boxes|without upper limits"):
        check_region.read(path)


def test_runs_with_costs_are_certified_as_shares_of_the_budget(tmp_path):
    path, out = tmp_path / "problem.toml", tmp_path / "certificate.json"
    path.write_text(
        'title = "t"\nkind = "a-optimal"\ncosts = "2 + x/3"\n[model]\nformula = "1 + x + x**2"\n'
        "[region]\nbox = { x = [-1, 1] }\n"
    )
    runs = {"x": [-1.0, 0.25, 0.25, 1.0]}
    document = write_certificate(path, out, runs=runs, counts=[3, 2, 0, 1])
    total = sum(document["weights"])
    assert [Fraction(w, total) for w in document["weights"]] == [
        n * (2 + x / 3) / (3 * Fraction(5, 3) + 2 * Fraction(25, 12) + Fraction(7, 3))
        for n, x in ((3, Fraction(-1)), (2, Fraction(1, 4)), (1, Fraction(1)))
    ]
    low, high = cd.verify(load_problem(path).problem(), runs=runs, counts=[3, 2, 0, 1]).efficiency_interval
    assert low - 1e-6 <= check_certificate(out, path) <= high + 1e-6


@pytest.mark.parametrize("name", GALLERY)
def test_files_are_certified_and_checked(name, tmp_path):
    out = tmp_path / "certificate.json"
    document = write_certificate(find(name), out)
    ratio = check_certificate(out, find(name))
    assert 1 - 1e-5 <= ratio <= 1
    document["weights"][0] *= 3
    out.write_text(json.dumps(resealed(document)))
    with pytest.raises(cd.InputError, match="is rejected"):
        check_certificate(out, find(name))


def test_the_checker_needs_two_files_and_python_alone(tmp_path):
    out = tmp_path / "certificate.json"
    write_certificate(find("square-quadratic-d"), out)
    folder = Path(check_region.__file__).parent
    for name in ("check.py", "check_region.py"):
        (tmp_path / name).write_text((folder / name).read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-S", "check_region.py", str(out), str(find("square-quadratic-d"))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": ""})
    assert done.stdout.startswith("proven: ratio of determinants at least 0.99999"), done.stderr
    assert done.returncode == 0
    out.write_text(out.read_text().replace('"rows": [[', '"rows": [[1'))
    assert "rejected" in subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": ""}).stderr


@pytest.mark.parametrize(
    ("formula", "region"),
    [
        ("1 + a*b + a**2 + b**2", R.box(a=(0, 1), b=(0, 1))),
        ("0 + a + b + a:b", R.box(a=(0, 1), b=(0, 1))),
        ("a*b*c", R.box(a=(0, 1), b=(0, 1), c=(0, 1))),
        ("1 + a*a + a:a:b", R.box(a=(0, 1), b=(0, 1))),
        ("1 + k*a + k**2", R.levels(k=[-1, 0, 2]) * R.box(a=(0, 1))),
        ("1 + batch*a", R.levels(batch=["x", "y", "z"]) * R.box(a=(0, 1))),
        ("0 + batch + batch:a + a**2", R.levels(batch=["x", "y"]) * R.box(a=(0, 1))),
        ("1 + u*v + u:v:a", R.levels(u=["p", "q"], v=["r", "s", "t"]) * R.box(a=(0, 1))),
        ("0 + a + b + c + a:c", R.simplex(["a", "b", "c"])),
    ],
)
def test_formulas_are_read_as_the_package_reads_them(formula, region):
    curve = M.formula(formula).over(region)
    levels = {name: list(values) for name, values in region.choices}
    gone = {name: dict(p.terms) for name, p in region.eliminated}
    names, f = check_region.model(formula, list(region.names), gone, levels, region.pieces)
    assert f == [[dict(p.terms) for p in curve.polynomials(k)] for k in range(len(region.pieces))]
    assert [name or term for name, term in zip(names, curve.terms)] == list(curve.terms)


@pytest.mark.parametrize("formula", ["1 + log(x)", "1 + (x + 1)**2", "1 + I(x**2)", "x/2", "1 + z", "x**-1", "x + 1"])
def test_formulas_that_may_be_read_in_two_ways_are_refused(formula):
    with pytest.raises(check_region.Rejected):
        check_region.model(formula, ["x"], {}, {}, [{}])


def test_runs_are_verified_without_rounding():
    problem = D.d_optimal(box(2))
    runs = {"x0": [-1, 1, -1, 1, 0, 0, 1, -1, 0], "x1": [-1, -1, 1, 1, 0, 1, 0, 0, -1]}
    plain, exact = (cd.verify(problem, runs=runs, rigorous=rigorous) for rigorous in (False, True))
    assert "rational arithmetic" in exact.proof
    assert exact.efficiency_interval == pytest.approx(plain.efficiency_interval, abs=1e-6)
    low, high = exact.efficiency_interval
    F = np.array([[1, a, b, a * a, a * b, b * b] for a, b in zip(*runs.values())])
    truth = (np.linalg.det(F.T @ F / 9) / np.exp(-4.471776419)) ** (1 / 6)
    assert low - 1e-9 <= truth <= high + 1e-9
    assert high - low < 1e-6


KINDS = {
    "a": lambda: D.a_optimal(line(2)),
    "e": lambda: D.e_optimal(line(2)),
    "g": lambda: D.g_optimal(line(2)),
    "c": lambda: D.c_optimal(line(2), {"x": 1.0}),
    "interest": lambda: D.ds_optimal(line(2), ["x"]),
    "costs": lambda: D.d_optimal(line(2), costs="2 + x"),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_of_runs_is_verified_without_rounding(kind):
    problem = KINDS[kind]()
    runs = {"x": [-1.0, -0.2, 0.3, 1.0]}
    plain, exact = (cd.verify(problem, runs=runs, counts=[2, 1, 1, 3], rigorous=r) for r in (False, True))
    assert exact.efficiency_interval == pytest.approx(plain.efficiency_interval, abs=2e-6)


def test_too_few_runs_have_no_efficiency():
    assert cd.verify(D.d_optimal(line(2)), runs={"x": [-1.0, 1.0]}, rigorous=True).efficiency_interval == (0, 0)


def test_of_other_models_intervals_are_the_proof():
    curve = M.glm("1 + x", [0, 1], "logit").over(R.box(x=(-3, 3)))
    result = cd.verify(D.d_optimal(curve), runs={"x": [-1.5, 1.5]}, rigorous=True)
    assert "intervals rounded outwards" in result.proof
    with pytest.raises(cd.InputError, match="for polynomial models"):
        exact_problem(D.d_optimal(curve))
