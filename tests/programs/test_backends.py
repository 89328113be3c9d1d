"""Backends that raise, panic, hang or leave garbage: always a SolverError with the reason, and Ctrl-C always leaves."""

from __future__ import annotations

import signal
import threading
import time
import warnings

import cvxpy as cp
import numpy as np
import pytest

from convexdesign.errors import SolverError
from convexdesign.programs.backends import ACCURACIES, BACKENDS, run
from convexdesign.programs.socp import socp

ARMS = np.random.default_rng(0).standard_normal((8, 3))


def program():
    return socp(ARMS, np.eye(3))


class PanicException(BaseException):
    """Like the panics of a solver written in Rust: no Exception."""


def failing(error):
    def solve(self, *args, **kwargs):
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
    monkeypatch.setattr(cp.Problem, "solve", failing(error))
    with pytest.raises(SolverError, match=f"clarabel at accuracy 1e-08: {type(error).__name__}: it gave up"):
        run(program(), "clarabel", 1e-8)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), MemoryError()], ids=lambda e: type(e).__name__)
def test_what_concerns_the_process_is_never_swallowed(monkeypatch, error):
    monkeypatch.setattr(cp.Problem, "solve", failing(error))
    with pytest.raises(type(error)):
        run(program(), "clarabel", 1e-8)


def test_nan_values_are_not_values(monkeypatch):
    def solve(self, *args, **kwargs):
        for variable in self.variables():
            variable.save_value(np.full(variable.shape, np.nan))

    monkeypatch.setattr(cp.Problem, "solve", solve)
    with pytest.raises(SolverError, match="no finite values"):
        run(program(), "clarabel", 1e-8)


def test_no_values_at_all_are_noticed(monkeypatch):
    monkeypatch.setattr(cp.Problem, "solve", lambda self, *args, **kwargs: None)
    with pytest.raises(SolverError, match="no finite values"):
        run(program(), "scs", 1e-5)


def test_a_warning_of_a_backend_stays_inside(monkeypatch):
    def solve(self, *args, **kwargs):
        warnings.warn("Solution may be inaccurate.", UserWarning, stacklevel=2)
        raise cp.SolverError("after the warning")

    monkeypatch.setattr(cp.Problem, "solve", solve)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SolverError, match="SolverError: after the warning"):
            run(program(), "clarabel", 1e-8)


@pytest.fixture
def stuck(monkeypatch):
    """A solver that neither returns nor looks at signals, until the test is over."""
    over = threading.Event()
    monkeypatch.setattr(cp.Problem, "solve", lambda self, *args, **kwargs: over.wait(60))
    yield
    over.set()


def test_a_backend_deaf_to_its_time_limit_is_left_behind(stuck, monkeypatch):
    monkeypatch.setattr("convexdesign.programs.backends.GRACE_SECONDS", 0.2)
    with pytest.raises(SolverError, match="still running"):
        run(program(), "clarabel", 1e-8, time_limit=0.1)


def test_ctrl_c_leaves_a_running_solver_at_once(stuck):
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    started = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            run(program(), "clarabel", 1e-8)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 30  # the solver would have taken a minute
