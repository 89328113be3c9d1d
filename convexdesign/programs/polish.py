"""Newton's method on the optimality conditions of a minimax design: a solver's last digits, almost for free.

A conic solver may come to rest at a gap of 1e-7. But it shows the active sets: which arms have weight and which targets a
multiplier. On these the optimality conditions over the whole simplex are equations, with C = A(w)^-1 and P = T C U':

    sum_j mu_j P_ji^2 = eta  (arms i with weight),    t_j'C t_j = t  (targets j with a multiplier),    sum w = sum mu = 1,

and a few Newton steps solve them to rounding. The sets are corrected at every step (a semismooth Newton method); where they
were guessed wrong the result is worse than the start and is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from convexdesign.problem.responses import spread, stacked
from convexdesign.typing import Floats

__all__ = ["polish"]

# How heavily a price counts against a weight when the active sets are guessed: the first is right most of the time.
GUESSES = (1.0, 0.03, 30.0)
MAX_STEPS = 10
# Steps without halving the best gap before a guess is given up.
PATIENCE = 3
# Rounding leaves about this gap.
EXACT = 1e-13
# Directions measured this little, relative to the best (in standard deviations), count as not measured.
SINGULAR = 1e-9
# Larger systems cost more than another conic solve.
MAX_UNKNOWNS = 1500


@dataclass(frozen=True, eq=False)
class Point:
    """Weights and multipliers, and what follows from them.

    images = U F (n, r), C = FF'; P (m, n); variances t_j'C t_j (m,); prices sum_j mu_j P_ji^2 (n,); gap: of max variance to
    the bound from b_j = sqrt(mu_j) C t_j. Arms with k responses have k rows in images and columns in P each; their P_ji^2
    is a sum over them, squares (m, n).
    """

    weights: Floats
    multipliers: Floats
    images: Floats
    P: Floats
    squares: Floats
    variances: Floats
    prices: Floats
    gap: float


def polish(
    arms: Floats, targets: Floats, held: Floats, weights: Floats, multipliers: Floats
) -> tuple[Floats, Floats] | None:
    """Better weights (n,) and multipliers (m,) for arms (n, r), targets (m, r) and prior rows (k, r); None if not found."""
    start = _point(arms, targets, held, weights, multipliers)
    if start is None:
        return None
    best = start
    for guess in GUESSES:
        best = _newton(arms, targets, held, start, best, guess)
        if best.gap <= EXACT:
            break
    return None if best is start else (best.weights, best.multipliers)


def _newton(arms: Floats, targets: Floats, held: Floats, point: Point, best: Point, guess: float) -> Point:
    """The best point on the way from this one, with active sets after the guess; `best` if none is better."""
    eta, t = float(point.weights @ point.prices), float(point.multipliers @ point.variances)
    # Weights and multipliers have units of their own: their typical size decides what a relative price of 1 is worth.
    per_price = guess * float(point.weights @ point.weights) / eta
    per_variance = guess * float(point.multipliers @ point.multipliers) / t
    idle = 0
    for _ in range(MAX_STEPS):
        free = point.weights > per_price * (eta - point.prices)
        active = point.multipliers > per_variance * (t - point.variances)
        if not (free.any() and active.any() and np.count_nonzero(free) + np.count_nonzero(active) <= MAX_UNKNOWNS):
            break
        weights, multipliers, eta, t = _step(point, free, active, eta, t)
        if not (weights.sum() > 0 and multipliers.sum() > 0 and eta > 0 and t > 0):
            break
        following = _point(arms, targets, held, weights / weights.sum(), multipliers / multipliers.sum())
        if following is None:
            break
        point = following
        idle = 0 if point.gap < best.gap / 2 else idle + 1
        best = point if point.gap < best.gap else best
        if best.gap <= EXACT or idle == PATIENCE:
            break
    return best


def _step(
    point: Point, free: NDArray[np.bool_], active: NDArray[np.bool_], eta: float, t: float
) -> tuple[Floats, Floats, float, float]:
    """The solution of the equations linearised at the point, weights and multipliers zero outside the sets, clipped at zero.

    d price_i / d w_k = -2 K_ik M_ik with K = U C U', M = P' diag(mu) P, and d variance_j / d w_k = -P_jk^2. Optimal weights
    are often not unique, so the system may be singular: the smallest step that solves it is taken.
    """
    n, m = int(np.count_nonzero(free)), int(np.count_nonzero(active))
    P = point.P
    k = P.shape[1] // free.size
    rows = np.repeat(free, k)
    slopes = -2.0 * (point.images[rows] @ point.images.T) * ((P[:, rows] * point.multipliers[:, None]).T @ P)
    if k > 1:
        slopes = slopes.reshape(n, k, free.size, k).sum(axis=(1, 3))
    squares = point.squares[active]
    matrix = np.zeros((n + m + 2, n + m + 2))
    matrix[:n, :n], matrix[:n, n:-2], matrix[:n, -2] = slopes[:, free], squares[:, free].T, -1.0
    matrix[n:-2, :n], matrix[n:-2, -1] = -squares[:, free], -1.0
    matrix[-2, :n] = matrix[-1, n:-2] = 1.0
    right = np.concatenate([slopes @ point.weights, -point.variances[active] - squares @ point.weights, np.ones(2)])
    now = np.concatenate([point.weights[free], point.multipliers[active], [eta, t]])
    rows = np.concatenate([np.full(n, 1.0 / eta), np.full(m, 1.0 / t), np.ones(2)])
    columns = np.concatenate([np.full(n, point.weights.max()), np.full(m, point.multipliers.max()), [eta, t]])
    change = scipy.linalg.lstsq(
        rows[:, None] * matrix * columns, rows * (right - matrix @ now), lapack_driver="gelsy", cond=1e-13
    )[0]
    solution = now + columns * change
    weights, multipliers = np.zeros_like(point.weights), np.zeros_like(point.multipliers)
    weights[free], multipliers[active] = np.maximum(solution[:n], 0.0), np.maximum(solution[n:-2], 0.0)
    return weights, multipliers, float(solution[-2]), float(solution[-1])


def _point(arms: Floats, targets: Floats, held: Floats, weights: Floats, multipliers: Floats) -> Point | None:
    """The point at these weights and multipliers; None where A(w) is singular."""
    r = arms.shape[-1]
    rows = stacked(arms)
    root = np.linalg.qr(np.vstack([np.zeros((r, r)), held, np.sqrt(spread(weights, arms))[:, None] * rows]), mode="r")
    diagonal = np.abs(np.diag(root))
    if not diagonal.min() > SINGULAR * diagonal.max():
        return None
    factor = scipy.linalg.solve_triangular(root, np.eye(r), check_finite=False)
    images, aims = rows @ factor, targets @ factor
    P = aims @ images.T
    squares = P**2 if arms.ndim == 2 else (P**2).reshape(len(aims), *arms.shape[:2]).sum(axis=2)
    variances = np.einsum("ij,ij->i", aims, aims)
    prices = multipliers @ squares
    most = prices.max() + multipliers @ np.sum((aims @ (held @ factor).T) ** 2, axis=1)
    gap = float(variances.max() * most / (multipliers @ variances**2) - 1.0)
    return Point(weights, multipliers, images, P, squares, variances, prices, gap) if np.isfinite(gap) else None
