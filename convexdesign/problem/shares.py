"""The least sum of a_i^2 / w_i over weights with bounds and sum one: w_i(t) = min(max(a_i / t, l_i), u_i) for one number t."""

from __future__ import annotations

import numpy as np

from convexdesign.typing import Floats

__all__ = ["HALVINGS", "bounded_shares"]


# Halvings of an interval for t, which floating point exhausts.
HALVINGS = 200


def bounded_shares(a: Floats, lower: Floats, upper: Floats) -> tuple[Floats, float]:
    """w (H,) with sum one, and t: halving on the sum of w(t), which falls with t."""

    def at(t: float) -> Floats:
        return np.clip(a / t, lower, upper)

    low, high = float(a[a > 0].min()) * 1e-12, float(a.sum()) * 1e12
    for _ in range(HALVINGS):
        t = float(np.sqrt(low) * np.sqrt(high))
        if not low < t < high:
            break
        low, high = (t, high) if at(t).sum() > 1.0 else (low, t)
    w = at(high)
    # What rounding leaves, and what strata without variance may take where all others are full.
    left = 1.0 - float(w.sum())
    room = np.where((a > 0) & (w < upper), upper - w, 0.0)
    if left > float(room.sum()):
        room = upper - w
    if left > 0 and room.sum() > 0:
        w = w + room * min(left / float(room.sum()), 1.0)
    return w, high
