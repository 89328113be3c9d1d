"""The minimax value of weights and the bound of vectors, written out with dense inverses, for comparison."""

from __future__ import annotations

import numpy as np


def value(arms, targets, weights, prior=None) -> float:
    """max_j t_j'A(w)^-1 t_j."""
    A = sum((w * np.outer(u, u) for w, u in zip(weights, arms)), np.zeros((arms.shape[1],) * 2))
    A = A if prior is None else A + prior
    return max(float(t @ np.linalg.solve(A, t)) for t in targets)


def bound(arms, targets, vectors, prior=None, support=np.max) -> float:
    """sum_j (b_j't_j)^2 / (sum_j b_j'A0b_j + h_W(sum_j (b_j'u_i)^2)); support is h_W, of the simplex by default."""
    hits = sum(float(b @ t) ** 2 for b, t in zip(vectors, targets))
    held = 0.0 if prior is None else sum(float(b @ prior @ b) for b in vectors)
    return hits / (held + support(np.array([sum(float(b @ u) ** 2 for b in vectors) for u in arms])))


def vectors_of(arms, targets, weights, multipliers, prior=None):
    """sqrt(mu_j) A(w)^-1 t_j."""
    A = arms.T @ np.diag(weights) @ arms + (0 if prior is None else prior)
    return np.array([np.sqrt(m) * np.linalg.solve(A, t) for m, t in zip(multipliers, targets)])


def capped(limit):
    """h_W of the simplex with w <= limit: the best weights fill up the largest entries."""

    def support(q):
        left, total = 1.0, 0.0
        for x in np.sort(q)[::-1]:
            total += min(limit, left) * x
            left -= min(limit, left)
        return total

    return support
