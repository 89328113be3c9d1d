"""The best whole-number design, proven: branch and bound on outer approximations, HiGHS solving the linear programs.

For every cut matrix G, 1/phi(M) <= tr(G M) for all M (criteria/exchange.py; for a target v the tightest rescaling of
t >= 2 b'v - b'Mb, b = Cv), so over the counts in a box

    1/phi* <= max over n of min_k ( p_k + sum_i n_i g_ki ),    g_ki = u_i'G_k u_i,  p_k = tr(G_k prior),

a linear program. HiGHS only proposes: its multipliers y >= 0, sum 1, give the bound sum_k y_k p_k + max_n n'(G'y), a
knapsack summed here, which holds whatever the solver did; its counts are evaluated on the criterion itself.

The cuts hold for singular M too, by continuity from above: (b't)^2 <= (t'M^+t)(b'Mb) wherever t lies in the range of M, and
1/phi = 0 elsewhere. So counts that measure no more than is wanted are among those searched, and those that measure less are
excluded by cuts like any others.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.arms.groups import as_groups
from convexdesign.criteria.exchange import (
    MatrixCriterion,
    information,
    inverse_factor,
    pseudo_inverse_factor,
    value_on_range,
)
from convexdesign.errors import SolverError
from convexdesign.extras import needed
from convexdesign.rounding.count_limits import Limits
from convexdesign.rounding.plans import MEETS, CountInequalities, no_rows
from convexdesign.typing import Counts, Floats

__all__ = ["Proven", "prove_optimal"]


# Allowance for rounding in the sums behind every bound: each has at most a few thousand nonnegative terms.
ROUNDING = 1e-11
# Singular information M is raised by these shares of its mean eigenvalue; the smaller ones only for the last word.
FLOORS = (1e-6, 1e-9, 1e-12)
# What a unit by which a row is exceeded costs, in units of the first incumbent's 1/phi.
PRICE = 1e4
# Targets that may give cuts at one point, and the cutting rounds at the root and below it.
CUTS_AT_ONCE = 6
ROOT_ROUNDS = 60
NODE_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Proven:
    """The best counts that were found, and what is proven about all others.

    Parameters
    ----------
    counts : array of int64, shape (n,)
        The counts.
    value : float
        The phi of their information.
    lower_bound : float
        At most phi of every whole-number design within the limits.
    nodes : int
        How many boxes of counts were looked at.
    """

    counts: Counts
    value: float
    lower_bound: float
    nodes: int

    @property
    def gap(self) -> float:
        """value / lower_bound - 1, proven; at most the tolerance unless time ran out."""
        return max(self.value / self.lower_bound - 1.0, 0.0) if self.lower_bound > 0 else np.inf


def prove_optimal(
    arms: Floats,
    start: Counts,
    bounds: Limits,
    criterion: MatrixCriterion,
    prior: Floats | None = None,
    *,
    rows: CountInequalities | None = None,
    tol: float = 1e-6,
    time_limit: float = 60.0,
    tell: Callable[[float, float], None] | None = None,
) -> Proven:
    """The counts with the smallest phi(prior + sum_i n_i u_i u_i') among all with this total and these limits.

    Singular information counts with its value on its range where all that is wanted lies in it.

    Parameters
    ----------
    arms : array of shape (n, r) or (n, l, r)
        Whitened arms, or groups of l responses.
    start : array of int64, shape (n,)
        Feasible counts, best found by exchange.
    bounds : Limits
        The total, and the least and the most pulls of every arm.
    criterion : MatrixCriterion
        The function phi.
    prior : array of shape (r, r), optional
        The TOTAL information held besides these pulls.
    rows : CountInequalities, optional
        R n <= b besides the limits.
    tol : float
        The search ends when the proven gap is at most this.
    time_limit : float
        Or after so many seconds, with the gap proven by then.
    tell : callable, optional
        Told the least value so far and the bound proven (0 for none), now and then.

    Returns
    -------
    Proven
        The counts, their value and the bound.

    Raises
    ------
    MissingExtraError
        When highspy is not installed (extra `exact`).

    References
    ----------
    Duran and Grossmann (1986), Quesada and Grossmann (1992), outer approximation.

    Examples
    --------
    >>> from convexdesign.rounding import Volume, limits, prove_optimal
    >>> proven = prove_optimal(np.eye(2), np.array([1, 4]), limits(5, 2), Volume(np.eye(2)))
    >>> sorted(proven.counts.tolist()), proven.gap <= 1e-6
    ([2, 3], True)
    """
    deadline = time.monotonic() + time_limit
    search = _Search(arms, start, bounds, rows, criterion, prior, tol, deadline)
    root = _tightened(bounds.lower, bounds.upper, bounds.total)
    # Nodes are kept by their proven bound on 1/phi, largest first; a number of their own settles ties.
    number = itertools.count()
    queue: list[tuple[float, int, _Node]] = [] if root is None else [(-np.inf, next(number), root)]
    nodes = 0
    while queue and -queue[0][0] > search.cutoff and time.monotonic() < deadline:
        parent_bound, _, node = heapq.heappop(queue)
        nodes += 1
        if tell is not None and search.best > 0:
            tell(1.0 / search.best, max(-1.0 / parent_bound, 0.0))
        if node.is_point:
            search.pruned = max(search.pruned, min(search.bound_at(node.lower), -parent_bound))
            continue
        bound, point = search.bound(node, ROOT_ROUNDS if nodes == 1 else NODE_ROUNDS)
        bound = min(bound, -parent_bound)
        if bound <= search.cutoff:
            search.pruned = max(search.pruned, bound)
            continue
        for child in search.screened(node).split(point, bounds.total):
            heapq.heappush(queue, (-bound, next(number), child))
    best = max([search.best, search.pruned] + [-b for b, _, _ in queue[:1]])
    value = 1.0 / search.best if search.best > 0 else np.inf
    return Proven(search.counts, value, (1.0 - ROUNDING) / best, nodes)


def _tightened(lower: Counts, upper: Counts, total: int) -> _Node | None:
    """The box with the limits that the total implies for each arm; None where no counts in it have that total."""
    least, most = int(lower.sum()), int(upper.sum())
    if not least <= total <= most or np.any(lower > upper):
        return None
    return _Node(np.maximum(lower, total - (most - upper)), np.minimum(upper, total - (least - lower)))


@dataclass(frozen=True, eq=False)
class _Node:
    lower: Counts
    upper: Counts

    @property
    def is_point(self) -> bool:
        """Whether only one design is left."""
        return bool(np.array_equal(self.lower, self.upper))

    def split(self, point: Floats, total: int) -> list[_Node]:
        """Smaller boxes that hold every whole-number point of this one, cut where the point is most fractional."""
        if self.is_point:
            return [self] if int(self.lower.sum()) == total else []
        distance = np.abs(point - np.round(point))
        open_arms = self.lower < self.upper
        i = int(np.argmax(np.where(open_arms, distance, -1.0)))
        if distance[i] < 1e-6:  # a whole point that its cuts do not yet close: cut the widest range around it
            i = int(np.argmax(self.upper - self.lower))
        at = int(np.clip(np.floor(point[i] + 1e-9), self.lower[i], self.upper[i] - 1))
        below, above = self.upper.copy(), self.lower.copy()
        below[i], above[i] = at, at + 1
        children = (_tightened(self.lower, below, total), _tightened(above, self.upper, total))
        return [child for child in children if child is not None]


class _Search:
    """Incumbent, cuts and the linear program they form; s = 1/phi is maximised."""

    def __init__(
        self,
        arms: Floats,
        start: Counts,
        bounds: Limits,
        rows: CountInequalities | None,
        criterion: MatrixCriterion,
        prior: Floats | None,
        tol: float,
        deadline: float,
    ):
        self.rows = no_rows(arms.shape[0]) if rows is None else rows.in_their_units()
        self.arms, self.criterion, self.prior, self.tol = arms, criterion, prior, tol
        self.total, self.deadline = bounds.total, deadline
        self.counts = start
        self.best = 1.0 / value_on_range(criterion, self.information(start))
        self.pruned = 0.0
        # The box whose bound was computed last: the bound, the worth of each arm's pulls, and that of the last pull taken.
        self.priced: tuple[_Node, float, Floats, float] | None = None
        self.g = np.empty((0, arms.shape[0]))
        self.p = np.empty(0)
        self.lp = _LinearProgram(arms.shape[0], self.total, self.rows)
        self.offer(start)

    @property
    def cutoff(self) -> float:
        """Boxes whose bound on 1/phi is below this hold nothing better than the incumbent by more than tol."""
        return self.best * (1.0 + self.tol) * (1.0 - 2 * ROUNDING)

    def information(self, counts: Floats | Counts) -> Floats:
        return information(self.arms, counts, self.prior)

    def offer(self, counts: Counts) -> None:
        """Take counts as the incumbent when they are allowed and better, and cut at them."""
        M = self.information(counts)
        value = value_on_range(self.criterion, M)
        if 1.0 / value > self.best and not self.rows.broken(counts).size:
            self.best, self.counts = 1.0 / value, counts
        self.cut(M)

    def cut(self, M: Floats, floors: tuple[float, ...] = FLOORS[:1]) -> float:
        """Add cuts that are tight at M, where M is singular at M + floor I; returns what they say of 1/phi at M."""
        F = inverse_factor(M)
        factors = [F] if F is not None else [F for F in self.factors_near(M, floors) if F is not None]
        if not factors:
            return np.inf
        G = np.concatenate([self.criterion.cuts(F, CUTS_AT_ONCE) for F in factors])
        G = G[np.isfinite(G).all(axis=(1, 2))]
        U = as_groups(self.arms)
        g = np.einsum("ilr,krs,ils->ki", U, G, U, optimize=True)
        p = np.zeros(len(G)) if self.prior is None else np.einsum("krs,rs->k", G, self.prior)
        self.g, self.p = np.vstack([self.g, g]), np.concatenate([self.p, p])
        self.lp.add_cuts(g, p, self.best)
        return float(np.einsum("krs,rs->k", G, M).min(initial=np.inf))

    def factors_near(self, M: Floats, floors: tuple[float, ...]) -> list[Floats | None]:
        """Factors of inverses of a singular M: on its range where it measures what is wanted, and of M raised a little.

        Where M does not measure everything, the cuts of the latter say so: the less it is raised, the less they leave.
        """
        raised = np.trace(M) / M.shape[0] * np.eye(M.shape[0])
        factors = [inverse_factor(M + floor * raised) for floor in floors]
        if np.isfinite(value_on_range(self.criterion, M)):
            factors.append(pseudo_inverse_factor(M))
        return factors

    def bound_at(self, counts: Counts) -> float:
        """A proven upper bound on 1/phi of these counts: tight, or as close to zero as rounding allows."""
        M = self.information(counts)
        if self.rows.broken(counts).size:
            return 0.0
        self.offer(counts)
        if inverse_factor(M) is None:
            self.cut(M, FLOORS)
        return float((self.p + self.g @ counts).min()) * (1.0 + ROUNDING)

    def bound(self, node: _Node, rounds: int) -> tuple[float, Floats]:
        """A proven upper bound on 1/phi in the box, and the linear program's last point."""
        proven, point = np.inf, node.lower.astype(float)
        for _ in range(rounds):
            point, y, prices = self.lp.solve(node.lower, node.upper)
            bound = self.dual_bound(y, prices, node)
            improved = proven - bound
            proven = min(proven, bound)
            if proven <= self.cutoff or time.monotonic() > self.deadline:
                break
            whole = np.round(point).astype(np.int64)
            if np.abs(point - whole).max() < 1e-6 and whole.sum() == self.total:
                self.offer(whole)
            elif self.cut(self.information(point)) > 0.999 * proven:
                break
            if improved < 1e-3 * (proven - self.cutoff):
                break
        else:
            return proven, point
        self.try_near(point, node)
        return proven, point

    def screened(self, node: _Node) -> _Node:
        """The box without counts that the last multipliers prove to be no better than the incumbent; a point if none are left.

        With q the worth of each arm's pulls and nu that of the last pull taken, a pull of an arm with q_i < nu costs the
        bound at least nu - q_i, and one not taken of an arm with q_i > nu at least q_i - nu.
        """
        if self.priced is None or self.priced[0] is not node:
            return node
        _, bound, q, nu = self.priced
        slack = max(bound - self.cutoff, 0.0) * (1.0 + 1e-6)
        margin = 1e-9 * (abs(nu) + np.abs(q)) + ROUNDING * abs(bound)
        with np.errstate(over="ignore"):
            down = np.floor(np.minimum(slack / np.maximum(nu - q - margin, 1e-300), 2.0**53)).astype(np.int64)
            up = np.floor(np.minimum(slack / np.maximum(q - nu - margin, 1e-300), 2.0**53)).astype(np.int64)
        upper = np.where(nu - q > margin, np.minimum(node.upper, node.lower + down), node.upper)
        lower = np.where(q - nu > margin, np.maximum(node.lower, node.upper - up), node.lower)
        if np.any(upper < node.upper) or np.any(lower > node.lower):
            self.pruned = max(self.pruned, self.cutoff)  # what is left out is at most that
        return _tightened(lower, upper, self.total) or _Node(node.lower, node.lower)

    def try_near(self, point: Floats, node: _Node) -> None:
        """Offer the whole numbers in the box closest to a point: the largest remainders are rounded up."""
        floor = np.clip(np.floor(point + 1e-9).astype(np.int64), node.lower, node.upper)
        left = self.total - int(floor.sum())
        order = np.argsort(floor - point, kind="stable")
        order = order[floor[order] < node.upper[order]]
        if 0 < left <= order.size:
            floor[order[:left]] += 1
            self.offer(floor)

    def dual_bound(self, y: Floats, prices: Floats, node: _Node) -> float:
        """sum_k y_k p_k + z'b + max of n'(G'y - R'z) over the box with this total, for any y >= 0 with sum 1 and z >= 0."""
        y = np.maximum(y, 0.0)
        if not y.sum() > 0:
            return np.inf
        z = np.maximum(prices, 0.0) / y.sum()
        y = y / y.sum()
        q = y @ self.g - z @ self.rows.R
        room = self.total - int(node.lower.sum())
        order = np.argsort(-q)
        width = (node.upper - node.lower)[order]
        taken = np.minimum(width, np.maximum(room - (np.cumsum(width) - width), 0))
        bound = float(y @ self.p + node.lower @ q + taken @ q[order])
        last = int(np.searchsorted(np.cumsum(width), room))
        if not z.size:
            bound *= 1.0 + ROUNDING
            self.priced = (node, bound, q, float(q[order[min(last, q.size - 1)]]))
            return bound
        # Terms of both signs: rounding is a share of their sizes. What a row may be exceeded by is allowed for, too.
        size = z @ (self.rows.size @ (node.lower + 0.0)) + z @ np.abs(self.rows.b)
        size += float(y @ self.p) + float(taken @ (y @ self.g + z @ self.rows.size)[order])
        allowed = MEETS * float(z @ (self.rows.size @ node.upper + np.abs(self.rows.b)))
        return bound + float(z @ self.rows.b) + allowed + ROUNDING * float(size + node.lower @ (y @ self.g))


class _LinearProgram:
    """max s - P sum t subject to s <= p_k + g_k'n for the cuts, R n - t <= b, sum n = N, n in a box; kept warm in HiGHS.

    Rows may be exceeded at a price P per unit, so that every box has a point: where none keeps the rows, the bound says so.
    """

    def __init__(self, n: int, total: int, rows: CountInequalities):
        highspy = needed("highspy", "method='optimal'")
        highs: Any = highspy.Highs

        class Quiet(highs):  # type: ignore[misc]
            """Silent before its constructor, which enables callbacks, has a chance to print a banner."""

            def enableCallbacks(self) -> None:
                self.setOptionValue("output_flag", False)
                super().enableCallbacks()

        self.n = n
        self.highs: Any = Quiet()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)
        self.infinity = highspy.kHighsInf
        self.scale: float | None = None
        self.columns = np.arange(n, dtype=np.int32)
        for _ in range(n):
            self.highs.addVar(0.0, float(total))
        self.highs.addVar(-self.infinity, self.infinity)
        self.highs.changeColCost(n, -1.0)
        m = len(rows)
        for k in range(m):
            self.highs.addVar(0.0, self.infinity)
            self.highs.changeColCost(n + 1 + k, PRICE)
        self.highs.addRow(float(total), float(total), n, self.columns, np.ones(n))
        for k, (row, right) in enumerate(zip(rows.R, rows.b)):
            index = np.append(self.columns, np.int32(n + 1 + k))
            self.highs.addRow(-self.infinity, float(right), n + 1, index, np.append(row, -1.0))
        self.m = m

    def add_cuts(self, g: Floats, p: Floats, best: float) -> None:
        """s <= p_k + g_k'n, in units where the first incumbent has s = 1."""
        if self.scale is None:
            self.scale = 1.0 / best if best > 0 else 1.0 / float(g.max() + p.max())
        index = np.arange(self.n + 1, dtype=np.int32)
        for gk, pk in zip(g, p):
            row = np.append(-self.scale * gk, 1.0)
            self.highs.addRow(-self.infinity, float(self.scale * pk), self.n + 1, index, row)

    def solve(self, lower: Counts, upper: Counts) -> tuple[Floats, Floats, Floats]:
        """A point (n,), the multipliers of the cuts and those of the rows in their units; none is trusted."""
        self.highs.changeColsBounds(self.n, self.columns, lower.astype(float), upper.astype(float))
        self.highs.run()
        solution = self.highs.getSolution()
        if len(solution.col_value) != self.n + 1 + self.m:
            raise SolverError("HiGHS returned no point for a linear program that has one; use method='exchange'")
        point = np.clip(np.array(solution.col_value[: self.n]), lower, upper)
        dual = -np.array(solution.row_dual[1:])
        return point, dual[self.m :], dual[: self.m] / (self.scale or 1.0)
