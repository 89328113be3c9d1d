"""solve over a region: settings are added where the sensitivity is too large, until a proof says that it is nowhere.

1. Settings spread over the region; 2. the optimal design over the list of them, by the methods for lists, which also gives
the vectors b_j; 3. local maxima of the sensitivity p_b over the region become settings, those without weight leave;
4. settings closer than MERGED become one; 5. the proof. Where it refutes, it names settings that the search has missed: go
to 2. Only the proof must be right: whatever the search did, the bound holds.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from convexdesign.arguments import real
from convexdesign.errors import ConvergenceWarning, InputError
from convexdesign.outcome import Stats, Status
from convexdesign.regions.certifying import certified
from convexdesign.regions.design import RegionCertificate, RegionDesign
from convexdesign.regions.exchange import SearchOutcome
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.proof import RegionProver
from convexdesign.typing import Floats, Indices

__all__ = ["solve_over_region"]

# Times that the proof may send the search back.
REFUTED = 12


def solve_over_region(
    problem: RegionProblem,
    tol: float = 1e-6,
    time_limit: float | None = None,
    verbose: bool = False,
    **options: Any,
) -> RegionDesign:
    """The optimal design over the region with its proof."""
    for name, value in options.items():
        if value not in (None, "auto", False):
            raise InputError(f"{name} is not known for a problem over a region; it takes tol, time_limit and verbose")
    stated, problem, tol = problem, problem.adapted, real(tol)
    started = time.perf_counter()
    deadline = np.inf if time_limit is None else started + real(time_limit)
    search = problem.search()
    search.deadline = deadline
    prover = RegionProver(problem.frame, problem.price) if problem.is_polynomial else None
    found = search.first()
    extra: tuple[Indices, Floats] | None = None
    best: RegionDesign | None = None
    rounds = 0
    while True:
        began = time.perf_counter()
        found = search.refined(found, tol, deadline, extra)
        certificate, missed = certified(search, prover, found, tol, deadline)
        design = assembled(stated, found, certificate, tol, started, deadline)
        if verbose:
            print(repr(design))
        if best is None or design.gap < best.gap:
            best = design
        rounds += 1
        if design.status is Status.CERTIFIED or missed is None or rounds > REFUTED or time.perf_counter() > deadline:
            break
        extra = missed
    stopped = missed is not None or best.status is Status.TIME_LIMIT
    if best.status is not Status.CERTIFIED and np.isnan(best.certificate.next_seconds) and stopped:
        # What stopped were the rounds or the clock: the next step is one more round, of the search and of the proof.
        further = time.perf_counter() - began
        best = replace(best, certificate=replace(best.certificate, next_seconds=further))
    if best.status is not Status.CERTIFIED:
        further = best.certificate.next_seconds
        later = "" if np.isnan(further) else f"; the next step would take about {further:.2g} s"
        warnings.warn(
            f"certified gap {best.gap:.2e} is above the tolerance {tol:.1e}: {best.status.value}{later}",
            ConvergenceWarning,
            stacklevel=3,
        )
    return best


def assembled(
    problem: RegionProblem,
    found: SearchOutcome,
    certificate: RegionCertificate,
    tol: float,
    started: float,
    deadline: float,
) -> RegionDesign:
    """The design that is handed back: settings with weight alone, in the order of their coordinates."""
    keep = np.flatnonzero(found.design.weights > 0)
    order = keep[np.lexsort([*found.x[keep].T[::-1], found.where[keep]])]
    where, x, weights = found.where[order].tolist(), found.x[order], found.design.weights[order]
    if problem.adapted is not problem:
        x = problem.region.coordinates(problem.adapted.region.table(where, x))[1]
    ended = Status.TIME_LIMIT if time.perf_counter() > deadline else Status.STALLED
    return RegionDesign(
        problem,
        where,
        x,
        weights,
        certificate,
        Status.CERTIFIED if certificate.gap <= tol else ended,
        found.design.problem,
        Stats("exchange over the region", seconds=time.perf_counter() - started),
        tol,
    )
