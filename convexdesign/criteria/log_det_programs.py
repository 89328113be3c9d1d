"""log det of the information matrix: D-optimality (with it the G-optimality of Kiefer and Wolfowitz), and D_s."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from convexdesign.criteria.program import (
    Constrain,
    Program,
    information_variables,
    normalised,
    price_of_information,
    simplex,
    symmetric_root,
)
from convexdesign.typing import Floats

__all__ = ["interest_log_det", "log_det"]


def log_det(
    arms: Floats, prior: Floats | None = None, constrain: Constrain | None = None, responses: int = 1
) -> Program:
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
    w, members = simplex(len(arms) // responses, constrain)
    A, definition = information_variables(arms, prior, w)
    objective = cp.log_det(A)

    problem = cp.Problem(cp.Maximize(objective), [*definition, *members])
    return Program(
        problem,
        weights=lambda: normalised(w.value),
        multipliers=lambda: normalised(w.value),
        vectors=lambda: symmetric_root(price_of_information(definition[0].dual_value, arms.shape[1])),
        value=lambda: float(objective.value),
    )


def interest_log_det(
    arms: Floats,
    interest: Floats,
    prior: Floats | None = None,
    constrain: Constrain | None = None,
    responses: int = 1,
) -> Program:
    """max log det Z  subject to  A(w) - K Z K' psd,  w in W;  K = interest (r, s), Z (s, s) symmetric.

    The largest Z with KZK' <= A is (K'A^-1K)^-1, the information about K'theta once the other parameters have been
    fitted (a Schur complement where K selects coordinates); the inequality is linear in w and Z together, so no inverse
    appears.

    The multiplier of the matrix inequality is P = CK(K'CK)^-1 K'C, C = A^-1; the vectors of the bound are the columns of
    P^(1/2)Q, with Q an orthonormal basis of the range of P^(1/2)K.

    Source: Pukelsheim, Optimal Design of Experiments (2006), sections 3.2 and 3.11.
    """
    w, members = simplex(len(arms) // responses, constrain)
    A, definition = information_variables(arms, prior, w)
    Z = cp.Variable((interest.shape[1],) * 2, symmetric=True, name="Z")
    fits = A - interest @ Z @ interest.T >> 0

    def vectors() -> Floats:
        dual = fits.dual_value
        root = symmetric_root(np.full((arms.shape[1],) * 2, np.nan) if dual is None else np.asarray(dual, dtype=float))
        if not np.all(np.isfinite(root)):
            return np.full(interest.T.shape, np.nan)
        return np.asarray((root @ np.linalg.qr(root @ interest)[0]).T)

    problem = cp.Problem(cp.Maximize(cp.log_det(Z)), [fits, *definition, *members])
    return Program(
        problem,
        weights=lambda: normalised(w.value),
        multipliers=lambda: np.zeros(0),
        vectors=vectors,
        value=lambda: float(problem.objective.value),
    )
