"""Where a minimax design stands: coordinates in which A(w) = I, and the variances of the targets.

The corrective step for the minimax problem solves, with N_i = u_i u_i' + A0 and A(w) = sum_i w_i N_i,

    min over w >= 0 of  sum_i w_i   subject to   -log f_v(w) >= 0 for every target,      f_v = t_v' A(w)^-1 t_v.

Variances are homogeneous of degree -1, so the least total weight that brings all of them below one, divided by
itself, is the optimal design on the simplex and its total is t*. Each 1/f_v is concave, hence so is -log f_v. Its
derivatives, J_vi = t_v' A^-1 N_i A^-1 t_v / f_v, satisfy sum_i w_i J_vi = 1.

A certificate comes free with multipliers mu >= 0: b_v = sqrt(mu_v / f_v) A^-1 t_v in the bound of weak duality gives

    sum_v mu_v f_v / max_i (J' mu)_i  <=  t*  <=  max_v f_v sum_i w_i.

Two classes represent J and the Newton system, in coordinates where A(w) = I.

DenseSystem holds J as a matrix. With G = sum_v (mu_v / f_v) t_v t_v',

    H0_ik = tr(N_i N_k G) + tr(N_k N_i G) - (J' diag(mu) J)_ik

is the Hessian of sum_v mu_v log f_v. Eliminating the multipliers' steps leaves one system in the weights' steps:
(H0 + J' diag(mu/s) J + diag(lambda/w)) dw = r1 + J' (mu/s) r2.

MatrixSpaceSystem is linear in arms and targets. In coordinates rotated so that G = diag(g) let F (p, n) hold those of the
N_i and Phi (m, p) those of t_v t_v' / f_v. Then J = Phi F and

    H0 = F' B F,      B = diag(g_a + g_b) - Phi' diag(mu) Phi,

since tr(N_i N_k G) + tr(N_k N_i G) = sum_ab (g_a + g_b) (N_i)_ab (N_k)_ab. So every term acts through x = F dw, of
p = r(r+1)/2 entries. Slack targets (mu <= s) join B, B + Phi_s' diag(mu/s) Phi_s =: M; the others, E, keep their
multipliers as unknowns, because at the optimum mu/s grows without bound. With D = diag(lambda/w) the first equation
reads dw = D^-1 (r1 - F'(M x - Phi_E' dmu)); applying F, with F D^-1 F' = R R' and x = R z,

    (I + R' M R) z - (Phi_E R)' dmu = R^-1 F D^-1 r1,      (Phi_E R) z + (s/mu) dmu = r2.

J itself, m x n, is never formed: J' mu = <N_i, G>.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from convexdesign.arms.groups import sum_per_arm
from convexdesign.frankwolfe.symmetric import combine, coordinates, inner, sum_per_pair
from convexdesign.typing import Floats

__all__ = ["DenseSystem", "Linearisation", "MatrixSpaceSystem", "Solve", "whitened"]

# Beyond this product of the two stiffnesses the elimination loses digits that one round of refinement restores.
REFINE_ABOVE = 1e7

Solve = Callable[[Floats, Floats], tuple[Floats, Floats]]


class Linearisation(Protocol):
    """The problem around weights w, from whitened arms Y (r, n responses), targets T (r, m) and prior (r, r) or None."""

    targets: Floats
    variances: Floats

    def __init__(self, Y: Floats, T: Floats, prior: Floats | None, responses: int = 1) -> None: ...

    def pull(self, mu: Floats) -> Floats:
        """J' mu, shape (n,)."""
        ...

    def system(self, diagonal: Floats, mu: Floats, s: Floats) -> Solve | None:
        """The map (r1, r2) -> (dw, dmu) that solves, with H0 the Hessian of sum_v mu_v log f_v,

            H0 dw + diagonal * dw - J' dmu = r1,      J dw + (s / mu) dmu = r2,

        or None where rounding makes a matrix indefinite. diagonal = lambda / w (n,); mu, s (m,).
        """
        ...


def whitened(
    vectors: Floats, n: int, weights: Floats, prior: Floats | None
) -> tuple[Floats, Floats, Floats | None] | None:
    """Arms (r, n), targets (r, m) and prior where A(w) = I; vectors (r, n + m) holds n columns of arms, then targets.

    None where A(w) is numerically singular.
    """
    factor, info = dpotrf(combine(vectors[:, :n], weights, prior), lower=1)
    if info:
        return None
    image, _ = dtrtrs(factor, vectors, lower=1)
    if prior is not None:
        half, _ = dtrtrs(factor, prior, lower=1)
        prior, _ = dtrtrs(factor, half.T, lower=1)
    return image[:, :n], image[:, n:], prior


class DenseSystem:
    """Holds P = T'Y and J (m, n); see Linearisation."""

    def __init__(self, Y: Floats, T: Floats, prior: Floats | None, responses: int = 1):
        self.arms, self.targets, self.prior, self.responses = Y, T, prior, responses
        self.variances: Floats = np.einsum("ij,ij->j", T, T)
        self.products: Floats = T.T @ Y
        J = sum_per_arm(self.products * self.products, responses)
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
        matrix = sum_per_pair(matrix, self.responses)
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


class MatrixSpaceSystem:
    """See Linearisation."""

    def __init__(self, Y: Floats, T: Floats, prior: Floats | None, responses: int = 1):
        self.arms, self.targets, self.prior, self.responses = Y, T, prior, responses
        self.variances: Floats = np.einsum("ij,ij->j", T, T)

    def pull(self, mu: Floats) -> Floats:
        """J' mu."""
        return inner(self.arms, self._mean_target(mu), self.prior, self.responses)

    def system(self, diagonal: Floats, mu: Floats, s: Floats) -> Solve | None:
        """Three Cholesky factorisations: of F D^-1 F', of I + R'MR, and for the multipliers of tight targets."""
        stiffness = mu / s
        F, Phi, twist = self._rotated_coordinates(mu)
        p = F.shape[0]
        tight = stiffness > 1.0
        M = (Phi.T * np.where(tight, -mu, stiffness - mu)) @ Phi
        M.ravel()[:: p + 1] += twist
        R = _cholesky((F / diagonal) @ F.T)
        if R is None:
            return None
        inner_matrix = R.T @ M @ R
        inner_matrix.ravel()[:: p + 1] += 1.0
        inner_factor = _cholesky(inner_matrix)
        if inner_factor is None:
            return None
        explicit = np.flatnonzero(tight)
        E = Phi.take(explicit, axis=0)
        outer = _outer_factor(E @ R, inner_factor, stiffness.take(explicit))
        if outer is None:
            return None
        half, outer_factor = outer
        slack = np.where(tight, 0.0, stiffness)

        def once(r1: Floats, r2: Floats) -> tuple[Floats, Floats]:
            r1 = r1 + ((slack * r2) @ Phi) @ F
            image, _ = dtrtrs(R, F @ (r1 / diagonal), lower=1)
            reduced, _ = dtrtrs(inner_factor, image, lower=1)
            active = r2.take(explicit) - half.T @ reduced
            if explicit.size:
                active, _ = dpotrs(outer_factor, active, lower=1)
            z, _ = dtrtrs(inner_factor, reduced + half @ active, lower=1, trans=1)
            x = R @ z
            dw = (r1 - (M @ x - active @ E) @ F) / diagonal
            dmu = stiffness * (r2 - Phi @ x)
            dmu[explicit] = active
            return dw, dmu

        def solve(r1: Floats, r2: Floats) -> tuple[Floats, Floats]:
            dw, dmu = once(r1, r2)
            if stiffness.max() > REFINE_ABOVE * diagonal.min():
                x = F @ dw
                force = twist * x - (mu * (Phi @ x) + dmu) @ Phi
                more_w, more_mu = once(r1 - diagonal * dw - force @ F, r2 - Phi @ x - dmu / stiffness)
                dw, dmu = dw + more_w, dmu + more_mu
            return dw, dmu

        return solve

    def _mean_target(self, mu: Floats) -> Floats:
        """G = sum_v (mu_v / f_v) t_v t_v'."""
        return combine(self.targets, mu / self.variances)

    def _rotated_coordinates(self, mu: Floats) -> tuple[Floats, Floats, Floats]:
        """F (p, n), Phi (m, p) and the diagonal g_a + g_b (p,), in the eigenvectors of G."""
        g, Q = np.linalg.eigh(self._mean_target(mu))
        prior = None if self.prior is None else Q.T @ self.prior @ Q
        F = coordinates(Q.T @ self.arms, prior, self.responses)
        Phi = (coordinates(Q.T @ self.targets) / self.variances).T
        a, b = np.triu_indices(g.size, 1)
        return F, Phi, np.concatenate([2.0 * g, g[a] + g[b]])


def _outer_factor(E: Floats, inner_factor: Floats, stiffness: Floats) -> tuple[Floats, Floats] | None:
    """For E = Phi_E R: L^-1 E' (p, k) with LL' = I + R'MR, and the factor of diag(s/mu) + E (LL')^-1 E'."""
    if stiffness.size == 0:
        return np.empty((inner_factor.shape[0], 0)), np.empty((0, 0))
    half, _ = dtrtrs(inner_factor, E.T, lower=1)
    matrix = half.T @ half
    matrix.ravel()[:: stiffness.size + 1] += 1.0 / stiffness
    factor = _cholesky(matrix)
    return None if factor is None else (half, factor)


def _cholesky(matrix: Floats) -> Floats | None:
    """The lower factor, after a relative shift if rounding asks for one."""
    factor, info = dpotrf(matrix, lower=1)
    if info:
        diagonal = matrix.ravel()[:: matrix.shape[0] + 1]
        diagonal += 1e-14 * diagonal.max()
        factor, info = dpotrf(matrix, lower=1)
    return None if info else factor
