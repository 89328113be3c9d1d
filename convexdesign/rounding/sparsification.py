"""Caratheodory: the same information from at most r(r+1)/2 + 1 arms, by null-space pivoting on lifted points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from convexdesign.arms.groups import as_groups
from convexdesign.criteria.exchange import information
from convexdesign.typing import Floats

__all__ = ["fewer_points", "lifted_points", "sparsify"]


# While more than this many times the final support is left, whole groups of arms are dropped at once.
GROUPS = 2


def sparsify(arms: Floats, weights: Floats, prior: Floats | None = None) -> Floats:
    """w' >= 0 with sum_i w'_i (u_i u_i', 1) = sum_i w_i (u_i u_i', 1) and at most r(r+1)/2 + 1 positive entries.

    The total weight and the information matrix are kept to rounding, hence so is every criterion. A design already within the
    bound is returned unchanged.

    Parameters
    ----------
    arms : array of shape (n, r) or (n, k, r)
        Whitened arms, or groups of k responses.
    weights : array of shape (n,)
        Nonnegative.
    prior : array of shape (r, r), optional
        Only sets the coordinates in which "to rounding" is measured: those where prior + information is the identity.

    Returns
    -------
    array of shape (n,)
        The weights w'.

    References
    ----------
    Caratheodory's theorem in the space of pairs (vech(uu'), 1).

    Examples
    --------
    >>> from convexdesign.rounding import sparsify
    >>> arms = np.array([[1.0], [1.0], [2.0], [3.0], [4.0]])
    >>> w = sparsify(arms, np.full(5, 0.2))
    >>> int(np.count_nonzero(w)), round(float(w @ arms[:, 0] ** 2), 9)
    (2, 6.2)
    """
    support = np.flatnonzero(weights > 0)
    U, w = arms[support], weights[support].astype(float)
    r = arms.shape[-1]
    lifted_dim = r * (r + 1) // 2 + 1
    if support.size <= lifted_dim:
        return weights
    out = np.zeros_like(weights, dtype=float)
    out[support] = fewer_points(lifted_points(U, w, prior), w)
    return out


def fewer_points(lifted: Floats, weights: Floats) -> Floats:
    """v >= 0 (n,) with v'P = w'P for the rows of P (n, m), to rounding, and independent rows where v > 0; w > 0."""
    w, dim = weights.astype(float), lifted.shape[1]
    goal = lifted.T @ w
    # Lightest first: arms of similar weight share a group, and the heavy ones are the last to go.
    kept = np.argsort(w, kind="stable")
    while kept.size > GROUPS * dim:
        kept = _drop_groups(lifted, w, np.array_split(kept, GROUPS * dim))
    w[kept] = _eliminate(lifted[kept], w[kept])
    kept = kept[w[kept] > 0]
    return _polish(lifted, goal, w, kept)


def lifted_points(U: Floats, w: Floats, prior: Floats | None) -> Floats:
    """Rows (svec(u u'), 1), in coordinates where the information of the design is the identity."""
    lam, Q = np.linalg.eigh(information(U, w, prior))
    Z = U @ (Q / np.sqrt(np.maximum(lam, lam[-1] * 1e-14)))
    rows, cols = np.triu_indices(U.shape[-1])
    scale = np.where(rows == cols, 1.0, np.sqrt(2.0))
    products = Z[..., rows] * Z[..., cols] * scale
    return np.hstack([as_groups(products).sum(axis=1), np.ones((U.shape[0], 1))])


def _drop_groups(lifted: Floats, w: Floats, groups: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """One round of Caratheodory on the groups' weighted sums: rescales w group by group; returns the arms left."""
    sums = np.array([w[g] @ lifted[g] for g in groups])
    factor = _eliminate(sums, np.ones(len(groups)))
    for g, f in zip(groups, factor):
        w[g] *= f
    return np.concatenate([g for g, f in zip(groups, factor) if f > 0])


def _eliminate(points: Floats, weights: Floats) -> Floats:
    """v >= 0 with v'points = w'points and independent points where v > 0: moves along the null space, pivoting."""
    norms = np.linalg.norm(points, axis=1)
    Q, R, _ = qr(points / norms[:, None], pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > 1e-11 * diagonal[0]))
    # Columns of N span {z: sum_i z_i points_i = 0}.
    N = np.asfortranarray(Q[:, rank:] / norms[:, None])
    v = weights.copy()
    alive = np.ones(v.size, dtype=bool)
    while N.shape[1]:
        z = N[:, 0] if N[:, 0].max() > 0 else -N[:, 0]
        rising = np.flatnonzero(alive & (z > 1e-13 * np.abs(z).max()))
        step = v[rising] / z[rising]
        i = rising[np.argmin(step)]
        v = np.maximum(v - step.min() * z, 0.0)
        v[i] = 0.0
        alive[i] = False
        # Eliminate coordinate i with the column that has its largest entry there: the others stay bounded.
        c = int(np.argmax(np.abs(N[i])))
        pivot = N[:, c] / N[i, c]
        N[:, c] = N[:, -1]
        N = N[:, :-1]
        N -= np.outer(N[i], pivot).T  # column-major, as N
    return v


def _polish(lifted: Floats, goal: Floats, w: Floats, kept: NDArray[np.intp]) -> Floats:
    """Least-squares correction on the kept arms, so that accumulated rounding does not move the information."""
    out = np.zeros_like(w)
    out[kept] = w[kept]
    for _ in range(2):
        correction = np.linalg.lstsq(lifted[kept].T, goal - lifted.T @ out, rcond=1e-11)[0]
        if np.all(out[kept] + correction >= 0):
            out[kept] += correction
    return out
