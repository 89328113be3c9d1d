"""Run a CVXPY problem on a named solver at a named accuracy, and survive whatever the solver does.

A solver may raise, panic (Clarabel is written in Rust: its panics arrive as a BaseException that is no Exception), run
on without end, or call garbage optimal. All but the last become a SolverError with the reason; the last is why its own
word is never passed on: the caller looks at the values and proves what they are worth.

Solvers look at the clock and at Ctrl-C between two steps. Where a step takes no time to speak of, they run right here, so
that no thread is ever left behind; where it takes longer, in a process of their own, which is ended when the time is up.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import clarabel
import cvxpy as cp
import numpy as np
import scs
from cvxpy.reductions.solvers.conic_solvers.scs_conif import dims_to_solver_dict
from scipy import sparse

from convexdesign.criteria.program import Program
from convexdesign.criteria.program_size import ProgramSize
from convexdesign.errors import SolverError
from convexdesign.programs.apart import OutOfTime, run_apart
from convexdesign.programs.cone_form import block_sizes, clarabel_cones

__all__ = ["ACCURACIES", "BACKENDS", "TimeUp", "run"]

# Accuracies, coarse to fine, that each backend is asked for in turn. A first-order method needs far more iterations
# for each further digit, so that these are limited too.
ACCURACIES: dict[str, tuple[float, ...]] = {"clarabel": (1e-8, 1e-10, 1e-12), "scs": (1e-5, 1e-7, 1e-9)}
# Clarabel gives up its iterate when it cannot reach even the reduced accuracy: with a generous one it always tells
# how far it came, and the certificate decides whether that is any good.
REDUCED = 1e-2
SCS_ITERATIONS = {1e-5: 5_000, 1e-7: 20_000, 1e-9: 50_000}
# Steps up to this long, and up to this share of the time limit, are waited for.
SHORT_STEP = 0.3
SHARE_OF_LIMIT = 0.1
# The solver's own limit is a little short of ours: a result in time is worth more than a process ended.
EARLIER = 0.9
# Never swallowed: they concern the process, not the solver.
PROCESS_WIDE = (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit)
SCS_INTERRUPTED = -5


def clarabel_options(accuracy: float, time_limit: float | None) -> dict[str, Any]:
    """Clarabel's settings for a relative accuracy; time_limit in seconds or None."""
    options: dict[str, Any] = {"tol_gap_abs": accuracy, "tol_gap_rel": accuracy, "tol_feas": accuracy, "max_iter": 200}
    options |= {"reduced_tol_gap_abs": REDUCED, "reduced_tol_gap_rel": REDUCED, "reduced_tol_feas": REDUCED}
    return options if time_limit is None else options | {"time_limit": time_limit}


def scs_options(accuracy: float, time_limit: float | None) -> dict[str, Any]:
    """SCS's settings for an accuracy; time_limit in seconds or None."""
    options: dict[str, Any] = {"eps_abs": accuracy, "eps_rel": accuracy, "max_iters": SCS_ITERATIONS[accuracy]}
    return options if time_limit is None else options | {"time_limit_secs": time_limit}


class TimeUp(SolverError):
    """The time limit was reached."""


BACKENDS: dict[str, tuple[str, Callable[[float, float | None], dict[str, Any]]]] = {
    "clarabel": (cp.CLARABEL, clarabel_options),
    "scs": (cp.SCS, scs_options),
}


def run(
    program: Program, backend: str, accuracy: float, time_limit: float | None = None, size: ProgramSize | None = None
) -> None:
    """Solve the program on "clarabel" or "scs"; on return it holds values, finite but not to be trusted.

    The program must be fresh: CVXPY keeps state of an earlier solve, so other options need a new problem. accuracy is
    one of ACCURACIES[backend]; time_limit in seconds; size decides where it runs (a small one if None). Raises SolverError
    with the reason when there are no values, TimeUp where the limit is why.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    step = 0.0 if size is None else size.seconds_per_iteration
    try:
        failure = _failure(lambda: _solve(program.problem, backend, accuracy, deadline, step))
    except OutOfTime:
        raise TimeUp(f"{backend} at accuracy {accuracy:g}: still running at its time limit") from None
    if failure is not None:
        raise SolverError(f"{backend} at accuracy {accuracy:g}: {failure}")
    if not _has_values(program):
        raise SolverError(f"{backend} at accuracy {accuracy:g}: left no finite values ({program.problem.status})")


def _failure(solve: Callable[[], None]) -> str | None:
    """Why it failed, or None; warnings about accuracy stay inside, since the certificate knows better."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solve()
    except (*PROCESS_WIDE, OutOfTime):
        raise
    except BaseException as error:  # a Rust panic is not an Exception
        text = " ".join(str(error).split()) or "no message"
        return f"{type(error).__name__}: {text}"
    return None


def _solve(problem: cp.Problem, backend: str, accuracy: float, deadline: float | None, step: float) -> None:
    """CVXPY's way from a problem to its values, with the solver called by us."""
    name, options = BACKENDS[backend]
    data, chain, inverse = problem.get_problem_data(name, solver_opts={})
    left = None if deadline is None else deadline - time.monotonic()
    if left is not None and not left > 0:
        raise OutOfTime
    settings = options(accuracy, None if left is None else EARLIER * left)
    short = SHORT_STEP if left is None else min(SHORT_STEP, SHARE_OF_LIMIT * left)
    solver = _clarabel if backend == "clarabel" else _scs
    problem.unpack_results(solver(data, settings, deadline, apart=step > short), chain, inverse)


def _clarabel(data: dict[str, Any], settings: dict[str, Any], deadline: float | None, apart: bool) -> Any:
    q, A, b = data["c"], sparse.csc_matrix(data["A"]), data["b"]
    P = sparse.csc_matrix(sparse.triu(data["P"])) if "P" in data else sparse.csc_matrix((q.size, q.size))
    settings = settings | {"verbose": False}
    dims = data["dims"]
    cones = clarabel_cones(int(dims.zero), int(dims.nonneg), block_sizes(dims))
    if apart:
        task = {"backend": "clarabel", "P": P, "q": q, "A": A, "b": b, "cones": cones, "settings": settings}
        return run_apart(task, deadline)
    named = clarabel.DefaultSettings()
    for name, value in settings.items():
        setattr(named, name, value)
    made = [getattr(clarabel, kind)(*arguments) for kind, arguments in cones]
    solver = clarabel.DefaultSolver(P, q, A, b, made, named)
    with _interruptible(solver):
        return solver.solve()


@contextmanager
def _interruptible(solver: Any) -> Iterator[None]:
    """Ctrl-C ends the solver at its next step, where Python is asked whether to go on."""
    interrupted: list[KeyboardInterrupt] = []

    def stop(_: Any) -> bool:
        try:
            time.sleep(0)  # lets a pending signal act
        except KeyboardInterrupt as error:
            interrupted.append(error)
        return bool(interrupted)

    solver.set_termination_callback(stop)
    yield
    if interrupted:
        raise interrupted[0]


def _scs(data: dict[str, Any], settings: dict[str, Any], deadline: float | None, apart: bool) -> Any:
    given = {key: data[key] for key in ("P", "A", "b", "c") if key in data}
    cones = dims_to_solver_dict(data["dims"])
    settings = settings | {"verbose": False}
    if apart:
        return run_apart({"backend": "scs", "data": given, "cones": cones, "settings": settings}, deadline)
    found = scs.solve(given, cones, **settings)
    if found["info"]["status_val"] == SCS_INTERRUPTED:
        raise KeyboardInterrupt  # SCS listens for the signal itself
    return found


def _has_values(program: Program) -> bool:
    try:
        return all(np.all(np.isfinite(read())) for read in (program.weights, program.multipliers, program.vectors))
    except (TypeError, ValueError):  # a value is missing altogether
        return False
