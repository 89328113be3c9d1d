"""Weights from any source become a design: brought into W, certified from the data, and cleared of negligible ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.design import Design
from convexdesign.errors import SolverError
from convexdesign.negligible import without_negligible
from convexdesign.outcome import Outcome, better_of, status_of
from convexdesign.problem import Canonical
from convexdesign.programs.prover import Prover
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from convexdesign.vertex import Room

__all__ = ["at_its_vertex", "better", "judged"]


def judged(canonical: Canonical, outcome: Outcome, prove: Prover, tol: float) -> Design:
    """The design that an outcome comes to; value, bound, gap and status are computed here and nowhere else.

    Raises SolverError where no weight is positive.
    """
    weights = _into_weight_set(canonical, outcome)
    certificate = prove(weights, outcome.dual)
    weights, certificate = without_negligible(canonical, weights, certificate, tol, outcome.interior)
    weights.flags.writeable = False
    status = status_of(certificate, tol, outcome.ended)
    return Design(canonical.given, weights, certificate, status, outcome.stats, tol, canonical)


def at_its_vertex(design: Design) -> Design:
    """The design on fewer arms, where its tolerance allows that."""
    from convexdesign.vertex import at_vertex

    weights, certificate = design.weights, design.certificate
    for room in _rooms(design.canonical, weights):
        weights, certificate = at_vertex(design.canonical, weights, certificate, design.tol, room)
    if weights is design.weights:
        return design
    weights.flags.writeable = False
    status = status_of(certificate, design.tol, design.status)
    return replace(design, weights=weights, certificate=certificate, status=status)


def _rooms(canonical: Canonical, weights: Floats) -> Iterator[Room | None]:
    """What the weights may move within, None where there are no constraints.

    With curved constraints that can be evaluated: first for all arms, then for those that these constraints do not depend on,
    the others as they are. Nothing moves under constraints with variables of their own.
    """
    W, n = canonical.problem.weight_set, canonical.problem.n_arms
    if W.is_simplex:
        yield None
        return
    from convexdesign.rounding.sparsification_within import LinearLimits
    from convexdesign.vertex import Room

    lower = np.zeros(n) if W.lower is None else W.lower
    upper = np.where(W.allowed(n), np.ones(n) if W.upper is None else np.maximum(W.upper, lower), 0.0)
    if W.is_box:
        limits = LinearLimits(lower, upper, np.empty((0, n)), np.empty(0), np.empty((0, n)), np.empty(0))
        yield Room.linear(limits, W.violation)
        return
    from convexdesign.programs.constraints import feasible_set

    feasible = feasible_set(W, n)
    upper = np.minimum(upper, feasible.most)
    limits = LinearLimits(lower, upper, feasible.E, feasible.e, feasible.G, feasible.h)
    if feasible.is_linear:
        yield Room.linear(limits, W.violation)
    elif feasible.evaluable:
        yield Room(limits, feasible.violation, feasible.projected)
        low, high = (np.where(feasible.bent, weights, bound) for bound in (lower, upper))
        yield Room(replace(limits, lower=low, upper=high), feasible.violation, feasible.projected)


def better(first: Design | None, second: Design | None) -> Design | None:
    """The better of two designs of one problem, with the better of the two bounds; None where there are none."""
    if first is None or second is None:
        return first or second
    certificate, is_second = better_of(first.certificate, second.certificate, first.canonical)
    best = second if is_second else first
    return replace(best, certificate=certificate, status=status_of(certificate, best.tol, best.status))


def _into_weight_set(canonical: Canonical, outcome: Outcome) -> Floats:
    weights = outcome.weights
    total = float(weights.sum())
    if not (np.isfinite(total) and weights.min() >= 0.0):
        weights = np.maximum(np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0), 0.0)
        total = float(weights.sum())
    if not total > 0:
        raise SolverError(f"{outcome.stats.method} returned no positive weight")
    weights = weights / total
    weight_set = canonical.problem.weight_set
    if weight_set.is_simplex:
        return weights
    if weight_set.is_box:
        return weight_set.projected(weights)
    from convexdesign.programs.constraints import feasible_set

    return feasible_set(weight_set, weights.size).projected(weights)
