"""A primal-dual interior point method for smooth criteria with bounds on the weights: average variance, D and D_s.

    min f(w)   subject to   sum w = 1,  l <= w <= u,      A = A0 + sum_i w_i u_i u_i'

for f = tr(A^-1 M), -log det A or log det(K'A^-1K), divided by what makes sum_i w_i q_i + held = 1, with q = -grad f. In
coordinates where A = I and the weight of the criterion is M = LL', I or the projector P on the range of K, the Hessian is

    H_ik = 2 (z_i'z_k)(z_i'Mz_k),    (z_i'z_k)^2,    2 (z_i'z_k)(z_i'Pz_k) - (z_i'Pz_k)^2,

each a Gram matrix F'F: where M is diagonal with entries m, the coordinates z_ia z_ib of F carry the weights m_a + m_b, 1 and
m_a + m_b - m_a m_b. With few dimensions and many arms the linear systems are solved in the space of these coordinates.

Each step solves (H + D) dw + nu 1 = q + mu/(w - l) - mu/(u - w), sum dw = 0, D = z_l/(w - l) + z_u/(u - w), and is shortened
until the barrier function falls. For any w in W, f* >= f - (h_W(q) - w'q) by convexity; relative to the sum above that is
the gap of the certificate, and the method ends when it is small enough. Last, weights that lie nearer to a bound than its
multiplier is to zero are put on it: interior points leave none there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from convexdesign.arms.groups import repeat_per_response, sum_per_arm
from convexdesign.arms.monomial import single_entries
from convexdesign.certificate import certify, evaluate
from convexdesign.criteria import oracle_of
from convexdesign.criteria.smooth import SmoothForm
from convexdesign.errors import SolverError
from convexdesign.frankwolfe.symmetric import coordinates, sum_per_pair, symmetric_dimension
from convexdesign.frankwolfe.tuning import BOUNDED, BoundedTuning
from convexdesign.outcome import Outcome, Report, Status
from convexdesign.problem import Canonical
from convexdesign.problem.shares import bounded_shares
from convexdesign.trace import Trace
from convexdesign.typing import Floats

__all__ = ["Bounded", "filled", "fits", "interior_point", "is_for", "within_bounds"]


MOST_STEPS = 80
# Share of the way to the boundary, and of the complementarity that the next step aims at.
BOUNDARY = 0.99
CENTRING, CAREFUL_CENTRING = 0.1, 0.4
SUFFICIENT_DECREASE = 1e-4
SHORTEST_STEP = 2.0**-12
# Bounds on a weight closer together than this leave it no freedom.
NO_ROOM = 1e-14
# How readily a weight is put on a bound; too readily, and the gap says so.
READINESS = (1.0, 1e-2, 1e-4)
# A full face of optima leaves Newton's matrix on it singular.
REGULARISATION = 1e-10
# The gap is judged elsewhere, with other roundings.
ALMOST = 0.5


@dataclass(frozen=True, eq=False)
class Bounded:
    """Weights (n,) within their bounds and with sum one, their relative gap, and the steps taken."""

    weights: Floats
    gap: float
    steps: int


def fits(n: int, r: int, tuning: BoundedTuning = BOUNDED) -> bool:
    """Whether n arms in r dimensions can be held: as a square matrix of the arms, or as the coordinates of each."""
    p = symmetric_dimension(r)
    return n * (n if n <= tuning.dense * p else p) <= tuning.entries


def _seconds_per_step(n: int, r: int, tuning: BoundedTuning) -> float:
    """What one step takes, as a rule."""
    small = n if n <= tuning.dense * symmetric_dimension(r) else symmetric_dimension(r)
    return n * small * (small / 3.0 + 4.0 * r) / tuning.operations


def within_bounds(
    arms: Floats,
    form: SmoothForm,
    contrast_matrix: Floats,
    lower: Floats,
    upper: Floats,
    tol: float,
    *,
    prior: Floats | None = None,
    max_steps: int = MOST_STEPS,
    stop: Callable[[], bool] = lambda: False,
    tuning: BoundedTuning = BOUNDED,
) -> Bounded:
    """The best weights between lower (n,) and upper (n,), to a relative gap of tol or as far as steps lead.

    arms (n responses, r), which with the prior (r, r) span; contrast_matrix L (r, k): L or K, for D anything. stop is
    asked before each step. Raises LinAlgError where the arms that may have weight do not span.
    """
    upper = np.minimum(upper, 1.0)
    share = (1.0 - lower.sum()) / max(float((upper - lower).sum()), NO_ROOM)
    start = lower + min(max(share, 0.0), 1.0) * (upper - lower)
    free = upper - lower > NO_ROOM
    if not free.any() or not NO_ROOM < share < 1.0 - NO_ROOM:
        return Bounded(start / start.sum(), 0.0, 0)
    task = _Task(arms, form, contrast_matrix, lower, upper, prior, free, tuning)
    state = task.at(start[free])
    if state is None:
        raise np.linalg.LinAlgError("the arms that may have weight do not span their space")
    mu = max(task.gap(state), tol) / (2.0 * int(free.sum()))
    point = _Point(state, mu / (state.w - task.low), np.where(task.capped, mu / (task.high - state.w), 0.0))
    best, steps, centring = task.bounded(state, 0), 0, CENTRING
    while best.gap > tol and steps < min(max_steps, MOST_STEPS) and not stop():
        moved, length = _step(task, point, centring)
        if moved is None:
            break
        steps += 1
        centring = CENTRING if length > 0.8 else CAREFUL_CENTRING
        point = moved
        found = task.bounded(point.state, steps)
        best = found if found.gap < best.gap else Bounded(best.weights, best.gap, steps)
    for readiness, newton in itertools.product(READINESS, (True, False)):
        snapped = task.snapped(point, readiness, newton)
        if snapped is not None and snapped.gap <= max(best.gap, 0.5 * tol):
            return Bounded(snapped.weights, snapped.gap, steps)
    return best


@dataclass(frozen=True, eq=False)
class _State:
    """Weights w (m,) of the free arms; where A = I their columns Z (r, m k) and L (r, j); q (m,), f and w'q + held."""

    w: Floats
    Z: Floats
    L: Floats
    q: Floats
    value: float
    total: float


@dataclass(frozen=True, eq=False)
class _Point:
    state: _State
    z_low: Floats
    z_high: Floats


class _Task:
    """The problem over the free arms; what is fixed counts as held."""

    def __init__(
        self,
        arms: Floats,
        form: SmoothForm,
        contrast_matrix: Floats,
        lower: Floats,
        upper: Floats,
        prior: Floats | None,
        free: NDArray[np.bool_],
        tuning: BoundedTuning,
    ):
        self.tuning = tuning
        self.form, self.contrast_matrix, self.free = form, contrast_matrix, free
        self.k = len(arms) // free.size
        self.columns = np.ascontiguousarray(arms[repeat_per_response(free, arms)].T)
        fixed = np.where(free, 0.0, lower)
        held = (arms.T * repeat_per_response(fixed, arms)) @ arms
        self.held = held if prior is None else held + prior
        self.fixed, self.low, self.high = fixed, lower[free], upper[free]
        # No weight reaches one unless there is nothing else.
        self.capped = (self.high < 1.0) | (self.low.size == 1)
        self.room = 1.0 - float(fixed.sum())
        self.scale = 0.0  # the size of f at the first weights

    def at(self, w: Floats) -> _State | None:
        """The state at w > 0; None where A is numerically singular."""
        A = self.held + (self.columns * np.repeat(w, self.k)) @ self.columns.T
        try:
            factor = np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            return None
        Z, L = (
            scipy.linalg.solve_triangular(factor, X, lower=True, check_finite=False)
            for X in (self.columns, self.contrast_matrix)
        )
        L, value, size = self.form.at(factor, L)
        if self.scale == 0.0:
            self.scale = size
        q = self._sums(self.form.image(L, Z)) / self.scale
        return _State(w, Z, L, q, value / self.scale, size / self.scale)

    def _sums(self, image: Floats) -> Floats:
        return sum_per_arm(np.einsum("ij,ij->j", image, image), self.k)

    def gap(self, state: _State) -> float:
        """(h_W(q) - w'q) / (w'q + held)."""
        most = float(filled(state.q, self.low, self.high, self.room)[0] @ state.q)
        return max(most - float(state.w @ state.q), 0.0) / state.total

    def bounded(self, state: _State, steps: int) -> Bounded:
        """The state's weights on all arms."""
        weights = self.fixed.copy()
        weights[self.free] = state.w
        return Bounded(weights, self.gap(state), steps)

    def snapped(self, point: _Point, readiness: float, newton: bool) -> Bounded | None:
        """The weights with those at a bound put there; the others take up the rest, alike or by a step of Newton's method."""
        state = point.state
        # At the optimum either the distance or the multiplier vanishes; both are brought to the size of one.
        size = readiness / (state.w.size * state.total)
        at_low = state.w - self.low < size * point.z_low
        at_high = self.capped & (self.high - state.w < size * point.z_high) & ~at_low
        inside = ~(at_low | at_high)
        if not inside.any() or (newton and state.w.size > self.tuning.snapped):
            return None
        out = np.where(at_low, self.low, np.where(at_high, self.high, state.w))
        left = self.room - float(out.sum())
        if newton:
            step = self._on_face(state, inside, out - state.w, left)
            if step is None:
                return None
            out[inside] += step
        else:
            margin = np.minimum(state.w - self.low, self.high - state.w)[inside]
            out[inside] += left * margin / margin.sum()
        out = np.clip(out, self.low, self.high)
        out[inside] += (self.room - out.sum()) / np.count_nonzero(inside)
        if np.any(out < self.low) or np.any(out > self.high):
            return None
        found = self.at(out)
        return None if found is None else self.bounded(found, 0)

    def _on_face(self, state: _State, inside: NDArray[np.bool_], change: Floats, left: float) -> Floats | None:
        """Newton's step on the weights inside: H dw + nu = q - H (what was put on bounds), with sum `left`."""
        H = self._hessian(state)[inside]
        face = H[:, inside]
        face[np.diag_indices_from(face)] += REGULARISATION * float(np.trace(face)) / len(face)
        try:
            factor = scipy.linalg.cho_factor(face, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        right = np.column_stack([state.q[inside] - H @ change, np.ones(len(face))])
        solved = scipy.linalg.cho_solve(factor, right, check_finite=False)
        return np.asarray(solved[:, 0] + (left - solved[:, 0].sum()) / solved[:, 1].sum() * solved[:, 1])

    def solver(self, state: _State, D: Floats) -> Callable[[Floats], Floats] | None:
        """x -> (H + diag D)^-1 x, for several right-hand sides as columns; None where that is numerically singular."""
        m, p = state.w.size, symmetric_dimension(len(state.Z))
        try:
            if m <= self.tuning.dense * p:
                factor = scipy.linalg.cho_factor(self._hessian(state) + np.diag(D), lower=True, check_finite=False)
                return lambda x: np.asarray(scipy.linalg.cho_solve(factor, x, check_finite=False))
            F = self._root(state)
            scaled = F / D
            inner = scipy.linalg.cho_factor(np.eye(len(F)) + scaled @ F.T, lower=True, check_finite=False)
        except (np.linalg.LinAlgError, ValueError):
            return None

        def once(x: Floats) -> Floats:
            return x / D[:, None] - scaled.T @ scipy.linalg.cho_solve(inner, scaled @ x, check_finite=False)

        def refined(x: Floats) -> Floats:
            y = once(x)
            return np.asarray(y + once(x - (F.T @ (F @ y) + D[:, None] * y)))

        return refined

    def _hessian(self, state: _State) -> Floats:
        return sum_per_pair(self.form.hessian(state.L, state.Z), self.k) / self.scale

    def _root(self, state: _State) -> Floats:
        """F (p, m) with H = F'F."""
        r = len(state.Z)
        if self.form.pair_weights(np.zeros(r)) is None:
            return coordinates(state.Z, responses=self.k) / np.sqrt(self.scale)
        axes, lengths, _ = np.linalg.svd(state.L)
        m = np.zeros(r)
        m[: lengths.size] = lengths**2
        weight = self.form.pair_weights(m)
        assert weight is not None
        weight = weight / self.scale
        rows, cols = np.triu_indices(len(m), 1)
        each = np.concatenate([np.diag(weight), weight[rows, cols]])
        return np.sqrt(each)[:, None] * coordinates(axes.T @ state.Z, responses=self.k)


def _step(task: _Task, point: _Point, centring: float) -> tuple[_Point | None, float]:
    """The next point, and how much of the step was taken; None where there is none."""
    state, low, high = point.state, point.state.w - task.low, task.high - point.state.w
    capped = task.capped
    mu = centring * float(low @ point.z_low + high @ point.z_high) / (low.size + int(capped.sum()))
    D = point.z_low / low + np.where(capped, point.z_high / high, 0.0)
    solve = task.solver(state, D)
    if solve is None:
        return None, 0.0
    right = state.q + mu / low - np.where(capped, mu / high, 0.0)
    solved = solve(np.column_stack([right, np.ones(low.size)]))
    dw = solved[:, 0] - solved[:, 0].sum() / solved[:, 1].sum() * solved[:, 1]
    dw -= dw.sum() / solved[:, 1].sum() * solved[:, 1]
    dz_low = mu / low - point.z_low - point.z_low / low * dw
    dz_high = np.where(capped, mu / high - point.z_high + point.z_high / high * dw, 0.0)
    length = min(1.0, BOUNDARY * _to_zero(np.append(low, high[capped]), np.append(dw, -dw[capped])))
    dual = min(
        1.0, BOUNDARY * _to_zero(np.append(point.z_low, point.z_high[capped]), np.append(dz_low, dz_high[capped]))
    )
    slope = -float((state.q + mu / low - np.where(capped, mu / high, 0.0)) @ dw)

    def barrier(at: _State) -> float:
        return at.value - mu * float(np.log(at.w - task.low).sum() + np.log((task.high - at.w)[capped]).sum())

    now = barrier(state)
    allowance = 1e-12 * (1.0 + abs(now))
    while length >= SHORTEST_STEP:
        moved = task.at(state.w + length * dw)
        if moved is not None and barrier(moved) <= now + SUFFICIENT_DECREASE * length * slope + allowance:
            return _Point(moved, point.z_low + dual * dz_low, point.z_high + dual * dz_high), length
        length *= 0.5
    return None, 0.0


def _to_zero(x: Floats, dx: Floats) -> float:
    """The largest a with x + a dx >= 0."""
    falling = dx < 0.0
    return float((x[falling] / -dx[falling]).min()) if falling.any() else np.inf


def filled(q: Floats, lower: Floats, upper: Floats, total: float = 1.0) -> tuple[Floats, float]:
    """The weights of the largest w'q within the bounds and with this sum, and the q of the arm that is filled in part."""
    order = np.argsort(-q)
    room = (upper - lower)[order]
    reached = np.cumsum(room)
    left = total - float(lower.sum())
    vertex = lower.copy()
    vertex[order] += np.clip(left - (reached - room), 0.0, room)
    return vertex, float(q[order[min(int(np.searchsorted(reached, left)), q.size - 1)]])


def is_for(canonical: Canonical, tuning: BoundedTuning = BOUNDED) -> bool:
    """Whether weights have no limits but bounds, the arms are few enough to hold, and the criterion is smooth or a minimax."""
    problem = canonical.problem
    if not (problem.weight_set.is_box and fits(problem.arms.n, canonical.rank, tuning)):
        return False
    return oracle_of(problem).smooth(canonical) is not None or is_two_sided(canonical)


def is_two_sided(canonical: Canonical) -> bool:
    """Whether targets are generated, too: for the largest of their variances."""
    return oracle_of(canonical).corrective_step(canonical, _Sides()) is True


class _Sides:
    """Whether a corrective step is two-sided, asked in the way of a solve."""

    def log_det(self) -> bool:
        return False

    def average_variance(self) -> bool:
        return False

    def two_sided(self) -> bool:
        return True


def _saturated(
    canonical: Canonical, smooth: tuple[SmoothForm, Floats], arms: Floats, lower: Floats, upper: Floats
) -> Bounded | None:
    """The weights of as many arms as dimensions, strata among them: where these are unit vectors, sums over arms are least.

    None where the criterion is no such sum, or information is held.
    """
    n, r = arms.shape
    if n != r or canonical.prior is not None or canonical.problem.responses > 1:
        return None
    form, contrast_matrix = smooth
    try:
        # A = U' diag(w) U: with L = U'K, tr(A^-1 LL') = tr(diag(w)^-1 KK').
        L = _solved(arms, contrast_matrix) if contrast_matrix.size else np.empty((r, 0))
        a = form.saturated(np.asarray(L, dtype=np.float64))
    except np.linalg.LinAlgError:
        return None
    if a is None or not np.isfinite(a).all() or not (a > 0).any():
        return None
    return Bounded(bounded_shares(a, lower, upper)[0], 0.0, 0)


def _solved(arms: Floats, columns: Floats) -> Floats:
    """U'^-1 K for square U: by its entries where each row and column has one."""
    entries = single_entries(arms)
    if entries is not None and np.unique(entries[0]).size == len(arms) and entries[1].all():
        return np.asarray(columns[entries[0]] / entries[1][:, None])
    return np.asarray(np.linalg.solve(arms.T, columns))


def _on_sets(
    canonical: Canonical,
    smooth: tuple[SmoothForm, Floats],
    arms: Floats,
    lower: Floats,
    upper: Floats,
    tol: float,
    stop: Callable[[], bool],
    tuning: BoundedTuning,
) -> Bounded | None:
    """The weights by working sets where there are very many arms; None where that does not end within tol."""
    from convexdesign.frankwolfe.bounded_sets import within_bounds_on_sets

    if canonical.problem.arms.n < tuning.many or canonical.problem.responses > 1:
        return None
    found = within_bounds_on_sets(
        arms,
        *smooth,
        lower,
        upper,
        ALMOST * tol,
        prior=canonical.prior,
        stop=stop,
        tuning=tuning,
    )
    return found if found is not None and (found.gap <= tol or stop()) else None


def interior_point(
    canonical: Canonical,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    tuning: BoundedTuning = BOUNDED,
) -> Outcome:
    """Weights within their bounds and a relative `tol` of the optimum; bounds that are reached are reached exactly.

    max_iter counts steps; time_limit in seconds; report is called once, with the result; tuning: what was
    measured. Raises SolverError where `is_for` is false or the arms that may have weight do not span.
    """
    if not is_for(canonical, tuning):
        raise SolverError(
            "the interior point method is for smooth criteria and minimax, bounds on the weights and not too many arms"
        )
    smooth = oracle_of(canonical).smooth(canonical)
    trace = Trace("interior-point", tol, max_iter, time_limit, report)
    W, n = canonical.problem.weight_set, canonical.problem.arms.n
    lower = np.zeros(n) if W.lower is None else W.lower
    upper = np.where(W.allowed(n), np.ones(n) if W.upper is None else W.upper, 0.0)
    upper = np.maximum(upper, lower)
    each = _seconds_per_step(n, canonical.rank, tuning)

    def no_time() -> bool:
        return time_limit is not None and trace.seconds + each > time_limit

    if smooth is None:
        return _minimax(canonical, trace, lower, upper, no_time, tuning)
    arms = canonical.whiten_arms(np.arange(n))
    form, contrast_matrix = smooth
    try:
        found = (
            _saturated(canonical, smooth, arms, lower, upper)
            or _on_sets(canonical, smooth, arms, lower, upper, tol, no_time, tuning)
            or within_bounds(
                arms,
                form,
                contrast_matrix,
                lower,
                upper,
                ALMOST * tol,
                prior=canonical.prior,
                max_steps=trace.iterations_left,
                stop=no_time,
                tuning=tuning,
            )
        )
    except np.linalg.LinAlgError as error:
        raise SolverError(str(error)) from None
    trace.iterations = found.steps
    weights = found.weights if W.is_simplex else W.projected(found.weights)
    if found.steps == 0 and found.gap == 0.0:
        # In as many dimensions as arms a proof takes long, and the weights will be judged anyway.
        value = evaluate(canonical, weights).value
        trace.record(value, value, 0.0, int(np.count_nonzero(weights)))
    else:
        proven = certify(canonical, weights)
        trace.record(proven.value, proven.bound, proven.gap, int(np.count_nonzero(weights)))
    ended = None if found.gap <= tol else trace.limit_reached() or (Status.TIME_LIMIT if no_time() else None)
    return Outcome(found.weights, None, ended, trace.stats(2.0 * found.steps))


def _minimax(
    canonical: Canonical,
    trace: Trace,
    lower: Floats,
    upper: Floats,
    no_time: Callable[[], bool],
    tuning: BoundedTuning,
) -> Outcome:
    from convexdesign.frankwolfe.bounded_minimax_sets import minimax_design_within

    asked, trace.tol = trace.tol, ALMOST * trace.tol
    try:
        found = minimax_design_within(canonical, trace, lower, upper, no_time, tuning)
    except np.linalg.LinAlgError as error:
        raise SolverError(str(error)) from None
    trace.tol = asked
    ended = None if found.gap <= asked else trace.limit_reached() or (Status.TIME_LIMIT if no_time() else None)
    return Outcome(found.weights, found.dual, ended, trace.stats(2.0 * len(trace.history)))
