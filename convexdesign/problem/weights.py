"""The feasible set W of the weights: the unit simplex, possibly cut by bounds, inequalities or DCP constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.problem.read import read_rows, read_vector

__all__ = ["WeightSet", "read_weight_set"]

Floats = NDArray[np.float64]

# Bounds may sum to one only up to rounding.
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class WeightSet:
    """W = {w >= 0, sum w = 1, lower <= w <= upper, G w <= h, and a callable's DCP constraints}; all parts optional.

    lower, upper (n,) or None; G (k, n) with h (k,); constraints maps the CVXPY variable w to a list of constraints.
    """

    lower: Floats | None = None
    upper: Floats | None = None
    G: Floats | None = None
    h: Floats | None = None
    constraints: Callable[[Any], list[Any]] | None = None

    @property
    def is_simplex(self) -> bool:
        """Whether W is the whole unit simplex."""
        return self.lower is None and self.upper is None and self.is_box

    @property
    def is_box(self) -> bool:
        """Whether W is the simplex with bounds on the weights alone."""
        return self.G is None and self.constraints is None

    def allowed(self, n: int) -> NDArray[np.bool_]:
        """Which of the n arms may have weight at all: those neither capped at zero nor crowded out by the lower bounds."""
        allowed = np.ones(n, dtype=bool)
        if self.upper is not None:
            allowed &= self.upper > 0
        if self.lower is not None and self.lower.sum() >= 1.0 - SUM_TOLERANCE:
            allowed &= self.lower > 0
        return allowed

    def projected(self, w: Floats) -> Floats:
        """Weights within the bounds and with sum one, near w: clipped, and what that leaves over shared out by the room left.

        Interior points miss their bounds by rounding, on either side; weights that are returned may not.
        """
        lower = np.zeros(w.size) if self.lower is None else self.lower
        upper = np.ones(w.size) if self.upper is None else self.upper
        upper = np.where(self.allowed(w.size), upper, 0.0)
        w = np.clip(w, lower, upper)
        left = 1.0 - float(w.sum())
        # Arms well inside their bounds take it up: there the criterion is flat, and arms at a bound stay there.
        room = (w - lower) * (upper - w)
        if not room.any():
            room = upper - w if left > 0 else w - lower
        total = float(room.sum())
        return np.clip(w + left * room / total, lower, upper) if total > 0 else w

    def box_support(self, q: Floats) -> float:
        """max of w'q over the simplex with bounds alone: a fractional knapsack, filled from the best entry down.

        An upper bound on h_W whatever other constraints W has.
        """
        if self.lower is None and self.upper is None:
            return float(q.max())
        lower = np.zeros(q.size) if self.lower is None else self.lower
        upper = np.ones(q.size) if self.upper is None else self.upper
        order = np.argsort(-q, kind="stable")
        room = np.cumsum((upper - lower)[order])
        left = 1.0 - lower.sum()
        filled = np.diff(np.minimum(room, left), prepend=0.0)
        return float(lower @ q + filled @ q[order])

    def support(self, q: Floats) -> float:
        """A proven upper bound on h_W(q) = max over w in W of w'q, exact for bounds, tight for G w <= h.

        For any multipliers lam >= 0 of G w <= h: w'q <= lam'h + (q - G'lam)'w, and the last is at most its maximum under the
        bounds alone. The multipliers come from a linear program, but prove the bound whatever it did. A callable's
        constraints are left out, which is valid and loose: the conic programs supply a tighter function.
        """
        plain = self.box_support(q)
        if self.G is None or self.h is None:
            return plain
        from scipy.optimize import linprog

        bounds = list(zip(self._or(self.lower, q, 0.0), self._or(self.upper, q, 1.0), strict=True))
        size = float(np.abs(q).max()) or 1.0
        result = linprog(-q / size, A_ub=self.G, b_ub=self.h, A_eq=np.ones((1, q.size)), b_eq=[1.0], bounds=bounds)
        if result.status != 0:
            return plain
        lam = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0) * size
        return min(plain, float(lam @ self.h) + self.box_support(q - self.G.T @ lam))

    @staticmethod
    def _or(bound: Floats | None, q: Floats, default: float) -> Floats:
        return np.full(q.size, default) if bound is None else bound

    def violation(self, w: Floats) -> float:
        """How far w is from the bounds and inequalities (the largest excess); callables are checked elsewhere."""
        excess = [abs(float(w.sum()) - 1.0), -float(w.min())]
        if self.lower is not None:
            excess.append(float((self.lower - w).max()))
        if self.upper is not None:
            excess.append(float((w - self.upper).max()))
        if self.G is not None and self.h is not None:
            size = np.maximum(np.abs(self.G).max(axis=1), np.abs(self.h))
            excess.append(float(((self.G @ w - self.h) / np.where(size > 0, size, 1.0)).max()))
        return max(0.0, *excess)


def read_weight_set(
    n: int,
    min_weight: ArrayLike | None,
    max_weight: ArrayLike | None,
    inequalities: tuple[ArrayLike, ArrayLike] | None,
    constraints: Callable[[Any], list[Any]] | None,
) -> WeightSet:
    """Check bounds and constraints at the border; contradictions among the bounds are named."""
    lower = None if min_weight is None else _bound(min_weight, "min_weight", n)
    upper = None if max_weight is None else _bound(max_weight, "max_weight", n)
    if lower is not None and lower.sum() > 1.0 + SUM_TOLERANCE:
        raise InputError(f"min_weight sums to {lower.sum():g} over the arms; weights sum to 1: lower the bounds")
    if upper is not None and upper.sum() < 1.0 - SUM_TOLERANCE:
        raise InputError(f"max_weight sums to {upper.sum():g} over the arms; weights sum to 1: raise the bounds")
    if lower is not None and upper is not None:
        crossed = np.flatnonzero(lower > upper)
        if crossed.size:
            i = int(crossed[0])
            raise InputError(
                f"min_weight[{i}] = {lower[i]:g} exceeds max_weight[{i}] = {upper[i]:g}; swap or relax them"
            )
    G = h = None
    if inequalities is not None:
        G = np.asarray(read_rows(inequalities[0], "the matrix G of inequalities", n).values, dtype=float)
        h = read_vector(inequalities[1], "the right-hand side h of inequalities", G.shape[0])
    if constraints is not None and not callable(constraints):
        raise InputError(
            f"constraints must be a function from the CVXPY variable w to a list of constraints, got {constraints!r}"
        )
    return WeightSet(lower, upper, G, h, constraints)


def _bound(value: ArrayLike, what: str, n: int) -> Floats:
    values = read_vector(
        np.broadcast_to(np.asarray(value, dtype=float), (n,)) if np.ndim(value) == 0 else value, what, n
    )
    bad = np.flatnonzero((values < 0) | (values > 1))
    if bad.size:
        raise InputError(f"{what}[{bad[0]}] is {values[bad[0]]:g}; a bound on a weight lies between 0 and 1")
    return values
