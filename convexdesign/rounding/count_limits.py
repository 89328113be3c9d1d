"""What a whole-number design must respect: a total, least and most pulls per arm, and enough arms to estimate at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr

from convexdesign.arguments import numeric, shown, whole
from convexdesign.arms.groups import are_groups, squares, stacked
from convexdesign.errors import InputError
from convexdesign.typing import Counts, Floats

__all__ = [
    "MAX_TOTAL",
    "Limits",
    "added_up",
    "completing_arms",
    "count_limits",
    "limits",
    "measured_anyway",
    "null_space",
]


# Beyond 2^53 a double no longer holds every integer, and counts meet doubles in the information matrix.
MAX_TOTAL = 2**53
# An arm adds a direction when what is left of it is more than this share of the largest arm.
RANK_TOLERANCE = 1e-9
# How much an arm without weight counts, beside the heaviest, when arms are picked to complete the rank.
LEAST_PREFERENCE = 1e-4


@dataclass(frozen=True, eq=False)
class Limits:
    """lower <= counts <= upper, entry by entry, with one total.

    Parameters
    ----------
    total : int
        The number of pulls.
    lower, upper : array of int64, shape (n,)
        The least and the most pulls of every arm; an arm without a cap has upper = total.
    """

    total: int
    lower: Counts
    upper: Counts

    @property
    def free(self) -> bool:
        """Whether nothing but the total and the sign restricts the counts."""
        return not self.lower.any() and bool(np.all(self.upper == self.total))


def limits(
    total: int | float, n_arms: int, min_counts: ArrayLike | None = None, max_counts: ArrayLike | None = None
) -> Limits:
    """Checked limits for `total` pulls over `n_arms` arms.

    Parameters
    ----------
    total : int
        The number of pulls, at most 2^53.
    n_arms : int
        The number of arms.
    min_counts, max_counts : int or array_like of shape (n_arms,), optional
        The least and the most pulls of every arm; a scalar applies to all.

    Returns
    -------
    Limits
        What the counts must respect.

    Raises
    ------
    InputError
        Naming the arm and the value: a negative or fractional count, a minimum above its maximum, or limits that no
        `total` pulls can meet.

    Examples
    --------
    >>> from convexdesign.rounding import limits
    >>> limits(10, 3, max_counts=[4, 20, 6]).upper.tolist()
    [4, 10, 6]
    """
    total = whole_total(total)
    lower, upper = count_limits(n_arms, min_counts, max_counts)
    upper = np.minimum(upper, total)
    crossed = np.flatnonzero(lower > upper)
    if crossed.size:
        i = crossed[0]
        raise InputError(f"min_counts[{i}] = {lower[i]} exceeds what is allowed, {upper[i]}; raise the cap or n")
    if min_counts is not None and (least := added_up(lower)) > total:
        raise InputError(f"min_counts add up to {least}, more than n = {total}; the least n is that sum")
    if max_counts is not None and (most := added_up(upper)) < total:
        raise InputError(f"max_counts add up to {most}, less than n = {total}; lower n or raise caps")
    return Limits(total, lower, upper)


def added_up(counts: Counts) -> int:
    """The exact sum of counts of at least 0; where it may be beyond 2^63, the halves of the numbers are summed apart."""
    if int(counts.max(initial=0)) * counts.size < 2**63:
        return int(counts.sum())
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def count_limits(
    n_arms: int, min_counts: ArrayLike | None = None, max_counts: ArrayLike | None = None
) -> tuple[Counts, Counts]:
    """The least and the most pulls of every arm, (n_arms,) int64, whatever the total; 2^53 where there is no cap."""
    return _read("min_counts", min_counts, n_arms, 0), _read("max_counts", max_counts, n_arms, MAX_TOTAL)


def whole_total(total: Any) -> int:
    """The number of pulls, checked."""
    number = whole(total)
    if number is None or number < 1:
        raise InputError(f"n is {shown(total)}; the number of pulls must be a whole number of at least 1")
    if number > MAX_TOTAL:
        raise InputError(f"n is {shown(total)}; at most 2^53 = {MAX_TOTAL} pulls can be counted exactly")
    return number


def _read(name: str, given: ArrayLike | None, n: int, default: int) -> Counts:
    if given is None:
        return np.full(n, default, dtype=np.int64)
    values = numeric(given, name)
    if values.ndim == 0:
        values = np.full(n, values)
    if values.shape != (n,):
        raise InputError(f"{name} has shape {values.shape}; give one number, or one for each of the {n} arms")
    # Infinity is a natural way to write "no cap".
    wrong = np.flatnonzero(~((values >= 0) & ((values == np.floor(values)) | (values == np.inf))))
    if wrong.size:
        raise InputError(f"{name}[{wrong[0]}] is {values[wrong[0]]}; counts must be whole numbers >= 0")
    return np.minimum(values.astype(float), float(MAX_TOTAL)).astype(np.int64)


def completing_arms(arms: Floats, weights: Floats, held: Floats | None, bounds: Limits) -> NDArray[np.intp]:
    """Arms which, one pull each, make `held` + the minimum counts' information nonsingular; heavy arms preferred.

    arms (n, r) or groups (n, k, r); held (r, r) or None. Raises InputError naming the least n that works when n is too
    small, or the reason when no n works.
    """
    r = arms.shape[-1]
    must = bounds.lower > 0
    # Project the arms on what is not yet measured and pick greedily; sqrt(w) prefers arms the design itself uses.
    rank, N = null_space(measured_anyway(arms, held, bounds), r)
    if rank == r:
        return np.empty(0, dtype=np.intp)
    open_arms = np.flatnonzero((bounds.upper > 0) & ~must)
    preference = np.sqrt(np.maximum(weights[open_arms], 0) / max(float(weights.max()), 1e-300)) + LEAST_PREFERENCE
    rest = arms[open_arms] @ N
    size = LEAST_PREFERENCE * np.sqrt(squares(arms).max())
    if are_groups(arms):
        return open_arms[_completing_groups(rest, preference, size, r, bounds)]
    R, pivots = qr((rest * preference[:, None]).T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    found = int(np.sum(diagonal > RANK_TOLERANCE * size))
    if found < r - rank:
        raise InputError(
            f"the arms that may be pulled span {rank + found} of {r} dimensions, so no n works: "
            "allow more arms in max_counts"
        )
    least = int(bounds.lower.sum()) + r - rank
    if bounds.total < least:
        raise InputError(
            f"n = {bounds.total} pulls cannot estimate all {r} dimensions of the range of the arms; "
            f"the least n that works is {least}"
        )
    return open_arms[pivots[: r - rank]]


def measured_anyway(arms: Floats, held: Floats | None, bounds: Limits) -> Floats:
    """Rows (m, r) that span what the information held and the least counts measure."""
    base = [stacked(arms[bounds.lower > 0])]
    if held is not None:
        lam, Q = np.linalg.eigh(held)
        keep = lam > 1e-12 * max(lam[-1], 0.0)
        base.append((Q[:, keep] * np.sqrt(lam[keep])).T)
    return np.vstack(base)


def _completing_groups(rest: Floats, preference: Floats, size: float, r: int, bounds: Limits) -> NDArray[np.intp]:
    """Groups (m, k, q) that span all q dimensions, one after another: heavy ones or, if these are too many, those that
    add most dimensions at once."""
    room = bounds.total - int(bounds.lower.sum())
    for fewest in (False, True):
        chosen: list[int] = []
        left = rest
        while left.shape[2]:
            lengths = np.linalg.svd(left, compute_uv=False) * preference[:, None]
            added = np.count_nonzero(lengths > RANK_TOLERANCE * size, axis=1)
            if not added.any():
                raise InputError(
                    f"the arms that may be pulled span {r - left.shape[2]} of {r} dimensions, so no n works: "
                    "allow more arms in max_counts"
                )
            gain = np.sqrt(np.square(lengths).sum(axis=1))
            i = int(np.argmax(np.where(added == added.max(), gain, -1.0) if fewest else gain))
            chosen.append(i)
            left = left @ null_space(left[i], left.shape[2])[1]
        if len(chosen) <= room:
            break
    if len(chosen) > room:
        raise InputError(
            f"n = {bounds.total} pulls are too few to estimate all {r} dimensions of the range of the arms; "
            f"{int(bounds.lower.sum()) + len(chosen)} are enough"
        )
    return np.array(chosen, dtype=np.intp)


def null_space(rows: Floats, r: int) -> tuple[int, Floats]:
    """The rank of the rows, and an orthonormal basis (r, r - rank) of what they leave unmeasured."""
    if rows.shape[0] == 0:
        return 0, np.eye(r)
    _, s, Vt = np.linalg.svd(rows, full_matrices=True)
    rank = int(np.sum(s > RANK_TOLERANCE * s[0])) if s.size and s[0] > 0 else 0
    return rank, Vt[rank:].T
