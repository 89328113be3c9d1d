"""The multiplicative algorithm: every weight is multiplied by its own slope, relative to the mean.

For log det, w_i <- w_i q_i / r increases det A at every step (Silvey, Titterington and Torsney 1978; Yu 2010), slowly
near the end. For the minimax problem both sides move: the targets' multipliers grow with their variances, and the
weights follow w_i <- w_i sqrt(s_i), s_i the sensitivity of that average variance, which decreases it (Yu 2010).
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from convexdesign.frankwolfe.first_order import FirstOrder, uniform_start
from convexdesign.outcome import Outcome, Report
from convexdesign.problem import Canonical

__all__ = ["multiplicative"]


def multiplicative(
    canonical: Canonical,
    *,
    start: NDArray[np.float64] | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """w_i <- w_i q_i (log det) or w_i sqrt(s_i) (minimax), renormalised; the best certified weights met."""
    method = FirstOrder.begin("multiplicative", canonical, tol, max_iter, time_limit, report)
    power = 1.0 if method.follows_log_det else 0.5
    weights = uniform_start(canonical, start)
    share = 1.0
    for k in itertools.count(1):
        point = method.at(weights, share)
        if point is None or method.done(point):
            break
        share = 2.0 / (k + 2.0)
        weights = weights * (point.blend / point.blend.max()) ** power
        weights = np.where(weights > 1e-14 * weights.max(), weights, 0.0)
        weights /= weights.sum()
    return method.outcome()
