"""The feasible set W: the user's constraints read, checked, put into cone form, and what weights are to it.

Nothing here depends on the units that constraints are written in: support function and programs work on the cone form in units
of its own (`body`), and feasibility is a distance in the weights. A row g'w <= h is judged by its excess against its room
(`linear_rows`), a convex constraint g(w) <= 0 by its linearisation g(v) + grad g(v)'(w - v) <= 0 at the weights v judged, which
every feasible w satisfies; constraints with variables of their own by the nearest point of W that a solver finds.
"""

from __future__ import annotations

import time
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.error import DCPError, SolverError
from numpy.typing import NDArray
from scipy import sparse

from convexdesign.errors import InputError
from convexdesign.problem.linear_rows import misses, most
from convexdesign.problem.projection import into_box, into_rows, misses_of
from convexdesign.problem.weights import WeightSet, unit_of
from convexdesign.programs.body import body
from convexdesign.programs.cone_form import ConeForm, cone_form
from convexdesign.typing import Floats

__all__ = ["Feasible", "feasible_set"]


# Slack of a share of a constraint's own size that is none: solvers leave about 1e-9.
MEETS = 1e-6
# Weights nearer to W than this are left where they are.
NEAR = 1e-10
# Shares of a point inside W that are added to weights which a solver leaves further outside than INSIDE.
INWARD = (0.0, 1e-9, 1e-8, 1e-7)
INSIDE = 1e-9
# Linearisations of convex constraints, one after another, that weights are moved onto.
MOST_CUTS = 6


@dataclass(frozen=True)
class Row:
    """One constraint as g(w) <= 0 (convex) or g(w) == 0 (affine), with the words that name it in messages."""

    g: Any
    equality: bool
    of: Any

    @property
    def label(self) -> str:
        """The words, made only where they are needed: many constraints with many numbers take a while to say."""
        return str(self.of) if isinstance(self.of, str) else "constraints[{}]: {}".format(*self.of)


class Feasible:
    """W over n arms: as CVXPY constraints, its support function with proven values, and the distance from it.

    Raises InputError for constraints that are not convex (with CVXPY's reason), not understood, or contradictory (the ones
    that cannot be met together are named). time_limit in seconds, for finding limits of the constraints' own variables.
    """

    def __init__(self, weight_set: WeightSet, n: int, time_limit: float | None = None):
        started = time.perf_counter()
        self.weight_set = weight_set
        self.w = cp.Variable(n, name="w")
        made = [] if weight_set.constraints is None else _call(weight_set.constraints, self.w)
        self.rows = self._read(made)
        form = _with_inequalities(cone_form(self.w, made) if made else _nothing(n), weight_set)
        self.E, self.e, self.G, self.h = _linear(form)
        lower, upper = weight_set.limits(n)
        for left, right in ((self.G, self.h), (self.E, self.e), (-self.E, -self.e)):
            if len(left):
                upper = np.maximum(np.minimum(upper, most(left, right)), lower)
        self.body = body(form, lower, upper, _left(time_limit, started))
        self.unit = unit_of(self.body.hi[:n])
        # What is more than linear, and whether all of it can be evaluated at given weights.
        self.curved = [row for row in self.rows if row is not None and not row.g.is_affine()]
        mine = all(v.id == self.w.id for c in made for v in c.variables())
        self.evaluable = mine and all(row is not None for row in self.rows)
        # Which arms anything but E w = e and G w <= h depends on.
        self.bent = _bent(form)
        self._refuse_empty(_left(time_limit, started))

    def __call__(self, w: Any) -> list[cp.Constraint]:
        """The constraints on another expression w (n,), beside the simplex's own; it is best solved for in `unit`."""
        members: list[cp.Constraint] = []
        if self.weight_set.lower is not None:
            members.append(cp.multiply(1.0 / self.unit, w) >= self.weight_set.lower / self.unit)
        if self.weight_set.upper is not None:
            members.append(cp.multiply(1.0 / self.unit, w) <= self.weight_set.upper / self.unit)
        return members + self.body.members(w)

    def support(self, q: Floats, time_limit: float | None = None) -> float:
        """A proven upper bound on max over w in W of w'q, tight to the solver's accuracy."""
        if self.weight_set.constraints is None:
            return self.weight_set.support(q)
        return min(self.weight_set.box_support(q), self.body.support(q, time_limit))

    def violation(self, weights: Floats, time_limit: float | None = None) -> float:
        """How far the weights are from W: the largest share by which they miss any constraint, in the constraint's own terms.

        Bounds and linear rows as `WeightSet.violation` says; convex constraints by their linearisation at the weights; those
        with variables of their own by the distance to the nearest point of W, each weight in terms of its upper limit.
        """
        worst = max(self.weight_set.violation(weights), self._linear_violation(weights))
        if not self.is_linear:
            rows, right = self._cuts(weights) if self.evaluable else (None, None)
            if rows is not None and right is not None:
                return max(worst, float(misses(rows, right, weights).max(initial=0.0)))
            found = self.body.nearest(weights, time_limit)
            return max(worst, np.inf if found is None else found[1])
        return worst

    def projected(self, weights: Floats, time_limit: float | None = None) -> Floats:
        """Weights in W near the weights given, as far as rounding and, for variables of its own, a solver can tell."""
        if self.weight_set.constraints is None:
            return self.weight_set.projected(weights)
        if not (self.is_linear or self.evaluable):
            return self._nearest(weights, time_limit)
        best, least = weights, np.inf
        G, h = self.G, self.h
        for _ in range(1 if self.is_linear else MOST_CUTS):
            weights = self._into_rows(weights, G, h)
            missed = self._linear_violation(weights)
            rows, right = (None, None) if self.is_linear else self._cuts(weights)
            if rows is not None and right is not None:
                missed = max(missed, float(misses(rows, right, weights).max(initial=0.0)))
            if missed < least:
                best, least = weights, missed
            if missed == 0.0 or rows is None or right is None:
                break
            G, h = np.vstack([G, rows]), np.r_[h, right]
        return best

    def _into_rows(self, weights: Floats, G: Floats, h: Floats) -> Floats:
        lower, upper = np.maximum(self.body.lo[: weights.size], 0.0), self.body.hi[: weights.size]
        return into_rows(weights, lower, upper, np.vstack([self.E, G]), np.r_[self.e, h], len(self.E))

    def _nearest(self, weights: Floats, time_limit: float | None) -> Floats:
        """Weights in W near these, from a solver; further inside by what its accuracy cannot tell from none, if need be."""
        found = self.body.nearest(weights, time_limit)
        if found is None or found[1] <= NEAR:
            return self._into_rows(weights, self.G, self.h)
        near = self._into_rows(np.maximum(found[0], 0.0), self.G, self.h)
        best, least = near, np.inf
        for share in INWARD:
            inner = self.inner if share else None
            mixed = near if inner is None else self._into_rows((1.0 - share) * near + share * inner, self.G, self.h)
            found = self.body.nearest(mixed, time_limit)
            missed = np.inf if found is None else found[1]
            if missed < least:
                best, least = mixed, missed
            if least <= INSIDE:
                break
        return best

    @cached_property
    def inner(self) -> Floats | None:
        """A point well inside W, as far as there is one."""
        found = self.body.inner()
        return None if found is None else into_box(np.maximum(found, 0.0), np.zeros(found.size), np.ones(found.size))

    def reachable(self, time_limit: float | None = None) -> NDArray[np.bool_]:
        """Which arms (n,) can have weight: those that have some at a point of W that gives weight to as many as possible."""
        return self.body.reachable(time_limit)

    @property
    def most(self) -> Floats:
        """Proven upper limits (n,) on the weights."""
        return self.body.hi[: self.w.size]

    # ----------------------------------------------------------------- judging

    @property
    def is_linear(self) -> bool:
        """Whether E w = e and G w <= h, with the bounds, are all there is."""
        form = self.body.form
        return not form.blocks and form.A.shape[1] == form.n

    def _linear_violation(self, weights: Floats) -> float:
        rows, right = np.vstack([self.E, self.G]), np.r_[self.e, self.h]
        return float(misses_of(rows, right, weights, len(self.E)).max(initial=0.0)) if len(rows) else 0.0

    def cuts(self, weights: Floats) -> tuple[Floats | None, Floats | None]:
        """Rows G, h with G w <= h for every w of W, broken at the weights, for each curved constraint broken there."""
        return self._cuts(weights)

    def _cuts(self, weights: Floats) -> tuple[Floats | None, Floats | None]:
        """Rows, right: the linearisations of the curved constraints violated at the weights; None where they have none."""
        rows, rights = [np.zeros((0, weights.size))], [np.zeros(0)]
        for row in self.curved:
            found = self._cut(row, weights)
            if found is None:
                # On the edge of their domain functions have no gradient; next to it they do.
                found = self._cut(row, (1.0 - 1e-9) * weights + 1e-9 * np.minimum(self.unit, 1.0 / weights.size))
            if found is None:
                return None, None
            rows.append(found[0])
            rights.append(found[1])
        return np.vstack(rows), np.concatenate(rights)

    def _cut(self, row: Row, at: Floats) -> tuple[Floats, Floats] | None:
        self.w.value = at
        with np.errstate(all="ignore"):  # a logarithm of zero
            value = row.g.value
        if value is None:
            return None
        values = np.atleast_1d(np.asarray(value, dtype=float)).ravel(order="F")
        if not np.all(np.isfinite(values)):
            return None
        above = values > 0
        if not above.any():
            return np.zeros((0, at.size)), np.zeros(0)
        with np.errstate(all="ignore"):
            slope = row.g.grad.get(self.w)
        if slope is None:
            return None
        slopes = np.asarray(sparse.csc_array(slope).todense(), dtype=float).reshape(at.size, -1).T[above]
        if not np.all(np.isfinite(slopes)):
            return None
        return slopes, slopes @ at - values[above]

    # ----------------------------------------------------------------- reading

    def _read(self, made: list[cp.Constraint]) -> list[Row | None]:
        rows: list[Row | None] = []
        if self.weight_set.G is not None and self.weight_set.h is not None:
            rows.append(Row(self.weight_set.G @ self.w - self.weight_set.h, False, "inequalities G w <= h"))
        return rows + [_as_row(c, k) for k, c in enumerate(made)]

    def _refuse_empty(self, time_limit: float | None) -> None:
        """InputError naming the constraints that cannot all be met, where that is proven."""
        if not self.rows:
            return
        n = self.w.size
        if not np.any(self.body.lo > self.body.hi) and self.body.support(np.zeros(n), time_limit) >= 0.0:
            return
        clash = self._clash()
        raise InputError(
            f"no weights satisfy all constraints: {'; '.join(clash)} contradict each other or the bounds on the weights; "
            "relax one of them"
        )

    def _clash(self) -> list[str]:
        """Constraints that contradict each other: those that need slack at the least total slack, each in its own size."""
        rows = [row for row in self.rows if row is not None]
        slacks = [cp.Variable(row.g.shape, nonneg=True) for row in rows]
        sizes = [_size(row, self.w) for row in rows]
        elastic = [
            cp.abs(row.g / size) <= slack if row.equality else row.g / size <= slack
            for row, size, slack in zip(rows, sizes, slacks, strict=True)
        ]
        members = [self.w >= 0, cp.sum(self.w) == 1]
        if self.weight_set.lower is not None:
            members.append(self.w >= self.weight_set.lower)
        if self.weight_set.upper is not None:
            members.append(self.w <= self.weight_set.upper)
        program = cp.Problem(cp.Minimize(sum(cp.sum(s) for s in slacks)), [*members, *elastic])
        everything = [row.label for row in rows] or ["constraints"]
        if not _solved(program):
            return everything
        prices = [np.atleast_1d(c.dual_value) for c in elastic]
        return [
            _name(row, p) for row, p in zip(rows, prices, strict=True) if np.abs(p).max(initial=0.0) > MEETS
        ] or everything


_KNOWN: weakref.WeakKeyDictionary[WeightSet, Feasible] = weakref.WeakKeyDictionary()


def feasible_set(weight_set: WeightSet, n: int, time_limit: float | None = None) -> Feasible:
    """`Feasible`, read once for each weight set."""
    found = _KNOWN.get(weight_set)
    if found is None:
        found = _KNOWN[weight_set] = Feasible(weight_set, n, time_limit)
    return found


def _left(time_limit: float | None, started: float) -> float | None:
    return None if time_limit is None else max(time_limit - (time.perf_counter() - started), 0.0)


def _nothing(n: int) -> ConeForm:
    return ConeForm(sparse.csr_matrix((0, n)), np.zeros(0), 0, 0, (), n)


def _with_inequalities(form: ConeForm, weight_set: WeightSet) -> ConeForm:
    """The form with G w <= h among its inequalities."""
    if weight_set.G is None or weight_set.h is None:
        return form
    added, at = len(weight_set.h), form.zero + form.nonneg
    G = sparse.hstack([sparse.csr_matrix(weight_set.G), sparse.csr_matrix((added, form.A.shape[1] - form.n))])
    A = sparse.vstack([form.A[:at], G, form.A[at:]]).tocsr()
    A.eliminate_zeros()
    blocks = tuple(replace(b, start=b.start + added, stop=b.stop + added) for b in form.blocks)
    return ConeForm(A, np.r_[form.b[:at], weight_set.h, form.b[at:]], form.zero, form.nonneg + added, blocks, form.n)


def _of_weights_alone(form: ConeForm) -> NDArray[np.bool_]:
    mine = np.diff(form.A[:, form.n :].indptr) == 0 if form.A.shape[1] > form.n else np.ones(len(form.b), dtype=bool)
    return np.asarray(mine & (np.diff(form.A.indptr) > 0))


def _bent(form: ConeForm) -> NDArray[np.bool_]:
    """The arms (n,) in rows of cones, and in rows with other variables."""
    other = ~_of_weights_alone(form)
    other[form.zero + form.nonneg :] = True
    return np.asarray(np.diff(form.A[np.flatnonzero(other)][:, : form.n].tocsc().indptr) > 0)


def _linear(form: ConeForm) -> tuple[Floats, Floats, Floats, Floats]:
    """E, e, G, h: the rows E w = e and G w <= h of the form that concern weights alone."""
    mine, at = _of_weights_alone(form), form.zero + form.nonneg
    zero = np.flatnonzero(mine[: form.zero])
    nonneg = form.zero + np.flatnonzero(mine[form.zero : at])
    E, G = (np.asarray(form.A[k][:, : form.n].todense()) for k in (zero, nonneg))
    return E, form.b[zero], G, form.b[nonneg]


def _name(row: Row, prices: Floats) -> str:
    involved = np.flatnonzero(np.abs(prices).ravel() > MEETS)
    if prices.size == 1:
        return row.label
    return f"{row.label} ({'rows' if involved.size > 1 else 'row'} {', '.join(map(str, involved[:8]))})"


def _size(row: Row, w: cp.Variable) -> float:
    """By how much a constraint of the weights alone varies over arms, a unit for its slack; one where that is not known."""
    if any(v.id != w.id for v in row.g.variables()):
        return 1.0
    values = []
    for at in [np.full(w.size, 1.0 / w.size), *np.eye(w.size)[:20]]:
        w.value = at
        values.append(np.asarray(row.g.value, dtype=float))
    spread = np.abs(np.array(values) - values[0])
    size = float(spread[np.isfinite(spread)].max(initial=0.0))
    return size if size > 0 else 1.0


def _call(constraints: Callable[[Any], list[Any]], w: cp.Variable) -> list[Any]:
    try:
        made = constraints(w)
    except DCPError as error:
        raise InputError(f"constraints: not a DCP expression: {error}") from None
    except Exception as error:
        raise InputError(
            f"constraints raised {type(error).__name__}: {error}; it is called with a CVXPY variable of shape {w.shape} and "
            "returns a list of constraints such as [w[0] <= 0.2]"
        ) from error
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    for k, constraint in enumerate(made):
        if not isinstance(constraint, cp.Constraint):
            raise InputError(
                f"constraints[{k}] is {constraint!r}, not a CVXPY constraint; return a list such as [w[0] <= 0.2]"
            )
        if not constraint.is_dcp():
            try:
                cp.Problem(cp.Minimize(0), [constraint]).solve(solver=cp.CLARABEL)
            except DCPError as error:
                raise InputError(f"constraints[{k}] is not convex by the DCP rules: {error}") from None
        if any(v.attributes["boolean"] or v.attributes["integer"] for v in constraint.variables()):
            raise InputError(f"constraints[{k}] has variables of whole numbers: constraints must be convex")
    return made


def _as_row(constraint: Any, k: int) -> Row | None:
    """The constraint as a row; None for cones that have no function to evaluate."""
    of = (k, constraint)
    if isinstance(constraint, (cp.constraints.Equality, cp.constraints.Zero)):
        return Row(constraint.expr, True, of)
    if isinstance(constraint, (cp.constraints.Inequality, cp.constraints.NonPos)):
        return Row(constraint.expr, False, of)
    if isinstance(constraint, cp.constraints.NonNeg):
        return Row(-constraint.args[0], False, of)
    if isinstance(constraint, cp.constraints.PSD):
        return Row(-cp.lambda_min(constraint.args[0]), False, of)
    if isinstance(constraint, cp.constraints.SOC):
        t, X = constraint.args
        length = cp.norm(X, 2) if X.ndim <= 1 else cp.norm(X, 2, axis=constraint.axis)
        return Row(length - t, False, of)
    return None


def _solved(program: cp.Problem) -> bool:
    """Whether CLARABEL left finite values; what it says about them is not asked."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    except (SolverError, ValueError, ArithmeticError):
        return False
    return all(v.value is not None and np.all(np.isfinite(v.value)) for v in program.variables())
