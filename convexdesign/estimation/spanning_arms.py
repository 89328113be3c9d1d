"""As few rows as span all of them, with a large smallest singular value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.estimation.row_space import row_space
from convexdesign.typing import Floats, Indices

__all__ = ["spanning_arms"]


# Exchanges that gain less than these shares are left, so that the search ends soon.
LEAST_DECREASE = 1e-4
LEAST_RISE = 1e-2
# The exact smallest singular value is computed for the most promising exchanges only.
CANDIDATES = 32


def spanning_arms(rows: ArrayLike) -> Indices:
    """Indices U of rank(rows) rows with locally largest zeta_min(rows[U]), in increasing order; rows (n, M).

    Starts from pivoted QR and exchanges one row at a time: first the exchange that most decreases |rows[U]^-1|_F
    (= the sum of 1/zeta², known for all n x rank exchanges from one product), until none does; then, of the best by
    that measure, any that raises the smallest singular value itself. A local search: the best subset is a
    combinatorial problem. Rows that do not span are treated in coordinates of their span.

    Source: Weltz et al. (2023), appendix C. The singular value that the proof needs is that of the matrix; the
    printed objective has its inverse.

    >>> import convexdesign as cd
    >>> cd.estimation.spanning_arms([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.0, 0.5]]).tolist()
    [0, 2]
    """
    from scipy.linalg import qr

    coordinates = _orthonormal_coordinates(np.asarray(rows, dtype=float))
    rank = coordinates.shape[1]
    U = np.array(qr(coordinates.T, mode="r", pivoting=True)[1][:rank], dtype=np.intp)
    while True:
        change, current = _inverse_norm_changes(coordinates, U)
        entering, leaving = np.unravel_index(int(np.argmin(change)), change.shape)
        if change[entering, leaving] > -LEAST_DECREASE * current:
            break
        U[leaving] = entering
    smallest = _smallest_singular(coordinates[U])
    while (better := _raise_smallest(coordinates, U, smallest)) is not None:
        U, smallest = better
    return np.sort(U)


def _raise_smallest(rows: Floats, U: Indices, smallest: float) -> tuple[Indices, float] | None:
    """The first promising exchange that raises the smallest singular value, or None."""
    change, _ = _inverse_norm_changes(rows, U)
    order = np.argpartition(change, min(CANDIDATES, change.size) - 1, axis=None)[:CANDIDATES]
    for flat in order[np.argsort(change.ravel()[order], kind="stable")]:
        entering, leaving = np.unravel_index(int(flat), change.shape)
        if not np.isfinite(change[entering, leaving]):
            break
        trial = U.copy()
        trial[leaving] = entering
        value = _smallest_singular(rows[trial])
        if value > (1.0 + LEAST_RISE) * smallest:
            return trial, value
    return None


def _inverse_norm_changes(rows: Floats, U: Indices) -> tuple[Floats, float]:
    """The change of |rows[U]^-1|_F² when position k takes row j, for all (j, k), and its present value.

    With P = rows[U]^-1, G = P'P and c_j = row_j P, the exchange turns P into P - p_k (c_j - e_k)' / c_jk, so the
    change is -2 (G (c_j - e_k))_k / c_jk + |p_k|² |c_j - e_k|² / c_jk²; infinite where c_jk = 0.
    """
    P = np.linalg.solve(rows[U], np.eye(U.size))  # the columns of the inverse are what the formula needs
    C = rows @ P
    G = P.T @ P
    squared = np.diag(G)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        moved = np.sum(C**2, axis=1, keepdims=True) - 2.0 * C + 1.0
        change = -2.0 * (C @ G - squared) / C + squared * moved / C**2
    change[U] = np.inf
    change[~np.isfinite(change)] = np.inf
    return change, float(squared.sum())


def _orthonormal_coordinates(rows: Floats) -> Floats:
    """Coordinates (n, r) of rows in an orthonormal basis of their span; singular values of subsets are kept."""
    space = row_space(rows)
    if space.rank == rows.shape[1]:
        return rows
    basis, _ = np.linalg.qr(space.scale[:, None] * space.basis)
    return np.asarray(rows @ basis)


def _smallest_singular(square: Floats) -> float:
    return float(np.linalg.svd(square, compute_uv=False)[-1])
