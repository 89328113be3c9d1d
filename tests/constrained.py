"""Random problems with constraints in any units, beside the same in natural ones: for tests that compare the two.

`python tests/constrained.py 500` tries as many and prints what it finds.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

import convexdesign as cd

P = cd.DesignProblem
KINDS = {"d": P.d_optimal, "a": P.a_optimal, "g": P.g_optimal}
Constraints = Callable[[Any], list[Any]]


@dataclass(frozen=True)
class Constrained:
    """Arms and noise, the keywords of W in ugly units, the same W by constraints in natural units, and a name."""

    name: str
    kind: str
    arms: np.ndarray
    noise: np.ndarray
    keywords: dict[str, Any]
    natural: Constraints
    unit: np.ndarray  # of the weights, in which the natural ones are solved

    def problem(self) -> cd.DesignProblem:
        return KINDS[self.kind](self.arms, noise_variance=self.noise, **self.keywords)

    def reference(self) -> tuple[float, np.ndarray]:
        """The optimum by a program written out here, in natural units, and its weights."""
        n, d = self.arms.shape
        rows = self.arms / np.sqrt(self.noise)[:, None]
        x = cp.Variable(n)
        w = cp.multiply(self.unit, x)
        A = sum(self.unit[i] * x[i] * np.outer(rows[i], rows[i]) for i in range(n))
        if self.kind == "d":
            objective = cp.Maximize(cp.log_det(A))
        elif self.kind == "a":
            objective = cp.Minimize(sum(cp.matrix_frac(e, A) for e in np.eye(d)))
        else:
            objective = cp.Minimize(cp.maximum(*(cp.matrix_frac(v, A) for v in self.arms)))
        program = cp.Problem(objective, [x >= 0, cp.sum(w) == 1, *self.natural(w)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-10)
        return float(program.value), np.asarray(w.value)


def constrained(seed: int) -> Constrained:
    """The problem of this number."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 10)), int(rng.integers(2, 4))
    arms, noise = rng.standard_normal((n, d)), 10.0 ** rng.uniform(-1, 1, n)
    inside = 0.9 * rng.dirichlet(np.ones(n)) + 0.1 / n
    size, unit = (float(10.0 ** rng.integers(-12, 13)) for _ in range(2))
    names = list(rng.permutation(list(MAKERS))[: int(rng.integers(1, 4))])
    ugly: list[Constraints] = []
    natural: list[Constraints] = []
    keywords: dict[str, Any] = {}
    for name in names:
        made = MAKERS[name](rng, inside, size, unit)
        ugly += made[:1] if callable(made[0]) else []
        keywords |= {} if callable(made[0]) else made[0]
        natural.append(made[1])
    if ugly:
        keywords["constraints"] = lambda w: [c for part in ugly for c in part(w)]
    kind = str(rng.choice(list(KINDS)))
    name = f"{seed}: {kind}, {' + '.join(names)}, size {size:g}, unit {unit:g}"
    return Constrained(
        name, kind, arms, noise, keywords, lambda w: [c for part in natural for c in part(w)], np.ones(n)
    )


def _some(rng, n):
    return np.sort(rng.permutation(n)[: int(rng.integers(2, n))])


def _pair(build):
    """A maker from one that says the constraints for a size of each and a unit of variables: natural ones have both one."""

    def make(rng, w0, size, unit):
        state = rng.bit_generator.state
        rng.bit_generator.state = state
        parts = build(rng, w0)
        return (lambda w: parts(w, size, unit)), (lambda w: parts(w, 1.0, 1.0))

    return make


def _cap(rng, w0):
    i, cap = int(rng.integers(w0.size)), float(10.0 ** rng.uniform(-3, 0))
    cap = max(cap, w0[i] * 0.5) if rng.random() < 0.5 else cap
    return lambda w, c, s: [c * w[i] <= c * cap]


def _norm(rng, w0):
    k = _some(rng, w0.size)
    r = float(np.linalg.norm(w0[k])) * rng.uniform(1.0, 1.2)
    return lambda w, c, s: [c * cp.norm(w[k], 2) <= c * r]


def _ball(rng, w0):
    r = float(10.0 ** rng.uniform(-2, 0))
    return lambda w, c, s: [c * cp.sum_squares(w - w0) <= c * r**2]


def _entropy(rng, w0):
    least = float(-(w0 @ np.log(w0))) * rng.uniform(0.7, 1.0)
    return lambda w, c, s: [c * cp.sum(cp.entr(w)) >= c * least]


def _logs(rng, w0):
    k = _some(rng, w0.size)
    least = float(np.log(w0[k]).sum()) - rng.uniform(0, 1)
    return lambda w, c, s: [c * cp.sum(cp.log(w[k])) >= c * least]


def _quadratic_over_linear(rng, w0):
    k = _some(rng, w0.size - 1)
    most = float(w0[k] @ w0[k] / w0[-1]) * rng.uniform(1.0, 1.5)
    return lambda w, c, s: [c * cp.quad_over_lin(w[k], w[-1]) <= c * most]


def _own(rng, w0):
    k = _some(rng, w0.size)
    r = float(np.linalg.norm(w0[k])) * rng.uniform(1.0, 1.2)

    def parts(w, c, s):
        u = cp.Variable(k.size)
        return [c * u == c * s * w[k], cp.norm(u, 2) <= r * s]

    return parts


def _divided(rng, w0):
    k = _some(rng, w0.size)
    r = float(np.abs(w0[k] - w0[k].mean()).sum()) * rng.uniform(1.0, 1.5) + 1e-3

    def parts(w, c, s):
        u, t = cp.Variable(k.size), cp.Variable()
        return [w[k] / c == u / (c * s), t <= r * s, cp.norm1(u - s * float(w0[k].mean())) <= t]

    return parts


def _basis(rng, w0):
    m = int(rng.integers(3, w0.size + 1))
    M = np.c_[w0, rng.standard_normal((w0.size, m - 1))]

    def parts(w, c, s):
        u = cp.Variable(m)
        return [w == (M / s) @ u]

    return parts


def _idle(rng, w0):
    k = _some(rng, w0.size)

    def parts(w, c, s):
        u = cp.Variable()
        return [s * cp.norm(w[k], 2) <= u, c * cp.sum(w[k]) <= c * 2.0]

    return parts


def _equal(rng, w0):
    i, j = rng.permutation(w0.size)[:2]
    ratio = float(w0[i] / w0[j])
    return lambda w, c, s: [c * w[int(i)] == c * ratio * w[int(j)]]


def _near(rng, w0):
    r = float(rng.uniform(0.05, 0.5))
    return lambda w, c, s: [c * cp.norm1(w - w0) <= c * r]


def _matrix(rng, w0):
    most = float(w0.max()) * rng.uniform(1.0, 1.3)
    return lambda w, c, s: [c * cp.diag(w[:3]) << c * most * np.eye(3)]


def _power(rng, w0):
    p = float(rng.choice([1.5, 2.5, 3.0]))
    most = float(np.sum(w0**p)) * rng.uniform(1.0, 1.2)
    return lambda w, c, s: [c * cp.sum(cp.power(w, p)) <= c * most]


def _divergence(rng, w0):
    most = float(rng.uniform(0.01, 0.5))
    return lambda w, c, s: [c * cp.sum(cp.kl_div(w, w0)) <= c * most]


def _inequalities(rng, w0, size, unit):
    k = int(rng.integers(1, 4))
    G = rng.standard_normal((k, w0.size))
    h = G @ w0 + rng.uniform(0, 0.3, k)
    scale = size ** rng.choice([-1, 0, 1], k)
    return {"inequalities": (G * scale[:, None], h * scale)}, lambda w: [G @ w <= h]


def _bounds(rng, w0, size, unit):
    lower, upper = w0 * rng.uniform(0, 0.9, w0.size), np.minimum(w0 * rng.uniform(1.1, 4, w0.size), 1.0)
    return {"min_weight": lower, "max_weight": upper}, lambda w: [w >= lower, w <= upper]


MAKERS: dict[str, Callable[..., Any]] = {
    "norm": _pair(_norm),
    "ball": _pair(_ball),
    "entropy": _pair(_entropy),
    "logs": _pair(_logs),
    "quadratic over linear": _pair(_quadratic_over_linear),
    "own variable": _pair(_own),
    "own variable, divided": _pair(_divided),
    "in a basis": _pair(_basis),
    "idle variable": _pair(_idle),
    "equality": _pair(_equal),
    "near a design": _pair(_near),
    "semidefinite": _pair(_matrix),
    "power": _pair(_power),
    "divergence": _pair(_divergence),
    "inequalities": _inequalities,
    "bounds": _bounds,
    "cap": _pair(_cap),
}


def miss(problem: Constrained, weights: np.ndarray) -> float:
    """The largest residual of the natural constraints, all of order one, at the weights; own variables chosen best."""
    w = cp.Variable(weights.size)
    made = problem.natural(w)
    slack = cp.Variable(nonneg=True)
    elastic = []
    for c in made:
        if isinstance(c, (cp.constraints.Equality, cp.constraints.Zero)):
            elastic.append(cp.abs(c.expr) <= slack)
        elif isinstance(c, cp.constraints.PSD):
            elastic.append(cp.lambda_min(c.args[0]) >= -slack)
        else:
            elastic.append(c.expr <= slack)
    program = cp.Problem(cp.Minimize(slack), [w == weights, *elastic])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(slack.value)


def main(count: int, first: int = 0) -> None:
    import time

    false = certified = solvable = 0
    for seed in range(first, first + count):
        case = constrained(seed)
        try:
            value, _ = case.reference()
        except Exception:
            continue
        if not np.isfinite(value):
            continue
        solvable += 1
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                design = cd.solve(case.problem(), time_limit=30)
        except Exception as error:
            print("ERROR", case.name, type(error).__name__, str(error)[:150], flush=True)
            continue
        seconds = time.perf_counter() - started
        scale = 1.0 if case.kind == "d" else abs(value)
        wrong = (value - design.bound if case.kind == "d" else design.bound - value) / scale
        better = (design.value - value if case.kind == "d" else value - design.value) / scale
        off = miss(case, design.weights) if design.status is cd.Status.CERTIFIED else 0.0
        if wrong > 1e-6 or (design.status is cd.Status.CERTIFIED and (better > 1e-5 or off > 1e-6)):
            false += 1
            print("FALSE", case.name, design, f"reference {value:.9g} off {off:.1e}", flush=True)
        if design.status is cd.Status.CERTIFIED:
            certified += 1
        else:
            print(
                "open",
                case.name,
                design,
                f"reference {value:.9g} infeasible {design.certificate.feasibility:.1e}",
                flush=True,
            )
        if seconds > 5:
            print("slow", case.name, round(seconds, 1), flush=True)
    print(f"{solvable} solvable of {count}: {false} false, {certified} certified")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
