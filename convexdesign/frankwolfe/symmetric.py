"""The information matrices N_i = u_i u_i' + A0 as vectors: their sums, inner products and coordinates.

On the simplex A0 + sum_i w_i u_i u_i' = sum_i w_i N_i, so information already held (A0) turns every formula for
u_i u_i' into the same formula for N_i. With the inner product <M, N> = tr(MN) the symmetric r x r matrices are
R^p, p = r(r+1)/2; a design problem with more than p arms has a Gram matrix of rank p only, and is better
solved in these p coordinates.

Arms are columns here, Y (r, n): that is how triangular solves return them. An arm with k responses is k columns in a row,
Y (r, n k), and N_i the sum of their u u' (plus A0): all functions then sum over them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from convexdesign.arms.groups import repeat_per_response, rows_of_arms, sum_per_arm
from convexdesign.typing import Floats

__all__ = ["columns", "combine", "coordinates", "gram", "inner", "shifted_gram", "sum_per_pair", "symmetric_dimension"]


def sum_per_pair(matrix: Floats, responses: int) -> Floats:
    """The sums over each pair of arms' columns, (n, m) from (n k, m k)."""
    return matrix if responses == 1 else sum_per_arm(sum_per_arm(matrix, responses).T, responses).T


def combine(Y: Floats, x: Floats, prior: Floats | None = None) -> Floats:
    """sum_i x_i N_i for x (n,) >= 0, shape (r, r)."""
    Z = Y * repeat_per_response(np.sqrt(x), Y.T)
    total: Floats = Z @ Z.T  # a product with its own transpose takes half the work
    return total if prior is None else total + x.sum() * prior


def inner(Y: Floats, M: Floats, prior: Floats | None = None, responses: int = 1) -> Floats:
    """<N_i, M> for every arm and a symmetric M, shape (n,)."""
    values = sum_per_arm(np.einsum("ij,ij->j", Y, M @ Y), responses)
    return values if prior is None else values + np.vdot(prior, M)


def gram(Y: Floats, prior: Floats | None = None, responses: int = 1) -> Floats:
    """<N_i, N_k>, shape (n, n): the squared inner products of the arms when there is no prior."""
    products: Floats = Y.T @ Y
    products *= products
    products = sum_per_pair(products, responses)
    if prior is not None:
        cross = inner(Y, prior, responses=responses)
        products += cross[:, None] + cross + np.vdot(prior, prior)
    return products


def shifted_gram(
    Y: Floats, prior: Floats | None, diagonal: Floats, most_dense: int, rounds: int = 1
) -> Callable[[Floats], Floats] | None:
    """The map x -> (G + diag(diagonal))^-1 x, G = gram(Y); None where rounding makes it indefinite.

    Beyond most_dense arms it works in the p coordinates, G = S'S: (S'S + D)^-1 x = D^-1 (x - S'(I + S D^-1 S')^-1 S D^-1 x).
    There further rounds refine, as is needed where the diagonal spans many orders of magnitude.
    """
    n = diagonal.size
    responses = Y.shape[1] // n
    dense = n <= most_dense
    S = Y if dense else coordinates(Y, prior, responses)
    matrix = gram(Y, prior, responses) if dense else (S / diagonal) @ S.T
    matrix.ravel()[:: len(matrix) + 1] += diagonal if dense else 1.0
    factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if info:
        return None
    if dense:
        return lambda x: np.asarray(dpotrs(factor, x, lower=1)[0])

    def solve(x: Floats) -> Floats:
        solution, rest = np.zeros(n), x
        for k in range(rounds):
            if k:
                rest = x - diagonal * solution - S.T @ (S @ solution)
            inside, _ = dpotrs(factor, S @ (rest / diagonal), lower=1)
            solution = solution + (rest - S.T @ inside) / diagonal
        return solution

    return solve


def columns(Y: Floats, index: NDArray[np.intp], responses: int = 1) -> Floats:
    """The arms at the indices, (r, k); gathered as rows of Y', which lie together in memory."""
    return Y.T.take(rows_of_arms(index, responses), axis=0).T


def coordinates(Y: Floats, prior: Floats | None = None, responses: int = 1) -> Floats:
    """Coordinates of N_i in an orthonormal basis of the symmetric matrices, shape (p, n).

    They are M_aa, then sqrt(2) M_ab for a < b, so that inner products of columns are traces of products.
    """
    rows, cols, factor = _index(Y.shape[0])
    out = sum_per_arm(Y[rows] * Y[cols], responses)
    out *= factor[:, None]
    if prior is not None:
        out += (prior[rows, cols] * factor)[:, None]
    return out


def symmetric_dimension(r: int) -> int:
    """r(r+1)/2, the dimension of the space of symmetric r x r matrices."""
    return r * (r + 1) // 2


@lru_cache(maxsize=64)
def _index(r: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Rows, columns and factors of the coordinates: the diagonal first, then the upper triangle."""
    upper_rows, upper_cols = np.triu_indices(r, 1)
    diagonal = np.arange(r)
    rows = np.concatenate([diagonal, upper_rows])
    cols = np.concatenate([diagonal, upper_cols])
    factor = np.concatenate([np.ones(r), np.full(upper_rows.size, np.sqrt(2.0))])
    return rows, cols, factor
