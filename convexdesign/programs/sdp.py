"""The minimax problem as a semidefinite program: one Schur complement per target."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from convexdesign.programs.program import Constrain, Program, information, normalised, per_target, simplex
from convexdesign.typing import Floats

__all__ = ["sdp"]


def sdp(arms: Floats, targets: Floats, prior: Floats | None = None, constrain: Constrain | None = None) -> Program:
    """min t  subject to  [[A(w), t_j], [t_j', t]] psd for every target j,  w in W.

    The matrix is psd exactly when t_j lies in the range of A(w) and t_j'A(w)^+ t_j <= t (Schur complement).

    Duals: the multiplier of cone j is a psd matrix [[P_j, p_j], [p_j', mu_j]]. Its corner is mu_j, and complementary
    slackness gives p_j = -mu_j A(w)^-1 t_j.

    Source: S. Boyd and L. Vandenberghe, Convex Optimization (2004), sections 7.5 and A.5.5.
    """
    w, members = simplex(arms.shape[0], constrain)
    A, definition = information(arms, prior, w)
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
