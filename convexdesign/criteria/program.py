"""What every formulation of the minimax problem hands back, and the parts they share.

All formulations work on arrays in whitened coordinates: arms U (n, r), targets T (m, r), prior information A0 (r, r) psd or
None, a weight set W within the simplex. With the information matrix A(w) = A0 + sum_i w_i u_i u_i' they all find

    t* = min over w in W of max_j t_j' A(w)^-1 t_j.

Their solutions hold a dual one: multipliers mu in the simplex and vectors b_j of the bound by weak duality

    t* >= sum_j (b_j't_j)^2 / ( sum_j b_j'A0b_j + max over w in W of sum_i w_i sum_j (b_j'u_i)^2 ),

which is tight at b_j = sqrt(mu_j) A(w*)^-1 t_j. An arm with several responses is a group of rows under one weight: arms are
then (n, k, r), u_i u_i' stands for sum_k u_ik u_ik', and (b_j'u_i)^2 for sum_k (b_j'u_ik)^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import cvxpy as cp
import numpy as np

from convexdesign.arms.groups import sum_per_arm
from convexdesign.typing import Floats

__all__ = [
    "Constrain",
    "Program",
    "information_variables",
    "normalised",
    "per_target",
    "price_of_information",
    "prior_rows",
    "simplex",
    "symmetric_root",
]

Constrain: TypeAlias = Callable[[cp.Expression], Sequence[cp.Constraint]]

# Multipliers below this share of the largest are zero up to a solver's rounding: their vectors are noise.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Program:
    """A convex program and how to read a design off its solution, once a backend has left values in it.

    weights()      w (n,), nonnegative with sum one; in W to the backend's accuracy only.
    multipliers()  mu (m,), nonnegative with sum one.
    vectors()      b_j (m, r), the solver's own: much closer to optimal than sqrt(mu_j) A(w)^-1 t_j, whose error is of
                   first order in that of w.
    value()        the backend's estimate of the optimum. Never to be trusted.
    """

    problem: cp.Problem
    weights: Callable[[], Floats]
    multipliers: Callable[[], Floats]
    vectors: Callable[[], Floats]
    value: Callable[[], float]


def simplex(n: int, constrain: Constrain | None) -> tuple[cp.Expression, list[cp.Constraint]]:
    """The weights w (n,) and the constraints that put them into W: w >= 0, sum w = 1, and the user's own.

    Where the constraints have a `unit` (n,) for the weights, they are solved for in it: a solver whose variables are all of
    the size of one does not take a cap of 1e-10 for zero.
    """
    x = cp.Variable(n, name="w")
    unit = getattr(constrain, "unit", None)
    w = x if unit is None or np.all(unit == 1.0) else cp.multiply(unit, x)
    own = [] if constrain is None else list(constrain(w))
    return w, [x >= 0, cp.sum(w) == 1, *own]


def information_variables(
    arms: Floats, prior: Floats | None, w: cp.Expression
) -> tuple[cp.Expression, list[cp.Constraint]]:
    """A(w) = A0 + sum_i w_i u_i u_i' as a symmetric matrix of variables, with the constraints that define it.

    The cones of many targets share it: each then holds r(r+1)/2 entries, and not n times as many. The variables are
    those of the lower triangle, so that no equality is stated twice.
    """
    r = arms.shape[1]
    row, col = np.tril_indices(r)
    lower = cp.Variable(row.size, name="A")
    held = np.zeros(row.size) if prior is None else prior[row, col]
    place = np.zeros((r, r), dtype=int)
    place[row, col] = place[col, row] = np.arange(row.size)
    matrix = cp.reshape(lower[place.ravel()], (r, r), order="C")
    each = sum_per_arm((arms[:, row] * arms[:, col]).T, len(arms) // w.size)
    return matrix, [lower == held + each @ w]


def prior_rows(prior: Floats | None, r: int) -> Floats:
    """Rows k of A0^(1/2), with A0 = sum k k': the prior as measurements of weight one; (rank A0, r)."""
    if prior is None:
        return np.zeros((0, r))
    values, axes = np.linalg.eigh(prior)
    keep = values > values[-1] * r * np.finfo(float).eps
    return np.asarray((axes[:, keep] * np.sqrt(values[keep])).T)


def normalised(x: Any) -> Floats:
    """max(x, 0) divided by its sum; nan where there is no solution, or nothing positive in it."""
    positive = np.maximum(np.asarray(np.nan if x is None else x, dtype=float).ravel(), 0.0)
    total = positive.sum()
    return positive / total if total > 0 else np.full_like(positive, np.nan)


def per_target(rows: Any, multipliers: Floats) -> Floats:
    """b_j = row_j / sqrt(mu_j) from rows mu_j A^-1 t_j (m, r); zero where mu_j is."""
    keep = multipliers > NEGLIGIBLE * multipliers.max()
    scale = np.zeros_like(multipliers)
    scale[keep] = 1.0 / np.sqrt(multipliers[keep])
    return np.asarray(rows, dtype=float) * scale[:, None]


def price_of_information(multiplier: Any, r: int) -> Floats:
    """The psd matrix Q with <Q, A> = multiplier of the lower triangle of A, as `information` defines it; nan if unset.

    The triangle holds each off-diagonal entry once, so its multiplier is twice the entry of Q. The sign of an equality's
    multiplier is a convention; that of Q is not.
    """
    Q = np.full((r, r), np.nan)
    if multiplier is None:
        return Q
    row, col = np.tril_indices(r)
    Q[row, col] = np.ravel(multiplier) * np.where(row == col, 1.0, 0.5)
    Q[col, row] = Q[row, col]
    return Q if np.trace(Q) >= 0 else -Q


def symmetric_root(Q: Floats) -> Floats:
    """The symmetric root of Q, negative eigenvalues (a solver's rounding) taken as zero; nan where Q is."""
    if not np.all(np.isfinite(Q)):
        return np.full_like(Q, np.nan)
    values, axes = np.linalg.eigh((Q + Q.T) / 2)
    return np.asarray((axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T)
