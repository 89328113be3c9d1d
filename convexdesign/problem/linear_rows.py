"""Linear inequalities G w <= h on weights that sum to one: how far weights are from them, and what they leave each arm; and
the support function of the simplex with bounds.

On the simplex g'w <= h says the same as (a g + c)'w <= a h + c, a > 0, any c. Two things do not change with a and c:

- the room of a row, min(h - min g, max g - h), against which its excess g'w - h is measured: for a cap it is the cap (or what
  it leaves to the others, if that is less), for a minimum the minimum. To meet the row at least the share
  excess / (h - min g + excess) of the weight on arms with g_i > min g has to move.
- w_i <= (h - min g) / (g_i - min g), since sum_k (g_k - min g) w_k <= h - min g has no negative term.
"""

from __future__ import annotations

import numpy as np

from convexdesign.typing import Floats

__all__ = ["knapsack", "misses", "most"]


EPS = float(np.finfo(float).eps)


def misses(G: Floats, h: Floats, w: Floats) -> Floats:
    """By how much the weights (n,) miss each row of G w <= h, as a share of its room; zero where they meet it.

    A row that leaves weight to none but the arms with the least g (h = min g) has no room: there it is the weight on others.
    Rounding in g'w - h counts for nothing.
    """
    least, largest = G.min(axis=1), G.max(axis=1)
    excess = G @ w - h - rounding(G, h, w)
    room = np.minimum(h - least, largest - h)
    slack = EPS * np.maximum(np.abs(least), np.abs(h))
    share = np.divide(excess, room, out=np.zeros_like(excess), where=room > 0)
    none = h - least <= slack
    if none.any():
        beyond = (np.maximum(h, least) + slack)[none, None]
        share[none] = (G[none] > beyond) @ w
    return np.where(excess > 0, np.maximum(share, 0.0), 0.0)


def rounding(G: Floats, h: Floats, w: Floats) -> Floats:
    """What rounding may add to each row of G w - h."""
    return 4.0 * EPS * (np.abs(G) @ np.abs(w) + np.abs(h))


def most(G: Floats, h: Floats) -> Floats:
    """Proven upper limits (n,) on the weights from each row of G w <= h alone; infinite where there is none."""
    least = G.min(axis=1)
    left = np.maximum(h - least, 0.0)
    above = G - least[:, None]
    # Each difference is correct to one rounding: a limit of zero is exact.
    limits = np.divide(left[:, None], above, out=np.full_like(above, np.inf), where=above > 0)
    return np.asarray(limits.min(axis=0) * (1.0 + 4.0 * EPS))


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
