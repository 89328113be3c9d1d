"""Run a CVXPY problem on a named solver at a named accuracy, and survive whatever the solver does.

A solver may raise, panic (Clarabel is written in Rust: its panics arrive as a BaseException that is no Exception), run
on without end, or call garbage optimal. All but the last become a SolverError with the reason; the last is why its own
word is never passed on: the caller looks at the values and proves what they are worth.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

from convexdesign.errors import SolverError
from convexdesign.programs.program import Program

__all__ = ["ACCURACIES", "BACKENDS", "run"]

# Accuracies, coarse to fine, that each backend is asked for in turn. A first-order method needs far more iterations
# for each further digit, so its ladder limits them too.
ACCURACIES: dict[str, tuple[float, ...]] = {"clarabel": (1e-8, 1e-10, 1e-12), "scs": (1e-5, 1e-7, 1e-9)}
# Clarabel gives up its iterate when it cannot reach even the reduced accuracy: with a generous one it always tells
# how far it came, and the certificate decides whether that is any good.
REDUCED = 1e-2
SCS_ITERATIONS = {1e-5: 5_000, 1e-7: 20_000, 1e-9: 50_000}
# How long past its own time limit a backend may take to notice it.
GRACE_SECONDS = 2.0
# Never swallowed: they concern the process, not the solver.
PROCESS_WIDE = (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit)


def clarabel_options(accuracy: float, time_limit: float | None) -> dict[str, Any]:
    """Clarabel's settings for a relative accuracy; time_limit in seconds or None."""
    options: dict[str, Any] = {"tol_gap_abs": accuracy, "tol_gap_rel": accuracy, "tol_feas": accuracy, "max_iter": 200}
    options |= {"reduced_tol_gap_abs": REDUCED, "reduced_tol_gap_rel": REDUCED, "reduced_tol_feas": REDUCED}
    return options if time_limit is None else options | {"time_limit": time_limit}


def scs_options(accuracy: float, time_limit: float | None) -> dict[str, Any]:
    """SCS's settings for an accuracy; time_limit in seconds or None."""
    options: dict[str, Any] = {"eps_abs": accuracy, "eps_rel": accuracy, "max_iters": SCS_ITERATIONS[accuracy]}
    return options if time_limit is None else options | {"time_limit_secs": time_limit}


BACKENDS: dict[str, tuple[str, Callable[[float, float | None], dict[str, Any]]]] = {
    "clarabel": (cp.CLARABEL, clarabel_options),
    "scs": (cp.SCS, scs_options),
}


def run(program: Program, backend: str, accuracy: float, time_limit: float | None = None) -> None:
    """Solve the program on "clarabel" or "scs"; on return it holds values, finite but not to be trusted.

    The program must be fresh: CVXPY keeps state of an earlier solve, so other options need a new problem. accuracy is
    one of ACCURACIES[backend]; time_limit in seconds. Raises SolverError with the reason when there are no values.
    """
    name, options = BACKENDS[backend]
    settings = options(accuracy, time_limit)
    failure = _interruptible(lambda: program.problem.solve(solver=name, **settings), time_limit)
    if failure is not None:
        raise SolverError(f"{backend} at accuracy {accuracy:g}: {failure}")
    if not _has_values(program):
        raise SolverError(f"{backend} at accuracy {accuracy:g}: left no finite values ({program.problem.status})")


def _interruptible(solve: Callable[[], Any], time_limit: float | None) -> str | None:
    """Call solve in a thread of its own, so that Ctrl-C and the time limit act at once; the reason if it failed.

    Compiled solvers look at neither signals nor, always, the clock. A thread left behind works on a problem that
    nobody reads any more and ends with its solver's own limits.
    """
    reason: list[str | None] = []
    process_wide: list[BaseException] = []

    def work() -> None:
        try:
            solve()
            reason.append(None)
        except PROCESS_WIDE as error:
            process_wide.append(error)
        except BaseException as error:  # a Rust panic is not an Exception
            text = " ".join(str(error).split()) or "no message"
            reason.append(f"{type(error).__name__}: {text}")

    deadline = None if time_limit is None else time.monotonic() + time_limit + GRACE_SECONDS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about accuracy: the certificate knows better
        thread = threading.Thread(target=work, name="convex solver", daemon=True)
        thread.start()
        while thread.is_alive():
            if deadline is not None and time.monotonic() > deadline:
                return f"still running {GRACE_SECONDS:g} s after its time limit"
            thread.join(0.1)
    if process_wide:
        raise process_wide[0]
    return reason[0]


def _has_values(program: Program) -> bool:
    try:
        return all(np.all(np.isfinite(read())) for read in (program.weights, program.multipliers, program.vectors))
    except (TypeError, ValueError):  # a value is missing altogether
        return False
