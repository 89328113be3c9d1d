"""Feature maps: phi, which makes a quadratic variance linear, and the designs and monomials of response surfaces."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError

__all__ = [
    "duplication_matrix",
    "full_factorial",
    "interactions",
    "phi",
    "polynomial",
    "simplex_lattice",
    "unvech",
    "vech",
]


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


def full_factorial(levels: Sequence[ArrayLike | int]) -> NDArray[np.float64]:
    """All combinations of the levels of several factors, one row each, the last factor fastest.

    levels: for each factor its values, or a number k of equally spaced ones on [-1, 1].

    >>> full_factorial([2, [0.0, 5.0]])
    array([[-1.,  0.],
           [-1.,  5.],
           [ 1.,  0.],
           [ 1.,  5.]])
    """
    grids = []
    for k, level in enumerate(levels):
        grid = np.linspace(-1.0, 1.0, int(level)) if np.ndim(level) == 0 else np.asarray(level, dtype=float)  # type: ignore[arg-type]
        if grid.ndim != 1 or grid.size == 0:
            raise InputError(f"levels[{k}] is empty; give the values of the factor or how many there are")
        grids.append(grid)
    if not grids:
        raise InputError("levels is empty; give the levels of at least one factor")
    return np.stack([mesh.ravel() for mesh in np.meshgrid(*grids, indexing="ij")], axis=1)


def simplex_lattice(components: int, degree: int) -> NDArray[np.float64]:
    """All mixtures of the components with proportions in multiples of 1/degree; each row sums to one.

    >>> simplex_lattice(2, 2)
    array([[0. , 1. ],
           [0.5, 0.5],
           [1. , 0. ]])
    """
    if components < 1 or degree < 1:
        raise InputError(f"a lattice needs components and degree of at least 1, got {components} and {degree}")
    rows = [row for row in itertools.product(range(degree + 1), repeat=components) if sum(row) == degree]
    return np.array(rows, dtype=float) / degree


def polynomial(factors: ArrayLike, degree: int) -> NDArray[np.float64]:
    """All monomials of the factors up to a total degree, the constant first; (n, number of monomials).

    factors (n, k), or (n,) for one factor. Degree 2 is the full quadratic model of response surfaces.

    >>> polynomial([[2.0, 3.0]], degree=2)
    array([[1., 2., 3., 4., 6., 9.]])
    """
    X = _factors(factors)
    powers = [
        c for total in range(degree + 1) for c in itertools.combinations_with_replacement(range(X.shape[1]), total)
    ]
    return np.stack([X[:, list(c)].prod(axis=1) for c in powers], axis=1)


def interactions(factors: ArrayLike, order: int = 2) -> NDArray[np.float64]:
    """Constant, main effects and products of up to `order` different factors; (n, number of terms).

    >>> interactions([[2.0, 3.0, 5.0]])
    array([[ 1.,  2.,  3.,  5.,  6., 10., 15.]])
    """
    X = _factors(factors)
    terms = [c for size in range(order + 1) for c in itertools.combinations(range(X.shape[1]), size)]
    return np.stack([X[:, list(c)].prod(axis=1) for c in terms], axis=1)


def _factors(factors: ArrayLike) -> NDArray[np.float64]:
    X = np.asarray(factors, dtype=float)
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or X.size == 0:
        raise InputError(f"factors must be a matrix with one row per setting, got shape {X.shape}")
    return X
