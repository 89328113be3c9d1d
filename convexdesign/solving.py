"""solve: a problem in, a design with its certificate out, whichever method found it."""

from __future__ import annotations

import logging
import math
import sys
import time
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import flag, is_one_of, nearest, positive, real, shown, whole, whole_at_least
from convexdesign.criteria import TABLE, CriterionOracle, oracle_of
from convexdesign.deprecation import once_positional
from convexdesign.design import Design
from convexdesign.errors import ConvergenceWarning, InputError, SolverError
from convexdesign.judging import at_its_vertex, better, judged
from convexdesign.outcome import Outcome, Report, Snapshot, Stats, Status
from convexdesign.problem import Canonical, DesignProblem, canonicalise
from convexdesign.problem.continuum import ContinuumProblem
from convexdesign.problem.weights import unit_of
from convexdesign.programs.prover import prover
from convexdesign.showing import show_progress, tell, told
from convexdesign.warm_start import WarmStart, read_warm_start

__all__ = ["METHODS", "solve"]

METHODS = ("auto", "conic", "frank-wolfe", "frank-wolfe-vanilla", "frank-wolfe-away", "multiplicative")
FORMULATIONS = tuple(dict.fromkeys(name for oracle in TABLE.values() for name in oracle.formulation_names))
BACKENDS = ("clarabel", "scs")
# Below this, float64 cannot tell a proof from rounding.
SMALLEST_TOL = 1e-12


@once_positional(since="0.2", removed="0.4")
def solve(
    problem: DesignProblem,
    *,
    method: str = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    warm_start: Design | ArrayLike | None = None,
    formulation: str | None = None,
    backend: str | None = None,
    verbose: bool = False,
    progress: bool = False,
) -> Design:
    """The optimal weights, with a certificate that they are within a relative `tol` of the optimum.

    The status comes from the certificate, never from a solver's word.

    Parameters
    ----------
    problem : DesignProblem
        What is to be designed.
    method : {"auto", "conic", "frank-wolfe", "frank-wolfe-vanilla", "frank-wolfe-away", "multiplicative"}
        A CVXPY program ("conic"), fully corrective Frank-Wolfe, for large arm sets ("frank-wolfe"), or one of the
        classic methods, for teaching and comparison; "auto" takes what is fastest and falls back.
    tol : float
        The relative gap to certify, at least 1e-12.
    max_iter : int, optional
        The most iterations of the method: Newton and interior point steps of fully corrective Frank-Wolfe, conic programs
        of "conic" (each solved to its end), single steps of the classic methods. Where it is not given, these end after
        1000, the others by the gap, by standing still, or by the time limit.
    time_limit : float, optional
        Seconds, the proof included.
    warm_start : Design or array_like, shape (k,) with k <= n, optional
        A design of a related problem (fewer items, other variances, arms added at the end), or its weights alone, used as
        a start and never trusted.
    formulation : {"sdp", "matrix-fractional", "socp", "dual-socp", "log-det"}, optional
        The conic program; chosen by the problem's size where it is not given.
    backend : {"clarabel", "scs"}, optional
        The conic solver.
    verbose : bool
        Write a line per iteration to stderr.
    progress : bool
        Show on stderr how far it is and how long it will take.

    Returns
    -------
    Design
        Weights, value, proven bound, gap and status. When the gap asked for is not reached, it is the best certified
        design.

    Raises
    ------
    InputError
        For options that make no sense.
    UnidentifiableError
        When a target is outside the range of the arms, naming it.
    SolverError
        When nothing usable was found.

    Warns
    -----
    ConvergenceWarning
        When the gap asked for is not reached.

    Examples
    --------
    >>> import convexdesign as cd
    >>> d = cd.solve(cd.DesignProblem.g_optimal([[1.0, 0.0], [1.0, 1.0]], noise_variance=[1.0, 4.0]))
    >>> d.status.name, [round(float(w), 4) for w in d.weights]
    ('CERTIFIED', [0.2, 0.8])
    """
    _check_limits(tol, max_iter, time_limit)
    if isinstance(problem, ContinuumProblem):
        given = {
            "method": method,
            "max_iter": max_iter,
            "warm_start": warm_start,
            "formulation": formulation,
            "backend": backend,
        }
        over: Design = problem.solved(tol=tol, time_limit=time_limit, verbose=verbose, progress=progress, **given)
        return over
    _check_options(problem, method, formulation, backend)
    start = read_warm_start(warm_start, problem)
    tol, max_iter, time_limit = real(tol), max_iter and whole(max_iter), time_limit and real(time_limit)
    reporter = _Reporter(verbose, progress, tol, time_limit)
    options = _Options(method, tol, max_iter, time_limit, start, formulation, backend, reporter)
    try:
        best = at_its_vertex(_solved(problem, options))
    finally:
        reporter.close()
    if best.status is not Status.CERTIFIED:
        warnings.warn(
            f"certified gap {best.gap:.2e} is above the tolerance {tol:.1e}: {best.status.value}",
            ConvergenceWarning,
            stacklevel=3,
        )
    return best


@dataclass(frozen=True)
class _Options:
    """The options of one solve, and when it started."""

    method: str
    tol: float
    max_iter: int | None
    time_limit: float | None
    start: WarmStart
    formulation: str | None
    backend: str | None
    report: Report
    started: float = field(default_factory=time.perf_counter)

    @property
    def time_left(self) -> float | None:
        """Seconds, for a solver."""
        return self._left(1e-3)

    @property
    def time_for_proof(self) -> float | None:
        """Seconds, for a proof: a fifth of all where less is left."""
        return None if self.time_limit is None else self._left(self.time_limit / 5)

    def _left(self, least: float) -> float | None:
        if self.time_limit is None:
            return None
        return max(self.time_limit - (time.perf_counter() - self.started), least)


def _solved(problem: DesignProblem, options: _Options) -> Design:
    """The best design that the methods find, tried in turn until one certifies or the time is up."""
    if not problem.weight_set.is_box:
        problem = _capped(problem, options.time_left)
    canonical = canonicalise(problem)
    prove = prover(canonical, lambda: options.time_for_proof)
    best: Design | None = None
    failures: list[str] = []
    for name in _methods(canonical, options):
        try:
            outcome = _run(name, canonical, options)
            best = better(best, _timed(judged(canonical, outcome, prove, options.tol), options))
        except SolverError as error:
            failures.append(f"{name}: {error}")
        if best is not None and best.status in (Status.CERTIFIED, Status.TIME_LIMIT):
            break
    if best is None and problem.weight_set.is_simplex and problem.prior is not None:
        # Where the information held dwarfs any new one, solvers see no difference between weights: then any will do.
        best = _timed(judged(canonical, _coarse(canonical), prove, options.tol), options)
    if best is None:
        raise SolverError("no solver returned anything usable: " + "; ".join(failures))
    if best.status is Status.STALLED and not problem.weight_set.is_box:
        narrowed = _without_unreachable(problem, options.time_left)
        if narrowed is not None:
            return _solved(narrowed, options)
    return best


def solved_as_found(problem: DesignProblem, tol: float, time_limit: float | None = None) -> Design:
    """The best design over a list, on all arms that the methods leave with weight, neighbours included; without a warning."""
    return _solved(
        problem, _Options("auto", tol, None, time_limit, read_warm_start(None, problem), None, None, lambda _: None)
    )


def _timed(design: Design, options: _Options) -> Design:
    """The design with the seconds that it took, its proof included."""
    return replace(design, stats=replace(design.stats, seconds=time.perf_counter() - options.started))


def _capped(problem: DesignProblem, time_limit: float | None) -> DesignProblem:
    """The same problem with the caps that its constraints prove, where they leave an arm little or no weight."""
    from convexdesign.programs.constraints import feasible_set

    known = problem.weight_set.limits(problem.arms.n)[1]
    most = feasible_set(problem.weight_set, problem.arms.n, time_limit).most
    found = (most < known) & ((most == 0) | (unit_of(most) < unit_of(known)))
    if not found.any():
        return problem
    upper = np.ones(problem.arms.n) if problem.weight_set.upper is None else problem.weight_set.upper
    return problem.capped(np.where(found, most, upper))


def _without_unreachable(problem: DesignProblem, time_limit: float | None) -> DesignProblem | None:
    """The same problem with a cap of zero on every arm that the constraints leave no weight; None where there is none.

    With the caps the geometry of what can be measured is known, and what cannot is named. "No weight" is what a conic solver
    can tell from none, a share of about 1e-8 of what the constraints allow an arm at most: a direction known only through less
    counts as not measured.
    """
    from convexdesign.programs.constraints import feasible_set

    weight_set, n = problem.weight_set, problem.arms.n
    reachable = feasible_set(weight_set, n).reachable(time_limit) | ~weight_set.allowed(n)
    if reachable.all():
        return None
    upper = np.ones(n) if weight_set.upper is None else weight_set.upper
    return problem.capped(np.where(reachable, upper, 0.0))


def _methods(canonical: Canonical, options: _Options) -> tuple[str, ...]:
    """The methods to try in turn until one certifies."""
    problem, method = canonical.problem, options.method
    if method not in ("auto", "conic"):
        if not problem.weight_set.is_simplex:
            raise InputError(f"constraints on the weights need method='conic' (or 'auto'), not {method!r}")
        if not takes(method, oracle_of(problem)):
            known = ", ".join(oracle.criterion.formula for oracle in TABLE.values() if takes(method, oracle))
            raise InputError(f"method {method!r} solves {known}; for {problem.criterion.formula} use method='conic'")
    if method != "auto":
        return (method,)
    if options.formulation is not None or options.backend is not None:
        return ("conic",)
    if not problem.weight_set.is_simplex:
        from convexdesign.frankwolfe import is_for

        return ("interior-point", "conic") if is_for(canonical) else ("conic",)
    # Measured: where Frank-Wolfe applies it is the faster at every size; a conic program is its understudy.
    return tuple(name for name in ("frank-wolfe", "conic") if takes(name, oracle_of(problem)))


def takes(method: str, oracle: CriterionOracle) -> bool:
    """Whether a method solves a criterion, over the whole simplex at least: it does where the criterion has what it needs."""
    match method:
        case "auto":
            return True
        case "conic":
            return bool(oracle.formulation_names)
        case "frank-wolfe":
            return oracle.has_corrective_step
        case _:
            return oracle.has_slope


def _run(name: str, canonical: Canonical, options: _Options) -> Outcome:
    start, dual = options.start.weights, options.start.dual
    common: dict[str, Any] = {
        "tol": options.tol,
        "max_iter": options.max_iter,
        "time_limit": options.time_left,
        "report": options.report,
    }
    if name == "conic":
        from convexdesign.programs.conic import solve_conic

        return solve_conic(canonical, formulation=options.formulation, backend=options.backend, start=start, **common)
    from convexdesign import frankwolfe

    if name == "interior-point":
        return frankwolfe.interior_point(canonical, **common)
    if name == "frank-wolfe":
        return frankwolfe.frank_wolfe(canonical, start=start, dual=dual, **common)
    return frankwolfe.classic(name, canonical, start=start, **common)


def _coarse(canonical: Canonical) -> Outcome:
    """The design that the canonical form began from, when no solver has anything better."""
    weights = np.zeros(canonical.problem.arms.n)
    weights[canonical.coarse] = canonical.coarse_weights
    return Outcome(weights, None, None, Stats("coarse"))


def _check_options(
    problem: DesignProblem,
    method: str,
    formulation: str | None,
    backend: str | None,
) -> None:
    if not isinstance(problem, DesignProblem):
        raise InputError(f"problem must be a DesignProblem, got {type(problem).__name__}; build one with DesignProblem")
    _check_choice("method", method, METHODS)
    if formulation is not None:
        _check_choice("formulation", formulation, FORMULATIONS)
    if backend is not None:
        _check_choice("backend", backend, BACKENDS)
    if (formulation or backend) and method not in ("auto", "conic"):
        raise InputError(f"formulation and backend belong to method='conic', not to {method!r}; leave them out")


def _check_limits(tol: float, max_iter: int | None, time_limit: float | None) -> None:
    if not SMALLEST_TOL <= real(tol) < math.inf:
        raise InputError(
            f"tol is {shown(tol)}; give a relative gap of at least {SMALLEST_TOL:g} (float64 proves no less)"
        )
    if max_iter is not None:
        whole_at_least(1, max_iter, "max_iter")
    if time_limit is not None:
        positive(time_limit, "time_limit", "give a positive number of seconds")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if not is_one_of(value, choices):
        close = nearest(shown(value).strip("'"), choices)
        hint = "" if close is None else f"; did you mean {close!r}?"
        raise InputError(f"{name} is {shown(value)}; choose one of {', '.join(choices)}{hint}")


class _Reporter:
    """Logs a line, at level INFO, for each snapshot of a solve; shows these lines, or a bar, where that is asked for."""

    def __init__(self, verbose: bool, progress: bool, tol: float, time_limit: float | None):
        self.log = logging.getLogger(__name__)
        if flag(verbose, "verbose"):
            self.log = _shown(self.log)
        self.tol = tol
        self.first = math.inf
        self.line = ExitStack()
        if flag(progress, "progress") and not told():
            self.line.enter_context(show_progress("solve", time_limit))

    def __call__(self, snapshot: Snapshot) -> None:
        if self.log.isEnabledFor(logging.INFO):
            self.log.info(
                f"{snapshot.seconds:9.3f} s  it {snapshot.iteration:5d}  value {snapshot.value:.10g}  "
                f"gap {snapshot.gap:.2e}  support {snapshot.support}  targets {snapshot.targets}"
            )
        if told():
            tell(self.share(snapshot.gap), f"gap {snapshot.gap:.1e}, {snapshot.support} arms")

    def share(self, gap: float) -> float | None:
        """How many of the digits between the first gap and the tolerance are proven."""
        if not 0.0 < gap < math.inf:
            return 1.0 if gap <= 0.0 else None
        if self.first == math.inf:
            self.first = max(gap, self.tol)
        wanted = math.log(self.first / self.tol)
        return math.log(self.first / gap) / wanted if wanted > 0.0 else 1.0

    def close(self) -> None:
        self.line.close()


def _shown(log: logging.Logger) -> logging.Logger:
    """A logger of one solve that writes to stderr, and hands on what would be logged anyway; nobody else's is changed."""
    own = logging.Logger(log.name, logging.INFO)
    own.parent, own.propagate = log, log.isEnabledFor(logging.INFO)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    own.addHandler(handler)
    return own
