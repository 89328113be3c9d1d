"""What rounding is said to have done to values and bounds, against exact arithmetic on ill-conditioned problems."""

import numpy as np
import pytest
from exactly import Exact, WeightRules, double, rational
from flint import fmpq, fmpq_mat

import convexdesign as cd

P = cd.DesignProblem


def exactly(X, criterion, **parts):
    n, d = X.shape
    columns = [fmpq_mat(d, 1, [rational(x) for x in row]) for row in X]
    rules = WeightRules(n, [fmpq(0)] * n, [fmpq(1)] * n)
    return Exact(d, criterion, columns, [fmpq_mat(1, 1, [fmpq(1)])] * n, rules, **parts)


def graded(seed, condition):
    rng = np.random.default_rng(seed)
    n, d = 12, 4
    U, V = (np.linalg.qr(rng.standard_normal((k, d)))[0] for k in (n, d))
    return U * np.logspace(0, -np.log10(condition), d) @ V.T


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e10, 1e13])
@pytest.mark.parametrize("seed", range(3))
def test_a_variance_is_as_right_as_it_says_and_its_bound_is_one(seed, condition):
    X = graded(seed, condition)
    design = cd.solve(P(X, X[:3]))
    exact = exactly(X, "minimax", targets=[[rational(x) for x in row] for row in X[:3]])
    value = exact.value([rational(w) for w in design.weights])
    assert design.status is cd.Status.CERTIFIED
    assert abs(double(rational(design.value) / value - 1)) <= design.certificate.rounding
    total = sum(rational(w) for w in design.weights)
    assert rational(design.bound) <= exact.value([rational(w) / total for w in design.weights])


@pytest.mark.parametrize("units", [(1, 1, 1, 1), (1e-12, 1e3, 1e9, 1e-5)])
@pytest.mark.parametrize("condition", [1e1, 1e9])
def test_columns_of_interest_in_any_units(units, condition):
    X, K = graded(7, condition), np.eye(4)[:, :3] * np.array(units)[:3]
    design = cd.solve(P.ds_optimal(X, K))
    table = fmpq_mat(4, 3, [rational(x) for x in K.ravel()])
    value = exactly(X, "interest", K=table).value([rational(w) for w in design.weights])
    assert design.status is cd.Status.CERTIFIED
    assert abs(float((value - rational(design.value)).mid())) <= 3 * design.certificate.rounding + 1e-13 * abs(
        design.value
    )


@pytest.mark.parametrize("unit", [1.0, 2.0**-40, 2.0**30])
@pytest.mark.parametrize("seed", range(4))
def test_pulls_already_made_add_no_direction(seed, unit):
    """Rows of pulls made are rows of the arms: with them the rank is the arms' own, and the value is exact."""
    rng = np.random.default_rng(seed)
    X = (rng.integers(-5, 6, (15, 2)) @ rng.integers(-3, 4, (2, 4))).astype(float) * unit
    counts = rng.integers(0, 10, 15).astype(float)
    design = cd.solve(P(X, X[:4], existing_counts=counts, n_new=7, noise_variance=np.full(15, 0.3)))
    A0 = fmpq_mat(4, 4)
    for count, row in zip(counts, X):
        x = fmpq_mat(4, 1, [rational(v) for v in row])
        A0 += x * x.transpose() * (rational(count) / rational(0.3) / 7)
    exact = exactly(X, "minimax", targets=[[rational(v) for v in row] for row in X[:4]], A0=A0)
    value = exact.value([rational(w) / rational(0.3) for w in design.weights])
    assert design.status is cd.Status.CERTIFIED
    assert design.rank == exact.rank == np.linalg.matrix_rank(X / unit)
    assert abs(double(rational(design.value) / value - 1)) <= design.certificate.rounding


def test_a_gap_allows_for_rounding():
    design = cd.solve(P.c_optimal(graded(1, 1e13), [1.0, 0.0, 0.0, 0.0]))
    certificate = design.certificate
    assert certificate.gap >= certificate.value / certificate.bound - 1
    assert 0.0 < certificate.rounding < 1e-6


@pytest.mark.parametrize("condition", [1e3, 1e6, 1e9])
def test_phi_of_ill_conditioned_arms_has_the_rank_it_has(condition):
    """The condition of phi(x) is the square of that of the arms, beyond doubles for the last; its rank is d(d+1)/2."""
    X = graded(3, condition)[:, 1:]
    design = cd.solve(P.variance_g_optimal(X))
    first, second = np.triu_indices(3)
    phi = [[rational(x[a]) * rational(x[b]) * (1 if a == b else 2) for a, b in zip(first, second)] for x in X]
    columns = [fmpq_mat(6, 1, row) for row in phi]
    rules = WeightRules(12, [fmpq(0)] * 12, [fmpq(1)] * 12)
    exact = Exact(6, "minimax", columns, [fmpq_mat(1, 1, [fmpq(1)])] * 12, rules, targets=phi)
    value = double(exact.value([rational(w) for w in design.weights]))
    assert design.status is cd.Status.CERTIFIED
    assert design.rank == exact.rank == 6
    assert value * (1 + 1e-12) >= 6.0
    assert value <= 6.0 * (1 + 1e-6)
