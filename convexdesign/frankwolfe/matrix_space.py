"""The Newton system of the minimax corrective step in the space of symmetric matrices: linear in arms and targets.

In coordinates where A(w) = I, rotated so that G = sum_v (mu_v / f_v) t_v t_v' = diag(g), let F (p, n) hold the
coordinates of the N_i and Phi (m, p) those of t_v t_v' / f_v. Then J = Phi F, and the Hessian of sum_v mu_v log f_v is

    H0 = F' B F,      B = diag(g_a + g_b) - Phi' diag(mu) Phi,

since tr(N_i N_k G) + tr(N_k N_i G) = sum_ab (g_a + g_b) (N_i)_ab (N_k)_ab. So every term acts through x = F dw, of
p = r(r+1)/2 entries. Slack targets (mu <= s) join B, B + Phi_s' diag(mu/s) Phi_s =: M; the others, E, keep their
multipliers as unknowns, because at the optimum mu/s grows without bound. With D = diag(lambda/w) the first equation
reads dw = D^-1 (r1 - F'(M x - Phi_E' dmu)); applying F, with F D^-1 F' = R R' and x = R z,

    (I + R' M R) z - (Phi_E R)' dmu = R^-1 F D^-1 r1,      (Phi_E R) z + (s/mu) dmu = r2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from convexdesign.frankwolfe.dense_system import Solve
from convexdesign.frankwolfe.minimax_state import MinimaxState
from convexdesign.frankwolfe.symmetric import coordinates

__all__ = ["matrix_space_system"]

Floats = NDArray[np.float64]

# Beyond this product of the two stiffnesses the elimination loses digits that one round of refinement restores.
REFINE_ABOVE = 1e7


def matrix_space_system(state: MinimaxState, diagonal: Floats, mu: Floats, s: Floats) -> Solve | None:
    """The same map (r1, r2) -> (dw, dmu) as dense_system; None where rounding makes a matrix indefinite."""
    stiffness = mu / s
    F, Phi, twist = _rotated_coordinates(state, mu)
    p = F.shape[0]
    M = (Phi.T * np.where(stiffness > 1.0, -mu, stiffness - mu)) @ Phi
    M.ravel()[:: p + 1] += twist
    explicit = np.flatnonzero(stiffness > 1.0)
    R = _cholesky((F / diagonal) @ F.T)
    if R is None:
        return None
    inner_matrix = R.T @ M @ R
    inner_matrix.ravel()[:: p + 1] += 1.0
    inner_factor = _cholesky(inner_matrix)
    if inner_factor is None:
        return None
    half = np.empty((p, 0))
    outer_factor = np.empty((0, 0))
    if explicit.size:
        half, _ = dtrtrs(inner_factor, (Phi.take(explicit, axis=0) @ R).T, lower=1)
        outer_matrix = half.T @ half
        outer_matrix.ravel()[:: explicit.size + 1] += 1.0 / stiffness.take(explicit)
        factor = _cholesky(outer_matrix)
        if factor is None:
            return None
        outer_factor = factor
    slack = np.where(stiffness > 1.0, 0.0, stiffness)

    def once(r1: Floats, r2: Floats) -> tuple[Floats, Floats]:
        r1 = r1 + ((slack * r2) @ Phi) @ F
        image, _ = dtrtrs(R, F @ (r1 / diagonal), lower=1)
        reduced, _ = dtrtrs(inner_factor, image, lower=1)
        active = r2.take(explicit) - half.T @ reduced
        if explicit.size:
            active, _ = dpotrs(outer_factor, active, lower=1)
        z, _ = dtrtrs(inner_factor, reduced + half @ active, lower=1, trans=1)
        x = R @ z
        force = M @ x
        force -= active @ Phi.take(explicit, axis=0)
        dw = (r1 - force @ F) / diagonal
        dmu = stiffness * (r2 - Phi @ x)
        dmu[explicit] = active
        return dw, dmu

    def solve(r1: Floats, r2: Floats) -> tuple[Floats, Floats]:
        dw, dmu = once(r1, r2)
        if stiffness.max() > REFINE_ABOVE * diagonal.min():
            x = F @ dw
            force = twist * x - ((mu * (Phi @ x)) + dmu) @ Phi
            dw2, dmu2 = once(r1 - diagonal * dw - force @ F, r2 - Phi @ x - dmu / stiffness)
            dw, dmu = dw + dw2, dmu + dmu2
        return dw, dmu

    return solve


def _rotated_coordinates(state: MinimaxState, mu: Floats) -> tuple[Floats, Floats, Floats]:
    """F (p, n), Phi (m, p) and the diagonal g_a + g_b (p,), in the eigenvectors of G."""
    g, Q = np.linalg.eigh(state.curvature(mu))
    prior = None if state.prior is None else Q.T @ state.prior @ Q
    F = coordinates(Q.T @ state.arms, prior)
    Phi = (coordinates(Q.T @ state.targets) / state.variances).T
    a, b = np.triu_indices(g.size, 1)
    return F, Phi, np.concatenate([2.0 * g, g[a] + g[b]])


def _cholesky(matrix: Floats) -> Floats | None:
    """The lower factor, after a relative shift if rounding asks for one."""
    factor, info = dpotrf(matrix, lower=1)
    if info:
        diagonal = matrix.ravel()[:: matrix.shape[0] + 1]
        diagonal += 1e-14 * diagonal.max()
        factor, info = dpotrf(matrix, lower=1)
    return None if info else factor
