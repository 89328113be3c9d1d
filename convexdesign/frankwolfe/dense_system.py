"""The Newton system of the minimax corrective step, with one unknown per arm: right for small sets of arms.

For a symmetric M let N_i = y_i y_i' + A0 in coordinates where A(w) = I. With G = sum_v (mu_v / f_v) t_v t_v',

    H0_ik = tr(N_i N_k G) + tr(N_k N_i G) - (J' diag(mu) J)_ik

is the Hessian of sum_v mu_v log f_v. Eliminating the multipliers' steps leaves one system in the weights' steps:
(H0 + J' diag(mu/s) J + diag(lambda/w)) dw = r1 + J' (mu/s) r2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from convexdesign.frankwolfe.minimax_state import MinimaxState
from convexdesign.frankwolfe.symmetric import inner

__all__ = ["Solve", "dense_system"]

Floats = NDArray[np.float64]
Solve = Callable[[Floats, Floats], tuple[Floats, Floats]]


def dense_system(state: MinimaxState, diagonal: Floats, mu: Floats, s: Floats) -> Solve | None:
    """The map (r1, r2) -> (dw, dmu) solving

        H0 dw + diagonal * dw - J' dmu = r1,      J dw + (s / mu) dmu = r2,

    or None where rounding makes the matrix indefinite. diagonal = lambda / w (n,); mu, s (m,).
    """
    stiffness = mu / s
    P = state.targets.T @ state.arms
    matrix = state.arms.T @ state.arms
    matrix *= (P.T * (2.0 * mu / state.variances)) @ P
    J = np.multiply(P, P, out=P)
    if state.prior is not None:
        J += inner(state.targets, state.prior)[:, None]
        matrix += _prior_terms(state, state.curvature(mu))
    J /= state.variances[:, None]
    matrix += (J.T * (stiffness - mu)) @ J
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


def _prior_terms(state: MinimaxState, G: Floats) -> Floats:
    """tr(N_i N_k G) + tr(N_k N_i G) less the part without A0: y_i'(A0 G + G A0) y_i, the same for k, 2 tr(A0 A0 G)."""
    assert state.prior is not None
    AG = state.prior @ G
    one_sided = inner(state.arms, AG + AG.T)
    return one_sided[:, None] + one_sided + 2.0 * float(np.vdot(state.prior, AG))
