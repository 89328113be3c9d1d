"""E-optimality: the least eigenvalue of the information matrix as a semidefinite program."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from convexdesign.criteria.program import Constrain, Program, information_variables, normalised, simplex, symmetric_root
from convexdesign.typing import Floats

__all__ = ["least_eigenvalue"]


def least_eigenvalue(
    arms: Floats,
    metric: Floats,
    prior: Floats | None = None,
    constrain: Constrain | None = None,
    responses: int = 1,
) -> Program:
    """max lam  subject to  A(w) - lam N psd,  w in W;  N = metric (r, r) positive definite.

    In the user's coordinates N is the identity and lam the least eigenvalue; in whitened coordinates u = W'y it is
    N = W'W. The multiplier E = sum_k e_k e_k' of the matrix inequality, <E, N> = 1, proves the bound
    lam* <= <E, A0> + max_i u_i'E u_i; the vectors are its e_k.

    Source: Boyd and Vandenberghe, Convex Optimization (2004), section 7.5.2.
    """
    r = arms.shape[1]
    w, members = simplex(len(arms) // responses, constrain)
    A, definition = information_variables(arms, prior, w)
    lam = cp.Variable(name="lam")
    inequality = A - lam * metric >> 0
    problem = cp.Problem(cp.Maximize(lam), [inequality, *definition, *members])

    def root() -> Floats:
        dual = inequality.dual_value
        return symmetric_root(np.full((r, r), np.nan) if dual is None else np.asarray(dual, dtype=float))

    return Program(
        problem,
        weights=lambda: normalised(w.value),
        multipliers=lambda: np.ones(r),
        vectors=root,
        value=lambda: float(lam.value),
    )
