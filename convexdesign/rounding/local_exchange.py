"""Local exchange: move one pull from an arm to another while that lowers the criterion, from several starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexdesign.criteria.exchange import MatrixCriterion, information, inverse_factor
from convexdesign.criteria.swap_tables import ALL_PAIRS, shortlist
from convexdesign.rounding.count_limits import Limits
from convexdesign.typing import Counts, Floats

__all__ = ["exchange"]


# A swap must lower the criterion by a share of what one pull in N is worth, and by more than rounding.
PROGRESS = 1e-3
LEAST_PROGRESS = 1e-10


def exchange(
    arms: Floats,
    counts: Counts,
    bounds: Limits,
    criterion: MatrixCriterion,
    prior: Floats | None = None,
    *,
    starts: int = 1,
    max_moves: int = 300,
    rng: np.random.Generator | None = None,
) -> Counts:
    """Counts with the same total and a criterion no larger than that of the given ones, within the limits.

    Each move is the best swap of one pull, evaluated on the true criterion by rank-two updates; replicates are allowed. Beyond
    the first, a start moves a few pulls of the best design so far at random and descends again.

    Parameters
    ----------
    arms : array of shape (n, r) or (n, k, r)
        Whitened arms, or groups of k responses.
    counts : array of int64, shape (n,)
        Counts with nonsingular information.
    bounds : Limits
        The total, and the least and the most pulls of every arm.
    criterion : MatrixCriterion
        The function phi.
    prior : array of shape (r, r), optional
        The TOTAL information held besides these pulls.
    starts : int
        How many descents.
    max_moves : int
        The most swaps of one descent.
    rng : numpy.random.Generator, optional
        Of the further starts; fixed by default.

    Returns
    -------
    array of int64, shape (n,)
        The counts.

    References
    ----------
    Fedorov (1972), Theory of Optimal Experiments; Mitchell (1974); restarts as in iterated local search.

    Examples
    --------
    >>> from convexdesign.rounding import Volume, exchange, limits
    >>> exchange(np.eye(2), np.array([1, 5]), limits(6, 2), Volume(np.eye(2))).tolist()
    [3, 3]
    """
    rng = np.random.default_rng(0) if rng is None else rng
    enough = 1.0 - max(PROGRESS / bounds.total, LEAST_PROGRESS)
    best, best_value = _descend(arms, counts, bounds, criterion, prior, enough, max_moves)
    for _ in range(starts - 1):
        trial, value = _descend(arms, kicked(best, bounds, rng), bounds, criterion, prior, enough, max_moves)
        if value < best_value * enough:
            best, best_value = trial, value
    return best


def kicked(counts: Counts, bounds: Limits, rng: np.random.Generator) -> Counts:
    """The counts with a few pulls moved at random between arms with room."""
    out = counts.copy()
    for _ in range(1 + rng.poisson(1.0 + 0.15 * min(bounds.total, 40))):
        pulled = np.flatnonzero(out > bounds.lower)
        if pulled.size == 0:
            break
        out[rng.choice(pulled)] -= 1
        out[rng.choice(np.flatnonzero(out < bounds.upper))] += 1
    return out


def _descend(
    arms: Floats,
    counts: Counts,
    bounds: Limits,
    criterion: MatrixCriterion,
    prior: Floats | None,
    enough: float,
    max_moves: int,
) -> tuple[Counts, float]:
    """Best swaps one after another while each multiplies the criterion by less than `enough`."""
    counts = counts.copy()
    M = information(arms, counts, prior)
    value = criterion.value(M)
    for _ in range(max_moves):
        F = inverse_factor(M)
        if F is None:
            break
        move = _best_swap(arms, counts, bounds, criterion, F, value * enough)
        if move is None:
            break
        i, j = move
        taken, given = np.atleast_2d(arms[i]), np.atleast_2d(arms[j])
        changed = M - taken.T @ taken + given.T @ given
        new_value = criterion.value(changed)
        if new_value >= value * enough:
            break
        counts[i] -= 1
        counts[j] += 1
        M, value = changed, new_value
    return counts, value


def _best_swap(
    arms: Floats, counts: Counts, bounds: Limits, criterion: MatrixCriterion, F: Floats, below: float
) -> tuple[int, int] | None:
    """The swap (from, to) with the smallest criterion if that is below `below`: among a shortlist, else among all."""
    out = np.flatnonzero(counts > bounds.lower)
    into = np.flatnonzero(counts < bounds.upper)
    if out.size == 0 or into.size == 0:
        return None
    few_out, few_into = shortlist(criterion, F, arms, out, into)
    found = _least(criterion, F, arms, few_out, few_into, below)
    shortened = few_out.size < out.size or few_into.size < into.size
    if found is None and shortened and out.size * into.size <= ALL_PAIRS:
        found = _least(criterion, F, arms, out, into, below)
    return found


def _least(
    criterion: MatrixCriterion, F: Floats, arms: Floats, out: NDArray[np.intp], into: NDArray[np.intp], below: float
) -> tuple[int, int] | None:
    phi = criterion.swaps(F, arms[out], arms[into])
    a, b = np.unravel_index(int(np.argmin(phi)), phi.shape)
    return (int(out[a]), int(into[b])) if phi[a, b] < below else None
