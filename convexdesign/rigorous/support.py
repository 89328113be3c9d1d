"""h_W(q) = max over w in W of w'q, from above, for q known from above: the simplex, bounds, and G w <= h."""

from __future__ import annotations

import math

import numpy as np

from convexdesign.problem.weights import WeightSet
from convexdesign.rigorous.data import UNIT
from convexdesign.typing import Floats

__all__ = ["weighted_maximum"]


def weighted_maximum(W: WeightSet, q: Floats) -> float:
    """A double at least max of w'q over W, for every q' <= q too; a callable's constraints are left out (valid, loose).

    For any level nu and multipliers lam >= 0 of G w <= h, with p = q - G'lam:
    w'q <= lam'h + nu + sum_i ( upper_i (p_i - nu)^+ - lower_i (nu - p_i)^+ ), by duality, whatever nu and lam are.
    """
    if not np.all(np.isfinite(q)):
        return np.inf
    best = float(q.max())
    if W.lower is None and W.upper is None and W.G is None:
        return best
    lower = np.zeros(q.size) if W.lower is None else W.lower
    upper = np.ones(q.size) if W.upper is None else W.upper
    best = min(best, _dual(q, np.zeros(q.size), [], lower, upper))
    if W.G is not None and W.h is not None:
        lam = _multipliers(W, q, lower, upper)
        shift = W.G.T @ lam
        error = (lam.size + 4) * UNIT * (np.abs(W.G).T @ lam)
        best = min(best, _dual(q - shift, error + 2 * UNIT * np.abs(q), list(zip(lam, W.h)), lower, upper))
    return best


def _dual(p: Floats, error: Floats, products: list[tuple[float, float]], lower: Floats, upper: Floats) -> float:
    """lam'h + nu + sum_i ( upper_i (p_i - nu)^+ - lower_i (nu - p_i)^+ ), rounded up; p is known to within `error`."""
    p = p + error * (1.0 + 4 * UNIT) + 2 * UNIT * np.abs(p)
    order = np.argsort(-p, kind="stable")
    full = int(np.searchsorted(np.cumsum((upper - lower)[order]), 1.0 - lower.sum()))
    nu = float(p[order[min(full, p.size - 1)]])
    above, below = np.maximum(p - nu, 0.0), np.maximum(nu - p, 0.0)
    terms = [nu, *(upper * above).tolist(), *(-lower * below).tolist(), *(a * b for a, b in products)]
    size = math.fsum(abs(t) for t in terms)
    return math.fsum(terms) + 8 * UNIT * size


def _multipliers(W: WeightSet, q: Floats, lower: Floats, upper: Floats) -> Floats:
    """Multipliers from a linear program; any nonnegative ones prove the bound."""
    from scipy.optimize import linprog

    size = float(np.abs(q).max()) or 1.0
    bounds = list(zip(lower, upper))
    result = linprog(-q / size, A_ub=W.G, b_ub=W.h, A_eq=np.ones((1, q.size)), b_eq=[1.0], bounds=bounds)
    if result.status != 0:
        return np.zeros(0 if W.h is None else W.h.size)
    return np.maximum(-np.asarray(result.ineqlin.marginals), 0.0) * size
