"""Average variance by Frank-Wolfe: the equivalence theorem on ugly arms, agreement with the conic program, large sets."""

from __future__ import annotations

import numpy as np
import pytest
from geometry import adversarial
from hypothesis import given, settings
from hypothesis import strategies as st

import convexdesign as cd
from convexdesign.frankwolfe.corrective_smooth import correct_average, correct_d
from convexdesign.trace import Trace

P = cd.DesignProblem
seeds = st.integers(0, 2**31 - 1)


def gap(X, s2, M, weights, A0=None):
    """max_i y_i'CMCy_i (and what is held) over tr(CM), minus one, by plain inverses."""
    A = X.T @ ((weights / s2)[:, None] * X) + (0 if A0 is None else A0)
    C = np.linalg.inv(A)
    CMC = C @ M @ C
    q = np.einsum("ij,jk,ik->i", X, CMC, X) / s2
    return (q.max() + (0 if A0 is None else np.trace(CMC @ A0))) / np.trace(C @ M) - 1


@given(seeds)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_equivalence_theorem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 60)), int(rng.integers(1, 7))
    n = max(n, 2 * d + 1)
    X, s2 = rng.standard_normal((n, d)), 10.0 ** rng.uniform(-2, 2, n)
    X[n // 2 :] = X[: n - n // 2] * rng.uniform(0.5, 2, (n - n // 2, 1))
    R = rng.standard_normal((d, d))
    M = R @ R.T
    A0 = None if seed % 2 else (lambda B: B @ B.T / 4)(rng.standard_normal((d, max(1, d - 1))))
    held = {} if A0 is None else {"prior_information": A0, "n_new": 1}
    design = cd.solve(P.average_variance(X, M, noise_variance=s2, **held), method="frank-wolfe")
    assert design.status is cd.Status.CERTIFIED
    assert gap(X, s2, M, design.weights, A0) <= 1.001e-6


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_agrees_with_the_conic_program_on_ugly_arms(seed):
    case = adversarial(seed)
    region = case.arms[:3]
    problem = P.i_optimal(case.arms, region, noise_variance=case.variance)
    conic, fast = (cd.solve(problem, method=m) for m in ("conic", "frank-wolfe"))
    assert fast.value == pytest.approx(conic.value, rel=3e-6)


@pytest.mark.parametrize(
    ("arms", "contrast_matrix", "value"),
    [
        ([[1, 0], [0, 1], [0.5, 2]], [[1, 0]], 1.0),  # all on the first arm
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 2, 0]], 9.0),  # (1 + 2)^2, nothing on the third
    ],
)
def test_singular_optima(arms, contrast_matrix, value):
    L = np.array(contrast_matrix, dtype=float)
    design = cd.solve(P.average_variance(arms, L.T @ L), method="frank-wolfe")
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(value, rel=1e-6)


def test_many_arms_take_one_or_two_passes():
    X = np.random.default_rng(1).standard_normal((200_000, 8))
    design = cd.solve(P.a_optimal(X), method="frank-wolfe")
    assert design.status is cd.Status.CERTIFIED
    assert design.stats.passes <= 3
    assert gap(X, np.ones(len(X)), np.eye(8), design.weights) <= 1.001e-6


def test_methods_say_which_criteria_they_solve():
    with pytest.raises(cd.InputError, match=r"'frank-wolfe' solves .*log det.*use method='conic'"):
        cd.solve(P.e_optimal(np.eye(2)), method="frank-wolfe")
    with pytest.raises(cd.InputError, match="'multiplicative' solves"):
        cd.solve(P.a_optimal(np.eye(2)), method="multiplicative")


def test_no_step_is_begun_of_which_little_would_fit_into_the_time_left(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("convexdesign.trace.time.perf_counter", lambda: clock[0])
    trace = Trace("frank-wolfe", 1e-6, time_limit=10.0, started=0.0)
    answers = []
    for clock[0] in (0.0, 3.0, 6.0, 9.0):  # steps of three seconds; at nine, one would end at twelve
        answers.append(trace.time_is_up())
    assert answers == [False, False, False, True]
    assert trace.limit_reached() is cd.Status.TIME_LIMIT


@pytest.mark.parametrize("correct", [correct_d, correct_average])
def test_corrective_steps_end_when_they_are_told_to(correct):
    U = np.random.default_rng(0).standard_normal((60, 4))
    answers = iter([False, False, True, True, True])
    options = {"tol": 1e-14, "start": np.full(60, 1 / 60), "prior": None, "max_iter": 100}
    if correct is correct_average:
        options["contrast_matrix"] = np.eye(4)
    assert correct(U, stop=lambda: next(answers), **options).steps == 2
