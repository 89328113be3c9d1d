"""Formulas are arithmetic and named functions of columns; squares are squares, however they are written."""

from __future__ import annotations

import contextlib
import itertools
import random
import string

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.features import model_matrix

TABLE = pd.DataFrame(
    {
        "a": [-1, 0, 1, 2, 3],
        "b": [1.0, 0, 2, 5, 3],
        "feed rate": [0.5, 1, 2, 4, 8],
        "d.e": [1.0, 2, 3, 5, 8],
        "kind": list("xyzxy"),
        "A": [1.0, 2, 3, 4, 5],
        "C": [1, 2, 1, 2, 1],
        "I": [1.0, 0, 1, 0, 2],
    }
)
A, B = TABLE["a"].to_numpy(float), TABLE["b"].to_numpy(float)


@pytest.mark.parametrize(
    "written", ["a**2", "(a)**2", "((a))^2", "a:a", "I(a**2)", "I(a)**2", "I(a * a)", "(a + a)**2"]
)
def test_the_square_of_a_number_is_its_square(written):
    np.testing.assert_array_equal(model_matrix(TABLE, f"0 + {written}").to_numpy()[:, 0], A**2)


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("a + a*a", [A**0, A, A**2]),
        ("0 + `feed rate` + `feed rate`**2", [TABLE["feed rate"], TABLE["feed rate"] ** 2]),
        ("0 + (a:b)**2", [A**2 * B**2]),
        ("(a + b)**2", [A**0, A, B, A * B]),
        ("(a + b)*(a + b)", [A**0, A, B, A**2, B**2, A * B]),
        (
            "0 + (a + b + a**2 + b**2)**2",
            [A, B, A**2, B**2, A**3, B**3, A * B, A * B**2, B * A**2, A**2 * B**2],
        ),
        ("log(A)**2 - 1", [np.log(TABLE["A"]) ** 2]),
        ("A**-1 + b**0.5 + 0", [1 / TABLE["A"], np.sqrt(B)]),
        ("a*b - a:b - 1", [A, B]),
        ("0 + a/b", [A, A * B]),
        ("0 + I((a > 0) * a) + np.exp(a) + d.e", [A * (A > 0), np.exp(A), TABLE["d.e"]]),
        ("0 + I(a^2 / A)", [A**2 / TABLE["A"]]),
        ("0 + A + I", [TABLE["A"], TABLE["I"]]),
        ("0 + (1 + a):b", [B, A * B]),
    ],
)
def test_expansion(formula, columns):
    found = model_matrix(TABLE, formula).to_numpy()
    expected = np.column_stack(columns)
    assert found.shape == expected.shape
    for column in expected.T:
        assert np.isclose(found, column[:, None], rtol=1e-12).all(axis=0).any(), column


def test_the_power_of_a_sum_is_the_crossing_of_different_terms():
    """(a + b + c)**k holds the products of up to k of them, for every k, as Wilkinson and Rogers (1973) define it."""
    table = pd.DataFrame(np.arange(12.0).reshape(4, 3) ** 1.5, columns=list("abc"))
    for k in (1, 2, 3, 50):
        expected = {":".join(c) for j in range(1, min(k, 3) + 1) for c in itertools.combinations("abc", j)}
        assert set(model_matrix(table, f"0 + (a + b + c)**{k}").columns) == expected


def test_categories_have_no_squares_and_columns_may_be_called_like_functions():
    names = ["Intercept", "kind[T.y]", "kind[T.z]"]
    for formula in ("kind", "kind:kind", "kind**2", "kind*kind"):
        assert list(model_matrix(TABLE, formula).columns) == names
    assert list(model_matrix(TABLE, "C(C)").columns) == ["Intercept", "C(C)[T.2]"]
    assert list(model_matrix(TABLE, "A + A**2").columns) == ["Intercept", "A", "I(A ** 2)"]
    whole = pd.DataFrame({"n": [10**5, 2 * 10**5]})  # 10^25 is no 64-bit integer
    assert model_matrix(whole, "0 + n**5").to_numpy()[:, 0].tolist() == [1e25, 32e25]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("{a}", "not expected"),
        ("{__import__('os').system('true')}", "not expected"),
        ("I(().__class__)", "no meaning"),
        ("a.__class__", "no column 'a.__class__'"),
        ("I(a.mean())", "no function 'a.mean'"),
        ("Q('a')", "no function 'Q'"),
        ("eval('a')", "no function 'eval'"),
        ("np.load('a')", "no function 'np.load'"),
        ("log(__builtins__)", "no column"),
        ("I(lambda: 1)", "no column 'lambda'"),
        ("I([x for x in a])", "no column"),
        ("I(9**9**9**9)", "as one number"),
        ("I((2**64)**64)", "as one number"),
        ("a**1e9", "too large"),
        ("I('a' * 10**9)", "no number"),
        ("I([0] * 10**9)", "no number"),
        ("poly(a, 100000)", "too many"),
        ("poly(a, 5)", "needs more than 5 different values"),
        ("poly(a, 2)**2", "several columns"),
        ("2*a", "is no term"),
        ("(" * 200 + "a" + ")" * 200, "nested"),
        ("I(" + "-" * 4000 + "a)", "I("),
        ("I(a**100)", "too large"),
        ("I(((2**64)**64)**a)", "as one number"),
        ("a +", "ends where a term"),
        ("log(a", "not closed"),
        ("`a", "not closed"),
        ("(a + b)**b", "power needs a number"),
        ("a" + " + a" * 20_000, "characters"),
        ("b ~ a", "left side"),
        ("0", "no terms"),
        ("", "ends where"),
        ("log(kind)", "kind"),
    ],
)
def test_everything_else_is_refused(formula, message):
    with pytest.raises(cd.InputError, match=message.replace("(", r"\(").replace("[", r"\[")):
        model_matrix(TABLE, formula)


def test_expansions_are_limited():
    table = pd.DataFrame(np.eye(30), columns=[f"v{k}" for k in range(30)])
    everything = " + ".join(table.columns)
    with pytest.raises(cd.InputError, match="more than 5000 terms"):
        model_matrix(table, f"({everything})**15")
    with pytest.raises(cd.InputError, match="more than 5000 terms"):
        model_matrix(table, f"({everything})*({everything})*({everything})")


def test_random_texts_are_formulas_or_refused():
    rng = random.Random(0)
    pieces = [
        *TABLE.columns,
        "`feed rate`",
        *"()+-*/:^,.`'01 2~|%{}[]=<>",
        "**",
        "%in%",
        "log(",
        "poly(",
        "C(",
        "I(",
        "\0",
    ]
    for _ in range(300):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 12))) + rng.choice(
            ["", rng.choice(string.printable)]
        )
        with contextlib.suppress(cd.InputError):
            assert len(model_matrix(TABLE, text)) == len(TABLE)
