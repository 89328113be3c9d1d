"""D-optimal design, and with it the G-optimal one of Kiefer and Wolfowitz."""

from __future__ import annotations

import cvxpy as cp

from convexdesign.programs.multiplier import price_of_information, psd_root
from convexdesign.programs.program import Constrain, Program, information, normalised, simplex
from convexdesign.typing import Floats

__all__ = ["log_det"]


def log_det(arms: Floats, prior: Floats | None = None, constrain: Constrain | None = None) -> Program:
    """max log det A(w)  subject to  w in W: the smallest confidence ellipsoid.

    Without prior information and over the whole simplex the same weights minimise the largest variance of the arms
    themselves, max_i u_i'A(w)^-1 u_i, and that minimum is r, the rank (Kiefer and Wolfowitz); the multipliers of that
    minimax problem are the weights.

    Dual: the multiplier of the definition of A(w) is Q = A(w)^-1. Without prior information {x : x'Qx <= r} is the ellipsoid of
    least volume that contains all arms; those on its surface carry the weight. The vectors of the bound are the rows of
    Q^(1/2).

    Source: L. Vandenberghe, S. Boyd and S.-P. Wu, Determinant maximization with linear matrix inequality constraints, SIAM
    Journal on Matrix Analysis and Applications 19 (1998); J. Kiefer and J. Wolfowitz, The equivalence of two extremum
    problems, Canadian Journal of Mathematics 12 (1960).
    """
    w, members = simplex(arms.shape[0], constrain)
    A, definition = information(arms, prior, w)
    objective = cp.log_det(A)

    problem = cp.Problem(cp.Maximize(objective), [*definition, *members])
    return Program(
        problem,
        weights=lambda: normalised(w.value),
        multipliers=lambda: normalised(w.value),
        vectors=lambda: psd_root(price_of_information(definition[0].dual_value, arms.shape[-1])),
        value=lambda: float(objective.value),
    )
