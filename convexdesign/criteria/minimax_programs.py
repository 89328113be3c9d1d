"""The minimax problem in four conic formulations: cones of second order, their dual, semidefinite, matrix-fractional."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from convexdesign.criteria.program import (
    Constrain,
    Program,
    information_variables,
    normalised,
    per_target,
    price_of_information,
    prior_rows,
    simplex,
    symmetric_root,
)
from convexdesign.typing import Floats

__all__ = ["dual_socp", "matrix_fractional", "sdp", "socp"]


def socp(
    arms: Floats,
    targets: Floats,
    prior: Floats | None = None,
    constrain: Constrain | None = None,
    responses: int = 1,
) -> Program:
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
    n, r = len(arms) // responses, arms.shape[1]
    m = targets.shape[0]
    rows = _with_prior(arms, prior_rows(prior, r), responses)
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


def _with_prior(arms: Floats, held: Floats, responses: int) -> list[Floats]:
    """For every response the rows of all arms and, below, of the prior, which has one response: (n + rows held, r) each."""
    nothing = np.zeros_like(held)
    return [np.vstack([arms[k::responses], held if k == 0 else nothing]) for k in range(responses)]


def dual_socp(
    arms: Floats,
    targets: Floats,
    prior: Floats | None = None,
    constrain: Constrain | None = None,
    responses: int = 1,
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
    n, r = len(arms) // responses, arms.shape[1]
    m = targets.shape[0]
    held = prior_rows(prior, r)
    rows = np.vstack([arms, held])
    c = cp.Variable((m, r), name="c")
    mu = cp.Variable(m, name="mu")
    S = cp.Variable((rows.shape[0], m), name="S")

    product = cp.vec(rows @ c.T, order="C")
    s, scale = cp.vec(S, order="C"), cp.vec(cp.outer(np.ones(rows.shape[0]), mu), order="C")
    cones = cp.SOC(s + scale, cp.vstack([2 * product, s - scale]), axis=0)
    load = cp.sum(S[: len(arms)], axis=1)
    if responses > 1:
        load = cp.sum(cp.reshape(load, (n, responses), order="C"), axis=1)
    if held.size:
        load = load + cp.sum(S[len(arms) :])
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


def sdp(
    arms: Floats,
    targets: Floats,
    prior: Floats | None = None,
    constrain: Constrain | None = None,
    responses: int = 1,
) -> Program:
    """min t  subject to  [[A(w), t_j], [t_j', t]] psd for every target j,  w in W.

    The matrix is psd exactly when t_j lies in the range of A(w) and t_j'A(w)^+ t_j <= t (Schur complement).

    Duals: the multiplier of cone j is a psd matrix [[P_j, p_j], [p_j', mu_j]]. Its corner is mu_j, and complementary
    slackness gives p_j = -mu_j A(w)^-1 t_j.

    Source: S. Boyd and L. Vandenberghe, Convex Optimization (2004), sections 7.5 and A.5.5.
    """
    w, members = simplex(len(arms) // responses, constrain)
    A, definition = information_variables(arms, prior, w)
    t = cp.Variable((1, 1), name="t")
    # CVXPY states semidefinite cones one at a time.
    cones = [cp.PSD(cp.bmat([[A, v[:, None]], [v[None, :], t]])) for v in targets]

    def duals() -> Floats:
        """Last rows (p_j, mu_j) of the dual matrices, (m, r + 1)."""
        return np.array(
            [np.full(len(v) + 1, np.nan) if k.dual_value is None else k.dual_value[-1] for k, v in zip(cones, targets)]
        )

    problem = cp.Problem(cp.Minimize(t[0, 0]), [*cones, *definition, *members])
    return Program(
        problem,
        weights=lambda: normalised(w.value),
        multipliers=lambda: normalised(duals()[:, -1]),
        vectors=lambda: per_target(duals()[:, :-1], normalised(duals()[:, -1])),
        value=lambda: float(t.value[0, 0]),
    )


def matrix_fractional(
    arms: Floats,
    targets: Floats,
    prior: Floats | None = None,
    constrain: Constrain | None = None,
    responses: int = 1,
) -> Program:
    """min t  subject to  t_j'A(w)^-1 t_j <= t for every target j,  w in W.

    (v, A) -> v'A^-1 v is jointly convex for A > 0, so the problem is convex as it stands; CVXPY turns each term into the
    semidefinite cone that `sdp` writes out.

    Duals: mu_j belongs to t_j'A(w)^-1 t_j <= t. The multiplier of the definition of A is Q = A^-1 (sum_j mu_j t_j t_j') A^-1,
    and the vectors of the bound are rows B with B'B = Q: B = O Q^(1/2), where the rotation O makes sum_j sqrt(mu_j) b_j't_j
    largest (a Procrustes problem).

    Source: S. Boyd and L. Vandenberghe, Convex Optimization (2004), example 3.4.
    """
    w, members = simplex(len(arms) // responses, constrain)
    A, definition = information_variables(arms, prior, w)
    t = cp.Variable(name="t")
    variance = cp.hstack([cp.matrix_frac(v, A) for v in targets]) <= t

    def vectors() -> Floats:
        root = symmetric_root(price_of_information(definition[0].dual_value, arms.shape[1]))
        mu = normalised(variance.dual_value)
        if not (np.all(np.isfinite(root)) and np.all(np.isfinite(mu))):
            return np.full(targets.shape, np.nan)
        left, _, right = np.linalg.svd((np.sqrt(mu)[:, None] * targets) @ root, full_matrices=False)
        return np.asarray(left @ right @ root)

    problem = cp.Problem(cp.Minimize(t), [variance, *definition, *members])
    return Program(
        problem,
        weights=lambda: normalised(w.value),
        multipliers=lambda: normalised(variance.dual_value),
        vectors=vectors,
        value=lambda: float(t.value),
    )
