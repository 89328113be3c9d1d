"""A primal-dual interior point method for minimax designs with bounds on the weights, over given arms and targets.

    min s   subject to   log f_v(w) <= s for every target v,   sum w = 1,   l <= w <= u,      f_v = t_v'A(w)^-1 t_v,

which is convex, as every log f_v is (minimax_systems). With slacks sigma_v = s - log f_v, multipliers mu of these, z and y of
the bounds and nu of the sum, the optimality conditions are

    J'mu + z - y = nu,   sum mu = 1,   mu sigma = 0,   z (w - l) = 0,   y (u - w) = 0,      J_vi = (y_i'A^-1 t_v)^2 / f_v.

A step linearises them, with all products to become one number (Mehrotra's predictor and corrector). Slacks and multipliers of
bounds eliminated, what is left is the system of minimax_systems with two columns more on the right, for dnu and ds:

    (H0 + D) dw - J'dmu = r1 - dnu,   J dw + (sigma/mu) dmu = r2 - ds,   sum dw = sum dmu = 0,   D = z/(w - l) + y/(u - w).

For any weights and multipliers, b_v = sqrt(mu_v / f_v) A^-1 t_v in the bound of weak duality proves

    gap = max_v f_v (tr(G A0) + h_W(J'mu)) / sum_v mu_v f_v  -  1,      G = sum_v b_v b_v',

by which the method ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtrs

from convexdesign.arms.groups import repeat_per_response
from convexdesign.frankwolfe.bounded import NO_ROOM, filled
from convexdesign.frankwolfe.corrective_minimax import cheaper_system
from convexdesign.frankwolfe.minimax_systems import Linearisation, Solve
from convexdesign.frankwolfe.symmetric import combine
from convexdesign.typing import Floats

__all__ = ["BoundedMinimax", "minimax_within_bounds"]


MOST_STEPS = 80
STEP_TO_BOUNDARY = 0.99
# Afar, weights and multipliers take steps of one length.
EQUAL_STEPS_ABOVE = 1.0
# log f bends strongly where A is nearly singular: a step may not let the residuals grow by more than this.
GROWTH = 8.0
HALVINGS = 8
# How readily a weight is put on a bound; too readily, and the gap says so.
READINESS = (1.0, 1e-2, 1e-4)
# A start gives way to the weights in the middle of the bounds by its gap, and the first level lies above its largest log f by
# as much; between these shares.
LEAST_TOUCH, MOST_TOUCH = 1e-3, 0.1


@dataclass(frozen=True, eq=False)
class BoundedMinimax:
    """Weights (n,) within their bounds and with sum one, multipliers (m,) of the targets, the gap they prove, steps taken.

    The multipliers are those of the certificate: b_v = sqrt(multiplier_v) A(w)^-1 t_v.
    """

    weights: Floats
    multipliers: Floats
    gap: float
    steps: int


def minimax_within_bounds(
    arms: Floats,
    targets: Floats,
    lower: Floats,
    upper: Floats,
    tol: float,
    *,
    prior: Floats | None = None,
    start: tuple[Floats, Floats] | None = None,
    near: float = 1.0,
    max_steps: int = MOST_STEPS,
    stop: Callable[[], bool] = lambda: False,
) -> BoundedMinimax:
    """The weights between lower (n,) and upper (n,) with the least largest t_v'A(w)^-1 t_v, to a relative gap of tol or nearly.

    arms (n responses, r), which with the prior (r, r) span, and nonzero targets (m, r); start: weights within the bounds and
    multipliers to begin with, within a gap `near` of the optimum; stop is asked before each step. Raises LinAlgError where the
    arms that may have weight do not span.
    """
    upper = np.minimum(upper, 1.0)
    share = (1.0 - lower.sum()) / max(float((upper - lower).sum()), NO_ROOM)
    middle = lower + min(max(share, 0.0), 1.0) * (upper - lower)
    free = upper - lower > NO_ROOM
    if not free.any() or not NO_ROOM < share < 1.0 - NO_ROOM:
        return _only(arms, targets, middle / middle.sum(), prior)
    task = _Task(arms, targets, lower, upper, prior, free)
    touch = min(max(near, LEAST_TOUCH), MOST_TOUCH)
    weights, multipliers = middle, None
    if start is not None:
        weights, multipliers = (1.0 - touch) * start[0] + touch * middle, start[1]
    best = at = task.started(weights[free], multipliers, touch)
    steps = 0
    while best.gap > tol and steps < max_steps and not stop():
        moved = _step(task, at, tol)
        if moved is None:
            break
        at, steps = moved, steps + 1
        best = at if at.gap < best.gap else best
    best = task.snapped(best, tol)
    out = lower.copy()
    out[free] = best.w
    mu = best.mu / best.around.variances
    return BoundedMinimax(out, mu / mu.sum(), best.gap, steps)


def _only(arms: Floats, targets: Floats, weights: Floats, prior: Floats | None) -> BoundedMinimax:
    """The one design that the bounds leave: its worst target proves it optimal."""
    factor, info = dpotrf(combine(arms.T, weights, prior), lower=1)
    if info:
        raise np.linalg.LinAlgError("the arms that may have weight do not span their space")
    half, _ = dtrtrs(factor, targets.T, lower=1)
    multipliers = np.zeros(len(targets))
    multipliers[np.argmax(np.einsum("ij,ij->j", half, half))] = 1.0
    return BoundedMinimax(weights, multipliers, 0.0, 0)


class _Iterate(NamedTuple):
    """Weights w (m,) of the free arms, level s, slacks and multipliers, and everything that depends on them."""

    w: Floats
    level: float
    slack: Floats
    mu: Floats
    z: Floats
    y: Floats
    nu: float
    around: Linearisation
    pulled: Floats
    gap: float
    merit: float


class _Task:
    """The problem over the free arms; what is fixed counts as held."""

    def __init__(
        self,
        arms: Floats,
        targets: Floats,
        lower: Floats,
        upper: Floats,
        prior: Floats | None,
        free: NDArray[np.bool_],
    ):
        self.k = len(arms) // free.size
        rows = repeat_per_response(free, arms)
        fixed = lower[~free]
        held = combine(arms[~rows].T, fixed)
        self.held = held if prior is None else held + prior
        self.vectors = np.asfortranarray(np.concatenate([arms[rows], targets]).T)
        self.low, self.high = lower[free], upper[free]
        self.columns = self.low.size * self.k
        # No weight reaches one unless there is nothing else.
        self.capped = (self.high < 1.0) | (self.low.size == 1)
        self.room = 1.0 - float(fixed.sum())
        self.pairs = self.low.size + int(self.capped.sum()) + len(targets)
        self.linearise = cheaper_system(self.columns, len(targets), arms.shape[1])

    def linearised(self, w: Floats) -> tuple[Linearisation, Floats] | None:
        """The problem around w, and what is held where A = I; None where A is numerically singular."""
        A = self.held + combine(self.vectors[:, : self.columns], w)
        factor, info = dpotrf(A, lower=1)
        if info:
            return None
        image, _ = dtrtrs(factor, self.vectors, lower=1)
        half, _ = dtrtrs(factor, self.held, lower=1)
        held, _ = dtrtrs(factor, half.T, lower=1)
        return self.linearise(image[:, : self.columns], image[:, self.columns :], None, self.k), held

    def started(self, w: Floats, multipliers: Floats | None, touch: float) -> _Iterate:
        """The first point: slacks as they are, products alike."""
        found = self.linearised(w)
        if found is None:
            raise np.linalg.LinAlgError("the arms that may have weight do not span their space")
        around, _ = found
        logs = np.log(around.variances)
        level = float(logs.max()) + touch
        slack = level - logs
        mu = (1.0 / slack) / float((1.0 / slack).sum())
        if multipliers is not None:
            given = multipliers * around.variances
            mu = (1.0 - touch) * given / float(given.sum()) + touch * mu
        product = float(mu @ slack) / mu.size
        z = product / (w - self.low)
        y = np.where(self.capped, product / (self.high - w), 0.0)
        nu = float(np.average(around.pull(mu) + z - y, weights=w))
        at = self.at(w, level, slack, mu, z, y, nu)
        assert at is not None
        return at

    def at(
        self, w: Floats, level: float, slack: Floats, mu: Floats, z: Floats, y: Floats, nu: float
    ) -> _Iterate | None:
        """The iterate; None where A is numerically singular."""
        found = self.linearised(w)
        if found is None:
            return None
        around, held = found
        f = around.variances
        pulled = around.pull(mu)
        most = float(filled(pulled, self.low, self.high, self.room)[0] @ pulled)
        total = float(np.vdot(combine(around.targets, mu / f), held)) + most
        gap = float(f.max()) * total / float(mu @ f) - 1.0
        dual = pulled + z - y - nu
        primal = (np.log(f) + slack - level) / np.maximum(slack, 1.0)
        product = float((w - self.low) @ z + (self.high - w) @ y + slack @ mu)
        merit = float(np.sqrt(dual @ dual) + np.sqrt(primal @ primal)) + product
        return _Iterate(w, level, slack, mu, z, y, nu, around, pulled, max(gap, 0.0), merit)

    def snapped(self, at: _Iterate, tol: float) -> _Iterate:
        """The weights with those at a bound put there, where the gap allows it; the others take up the rest."""
        for readiness in READINESS:
            # At the optimum either the distance or the multiplier vanishes; both are brought to the size of one.
            size = readiness / at.w.size
            at_low = at.w - self.low < size * at.z
            at_high = self.capped & (self.high - at.w < size * at.y) & ~at_low
            w = np.where(at_low, self.low, np.where(at_high, self.high, at.w))
            margin = np.where(at_low | at_high, 0.0, (w - self.low) * (self.high - w))
            if not margin.any():
                continue
            w = w + (self.room - float(w.sum())) * margin / margin.sum()
            if (w < self.low).any() or (w > self.high).any():
                continue
            moved = self.at(w, at.level, at.slack, at.mu, at.z, at.y, at.nu)
            if moved is not None and moved.gap <= max(at.gap, tol):
                return moved
        return at


def _step(task: _Task, at: _Iterate, tol: float) -> _Iterate | None:
    """Predictor, then corrector, as far as positivity and the residuals allow; None where there is no step."""
    a, b, capped = at.w - task.low, task.high - at.w, task.capped
    solve = at.around.system(at.z / a + np.where(capped, at.y / b, 0.0), at.mu, at.slack)
    if solve is None:
        return None
    bordered = _bordered(solve, a.size, at.mu.size)
    off = np.log(at.around.variances) + at.slack - at.level
    dual = at.pulled + at.z - at.y - at.nu

    def direction(za: Floats, yb: Floats, ms: Floats) -> _Direction:
        """What makes the products z a, y b and mu sigma so much larger, to first order."""
        pull = dual + za / a - np.where(capped, yb / b, 0.0)
        dw, dmu, dnu, dlevel = bordered(pull, off + ms / at.mu)
        dz = (za - at.z * dw) / a
        dy = np.where(capped, (yb + at.y * dw) / b, 0.0)
        dslack = (ms - at.slack * dmu) / at.mu
        return _Direction(dw, dlevel, dslack, dmu, dz, dy, dnu)

    products = at.z * a, at.y * b, at.mu * at.slack
    now = sum(float(p.sum()) for p in products) / task.pairs
    ahead = direction(*(-p for p in products))
    primal, multipliers = ahead.lengths(at, a, b, capped, 1.0)
    step = min(primal, multipliers)
    bends = ahead.dz * ahead.dw, -ahead.dy * ahead.dw, ahead.dmu * ahead.dslack
    predicted = (1.0 - step) * now + step * step * sum(float(p.sum()) for p in bends) / task.pairs
    # Without a floor the products run ahead of the residuals.
    target = max(max(predicted, 0.0) ** 2 / now, 0.05 * tol / task.pairs, 1e-4 * now)
    aims = (target - p - np.clip(e, -now, now) for p, e in zip(products, bends, strict=True))
    move = direction(*aims)
    primal, multipliers = move.lengths(at, a, b, capped, max(STEP_TO_BOUNDARY, 1.0 - at.gap))
    if at.gap > EQUAL_STEPS_ABOVE:
        primal = multipliers = min(primal, multipliers)
    for _ in range(HALVINGS + 1):
        moved = task.at(
            at.w + primal * move.dw,
            at.level + primal * move.dlevel,
            at.slack + primal * move.dslack,
            at.mu + multipliers * move.dmu,
            at.z + multipliers * move.dz,
            at.y + multipliers * move.dy,
            at.nu + multipliers * move.dnu,
        )
        if moved is not None and moved.merit <= GROWTH * at.merit:
            return moved
        primal, multipliers = 0.5 * primal, 0.5 * multipliers
    return None


class _Direction(NamedTuple):
    dw: Floats
    dlevel: float
    dslack: Floats
    dmu: Floats
    dz: Floats
    dy: Floats
    dnu: float

    def lengths(
        self, at: _Iterate, a: Floats, b: Floats, capped: NDArray[np.bool_], fraction: float
    ) -> tuple[float, float]:
        """The longest steps of at most one, of weights and slacks and of multipliers, that take this share of none of them."""
        relative = self.dw / a, -self.dw[capped] / b[capped], self.dslack / at.slack
        multipliers = self.dmu / at.mu, self.dz / at.z, self.dy[capped] / at.y[capped]
        return _to_boundary(np.concatenate(relative), fraction), _to_boundary(np.concatenate(multipliers), fraction)


def _to_boundary(relative: Floats, fraction: float) -> float:
    steepest = float(relative.min())
    return min(1.0, -fraction / steepest) if steepest < 0.0 else 1.0


def _bordered(solve: Solve, n: int, m: int) -> Callable[[Floats, Floats], tuple[Floats, Floats, float, float]]:
    """The system with dnu and ds: (r1, r2) -> (dw, dmu, dnu, ds) with sum dw = sum dmu = 0."""
    by_nu, by_level = solve(np.ones(n), np.zeros(m)), solve(np.zeros(n), np.ones(m))
    sums = np.array([[v.sum() for v in column] for column in (by_nu, by_level)]).T

    def solved(r1: Floats, r2: Floats) -> tuple[Floats, Floats, float, float]:
        dw, dmu = solve(r1, r2)
        dnu, dlevel = np.linalg.solve(sums, [dw.sum(), dmu.sum()])
        dw = dw - dnu * by_nu[0] - dlevel * by_level[0]
        dmu = dmu - dnu * by_nu[1] - dlevel * by_level[1]
        # What rounding leaves of the sums.
        extra = np.linalg.solve(sums, [dw.sum(), dmu.sum()])
        dw = dw - extra[0] * by_nu[0] - extra[1] * by_level[0]
        dmu = dmu - extra[0] * by_nu[1] - extra[1] * by_level[1]
        return dw, dmu, float(dnu + extra[0]), float(dlevel + extra[1])

    return solved
