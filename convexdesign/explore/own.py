"""Settings of one's own on an interval, with their shares, beside the best ones: how good they are, where they should go."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexdesign.certificate import certify
from convexdesign.design import Design
from convexdesign.outcome import Status
from convexdesign.problem import canonicalise
from convexdesign.regions import RegionDesign
from convexdesign.regions.criteria import dimension, gap_of, vectors_of
from convexdesign.regions.exchange import inverse_root
from convexdesign.regions.verification import value_of
from convexdesign.typing import Floats

__all__ = ["judged"]

# Settings this close to the best have its sensitivity: their own vectors need not be those of the optimum where they are few.
AS_GOOD = 1e-5


def judged(best: RegionDesign, x: Floats, shares: Floats, axis: Floats) -> dict[str, Any]:
    """Settings x (k,) of one factor with shares (k,), against the best design for the same problem.

    Gives their value, a proven lower bound on their efficiency, and their sensitivity at `axis` and at x, scaled so that its
    mean over their own measurements is the bound of the best design: where it is higher, one more measurement does more than
    those that are made. Of G it is the variance of the prediction, scaled alike. It is left out where they do not measure all
    that is asked for.
    """
    problem, at = best.problem.adapted, np.concatenate([x, axis])[:, None]
    piece = np.zeros(len(at), dtype=np.intp)
    own = {"points": [{"x": float(v), "weight": float(w)} for v, w in zip(x, shares)]}
    value, error, _ = value_of(problem, piece[: len(x)], at[: len(x)], shares, best)
    if not np.isfinite(value) or value == best.finite.criterion.worst_value:
        return own | {"value": None, "efficiency": 0.0, "sensitivity": None}
    gap = gap_of(best.certificate.criterion, value, best.bound, dimension(best.finite), error)
    heights = best.heights(piece, at)
    if gap > AS_GOOD:
        finite = problem.finite(piece, at, problem.frame.rows(piece, at) if problem.predicts_region else None)
        canonical, weights = canonicalise(finite), np.concatenate([shares, np.zeros(len(axis))])
        design = Design(finite, weights, certify(canonical, weights), Status.STALLED, known=canonical)
        B = inverse_root(design) if problem.predicts_region else vectors_of(design, None).B
        image = problem.frame.rows(piece, at) @ B.T
        heights = np.sum(image**2, axis=1)
        if problem.predicts_region:
            heights *= best.certificate.most / best.bound
        else:
            heights /= problem.prices(at)
            heights *= best.certificate.most / float(shares @ heights[: len(x)])
    for point, height in zip(own["points"], heights):
        point["height"] = float(height)
    return own | {
        "value": float(value),
        "efficiency": float(1.0 / (1.0 + gap)),
        "sensitivity": [float(h) if np.isfinite(h) else None for h in heights[len(x) :]],
    }
