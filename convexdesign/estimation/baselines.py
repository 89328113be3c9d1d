"""Baselines for HEAD: pulls uniformly at random, and the sample variances of as few arms as determine Sigma."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import real_array, shown
from convexdesign.errors import InputError
from convexdesign.estimation.error_bound import largest, separate_arm_error_bound
from convexdesign.estimation.linear_fit import least_squares
from convexdesign.estimation.observations import Observations, arm_indices
from convexdesign.estimation.row_space import row_space
from convexdesign.estimation.variance_model import (
    VarianceEstimator,
    fit_variance_model,
    mean_squared_residuals,
    whole_budget,
)
from convexdesign.features import phi
from convexdesign.typing import Counts, Floats, Indices

__all__ = ["SeparateArmEstimator", "UniformEstimator", "spanning_arms"]

# Exchanges that gain less than these shares are left, so that the search ends soon.
LEAST_DECREASE = 1e-4
LEAST_RISE = 1e-2
# The exact smallest singular value is computed for the most promising exchanges only.
CANDIDATES = 32


@dataclass(eq=False, repr=False)
class UniformEstimator(VarianceEstimator):
    """Pulls of arms drawn uniformly at random; theta and Sigma by least squares from the same pulls.

    The model has no `error_bound`: residuals and squared residuals come from one sample. The last `tell` raises
    UnidentifiableError, changing nothing, where the arms drawn leave a variance undetermined.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    budget : int
        Pulls in all, never exceeded.
    variance_bounds : pair of float, optional
        (low, high) on the noise VARIANCES: they clip the estimates.
    rng : numpy.random.Generator or int, optional
        Draws the arms.

    References
    ----------
    Weltz et al. (2023), appendix C.

    Examples
    --------
    >>> import convexdesign as cd
    >>> int(cd.estimation.UniformEstimator([[1.0], [2.0]], budget=10, rng=0).ask().counts.sum())
    10
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.budget = whole_budget(self.budget, 1)

    def _next_counts(self) -> Counts:
        return self._generator.multinomial(self.budget, np.full(self.n_arms, 1.0 / self.n_arms)).astype(np.int64)

    def _absorb(self, observations: Observations) -> None:
        theta = least_squares(self._rows, observations).theta
        self._model = fit_variance_model(
            "uniform",
            self._rows,
            observations.count,
            mean_squared_residuals(self.arms, observations, theta),
            theta=theta,
            variance_bounds=self._bounds,
            no_bound_because="it does not split its samples, so theta-hat and the residuals are dependent; use Head",
        )


@dataclass(eq=False, repr=False)
class SeparateArmEstimator(VarianceEstimator):
    """rank(phi) arms, pulled equally often; each one's sample variance m2/count; the Sigma that reproduces them.

    The arms are those of `spanning_arms`: the smallest singular value of their phi is made large. Every arm chosen
    gets floor(budget / rank) pulls, the first few one more. The sample variances have the divisor count, as in the
    paper, so an arm pulled once counts as noiseless.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    budget : int
        Pulls in all, never exceeded.
    variance_bounds : pair of float, optional
        (low, high) on the noise VARIANCES: they clip the estimates, and error bounds need them.
    rng : numpy.random.Generator or int, optional
        Accepted by all estimators; nothing is random here.
    chosen : array of int, optional
        The arms to use, to skip the search.

    References
    ----------
    Weltz et al. (2023), appendices C and D.1.

    Examples
    --------
    >>> import convexdesign as cd
    >>> cd.estimation.SeparateArmEstimator([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], budget=10).ask().counts
    array([4, 3, 3])
    """

    _: KW_ONLY
    chosen: Indices | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.chosen
        self._chosen = spanning_arms(phi(self.arms)) if given is None else arm_indices(given, self.n_arms, "chosen")
        self.chosen = self._chosen
        self.budget = whole_budget(self.budget, self._chosen.size)

    def _next_counts(self) -> Counts:
        each, extra = divmod(self.budget, self._chosen.size)
        counts = np.zeros(self.n_arms, dtype=np.int64)
        counts[self._chosen] = each
        counts[self._chosen[:extra]] += 1
        return counts

    def _absorb(self, observations: Observations) -> None:
        self._model = fit_variance_model(
            "separate-arm",
            self._rows,
            observations.count,
            observations.m2 / np.maximum(observations.count, 1),
            theta=None,
            variance_bounds=self._bounds,
            bounds={"paper": self._paper_bound},
        )

    def _paper_bound(self, delta: float) -> Floats:
        k = self._chosen.size
        # As many rows as their rank: where phi does not span, zeta is the smallest singular value that is not zero.
        zeta = float(np.linalg.svd(phi(self.arms[self._chosen]), compute_uv=False)[k - 1])
        longest = float(np.linalg.norm(self.arms, axis=1).max())
        return np.asarray(
            separate_arm_error_bound(k, zeta, longest, self.budget // k, (0.0, largest(self._bounds)), delta)
        )


def spanning_arms(rows: ArrayLike) -> Indices:
    """Indices U of rank(rows) rows with locally largest zeta_min(rows[U]).

    Starts from pivoted QR and exchanges one row at a time: first the exchange that most decreases |rows[U]^-1|_F
    (= the sum of 1/zeta², known for all n x rank exchanges from one product), until none does; then, of the best by
    that measure, any that raises the smallest singular value itself. A local search: the best subset is a
    combinatorial problem. Rows that do not span are treated in coordinates of their span.

    Parameters
    ----------
    rows : array_like, shape (n, M)
        Such as phi of the arms.

    Returns
    -------
    array of int, shape (rank,)
        In increasing order.

    References
    ----------
    Weltz et al. (2023), appendix C. The singular value that the proof needs is that of the matrix; the printed
    objective has its inverse.

    Examples
    --------
    >>> import convexdesign as cd
    >>> cd.estimation.spanning_arms([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.0, 0.5]]).tolist()
    [0, 2]
    """
    from scipy.linalg import qr

    values = real_array(rows, "rows")
    if values.ndim != 2 or not values.any():
        raise InputError(f"rows must be a matrix, not all zero, one row per arm, got {shown(rows)}")
    coordinates = _orthonormal_coordinates(values)
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
