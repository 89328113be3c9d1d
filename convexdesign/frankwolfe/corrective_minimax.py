"""The corrective step for minimax designs: a primal-dual interior point over weights and multipliers together.

The problem is that of minimax_state: min sum w subject to -log f_v(w) = s_v, w >= 0, s >= 0. With multipliers lambda of
the weights and mu of the slacks, collected as x = (w, s) and z = (lambda, mu), the optimality conditions are

    r_d = 1 - J'mu - lambda = 0,      r_p = -log f - s = 0,      x z = 0.

A step linearises them with x z = target (Mehrotra's predictor and corrector) and solves for the steps of w and mu:
(H0 + diag(lambda/w)) dw - J'dmu = r_w / w - r_d and J dw + (s/mu) dmu = r_s / mu - r_p, where r = target - x z.
"""

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
EQUAL_STEPS_ABOVE = 1.0
# log f bends strongly where A is nearly singular: a step may not let the residuals grow by more than this.
GROWTH = 8.0
HALVINGS = 6


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
    """x = (w, s) and z = (lambda, mu), both (n + m,) and positive, with everything that depends on them.

    complementarity: the mean of x z; gap: certified, of w and mu; merit: how far from optimal, as the largest dual
    residual plus the largest primal one (relative to its slack where that is large) plus x'z / sum w.
    """

    x: Floats
    z: Floats
    state: MinimaxState
    r_d: Floats
    r_p: Floats
    complementarity: float
    gap: float
    merit: float


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
    n, m = arms.shape[0], targets.shape[0]
    vectors = np.asfortranarray(np.concatenate([arms, targets]).T)
    at = _starting_point(vectors, n, prior, start)
    build = _cheaper_system(n, m, arms.shape[1])
    best = at
    step = 0
    for step in range(max_iter + 1):
        if at.gap < best.gap:
            best = at
        if at.gap <= tol or step == max_iter:
            break
        solve = build(at.state, at.z[:n] / at.x[:n], at.z[n:], at.x[n:])
        moved = None if solve is None else _mehrotra_step(vectors, prior, at, solve, tol)
        if moved is None:
            break
        at = moved
    w, mu = best.x[:n], best.z[n:] / best.state.variances
    return CorrectedMinimax(w / w.sum(), mu / mu.sum(), best.gap, step)


def _cheaper_system(n: int, m: int, r: int) -> Callable[[MinimaxState, Floats, Floats, Floats], Solve | None]:
    """Counts multiplications; the matrix space also has more calls, worth some 1e7 of them."""
    p = dimension(r)
    dense = n * n * (4 * m + n / 3)
    matrix_space = 2 * p * p * (n + m) + 5 * p**3 + 1e7
    return dense_system if dense < matrix_space else matrix_space_system


def _starting_point(vectors: Floats, n: int, prior: Floats | None, start: tuple[Floats, Floats] | None) -> Iterate:
    """Strictly feasible weights (variances at most 1/1.1) and multipliers of the size they have at the optimum."""
    m = vectors.shape[1] - n
    weights = np.full(n, 1.0 / n) if start is None else 0.9 * start[0] + 0.1 / n
    state = minimax_state(vectors, n, weights, prior)
    if state is None:
        raise np.linalg.LinAlgError("the arms do not span their space")
    scale = 1.1 * float(state.variances.max())
    slack = np.maximum(np.log(scale) - np.log(state.variances), 0.1)
    mu = np.full(m, scale / m) if start is None else scale * (0.9 * start[1] + 0.1 / m)
    at = _evaluate(vectors, n, prior, np.concatenate([scale * weights, slack]), np.concatenate([np.full(n, 0.5), mu]))
    assert at is not None
    return at


def _evaluate(vectors: Floats, n: int, prior: Floats | None, x: Floats, z: Floats) -> Iterate | None:
    """The iterate at (x, z), or None where A(w) is numerically singular."""
    w, s, mu = x[:n], x[n:], z[n:]
    state = minimax_state(vectors, n, w, prior)
    if state is None:
        return None
    pulled = state.pull(mu)
    r_d = 1.0 - pulled - z[:n]
    r_p = -np.log(state.variances) - s
    product = float(x @ z)
    primal = (np.abs(r_p) / np.maximum(s, 1.0)).max()
    merit = float(np.abs(r_d).max() + primal) + product / float(w.sum())
    return Iterate(x, z, state, r_d, r_p, product / x.size, state.gap(w, mu, pulled), merit)


def _mehrotra_step(vectors: Floats, prior: Floats | None, at: Iterate, solve: Solve, tol: float) -> Iterate | None:
    """Predictor, then corrector, as far as positivity and the residuals allow; None if A(w) would be singular."""
    x, z, n = at.x, at.z, at.r_d.size
    now = at.complementarity

    def direction(r: Floats) -> tuple[Floats, Floats]:
        dw, dmu = solve(r[:n] / x[:n] - at.r_d, r[n:] / z[n:] - at.r_p)
        ds = (r[n:] - x[n:] * dmu) / z[n:]
        return np.concatenate([dw, ds]), np.concatenate([(r[:n] - z[:n] * dw) / x[:n], dmu])

    dx, dz = direction(-x * z)
    predicted = float((x + _to_boundary(x, dx, 1.0) * dx) @ (z + _to_boundary(z, dz, 1.0) * dz)) / x.size
    # Without a floor the complementarity runs ahead of the residuals and the gap stalls near 1e-8.
    floor = max(0.02 * tol * float(x[:n].sum()) / x.size, 1e-3 * min(float(np.abs(at.r_d).max()), 1.0) * now)
    target = max(now * (predicted / now) ** 3, floor)
    # Where the predictor leads astray its second-order term is no correction any more.
    second = np.minimum(np.maximum(dx * dz, -now), now)
    dx, dz = direction(target - x * z - second)
    a, b = _to_boundary(x, dx, STEP_TO_BOUNDARY), _to_boundary(z, dz, STEP_TO_BOUNDARY)
    if at.gap > EQUAL_STEPS_ABOVE:
        a = b = min(a, b)
    limit = GROWTH * at.merit
    moved = None
    for _ in range(HALVINGS + 1):
        moved = _evaluate(vectors, n, prior, x + a * dx, z + b * dz)
        if moved is not None and moved.merit <= limit:
            break
        a, b = 0.5 * a, 0.5 * b
    return moved


def _to_boundary(x: Floats, dx: Floats, fraction: float) -> float:
    """The longest step of at most one that keeps x + step dx at least (1 - fraction) x."""
    steepest = float((dx / x).min())
    return min(1.0, -fraction / steepest) if steepest < 0.0 else 1.0
