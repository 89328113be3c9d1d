"""Whether a polynomial is positive on a region, in rational arithmetic: proven, or a setting where it is not.

Over a box the Bernstein coefficients of a polynomial enclose its values, and those at the corners are its values there. Boxes
are halved until all coefficients have the sign asked for (proven on the box), those of an inequality of the region are negative
(the box is outside), those of p - c g are nonnegative for an inequality g and a c >= 0 (p >= c g >= 0 where g >= 0), or a
corner inside the region has the other sign. What is zero at a setting that no halving meets stays undecided, and is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.regions.polynomial import Polynomial

if TYPE_CHECKING:
    from convexdesign.regions.region import Region

__all__ = ["Finding", "inhabitant", "positive_on"]

MOST_BOXES = 3000
# A box of this share of the region's is one setting.
SMALLEST = Fraction(1, 2**24)
# Coefficients of a table beyond which it would take minutes.
LARGEST_TABLE = 20_000
Table = Any  # an array of fractions


@dataclass(frozen=True)
class Finding:
    """proven: the sign holds everywhere; else a setting (as rational coordinates) and the value there.

    settles: the value there has the other sign, which answers the question; else it is only the nearest to zero of what stayed
    undecided.
    """

    proven: bool
    at: tuple[Fraction, ...] = ()
    value: Fraction = Fraction(0)
    settles: bool = False


@dataclass(frozen=True, eq=False)
class _Box:
    """Limits in the region's coordinates, and the Bernstein coefficients of p and of the inequalities."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    tables: tuple[Table, ...]

    def halves(self, axis: int) -> tuple[_Box, _Box]:
        middle = (self.low[axis] + self.high[axis]) / 2
        cut = [_cut(table, axis) for table in self.tables]
        high = (*self.high[:axis], middle, *self.high[axis + 1 :])
        low = (*self.low[:axis], middle, *self.low[axis + 1 :])
        return (
            _Box(self.low, high, tuple(a for a, _ in cut)),
            _Box(low, self.high, tuple(b for _, b in cut)),
        )


def positive_on(region: Region, p: Polynomial, strictly: bool = True) -> Finding | None:
    """Whether p > 0 (or p >= 0) everywhere on the region; None where there are too many coefficients to tell.

    A finding that is neither proven nor a counterexample is the place nearest to zero that stayed undecided.
    """
    whole = _box(region, [p, *region.inequalities])
    if whole is None:
        return None
    waiting, undecided, count = [whole], [], 0
    widths = [b - a for a, b in zip(whole.low, whole.high)]
    while waiting:
        box = waiting.pop()
        count += 1
        own, sides = box.tables[0], box.tables[1:]
        if any(_least(-g, True) for g in sides) or _least(own, strictly):
            continue
        if not strictly and any(_above(own, g) for g in sides):
            continue
        for corner, value in _corners(box):
            wrong = value <= 0 if strictly else value < 0
            if wrong and all(g_at(g, corner) >= 0 for g in region.inequalities):
                return Finding(False, corner, value, True)
        shares = [(b - a) / w for a, b, w in zip(box.low, box.high, widths)]
        axis = max(range(region.q), key=lambda k: shares[k]) if region.q else 0
        if not region.q or shares[axis] <= SMALLEST or count > MOST_BOXES:
            undecided.append(box)
            if count > MOST_BOXES:
                undecided += waiting
                break
            continue
        waiting.extend(box.halves(axis))
    if not undecided:
        return Finding(True)
    middles = [tuple((a + b) / 2 for a, b in zip(box.low, box.high)) for box in undecided]
    at = min(middles, key=lambda x: abs(g_at(p, x)))
    return Finding(False, at, g_at(p, at))


def inhabitant(region: Region) -> Finding | None:
    """A setting of the region (the finding's `at`), or the proof that there is none; None where neither is known."""
    whole = _box(region, list(region.inequalities))
    if whole is None:
        return None
    widths = [b - a for a, b in zip(whole.low, whole.high)]
    waiting, count = [whole], 0
    while waiting and count < MOST_BOXES:
        box = waiting.pop(0)
        count += 1
        if any(_least(-g, True) for g in box.tables):
            continue
        middle = tuple((a + b) / 2 for a, b in zip(box.low, box.high))
        if all(g_at(g, middle) >= 0 for g in region.inequalities):
            return Finding(False, middle, Fraction(0), True)
        shares = [(b - a) / w for a, b, w in zip(box.low, box.high, widths)]
        waiting.extend(box.halves(max(range(region.q), key=lambda k: shares[k])))
    return None if waiting else Finding(True)


def g_at(p: Polynomial, x: Sequence[Fraction]) -> Fraction:
    """The value at a rational setting."""
    out = Fraction(0)
    for key, value in p.terms.items():
        for power, own in zip(key, x):
            value = value * own**power
        out += value
    return out


def _box(region: Region, polynomials: Sequence[Polynomial]) -> _Box | None:
    low, high = tuple(region.lower), tuple(region.upper)
    tables = []
    for p in polynomials:
        degrees = [max((key[k] for key in p.terms), default=0) for k in range(region.q)]
        if np.prod([n + 1 for n in degrees], dtype=float) > LARGEST_TABLE:
            return None
        tables.append(_bernstein(p, degrees, low, high))
    return _Box(low, high, tuple(tables))


def _bernstein(p: Polynomial, degrees: Sequence[int], low: Sequence[Fraction], high: Sequence[Fraction]) -> Table:
    """The coefficients over the box, one axis for each coordinate."""
    table = np.full([n + 1 for n in degrees], Fraction(0), dtype=object)
    for key, value in p.terms.items():
        table[key] += value
    for axis, n in enumerate(degrees):
        # x = a + (b - a) t: the coefficients of t^j, then b_i = sum_(j <= i) C(i, j) / C(n, j) of them.
        a, width = low[axis], high[axis] - low[axis]
        shift = np.full((n + 1, n + 1), Fraction(0), dtype=object)
        for i in range(n + 1):
            for j in range(i + 1):
                shift[j, i] = comb(i, j) * a ** (i - j) * width**j
        rise = np.full((n + 1, n + 1), Fraction(0), dtype=object)
        for i in range(n + 1):
            for j in range(i + 1):
                rise[i, j] = Fraction(comb(i, j), comb(n, j))
        table = np.moveaxis(np.tensordot(rise.dot(shift), table, axes=(1, axis)), 0, axis)
    return table


def _cut(table: Table, axis: int) -> tuple[Table, Table]:
    """The coefficients over both halves, by de Casteljau."""
    rows = [np.take(table, k, axis=axis) for k in range(table.shape[axis])]
    first, last = [rows[0]], [rows[-1]]
    while len(rows) > 1:
        rows = [(a + b) / 2 for a, b in pairwise(rows)]
        first.append(rows[0])
        last.append(rows[-1])
    return np.stack(first, axis=axis), np.stack(last[::-1], axis=axis)


def _least(table: Table, strictly: bool) -> bool:
    """Whether all coefficients are positive, or at least zero."""
    least = min(np.asarray(table, dtype=object).ravel())
    return bool(least > 0 if strictly else least >= 0)


def _above(own: Table, g: Table) -> bool:
    """Whether p - c g >= 0 by its coefficients, c the ratio of the means of both."""
    bottom, top = sum(g.ravel()) / g.size, sum(own.ravel()) / own.size
    if bottom <= 0 or top < 0 or own.ndim != g.ndim:
        return False
    degrees = [max(a, b) - 1 for a, b in zip(own.shape, g.shape)]
    return _least(_raised(own, degrees) - (top / bottom) * _raised(g, degrees), False)


def _raised(table: Table, degrees: Sequence[int]) -> Table:
    """The same polynomial with more coefficients."""
    for axis, most in enumerate(degrees):
        while table.shape[axis] - 1 < most:
            n = table.shape[axis] - 1
            rows = [np.take(table, k, axis=axis) for k in range(n + 1)]
            new = [rows[0]]
            new += [Fraction(k, n + 1) * rows[k - 1] + Fraction(n + 1 - k, n + 1) * rows[k] for k in range(1, n + 1)]
            table = np.stack([*new, rows[-1]], axis=axis)
    return table


def _corners(box: _Box) -> list[tuple[tuple[Fraction, ...], Fraction]]:
    """The corners with the values of p there."""
    own = np.asarray(box.tables[0], dtype=object)
    out = []
    for index in np.ndindex(*([2] * own.ndim)):
        place = tuple(-1 if side and own.shape[k] > 1 else 0 for k, side in enumerate(index))
        at = tuple(box.high[k] if side else box.low[k] for k, side in enumerate(index))
        out.append((at, own[place]))
    return out
