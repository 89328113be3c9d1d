"""The bets: expectation one under what they bet against, by quadrature and enumeration; and the ends they imply."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi2, halfnorm, norm

from convexdesign.identification.evidence import BETS, log_variance_wealth, log_wealth, variance_upper_ends


@pytest.mark.parametrize(("M", "V", "rho"), [(0.0, 1.0, 1.0), (3.0, 2.0, 0.1), (-4.0, 9.0, 5.0), (60.0, 100.0, 3.0)])
def test_wealth_is_the_mixture_it_claims_to_be(M, V, rho):
    def integrand(size):
        return np.exp(size * M - size**2 * V / 2.0) * halfnorm.pdf(size, scale=1.0 / np.sqrt(rho))

    mixture = quad(integrand, 0.0, 20.0 / np.sqrt(rho), points=[max(M / (V + rho), 1e-3)], limit=400)[0]
    value = log_wealth(np.array([M]), np.array([V]), np.array([[rho]]))[0]
    assert value == pytest.approx(np.log(mixture), abs=1e-7)


@pytest.mark.parametrize("V", [0.01, 1.0, 40.0])
def test_wealth_has_expectation_one_where_the_mean_is_zero(V):
    rho = np.array([[0.05], [0.8], [12.0]])

    def integrand(M, mean=0.0):
        # y'theta = mean: M has mean V times that.
        return np.exp(log_wealth(np.array([M]), np.array([V]), rho)[0] + norm.logpdf(M, mean * V, np.sqrt(V)))

    # exp(M²/2(V + rho)) makes tails of weight about exp(-M² rho / (2 V (V + rho))).
    reach = 12.0 * np.sqrt(V * (V + 0.05) / 0.05)
    total = quad(integrand, -reach, reach, points=[0.0], limit=500)[0]
    assert total == pytest.approx(1.0, abs=1e-6)
    # Less where the mean is negative.
    lower = quad(integrand, -reach, reach, args=(-0.1,), points=[0.0], limit=500)[0]
    assert lower < total


@given(M=st.floats(-50, 50), step=st.floats(0.0, 5.0), V=st.floats(0.0, 1e6))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_wealth_grows_with_the_sum_and_starts_at_one(M, step, V):
    rho = np.array([[0.3], [5.0]])
    low, high = log_wealth(np.array([M, M + step]), np.array([V, V]), rho)
    assert low <= high + 1e-9
    assert log_wealth(np.zeros(1), np.zeros(1), rho)[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("dof", [1, 4, 30, 1000])
def test_variance_wealth_has_expectation_one_for_gaussian_rewards(dof):
    def integrand(S):
        return np.exp(log_variance_wealth(np.array([S]), np.array([float(dof)]), np.ones(1))[0] + chi2.logpdf(S, dof))

    middle = dof / (1.0 + 2.0 * BETS)  # each bet moves the law of S there
    total = quad(integrand, 0.0, dof + 60.0 * np.sqrt(dof), points=np.unique([*middle, dof]), limit=500)[0]
    assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("pulls", "share"), [(c, s) for c in (2, 3, 4, 5, 8) for s in (None, 0.5, 0.9)] + [(11, None), (14, None)]
)
def test_variance_wealth_is_at_most_one_on_average_for_bounded_rewards(pulls, share):
    """All outcomes of errors ±1 (strictly sub-Gaussian) and of errors -a, 0, a, enumerated with their probabilities."""
    if share is None:
        values, probabilities = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    else:
        # P(0) = 1 - share; strictly sub-Gaussian while the fourth moment 1/share is at most 3.
        a = 1.0 / np.sqrt(share)
        values, probabilities = np.array([-a, 0.0, a]), np.array([share / 2.0, 1.0 - share, share / 2.0])
    outcomes = np.array(list(product(range(values.size), repeat=pulls)))
    weight = probabilities[outcomes].prod(axis=1)
    errors = values[outcomes]
    squares = ((errors - errors.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    dof = np.full(squares.size, pulls - 1.0)
    wealth = np.exp(log_variance_wealth(squares, dof, np.ones(squares.size), "sub-gaussian"))
    assert weight @ wealth <= 1.0 + 1e-12


@given(dof=st.floats(1.0, 1e7), scale=st.floats(1e-6, 1e6), ratio=st.floats(0.2, 5.0))
@settings(max_examples=60, deadline=None, derandomize=True)
@pytest.mark.parametrize("noise", ["gaussian", "sub-gaussian"])
def test_upper_ends_solve_their_equation(dof, scale, ratio, noise):
    threshold, squares = 900.0, np.array([dof * scale * ratio])
    end = variance_upper_ends(squares, np.array([dof]), threshold, noise=noise)
    if np.isfinite(end[0]):
        value = log_variance_wealth(squares, np.array([dof]), end, noise)[0]
        assert value == pytest.approx(np.log(threshold), abs=1e-6)
        # Smaller variances fit, larger ones are bet away.
        assert log_variance_wealth(squares, np.array([dof]), end * 1.01, noise)[0] > np.log(threshold)
        scaled = variance_upper_ends(squares * 7.0, np.array([dof]), threshold, noise=noise)
        assert scaled[0] == pytest.approx(7.0 * end[0], rel=1e-6)
        assert variance_upper_ends(squares, np.array([dof]), threshold, high=end[0] / 2.0, noise=noise)[0] == end[0] / 2
    else:
        assert log_variance_wealth(np.zeros(1), np.array([dof]), np.ones(1), noise)[0] <= np.log(threshold)


@pytest.mark.parametrize("noise", ["gaussian", "uniform", "two-point"])
def test_upper_ends_hold_at_all_times_under_adaptive_pulls(noise):
    """200 runs at failure probability .1, allocation chosen to hurt: pull on while the estimate is small.
    P(Bin(200, .1) > 34) < 0.1 %."""
    rng = np.random.default_rng(7)
    draw = {
        "gaussian": lambda k: rng.standard_normal(k),
        "uniform": lambda k: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), k),
        "two-point": lambda k: rng.choice([-1.0, 1.0], k),
    }[noise]
    kind = "gaussian" if noise == "gaussian" else "sub-gaussian"
    failures = 0
    for _ in range(200):
        S, dof, missed = 0.0, 0.0, False
        for _ in range(15):
            pulls = 40 if dof and S / dof < 1.0 else 3
            errors = draw(pulls)
            S += ((errors - errors.mean()) ** 2).sum()
            dof += pulls - 1
            end = variance_upper_ends(np.array([S]), np.array([dof]), 10.0, noise=kind)[0]
            missed |= bool(end < 1.0)
        failures += missed
    assert failures <= 34
