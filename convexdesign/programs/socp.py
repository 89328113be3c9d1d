"""The minimax problem as a second-order cone program: the best linear estimators, and the weights that suit them."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from convexdesign.programs.program import (
    Constrain,
    Program,
    normalised,
    per_target,
    prior_rows,
    simplex,
)
from convexdesign.typing import Floats

__all__ = ["socp"]


def socp(arms: Floats, targets: Floats, prior: Floats | None = None, constrain: Constrain | None = None) -> Program:
    """min t  subject to  H U = T,  h_ji^2 <= r_ji w_i,  sum_i r_ji <= t for every target j,  w in W.

    Row j of H (m, n) is a linear unbiased estimator of t_j'theta: it gives observation i the coefficient h_ji, and with
    w_i observations of arm i its variance is sum_i h_ji^2 / w_i. The least variance of any is t_j'A(w)^-1 t_j (Gauss and
    Markov), so the minimum over H and w together is t*. There is no inverse and no semidefinite cone.

    Prior information enters as the rows of A0^(1/2): further arms, whose weight is one. The cones are one vectorised
    constraint: h^2 <= r w is |(2h, r - w)| <= r + w. The responses of one arm share r_ji, and h_ji^2 is then the sum of the
    squares of their coefficients.

    Duals: mu_j belongs to sum_i r_ji <= t, the price of one unit of variance of estimator j; row j of the dual of H U = T
    is mu_j A(w)^-1 t_j.

    Source: G. Sagnol, Computing optimal designs of multiresponse experiments reduces to second-order cone programming,
    Journal of Statistical Planning and Inference 141 (2011).
    """
    n, r = arms.shape[0], arms.shape[-1]
    m = targets.shape[0]
    rows = _with_prior(arms, prior_rows(prior, r))
    w, members = simplex(n, constrain)
    t = cp.Variable(name="t")
    H = [cp.Variable((m, len(part)), name="H") for part in rows]
    R = cp.Variable((m, len(rows[0])), name="R")

    unbiased = sum(h @ part for h, part in zip(H, rows)) == targets
    variance = cp.sum(R, axis=1) <= t
    weight = cp.hstack([w, np.ones(len(rows[0]) - n)]) if len(rows[0]) > n else w
    weight = cp.vec(cp.outer(np.ones(m), weight), order="C")
    bound = cp.vec(R, order="C")
    cones = cp.SOC(bound + weight, cp.vstack([*(2 * cp.vec(h, order="C") for h in H), bound - weight]), axis=0)

    problem = cp.Problem(cp.Minimize(t), [unbiased, variance, cones, *members])
    return Program(
        problem,
        weights=lambda: normalised(w.value),
        multipliers=lambda: normalised(variance.dual_value),
        vectors=lambda: per_target(unbiased.dual_value, normalised(variance.dual_value)),
        value=lambda: float(t.value),
    )


def _with_prior(arms: Floats, held: Floats) -> list[Floats]:
    """For every response the rows of all arms and, below, of the prior, which has one response: (n + rows held, r) each."""
    if arms.ndim == 2:
        return [np.vstack([arms, held])]
    nothing = np.zeros_like(held)
    return [np.vstack([arms[:, k], held if k == 0 else nothing]) for k in range(arms.shape[1])]
