"""The classic variants: they improve, their certificates are honest, and they show what they are known for."""

import itertools

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.certificate import certify
from convexdesign.frankwolfe import classic
from convexdesign.problem import canonicalise

P = cd.DesignProblem
METHODS = ("frank-wolfe-vanilla", "frank-wolfe-away", "multiplicative")


def sphere(n=60, d=4, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def problems():
    X = sphere()
    noise = np.random.default_rng(1).uniform(0.2, 5, 60)
    return {
        "g": P.g_optimal(X),
        "d": P.d_optimal(X, noise_variance=noise),
        "g-noise": P.g_optimal(X, noise_variance=noise),
        "xy": P.xy_allocation(X),
        "held": P.xy_allocation(X, prior_information=np.eye(4), n_new=2),
        "d-held": P.d_optimal(X, prior_information=np.eye(4), n_new=2),
    }


@pytest.mark.parametrize("name", problems())
@pytest.mark.parametrize("method", METHODS)
def test_every_line_of_history_is_proven(method, name):
    canonical = canonicalise(problems()[name])
    outcome = classic(method, canonical, max_iter=40)
    assert outcome.ended is cd.Status.ITERATION_LIMIT
    assert len(outcome.stats.history) == outcome.stats.iterations == 40
    certificate = certify(canonical, outcome.weights, outcome.dual)
    assert certificate.gap <= min(line.gap for line in outcome.stats.history) * (1 + 1e-6) + 1e-12
    # No bound in the history passes the optimum.
    optimum = cd.solve(problems()[name], tol=1e-9)
    for line in outcome.stats.history:
        better = line.bound >= optimum.value if name.startswith("d") else line.bound <= optimum.value
        assert better or line.bound == pytest.approx(optimum.value, rel=1e-8)


@pytest.mark.parametrize(
    ("method", "name"),
    list(itertools.product(METHODS[1:], ("g", "d"))) + [("multiplicative", "d-held")],
)
def test_on_log_det_they_leave_vanilla_behind(method, name):
    canonical = canonicalise(problems()[name])
    slow, fast = (certify(canonical, classic(m, canonical, max_iter=400).weights).gap for m in (METHODS[0], method))
    assert fast < 0.5 * slow


def test_multiplicative_steps_never_lower_the_determinant():
    history = classic("multiplicative", canonicalise(problems()["d"]), max_iter=60).stats.history
    values = [line.value for line in history]
    assert all(b >= a - 1e-12 for a, b in itertools.pairwise(values))


def test_vanilla_stalls_on_a_maximum_of_variances():
    # The certified optimum of this instance is 35.930062; a thousand steps leave every iterate over 0.5 % above it.
    X = np.random.default_rng(0).standard_normal((200, 10))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    problem = P.xy_allocation(X)
    history = classic("frank-wolfe-vanilla", canonicalise(problem), max_iter=1000).stats.history
    assert min(line.value for line in history) > 1.005 * 35.930062
    assert history[-1].value > 1.005 * 35.930062
    assert cd.solve(problem, method="frank-wolfe").value == pytest.approx(35.930062, rel=2e-6)


@pytest.mark.parametrize("method", METHODS)
def test_as_few_arms_as_dimensions_keep_their_span(method):
    canonical = canonicalise(P.xy_allocation([[1.0, 0.0], [1.0, 1e-3]]))
    outcome = classic(method, canonical, max_iter=200)
    assert np.isfinite(certify(canonical, outcome.weights, outcome.dual).gap)


@pytest.mark.parametrize("method", METHODS)
def test_constraints_and_other_criteria_are_refused(method):
    with pytest.raises(cd.SolverError, match="simplex"):
        classic(method, canonicalise(P.g_optimal(sphere(), max_weight=0.1)))
    with pytest.raises(cd.SolverError, match="criterion"):
        classic(method, canonicalise(P.e_optimal(sphere())))
