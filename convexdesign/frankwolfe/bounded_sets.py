"""Bounds on the weights of very many arms: interior points on a working set, the other weights left where they are.

At the optimum q_i = -df/dw_i is one number nu on the arms between their bounds, more at the upper and less at the lower ones:
few arms are between, and the rest only adds a fixed information matrix. So weights start at a vertex, filled in the order of
q; each round frees the arms that q says are on the wrong bound, with those between bounds and next to nu, and solves for them
alone. Values fall from round to round, and the gap is that of all arms, h_W(q) - w'q.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from convexdesign.criteria.smooth import SmoothForm
from convexdesign.frankwolfe.bounded import Bounded, filled, within_bounds
from convexdesign.frankwolfe.tuning import BOUNDED, BoundedTuning
from convexdesign.typing import Floats

__all__ = ["within_bounds_on_sets"]


SLACK = 1e-12


def within_bounds_on_sets(
    arms: Floats,
    form: SmoothForm,
    contrast_matrix: Floats,
    lower: Floats,
    upper: Floats,
    tol: float,
    *,
    prior: Floats | None = None,
    stop: Callable[[], bool] = lambda: False,
    tuning: BoundedTuning = BOUNDED,
) -> Bounded | None:
    """As `within_bounds`, for arms (n, r) with one response each; None where this leads nowhere."""
    n, r = arms.shape
    upper = np.minimum(upper, 1.0)
    size = max(tuning.least, tuning.per_coordinate * r * (r + 1) // 2)
    share = (1.0 - lower.sum()) / max(float((upper - lower).sum()), 1e-300)
    w = lower + min(max(share, 0.0), 1.0) * (upper - lower)
    w = _started(arms, form, contrast_matrix, w, lower, upper, prior, tuning.starting)
    best, steps = Bounded(w, np.inf, 0), 0
    for _ in range(tuning.rounds):
        state = _gradient(arms, form, contrast_matrix, w, prior)
        if state is None:
            return None
        q, value = state
        vertex, nu = filled(q, lower, upper)
        gap = float((vertex - w) @ q) / value
        if gap < best.gap:
            best = Bounded(w, max(gap, 0.0), steps)
        if gap <= tol or stop():
            return best
        # Who gains most by moving, all the way to the bound that q asks for; and those near the price, who may have to.
        worth = np.abs(q - nu) * np.abs(vertex - w)
        chosen = np.argsort(-worth)[: size // 2]
        between = np.flatnonzero((w > lower + SLACK) & (w < upper - SLACK))
        near = np.argsort(np.abs(q - nu))[: size // 2]
        free = np.zeros(n, dtype=bool)
        free[chosen[worth[chosen] > 0]] = True
        free[between[np.argsort(np.abs(q - nu)[between])][:size]] = True
        free[near] = True
        if free.all():
            return None
        low, high = np.where(free, lower, w), np.where(free, upper, w)
        try:
            found = within_bounds(
                arms,
                form,
                contrast_matrix,
                low,
                high,
                max(0.25 * tol, 0.002 * gap),
                prior=prior,
                stop=stop,
                tuning=tuning,
            )
        except np.linalg.LinAlgError:
            return None
        if np.array_equal(found.weights, w):
            return best
        w, steps = found.weights, steps + found.steps
    return best


def _started(
    arms: Floats,
    form: SmoothForm,
    contrast_matrix: Floats,
    w: Floats,
    lower: Floats,
    upper: Floats,
    prior: Floats | None,
    vertices: int,
) -> Floats:
    """Means of vertices, each filled by the q of the mean before it, and of those the last vertex that measures enough."""
    for k in range(1, vertices + 1):
        state = _gradient(arms, form, contrast_matrix, w, prior)
        if state is None:
            return w
        vertex = filled(state[0], lower, upper)[0]
        w = vertex if k == 1 else w + (vertex - w) * (2.0 / (k + 2.0))
    state = _gradient(arms, form, contrast_matrix, w, prior)
    if state is None:
        return w
    vertex = filled(state[0], lower, upper)[0]
    return vertex if _gradient(arms, form, contrast_matrix, vertex, prior) is not None else w


def _gradient(
    arms: Floats, form: SmoothForm, contrast_matrix: Floats, w: Floats, prior: Floats | None
) -> tuple[Floats, float] | None:
    """q (n,) and the size of f; None where the weights do not measure everything."""
    used = np.flatnonzero(w != 0)
    A = (arms[used] * w[used][:, None]).T @ arms[used]
    try:
        factor = np.linalg.cholesky(A if prior is None else A + prior)
    except np.linalg.LinAlgError:
        return None
    pivots = factor.diagonal()
    if not pivots.min() > 1e-6 * pivots.max():
        return None
    inverse = scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
    L, _, size = form.at(np.asarray(factor, dtype=float), inverse @ contrast_matrix)
    # q = |P'z|^2 for z = inverse u: one product with the arms.
    P = form.image(L, inverse)
    return np.square(arms @ P.T).sum(axis=1), size
