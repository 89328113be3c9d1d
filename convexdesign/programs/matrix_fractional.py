"""The minimax problem as it is written, with CVXPY's matrix-fractional function v'A^-1 v."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from convexdesign.programs.multiplier import price_of_information, psd_root
from convexdesign.programs.program import Constrain, Program, information, normalised, simplex
from convexdesign.typing import Floats

__all__ = ["matrix_fractional"]


def matrix_fractional(
    arms: Floats, targets: Floats, prior: Floats | None = None, constrain: Constrain | None = None
) -> Program:
    """min t  subject to  t_j'A(w)^-1 t_j <= t for every target j,  w in W.

    (v, A) -> v'A^-1 v is jointly convex for A > 0, so the problem is convex as it stands; CVXPY turns each term into the
    semidefinite cone that `sdp` writes out.

    Duals: mu_j belongs to t_j'A(w)^-1 t_j <= t. The multiplier of the definition of A is Q = A^-1 (sum_j mu_j t_j t_j') A^-1,
    and the vectors of the bound are rows B with B'B = Q: B = O Q^(1/2), where the rotation O makes sum_j sqrt(mu_j) b_j't_j
    largest (a Procrustes problem).

    Source: S. Boyd and L. Vandenberghe, Convex Optimization (2004), example 3.4.
    """
    w, members = simplex(arms.shape[0], constrain)
    A, definition = information(arms, prior, w)
    t = cp.Variable(name="t")
    variance = cp.hstack([cp.matrix_frac(v, A) for v in targets]) <= t

    def vectors() -> Floats:
        root = psd_root(price_of_information(definition[0].dual_value, arms.shape[-1]))
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
