"""verify: the certified efficiency of a design, whoever made it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import flag, instance
from convexdesign.arms.read import read_vector
from convexdesign.certificate import Certificate, stronger
from convexdesign.criteria import oracle_of
from convexdesign.deprecation import once_positional
from convexdesign.design import Design
from convexdesign.errors import ConvergenceWarning, InputError
from convexdesign.evaluation import evaluate
from convexdesign.problem import DesignProblem
from convexdesign.problem.continuum import ContinuumProblem
from convexdesign.programs.prover import prover
from convexdesign.solving import solve
from convexdesign.typing import Floats
from convexdesign.verification.allowed import exactly_allowed
from convexdesign.verification.reach import Reach, exactly_unmeasured, reach
from convexdesign.verification.rounding import rounding_of
from convexdesign.verification.verification import Verification

if TYPE_CHECKING:
    from convexdesign.rigorous.weights import ExactWeights

__all__ = ["verify"]


# A design is measured against an optimum known this well, so the interval for its efficiency is as narrow.
REFERENCE_TOL = 1e-7
# The same where a proof of 1 - 1e-9 is wanted.
RIGOROUS_TOL = 1e-10
# Weights whose sum is further from one than this are a mistake, not rounding.
SUM_TOLERANCE = 1e-6
# Constraints by a function that are exceeded by no more than this are met but for rounding.
EXACTLY = 1e-12
# A relative error that rounding may have left in a value, large enough to be spoken of.
NOTABLE = 1e-6
# Shares of effort given to all directions, where a reference measures a target only up to rounding.
SPREAD = (1e-11, 1e-8)


@once_positional(since="0.2", removed="0.4")
def verify(
    problem: DesignProblem,
    weights: ArrayLike | None = None,
    *,
    counts: ArrayLike | None = None,
    rigorous: bool = False,
    normalise: bool = False,
    runs: Any = None,
) -> Verification:
    """The efficiency t* / t(w) of given weights, or of whole-number counts, as a certified interval.

    A design that does not measure some target has efficiency zero, one that is better than any that keeps the
    constraints on the weights, and does not keep them, efficiency one (and is not allowed). For log det it is (det A /
    det A*)^(1/rank). Designs of other programs, listed by points: see `match_design`.

    Parameters
    ----------
    problem : DesignProblem
        What the design is for.
    weights : array_like, shape (n,), optional
        Nonnegative with sum 1 (to 1e-6), divided by their sum.
    counts : array_like, shape (n,), optional
        Instead of weights: nonnegative whole numbers, not all zero, verified as the proportions they are (with costs,
        as the shares of the budget that they cost).
    rigorous : bool
        Prove the interval for the numbers as given (extra `rigorous`), every double read as the rational it is and the
        weights divided by their exact sum; floating-point results decide only how narrow it is.
    normalise : bool
        Divide weights by their sum, whatever it is above zero; entries below zero by no more than 1e-6 of it, as solvers
        leave them, count as zero.
    runs : table, optional
        Instead of either a run sheet: a row for each run with the column arm, or a column for each factor. Of a problem over
        a region on or off any grid; weights or counts, if given, then belong to its rows.

    Returns
    -------
    Verification
        Value, bound, certified interval of the efficiency, what is worst, and what would help.

    Raises
    ------
    InputError
        Naming the entry at fault, or where not exactly one of weights and counts is given.

    Notes
    -----
    The interval is proven up to the rounding of data and arithmetic. Whether a target near the limit of double
    precision is measured at all is decided exactly; one that leaves what the design measures by rounding alone counts
    as measured.

    With rigorous=True a target outside what the design measures by 1e-17 is not measured. The upper end comes from a
    design that keeps the constraints exactly, and is 1 where none is known, as for constraints given as a function. A
    matrix M that is no psd matrix exactly, or leaves what is measured by rounding, is replaced by one that differs by
    no more, and `proof.about` says so.

    Examples
    --------
    >>> import convexdesign as cd
    >>> v = cd.verify(cd.DesignProblem.xy_allocation([[1, 0], [0, 1]]), counts=[3, 1])
    >>> round(v.efficiency, 5), v.is_optimal(), v.improvement().arm
    (0.75, False, 1)
    """
    if isinstance(problem, ContinuumProblem):
        over: Verification = problem.verified(runs=runs, weights=weights, counts=counts, rigorous=rigorous)
        return over
    instance(problem, DesignProblem, "problem", "build one with DesignProblem")
    order, blocks = None, None
    if runs is not None:
        from convexdesign.runs import arms_of_runs, blocks_of_runs

        if weights is not None or counts is not None:
            raise InputError("give exactly one of weights=, counts= and runs=")
        order = arms_of_runs(problem, runs)
        blocks = blocks_of_runs(problem, runs, order)
        counts = np.bincount(order, minlength=problem.n_arms)
    rigorous = flag(rigorous, "rigorous")
    given = _nonnegative(problem, weights, counts, flag(normalise, "normalise"))
    if rigorous and problem.responses > 1:
        from convexdesign.rigorous.exact_problem import SEVERAL_RESPONSES

        raise InputError(SEVERAL_RESPONSES)
    effort = given if counts is None else problem.effort(given)
    w = effort / float(effort.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the interval says how well the optimum is known
        reference = solve(problem, tol=RIGOROUS_TOL if rigorous else REFERENCE_TOL)
    own = prover(reference.canonical)(w, reference.certificate.dual)
    certificate = stronger(own, reference.certificate, reference.canonical)
    if rigorous:
        prices = None if counts is None else problem.costs
        result = _rigorous(problem, given, prices, w, certificate, reference)
    else:
        result = _up_to_rounding(problem, w, certificate, reference)
    if order is not None:
        result = replace(result, order=tuple(order), blocks=None if blocks is None else tuple(blocks))
    return result if counts is None else replace(result, counts=given)


def _up_to_rounding(problem: DesignProblem, w: Floats, certificate: Certificate, reference: Design) -> Verification:
    """The interval proven but for the rounding of data and arithmetic; what is measured at all is decided exactly."""
    canonical, criterion = reference.canonical, problem.criterion
    dim = oracle_of(problem).dimension(canonical)
    at = evaluate(canonical, w)
    found, target = Reach.MEASURED, -1
    if at.rank < canonical.rank or certificate.value == criterion.worst_value:
        found, target = reach(canonical, w, at)
    best = evaluate(canonical, reference.weights)
    doubt = rounding_of(canonical, best)
    if found is Reach.UNMEASURED:
        certificate = replace(certificate, value=criterion.worst_value, gap=np.inf, worst_target=target)
        bound = criterion.loosened(certificate.bound, doubt, dim)
        return Verification(certificate.value, bound, 0.0, (0.0, 0.0), certificate, w, reference, None, target)
    doubt += rounding_of(canonical, at)
    low = max(0.0, 1.0 - doubt) / (1.0 + certificate.gap)
    high = min(1.0, _highest(problem, certificate.value, reference) * (1.0 + doubt)) if doubt < 1.0 else 1.0
    remark = ""
    if found is Reach.UNKNOWN:
        low, high = 0.0, 1.0 if certificate.value == criterion.worst_value else high
        remark = f"{canonical.problem.targets.label(max(target, 0))}: {found.value}; rigorous=True decides it"
    elif doubt > NOTABLE:
        remark = f"so ill-conditioned that the value is known to a relative {doubt:.0e} only; rigorous=True knows more"
    bound = criterion.loosened(certificate.bound, doubt, dim)
    return Verification(certificate.value, bound, low, (low, max(low, high)), certificate, w, reference, remark=remark)


def _highest(problem: DesignProblem, value: float, reference: Design) -> float:
    """An upper bound on the efficiency of a design with this value, from the reference, where that is allowed."""
    canonical, criterion = reference.canonical, problem.criterion
    best = reference.value
    if not problem.weight_set.is_simplex:
        allowed = _allowed(problem, reference)
        if allowed is None:
            return 1.0
        best = evaluate(canonical, allowed).value
    if criterion.is_better(value, best):
        return 1.0  # better than the reference: the bound alone limits it
    return 1.0 / (1.0 + criterion.relative_gap(value, best, oracle_of(problem).dimension(canonical)))


def _allowed(problem: DesignProblem, reference: Design) -> Floats | None:
    """The reference's weights brought within the constraints; None where that is not certain."""
    if problem.weight_set.constraints is not None:
        return reference.weights if reference.certificate.feasibility <= EXACTLY else None
    exact = exactly_allowed(problem.weight_set, reference.weights)
    return None if exact is None else np.array([float(x) for x in exact])


def _rigorous(
    problem: DesignProblem,
    given: Floats,
    prices: Floats | None,
    w: Floats,
    certificate: Certificate,
    reference: Design,
) -> Verification:
    """The interval proven for the doubles as given, weights divided by their exact sum."""
    from convexdesign.rigorous import Prover, precision, strengthened, upper_efficiency
    from convexdesign.rigorous.weights import ExactWeights

    canonical, criterion = reference.canonical, problem.criterion
    if criterion.on_range and canonical.given is not problem:
        raise InputError(
            "the constraints leave some arms no weight but for rounding, and with them the range that log det is over; "
            "give these arms max_weight 0 for a proof"
        )
    dual = certificate.dual
    targets = np.empty(0, dtype=np.intp) if dual is None else dual.targets
    vectors = np.empty((0, problem.arms.d)) if dual is None else dual.vectors
    with precision():
        proofs = Prover(canonical.plain, problem.weight_set, targets, vectors)
        own = proofs.prove(ExactWeights.of(given, prices))
        high = 0.0 if own.low == own.high == criterion.worst_value else 1.0
        for best in _references(problem, reference):
            other = proofs.prove(best)
            own = strengthened(criterion, own, other)
            high = min(high, upper_efficiency(canonical, own, other))
            if np.isfinite(other.low) and np.isfinite(other.high):
                break
    value = min(max(certificate.value, own.low), own.high)
    target, remark = -1, ""
    if high == 0.0:
        found = exactly_unmeasured(canonical, w)
        target = 0 if found is None else max(found, 0)
        if certificate.value != criterion.worst_value:
            remark = (
                f"read exactly, {canonical.problem.targets.label(target)} leaves what the design measures, by too "
                "little for double precision to see"
            )
        certificate = replace(certificate, value=value, gap=np.inf)
    low = min(own.efficiency, 1.0)
    return Verification(value, own.bound, low, (low, high), certificate, w, reference, own, target, remark)


def _references(problem: DesignProblem, reference: Design) -> Iterator[ExactWeights]:
    """Exactly allowed designs that are nearly optimal: the reference, and that with a little effort for all directions.

    The second is for references that measure their targets up to rounding only, and read exactly not at all.
    """
    from convexdesign.rigorous.weights import ExactWeights

    canonical = reference.canonical
    coarse = np.zeros(problem.n_arms)
    coarse[canonical.coarse] = canonical.coarse_weights / canonical.coarse_weights.sum()
    for share in (0.0, *SPREAD):
        mixed = (1.0 - share) * reference.weights + share * coarse
        if problem.weight_set.is_simplex:
            yield ExactWeights.of(mixed)
        else:
            exact = exactly_allowed(problem.weight_set, mixed)
            if exact is not None:
                yield ExactWeights.of_fractions(exact)


def _nonnegative(problem: DesignProblem, weights: Any, counts: Any, normalise: bool) -> Floats:
    """The weights, or the counts, as nonnegative numbers (n,)."""
    if (weights is None) == (counts is None):
        raise InputError("give exactly one of weights= and counts=")
    name = "weights" if counts is None else "counts"
    values = read_vector(weights if counts is None else counts, name, problem.n_arms, problem.arms.names)
    if normalise and counts is not None:
        raise InputError("normalise=True is for weights; counts are proportions as they are")
    if normalise:
        values = np.where((values < 0) & (values >= -SUM_TOLERANCE * abs(float(values.sum()))), 0.0, values)
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
        return values
    if normalise:
        return values / total
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(
            f"weights sum to {total:.9g}, not 1; normalise=True divides them by their sum, counts= takes whole numbers of "
            "measurements"
        )
    return values
