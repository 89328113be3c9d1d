"""Weights that satisfy bounds, inequalities and their sum exactly, as fractions, near weights that do so up to rounding.

A design proves that the optimum is no worse than its own value only if it is allowed to the last bit. What rounding leaves
is repaired: clipped to the bounds and the rest shared out among arms with room; then, where G w <= h is exceeded, moved
a little way to where they are met, with a margin if there is one. Whatever was tried, the result is checked in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from convexdesign.problem.weights import WeightSet
from convexdesign.typing import Floats

__all__ = ["exactly_allowed", "is_exactly_allowed"]

Exact = list[Fraction]

# How far weights may be moved to meet G w <= h; tried in turn.
REACHES = (1e-13, 1e-11, 1e-9, 1e-7)
# A margin of more than this share of the reach is no rounding of the linear program's.
INSIDE = 1e-5
# Rows with no more room than this, relative to their size, may be such as can be met with equality only. These are solved
# in fractions, at most so many.
NEAR = 1e-12
MOST_EQUATIONS = 40


def is_exactly_allowed(W: WeightSet, w: Sequence[Fraction]) -> bool:
    """Whether the weights satisfy bounds, G w <= h and the sum exactly; constraints by a function are not looked at."""
    if sum(w) != 1 or min(w) < 0:
        return False
    if W.lower is not None and any(x < Fraction(b) for x, b in zip(w, W.lower.tolist()) if x < 1):
        return False
    if W.upper is not None and any(x > Fraction(b) for x, b in zip(w, W.upper.tolist()) if x > 0):
        return False
    if W.G is None or W.h is None:
        return True
    return all(_product(g, w) <= Fraction(b) for g, b in zip(W.G, W.h.tolist()))


def exactly_allowed(W: WeightSet, weights: Floats) -> Exact | None:
    """Weights in W, exactly, near the weights (n,); None where none are found, or for constraints given as a function."""
    if W.constraints is not None:
        return None
    w = _in_box(W, [Fraction(x) for x in weights.tolist()])
    if w is None or is_exactly_allowed(W, w):
        return w
    for reach in REACHES:
        moved, inside = _moved(W, w, reach)
        for tried in (moved, None if moved is None or inside else _on_equations(W, moved)):
            if tried is not None and is_exactly_allowed(W, tried):
                return tried
    return None


def _product(g: Floats, w: Sequence[Fraction]) -> Fraction:
    return sum((Fraction(a) * x for a, x in zip(g.tolist(), w) if a and x), Fraction(0))


def _bounds(W: WeightSet, n: int) -> tuple[Exact, Exact]:
    lower = [Fraction(0)] * n if W.lower is None else [Fraction(x) for x in W.lower.tolist()]
    upper = [Fraction(1)] * n if W.upper is None else [Fraction(x) for x in W.upper.tolist()]
    return lower, upper


def _in_box(W: WeightSet, w: Exact) -> Exact | None:
    """w over its sum, clipped, and what that leaves over shared out: arms with weight first, and those with most room."""
    total = sum(w)
    w = [x / total for x in w]
    if W.lower is None and W.upper is None:
        return w
    lower, upper = _bounds(W, len(w))
    w = [min(max(x, a), b) for x, a, b in zip(w, lower, upper)]
    left = 1 - sum(w)
    if left == 0:
        return w
    room = [(b - x if left > 0 else x - a) for x, a, b in zip(w, lower, upper)]
    for i in sorted(range(len(w)), key=lambda i: (w[i] == 0, -room[i])):
        step = max(min(left, room[i]), -room[i])
        w[i] += step
        left -= step
        if left == 0:
            return w
    return None


def _moved(W: WeightSet, w: Exact, reach: float) -> tuple[Exact | None, bool]:
    """Weights within `reach` of w that lie inside all rows by as large a margin as there is, and whether there is one.

    A linear program in units of the reach, so that its own tolerances are far below it.
    """
    from scipy.optimize import linprog

    assert W.G is not None
    assert W.h is not None
    n = len(w)
    lower, upper = _bounds(W, n)
    size = np.maximum(np.abs(W.G).max(axis=1), np.abs(W.h))
    size = np.where(size > 0, size, 1.0)
    room = np.array([float((Fraction(h) - _product(g, w)) / Fraction(s)) for g, h, s in zip(W.G, W.h.tolist(), size)])
    down = [max(-1.0, float(a - x) / reach) for a, x in zip(lower, w)]
    up = [min(1.0, float(b - x) / reach) for b, x in zip(upper, w)]
    result = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.hstack([W.G / size[:, None], np.ones((size.size, 1))]),
        b_ub=np.minimum(room / reach, 10.0),
        A_eq=np.append(np.ones(n), 0.0)[None, :],
        b_eq=[0.0],
        bounds=[*zip(down, up), (None, 1.0)],
    )
    if result.status != 0:
        return None, False
    moved = [x + Fraction(float(reach * step)) for x, step in zip(w, result.x[:n])]
    moved = [max(x, Fraction(0)) for x in moved]
    return _in_box(WeightSet(W.lower, W.upper), moved), bool(result.x[n] > INSIDE)


def _on_equations(W: WeightSet, w: Exact) -> Exact | None:
    """The least change, relative to the room that each weight has, that meets rows without room with equality, in fractions."""
    assert W.G is not None
    assert W.h is not None
    rows, changes = [], []
    for g, h in zip(W.G, W.h.tolist()):
        room = Fraction(h) - _product(g, w)
        if room <= Fraction(NEAR * max(float(np.abs(g).max()), abs(h))):
            rows.append([Fraction(x) for x in g.tolist()])
            changes.append(room)
    if not 0 < len(rows) <= MOST_EQUATIONS:
        return None
    lower, upper = _bounds(W, len(w))
    give = [Fraction(float(min(x - a, b - x))) ** 2 for x, a, b in zip(w, lower, upper)]
    equations = [*rows, [Fraction(1)] * len(w)]
    scaled = [[a * r for a, r in zip(row, give)] for row in equations]
    gram = [[sum((a * b for a, b in zip(row, other) if a and b), Fraction(0)) for other in equations] for row in scaled]
    prices = _solution(gram, [*changes, Fraction(0)])
    if prices is None:
        return None
    return [x + sum((p * row[i] for p, row in zip(prices, scaled)), Fraction(0)) for i, x in enumerate(w)]


def _solution(A: list[Exact], b: Exact) -> Exact | None:
    """A solution of A x = b by elimination, free unknowns at zero; None where there is none."""
    k = len(b)
    M = [[*row, value] for row, value in zip(A, b)]
    pivots: list[tuple[int, int]] = []
    used = 0
    for c in range(k):
        at = next((i for i in range(used, k) if M[i][c] != 0), None)
        if at is None:
            continue
        M[used], M[at] = M[at], M[used]
        M[used] = [x / M[used][c] for x in M[used]]
        for i in range(k):
            if i != used and M[i][c] != 0:
                factor = M[i][c]
                M[i] = [x - factor * y for x, y in zip(M[i], M[used])]
        pivots.append((used, c))
        used += 1
    if any(row[k] != 0 for row in M[used:]):
        return None
    x = [Fraction(0)] * k
    for i, c in pivots:
        x[c] = M[i][k]
    return x
