"""Weights to counts by name of the method, at array level: checks, sparsification, and the best of the cheap ones."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.criteria.exchange import MatrixCriterion, information, measured_range, value_on_range
from convexdesign.errors import InputError
from convexdesign.rounding.apportionment import apportion, round_up
from convexdesign.rounding.cached_criterion import CachedCriterion
from convexdesign.rounding.count_limits import Limits, completing_arms, limits
from convexdesign.rounding.fewest import sufficient_sets
from convexdesign.rounding.local_exchange import exchange
from convexdesign.rounding.many_starts import Effort, Tell, search, useful_arms
from convexdesign.rounding.optimal import prove_optimal
from convexdesign.rounding.ranged import Ranged, on_range, restricted
from convexdesign.rounding.regret_minimisation import regret
from convexdesign.rounding.sparsification import sparsify
from convexdesign.typing import Counts, Floats

__all__ = ["Method", "RoundedDesign", "round_weights"]


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
# Where n is small, sets of arms that measure enough are valued, and the best of them rounded.
SETS_VALUED = 500
SETS_ROUNDED = 5


class Method(Enum):
    """Ways to turn weights into whole numbers of pulls; the value says what each promises."""

    AUTO = "auto"
    CEIL = "ceil"
    APPORTION = "apportion"
    REGRET = "regret"
    EXCHANGE = "exchange"
    OPTIMAL = "optimal"


@dataclass(frozen=True, eq=False)
class RoundedDesign:
    """A whole-number design, and the information it gives.

    Parameters
    ----------
    counts : array of int64, shape (n,)
        Pulls of every arm.
    method : Method
        The one that found the counts.
    information : array of shape (r, r)
        Of the counts, with what is held besides.
    criterion : MatrixCriterion
        The function phi.
    lower_bound : float, optional
        For `optimal`, a proven bound on phi over every whole-number design with this total and these limits.
    """

    counts: Counts
    method: Method
    information: Floats
    criterion: MatrixCriterion
    lower_bound: float | None = None

    @property
    def total(self) -> int:
        """How many pulls."""
        return int(self.counts.sum())

    @cached_property
    def value(self) -> float:
        """phi of the information; computed when asked for, since it may take a pass over very many targets."""
        return value_on_range(self.criterion, self.information)

    @property
    def optimality_gap(self) -> float | None:
        """value / lower_bound - 1, infinite where nothing was proven; None without a bound."""
        if self.lower_bound is None:
            return None
        # Where time ran out before anything was proven, the bound is zero.
        return max(self.value / self.lower_bound - 1.0, 0.0) if self.lower_bound > 0 else np.inf


def round_weights(
    arms: Floats,
    weights: Floats,
    n: int,
    criterion: MatrixCriterion,
    *,
    method: Method = Method.AUTO,
    prior: Floats | None = None,
    min_counts: ArrayLike | None = None,
    max_counts: ArrayLike | None = None,
    reduce_support: bool = True,
    rng: np.random.Generator | None = None,
    time_limit: float = 60.0,
    effort: str | float = "quick",
    tell: Tell | None = None,
) -> RoundedDesign:
    """counts with the sum n (for `ceil` at most n + support) whose phi(prior + sum_i n_i u_i u_i') is small.

    Parameters
    ----------
    arms : array of shape (k, r) or (k, l, r)
        Whitened candidates, of rank r together with the prior; or groups of l responses each.
    weights : array of shape (k,)
        Nonnegative; normalised here.
    n : int
        The number of pulls.
    criterion : MatrixCriterion
        The function phi.
    method : Method
        How; AUTO takes the best of the cheap methods.
    prior : array of shape (r, r), optional
        The TOTAL information held besides the n pulls.
    min_counts, max_counts : int or array_like of shape (k,), optional
        The least and the most pulls of every arm.
    reduce_support : bool
        Whether weight may move between arms; False where constraints forbid it.
    rng : numpy.random.Generator, optional
        Of the starts of the searches; fixed by default.
    time_limit : float
        Seconds, for `optimal` only.
    effort : {"quick", "thorough"} or float
        What `auto` and `optimal` spend on descents from many starts, or seconds.
    tell : callable, optional
        Told the least value so far and the bound proven (0 for none), now and then.

    Returns
    -------
    RoundedDesign
        The counts, re-evaluated.

    Raises
    ------
    InputError
        Where limits cannot be met, or n pulls cannot estimate what is asked (the least n is named).

    Examples
    --------
    >>> from convexdesign.rounding import Volume, round_weights
    >>> round_weights(np.eye(2), np.array([0.5, 0.5]), 5, Volume(np.eye(2))).total
    5
    """
    bounds = limits(n, arms.shape[0], min_counts, max_counts)
    weights = weights / weights.sum()
    if reduce_support and bounds.free:
        weights = sparsify(arms, weights, None if prior is None else prior / bounds.total)
    if method is Method.CEIL:
        counts = round_up(weights, bounds)
        return _whole(arms, counts, criterion, prior, method)
    criterion = CachedCriterion(criterion)
    if reduce_support:
        weights = _trim(arms, weights, bounds, criterion, prior)
    deadline = time.monotonic() + time_limit
    spend = Effort.of(effort, tell)
    if method is not Method.OPTIMAL:
        return _rounded(arms, weights, bounds, criterion, prior, method, rng, spend)
    if arms.shape[0] > OPTIMAL_ARMS:
        raise InputError(
            f"method 'optimal' searches over at most {OPTIMAL_ARMS} arms, not {arms.shape[0]}; "
            "use 'exchange', whose certified efficiency says how little is left to gain"
        )
    start = _rounded(arms, weights, bounds, criterion, prior, Method.AUTO, rng, spend)
    left = max(deadline - time.monotonic(), 0.0)
    # All arms and all counts: the best whole numbers may measure less than the best weights do, or more.
    proven = prove_optimal(arms, start.counts, bounds, criterion, prior, time_limit=left, tell=tell)
    return replace(_whole(arms, proven.counts, criterion, prior, method), lower_bound=proven.lower_bound)


def _rounded(
    arms: Floats,
    weights: Floats,
    bounds: Limits,
    criterion: MatrixCriterion,
    prior: Floats | None,
    method: Method,
    rng: np.random.Generator | None,
    effort: Effort,
) -> RoundedDesign:
    """The counts of a cheap method on the range of the design or, where n is too small for that, on one that n can measure."""
    ranged = on_range(arms, weights, bounds, criterion, prior)
    try:
        spanning = completing_arms(ranged.arms, weights, ranged.prior, ranged.bounds)
    except InputError:
        candidates = []
        for chosen in _most_promising(arms, sufficient_sets(arms, criterion, prior, bounds), bounds, criterion, prior):
            ranged, there = _measuring(arms, weights, chosen, bounds, criterion, prior)
            spanning = completing_arms(ranged.arms, there, ranged.prior, ranged.bounds)
            candidates.append(_cheap(ranged, there, spanning, method, rng, effort))
        whole = min(candidates, key=lambda candidate: candidate.value)
    else:
        whole = _cheap(ranged, weights, spanning, method, rng, effort)
    return _whole(arms, whole.counts, criterion, prior, whole.method)


def _cheap(
    ranged: Ranged,
    weights: Floats,
    spanning: NDArray[np.intp],
    method: Method,
    rng: np.random.Generator | None,
    effort: Effort,
) -> RoundedDesign:
    arms, bounds, criterion, prior = ranged.arms, ranged.bounds, ranged.criterion, ranged.prior
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
    if method is not Method.AUTO or not few:
        return best
    plain = criterion.criterion if isinstance(criterion, CachedCriterion) and not criterion.lists_targets else criterion
    useful = useful_arms(arms, weights, best.counts, bounds, plain, prior)
    counts = search(arms, best.counts, useful, plain, prior, effort, rng=rng)
    return min(best, _whole(arms, counts, criterion, prior, Method.EXCHANGE), key=lambda whole: whole.value)


def _whole(
    arms: Floats, counts: Counts, criterion: MatrixCriterion, prior: Floats | None, method: Method
) -> RoundedDesign:
    return RoundedDesign(counts, method, information(arms, counts, prior), criterion)


def _apportioned(weights: Floats, bounds: Limits, spanning: NDArray[np.intp]) -> Counts:
    """Apportioned counts; where there are fewer pulls than arms, a spanning set is among those that stay."""
    if bounds.total >= np.count_nonzero(weights) + int(bounds.lower.sum()) and np.all(weights[spanning] > 0):
        return apportion(weights, bounds)
    lower = bounds.lower.copy()
    lower[spanning] = 1
    return apportion(weights, Limits(bounds.total, lower, bounds.upper))


def _trim(arms: Floats, weights: Floats, bounds: Limits, criterion: MatrixCriterion, prior: Floats | None) -> Floats:
    """Drop weights far below one pull where that leaves the criterion as it is."""
    tiny = weights * bounds.total < 0.1
    if not np.any(tiny & (weights > 0)):
        return weights
    share = None if prior is None else prior / bounds.total
    before = value_on_range(criterion, information(arms, weights, share))
    for level in (0.1, 1e-3):
        heavy = np.where(weights * bounds.total >= level, weights, 0.0)
        if heavy.any() and np.any(heavy != weights):
            heavy /= heavy.sum()
            if value_on_range(criterion, information(arms, heavy, share)) <= before * (1.0 + TRIM_LOSS):
                return heavy
    return weights


def _most_promising(
    arms: Floats, sets: list[NDArray[np.intp]], bounds: Limits, criterion: MatrixCriterion, prior: Floats | None
) -> list[NDArray[np.intp]]:
    """The few sets of arms that estimate best when all pulls are shared evenly among their arms."""
    if len(sets) <= SETS_ROUNDED:
        return sets
    room = bounds.total - int(bounds.lower.sum())

    def value(chosen: NDArray[np.intp]) -> float:
        shared = bounds.lower.astype(float)
        shared[chosen] += np.minimum(room / max(chosen.size, 1), bounds.upper[chosen] - bounds.lower[chosen])
        return value_on_range(criterion, information(arms, shared, prior))

    sample = sets[:: -(-len(sets) // SETS_VALUED)]
    return sorted(sample, key=value)[:SETS_ROUNDED]


def _measuring(
    arms: Floats,
    weights: Floats,
    chosen: NDArray[np.intp],
    bounds: Limits,
    criterion: MatrixCriterion,
    prior: Floats | None,
) -> tuple[Ranged, Floats]:
    """The problem on what the chosen arms measure besides the base, and weights on the arms there, the chosen foremost.

    Where caps leave no room there for all pulls, further arms are chosen, the heaviest first.
    """
    one = bounds.lower.astype(float)
    one[chosen] = 1.0
    others = np.flatnonzero((bounds.upper > 0) & (one == 0.0))
    for following in [None, *others[np.argsort(-weights[others], kind="stable")]]:
        if following is not None:
            one[following] = 1.0
        A = information(arms, one)
        Q = measured_range(A if prior is None else A + prior / bounds.total)
        ranged = restricted(arms, Q, bounds, criterion, prior)
        if ranged is not None or Q.shape[1] == arms.shape[-1]:
            break
    ranged = ranged or Ranged(arms, bounds, criterion, prior)
    return ranged, one / one.sum()
