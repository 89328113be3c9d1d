"""Ill-conditioned coordinates change nothing: problems of every kind, and the same after an exact map."""

import json
from fractions import Fraction

import numpy as np
import pytest

import convexdesign as cd

P = cd.DesignProblem
RNG = np.random.default_rng(8)
# Whole numbers, and a map of whole numbers with determinant one that makes them ill-conditioned in any units.
X = RNG.integers(-5, 6, (12, 3)).astype(float)
T = np.array([[1.0, 0.0, 0.0], [300.0, 1.0, 0.0], [7.0, 200.0, 1.0]])
SKEW = X @ T @ T[::-1, ::-1]
NOISE = RNG.uniform(0.5, 2.0, 12)
TARGETS = RNG.integers(-3, 4, (5, 3)).astype(float)
K = np.eye(3)[:, :2]
PRIOR = 4.0 * np.eye(3)


def there(rows):
    return np.asarray(rows) @ T @ T[::-1, ::-1]


KINDS = {
    "g": lambda m, X: P.g_optimal(X),
    "g noise": lambda m, X: P.g_optimal(X, noise_variance=NOISE),
    "minimax": lambda m, X: P(X, m(TARGETS), noise_variance=NOISE),
    "c": lambda m, X: P.c_optimal(X, m(np.array([[1.0, 2.0, -1.0]]))[0]),
    "xy": lambda m, X: P.xy_allocation(X, m(TARGETS)),
    "i": lambda m, X: P.i_optimal(X, m(TARGETS)),
    "average": lambda m, X: P.average_variance(X, m(TARGETS).T @ m(TARGETS)),
    "ds": lambda m, X: P.ds_optimal(X, m(K.T).T),
    "capped": lambda m, X: P.g_optimal(X, noise_variance=NOISE, max_weight=0.2),
    "responses": lambda m, X: P(X.reshape(4, 3, 3).transpose(0, 2, 1), m(TARGETS)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_ill_conditioned_map_changes_no_value(kind):
    plain = cd.solve(KINDS[kind](np.asarray, X))
    skew = cd.solve(KINDS[kind](there, SKEW))
    assert np.linalg.cond(SKEW / np.abs(SKEW).max(axis=0)) > 1e9
    assert skew.status is cd.Status.CERTIFIED
    assert skew.canonical.restatement is not None
    assert skew.value == pytest.approx(plain.value, rel=3e-6, abs=1e-5)
    v = cd.verify(skew.problem, weights=plain.weights)
    assert v.value == pytest.approx(plain.value, rel=1e-9, abs=1e-9)
    assert not v.is_worse_than(3e-6)
    # Division by the noise was rounded before the coordinates changed: then the interval allows for that, and says so.
    assert v.is_optimal(3e-6) or (skew.problem.noise_variance is not None and "ill-conditioned" in v.remark)
    mine, others = v.worst_targets(3), cd.verify(plain.problem, weights=plain.weights).worst_targets(3)
    if kind not in ("average", "ds"):
        assert mine["variance"].to_numpy() == pytest.approx(others["variance"].to_numpy(), rel=1e-6)
    assert skew.round(20).efficiency == pytest.approx(plain.round(20).efficiency, rel=1e-3)


@pytest.mark.parametrize("kind", ["g", "minimax", "ds", "i"])
def test_a_saved_design_is_as_certified_as_it_was(kind, tmp_path):
    design = cd.solve(KINDS[kind](there, SKEW))
    path = tmp_path / "design.json"
    design.save(path)
    again = cd.Design.load(path)
    assert again.status is cd.Status.CERTIFIED
    assert again.gap == pytest.approx(design.gap, abs=1e-7)
    assert len(json.loads(path.read_text())["weights"]) == design.support.size


def test_information_held_of_any_size():
    """tr and log det of A = K 11' + the design's own, in exact arithmetic, for weighings on a balance."""
    import itertools

    arms = np.array([r for r in itertools.product([-1, 0, 1], repeat=3) if any(r)], float)
    for size in (1e6, 1e10, 1e14):
        held = size * np.ones((3, 3))
        for make, value in ((P.d_optimal, log_det), (P.a_optimal, trace_of_inverse)):
            d = cd.solve(make(arms, prior_information=held, n_new=1))
            assert d.status is cd.Status.CERTIFIED
            assert d.value == pytest.approx(value(arms, d.weights, held), rel=1e-9)
            assert not cd.verify(d.problem, weights=d.weights).is_worse_than(1e-6)
            assert cd.verify(d.problem, weights=d.weights, rigorous=True).efficiency > 1.0 - 1e-6


def exact_information(arms, weights, held):
    rows = [[Fraction(float(x)) for x in row] for row in arms]
    w = [Fraction(float(x)) for x in weights]
    d = len(rows[0])
    return [
        [Fraction(float(held[i, j])) + sum(w[k] * rows[k][i] * rows[k][j] for k in range(len(rows))) for j in range(d)]
        for i in range(d)
    ]


def determinant(A):
    if len(A) == 1:
        return A[0][0]
    minors = ([row[:j] + row[j + 1 :] for row in A[1:]] for j in range(len(A)))
    return sum((-1) ** j * A[0][j] * determinant(m) for j, m in enumerate(minors))


def log_det(arms, weights, held):
    return float(np.log(float(determinant(exact_information(arms, weights, held)))))


def trace_of_inverse(arms, weights, held):
    A = exact_information(arms, weights, held)
    d = len(A)
    cofactors = (determinant([[A[i][j] for j in range(d) if j != k] for i in range(d) if i != k]) for k in range(d))
    return float(sum(cofactors) / determinant(A))
