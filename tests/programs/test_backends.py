"""Backends that raise, panic, hang or leave garbage: always a SolverError with the reason, and Ctrl-C always leaves."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
import warnings

import cvxpy as cp
import numpy as np
import pytest

from convexdesign.criteria.minimax_programs import socp
from convexdesign.criteria.program_size import ProgramSize
from convexdesign.errors import SolverError
from convexdesign.programs import apart, backends
from convexdesign.programs.apart import OutOfTime, run_apart
from convexdesign.programs.backends import ACCURACIES, BACKENDS, TimeUp, run
from convexdesign.programs.cone_form import block_sizes, clarabel_cones

ARMS = np.random.default_rng(0).standard_normal((8, 3))
# As if one step took minutes: such programs are solved in a process of their own.
LARGE = ProgramSize("socp", 8, 3, 10**8)


def program():
    return socp(ARMS, np.eye(3))


class PanicException(BaseException):
    """Like the panics of a solver written in Rust: no Exception."""


def failing(error):
    def solve(*args, **kwargs):
        raise error

    return solve


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_accuracy_leaves_values_and_passes_no_warning_on(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for accuracy in (*ACCURACIES[backend],):
            solved = program()
            run(solved, backend, accuracy)
            assert solved.weights().sum() == pytest.approx(1.0)


def test_accuracies_are_options_that_the_backends_know():
    rough, fine = program(), program()
    run(rough, "scs", ACCURACIES["scs"][0])
    run(fine, "scs", ACCURACIES["scs"][-1])
    assert rough.problem.solver_stats.num_iters < fine.problem.solver_stats.num_iters
    coarse = abs(rough.problem.value - fine.problem.value) / fine.problem.value
    assert 1e-8 < coarse < 1e-2


@pytest.mark.parametrize(
    "error",
    [
        cp.SolverError("it gave up"),
        ValueError("it gave up"),
        ArithmeticError("it gave up"),
        RuntimeError("it\ngave up"),
        PanicException("it gave up"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_whatever_a_backend_raises_becomes_a_solver_error_with_the_reason(monkeypatch, error):
    monkeypatch.setattr(backends, "_clarabel", failing(error))
    with pytest.raises(SolverError, match=f"clarabel at accuracy 1e-08: {type(error).__name__}: it gave up"):
        run(program(), "clarabel", 1e-8)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), MemoryError()], ids=lambda e: type(e).__name__)
def test_what_concerns_the_process_is_never_swallowed(monkeypatch, error):
    monkeypatch.setattr(backends, "_clarabel", failing(error))
    with pytest.raises(type(error)):
        run(program(), "clarabel", 1e-8)


def test_nan_values_are_not_values(monkeypatch):
    def unpack(self, *args):
        for variable in self.variables():
            variable.save_value(np.full(variable.shape, np.nan))

    monkeypatch.setattr(cp.Problem, "unpack_results", unpack)
    with pytest.raises(SolverError, match="no finite values"):
        run(program(), "clarabel", 1e-8)


def test_no_values_at_all_are_noticed(monkeypatch):
    monkeypatch.setattr(cp.Problem, "unpack_results", lambda self, *args: None)
    with pytest.raises(SolverError, match="no finite values"):
        run(program(), "scs", 1e-5)


def test_a_warning_of_a_backend_stays_inside(monkeypatch):
    def solve(*args, **kwargs):
        warnings.warn("Solution may be inaccurate.", UserWarning, stacklevel=2)
        raise cp.SolverError("after the warning")

    monkeypatch.setattr(backends, "_clarabel", solve)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SolverError, match="SolverError: after the warning"):
            run(program(), "clarabel", 1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_process_of_its_own_finds_the_same(backend):
    here, there = program(), program()
    accuracy = ACCURACIES[backend][0]
    run(here, backend, accuracy)
    run(there, backend, accuracy, size=LARGE)
    assert np.allclose(here.weights(), there.weights(), rtol=1e-9, atol=1e-12)
    assert np.allclose(here.vectors(), there.vectors(), rtol=1e-7, atol=1e-9)


def test_every_kind_of_cone_reaches_the_other_process():
    def every_kind():
        x = cp.Variable(4, nonneg=True)
        X = cp.Variable((2, 2), symmetric=True)
        limits = [cp.sum(x) == 1, cp.norm(x) <= 0.9, cp.geo_mean(x) >= 0.1, cp.sum(cp.entr(x)) >= 1.0, X >> 0]
        cubes = [cp.PowCone3D(x[0], x[1], x[2], 0.3), cp.trace(X) <= x[3]]
        return cp.Problem(cp.Minimize(x[0] + 2 * x[1] + 3 * x[2] + cp.norm(X - np.eye(2))), [*limits, *cubes])

    here, there = every_kind(), every_kind()
    for problem, step in ((here, 0.0), (there, 100.0)):
        backends._solve(problem, "clarabel", 1e-8, None, step)
    assert here.value == pytest.approx(there.value, rel=1e-9)
    dims = here.get_problem_data(cp.CLARABEL)[0]["dims"]
    kinds = {kind for kind, _ in clarabel_cones(dims.zero, dims.nonneg, block_sizes(dims))}
    assert kinds >= {
        "ZeroConeT",
        "NonnegativeConeT",
        "SecondOrderConeT",
        "PSDTriangleConeT",
        "ExponentialConeT",
        "PowerConeT",
    }


@pytest.fixture
def stuck(monkeypatch):
    """A solver that neither returns nor looks at signals; the processes that were started for it."""
    started = []

    class Noted(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self)

    monkeypatch.setattr(apart, "PROGRAM", "import signal, time; signal.signal(2, signal.SIG_IGN); time.sleep(60)")
    monkeypatch.setattr(apart.subprocess, "Popen", Noted)
    return started


def test_a_backend_deaf_to_its_time_limit_is_ended(stuck):
    before = threading.active_count()
    with pytest.raises(OutOfTime):
        run_apart({"backend": "clarabel"}, time.monotonic() + 0.3)
    assert [process.returncode for process in stuck] == [-signal.SIGKILL]
    assert threading.active_count() == before


def test_the_time_limit_has_an_error_of_its_own(monkeypatch):
    monkeypatch.setattr(backends, "_clarabel", failing(OutOfTime()))
    with pytest.raises(TimeUp, match="still running at its time limit"):
        run(program(), "clarabel", 1e-8, time_limit=60.0)


def test_ctrl_c_ends_a_running_solver_at_once(stuck):
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    started = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            run_apart({"backend": "clarabel"}, None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 30  # the solver would have taken a minute
    assert [process.returncode for process in stuck] == [-signal.SIGKILL]


def test_a_process_that_dies_says_why(monkeypatch):
    monkeypatch.setattr(apart, "PROGRAM", "import sys; sys.exit('thread main panicked: no memory')")
    with pytest.raises(SolverError, match="RuntimeError: thread main panicked: no memory"):
        run(program(), "clarabel", 1e-8, size=LARGE)
    monkeypatch.setattr(apart, "PROGRAM", "import os; os.abort()")
    with pytest.raises(SolverError, match="ended with code -6"):
        run(program(), "scs", 1e-5, size=LARGE)


def test_ctrl_c_between_two_steps_ends_a_solver_right_here(monkeypatch):
    class Solver:
        def set_termination_callback(self, callback):
            self.ask = callback

    solver, answers = Solver(), []

    def solve():
        with backends._interruptible(solver):
            answers.append(solver.ask(None))
            monkeypatch.setattr(backends.time, "sleep", failing(KeyboardInterrupt()))
            answers.append(solver.ask(None))

    with pytest.raises(KeyboardInterrupt):
        solve()
    assert answers == [False, True]
