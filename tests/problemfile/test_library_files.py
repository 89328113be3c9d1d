"""The files of the library: complete, current, equal to the instances, their values recomputed without a solver."""

import math
import re
import tomllib
from itertools import combinations

import numpy as np
import pytest
from library_index import current, page

from convexdesign import instances
from convexdesign.features import phi
from convexdesign.problemfile import find, library, load_problem
from convexdesign.problemfile.document import Document
from convexdesign.problemfile.over_region import RegionDocument

FILES = [path for path in library() if not load_problem(path).is_over_region]
REGIONS = [path for path in library() if load_problem(path).is_over_region]


def stated(name):
    return load_problem(find(name))


def rows(given):
    return np.asarray(given.values, dtype=float)


def targets_of(file, X, Y):
    """The targets, written out here by their definitions."""
    inputs = file.inputs
    Z = rows(inputs["items"]) if "items" in inputs else X
    if file.kind == "minimax":
        return rows(inputs["targets"])
    if file.kind == "i-optimal":
        return rows(inputs["region"])
    if file.kind in ("g-optimal", "level-set-allocation"):
        return Z
    if file.kind == "variance-g-optimal":
        return phi(X)
    if file.kind == "xy-allocation":
        return np.array([Z[i] - Z[j] for i, j in combinations(range(len(Z)), 2)])
    if file.kind == "best-arm-oracle":
        best = int(np.argmax(Z @ inputs["theta"]))
        D = Z[best] - np.delete(Z, best, axis=0)
        return D / (D @ inputs["theta"])[:, None]
    if file.kind == "level-set-oracle":
        return Z / (Z @ inputs["theta"] - inputs["threshold"])[:, None]
    assert file.kind == "c-optimal"
    return inputs["direction"][None, :]


def value_of(file, weights):
    """The criterion at given weights, by pseudo-inverse."""
    X = rows(file.arms)
    if X.ndim == 3:
        A = information_of_groups(file, weights)
        return criterion_value(file, A, X, X)
    Y = phi(X) if file.kind == "variance-g-optimal" else X
    s2 = np.broadcast_to(np.asarray(file.inputs.get("noise_variance", 1.0)), len(X)) * file.inputs.get("costs", 1.0)
    A = Y.T @ ((weights / s2)[:, None] * Y)
    if "existing_counts" in file.inputs:
        A = A + Y.T @ ((file.inputs["existing_counts"] / s2)[:, None] * Y) / file.inputs["n_new"]
    if "prior_information" in file.inputs:
        A = A + np.asarray(file.inputs["prior_information"]) / file.inputs["n_new"]
    return criterion_value(file, A, X, Y)


def information_of_groups(file, weights):
    """sum_i w_i X_i S_i^-1 X_i' with the file's own lists."""
    document = tomllib.loads(file.path.read_text("utf-8"))
    noise = document["noise_variance"]
    noise = noise if len(noise) > 1 else noise * len(weights)
    return sum(w * np.array(X) @ np.linalg.inv(S) @ np.array(X).T for w, X, S in zip(weights, document["arms"], noise))


def criterion_value(file, A, X, Y):
    C = np.linalg.pinv(A, rcond=1e-12, hermitian=True)
    if file.kind == "d-optimal":
        return np.linalg.slogdet(A)[1]
    if file.kind == "e-optimal":
        return np.linalg.eigvalsh(A)[0]
    if file.kind == "phi2-optimal":
        return np.linalg.norm(C)
    if file.kind == "a-optimal":
        return np.trace(C)
    if file.kind == "ds-optimal":
        K = np.eye(len(A))[:, list(file.inputs["interest"])]
        return -np.linalg.slogdet(K.T @ C @ K)[1]
    if file.kind == "average-variance":
        return np.trace(C @ file.inputs["M"])
    V = targets_of(file, X, Y)
    q = np.einsum("ij,jk,ik->i", V, C, V)
    return q.mean() if file.kind == "i-optimal" else q.max()


@pytest.mark.parametrize("path", library(), ids=lambda path: path.stem)
def test_every_file_is_complete(path):
    file = load_problem(path)
    assert file.reference is not None
    assert len(file.statement) > 60
    assert file.statement.endswith((".", "?"))
    assert math.isfinite(file.reference.value)
    assert len(file.reference.source) > 20
    assert file.reference.tolerance <= 1e-5
    if file.is_over_region:
        assert file.reference.settings is not None
        assert file.problem().region.contains(file.reference.settings).all()
    else:
        assert file.problem().n_arms == file.arms.values.shape[0]


WITH_WEIGHTS = [path for path in FILES if "weights" in tomllib.loads(path.read_text("utf-8"))["reference"]]


@pytest.mark.parametrize("path", WITH_WEIGHTS, ids=lambda path: path.stem)
def test_stated_weights_have_the_stated_value(path):
    file = load_problem(path)
    w = np.array(file.reference.weights)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1, abs=1e-12)
    assert value_of(file, w) == pytest.approx(file.reference.value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("path", REGIONS, ids=lambda path: path.stem)
def test_settings_stated_over_a_region_have_the_stated_value(path):
    file = load_problem(path)
    known, problem = file.reference, file.problem()
    w, curve = np.array(known.weights), file.arms
    assert w.min() > 0
    assert w.sum() == pytest.approx(1, abs=1e-12)
    where, x = curve.region.coordinates(known.settings)
    if "thetas" in path.read_text("utf-8"):
        assert bayesian_value(path, x[:, 0], w) == pytest.approx(known.value, rel=1e-12)
        return
    own = np.concatenate([curve.weights(piece, x[[k]]) for k, piece in enumerate(where)])
    F = curve.at(known.settings) * np.sqrt(own / problem.prices(x))[:, None]
    A = F.T @ (w[:, None] * F)
    if file.kind == "c-optimal":
        c = problem.fields["direction"]
        value = c @ np.linalg.pinv(A, rcond=1e-12, hermitian=True) @ c
    else:
        value = criterion_value(file, A, F, F)
    assert value == pytest.approx(known.value, rel=1e-8, abs=1e-8)


def bayesian_value(path, x, w):
    """Half the mean log determinant for a logistic curve, from its definition and the table of the prior."""
    document = tomllib.loads(path.read_text("utf-8"))
    prior = np.genfromtxt(path.parent / document["model"]["thetas"], delimiter=",", names=True)
    eta = prior["Intercept"][:, None] + prior["x"][:, None] * x
    v = w / (2 + np.exp(eta) + np.exp(-eta))
    mean = prior["weight"] @ np.log(v.sum(axis=1) * (v @ x**2) - (v @ x) ** 2) / 2
    # The nodes are those of the prior that the statement names.
    nodes, shares = np.polynomial.legendre.leggauss(12)
    b, share = 1.05 + 0.95 * nodes, np.outer(shares, shares).ravel() / 4
    np.testing.assert_allclose(prior["weight"], share, rtol=1e-12)
    np.testing.assert_allclose(prior["Intercept"], -np.outer(b, 3 * nodes).ravel(), rtol=1e-12)
    assert 2 * mean + share @ np.repeat(2 * np.log(b), 12) == pytest.approx(-3.93057100, abs=1e-8)
    return mean


CONSTRAINED = [p for p in FILES if {"min_weight", "max_weight", "inequalities"} & load_problem(p).inputs.keys()]


@pytest.mark.parametrize("path", CONSTRAINED, ids=lambda path: path.stem)
def test_stated_weights_keep_the_constraints_and_some_bind(path):
    file = load_problem(path)
    w, n = np.array(file.reference.weights), len(file.arms.values)
    G, h = file.inputs.get("inequalities", (np.zeros((0, n)), np.zeros(0)))
    room = np.concatenate(
        [w - file.inputs.get("min_weight", 0.0), file.inputs.get("max_weight", 1.0) - w, h - np.asarray(G) @ w]
    )
    assert room.min() == pytest.approx(0, abs=1e-12)


def test_enough_files_of_every_kind_and_with_every_option():
    from convexdesign.problemfile import KINDS

    stated = [load_problem(path) for path in FILES]
    assert len(FILES) >= 50
    assert {file.kind for file in stated} == set(KINDS)
    options = {"noise_variance", "costs", "min_weight", "max_weight", "inequalities"}
    options |= {"existing_counts", "prior_information", "n_new"}
    assert options <= {name for file in stated for name in file.inputs}


def test_index_is_current():
    """Otherwise run python docs/_ext/library_index.py."""
    text = page().read_text(encoding="utf-8")
    assert text == current(text)
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    assert [row.split("](")[0][3:] for row in rows] == [path.stem for path in library()]


def test_index_describes_every_field_and_its_example_loads(tmp_path):
    text = page().read_text(encoding="utf-8")
    for field in (*Document.model_fields, *RegionDocument.model_fields):
        assert re.search(rf"\n\|[^|\n]*\b{field}\b[^|\n]*\|", text), field
    example = text.split("```toml\n")[1].split("```")[0]
    path = tmp_path / "example.toml"
    path.write_text(example)
    assert load_problem(path).problem().arm_name(3) == "both"


EXPERIMENTS = {
    "soare": instances.soare,
    "experiment-1": instances.experiment_1,
    "experiment-2": instances.experiment_2,
    "experiment-3": instances.multivariate_testing,
}


@pytest.mark.parametrize("name", [p.stem for p in FILES if p.stem.startswith(("soare", "experiment"))])
def test_files_state_the_instances(name):
    file = stated(name)
    make = next(make for prefix, make in EXPERIMENTS.items() if name.startswith(prefix))
    instance = make(objective="level-set") if file.kind == "level-set-oracle" else make()
    np.testing.assert_array_equal(rows(file.arms), instance.arms)
    if "theta" in file.inputs:
        np.testing.assert_array_equal(file.inputs["theta"], instance.theta)
    if "threshold" in file.inputs:
        assert file.inputs["threshold"] == instance.objective.threshold
    if name.endswith("equal-noise") or name == "soare-xy":
        expected = 1.0 if name.startswith("soare") else instance.noise_variance.max()
        assert file.inputs["noise_variance"] == expected
    else:
        np.testing.assert_allclose(file.inputs["noise_variance"], instance.noise_variance, rtol=1e-12)


def test_data_files_are_what_their_statements_say():
    spheres = instances.two_spheres(d=5, outer=20, inner=180, rng=2023)
    np.testing.assert_array_equal(rows(stated("two-spheres-variance").arms), spheres.arms)
    X = np.random.default_rng(0).standard_normal((200, 10))
    np.testing.assert_allclose(rows(stated("random-xy").arms), X / np.linalg.norm(X, axis=1, keepdims=True), rtol=1e-15)


@pytest.mark.parametrize(
    "name", ["two-spheres-variance", "circle-variance", "square-variance", "plus-minus-one-variance"]
)
def test_variance_values_are_ranks(name):
    file = stated(name)
    assert file.reference.value == np.linalg.matrix_rank(phi(rows(file.arms)))


def test_homoskedastic_values_bracket_the_complexity():
    """1/kappa <= psi*/rho* <= 1, with rho* the complexity at the largest variance."""
    for k, make in ((1, instances.experiment_1), (2, instances.experiment_2), (3, instances.multivariate_testing)):
        ratio = stated(f"experiment-{k}-best-arm").reference.value / (
            stated(f"experiment-{k}-best-arm-equal-noise").reference.value
        )
        assert 1 / make().kappa <= ratio <= 1
