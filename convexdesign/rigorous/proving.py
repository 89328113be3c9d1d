"""Efficiency at least 1 - 1e-9, proven for the numbers as given: every double read as the rational number it is.

The weights are divided by their exact sum. No square root of a noise variance is taken: A = A0 + sum w_i x_i x_i' / p_i.
What is measured at all is decided by exact rank (`dependence`). Where the arms do not span, everything is computed on
coordinates J of their range, and log det moved from there to an orthonormal basis by an exact determinant.
Upper bound on v'A^-1 v: with doubles F ~ A^(-1/2) and |F'AF - I| <= eps in balls, A^-1 <= FF' / (1 - eps), which screens
all targets in doubles; the few that could be the worst are evaluated in balls. Bounds on the optimum hold for any vectors b_j
(`convexdesign.certificate`), read exactly; the largest sum_j (b_j'x_i)^2 / p_i is screened the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from convexdesign.arms.source import ArrayArms
from convexdesign.errors import InputError, SolverError
from convexdesign.evaluation import evaluate
from convexdesign.problem import Canonical, Criterion
from convexdesign.problem.weights import WeightSet
from convexdesign.rigorous.balls import (
    ball,
    ball_matrix,
    bits,
    cholesky,
    diagonal_products,
    down,
    midpoints,
    precision,
    quadratic_forms,
    up,
)
from convexdesign.rigorous.data import UNIT, ExactRows
from convexdesign.rigorous.dependence import Dependence, find_dependence
from convexdesign.rigorous.exact_problem import ExactProblem, read_exactly
from convexdesign.rigorous.moments import Moments, read_moments
from convexdesign.rigorous.screen import Largest, largest_pair, largest_row, row_bounds
from convexdesign.rigorous.support import weighted_maximum
from convexdesign.rigorous.weights import ExactWeights
from convexdesign.typing import Floats, Indices

__all__ = ["Proof", "Prover", "prove", "strengthened", "upper_efficiency"]


BLOCK = 4096
# Enough for arms of condition 1e15 or so, and for what is worse.
MORE_BITS = (256, 1024)
# An enclosure wider than this share of its numbers has lost digits to the condition of A.
WIDE = 1e-11
AS_GIVEN = "the numbers exactly as given"


@dataclass(frozen=True)
class Proof:
    """What is proven about given weights, as doubles rounded outwards.

    low <= criterion <= high (log det for D and D_s); bound: of the optimum, below it for variances and above it
    for log det and lambda_min; efficiency: at most the true one, in the sense of Verification; dimension: of a log det,
    otherwise 1; about: what it is proven for.
    """

    low: float
    high: float
    bound: float
    efficiency: float
    dimension: int = 1
    about: str = AS_GIVEN


def prove(canonical: Canonical, weights: Floats, targets: Indices, vectors: Floats) -> Proof:
    """Enclose the criterion of the weights (n,), any nonnegative doubles, and bound the optimum by the vectors b_j.

    targets (k,) and vectors (k, d) as in a Witness; they only decide how good the bound is. Raises ConvexDesignError
    without python-flint, InputError where the data, read exactly, are not of the rank they have in doubles,
    SolverError where A is too ill-conditioned for any proof.
    """
    canonical = canonical.plain
    with precision():
        return Prover(canonical, canonical.problem.weight_set, targets, vectors).prove(ExactWeights.of(weights))


def upper_efficiency(canonical: Canonical, own: Proof, other: Proof) -> float:
    """A proven upper bound on the efficiency of one design, from another whose criterion was enclosed as well.

    The other design must satisfy the constraints on the weights exactly.
    """
    criterion = canonical.problem.criterion
    with precision():
        if criterion in (Criterion.D, Criterion.DS):
            if not np.isfinite(own.high) or not np.isfinite(other.low):
                return 1.0 if own.high > -np.inf else 0.0
            return min(up(((ball(own.high) - ball(other.low)) / own.dimension).exp()), 1.0)
        worse, better = (own.high, other.low) if criterion is Criterion.E else (other.high, own.low)
        if better == np.inf or worse == 0.0:
            return 0.0
        return min(up(ball(worse) / ball(better)), 1.0) if better > 0 and np.isfinite(worse) else 1.0


def strengthened(criterion: Criterion, own: Proof, other: Proof) -> Proof:
    """The first proof, with the other's bound on the optimum where that is tighter."""
    better = other.bound < own.bound if criterion.maximised else other.bound > own.bound
    if not better or own.about != other.about or not np.isfinite(other.bound):
        return own
    with precision():
        return replace(own, bound=other.bound, efficiency=_efficiency(criterion, own, other.bound))


def _efficiency(criterion: Criterion, own: Proof, bound: float) -> float:
    """A lower bound on the efficiency of an enclosed value against a bound on the optimum."""
    if criterion in (Criterion.D, Criterion.DS):
        if not np.isfinite(own.low):
            return 0.0
        return max(down(((ball(own.low) - ball(bound)) / own.dimension).exp()), 0.0)
    part, whole = (own.low, bound) if criterion is Criterion.E else (bound, own.high)
    return _share(ball(part), ball(whole)) if np.isfinite(whole) and whole > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Prover:
    """Proofs about designs of one problem, with the weights in W, by a witness's targets (k,) and vectors b_j (k, d).

    To be used within `precision`. `moments` of an average are read for the first design that is proven, since a rounded M
    may be proven in what that design measures only.
    """

    canonical: Canonical
    weight_set: WeightSet
    targets: Indices
    vectors: Floats

    @cached_property
    def exact(self) -> ExactProblem:
        return read_exactly(self.canonical.problem)

    @cached_property
    def scaled_vectors(self) -> Floats:
        """The vectors divided by a power of two: no bound depends on their scale, but squares may overflow."""
        size = float(np.abs(self.vectors).max(initial=0.0))
        if not (size > 0 and np.isfinite(size)):
            return np.zeros_like(self.vectors)
        return np.ldexp(self.vectors, -int(np.frexp(size)[1]))

    @property
    def criterion(self) -> Criterion:
        return self.canonical.problem.criterion

    def prove(self, weights: ExactWeights) -> Proof:
        """Enclose the criterion of the weights and bound the optimum, with more bits where an enclosure comes out wide.

        SolverError where A is too ill-conditioned for any proof.
        """
        for prec in MORE_BITS:
            with precision(prec):
                try:
                    proof = self._prove(weights)
                except SolverError:
                    if prec == MORE_BITS[-1]:
                        raise
                    continue
            if _is_tight(self.criterion, proof):
                break
        return proof

    def _prove(self, weights: ExactWeights) -> Proof:
        held = self._design(weights)
        match self.criterion:
            case Criterion.MINIMAX:
                return self._minimax(held)
            case Criterion.AVERAGE:
                return self._average(held)
            case Criterion.D:
                return self._log_det(held)
            case Criterion.DS:
                return self._log_det_of_interest(held)
            case Criterion.E:
                return self._smallest_eigenvalue(held)
        raise AssertionError(self.criterion)

    # ------------------------------------------------------------------ the design

    def _design(self, weights: ExactWeights) -> _Design:
        at = evaluate(self.canonical, weights.floats)
        d, most = self.exact.arms.d, self.canonical.rank
        dependence = self._span(weights.index, most) if at.rank < d else None
        A, inverse = self._inverted(weights, dependence)
        if inverse is None and dependence is None and at.rank == d:
            dependence = self._span(weights.index, most)
            A, inverse = self._inverted(weights, dependence)
        if inverse is None:
            raise SolverError(f"A is too ill-conditioned to be inverted even in {MORE_BITS[-1]} bits: rescale the arms")
        rank = d if dependence is None else dependence.rank
        F, growth = np.empty((rank, 0)), np.inf
        if at.rank == rank:
            F = at.factor if dependence is None else dependence.functional(at.factor)
            growth = _growth(A, F)
        if not np.isfinite(growth) and rank:
            F = _root_of_inverse(A)
            growth = _growth(A, F)
        return _Design(A, inverse, F, growth, dependence)

    def _span(self, index: Indices, most: int) -> Dependence | None:
        """How the arms at the indices, and those whose information is held, depend on one another."""
        return find_dependence(self.exact.arms, index, self.exact.prior, most, self._scale)

    @property
    def _scale(self) -> Floats:
        return self.canonical.inverse

    @cached_property
    def _allowed(self) -> Indices:
        return np.flatnonzero(self.weight_set.allowed(self.exact.arms.n))

    @cached_property
    def _whole_span(self) -> Dependence | None:
        """How all arms that may have weight depend on one another."""
        return self._span(self._allowed, self.exact.arms.d)

    def _inverted(self, weights: ExactWeights, dependence: Dependence | None) -> tuple[Any, Any | None]:
        A = _information(self.exact, weights, dependence)
        try:
            return A, A.inv()
        except ZeroDivisionError:
            return A, None

    def _refuse_outside(self, rows: ExactRows, what: str) -> None:
        """InputError where a vector that a design does not measure lies outside the span of all arms."""
        everywhere = self._whole_span
        outside = None if everywhere is None else everywhere.first_outside(rows)
        if outside is not None:
            raise InputError(
                f"{what} {outside} lies in the span of the arms only up to rounding: read exactly, no design can estimate "
                "it; give coordinates that are exact (whole numbers, say), or drop columns until the arms span"
            )

    # ------------------------------------------------------------------ h_W

    def _most(self, vectors: Floats) -> Any:
        """sum_j b_j'A0 b_j + h_W(sum_j (b_j'x_i)^2 / p_i), from above, as a ball."""
        B = ball_matrix(vectors)
        return self._held(B) + ball(self._largest_sensitivity(self.exact.arms, vectors.T, B.transpose() * B))

    def _held(self, B: Any, dependence: Dependence | None = None) -> Any:
        """sum_j b_j'A0 b_j for rows b_j, of all coordinates or of J."""
        A0 = self.exact.prior_balls()
        if A0 is None:
            return ball(0.0)
        return sum(quadratic_forms(A0 if dependence is None else _block(A0, dependence.chosen), B), ball(0.0))

    def _largest_sensitivity(self, arms: ExactRows, F: Floats, S: Any) -> float:
        """h_W of q_i = x_i'Sx_i / p_i with S = FF' exactly; a double from above."""
        price = self.exact.price
        bounds = row_bounds(arms, np.ascontiguousarray(F)) * price.upper(arms.n) * (1.0 + 8 * UNIT)
        if not self.weight_set.is_simplex:
            return weighted_maximum(self.weight_set, bounds)

        def values(index: Indices) -> list[Any]:
            return [q * p for q, p in zip(quadratic_forms(S, arms.balls(index)), price.balls(index))]

        return largest_row(bounds, values).high

    # ------------------------------------------------------------------ the criteria

    def _minimax(self, held: _Design) -> Proof:
        wanted = self.exact.differences
        bound = self._minimax_bound(held.rank)
        if held.first_outside(wanted) is not None:
            self._refuse_outside(wanted, self._noun)
            return Proof(np.inf, np.inf, bound, 0.0)
        value = _worst_target(self.exact, held)
        return Proof(value.low, value.high, bound, _share(ball(bound), ball(value.high)))

    @property
    def _noun(self) -> str:
        return str(getattr(self.canonical.problem.targets, "noun", "item"))

    def _minimax_bound(self, rank: int) -> float:
        problem = self.canonical.problem
        if problem.is_kiefer_wolfowitz:
            # t* = s^2 rank of all arms, at least that of the measured ones, which is exact.
            return down(ball(problem.common_variance) * rank)
        V, squares = self.exact.target_balls(self.targets)
        hits = diagonal_products(ball_matrix(self.scaled_vectors), V)
        top = sum((h * h * s for h, s in zip(hits, squares)), ball(0.0))
        return max(down(top / self._most(self.scaled_vectors)), 0.0)

    @cached_property
    def _moments(self) -> dict[int, Moments]:
        """M by the bits it is read in."""
        return {}

    def _average(self, held: _Design) -> Proof:
        """tr(A^-1 M), and (sum_j b_j'l_j)^2 / (...) for M = sum_j l_j l_j'."""
        moments = self._moments.get(bits())
        if moments is None:
            moments = read_moments(self.canonical.problem, held.dependence, self._scale)
            if moments is None:
                self._refuse_moments()
            else:
                self._moments[bits()] = moments
        if moments is None or (held.dependence is not None and not held.dependence.holds_for(moments.rows)):
            return Proof(np.inf, np.inf, 0.0, 0.0)
        value = (held.inverse * moments.on(held.dependence)).trace()
        bound = max(self._average_bound(moments, vectors) for vectors in self._average_vectors(moments, held))
        about = AS_GIVEN
        if moments.rounded_by:
            about += (
                f", but M, which is rounded: for a semidefinite matrix {moments.rounded_by:.1e} from it (relative to its "
                "diagonal) and in the span of what is measured"
            )
        return Proof(down(value), up(value), bound, _share(ball(bound), value), about=about)

    def _refuse_moments(self) -> None:
        problem = self.canonical.problem
        if problem.kind == "average-variance":
            if self._whole_span is not None and read_moments(problem, self._whole_span, self._scale) is None:
                raise InputError("M, read exactly, leaves the span of the arms, so that no design has a finite average")
            return
        self._refuse_outside(self.exact.vectors, self._noun)

    def _average_vectors(self, moments: Moments, held: _Design) -> list[Floats]:
        aim = self.canonical.problem.aim
        out = [moments.vectors(aim, self.targets, self.scaled_vectors)] if self.targets.size else []
        columns = midpoints(moments.factor)
        if held.dependence is None:
            out.append((held.F @ (held.F.T @ columns)).T)
        return out or [columns.T]

    def _average_bound(self, moments: Moments, vectors: Floats) -> float:
        size = float(np.abs(vectors).max(initial=0.0))
        if not (size > 0 and np.isfinite(size)):
            return 0.0
        vectors = np.ldexp(vectors, -int(np.frexp(size)[1]))
        hits = sum(diagonal_products(ball_matrix(vectors), moments.factor.transpose()), ball(0.0))
        return max(down(hits * hits / self._most(vectors)), 0.0)

    def _log_det(self, held: _Design) -> Proof:
        """(det A / det A*)^(1/r) >= det(B'AB)^(1/r) r / ( tr(B'A0B) + h_W(|B'x_i|^2/p_i) ) for any B (r, r), on the range."""
        dependence, r = held.dependence, held.rank
        if dependence is not None and dependence.first_outside(self.exact.arms, self._allowed) is not None:
            return Proof(-np.inf, -np.inf, np.inf, 0.0, self.canonical.rank)
        vectors = self.scaled_vectors
        F = held.F if vectors.shape[0] != r else held.functional(vectors.T)
        B = ball_matrix(F)
        ratio = (B.transpose() * held.A * B).det()
        most = ball(self._largest_sensitivity(held.on(self.exact.arms), F, B * B.transpose()))
        most += self._held(B.transpose(), dependence)
        value = held.A.det().log() + (ball(0.0) if dependence is None else _logarithm(dependence.volume()))
        if not down(ratio) > 0:
            return Proof(down(value), up(value), np.inf, 0.0, r)
        efficiency = ratio.root(r) * r / most
        return Proof(down(value), up(value), up(value - r * efficiency.log()), max(down(efficiency), 0.0), r)

    def _log_det_of_interest(self, held: _Design) -> Proof:
        """log det A_s* <= s log(tr(H'A*H)/s) - 2 log|det K'H|, H the vectors as columns, K the combinations of interest."""
        K = ExactRows(ArrayArms(np.ascontiguousarray(self.canonical.problem.aim.T)))
        s = K.n
        if held.first_outside(K) is not None:
            self._refuse_outside(K, self._noun)
            return Proof(-np.inf, -np.inf, np.inf, 0.0, s)
        inside = held.on(K).balls(np.arange(s))
        value = -(inside * held.inverse * inside.transpose()).det().log()
        vectors = self.scaled_vectors
        if vectors.shape[0] != s:
            own = held.F @ np.linalg.qr(held.F.T @ midpoints(inside).T)[0]
            vectors = np.zeros((s, self.exact.arms.d))
            vectors[:, slice(None) if held.dependence is None else held.dependence.chosen] = own.T
        overlap = (K.balls(np.arange(s)) * ball_matrix(vectors).transpose()).det()
        bound = s * (self._most(vectors) / s).log() - (overlap * overlap).log()
        efficiency = max(down(((value - bound) / s).exp()), 0.0)
        return Proof(down(value), up(value), up(bound), efficiency if np.isfinite(efficiency) else 0.0, s)

    def _smallest_eigenvalue(self, held: _Design) -> Proof:
        """lambda_min(A) >= lam by elimination on A - lam I; lambda_min(A) <= v'Av / v'v and v'v / v'A^-1v for any v."""
        vectors = self.scaled_vectors
        length = sum((x * x for row in ball_matrix(vectors).tolist() for x in row), ball(0.0))
        bound = self._most(vectors) / length
        if held.dependence is not None:
            return Proof(0.0, 0.0, up(bound), 0.0)
        values, Q = np.linalg.eigh(midpoints(held.A))
        flat, R = np.linalg.eigh(midpoints(held.inverse))
        # 1 / lambda_max(A^-1): its eigenvector is known to more digits than that of a small eigenvalue.
        high = min(up(_quotient(held.A, Q[:, 0])), up(1 / _quotient(held.inverse, R[:, -1])))
        trials = [values[0] - k * values[-1] for k in (1e-15, 1e-13, 1e-11, 1e-9, 1e-6)]
        trials += [(1.0 - k) / flat[-1] for k in (1e-15, 1e-13, 1e-11, 1e-9, 1e-6)]
        low = 0.0
        for trial in sorted((float(t) for t in trials if t > 0), reverse=True):
            if _is_positive_definite(held.A, trial):
                low = trial
                break
        return Proof(low, high, up(bound), _share(ball(low), bound))


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
        return int(self.A.nrows())

    def functional(self, F: Floats) -> Floats:
        """F'x as a function of x_J alone."""
        return F if self.dependence is None else self.dependence.functional(F)

    def on(self, rows: ExactRows) -> ExactRows:
        """Vectors in the coordinates J."""
        return rows if self.dependence is None else rows.restricted(self.dependence.chosen)

    def first_outside(self, rows: ExactRows) -> int | None:
        """A vector that the measured arms do not span exactly, or None."""
        return None if self.dependence is None else self.dependence.first_outside(rows)


def _information(exact: ExactProblem, weights: ExactWeights, dependence: Dependence | None) -> Any:
    from flint import arb, arb_mat

    columns = np.arange(exact.arms.d) if dependence is None else dependence.chosen
    rows = exact.arms.restricted(columns)
    d = columns.size
    A = arb_mat(d, d)
    parts = weights.balls()
    for start in range(0, weights.index.size, BLOCK):
        index = weights.index[start : start + BLOCK]
        X = rows.balls(index)
        effort = [w * p for w, p in zip(parts[start : start + BLOCK], exact.price.balls(index))]
        scaled = arb_mat([[e * x for x in row] for e, row in zip(effort, X.tolist())])
        A += X.transpose() * scaled
    A = A / sum(parts, arb(0))
    A0 = exact.prior_balls()
    return A if A0 is None else A + _block(A0, columns)


def _block(matrix: Any, columns: Indices) -> Any:
    from flint import arb_mat

    entries = matrix.tolist()
    return arb_mat(columns.size, columns.size, [entries[a][b] for a in columns.tolist() for b in columns.tolist()])


def _growth(A: Any, F: Floats) -> float:
    """1 / (1 - |F'AF - I|), rounded up: A^-1 <= FF' times this; infinite where F is not good enough to tell."""
    if not np.isfinite(F).all():
        return np.inf
    B = ball_matrix(F)
    K = B.transpose() * A * B
    r = F.shape[1]
    squares = sum(((K[a, b] - (1 if a == b else 0)) ** 2 for a in range(r) for b in range(r)), ball(0.0))
    off = squares.sqrt()
    return up(1 / (1 - off)) if up(off) < 0.5 else np.inf


def _root_of_inverse(A: Any) -> Floats:
    """Doubles F with FF' ~ A^-1, through a Cholesky factor in balls."""
    L = cholesky(A)
    if L is None:
        return np.zeros((A.nrows(), 0))
    return midpoints(L.inv().transpose())


def _logarithm(fraction: Any) -> Any:
    from flint import arb

    return arb(fraction).log()


def _worst_target(exact: ExactProblem, held: _Design) -> Largest:
    rows = held.on(exact.vectors)

    def pairs(first: Indices, second: Indices) -> list[Any]:
        return quadratic_forms(held.inverse, rows.balls(first) - rows.balls(second))

    if exact.pairs:
        return largest_pair(rows, held.F, held.growth, pairs)
    with np.errstate(invalid="ignore"):
        bounds = row_bounds(rows, held.F) * held.growth * (1.0 + 8 * UNIT)
    bounds[np.isnan(bounds)] = np.inf
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


def _quotient(A: Any, v: Floats) -> Any:
    """v'Av / v'v as a ball."""
    row = ball_matrix(v[None, :])
    return quadratic_forms(A, row)[0] / diagonal_products(row, row)[0]


def _is_positive_definite(A: Any, shift: float) -> bool:
    """Whether elimination on A - shift I meets only pivots that are certainly positive."""
    from flint import arb_mat

    d = A.nrows()
    return cholesky(A - arb_mat(d, d, [ball(shift if a == b else 0.0) for a in range(d) for b in range(d)])) is not None


def _is_tight(criterion: Criterion, proof: Proof) -> bool:
    """Whether the enclosure has all the digits of a double but for a few; also where it is infinite on both ends."""
    if proof.low == proof.high:
        return True
    size = 1.0 if criterion in (Criterion.D, Criterion.DS) else abs(proof.high)
    return bool(proof.high - proof.low <= WIDE * size)


def _share(part: Any, whole: Any) -> float:
    """part / whole rounded down, at least 0; 0 where the ball says nothing."""
    return max(down(part / whole), 0.0) if whole.is_finite() and whole > 0 else 0.0
