"""The corrective step for the average variance: projected semismooth Newton, as for D, with another Hessian.

At the optimum either w_i > 0 and q_i = 1, or w_i = 0 and q_i <= 1. Each step guesses which case holds by where Newton's method
for arm i alone would end up, w_i H_ii + q_i - 1 > 0 (F, free) or not; the others that still carry weight (B) are sent to zero,
and (H + D)_FF p = (q - 1)_F + H_FB w_B is solved, D = theta / w+ being the Levenberg-Marquardt term in the metric of relative
changes. Steps are projected on w >= 0 and shortened until the objective falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from convexdesign.frankwolfe.average_state import AverageState, average_state
from convexdesign.frankwolfe.bounded import Smooth, fits, within_bounds
from convexdesign.problem.responses import stacked
from convexdesign.typing import Floats

__all__ = ["CorrectedAverage", "correct_average"]


MOST_STEPS = 60
# Steps of Newton's method before interior points take over; where it does well it needs about ten.
PATIENCE = 25
SUFFICIENT_DECREASE = 1e-4
SHORTEST_STEP = 2.0**-20
# Multiplicative steps w <- w q^(1/2), which never raise the objective, sort the arms before Newton begins.
FIRST_STEPS = 4


@dataclass(frozen=True, eq=False)
class CorrectedAverage:
    """Weights on the simplex (k,), their relative gap over the working set, the steps taken; whether it was given up early."""

    weights: Floats
    gap: float
    steps: int
    slow: bool = False


def correct_average(
    arms: Floats,
    aim: Floats,
    tol: float,
    start: Floats | None,
    prior: Floats | None,
    max_iter: int,
    patient: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> CorrectedAverage:
    """min tr((A0 + sum_i w_i u_i u_i')^-1 LL') over the simplex, to a relative gap of tol or as far as steps lead.

    arms (n, r), or groups of responses (n, l, r), of full column rank; aim L (r, k); start (n,) weights; prior A0 (r, r) psd;
    patient: interior points take over where Newton's method is slow; otherwise what it has found by then is the result.
    stop is asked before each step.
    """
    columns = np.asfortranarray(stacked(arms).T)
    first = np.full(len(arms), 1.0 / len(arms)) if start is None else start / start.sum()
    state = average_state(columns, aim, first, prior)
    if state is None:
        # Optima may be singular; the way there may not.
        first = 0.999 * first + 0.001 / len(arms)
        state = average_state(columns, aim, first, prior)
    if state is None:
        raise np.linalg.LinAlgError("the arms carrying weight do not span their space")
    # A scale at which the value is one; weights on the simplex do not depend on it.
    aim = aim / np.sqrt(state.value)
    state = average_state(columns, aim, first, prior)
    assert state is not None
    if start is None:
        state = _multiplicative(state, columns, aim, prior)
    state = state.rescaled()
    damping, step, limit = 0.3, 0, min(MOST_STEPS, max_iter)
    while state.gap > tol and step < limit and not stop():
        step += 1
        direction = _newton_direction(state, min(1.0, damping * state.gap))
        if direction is None:
            damping *= 10.0
            continue
        moved, full = _projected_search(state, direction, columns, aim, prior)
        if moved is None:
            break
        state = moved.rescaled()
        damping = damping / 3.0 if full else damping * 4.0
        if step == PATIENCE and state.gap > tol:
            # Where many sets of weights are nearly as good as the best, guesses of the free ones keep changing.
            if not patient:
                return CorrectedAverage(state.weights / state.weights.sum(), state.gap, step, True)
            if fits(len(arms), columns.shape[0]):
                least, most = np.zeros(len(arms)), np.ones(len(arms))
                inner = within_bounds(
                    arms, Smooth.AVERAGE, aim, least, most, tol, prior=prior, max_steps=limit, stop=stop
                )
                if inner.gap < state.gap:
                    return CorrectedAverage(inner.weights, inner.gap, step + inner.steps)
    return CorrectedAverage(state.weights / state.weights.sum(), state.gap, step)


def _multiplicative(state: AverageState, arms: Floats, aim: Floats, prior: Floats | None) -> AverageState:
    for _ in range(FIRST_STEPS):
        weights = state.weights * np.sqrt(state.sensitivities)
        moved = average_state(arms, aim, weights / weights.sum(), prior)
        if moved is None:
            break
        state = moved
    return state


def _newton_direction(state: AverageState, theta: float) -> Floats | None:
    w, q = state.weights, state.sensitivities
    kept = w * state.own_curvature() + q > 1.0
    free, leaving = np.flatnonzero(kept), np.flatnonzero(~kept & (w > 0.0))
    rhs = q[free] - 1.0
    if leaving.size:
        rhs = rhs + state.curvature(free, leaving) @ w[leaving]
    matrix = state.curvature(free, free)
    floor = 0.1 * float(w.sum()) / free.size
    matrix.ravel()[:: free.size + 1] += theta / np.maximum(w[free], floor)
    factor, info = dpotrf(matrix, lower=1, overwrite_a=1)
    if info:
        return None
    direction = np.zeros(w.size)
    direction[free] = dpotrs(factor, rhs, lower=1)[0]
    direction[leaving] = -w[leaving]
    return direction


def _projected_search(
    state: AverageState, direction: Floats, arms: Floats, aim: Floats, prior: Floats | None
) -> tuple[AverageState | None, bool]:
    """The first of w + p, w + p/2, ... (projected) with sufficient decrease, and whether it was the full step."""
    gradient = 1.0 - state.sensitivities
    # Near the optimum the decrease is smaller than the rounding of the objective itself.
    allowance = 1e-14 * (1.0 + abs(state.objective))
    step = 1.0
    while step >= SHORTEST_STEP:
        trial = np.maximum(state.weights + step * direction, 0.0)
        moved = average_state(arms, aim, trial, prior)
        if moved is not None:
            promised = SUFFICIENT_DECREASE * float(gradient @ (trial - state.weights))
            if moved.objective <= state.objective + promised + allowance:
                return moved, step == 1.0
        step *= 0.5
    return None, False
