"""The corrective steps for smooth criteria, log det and the average variance: all weights optimised at once.

Newton's method, projected and semismooth: exact zeros, a handful of factorisations. At the optimum of phi over w >= 0 (see
smooth_state) either w_i > 0 and q_i = 1, or w_i = 0 and q_i <= 1. Each step guesses which case holds by where Newton's method
for arm i alone would end up, the sign of w_i H_ii + q_i - 1: F are the arms kept free, B the others that still carry weight.
The step sends w_B to zero and solves the linearised q_F = 1,

    (H + D)_FF p = (q - 1)_F + H_FB w_B.

Faces of optimal designs make H singular; the Levenberg-Marquardt term D = theta / w+ regularises in the metric of relative
changes, w+ = max(w, 0.1 c/|F|), with theta proportional to the gap so that convergence stays fast. Steps are projected on
w >= 0 and shortened until the objective falls (Armijo).

Interior points for log det: slower than Newton's method on faces, but never lost. The optimality conditions of
min -log det A(w) + sum w over w >= 0 with multipliers lambda >= 0 are 1 - q - lambda = 0 and w_i lambda_i = 0. One step
solves, for the complementarity residual r_w,

    (G + diag(lambda/w)) dw = -(1 - q - lambda) + r_w / w,      dlambda = (r_w - lambda dw) / w,

G being the Gram matrix of the information matrices where A(w) = I; first with r_w = -w lambda (predictor), then with
r_w = target - w lambda - dw dlambda (Mehrotra's corrector). With more arms than p = r(r+1)/2 the system is
solved in the space of symmetric matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convexdesign.criteria.average import AverageForm
from convexdesign.frankwolfe.bounded import fits, within_bounds
from convexdesign.frankwolfe.smooth_state import At, DState, SmoothState, average_state, d_state
from convexdesign.frankwolfe.symmetric import shifted_gram, symmetric_dimension
from convexdesign.frankwolfe.tuning import TUNING, Tuning
from convexdesign.typing import Floats

__all__ = ["Corrected", "correct_average", "correct_d", "d_interior"]


SUFFICIENT_DECREASE = 1e-4
SHORTEST_STEP = 2.0**-20
STEP_TO_BOUNDARY = 0.99


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
    tuning: Tuning = TUNING,
) -> Corrected:
    """max log det(A0 + sum_i w_i u_i u_i') over the simplex, to a relative gap max_i q_i / r - 1 <= tol.

    arms (n responses, r) of full column rank in coordinates where they are of similar size;
    start (n,) weights to begin with; prior A0 (r, r) psd. Newton's method first (unless newton is False), then, from
    its weights, the interior point; stop is asked before each step. The gap returned is that of the weights returned,
    whether or not it reaches tol.
    """
    n, r = len(arms) // responses, arms.shape[1]
    columns = np.asfortranarray(arms.T)
    budget = tuning.d_newton + tuning.d_interior if max_iter is None else max_iter

    def at(weights: Floats) -> SmoothState | None:
        return d_state(columns, weights, prior)

    state = at(np.full(n, r / n) if start is None else start * (r / start.sum()))
    if state is None:
        raise np.linalg.LinAlgError("the arms carrying weight do not span their space")
    state = (multiplicative_start(state, at, *tuning.d_start) if start is None else state).rescaled()
    steps = 0
    if newton:
        state, steps = projected_newton(state, at, tol, min(tuning.d_newton, budget), stop)
    slow = state.gap > tol
    if slow and steps < budget:
        most = min(tuning.d_interior, budget - steps)
        interior, more = d_interior(state.weights, columns, prior, tol, most, stop)
        steps += more
        state = interior if interior is not None and interior.gap < state.gap else state
    return Corrected.of(state, steps, slow and newton)


def correct_average(
    arms: Floats,
    contrast_matrix: Floats,
    tol: float,
    start: Floats | None,
    prior: Floats | None,
    max_iter: int,
    patient: bool = False,
    stop: Callable[[], bool] = lambda: False,
    responses: int = 1,
    tuning: Tuning = TUNING,
) -> Corrected:
    """min tr((A0 + sum_i w_i u_i u_i')^-1 LL') over the simplex, to a relative gap of tol or as far as steps lead.

    arms (n responses, r) of full column rank; contrast_matrix L (r, k); start (n,) weights; prior A0 (r, r) psd;
    patient: interior points take over where Newton's method is slow, as it is where many sets of weights are nearly as good
    as the best; otherwise what it has found by then is the result. stop is asked before each step.
    """
    n = len(arms) // responses
    columns = np.asfortranarray(arms.T)
    first = np.full(n, 1.0 / n) if start is None else start / start.sum()
    state: SmoothState | None = average_state(columns, contrast_matrix, first, prior)
    if state is None:
        # Optima may be singular; the way there may not.
        first = 0.999 * first + 0.001 / n
        state = average_state(columns, contrast_matrix, first, prior)
    if state is None:
        raise np.linalg.LinAlgError("the arms carrying weight do not span their space")
    # A scale at which the value is one; weights on the simplex do not depend on it.
    contrast_matrix = contrast_matrix / np.sqrt(state.total)

    def at(weights: Floats) -> SmoothState | None:
        return average_state(columns, contrast_matrix, weights, prior)

    state = at(first)
    assert state is not None
    state = (multiplicative_start(state, at, *tuning.average_start) if start is None else state).rescaled()
    limit = min(tuning.average_steps, max_iter)
    state, steps = projected_newton(state, at, tol, min(tuning.average_patience, limit), stop)
    slow = steps == tuning.average_patience and state.gap > tol
    if not (slow and patient):
        return Corrected.of(state, steps, slow)
    if fits(n, columns.shape[0]):
        least, most = np.zeros(n), np.ones(n)
        inner = within_bounds(
            arms, AverageForm(), contrast_matrix, least, most, tol, prior=prior, max_steps=limit, stop=stop
        )
        found = at(inner.weights) if inner.gap < state.gap else None
        if found is not None:
            return Corrected.of(found, steps + inner.steps, slow)
    state, more = projected_newton(state, at, tol, limit - steps, stop)
    return Corrected.of(state, steps + more, slow)


# ------------------------------------------------------------------ Newton's method


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


# ------------------------------------------------------------------ interior points


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
    most_dense = 2 * symmetric_dimension(state.arms.shape[0])
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
