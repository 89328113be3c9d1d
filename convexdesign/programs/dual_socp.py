"""The dual of the minimax problem as a second-order cone program; the weights are its multipliers."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from convexdesign.problem.responses import stacked
from convexdesign.programs.program import Constrain, Program, normalised, per_target, prior_rows
from convexdesign.typing import Floats

__all__ = ["dual_socp"]


def dual_socp(
    arms: Floats, targets: Floats, prior: Floats | None = None, constrain: Constrain | None = None
) -> Program:
    """max sum_j c_j't_j  subject to  sum_j ( (c_j'u_i)^2 + c_j'A0c_j ) / mu_j <= 1 for every arm i,  mu in the simplex.

    Its value is sqrt(t*). With b_j = c_j / sqrt(mu_j) this is the bound by weak duality, maximised: the constraints
    say that its denominator is at most one, and sum_j c_j't_j <= sqrt(sum_j (c_j't_j)^2 / mu_j) by Cauchy-Schwarz, with
    equality at the optimum. For one target it is the dual of Elfving's linear program: max c't subject to |c'u_i| <= 1.

    The cones are one vectorised constraint, (c_j'k)^2 <= s_kj mu_j over the rows k of U and of A0^(1/2):
    |(2 c_j'k, s_kj - mu_j)| <= s_kj + mu_j.

    Duals: the weights, which exist only where W is the whole simplex (constrain must be None): w_i is the multiplier of
    arm i's constraint, divided by their sum. mu itself is a variable; c_j is a multiple of mu_j A(w)^-1 t_j.

    Source: G. Elfving, Optimum allocation in linear regression theory, Annals of Mathematical Statistics 23 (1952), for one
    target; the Lagrangian dual of `socp` in general.
    """
    if constrain is not None:
        raise ValueError(
            "dual_socp knows the weights only as multipliers over the whole simplex; constrain must be None"
        )
    n, r = arms.shape[0], arms.shape[-1]
    m = targets.shape[0]
    held = prior_rows(prior, r)
    own = stacked(arms)
    rows = np.vstack([own, held])
    c = cp.Variable((m, r), name="c")
    mu = cp.Variable(m, name="mu")
    S = cp.Variable((rows.shape[0], m), name="S")

    product = cp.vec(rows @ c.T, order="C")
    s, scale = cp.vec(S, order="C"), cp.vec(cp.outer(np.ones(rows.shape[0]), mu), order="C")
    cones = cp.SOC(s + scale, cp.vstack([2 * product, s - scale]), axis=0)
    load = cp.sum(S[: len(own)], axis=1)
    if arms.ndim == 3:
        load = cp.sum(cp.reshape(load, (n, arms.shape[1]), order="C"), axis=1)
    if held.size:
        load = load + cp.sum(S[len(own) :])
    capacity = load <= 1

    gain = cp.sum(cp.multiply(c, targets))
    problem = cp.Problem(cp.Maximize(gain), [capacity, cones, mu >= 0, cp.sum(mu) == 1])
    return Program(
        problem,
        weights=lambda: normalised(capacity.dual_value),
        multipliers=lambda: normalised(mu.value),
        vectors=lambda: per_target(c.value, normalised(mu.value)),
        value=lambda: float(gain.value) ** 2,
    )
