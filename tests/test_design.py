"""A design answers what users ask of it, and survives a file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd

P = cd.DesignProblem
X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-0.5, 0.5]])
S2 = np.array([1.0, 2.0, 0.5, 1.5])


@pytest.fixture(scope="module")
def design():
    return cd.solve(P.xy_allocation(X, noise_variance=S2))


def test_information_and_variance(design):
    A = sum(w / s * np.outer(x, x) for w, x, s in zip(design.weights, X, S2))
    np.testing.assert_allclose(design.information, A, rtol=1e-12)
    V = np.array([[1.0, 2.0], [0.3, -4.0], [0.0, 0.0]])
    expected = [v @ np.linalg.solve(A, v) for v in V]
    np.testing.assert_allclose(design.variance(V), expected, rtol=1e-9)
    assert design.variance(V[0]) == pytest.approx(expected[0])
    pairs = [X[i] - X[j] for i in range(4) for j in range(i)]
    assert max(design.variance(pairs)) == pytest.approx(design.value, rel=1e-9)
    with pytest.raises(cd.InputError, match=r"2 entries per vector, got shape \(3,\)"):
        design.variance([1.0, 2.0, 3.0])


def test_variance_of_what_is_not_measured_is_infinite():
    design = cd.solve(P.c_optimal([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]], [1.0, 1.0, 0.0]))
    assert design.variance([2.0, 2.0, 0.0]) == pytest.approx(4.0, rel=1e-5)
    assert design.variance([0.0, 0.0, 1.0]) == np.inf
    assert design.variance([1.0, 1.0, 1e-3]) == np.inf


def test_frame_lists_arms_weights_and_variances(design):
    frame = design.to_frame()
    assert list(frame.columns) == ["arm", "weight", "noise_variance", "variance"]
    np.testing.assert_array_equal(frame["weight"], design.weights)
    np.testing.assert_array_equal(frame["noise_variance"], S2)
    np.testing.assert_allclose(frame["variance"], design.variance(X), rtol=1e-9)


def test_displays_say_value_gap_and_status(design):
    text = repr(design)
    assert "xy-allocation" in text
    assert "CERTIFIED" in text
    assert f"{design.value:.8g}" in text
    named = cd.solve(P.g_optimal(pd.DataFrame([[1, 0], [0, 1]], index=["<a>", "b"])))
    assert "&lt;a&gt;" in named._repr_html_()
    assert repr(P.g_optimal(X)) == "DesignProblem(g-optimal: 4 arms in R^2, 4 targets)"


def test_weights_cannot_be_written(design):
    with pytest.raises(ValueError, match="read-only"):
        design.weights[0] = 1.0


ALL = {
    "minimax": P(X, X[:2] - X[2:], noise_variance=S2),
    "g": P.g_optimal(X),
    "g-noise": P.g_optimal(pd.DataFrame(X, index=list("abcd")), noise_variance=S2),
    "phi": P.variance_g_optimal(X),
    "xy": P.xy_allocation(X, noise_variance=3.0),
    "xy-items": P.xy_allocation(X, X[:3] * 2),
    "level": P.level_set_allocation(X, [[1.0, 2.0]]),
    "best": P.best_arm_oracle(X, theta=[1.0, 0.2], noise_variance=S2),
    "oracle": P.level_set_oracle(X, theta=[1.0, 0.2], threshold=0.3),
    "c": P.c_optimal(X, [1.0, -1.0]),
    "d": P.d_optimal(X, noise_variance=S2),
    "costs": P.g_optimal(X, costs=[1.0, 2.0, 3.0, 4.0]),
    "prior": P.xy_allocation(X, existing_counts=[3, 0, 0, 1], n_new=10),
}


@pytest.mark.parametrize("name", ALL)
def test_saved_designs_come_back_certified_from_the_file_alone(name, tmp_path):
    design = cd.solve(ALL[name])
    path = tmp_path / "design.json"
    design.save(path)
    again = cd.Design.load(path)
    np.testing.assert_array_equal(again.weights, design.weights)
    assert again.value == pytest.approx(design.value, rel=1e-12)
    assert again.bound == pytest.approx(design.bound, rel=1e-12)
    assert again.status is design.status
    assert again.problem.kind == design.problem.kind
    assert again.problem.arms.names == design.problem.arms.names
    assert again.stats.method == design.stats.method


def test_a_file_that_lies_is_found_out(tmp_path, design):
    path = tmp_path / "design.json"
    design.save(path)
    document = json.loads(path.read_text())
    document["weights"] = [1.0 / len(document["weights"])] * len(document["weights"])
    path.write_text(json.dumps(document))
    assert cd.Design.load(path).status is not cd.Status.CERTIFIED
    for change, message in [
        ({"version": 99}, "upgrade convexdesign"),
        ({"format": "other"}, "not a saved design"),
        ({"weights": [2.0] * len(document["weights"])}, "damaged"),
        ({"support": [1000, 1]}, "support names arm 1000, but the arms are 0 .. 3"),
        ({"support": [-1, 1]}, "support names arm -1"),
        ({"support": [1, 1]}, "support names an arm twice"),
        ({"support": [0]}, "weights has 2 entries, support 1"),
        ({"support": [True, 1]}, r"support\[0\] is 'True', not a whole number"),
        ({"support": [0.0, 1.0]}, r"support\[0\] is '0.0', not a whole number"),
        ({"weights": ["0.5", "0.5"]}, r"weights\[0\] is '0.5', not a finite number"),
        ({"weights": [1.5, -0.5]}, "weights must be nonnegative"),
        ({"weights": [10**400, 1]}, r"weights\[0\] is '1000"),
        ({"witness": {"targets": [0]}}, "witness must hold targets and vectors"),
        ({"witness": {"targets": [-1], "vectors": [[1.0, 1.0]]}}, "witness.targets names target -1"),
        ({"witness": {"targets": [16], "vectors": [[1.0, 1.0]]}}, "witness.targets names target 16"),
        ({"witness": {"targets": [1], "vectors": [[1.0]]}}, "witness.vectors must hold 1 rows of 2 numbers"),
        ({"witness": {"targets": [1, 2], "vectors": [[1.0, 1.0]]}}, "witness.vectors must hold 2 rows"),
        ({"witness": {"targets": [1], "vectors": [["1", 1.0]]}}, r"witness.vectors\[0\]\[0\] is '1'"),
        ({"tol": 1e300}, "tol is 1e\\+300; a relative gap"),
        ({"tol": -1.0}, "tol is -1"),
        ({"tol": True}, "tol has the wrong form"),
        ({"ended": "PERFECT"}, "PERFECT"),
        ({"summary": {}}, "method is missing"),
        ({"summary": document["summary"] | {"method": "\x1b[2J"}}, "summary.method is"),
        ({"summary": document["summary"] | {"iterations": 1e300}}, "iterations has the wrong form"),
        ({"problem": {"kind": "z-optimal", "arms": {"values": [[1.0]]}}}, "unknown kind 'z-optimal'"),
    ]:
        path.write_text(json.dumps(document | change))
        with pytest.raises(cd.InputError, match=message):
            cd.Design.load(path)
    good = json.dumps(document)
    for text, message in [
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        (good.replace('"tol": 1e-06', '"tol": Infinity'), "Infinity is no number that JSON knows"),
        (good.replace('"tol": 1e-06', '"tol": NaN'), "NaN is no number that JSON knows"),
        (good.replace('"tol": 1e-06', '"tol": 1e400'), "tol is inf"),
        (good.replace('"tol": 1e-06', '"tol": 1e-06, "tol": 0.5'), "the field 'tol' comes twice"),
    ]:
        path.write_text(text)
        with pytest.raises(cd.InputError, match=message):
            cd.Design.load(path)
    with pytest.raises(cd.InputError, match="is a folder"):
        cd.Design.load(tmp_path)


def test_a_saved_dual_certificate_that_repeats_its_targets_proves_no_more_than_one_that_does_not(tmp_path):
    """tr A^-1 of weights (.7, .2, .1) on e1, e2, e1 + e2 is 1.1/.23, the optimum 2 + sqrt 3."""
    design = cd.solve(P.a_optimal([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    path = tmp_path / "design.json"
    design.save(path)
    document = json.loads(path.read_text())
    document |= {"support": [0, 1, 2], "weights": [0.7, 0.2, 0.1]}
    targets, vectors = document["witness"]["targets"], np.array(document["witness"]["vectors"])
    for times in range(1, 6):
        for scale in (0.1, 0.28, 1.0):
            rows = np.vstack([vectors] + [scale * vectors] * (times - 1))
            document["witness"] = {"targets": targets * times, "vectors": rows.tolist()}
            path.write_text(json.dumps(document))
            found = cd.Design.load(path)
            assert found.status is not cd.Status.CERTIFIED
            assert found.certificate.efficiency <= (2 + np.sqrt(3)) / (1.1 / 0.23) * (1 + 1e-12)
            assert found.bound == pytest.approx(2 + np.sqrt(3), rel=1e-9)


def test_large_arms_are_stored_beside_by_digest(tmp_path, monkeypatch):
    from convexdesign.problem import storage

    monkeypatch.setattr(storage, "INLINE_ENTRIES", 4)
    design = cd.solve(P.g_optimal(X))
    path = tmp_path / "design.json"
    design.save(path)
    assert cd.Design.load(path).value == pytest.approx(design.value)
    other = tmp_path / "design.arms.npy"
    np.save(other, X * 2)
    with pytest.raises(cd.InputError, match="digest mismatch"):
        cd.Design.load(path)


def test_a_callable_constraint_cannot_be_saved(tmp_path):
    problem = P.g_optimal(X, constraints=lambda w: [w[0] <= 0.4])
    weights = np.full(4, 0.25)
    from convexdesign.certificate import certify
    from convexdesign.problem import canonicalise

    design = cd.Design(problem, weights, certify(canonicalise(problem), weights), cd.Status.STALLED)
    with pytest.raises(cd.InputError, match="callable constraint cannot be saved"):
        design.save(tmp_path / "x.json")
