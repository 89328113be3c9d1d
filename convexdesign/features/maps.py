"""Feature maps: phi, which makes a quadratic variance linear, and the designs and monomials of response surfaces."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import check_finite, numeric, real_array, shown, whole
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


# More rows and columns than memory holds; a number beyond is a mistake.
MOST_ROWS = 10**8
MOST_TERMS = 10**5


def vech(S: ArrayLike) -> NDArray[np.float64]:
    """vech(S): the upper triangle of a symmetric S, row by row.

    Parameters
    ----------
    S : array_like, shape (d, d)
        A symmetric matrix.

    Returns
    -------
    array, shape (d(d+1)/2,)
        The triangle.

    Examples
    --------
    >>> vech([[1.0, 2.0], [2.0, 3.0]])
    array([1., 2., 3.])
    """
    S = real_array(S, "S")
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise InputError(f"vech needs a square matrix, got shape {S.shape}")
    return S[np.triu_indices(S.shape[0])]


def unvech(v: ArrayLike) -> NDArray[np.float64]:
    """The symmetric matrix S with vech(S) = v.

    Parameters
    ----------
    v : array_like, shape (d(d+1)/2,)
        Its upper triangle, row by row.

    Returns
    -------
    array, shape (d, d)
        The matrix.

    Examples
    --------
    >>> unvech([1.0, 2.0, 3.0])
    array([[1., 2.],
           [2., 3.]])
    """
    v = real_array(v, "v")
    d = int((np.sqrt(8 * v.size + 1) - 1) / 2) if v.ndim == 1 else -1
    if d < 1 or d * (d + 1) // 2 != v.size:
        raise InputError(f"unvech needs a vector of length d(d+1)/2, got shape {v.shape}")
    S = np.empty((d, d))
    S[np.triu_indices(d)] = v
    S.T[np.triu_indices(d)] = v
    return S


def duplication_matrix(d: int) -> NDArray[np.float64]:
    """D with D vech(S) = vec(S) for every symmetric S.

    Parameters
    ----------
    d : int
        The number of rows of S.

    Returns
    -------
    array, shape (d^2, d(d+1)/2)
        Zeros and ones.

    Examples
    --------
    >>> duplication_matrix(2)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    d = _count(d, "d", 1)
    rows, cols = np.triu_indices(d)
    D = np.zeros((d * d, rows.size))
    k = np.arange(rows.size)
    D[rows * d + cols, k] = 1.0
    D[cols * d + rows, k] = 1.0
    return D


def phi(arms: ArrayLike) -> NDArray[np.float64]:
    """phi(x) = D' vec(xx') for every row x, D the duplication matrix, so that phi(x)' vech(S) = x'Sx.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        The rows x.

    Returns
    -------
    array, shape (n, d(d+1)/2)
        The rows phi(x).

    References
    ----------
    Weltz et al. (2023), section 3.

    Examples
    --------
    >>> phi([[1.0, 2.0]])
    array([[1., 4., 4.]])
    """
    X = real_array(arms, "arms")
    if X.ndim != 2:
        raise InputError(f"phi needs a matrix of arms (one row each), got shape {X.shape}")
    rows, cols = np.triu_indices(X.shape[1])
    out = X[:, rows] * X[:, cols]
    out[:, rows != cols] *= 2.0
    return out


def full_factorial(levels: Sequence[ArrayLike | int]) -> NDArray[np.float64]:
    """All combinations of the levels of several factors, one row each, the last factor fastest.

    Parameters
    ----------
    levels : sequence
        For each factor its values, or a number k of equally spaced ones on [-1, 1].

    Returns
    -------
    array, shape (n, number of factors)
        The settings.

    Raises
    ------
    InputError
        For levels that are not finite, or too many combinations.

    Examples
    --------
    >>> full_factorial([2, [0.0, 5.0]])
    array([[-1.,  0.],
           [-1.,  5.],
           [ 1.,  0.],
           [ 1.,  5.]])
    """
    grids = []
    for k, level in enumerate(_listed(levels)):
        values = numeric(level, f"levels[{k}]")
        check_finite(values, f"levels[{k}]")
        grid = values.astype(float) if values.ndim else np.linspace(-1.0, 1.0, _count(level, f"levels[{k}]", 1))
        if grid.ndim != 1 or grid.size == 0:
            raise InputError(f"levels[{k}] is empty; give the values of the factor or how many there are")
        grids.append(grid)
    if not grids:
        raise InputError("levels is empty; give the levels of at least one factor")
    return np.stack([mesh.ravel() for mesh in np.meshgrid(*grids, indexing="ij")], axis=1)


def simplex_lattice(components: int, degree: int) -> NDArray[np.float64]:
    """All mixtures of the components with proportions in multiples of 1/degree; each row sums to one.

    Parameters
    ----------
    components : int
        How many are mixed.
    degree : int
        The number of steps from none to all.

    Returns
    -------
    array, shape (n, components)
        The mixtures.

    Examples
    --------
    >>> simplex_lattice(2, 2)
    array([[0. , 1. ],
           [0.5, 0.5],
           [1. , 0. ]])
    """
    components, degree = _count(components, "components", 1), _count(degree, "degree", 1)
    if _is_more(components + degree - 1, degree, MOST_ROWS // components):
        raise InputError(f"a lattice of {components} components and degree {degree} has more than {MOST_ROWS} entries")
    bars = itertools.combinations(range(components + degree - 1), components - 1)
    between = np.array([[-1, *places, components + degree - 1] for places in bars], dtype=float)
    return (np.diff(between, axis=1) - 1) / degree


def polynomial(factors: ArrayLike, degree: int) -> NDArray[np.float64]:
    """All monomials of the factors up to a total degree, the constant first.

    Parameters
    ----------
    factors : array_like, shape (n, k) or (n,)
        Settings, a row each, or the values of one factor.
    degree : int
        The largest total degree; 2 is the full quadratic model of response surfaces.

    Returns
    -------
    array, shape (n, number of monomials)
        The model matrix.

    Examples
    --------
    >>> polynomial([[2.0, 3.0]], degree=2)
    array([[1., 2., 3., 4., 6., 9.]])
    """
    X, degree = _factors(factors), _count(degree, "degree", 0)
    if _is_more(X.shape[1] + degree, degree, MOST_TERMS):
        raise InputError(f"{X.shape[1]} factors to degree {degree} have more than {MOST_TERMS} monomials")
    powers = [
        c for total in range(degree + 1) for c in itertools.combinations_with_replacement(range(X.shape[1]), total)
    ]
    return _products(X, powers)


def interactions(factors: ArrayLike, order: int = 2) -> NDArray[np.float64]:
    """Constant, main effects and products of up to `order` different factors.

    Parameters
    ----------
    factors : array_like, shape (n, k)
        Settings, a row each.
    order : int
        The most factors in a product.

    Returns
    -------
    array, shape (n, number of terms)
        The model matrix.

    Examples
    --------
    >>> interactions([[2.0, 3.0, 5.0]])
    array([[ 1.,  2.,  3.,  5.,  6., 10., 15.]])
    """
    X = _factors(factors)
    order = min(_count(order, "order", 0), X.shape[1])
    if any(_is_more(X.shape[1], size, MOST_TERMS) for size in range(order + 1)):
        raise InputError(f"{X.shape[1]} factors to order {order} have more than {MOST_TERMS} terms")
    terms = [c for size in range(order + 1) for c in itertools.combinations(range(X.shape[1]), size)]
    return _products(X, terms)


def _listed(levels: Any) -> list[Any]:
    try:
        if not isinstance(levels, (str, bytes)):
            return list(levels)
        raise TypeError
    except TypeError:  # arrays of no dimension, lazy tables
        raise InputError(f"levels is {shown(levels)}; give for each factor its values, or how many there are") from None


def _count(value: Any, what: str, least: int) -> int:
    """A whole number of at least `least`, and of a size that arrays can have."""
    number = whole(value)
    if number is None or not least <= number <= MOST_ROWS:
        raise InputError(f"{what} is {shown(value)}; give a whole number of at least {least}")
    return number


def _is_more(n: int, k: int, most: int) -> bool:
    """Whether C(n, k) > most, without numbers that fill memory: C(n, k) >= 2^min(k, n - k)."""
    least = min(k, n - k)
    return least > max(most, 1).bit_length() or comb(n, least) > most


def _products(X: NDArray[np.float64], terms: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
    """One column a term: the product of its factors; InputError where it has no float."""
    with np.errstate(over="ignore"):
        out = np.stack([X[:, list(term)].prod(axis=1) for term in terms], axis=1)
    check_finite(out, "the product of factors")
    return out


def _factors(factors: ArrayLike) -> NDArray[np.float64]:
    X = real_array(factors, "factors")
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or X.size == 0:
        raise InputError(f"factors must be a matrix with one row per setting, got shape {X.shape}")
    return X
