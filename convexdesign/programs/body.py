"""W as a solver needs it: in cone form and in units of its own, and what follows from any dual point, proven.

CVXPY turns W into {x : b - Ax in K}, x = (w, u) with auxiliary variables u, the user's own among them. For q and ANY z in
the dual cone K*, z'(b - Ax) >= 0, so that every feasible w has

    w'q  <=  b'z + (q - A_w'z)'w - (A_u'z)'u
         <=  b'z + max over sum w = 1, lo <= w <= hi of (q - A_w'z)'w + sum_j max over lo_j <= u_j <= hi_j of -(A_u'z)_j u_j,

where lo, hi are limits that every feasible point keeps to, proven beforehand. A solver supplies z, which is then moved into K*;
the inequality holds whatever z is, and rounding is added. A z that touches a variable without limits proves nothing: its rows
and cones are left out (z = 0 there), which is valid and loose.

Limits that interval arithmetic does not find may follow from duals too. With s = +-1 and any z in K*, r = A_u'z - s e_j:
s u_j <= b'z + max of (-A_w'z)'w + sum_k |r_k||u_k|. Summed over the variables without limits, with c_j the known parts,
sum_j |u_j| <= sum_j c_j + rho sum_j |u_j|, rho = max_k sum_j |r_jk|: a limit as soon as rho < 1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import clarabel
import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from convexdesign.problem.linear_rows import knapsack
from convexdesign.programs.cone_form import ConeForm, into_dual
from convexdesign.programs.scaling import Scaling, scaled
from convexdesign.programs.variable_limits import proven_limits
from convexdesign.typing import Floats

__all__ = ["Body", "body"]


EPS = float(np.finfo(float).eps)
ACCURACY = 1e-11
# A share of "enough" weight below this is what a solver leaves of none.
NOTHING = 1e-4
# Limits of more variables than this are not looked for one at a time.
MOST_SEARCHED = 40
# Sums of residuals above this prove no limit worth having.
CONTRACTION = 0.5


@dataclass(frozen=True, eq=False)
class Body:
    """{w : sum w = 1, lo <= (w, u) <= hi, b - A(w, u) in K for some u}, the limits proven (infinite where there are none)."""

    form: ConeForm
    lo: Floats
    hi: Floats

    @cached_property
    def scaling(self) -> Scaling:
        """The units it is solved in."""
        return scaled(self.form, self.lo, self.hi)

    @property
    def unlimited(self) -> NDArray[np.intp]:
        """Columns of auxiliary variables without proven limits."""
        return np.flatnonzero(np.isinf(self.lo) | np.isinf(self.hi))

    def support(self, q: Floats, time_limit: float | None = None) -> float:
        """A proven upper bound on the maximum of w'q over W; a negative one for q = 0 proves that W is empty."""
        n = self.form.n
        loose = knapsack(q, self.lo[:n], self.hi[:n])
        size = float(np.abs(q).max()) or 1.0
        cost = np.zeros(self.lo.size)
        cost[:n] = -q / size
        found = self._solve(cost, time_limit)
        return loose if found is None else min(loose, size * self._proven(-cost, found[1]))

    def nearest(self, v: Floats, time_limit: float | None = None) -> tuple[Floats, float] | None:
        """The point of W next to v (n,), and its distance: the largest |w_i - v_i|, each in terms of its own upper limit."""
        n = self.form.n
        unit = np.where(self.hi[:n] > 0, np.minimum(self.hi[:n], 1.0), 1.0)
        eye = sparse.eye(n, self.lo.size, format="csr")
        near = sparse.vstack([eye, -eye])
        extra = sparse.hstack([near, -np.tile(unit, 2)[:, None]])
        cost = np.r_[np.zeros(self.lo.size), 1.0]
        found = self._solve(cost, time_limit, sparse.csr_matrix(extra), np.r_[v, -v])
        if found is None:
            return None
        w = found[0][:n]
        return w, float((np.abs(w - v) / unit).max())

    def inner(self, time_limit: float | None = None) -> Floats | None:
        """A point (n,) of W as far inside as there is: every inequality and cone with the same slack, in the body's units."""
        form, n, columns = self.form, self.form.n, self.lo.size
        deep = np.zeros(len(form.b))
        deep[form.zero : form.zero + form.nonneg] = 1.0
        for block in form.blocks:
            deep[block.rows] = block.deep
        width = np.minimum(self.hi[:n], 1.0) - self.lo[:n]
        eye = sparse.eye(n, columns, format="csr")
        extra = sparse.hstack([sparse.vstack([-eye, eye]), np.tile(width, 2)[:, None]])
        last = sparse.csr_matrix((np.ones(1), (np.zeros(1, dtype=int), np.full(1, columns))), shape=(1, columns + 1))
        rows, right = sparse.vstack([extra, last]), np.r_[-self.lo[:n], np.minimum(self.hi[:n], 1.0), 1.0]
        cost = np.r_[np.zeros(columns), -1.0]
        found = self._solve(cost, time_limit, sparse.csr_matrix(rows), right, sparse.csr_matrix(deep[:, None]))
        return None if found is None else found[0][:n]

    def reachable(self, time_limit: float | None = None) -> NDArray[np.bool_]:
        """Which arms (n,) can have weight: those with some of their limit at a point that gives it to as many as possible."""
        n, columns = self.form.n, self.lo.size
        unit = np.where(self.hi[:n] > 0, np.minimum(self.hi[:n], 1.0), 1.0)
        # Shares v: v <= w / unit, 0 <= v <= enough; maximise their sum.
        enough = 1e-3 / n
        eye = sparse.eye(n, format="csr")
        none = sparse.csr_matrix((n, columns - n))
        extra = sparse.vstack(
            [
                sparse.hstack([-sparse.diags(1.0 / unit), none, enough * eye]),
                sparse.hstack([sparse.csr_matrix((n, columns)), eye]),
                sparse.hstack([sparse.csr_matrix((n, columns)), -eye]),
            ]
        )
        cost = np.r_[np.zeros(columns), -np.ones(n)]
        found = self._solve(cost, time_limit, sparse.csr_matrix(extra), np.r_[np.zeros(n), np.ones(n), np.zeros(n)])
        able = self.hi[:n] > 0
        return able if found is None else able & (found[0][columns:] > NOTHING)

    def members(self, w: cp.Expression) -> list[cp.Constraint]:
        """What puts an expression w (n,) into W, beside the simplex and the limits of single weights, in CVXPY."""
        form, S, n = self.form, self.scaling, self.form.n
        if not len(form.b):
            return []
        own = sparse.csr_matrix(sparse.diags(S.size) @ form.A[:, :n])
        s = S.b - own @ w
        if self.lo.size > n:
            s = s - S.A[:, n:] @ cp.Variable(self.lo.size - n, name="auxiliary")
        made: list[cp.Constraint] = []
        if form.zero:
            made.append(s[: form.zero] == 0)
        if form.nonneg:
            made.append(s[form.zero : form.zero + form.nonneg] >= 0)
        return made + _cones(form, s)

    # ----------------------------------------------------------------- solving

    def _solve(
        self,
        cost: Floats,
        time_limit: float | None,
        extra: sparse.csr_matrix | None = None,
        right: Floats | None = None,
        beside: sparse.csr_matrix | None = None,
    ) -> tuple[Floats, Floats] | None:
        """(x, z) of min cost'x over the body, None where a solver leaves no values; z are the multipliers of the form's rows.

        x may go on with further variables, in rows `extra` x <= right and, with the entries `beside` in the units of the
        scaling, in the rows of the form.
        """
        if time_limit is not None and time_limit <= 0:
            return None
        S, n, columns = self.scaling, self.form.n, self.lo.size
        more = cost.size - columns
        unit, middle = np.r_[S.unit, np.ones(more)], np.r_[S.middle, np.zeros(more)]
        total = sparse.csr_matrix((S.unit[:n], (np.zeros(n, dtype=int), np.arange(n))), shape=(1, cost.size))
        box, limits = self._box(cost.size)
        parts, rights = [box], [limits]
        if extra is not None and right is not None:
            in_units = sparse.csr_matrix(extra @ sparse.diags(unit))
            size = np.asarray(abs(in_units).max(axis=1).todense()).ravel()
            size = np.where(size > 0, size, 1.0)
            parts.append(sparse.csr_matrix(sparse.diags(1.0 / size) @ in_units))
            rights.append((right - extra @ middle) / size)
        A = sparse.hstack([S.A, sparse.csr_matrix((S.A.shape[0], more)) if beside is None else beside])
        zero, rest = self.form.zero, self.form.cones
        split = A.tocsr()
        matrix = sparse.vstack([total, split[:zero], *parts, split[zero:]]).tocsc()
        b = np.r_[1.0, S.b[:zero], *rights, S.b[zero:]]
        count = sum(len(r) for r in rights)
        cones = [clarabel.ZeroConeT(1 + zero), clarabel.NonnegativeConeT(count), *rest[bool(zero) :]]
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix((cost.size, cost.size)), cost * unit, matrix, b, cones, _settings(time_limit)
        ).solve()
        y, z = np.array(solution.x), np.array(solution.z)
        if not (np.all(np.isfinite(y)) and np.all(np.isfinite(z))):
            return None
        return middle + unit * y, np.r_[z[1 : 1 + zero], z[1 + zero + count :]] * S.size

    def _box(self, columns: int) -> tuple[sparse.csr_matrix, Floats]:
        """The limits of the weights as rows, in the units of the scaling."""
        n, S = self.form.n, self.scaling
        lo, hi = self.lo[:n] / S.unit[:n], self.hi[:n] / S.unit[:n]
        capped = np.flatnonzero(self.hi[:n] < 1.0)
        rows = np.arange(n + capped.size)
        values = np.r_[-np.ones(n), np.ones(capped.size)]
        matrix = sparse.csr_matrix((values, (rows, np.r_[np.arange(n), capped])), shape=(rows.size, columns))
        return matrix, np.r_[-lo, hi[capped]]

    # ----------------------------------------------------------------- proofs

    def _proven(self, direction: Floats, z: Floats) -> float:
        """An upper bound on direction'x over the body from any z: direction'x <= b'z + (direction - A'z)'x for z in K*."""
        known, left = self._parts(direction, z)
        if np.any(left != 0):
            # Variables without limits must not be touched: their rows and cones are left out.
            z = self._without(z, self.unlimited[left != 0])
            known, left = self._parts(direction, z)
        return np.inf if np.any(left != 0) else known

    def _parts(self, direction: Floats, z: Floats) -> tuple[float, Floats]:
        """The part of the bound that is known, and the coefficients of variables without limits."""
        form, n = self.form, self.form.n
        z = into_dual(form, z)
        p = direction - form.A.T @ z
        # What rounding may have taken from each coefficient, and so from each term.
        terms = np.abs(direction) + abs(form.A).T @ np.abs(z)
        doubt = (self._depth + 8.0) * EPS * terms
        free = np.isinf(self.lo) | np.isinf(self.hi)
        # An entry of a column that nothing touches is exactly zero.
        left = np.where(terms[free] > 0, np.abs(p[free]) + doubt[free], 0.0)
        aux = ~free
        aux[:n] = False
        lo, hi, r = self.lo[aux], self.hi[aux], p[aux]
        charge = np.maximum(r * lo, r * hi)
        ends = np.maximum(np.abs(lo), np.abs(hi))
        weights = knapsack(p[:n], self.lo[:n], self.hi[:n])
        parts = [float(form.b @ z), weights, float(charge.sum())]
        size = float(np.abs(form.b) @ np.abs(z)) + abs(weights) + float((np.abs(r) * ends).sum())
        error = (len(form.b) + aux.sum() + 16.0) * EPS * size
        error += float(doubt[:n].max()) + float(doubt[aux] @ ends)
        return sum(parts) + 2.0 * error, left

    @cached_property
    def _depth(self) -> int:
        """The most terms in a column of A."""
        return int(np.diff(self.form.A.tocsc().indptr).max(initial=0))

    def _without(self, z: Floats, columns: NDArray[np.intp]) -> Floats:
        """z with zeros in the rows that the columns touch, and in all of a cone where they touch a row of it."""
        touched = np.zeros(z.size, dtype=bool)
        touched[self.form.A[:, columns].tocoo().row] = True
        for block in self.form.blocks:
            touched[block.rows] = touched[block.rows].any()
        return np.where(touched, 0.0, z)

    def searched(self, time_limit: float | None = None) -> Body:
        """The same with limits, from duals, of variables that had none; itself where that finds none or they are too many."""
        columns = self.unlimited
        if not 0 < columns.size <= MOST_SEARCHED:
            return self
        duals = self._extremes(columns, time_limit)
        if duals is None:
            return self
        # Variables that can be anything leave a residual as large as what is asked; what touches them is left out.
        endless = np.array(
            [any(self._parts(d, z)[1][k] > CONTRACTION for d, z in duals[k]) for k in range(columns.size)]
        )
        kept = np.flatnonzero(~endless)
        ends, residuals = np.zeros(kept.size), np.zeros((kept.size, kept.size))
        for place, k in enumerate(kept):
            for direction, z in duals[k]:
                known, over = self._parts(direction, self._without(z, columns[endless]))
                if np.any(over[endless] > 0):
                    return self
                ends[place], residuals[place] = max(ends[place], known), np.maximum(residuals[place], over[kept])
        if not kept.size:
            return self
        # In units of the ends that the residuals, taken for zero, would give.
        unit = np.maximum(ends, np.finfo(float).tiny)
        rho = float((residuals * unit[None] / unit[:, None]).sum(axis=0).max())
        if not (np.all(np.isfinite(ends)) and rho < CONTRACTION):
            return self
        total = float((ends / unit).sum()) / (1.0 - rho)
        most = (ends + (residuals * unit[None]).max(axis=1) * total) * (1.0 + 1e-12)
        lo, hi = self.lo.copy(), self.hi.copy()
        lo[columns[kept]] = np.maximum(lo[columns[kept]], -most)
        hi[columns[kept]] = np.minimum(hi[columns[kept]], most)
        return Body(self.form, lo, hi)

    def _extremes(
        self, columns: NDArray[np.intp], time_limit: float | None
    ) -> list[list[tuple[Floats, Floats]]] | None:
        """For each column the directions +-e_j and the dual points of their maxima; None where the time or a solver fails."""
        started = time.perf_counter()
        duals = []
        for j in columns:
            pair = []
            for sign in (1.0, -1.0):
                left = None if time_limit is None else time_limit - (time.perf_counter() - started)
                if left is not None and left <= 0:
                    return None
                unit = float(self.scaling.unit[j])
                direction = np.zeros(self.lo.size)
                direction[j] = sign
                found = self._solve(-direction / unit, left)
                if found is None:
                    return None
                pair.append((direction, found[1] * unit))
            duals.append(pair)
        return duals


def body(form: ConeForm, lower: Floats, upper: Floats, time_limit: float | None = None) -> Body:
    """The body of a cone form whose weights keep to lower, upper (n,), with limits of all variables as far as there are any."""
    lo, hi = proven_limits(form, lower, upper)
    return Body(form, lo, hi).searched(time_limit)


def _settings(time_limit: float | None) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    settings.max_threads = 1
    if time_limit is not None:
        settings.time_limit = max(time_limit, 1e-3)
    return settings


def _cones(form: ConeForm, s: cp.Expression) -> list[cp.Constraint]:
    """The blocks of s (rows) in CVXPY; alike ones together."""
    made: list[cp.Constraint] = []
    starts: dict[tuple[str, int, tuple[float, ...]], list[int]] = {}
    for block in form.blocks:
        starts.setdefault((block.kind, block.stop - block.start, block.exponents), []).append(block.start)
    for (kind, size, exponents), first in starts.items():
        at = np.array(first)
        if kind == "soc" and size == 1:
            made.append(s[at] >= 0)
        elif kind == "soc":
            index = at[None] + np.arange(1, size)[:, None]
            made.append(cp.SOC(s[at], cp.reshape(s[index.ravel()], index.shape, order="C"), axis=0))
        elif kind == "exp":
            made.append(cp.ExpCone(s[at], s[at + 1], s[at + 2]))
        elif kind == "power" and len(exponents) == 2:
            made.append(cp.PowCone3D(s[at], s[at + 1], s[at + 2], exponents[0]))
        elif kind == "power":
            for a in first:
                made.append(cp.PowConeND(s[a : a + size - 1], s[a + size - 1], np.array(exponents)))
        else:
            for a in first:
                made.append(_matrix(s[a : a + size], size) >> 0)
    return made


def _matrix(triangle: cp.Expression, size: int) -> cp.Expression:
    """The symmetric matrix of a triangle as solvers keep it."""
    k = round((np.sqrt(8 * size + 1) - 1) / 2)
    second, first = np.tril_indices(k)
    values = np.where(first == second, 1.0, 1.0 / np.sqrt(2.0))
    place = np.arange(size)
    pick = sparse.csr_matrix(
        (np.r_[values, values[first != second]],
         (np.r_[first * k + second, (second * k + first)[first != second]], np.r_[place, place[first != second]])),
        shape=(k * k, size),
    )  # fmt: skip
    return cp.reshape(pick @ triangle, (k, k), order="C")
