"""Positive semidefinite matrices at the border: checked, and taken apart into rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from convexdesign.arms.labels import COORDINATES, order_of
from convexdesign.arms.read import read_rows
from convexdesign.arms.source import Arms
from convexdesign.errors import InputError
from convexdesign.typing import Floats

__all__ = ["psd_root", "read_psd", "read_square", "root_of_moments"]


# Scaled eigenvalues this far below zero are rounding; further down the matrix is not one of information or moments.
NEGATIVE_TOLERANCE = 1e-9


def read_psd(source: Any, what: str, d: int, names: Sequence[str] | None = None) -> Floats:
    """A symmetric positive semidefinite matrix (d, d), made exactly symmetric; InputError naming what is not.

    Rows and columns with labels come into the order of the names.
    """
    matrix = read_square(source, what, d, names)
    skew = np.abs(matrix - matrix.T)
    if skew.max() > 1e-10 * np.abs(matrix).max():
        i, j = np.unravel_index(int(np.argmax(skew)), matrix.shape)
        raise InputError(f"{what} is not symmetric: [{i}, {j}] = {matrix[i, j]:g} but [{j}, {i}] = {matrix[j, i]:g}")
    matrix = (matrix + matrix.T) / 2
    lowest = float(_scaled_eigen(matrix)[0][0])
    if lowest < -NEGATIVE_TOLERANCE:
        raise InputError(f"{what} is not positive semidefinite: scaled to unit diagonal, an eigenvalue is {lowest:.3g}")
    return matrix


def read_square(source: Any, what: str, d: int, names: Sequence[str] | None = None) -> Floats:
    """A matrix (d, d), with labels in the order of the names; where only rows or columns have labels they hold for both."""
    rows = read_rows(source, what)
    across = order_of(rows.columns, names, f"columns of {what}", COORDINATES)
    down = order_of(rows.names, names, f"rows of {what}", COORDINATES)
    if rows.values.shape != (d, d):
        raise InputError(f"{what} must be a square matrix ({d}, {d}), got shape {rows.values.shape}")
    across, down = down if rows.columns is None else across, across if rows.names is None else down
    matrix = np.asarray(rows.values, dtype=float)
    matrix = matrix if across is None else matrix[:, across]
    return matrix if down is None else matrix[down]


def psd_root(matrix: Floats) -> Floats:
    """Rows k with matrix = sum k k', as many as its rank."""
    values, vectors, scale = _scaled_eigen(matrix)
    keep = values > 1e-13 * values[-1]
    return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T * scale)


def _scaled_eigen(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Eigenvalues and vectors after scaling to unit diagonal: units of the coordinates must not decide."""
    diagonal = np.diag(matrix)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    if np.count_nonzero(matrix) == np.count_nonzero(diagonal):
        sizes = diagonal / scale**2
        order = np.argsort(sizes, kind="stable")
        return sizes[order], np.eye(sizes.size)[:, order], scale
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    return values, vectors, scale


def root_of_moments(points: Arms) -> Floats:
    """L (d, k) with LL' = the mean of vv' over the points v, by a triangular factor of every block."""
    size = np.sqrt(points.n)
    R = np.vstack([part for _, part in points.map(_triangle)]) / size
    return _triangle(R).T


def _triangle(rows: Floats) -> Floats:
    """A matrix R with R'R = the sum of xx' over the rows, no more rows than columns."""
    return np.asarray(np.linalg.qr(rows, mode="r")) if rows.shape[0] > rows.shape[1] else rows
