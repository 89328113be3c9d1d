"""Certificates: a proven bound on the optimum, from the data and any vectors b_j, and the gap of given weights to it.

Nothing here knows a solver. At the optimal w, with A = A(w) and h_W(q) = max over w in W of w'q (simplex: the largest q_i):

- minimax:  t* >= sum_j (b_j'v_j)^2 / ( sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2) ), for ANY b_j, one per target, because
  (b_j'v_j)^2 <= (v_j'A^+v_j)(b_j'Ab_j) <= t* b_j'Ab_j; sum over j.
- average variance, M = sum_j l_j l_j':  t* >= (sum_j b_j'l_j)^2 / ( the same ), because
  (sum_j b_j'l_j)^2 <= (sum_j l_j'A^+l_j)(sum_j b_j'Ab_j), Cauchy-Schwarz over all coordinates of all j. Each l_j must come
  once: of vectors for one and the same l_j it is their sum that counts. (For minimax l_j may come as often as one likes,
  as every term is bounded by itself.)
- D_s, interest K (d, s), A_s = (K'A^-K)^-1, any H = [b_1 ... b_s] with K'H invertible: L = H(K'H)^-1 has L'K = I, so that
  A_s* <= L'A*L (Gauss-Markov: L'A theta-hat is one unbiased estimate of K'theta among others), and because the geometric mean
  of eigenvalues is at most their mean,
  log det A_s* <= log det(H'A*H) - 2 log|det K'H| <= s log( tr(H'A*H) / s ) - 2 log|det K'H|,
  with tr(H'A*H) <= sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2). Tight at H = CK(K'CK)^(-1/2), C = A^-1.
- D is D_s for K an orthonormal basis of the range of the arms (s = rank), tight at HH' = A^-1.
- E, any b_j:  lambda_min(A*) <= sum_j b_j'A*b_j / sum_j |b_j|^2 <= ( sum_j b_j'A0b_j + h_W(...) ) / sum_j |b_j|^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from convexdesign.arms.groups import squared_norms
from convexdesign.errors import InputError
from convexdesign.evaluation import Evaluation, evaluate, range_volume
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.problem.compensated import in_two_parts, product
from convexdesign.problem.held import UNIT, held_form
from convexdesign.roundoff import inner_product, moments_error, value_error, volume_error
from convexdesign.typing import Floats, Indices

__all__ = [
    "Certificate",
    "Evaluation",
    "Witness",
    "certify",
    "evaluate",
    "revalued",
    "stronger",
    "vector_bound",
    "witness_from_multipliers",
]

# Each brings over the digits that the condition of the coordinates leaves, of sixteen.
REFINEMENTS = 4
# Vectors that span so badly that they magnify rounding beyond this do not limit it.
WELL_SEEN = 1e-7
# Up to this many entries the rounding of every arm is looked at by itself.
FEW_ENTRIES = 100_000
SupportFunction = Callable[[Floats], float]


@dataclass(frozen=True, eq=False)
class Witness:
    """What proves a bound: vectors b_j (k, d), and the targets (k,) they belong to.

    For the average variance the targets number the columns of `problem.aim`, and vectors of one column count by their sum;
    for D, D_s and E they carry no meaning.
    remainders (k, d): what doubles leave of the vectors where the problem is so ill-conditioned that it matters, else None.
    """

    targets: Indices
    vectors: Floats
    remainders: Floats | None = None

    def within(self, canonical: Canonical) -> Floats:
        """The vectors c (k, r) in the coordinates of `canonical.problem`, which an ill-conditioned problem is restated in."""
        frame = canonical.frame
        if frame is None:
            return self.vectors
        parts = [self.vectors] if self.remainders is None else [self.vectors, self.remainders]
        c = np.zeros((len(self.vectors), frame.basis.shape[1]))
        identity = np.eye(self.vectors.shape[1])
        for _ in range(REFINEMENTS):
            # What b - Wc still is, without rounding: it is all that R, a rounded inverse of W, has to bring over.
            left = product(np.hstack([*parts, -c]), np.vstack([identity] * len(parts) + [frame.basis.T]))
            c = c + left @ frame.inverse.T
        return np.asarray(c)

    @classmethod
    def found(cls, canonical: Canonical, targets: Indices, vectors: Floats) -> Witness:
        """A witness from vectors (k, r) in the coordinates of `canonical.problem`."""
        if canonical.frame is None:
            return cls(targets, vectors)
        return cls(targets, *in_two_parts(vectors, canonical.frame.basis.T))


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
    witness : Witness, optional
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
    witness: Witness | None
    feasibility: float = 0.0
    rounding: float = 0.0

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
        bound, worst_arm, witness = kiefer_wolfowitz(canonical), at.worst_target, None
    else:
        witness = own_witness(canonical, at) if witness is None else witness
        bound, worst_arm = vector_bound(canonical, witness, support)
    error = value_error(canonical, weights, at)
    gap = relative_gap(problem.criterion, at.value, bound, dimension(canonical), error)
    return Certificate(
        problem.criterion, at.value, bound, gap, at.worst_target, worst_arm, at.rank, witness, feasibility, error
    )


def kiefer_wolfowitz(canonical: Canonical) -> float:
    """s^2 rank, from below."""
    variance = canonical.problem.common_variance
    return canonical.rank * (variance if variance == 1.0 else float(np.nextafter(variance, 0.0)) * (1.0 - 2.0 * UNIT))


def revalued(certificate: Certificate, canonical: Canonical, weights: Floats) -> Certificate:
    """The certificate of other weights, by the same bound: one evaluation, no new proof."""
    at = evaluate(canonical, weights)
    error = value_error(canonical, weights, at)
    gap = relative_gap(certificate.criterion, at.value, certificate.bound, dimension(canonical), error)
    return replace(certificate, value=at.value, gap=gap, worst_target=at.worst_target, rank=at.rank, rounding=error)


def stronger(first: Certificate, second: Certificate, canonical: Canonical) -> Certificate:
    """The first certificate, with the second's bound where that is tighter (both of one problem)."""
    better = second.bound < first.bound if first.criterion.maximised else second.bound > first.bound
    if not better:
        return first
    gap = relative_gap(first.criterion, first.value, second.bound, dimension(canonical), first.rounding)
    return replace(first, bound=second.bound, gap=gap, witness=second.witness, worst_arm=second.worst_arm)


def dimension(canonical: Canonical) -> int:
    """How many dimensions a log det is over: the rank, or the number of combinations of interest."""
    problem = canonical.problem
    return int(problem.aim.shape[1]) if problem.criterion is Criterion.DS else canonical.rank


def relative_gap(criterion: Criterion, value: float, bound: float, dim: int, error: float = 0.0) -> float:
    """value / bound - 1, oriented, at the worst value within a share `error` of the one computed.

    A value on the wrong side of its bound is rounding, and counts by its size.
    """
    if not (np.isfinite(value) and np.isfinite(bound) and error < 1.0):
        return np.inf
    if criterion in (Criterion.D, Criterion.DS):
        gap = abs(float(np.expm1((bound - value) / dim)))
    else:
        high, low = (bound, value) if criterion.maximised else (value, bound)
        gap = abs(high / low - 1.0) if low > 0 else np.inf
    return (gap + error) / (1.0 - error)


def witness_from_multipliers(canonical: Canonical, factor: Floats, targets: Indices, multipliers: Floats) -> Witness:
    """b_j = sqrt(mu_j) C v_j, the vectors that give the tightest minimax bound at the optimum; C = FF'."""
    keep = multipliers > 0
    V = canonical.problem.targets.take(targets[keep])
    vectors = np.sqrt(multipliers[keep])[:, None] * ((V @ factor) @ factor.T)
    return Witness.found(canonical, targets[keep], vectors)


def own_witness(canonical: Canonical, at: Evaluation) -> Witness:
    """The vectors that the weights themselves suggest, from C = FF' ~ A^-1: tight at the optimum (but for minimax and E)."""
    problem, F = canonical.problem, at.factor
    match problem.criterion:
        case Criterion.MINIMAX:
            return witness_from_multipliers(canonical, F, np.array([max(at.worst_target, 0)]), np.ones(1))
        case Criterion.AVERAGE:
            vectors = ((problem.aim.T @ F) @ F.T).T
        case Criterion.D:
            vectors = F
        case Criterion.DS:
            # With F'K = QS, S square: CK(K'CK)^(-1/2) = FQ up to a rotation.
            vectors = F @ np.linalg.qr(F.T @ problem.aim)[0]
        case Criterion.E:
            _, size, right = np.linalg.svd(problem.aim.T @ F, full_matrices=False)
            vectors = F @ right[:1].T / size[0]
    return Witness.found(canonical, np.arange(vectors.shape[1]), vectors.T)


def summed_by_target(targets: Indices, vectors: Floats, count: int) -> tuple[Indices, Floats]:
    """The targets (each below count), each once, and for each the sum of its vectors."""
    if targets.size and not 0 <= targets.min() <= targets.max() < count:
        raise InputError(f"a witness names target {targets.min()} or {targets.max()}; there are 0 .. {count - 1}")
    once, place = np.unique(targets, return_inverse=True)
    if once.size == targets.size:
        return targets, vectors
    sums = np.zeros((once.size, vectors.shape[1]))
    np.add.at(sums, place, vectors)
    return once, sums


def vector_bound(canonical: Canonical, witness: Witness, support: SupportFunction) -> tuple[float, int]:
    """The bound that the vectors prove, and the arm with the largest sum_j (b_j'y_i)^2, which limits it.

    Everything that is computed is taken at the worse end of what its rounding allows.
    """
    problem, criterion = canonical.problem, canonical.problem.criterion
    targets, B = witness.targets, witness.within(canonical)
    if criterion is Criterion.AVERAGE:
        targets, B = summed_by_target(targets, B, problem.aim.shape[1])
    nothing = np.inf if criterion.maximised else 0.0
    size = float(np.abs(B).max()) if B.size else 0.0
    if not (size > 0 and np.isfinite(size)):
        return nothing, 0
    B = B / size  # no bound depends on the scale of its vectors, but squares may overflow
    most, worst_arm = _most(canonical, B, support)
    if not most > 0:
        return nothing, 0
    g = inner_product(B.shape[1])
    match criterion:
        case Criterion.MINIMAX:
            V = problem.targets.take(targets)
            hits = np.abs(np.einsum("jk,jk->j", B, V)) - g * np.einsum("jk,jk->j", np.abs(B), np.abs(V))
            bound = float(np.sum(np.maximum(hits, 0.0) ** 2)) / most
        case Criterion.AVERAGE:
            L = problem.aim.T[targets]
            hit = abs(float(np.sum(B * L))) - (g + L.shape[0] * UNIT) * float(np.sum(np.abs(B) * np.abs(L)))
            bound = max(hit, 0.0) ** 2 / most * (1.0 - min(moments_error(problem, canonical.basis), 1.0))
        case Criterion.D | Criterion.DS:
            return _log_det_bound(canonical, B, most), worst_arm
        case Criterion.E:
            hits = np.abs(B @ problem.aim) - g * (np.abs(B) @ np.abs(problem.aim))
            total = float(np.sum(np.maximum(hits, 0.0) ** 2))
            bound = most / total if total > 0 else np.inf
    # The last sums and quotients, in the direction that is safe.
    outward = 2 * (B.shape[0] + 4) * UNIT
    return float(bound * (1.0 + outward if criterion.maximised else 1.0 - outward)), worst_arm


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
    form, off = held_form(problem, columns)
    held = float(np.trace(form)) + np.sqrt(columns.shape[1]) * off
    lengths = np.linalg.norm(B, axis=0)
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
    """The arm with the largest |C'y_i|^2, and h_W of them all; over the simplex the largest is all that arms must tell."""
    if problem.weight_set.is_simplex:
        index, values = problem.arms.largest(columns)
        return int(index[0]), float(values[0])
    sensitivity = problem.arms.quadratic(columns)
    return int(np.argmax(sensitivity)), support(sensitivity)


def _seen(canonical: Canonical, columns: Floats, blur: Floats) -> float:
    """e with blur'|y| <= e |C'y| for every y in the range; infinite where the columns C do not span it."""
    if columns.shape[1] != canonical.rank:
        return np.inf
    image = canonical.inverse @ columns
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.inv(image)
        except np.linalg.LinAlgError:
            return np.inf
        return float(np.linalg.norm((blur @ np.abs(canonical.inverse.T)) @ np.abs(inverse.T)))


def _log_det_bound(canonical: Canonical, B: Floats, most: float) -> float:
    dim = dimension(canonical)
    if B.shape[0] != dim:
        return np.inf
    size, p = np.abs(B), B.shape[1]
    if canonical.problem.criterion is Criterion.D:
        # In whitened coordinates K is the identity, up to the volume that the basis takes from the range.
        R, W = np.abs(canonical.inverse), np.abs(canonical.basis)
        hits, volume = B @ canonical.inverse.T, range_volume(canonical) + volume_error(canonical)
        off = size @ (R + R @ (W @ R)).T
    else:
        hits, volume = B @ canonical.problem.aim, 0.0
        off = size @ np.abs(canonical.problem.aim)
    sign, logarithm = np.linalg.slogdet(hits)
    if not sign:
        return np.inf
    # d log|det H| = tr H^-1 dH, and what elimination rounds is of the size of |H| at most.
    off = inner_product(p + dim) * (off + dim * np.abs(hits))
    change = float(np.sum(np.abs(np.linalg.inv(hits)) * off.T))
    total = float(dim * np.log(most / dim) - 2.0 * logarithm + volume)
    size_of_terms = dim * abs(np.log(most / dim)) + 2.0 * abs(logarithm) + abs(volume)
    return total + 4.0 * change + 8 * UNIT * (size_of_terms + dim) if change < WELL_SEEN * 1e6 else np.inf
