"""Verification where arms have several responses: derivatives, what is not measured, improvements, the equivalence theorem."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria import oracle_of
from convexdesign.evaluation import evaluate
from convexdesign.problem import canonicalise
from convexdesign.verification.equivalence import sensitivities
from convexdesign.verification.improvement import measures

P = cd.DesignProblem
RNG = np.random.default_rng(17)
N, D, R = 7, 4, 2
X = RNG.standard_normal((N, D, R))
ROOT = RNG.standard_normal((N, R, R))
S = ROOT @ ROOT.transpose(0, 2, 1) + 0.2 * np.eye(R)
Z = RNG.standard_normal((6, D))
HELD = {"prior_information": np.diag([1.0, 0.5, 0, 0]), "n_new": 4}
PROBLEMS = {
    "g": P.g_optimal(X, noise_variance=S),
    "xy": P.xy_allocation(X, Z, noise_variance=S),
    "d": P.d_optimal(X, noise_variance=S),
    "ds": P.ds_optimal(X, [0, 1], noise_variance=S),
    "a": P.a_optimal(X, noise_variance=S),
    "i": P.i_optimal(X, Z, noise_variance=S),
    "e": P.e_optimal(X, noise_variance=S),
    "g, held": P.g_optimal(X, noise_variance=S, **HELD),
    "d, held": P.d_optimal(X, noise_variance=S, **HELD),
    "a, held": P.a_optimal(X, noise_variance=S, **HELD),
    "e, held": P.e_optimal(X, noise_variance=S, **HELD),
}
each = pytest.mark.parametrize("name", PROBLEMS)


def derivatives(canonical, weights):
    return oracle_of(canonical).derivatives(canonical, evaluate(canonical, weights))


@each
def test_derivatives_are_those_of_differences(name):
    canonical = canonicalise(PROBLEMS[name])
    w = RNG.dirichlet(np.ones(N))
    at = evaluate(canonical, w)
    slopes = oracle_of(canonical).derivatives(canonical, at)
    step = 1e-6
    found = [
        (
            evaluate(canonical, (1 - step) * w + step * arm).value
            - evaluate(canonical, (1 + step) * w - step * arm).value
        )
        / (2 * step)
        for arm in np.eye(N)
    ]
    given = slopes.toward_each_arm()
    np.testing.assert_allclose(given, found, rtol=1e-5, atol=1e-6 * np.abs(given).max())
    z = RNG.dirichlet(np.ones(N))
    if len(slopes.tied) <= 1 and name[0] != "e":  # smooth there: the derivative is linear
        assert slopes.toward(z) == pytest.approx(z @ given, rel=1e-8)


@each
def test_optimal_designs_are_optimal_and_others_improve(name):
    problem = PROBLEMS[name]
    design = cd.solve(problem, tol=1e-9)
    assert cd.verify(problem, design.weights).is_optimal()
    v = cd.verify(problem, np.full(N, 1 / N))
    assert v.is_worse_than()
    step = v.improvement()
    assert step.gain > 0
    assert cd.verify(problem, (1 - step.share) / N + step.share * step.toward).value == pytest.approx(step.value)
    assert len(v.worst_arms(3)) == 3
    assert v.summary()


@each
def test_sensitivities_prove_the_gap(name):
    """At the optimum none exceeds the bound, and the arms with weight reach it."""
    problem = PROBLEMS[name]
    design = cd.solve(problem, tol=1e-10)
    found = sensitivities(design.canonical, evaluate(design.canonical, design.weights), design.certificate.dual)
    assert found.values.max() == pytest.approx(found.bound, rel=1e-5)
    heavy = design.weights > 1e-3
    np.testing.assert_allclose(found.values[heavy], found.bound, rtol=1e-4)


def test_worst_variance_of_an_arm_is_that_of_its_worst_response():
    v = cd.verify(PROBLEMS["g"], np.full(N, 1 / N))
    C = np.linalg.inv(sum(x @ np.linalg.inv(s) @ x.T for x, s in zip(X, S)) / N)
    own = np.einsum("idr,de,ier->ir", X, C, X)
    table = v.worst_arms(N)
    np.testing.assert_allclose(table["variance"], own.max(axis=1)[table.index])
    worst = v.worst_targets(1)
    i, k = np.unravel_index(own.argmax(), own.shape)
    assert worst["target"][0] == f"arm {i}, response {k}"
    assert worst["variance"][0] == pytest.approx(own.max())


PAIRS = [np.eye(5)[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4))]


@pytest.mark.parametrize("make", [P.d_optimal, P.a_optimal, P.g_optimal, P.e_optimal])
def test_what_is_not_measured_is_cured(make):
    """Arm 0 alone sees two of five parameters: the cure names arms that together see the rest."""
    problem = make(PAIRS)
    v = cd.verify(problem, [1.0, 0, 0, 0, 0])
    assert v.efficiency == 0
    step = v.improvement()
    seen = {0, 1} | {k for i in step.arms for k in np.flatnonzero(PAIRS[i].any(axis=1))}
    assert seen == set(range(5))
    assert measures(v.reference.canonical, evaluate(v.reference.canonical, 0.5 * v.weights + 0.5 * step.toward))


@pytest.mark.parametrize("wanted", [[1.0, 1.0, 0.0, 0.0], [0.3, -1.0, 0.0, 0.0]])
def test_derivative_towards_arms_half_outside_the_range(wanted):
    """The design measures e1 and e2 only. An arm (e1 + e3, a e2 + b e3) says something about them: what its combination
    without e3 says. The derivative is that of the problem without the part that is wasted on e3."""
    e = np.eye(4)
    arms = [
        np.column_stack([e[0], 0.5 * e[1]]),
        np.column_stack([e[0] + e[2], 0.7 * e[1] - 2 * e[2]]),
        np.column_stack([e[2], e[3]]),
        np.column_stack([e[0], e[1] + e[3]]),
    ]
    # Combinations without e3 and e4: 2 (e1 + e3) + (0.7 e2 - 2 e3), of length sqrt(5); nothing; and e1 itself.
    rest = [
        arms[0][:2],
        np.column_stack([[2.0, 0.7], [0, 0]]) / np.sqrt(5.0),
        np.zeros((2, 2)),
        np.column_stack([[1.0, 0], [0, 0]]),
    ]
    w = np.array([1.0, 0, 0, 0])
    problem, small = P(arms, [wanted]), P(np.array(rest), [wanted[:2]])
    canonical, other = canonicalise(problem), canonicalise(small)
    given = derivatives(canonical, w).toward_each_arm()
    expected = derivatives(other, w).toward_each_arm()
    np.testing.assert_allclose(given, expected, rtol=1e-9, atol=1e-12)
    toward = [derivatives(canonical, w).toward(arm) for arm in np.eye(4)]
    np.testing.assert_allclose(given, toward, rtol=1e-9, atol=1e-12)
    step = 1e-6
    moved = [evaluate(canonical, (1 - step) * w + step * arm).value for arm in np.eye(4)]
    np.testing.assert_allclose((np.array(moved) - evaluate(canonical, w).value) / step, given, rtol=1e-4, atol=1e-6)


def test_counts_are_proportions():
    counts = np.array([3, 0, 2, 1, 0, 4, 1])
    v = cd.verify(PROBLEMS["a"], counts=counts)
    A = sum(c / 11 * x @ np.linalg.inv(s) @ x.T for c, x, s in zip(counts, X, S))
    assert v.value == pytest.approx(np.trace(np.linalg.inv(A)))
