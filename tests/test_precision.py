"""Diagnostics of a plan, against least squares written out, simulation-free closed forms and noncentral t by integration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

import convexdesign as cd

RNG = np.random.default_rng(0)
X = np.c_[np.ones(8), RNG.standard_normal((8, 2))]
COUNTS = np.array([1, 2, 0, 3, 1, 1, 0, 2])
RUNS = np.repeat(X, COUNTS, axis=0)
D = cd.diagnose(cd.DesignProblem.d_optimal(X), COUNTS, noise_sd=2.0)


def test_standard_errors_are_those_of_least_squares():
    C = np.linalg.inv(RUNS.T @ RUNS)
    assert D.standard_errors == pytest.approx(2.0 * np.sqrt(np.diag(C)), rel=1e-10)
    assert D.residual_degrees == 10 - 3
    size = np.sqrt(np.diag(C))
    assert D.estimate_correlation.to_numpy() == pytest.approx(C / size / size[:, None], rel=1e-9)
    assert D.prediction_variance() == pytest.approx(4.0 * np.einsum("ij,jk,ik->i", X, C, X), rel=1e-10)


def test_power_is_the_integral_over_the_estimated_noise():
    """P(|Z + delta| > t sqrt(S)), S a chi-square over its degrees of freedom, Z normal."""
    power = D.power(3.0, alpha=0.1)
    t = stats.t.isf(0.05, 7)
    for j in range(3):
        delta = 3.0 / D.standard_errors[j]

        def seen(s, delta=delta):
            limit = t * np.sqrt(s / 7)
            return (stats.norm.sf(limit - delta) + stats.norm.cdf(-limit - delta)) * stats.chi2.pdf(s, 7)

        assert power[j] == pytest.approx(integrate.quad(seen, 0, 80, limit=200)[0], rel=1e-6)
    assert D.power(0.0, alpha=0.1) == pytest.approx(0.1)


def test_variance_inflation_is_by_regression_on_the_others():
    """1 / (1 - R^2), R^2 about the mean where the others hold a constant: what statsmodels computes."""
    for j in (1, 2):
        others = np.delete(RUNS, j, axis=1)
        fitted = others @ np.linalg.lstsq(others, RUNS[:, j], rcond=None)[0]
        y = RUNS[:, j]
        r2 = 1 - np.square(y - fitted).sum() / np.square(y - y.mean()).sum()
        assert D.variance_inflation[j] == pytest.approx(1 / (1 - r2), rel=1e-9)
    assert D.variance_inflation[0] == 1.0
    assert D.correlation.to_numpy()[1:, 1:] == pytest.approx(np.corrcoef(RUNS[:, 1:].T), rel=1e-9)


def test_an_orthogonal_design_inflates_nothing():
    grid = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    F = np.c_[np.ones(8), grid]
    found = cd.diagnose(cd.DesignProblem.d_optimal(F), np.ones(8))
    assert found.variance_inflation == pytest.approx(1.0)
    assert found.standard_errors == pytest.approx(1 / np.sqrt(8))
    space = found.fraction_of_design_space()
    assert space["variance"].to_numpy() == pytest.approx(0.5)  # 4 coefficients, 8 runs, all alike
    assert space["fraction"].iloc[-1] == 1.0


def test_a_half_fraction_names_its_aliases():
    """Of the 2^3 design the half with abc = 1: c = ab, and so on; ab left out biases c by itself."""
    grid = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    a, b, c = grid.T
    import pandas

    table = pandas.DataFrame(np.c_[np.ones(8), a, b, c, a * b], columns=["one", "a", "b", "c", "ab"])
    half = (a * b * c == 1).astype(int)
    found = cd.diagnose(cd.DesignProblem.d_optimal(table), half)
    assert found.aliased == ("ab = c",)
    assert np.isinf(found.standard_errors[3:]).all()
    assert np.isfinite(found.standard_errors[:3]).all()
    assert found.power(1.0)[3] == 0.0 or np.isnan(found.power(1.0)[3])
    assert np.isinf(found.variance_inflation[3])
    assert np.isinf(found.prediction_variance([[1.0, 0, 0, 1, 0]]))
    main = cd.diagnose(cd.DesignProblem.d_optimal(table[["one", "a", "b", "c"]]), half)
    Z = pandas.DataFrame({"ab": (a * b)[half > 0]})
    assert main.alias(Z)["ab"].to_numpy() == pytest.approx([0, 0, 0, 1], abs=1e-12)


def test_noise_variances_and_runs_done_count():
    noise = np.linspace(1, 4, 8)
    problem = cd.DesignProblem.d_optimal(X, noise_variance=noise, existing_counts=COUNTS, n_new=8)
    found = cd.diagnose(problem, np.ones(8))
    M = (X * ((1 + COUNTS) / noise)[:, None]).T @ X
    assert found.standard_errors == pytest.approx(np.sqrt(np.diag(np.linalg.inv(M))), rel=1e-9)
    assert found.residual_degrees == 18 - 3


def test_plans_and_verifications_have_them():
    problem = cd.DesignProblem.d_optimal(X)
    plan = cd.solve(problem).round(9)
    verified = cd.verify(problem, counts=plan.counts)
    assert verified.diagnostics(2.0).standard_errors == pytest.approx(plan.diagnostics(2.0).standard_errors)
    with pytest.raises(cd.InputError, match="whole numbers"):
        cd.verify(problem, weights=np.full(8, 1 / 8)).diagnostics()
    for counts, words in (([1.5] * 8, "whole numbers"), ([0] * 8, "all zero"), ([1, 2], "whole numbers")):
        with pytest.raises(cd.InputError, match=words):
            cd.diagnose(problem, counts)
