"""The corrective steps for smooth criteria: all weights optimised at once, for log det and for the average variance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convexdesign.frankwolfe.bounded import Smooth, fits, within_bounds
from convexdesign.frankwolfe.d_interior import d_interior
from convexdesign.frankwolfe.smooth_newton import multiplicative_start, projected_newton
from convexdesign.frankwolfe.smooth_state import SmoothState, average_state, d_state
from convexdesign.typing import Floats

__all__ = ["Corrected", "correct_average", "correct_d"]


# For log det Newton's method converges within a dozen steps or, among near-duplicate arms, crawls.
D_STEPS = 12
INTERIOR_STEPS = 60
# Over-relaxed multiplicative steps w <- w q^1.8; for the average variance w <- w q^(1/2), which never raises it.
D_START = (1.8, 3)
AVERAGE_START = (0.5, 4)
# For the average variance it needs about ten; so many before interior points take over, and so many in all.
AVERAGE_PATIENCE = 25
AVERAGE_STEPS = 60


@dataclass(frozen=True, eq=False)
class Corrected:
    """Weights on the simplex (n,), q_i / sum_k w_k q_k (n,), their largest less one, and the steps taken.

    slow: Newton's method did not get there within the steps that it needs where it does well.
    """

    weights: Floats
    relative: Floats
    gap: float
    steps: int
    slow: bool

    @classmethod
    def of(cls, state: SmoothState, steps: int, slow: bool) -> Corrected:
        """The state's weights brought to the simplex."""
        size = float(state.weights.sum())
        return cls(state.weights / size, state.sensitivities * (size / state.total), state.gap, steps, slow)


def correct_d(
    arms: Floats,
    tol: float,
    start: Floats | None = None,
    prior: Floats | None = None,
    *,
    responses: int = 1,
    newton: bool = True,
    max_iter: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Corrected:
    """max log det(A0 + sum_i w_i u_i u_i') over the simplex, to a relative gap max_i q_i / r - 1 <= tol.

    arms (n responses, r) of full column rank in coordinates where they are of similar size;
    start (n,) weights to begin with; prior A0 (r, r) psd. Newton's method first (unless newton is False), then, from
    its weights, the interior point; stop is asked before each step. The gap returned is that of the weights returned,
    whether or not it reaches tol.
    """
    n, r = len(arms) // responses, arms.shape[1]
    columns = np.asfortranarray(arms.T)
    budget = D_STEPS + INTERIOR_STEPS if max_iter is None else max_iter

    def at(weights: Floats) -> SmoothState | None:
        return d_state(columns, weights, prior)

    state = at(np.full(n, r / n) if start is None else start * (r / start.sum()))
    if state is None:
        raise np.linalg.LinAlgError("the arms carrying weight do not span their space")
    state = (multiplicative_start(state, at, *D_START) if start is None else state).rescaled()
    steps = 0
    if newton:
        state, steps = projected_newton(state, at, tol, min(D_STEPS, budget), stop)
    slow = state.gap > tol
    if slow and steps < budget:
        most = min(INTERIOR_STEPS, budget - steps)
        interior, more = d_interior(state.weights, columns, prior, tol, most, stop)
        steps += more
        state = interior if interior is not None and interior.gap < state.gap else state
    return Corrected.of(state, steps, slow and newton)


def correct_average(
    arms: Floats,
    aim: Floats,
    tol: float,
    start: Floats | None,
    prior: Floats | None,
    max_iter: int,
    patient: bool = False,
    stop: Callable[[], bool] = lambda: False,
    responses: int = 1,
) -> Corrected:
    """min tr((A0 + sum_i w_i u_i u_i')^-1 LL') over the simplex, to a relative gap of tol or as far as steps lead.

    arms (n responses, r) of full column rank; aim L (r, k); start (n,) weights; prior A0 (r, r) psd;
    patient: interior points take over where Newton's method is slow, as it is where many sets of weights are nearly as good
    as the best; otherwise what it has found by then is the result. stop is asked before each step.
    """
    n = len(arms) // responses
    columns = np.asfortranarray(arms.T)
    first = np.full(n, 1.0 / n) if start is None else start / start.sum()
    state: SmoothState | None = average_state(columns, aim, first, prior)
    if state is None:
        # Optima may be singular; the way there may not.
        first = 0.999 * first + 0.001 / n
        state = average_state(columns, aim, first, prior)
    if state is None:
        raise np.linalg.LinAlgError("the arms carrying weight do not span their space")
    # A scale at which the value is one; weights on the simplex do not depend on it.
    aim = aim / np.sqrt(state.total)

    def at(weights: Floats) -> SmoothState | None:
        return average_state(columns, aim, weights, prior)

    state = at(first)
    assert state is not None
    state = (multiplicative_start(state, at, *AVERAGE_START) if start is None else state).rescaled()
    limit = min(AVERAGE_STEPS, max_iter)
    state, steps = projected_newton(state, at, tol, min(AVERAGE_PATIENCE, limit), stop)
    slow = steps == AVERAGE_PATIENCE and state.gap > tol
    if not (slow and patient):
        return Corrected.of(state, steps, slow)
    if fits(n, columns.shape[0]):
        least, most = np.zeros(n), np.ones(n)
        inner = within_bounds(arms, Smooth.AVERAGE, aim, least, most, tol, prior=prior, max_steps=limit, stop=stop)
        found = at(inner.weights) if inner.gap < state.gap else None
        if found is not None:
            return Corrected.of(found, steps + inner.steps, slow)
    state, more = projected_newton(state, at, tol, limit - steps, stop)
    return Corrected.of(state, steps + more, slow)
