"""Least squares from counts, means and m2 against the raw rewards, statsmodels and closed forms."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation import Observations, least_squares


def raw_data(seed, n=6, d=3, pulls=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    variance = rng.uniform(0.2, 4.0, n)
    arms = np.concatenate([np.repeat(np.arange(n), 2), rng.integers(0, n, pulls - 2 * n)])
    y = X[arms] @ rng.standard_normal(d) + np.sqrt(variance[arms]) * rng.standard_normal(pulls)
    return X, variance, arms, y, Observations.from_rewards(n, arms, y)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
@pytest.mark.parametrize("weighted", [False, True])
def test_estimates_and_robust_covariances_agree_with_statsmodels(kind, weighted):
    X, variance, arms, y, obs = raw_data(0)
    model = sm.WLS(y, X[arms], weights=1 / variance[arms]) if weighted else sm.OLS(y, X[arms])
    reference = model.fit(cov_type=kind)
    fit = least_squares(X, obs, variance if weighted else None, covariance=kind)
    np.testing.assert_allclose(fit.theta, reference.params, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance, reference.cov_params(), rtol=1e-9)
    V = np.random.default_rng(1).standard_normal((4, 3))
    np.testing.assert_allclose(fit.variance(V), np.diag(V @ reference.cov_params() @ V.T), rtol=1e-9)
    np.testing.assert_allclose(fit.predict(V), V @ reference.params, rtol=1e-10)


def test_model_covariances():
    X, variance, arms, y, obs = raw_data(2)
    ols = least_squares(X, obs)
    reference = sm.OLS(y, X[arms]).fit()
    np.testing.assert_allclose(ols.covariance, reference.cov_params(), rtol=1e-9)
    assert ols.residual_variance == pytest.approx(reference.mse_resid, rel=1e-10)
    A = (X.T * (obs.count / variance)) @ X
    np.testing.assert_allclose(least_squares(X, obs, variance).covariance, np.linalg.inv(A), rtol=1e-9)
    B = np.linalg.inv((X.T * obs.count) @ X)
    plain = least_squares(X, obs, variance, weighted=False)
    np.testing.assert_allclose(plain.theta, ols.theta, rtol=1e-12)
    np.testing.assert_allclose(plain.covariance, B @ (X.T * (obs.count * variance)) @ X @ B, rtol=1e-9)
    # Gauss and Markov: no direction is estimated worse by the weights.
    V = np.random.default_rng(3).standard_normal((50, 3))
    assert np.all(least_squares(X, obs, variance).variance(V) <= plain.variance(V) * (1 + 1e-12))


def test_a_scalar_variance_scales_the_covariance_not_the_estimate():
    X, _, _, _, obs = raw_data(4)
    one, four = least_squares(X, obs, 1.0), least_squares(X, obs, 4.0)
    np.testing.assert_allclose(one.theta, four.theta, rtol=1e-13)
    np.testing.assert_allclose(four.covariance, 4.0 * one.covariance, rtol=1e-12)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from([1e-6, 1.0, 1e6]))
def test_answers_do_not_depend_on_the_basis_or_the_units(seed, unit_0, unit_1):
    X, variance, _, _, obs = raw_data(seed)
    rng = np.random.default_rng(seed + 1)
    V = rng.standard_normal((4, 3))
    T = np.linalg.qr(rng.standard_normal((3, 3)))[0] * [unit_0, unit_1, 1.0]
    fit, mapped = least_squares(X, obs, variance), least_squares(X @ T, obs, variance)
    assert mapped.rank == 3
    scale = np.abs(V) @ np.abs(fit.theta)
    assert np.all(np.abs(mapped.predict(V @ T) - fit.predict(V)) <= 1e-9 * scale)
    np.testing.assert_allclose(mapped.variance(V @ T), fit.variance(V), rtol=1e-8)


def test_a_trillion_pulls_at_mean_a_million():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    theta = np.array([1e6, 0.25])
    count = np.array([10**12, 10, 10**12])
    fit = least_squares(X, Observations(count, X @ theta, [2e12, 20.0, 2e12]), covariance="HC0")
    np.testing.assert_allclose(fit.theta, theta, rtol=1e-13, atol=1e-9)
    np.testing.assert_allclose(fit.covariance, 2 * np.linalg.inv((X.T * count) @ X), rtol=1e-6)


def test_what_the_pulls_do_not_determine_is_named():
    X = pd.DataFrame(
        {"base": [1.0, 1.0, 1.0], "left": [1.0, 1.0, 0.0], "right": [0.0, 0.0, 1.0]}, index=["a", "b", "c"]
    )
    obs = Observations([3, 2, 0], [2.0, 2.0, 0.0], [1.0, 1.0, 0.0])
    fit = least_squares(X, obs, 1.0)
    assert fit.rank == 1
    assert fit.unidentified == ("base", "left", "right")
    np.testing.assert_allclose(fit.predict(X.iloc[:2]), [2.0, 2.0])
    np.testing.assert_allclose(fit.theta, [1.0, 1.0, 0.0], atol=1e-15)  # the least-norm solution
    np.testing.assert_allclose(fit.variance([[2.0, 2.0, 0.0]]), [4.0 / 5.0])
    with pytest.raises(UnidentifiableError, match="c is not determined"):
        fit.predict(X)
    with pytest.raises(UnidentifiableError, match=r"directions\[1\]"):
        fit.variance([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    both = least_squares(X, Observations([3, 0, 2], [2.0, 0.0, 1.0], [1.0, 0.0, 0.0]), 1.0)
    assert both.rank == 2
    assert both.unidentified == ("base", "left", "right")
    assert least_squares([[1.0, 0.0]], Observations([2], [1.0], [0.0]), 1.0).unidentified == ("theta[1]",)


def test_noise_that_cannot_be_estimated_is_refused_where_it_is_asked_for():
    once = Observations([1, 1], [1.0, 2.0], [0.0, 0.0])
    fit = least_squares(np.eye(2), once)
    np.testing.assert_allclose(fit.theta, [1.0, 2.0])
    assert np.isnan(fit.residual_variance)
    with pytest.raises(InputError, match="nothing to estimate the noise from"):
        fit.variance(np.eye(2))
    np.testing.assert_allclose(least_squares(np.eye(2), once, [1.0, 9.0]).variance(np.eye(2)), [1.0, 9.0])
    for kind in ("HC1", "HC2", "HC3"):
        with pytest.raises(InputError, match=kind):
            least_squares(np.eye(2), once, covariance=kind)


def test_confidence_widths_cover():
    # 400 runs at delta = 0.1 with the variances known. Failures are at most Binomial(400, 0.1): more than 60
    # of them has probability below 1e-3.
    rng = np.random.default_rng(5)
    X, variance, arms, _, _ = raw_data(6)
    V, theta = rng.standard_normal((3, 3)), np.array([1.0, -1.0, 2.0])
    failures = 0
    for _ in range(400):
        y = X[arms] @ theta + np.sqrt(variance[arms]) * rng.standard_normal(arms.size)
        fit = least_squares(X, Observations.from_rewards(6, arms, y), variance)
        failures += bool(np.any(np.abs(fit.predict(V) - V @ theta) > fit.confidence_width(V, 0.1)))
    assert failures <= 60
    # And the widths mean what they say: variance times the sub-Gaussian factor.
    np.testing.assert_allclose(fit.confidence_width(V, 0.1), np.sqrt(2 * np.log(60) * fit.variance(V)), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise_variance": [1.0, 0.0]}, r"noise_variance\[1\] is 0"),
        ({"noise_variance": [1.0]}, "one entry per arm"),
        ({"covariance": "HC9"}, "HC9"),
        ({"observations": Observations.empty(2)}, "no pulls"),
        ({"observations": Observations.empty(3)}, "3 arms"),
    ],
)
def test_wrong_input_is_refused(change, message):
    given = {"observations": Observations([2, 2], [0.0, 1.0], [1.0, 1.0])} | change
    with pytest.raises(InputError, match=message):
        least_squares(np.eye(2), **given)


@pytest.mark.parametrize("delta", [0.0, 1.0, float("nan")])
def test_delta_is_a_probability(delta):
    fit = least_squares(np.eye(2), Observations([2, 2], [0.0, 1.0], [1.0, 1.0]), 1.0)
    with pytest.raises(InputError, match="delta"):
        fit.confidence_width(np.eye(2), delta)
