"""Designs for models that are not linear: closed forms and optimality conditions, proven by interval branch and bound."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

import convexdesign as cd

D = cd.DesignProblem


def over(model, low, high):
    return model.over(cd.Region.box(x=(low, high)))


def solved(problem):
    design = cd.solve(problem)
    assert design.status is cd.Status.CERTIFIED
    assert design.certificate.kind == "interval branch and bound"
    assert 0 <= design.gap <= 1e-6
    return design


def best(function, low, high):
    return minimize_scalar(lambda t: -function(t), bounds=(low, high), method="bounded", options={"xatol": 1e-10})


def symmetric(weight):
    """log det of the two-point design at -z and z for a symmetric weight: log(w(z)^2 z^2) at its best."""
    found = best(lambda z: 2 * np.log(weight(z) * z), 0.1, 5)
    return found.x, -found.fun


LINKS = {
    "logit": lambda z: 1 / (2 + np.exp(z) + np.exp(-z)),
    "probit": lambda z: norm.pdf(z) ** 2 / (norm.cdf(z) * norm.cdf(-z)),
}


@pytest.mark.parametrize("link", list(LINKS))
def test_two_symmetric_doses(link):
    # Abdelbasit and Plackett (1983): +-1.5434 for the logit, +-1.1381 for the probit.
    z, value = symmetric(LINKS[link])
    design = solved(D.d_optimal(over(cd.Model.glm("1 + x", [0, 1], link), -5, 5)))
    assert design.value == pytest.approx(value, abs=4e-6)
    np.testing.assert_allclose(design.points["x"], [-z, z], atol=3e-3)
    assert z == pytest.approx({"logit": 1.5434046, "probit": 1.1381013}[link], abs=1e-6)


def test_complementary_log_log():
    # Ford, Torsney and Wu (1992): -1.3377 and 0.9796.
    design = solved(D.d_optimal(over(cd.Model.glm("1 + x", [0, 1], "cloglog"), -5, 3)))
    np.testing.assert_allclose(design.points["x"], [-1.3377366, 0.9796327], atol=3e-3)


def test_poisson_counts_are_best_at_the_top_and_two_below():
    design = solved(D.d_optimal(over(cd.Model.glm("1 + x", [1.0, 2.0], "log"), -3, 1)))
    np.testing.assert_allclose(design.points["x"], [0.0, 1.0], atol=3e-3)  # the predictor 1 + 2x is 3 at the top, and 1


def test_the_slope_of_a_logistic_curve():
    # The root of z = coth(z/2): +-2.3994.
    z = brentq(lambda t: t * np.tanh(t / 2) - 2, 1, 4)
    design = solved(D.c_optimal(over(cd.Model.glm("1 + x", [0, 1], "logit"), -5, 5), {"x": 1.0}))
    assert z == pytest.approx(2.3993573, abs=1e-6)
    assert design.value == pytest.approx(1 / (z**2 * LINKS["logit"](z)), rel=2e-6)


MEANS = {
    # The mean, the parameters, the interval, and the settings, in closed form or by the equation that they solve.
    "Michaelis-Menten": ("vmax*x/(k + x)", {"vmax": 1, "k": 1}, (0, 10), [10 / 12, 10]),
    "Emax": ("e0 + emax*x/(ed + x)", {"e0": 0, "emax": 10, "ed": 5}, (0, 10), [0, 2.5, 10]),
    "exponential": ("e0 + e1*exp(x/d)", {"e0": 0, "e1": 1, "d": 1.5}, (0, 4), [0, 2.7986877, 4]),
    "logarithm": ("e0 + e1*log(x + c)", {"e0": 0, "e1": 1, "c": 1}, (0, 4), [0, 1.0117974, 4]),
    "decay": ("exp(-k*x)", {"k": 0.5}, (0, 10), [2.0]),
}


@pytest.mark.parametrize("name", list(MEANS))
def test_dose_response_and_kinetics(name):
    mean, theta, (low, high), settings = MEANS[name]
    design = solved(D.d_optimal(over(cd.Model.nonlinear(mean, theta), low, high)))
    np.testing.assert_allclose(design.points["x"], settings, atol=5e-3)
    np.testing.assert_allclose(design.weights, 1 / len(settings), atol=1e-3)


def test_g_and_d_agree_where_noise_is_equal():
    curve = over(cd.Model.nonlinear("vmax*x/(k + x)", {"vmax": 1, "k": 1}), 0, 10)
    assert solved(D.g_optimal(curve)).value == pytest.approx(2.0, rel=2e-6)


def test_two_factors_with_interaction():
    region = cd.Region.box(a=(-1, 1), b=(-1, 1))
    theta = np.array([0.35, 1.5, -0.2, 0.4])
    design = solved(D.d_optimal(cd.Model.glm("1 + a*b", theta, "logit").over(region)))
    # General equivalence, recomputed: nu(x) g'A^-1 g is at most 4 on a fine grid.
    a, b = (t.ravel() for t in np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401)))
    G = np.column_stack([np.ones_like(a), a, b, a * b])
    nu = LINKS["logit"](G @ theta)
    sensitivity = nu * np.einsum("ij,jk,ik->i", G, np.linalg.inv(design.information), G)
    assert sensitivity.max() <= 4 * (1 + 2e-6)


def test_levels_and_a_slanted_side():
    region = cd.Region.levels(k=[-1, 1]) * (cd.Region.box(a=(-1, 1), b=(-1, 1)) & cd.Region.where("a + b <= 0.5"))
    theta = np.array([0.3, 1.0, -0.5, 0.2])
    design = solved(D.d_optimal(cd.Model.glm("1 + a + b + k", theta, "logit").over(region)))
    a, b, k = (t.ravel() for t in np.meshgrid(np.linspace(-1, 1, 201), np.linspace(-1, 1, 201), [-1, 1]))
    inside = a + b <= 0.5 + 1e-12
    G = np.column_stack([np.ones_like(a), a, b, k])[inside]
    sensitivity = LINKS["logit"](G @ theta) * np.einsum("ij,jk,ik->i", G, np.linalg.inv(design.information), G)
    assert sensitivity.max() <= 4 * (1 + 2e-6)


def test_an_identity_link_is_the_linear_model():
    plain = cd.solve(D.d_optimal(over(cd.Model.formula("1 + x + x**2"), -1, 1)))
    glm = solved(D.d_optimal(over(cd.Model.glm("1 + x + x**2", [1, 2, 3], "identity"), -1, 1)))
    assert glm.value == pytest.approx(plain.value, abs=4e-6)


WRONG = {
    "link": (lambda: cd.Model.glm("1 + x", [0, 1], "cauchit"), "choose one of logit"),
    "family": (lambda: cd.Model.glm("1 + x", [0, 1], "logit", "poisson"), "may be binomial"),
    "theta": (lambda: over(cd.Model.glm("1 + x", [0, 1, 2], "logit"), -1, 1), "theta has 3 entries"),
    "names": (lambda: cd.Model.nonlinear("a*x", [1.0]), "maps the names"),
    "unused": (lambda: over(cd.Model.nonlinear("a*x", {"a": 1, "b": 2}), 0, 1), "theta names 'b'"),
    "unknown": (lambda: over(cd.Model.nonlinear("a*y", {"a": 1}), 0, 1), "names 'y'"),
    "function": (lambda: over(cd.Model.nonlinear("a*gamma(x)", {"a": 1}), 0, 1), "calls 'gamma'"),
    "undefined": (
        lambda: D.d_optimal(over(cd.Model.nonlinear("a + b*log(x)", {"a": 1, "b": 1}), 0, 1)),
        "not finite at x = 0",
    ),
    "not finite": (lambda: cd.Model.nonlinear("a*x", {"a": np.inf}), "finite"),
    "both": (lambda: over(cd.Model.nonlinear("a*x", {"a": 1, "x": 2}), 0, 1), "parameter and a factor"),
    "moments": (
        lambda: D.i_optimal(over(cd.Model.nonlinear("v*x/(k + x)", {"v": 1, "k": 1}), 0, 1)),
        "not known in closed form",
    ),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_model_that_is_none_is_refused_in_words(name):
    make, message = WRONG[name]
    with pytest.raises(cd.InputError, match=message):
        make()
