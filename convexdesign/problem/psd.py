"""Positive semidefinite matrices at the border: checked, and taken apart into rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.problem.read import read_rows

__all__ = ["psd_root", "read_psd"]

Floats = NDArray[np.float64]

# Scaled eigenvalues this far below zero are rounding; further down the matrix is not one of information or moments.
NEGATIVE_TOLERANCE = 1e-9


def read_psd(source: Any, what: str, d: int) -> Floats:
    """A symmetric positive semidefinite matrix (d, d), made exactly symmetric; InputError naming what is not."""
    matrix = np.asarray(read_rows(source, what, d).values, dtype=float)
    if matrix.shape != (d, d):
        raise InputError(f"{what} must be a square matrix ({d}, {d}), got shape {matrix.shape}")
    skew = np.abs(matrix - matrix.T)
    if skew.max() > 1e-10 * np.abs(matrix).max():
        i, j = np.unravel_index(int(np.argmax(skew)), matrix.shape)
        raise InputError(f"{what} is not symmetric: [{i}, {j}] = {matrix[i, j]:g} but [{j}, {i}] = {matrix[j, i]:g}")
    matrix = (matrix + matrix.T) / 2
    lowest = float(_scaled_eigen(matrix)[0][0])
    if lowest < -NEGATIVE_TOLERANCE:
        raise InputError(f"{what} is not positive semidefinite: scaled to unit diagonal, an eigenvalue is {lowest:.3g}")
    return matrix


def psd_root(matrix: Floats) -> Floats:
    """Rows k with matrix = sum k k', as many as its rank."""
    values, vectors, scale = _scaled_eigen(matrix)
    keep = values > 1e-13 * values[-1]
    return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T * scale)


def _scaled_eigen(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Eigenvalues and vectors after scaling to unit diagonal: units of the coordinates must not decide."""
    diagonal = np.diag(matrix)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    return values, vectors, scale
