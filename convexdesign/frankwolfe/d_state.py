"""Where a D-design stands: variances, objective and certified gap of given weights.

The corrective steps for D and for Kiefer-Wolfowitz G solve

    min over w >= 0 of  phi(w) = -log det A(w) + sum_i w_i,      A(w) = sum_i w_i N_i,   N_i = u_i u_i' + A0,

whose gradient is 1 - q with q_i = <A^-1, N_i>. Since A is linear in w, sum_i w_i q_i = tr(A^-1 A) = r: at the
optimum q_i <= 1 with equality on the support, hence sum w = r, and w / r is the optimal design on the simplex.
For any w scaled to sum r, log det A* <= log det A + r log(max q), so max q - 1 bounds the relative gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from convexdesign.frankwolfe.symmetric import columns, combine, summed
from convexdesign.typing import Floats

__all__ = ["DState", "d_state"]


@dataclass(frozen=True, eq=False)
class DState:
    """Weights w (n,) and, in coordinates where A(w) = I: arms (r, n responses), prior (r, r), q (n,), phi."""

    weights: Floats
    arms: Floats
    prior: Floats | None
    variances: Floats
    objective: float

    @property
    def responses(self) -> int:
        """How many columns each arm has."""
        return self.arms.shape[1] // self.weights.size

    @property
    def gap(self) -> float:
        """max_i q_i (sum w) / r - 1, zero exactly at the optimum."""
        return float(self.variances.max() * self.weights.sum() / self.arms.shape[0] - 1.0)

    def rescaled(self) -> DState:
        """The best point on the ray through w: sum w = r, which is where phi is least along it."""
        r = self.arms.shape[0]
        c = r / float(self.weights.sum())
        return DState(
            self.weights * c,
            self.arms / np.sqrt(c),
            None if self.prior is None else self.prior / c,
            self.variances / c,
            self.objective - r * float(np.log(c)) + (1.0 - 1.0 / c) * r,
        )


def d_state(arms: Floats, weights: Floats, prior: Floats | None = None) -> DState | None:
    """The state at weights w (n,) of arms (r, n responses); None where A(w) is numerically singular."""
    support = np.flatnonzero(weights)
    responses = arms.shape[1] // weights.size
    if 2 * support.size < weights.size:
        A = combine(columns(arms, support, responses), weights.take(support), prior)
    else:
        A = combine(arms, weights, prior)
    factor, info = dpotrf(A, lower=1)
    if info:
        return None
    Y, _ = dtrtrs(factor, arms, lower=1)
    q = summed(np.einsum("ij,ij->j", Y, Y), responses)
    if prior is not None:
        half, _ = dtrtrs(factor, prior, lower=1)
        prior, _ = dtrtrs(factor, half.T, lower=1)
        q = q + np.trace(prior)
    objective = float(weights.sum() - 2.0 * np.log(np.diagonal(factor)).sum())
    return DState(weights, Y, prior, q, objective)
