"""D-optimal weights by a primal-dual interior point: slower than Newton's method on faces, but it never gets lost.

The optimality conditions of min -log det A(w) + sum w over w >= 0 with multipliers lambda >= 0 are
1 - q - lambda = 0 and w_i lambda_i = 0. One step solves, for the complementarity residual r_w,

    (G + diag(lambda/w)) dw = -(1 - q - lambda) + r_w / w,      dlambda = (r_w - lambda dw) / w,

G being the Gram matrix of the information matrices where A(w) = I; first with r_w = -w lambda (predictor), then with
r_w = target - w lambda - dw dlambda (Mehrotra's corrector). With more arms than p = r(r+1)/2 the system is
solved in the space of symmetric matrices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexdesign.frankwolfe.smooth_state import DState, d_state
from convexdesign.frankwolfe.symmetric import dimension, shifted_gram
from convexdesign.typing import Floats

__all__ = ["d_interior"]


STEP_TO_BOUNDARY = 0.99


def d_interior(
    weights: Floats,
    arms: Floats,
    prior: Floats | None,
    tol: float,
    max_iter: int = 60,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[DState | None, int]:
    """From weights (n,) the state with the least gap met (at most tol, unless max_iter or rounding came first), and the steps.

    None where the arms do not span.
    """
    r, n = arms.shape[0], weights.size
    start = d_state(arms, np.maximum(weights, 0.01 * r / n), prior)
    if start is None:
        return None, 0
    best = current = start.rescaled()
    # Dual feasible from the start: q / max q <= 1, so lambda = 1 - q / max q, kept off the boundary.
    multipliers = np.maximum(1.0 - current.sensitivities / current.sensitivities.max(), 0.1)
    step = 0
    for step in range(max_iter + 1):
        if best.gap <= tol or step == max_iter or stop():
            break
        new = _mehrotra_step(current, multipliers, tol)
        if new is None:
            break
        weights, multipliers = new
        moved = d_state(arms, weights, prior)
        if moved is None:
            break
        current = moved
        if current.gap < best.gap:
            best = current.rescaled()
    return best, step


def _mehrotra_step(state: DState, multipliers: Floats, tol: float) -> tuple[Floats, Floats] | None:
    w, dual = state.weights, multipliers
    # Twice as many arms as coordinates still cost less as they are; near the end the diagonal spans many magnitudes.
    most_dense = 2 * dimension(state.arms.shape[0])
    solve = shifted_gram(state.arms, state.prior, dual / w, most_dense, rounds=2)
    if solve is None:
        return None
    residual = 1.0 - state.sensitivities - dual
    complementarity = float(w @ dual) / w.size

    def direction(r_w: Floats) -> tuple[Floats, Floats]:
        dw = solve(r_w / w - residual)
        return dw, (r_w - dual * dw) / w

    dw, dual_step = direction(-w * dual)
    a, b = _to_boundary(w, dw, 1.0), _to_boundary(dual, dual_step, 1.0)
    predicted = float((w + a * dw) @ (dual + b * dual_step)) / w.size
    target = max(complementarity * (predicted / complementarity) ** 3, 0.02 * tol * float(w.sum()) / w.size)
    dw, dual_step = direction(target - w * dual - dw * dual_step)
    a, b = _to_boundary(w, dw, STEP_TO_BOUNDARY), _to_boundary(dual, dual_step, STEP_TO_BOUNDARY)
    if state.gap > 1e-2:
        a = b = min(a, b)
    return w + a * dw, dual + b * dual_step


def _to_boundary(x: Floats, dx: Floats, fraction: float) -> float:
    """The longest step of at most one that keeps x + step dx at least (1 - fraction) x."""
    steepest = float((dx / x).min())
    return min(1.0, -fraction / steepest) if steepest < 0.0 else 1.0
