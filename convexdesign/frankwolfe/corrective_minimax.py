"""The corrective step for minimax designs: a primal-dual interior point over weights and multipliers together.

The problem is that of minimax_systems: min sum w subject to -log f_v(w) = s_v, w >= 0, s >= 0. With multipliers lambda of
the weights and mu of the slacks, what the linear system is solved for is p = (w, mu), and what belongs to it is
q = (lambda, s). The optimality conditions are

    c = (1 - J'mu, -log f) - q = 0,      p q = 0.

A step linearises them with p q = target (Mehrotra's predictor and corrector): in relative steps u = dp / p and v = dq / q,
u + v = t, where t asks for a change of the products p q, and

    (H0 + diag(lambda/w)) dw - J'dmu = (q t - c)_w,      J dw + (s/mu) dmu = (q t - c)_mu.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from convexdesign.frankwolfe.minimax_systems import DenseSystem, Linearisation, MatrixSpaceSystem, Solve, whitened
from convexdesign.frankwolfe.symmetric import symmetric_dimension
from convexdesign.typing import Floats

__all__ = ["CorrectedMinimax", "cheaper_system", "correct_minimax"]


STEP_TO_BOUNDARY = 0.99
EQUAL_STEPS_ABOVE = 1.0
# log f bends strongly where A is nearly singular: a step may not let the residuals grow by more than this.
GROWTH = 8.0
HALVINGS = 6
# A start is judged with this share of uniform weights, so that no arm or target is at zero.
TOUCH = 1e-3
# With a larger gap a start is only mixed with uniform weights.
FAR = 0.5
# How near to a good start to begin, as a share of its gap.
CLOSENESS = 0.3
LEAST_GAP = 1e-9


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
class RestrictedProblem:
    """The restricted problem: vectors (r, n responses + m) hold arms, then targets; linearise: what represents it best."""

    vectors: Floats
    n: int
    responses: int
    prior: Floats | None
    linearise: type[Linearisation]


class Iterate(NamedTuple):
    """p = (w, mu) and q = (lambda, s), both (n + m,) and positive, with everything that depends on them.

    complementarity: the mean of p q; gap: certified, of w and mu; error: the size of the first n entries of c; merit: how
    far from optimal, as error plus that of the others (each relative to its slack where that is large) plus p'q / sum w.
    """

    p: Floats
    q: Floats
    around: Linearisation
    c: Floats
    complementarity: float
    gap: float
    error: float
    merit: float


def correct_minimax(
    arms: Floats,
    targets: Floats,
    tol: float,
    prior: Floats | None = None,
    start: tuple[Floats, Floats] | None = None,
    max_iter: int = 60,
    responses: int = 1,
) -> CorrectedMinimax:
    """min over the simplex of max_v t_v'(A0 + sum_i w_i u_i u_i')^-1 t_v, to a certified relative gap <= tol.

    arms (n responses, r) and nonzero targets (m, r) in coordinates where the arms are of
    similar size; prior A0 (r, r) psd; start: (weights, multipliers) to begin with. Returns the best certified pair met,
    whether or not it reaches tol.
    """
    n, m = len(arms) // responses, len(targets)
    vectors = np.asfortranarray(np.concatenate([arms, targets]).T)
    problem = RestrictedProblem(vectors, n, responses, prior, cheaper_system(len(arms), m, arms.shape[1]))
    best = at = _starting_point(problem, start)
    step = 0
    for step in range(max_iter + 1):
        if at.gap < best.gap:
            best = at
        if at.gap <= tol or step == max_iter:
            break
        solve = at.around.system(at.q[:n] / at.p[:n], at.p[n:], at.q[n:])
        moved = None if solve is None else _mehrotra_step(problem, at, solve, tol)
        if moved is None:
            break
        at = moved
    w, mu = best.p[:n], best.p[n:] / best.around.variances
    return CorrectedMinimax(w / w.sum(), mu / mu.sum(), best.gap, step)


def cheaper_system(n: int, m: int, r: int) -> type[Linearisation]:
    """Counts multiplications; the matrix space also has more calls, worth some 1e7 of them."""
    p = symmetric_dimension(r)
    dense = n * n * (4 * m + n / 3)
    matrix_space = 2 * p * p * (n + m) + 5 * p**3 + 1e7
    return DenseSystem if dense < matrix_space else MatrixSpaceSystem


def _starting_point(problem: RestrictedProblem, start: tuple[Floats, Floats] | None) -> Iterate:
    """Strictly feasible weights, slacks and multipliers of the size they have at the optimum; near a start that is good."""
    near = None if start is None else _near(problem, *start)
    if near is not None:
        return near
    n = problem.n
    weights = np.full(n, 1.0 / n) if start is None else 0.9 * start[0] + 0.1 / n
    around = _linearised(problem, weights)
    if around is None:
        raise np.linalg.LinAlgError("the arms do not span their space")
    variances = around.variances
    scale = 1.1 * float(variances.max())
    mu = variances / variances.sum() if start is None else 0.9 * start[1] + 0.1 * variances / variances.sum()
    p = scale * np.concatenate([weights, mu])
    at = _evaluate(problem, p, np.concatenate([np.full(n, 0.5), np.log(scale / variances)]))
    assert at is not None
    return at


def _near(problem: RestrictedProblem, weights: Floats, multipliers: Floats) -> Iterate | None:
    """A point as near to the weights and multipliers as their own gap g allows; None where that is no better than afar.

    Mixed with a share of g of uniform ones, and with all products p q at least a share of g of their mean at that gap:
    nearer to the boundary, where most of the answer lies, the first steps would be cut short.
    """
    n, m = weights.size, multipliers.size
    mixed = (1.0 - TOUCH) * weights + TOUCH / n
    around = _linearised(problem, mixed)
    if around is None:
        return None
    f = around.variances
    mu = (1.0 - TOUCH) * multipliers + TOUCH * f / f.sum()
    gap = float(f.max()) * float(around.pull(mu).max()) / float(mu @ f) - 1.0
    if not gap <= FAR:
        return None
    # At the optimum itself slacks would be zero.
    gap = max(gap, LEAST_GAP)
    share = CLOSENESS * gap
    mixed = (1.0 - share) * weights + share / n
    around = _linearised(problem, mixed)
    if around is None:
        return None
    f = around.variances
    scale = (1.0 + share) * float(f.max())
    mu = (1.0 - share) * multipliers + share * f / f.sum()
    p = scale * np.concatenate([mixed, mu])
    q = np.concatenate([1.0 - around.pull(mu), np.log(scale / f)])
    least = CLOSENESS * gap * scale / (n + m)
    # A multiplier that its slack makes too small is raised; the slack is what the weights make it.
    p[n:] = np.maximum(p[n:], least / q[n:])
    q[:n] = np.maximum(q[:n], least / p[:n])
    return _evaluate(problem, p, q)


def _linearised(problem: RestrictedProblem, weights: Floats) -> Linearisation | None:
    parts = whitened(problem.vectors, problem.n * problem.responses, weights, problem.prior)
    return None if parts is None else problem.linearise(*parts, problem.responses)


def _evaluate(problem: RestrictedProblem, p: Floats, q: Floats) -> Iterate | None:
    """The iterate at (p, q), or None where A(w) is numerically singular."""
    n = problem.n
    w, mu = p[:n], p[n:]
    around = _linearised(problem, w)
    if around is None:
        return None
    pulled, f = around.pull(mu), around.variances
    c = np.concatenate([1.0 - pulled, -np.log(f)]) - q
    product, total = float(p @ q), float(w.sum())
    gap = float(f.max()) * total * float(pulled.max()) / float(mu @ f) - 1.0
    dual, primal = c[:n], c[n:] / np.maximum(q[n:], 1.0)
    error = math.sqrt(dual @ dual)
    merit = error + math.sqrt(primal @ primal) + product / total
    return Iterate(p, q, around, c, product / p.size, gap, error, merit)


def _mehrotra_step(problem: RestrictedProblem, at: Iterate, solve: Solve, tol: float) -> Iterate | None:
    """Predictor, then corrector, as far as positivity and the residuals allow; None if A(w) would be singular."""
    p, q, c, n = at.p, at.q, at.c, problem.n
    now, products = at.complementarity, p * q

    def direction(t: Floats | float) -> tuple[Floats, Floats]:
        r = q * t - c
        u = np.concatenate(solve(r[:n], r[n:])) / p
        return u, t - u

    u, v = direction(-1.0)
    # What the products would be after a step to the boundary: u + v = -1.
    step = min(_to_boundary(u, 1.0), _to_boundary(v, 1.0))
    bend = u * v
    predicted = (1.0 - step) * now + step * step * float(products @ bend) / p.size
    # Without a floor the complementarity runs ahead of the residuals and the gap stalls near 1e-8.
    floor = max(0.1 * tol * float(p[:n].sum()) / p.size, 1e-3 * min(at.error, 1.0) * now)
    target = max(predicted**2 / now, floor)
    # Where the predictor leads astray its second-order term is no correction any more.
    most = now / products
    u, v = direction((target / now) * most - 1.0 - np.minimum(np.maximum(bend, -most), most))
    fraction = max(STEP_TO_BOUNDARY, 1.0 - at.gap)
    # w and s take the primal step, lambda and mu the dual one.
    a = min(_to_boundary(u[:n], fraction), _to_boundary(v[n:], fraction))
    b = min(_to_boundary(u[n:], fraction), _to_boundary(v[:n], fraction))
    if at.gap > EQUAL_STEPS_ABOVE:
        a = b = min(a, b)
    limit = GROWTH * at.merit
    steps = np.empty(p.size)
    moved = None
    for _ in range(HALVINGS + 1):
        steps[:n], steps[n:] = a, b
        moved = _evaluate(problem, p + steps * u * p, q + (a + b - steps) * v * q)
        if moved is not None and moved.merit <= limit:
            break
        a, b = 0.5 * a, 0.5 * b
    return moved


def _to_boundary(relative: Floats, fraction: float) -> float:
    """The longest step of at most one that takes no entry down by more than this fraction of itself."""
    steepest = float(relative.min())
    return min(1.0, -fraction / steepest) if steepest < 0.0 else 1.0
