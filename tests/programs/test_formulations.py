"""Four formulations of one problem: they agree, have closed forms, and their duals prove what their primals reach."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from duality import bound, capped, value, vectors_of

from convexdesign.criteria.log_det_programs import log_det
from convexdesign.criteria.minimax_programs import dual_socp, matrix_fractional, sdp, socp
from convexdesign.programs.backends import run

FORMULATIONS = {"socp": socp, "dual-socp": dual_socp, "sdp": sdp, "matrix-fractional": matrix_fractional}
PRIMAL = {name: build for name, build in FORMULATIONS.items() if name != "dual-socp"}
# A first-order method reaches 1e-6 here too, but needs its finest accuracy for it.
BACKENDS = {"clarabel": 1e-10, "scs": 1e-9}


def solved(build, backend, arms, targets, prior=None, constrain=None, accuracy=None):
    program = build(arms, targets, prior, constrain)
    run(program, backend, BACKENDS[backend] if accuracy is None else accuracy)
    return program


def gaussian(seed, n, m, r):
    rng = np.random.default_rng(seed)
    arms, targets = rng.standard_normal((n, r)), rng.standard_normal((m, r))
    return arms, targets / np.linalg.norm(targets, axis=1).max()


def ugly():
    """Zero and duplicate arms, zero and duplicate targets, a short arm and one target along it."""
    arms, targets = gaussian(3, 9, 5, 3)
    arms[2] = 0.0
    arms[5] = arms[4]
    arms[6] *= 1e-2
    targets[0] = 0.0
    targets[3] = targets[2]
    targets[4] = arms[6] / np.linalg.norm(arms[6])
    return arms, targets


PRIOR = np.outer([1.0, 2.0, 0.0], [1.0, 2.0, 0.0])  # singular on purpose
CASES = {
    "gaussian": (*gaussian(0, 12, 6, 3), None),
    "prior": (*gaussian(1, 12, 6, 3), 0.3 * PRIOR),
    "one target": (*gaussian(2, 8, 1, 3), None),
    "one arm": (np.array([[2.0]]), np.array([[1.0]]), None),
    "arms do not span without the prior": (np.eye(3)[:2], np.eye(3)[1:], PRIOR + np.eye(3)),
    "ugly": (*ugly(), None),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_formulations_agree_and_their_duals_prove_it(backend, case):
    arms, targets, prior = CASES[case]
    values = {}
    for name, build in FORMULATIONS.items():
        program = solved(build, backend, arms, targets, prior)
        weights, multipliers = program.weights(), program.multipliers()
        assert weights.shape == (len(arms),)
        assert multipliers.shape == (len(targets),)
        assert np.all(weights >= 0)
        assert np.all(multipliers >= 0)
        assert weights.sum() == pytest.approx(1.0)
        assert multipliers.sum() == pytest.approx(1.0)
        reached = value(arms, targets, weights, prior)
        proven = bound(arms, targets, program.vectors(), prior)
        from_multipliers = bound(arms, targets, vectors_of(arms, targets, weights, multipliers, prior), prior)
        assert proven <= reached * (1 + 1e-12), name
        assert proven >= reached * (1 - 1e-6), name
        # Of first order in the error of the weights, so that half of the digits are lost.
        assert reached * (1 - 1e-3) <= from_multipliers <= reached * (1 + 1e-12), name
        assert program.value() == pytest.approx(reached, rel=1e-6), name
        values[name] = reached
    assert max(values.values()) == pytest.approx(min(values.values()), rel=1e-6), values


@pytest.mark.parametrize("name", FORMULATIONS)
def test_scs_at_its_coarse_accuracy_reaches_two_digits(name):
    arms, targets, _ = CASES["gaussian"]
    program = solved(FORMULATIONS[name], "scs", arms, targets, accuracy=1e-5)
    assert bound(arms, targets, program.vectors()) >= value(arms, targets, program.weights()) * (1 - 1e-2)


def noisy_star(s):
    """Arms e_i / s_i, targets e_1 - e_j."""
    d = len(s)
    return np.diag(1 / np.asarray(s)), np.eye(d)[0] - np.eye(d)[1:]


def differences(items):
    i, j = np.triu_indices(len(items), 1)
    return items[i] - items[j]


S = np.array([1.0, 2.0, 0.5, 3.0])
SOARE = np.array([[1.0, 0.0], [0.0, 1.0], [np.cos(0.5), np.sin(0.5)]])
HEXAGON = np.array([[np.cos(a), np.sin(a)] for a in np.arange(6) * np.pi / 3])
GAPS = 1.0 - SOARE[1:] @ [1.0, 0.0]
CLOSED_FORMS = {
    "star with noise": (*noisy_star(S), (S[0] + np.sqrt(np.sum(S[1:] ** 2))) ** 2),
    "two arms, one target": (
        np.array([[1.0, 0.0], [np.cos(0.1), np.sin(0.1)]]),
        np.array([[0.0, 1.0]]),
        ((1 + np.cos(0.1)) / np.sin(0.1)) ** 2,
    ),
    "simplex, differences": (np.eye(5), differences(np.eye(5)), 10.0),
    "hexagon, differences": (HEXAGON, differences(HEXAGON), 8.0),
    "G on a basis with noise": (np.diag(1 / S), np.eye(4), np.sum(S**2)),
    "G, Kiefer-Wolfowitz": (gaussian(5, 15, 1, 4)[0], gaussian(5, 15, 1, 4)[0], 4.0),
    "Soare, differences": (SOARE, differences(SOARE), 4.0),
    "Soare, oracle": (SOARE, (SOARE[0] - SOARE[1:]) / GAPS[:, None], 24.170176),
    "Soare, oracle with noise": (
        SOARE / np.sqrt([[1.0], [20.0], [1.0]]),
        (SOARE[0] - SOARE[1:]) / GAPS[:, None],
        266.91527,
    ),
}


@pytest.mark.parametrize("case", CLOSED_FORMS)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_closed_forms(name, case):
    arms, targets, optimum = CLOSED_FORMS[case]
    program = solved(FORMULATIONS[name], "clarabel", arms, targets)
    assert value(arms, targets, program.weights()) == pytest.approx(optimum, rel=1e-6)
    assert bound(arms, targets, program.vectors()) == pytest.approx(optimum, rel=1e-6)
    assert program.value() == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("prior", [None, 0.2 * PRIOR], ids=["no prior", "prior"])
def test_constraints_on_the_weights(prior):
    arms, targets, _ = CASES["gaussian"]
    limit = 0.15
    values = []
    for build in PRIMAL.values():
        program = solved(build, "clarabel", arms, targets, prior, lambda w: [w <= limit])
        weights = program.weights()
        assert weights.max() <= limit + 1e-8
        assert bound(arms, targets, program.vectors(), prior, capped(limit)) == pytest.approx(
            value(arms, targets, weights, prior), rel=1e-6
        )
        values.append(value(arms, targets, weights, prior))
    assert max(values) == pytest.approx(min(values), rel=1e-6)
    free = solved(socp, "clarabel", arms, targets, prior)
    assert min(values) > value(arms, targets, free.weights(), prior) * 1.001


def test_general_convex_constraints_agree():
    arms, targets, _ = CASES["gaussian"]
    uniform = np.full(len(arms), 1 / len(arms))
    values = []
    for build in PRIMAL.values():
        program = solved(build, "clarabel", arms, targets, None, lambda w: [cp.norm(w - uniform) <= 0.2, w[0] == w[1]])
        weights = program.weights()
        assert np.linalg.norm(weights - uniform) <= 0.2 + 1e-7
        assert weights[0] == pytest.approx(weights[1], abs=1e-7)
        values.append(value(arms, targets, weights))
    assert max(values) == pytest.approx(min(values), rel=1e-6)


def test_dual_socp_refuses_constraints():
    arms, targets, _ = CASES["gaussian"]
    with pytest.raises(ValueError, match="simplex"):
        dual_socp(arms, targets, None, lambda w: [w <= 0.5])


@pytest.mark.parametrize("backend", BACKENDS)
def test_log_det_solves_the_minimax_problem_of_kiefer_and_wolfowitz(backend):
    arms = gaussian(5, 15, 1, 4)[0]
    program = log_det(arms)
    run(program, backend, 1e-9 if backend == "scs" else 1e-12)
    weights = program.weights()
    assert value(arms, arms, weights) == pytest.approx(4.0, rel=1e-5)
    Q = program.vectors().T @ program.vectors()
    np.testing.assert_allclose(Q, np.linalg.inv(arms.T @ np.diag(weights) @ arms), rtol=1e-4, atol=1e-6)
    # The multipliers of the minimax problem are the weights.
    B = vectors_of(arms, arms, weights, program.multipliers())
    assert bound(arms, arms, B) == pytest.approx(4.0, rel=1e-4)


def test_log_det_of_polynomial_regression():
    """Quadratic on [-1, 1]: weights 1/3 on the roots of (1 - x^2) P_2'(x), log det -1.9095425."""
    x = np.linspace(-1, 1, 21)
    program = log_det(np.vander(x, 3, increasing=True))
    run(program, "clarabel", 1e-10)
    assert program.value() == pytest.approx(np.log(4 / 27), rel=1e-7)
    np.testing.assert_allclose(program.weights()[[0, 10, 20]], 1 / 3, atol=1e-5)


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["no prior", "prior"])
def test_log_det_with_prior_and_constraints_is_optimal_by_its_gradient(prior):
    """w is optimal over W exactly when w'q = max over W of v'q, q_i = u_i'A(w)^-1u_i the gradient."""
    arms = gaussian(6, 12, 1, 3)[0]
    program = log_det(arms, prior, lambda w: [w <= 0.12])
    run(program, "clarabel", 1e-10)
    weights = program.weights()
    A = arms.T @ np.diag(weights) @ arms + (0 if prior is None else prior)
    gradient = np.array([u @ np.linalg.solve(A, u) for u in arms])
    assert weights.max() <= 0.12 + 1e-8
    assert capped(0.12)(gradient) <= float(weights @ gradient) * (1 + 1e-5)
    assert program.value() == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-6)
