"""A standing adversary: thousands of ugly problems of every kind, every claim of the answers recomputed in exact arithmetic.

Each problem is drawn from kind x geometry x {noise, costs, information held, bounds, inequalities, DCP constraints, several
responses} x scales, by its number alone, solved, and judged by `exactly.py`, which shares nothing with the package:

- the weights are nonnegative, sum to one, and keep every rule relative to the rule's own scale;
- the value is that of exactly these weights, to within the tolerance asked for;
- the bound lies on its side of the exact value of every design known that keeps the rules exactly;
- CERTIFIED means that the exact gap is within the tolerance: by exact dual vectors, else the claim counts as not confirmed,
  and as false where a better design is known;
- a refusal ("cannot be estimated") means that a target lies outside the range of the arms;
- `verify` of another design encloses its exact efficiency, and rounding to whole numbers claims none above it.

    python validation/adversarial.py docs/validation --replications 10000 --seed 0 --jobs 2
    python validation/adversarial.py --only 4711 --seed 0       # one problem again, in words
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from counting import kept_parts, shown, unfinished
from exactly import Exact, WeightRules, double, matrix, rational
from flint import ctx, fmpq, fmpq_mat

import convexdesign as cd

TOL = 1e-6
# The time limit of one solve, in seconds: so generous that only what does not end meets it.
LIMIT = 30.0
# A value is right when it is exact to this; the tolerance asked for is ten times it.
VALUE_SLACK = 1e-7
# One unit in the last place of a bound that is a product of two doubles, and of its logarithm.
BOUND_SLACK = 4e-16
# By so much of their size numbers may have been rounded before they were given.
BACKWARD = 1e-13
# Effort spread over all arms with which a target within rounding of the range of a design has the variance claimed.
ROUNDING_SHARE = fmpq(1, 2**40)

KINDS = (
    "minimax",
    "g-optimal",
    "variance-g-optimal",
    "xy-allocation",
    "level-set-allocation",
    "best-arm-oracle",
    "level-set-oracle",
    "c-optimal",
    "d-optimal",
    "ds-optimal",
    "a-optimal",
    "i-optimal",
    "average-variance",
    "e-optimal",
)
INVARIANT = KINDS[:10]  # under invertible maps of arms and targets together


@dataclass
class Statement:
    """A problem as its user states it, and its parts for exact arithmetic."""

    kind: str
    geometry: str
    arms: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)
    common: dict[str, Any] = field(default_factory=dict)
    features: list[str] = field(default_factory=list)
    radius: float | None = None  # sum w^2 <= radius^2, where a DCP constraint says so
    dcp: Callable[[Any], list[Any]] | None = None
    rules: dict[str, np.ndarray] = field(default_factory=dict)  # the bounds that a DCP constraint amounts to

    def problem(self) -> cd.DesignProblem:
        P, common, o = cd.DesignProblem, dict(self.common), self.options
        if self.dcp is not None:
            common["constraints"] = self.dcp
        make = {
            "minimax": lambda: P(self.arms, o["targets"], **common),
            "g-optimal": lambda: P.g_optimal(self.arms, **common),
            "variance-g-optimal": lambda: P.variance_g_optimal(self.arms, **common),
            "xy-allocation": lambda: P.xy_allocation(self.arms, o["items"], **common),
            "level-set-allocation": lambda: P.level_set_allocation(self.arms, o["items"], **common),
            "best-arm-oracle": lambda: P.best_arm_oracle(self.arms, o["items"], theta=o["theta"], **common),
            "level-set-oracle": lambda: P.level_set_oracle(
                self.arms, o["items"], theta=o["theta"], threshold=o["threshold"], **common
            ),
            "c-optimal": lambda: P.c_optimal(self.arms, o["direction"], **common),
            "d-optimal": lambda: P.d_optimal(self.arms, **common),
            "ds-optimal": lambda: P.ds_optimal(self.arms, o["interest"], **common),
            "a-optimal": lambda: P.a_optimal(self.arms, **common),
            "i-optimal": lambda: P.i_optimal(self.arms, o["region"], **common),
            "average-variance": lambda: P.average_variance(self.arms, o["M"], **common),
            "e-optimal": lambda: P.e_optimal(self.arms, **common),
        }
        return make[self.kind]()

    # ------------------------------------------------------------- exactly

    def exact(self) -> Exact:
        n = len(self.arms)
        groups = self.arms if self.arms.ndim == 3 else self.arms[:, :, None]
        columns = [_exact_matrix(X) for X in groups]
        if self.kind == "variance-g-optimal":
            columns = [_phi(X) for X in columns]
        d, r = columns[0].nrows(), columns[0].ncols()
        costs = self.common.get("costs", np.ones(n))
        precision = [_precision(self.common.get("noise_variance"), i, r) * (1 / rational(costs[i])) for i in range(n)]
        rules = self._rules(n)
        exact = Exact(d, "minimax", columns, precision, rules)
        o, kind = self.options, self.kind
        parts: dict[str, Any] = {}
        if kind == "minimax":
            parts["targets"] = _rows(o["targets"])
        elif kind in ("g-optimal", "variance-g-optimal"):
            parts["targets"] = [list(row) for X in columns for row in X.transpose().tolist()]
        elif kind == "level-set-allocation":
            parts["targets"] = _rows(o["items"])
        elif kind == "xy-allocation":
            Z = _rows(o["items"])
            parts["targets"] = [_minus(Z[a], Z[b]) for a in range(len(Z)) for b in range(a + 1, len(Z))]
        elif kind in ("best-arm-oracle", "level-set-oracle"):
            parts["targets"] = _scaled_targets(kind, o)
        elif kind == "c-optimal":
            parts["targets"] = _rows([o["direction"]])
        elif kind == "ds-optimal":
            parts.update(criterion="interest", K=_exact_matrix(o["interest"]))
        elif kind == "d-optimal":
            parts["criterion"] = "log det"
        elif kind == "e-optimal":
            parts["criterion"] = "least eigenvalue"
        elif kind == "a-optimal":
            parts.update(criterion="average", M=fmpq_mat(d, d, [fmpq(int(a == b)) for a in range(d) for b in range(d)]))
        elif kind == "i-optimal":
            R = _exact_matrix(o["region"])
            parts.update(criterion="average", M=R.transpose() * R * fmpq(1, R.nrows()))
        elif kind == "average-variance":
            parts.update(criterion="average", M=_exact_matrix(o["M"]))
        if "n_new" in self.common:
            parts["A0"] = self._held(exact)
        return replace(exact, **parts)

    def _rules(self, n: int) -> WeightRules:
        bounds = {**self.common, **self.rules}
        lower = np.broadcast_to(bounds.get("min_weight", 0.0), (n,))
        upper = np.broadcast_to(bounds.get("max_weight", 1.0), (n,))
        G, h = bounds.get("inequalities", (np.zeros((0, n)), np.zeros(0)))
        radius = None if self.radius is None else rational(self.radius)
        return WeightRules(
            n, [rational(x) for x in lower], [rational(x) for x in upper], _rows(G), [rational(x) for x in h], radius
        )

    def _held(self, exact: Exact) -> fmpq_mat:
        planned = 1 / rational(self.common["n_new"])
        if "prior_information" in self.common:
            return _exact_matrix(self.common["prior_information"]) * planned
        costs = self.common.get("costs", np.ones(len(self.arms)))
        total = fmpq_mat(exact.d, exact.d)
        for count, cost, block in zip(self.common["existing_counts"], costs, exact.blocks):
            total += block * (rational(count) * rational(cost))
        return total * planned


def _exact_matrix(A: np.ndarray) -> fmpq_mat:
    A = np.asarray(A, dtype=float)
    return fmpq_mat(A.shape[0], A.shape[1], [rational(x) for x in A.ravel()])


def _rows(A: Any) -> list[list[fmpq]]:
    return [[rational(x) for x in row] for row in np.asarray(A, dtype=float)]


def _minus(a: list[fmpq], b: list[fmpq]) -> list[fmpq]:
    return [x - y for x, y in zip(a, b)]


def _phi(X: fmpq_mat) -> fmpq_mat:
    x = [X[k, 0] for k in range(X.nrows())]
    entries = [x[a] * x[b] * (1 if a == b else 2) for a in range(len(x)) for b in range(a, len(x))]
    return fmpq_mat(len(entries), 1, entries)


def _precision(noise: Any, i: int, r: int) -> fmpq_mat:
    identity = fmpq_mat(r, r, [fmpq(int(a == b)) for a in range(r) for b in range(r)])
    if noise is None:
        return identity
    noise = np.asarray(noise, dtype=float)
    if noise.ndim == 3:
        return _exact_matrix(noise[i if len(noise) > 1 else 0]).inv()
    each = noise if noise.ndim == 0 else noise[i]
    return identity * (1 / rational(each))


def _scaled_targets(kind: str, o: dict[str, Any]) -> list[list[fmpq]]:
    Z, theta = _rows(o["items"]), [rational(x) for x in o["theta"]]
    score = [sum((a * b for a, b in zip(z, theta)), fmpq(0)) for z in Z]
    if kind == "level-set-oracle":
        alpha = rational(o["threshold"])
        return [[x / (s - alpha) for x in z] for z, s in zip(Z, score)]
    best = max(range(len(Z)), key=lambda k: score[k])
    return [[x / (score[best] - score[k]) for x in _minus(Z[best], Z[k])] for k in range(len(Z)) if Z[k] != Z[best]]


# ---------------------------------------------------------------------- drawing


def geometries() -> dict[str, Callable[[np.random.Generator, int, int], np.ndarray]]:
    """Sets of arms (n, d), from easy to vicious; each is exactly the doubles that it returns."""

    def gaussian(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        return rng.standard_normal((n, d))

    def sphere(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        X = rng.standard_normal((n, d))
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    def graded(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        U = np.linalg.qr(rng.standard_normal((max(n, d), d)))[0][:n]
        V = np.linalg.qr(rng.standard_normal((d, d)))[0]
        return U * np.logspace(0, -rng.uniform(0, 14), d) @ V.T

    def columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        X = gaussian(rng, n, d) * 10.0 ** rng.uniform(-12, 12, d)
        if rng.random() < 0.5:
            X[rng.integers(n), rng.integers(d)] = 0.0
        return X

    def rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        return gaussian(rng, n, d) * 10.0 ** rng.uniform(-6, 6, (n, 1))

    def years(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        start = int(rng.choice([0, 10, 100, 1000, 2000]))
        x = start + np.sort(rng.choice(4 * n, n, replace=False)).astype(float)
        return x[:, None] ** np.arange(d)

    def vandermonde(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        return np.linspace(-1, 1, n)[:, None] ** np.arange(d)

    def signs(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        return rng.choice([-1.0, 1.0], (n, d))

    def sparse(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        return rng.integers(-2, 3, (n, d)).astype(float) * (rng.random((n, d)) < 0.5)

    def low_rank(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        r = int(rng.integers(1, d + 1))
        return (rng.integers(-5, 6, (n, r)) @ rng.integers(-3, 4, (r, d))).astype(float) * 2.0 ** rng.integers(-40, 40)

    def twins(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        X = gaussian(rng, n, d)
        half = n // 2
        X[half : 2 * half] = X[:half] * (1 + 10.0 ** -rng.uniform(1, 16) * rng.standard_normal((half, d)))
        return X

    def needle(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        X = gaussian(rng, n, d)
        X[:, -1] = 0.0
        X[rng.integers(n), -1] = 10.0 ** rng.uniform(-13, 0)
        return X

    def basis(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        X = np.vstack([np.eye(d), gaussian(rng, max(n - d, 0), d)])[: max(n, d)]
        return X * 10.0 ** rng.uniform(-3, 3, (len(X), 1))

    return {
        f.__name__.replace("_", "-"): f
        for f in (
            gaussian,
            sphere,
            graded,
            columns,
            rows,
            years,
            vandermonde,
            signs,
            sparse,
            low_rank,
            twins,
            needle,
            basis,
        )
    }


def draw(number: int, seed: int) -> Statement:
    """Problem `number` of a seed; always the same."""
    rng = np.random.default_rng([seed, number])
    kind = KINDS[number % len(KINDS)]
    known = geometries()
    geometry = str(rng.choice(list(known)))
    d = int(rng.integers(1, 5 if kind == "variance-g-optimal" else 7))
    n = int(rng.integers(max(2, d), 4 * d + 6))
    X = known[geometry](rng, n, d)
    if not X.any():
        X[0, 0] = 1.0
    if rng.random() < 0.2:
        X = X * 2.0 ** rng.integers(-40, 41)  # exact, so that whole numbers keep the ranks they have
    s = Statement(kind, geometry, X)
    if kind != "variance-g-optimal" and rng.random() < 0.1:
        s.arms = np.stack([X, known["gaussian"](rng, len(X), d) * np.abs(X).max(axis=0)], axis=2)
        s.features.append("responses")
    _options(s, rng)
    _noise(s, rng)
    _held(s, rng)
    _weights(s, rng)
    return s


def _options(s: Statement, rng: np.random.Generator) -> None:
    X = s.arms if s.arms.ndim == 2 else s.arms[:, :, 0]
    n, d = X.shape
    mixtures = rng.integers(-3, 4, (int(rng.integers(2, 8)), n)).astype(float) @ X  # in the range but for rounding
    own = X[rng.choice(n, int(rng.integers(1, min(n, 8) + 1)), replace=False)]
    items = own if rng.random() < 0.7 else mixtures
    o = s.options
    if s.kind == "minimax":
        o["targets"] = items if items.any() else X[X.any(axis=1)][:1]
    elif s.kind in ("xy-allocation", "level-set-allocation", "best-arm-oracle", "level-set-oracle"):
        o["items"] = np.unique(np.vstack([items, X[:2], X[-1:]]), axis=0)
        if s.kind.endswith("oracle"):
            size = np.abs(X).max(axis=0)
            o["theta"] = rng.standard_normal(d) / np.where(size > 0, size, 1.0)
            scores = np.sort(o["items"] @ o["theta"])
            o["threshold"] = float(scores[0] - 1.0 if rng.random() < 0.5 else 0.5 * (scores[0] + scores[-1]) + 0.01)
    elif s.kind == "c-optimal":
        direction = X.sum(axis=0) if rng.random() < 0.5 else X[rng.integers(n)]
        o["direction"] = direction if direction.any() else X[np.flatnonzero(X.any(axis=1))[0]]
    elif s.kind == "ds-optimal":
        k = int(rng.integers(1, d + 1))
        o["interest"] = np.eye(d)[:, rng.permutation(d)[:k]]
    elif s.kind == "i-optimal":
        o["region"] = X if rng.random() < 0.5 else rng.standard_normal((5, d)) * np.abs(X).max(axis=0)
    elif s.kind == "average-variance":
        L = rng.integers(-3, 4, (d, int(rng.integers(1, d + 1)))).astype(float)
        o["M"] = L @ L.T if L.any() else np.eye(d)


def _noise(s: Statement, rng: np.random.Generator) -> None:
    n = len(s.arms)
    draw = rng.random()
    if draw < 0.15:
        s.common["noise_variance"] = np.full(n, 10.0 ** rng.uniform(-12, 12))
        s.features.append("noise in other units")
    elif draw < 0.5:
        s.common["noise_variance"] = 10.0 ** rng.uniform(*sorted(rng.uniform(-5, 5, 2)), n)
        s.features.append("noise")
    if rng.random() < 0.15:
        s.common["costs"] = 10.0 ** rng.uniform(-2, 2, n)
        s.features.append("costs")


def _held(s: Statement, rng: np.random.Generator) -> None:
    d = s.arms.shape[1]
    draw = rng.random()
    if draw < 0.1:
        s.common["existing_counts"] = rng.integers(0, 10, len(s.arms)).astype(float)
        s.common["n_new"] = float(rng.integers(1, 1000))
        if not s.common["existing_counts"].any():
            s.common["existing_counts"][0] = 1.0
        s.features.append("information held")
    elif draw < 0.2 and s.kind != "variance-g-optimal":
        size = 10.0 ** rng.integers(-6, 15) * float(np.abs(s.arms).max()) ** 2
        if rng.random() < 0.5:
            held = size * np.ones((d, d))
        else:
            L = rng.integers(-3, 4, (d, d)).astype(float)
            held = 2.0 ** np.round(np.log2(size)) * (L @ L.T)
        if held.any():
            s.common["prior_information"], s.common["n_new"] = held, float(rng.integers(1, 100))
            s.features.append("information held")


def _weights(s: Statement, rng: np.random.Generator) -> None:
    """Rules that the uniform design keeps strictly, so that every design can be repaired towards it."""
    n = len(s.arms)
    draw = rng.random()
    if draw < 0.08:
        s.common["max_weight"] = np.minimum(1.0, rng.uniform(1.05, 4.0, n) / n)
        s.features.append("caps")
    elif draw < 0.14:
        s.common["min_weight"] = rng.choice([0.0, 1e-9, 1e-3, 0.5], n) / n
        s.common["max_weight"] = rng.uniform(1.5, 5.0) / n if n > 5 else 1.0
        s.features.append("caps and minima")
    elif draw < 0.24:
        G = rng.standard_normal((int(rng.integers(1, 4)), n)) * (rng.random(n) < 0.6)
        scale = 10.0 ** rng.uniform(-9, 9, len(G))
        h = G.sum(axis=1) / n + 0.05 * np.abs(G).max(axis=1, initial=0) + 1e-3
        s.common["inequalities"] = (G * scale[:, None], h * scale)
        s.features.append("inequalities")
    elif draw < 0.32:
        _dcp(s, rng)


def _dcp(s: Statement, rng: np.random.Generator) -> None:
    import cvxpy as cp

    n, unit = len(s.arms), 10.0 ** rng.uniform(-6, 6)
    cap = float(rng.uniform(1.3, 4.0) / n)
    some = np.flatnonzero(rng.random(n) < 0.7)
    some = some if some.size else np.arange(n)
    upper = np.ones(n)
    upper[some] = min(cap, 1.0)
    row = np.zeros(n)
    row[some] = 1.0
    share = float(some.size / n + 0.02)
    form = int(rng.integers(5))
    s.features.append("DCP")
    if form == 0:
        s.dcp, s.rules = lambda w: [unit * cp.max(w[some]) <= unit * upper[some[0]]], {"max_weight": upper}
    elif form == 1:

        def own_variable(w: Any) -> list[Any]:
            t = cp.Variable()
            return [unit * w[some] <= t, t <= unit * upper[some[0]]]

        s.dcp, s.rules = own_variable, {"max_weight": upper}
        s.features[-1] = "DCP, own variable"
    elif form == 2:
        s.dcp, s.rules = lambda w: [unit * cp.sum(w[some]) <= unit * share], {"inequalities": (row[None], [share])}
    elif form == 3:

        def own_vector(w: Any) -> list[Any]:
            u = cp.Variable(some.size)
            return [u >= unit * w[some], cp.sum(u) <= unit * share]

        s.dcp, s.rules = own_vector, {"inequalities": (row[None], [share])}
        s.features[-1] = "DCP, own variable"
    else:
        s.radius = float(np.sqrt(1.0 / n) * rng.uniform(1.05, 2.0))
        radius = s.radius
        s.dcp = lambda w: [unit * cp.norm(w, 2) <= unit * radius]


# ---------------------------------------------------------------------- judging


def condition(s: Statement, exact: Exact) -> float:
    """Of the arms with columns (and then rows) of equal length: what no change of units can cure."""
    rows = np.array([[double(x) for x in row] for X in exact.columns for row in X.transpose().tolist()])
    size = np.linalg.norm(rows, axis=0)
    rows = rows[:, size > 0] / size[size > 0]
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows[size[:, 0] > 0] / size[size[:, 0] > 0]
    values = np.linalg.svd(rows, compute_uv=False)
    r = int(matrix_rank(exact))
    return float(values[0] / max(values[min(r, values.size) - 1], 1e-300))


def matrix_rank(exact: Exact) -> int:
    rows = [list(row) for X in exact.columns for row in X.transpose().tolist()]
    return int(fmpq_mat(len(rows), exact.d, [x for row in rows for x in row]).rank())


def judge(number: int, seed: int, method: str = "auto") -> dict[str, Any]:
    """Solve one problem and judge what is said of it: one table row."""
    ctx.prec = 256
    s = draw(number, seed)
    exact = s.exact()
    row: dict[str, Any] = {
        "number": number,
        "kind": s.kind,
        "geometry": s.geometry,
        "features": " + ".join(s.features) or "plain",
        "condition": condition(s, exact),
        "solvable": exact.solvable(),
        "status": "",
        "gap": np.nan,
        "exact_gap": np.nan,
        "false": "",
        "seconds": 0.0,
        "detail": "",
    }
    started = time.perf_counter()
    design = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.ConvergenceWarning)
            design = cd.solve(s.problem(), method=method, tol=TOL, time_limit=LIMIT)
    except cd.UnidentifiableError as error:
        # Where numbers within rounding of those given have no answer, a refusal is one.
        row["solvable"] = row["solvable"] and row["condition"] * BACKWARD < 1.0
        row.update(status="unidentifiable", detail=str(error)[:200])
        if row["solvable"]:
            row["false"] = "refused though identifiable"
    except cd.ConvexDesignError as error:
        row.update(status=type(error).__name__, detail=str(error)[:200])
    except Exception as error:  # whatever else comes out is a fault to be counted, not to end the count
        row.update(status="crash", false="crash", detail=f"{type(error).__name__}: {error}"[:200])
    row["seconds"] = time.perf_counter() - started
    if design is not None:
        row.update(status=design.status.name, gap=design.gap)
        try:
            row.update(_claims(s, exact, design))
        except cd.ConvexDesignError as error:
            row.update(false=f"{type(error).__name__} after the design: {error}"[:200])
        except Exception as error:  # as above: a fault of what came after the design
            row.update(status="crash", false="crash", detail=f"{type(error).__name__}: {error}"[:200])
    return row


def _claims(s: Statement, exact: Exact, design: cd.Design) -> dict[str, Any]:
    certified = design.status is cd.Status.CERTIFIED
    w = [rational(x) for x in design.weights]
    n = len(w)
    inside = [fmpq(1, n)] * n
    false: list[str] = []
    if min(w) < 0 or abs(double(sum(w, fmpq(0)) - 1)) > 1e-12:
        false.append("weights are no design")
    excess = exact.rules.violations(w)
    if certified and excess > 1e-6:
        false.append(f"breaks a rule by {excess:.1e} of its size")
    if design.rank < exact.rank:
        exact = _of_rank_said(exact, design)
    value = _value(exact, w)
    if value is None:
        if certified:
            false.append("infinite value certified")
        return {"exact_gap": np.inf, "false": "; ".join(false)}
    if not np.isfinite(design.value):
        return {
            "exact_gap": np.inf,
            "false": "; ".join([*false, "finite value called infinite"] if certified else false),
        }
    if certified and _distance(exact, value, rational(design.value)) > VALUE_SLACK + (TOL if exact.dimension else 0):
        false.append(f"value off by {_distance(exact, value, rational(design.value)):.1e}")
    if np.isfinite(design.bound if hasattr(design, "bound") else design.lower_bound):
        claim = rational(design.lower_bound)
        for candidate in (w, exact.rules.repaired(w, inside)):
            if candidate is None or not exact.rules.allows(_normalised(candidate)):
                continue
            known = exact.value(_normalised(candidate))
            if known is not None and _beyond(exact, claim, known):
                false.append("bound beyond a value")
                break
    gap = _exact_gap(s, exact, design, w, value)
    if certified and gap > TOL * (1 + 1e-3):
        false.append(f"gap not confirmed ({gap:.1e})")
    if certified and not false:
        false += _other_claims(exact, design, value, gap)
    return {"exact_gap": gap, "false": "; ".join(false)}


def _of_rank_said(exact: Exact, design: cd.Design) -> Exact:
    """The problem with the rank that the design names, if arms within rounding of those given have it; else as it was.

    Numbers that were rounded hardly ever keep a dependence that they had. So a rank said to be lower is right where arms next
    to those given, projected along the complement of the range, have it exactly.
    """
    canonical = design.canonical.plain
    W, R = _exact_matrix(canonical.basis), _exact_matrix(canonical.inverse)
    P = W * (R * W).inv() * R
    near = [P.transpose() * X for X in exact.columns]
    rows, moved = (
        np.array([[double(x) for x in row] for X in columns for row in X.transpose().tolist()])
        for columns in (exact.columns, [a - b for a, b in zip(exact.columns, near)])
    )
    size = np.abs(rows)
    for axis in (1, 0, 1, 0):
        # Units of rows and columns are nobody's rounding.
        largest = size.max(axis=axis, keepdims=True)
        largest[largest == 0] = 1.0
        size, moved = size / largest, moved / largest
    if np.abs(moved).max() > BACKWARD:
        return exact
    return replace(
        exact,
        columns=near,
        targets=[(P.transpose() * fmpq_mat(exact.d, 1, v)).transpose().tolist()[0] for v in exact.targets],
        M=None if exact.M is None else P.transpose() * exact.M * P,
        K=None if exact.K is None else P.transpose() * exact.K,
        A0=None if exact.A0 is None else P.transpose() * exact.A0 * P,
    )


def _value(exact: Exact, w: list[fmpq]) -> Any:
    """The exact value of weights. Data are rounded: a target within rounding of the range counts as in it.

    Then 1e-12 of the effort cures it; None where it does not.
    """
    value = exact.value(w)
    return _cured_value(exact, w) if value is None else value


def _cured_value(exact: Exact, w: list[fmpq]) -> Any:
    """The value with 1e-12 of the effort spread over all arms: then arms that are one but for rounding count as one."""
    return exact.value([(1 - ROUNDING_SHARE) * x + ROUNDING_SHARE / len(w) for x in w])


def _other_claims(exact: Exact, design: cd.Design, best: Any, gap: float) -> list[str]:
    """What is said of a worse design in W, and of whole numbers, against the exact efficiency.

    The optimum is known to lie within `gap` of `best`, so the exact efficiency of a design is between e / (1 + gap) and e, or
    a little less where `best` itself is outside W by rounding.
    """
    n = design.weights.size
    rng = np.random.default_rng(n)
    false = []
    other = 0.5 * design.weights + 0.25 * rng.permutation(design.weights) + 0.25 / n
    if exact.rules.violations([rational(x) for x in other]) > 0:
        other = 0.5 * design.weights + 0.5 / n  # in W with both
    result = cd.verify(design.problem, weights=other)
    other = result.weights
    efficiency = _efficiency(exact, best, _value(exact, [rational(x) for x in other]))
    low, high = result.efficiency_interval
    # Designs in W keep its rules to a relative 1e-6, and so the best of them may be that much too good.
    slack = 2e-9 if design.problem.weight_set.is_simplex else 2e-6
    if not (result.efficiency <= efficiency * (1 + slack) + 1e-15 and low <= efficiency * (1 + slack) + 1e-15):
        false.append(f"verify claims {low!r} of {efficiency!r}")
    if not high >= efficiency / (1 + gap) * (1 - 1e-9):
        false.append(f"verify denies {efficiency!r}: at most {high!r}")
    if design.problem.weight_set.is_simplex and exact.A0 is None and design.problem.costs is None:
        whole = design.round(int(rng.integers(3 * exact.d * exact.columns[0].ncols(), 80)), method="apportion")
        total = int(whole.counts.sum())
        shares = [fmpq(int(c), total) for c in whole.counts]
        truth = max(_efficiency(exact, best, found(exact, shares)) for found in (_value, _cured_value))
        if not whole.efficiency <= truth * (1 + 2e-9) + 1e-15:
            false.append(f"rounding claims {whole.efficiency!r} of {truth!r}")
    return false


def _efficiency(exact: Exact, best: Any, value: Any) -> float:
    """The efficiency of a design with this exact value against one with the best; 0 where it does not measure what is asked."""
    if value is None:
        return 0.0
    if exact.criterion in ("log det", "interest"):
        return float(((value - best) / exact.dimension).exp().mid())
    if value == 0:
        return 0.0
    return double(value / best) if exact.maximised else double(best / value)


def _normalised(w: list[fmpq]) -> list[fmpq]:
    total = sum(w, fmpq(0))
    return [x / total for x in w]


def _distance(exact: Exact, value: Any, claim: fmpq) -> float:
    if exact.criterion in ("log det", "interest"):
        return abs(float((value - claim).mid())) / exact.dimension
    return abs(double(claim / value - 1)) if value != 0 else abs(double(claim))


def _beyond(exact: Exact, claim: fmpq, known: Any) -> bool:
    """Whether a bound on the optimum lies beyond the exact value of a design."""
    if exact.criterion in ("log det", "interest"):
        slack = BOUND_SLACK * max(1.0, abs(float(known.mid())))
        return bool(claim + rational(slack) < known)
    slack = rational(BOUND_SLACK) * abs(claim)
    return bool(claim + slack < known) if exact.maximised else bool(claim - slack > known)


def _exact_gap(s: Statement, exact: Exact, design: cd.Design, w: list[fmpq], value: Any) -> float:
    """The best gap that exact dual vectors prove for these weights."""
    certificate = design.certificate
    dual = certificate.dual
    gaps = []
    if dual is None:
        common = rational(design.problem.common_variance)
        gaps.append(exact.gap(value, common * exact.rank))
    shares: dict[int, fmpq] = {}
    if exact.criterion == "minimax" and dual is not None:
        positions, vectors = _positions(exact, design, dual)
        if positions is not None:
            gaps.append(exact.gap(value, exact.bound_of_vectors(positions, vectors)))
            shares = _shares(exact, w, positions, vectors)
    if exact.criterion in ("least eigenvalue", "log det", "interest") and dual is not None:
        gaps.append(exact.gap(value, exact.bound_of_vectors((), _vectors(dual))))
    if exact.criterion == "average" and dual is not None:
        gaps.append(exact.gap(value, exact.bound_of_matrix(_near_inverse(exact.d, design, dual))))
    gaps += [exact.gap(value, exact.bound(w, shares))]
    if min(gaps) > TOL:
        for share in (fmpq(1, 10**8), fmpq(1, 10**11), fmpq(1, 10**14), fmpq(1, 10**18)):
            # Nearly these weights, and of full rank: what their inverse proves is a bound like any other.
            mixed = [(1 - share) * x + share / len(w) for x in w]
            gaps.append(exact.gap(value, exact.bound(mixed, shares)))
    return min(gaps)


def _vectors(dual: Any) -> list[list[fmpq]]:
    """The dual vectors, with what doubles leave of them where the certificate holds that too."""
    vectors = _rows(dual.vectors)
    if dual.remainders is None:
        return vectors
    return [[a + b for a, b in zip(v, rest)] for v, rest in zip(vectors, _rows(dual.remainders))]


def _near_inverse(d: int, design: cd.Design, dual: Any) -> fmpq_mat:
    """P with PL = B, L the columns that the vectors B belong to, from where these are well-conditioned; any P is as valid."""
    canonical = design.canonical
    L = canonical.problem.contrast_matrix[:, dual.targets]
    size = np.abs(L).max(axis=1)
    size[size == 0] = 1.0
    near = _exact_matrix(np.linalg.pinv(L / size[:, None], rcond=1e-13))
    units = fmpq_mat(len(size), len(size))
    for k, unit in enumerate(size):
        units[k, k] = 1 / rational(unit)
    P = matrix(_vectors(dual), d).transpose() * near * units
    return P if canonical.restatement is None else P * _exact_matrix(canonical.restatement.basis.T)


def _positions(exact: Exact, design: cd.Design, dual: Any) -> tuple[list[int] | None, Any]:
    """Where the certificate's targets stand among the exact ones, by nearness, and their vectors; None if one is not found."""
    given = np.asarray(design.problem.targets.take(dual.targets), dtype=float)
    mine = np.array([[double(x) for x in v] for v in exact.targets])
    size = np.abs(mine).max(axis=0)
    size[size == 0] = 1.0
    positions, vectors = [], []
    for v, b in zip(given, _vectors(dual)):
        if not v.any():
            continue  # the best item's place among an oracle's targets: nothing is asked of it
        distance = np.minimum(np.abs((mine - v) / size).max(axis=1), np.abs((mine + v) / size).max(axis=1))
        k = int(np.argmin(distance))
        if distance[k] > 1e-6 * np.abs(v / size).max():
            if np.abs(v / size).max() <= BACKWARD:
                continue  # the difference of items that are one but for rounding
            return None, vectors
        positions.append(k)
        vectors.append(b)
    return positions, vectors


def _shares(exact: Exact, w: list[fmpq], positions: list[int], vectors: Any) -> dict[int, fmpq]:
    """mu_j with b_j ~ sqrt(mu_j) C v_j, as near as doubles tell; any nonnegative ones prove a bound."""
    A = exact.information(w)
    C, rank = exact.inverse(A)
    if rank < exact.rank:
        mixed = [(1 - fmpq(1, 10**12)) * x + fmpq(1, 10**12) / len(w) for x in w]
        C, _ = exact.inverse(exact.information(mixed))
    shares: dict[int, fmpq] = {}
    for k, b in zip(positions, vectors):
        v = fmpq_mat(exact.d, 1, exact.targets[k])
        q = (v.transpose() * C * v)[0, 0]
        hit = sum((rational(x) * y for x, y in zip(b, exact.targets[k])), fmpq(0))
        if q > 0:
            shares[k] = shares.get(k, fmpq(0)) + (hit / q) ** 2
    return shares


# ---------------------------------------------------------------------- counting


def table(rows: list[dict[str, Any]], by: str) -> str:
    """One line per value of a column: problems, solvable ones up to condition 1e10, their certified share, false claims."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    lines = [
        f"| {by} | problems | CERTIFIED | other answers | refused | solvable, condition <= 1e10 | of them certified | false |"
    ]
    lines.append("|---|" + "---|" * 7)
    groups = [*sorted(frame.groupby(by)), ("all", frame)]
    for name, part in groups:
        fair = part[part.solvable & (part.condition <= 1e10)]
        done = int((fair.status == "CERTIFIED").sum())
        certified = int((part.status == "CERTIFIED").sum())
        refused = int(part.status.isin(["unidentifiable", "InputError", "SolverError"]).sum())
        share = f"{100 * done / len(fair):.2f} %" if len(fair) else ""
        lines.append(
            f"| {name} | {len(part)} | {certified} | {len(part) - certified - refused} | {refused} | {len(fair)} | {share} | "
            f"{int((part['false'] != '').sum())} |"
        )
    return "\n".join(lines)


PAGE = """# Ten thousand ugly problems

Command: `python validation/adversarial.py docs/validation --replications {replications} --seed {seed}` ({date}).

Problems of every kind are drawn over thirteen geometries (conditions to 1e14, scales 1e-12 to 1e12, rank decisions, twins,
whole numbers), with unequal noise, noise in other units, costs, information held up to 1e14 times the arms, caps, minima,
inequalities, DCP constraints (some with variables of their own) and several responses, and solved by the default method to a
tolerance of 1e-6. Whatever is claimed is recomputed in exact rational arithmetic from the data, by code that shares nothing
with the package (`validation/exactly.py`): weights, rules, values, bounds, gaps, refusals. `false` counts problems with a
claim that exact arithmetic does not confirm; `condition` is that of the arms with columns and rows of equal length.

## By kind

{kinds}

## By geometry

{geometries}
"""


def run(output_dir: str | Path, replications: int, seed: int, jobs: int, first: int = 0) -> list[dict[str, Any]]:
    """Judge so many problems; write adversarial.csv (every problem) and adversarial.md; the rows."""
    import pandas as pd
    from joblib import delayed

    rows = []
    found = kept_parts((delayed(judge)(k, seed) for k in range(first, first + replications)), jobs, 8)
    for row in shown(found, replications, "ugly problems"):
        rows.append(row)
        if row["false"] or row["status"] == "crash":
            print(
                f"{row['number']}: {row['kind']}, {row['geometry']}, {row['features']}: {row['false']} {row['detail']}",
                flush=True,
            )
    rows.sort(key=lambda row: row["number"])
    target = Path(output_dir)
    target.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(target / "adversarial.csv", index=False, float_format="%.3g")
    page = PAGE.format(
        replications=replications,
        seed=seed,
        date=datetime.date.today().isoformat(),
        kinds=table(rows, "kind"),
        geometries=table(rows, "geometry"),
    )
    (target / "adversarial.md").write_text(page, encoding="utf-8")
    print(table(rows, "kind"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="Judge ten thousand ugly problems in exact arithmetic.")
    parser.add_argument("output_dir", nargs="?", default="docs/validation")
    parser.add_argument("--replications", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    if options.only is not None:
        for key, value in judge(options.only, options.seed).items():
            print(f"{key:10} {value}")
        return 0
    with unfinished(options.output_dir, "adversarial", options.replications, options.seed, options.first):
        rows = run(options.output_dir, options.replications, options.seed, options.jobs, options.first)
    return int(any(row["false"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
