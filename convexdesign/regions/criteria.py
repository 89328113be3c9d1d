"""What a bound on sensitivities over a region proves, and the vectors b_j that make it tight.

With lambda >= b'A0b + max over the region of p_b, sums over all b_j, in well-conditioned coordinates h = R f, the bound is that
of the criterion over a list (`criteria`): the arms enter its proof through lambda alone. Of log det A it is taken back to the
coordinates of f by 2 log |det R|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.criteria import oracle_of
from convexdesign.design import Design
from convexdesign.problem import Canonical, Criterion, DesignProblem
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
    problem, oracle = design.problem, oracle_of(design.problem)
    if symmetry is not None and leaves(symmetry, problem):
        found = oracle.vectors_at(problem, symmetry.averaged(design.information))
        if found is not None:
            return Vectors(np.ascontiguousarray(found), np.arange(len(found)))
    dual = design.certificate.dual
    assert dual is not None
    # One for each target: what is proven of several is not proven of their sum.
    targets, B = oracle.joined(design.canonical, dual.targets, dual.vectors)
    return Vectors(B, targets)


def log_det_shift(problem: DesignProblem, log_det: float) -> float:
    """What the frame's coordinates, h = R f with log |det R|, add to the value over a list."""
    return 2.0 * log_det if problem.criterion.on_range else 0.0


def leaves(symmetry: Symmetry, problem: DesignProblem) -> bool:
    """Whether the criterion of any A is that of its images: of log det A always, else where LL' is its own mean."""
    if problem.criterion.on_range:
        return True
    if problem.criterion.by_target:
        return False
    return symmetry.leaves(problem.contrast_matrix @ problem.contrast_matrix.T)


def proven_bound(canonical: Canonical, vectors: Vectors, most: float, log_det: float) -> float:
    """The bound on the optimum where most >= max over the region of p_b; information held is added here."""
    problem, oracle = canonical.problem, oracle_of(canonical)
    nothing = np.inf if problem.criterion.maximised else 0.0
    targets, B = oracle.joined(canonical, vectors.targets, vectors.B)
    size = float(np.abs(B).max(initial=0.0))
    spans = canonical.rank == problem.arms.d
    if len(B) < len(vectors.B) or not (spans and 0 < most < np.inf and 0 < size < np.inf):
        return nothing
    form, off = prior_form(problem, np.ascontiguousarray(B.T))
    held = float(np.trace(form)) + np.sqrt(len(B)) * off
    lam = (most + max(held, 0.0) * (1.0 + len(B) * UNIT)) * (1.0 + 8 * UNIT)
    # A power of two rounds nothing.
    scale = 2.0 ** -round(float(np.log2(size)))
    bound = oracle.bound(canonical, targets, scale * B, lam * scale**2) - log_det_shift(problem, log_det)
    charged = 8 * UNIT * (abs(bound) + abs(log_det_shift(problem, log_det)))
    return bound + charged if problem.criterion.maximised else bound * (1.0 - min(moments_share(problem), 1.0))


def dimension(problem: DesignProblem) -> int:
    """What a log det is over."""
    criterion = problem.criterion
    interest = criterion.logarithmic and not criterion.on_range
    return int(problem.contrast_matrix.shape[1]) if interest else problem.arms.d


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
