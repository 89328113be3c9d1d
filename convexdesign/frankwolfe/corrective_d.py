"""The corrective step for D-optimality and for G-optimality by Kiefer-Wolfowitz: all weights optimised at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convexdesign.frankwolfe.d_interior import d_interior
from convexdesign.frankwolfe.d_state import d_state
from convexdesign.frankwolfe.semismooth_newton import multiplicative_start, semismooth_newton
from convexdesign.problem.responses import stacked
from convexdesign.typing import Floats

__all__ = ["CorrectedD", "correct_d"]


# Newton's method converges within a dozen steps or, among near-duplicate arms, crawls.
NEWTON_STEPS = 12
INTERIOR_STEPS = 60


@dataclass(frozen=True, eq=False)
class CorrectedD:
    """Weights on the simplex (n,), their q_i = <A^-1, N_i> (n,), the relative gap max q / r - 1, and the steps taken.

    newton_failed: the interior point had to finish, and is the better first choice for similar arms.
    """

    weights: Floats
    variances: Floats
    gap: float
    steps: int
    newton_failed: bool


def correct_d(
    arms: Floats,
    tol: float,
    start: Floats | None = None,
    prior: Floats | None = None,
    *,
    newton: bool = True,
    max_iter: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> CorrectedD:
    """max log det(A0 + sum_i w_i u_i u_i') over the simplex, to a relative gap max_i q_i / r - 1 <= tol.

    arms (n, r), or groups of responses (n, k, r), of full column rank in coordinates where they are of similar size;
    start (n,) weights to begin with; prior A0 (r, r) psd. Newton's method first (unless newton is False), then, from
    its weights, the interior point; stop is asked before each step. The gap returned is that of the weights returned,
    whether or not it reaches tol.
    """
    n, r = arms.shape[0], arms.shape[-1]
    columns = np.asfortranarray(stacked(arms).T)
    budget = NEWTON_STEPS + INTERIOR_STEPS if max_iter is None else max_iter
    if start is None:
        state = d_state(columns, np.full(n, r / n), prior)
        state = None if state is None else multiplicative_start(state, columns, prior)
    else:
        state = d_state(columns, start * (r / start.sum()), prior)
    if state is None:
        raise np.linalg.LinAlgError("the arms carrying weight do not span their space")
    state, steps = state.rescaled(), 0
    if newton:
        state, steps = semismooth_newton(state, columns, prior, tol, min(NEWTON_STEPS, budget), stop)
    failed = state.gap > tol
    if failed and steps < budget:
        interior, more = d_interior(state, columns, prior, tol, min(INTERIOR_STEPS, budget - steps), stop)
        state, steps = min(state, interior, key=lambda s: s.gap), steps + more
    total = float(state.weights.sum())
    return CorrectedD(state.weights / total, state.variances * total, state.gap, steps, failed and newton)
