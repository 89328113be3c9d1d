"""The criterion at given weights, recomputed from the data: a QR of the rows sqrt(w_i) y_i, never a squared-up A."""

from __future__ import annotations

import numpy as np

from convexdesign.arms.groups import repeat_per_response
from convexdesign.arms.monomial import column_sizes, times
from convexdesign.criteria import Evaluation, oracle_of
from convexdesign.criteria.evaluation import OUTSIDE_TOLERANCE
from convexdesign.problem import Canonical
from convexdesign.typing import Floats

__all__ = ["OUTSIDE_TOLERANCE", "Evaluation", "evaluate"]


# Singular values of sqrt(w_i) y_i below this share of the largest count as unmeasured.
SINGULAR_TOLERANCE = 1e-11


def evaluate(canonical: Canonical, weights: Floats) -> Evaluation:
    """The criterion at the weights (n,), in the user's order."""
    problem = canonical.problem
    columns, lost = _inverse_factor(canonical, weights)
    factor = times(canonical.basis, columns)
    rank = columns.shape[1]
    null = canonical.basis @ lost
    worst = _unmeasured(canonical, null) if null.shape[1] else -1
    if worst >= 0:
        return Evaluation(problem.criterion.worst_value, worst, factor, rank, null)
    value, target = oracle_of(problem).value(canonical, columns, factor)
    return Evaluation(value, target, factor, rank, null)


def _unmeasured(canonical: Canonical, null: Floats) -> int:
    """The index of a target that a singular A(w) does not measure, or -1; for log det, any lost direction counts."""
    problem = canonical.problem
    found = problem.targets.outside(null, canonical.basis, OUTSIDE_TOLERANCE)
    if found is None:
        return 0 if problem.criterion.on_range else -1
    return found


def _inverse_factor(canonical: Canonical, weights: Floats) -> tuple[Floats, Floats]:
    """Columns K (r, k) with KK' = A_u^+ up to the range, and orthonormal N (r, r - k) with N't = 0 exactly on the range."""
    from scipy.linalg.lapack import dgeqp3, dtrtri  # here, not above: importing the package must not wait for it

    root = _information_root(canonical, weights)
    r = canonical.rank
    apart = column_sizes(root)
    if apart is not None and apart.min() > SINGULAR_TOLERANCE * apart.max():
        return np.diag(1.0 / apart), np.zeros((r, 0))
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
    support = np.flatnonzero(weights != 0)  # of truth values: ten times as fast as of the numbers themselves
    parts: list[Floats] = [np.zeros((r, r)), canonical.prior_rows]
    step = max(8 * r, 4096)
    for start in range(0, support.size, step):
        chosen = support[start : start + step]
        arms = canonical.whiten_arms(chosen)
        parts.append(np.sqrt(repeat_per_response(weights[chosen], arms))[:, None] * arms)
        if len(parts) > 3:
            parts = [np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))]
    return np.vstack(parts)
