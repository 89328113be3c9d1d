"""Portable certificates: written by one program, checked by another that knows only Python's integers and fractions."""

from __future__ import annotations

import ast
import copy
import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problemfile import check_certificate, find, load_problem, write_certificate
from convexdesign.rigorous import certify, check

CHECKER = Path(check.__file__)
LIBRARY = [
    "soare-xy",
    "soare-best-arm",
    "soare-level-set",
    "experiment-1-best-arm",
    "experiment-2-level-set-allocation",
    "experiment-3-xy",
    "star-with-noise",
    "basis-g-with-costs",
    "two-arms-followed-up",
    "two-arms-c",
    "circle-variance",
    "plus-minus-one-variance",
    "grid-3x3-a",
    "grid-3x3-d",
]


def written(path, tmp_path, **design):
    """The certificate of a problem file's optimal design, or of another one with the same vectors."""
    out = tmp_path / "certificate.json"
    document = write_certificate(path, out, **design)
    assert json.loads(out.read_text()) == document
    return document


@pytest.mark.parametrize("name", LIBRARY)
def test_library_problems_are_certified_to_nine_digits(name, tmp_path):
    path = find(name)
    document = written(path, tmp_path)
    ratio = check.check(document, check.read(path))
    assert 1 - Fraction(1, 10**9) <= ratio <= 1
    reference = load_problem(path).reference
    if document["kind"] != "d-optimal":
        assert float(Fraction(*(int(x, 16) for x in document["bound"].split("/")))) == pytest.approx(
            reference.value, rel=1e-6
        )


def test_counts_of_arms_with_costs_are_shares_of_the_budget(tmp_path):
    """At prices 1, 2, 5 one measurement of each is the optimum, 8."""
    path = find("basis-g-with-costs")
    best = check.check(written(path, tmp_path, counts=[7, 7, 7]), check.read(path))
    assert 1 - Fraction(1, 10**9) <= best <= 1
    # (2, 1, 1) costs 9, so c_i / w_i = 9 / n_i is 9 at worst.
    worse = check.check(written(path, tmp_path, counts=[2, 1, 1]), check.read(path))
    assert float(worse) == pytest.approx(8 / 9, rel=1e-9)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    path = tmp_path_factory.mktemp("problem") / "problem.toml"
    path.write_text(
        'title = "t"\nkind = "level-set-allocation"\narms = [[1.0, 0.1], [0.2, 1.0], [0.7, 0.6], [0.5, -0.3]]\n'
        "items = [[1.0, 1.0], [0.3, -1.0], [0.0, 2.5]]\nnoise_variance = [1.0, 0.7, 2.0, 0.1]\n"
    )
    return path, written(path, path.parent)


def test_it_runs_alone_without_this_package_or_any_other(example, tmp_path):
    path, document = example
    script = tmp_path / "check.py"
    script.write_text(CHECKER.read_text(encoding="utf-8"), encoding="utf-8")
    certificate = tmp_path / "certificate.json"
    certificate.write_text(json.dumps(document))
    command = [sys.executable, "-I", "-S", str(script), str(certificate), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("proven: efficiency at least 0.99999999")
    certificate.write_text(json.dumps(document | {"format": "another"}))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "rejected" in done.stderr


def test_it_is_short_and_imports_the_standard_library_only():
    text = CHECKER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.split(".")[0])
    assert names <= set(sys.stdlib_module_names)
    writer = (CHECKER.parent / "certifying.py").read_text(encoding="utf-8")
    assert "rigorous.check" not in writer  # neither uses the other


def resealed(document):
    return document | {"digest": check.sha256(document)}


def leaves(value, at=()):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*at, key))
    elif isinstance(value, list):
        for key, part in enumerate(value):
            yield from leaves(part, (*at, key))
    else:
        yield at, value


def replaced(document, at, value):
    out = copy.deepcopy(document)
    part = out
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = value
    return out


def other(value):
    if isinstance(value, int):
        return value + 1
    return ("0" if value[0] != "0" else "1") + value[1:]


@pytest.mark.parametrize("seal_again", [False, True])
def test_changing_any_single_field_is_rejected(example, seal_again):
    path, document = example
    problem = check.read(path)
    check.check(document, problem)
    count = 0
    for at, value in leaves(document):
        changed = replaced(document, at, other(value))
        if seal_again and at != ("digest",):
            changed = resealed(changed)
        with pytest.raises((check.Rejected, ValueError)):
            check.check(changed, problem)
        count += 1
    assert count > 15
    for field in document:
        with pytest.raises(check.Rejected):
            check.check({k: v for k, v in document.items() if k != field}, problem)
    for extra in ({"note": "trust me"}, {"weights": {}}, {"vectors": {}}, {"multipliers": {}}):
        with pytest.raises((check.Rejected, ValueError)):
            check.check(resealed(document | extra), problem)


def test_moving_an_entry_to_another_arm_or_target_is_rejected(example):
    path, document = example
    problem = check.read(path)
    for field in ("weights", "multipliers", "vectors"):
        for key in document[field]:
            for fresh in ("0", "1", "2", "3", "17", "-1"):
                if fresh not in document[field]:
                    moved = {fresh if k == key else k: v for k, v in document[field].items()}
                    with pytest.raises((check.Rejected, LookupError)):
                        check.check(resealed(document | {field: moved}), problem)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.1],", "0.1000000000000001],"),
        ("0.7, 2.0", "0.7, 2.0000000000000004"),
        ("2.5]]", "2.5], [0.0, 0.1]]"),
        ("level-set-allocation", "xy-allocation"),
    ],
)
def test_other_data_are_rejected(example, tmp_path, old, new):
    path, document = example
    text = path.read_text()
    assert old in text
    changed = tmp_path / "problem.toml"
    changed.write_text(text.replace(old, new, 1))
    with pytest.raises(check.Rejected, match="other data"):
        check.check(document, check.read(changed))


def test_a_poor_design_gets_an_honest_certificate(example, tmp_path):
    path, _ = example
    weights = np.array([0.7, 0.1, 0.1, 0.1])
    ratio = check.check(written(path, tmp_path, weights=weights), check.read(path))
    problem = load_problem(path).problem()
    low, high = cd.verify(problem, weights, rigorous=True).efficiency_interval
    assert low - 1e-12 <= ratio <= high
    assert ratio < 0.9


def test_counts_are_certified_as_the_proportions_they_are(example, tmp_path):
    path, _ = example
    counts = np.array([3, 1, 0, 4])
    document = written(path, tmp_path, counts=counts)
    assert document["weights"] == {"0": 3, "1": 1, "3": 4}
    ratio = float(check.check(document, check.read(path)))
    assert ratio == pytest.approx(cd.verify(load_problem(path).problem(), counts=counts).efficiency, abs=1e-6)


def test_random_vectors_prove_a_valid_but_weaker_bound(example):
    path, document = example
    problem = check.read(path)
    rng = np.random.default_rng(0)
    value = Fraction(*(int(x, 16) for x in document["value"].split("/")))
    for _ in range(20):
        trial = document | {"vectors": {k: rng.integers(-99, 99, 2).tolist() for k in document["vectors"]}}
        _, bound = check.recompute(problem, trial)
        assert bound <= value


def test_a_design_that_misses_a_target_cannot_be_certified(example, tmp_path):
    path, document = example
    with pytest.raises(cd.InputError, match="does not measure"):
        written(path, tmp_path, weights=[1.0, 0.0, 0.0, 0.0])
    with pytest.raises(cd.InputError, match="nonnegative"):
        written(path, tmp_path, counts=[1, -1, 0, 2])
    with pytest.raises(check.Rejected, match="not measured"):
        check.recompute(check.read(path), document | {"weights": {"0": 1}})


def test_kinds_and_constraints_beyond_the_checker_are_named():
    problem = cd.DesignProblem.e_optimal(np.eye(2))
    with pytest.raises(cd.InputError, match="this is e-optimal"):
        certify(cd.solve(problem).canonical, np.full(2, 0.5), np.empty(0, dtype=int), np.empty((0, 2)))
    with pytest.raises(check.Rejected, match="without constraints"):
        check.read(find("two-arms-capped"))


def test_tables_beside_the_file_are_read_as_the_package_reads_them(tmp_path):
    rng = np.random.default_rng(1)
    arms = rng.standard_normal((8, 3))
    np.save(tmp_path / "arms.npy", arms)
    lines = ["a,b,c", *(",".join(repr(float(x)) for x in row) for row in arms)]
    (tmp_path / "arms.csv").write_text("\n".join(lines) + "\n")
    documents = []
    for name in ("arms.npy", "arms.csv"):
        path = tmp_path / f"{name}.toml"
        path.write_text(f'title = "t"\nkind = "g-optimal"\narms = "{name}"\n')
        documents.append(written(path, tmp_path))
        assert check.check(documents[-1], check.read(path)) > 1 - Fraction(1, 10**9)
    assert documents[0]["data"] == documents[1]["data"]


def test_a_rejection_is_an_input_error_with_its_reason(example, tmp_path):
    path, document = example
    certificate = tmp_path / "c.json"
    certificate.write_text(json.dumps(document))
    assert 1 - Fraction(1, 10**9) < check_certificate(certificate, path) <= 1
    certificate.write_text(json.dumps(document | {"value": document["bound"]}))
    with pytest.raises(cd.InputError, match="rejected"):
        check_certificate(certificate, path)
    with pytest.raises(cd.InputError, match="rejected"):
        check_certificate(path, path)


# Kinds with their fields, and weights far from the best, for certificates that claim more than they prove.
ARMS = "arms = [[1.0, 0.1], [0.2, 1.0], [0.7, 0.6], [0.5, -0.3]]\nnoise_variance = [1.0, 0.7, 2.0, 0.1]\n"
STATED = {
    "minimax": "targets = [[1.0, 1.0], [0.3, -1.0]]",
    "g-optimal": "",
    "variance-g-optimal": "",
    "xy-allocation": "items = [[1.0, 1.0], [0.3, -1.0], [0.0, 2.5]]",
    "level-set-allocation": "items = [[1.0, 1.0], [0.3, -1.0], [0.0, 2.5]]",
    "best-arm-oracle": "theta = [1.0, 0.3]",
    "level-set-oracle": "theta = [1.0, 0.3]\nthreshold = 0.65",
    "c-optimal": "direction = [1.0, -0.4]",
    "a-optimal": "",
    "d-optimal": "",
}


def restated(document, problem):
    """The document with value, bound and digest as the checker computes them."""
    value, bound = check.recompute(problem, document)
    return resealed(
        document | {x: f"{y.numerator:x}/{y.denominator:x}" for x, y in (("value", value), ("bound", bound))}
    )


@pytest.mark.parametrize("kind", STATED)
def test_multipliers_prove_no_more_for_being_large(kind, tmp_path):
    """Whatever the multipliers, no bound passes the optimum, which the best weights come close to."""
    path = tmp_path / "problem.toml"
    path.write_text(f'title = "t"\nkind = "{kind}"\n{ARMS}{STATED[kind]}\n')
    problem = check.read(path)
    best = check.check(written(path, tmp_path), problem)
    document = written(path, tmp_path, weights=[0.1, 0.1, 0.1, 0.7])
    true = check.check(document, problem)
    assert true < best <= 1
    rng = random.Random(3)
    for scale in (2, 3, 1000, 10**40):
        for alike in (True, False):
            factors = {k: scale if alike else rng.randint(2, scale) for k in document["multipliers"]}
            trial = document | {"multipliers": {k: m * factors[k] for k, m in document["multipliers"].items()}}
            if kind == "a-optimal":
                with pytest.raises(check.Rejected, match="every multiplier must be 1"):
                    check.recompute(problem, trial)
            else:
                assert check.check(restated(trial, problem), problem) <= true / best


def test_ratios_above_one_are_rejected_whoever_computed_them(example, monkeypatch):
    path, document = example
    problem = check.read(path)
    for value, bound in ((1, 2), (1, -1), (0, 0), (-2, -1)):
        monkeypatch.setattr(check, "recompute", lambda *_, v=value, b=bound: (Fraction(v), Fraction(b)))
        with pytest.raises(check.Rejected, match="no design is better than the optimum"):
            check.check(restated(document, problem), problem)


@pytest.mark.parametrize("key", ["00", "+0", " 0", "0_0", "-0", "\u0660", "0.0", ""])
def test_indices_are_written_in_one_way_only(example, key):
    path, document = example
    problem = check.read(path)
    for field in ("weights", "multipliers", "vectors"):
        entries = document[field]
        some = next(iter(entries))
        with pytest.raises(check.Rejected, match="whole numbers as keys"):
            check.recompute(problem, document | {field: {key: entries[some], **entries}})


@pytest.mark.parametrize("field", ["weights", "multipliers"])
@pytest.mark.parametrize("value", [True, 1.0, "1", -1, 0, None, 1e400, float("nan")])
def test_weights_and_multipliers_are_whole_and_positive(example, field, value):
    path, document = example
    changed = document | {field: dict.fromkeys(document[field], value)}
    with pytest.raises((check.Rejected, TypeError)):
        check.recompute(check.read(path), changed)


def test_a_field_that_comes_twice_is_rejected(example, tmp_path):
    path, document = example
    text = json.dumps(document)
    assert check.parsed(text.encode()) == document
    for part in ('"kind": ', '"value": ', '"0": '):
        assert part in text
        twice = text.replace(part, f"{part}1, {part}", 1)
        with pytest.raises(check.Rejected, match="a field comes twice"):
            check.parsed(twice.encode())
    certificate = tmp_path / "c.json"
    for raw in ("[" * 100_000, "\x00", '{"weights": ' + "9" * 5000 + "}"):
        certificate.write_text(raw)
        with pytest.raises(cd.InputError, match="rejected"):
            check_certificate(certificate, path)
        done = check.main([str(certificate), str(path)])
        assert done.startswith("rejected: ")


def test_determinants_need_arms_that_span_all_dimensions(tmp_path):
    path = tmp_path / "flat.toml"
    path.write_text('title = "t"\nkind = "d-optimal"\narms = [[1.0, 1.0], [2.0, 2.0]]\n')
    with pytest.raises(cd.InputError, match="the determinant over all 2 dimensions is zero"):
        write_certificate(path, tmp_path / "c.json")
    document = {"weights": {"0": 1, "1": 1}, "multipliers": {"0": 1, "1": 1}, "vectors": {"0": [1, 0], "1": [0, 1]}}
    with pytest.raises(check.Rejected, match="a determinant is zero"):
        check.recompute(check.read(path), document)


def test_a_target_named_twice_is_refused_by_the_writer():
    design = cd.solve(cd.DesignProblem.a_optimal(np.eye(2)))
    dual = design.certificate.dual
    with pytest.raises(cd.InputError, match="named twice"):
        certify(design.canonical, design.weights, np.zeros(2, dtype=np.intp), dual.vectors)
