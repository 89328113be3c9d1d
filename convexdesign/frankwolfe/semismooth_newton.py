"""D-optimal weights by a projected semismooth Newton method: exact zeros, a handful of factorisations.

At the optimum of min -log det A(w) + sum w over w >= 0 either w_i > 0 and q_i = 1, or w_i = 0 and q_i <= 1. Each
step guesses which case holds by the sign of w_i q_i^2 + q_i - 1 (where Newton's method for arm i alone ends up): F
are the arms kept free, B the others that still carry weight. The step sends w_B to zero and solves the linearised
q_F = 1,

    (G + D)_FF p = (q - 1)_F + G_FB w_B,      G_ik = <N_i, N_k>  in coordinates where A(w) = I,

because G is the Hessian. Faces of optimal designs make G singular; the Levenberg-Marquardt term D = theta / w+
regularises in the metric of relative changes, w+ = max(w, 0.1 r/|F|), with theta proportional to the gap so that
convergence stays fast. Steps are projected on w >= 0 and shortened until the objective falls (Armijo).

With more free arms than p = r(r+1)/2 the system is solved in the space of symmetric matrices: G_FF = S'S with
S (p, |F|), and (S'S + D)^-1 b = D^-1 (b - S'(I + S D^-1 S')^-1 S D^-1 b).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from convexdesign.frankwolfe.d_state import DState, d_state
from convexdesign.frankwolfe.symmetric import columns, combine, coordinates, dimension, gram, inner
from convexdesign.typing import Floats

__all__ = ["multiplicative_start", "semismooth_newton"]


SUFFICIENT_DECREASE = 1e-4
SHORTEST_STEP = 2.0**-20


def semismooth_newton(
    state: DState, arms: Floats, prior: Floats | None, tol: float, max_iter: int, stop: Callable[[], bool]
) -> tuple[DState, int]:
    """The state at the end and the steps taken: its gap is at most tol, or no step was left or made progress.

    stop is asked before each step.
    """
    damping = 0.3
    step = 0
    for step in range(max_iter + 1):
        state = state.rescaled()
        gap = state.gap
        if gap <= tol or step == max_iter or stop():
            break
        direction = _newton_direction(state, min(1.0, damping * gap))
        if direction is None:
            damping *= 10.0
            continue
        moved, full = _projected_search(state, direction, arms, prior)
        if moved is None:
            break
        state = moved
        damping = damping / 3.0 if full else damping * 4.0
    return state, step


def multiplicative_start(state: DState, arms: Floats, prior: Floats | None, steps: int = 3) -> DState:
    """A few over-relaxed multiplicative steps w <- w q^1.8: cheap, and they sort the arms well."""
    r = arms.shape[0]
    for _ in range(steps):
        weights = state.weights * state.variances**1.8
        moved = d_state(arms, weights * (r / weights.sum()), prior)
        if moved is None:
            break
        state = moved
    return state


def _newton_direction(state: DState, theta: float) -> Floats | None:
    w, q = state.weights, state.variances
    kept = w * q * q + q > 1.0
    free = np.flatnonzero(kept)
    leaving = np.flatnonzero(~kept & (w > 0.0))
    k = state.responses
    Y = columns(state.arms, free, k)
    rhs = q.take(free) - 1.0
    if leaving.size:
        lost = combine(columns(state.arms, leaving, k), w.take(leaving), state.prior)
        rhs += inner(Y, lost, state.prior, k)
    floor = 0.1 * state.arms.shape[0] / free.size
    solution = _solve(Y, state.prior, theta / np.maximum(w.take(free), floor), rhs)
    if solution is None:
        return None
    direction = np.zeros(w.size)
    direction[free] = solution
    direction[leaving] = -w.take(leaving)
    return direction


def _solve(Y: Floats, prior: Floats | None, diagonal: Floats, rhs: Floats) -> Floats | None:
    """(G + diag(diagonal))^-1 rhs, in whichever space is smaller; None where rounding makes it indefinite."""
    k = Y.shape[1] // rhs.size
    if rhs.size <= dimension(Y.shape[0]):
        matrix = gram(Y, prior, k)
        matrix.ravel()[:: rhs.size + 1] += diagonal
        factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        return None if info else dpotrs(factor, rhs, lower=1)[0]
    S = coordinates(Y, prior, k)
    matrix = (S / diagonal) @ S.T
    matrix.ravel()[:: S.shape[0] + 1] += 1.0
    factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if info:
        return None
    inside, _ = dpotrs(factor, S @ (rhs / diagonal), lower=1)
    solution: Floats = (rhs - S.T @ inside) / diagonal
    return solution


def _projected_search(
    state: DState, direction: Floats, arms: Floats, prior: Floats | None
) -> tuple[DState | None, bool]:
    """The first of w + p, w + p/2, ... (projected) with sufficient decrease, and whether it was the full step."""
    w = state.weights
    gradient = 1.0 - state.variances
    # Near the optimum the decrease is smaller than the rounding of the objective itself.
    allowance = 1e-14 * (1.0 + abs(state.objective))
    step = 1.0
    while step >= SHORTEST_STEP:
        trial = np.maximum(w + step * direction, 0.0)
        moved = d_state(arms, trial, prior)
        if moved is not None:
            promised = SUFFICIENT_DECREASE * float(gradient @ (trial - w))
            if moved.objective <= state.objective + promised + allowance:
                return moved, step == 1.0
        step *= 0.5
    return None, False
