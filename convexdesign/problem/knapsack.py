"""The support function of the simplex with bounds, max w'q over sum w = 1, lower <= w <= upper, proven from above."""

from __future__ import annotations

import numpy as np

from convexdesign.typing import Floats

__all__ = ["knapsack"]


EPS = float(np.finfo(float).eps)


def knapsack(q: Floats, lower: Floats, upper: Floats) -> float:
    """max of w'q over sum w = 1, lower <= w <= upper, from above: a fractional knapsack, filled from the best entry down.

    For any level nu, w'q <= nu + sum_i ( upper_i (q_i - nu)^+ - lower_i (nu - q_i)^+ ), with equality at the price of the arm
    that is filled in part.
    """
    order = np.argsort(-q, kind="stable")
    filled = np.cumsum((upper - lower)[order])
    last = min(int(np.searchsorted(filled, 1.0 - lower.sum())), q.size - 1)
    nu = float(q[order[last]])
    terms = np.where(q > nu, upper, lower) * (q - nu)
    # Sums in pairs lose at most this.
    return nu + float(terms.sum()) + 64.0 * EPS * (abs(nu) + float(np.abs(terms).sum()))
