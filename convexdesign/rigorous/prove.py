"""Efficiency at least 1 - 1e-9, proven for the numbers as given: every double read as the rational number it is.

The weights are divided by their exact sum. No square root of a noise variance is taken: A = A0 + sum w_i x_i x_i' / p_i.
Upper bound on v'A^-1 v: with doubles F ~ A^(-1/2) and |F'AF - I| <= eps in balls, A^-1 <= FF' / (1 - eps), which screens
all targets in doubles; the few that could be the worst are evaluated in balls. Bounds on the optimum hold for any vectors b_j
(`convexdesign.certificate`), read exactly; the largest sum_j (b_j'x_i)^2 / p_i is screened the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError, SolverError
from convexdesign.evaluation import evaluate
from convexdesign.problem import Canonical, Criterion
from convexdesign.problem.arms import ArrayArms
from convexdesign.rigorous.balls import ball, ball_matrix, diagonal_products, down, precision, quadratic_forms, up
from convexdesign.rigorous.data import UNIT, ExactRows
from convexdesign.rigorous.dependence import Dependence, find_dependence
from convexdesign.rigorous.exact_problem import ExactProblem, read_exactly
from convexdesign.rigorous.screen import Largest, largest_pair, largest_row, row_bounds
from convexdesign.rigorous.support import weighted_maximum

__all__ = ["Proof", "prove", "upper_efficiency"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK = 4096


@dataclass(frozen=True)
class Proof:
    """What is proven about given weights, as doubles rounded outwards.

    low <= criterion <= high (log det for D and D_s); bound: of the optimum, below it for variances and above it
    for log det and lambda_min; efficiency: at most the true one, in the sense of Verification.
    """

    low: float
    high: float
    bound: float
    efficiency: float


def prove(canonical: Canonical, weights: Floats, targets: Indices, vectors: Floats) -> Proof:
    """Enclose the criterion of the weights (n,), any nonnegative doubles, and bound the optimum by the vectors b_j.

    targets (k,) and vectors (k, d) as in a Witness; they only decide how good the bound is. Raises ConvexDesignError
    without python-flint, InputError where the data, read exactly, are not of the rank they have in doubles,
    SolverError where A is too ill-conditioned for any proof.
    """
    canonical = canonical.plain
    with precision():
        exact = read_exactly(canonical.problem)
        held = _Design.at(canonical, exact, weights)
        if held is None:
            return _nothing(canonical.problem.criterion)
        match canonical.problem.criterion:
            case Criterion.MINIMAX:
                return _minimax(canonical, exact, held, targets, vectors)
            case Criterion.AVERAGE:
                return _average(canonical, exact, held, targets, vectors)
            case Criterion.D:
                return _log_det(canonical, exact, held, vectors)
            case Criterion.DS:
                return _log_det_of_interest(canonical, exact, held, vectors)
            case Criterion.E:
                return _smallest_eigenvalue(canonical, exact, held, vectors)
    raise AssertionError(canonical.problem.criterion)


def upper_efficiency(canonical: Canonical, own: Proof, other: Proof) -> float:
    """A proven upper bound on the efficiency of one design, from another whose criterion was enclosed as well."""
    problem = canonical.problem
    with precision():
        if problem.criterion in (Criterion.D, Criterion.DS):
            if not np.isfinite(own.high) or not np.isfinite(other.low):
                return 1.0 if own.high > -np.inf else 0.0
            size = canonical.rank if problem.criterion is Criterion.D else problem.aim.shape[1]
            return min(up(((ball(own.high) - ball(other.low)) / size).exp()), 1.0)
        worse, better = (own.high, other.low) if problem.criterion is Criterion.E else (other.high, own.low)
        if better == np.inf:
            return 0.0
        return min(up(ball(worse) / ball(better)), 1.0) if better > 0 and np.isfinite(worse) else 1.0


def _nothing(criterion: Criterion) -> Proof:
    """What holds for every design."""
    if criterion in (Criterion.D, Criterion.DS):
        return Proof(-np.inf, np.inf, np.inf, 0.0)
    return Proof(0.0, np.inf, np.inf if criterion is Criterion.E else 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class _Design:
    """A on coordinates J in balls, doubles F there with A^-1 <= FF' growth, and how the other coordinates depend."""

    A: Any
    inverse: Any
    F: Floats
    growth: float
    dependence: Dependence | None

    @property
    def rank(self) -> int:
        return int(self.F.shape[1])

    @staticmethod
    def at(canonical: Canonical, exact: ExactProblem, weights: Floats) -> _Design | None:
        """None where something wanted is not measured."""
        support = np.flatnonzero(weights > 0)
        at = evaluate(canonical, weights / weights.sum())
        if not np.isfinite(at.value) or at.rank == 0:
            return None
        basis = canonical.inverse if at.rank == canonical.rank else None
        dependence = find_dependence(exact.arms, support, exact.prior, at.rank, basis)
        A = _information(exact, weights, support, dependence)
        F = at.factor if dependence is None else dependence.functional(at.factor)
        try:
            return _Design(A, A.inv(), F, _growth(A, F), dependence)
        except ZeroDivisionError:
            raise SolverError("A is too ill-conditioned to be inverted even in 256 bits: rescale the arms") from None

    def functional(self, F: Floats) -> Floats:
        """F'x as a function of x_J alone."""
        return F if self.dependence is None else self.dependence.functional(F)

    def on(self, rows: ExactRows) -> ExactRows:
        """Vectors in the coordinates J."""
        return rows if self.dependence is None else rows.restricted(self.dependence.chosen)

    def first_outside(self, rows: ExactRows) -> int | None:
        """A vector that the measured arms do not span exactly, or None."""
        return None if self.dependence is None else self.dependence.first_outside(rows)


def _information(exact: ExactProblem, weights: Floats, support: Indices, dependence: Dependence | None) -> Any:
    from flint import arb, arb_mat

    columns = np.arange(exact.arms.d) if dependence is None else dependence.chosen
    rows = exact.arms.restricted(columns)
    d = columns.size
    A = arb_mat(d, d)
    for start in range(0, support.size, BLOCK):
        part = support[start : start + BLOCK]
        X = rows.balls(part)
        effort = [ball(w) * p for w, p in zip(weights[part].tolist(), exact.price.balls(part))]
        scaled = arb_mat([[e * x for x in row] for e, row in zip(effort, X.tolist())])
        A += X.transpose() * scaled
    total = sum((ball(w) for w in weights[support].tolist()), arb(0))
    A = A / total
    if exact.prior is not None:
        A0 = exact.prior_balls().tolist()  # type: ignore[union-attr]
        A += arb_mat([[A0[a][b] for b in columns.tolist()] for a in columns.tolist()])
    return A


def _growth(A: Any, F: Floats) -> float:
    """1 / (1 - |F'AF - I|), rounded up: A^-1 <= FF' times this; infinite where F is not good enough to tell."""
    from flint import arb

    B = ball_matrix(F)
    K = B.transpose() * A * B
    r = F.shape[1]
    squares = sum(((K[a, b] - (1 if a == b else 0)) ** 2 for a in range(r) for b in range(r)), arb(0))
    off = squares.sqrt()
    return up(1 / (1 - off)) if up(off) < 0.5 else np.inf


# ------------------------------------------------------------------ the criteria


def _minimax(canonical: Canonical, exact: ExactProblem, held: _Design, targets: Indices, vectors: Floats) -> Proof:
    if held.first_outside(exact.vectors) is not None:
        return Proof(np.inf, np.inf, 0.0, 0.0)
    value = _worst_target(exact, held)
    if canonical.problem.is_kiefer_wolfowitz:
        # t* = s^2 rank, and the rank is at least that of the measured arms, whose A was just proven regular.
        bound = ball(canonical.problem.common_variance) * held.rank
    else:
        V, squares = exact.target_balls(targets)
        hits = diagonal_products(ball_matrix(vectors), V)
        top = sum((h * h * s for h, s in zip(hits, squares)), ball(0.0))
        bound = top / _most(canonical, exact, vectors)
    return Proof(value.low, value.high, down(bound), _share(bound, ball(value.high)))


def _worst_target(exact: ExactProblem, held: _Design) -> Largest:
    rows = held.on(exact.vectors)

    def pairs(first: Indices, second: Indices) -> list[Any]:
        return quadratic_forms(held.inverse, rows.balls(first) - rows.balls(second))

    if exact.pairs:
        return largest_pair(rows, held.F, held.growth, pairs)
    bounds = row_bounds(rows, held.F) * held.growth * (1.0 + 8 * UNIT)
    scale = exact.scale
    if scale is not None:
        with np.errstate(invalid="ignore"):
            bounds = bounds * scale.upper() * (1.0 + 8 * UNIT)
        bounds[np.isnan(bounds)] = np.inf
    if exact.no_target is not None:
        bounds[exact.no_target] = -1.0

    def values(index: Indices) -> list[Any]:
        forms = quadratic_forms(held.inverse, rows.balls(index))
        return forms if scale is None else [f * s for f, s in zip(forms, scale.balls(index))]

    return largest_row(bounds, values)


def _most(canonical: Canonical, exact: ExactProblem, vectors: Floats) -> Any:
    """sum_j b_j'A0 b_j + h_W(sum_j (b_j'x_i)^2 / p_i), from above, as a ball."""
    B = ball_matrix(vectors)
    S = B.transpose() * B
    return _held(exact, B) + ball(_largest_sensitivity(canonical, exact, exact.arms, vectors.T, S))


def _held(exact: ExactProblem, B: Any) -> Any:
    """sum_j b_j'A0 b_j."""
    A0 = exact.prior_balls()
    return ball(0.0) if A0 is None else sum(quadratic_forms(A0, B), ball(0.0))


def _largest_sensitivity(canonical: Canonical, exact: ExactProblem, arms: ExactRows, F: Floats, S: Any) -> float:
    """h_W of q_i = x_i'Sx_i / p_i with S = FF' exactly; a double from above."""
    bounds = row_bounds(arms, np.ascontiguousarray(F)) * exact.price.upper(arms.n) * (1.0 + 8 * UNIT)
    W = canonical.problem.weight_set
    if not W.is_simplex:
        return weighted_maximum(W, bounds)

    def values(index: Indices) -> list[Any]:
        return [q * p for q, p in zip(quadratic_forms(S, arms.balls(index)), exact.price.balls(index))]

    return largest_row(bounds, values).high


def _average(canonical: Canonical, exact: ExactProblem, held: _Design, targets: Indices, vectors: Floats) -> Proof:
    """tr(A^-1 M) for M = LL' with the stored factor L, read exactly."""
    aim = ExactRows(ArrayArms(np.ascontiguousarray(canonical.problem.aim.T)))
    if held.first_outside(aim) is not None:
        return Proof(np.inf, np.inf, 0.0, 0.0)
    value = sum(quadratic_forms(held.inverse, held.on(aim).balls(np.arange(aim.n))), ball(0.0))
    hits = sum(diagonal_products(ball_matrix(vectors), aim.balls(targets)), ball(0.0))
    bound = hits * hits / _most(canonical, exact, vectors)
    return Proof(down(value), up(value), down(bound), _share(bound, value))


def _log_det(canonical: Canonical, exact: ExactProblem, held: _Design, vectors: Floats) -> Proof:
    """(det A / det A*)^(1/r) >= det(B'AB)^(1/r) r / ( tr(B'A0B) + h_W(|B'x_i|^2/p_i) ) for any B (r, r), on the range.

    On coordinates J, where log det A differs from that in an orthonormal basis of the range by a constant.
    """
    if held.first_outside(exact.arms) is not None:
        return Proof(-np.inf, -np.inf, np.inf, 0.0)
    r = held.rank
    F = held.F if vectors.shape[0] != r else held.functional(vectors.T)
    B = ball_matrix(F)
    ratio = (B.transpose() * held.A * B).det()
    most = ball(_largest_sensitivity(canonical, exact, held.on(exact.arms), F, B * B.transpose()))
    if exact.prior is not None:
        most += _held_on(exact, held, B)
    value = held.A.det().log()
    if not down(ratio) > 0:
        return Proof(down(value), up(value), np.inf, 0.0)
    efficiency = ratio.root(r) * r / most
    return Proof(down(value), up(value), up(value - r * efficiency.log()), max(down(efficiency), 0.0))


def _held_on(exact: ExactProblem, held: _Design, B: Any) -> Any:
    from flint import arb_mat

    A0 = exact.prior_balls()
    if held.dependence is not None:
        keep = held.dependence.chosen.tolist()
        entries = A0.tolist()  # type: ignore[union-attr]
        A0 = arb_mat([[entries[a][b] for b in keep] for a in keep])
    return sum(quadratic_forms(A0, B.transpose()), ball(0.0))


def _log_det_of_interest(canonical: Canonical, exact: ExactProblem, held: _Design, vectors: Floats) -> Proof:
    """log det A_s* <= s log(tr(H'A*H)/s) - 2 log|det K'H|, H the vectors as columns, K the combinations of interest."""
    K = ExactRows(ArrayArms(np.ascontiguousarray(canonical.problem.aim.T)))
    if held.first_outside(K) is not None:
        return Proof(-np.inf, -np.inf, np.inf, 0.0)
    s = K.n
    if vectors.shape[0] != s:
        raise InputError(f"a bound for {s} combinations of interest needs {s} vectors, got {vectors.shape[0]}")
    inside = held.on(K).balls(np.arange(s))
    value = -(inside * held.inverse * inside.transpose()).det().log()
    overlap = (K.balls(np.arange(s)) * ball_matrix(vectors).transpose()).det()
    bound = s * (_most(canonical, exact, vectors) / s).log() - (overlap * overlap).log()
    return Proof(down(value), up(value), up(bound), max(down(((value - bound) / s).exp()), 0.0))


def _smallest_eigenvalue(canonical: Canonical, exact: ExactProblem, held: _Design, vectors: Floats) -> Proof:
    """lambda_min(A) >= lam is proven by elimination on A - lam I, lambda_min(A) <= v'Av / v'v for any v."""
    from flint import arb

    if held.dependence is not None:
        return Proof(0.0, 0.0, np.inf, 0.0)
    mid = np.array([[float(x.mid()) for x in row] for row in held.A.tolist()])
    values, Q = np.linalg.eigh(mid)
    v = ball_matrix(Q[:, :1].T)
    high = up(quadratic_forms(held.A, v)[0] / diagonal_products(v, v)[0])
    low = 0.0
    for margin in (1e-15, 1e-13, 1e-11, 1e-9, 1e-6):
        trial = float(values[0] - margin * values[-1])
        if trial > 0 and _is_positive_definite(held.A, trial):
            low = trial
            break
    length = sum((x * x for row in ball_matrix(vectors).tolist() for x in row), arb(0))
    bound = _most(canonical, exact, vectors) / length
    return Proof(low, high, up(bound), _share(ball(low), bound))


def _is_positive_definite(A: Any, shift: float) -> bool:
    """Whether elimination on A - shift I meets only pivots that are certainly positive."""
    S = A.tolist()
    d = len(S)
    for k in range(d):
        S[k][k] = S[k][k] - ball(shift)
    for k in range(d):
        if not down(S[k][k]) > 0:
            return False
        for a in range(k + 1, d):
            share = S[a][k] / S[k][k]
            S[a] = [x - share * y for x, y in zip(S[a], S[k])]
    return True


def _share(part: Any, whole: Any) -> float:
    """part / whole rounded down, at least 0; 0 where the ball says nothing."""
    return max(down(part / whole), 0.0) if whole.is_finite() else 0.0
