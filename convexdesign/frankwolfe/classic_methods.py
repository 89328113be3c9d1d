"""The classic first-order methods, to be compared with: Frank-Wolfe, that with away steps, and the multiplicative algorithm.

- *frank-wolfe-vanilla*: w <- (1 - a) w + a e_i towards the arm of largest slope, with the textbook step a = 2/(k+2). On a
  maximum of variances, which is not smooth, it follows one worst target while others wait, and hovers a percent or so above
  the optimum for thousands of steps. Frank and Wolfe (1956); Jaggi (2013) for the step.
- *frank-wolfe-away*: weight may also leave the worst supported arm, whichever promises more. For log det the best step is known
  in closed form (Fedorov 1972 towards an arm, Atwood 1973 away from one), and the method converges linearly (Todd and
  Yildirim 2007). For a maximum of variances there is no such theory; the step is 2/(k+2), cut where a weight would become
  negative.
- *multiplicative*: every weight is multiplied by its own slope, relative to the mean. For log det, w_i <- w_i q_i / r increases
  det A at every step (Silvey, Titterington and Torsney 1978; Yu 2010), slowly near the end. For the minimax problem both
  sides move: the targets' multipliers grow with their variances, and the weights follow w_i <- w_i sqrt(s_i), s_i the
  sensitivity of that average variance, which decreases it (Yu 2010).

Gradient, value and certificate at given weights come from one pass. For log det (D, and G by Kiefer-Wolfowitz) the gradient
is q_i = tr(A^-1 N_i), N_i = y_i y_i' + A0. For the minimax problem the maximum has one subgradient per worst target v,
(y_i'A^-1v)^2: following it is what most published code does. The bound is better than the method: it uses the targets met so
far together, weighted as the steps weighted them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.certificate import DualCertificate, dual_from_multipliers
from convexdesign.criteria import oracle_of
from convexdesign.errors import SolverError
from convexdesign.outcome import Outcome, Report, Status
from convexdesign.problem import Canonical
from convexdesign.trace import Trace
from convexdesign.typing import Floats, Indices

__all__ = ["CLASSIC", "FirstOrder", "FirstOrderPoint", "classic", "steps"]


DEFAULT_STEPS = 1000


@dataclass(frozen=True, eq=False)
class FirstOrderPoint:
    """At weights w: slope (n,) of the objective towards each arm, and blend (n,), that for all targets met so far.

    For log det, slope = q, value = max q and bound = r. For the minimax problem the value is that of the worst target,
    to which the slope belongs (sum_i w_i slope_i = value), and the bound is proven by the multipliers (k,) of the
    targets (k,) met so far. gap = value / bound - 1 in both cases.
    """

    weights: Floats
    slope: Floats
    blend: Floats
    value: float
    bound: float
    gap: float
    targets: Indices
    multipliers: Floats
    factor: Floats


def classic(
    name: str,
    canonical: Canonical,
    *,
    start: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """The best certified weights met by one of CLASSIC, with the proof of the best bound; DEFAULT_STEPS unless limited.

    start (k,): weights of a related design. Raises SolverError for criteria and weight sets that these methods do not handle.
    """
    method = FirstOrder(canonical, Trace(name, tol, max_iter or DEFAULT_STEPS, time_limit, report))
    for point in steps(method, start):
        if method.done(point):
            break
    return method.outcome()


def steps(method: FirstOrder, start: Floats | None = None) -> Iterator[FirstOrderPoint]:
    """Every point that a method comes to, from `start` (k,) or uniform weights; it ends where weights span no more.

    Raises SolverError for criteria and weight sets that these methods do not handle.
    """
    canonical, name = method.canonical, method.trace.method
    problem = canonical.problem
    if not problem.weight_set.is_simplex:
        raise SolverError(f"{name} works over all weights on the simplex; use method='conic' for constraints")
    if not oracle_of(problem).has_slope:
        raise SolverError(f"{name} does not handle this criterion ({problem.criterion.formula}); use method='conic'")
    weights, share = _uniform_start(canonical, start), 1.0
    for k in itertools.count(1):
        point = method.at(weights, share)
        if point is None:
            return
        yield point
        share = 2.0 / (k + 2.0)
        weights = CLASSIC[name](method, point, share)


@dataclass
class FirstOrder:
    """Evaluates weights, remembers the best and, separately, the best bound, and records the history."""

    canonical: Canonical
    trace: Trace
    best: FirstOrderPoint | None = None
    proof: FirstOrderPoint | None = None
    ended: Status | None = None
    met: dict[int, float] = field(default_factory=dict)

    @property
    def follows_log_det(self) -> bool:
        return oracle_of(self.canonical).maximises_log_det(self.canonical.problem)

    def at(self, weights: Floats, share: float = 1.0) -> FirstOrderPoint | None:
        """Evaluate the weights; `share` is the weight of this point's worst target among those met so far.

        None where the weights do not span the range of the arms any more.
        """
        self.trace.iterations += 1
        inverse = self._inverse_factor(weights)
        if inverse is None:
            return None
        point = self._log_det(weights, *inverse) if self.follows_log_det else self._minimax(weights, inverse[0], share)
        if self.best is None or point.value < self.best.value:
            self.best = point
        if self.proof is None or point.bound > self.proof.bound:
            self.proof = point
        return point

    def done(self, point: FirstOrderPoint) -> bool:
        """Whether the gap asked for, or a limit, is reached."""
        self.ended = None if point.gap <= self.trace.tol else self.trace.limit_reached()
        return point.gap <= self.trace.tol or self.ended is not None

    def outcome(self) -> Outcome:
        """The best weights met, with the dual certificate of the best bound."""
        if self.best is None or self.proof is None:
            raise SolverError(f"{self.trace.method} starts from weights that do not span the arms' range")
        dual: DualCertificate | None = None
        if not self.follows_log_det:
            factor = self.canonical.basis @ self.proof.factor
            dual = dual_from_multipliers(self.canonical, factor, self.proof.targets, self.proof.multipliers)
        return Outcome(self.best.weights, dual, self.ended, self.trace.stats(self.trace.iterations))

    def _inverse_factor(self, weights: Floats) -> tuple[Floats, float] | None:
        """F (r, r) with FF' = A^-1 in whitened coordinates, and log det A."""
        lower, info = dpotrf(self.canonical.information(weights), lower=1)
        if info:
            return None
        return dtrtri(lower, lower=1)[0].T, 2.0 * float(np.log(np.diagonal(lower)).sum())

    def _log_det(self, weights: Floats, F: Floats, log_det: float) -> FirstOrderPoint:
        canonical, r = self.canonical, self.canonical.rank
        problem = canonical.problem
        held = 0.0 if canonical.prior is None else float(np.vdot(F @ F.T, canonical.prior))
        q = problem.arms.quadratic(canonical.basis @ F) + held
        gap = float(q.max()) / r - 1.0
        support = int(np.count_nonzero(weights))
        value, bound, targets = oracle_of(problem).history(canonical, log_det, gap)
        self.trace.record(value, bound, gap, support, targets)
        return FirstOrderPoint(weights, q, q, float(q.max()), float(r), gap, np.empty(0, dtype=np.intp), np.empty(0), F)

    def _minimax(self, weights: Floats, F: Floats, share: float) -> FirstOrderPoint:
        canonical, problem = self.canonical, self.canonical.problem
        index, values = problem.targets.worst(canonical.basis @ F, 1)
        worst, value = int(index[0]), float(values[0])
        self.met = {j: (1.0 - share) * mu for j, mu in self.met.items() if mu > 1e-12}
        self.met[worst] = self.met.get(worst, 0.0) + share
        targets, mu = np.array(list(self.met), dtype=np.intp), np.array(list(self.met.values()))
        scale = np.sqrt(canonical.target_scale)
        T = scale * canonical.whiten_targets(targets) @ F
        q = np.einsum("jk,jk->j", T, T)
        sensitivity, held = self._sensitivity(F, np.sqrt(mu)[:, None] * T)
        bound = float(mu @ q**2) / (float(sensitivity.max()) + held)
        own, own_held = self._sensitivity(F, T[-1:] if targets[-1] == worst else T[targets == worst])
        gap = value / bound - 1.0
        self.trace.record(value, bound, gap, int(np.count_nonzero(weights)), targets.size)
        return FirstOrderPoint(weights, own + own_held, sensitivity + held, value, bound, gap, targets, mu, F)

    def _sensitivity(self, F: Floats, T: Floats) -> tuple[Floats, float]:
        """sum_j (y_i'C v_j)^2 for every arm, and sum_j v_j'C A0 C v_j, for whitened T = V'F."""
        root = np.asarray(np.linalg.qr(T, mode="r")) if T.shape[0] > T.shape[1] else T
        columns = F @ root.T
        prior = self.canonical.prior
        held = 0.0 if prior is None else float(np.vdot(columns, prior @ columns))
        return self.canonical.problem.arms.quadratic(self.canonical.basis @ columns), held


def _uniform_start(canonical: Canonical, start: Floats | None) -> Floats:
    """The weights given, mixed with a little of all arms, or uniform weights."""
    n = canonical.problem.arms.n
    uniform = np.full(n, 1.0 / n)
    if start is None:
        return uniform
    weights = np.zeros(n)
    weights[: start.size] = start
    return 0.99 * weights / weights.sum() + 0.01 * uniform


def _towards(method: FirstOrder, point: FirstOrderPoint, share: float) -> Floats:
    """Towards the arm of largest slope."""
    weights = (1.0 - share) * point.weights
    weights[np.argmax(point.slope)] += share
    return np.asarray(weights)


def _towards_or_away(method: FirstOrder, point: FirstOrderPoint, share: float) -> Floats:
    """Towards the arm of largest slope or away from the supported one of least, whichever promises more."""
    canonical = method.canonical
    level = float(point.weights @ point.slope)
    arm, longest = _direction(point, level)
    step = share if longest > 0 else -share
    if method.follows_log_det and canonical.prior is None and canonical.problem.responses == 1:
        step = _log_det_step(float(point.slope[arm]), level)
    step = float(np.clip(step, min(longest, 0.0), max(longest, 0.0)))
    weights = (1.0 - step) * point.weights
    weights[arm] = max(weights[arm] + step, 0.0)
    return np.asarray(weights / weights.sum())


def _multiplied(method: FirstOrder, point: FirstOrderPoint, share: float) -> Floats:
    """w_i q_i (log det) or w_i sqrt(s_i) (minimax), renormalised."""
    power = 1.0 if method.follows_log_det else 0.5
    weights = point.weights * (point.blend / point.blend.max()) ** power
    weights = np.where(weights > 1e-14 * weights.max(), weights, 0.0)
    return np.asarray(weights / weights.sum())


def _direction(point: FirstOrderPoint, level: float) -> tuple[int, float]:
    """The arm to move towards (longest step 1) or away from (longest step negative: where its weight vanishes)."""
    towards = int(np.argmax(point.slope))
    supported = np.flatnonzero(point.weights != 0)
    worst = int(supported[np.argmin(point.slope.take(supported))])
    w = float(point.weights[worst])
    if w < 1.0 and level - point.slope[worst] > point.slope[towards] - level:
        # The last bit of an arm without which nothing is measured must stay.
        return worst, -w / (1.0 - w) * (1.0 - 1e-9 * (supported.size <= point.factor.shape[0]))
    return towards, 1.0


def _log_det_step(q: float, r: float) -> float:
    """argmax of log det((1 - a) A + a y y'): a = (q/r - 1) / (q - 1), negative when q < r."""
    return (q / r - 1.0) / (q - 1.0) if q > 1.0 else -np.inf


# By the name of the method: the next weights, given a point and the share 2/(k+2) of step k.
CLASSIC: dict[str, Callable[[FirstOrder, FirstOrderPoint, float], Floats]] = {
    "frank-wolfe-vanilla": _towards,
    "frank-wolfe-away": _towards_or_away,
    "multiplicative": _multiplied,
}
