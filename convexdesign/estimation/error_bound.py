"""How far variance estimates can be off: the sharp bound for two split stages, and the paper's bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import and_more, choice, positive, probability, real, shown, whole_at_least
from convexdesign.arms.read import read_rows
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation.observations import whole_counts
from convexdesign.estimation.row_space import row_space
from convexdesign.features import phi
from convexdesign.typing import Floats

__all__ = [
    "Noise",
    "checked_noise",
    "largest",
    "paper_error_bound",
    "separate_arm_error_bound",
    "sharp_error_bound",
    "sharp_error_bound_in_coordinates",
    "variance_range",
]

Noise = Literal["gaussian", "sub-gaussian"]

# Rows of arms whose products with all pulled arms are held at once.
BLOCK = 512


def variance_range(
    variance_bounds: Sequence[float] | None, required_by: str | None = None
) -> tuple[float, float] | None:
    """Bounds on VARIANCES, checked: 0 <= low <= high, 0 < high < inf.

    Parameters
    ----------
    variance_bounds : pair of float or None
        (low, high).
    required_by : str, optional
        What cannot do without them.

    Returns
    -------
    tuple of float or None
        (low, high); None where none are given.

    Raises
    ------
    InputError
        For bounds that make no sense, or that are missing.

    Examples
    --------
    >>> variance_range([1, 2])
    (1.0, 2.0)
    """
    if variance_bounds is None:
        if required_by:
            raise InputError(f"{required_by} needs variance_bounds=(low, high), bounds on the noise VARIANCES")
        return None
    try:
        low, high = map(real, variance_bounds)
    except (TypeError, ValueError):
        raise InputError(f"variance_bounds must be a pair (low, high), got {shown(variance_bounds)}") from None
    if not (0 <= low <= high < np.inf and high > 0):
        raise InputError(f"variance_bounds are ({low:g}, {high:g}); they need 0 <= low <= high, both finite, high > 0")
    return low, high


def largest(variance_bounds: Sequence[float] | None) -> float:
    """The upper one of the bounds, which error bounds need."""
    bounds = variance_range(variance_bounds, "the error bound")
    assert bounds is not None
    return bounds[1]


def checked_noise(noise: str) -> None:
    """InputError for a law of the noise that nothing here is proven for."""
    choice(noise, ("gaussian", "sub-gaussian"), "noise")


def sharp_error_bound(
    arms: Any,
    stage_1: ArrayLike,
    stage_2: ArrayLike,
    variance_bounds: Sequence[float],
    delta: float,
    *,
    noise: Noise = "gaussian",
) -> Floats:
    """error_x with |x'Sigma-hat x - s_x²| <= error_x for all arms x at once, with probability 1 - delta.

    For HEAD, or any two-stage estimate with separate samples: theta by least squares from stage_1, then Sigma by
    least squares of squared residuals on phi from stage_2. Clipping to the bounds cannot increase the error.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What is measured.
    stage_1, stage_2 : array_like of int, shape (n,)
        Whole-number pulls per arm.
    variance_bounds : pair of float
        (low, high) on VARIANCES; only high is used.
    delta : float
        The probability that it fails.
    noise : {"gaussian", "sub-gaussian"}
        The law of the noise; the latter for strictly sub-Gaussian ones.

    Returns
    -------
    array, shape (n,)
        A difference of VARIANCES for each arm.

    Raises
    ------
    InputError
        For counts or bounds that make no sense.
    UnidentifiableError
        Where the pulls of a stage leave an arm undetermined.

    Notes
    -----
    With u = log(6n/delta), s² = high, g1(x) = x'(Σ_1 xx')^-1 x, g2(x) = phi_x'(Φ'Φ)^-1 phi_x and
    z(x) = max over pulled arms y of |phi_x'(Φ'Φ)^-1 phi_y|:

        a_x = s sqrt(2 g1(x) u),  a = max_x a_x,
        error_x = a_x² + 2 s² (sqrt(g2(x) u) + z(x) u) + 2 s a sqrt(2 g2(x) u).

    The three terms bound (x'(theta-hat - theta))² (Gaussian tail), the weighted sum of centred squares (Laurent and
    Massart 2000, Lemma 1), and the cross term given stage 1 (Gaussian tail); each fails with probability at most
    delta/3 over all arms and both signs. noise="sub-gaussian" multiplies the sqrt(g2 u) term by sqrt(3/2): their
    centred squares have the chi-square's upper tail, and, since E e⁴ <= 3 s⁴, log E exp(-t (e² - s²)) <= (3/2) t² s⁴
    below, in place of t² s⁴.

    References
    ----------
    A refinement of Weltz et al. (2023), section 3 and appendix D.2.

    Examples
    --------
    >>> import convexdesign as cd
    >>> cd.estimation.sharp_error_bound([[1.0], [0.5]], [500, 0], [500, 0], (0.5, 1.0), delta=0.05).round(3)
    array([0.297, 0.074])
    """
    X = np.asarray(read_rows(arms, "arms").values, dtype=float)
    first = whole_counts(stage_1, "stage_1", X.shape[0])
    second = whole_counts(stage_2, "stage_2", X.shape[0])
    coordinates = []
    for stage, counts, rows in ((1, first, X), (2, second, phi(X))):
        space = row_space(rows[counts > 0])
        missing = np.flatnonzero(~space.contains(rows))
        if missing.size:
            raise UnidentifiableError(
                f"arm {missing[0]} {and_more(missing.size - 1)}is not determined by the pulls of stage {stage}; "
                "pull arms that span all arms"
            )
        coordinates.append(space.coordinates(rows))
    high = largest(variance_bounds)
    return sharp_error_bound_in_coordinates(coordinates[0], coordinates[1], first, second, high, delta, noise=noise)


def sharp_error_bound_in_coordinates(
    first_rows: Floats,
    second_rows: Floats,
    stage_1: NDArray[np.int64],
    stage_2: NDArray[np.int64],
    high: float,
    delta: float,
    *,
    noise: Noise = "gaussian",
) -> Floats:
    """`sharp_error_bound` for arms (n, r1) and features (n, r2) in coordinates of their spans; for repeated use.

    The bound does not depend on the coordinates. The pulls of each stage must span. high is a VARIANCE.
    """
    delta = probability(delta)
    checked_noise(noise)
    u = np.log(6.0 * first_rows.shape[0] / delta)
    whitened = _whiten(first_rows, stage_1)
    a = np.sqrt(2.0 * high * u * np.einsum("ij,ij->i", whitened, whitened))
    whitened = _whiten(second_rows, stage_2)
    g2 = np.einsum("ij,ij->i", whitened, whitened)
    z = _largest_products(whitened, whitened[stage_2 > 0])
    square_term = np.sqrt(g2 * u) * (1.0 if noise == "gaussian" else np.sqrt(1.5))
    return np.asarray(a**2 + 2.0 * high * (square_term + z * u) + 2.0 * np.sqrt(high) * a.max() * np.sqrt(2.0 * g2 * u))


def _whiten(rows: Floats, counts: NDArray[np.int64]) -> Floats:
    """Rows h_i with h_i'h_k = g_i'(Σ c g g')^-1 g_k, shape (n, r)."""
    from scipy.linalg import solve_triangular

    pulled = counts > 0
    R = np.linalg.qr(np.sqrt(counts[pulled])[:, None] * rows[pulled], mode="r")
    return np.asarray(solve_triangular(R, rows.T, trans="T", check_finite=False).T)


def _largest_products(rows: Floats, others: Floats) -> Floats:
    """max over the others y of |x'y| for every row x, block by block."""
    out = np.empty(rows.shape[0])
    for start in range(0, rows.shape[0], BLOCK):
        out[start : start + BLOCK] = np.abs(rows[start : start + BLOCK] @ others.T).max(axis=1)
    return out


def paper_error_bound(n_arms: int, d: int, budget: int, variance_bounds: Sequence[float], delta: float) -> float:
    """high sqrt(2000 log(n/delta) d² / budget): the paper's bound on HEAD's largest error over n arms in R^d.

    For clipped estimates, with probability 1 - delta, from 16 log(12 n/delta) d² pulls on (the paper's condition,
    without its factor s_max², which has the wrong unit; with fewer pulls the value is far above `high` and says
    nothing).

    Parameters
    ----------
    n_arms : int
        How many arms there are.
    d : int
        The dimension.
    budget : int
        Pulls in all.
    variance_bounds : pair of float
        (low, high) on the VARIANCES.
    delta : float
        The probability that it fails.

    Returns
    -------
    float
        A difference of VARIANCES.

    References
    ----------
    Weltz et al. (2023), end of appendix D.2, with epsilon = 0.

    Examples
    --------
    >>> paper_error_bound(2, 1, 8000, (0.5, 1.0), 2 / 2.718281828459045**4)
    1.0
    """
    high, delta, pulls = largest(variance_bounds), probability(delta), positive(budget, "budget")
    n, dimension = real(whole_at_least(1, n_arms, "n_arms")), real(whole_at_least(1, d, "d"))
    return float(high * np.sqrt(2000.0 * (np.log(n) - np.log(delta)) / pulls) * dimension)


def separate_arm_error_bound(
    n_chosen: int, smallest_singular: float, longest: float, pulls: int, variance_bounds: Sequence[float], delta: float
) -> float:
    """The paper's bound on the largest error of the separate-arm estimator, with probability 1 - delta.

    With M = n_chosen, zeta = smallest_singular, L = log(8M/delta), h = high:
    10 max(1, longest²)/zeta max(4 sqrt(2) h sqrt(M) L / pulls, h sqrt(32 M L / pulls)).

    Parameters
    ----------
    n_chosen : int
        How many arms are pulled.
    smallest_singular : float
        The smallest singular value of their phi.
    longest : float
        The longest arm, max |x|; the paper takes all arms no longer than 1, and this makes up for others.
    pulls : int
        At least so many of each.
    variance_bounds : pair of float
        (low, high) on the VARIANCES.
    delta : float
        The probability that it fails.

    Returns
    -------
    float
        A difference of VARIANCES.

    References
    ----------
    Weltz et al. (2023), appendix D.1, before M is replaced by d².

    Examples
    --------
    >>> near, far = (separate_arm_error_bound(3, 1.0, 1.0, pulls, (0.5, 1.0), 0.05) for pulls in (10_000, 40_000))
    >>> round(near / far, 6)
    2.0
    """
    M, high, delta = real(whole_at_least(1, n_chosen, "n_chosen")), largest(variance_bounds), probability(delta)
    each, zeta = positive(pulls, "pulls"), positive(smallest_singular, "smallest_singular")
    length = max(1.0, positive(longest, "longest"))
    L = np.log(8.0 * M / delta)
    inner = max(4.0 * np.sqrt(2.0 * M) * high * L / each, high * np.sqrt(32.0 * M * L / each))
    return float(10.0 * np.square(length) / zeta * inner)
