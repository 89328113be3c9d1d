"""Feature maps satisfy their defining identities; model matrices hold the terms their formulas name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign import features


@pytest.mark.parametrize("d", [1, 2, 5])
def test_phi_makes_the_quadratic_form_linear(d):
    rng = np.random.default_rng(d)
    X, S = rng.standard_normal((7, d)), rng.standard_normal((d, d))
    S = S + S.T
    np.testing.assert_allclose(features.phi(X) @ features.vech(S), np.einsum("ij,jk,ik->i", X, S, X), atol=1e-12)
    D = features.duplication_matrix(d)
    np.testing.assert_allclose(D @ features.vech(S), S.ravel())
    np.testing.assert_allclose(features.phi(X), [D.T @ np.outer(x, x).ravel() for x in X])
    np.testing.assert_allclose(features.unvech(features.vech(S)), S)


def test_builders_count_their_terms():
    assert features.full_factorial([3, 2, 4]).shape == (24, 3)
    assert features.polynomial(np.ones((2, 3)), 3).shape == (2, 20)
    assert features.interactions(np.ones((2, 4)), 4).shape == (2, 16)
    lattice = features.simplex_lattice(3, 4)
    assert lattice.shape == (15, 3)
    np.testing.assert_allclose(lattice.sum(axis=1), 1.0)
    assert features.polynomial([2.0, 3.0], 2).tolist() == [[1, 2, 4], [1, 3, 9]]


TABLE = pd.DataFrame(
    {"a": [-1.0, 0.0, 1.0, 1.0], "b": [1.0, 2.0, 3.0, 5.0], "kind": ["x", "y", "z", "x"]}, index=["p", "q", "r", "s"]
)


def test_model_matrix_of_numeric_terms():
    M = features.model_matrix(TABLE, "1 + a + b + a:b + a**2")
    a, b = TABLE["a"], TABLE["b"]
    assert list(M.index) == ["p", "q", "r", "s"]
    expected = {"Intercept": 1 + 0 * a, "a": a, "b": b, "a:b": a * b, "I(a ** 2)": a**2}
    assert set(M.columns) == set(expected)
    for name, column in expected.items():
        np.testing.assert_allclose(M[name], column)


def test_crossing_powers_categories_and_mixtures():
    assert set(features.model_matrix(TABLE, "(a + b)**2").columns) == {"Intercept", "a", "b", "a:b"}
    assert list(features.model_matrix(TABLE, "kind").columns) == ["Intercept", "kind[T.y]", "kind[T.z]"]
    mixture = pd.DataFrame(features.simplex_lattice(3, 2), columns=list("uvw"))
    M = features.model_matrix(mixture, "0 + u + v + w + u:v")
    assert list(M.columns) == ["u", "v", "w", "u:v"]
    assert "I(b ** 3)" in features.model_matrix(TABLE, "a + b^3").columns


def test_names_reach_the_output():
    design = cd.solve(cd.DesignProblem.d_optimal(features.model_matrix(TABLE, "a + b")))
    assert list(design.to_frame()["arm"]) == ["p", "q", "r", "s"]
    with pytest.raises(cd.UnidentifiableError, match=r"rank 3 in R\^4.*aliased"):
        cd.solve(
            cd.DesignProblem.a_optimal(
                features.model_matrix(TABLE.iloc[:3], "a + b + kind")[["a", "b", "kind[T.y]", "kind[T.z]"]]
            )
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: features.model_matrix(TABLE, "a + missing"), "missing"),
        (lambda: features.model_matrix(TABLE, "a + +* b"), "cannot be used"),
        (lambda: features.model_matrix(TABLE.assign(a=[1, np.nan, 2, 3]), "a"), "row q, column 'a'"),
        (lambda: features.model_matrix(TABLE, "b ~ a"), "left side"),
        (lambda: features.full_factorial([]), "levels is empty"),
        (lambda: features.full_factorial([2, []]), r"levels\[1\] is empty"),
        (lambda: features.simplex_lattice(0, 2), "at least 1"),
        (lambda: features.vech(np.ones((2, 3))), "square matrix"),
        (lambda: features.unvech(np.ones(4)), "length"),
        (lambda: features.phi(np.ones(3)), "matrix of arms"),
        (lambda: features.polynomial(np.ones((2, 2, 2)), 1), "matrix"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(cd.InputError, match=message):
        call()
