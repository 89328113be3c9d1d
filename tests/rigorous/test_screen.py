"""Screening in doubles is never below the exact value, however hard the cancellation; balls then close the enclosure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.arms.source import ArrayArms
from convexdesign.balls import ball_matrix, precision, quadratic_forms
from convexdesign.problem.weights import WeightSet
from convexdesign.rigorous.data import ExactRows, Price, Scale
from convexdesign.rigorous.screen import largest_pair, largest_row, row_bounds
from convexdesign.rigorous.support import weighted_maximum


def exact_square(x, F):
    """|F'x|^2 in fractions."""
    x = [Fraction(v) for v in x]
    return sum(sum(Fraction(float(F[a, j])) * x[a] for a in range(len(x))) ** 2 for j in range(F.shape[1]))


def hard_rows(seed, n=12, d=4):
    """Rows of very different scales, some almost orthogonal to some columns of the factor."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((d, 3)) * np.geomspace(1e-6, 1e6, d)[:, None]
    X = rng.standard_normal((n, d)) * np.geomspace(1e6, 1e-6, d)
    for i in range(0, n, 2):
        null = np.linalg.svd((F * np.geomspace(1e6, 1e-6, d)[:, None]).T)[2][-1]
        X[i] = null * np.geomspace(1e6, 1e-6, d) * (1 + 1e-15 * rng.standard_normal(d))
    return X, F


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_row_bounds_are_above_the_exact_forms(seed):
    X, F = hard_rows(seed)
    bounds = row_bounds(ExactRows(ArrayArms(X)), F)
    assert all(Fraction(float(b)) >= exact_square(x, F) for b, x in zip(bounds, X))


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_differences_and_lifted_rows_are_bounded_too(seed):
    rng = np.random.default_rng(seed)
    X = 1.0 + 1e-7 * rng.standard_normal((6, 3))
    F = rng.standard_normal((3, 2))
    shifted = ExactRows(ArrayArms(X), offset=X[0])
    for b, x in zip(row_bounds(shifted, F), X):
        assert Fraction(float(b)) >= exact_square([Fraction(p) - Fraction(q) for p, q in zip(x, X[0])], F)
    G = rng.standard_normal((6, 2))
    lifted = ExactRows(ArrayArms(X), lifted=True)
    for b, x in zip(row_bounds(lifted, G), X):
        f = [
            Fraction(float(x[a])) * Fraction(float(x[c])) * (1 if a == c else 2) for a in range(3) for c in range(a, 3)
        ]
        assert Fraction(float(b)) >= exact_square(f, G)


def test_the_largest_row_is_enclosed_to_the_last_digits():
    rng = np.random.default_rng(0)
    X, F = rng.standard_normal((3000, 5)), rng.standard_normal((5, 5))
    rows = ExactRows(ArrayArms(X))
    with precision():
        S = ball_matrix(F) * ball_matrix(F).transpose()
        found = largest_row(row_bounds(rows, F), lambda i: quadratic_forms(S, rows.balls(i)))
    best = int(np.argmax(np.square(X @ F).sum(axis=1)))
    exact = exact_square(X[best], F)
    assert found.index == best
    assert Fraction(found.low) <= exact <= Fraction(found.high)
    assert found.high / found.low - 1 < 1e-14


@pytest.mark.parametrize("kind", ["random", "grid", "clustered"])
def test_the_farthest_pair_is_found_among_all(kind):
    rng = np.random.default_rng(1)
    Z = {
        "random": rng.standard_normal((60, 3)),
        "grid": np.array(np.meshgrid([0.0, 1, 2], [0.0, 1, 2], [0.0, 1, 2])).reshape(3, -1).T,
        "clustered": 1e8 + rng.standard_normal((40, 3)),
    }[kind]
    F = rng.standard_normal((3, 3))
    rows = ExactRows(ArrayArms(Z))
    with precision():
        S = ball_matrix(F) * ball_matrix(F).transpose()
        found = largest_pair(rows, F, 1.0, lambda i, j: quadratic_forms(S, rows.balls(i) - rows.balls(j)))
    differences = {
        (i, j): exact_square([Fraction(a) - Fraction(b) for a, b in zip(Z[i], Z[j])], F)
        for i in range(len(Z))
        for j in range(i + 1, len(Z))
    }
    top = max(differences.values())
    assert Fraction(found.low) <= top <= Fraction(found.high)
    assert found.high / found.low - 1 < 1e-13
    assert differences[divmod(found.index, len(Z))] == pytest.approx(top)


def test_many_items_need_no_list_of_pairs():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((20_000, 4))
    rows = ExactRows(ArrayArms(Z))
    with precision():
        S = ball_matrix(np.eye(4))
        found = largest_pair(rows, np.eye(4), 1.0, lambda i, j: quadratic_forms(S, rows.balls(i) - rows.balls(j)))
    far = Z[np.argsort(-np.square(Z).sum(axis=1))[:200]]
    assert found.high == pytest.approx(max(np.square(a - b).sum() for a in far for b in far), rel=1e-12)


def test_gaps_of_an_oracle_are_never_overestimated():
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((50, 3))
    Z[7] = Z[3] + 1e-9 * rng.standard_normal(3)
    theta = rng.standard_normal(3)
    for offset, threshold in ((Z[3], 0.0), (None, float(Z[5] @ theta))):
        scale = Scale(ExactRows(ArrayArms(Z), offset=offset), theta, threshold)
        origin = np.zeros(3) if offset is None else offset
        for i, bound in enumerate(scale.upper()):
            gap = sum(
                (Fraction(float(a)) - Fraction(float(o))) * Fraction(float(t)) for a, o, t in zip(Z[i], origin, theta)
            )
            gap -= Fraction(threshold)
            assert bound == np.inf or (gap != 0 and Fraction(float(bound)) >= 1 / gap**2)
    price = Price(np.array([0.1, 3.0]), np.array([0.7, 1e-3]))
    for p, s, c in zip(price.upper(2), [0.1, 3.0], [0.7, 1e-3]):
        assert Fraction(float(p)) >= 1 / (Fraction(s) * Fraction(c))


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_bounds_on_weights_limit_the_maximum_from_above_and_tightly(seed, with_inequality):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    q = rng.exponential(size=n)
    lower, upper = rng.uniform(0, 0.9 / n, n), rng.uniform(1.2 / n, 1.0, n)
    G, h = (None, None) if not with_inequality else (rng.random((2, n)), np.full(2, 0.6))
    W = WeightSet(lower=lower, upper=upper, G=G, h=h)
    found = weighted_maximum(W, q)
    solution = linprog(-q, A_ub=G, b_ub=h, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=list(zip(lower, upper)))
    if solution.status == 0:
        assert found >= -solution.fun * (1 - 1e-9)
        assert found == pytest.approx(-solution.fun, rel=1e-7)
    else:
        assert found >= 0
