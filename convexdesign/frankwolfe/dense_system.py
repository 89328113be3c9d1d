"""The minimax problem around given weights with J as a matrix: right for small sets of arms.

For a symmetric M let N_i = y_i y_i' + A0 in coordinates where A(w) = I. With G = sum_v (mu_v / f_v) t_v t_v',

    H0_ik = tr(N_i N_k G) + tr(N_k N_i G) - (J' diag(mu) J)_ik

is the Hessian of sum_v mu_v log f_v. Eliminating the multipliers' steps leaves one system in the weights' steps:
(H0 + J' diag(mu/s) J + diag(lambda/w)) dw = r1 + J' (mu/s) r2.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from convexdesign.frankwolfe.minimax_state import Solve
from convexdesign.frankwolfe.symmetric import combine, inner, summed, summed_blocks
from convexdesign.typing import Floats

__all__ = ["DenseSystem"]


class DenseSystem:
    """Holds P = T'Y and J (m, n); see minimax_state.Linearisation."""

    def __init__(self, Y: Floats, T: Floats, prior: Floats | None, responses: int = 1):
        self.arms, self.targets, self.prior, self.responses = Y, T, prior, responses
        self.variances: Floats = np.einsum("ij,ij->j", T, T)
        self.products: Floats = T.T @ Y
        J = summed(self.products * self.products, responses)
        if prior is not None:
            J += inner(T, prior)[:, None]
        J /= self.variances[:, None]
        self.sensitivity = J

    def pull(self, mu: Floats) -> Floats:
        """J' mu."""
        return mu @ self.sensitivity

    def system(self, diagonal: Floats, mu: Floats, s: Floats) -> Solve | None:
        """One Cholesky factorisation of size n, built from two products of size n x m x n."""
        J, P = self.sensitivity, self.products
        stiffness = mu / s
        matrix = self.arms.T @ self.arms
        matrix *= (P.T * (2.0 * mu / self.variances)) @ P
        matrix = summed_blocks(matrix, self.responses)
        matrix += (J.T * (stiffness - mu)) @ J
        if self.prior is not None:
            matrix += self._prior_terms(mu, self.prior)
        on_diagonal = matrix.ravel()[:: matrix.shape[0] + 1]
        on_diagonal += diagonal
        factor, info = dpotrf(matrix.T, lower=1, clean=0)
        if info:
            on_diagonal *= 1.0 + 1e-13
            factor, info = dpotrf(matrix.T, lower=1, clean=0)
            if info:
                return None

        def solve(r1: Floats, r2: Floats) -> tuple[Floats, Floats]:
            dw, _ = dpotrs(factor, r1 + (stiffness * r2) @ J, lower=1)
            return dw, stiffness * (r2 - J @ dw)

        return solve

    def _prior_terms(self, mu: Floats, prior: Floats) -> Floats:
        """What A0 adds to tr(N_i N_k G) + tr(N_k N_i G): y_i'(A0 G + G A0) y_i, the same for k, and 2 tr(A0 A0 G)."""
        AG = prior @ combine(self.targets, mu / self.variances)
        one_sided = inner(self.arms, AG + AG.T, responses=self.responses)
        return one_sided[:, None] + one_sided + 2.0 * float(np.vdot(prior, AG))
