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
from convexdesign.criteria.program_size import GIGABYTE, memory_allowed
from convexdesign.errors import ConvergenceWarning, InputError
from convexdesign.outcome import Stats, Status
from convexdesign.regions.certifying import certified
from convexdesign.regions.design import RegionCertificate, RegionDesign
from convexdesign.regions.exchange import Search, SearchOutcome
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.proof import RegionProver
from convexdesign.typing import Floats, Indices

__all__ = ["solve_over_region"]

# Times that the proof may send the search back.
REFUTED = 12
# Of a time limit what is left for branch and bound; and for sums of squares this many times what is expected, up to a share.
BRANCHING, SPARE, MOST_PROVING = 0.4, 1.5, 0.8


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
    search = problem.search(deadline)
    prover = RegionProver(problem.frame, problem.price) if problem.is_polynomial else None
    found = search.first()
    # What the proof is expected to take is left for it, where it has a chance at all.
    search.deadline = deadline - share_of_proof(search, prover, found, deadline)
    extra: tuple[Indices, Floats] | None = None
    best: RegionDesign | None = None
    rounds = 0
    while True:
        began = time.perf_counter()
        found = search.refined(found, tol, search.deadline, extra)
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
        why = best.status.value + next_step(best.certificate) + (search.beyond and f"; {search.beyond}")
        warnings.warn(
            f"certified gap {best.gap:.2e} is above the tolerance {tol:.1e}: {why}",
            ConvergenceWarning,
            stacklevel=3,
        )
    return best


def share_of_proof(search: Search, prover: RegionProver | None, found: SearchOutcome, deadline: float) -> float:
    """Seconds before the deadline at which the search is to end."""
    left = deadline - time.perf_counter()
    if np.isinf(deadline) or left <= 0.0:
        return 0.0
    if prover is None:
        return BRANCHING * left
    p, _ = prover.polynomial(0, found.vectors.B)
    size = prover.size(p, prover.hierarchy(p)[0])
    seconds = SPARE * size.seconds * len(search.starts)
    return seconds if seconds < MOST_PROVING * left and prover.is_affordable(size, left) else 0.0


def next_step(certificate: RegionCertificate) -> str:
    """What the next step of a proof would take, in words."""
    seconds, memory = certificate.next_seconds, certificate.next_memory
    if np.isnan(seconds):
        return ""
    said = f"; the next step would take about {seconds:.2g} s"
    most = memory_allowed()
    if memory > most:
        said += (
            f" and {memory / GIGABYTE:.3g} GB of memory, more than the {most / GIGABYTE:.2g} GB it may: it is not begun"
        )
    elif certificate.kind in ("sum of coefficients", "none"):
        said += ": it was not begun, raise time_limit"
    return said


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
