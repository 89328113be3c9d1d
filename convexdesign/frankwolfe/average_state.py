"""Where an average-variance design stands: sensitivities, objective and certified gap of given weights.

The corrective step solves, with M = LL' scaled so that the value is about one,

    min over w >= 0 of  phi(w) = f(w) + sum_i w_i,   f(w) = tr(A(w)^-1 M),   A(w) = sum_i w_i N_i,   N_i = u_i u_i' + A0,

whose gradient is 1 - q with q_i = tr(A^-1 M A^-1 N_i). f is homogeneous of degree -1, so sum_i w_i q_i = f: at the optimum
q_i <= 1 with equality on the support, hence sum w = f, and w / sum w is the optimal design on the simplex. For any w scaled
to sum f, the bound f^2 / max q on the optimum leaves the relative gap max q - 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtrs

from convexdesign.frankwolfe.symmetric import columns, combine, summed, summed_blocks
from convexdesign.typing import Floats

__all__ = ["AverageState", "average_state"]


# Pivots of the Cholesky factor below this share of the largest are rounding.
SINGULAR = 1e-7


@dataclass(frozen=True, eq=False)
class AverageState:
    """Weights w (n,); in coordinates where A(w) = I: arms (r, n responses), L (r, k), prior (r, r); q (n,); f and phi."""

    weights: Floats
    arms: Floats
    aim: Floats
    prior: Floats | None
    sensitivities: Floats
    value: float

    @property
    def responses(self) -> int:
        """How many columns each arm has."""
        return self.arms.shape[1] // self.weights.size

    @property
    def objective(self) -> float:
        return self.value + float(self.weights.sum())

    @property
    def gap(self) -> float:
        """max_i q_i (sum w) / f - 1, zero exactly at the optimum."""
        return float(self.sensitivities.max() * self.weights.sum() / self.value - 1.0)

    def rescaled(self) -> AverageState:
        """The best point on the ray through w: sum w = f, which is where phi is least along it."""
        c = float(np.sqrt(self.value / self.weights.sum()))
        root = np.sqrt(c)
        return AverageState(
            self.weights * c,
            self.arms / root,
            self.aim / root,
            None if self.prior is None else self.prior / c,
            self.sensitivities / c**2,
            self.value / c,
        )

    def curvature(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
        """The Hessian's block 2 tr(M N_i N_k), in coordinates where A = I, for i in first and k in second."""
        k = self.responses
        Y, Z = columns(self.arms, first, k), columns(self.arms, second, k)
        block = summed_blocks((Y.T @ Z) * ((self.aim.T @ Y).T @ (self.aim.T @ Z)), k)
        if self.prior is not None:
            mixed = self.prior @ self.aim
            left = summed(np.einsum("ij,ij->j", self.aim.T @ Y, mixed.T @ Y), k)
            right = summed(np.einsum("ij,ij->j", self.aim.T @ Z, mixed.T @ Z), k)
            block += left[:, None] + right + np.vdot(mixed, mixed)
        block *= 2.0
        return block

    def own_curvature(self) -> Floats:
        """The Hessian's diagonal, (n,)."""
        k, image = self.responses, self.aim.T @ self.arms
        if k == 1:
            out = np.einsum("ij,ij->j", self.arms, self.arms)
            out *= np.einsum("ij,ij->j", image, image)
        else:
            Y, L = (X.T.reshape(-1, k, X.shape[0]) for X in (self.arms, image))
            out = ((Y @ Y.transpose(0, 2, 1)) * (L @ L.transpose(0, 2, 1))).sum(axis=(1, 2))
        if self.prior is not None:
            mixed = self.prior @ self.aim
            out += 2.0 * summed(np.einsum("ij,ij->j", image, mixed.T @ self.arms), k) + np.vdot(mixed, mixed)
        return np.asarray(2.0 * out)


def average_state(arms: Floats, aim: Floats, weights: Floats, prior: Floats | None = None) -> AverageState | None:
    """The state at weights w (n,) of arms (r, n responses) with aim L (r, k); None where A(w) is numerically singular."""
    support = np.flatnonzero(weights)
    responses = arms.shape[1] // weights.size
    factor, info = dpotrf(combine(columns(arms, support, responses), weights.take(support), prior), lower=1)
    diagonal = np.diagonal(factor)
    # A singular matrix may pass by rounding; an honest one has this much left of every direction.
    if info or diagonal.min() < SINGULAR * diagonal.max():
        return None
    Y, _ = dtrtrs(factor, arms, lower=1)
    R, _ = dtrtrs(factor, aim, lower=1)
    image = R.T @ Y
    q = summed(np.einsum("ij,ij->j", image, image), responses)
    if prior is not None:
        half, _ = dtrtrs(factor, prior, lower=1)
        prior, _ = dtrtrs(factor, half.T, lower=1)
        q = q + float(np.vdot(R, prior @ R))
    return AverageState(weights, Y, R, prior, q, float(np.vdot(R, R)))
