"""A rounding problem on the range of the information that a design gives: a singular optimum needs no more than that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.arms.groups import squares
from convexdesign.criteria.exchange import MatrixCriterion, information, measured_range
from convexdesign.rounding.count_limits import Limits, added_up
from convexdesign.typing import Floats

__all__ = ["Ranged", "on_range", "restricted"]


@dataclass(frozen=True, eq=False)
class Ranged:
    """The problem in coordinates of a subspace; arms outside it are closed, by an upper limit of zero."""

    arms: Floats
    bounds: Limits
    criterion: MatrixCriterion
    prior: Floats | None


def on_range(arms: Floats, weights: Floats, bounds: Limits, criterion: MatrixCriterion, prior: Floats | None) -> Ranged:
    """The problem on the range of the design's information: a singular optimum (one target, say) needs no more.

    Arms outside that range are closed; unless they must appear, when everything stays as it is.
    """
    used = (weights > 0) | (bounds.lower > 0)
    A = information(arms, np.where(used, np.maximum(weights, 1e-3 / np.count_nonzero(used)), 0.0))
    Q = measured_range(A if prior is None else A + prior / bounds.total)
    ranged = restricted(arms, Q, bounds, criterion, prior)
    return Ranged(arms, bounds, criterion, prior) if ranged is None else ranged


def restricted(
    arms: Floats, Q: Floats, bounds: Limits, criterion: MatrixCriterion, prior: Floats | None
) -> Ranged | None:
    """The problem on the range of orthonormal Q (r, k), k < r; None where it does not make sense there."""
    inside_range = criterion.projected(Q) if Q.shape[1] < Q.shape[0] else None
    if inside_range is None:
        return None
    lost, size = (np.sqrt(squares(rows)) for rows in (arms - arms @ Q @ Q.T, arms))
    inside = lost <= 1e-7 * (size + 1e-300)
    closed = Limits(bounds.total, bounds.lower, np.where(inside, bounds.upper, 0))
    if added_up(closed.upper) < bounds.total or np.any(closed.lower > closed.upper):
        return None
    return Ranged(arms @ Q, closed, inside_range, None if prior is None else Q.T @ prior @ Q)
