"""Feature maps: half-vectorisation and phi, which makes a quadratic variance linear."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError

__all__ = ["duplication_matrix", "phi", "unvech", "vech"]


def vech(S: ArrayLike) -> NDArray[np.float64]:
    """vech(S): the upper triangle of a symmetric S, row by row, shape (d(d+1)/2,).

    >>> vech([[1.0, 2.0], [2.0, 3.0]])
    array([1., 2., 3.])
    """
    S = np.asarray(S, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise InputError(f"vech needs a square matrix, got shape {S.shape}")
    return S[np.triu_indices(S.shape[0])]


def unvech(v: ArrayLike) -> NDArray[np.float64]:
    """The symmetric matrix S with vech(S) = v.

    >>> unvech([1.0, 2.0, 3.0])
    array([[1., 2.],
           [2., 3.]])
    """
    v = np.asarray(v, dtype=float)
    d = int((np.sqrt(8 * v.size + 1) - 1) / 2) if v.ndim == 1 else -1
    if d * (d + 1) // 2 != v.size:
        raise InputError(f"unvech needs a vector of length d(d+1)/2, got shape {v.shape}")
    S = np.empty((d, d))
    S[np.triu_indices(d)] = v
    S.T[np.triu_indices(d)] = v
    return S


def duplication_matrix(d: int) -> NDArray[np.float64]:
    """D with D vech(S) = vec(S) for every symmetric S, shape (d², d(d+1)/2)."""
    rows, cols = np.triu_indices(d)
    D = np.zeros((d * d, rows.size))
    k = np.arange(rows.size)
    D[rows * d + cols, k] = 1.0
    D[cols * d + rows, k] = 1.0
    return D


def phi(arms: ArrayLike) -> NDArray[np.float64]:
    """phi(x) = D' vec(xx') for every row x, so that phi(x)' vech(S) = x'Sx; shape (n, d(d+1)/2).

    Source: Weltz et al. (2023), section 3. D is the duplication matrix.

    >>> phi([[1.0, 2.0]])
    array([[1., 4., 4.]])
    """
    X = np.asarray(arms, dtype=float)
    if X.ndim != 2:
        raise InputError(f"phi needs a matrix of arms (one row each), got shape {X.shape}")
    rows, cols = np.triu_indices(X.shape[1])
    out = X[:, rows] * X[:, cols]
    out[:, rows != cols] *= 2.0
    return out
