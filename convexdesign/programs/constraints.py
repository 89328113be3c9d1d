"""The feasible set W in CVXPY: the user's constraints read, checked, and turned into bounds that need no trust.

CVXPY turns W into cone form, {x : b - Ax in K}, x holding w and auxiliary variables. For q and ANY z in the dual cone K*,
z'(b - Ax) >= 0, so that every feasible w has

    w'q <= b'z + (q - A_w'z)'w - (A_u'z)'u <= b'z + max over simplex and bounds of (q - A_w'z)'w + what u could add.

A solver supplies z; the inequality holds whatever it is. At the solution A_u'z vanishes up to the solver's accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import clarabel
import cvxpy as cp
import numpy as np
from cvxpy.error import DCPError, SolverError
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones
from numpy.typing import NDArray
from scipy import sparse

from convexdesign.errors import InputError
from convexdesign.problem.weights import WeightSet

__all__ = ["Feasible"]

Floats = NDArray[np.float64]

# A constraint violated by less than this at the best point is met; solvers leave about 1e-9.
MEETS = 1e-6
# No more weight than this is what a solver leaves of none.
NOTHING = 1e-8


@dataclass(frozen=True)
class Row:
    """One constraint as g(w) <= 0 (convex) or g(w) == 0 (affine), with the words that name it in messages."""

    g: Any
    equality: bool
    label: str


class Feasible:
    """W over n arms as CVXPY constraints, its support function with proven values, and the distance from it.

    Raises InputError for constraints that are not convex (with CVXPY's reason), not understood, or contradictory (the ones
    that cannot be met together are named).
    """

    def __init__(self, weight_set: WeightSet, n: int):
        self.weight_set = weight_set
        self.w = cp.Variable(n, name="w")
        self.rows = self._read()
        self._refuse_empty()
        self._cone = None if weight_set.constraints is None else self._cone_form()

    def constrain(self, w: cp.Variable) -> list[cp.Constraint]:
        """The constraints on another variable w, beside the simplex's own."""
        members = self._bounds(w)
        if self.weight_set.G is not None:
            members.append(self.weight_set.G @ w <= self.weight_set.h)
        if self.weight_set.constraints is not None:
            members.extend(self.weight_set.constraints(w))
        return members

    def violation(self, weights: Floats) -> float:
        """The largest violation of any constraint at the weights."""
        worst = self.weight_set.violation(weights)
        if self.weight_set.constraints is None:
            return worst
        self.w.value = weights
        if any(v is not self.w for row in self.rows for v in row.g.variables()):
            slacks, elastic = self._elastic()
            _solved(cp.Problem(cp.Minimize(sum(cp.sum(s) for s in slacks)), [self.w == weights, *elastic]))
            # Whatever was found for the auxiliary variables, the constraints are evaluated at it.
            self.w.value = weights
        for row in self.rows:
            value = np.asarray(row.g.value, dtype=float)
            excess = np.abs(value).max() if row.equality else value.max()
            worst = max(worst, float(excess))
        return worst

    def support(self, q: Floats) -> float:
        """A proven upper bound on max over w in W of w'q, tight to the solver's accuracy."""
        loose = self.weight_set.support(q)
        if self._cone is None:
            return loose
        size = float(np.abs(q).max()) or 1.0
        return min(loose, size * self._cone.bound(q / size, self.weight_set.box_support))

    def reachable(self) -> NDArray[np.bool_]:
        """Which arms (n,) can have weight: those that have some at a point of W that gives weight to as many as possible."""
        share = cp.Variable(self.w.size, nonneg=True)
        limits = [row.g == 0 if row.equality else row.g <= 0 for row in self.rows]
        enough = 1e-3 / self.w.size
        members = [*self._members(self.w), *limits, share <= self.w, share <= enough]
        if not _solved(cp.Problem(cp.Maximize(cp.sum(share) / enough), members)):
            return np.ones(self.w.size, dtype=bool)
        return np.asarray(share.value > NOTHING)

    def _cone_form(self) -> ConeForm:
        limits = [row.g == 0 if row.equality else row.g <= 0 for row in self.rows]
        program = cp.Problem(cp.Maximize(cp.sum(self.w)), [*self._members(self.w), *limits])
        data = program.get_problem_data(cp.CLARABEL)[0]
        first = data["param_prob"].var_id_to_col[self.w.id]
        return ConeForm(data["A"], data["b"], dims_to_solver_cones(data["dims"]), first, self.w.size)

    # ----------------------------------------------------------------- reading

    def _read(self) -> list[Row]:
        rows = []
        if self.weight_set.G is not None and self.weight_set.h is not None:
            rows.append(Row(self.weight_set.G @ self.w - self.weight_set.h, False, "inequalities G w <= h"))
        if self.weight_set.constraints is not None:
            rows.extend(_as_row(c, k) for k, c in enumerate(_call(self.weight_set.constraints, self.w)))
        return rows

    def _bounds(self, w: cp.Variable) -> list[cp.Constraint]:
        members = []
        if self.weight_set.lower is not None:
            members.append(w >= self.weight_set.lower)
        if self.weight_set.upper is not None:
            members.append(w <= self.weight_set.upper)
        return members

    def _members(self, w: cp.Variable) -> list[cp.Constraint]:
        return [w >= 0, cp.sum(w) == 1, *self._bounds(w)]

    def _refuse_empty(self) -> None:
        """InputError naming the constraints that cannot all be met: those that need slack at the least total slack."""
        if not self.rows:
            return
        slacks, elastic = self._elastic()
        program = cp.Problem(cp.Minimize(sum(cp.sum(s) for s in slacks)), [*self._members(self.w), *elastic])
        if not _solved(program) or program.value <= MEETS:
            return  # met, or nothing learned: then the design's own program will say
        # The multipliers of the least total slack belong to a set of constraints that contradict each other.
        prices = [np.atleast_1d(c.dual_value) for c in elastic]
        clash = [self._name(row, p) for row, p in zip(self.rows, prices, strict=True) if np.abs(p).max() > MEETS]
        raise InputError(
            f"no weights satisfy all constraints: {'; '.join(clash)} contradict each other or the bounds on the weights; "
            "relax one of them"
        )

    def _elastic(self) -> tuple[list[cp.Variable], list[cp.Constraint]]:
        """The constraints with slack, and the slacks."""
        slacks = [cp.Variable(row.g.shape, nonneg=True) for row in self.rows]
        pairs = zip(self.rows, slacks, strict=True)
        return slacks, [cp.abs(row.g) <= slack if row.equality else row.g <= slack for row, slack in pairs]

    @staticmethod
    def _name(row: Row, prices: Floats) -> str:
        involved = np.flatnonzero(np.abs(prices).ravel() > MEETS)
        if prices.size == 1:
            return row.label
        return f"{row.label} ({'rows' if involved.size > 1 else 'row'} {', '.join(map(str, involved[:8]))})"


@dataclass(frozen=True, eq=False)
class ConeForm:
    """{x : b - Ax in K}: A (rows, columns) sparse; w is columns first to first + n of x."""

    A: Any
    b: Floats
    cones: list[Any]
    first: int
    n: int

    def bound(self, q: Floats, box_support: Callable[[Floats], float]) -> float:
        """A proven upper bound on w'q from a dual solution, repaired."""
        mine = slice(self.first, self.first + self.n)
        cost = np.zeros(self.A.shape[1])
        cost[mine] = -q
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        nothing = sparse.csc_matrix((cost.size, cost.size))
        solution = clarabel.DefaultSolver(
            nothing, cost, sparse.csc_matrix(self.A), self.b, self.cones, settings
        ).solve()
        x, z = np.array(solution.x), np.array(solution.z)
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(z))):
            return np.inf
        # z lies inside K*: interior-point iterates never leave it.
        residual = cost + self.A.T @ z
        auxiliary = np.delete(np.arange(cost.size), np.r_[mine])
        charge = 10.0 * float(np.abs(residual[auxiliary]) @ (1.0 + np.abs(x[auxiliary])))
        return float(self.b @ z) + box_support(-residual[mine]) + charge


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
    return made


def _as_row(constraint: Any, k: int) -> Row:
    label = f"constraints[{k}]: {constraint}"
    if isinstance(constraint, (cp.constraints.Equality, cp.constraints.Zero)):
        return Row(constraint.expr, True, label)
    if isinstance(constraint, (cp.constraints.Inequality, cp.constraints.NonPos)):
        return Row(constraint.expr, False, label)
    if isinstance(constraint, cp.constraints.NonNeg):
        return Row(-constraint.args[0], False, label)
    if isinstance(constraint, cp.constraints.PSD):
        return Row(-cp.lambda_min(constraint.args[0]), False, label)
    if isinstance(constraint, cp.constraints.SOC):
        t, X = constraint.args
        length = cp.norm(X, 2) if X.ndim <= 1 else cp.norm(X, 2, axis=constraint.axis)
        return Row(length - t, False, label)
    raise InputError(f"{label}: this kind of cone is not supported; state it as an inequality between expressions")


def _solved(program: cp.Problem) -> bool:
    """Whether CLARABEL left finite values; what it says about them is not asked."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    except (SolverError, ValueError, ArithmeticError):
        return False
    return all(v.value is not None and np.all(np.isfinite(v.value)) for v in program.variables())
