"""Linear least squares from sufficient statistics: estimate, covariances, confidence widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import and_more, choice, flag, instance, probability
from convexdesign.arms.read import read_positive, read_rows
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.row_space import RowSpace, row_space
from convexdesign.typing import Floats

__all__ = ["LinearFit", "least_squares"]

Covariance = Literal["model", "HC0", "HC1", "HC2", "HC3"]


@dataclass(frozen=True, eq=False)
class LinearFit:
    """theta-hat and what is known about its error; made by `least_squares`.

    Parameters
    ----------
    theta : array, shape (d,)
        The least-norm minimiser.
    rank : int
        Dimensions that the pulled arms determine.
    residual_variance : float
        Σ w (y - x'theta)² / (pulls - rank), NaN where there are no more pulls than dimensions; near 1 in a weighted fit
        with the right variances, near s² in an unweighted one.
    unidentified : tuple of str
        Names of the coordinates of theta that the pulled arms do not determine.
    space : RowSpace
        What they determine.
    coefficients : array, shape (rank,)
        The estimate in coordinates of that space.
    triangle : array, shape (rank, rank)
        The triangular factor of the fit.
    spread : array, shape (rank, rank), or None
        A factor of the covariance, where it is not the model's.
    """

    theta: Floats
    rank: int
    residual_variance: float
    unidentified: tuple[str, ...]
    space: RowSpace
    coefficients: Floats  # b-hat in the coordinates of `space`: v'theta = g'b
    # Cov(g'b-hat) = |spread R^-T g|² with R = triangle; spread is None where the noise cannot be estimated.
    triangle: Floats
    spread: Floats | None

    def predict(self, directions: Any) -> Floats:
        """v'theta-hat for every row v.

        Parameters
        ----------
        directions : array_like, shape (m, d)
            The rows v.

        Returns
        -------
        array, shape (m,)
            In the units of the outcome.

        Raises
        ------
        UnidentifiableError
            Naming a row that is not determined.
        """
        return np.asarray(self._identified(directions) @ self.coefficients)

    def variance(self, directions: Any) -> Floats:
        """v' Cov(theta-hat) v for every row v.

        Parameters
        ----------
        directions : array_like, shape (m, d)
            The rows v.

        Returns
        -------
        array, shape (m,)
            VARIANCES.

        Raises
        ------
        UnidentifiableError
            Naming a row that is not determined.
        """
        g = self._identified(directions)
        image = self._spread() @ _solve_triangular(self.triangle, g.T, transposed=True)
        return np.asarray(np.einsum("ij,ij->j", image, image))

    def confidence_width(self, directions: Any, delta: float) -> Floats:
        """Half-widths sqrt(2 log(2m/delta) v'Cov(theta-hat)v), valid together for all m rows v.

        With the noise variances known and the noise Gaussian (or strictly sub-Gaussian), every v'theta lies
        within its width of the estimate with probability at least 1 - delta. With estimated variances the
        level is approximate.

        Parameters
        ----------
        directions : array_like, shape (m, d)
            The rows v.
        delta : float
            The probability of an error.

        Returns
        -------
        array, shape (m,)
            In the units of the outcome.

        Raises
        ------
        InputError
            Unless 0 < delta < 1.
        """
        share, variance = probability(delta), self.variance(directions)
        return np.asarray(np.sqrt(2.0 * np.log(2.0 * variance.size / share) * variance))

    @property
    def covariance(self) -> Floats:
        """Cov(theta-hat), shape (d, d), of the least-norm estimate; zero along unidentified directions."""
        factor = self.space.lift(_solve_triangular(self.triangle, self._spread().T))
        return np.asarray(factor @ factor.T)

    def _spread(self) -> Floats:
        if self.spread is None:
            raise InputError(
                f"{self.rank} pulls determine {self.rank} dimensions and leave nothing to estimate the noise "
                "from; give noise_variance or pull more"
            )
        return self.spread

    def _identified(self, directions: Any) -> Floats:
        rows = read_rows(directions, "directions", width=self.theta.size)
        missing = np.flatnonzero(~self.space.contains(rows.values))
        if missing.size:
            label = rows.names[missing[0]] if rows.names else f"directions[{missing[0]}]"
            raise UnidentifiableError(
                f"{label} {and_more(missing.size - 1)}is not determined by the arms pulled, which span "
                f"{self.rank} of {self.theta.size} dimensions; pull arms whose span contains it"
            )
        return self.space.coordinates(np.asarray(rows.values, dtype=float))


def least_squares(
    arms: Any,
    observations: Observations,
    noise_variance: ArrayLike | None = None,
    *,
    weighted: bool = True,
    covariance: Covariance = "model",
) -> LinearFit:
    """argmin Σ_i w_i Σ_pulls (y - x_i'theta)², w_i = 1/s_i² where variances are given and 1 otherwise.

    Works in the span of the pulled arms; no information matrix is inverted.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        An array or DataFrame (its columns name the coordinates).
    observations : Observations
        Counts, means and sums of squares per arm.
    noise_variance : array_like, scalar or shape (n,), optional
        VARIANCES s_i², known or plugged in from a VarianceModel.
    weighted : bool
        False keeps w_i = 1 although variances are given; the covariance then still uses them.
    covariance : {"model", "HC0", "HC1", "HC2", "HC3"}
        "model" is (Σ c xx'/s²)^-1 where variances are given (its sandwich for weighted=False) and residual_variance (Σ
        c xx')^-1 otherwise; the others are White's heteroskedasticity-robust forms, computed exactly from counts, means
        and m2.

    Returns
    -------
    LinearFit
        The estimate, with its covariance.

    Raises
    ------
    InputError
        For shapes that do not match, no pulls, or an HC form undefined at the data.

    References
    ----------
    MacKinnon and White (1985), on the forms HC0 to HC3.

    Examples
    --------
    >>> import convexdesign as cd
    >>> obs = cd.estimation.Observations([2, 2], [1.0, 3.0], [0.0, 0.0])
    >>> fit = cd.estimation.least_squares([[1.0, 0.0], [0.0, 2.0]], obs, noise_variance=[1.0, 4.0])
    >>> fit.theta, fit.variance([[1.0, 1.0]])
    (array([1. , 1.5]), array([1.]))
    """
    rows = read_rows(arms, "arms")
    X = np.asarray(rows.values, dtype=float)
    instance(observations, Observations, "observations", "give Observations")
    weighted = flag(weighted, "weighted")
    if observations.n_arms != X.shape[0]:
        raise InputError(f"observations are of {observations.n_arms} arms, but arms has {X.shape[0]} rows")
    choice(covariance, ("model", "HC0", "HC1", "HC2", "HC3"), "covariance")
    variance = read_positive(noise_variance, "noise_variance", X.shape[0], "a VARIANCE s², above zero", rows.names)
    pulled = np.flatnonzero(observations.count != 0)
    if pulled.size == 0:
        raise InputError("there are no pulls to fit; tell observations with positive counts")
    count = observations.count[pulled].astype(float)
    mean, m2 = observations.mean[pulled], observations.m2[pulled]
    weight = 1.0 / variance[pulled] if variance is not None and weighted else np.ones(pulled.size)

    space = row_space(X[pulled])
    G = space.coordinates(X[pulled])
    root = np.sqrt(count * weight)
    Q, triangle = np.linalg.qr(root[:, None] * G)
    b = _solve_triangular(triangle, Q.T @ (root * mean))
    squared = m2 + count * (mean - G @ b) ** 2  # Σ over an arm's pulls of (y - x'theta)²
    spare = observations.total - space.rank
    residual_variance = float(weight @ squared) / spare if spare > 0 else np.nan

    if covariance == "model" and variance is not None and not weighted:
        spread: Floats | None = _sandwich(triangle, G, count * variance[pulled])
    elif covariance == "model":
        noise = 1.0 if variance is not None else np.sqrt(residual_variance)
        spread = noise * np.eye(space.rank) if np.isfinite(noise) else None
    else:
        leverage = weight * np.sum(_solve_triangular(triangle, G.T, transposed=True) ** 2, axis=0)
        correction = _robust_correction(covariance, leverage, observations.total, space.rank, pulled)
        spread = _sandwich(triangle, G, weight**2 * squared * correction)
    names = rows.columns or tuple(f"theta[{j}]" for j in range(X.shape[1]))
    unidentified = tuple(names[j] for j in np.flatnonzero(~space.contains(np.eye(X.shape[1]))))
    return LinearFit(space.lift(b), space.rank, residual_variance, unidentified, space, b, triangle, spread)


def _robust_correction(kind: Covariance, leverage: Floats, pulls: int, rank: int, pulled: NDArray[np.intp]) -> Floats:
    """What multiplies the squared residuals in HC0 to HC3; leverage: of one pull of each arm pulled."""
    if kind == "HC0":
        return np.ones_like(leverage)
    if kind == "HC1":
        if pulls <= rank:
            raise InputError(f"HC1 divides by pulls - rank = {pulls} - {rank}; pull more or use HC0")
        return np.full_like(leverage, pulls / (pulls - rank))
    remaining = 1.0 - leverage
    if np.any(remaining < 1e-12):
        raise InputError(
            f"{kind} divides by 1 - leverage, which is zero for arm {pulled[np.argmin(remaining)]}: one pull "
            "alone determines a direction; pull it again or use HC0"
        )
    return np.asarray(remaining ** (-1.0 if kind == "HC2" else -2.0))


def _sandwich(triangle: Floats, G: Floats, meat: Floats) -> Floats:
    """spread with spread'spread = R^-T (Σ meat_i g_i g_i') R^-1, so that Cov(b) = R^-1 spread'spread R^-T."""
    half: Floats = np.asarray(np.linalg.qr(np.sqrt(meat)[:, None] * G, mode="r"))
    return _solve_triangular(triangle, half.T, transposed=True).T


def _solve_triangular(R: Floats, rhs: Floats, transposed: bool = False) -> Floats:
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(R, rhs, trans="T" if transposed else "N", check_finite=False))
