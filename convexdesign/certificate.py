"""Certificates: a proven bound on the optimum, from the data and any vectors b_j, and the gap of given weights to it.

Nothing here knows a solver. At the optimal w, with A = A(w) and h_W(q) = max over w in W of w'q (simplex: the largest q_i):

- minimax:  t* >= sum_j (b_j'v_j)^2 / ( sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2) ), for ANY b_j, one per target, because
  (b_j'v_j)^2 <= (v_j'A^+v_j)(b_j'Ab_j) <= t* b_j'Ab_j; sum over j.
- average variance, M = sum_j l_j l_j':  t* >= (sum_j b_j'l_j)^2 / ( the same ), because
  (sum_j b_j'l_j)^2 <= (sum_j l_j'A^+l_j)(sum_j b_j'Ab_j), Cauchy-Schwarz over all coordinates of all j.
- D (r = rank), any C > 0:  log det A* <= -log det C + r log( (tr(CA0) + h_W(y_i'Cy_i)) / r ): the geometric mean of the
  eigenvalues of C^(1/2) A* C^(1/2) is at most their mean, tr(CA*) / r.
- D_s, interest K (d, s), A_s = (K'A^-K)^-1, any C with G = (K'CK)^-1 and L = CKG: L'K = I, so A_s* <= L'A*L (Gauss-Markov:
  L gives an unbiased estimate of K'theta) and, as for D,
  log det A_s* <= log det G + s log( (tr(HH'A0) + h_W(|H'y_i|^2)) / s ),  H = L G^(-1/2), HH' = CK G K'C.
- E, any b_j:  lambda_min(A*) <= sum_j b_j'A*b_j / sum_j |b_j|^2 <= ( sum_j b_j'A0b_j + h_W(...) ) / sum_j |b_j|^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from convexdesign.evaluation import Evaluation, evaluate
from convexdesign.problem import Canonical, Criterion, DesignProblem

__all__ = [
    "Certificate",
    "Evaluation",
    "Witness",
    "certify",
    "evaluate",
    "minimax_bound",
    "stronger",
    "witness_from_multipliers",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
SupportFunction = Callable[[Floats], float]


@dataclass(frozen=True, eq=False)
class Witness:
    """What proves a bound: vectors b_j (k, d), and the targets (k,) they belong to.

    For the average variance the targets number the columns of `problem.aim`; for E they carry no meaning.
    """

    targets: Indices
    vectors: Floats


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof, to floating-point accuracy, of how far a design is from optimal.

    value: the criterion at the weights; bound: proven bound on the optimum (a lower one for variances, an upper one for
    log det and lambda_min); gap: relative, value / bound - 1 or its mirror, for log det exp((bound - value) / rank) - 1;
    worst_target, worst_arm: where value and bound are attained; rank: of A(w); witness: what proves the bound, None where
    that follows from the Kiefer-Wolfowitz theorem or the weights themselves; feasibility: distance of the weights from W.
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


def certify(
    canonical: Canonical,
    weights: Floats,
    witness: Witness | None = None,
    *,
    support: SupportFunction | None = None,
    feasibility: float | None = None,
) -> Certificate:
    """Evaluate the weights (n,), in the user's order, and prove a bound on the optimum.

    The bound comes from the witness; without one, from Kiefer-Wolfowitz or from the weights' own inverse. `support` must
    return a proven upper bound on h_W; by default W's own bounds and inequalities decide, and so they do for feasibility.
    """
    problem = canonical.problem
    support = problem.weight_set.support if support is None else support
    feasibility = problem.weight_set.violation(weights) if feasibility is None else feasibility
    at = evaluate(canonical, weights)
    if problem.is_kiefer_wolfowitz:
        bound, worst_arm, witness = problem.common_variance * canonical.rank, at.worst_target, None
    elif problem.criterion in (Criterion.D, Criterion.DS):
        bound, worst_arm = log_det_bound(canonical, at, support)
        witness = None
    else:
        witness = own_witness(canonical, at) if witness is None else witness
        bound, worst_arm = vector_bound(problem, witness, support)
    gap = relative_gap(problem.criterion, at.value, bound, dimension(canonical))
    return Certificate(
        problem.criterion, at.value, bound, gap, at.worst_target, worst_arm, at.rank, witness, feasibility
    )


def stronger(first: Certificate, second: Certificate, canonical: Canonical) -> Certificate:
    """The first certificate, with the second's bound where that is tighter (both of one problem)."""
    better = second.bound < first.bound if first.criterion.maximised else second.bound > first.bound
    if not better:
        return first
    gap = relative_gap(first.criterion, first.value, second.bound, dimension(canonical))
    return replace(first, bound=second.bound, gap=gap, witness=second.witness, worst_arm=second.worst_arm)


def dimension(canonical: Canonical) -> int:
    """How many dimensions a log det is over: the rank, or the number of combinations of interest."""
    problem = canonical.problem
    return int(problem.aim.shape[1]) if problem.criterion is Criterion.DS else canonical.rank


def relative_gap(criterion: Criterion, value: float, bound: float, dim: int) -> float:
    """value / bound - 1, oriented; a value on the wrong side of its bound is rounding, and counts by its size."""
    if not (np.isfinite(value) and np.isfinite(bound)):
        return np.inf
    if criterion in (Criterion.D, Criterion.DS):
        return abs(float(np.expm1((bound - value) / dim)))
    high, low = (bound, value) if criterion.maximised else (value, bound)
    return abs(high / low - 1.0) if low > 0 else np.inf


def witness_from_multipliers(canonical: Canonical, factor: Floats, targets: Indices, multipliers: Floats) -> Witness:
    """b_j = sqrt(mu_j) C v_j, the vectors that give the tightest minimax bound at the optimum; C = FF'."""
    keep = multipliers > 0
    V = canonical.problem.targets.take(targets[keep])
    vectors = np.sqrt(multipliers[keep])[:, None] * ((V @ factor) @ factor.T)
    return Witness(targets[keep], vectors)


def own_witness(canonical: Canonical, at: Evaluation) -> Witness:
    """The vectors that the weights themselves suggest: the worst target, C L, or the least eigenvector of A."""
    problem = canonical.problem
    match problem.criterion:
        case Criterion.MINIMAX:
            return witness_from_multipliers(canonical, at.factor, np.array([max(at.worst_target, 0)]), np.ones(1))
        case Criterion.AVERAGE:
            B = at.factor @ (at.factor.T @ problem.aim)
            return Witness(np.arange(B.shape[1]), B.T)
        case _:
            least = np.linalg.svd(at.factor, full_matrices=False)[0][:, :1]
            return Witness(np.zeros(1, dtype=np.intp), least.T)


def vector_bound(problem: DesignProblem, witness: Witness, support: SupportFunction) -> tuple[float, int]:
    """The bound that the vectors prove (minimax, average variance, E), and the arm with the largest sum_j (b_j'y_i)^2."""
    B = witness.vectors
    nothing = np.inf if problem.criterion.maximised else 0.0
    size = float(np.abs(B).max()) if B.size else 0.0
    if not (size > 0 and np.isfinite(size)):
        return nothing, 0
    B = B / size  # no bound depends on the scale of its vectors, but squares may overflow
    columns = B.T
    if B.shape[0] > B.shape[1]:
        # The sum over j depends on B'B alone; its triangular factor has at most d columns.
        columns = np.asarray(np.linalg.qr(B, mode="r")).T
    sensitivity = problem.arms.quadratic(np.ascontiguousarray(columns))
    most = _held(problem, B) + support(sensitivity)
    worst = int(np.argmax(sensitivity))
    if problem.criterion is Criterion.E:
        return float(most / np.sum(B**2)), worst
    if problem.criterion is Criterion.AVERAGE:
        gain = float(np.sum(B * problem.aim.T[witness.targets])) ** 2
    else:
        gain = float(np.sum(np.einsum("jk,jk->j", B, problem.targets.take(witness.targets)) ** 2))
    return (gain / most if most > 0 else nothing), worst


def minimax_bound(problem: DesignProblem, witness: Witness) -> tuple[float, int]:
    """The proven lower bound on t* from a witness, over the whole of W, and the arm that limits it."""
    return vector_bound(problem, witness, problem.weight_set.support)


def log_det_bound(canonical: Canonical, at: Evaluation, support: SupportFunction) -> tuple[float, int]:
    """The upper bound on log det (D and D_s) that the weights' own inverse proves, and the arm that limits it."""
    problem = canonical.problem
    if not np.isfinite(at.value):
        return np.inf, 0
    H = at.factor
    if problem.criterion is Criterion.DS:
        # K'CK = T'T with T = F'K = QS (thin); CKG^(1/2) = F T (T'T)^(-1/2), whose columns span what Q spans: HH' = FQQ'F'.
        H = at.factor @ np.linalg.qr(at.factor.T @ problem.aim)[0]
    sensitivity = problem.arms.quadratic(np.ascontiguousarray(H))
    dim = dimension(canonical)
    excess = (_held(problem, H.T) + support(sensitivity)) / dim
    return float(at.value + dim * np.log(excess)), int(np.argmax(sensitivity))


def _held(problem: DesignProblem, B: Floats) -> float:
    """sum_j b_j'A0b_j."""
    return 0.0 if problem.prior is None else float(np.einsum("jk,kl,jl->", B, problem.prior, B))
