"""Weights moved into bounds and linear rows, by as little as rounding and a solver have left them outside."""

from __future__ import annotations

import numpy as np

from convexdesign.problem.linear_rows import misses, rounding
from convexdesign.typing import Floats

__all__ = ["into_box", "into_rows", "misses_of"]


EPS = float(np.finfo(float).eps)
# Steps at most: one is enough where the rows that are missed stay the same.
MOST_STEPS = 20


def into_box(w: Floats, lower: Floats, upper: Floats) -> Floats:
    """Weights within bounds and with sum one, near w: clipped, and what that leaves over shared out by the room left."""
    w = np.clip(w, lower, upper)
    for _ in range(MOST_STEPS):
        left = 1.0 - float(w.sum())
        if abs(left) <= 2.0 * EPS:
            break
        # Arms well inside their bounds take it up: there the criterion is flat, and arms at a bound stay there.
        room = (w - lower) * (upper - w)
        if not room.any():
            room = upper - w if left > 0 else w - lower
        total = float(room.sum())
        if not total > 0:
            break
        w = np.clip(w + left * (room / total), lower, upper)
    return w


def into_rows(w: Floats, lower: Floats, upper: Floats, G: Floats, h: Floats, equalities: int = 0) -> Floats:
    """Weights within bounds, with sum one and G w <= h, near w; the first `equalities` rows hold with equality.

    Newton's steps onto the rows missed so far, each the least move in terms of the room that every arm has within its bounds,
    so that small weights move little. The best weights met come back: where W is empty they miss it.
    """
    best, least = w, np.inf
    touched = np.arange(len(G)) < equalities
    for _ in range(MOST_STEPS):
        w = into_box(w, lower, upper)
        over = G @ w - h
        over[:equalities] = np.abs(over[:equalities])
        missed = over > rounding(G, h, w)
        size = float(misses_of(G, h, w, equalities).max(initial=0.0))
        if size < least:
            best, least = w, size
        if not missed.any():
            return w
        touched |= missed
        root = np.sqrt(np.maximum((w - lower) * (upper - w), 0.0))
        rows = np.vstack([G[touched], np.ones(w.size)])
        right = np.append(h[touched], 1.0) - rows @ w
        rows = rows * root
        norm = np.linalg.norm(rows, axis=1)
        useful = norm > 0
        if not useful[:-1].any():
            break
        step = np.linalg.lstsq(rows[useful] / norm[useful, None], right[useful] / norm[useful], rcond=1e-12)[0]
        w = w + root * step
    return best


def misses_of(G: Floats, h: Floats, w: Floats, equalities: int) -> Floats:
    """By how much w misses each row, the first `equalities` of them on either side."""
    share = misses(G, h, w)
    if equalities:
        share[:equalities] = np.maximum(share[:equalities], misses(-G[:equalities], -h[:equalities], w))
    return share
