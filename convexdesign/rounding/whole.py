"""Weights to counts by name of the method, at array level: checks, sparsification, and the best of the cheap ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.problem.responses import squares
from convexdesign.rounding.apportion import apportion, round_up
from convexdesign.rounding.criterion import Criterion, information
from convexdesign.rounding.exchange import exchange
from convexdesign.rounding.limits import Limits, completing_arms, limits
from convexdesign.rounding.optimal import prove_optimal
from convexdesign.rounding.regret import regret
from convexdesign.rounding.remembering import Remembering
from convexdesign.rounding.sparsify import sparsify

__all__ = ["Method", "Whole", "round_weights"]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

# A weight may be dropped before rounding if that costs no more than this share of the criterion: every arm left gets
# at least one pull.
TRIM_LOSS = 1e-6
# Up to this much work (arms x pulls) `auto` also tries regret minimisation, and up to this many pulls the exchange
# restarts: beyond, one move matters less than 1 %.
SMALL = 100_000
FEW_PULLS = 200
RESTARTS = 20
# Beyond this many arms the search for the best counts is not attempted.
OPTIMAL_ARMS = 2000


class Method(Enum):
    """Ways to turn weights into whole numbers of pulls; the value says what each promises."""

    AUTO = "auto"
    CEIL = "ceil"
    APPORTION = "apportion"
    REGRET = "regret"
    EXCHANGE = "exchange"
    OPTIMAL = "optimal"


@dataclass(frozen=True, eq=False)
class Whole:
    """A whole-number design: counts (n,) int64, their total, and the information they give (prior included).

    method: the one that found the counts. lower_bound: for `optimal`, a proven bound on phi over every whole-number
    design with this total and these limits, otherwise None; optimality_gap = value / lower_bound - 1.
    """

    counts: Counts
    method: Method
    information: Array
    criterion: Criterion
    lower_bound: float | None = None

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def value(self) -> float:
        """phi of the information; computed when asked for, since it may take a pass over very many targets."""
        return self.criterion.value(self.information)

    @property
    def optimality_gap(self) -> float | None:
        return None if self.lower_bound is None else max(self.value / self.lower_bound - 1.0, 0.0)


def round_weights(
    arms: Array,
    weights: Array,
    n: int,
    criterion: Criterion,
    *,
    method: Method = Method.AUTO,
    prior: Array | None = None,
    min_counts: ArrayLike | None = None,
    max_counts: ArrayLike | None = None,
    reduce_support: bool = True,
    rng: np.random.Generator | None = None,
    time_limit: float = 60.0,
) -> Whole:
    """counts (k,) with sum n (for `ceil` at most n + support) whose phi(prior + sum_i n_i u_i u_i') is small.

    arms (k, r): whitened candidates, rank r together with the prior, or groups (k, l, r) of l responses each; weights
    (k,), nonnegative, normalised here; prior (r, r): TOTAL information held besides the n pulls. min_counts,
    max_counts: scalar or (k,). reduce_support=False keeps every arm with weight (where constraints forbid moving weight
    between arms). rng: restarts of the exchange, fixed by default; time_limit in seconds, for `optimal` only.

    Raises InputError where limits cannot be met, or n pulls cannot estimate what is asked (the least n is named).

    >>> from convexdesign.rounding import Volume, round_weights
    >>> round_weights(np.eye(2), np.array([0.5, 0.5]), 5, Volume(np.eye(2))).counts.sum()
    np.int64(5)
    """
    bounds = limits(n, arms.shape[0], min_counts, max_counts)
    weights = weights / weights.sum()
    if reduce_support and bounds.free:
        weights = sparsify(arms, weights, None if prior is None else prior / bounds.total)
    if method is Method.CEIL:
        counts = round_up(weights, bounds)
        return _whole(arms, counts, criterion, prior, method)
    criterion = Remembering(criterion)
    if reduce_support:
        weights = _trim(arms, weights, bounds, criterion, prior)
    arms, bounds, criterion, prior = _on_range(arms, weights, bounds, criterion, prior)
    return _rounded(arms, weights, bounds, criterion, prior, method, rng, time_limit)


def _rounded(
    arms: Array,
    weights: Array,
    bounds: Limits,
    criterion: Criterion,
    prior: Array | None,
    method: Method,
    rng: np.random.Generator | None,
    time_limit: float,
) -> Whole:
    spanning = completing_arms(arms, weights, prior, bounds)
    counts = _apportioned(weights, bounds, spanning)
    best = _whole(arms, counts, criterion, prior, Method.APPORTION)
    if method is Method.APPORTION:
        return best
    small = arms.shape[0] * bounds.total <= SMALL
    if method is Method.REGRET or (method is not Method.EXCHANGE and small):
        other = _whole(arms, regret(arms, weights, bounds, prior), criterion, prior, Method.REGRET)
        if method is Method.REGRET and np.isfinite(other.value):
            return other
        best = min(best, other, key=lambda whole: whole.value)
    few = small and bounds.total <= FEW_PULLS
    restarts = (RESTARTS if method is not Method.AUTO else RESTARTS // 4) if few else 1
    counts = exchange(arms, best.counts, bounds, criterion, prior, starts=restarts, rng=rng)
    best = min(best, _whole(arms, counts, criterion, prior, Method.EXCHANGE), key=lambda whole: whole.value)
    if method in (Method.AUTO, Method.EXCHANGE):
        return best
    if arms.shape[0] > OPTIMAL_ARMS:
        raise InputError(
            f"method 'optimal' searches over at most {OPTIMAL_ARMS} arms, not {arms.shape[0]}; "
            "use 'exchange', whose certified efficiency says how little is left to gain"
        )
    proven = prove_optimal(arms, best.counts, bounds, criterion, prior, time_limit=time_limit)
    return replace(_whole(arms, proven.counts, criterion, prior, method), lower_bound=proven.lower_bound)


def _whole(arms: Array, counts: Counts, criterion: Criterion, prior: Array | None, method: Method) -> Whole:
    M = information(arms, counts)
    return Whole(counts, method, M if prior is None else M + prior, criterion)


def _apportioned(weights: Array, bounds: Limits, spanning: NDArray[np.intp]) -> Counts:
    """Apportioned counts; where there are fewer pulls than arms, a spanning set is among those that stay."""
    if bounds.total >= np.count_nonzero(weights) + int(bounds.lower.sum()) and np.all(weights[spanning] > 0):
        return apportion(weights, bounds)
    lower = bounds.lower.copy()
    lower[spanning] = 1
    return apportion(weights, Limits(bounds.total, lower, bounds.upper))


def _trim(arms: Array, weights: Array, bounds: Limits, criterion: Criterion, prior: Array | None) -> Array:
    """Drop weights far below one pull where that leaves the criterion as it is."""
    tiny = weights * bounds.total < 0.1
    if not np.any(tiny & (weights > 0)):
        return weights
    share = None if prior is None else prior / bounds.total
    before = _value_on_range(arms, weights, criterion, share)
    for level in (0.1, 1e-3):
        heavy = np.where(weights * bounds.total >= level, weights, 0.0)
        if heavy.any() and np.any(heavy != weights):
            heavy /= heavy.sum()
            if _value_on_range(arms, heavy, criterion, share) <= before * (1.0 + TRIM_LOSS):
                return heavy
    return weights


def _value_on_range(arms: Array, weights: Array, criterion: Criterion, prior: Array | None) -> float:
    A = information(arms, weights)
    if prior is not None:
        A = A + prior
    Q = _range(A)
    if Q.shape[1] == A.shape[0]:
        return criterion.value(A)
    on_range = criterion.projected(Q)
    return np.inf if on_range is None else on_range.value(Q.T @ A @ Q)


def _range(A: Array) -> Array:
    lam, Q = np.linalg.eigh(A)
    return Q[:, lam > 1e-11 * lam[-1]]


def _on_range(
    arms: Array, weights: Array, bounds: Limits, criterion: Criterion, prior: Array | None
) -> tuple[Array, Limits, Criterion, Array | None]:
    """The problem on the range of the design's information: a singular optimum (one target, say) needs no more.

    Arms outside that range are closed; unless they must appear, when everything stays as it is.
    """
    used = (weights > 0) | (bounds.lower > 0)
    A = information(arms, np.where(used, np.maximum(weights, 1e-3 / np.count_nonzero(used)), 0.0))
    if prior is not None:
        A = A + prior / bounds.total
    Q = _range(A)
    on_range = criterion.projected(Q) if Q.shape[1] < A.shape[0] else None
    if on_range is None:
        return arms, bounds, criterion, prior
    lost, size = (np.sqrt(squares(rows)) for rows in (arms - arms @ Q @ Q.T, arms))
    inside = lost <= 1e-7 * (size + 1e-300)
    closed = Limits(bounds.total, bounds.lower, np.where(inside, bounds.upper, 0))
    if sum(closed.upper.tolist()) < bounds.total:
        return arms, bounds, criterion, prior
    return arms @ Q, closed, on_range, None if prior is None else Q.T @ prior @ Q
