"""Values and bounds recomputed in ball arithmetic at 400 bits, sharing no code with the package.

Rank-deficient geometry is handled by coordinates: on the range of the arms, r independent coordinates determine a
vector, so v'A^+v = v_S'(A_SS)^-1 v_S for such a set S.
"""

from __future__ import annotations

import math

import flint
import numpy as np
import scipy.linalg

BITS = 400


def independent_coordinates(X: np.ndarray, tolerance: float = 1e-10) -> np.ndarray:
    """Indices of r columns that determine the rows of X, by pivoted QR of rows and columns scaled to size one."""
    size = np.abs(X).max(axis=1, keepdims=True)
    unit = X / np.where(size > 0, size, 1)
    for _ in range(3):
        unit = unit / np.where((c := np.abs(unit).max(axis=0)) > 0, c, 1)
        unit = unit / np.where((c := np.linalg.norm(unit, axis=1, keepdims=True)) > 0, c, 1)
    R, pivot = scipy.linalg.qr(unit, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return np.sort(pivot[: int((diagonal > tolerance * diagonal[0]).sum())])


def minimax_value(arms, variance, targets, weights, prior=None) -> float:
    """max_j v_j'A(w)^-1v_j on the range, from the floats read exactly; infinite where A is singular."""
    X, V = np.asarray(arms, float), np.atleast_2d(np.asarray(targets, float))
    S = independent_coordinates(X)
    flint.ctx.prec = BITS
    A = information(X[:, S], variance, weights, None if prior is None else np.asarray(prior)[np.ix_(S, S)])
    try:
        solved = A.solve(flint.arb_mat(V[:, S].T.tolist()))
    except ZeroDivisionError:
        return math.inf
    worst = max(
        (sum((flint.arb(float(V[j, s])) * solved[k, j] for k, s in enumerate(S)), flint.arb(0)) for j in range(len(V))),
        key=lambda ball: float(ball.mid()),
    )
    assert float(worst.rad()) <= 1e-12 * abs(float(worst.mid())) + 1e-300
    return float(worst.mid())


def information(X, variance, weights, prior=None):
    """sum_i w_i x_i x_i' / s_i^2 (+ prior) as a ball matrix."""
    w, s2 = np.asarray(weights, float), np.broadcast_to(np.asarray(variance, float), len(X))
    keep = np.flatnonzero(w)
    left = flint.arb_mat(X[keep].T.tolist())
    scaled = flint.arb_mat(
        [[flint.arb(float(x)) * flint.arb(float(w[i])) / flint.arb(float(s2[i])) for x in X[i]] for i in keep]
    )
    A = left * scaled
    return A if prior is None else A + flint.arb_mat(np.asarray(prior).tolist())


def minimax_bound(arms, variance, vectors, targets, prior=None) -> float:
    """sum_j (b_j'v_j)^2 / (sum_j b_j'A0b_j + max_i sum_j (b_j'x_i)^2 / s_i^2), in extended-precision arithmetic."""
    X, V = np.asarray(arms, np.longdouble), np.asarray(targets, np.longdouble)
    B = np.asarray(vectors, np.longdouble)
    s2 = np.broadcast_to(np.asarray(variance, np.longdouble), len(X))
    # Scaled so that no square overflows; the bound does not depend on the scale of B.
    B = B / np.abs(B).max()
    hits = ((B * V).sum(axis=1) ** 2).sum()
    most = (((X @ B.T) ** 2).sum(axis=1) / s2).max()
    if prior is not None:
        most = most + ((B @ np.asarray(prior, np.longdouble)) * B).sum()
    return float(hits / most)


def log_det(arms, variance, weights) -> float:
    """log det of the information matrix of arms that span, from a 400-bit determinant."""
    flint.ctx.prec = BITS
    determinant = information(np.asarray(arms, float), variance, weights).det()
    return float(determinant.log().mid())


def targets_of(kind: str, items: np.ndarray) -> np.ndarray:
    """The targets of the simple kinds, written out."""
    if kind == "xy-allocation":
        i, j = np.triu_indices(len(items), 1)
        return items[i] - items[j]
    return items
