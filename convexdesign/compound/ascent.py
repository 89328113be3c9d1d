"""The best weights on a short list of rows, for the weighted sum or the minimum of concave functions, by interior points.

Sum: maximise sum_j a_j f_j(w) + mu sum_i log w_i; minimum: maximise t + mu sum_j log(f_j(w) - t) + mu sum_i log w_i; both over
sum w = 1, by Newton's method, mu -> 0. The multipliers of the minimum are mu / (f_j - t), scaled to sum one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convexdesign.compound.components import ComponentGroup, GroupState, curvature, evaluated
from convexdesign.typing import Floats

__all__ = ["best_weights", "values_of"]

FIRST, SHRINK = 1e-3, 0.01
NEWTON = 12
HALVINGS = 40


def best_weights(
    groups: Sequence[ComponentGroup],
    rows: Sequence[Floats],
    a: Floats | None,
    start: Floats,
    last: float,
    first: float = FIRST,
) -> tuple[Floats, Floats]:
    """Weights (n,), and the multipliers; a: the weights of a sum, or None for the minimum."""
    w = np.maximum(start, 1e-4 / len(start))
    w = w / w.sum()
    states = _states(groups, rows, w)
    if states is None:
        w = np.full(len(w), 1.0 / len(w))
        states = _states(groups, rows, w)
        assert states is not None
    t = float(values_of(groups, states).min()) - 1.0
    mu = max(first, last)
    while True:
        for _ in range(NEWTON):
            w, t, states, done = _step(groups, rows, a, w, t, states, mu)
            if done:
                break
        if mu <= last:
            break
        mu = max(mu * SHRINK, last)
    if a is not None:
        return w, a
    shares = mu / (values_of(groups, states) - t)
    return w, np.asarray(shares / shares.sum())


def values_of(groups: Sequence[ComponentGroup], states: Sequence[GroupState]) -> Floats:
    """f_j of all components, in their order."""
    out = np.empty(sum(len(g.numbers) for g in groups))
    for group, state in zip(groups, states):
        out[group.numbers] = state.values
    return out


def _states(groups: Sequence[ComponentGroup], rows: Sequence[Floats], w: Floats) -> list[GroupState] | None:
    out = []
    for group, Y in zip(groups, rows):
        state = evaluated(group, Y, w)
        if state is None:
            return None
        out.append(state)
    return out


def _objective(f: Floats, a: Floats | None, w: Floats, t: float, mu: float) -> float:
    barrier = mu * float(np.log(w).sum())
    if a is not None:
        return float(a @ f) + barrier
    return t + mu * float(np.log(f - t).sum()) + barrier if (f > t).all() else -np.inf


def _step(
    groups: Sequence[ComponentGroup],
    rows: Sequence[Floats],
    a: Floats | None,
    w: Floats,
    t: float,
    states: list[GroupState],
    mu: float,
) -> tuple[Floats, float, list[GroupState], bool]:
    """One damped Newton step; whether it was the last of this mu."""
    n = len(w)
    f = values_of(groups, states)
    share = a if a is not None else mu / (f - t)
    gradient, H = mu / w, np.zeros((n, n))
    bend = None if a is not None else share**2 / mu
    side = np.zeros(n)
    for group, state, Y in zip(groups, states, rows):
        own = share[group.numbers]
        J = state.slopes(Y)
        gradient = gradient + own @ J
        H += curvature(group, state, Y, own)
        if bend is not None:
            b = bend[group.numbers]
            H -= J.T @ (b[:, None] * J)
            side = side + b @ J
    H[range(n), range(n)] -= mu / w**2
    if bend is not None:
        H = np.block([[H, side[:, None]], [side[None, :], np.array([[-bend.sum()]])]])
        gradient = np.append(gradient, 1.0 - share.sum())
    m = len(gradient)
    ones = np.append(np.ones(n), np.zeros(m - n))
    # In units of the weights the matrix is well scaled.
    unit = np.append(w, np.full(m - n, 1.0 if bend is None else 1.0 / np.sqrt(bend.sum())))
    K = np.block([[H * np.outer(unit, unit), (ones * unit)[:, None]], [(ones * unit)[None, :], np.zeros((1, 1))]])
    try:
        step = np.linalg.solve(K, np.append(-gradient * unit, 0.0))[:m] * unit
    except np.linalg.LinAlgError:
        return w, t, states, True
    slope = float(gradient @ step)
    if not np.isfinite(slope) or slope <= 1e-6 * mu:
        return w, t, states, True
    falling = step[:n] < 0
    length = min(1.0, 0.99 * float(np.min(-w[falling] / step[:n][falling]))) if falling.any() else 1.0
    value = _objective(f, a, w, t, mu)
    for _ in range(HALVINGS):
        new, new_t = w + length * step[:n], t + length * (float(step[n]) if m > n else 0.0)
        new = new / new.sum()
        trial = _states(groups, rows, new)
        if trial is not None:
            reached = _objective(values_of(groups, trial), a, new, new_t, mu)
            if reached > value + 1e-4 * length * slope:
                return new, new_t, trial, False
        length /= 2.0
    return w, t, states, True
