"""The feasible set W of the weights: the unit simplex, possibly cut by bounds, inequalities or DCP constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import numeric
from convexdesign.arms.read import read_rows, read_vector
from convexdesign.errors import InputError
from convexdesign.problem.linear_rows import knapsack, misses, most
from convexdesign.problem.projection import into_box, into_rows
from convexdesign.typing import Floats

__all__ = ["WeightSet", "read_weight_set", "unit_of"]


# Bounds may sum to one only up to rounding.
SUM_TOLERANCE = 1e-9
EPS = float(np.finfo(float).eps)
# Weights are in units of their limits where these are below a thousandth; and never in smaller units than this.
ORDINARY = 1e-3
LEAST = 2.0**-60
# Below it the reciprocal of a row of G overflows, or nearly.
SMALLEST_ROW = 1e-300


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

    @cached_property
    def _most(self) -> Floats | None:
        """Upper limits (n,) that bounds and single rows of G w <= h prove; None where there are none."""
        if self.G is None or self.h is None or not len(self.G):
            return self.upper
        rows = most(self.G, self.h)
        return np.minimum(rows, 1.0) if self.upper is None else np.minimum(rows, self.upper)

    def limits(self, n: int) -> tuple[Floats, Floats]:
        """Proven limits lower, upper (n,) of every weight, from its bounds and from single rows of G w <= h."""
        lower = np.zeros(n) if self.lower is None else self.lower
        upper = np.ones(n) if self._most is None else np.maximum(self._most, lower)
        return lower, upper

    def unit(self, n: int) -> Floats:
        """The unit (n,) of every weight: the size of its limit where that is small, one elsewhere."""
        return np.ones(n) if self._most is None else unit_of(self.limits(n)[1])

    def allowed(self, n: int) -> NDArray[np.bool_]:
        """Which of the n arms may have weight at all: those neither capped at zero nor crowded out by the lower bounds."""
        if self.lower is None and self._most is None:
            return np.ones(n, dtype=bool)
        lower, upper = self.limits(n)
        allowed = np.asarray(upper > 0)
        return allowed & (lower > 0) if lower.sum() >= 1.0 - SUM_TOLERANCE else allowed

    def projected(self, w: Floats) -> Floats:
        """Weights in W near w, up to rounding: within the bounds exactly, with sum one, and G w <= h.

        Interior points miss their constraints by rounding, on either side; weights that are returned may not.
        """
        lower, upper = self.limits(w.size)
        upper = np.where(self.allowed(w.size), upper, 0.0)
        if self.G is None or self.h is None:
            return into_box(w, lower, upper)
        return into_rows(w, lower, upper, self.G, self.h)

    def box_support(self, q: Floats) -> float:
        """A proven upper bound on max of w'q over the simplex with limits of single weights alone, tight up to rounding.

        An upper bound on h_W whatever other constraints W has.
        """
        if self.lower is None and self._most is None:
            return float(q.max())
        return knapsack(q, *self.limits(q.size))

    def support(self, q: Floats) -> float:
        """A proven upper bound on h_W(q) = max over w in W of w'q, exact for bounds, tight for G w <= h.

        For any multipliers lam >= 0 of G w <= h: w'q <= lam'h + (q - G'lam)'w, and the last is at most its maximum under the
        bounds alone. The multipliers come from a linear program, but prove the bound whatever it did. A callable's
        constraints are left out, which is valid and loose: the conic programs supply a tighter function.
        """
        plain = self.box_support(q)
        if self.G is None or self.h is None:
            return plain
        lam = self._multipliers(q)
        size = float(lam @ np.abs(self.h)) + float((np.abs(self.G).T @ lam + np.abs(q)).max())
        error = (lam.size + 8) * EPS * size
        return min(plain, float(lam @ self.h) + self.box_support(q - self.G.T @ lam) + error)

    def _multipliers(self, q: Floats) -> Floats:
        """Multipliers (k,) of G w <= h for the maximum of w'q, from a linear program in the units of each row and limit."""
        from scipy.optimize import linprog

        assert self.G is not None
        assert self.h is not None
        lower, upper = self.limits(q.size)
        unit = np.where(upper > 0, np.minimum(upper, 1.0), 1.0)
        G = self.G * unit
        size = np.abs(G).max(axis=1, initial=0.0)
        size[size == 0] = 1.0
        scale = float(np.abs(q).max()) or 1.0
        result = linprog(
            -q * unit / scale,
            A_ub=G / size[:, None],
            b_ub=self.h / size,
            A_eq=unit[None],
            b_eq=[1.0],
            bounds=np.column_stack([lower / unit, upper / unit]),
        )
        if result.status != 0:
            return np.zeros(len(G))
        return np.asarray(np.maximum(-np.asarray(result.ineqlin.marginals), 0.0) * scale / size)

    def violation(self, w: Floats) -> float:
        """How far w is from the bounds and inequalities, each in its own terms; callables are checked elsewhere.

        The largest of: the excess over a bound as a share of the bound (of one where it is zero), the excess of a row of
        G w <= h as a share of its room, and |sum w - 1|. No unit of a row changes it.
        """
        excess = [abs(float(w.sum()) - 1.0), -float(w.min())]
        if self.lower is not None:
            excess.append(_relative(self.lower - w, self.lower))
        if self.upper is not None:
            excess.append(_relative(w - self.upper, self.upper))
        if self.G is not None and self.h is not None:
            excess.append(float(misses(self.G, self.h, w).max(initial=0.0)))
        return max(0.0, *excess)


def unit_of(upper: Floats) -> Floats:
    """Powers of two (n,) near the upper limits of weights where these are small, one elsewhere.

    Solvers and coordinates see weights in these units: what is small by a cap is not negligible.
    """
    return np.asarray(np.exp2(np.round(np.log2(np.where(upper < ORDINARY, np.maximum(upper, LEAST), 1.0)))))


def _relative(excess: Floats, bound: Floats) -> float:
    """The largest excess as a share of its bound, less what rounding adds; of one where the bound is zero."""
    return float(((excess - 4.0 * EPS * bound) / np.where(bound > 0, bound, 1.0)).max())


def read_weight_set(
    n: int,
    min_weight: ArrayLike | None,
    max_weight: ArrayLike | None,
    inequalities: Any,
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
        left, right = inequalities
        G = np.asarray(read_rows(left, "the matrix G of inequalities", n).values, dtype=float)
        h = read_vector(right, "the right-hand side h of inequalities", G.shape[0])
        size = np.abs(G).max(axis=1, initial=0.0)
        small = np.flatnonzero((size > 0) & (size < SMALLEST_ROW))
        if small.size:
            i = int(small[0])
            raise InputError(
                f"row {i} of the matrix G of inequalities is at most {size[i]:g}, too small to be divided by; "
                f"multiply the row and h[{i}] by a power of ten"
            )
    if constraints is not None and not callable(constraints):
        raise InputError(
            f"constraints must be a function from the CVXPY variable w to a list of constraints, such as "
            f"lambda w: [w[0] <= 0.2], got {_kind(constraints)}; linear ones, G w <= h, go into inequalities=(G, h)"
        )
    return WeightSet(lower, upper, G, h, constraints)


def _kind(value: object) -> str:
    """What a value is, in a few words."""
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"a {type(value).__name__}"


def _for_all(value: ArrayLike, what: str, n: int) -> NDArray[Any]:
    """A number for every arm, or what is given for each."""
    values = numeric(value, what)
    return np.broadcast_to(values, (n,)) if values.ndim == 0 else values


def _bound(value: ArrayLike, what: str, n: int) -> Floats:
    values = read_vector(_for_all(value, what, n), what, n)
    bad = np.flatnonzero((values < 0) | (values > 1))
    if bad.size:
        raise InputError(f"{what}[{bad[0]}] is {values[bad[0]]:g}; a bound on a weight lies between 0 and 1")
    return values
