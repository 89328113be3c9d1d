"""The best weights on a short list of rows, for the weighted sum or the minimum of concave functions, by interior points.

Sum: maximise sum_j a_j f_j(w) + mu sum_i log w_i; minimum: maximise t + mu sum_j log(f_j(w) - t) + mu sum_i log w_i; both over
sum w = 1, by Newton's method, mu -> 0. The multipliers of the minimum are mu / (f_j - t), scaled to sum one. An f_j with
corners is smoothed (`criteria.information`), by as much as the barrier allows for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from convexdesign.compound.components import ComponentGroup, GroupState, curvature, evaluated, multipliers_moved
from convexdesign.criteria.information import slack
from convexdesign.typing import Floats

__all__ = ["best_weights", "in_order", "values_of"]

FIRST, SHRINK = 1e-3, 0.01
# The same where there are corners, whose own barriers want smaller steps.
GENTLE = 0.1
NEWTON = 20
# Below this share of mu, the square of the length of a step in the barrier's own measure, steps are full; and below that, where
# there are corners and without, there are none.
CLOSE, FINE, COARSE = 1e-2, 1e-20, 1e-6
HALVINGS = 40
# With corners no mu is smaller: rounding of the values, over this, is what their shares are off by before the last step.
SHARPEST = 1e-10
BLUNTEST = 1e-2
# What is least of several is smoothed by the barrier over its share, but no more than this, over the number of coordinates.
SMOOTHEST = 0.25


@dataclass(frozen=True, eq=False)
class _Step:
    """Weights, t and states after a step, and what it promised to gain, twice."""

    weights: Floats
    t: float
    states: list[GroupState]
    decrement: float


def best_weights(
    groups: Sequence[ComponentGroup],
    rows: Sequence[Floats],
    a: Floats | None,
    start: Floats,
    last: float,
    first: float = FIRST,
) -> tuple[Floats, Floats, list[GroupState]]:
    """Weights (n,), the multipliers, and the states; a: the weights of a sum, or None for the minimum."""
    w = np.maximum(start, 1e-4 / len(start))
    w = w / w.sum()
    corners = any(group.form.has_corners for group in groups)
    last = max(last, SHARPEST) if corners else last
    mu = max(first, last)
    states = _states(groups, rows, w, a, mu)
    if states is None:
        w = np.full(len(w), 1.0 / len(w))
        states = _states(groups, rows, w, a, mu)
        assert states is not None
    shrink = GENTLE if corners else SHRINK
    climbing = corners
    centred = None
    while True:
        t = _least(values_of(groups, states), mu)
        w, t, states, is_centred = _centred(groups, rows, a, w, t, states, mu)
        if is_centred:
            centred = w, t, states, mu
        elif centred is not None and not corners:
            # Beside the path multipliers say little: what was last reached on it is better than a sharper barrier.
            w, t, states, mu = centred
            break
        # Far from the end a sharp barrier with corners leads nowhere: a blunter one first.
        climbing = climbing and not is_centred and mu < BLUNTEST
        if mu <= last and not climbing:
            break
        mu = min(mu / shrink**2, BLUNTEST) if climbing else max(mu * shrink, last)
        # The states are smoothed as the barrier allows.
        again = _states(groups, rows, w, a, mu)
        assert again is not None
        states = again
    shares = mu / (values_of(groups, states) - t) if a is None else a
    found = _direction(groups, rows, a, w, t, states, mu)
    if found is not None and found[2] <= CLOSE * mu:
        # One more step of the multipliers alone: weights in doubles do not tell apart what decides them.
        step, dt, _ = found
        if a is None:
            change = in_order(groups, [state.slopes(Y) @ step for state, Y in zip(states, rows)]) - dt
            shares = np.maximum(shares * (1.0 - shares * change / mu), 0.0)
        states = [multipliers_moved(group, state, Y, step) for group, state, Y in zip(groups, states, rows)]
    return w, np.asarray(shares / shares.sum()), states


def _centred(
    groups: Sequence[ComponentGroup],
    rows: Sequence[Floats],
    a: Floats | None,
    w: Floats,
    t: float,
    states: list[GroupState],
    mu: float,
) -> tuple[Floats, float, list[GroupState], bool]:
    """The weights that are best for this mu, and whether they were reached.

    Shares of corners are as good as the gradient is, and not as the value: close to the end full steps are taken as long as
    they help, which is longer than differences of values can tell.
    """
    decrement = np.inf
    for _ in range(NEWTON):
        step = _step(groups, rows, a, w, t, states, mu)
        if step is None or (step.decrement > min(decrement / 4.0, CLOSE * mu) and decrement <= CLOSE * mu):
            break
        w, t, states, decrement = step.weights, step.t, step.states, step.decrement
    return w, t, states, decrement <= CLOSE * mu


def values_of(groups: Sequence[ComponentGroup], states: Sequence[GroupState]) -> Floats:
    """What is climbed, of all components in their order."""
    return in_order(groups, [state.values for state in states])


def in_order(groups: Sequence[ComponentGroup], parts: Sequence[Floats]) -> Floats:
    """Numbers of all components in their order, from those of the groups."""
    out = np.empty(sum(len(g.numbers) for g in groups))
    for group, part in zip(groups, parts):
        out[group.numbers] = part
    return out


def _least(f: Floats, mu: float) -> float:
    """The t that is best for the weights as they are: sum_j mu / (f_j - t) = 1."""
    room = f - f.min()
    return float(f.min() - slack(room[None, :], np.array([mu]))[0])


def _states(
    groups: Sequence[ComponentGroup], rows: Sequence[Floats], w: Floats, a: Floats | None, mu: float
) -> list[GroupState] | None:
    out = []
    for group, Y in zip(groups, rows):
        share = np.ones(len(group.numbers)) if a is None else a[group.numbers]
        state = evaluated(group, Y, w, np.minimum(mu / share, SMOOTHEST / group.d))
        if state is None:
            return None
        out.append(state)
    return out


def _objective(f: Floats, a: Floats | None, w: Floats, t: float, mu: float) -> float:
    barrier = mu * float(np.log(w).sum())
    if a is not None:
        return float(a @ f) + barrier
    return t + mu * float(np.log(f - t).sum()) + barrier if (f > t).all() else -np.inf


def _direction(
    groups: Sequence[ComponentGroup],
    rows: Sequence[Floats],
    a: Floats | None,
    w: Floats,
    t: float,
    states: Sequence[GroupState],
    mu: float,
) -> tuple[Floats, float, float] | None:
    """The Newton direction of weights and t, and what it promises to gain, twice; None where there is none."""
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
        return None
    slope = float(gradient @ step)
    return (step[:n], float(step[n]) if m > n else 0.0, slope) if np.isfinite(slope) else None


def _step(
    groups: Sequence[ComponentGroup],
    rows: Sequence[Floats],
    a: Floats | None,
    w: Floats,
    t: float,
    states: Sequence[GroupState],
    mu: float,
) -> _Step | None:
    """One damped Newton step; None where there is none that climbs."""
    found = _direction(groups, rows, a, w, t, states, mu)
    fine = FINE if any(group.form.has_corners for group in groups) else COARSE
    if found is None or found[2] <= fine * mu:
        return None
    (step, _, slope), f = found, values_of(groups, states)
    falling = step < 0
    length = min(1.0, 0.99 * float(np.min(-w[falling] / step[falling]))) if falling.any() else 1.0
    value = _objective(f, a, w, t, mu)
    for _ in range(HALVINGS):
        new = w + length * step
        new = new / new.sum()
        trial = _states(groups, rows, new, a, mu)
        if trial is not None:
            # The t that is best there, and not the one on the way: the minimum may bend within the step.
            new_t = _least(values_of(groups, trial), mu)
            reached = _objective(values_of(groups, trial), a, new, new_t, mu)
            if reached > value + 1e-4 * length * slope or (slope <= CLOSE * mu and np.isfinite(reached)):
                return _Step(new, new_t, trial, slope)
        length /= 2.0
    return None
