"""Certificates: a proven bound on the optimum, from the data and any vectors b_j, and the gap of given weights to it.

Nothing here knows a solver or a criterion: `convexdesign.criteria` has the bounds and their proofs. All of them, at the optimal
w, rest on sum_j b_j'A(w)b_j <= sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2), with h_W(q) = max over w in W of w'q (simplex: the
largest q_i), which is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from convexdesign.arms.groups import squared_norms
from convexdesign.arms.monomial import inverse_of, times
from convexdesign.criteria import Evaluation, oracle_of
from convexdesign.deprecation import deprecated
from convexdesign.dual_certificate import DualCertificate
from convexdesign.evaluation import evaluate
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.problem.prior_information import UNIT, prior_form
from convexdesign.roundoff import inner_product, value_error
from convexdesign.typing import Floats, Indices

__all__ = [
    "Certificate",
    "DualCertificate",
    "Evaluation",
    "certify",
    "dual_from_multipliers",
    "evaluate",
    "revalued",
    "stronger",
    "vector_bound",
]

# Vectors that span so badly that they magnify rounding beyond this do not limit it.
WELL_SEEN = 1e-7
# Up to this many entries the rounding of every arm is looked at by itself.
FEW_ENTRIES = 10_000
SupportFunction = Callable[[Floats], float]


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof, rounding included, of how far a design is from optimal.

    Parameters
    ----------
    criterion : Criterion
        What is optimised.
    value : float
        The criterion at the weights.
    bound : float
        A proven bound on the optimum (a lower one for variances, an upper one for log det and lambda_min), moved
        outwards by its rounding.
    gap : float
        Relative: value / bound - 1 or its mirror, for log det exp((bound - value) / rank) - 1, for the worst that the
        value may be with its rounding.
    worst_target, worst_arm : int
        Where value and bound are attained.
    rank : int
        Of A(w).
    dual : DualCertificate, optional
        What proves the bound; None where that follows from the Kiefer-Wolfowitz theorem.
    feasibility : float
        The share by which the weights miss the set W of those allowed.
    rounding : float
        The share by which the value may be off.
    """

    criterion: Criterion
    value: float
    bound: float
    gap: float
    worst_target: int
    worst_arm: int
    rank: int
    dual: DualCertificate | None
    feasibility: float = 0.0
    rounding: float = 0.0

    @property
    def efficiency(self) -> float:
        """A proven lower bound on the efficiency of the design: 1 / (1 + gap)."""
        return 1.0 / (1.0 + self.gap)

    @property
    @deprecated(since="0.2", removed="0.4", instead="dual")
    def witness(self) -> DualCertificate | None:
        """The dual certificate by its old name."""
        return self.dual


def certify(
    canonical: Canonical,
    weights: Floats,
    dual: DualCertificate | None = None,
    *,
    support: SupportFunction | None = None,
    feasibility: float | None = None,
) -> Certificate:
    """Evaluate the weights (n,), in the user's order, and prove a bound on the optimum.

    The bound comes from the dual certificate; without one, from Kiefer-Wolfowitz or from the weights' own inverse. `support`
    must return a proven upper bound on h_W; by default W's own bounds and inequalities decide, and so they do for feasibility.
    """
    problem = canonical.problem
    support = problem.weight_set.support if support is None else support
    feasibility = problem.weight_set.violation(weights) if feasibility is None else feasibility
    at = evaluate(canonical, weights)
    if problem.is_kiefer_wolfowitz:
        bound, worst_arm, dual = kiefer_wolfowitz(canonical), at.worst_target, None
    else:
        dual = own_dual(canonical, at) if dual is None else dual
        bound, worst_arm = vector_bound(canonical, dual, support)
    error = value_error(canonical, weights, at)
    gap = _gap(canonical, at.value, bound, error)
    return Certificate(
        problem.criterion, at.value, bound, gap, at.worst_target, worst_arm, at.rank, dual, feasibility, error
    )


def kiefer_wolfowitz(canonical: Canonical) -> float:
    """s^2 rank, from below."""
    variance = canonical.problem.common_variance
    return canonical.rank * (variance if variance == 1.0 else float(np.nextafter(variance, 0.0)) * (1.0 - 2.0 * UNIT))


def _gap(canonical: Canonical, value: float, bound: float, error: float) -> float:
    oracle = oracle_of(canonical)
    return oracle.criterion.relative_gap(value, bound, oracle.dimension(canonical), error)


def revalued(certificate: Certificate, canonical: Canonical, weights: Floats) -> Certificate:
    """The certificate of other weights, by the same bound: one evaluation, no new proof."""
    at = evaluate(canonical, weights)
    error = value_error(canonical, weights, at)
    gap = _gap(canonical, at.value, certificate.bound, error)
    return replace(certificate, value=at.value, gap=gap, worst_target=at.worst_target, rank=at.rank, rounding=error)


def stronger(first: Certificate, second: Certificate, canonical: Canonical) -> Certificate:
    """The first certificate, with the second's bound where that is tighter (both of one problem)."""
    if not first.criterion.is_better(first.bound, second.bound):
        return first
    gap = _gap(canonical, first.value, second.bound, first.rounding)
    return replace(first, bound=second.bound, gap=gap, dual=second.dual, worst_arm=second.worst_arm)


def dual_from_multipliers(
    canonical: Canonical, factor: Floats, targets: Indices, multipliers: Floats
) -> DualCertificate:
    """b_j = sqrt(mu_j) C v_j, the vectors that give the tightest minimax bound at the optimum; C = FF'."""
    keep = multipliers > 0
    V = canonical.problem.targets.take(targets[keep])
    vectors = np.sqrt(multipliers[keep])[:, None] * ((V @ factor) @ factor.T)
    return DualCertificate.found(canonical, targets[keep], vectors)


def own_dual(canonical: Canonical, at: Evaluation) -> DualCertificate:
    """The vectors that the weights themselves suggest, from C = FF' ~ A^-1: tight at the optimum (but for minimax and E)."""
    return DualCertificate.found(canonical, *oracle_of(canonical).dual_vectors(canonical, at))


def vector_bound(canonical: Canonical, dual: DualCertificate, support: SupportFunction) -> tuple[float, int]:
    """The bound that the vectors prove, and the arm with the largest sum_j (b_j'y_i)^2, which limits it.

    Everything that is computed is taken at the worse end of what its rounding allows.
    """
    oracle = oracle_of(canonical)
    targets, B = oracle.joined(canonical, dual.targets, dual.within(canonical))
    nothing = np.inf if oracle.criterion.maximised else 0.0
    size = float(np.abs(B).max()) if B.size else 0.0
    if not (size > 0 and np.isfinite(size)):
        return nothing, 0
    B = B / size  # no bound depends on the scale of its vectors, but squares may overflow
    most, worst_arm = _most(canonical, B, support)
    return (oracle.bound(canonical, targets, B, most), worst_arm) if most > 0 else (nothing, 0)


def _most(canonical: Canonical, B: Floats, support: SupportFunction) -> tuple[float, int]:
    """sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2) from above, and the arm with the largest sum.

    With c the lengths of the columns of B, the rounding of sqrt(sum_j (b_j'y)^2) is at most g c'|y|. Of many arms |y| is not
    known one by one: where the vectors span it is limited by what they see of y, else by the largest entries there are. h_W
    is monotone, and by Cauchy and Schwarz h_W((sqrt(q) + e)^2) <= (sqrt(h_W(q)) + e)^2.
    """
    problem = canonical.problem
    j, p = B.shape
    columns, g = B.T, inner_product(p)
    if j > p:
        # The sum over j depends on B'B alone; its triangular factor has at most d columns.
        columns = np.asarray(np.linalg.qr(B, mode="r")).T
        g += 8 * (j + p) * UNIT
    columns = np.ascontiguousarray(columns)
    form, off = prior_form(problem, columns)
    held = float(form.trace()) + np.sqrt(columns.shape[1]) * off
    lengths = np.sqrt(np.square(B).sum(axis=0))
    share = extra = 0.0
    if problem.arms.n * p <= FEW_ENTRIES:
        sizes = squared_norms(canonical.sizes @ lengths[:, None], problem.responses)
        sensitivity = (np.sqrt(problem.arms.quadratic(columns)) + g * np.sqrt(sizes)) ** 2
        worst, most = int(np.argmax(sensitivity)), support(sensitivity)
    else:
        worst, most = _largest(problem, columns, support)
        share = _seen(canonical, columns, g * lengths)
        if not share <= WELL_SEEN:
            share, extra = 0.0, g * float(lengths @ canonical.extent)
    parts = 8 if problem.weight_set.is_simplex else problem.arms.n + 8
    free = np.sqrt(max(most, 0.0)) * (1.0 + share + (columns.shape[1] + parts) * UNIT) + extra
    return held * (1.0 + 4 * UNIT) + float(free) ** 2, worst


def _largest(problem: DesignProblem, columns: Floats, support: SupportFunction) -> tuple[int, float]:
    """The arm with the largest |C'y_i|^2, and h_W of them all.

    Over the simplex every support function, of another budget too, is one of the largest: all that arms must tell.
    """
    if problem.weight_set.is_simplex:
        index, values = problem.arms.largest(columns)
        return int(index[0]), support(values[:1])
    sensitivity = problem.arms.quadratic(columns)
    return int(np.argmax(sensitivity)), support(sensitivity)


def _seen(canonical: Canonical, columns: Floats, blur: Floats) -> float:
    """e with blur'|y| <= e |C'y| for every y in the range; infinite where the columns C do not span it."""
    if columns.shape[1] != canonical.rank:
        return np.inf
    image = times(canonical.inverse, columns)
    with np.errstate(all="ignore"):
        try:
            inverse = inverse_of(image)
        except np.linalg.LinAlgError:
            return np.inf
        return float(np.linalg.norm(times(blur[None], np.abs(canonical.inverse.T))[0] @ np.abs(inverse.T)))
