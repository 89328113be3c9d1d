"""What a bound on sensitivities over a region proves of each criterion, and the vectors b_j that make it tight.

With lambda >= b'A0b + max over the region of p_b, sums over all b_j, in well-conditioned coordinates h = R f:

- minimax: t* >= sum_j (b_j'v_j)^2 / lambda;   average, M = LL': t* >= (sum_j b_j'l_j)^2 / lambda;
- D: log det A* <= d log(lambda / d) - 2 log |det B| - 2 log |det R|;   D_s, interest K: s log(lambda / s) - 2 log |det BK|;
- E, R the identity: lambda_min(A*) <= lambda / sum_j |b_j|^2.

Every number is taken at the worse end of what its rounding allows. The proofs are those over a list of arms (`certificate`):
the arms enter them through the maximum of p_b alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.design import Design
from convexdesign.problem import Criterion, DesignProblem
from convexdesign.problem.compensated import in_two_parts
from convexdesign.problem.prior_information import prior_form
from convexdesign.regions.sum_of_squares import UNIT
from convexdesign.regions.symmetry import Symmetry
from convexdesign.typing import Floats, Indices

__all__ = ["Vectors", "dimension", "gap_of", "leaves", "log_det_shift", "moments_share", "proven_bound", "vectors_of"]


@dataclass(frozen=True, eq=False)
class Vectors:
    """b_j (k, d) as rows, and what they belong to: targets, columns of the contrast matrix, or nothing."""

    B: Floats
    targets: Indices


def vectors_of(design: Design, symmetry: Symmetry | None) -> Vectors:
    """The vectors that the finite design over a list of settings suggests, of its mean over the symmetries."""
    problem, criterion = design.problem, design.problem.criterion
    A = design.information
    if symmetry is not None and leaves(symmetry, problem):
        A = symmetry.averaged(A)
        if criterion == Criterion.D:
            B = np.linalg.inv(np.linalg.cholesky(A))
            return Vectors(B, np.arange(len(B)))
        if criterion == Criterion.AVERAGE and np.linalg.cond(A) < 1e10:
            B = np.linalg.solve(A, problem.contrast_matrix).T
            return Vectors(np.ascontiguousarray(B), np.arange(len(B)))
    dual = design.certificate.dual
    assert dual is not None
    return Vectors(dual.vectors, dual.targets)


def log_det_shift(problem: DesignProblem, log_det: float) -> float:
    """What the frame's coordinates, h = R f with log |det R|, add to the value over a list."""
    return 2.0 * log_det if problem.criterion == Criterion.D else 0.0


def leaves(symmetry: Symmetry, problem: DesignProblem) -> bool:
    """Whether the criterion of any A is that of its images."""
    if problem.criterion == Criterion.AVERAGE:
        return symmetry.leaves(problem.contrast_matrix @ problem.contrast_matrix.T)
    return problem.criterion == Criterion.D


def proven_bound(problem: DesignProblem, vectors: Vectors, most: float, log_det: float) -> float:
    """The bound on the optimum where most >= max over the region of p_b; information held is added here."""
    B, criterion = vectors.B, problem.criterion
    nothing = np.inf if criterion.maximised else 0.0
    if not (0 < most < np.inf and np.isfinite(B).all()):
        return nothing
    form, off = prior_form(problem, np.ascontiguousarray(B.T))
    held = float(np.trace(form)) + np.sqrt(len(B)) * off
    lam = (most + max(held, 0.0) * (1.0 + len(B) * UNIT)) * (1.0 + 8 * UNIT)
    d = B.shape[1]
    g, outward = (d + 8) * UNIT, 2 * (len(B) + 8) * UNIT
    match criterion:
        case Criterion.MINIMAX:
            V = problem.targets.take(vectors.targets)
            hits = np.abs(np.einsum("jk,jk->j", B, V)) - g * np.einsum("jk,jk->j", np.abs(B), np.abs(V))
            return float(np.sum(np.maximum(hits, 0.0) ** 2)) / lam * (1.0 - outward)
        case Criterion.AVERAGE:
            once = np.zeros((problem.contrast_matrix.shape[1], d))
            np.add.at(once, vectors.targets, B)
            L = problem.contrast_matrix.T
            hit = abs(float(np.sum(once * L))) - (g + (len(B) + 4) * UNIT) * float(np.sum(np.abs(once) * np.abs(L)))
            return max(hit, 0.0) ** 2 / lam * (1.0 - outward) * (1.0 - min(moments_share(problem), 1.0))
        case Criterion.D:
            return log_det_bound(B, lam, log_det)
        case Criterion.DS:
            K = problem.contrast_matrix
            return log_det_bound(B @ K, lam, 0.0, g * (np.abs(B) @ np.abs(K)))
        case Criterion.E:
            total = float(np.sum(B * B)) * (1.0 - outward - g)
            return lam / total * (1.0 + outward) if total > 0 else np.inf
    raise AssertionError(criterion)


def dimension(problem: DesignProblem) -> int:
    """What a log det is over."""
    return int(problem.contrast_matrix.shape[1]) if problem.criterion == Criterion.DS else problem.arms.d


def log_det_bound(hits: Floats, lam: float, log_det: float, off: Floats | None = None) -> float:
    """s log(lambda / s) - 2 log |det hits| - 2 log |det R| for hits (s, s) known up to `off`, from above."""
    s = len(hits)
    if hits.shape[0] != hits.shape[1]:
        return np.inf
    sign, logarithm = np.linalg.slogdet(hits)
    if not sign:
        return np.inf
    error = np.zeros_like(hits) if off is None else off
    error = error + (s + 8) * s * UNIT * np.abs(hits)
    change = float(np.sum(np.abs(np.linalg.inv(hits)) * error.T))
    if not change < 0.1:
        return np.inf
    total = s * np.log(lam / s) - 2.0 * logarithm - 2.0 * log_det
    size = s * abs(np.log(lam / s)) + 2.0 * abs(logarithm) + 2.0 * abs(log_det) + s
    return float(total + 4.0 * change + (s + 8) * UNIT * size)


def moments_share(problem: DesignProblem) -> float:
    """delta with (1 - delta) LL' <= M <= (1 + delta) LL' for the root L of the moments that had to be computed."""
    if problem.moments is None:
        return 0.0
    L = problem.contrast_matrix
    high, low = in_two_parts(L, np.ascontiguousarray(L.T))
    E = (problem.moments - high) - low
    size = np.abs(E) + 4 * UNIT * np.abs(problem.moments)
    inverse = np.abs(np.linalg.pinv(L))
    return float(np.linalg.norm(inverse @ size @ inverse.T)) * (1.0 + 1e-6)


def gap_of(criterion: Criterion, value: float, bound: float, dim: int, error: float = 0.0) -> float:
    """How far the value may be from the optimum, relatively, its own rounding by a share `error` included."""
    return criterion.relative_gap(value, bound, dim, error)
