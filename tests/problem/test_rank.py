"""The rank of arms: that of the numbers as given, whatever their units, and no lower by rounding."""

from fractions import Fraction

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problem import canonicalise
from convexdesign.problem.coordinates import rank_of
from convexdesign.problem.exact_rank import rank_at_least

P = cd.DesignProblem
YEARS = np.arange(2000.0, 2011.0)


def exact_rank(rows):
    """Gaussian elimination in rational arithmetic."""
    rows = [[Fraction(float(x)) for x in row] for row in rows]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] / rows[rank][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank])]
        rank += 1
    return rank


@pytest.mark.parametrize("seed", range(40))
def test_rank_modulo_a_prime_is_the_exact_one(seed):
    rng = np.random.default_rng(seed)
    d, r, n = int(rng.integers(1, 8)), int(rng.integers(1, 8)), int(rng.integers(1, 30))
    rows = rng.integers(-9, 10, (n, r)) @ rng.integers(-9, 10, (r, d)) * 2.0 ** rng.integers(-40, 40, d)
    assert rank_at_least(rows) == exact_rank(rows)
    noisy = rows + 1e-9 * rng.standard_normal(rows.shape)
    assert rank_at_least(noisy) == exact_rank(noisy)


def test_a_power_of_two_is_not_one():
    assert rank_at_least(np.array([[1.0, 1.0], [1.0, 2.0**31]])) == 2
    assert rank_at_least(np.zeros((3, 2))) == 0


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_years_are_as_good_as_centred_years(degree):
    raw, centred = (np.vander(t, degree + 1, increasing=True) for t in (YEARS, (YEARS - 2005.0) / 5.0))
    d, c = cd.solve(P.g_optimal(raw)), cd.solve(P.g_optimal(centred))
    assert d.status is cd.Status.CERTIFIED
    assert d.rank == degree + 1
    assert d.value == pytest.approx(degree + 1, rel=1e-6)
    np.testing.assert_allclose(d.weights, c.weights, atol=1e-5)
    assert d.variance(raw[1]) == pytest.approx(c.variance(centred[1]), rel=1e-4)
    v = cd.verify(d.problem, weights=c.weights)
    assert v.value == pytest.approx(degree + 1, rel=1e-6)
    assert v.is_optimal()


@pytest.mark.parametrize("unit", [1e-15, 1e-11, 1.0, 1e11, 1e15, 1e40])
def test_a_unit_with_zeros_among_its_column_loses_no_rank(unit):
    arms = np.array([[3, 1, 2], [-1, -1, 0], [3, 3, -1], [2, 1, 2]]) * [1.0, 1.0, unit]
    d = cd.solve(P.g_optimal(arms))
    assert d.rank == 3
    assert d.value == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_units_of_rows_and_columns_do_not_change_the_rank(seed):
    rng = np.random.default_rng(seed)
    n, d, r = int(rng.integers(4, 12)), int(rng.integers(2, 6)), int(rng.integers(1, 6))
    arms = (rng.integers(-3, 4, (n, r)) @ rng.integers(-3, 4, (r, d))) * (rng.random((n, d)) < 0.8)
    arms = arms * 2.0 ** rng.integers(-40, 40, d) * 2.0 ** rng.integers(-40, 40, (n, 1))
    if exact_rank(arms) == 0:
        arms[0, 0] = 1.0
    assert rank_of(arms) == exact_rank(arms)
    assert canonicalise(P.d_optimal(arms)).rank == exact_rank(arms)


def test_sums_of_decimals_are_dependent():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 10, (12, 3)) / 10.0
    d = cd.solve(P.g_optimal(np.column_stack([X, X.sum(axis=1)])))
    assert d.rank == 3
    assert d.status is cd.Status.CERTIFIED


def test_noise_does_not_blur_what_is_exact():
    F = np.vander(YEARS, 5, increasing=True)
    noise = np.linspace(0.7, 3.1, 11)
    G = np.vander((YEARS - 2005.0) / 5.0, 5, increasing=True)
    raw, centred = (cd.solve(P.g_optimal(M, noise_variance=noise)) for M in (F, G))
    assert raw.status is cd.Status.CERTIFIED
    assert raw.value == pytest.approx(centred.value, rel=2e-6)


def test_interest_in_any_units_is_independent():
    X = np.random.default_rng(6).standard_normal((9, 3))
    K = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0]])
    plain = cd.solve(P.ds_optimal(X, K))
    scaled = cd.solve(P.ds_optimal(X, K * [1e-12, 1e9]))
    assert scaled.status is cd.Status.CERTIFIED
    np.testing.assert_allclose(plain.weights, scaled.weights, atol=1e-3)
    with pytest.raises(cd.InputError, match="linearly dependent"):
        P.ds_optimal(X, np.column_stack([K, K @ [1.0, 2.0]]) * [1.0, 1e9, 1e-9])
