"""Proven limits of every variable of a cone form, from what is known of some: interval arithmetic, row by row.

Every cone implies linear inequalities on its rows s = b - Ax (|s_i| <= s_0; s_2 >= s_0 + s_1 for the exponential cone, since
e^t >= 1 + t; a_1 s_1 + a_2 s_2 >= |s_3| for a power cone), and products of two of them limit a third
(s_k^2 <= (s_0 - s_1)(s_0 + s_1); s_0 <= max over y <= s_1 of y log(s_2 / y); s_ij^2 <= s_ii s_jj). With variables in intervals,
a_j x_j <= l - min of the rest for every row a'x <= l, again and again until little changes. Everything is rounded outwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from convexdesign.programs.cone_form import Block, ConeForm
from convexdesign.typing import Floats, Indices

__all__ = ["proven_limits"]


EPS = float(np.finfo(float).eps)
# Sweeps at most, and entries looked at in all of them together.
MOST_SWEEPS = 300
MOST_ENTRIES = 3e7
# An interval that shrinks by less than this share is left as it is.
WORTH = 0.05


@dataclass
class _Rows:
    """Rows a'x <= l, as they are collected: each a combination of rows of s = b - Ax, in which it says combination >= 0."""

    count: int = 0
    row: list[Indices] = field(default_factory=list)
    of: list[Indices] = field(default_factory=list)
    factor: list[Floats] = field(default_factory=list)

    def add(self, *terms: tuple[Any, float]) -> Indices:
        """The numbers of new rows, one for each entry of the rows of s (arrays, or one for all) that the terms combine."""
        parts = np.broadcast_arrays(*(np.atleast_1d(rows) for rows, _ in terms))
        new = self.count + np.arange(parts[0].size)
        for rows, (_, factor) in zip(parts, terms, strict=True):
            self.row.append(new)
            self.of.append(rows)
            self.factor.append(np.full(rows.size, factor))
        self.count += new.size
        return new


@dataclass(frozen=True)
class _Products:
    """Rows first >= 0 and second >= 0 whose values limit the rows `third` of s, from above and, unless of kind "log", below."""

    first: Indices
    second: Indices
    third: Indices
    kind: str
    exponent: float = 0.5


def proven_limits(form: ConeForm, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Intervals lo, hi of every variable x of the form, given those of the weights (n,), which sum to one.

    Infinite where nothing was found; lo > hi where the form leaves no point at all.
    """
    columns = form.A.shape[1]
    lo = np.r_[lower, np.full(columns - form.n, -np.inf)]
    hi = np.r_[upper, np.full(columns - form.n, np.inf)]
    rows = _Rows()
    rows.add((np.arange(form.zero + form.nonneg), 1.0))
    rows.add((np.arange(form.zero), -1.0))
    products = [_IMPLIED[block.kind](block, rows) for block in form.blocks]
    L, right = _assembled(form, rows)
    return _Propagation(form, L, right, products).run(lo, hi)


# ---------------------------------------------------------------- what each cone implies


def _soc(block: Block, rows: _Rows) -> _Products:
    head, tail = block.start, np.arange(block.start + 1, block.stop)
    rows.add((head, 1.0))
    less, more = rows.add((head, 1.0), (tail, -1.0)), rows.add((head, 1.0), (tail, 1.0))
    others = np.ones(max(tail.size - 1, 0), dtype=np.intp)
    return _Products(less[:1] * others, more[:1] * others, tail[1:], "mean")


def _psd(block: Block, rows: _Rows) -> _Products:
    second, first = np.tril_indices(block.order)
    at = block.start + np.arange(first.size)
    diagonal, off = at[first == second], first != second
    each = rows.add((diagonal, 1.0))
    # A little less than the root: what it leaves out is on the safe side.
    root = np.sqrt(2.0) * (1.0 - EPS)
    for sign in (root, -root):
        rows.add((diagonal[first[off]], 1.0), (diagonal[second[off]], 1.0), (at[off], sign))
    return _Products(each[first[off]], each[second[off]], at[off], "minor")


def _exp(block: Block, rows: _Rows) -> _Products:
    s = block.start
    first, second = rows.add((s + 1, 1.0)), rows.add((s + 2, 1.0))
    rows.add((s + 2, 1.0), (s + 1, -1.0), (s, -1.0))
    return _Products(first, second, np.array([s]), "log")


def _power(block: Block, rows: _Rows) -> _Products:
    heads = rows.add((np.arange(block.start, block.stop - 1), 1.0))
    # A little more of each exponent: the rounded ones may sum to less than one.
    mean = [(block.start + k, a * (1.0 + 8 * EPS)) for k, a in enumerate(block.exponents)]
    last = block.stop - 1
    rows.add(*mean, (last, 1.0))
    rows.add(*mean, (last, -1.0))
    limited = np.array([last] if heads.size == 2 else [], dtype=np.intp)
    return _Products(heads[: limited.size], heads[1 : 1 + limited.size], limited, "power", block.exponents[0])


_IMPLIED = {"soc": _soc, "psd": _psd, "exp": _exp, "power": _power}


def _assembled(form: ConeForm, rows: _Rows) -> tuple[sparse.csr_matrix, Floats]:
    """L, l with Lx <= l for the combinations: sum_k c_k (b_k - A_k x) >= 0."""
    n = form.n
    where = (np.concatenate(rows.row), np.concatenate(rows.of))
    pick = sparse.csr_matrix((np.concatenate(rows.factor), where), shape=(rows.count, len(form.b)))
    total = sparse.csr_matrix((np.r_[np.ones(n), -np.ones(n)], (np.repeat([0, 1], n), np.tile(np.arange(n), 2))),
                              shape=(2, form.A.shape[1]))  # fmt: skip
    L = sparse.vstack([pick @ form.A, total]).tocsr()
    L.eliminate_zeros()
    return L, np.r_[pick @ form.b, 1.0, -1.0]


# ---------------------------------------------------------------- propagation


class _Propagation:
    """The sweeps: rows Lx <= right, and rows of s whose limits come from products."""

    def __init__(self, form: ConeForm, L: sparse.csr_matrix, right: Floats, products: list[_Products]):
        def joined(parts: list[Indices]) -> Indices:
            return np.concatenate([np.empty(0, dtype=np.intp), *parts])

        sizes = [p.third.size for p in products]
        self.first, self.second = joined([p.first for p in products]), joined([p.second for p in products])
        third = joined([p.third for p in products])
        kind = np.repeat(np.array([p.kind for p in products], dtype=object), sizes)
        self.mean, self.minor, self.log, self.power = (kind == k for k in ("mean", "minor", "log", "power"))
        self.exponent = np.repeat([p.exponent for p in products], sizes)
        # s = b - Ax <= most is -Ax <= most - b; s >= -most is Ax <= most + b.
        both = np.flatnonzero(~self.log)
        self.target = np.r_[np.arange(third.size), both]
        self.shift = np.r_[-form.b[third], form.b[third[both]]] if third.size else np.empty(0)
        self.static = right
        above, below = -form.A[third], form.A[third[both]]
        everything = sparse.vstack([L, above, below]).tocoo() if third.size else L.tocoo()
        self.row, self.column, self.value = everything.row, everything.col, everything.data
        self.shape = everything.shape

    def run(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        lo, hi = lo.copy(), hi.copy()
        if self.value.size == 0:
            return lo, hi
        for _ in range(min(MOST_SWEEPS, int(MOST_ENTRIES / self.value.size) + 1)):
            below, above = self._implied(lo, hi)
            gained = _worth(lo, hi, below, above)
            lo, hi = np.maximum(lo, below), np.minimum(hi, above)
            if not gained or np.any(lo > hi):
                break
        return lo, hi

    def _implied(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        row, column, value = self.row, self.column, self.value
        # The least that each term can be, and of each row: the finite part, what is infinite, and what rounding may hide.
        term = value * np.where(value > 0, lo[column], hi[column])
        infinite = ~np.isfinite(term)
        finite = np.where(infinite, 0.0, term)
        count = np.bincount(row, infinite.astype(float), self.shape[0])
        size = np.bincount(row, np.abs(finite), self.shape[0])
        length = np.bincount(row, minlength=self.shape[0])
        least = np.bincount(row, finite, self.shape[0])
        right = np.r_[
            self.static, self._products(np.asarray(least), np.asarray(size), np.asarray(length), np.asarray(count))
        ]
        others = count[row] - infinite
        slack = right[row] - (least[row] - finite)
        slack = slack + (length[row] + 8.0) * EPS * (size[row] + np.abs(right[row]))
        with np.errstate(invalid="ignore", over="ignore"):
            limit = np.where((others == 0) & np.isfinite(slack), slack, np.inf) / value
        limit = limit + 4.0 * EPS * np.where(np.isfinite(limit), np.abs(limit), 0.0)
        down = limit - np.where(np.isfinite(limit), 8.0 * EPS * np.abs(limit), 0.0)
        above, below = np.full(self.shape[1], np.inf), np.full(self.shape[1], -np.inf)
        up = value > 0
        np.minimum.at(above, column[up], limit[up])
        np.maximum.at(below, column[~up], down[~up])
        return below, above

    def _products(self, least: Floats, size: Floats, length: Floats, count: Floats) -> Floats:
        """What limits a'x for the rows that products limit, given the least of every row of L."""
        if not self.first.size:
            return np.empty(0)
        rows = len(self.static)
        # A combination that is at least zero is l - a'x: at most l minus the least of a'x.
        most = self.static - least[:rows]
        most = most + (length[:rows] + 8.0) * EPS * (size[:rows] + np.abs(self.static))
        most = np.where(count[:rows] > 0, np.inf, np.maximum(most, 0.0))
        a, b = most[self.first], most[self.second]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            geometric = np.sqrt(a) * np.sqrt(b)
            weighted = a**self.exponent * b ** (1.0 - self.exponent)
            y = np.minimum(a, b / np.e)
            logs = np.where(y > 0, y * np.log(b / y), 0.0)
        found = np.select(
            [self.mean, self.minor, self.log, self.power], [geometric, np.sqrt(2.0) * geometric, logs, weighted]
        )
        # No limit follows where a factor has none (zero times infinity included).
        known = np.isfinite(b) & (np.isfinite(a) | self.log) & np.isfinite(found)
        found = np.where(known, found + 64.0 * EPS * np.abs(found), np.inf)
        return np.asarray(found[self.target] + self.shift)


def _worth(lo: Floats, hi: Floats, below: Floats, above: Floats) -> bool:
    """Whether some interval becomes finite, or shorter by a share that is worth another sweep."""
    if np.any(np.isinf(lo) & np.isfinite(below)) or np.any(np.isinf(hi) & np.isfinite(above)):
        return True
    with np.errstate(invalid="ignore"):
        width, new = hi - lo, np.minimum(hi, above) - np.maximum(lo, below)
    return bool(np.any(np.isfinite(width) & (new < (1.0 - WORTH) * width)))
