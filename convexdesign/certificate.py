"""Certificates: the value of given weights and a proven bound on the optimum, from the data alone.

Nothing here knows a solver. The bound holds for ANY vectors b_j, one per target (a chosen subset; the rest zero):

    t* >= sum_j (b_j'v_j)^2 / ( sum_j b_j'A0 b_j + h_W(sum_j (b_j'y_i)^2) ),     h_W(q) = max over w in W of w'q,

because (b_j'v_j)^2 <= (v_j'A^+v_j)(b_j'A b_j) <= t* b_j'A b_j at the optimal w; sum over j. On the simplex h_W(q) is
the largest q_i.
For log det: log det A* <= log det A + r log( (tr(CA0) + h_W(y_i'C y_i)) / r ) with C = A^-1 on the range (concavity).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.problem import Canonical, Criterion, DesignProblem

__all__ = [
    "Certificate",
    "Evaluation",
    "Witness",
    "certify",
    "evaluate",
    "minimax_bound",
    "witness_from_multipliers",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
SupportFunction = Callable[[Floats], float]

# Singular values of sqrt(w_i) y_i below this share of the largest count as unmeasured.
SINGULAR_TOLERANCE = 1e-11
# A target counts as measured when no more than this share of it lies outside the range of A(w).
OUTSIDE_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Witness:
    """What proves a lower bound on the minimax value: one vector b_j (k, d) for each of some targets (k,)."""

    targets: Indices
    vectors: Floats


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The criterion at given weights.

    value: max_j v_j'A^+v_j (infinite where a target is not measured) or log det A on the range of the arms;
    worst_target: an index; factor F (d, r): C = FF' is an inverse of A(w) on its range; rank of A(w).
    """

    value: float
    worst_target: int
    factor: Floats
    rank: int


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof, to floating-point accuracy, of how far a design is from optimal.

    value: the criterion at the weights; bound: proven bound on the optimum (a lower one for variances, an upper one for
    log det); gap: relative, value / bound - 1, or the loss of efficiency exp((bound - value) / r) - 1 for log det;
    worst_target, worst_arm: where value and bound are attained; witness: what proves the bound (None where the bound
    follows from the Kiefer-Wolfowitz theorem or from the weights themselves); feasibility: distance of the weights from W.
    """

    criterion: Criterion
    value: float
    bound: float
    gap: float
    worst_target: int
    worst_arm: int
    rank: int
    witness: Witness | None
    feasibility: float = 0.0

    @property
    def efficiency(self) -> float:
        """A proven lower bound on the efficiency of the design: 1 / (1 + gap)."""
        return 1.0 / (1.0 + self.gap)


def simplex_support(q: Floats) -> float:
    """h_W on the simplex: the largest entry."""
    return float(q.max())


def evaluate(canonical: Canonical, weights: Floats) -> Evaluation:
    """The criterion at the weights (n,), from a QR of the rows sqrt(w_i) y_i: A is never squared up."""
    problem = canonical.problem
    columns, rank, lost = _inverse_factor(canonical, weights)
    factor = canonical.basis @ columns
    if problem.criterion is Criterion.D:
        value = -np.inf if rank < canonical.rank else log_det_on_range(canonical, columns)
        return Evaluation(value, -1, factor, rank)
    if lost is not None:
        outside = problem.targets.outside(canonical.basis @ lost, canonical.basis, OUTSIDE_TOLERANCE)
        if outside is not None:
            return Evaluation(np.inf, outside, factor, rank)
    worst, values = problem.targets.worst(factor, 1)
    return Evaluation(float(values[0]), int(worst[0]), factor, rank)


def _inverse_factor(canonical: Canonical, weights: Floats) -> tuple[Floats, int, Floats | None]:
    """Columns K (r, k) with KK' = A_u^+ up to the range, the rank k, and N with N't = 0 exactly on the range."""
    import scipy.linalg  # here, not above: importing the package must not wait for it

    root = _information_root(canonical, weights)
    r = canonical.rank
    # Longest rows first and column pivoting: row-wise stable, whatever the spread of the weights.
    root = root[np.argsort(-np.einsum("ij,ij->i", root, root), kind="stable")]
    triangle, pivot = scipy.linalg.qr(root, mode="r", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(diagonal > SINGULAR_TOLERANCE * diagonal[0])) if diagonal[0] > 0 else 0
    head = scipy.linalg.solve_triangular(triangle[:rank, :rank], np.eye(rank), check_finite=False)
    columns = np.zeros((r, rank))
    columns[pivot[:rank]] = head
    if rank == r:
        return columns, rank, None
    lost = np.zeros((r, r - rank))
    lost[pivot[rank:]] = np.eye(r - rank)
    lost[pivot[:rank]] = -head @ triangle[:rank, rank:]
    return columns, rank, lost / np.linalg.norm(lost, axis=0)


def _information_root(canonical: Canonical, weights: Floats) -> Floats:
    """A matrix M with M'M = A_u(w), at least r rows: the weighted whitened arms, reduced block by block."""
    r = canonical.rank
    support = np.flatnonzero(weights)
    parts: list[Floats] = [np.zeros((r, r))] if canonical.prior is None else [_psd_root(canonical.prior)]
    step = max(8 * r, 4096)
    for start in range(0, support.size, step):
        chosen = support[start : start + step]
        parts.append(np.sqrt(weights[chosen])[:, None] * canonical.whiten_arms(chosen))
        if len(parts) > 2:
            parts = [np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))]
    return np.vstack(parts)


def _psd_root(matrix: Floats) -> Floats:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return np.asarray(np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T)


def log_det_on_range(canonical: Canonical, columns: Floats) -> float:
    """log det of A on the range of the arms in an orthonormal basis of it, from K with KK' = A_u^-1.

    A = R'A_u R on the range, so det = det(A_u) det(RR').
    """
    _, minus_half = np.linalg.slogdet(columns)
    _, stretch = np.linalg.slogdet(canonical.inverse @ canonical.inverse.T)
    return float(-2.0 * minus_half + stretch)


def witness_from_multipliers(canonical: Canonical, factor: Floats, targets: Indices, multipliers: Floats) -> Witness:
    """b_j = sqrt(mu_j) C v_j, the vectors that give the tightest bound at the optimum; C = FF'."""
    keep = multipliers > 0
    V = canonical.problem.targets.take(targets[keep])
    vectors = np.sqrt(multipliers[keep])[:, None] * ((V @ factor) @ factor.T)
    return Witness(targets[keep], vectors)


def minimax_bound(
    problem: DesignProblem, witness: Witness, support: SupportFunction = simplex_support
) -> tuple[float, int]:
    """The proven lower bound on t* from a witness, and the arm with the largest sum_j (b_j'y_i)^2."""
    B = witness.vectors
    if B.size == 0:
        return 0.0, 0
    hits = np.einsum("jk,jk->j", B, problem.targets.take(witness.targets))
    columns = B.T
    if B.shape[0] > B.shape[1]:
        # The sum over j depends on BB' alone; its triangular factor has at most d columns.
        columns = np.asarray(np.linalg.qr(B, mode="r")).T
    sensitivity = problem.arms.quadratic(np.ascontiguousarray(columns))
    held = 0.0 if problem.prior is None else float(np.einsum("jk,kl,jl->", B, problem.prior, B))
    worst = int(np.argmax(sensitivity))
    most = held + support(sensitivity)
    return (float(np.sum(hits**2)) / most if most > 0 else 0.0), worst


def certify(
    canonical: Canonical,
    weights: Floats,
    witness: Witness | None = None,
    *,
    support: SupportFunction = simplex_support,
    feasibility: float = 0.0,
) -> Certificate:
    """Evaluate the weights and prove a bound: from the witness, from Kiefer-Wolfowitz, or from the worst target.

    weights (n,) in the user's order, in W up to `feasibility`; support must return a proven upper bound on h_W.
    """
    problem = canonical.problem
    at = evaluate(canonical, weights)
    if problem.criterion is Criterion.D:
        return _certify_log_det(canonical, at, support, feasibility)
    if problem.is_kiefer_wolfowitz:
        bound = problem.common_variance * canonical.rank
        gap = _relative_gap(at.value, bound)
        return Certificate(
            problem.criterion,
            at.value,
            bound,
            gap,
            at.worst_target,
            at.worst_target,
            at.rank,
            None,
            feasibility,
        )
    if witness is None:
        target = np.array([at.worst_target])
        witness = witness_from_multipliers(canonical, at.factor, target, np.ones(1))
    bound, worst_arm = minimax_bound(problem, witness, support)
    gap = _relative_gap(at.value, bound)
    return Certificate(
        problem.criterion, at.value, bound, gap, at.worst_target, worst_arm, at.rank, witness, feasibility
    )


def _certify_log_det(canonical: Canonical, at: Evaluation, support: SupportFunction, feasibility: float) -> Certificate:
    r = canonical.rank
    if at.rank < r:
        return Certificate(canonical.problem.criterion, -np.inf, np.inf, np.inf, -1, -1, at.rank, None, feasibility)
    leverage = canonical.problem.arms.quadratic(at.factor)
    worst = int(np.argmax(leverage))
    A0 = canonical.problem.prior
    held = 0.0 if A0 is None else float(np.einsum("ki,kl,li->", at.factor, A0, at.factor))
    excess = (held + support(leverage)) / r
    bound = at.value + r * np.log(excess)
    return Certificate(
        canonical.problem.criterion,
        at.value,
        float(bound),
        _relative_gap(excess, 1.0),
        -1,
        worst,
        r,
        None,
        feasibility,
    )


def _relative_gap(value: float, bound: float) -> float:
    """value / bound - 1; a value below its bound is rounding, and counts against the certificate by its size."""
    if not np.isfinite(value) or bound <= 0:
        return np.inf
    return abs(value / bound - 1.0)
