"""The design step of bandit code, arrays in and arrays out: shares of pulls from arms and targets, and counts from shares.

weights, value = design(X, Y)
counts = whole(weights, N)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import flag, real_array, shown
from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.solving import solve
from convexdesign.typing import Counts, Floats

if TYPE_CHECKING:
    from convexdesign.design import Design

__all__ = ["design", "whole"]


def design(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    noise_variance: ArrayLike = 1.0,
    tol: float = 1e-6,
    *,
    pairs: bool = False,
    start: ArrayLike | Design | None = None,
) -> tuple[Floats, float]:
    """The weights w that make max_j y_j' (sum_i w_i x_i x_i' / s_i^2)^-1 y_j least, and this value.

    Parameters
    ----------
    X : array_like, shape (K, d)
        Arms, one a row.
    Y : array_like, shape (m, d), optional
        Targets, one a row; the arms if left out (G-optimal design).
    noise_variance : float or array_like, shape (K,)
        Variance (not standard deviation) of one pull, of all arms or of each.
    tol : float
        Relative gap proven: the value is at most 1 + tol times the least there is.
    pairs : bool
        Whether the targets are the differences of all pairs of rows of Y (XY-allocation); they are never written out.
    start : array_like, shape (k,) with k <= K, or Design, optional
        Weights of an earlier round, to start from; arms may have been added at the end. Never trusted.

    Returns
    -------
    weights : ndarray, shape (K,)
        Nonnegative, sum 1; a fresh array, the caller's own.
    value : float
        The largest variance at exactly these weights, N times that after N pulls.

    Raises
    ------
    InputError
        For what is no array of numbers of these shapes.
    UnidentifiableError
        Where a target is not in the span of the arms.

    See Also
    --------
    convexdesign.solve : The same with every option, and a certificate.

    Examples
    --------
    >>> from convexdesign.plugin import design, whole
    >>> X, s2 = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], [1.0, 4.0, 1.0]
    >>> weights, value = design(X, pairs=True, noise_variance=s2)
    >>> weights.round(3), round(value, 3)
    (array([0.444, 0.371, 0.185]), 9.0)
    >>> whole(weights, 100)
    array([44, 37, 19])
    """
    found = solve(_problem(X, Y, noise_variance, flag(pairs, "pairs")), tol=tol, warm_start=start)
    return np.array(found.weights), found.value


def _problem(X: ArrayLike, Y: ArrayLike | None, noise_variance: ArrayLike, pairs: bool) -> DesignProblem:
    if pairs:
        return DesignProblem.xy_allocation(X, Y, noise_variance=noise_variance)
    if Y is None:
        return DesignProblem.g_optimal(X, noise_variance=noise_variance)
    return DesignProblem(X, Y, noise_variance=noise_variance)


def whole(weights: ArrayLike, N: int) -> Counts:
    """Counts with sum N in proportion to the weights, each at least (1 - l/N) of its share, l arms having weight.

    Parameters
    ----------
    weights : array_like, shape (K,)
        Nonnegative numbers, read as proportions: their sum need not be 1.
    N : int
        The number of pulls. Below l the lightest arms get none, and what is left may not span: `Design.round` and
        `Verification.round` know the arms, and give such few pulls better.

    Returns
    -------
    ndarray of int64, shape (K,)
        Where N >= l, every variance is at most 1 / (1 - l/N) times that of the weights.

    Raises
    ------
    InputError
        For a negative weight, weights that are all zero, or an N that is no number of pulls.

    References
    ----------
    F. Pukelsheim and S. Rieder (1992), Efficient rounding of approximate designs, Biometrika 79.

    Examples
    --------
    >>> from convexdesign.plugin import whole
    >>> whole([0.5, 0.3, 0.2], 7)
    array([3, 2, 2])
    """
    from convexdesign.rounding import apportion, limits

    shares = real_array(weights, "weights")
    if shares.ndim != 1 or not shares.size:
        raise InputError(f"weights has shape {shares.shape}; give one number for each arm")
    wrong = np.flatnonzero(shares < 0)
    if wrong.size:
        raise InputError(
            f"weights[{wrong[0]}] is {shares[wrong[0]]:g}; where a solver left a little below zero give "
            "np.maximum(weights, 0)"
        )
    if not shares.any():
        raise InputError(f"weights are all zero ({shown(weights)}); give at least one arm a share")
    return apportion(shares, limits(N, shares.size))
