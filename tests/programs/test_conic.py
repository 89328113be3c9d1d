"""The conic driver: few targets of many, attempts that survive failing solvers, limits, and the best certified design."""

from __future__ import annotations

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest
from duality import bound, capped, value

from convexdesign import DesignProblem, solve
from convexdesign.certificate import certify
from convexdesign.errors import InputError, SolverError
from convexdesign.outcome import Status
from convexdesign.problem import canonicalise
from convexdesign.programs import backends, working_sets
from convexdesign.programs.conic import solve_conic

SOLVE = backends._solve


def sphere(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def differences(items):
    i, j = np.triu_indices(len(items), 1)
    return items[i] - items[j]


def proven_gap(arms, targets, outcome, problem, support=np.max):
    """Value over bound, minus one, from dense formulas; the targets of the dual certificate are the problem's."""
    dual = outcome.dual
    return (
        value(arms, targets, outcome.weights)
        / bound(arms, problem.targets.take(dual.targets), dual.vectors, support=support)
        - 1
    )


class PanicException(BaseException):
    """Like a panic in Rust: no Exception."""


def unreliable(monkeypatch, fails, error):
    """Let the backend fail whenever fails(solver, call number) is true; the list of solvers called."""
    calls: list[str] = []

    def solve(problem, backend, *args):
        calls.append(backend)
        if fails(backend, len(calls)):
            raise error
        SOLVE(problem, backend, *args)

    monkeypatch.setattr(backends, "_solve", solve)
    return calls


# ------------------------------------------------------------------ generation


@pytest.mark.parametrize("formulation", ["socp", "dual-socp", "sdp", "matrix-fractional"])
def test_few_of_many_targets_suffice(formulation):
    X = sphere(60, 4)
    problem = DesignProblem.xy_allocation(X)
    outcome = solve_conic(canonicalise(problem), formulation=formulation)
    assert outcome.ended is None
    assert -1e-12 <= proven_gap(X, differences(X), outcome, problem) <= 1e-6
    assert max(snapshot.targets for snapshot in outcome.stats.history) < problem.targets.m / 10
    assert outcome.stats.formulation == formulation
    assert outcome.stats.backend == "clarabel"


def test_few_of_many_arms_suffice():
    X = sphere(600, 3)
    items = sphere(12, 3, seed=1)
    problem = DesignProblem.xy_allocation(X, items)
    canonical = canonicalise(problem)
    assert working_sets.first_arms(canonical).size < 200
    outcome = solve_conic(canonical)
    assert -1e-12 <= proven_gap(X, differences(items), outcome, problem) <= 1e-6


@pytest.mark.parametrize("backend", backends.BACKENDS)
def test_tight_gap(backend):
    """Beyond what the backends reach themselves: the last digits are those of Frank-Wolfe's corrective step."""
    X = sphere(40, 4)
    problem = DesignProblem.xy_allocation(X)
    outcome = solve_conic(canonicalise(problem), tol=1e-10, backend=backend)
    assert -1e-12 <= proven_gap(X, differences(X), outcome, problem) <= 1e-10


@pytest.mark.parametrize(
    "held", [{}, {"prior_information": np.diag([1.0, 0.5, 0.0, 0.0]), "n_new": 3}], ids=["new", "held"]
)
def test_tight_gap_with_a_target_of_zero(held):
    problem = DesignProblem.best_arm_oracle(sphere(30, 4), theta=[1.0, 0.3, -0.2, 0.5], **held)
    design = solve(problem, method="conic", tol=1e-10)
    assert design.status is Status.CERTIFIED
    assert design.value == pytest.approx(solve(problem, method="frank-wolfe", tol=1e-10).value, rel=3e-10)


def test_bounds_on_weights():
    X = sphere(30, 3)
    problem = DesignProblem.xy_allocation(X, max_weight=0.06)
    outcome = solve_conic(canonicalise(problem))
    assert outcome.weights.max() <= 0.06 + 1e-8
    assert -1e-12 <= proven_gap(X, differences(X), outcome, problem, capped(0.06)) <= 1e-6


def test_chosen_targets_differ_from_one_another():
    canonical = canonicalise(DesignProblem.xy_allocation(sphere(60, 4)))
    index, _ = canonical.problem.targets.worst(canonical.basis, 500)
    chosen = working_sets.diverse(canonical, canonical.basis, index, 30, apart=0.1)
    assert chosen[0] == index[0]
    images = canonical.problem.targets.take(chosen) @ canonical.basis
    unit = images / np.linalg.norm(images, axis=1, keepdims=True)
    for a, b in itertools.combinations(unit, 2):
        assert abs(a @ b) <= 0.9 + 1e-12
    # Whoever was left out before the last one chosen is close to one chosen before.
    last = np.flatnonzero(index == chosen[-1])[0]
    for k in np.flatnonzero(~np.isin(index[:last], chosen)):
        image = canonical.problem.targets.take(index[k : k + 1])[0] @ canonical.basis
        assert np.abs(unit @ image).max() / np.linalg.norm(image) > 0.9 - 1e-12


def test_negligible_weights_are_cleared_but_information_stays_invertible():
    """e_1 and e_2 alone measure themselves best; interior points leave a little weight on the rest."""
    X = np.vstack([np.eye(3), 0.1 * sphere(10, 3)])
    design = solve(DesignProblem(X, np.eye(3)[:2]), method="conic")
    np.testing.assert_allclose(design.weights[:2], 0.5, atol=1e-5)
    assert np.count_nonzero(design.weights) == 3
    assert np.linalg.matrix_rank(np.sqrt(design.weights)[:, None] * X, tol=1e-12) == 3


def test_negligible_weights_are_cleared_within_bounds_on_the_weights_too():
    X = sphere(60, 3)
    for problem in (DesignProblem.e_optimal(X, max_weight=0.2), DesignProblem.xy_allocation(X, max_weight=0.2)):
        design = solve(problem, method="conic")
        used = design.weights[design.weights > 0]
        assert used.max() <= 0.2
        assert used.min() > 1e-6 or used.size <= 9
        assert used.sum() == pytest.approx(1.0, abs=1e-12)


# -------------------------------------------------------------- failing solvers


@pytest.mark.parametrize("error", [cp.SolverError("no"), PanicException("no"), ValueError("no")], ids=repr)
@pytest.mark.parametrize(
    "fails",
    [lambda solver, k: k == 1, lambda solver, k: solver == "clarabel", lambda solver, k: k % 2 == 1],
    ids=["first call", "one backend", "every other call"],
)
def test_failures_do_not_end_the_solve(monkeypatch, error, fails):
    X = sphere(12, 2)
    problem = DesignProblem.xy_allocation(X)
    calls = unreliable(monkeypatch, fails, error)
    outcome = solve_conic(canonicalise(problem))
    assert -1e-12 <= proven_gap(X, differences(X), outcome, problem) <= 1e-6
    assert len(calls) == outcome.stats.iterations > 1


def test_garbage_does_not_end_the_solve(monkeypatch):
    X = sphere(12, 2)
    problem = DesignProblem.xy_allocation(X)
    garbage = iter([lambda shape: np.random.default_rng(0).random(shape), lambda shape: np.full(shape, np.nan)])

    def solve(problem, *args):
        SOLVE(problem, *args)  # says "optimal"
        if (fill := next(garbage, None)) is not None:
            for variable in problem.variables():
                variable.save_value(fill(variable.shape))

    monkeypatch.setattr(backends, "_solve", solve)
    outcome = solve_conic(canonicalise(problem))
    assert -1e-12 <= proven_gap(X, differences(X), outcome, problem) <= 1e-6


def test_when_everything_fails_the_error_gives_every_reason(monkeypatch):
    unreliable(monkeypatch, lambda solver, k: True, PanicException("index out of bounds"))
    with pytest.raises(SolverError) as caught:
        solve_conic(canonicalise(DesignProblem.xy_allocation(sphere(12, 2))))
    message = str(caught.value)
    for words in ("socp on clarabel", "dual-socp on clarabel", "sdp on clarabel", "socp on scs", "index out of bounds"):
        assert words in message


def test_a_late_failure_returns_the_best_design_so_far(monkeypatch):
    X = sphere(60, 4)
    problem = DesignProblem.xy_allocation(X)
    unreliable(monkeypatch, lambda solver, k: k > 1, cp.SolverError("no"))
    canonical = canonicalise(problem)
    outcome = solve_conic(canonical)
    gap = proven_gap(X, differences(X), outcome, problem)
    assert 1e-6 < gap < 1.0
    assert gap == pytest.approx(certify(canonical, outcome.weights, outcome.dual).gap, rel=1e-6)


def test_ctrl_c_leaves_the_solve(monkeypatch):
    unreliable(monkeypatch, lambda solver, k: k == 2, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        solve_conic(canonicalise(DesignProblem.xy_allocation(sphere(60, 4))))


# --------------------------------------------------------------- limits, choices


def test_iteration_limit_and_reports():
    X = sphere(60, 4)
    problem = DesignProblem.xy_allocation(X)
    seen = []
    outcome = solve_conic(canonicalise(problem), max_iter=1, report=seen.append)
    assert outcome.ended is Status.ITERATION_LIMIT
    assert tuple(seen) == outcome.stats.history
    assert len(seen) == outcome.stats.iterations == 1
    assert proven_gap(X, differences(X), outcome, problem) <= seen[0].gap * (1 + 1e-6) + 1e-9


def test_time_limit_returns_a_certified_design_however_short():
    X = sphere(60, 4)
    problem = DesignProblem.xy_allocation(X)
    outcome = solve_conic(canonicalise(problem), time_limit=1e-6)
    assert outcome.ended is Status.TIME_LIMIT
    assert np.isfinite(proven_gap(X, differences(X), outcome, problem))


def test_history_refers_to_single_iterates_and_the_outcome_to_the_best():
    X = sphere(60, 4)
    problem = DesignProblem.xy_allocation(X)
    outcome = solve_conic(canonicalise(problem))
    history = outcome.stats.history
    assert {snapshot.iteration for snapshot in history} == set(range(1, outcome.stats.iterations + 1))
    for snapshot in history:
        assert snapshot.gap == pytest.approx(snapshot.value / snapshot.bound - 1, rel=1e-6, abs=1e-12)
        assert snapshot.bound <= value(X, differences(X), outcome.weights) * (1 + 1e-12)


def test_named_backend_and_formulation_are_the_only_ones_tried(monkeypatch):
    calls = unreliable(monkeypatch, lambda solver, k: False, None)
    outcome = solve_conic(canonicalise(DesignProblem.xy_allocation(sphere(12, 2))), backend="scs", formulation="sdp")
    assert set(calls) == {"scs"}
    assert (outcome.stats.formulation, outcome.stats.backend) == ("sdp", "scs")


@pytest.mark.parametrize("backend", backends.BACKENDS)
def test_kiefer_wolfowitz_by_log_det(backend):
    X = sphere(40, 3)
    outcome = solve_conic(canonicalise(DesignProblem.g_optimal(X)), formulation="log-det", backend=backend)
    assert value(X, X, outcome.weights) == pytest.approx(3.0, rel=1e-6)


def test_a_formulation_that_does_not_fit_is_refused():
    with pytest.raises(
        InputError, match=r"'log-det' does not fit.*choose one of dual-socp, matrix-fractional, sdp, socp"
    ):
        solve_conic(canonicalise(DesignProblem.xy_allocation(sphere(12, 2))), formulation="log-det")
    with pytest.raises(InputError, match="'dual-socp' does not fit"):
        solve_conic(canonicalise(DesignProblem.xy_allocation(sphere(12, 2), max_weight=0.5)), formulation="dual-socp")


def test_a_start_is_used_and_never_trusted():
    X = sphere(60, 4)
    problem = DesignProblem.xy_allocation(X)
    canonical = canonicalise(problem)
    cold = solve_conic(canonical)
    warm = solve_conic(canonical, start=cold.weights)
    assert -1e-12 <= proven_gap(X, differences(X), warm, problem) <= 1e-6
    singular = np.eye(60)[0]  # measures one direction only
    assert -1e-12 <= proven_gap(X, differences(X), solve_conic(canonical, start=singular), problem) <= 1e-6


def test_no_warning_leaves_the_driver():
    """Badly scaled: Clarabel calls its solutions inaccurate, and CVXPY says so."""
    X = sphere(20, 3) * np.array([1e5, 1.0, 1e-5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = solve_conic(canonicalise(DesignProblem.c_optimal(X, [1.0, 1.0, 1.0])), tol=1e-10)
    assert outcome.weights.sum() == pytest.approx(1.0)
