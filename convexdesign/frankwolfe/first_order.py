"""What the classic first-order methods share: gradient, value and certificate at given weights, from one pass.

For log det (D, and G by Kiefer-Wolfowitz) the gradient is q_i = tr(A^-1 N_i), N_i = y_i y_i' + A0. For the minimax
problem the maximum has one subgradient per worst target v, (y_i'A^-1v)^2: following it is what most published code
does. The bound is better than the method: it uses the targets met so far together, weighted as the steps weighted them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.certificate import Witness, witness_from_multipliers
from convexdesign.errors import SolverError
from convexdesign.frankwolfe.trace import Trace
from convexdesign.outcome import Outcome, Report, Status
from convexdesign.problem import Canonical, Criterion
from convexdesign.typing import Floats, Indices

__all__ = ["FirstOrder", "Point", "uniform_start"]


DEFAULT_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Point:
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


@dataclass
class FirstOrder:
    """Evaluates weights, remembers the best and, separately, the best bound, and records the history."""

    canonical: Canonical
    trace: Trace
    best: Point | None = None
    proof: Point | None = None
    ended: Status | None = None
    met: dict[int, float] = field(default_factory=dict)

    @classmethod
    def begin(
        cls,
        name: str,
        canonical: Canonical,
        tol: float,
        max_iter: int | None,
        time_limit: float | None,
        report: Report | None,
    ) -> FirstOrder:
        """Refuses what these methods do not handle; DEFAULT_STEPS iterations unless limited otherwise."""
        problem = canonical.problem
        if not problem.weight_set.is_simplex:
            raise SolverError(f"{name} works over all weights on the simplex; use method='conic' for constraints")
        if problem.criterion not in (Criterion.MINIMAX, Criterion.D):
            raise SolverError(f"{name} does not handle this criterion ({problem.criterion.value}); use method='conic'")
        return cls(canonical, Trace(name, tol, max_iter or DEFAULT_STEPS, time_limit, report))

    @property
    def follows_log_det(self) -> bool:
        problem = self.canonical.problem
        return problem.is_kiefer_wolfowitz or problem.criterion is Criterion.D

    def at(self, weights: Floats, share: float = 1.0) -> Point | None:
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

    def done(self, point: Point) -> bool:
        """Whether the gap asked for, or a limit, is reached."""
        self.ended = None if point.gap <= self.trace.tol else self.trace.limit_reached()
        return point.gap <= self.trace.tol or self.ended is not None

    def outcome(self) -> Outcome:
        """The best weights met, with the witness of the best bound."""
        if self.best is None or self.proof is None:
            raise SolverError(f"{self.trace.method} starts from weights that do not span the arms' range")
        witness: Witness | None = None
        if not self.follows_log_det:
            factor = self.canonical.basis @ self.proof.factor
            witness = witness_from_multipliers(self.canonical, factor, self.proof.targets, self.proof.multipliers)
        return Outcome(self.best.weights, witness, self.ended, self.trace.stats(self.trace.iterations))

    def _inverse_factor(self, weights: Floats) -> tuple[Floats, float] | None:
        """F (r, r) with FF' = A^-1 in whitened coordinates, and log det A."""
        lower, info = dpotrf(self.canonical.information(weights), lower=1)
        if info:
            return None
        return dtrtri(lower, lower=1)[0].T, 2.0 * float(np.log(np.diagonal(lower)).sum())

    def _log_det(self, weights: Floats, F: Floats, log_det: float) -> Point:
        canonical, r = self.canonical, self.canonical.rank
        problem = canonical.problem
        held = 0.0 if canonical.prior is None else float(np.vdot(F @ F.T, canonical.prior))
        q = problem.arms.quadratic(canonical.basis @ F) + held
        gap = float(q.max()) / r - 1.0
        support = int(np.count_nonzero(weights))
        if problem.criterion is Criterion.D:
            value = log_det + float(np.linalg.slogdet(canonical.inverse @ canonical.inverse.T)[1])
            self.trace.record(value, value + r * float(np.log1p(gap)), gap, support)
        else:
            bound = problem.common_variance * r
            self.trace.record(bound * (1.0 + gap), bound, gap, support, problem.targets.m)
        return Point(weights, q, q, float(q.max()), float(r), gap, np.empty(0, dtype=np.intp), np.empty(0), F)

    def _minimax(self, weights: Floats, F: Floats, share: float) -> Point:
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
        return Point(weights, own + own_held, sensitivity + held, value, bound, gap, targets, mu, F)

    def _sensitivity(self, F: Floats, T: Floats) -> tuple[Floats, float]:
        """sum_j (y_i'C v_j)^2 for every arm, and sum_j v_j'C A0 C v_j, for whitened T = V'F."""
        root = np.asarray(np.linalg.qr(T, mode="r")) if T.shape[0] > T.shape[1] else T
        columns = F @ root.T
        prior = self.canonical.prior
        held = 0.0 if prior is None else float(np.vdot(columns, prior @ columns))
        return self.canonical.problem.arms.quadratic(self.canonical.basis @ columns), held


def uniform_start(canonical: Canonical, start: Floats | None) -> Floats:
    """The weights given, mixed with a little of all arms, or uniform weights."""
    n = canonical.problem.arms.n
    uniform = np.full(n, 1.0 / n)
    if start is None:
        return uniform
    weights = np.zeros(n)
    weights[: start.size] = start
    return 0.99 * weights / weights.sum() + 0.01 * uniform
