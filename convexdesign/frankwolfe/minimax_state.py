"""Where a minimax design stands: variances of the targets and their sensitivities to the weights.

The corrective step for the minimax problem solves, with N_i = u_i u_i' + A0 and A(w) = sum_i w_i N_i,

    min over w >= 0 of  sum_i w_i   subject to   -log f_v(w) >= 0 for every target,      f_v = t_v' A(w)^-1 t_v.

Variances are homogeneous of degree -1, so the least total weight that brings all of them below one, divided by
itself, is the optimal design on the simplex and its total is t*. Each 1/f_v is concave, hence so is -log f_v. Its
derivatives, J_vi = t_v' A^-1 N_i A^-1 t_v / f_v, satisfy sum_i w_i J_vi = 1. J is m x n, but its products with vectors
need only r x r matrices.

A certificate comes free with multipliers mu >= 0: b_v = sqrt(mu_v / f_v) A^-1 t_v in the bound of weak duality gives

    sum_v mu_v f_v / max_i (J' mu)_i  <=  t*  <=  max_v f_v sum_i w_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtrs

from convexdesign.frankwolfe.symmetric import combine, inner

__all__ = ["MinimaxState", "minimax_state"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MinimaxState:
    """In coordinates where A(w) = I: arms Y (r, n), targets T (r, m), prior (r, r); and the variances f (m,)."""

    arms: Floats
    targets: Floats
    prior: Floats | None
    variances: Floats

    def curvature(self, multipliers: Floats) -> Floats:
        """G = sum_v (mu_v / f_v) t_v t_v', shape (r, r)."""
        return combine(self.targets, multipliers / self.variances)

    def pull(self, multipliers: Floats) -> Floats:
        """J' mu, shape (n,)."""
        return inner(self.arms, self.curvature(multipliers), self.prior)

    def push(self, change: Floats) -> Floats:
        """J dw, shape (m,)."""
        return inner(self.targets, combine(self.arms, change, self.prior)) / self.variances

    def gap(self, weights: Floats, multipliers: Floats, pulled: Floats) -> float:
        """The certified relative gap of w / sum w, with mu_v / f_v as the weights of the bound; pulled = J' mu."""
        upper = float(self.variances.max() * weights.sum() * pulled.max())
        return upper / float(multipliers @ self.variances) - 1.0


def minimax_state(vectors: Floats, n: int, weights: Floats, prior: Floats | None = None) -> MinimaxState | None:
    """The state at weights w (n,); vectors (r, n + m) holds arms, then targets. None where A(w) is singular."""
    factor, info = dpotrf(combine(vectors[:, :n], weights, prior), lower=1)
    if info:
        return None
    whitened, _ = dtrtrs(factor, vectors, lower=1)
    Y, T = whitened[:, :n], whitened[:, n:]
    f = np.einsum("ij,ij->j", T, T)
    if prior is not None:
        half, _ = dtrtrs(factor, prior, lower=1)
        prior, _ = dtrtrs(factor, half.T, lower=1)
    return MinimaxState(Y, T, prior, f)
