"""The corrective step for minimax designs: a primal-dual interior point over weights and multipliers together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.frankwolfe.dense_system import Solve, dense_system
from convexdesign.frankwolfe.matrix_space import matrix_space_system
from convexdesign.frankwolfe.minimax_state import MinimaxState, minimax_state
from convexdesign.frankwolfe.symmetric import dimension

__all__ = ["CorrectedMinimax", "correct_minimax"]

Floats = NDArray[np.float64]

STEP_TO_BOUNDARY = 0.99
EQUAL_STEPS_ABOVE = 1e-2


@dataclass(frozen=True, eq=False)
class CorrectedMinimax:
    """Weights (n,) and target multipliers (m,), each on its simplex; gap of the pair; interior point steps taken.

    The multipliers are those of the certificate: b_v = sqrt(multiplier_v) A(w)^-1 t_v.
    """

    weights: Floats
    multipliers: Floats
    gap: float
    steps: int


@dataclass(frozen=True, eq=False)
class Iterate:
    """Weights w (n,), slacks s (m,) and their multipliers lambda (n,), mu (m,); all positive."""

    w: Floats
    s: Floats
    dual: Floats
    mu: Floats

    @property
    def complementarity(self) -> float:
        return float(self.w @ self.dual + self.s @ self.mu) / (self.w.size + self.s.size)


def correct_minimax(
    arms: Floats,
    targets: Floats,
    tol: float,
    prior: Floats | None = None,
    start: tuple[Floats, Floats] | None = None,
    max_iter: int = 60,
) -> CorrectedMinimax:
    """min over the simplex of max_v t_v'(A0 + sum_i w_i u_i u_i')^-1 t_v, to a certified relative gap <= tol.

    arms (n, r) and nonzero targets (m, r) in coordinates where the arms are of similar size; prior A0 (r, r) psd;
    start: (weights, multipliers) to begin with. Returns the best certified pair met, whether or not it reaches tol.
    """
    n = arms.shape[0]
    vectors = np.asfortranarray(np.concatenate([arms, targets]).T)
    iterate, state = _starting_point(vectors, n, prior, start)
    best = (np.inf, iterate.w, iterate.mu)
    build = _cheaper_system(n, targets.shape[0], arms.shape[1])
    step = 0
    for step in range(max_iter + 1):
        pulled = state.pull(iterate.mu)
        gap = state.gap(iterate.w, iterate.mu, pulled)
        if gap < best[0]:
            best = (gap, iterate.w, iterate.mu / state.variances)
        if gap <= tol or step == max_iter:
            break
        solve = build(state, iterate.dual / iterate.w, iterate.mu, iterate.s)
        if solve is None:
            break
        iterate = _mehrotra_step(state, iterate, 1.0 - pulled - iterate.dual, solve, gap, tol)
        moved = minimax_state(vectors, n, iterate.w, prior)
        if moved is None:
            break
        state = moved
    gap, w, mu = best
    return CorrectedMinimax(w / w.sum(), mu / mu.sum(), gap, step)


def _cheaper_system(n: int, m: int, r: int) -> Callable[[MinimaxState, Floats, Floats, Floats], Solve | None]:
    """Counts multiplications; the matrix space also has more calls, worth some 1e7 of them."""
    p = dimension(r)
    dense = n * n * (4 * m + n / 3)
    matrix_space = 2 * p * p * (n + m) + 5 * p**3 + 1e7
    return dense_system if dense < matrix_space else matrix_space_system


def _starting_point(
    vectors: Floats, n: int, prior: Floats | None, start: tuple[Floats, Floats] | None
) -> tuple[Iterate, MinimaxState]:
    """Strictly feasible weights (variances at most 1/1.1) and multipliers of the size they have at the optimum."""
    m = vectors.shape[1] - n
    weights = np.full(n, 1.0 / n) if start is None else 0.9 * start[0] + 0.1 / n
    state = minimax_state(vectors, n, weights, prior)
    if state is None:
        raise np.linalg.LinAlgError("the arms do not span their space")
    weights = weights * (1.1 * state.variances.max())
    state = minimax_state(vectors, n, weights, prior)
    assert state is not None
    slack = np.maximum(-np.log(state.variances), 0.1)
    total = float(weights.sum())
    mu = np.full(m, total / m) if start is None else total * (0.9 * start[1] + 0.1 / m)
    return Iterate(weights, slack, np.full(n, 0.5), mu), state


def _mehrotra_step(state: MinimaxState, at: Iterate, r_d: Floats, solve: Solve, gap: float, tol: float) -> Iterate:
    """Predictor, then corrector; r_d = 1 - J'mu - lambda is what dual feasibility lacks."""
    w, s, dual, mu = at.w, at.s, at.dual, at.mu
    r_p = -np.log(state.variances) - s

    def direction(r_w: Floats, r_s: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        dw, dmu = solve(r_w / w - r_d, r_s / mu - r_p)
        return dw, (r_s - s * dmu) / mu, (r_w - dual * dw) / w, dmu

    def target(step: tuple[Floats, Floats, Floats, Floats]) -> float:
        now = at.complementarity
        a = min(_to_boundary(w, step[0], 1.0), _to_boundary(s, step[1], 1.0))
        b = min(_to_boundary(dual, step[2], 1.0), _to_boundary(mu, step[3], 1.0))
        predicted = _moved(at, step, a, b).complementarity
        # Without a floor the complementarity runs ahead of the residuals and the gap stalls near 1e-8.
        count = w.size + s.size
        floor = max(0.02 * tol * float(w.sum()) / count, 1e-3 * min(float(abs(r_d).max()), 1.0) * now)
        return max(now * (predicted / now) ** 3, floor)

    predictor = direction(-w * dual, -s * mu)
    centre = target(predictor)
    corrector = direction(
        centre - w * dual - predictor[0] * predictor[2], centre - s * mu - predictor[1] * predictor[3]
    )
    a = min(_to_boundary(w, corrector[0], STEP_TO_BOUNDARY), _to_boundary(s, corrector[1], STEP_TO_BOUNDARY))
    b = min(_to_boundary(dual, corrector[2], STEP_TO_BOUNDARY), _to_boundary(mu, corrector[3], STEP_TO_BOUNDARY))
    if gap > EQUAL_STEPS_ABOVE:
        a = b = min(a, b)
    return _moved(at, corrector, a, b)


def _moved(at: Iterate, step: tuple[Floats, Floats, Floats, Floats], primal: float, dual: float) -> Iterate:
    return Iterate(at.w + primal * step[0], at.s + primal * step[1], at.dual + dual * step[2], at.mu + dual * step[3])


def _to_boundary(x: Floats, dx: Floats, fraction: float) -> float:
    """The longest step of at most one that keeps x + step dx at least (1 - fraction) x."""
    steepest = float((dx / x).min())
    return min(1.0, -fraction / steepest) if steepest < 0.0 else 1.0
