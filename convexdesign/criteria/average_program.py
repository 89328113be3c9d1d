"""Average variance (A-, I- and L-optimality) as a matrix-fractional program."""

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

__all__ = ["average_variance"]


def average_variance(
    arms: Floats,
    contrast_matrix: Floats,
    prior: Floats | None = None,
    constrain: Constrain | None = None,
    responses: int = 1,
) -> Program:
    """min tr(L' A(w)^-1 L)  subject to  A(w) = A0 + sum_i w_i u_i u_i',  w in W;  M = LL', L = contrast_matrix L (r, k).

    `matrix_frac(L, A)` is tr(L'A^-1L), jointly convex in L and A: the trace of the INVERSE. (The trace of A itself is
    linear in w and puts all weight on the longest arm: another criterion, and a useless one.)

    The multiplier of the definition of A is Q = A^-1 M A^-1; the vectors of the bound are the columns of B = Q^(1/2) O, where
    the rotation O makes tr(B'L) largest (a Procrustes problem).

    Source: Boyd and Vandenberghe, Convex Optimization (2004), section 7.5.2.
    """
    w, members = simplex(len(arms) // responses, constrain)
    A, definition = information_variables(arms, prior, w)
    problem = cp.Problem(cp.Minimize(cp.matrix_frac(contrast_matrix, A)), [*definition, *members])

    def vectors() -> Floats:
        root = symmetric_root(price_of_information(definition[0].dual_value, contrast_matrix.shape[0]))
        if not np.all(np.isfinite(root)):
            return np.full(contrast_matrix.T.shape, np.nan)
        left, _, right = np.linalg.svd(root @ contrast_matrix, full_matrices=False)
        return np.asarray((root @ left @ right).T)

    return Program(
        problem,
        weights=lambda: normalised(w.value),
        multipliers=lambda: np.ones(contrast_matrix.shape[1]),
        vectors=vectors,
        value=lambda: float(problem.objective.value),
    )
