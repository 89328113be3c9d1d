"""verify: the certified efficiency of a design, whoever made it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.certificate import Certificate, dimension, relative_gap, stronger
from convexdesign.design import Design
from convexdesign.errors import ConvergenceWarning, InputError
from convexdesign.problem import Criterion, DesignProblem
from convexdesign.problem.read import read_vector
from convexdesign.solve import prover, solve
from convexdesign.verify.verification import Verification

__all__ = ["verify"]

Floats = NDArray[np.float64]

# A design is measured against an optimum known this well, so the interval for its efficiency is as narrow.
REFERENCE_TOL = 1e-7
# The same where a proof of 1 - 1e-9 is wanted.
RIGOROUS_TOL = 1e-10
# Weights whose sum is further from one than this are a mistake, not rounding.
SUM_TOLERANCE = 1e-6


def verify(
    problem: DesignProblem,
    weights: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    rigorous: bool = False,
) -> Verification:
    """The efficiency t* / t(w) of given weights, or of whole-number counts, as a certified interval.

    weights (n,): nonnegative with sum 1 (to 1e-6); counts (n,): nonnegative whole numbers, not all zero, verified as
    the proportions they are (with costs, as the shares of the budget that they cost). Exactly one of the two.
    A design that does not measure some target has efficiency zero. For log det the efficiency is (det A / det A*)^(1/rank).
    Raises InputError naming the entry at fault. Designs of other programs, listed by points: see `match_design`.

    rigorous=True (extra `rigorous`) proves the interval for the numbers as given, every double read as the rational
    it is and the weights divided by their exact sum; floating-point results decide only how narrow it is.

    >>> import convexdesign as cd
    >>> v = cd.verify(cd.DesignProblem.xy_allocation([[1, 0], [0, 1]]), counts=[3, 1])
    >>> round(v.efficiency, 5), v.is_optimal(), v.improvement().arm
    (0.75, False, 1)
    """
    given = _nonnegative(problem, weights, counts)
    if rigorous and problem.responses > 1:
        from convexdesign.rigorous.exact_problem import SEVERAL_RESPONSES

        raise InputError(SEVERAL_RESPONSES)
    w = given / float(given.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the interval says how well the optimum is known
        reference = solve(problem, tol=RIGOROUS_TOL if rigorous else REFERENCE_TOL)
    canonical = reference.canonical
    own = prover(canonical)(w, reference.certificate.witness)
    certificate = stronger(own, reference.certificate, canonical)
    low = 1.0 / (1.0 + certificate.gap)
    high = 1.0 / (1.0 + relative_gap(problem.criterion, own.value, reference.value, dimension(canonical)))
    if _is_better(problem.criterion, own.value, reference.value):
        high = 1.0  # better than the reference: the bound alone limits it
    if rigorous:
        return _rigorous(given, w, certificate, reference)
    return Verification(certificate.value, certificate.bound, low, (low, max(low, high)), certificate, w, reference)


def _rigorous(given: Floats, w: Floats, certificate: Certificate, reference: Design) -> Verification:
    """The interval proven for the doubles as given, weights divided by their exact sum."""
    from convexdesign.rigorous import prove, upper_efficiency

    canonical = reference.canonical
    witness = certificate.witness
    targets = np.empty(0, dtype=np.intp) if witness is None else witness.targets
    vectors = np.empty((0, canonical.problem.arms.d)) if witness is None else witness.vectors
    own = prove(canonical, given, targets, vectors)
    best = prove(canonical, reference.weights, targets, vectors)
    low = min(own.efficiency, 1.0)
    high = upper_efficiency(canonical, own, best)
    return Verification(certificate.value, own.bound, low, (low, max(low, high)), certificate, w, reference, own)


def _is_better(criterion: Criterion, value: float, other: float) -> bool:
    return value > other if criterion.maximised else value < other


def _nonnegative(problem: DesignProblem, weights: Any, counts: Any) -> Floats:
    """The design as nonnegative effort per arm, (n,), in any unit."""
    if (weights is None) == (counts is None):
        raise InputError("give exactly one of weights= and counts=")
    name = "weights" if counts is None else "counts"
    values = read_vector(weights if counts is None else counts, name, problem.n_arms, problem.arms.names)
    bad = np.flatnonzero(values < 0)
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] is {values[bad[0]]:g}; {name} cannot be negative")
    total = float(values.sum())
    if not total > 0:
        raise InputError(f"all {name} are zero; a design must measure something")
    if counts is not None:
        broken = np.flatnonzero(values != np.floor(values))
        if broken.size:
            raise InputError(f"counts[{broken[0]}] is {values[broken[0]]:g}; counts are whole numbers")
        return problem.effort(values)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(f"weights sum to {total:.9g}, not 1; divide them by their sum, or give them as counts")
    return values
