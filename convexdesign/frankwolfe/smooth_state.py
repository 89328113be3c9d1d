"""Where a design for a smooth criterion stands: sensitivities, objective and certified gap of given weights.

The corrective steps for D (and G by Kiefer and Wolfowitz) and for the average variance solve

    min over w >= 0 of  phi(w) = f(w) + sum_i w_i,      A(w) = sum_i w_i N_i,   N_i = u_i u_i' + A0,

with f = -log det A, or f = tr(A^-1 M) for M = LL' scaled so that its value is about one. The gradient is 1 - q with
q_i = <A^-1, N_i>, or tr(A^-1 M A^-1 N_i), and sum_i w_i q_i =: c is r, as A is linear in w, or f, which is homogeneous of
degree -1. At the optimum q_i <= 1 with equality on the support, hence sum w = c, and w / sum w is the optimal design on the
simplex. For any w scaled to sum c the bounds log det A + r log max q and f / max q on the optimum leave the relative gap
max q - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from convexdesign.arms.groups import sum_per_arm
from convexdesign.frankwolfe.symmetric import columns, combine, inner, shifted_gram, sum_per_pair, symmetric_dimension
from convexdesign.typing import Floats, Indices

__all__ = ["At", "AverageState", "DState", "SmoothState", "average_state", "d_state"]


# Pivots of the Cholesky factor below this share of the largest are rounding.
SINGULAR = 1e-7


class SmoothState(Protocol):
    """Weights w (n,) with their q (n,), c = sum_i w_i q_i, and phi."""

    @property
    def weights(self) -> Floats: ...

    @property
    def sensitivities(self) -> Floats: ...

    @property
    def total(self) -> float: ...

    @property
    def objective(self) -> float: ...

    @property
    def gap(self) -> float: ...

    def rescaled(self) -> SmoothState:
        """The best point on the ray through w: sum w = c, which is where phi is least along it."""
        ...

    def wanted(self) -> NDArray[np.bool_]:
        """Which arms have weight where Newton's method for each arm alone ends up: w_i H_ii + q_i > 1."""
        ...

    def newton(self, free: Indices, leaving: Indices, diagonal: Floats) -> Floats | None:
        """p with (H_FF + diag) p = (q - 1)_F + H_FB w_B for free arms F and leaving arms B; None where H_FF is indefinite."""
        ...


# From weights to the state there; None where A(w) is numerically singular.
At = Callable[[Floats], SmoothState | None]


@dataclass(frozen=True, eq=False)
class _Whitened:
    """Weights w (n,) and, in coordinates where A(w) = I: arms (r, n responses), prior (r, r), q (n,)."""

    weights: Floats
    arms: Floats
    prior: Floats | None
    sensitivities: Floats

    @property
    def responses(self) -> int:
        """How many columns each arm has."""
        return self.arms.shape[1] // self.weights.size


@dataclass(frozen=True, eq=False)
class DState(_Whitened):
    """f = -log det A; H_ik = <N_i, N_k>, the Gram matrix of the information matrices."""

    objective: float

    @property
    def total(self) -> float:
        return float(self.arms.shape[0])

    @property
    def gap(self) -> float:
        """max_i q_i (sum w) / r - 1, zero exactly at the optimum."""
        return float(self.sensitivities.max() * self.weights.sum() / self.total - 1.0)

    def rescaled(self) -> DState:
        r = self.arms.shape[0]
        c = r / float(self.weights.sum())
        return DState(
            self.weights * c,
            self.arms / np.sqrt(c),
            None if self.prior is None else self.prior / c,
            self.sensitivities / c,
            self.objective - r * float(np.log(c)) + (1.0 - 1.0 / c) * r,
        )

    def wanted(self) -> NDArray[np.bool_]:
        w, q = self.weights, self.sensitivities
        return np.asarray(w * q * q + q > 1.0)

    def newton(self, free: Indices, leaving: Indices, diagonal: Floats) -> Floats | None:
        k = self.responses
        Y = columns(self.arms, free, k)
        right = self.sensitivities.take(free) - 1.0
        if leaving.size:
            lost = combine(columns(self.arms, leaving, k), self.weights.take(leaving), self.prior)
            right += inner(Y, lost, self.prior, k)
        solve = shifted_gram(Y, self.prior, diagonal, most_dense=symmetric_dimension(Y.shape[0]))
        return None if solve is None else solve(right)


def d_state(arms: Floats, weights: Floats, prior: Floats | None = None) -> DState | None:
    """The state at weights w (n,) of arms (r, n responses); None where A(w) is numerically singular."""
    support = np.flatnonzero(weights != 0)
    responses = arms.shape[1] // weights.size
    if 2 * support.size < weights.size:
        A = combine(columns(arms, support, responses), weights.take(support), prior)
    else:
        A = combine(arms, weights, prior)
    factor, info = dpotrf(A, lower=1)
    if info:
        return None
    Y, _ = dtrtrs(factor, arms, lower=1)
    q = sum_per_arm(np.einsum("ij,ij->j", Y, Y), responses)
    if prior is not None:
        prior = _congruent(factor, prior)
        q = q + np.trace(prior)
    objective = float(weights.sum() - 2.0 * np.log(np.diagonal(factor)).sum())
    return DState(weights, Y, prior, q, objective)


@dataclass(frozen=True, eq=False)
class AverageState(_Whitened):
    """f = tr(A^-1 M), the `total`; M = LL' with L = contrast_matrix L (r, k) where A = I; H_ik = 2 tr(M N_i N_k)."""

    contrast_matrix: Floats
    total: float

    @property
    def objective(self) -> float:
        return self.total + float(self.weights.sum())

    @property
    def gap(self) -> float:
        """max_i q_i (sum w) / f - 1, zero exactly at the optimum."""
        return float(self.sensitivities.max() * self.weights.sum() / self.total - 1.0)

    def rescaled(self) -> AverageState:
        c = float(np.sqrt(self.total / self.weights.sum()))
        root = np.sqrt(c)
        return AverageState(
            self.weights * c,
            self.arms / root,
            None if self.prior is None else self.prior / c,
            self.sensitivities / c**2,
            self.contrast_matrix / root,
            self.total / c,
        )

    def wanted(self) -> NDArray[np.bool_]:
        return np.asarray(self.weights * self._own_curvature() + self.sensitivities > 1.0)

    def newton(self, free: Indices, leaving: Indices, diagonal: Floats) -> Floats | None:
        right = self.sensitivities[free] - 1.0
        if leaving.size:
            right = right + self._curvature(free, leaving) @ self.weights[leaving]
        matrix = self._curvature(free, free)
        matrix.ravel()[:: free.size + 1] += diagonal
        factor, info = dpotrf(matrix, lower=1, overwrite_a=1)
        return None if info else dpotrs(factor, right, lower=1)[0]

    def _curvature(self, first: Indices, second: Indices) -> Floats:
        """The Hessian's block for i in first and k in second."""
        k = self.responses
        Y, Z = columns(self.arms, first, k), columns(self.arms, second, k)
        block = sum_per_pair((Y.T @ Z) * ((self.contrast_matrix.T @ Y).T @ (self.contrast_matrix.T @ Z)), k)
        if self.prior is not None:
            mixed = self.prior @ self.contrast_matrix
            left = sum_per_arm(np.einsum("ij,ij->j", self.contrast_matrix.T @ Y, mixed.T @ Y), k)
            right = sum_per_arm(np.einsum("ij,ij->j", self.contrast_matrix.T @ Z, mixed.T @ Z), k)
            block += left[:, None] + right + np.vdot(mixed, mixed)
        block *= 2.0
        return block

    def _own_curvature(self) -> Floats:
        """The Hessian's diagonal, (n,)."""
        k, image = self.responses, self.contrast_matrix.T @ self.arms
        if k == 1:
            out = np.einsum("ij,ij->j", self.arms, self.arms)
            out *= np.einsum("ij,ij->j", image, image)
        else:
            Y, L = (X.T.reshape(-1, k, X.shape[0]) for X in (self.arms, image))
            out = ((Y @ Y.transpose(0, 2, 1)) * (L @ L.transpose(0, 2, 1))).sum(axis=(1, 2))
        if self.prior is not None:
            mixed = self.prior @ self.contrast_matrix
            out += 2.0 * sum_per_arm(np.einsum("ij,ij->j", image, mixed.T @ self.arms), k) + np.vdot(mixed, mixed)
        return np.asarray(2.0 * out)


def average_state(
    arms: Floats, contrast_matrix: Floats, weights: Floats, prior: Floats | None = None
) -> AverageState | None:
    """The state at weights w (n,) of arms (r, n responses), contrast matrix L (r, k); None where A(w) is singular."""
    support = np.flatnonzero(weights != 0)
    responses = arms.shape[1] // weights.size
    factor, info = dpotrf(combine(columns(arms, support, responses), weights.take(support), prior), lower=1)
    diagonal = np.diagonal(factor)
    # A singular matrix may pass by rounding; an honest one has this much left of every direction.
    if info or diagonal.min() < SINGULAR * diagonal.max():
        return None
    Y, _ = dtrtrs(factor, arms, lower=1)
    R, _ = dtrtrs(factor, contrast_matrix, lower=1)
    image = R.T @ Y
    q = sum_per_arm(np.einsum("ij,ij->j", image, image), responses)
    if prior is not None:
        prior = _congruent(factor, prior)
        q = q + float(np.vdot(R, prior @ R))
    return AverageState(weights, Y, prior, q, R, float(np.vdot(R, R)))


def _congruent(factor: Floats, matrix: Floats) -> Floats:
    """L^-1 M L^-T for the lower factor L."""
    half, _ = dtrtrs(factor, matrix, lower=1)
    return np.asarray(dtrtrs(factor, half.T, lower=1)[0])
