"""The criterion at given weights, recomputed from the data: a QR of the rows sqrt(w_i) y_i, never a squared-up A."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.arms.groups import repeat_per_response
from convexdesign.problem import Canonical, Criterion
from convexdesign.typing import Floats

__all__ = ["Evaluation", "evaluate", "range_volume"]


# Singular values of sqrt(w_i) y_i below this share of the largest count as unmeasured.
SINGULAR_TOLERANCE = 1e-11
# A target counts as measured when no more than this share of it lies outside the range of A(w).
OUTSIDE_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The criterion at given weights.

    value: in the user's units, infinitely bad where something wanted is not measured; worst_target: the index of the
    target that decides (minimax), or of one that is not measured, else -1; factor F (d, k): C = FF' is an inverse of A(w)
    on its range; rank of A(w); null N (d, r - k): v is measured exactly where N'v = 0, and N'N = I in whitened coordinates.
    """

    value: float
    worst_target: int
    factor: Floats
    rank: int
    null: Floats


def evaluate(canonical: Canonical, weights: Floats) -> Evaluation:
    """The criterion at the weights (n,), in the user's order."""
    problem = canonical.problem
    columns, lost = _inverse_factor(canonical, weights)
    factor = canonical.basis @ columns
    rank = columns.shape[1]
    null = canonical.basis @ lost
    worst = _unmeasured(canonical, null) if null.shape[1] else -1
    if worst >= 0:
        return Evaluation(problem.criterion.worst_value, worst, factor, rank, null)
    if problem.criterion is Criterion.MINIMAX:
        index, values = problem.targets.worst(factor, 1)
        return Evaluation(float(values[0]), int(index[0]), factor, rank, null)
    return Evaluation(_smooth_value(canonical, columns, factor), -1, factor, rank, null)


def _smooth_value(canonical: Canonical, columns: Floats, factor: Floats) -> float:
    """The criterion where everything wanted is measured; K = columns has KK' = A_u^-1."""
    problem = canonical.problem
    match problem.criterion:
        case Criterion.D:
            return float(range_volume(canonical) - 2.0 * np.linalg.slogdet(columns)[1])
        case Criterion.AVERAGE:
            return float(np.sum((factor.T @ problem.aim) ** 2))
        case Criterion.DS:
            # Elimination, not eigenvalues: the columns of K may be in units that differ by any factor.
            image = factor.T @ problem.aim
            size = np.linalg.norm(image, axis=0)
            return -_squared_volume(image / size) - 2.0 * float(np.log(size).sum())
        case Criterion.E:
            return float(np.linalg.norm(factor.T @ problem.aim, 2) ** -2)
    raise AssertionError(problem.criterion)


def range_volume(canonical: Canonical) -> float:
    """log det RR': A = R'A_u R, so that in an orthonormal basis of the range det A = det(A_u) det(RR')."""
    own = _volume(canonical.inverse)
    return own if canonical.frame is None else own + _volume(canonical.frame.inverse)


def _volume(R: Floats) -> float:
    """log det RR' of R (r, d)."""
    if R.shape[0] == R.shape[1]:
        # Elimination keeps its digits whatever the scales of the columns are.
        return float(2.0 * np.linalg.slogdet(R)[1])
    return _squared_volume(R.T)


def _squared_volume(columns: Floats) -> float:
    """log det C'C of C (n, k), n >= k: through a QR, and not C'C itself, whose condition is squared.

    Longest rows first and with pivoting, for the same reason.
    """
    from scipy.linalg.lapack import dgeqp3

    rows = columns[np.argsort(-np.abs(columns).max(axis=1), kind="stable")]
    return float(2.0 * np.sum(np.log(np.abs(dgeqp3(rows)[0].diagonal()))))


def _unmeasured(canonical: Canonical, null: Floats) -> int:
    """The index of a target that a singular A(w) does not measure, or -1; for log det, any lost direction counts."""
    problem = canonical.problem
    found = problem.targets.outside(null, canonical.basis, OUTSIDE_TOLERANCE)
    if found is None:
        return 0 if problem.criterion is Criterion.D else -1
    return found


def _inverse_factor(canonical: Canonical, weights: Floats) -> tuple[Floats, Floats]:
    """Columns K (r, k) with KK' = A_u^+ up to the range, and orthonormal N (r, r - k) with N't = 0 exactly on the range."""
    from scipy.linalg.lapack import dgeqp3, dtrtri  # here, not above: importing the package must not wait for it

    root = _information_root(canonical, weights)
    r = canonical.rank
    # Longest rows first and column pivoting: row-wise stable, whatever the spread of the weights.
    root = root[np.argsort(-np.einsum("ij,ij->i", root, root), kind="stable")]
    triangle, pivot, *_ = dgeqp3(root)
    pivot = pivot - 1  # LAPACK counts from one
    diagonal = np.abs(triangle.diagonal())
    rank = int(np.count_nonzero(diagonal > SINGULAR_TOLERANCE * diagonal[0])) if diagonal[0] > 0 else 0
    head = np.triu(dtrtri(triangle[:rank, :rank])[0])
    columns = np.zeros((r, rank))
    columns[pivot[:rank]] = head
    if rank == r:
        return columns, np.zeros((r, 0))
    lost = np.zeros((r, r - rank))
    lost[pivot[rank:]] = np.eye(r - rank)
    lost[pivot[:rank]] = -head @ triangle[:rank, rank:]
    return columns, np.asarray(np.linalg.qr(lost)[0])


def _information_root(canonical: Canonical, weights: Floats) -> Floats:
    """A matrix M with M'M = A_u(w), at least r rows: the weighted whitened arms, reduced block by block."""
    r = canonical.rank
    support = np.flatnonzero(weights)
    parts: list[Floats] = [np.zeros((r, r)), canonical.prior_root]
    step = max(8 * r, 4096)
    for start in range(0, support.size, step):
        chosen = support[start : start + step]
        arms = canonical.whiten_arms(chosen)
        parts.append(np.sqrt(repeat_per_response(weights[chosen], arms))[:, None] * arms)
        if len(parts) > 3:
            parts = [np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))]
    return np.vstack(parts)
