"""Allocation to strata: how many of a sample each stratum gets, with minima and caps, for any number of strata.

The variance of an estimated total is sum_h a_h^2 / n_h with a_h = N_h S_h: a diagonal design problem, with one arm a stratum,
that is solved by one number. For weights w with sum 1 and l <= w <= u,

    w_h(t) = min(max(a_h / t, l_h), u_h),   sum_h w_h(t) = 1,

by convexity (the derivative a_h^2 / w_h^2 is t^2 between the bounds), and for every t

    sum_h a_h^2 / w_h  >=  sum_h min over l_h <= x <= u_h of (a_h^2 / x + t^2 x)  -  t^2,

which proves the optimum. In whole numbers the k-th unit of stratum h is worth a_h^2 / (k (k - 1)): taking the largest of all
these is optimal, because they fall with k.

Source: Neyman (1934); Wright (2012), The equivalence of Neyman optimum allocation for sampling and equal proportions for
apportioning the U.S. House of Representatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import real_array, whole_at_least
from convexdesign.errors import InputError
from convexdesign.problem.shares import HALVINGS, bounded_shares
from convexdesign.typing import Counts, Floats

__all__ = ["StratifiedAllocation", "allocate_strata"]


@dataclass(frozen=True, eq=False, repr=False)
class StratifiedAllocation:
    """Shares of a sample, or whole numbers, for every stratum.

    Parameters
    ----------
    weights : array, shape (H,)
        Shares of the sample, with sum one.
    value : float
        The variance of the total times the size of the sample, sum a_h^2 / w_h.
    bound : float
        Proven: no shares within the bounds have less.
    counts : array of int64, shape (H,), optional
        The best whole numbers, where the size of the sample was given.
    variance : float, optional
        Of the estimated total, with these numbers.
    """

    weights: Floats
    value: float
    bound: float
    counts: Counts | None = None
    variance: float | None = None

    @property
    def gap(self) -> float:
        """value / bound - 1."""
        return max(self.value / self.bound - 1.0, 0.0) if self.bound > 0 else 0.0

    def __repr__(self) -> str:
        whole = "" if self.counts is None else f", {int(self.counts.sum())} units with variance {self.variance:.8g}"
        return f"StratifiedAllocation({self.weights.size} strata: value {self.value:.8g}, gap {self.gap:.1e}{whole})"


def allocate_strata(
    sd: ArrayLike,
    sizes: ArrayLike | None = None,
    n: int | None = None,
    *,
    min_counts: Any = None,
    max_counts: Any = None,
    min_weight: Any = None,
    max_weight: Any = None,
) -> StratifiedAllocation:
    """The allocation with the least variance of the estimated total, sum_h (N_h S_h)^2 / n_h, within bounds.

    Parameters
    ----------
    sd : array_like, shape (H,)
        Standard deviations S_h within the strata, at least zero.
    sizes : array_like, shape (H,), optional
        Numbers of units N_h; one each by default.
    n : int, optional
        The size of the sample: then the best whole numbers are found, too.
    min_counts, max_counts : scalar or array_like, shape (H,), optional
        The least and the most units of each stratum; they need n. Every stratum with variance gets at least one.
    min_weight, max_weight : scalar or array_like, shape (H,), optional
        The same as shares of the sample.

    Returns
    -------
    StratifiedAllocation
        Shares, their value with a proven bound, and whole numbers.

    Raises
    ------
    InputError
        For bounds that contradict each other, naming the stratum or the sums.

    References
    ----------
    Neyman (1934), On the two different aspects of the representative method. Wright (2012), The equivalence of Neyman optimum
    allocation for sampling and equal proportions for apportioning the U.S. House of Representatives.

    Examples
    --------
    >>> allocate_strata([1.0, 3.0], n=8).counts.tolist()
    [2, 6]
    >>> allocate_strata([1.0, 3.0], n=8, max_counts=5).counts.tolist()
    [3, 5]
    """
    S = real_array(sd, "sd")
    if S.ndim != 1 or S.size == 0 or (S < 0).any() or not (S > 0).any():
        raise InputError("sd must be a list of standard deviations, at least zero and not all zero")
    N = _per_stratum(sizes, "sizes", S.size, 1.0)
    a = np.abs(N) * S
    if n is None and (min_counts is not None or max_counts is not None):
        raise InputError("min_counts and max_counts need n, the size of the sample; min_weight and max_weight do not")
    lower = _per_stratum(min_weight, "min_weight", S.size, 0.0)
    upper = _per_stratum(max_weight, "max_weight", S.size, 1.0)
    if n is not None:
        n = whole_at_least(1, n, "n")
        lower = np.maximum(lower, _per_stratum(min_counts, "min_counts", S.size, 0.0) / n)
        upper = np.minimum(upper, _per_stratum(max_counts, "max_counts", S.size, float(n)) / n)
    upper = np.minimum(upper, 1.0)
    _check(lower, upper)
    w, t = bounded_shares(a, lower, upper)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.where(a > 0, a * a / w, 0.0).sum())
        least = np.clip(a / t if t > 0 else np.full(a.size, np.inf), lower, upper)
        bound = float(np.where(a > 0, a * a / least, 0.0).sum() + t * t * (least.sum() - 1.0))
    bound *= 1.0 - 4 * np.finfo(float).eps * np.log2(a.size + 2)
    if n is None:
        return StratifiedAllocation(w, value, bound)
    counts = _whole(a, n, lower, upper)
    return StratifiedAllocation(w, value, bound, counts, float((a[a > 0] ** 2 / counts[a > 0]).sum()))


def _per_stratum(given: Any, what: str, H: int, default: float) -> Floats:
    if given is None:
        return np.full(H, default)
    values = real_array(given, what)
    if values.ndim == 0:
        values = np.full(H, float(values))
    if values.shape != (H,):
        raise InputError(f"{what} has shape {values.shape}; give one number, or one for each of the {H} strata")
    wrong = np.flatnonzero(values < 0)
    if wrong.size:
        raise InputError(f"{what}[{wrong[0]}] is {values[wrong[0]]:g}; give numbers of at least zero")
    return np.asarray(values, dtype=float)


def _check(lower: Floats, upper: Floats) -> None:
    crossed = np.flatnonzero(lower > upper * (1.0 + 1e-12))
    if crossed.size:
        h = int(crossed[0])
        raise InputError(
            f"stratum {h} has a minimum of {lower[h]:g} above its cap of {upper[h]:g}, as shares; relax one"
        )
    if lower.sum() > 1.0 + 1e-9:
        raise InputError(f"the minima add up to {lower.sum():g} of the sample; lower them, or raise n")
    if upper.sum() < 1.0 - 1e-9:
        raise InputError(f"the caps add up to {upper.sum():g} of the sample; raise them, or lower n")


def _whole(a: Floats, n: int, lower: Floats, upper: Floats) -> Counts:
    """The best whole numbers with sum n: the units that are worth most, at least one where there is variance."""
    least = np.maximum(np.ceil(lower * n * (1.0 - 1e-12)), a > 0).astype(np.int64)
    most = np.floor(upper * n * (1.0 + 1e-12)).astype(np.int64)
    if (least > most).any() or least.sum() > n or most.sum() < n:
        needed = int(least.sum())
        raise InputError(
            f"no whole numbers with sum {n} keep all minima and caps: minima (one where there is variance) add up to {needed}, "
            f"caps to {int(most.sum())}; change n or relax them"
        )

    def taken(worth: float) -> Counts:
        # The largest k with a^2 / (k (k - 1)) >= worth.
        k = np.floor(0.5 + np.sqrt(0.25 + a * a / worth))
        return np.clip(np.minimum(k, n), least, most).astype(np.int64)

    low, high = 1e-300, float(a.max()) ** 2 * 2.0
    for _ in range(HALVINGS):
        worth = float(np.sqrt(low) * np.sqrt(high))
        if not low < worth < high:
            break
        low, high = (worth, high) if int(taken(worth).sum()) > n else (low, worth)
    counts = taken(high)
    while (left := n - int(counts.sum())) > 0:
        open_strata = counts < most
        worth_of_next = np.where(open_strata, a * a / np.maximum(counts * (counts + 1.0), 1.0), -1.0)
        # Strata next to each other in worth: one unit each, the largest first.
        order = np.argsort(-worth_of_next, kind="stable")[:left]
        order = order[open_strata[order]]
        counts[order[: max(1, order.size // 2) if order.size > 1 else 1]] += 1
    return counts
