"""Optimal weights for a smooth criterion by a projected semismooth Newton method: exact zeros, a handful of factorisations.

At the optimum of phi over w >= 0 (see smooth_state) either w_i > 0 and q_i = 1, or w_i = 0 and q_i <= 1. Each step guesses
which case holds by where Newton's method for arm i alone would end up, the sign of w_i H_ii + q_i - 1: F are the arms kept
free, B the others that still carry weight. The step sends w_B to zero and solves the linearised q_F = 1,

    (H + D)_FF p = (q - 1)_F + H_FB w_B.

Faces of optimal designs make H singular; the Levenberg-Marquardt term D = theta / w+ regularises in the metric of relative
changes, w+ = max(w, 0.1 c/|F|), with theta proportional to the gap so that convergence stays fast. Steps are projected on
w >= 0 and shortened until the objective falls (Armijo).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexdesign.frankwolfe.smooth_state import At, SmoothState
from convexdesign.typing import Floats

__all__ = ["multiplicative_start", "projected_newton"]


SUFFICIENT_DECREASE = 1e-4
SHORTEST_STEP = 2.0**-20


def projected_newton(
    state: SmoothState, at: At, tol: float, max_iter: int, stop: Callable[[], bool]
) -> tuple[SmoothState, int]:
    """The state at the end and the steps taken: its gap is at most tol, or no step was left or made progress.

    state: rescaled; stop is asked before each step.
    """
    damping, step = 0.3, 0
    while state.gap > tol and step < max_iter and not stop():
        step += 1
        direction = _newton_direction(state, min(1.0, damping * state.gap))
        if direction is None:
            damping *= 10.0
            continue
        moved, full = _projected_search(state, direction, at)
        if moved is None:
            break
        state = moved.rescaled()
        damping = damping / 3.0 if full else damping * 4.0
    return state, step


def multiplicative_start(state: SmoothState, at: At, power: float, steps: int) -> SmoothState:
    """A few multiplicative steps w <- w q^power, with the sum of the weights kept: cheap, and they sort the arms well."""
    size = float(state.weights.sum())
    for _ in range(steps):
        weights = state.weights * state.sensitivities**power
        moved = at(weights * (size / weights.sum()))
        if moved is None:
            break
        state = moved
    return state


def _newton_direction(state: SmoothState, theta: float) -> Floats | None:
    w, wanted = state.weights, state.wanted()
    free, leaving = np.flatnonzero(wanted), np.flatnonzero(~wanted & (w > 0.0))
    floor = 0.1 * state.total / max(free.size, 1)
    solution = state.newton(free, leaving, theta / np.maximum(w.take(free), floor))
    if solution is None:
        return None
    direction = np.zeros(w.size)
    direction[free] = solution
    direction[leaving] = -w.take(leaving)
    return direction


def _projected_search(state: SmoothState, direction: Floats, at: At) -> tuple[SmoothState | None, bool]:
    """The first of w + p, w + p/2, ... (projected) with sufficient decrease, and whether it was the full step."""
    w = state.weights
    gradient = 1.0 - state.sensitivities
    # Near the optimum the decrease is smaller than the rounding of the objective itself.
    allowance = 1e-14 * (1.0 + abs(state.objective))
    step = 1.0
    while step >= SHORTEST_STEP:
        trial = np.maximum(w + step * direction, 0.0)
        moved = at(trial)
        if moved is not None:
            promised = SUFFICIENT_DECREASE * float(gradient @ (trial - w))
            if moved.objective <= state.objective + promised + allowance:
                return moved, step == 1.0
        step *= 0.5
    return None, False
