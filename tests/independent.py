"""Values and bounds recomputed in ball arithmetic at 400 bits, sharing no code with the package.

Rank-deficient geometry is handled by coordinates: on the range of the arms, r independent coordinates determine a
vector, so v'A^+v = v_S'(A_SS)^-1 v_S for such a set S. Arms with several responses are matrices, (n, d, r), and their
`variance` covariances (n, r, r), inverted exactly.
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
    S = independent_coordinates(X if X.ndim == 2 else response_vectors(X))
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
    if X.ndim == 3:
        return group_information(X, variance, weights, prior)
    w, s2 = np.asarray(weights, float), np.broadcast_to(np.asarray(variance, float), len(X))
    keep = np.flatnonzero(w)
    left = flint.arb_mat(X[keep].T.tolist())
    scaled = flint.arb_mat(
        [[flint.arb(float(x)) * flint.arb(float(w[i])) / flint.arb(float(s2[i])) for x in X[i]] for i in keep]
    )
    A = left * scaled
    return A if prior is None else A + flint.arb_mat(np.asarray(prior).tolist())


def response_vectors(arms):
    """Every response vector as a row, (n r, d)."""
    X = np.asarray(arms, float)
    return X.transpose(0, 2, 1).reshape(-1, X.shape[1])


def rational(matrix):
    """The doubles of a matrix, exactly."""
    return flint.fmpq_mat(
        len(matrix), len(matrix[0]), [flint.fmpq(*float(x).as_integer_ratio()) for row in matrix for x in row]
    )


def group_information(X, covariances, weights, prior=None):
    """sum_i w_i X_i S_i^-1 X_i' (+ prior) as a ball matrix, from exact rationals."""
    d = X.shape[1]
    A = rational(np.zeros((d, d)) if prior is None else prior)
    for i in np.flatnonzero(weights):
        Xi = rational(X[i])
        A = A + rational([[float(weights[i])]])[0, 0] * (Xi * rational(covariances[i]).inv() * Xi.transpose())
    return flint.arb_mat(d, d, [flint.arb(x) for x in A.entries()])


def sensitivities(X, covariances, vectors):
    """sum_j b_j'X_i S_i^-1 X_i'b_j of every arm, from exact rationals."""
    B = rational(np.asarray(vectors, float))
    out = []
    for Xi, S in zip(X, covariances):
        images = B * rational(Xi)
        product = images * rational(S).inv() * images.transpose()
        out.append(float(flint.arb(sum((product[j, j] for j in range(B.nrows())), flint.fmpq(0))).mid()))
    return np.array(out)


def minimax_bound(arms, variance, vectors, targets, prior=None, support=None) -> float:
    """sum_j (b_j'v_j)^2 / (sum_j b_j'A0b_j + max_i sum_j (b_j'x_i)^2 / s_i^2), in extended-precision arithmetic.

    support: the largest w'q over what weights may be, instead of the largest q_i.
    """
    X, V = np.asarray(arms, np.longdouble), np.asarray(targets, np.longdouble)
    B = np.asarray(vectors, np.longdouble)
    # Scaled so that no square overflows; the bound does not depend on the scale of B.
    B = B / np.abs(B).max()
    hits = ((B * V).sum(axis=1) ** 2).sum()
    if X.ndim == 3:
        q = sensitivities(np.asarray(arms, float), variance, B)
    else:
        s2 = np.broadcast_to(np.asarray(variance, np.longdouble), len(X))
        q = ((X @ B.T) ** 2).sum(axis=1) / s2
    most = q.max() if support is None else support(q.astype(float))
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
