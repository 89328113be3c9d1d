"""Products of doubles against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from convexdesign.problem.compensated import congruence, difference, product


def exactly(A, B):
    rows = [[Fraction(float(x)) for x in row] for row in A]
    columns = [[Fraction(float(x)) for x in column] for column in B.T]
    return np.array([[float(sum(a * b for a, b in zip(r, c))) for c in columns] for r in rows])


@pytest.mark.parametrize("exponent", [0, -8, -15])
def test_products_that_cancel_keep_all_digits(exponent):
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((40, 6)), rng.standard_normal((6, 3))
    # The last column of B makes every product cancel to about the share asked for.
    A[:, -1] = -(A[:, :-1] @ B[:-1, 0]) / B[-1, 0] * (1.0 + 10.0**exponent * rng.standard_normal(40))
    exact, size = exactly(A, B), np.abs(A) @ np.abs(B)
    # The right number, rounded; and its square of the unit roundoff of what cancelled.
    assert np.all(np.abs(product(A, B) - exact) <= 1.2e-16 * np.abs(exact) + 1e-30 * size)
    if exponent == -15:
        assert np.abs(A @ B - exact).max() > 1e-17  # which the plain product does not have


def test_differences_lose_nothing():
    x, o = np.array([[1e16 + 2.0, 1.0, 0.1]]), np.array([1.0, -1e-17, 1e-30])
    B = np.array([[1.0], [-(1e16 + 1.0)], [3.0]])
    exact = sum(
        (Fraction(a) - Fraction(b)) * Fraction(c) for a, b, c in zip(x[0].tolist(), o.tolist(), B[:, 0].tolist())
    )
    assert product(difference(x, o), np.vstack([B, B]))[0, 0] == float(exact)


def test_a_congruence_of_a_huge_matrix_with_vectors_it_hardly_sees():
    rng = np.random.default_rng(2)
    M = 1e14 * np.ones((4, 4)) + np.eye(4)
    C = rng.standard_normal((4, 3))
    C -= C.mean(axis=0)
    columns = [[Fraction(float(x)) for x in c] for c in C.T]
    entries = [[Fraction(float(x)) for x in row] for row in M]
    exact = [
        [float(sum(a[i] * entries[i][j] * b[j] for i in range(4) for j in range(4))) for b in columns] for a in columns
    ]
    np.testing.assert_allclose(congruence(C, M), exact, rtol=1e-15, atol=1e-16)
