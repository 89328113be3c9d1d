"""How few pulls can estimate what is asked, and which: not every direction of the range need be measured.

With the rows measured anyway (information held, least counts) as a base and N an orthonormal basis of what these leave
unmeasured, some further arms measure all that is wanted exactly when the span of their N'u_i contains the span of the N'v, of
dimension p. So at least p / (rows per arm) of them are needed. Where p is the whole of N's dimension q, any q independent arms
will do and no fewer: the rows of a matrix are a matroid. Otherwise the least number is that of a sparse representation: sets of
one, two, ... arms are tried one after another, and each number that is exhausted is proven too small.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import as_groups, squares, stacked
from convexdesign.criteria.exchange import MatrixCriterion
from convexdesign.errors import InputError
from convexdesign.rounding.count_limits import Limits, measured_anyway, null_space
from convexdesign.typing import Floats, Indices

__all__ = ["sufficient_sets"]


# Sets of arms that are tried before the least number that works is no longer known.
MOST_SETS = 50_000
# Numbers held at once while sets are tried.
BLOCK = 2**21
# A direction is spanned when no more than this share of it is outside.
OUTSIDE = 1e-8
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class _Task:
    """Unit rows (n, l, q) of the open arms beside the base, and the wanted directions, orthonormal columns (q, p)."""

    index: Indices
    rows: Floats
    wanted: Floats

    def sufficient(self, sets: Indices) -> NDArray[np.bool_]:
        """Which sets (k, size) of positions span all that is wanted."""
        rows = self.rows[sets].reshape(len(sets), -1, self.rows.shape[2])
        _, s, Vt = np.linalg.svd(rows, full_matrices=False)
        inside = np.where((s > RANK_TOLERANCE)[:, :, None], Vt @ self.wanted, 0.0)
        return np.asarray(np.square(inside).sum(axis=1).min(axis=1) >= 1.0 - OUTSIDE**2 - 1e-14 * self.wanted.shape[0])

    def sets(self, size: int) -> Iterator[Indices]:
        """All sets of this size, some at a time, shape (k, size)."""
        step = max(1, BLOCK // (size * self.rows.shape[1] * self.rows.shape[2]))
        each = itertools.combinations(range(self.index.size), size)
        while (block := list(itertools.islice(each, step))) != []:
            yield np.array(block, dtype=np.intp)


def sufficient_sets(arms: Floats, criterion: MatrixCriterion, prior: Floats | None, bounds: Limits) -> list[Indices]:
    """Sets of arms which, pulled once each besides the least counts, measure all that is wanted, within bounds.total pulls.

    arms (n, r) or groups (n, l, r); prior (r, r) or None. The smallest sets come first; there may be others that are not
    listed. Raises InputError where none is found, with the least number of pulls that works, as far as that is known.
    """
    r = arms.shape[-1]
    base = measured_anyway(arms, prior, bounds)
    N = null_space(base, r)[1]
    wanted = criterion.wanted(N)
    least = int(bounds.lower.sum())
    room = bounds.total - least
    p = wanted.shape[1]
    if p == 0:
        return [np.empty(0, dtype=np.intp)]
    task = _open_task(arms, N, wanted, bounds)
    everyone = np.arange(task.index.size)[None]
    if not (task.index.size and task.sufficient(everyone)[0]):
        spanned = (
            r - N.shape[1] + (np.linalg.matrix_rank(stacked(task.rows), tol=RANK_TOLERANCE) if task.index.size else 0)
        )
        raise InputError(
            f"the arms that may be pulled span {spanned} of {r} dimensions, too few for all that is to be estimated, "
            "so no n works: allow more arms in max_counts"
        )
    found, exhausted = _search(task, room)
    if found:
        return found
    number, known = _needed(task, exhausted)
    asked = f"all {r} dimensions of the range of the arms" if p == N.shape[1] else "all that is asked"
    if known:
        raise InputError(
            f"n = {bounds.total} pulls cannot estimate {asked}; the least n that works is {least + number}"
        )
    raise InputError(
        f"for n = {bounds.total} pulls no arms were found that estimate {asked}; {least + number} are enough"
    )


def _open_task(arms: Floats, N: Floats, wanted: Floats, bounds: Limits) -> _Task:
    """The arms that may be pulled and tell something new, each row of length one: only directions matter."""
    groups = as_groups(arms)
    rest = groups @ N
    size = np.sqrt(squares(groups).max())
    length = np.sqrt(np.square(rest).sum(axis=2))
    tells = (length > RANK_TOLERANCE * size).any(axis=1) & (bounds.upper > 0)
    index = np.flatnonzero(tells)
    unit = np.where(
        length[index, :, None] > RANK_TOLERANCE * size, rest[index] / np.maximum(length[index, :, None], 1e-300), 0.0
    )
    return _Task(index, unit, wanted)


def _search(task: _Task, room: int) -> tuple[list[Indices], int]:
    """Sufficient sets of at most `room` arms, smallest first, and the size up to which all sets were tried."""
    q, p = task.wanted.shape
    tried, exhausted = 0, -(-p // task.rows.shape[1]) - 1
    found: list[Indices] = []
    for size in range(exhausted + 1, min(room, q, task.index.size) + 1):
        tried += comb(task.index.size, size)
        if tried > MOST_SETS:
            break
        for sets in task.sets(size):
            found.extend(task.index[s] for s in sets[task.sufficient(sets)])
        exhausted = size
    if not found and room >= (fewer := _reduced(task)).size:
        found.append(task.index[fewer])
    return found, exhausted


def _needed(task: _Task, exhausted: int) -> tuple[int, bool]:
    """How many arms are enough, and whether no fewer are; up to `exhausted` none was found."""
    q, p = task.wanted.shape
    if p == q and task.rows.shape[1] == 1:
        return q, True
    enough = _reduced(task).size
    tried = 0
    for size in range(exhausted + 1, enough):
        tried += comb(task.index.size, size)
        if tried > MOST_SETS:
            return enough, False
        if any(task.sufficient(sets).any() for sets in task.sets(size)):
            return size, True
    return enough, True


def _reduced(task: _Task) -> Indices:
    """Positions of a sufficient set of which no arm can be left out, from all of them by leaving out one after another."""
    q = task.rows.shape[2]
    kept = list(range(task.index.size))
    # First halve what is left out at once, or many arms would take long.
    step = max(1, len(kept) // 2)
    while True:
        for start in range(len(kept) - step, -1, -step):
            fewer = kept[:start] + kept[start + step :]
            if fewer and task.sufficient(np.array([fewer]))[0]:
                kept = fewer
        if step == 1:
            return np.array(kept, dtype=np.intp)
        step = max(1, min(step // 2, 4 * q))
