"""The plug-in oracle's design for small problems, at once: a single interior point on everything, without ceremony."""

from __future__ import annotations

import numpy as np

from convexdesign.frankwolfe.corrective_minimax import correct_minimax
from convexdesign.identification.allocations import Allocation
from convexdesign.typing import Floats

__all__ = ["plugin_design", "suits"]


# More arms and targets together are left to `solve`, which works on few of them at a time.
MOST_VECTORS = 160
# Weights below this share of the largest are what an interior point leaves of zero.
DUST = 1e-3


def suits(n: int, m: int) -> bool:
    """Whether n arms and m targets are few enough."""
    return n + m <= MOST_VECTORS


def plugin_design(arms: Floats, targets: Floats, tol: float) -> Allocation:
    """Weights (n,) with max_j t_j'A(w)^-1 t_j within `tol` of the least; arms (n, r), over their noise, span R^r.

    The value is that of the weights as returned, the bound that of the interior point's multipliers.

    >>> np.round(plugin_design(np.eye(2), np.array([[1.0, 0.0], [0.0, 2.0]]), 1e-6).weights, 3)
    array([0.2, 0.8])
    """
    found = correct_minimax(arms, targets, tol)
    weights = np.where(found.weights >= DUST * found.weights.max(), found.weights, 0.0)
    swept = _worst(arms, targets, weights / weights.sum())
    value = _worst(arms, targets, found.weights)
    bound = value / (1.0 + found.gap)
    if swept <= (1.0 + tol) * value:
        return Allocation(weights / weights.sum(), swept, bound)
    return Allocation(found.weights, value, bound)


def _worst(arms: Floats, targets: Floats, weights: Floats) -> float:
    try:
        L = np.linalg.cholesky((arms.T * weights) @ arms)
    except np.linalg.LinAlgError:
        return float("inf")
    image = np.linalg.solve(L, targets.T)
    return float(np.einsum("ij,ij->j", image, image).max())
