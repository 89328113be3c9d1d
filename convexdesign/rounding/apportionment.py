"""Counts from weights in exact integer arithmetic: rounding up, and Pukelsheim and Rieder's efficient rounding."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from convexdesign.errors import InputError
from convexdesign.rounding.count_limits import Limits
from convexdesign.typing import Counts, Floats

__all__ = ["apportion", "round_up"]


# One part in so many is rounding.
ROUNDING = 10**12


def whole_weights(weights: Floats) -> tuple[list[int], int]:
    """Integers m_i and their sum S with m_i / S = w_i / sum(w) exactly: doubles are dyadic rationals."""
    ratios = [float(w).as_integer_ratio() for w in weights]
    common = max(q for _, q in ratios)
    whole = [p * (common // q) for p, q in ratios]
    return whole, sum(whole)


def round_up(weights: Floats, bounds: Limits) -> Counts:
    """n_i = ceil(N w_i), raised to min_counts: what the paper's algorithms pull.

    Guarantee: with w read exactly and divided by its exact sum, n_i >= N w_i for every arm, hence M(n) >= N A(w) and
    every variance is at most that of the weights divided by N; without min_counts at most N + |support| pulls.

    Parameters
    ----------
    weights : array of shape (n,)
        Nonnegative; their sum need not be one.
    bounds : Limits
        N, and the least and the most pulls of every arm.

    Returns
    -------
    array of int64, shape (n,)
        The counts.

    Raises
    ------
    InputError
        Where a cap is in the way, since the guarantee would be lost.

    References
    ----------
    Weltz et al. (2023), section 4 (the algorithms' CEIL), after Fiez et al. (2019).

    Examples
    --------
    >>> from convexdesign.rounding import limits, round_up
    >>> round_up(np.array([0.25, 0.75]), limits(5, 2)).tolist()
    [2, 4]
    """
    support = np.flatnonzero(weights > 0)
    m, S = whole_weights(weights[support])
    counts = bounds.lower.copy()
    # A weight at its cap may exceed it by rounding, which is no reason for another pull.
    capped = [
        bounds.total * mi * ROUNDING <= S * cap * (ROUNDING + 1) for mi, cap in zip(m, bounds.upper[support].tolist())
    ]
    wanted = [-(-bounds.total * mi // S) for mi in m]
    wanted = [min(k, cap) if ok else k for k, cap, ok in zip(wanted, bounds.upper[support].tolist(), capped)]
    counts[support] = np.maximum(wanted, counts[support])
    over = np.flatnonzero(counts > bounds.upper)
    if over.size:
        i = over[0]
        raise InputError(
            f"ceil needs {counts[i]} pulls of arm {i}, above max_counts[{i}] = {bounds.upper[i]}; use method "
            f"'apportion' or 'exchange', or solve with max_weight = {bounds.upper[i]}/{bounds.total} there"
        )
    return counts


def apportion(weights: Floats, bounds: Limits) -> Counts:
    """n_i = ceil((N - l/2) w_i), then up argmin n_i/w_i or down argmax (n_i - 1)/w_i until they sum to N exactly.

    l is the size of the support. Guarantee without limits, N >= l: n_i >= (1 - l/N) N w_i for every arm, hence
    efficiency at least 1 - l/N of the weights' for every criterion here. (At the end max (n_k - 1)/w_k <= min n_i/w_i,
    and the left side is at least N - l.) For N < l the lightest arms are dropped. Limits are kept by leaving arms at
    them out of the adjustment; arms without weight are used only when all others are at their caps.

    Parameters
    ----------
    weights : array of shape (n,)
        Nonnegative; their sum need not be one.
    bounds : Limits
        N, and the least and the most pulls of every arm.

    Returns
    -------
    array of int64, shape (n,)
        Counts with the sum N.

    Raises
    ------
    InputError
        Where the least counts leave no room for N pulls.

    References
    ----------
    Pukelsheim and Rieder (1992), Efficient rounding of approximate designs.

    Examples
    --------
    >>> from convexdesign.rounding import apportion, limits
    >>> apportion(np.array([0.2, 0.8]), limits(5, 2)).tolist()
    [1, 4]
    """
    N = bounds.total
    support = np.flatnonzero(weights > 0)
    m, S = whole_weights(weights[support])
    lower, upper = bounds.lower[support].tolist(), bounds.upper[support].tolist()
    here = N - int(bounds.lower.sum()) + sum(lower)  # the rest goes to arms that must appear without weight

    def multiplied(twice_nu: int) -> list[int]:
        return [min(max(-(-twice_nu * mi // (2 * S)), lo), hi) for mi, lo, hi in zip(m, lower, upper)]

    n = multiplied(2 * here - support.size)
    if abs(here - sum(n)) > support.size:
        n = multiplied(_multiplier(multiplied, here, 2 * S * max(upper)))
    short = here - sum(n)
    if short > 0:
        short = _raise(n, m, upper, short)
    elif short < 0:
        short = _reduce(n, m, lower, -short)
    counts = bounds.lower.copy()
    counts[support] = n
    if short > 0:
        _fill(counts, bounds.upper, short)
    elif short < 0:
        raise InputError(f"min_counts leave no room for n = {N} pulls; raise n or lower them")
    return counts


def _multiplier(multiplied: Callable[[int], list[int]], total: int, most: int) -> int:
    """The largest multiplier whose counts do not exceed the total: limits can move it far from 2N - l."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        low, most = (middle, most) if sum(multiplied(middle)) <= total else (low, middle - 1)
    return low


def _raise(n: list[int], m: list[int], upper: list[int], short: int) -> int:
    """Add pulls one at a time to the arm with the least n_i/w_i below its cap; returns how many found no arm."""
    heap = [(Fraction(n[i], m[i]), i) for i in range(len(n)) if n[i] < upper[i]]
    heapq.heapify(heap)
    while short and heap:
        _, i = heap[0]
        n[i] += 1
        short -= 1
        if n[i] < upper[i]:
            heapq.heapreplace(heap, (Fraction(n[i], m[i]), i))
        else:
            heapq.heappop(heap)
    return short


def _reduce(n: list[int], m: list[int], lower: list[int], excess: int) -> int:
    """Take pulls one at a time from the arm with the largest (n_i - 1)/w_i, the lighter among equals."""
    heap = [(-Fraction(n[i] - 1, m[i]), m[i], i) for i in range(len(n)) if n[i] > lower[i]]
    heapq.heapify(heap)
    while excess and heap:
        _, _, i = heap[0]
        n[i] -= 1
        excess -= 1
        if n[i] > lower[i]:
            heapq.heapreplace(heap, (-Fraction(n[i] - 1, m[i]), m[i], i))
        else:
            heapq.heappop(heap)
    return -excess


def _fill(counts: Counts, upper: Counts, short: int) -> None:
    """Spread what no weighted arm can take evenly over the arms with room."""
    while short:
        room = np.flatnonzero(counts < upper)
        step = max(1, short // room.size)
        for i in room:
            add = min(step, short, int(upper[i] - counts[i]))
            counts[i] += add
            short -= add
