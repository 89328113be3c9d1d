"""Frank-Wolfe with away steps: weight may also leave the worst supported arm, and the step is searched for log det.

For log det the best step along a direction is known in closed form (Fedorov 1972 towards an arm, Atwood 1973 away from
one), and the method converges linearly (Todd and Yildirim 2007). For a maximum of variances there is no such
theory; the step is 2/(k+2), cut where a weight would become negative.
"""

from __future__ import annotations

import itertools

import numpy as np

from convexdesign.frankwolfe.first_order import FirstOrder, Point, uniform_start
from convexdesign.outcome import Outcome, Report
from convexdesign.problem import Canonical
from convexdesign.typing import Floats

__all__ = ["away"]


def away(
    canonical: Canonical,
    *,
    start: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Each step goes towards the arm of largest slope or away from the supported one of least, whichever promises more."""
    method = FirstOrder.begin("frank-wolfe-away", canonical, tol, max_iter, time_limit, report)
    weights = uniform_start(canonical, start)
    share = 1.0
    for k in itertools.count(1):
        point = method.at(weights, share)
        if point is None or method.done(point):
            break
        level = float(weights @ point.slope)
        arm, longest = _direction(point, level)
        share = 2.0 / (k + 2.0)
        step = share if longest > 0 else -share
        if method.follows_log_det and canonical.prior is None and canonical.problem.responses == 1:
            step = _log_det_step(float(point.slope[arm]), level)
        step = float(np.clip(step, min(longest, 0.0), max(longest, 0.0)))
        weights = (1.0 - step) * weights
        weights[arm] = max(weights[arm] + step, 0.0)
        weights /= weights.sum()
    return method.outcome()


def _direction(point: Point, level: float) -> tuple[int, float]:
    """The arm to move towards (longest step 1) or away from (longest step negative: where its weight vanishes)."""
    towards = int(np.argmax(point.slope))
    supported = np.flatnonzero(point.weights)
    worst = int(supported[np.argmin(point.slope.take(supported))])
    w = float(point.weights[worst])
    if w < 1.0 and level - point.slope[worst] > point.slope[towards] - level:
        # The last bit of an arm without which nothing is measured must stay.
        return worst, -w / (1.0 - w) * (1.0 - 1e-9 * (supported.size <= point.factor.shape[0]))
    return towards, 1.0


def _log_det_step(q: float, r: float) -> float:
    """argmax of log det((1 - a) A + a y y'): a = (q/r - 1) / (q - 1), negative when q < r."""
    return (q / r - 1.0) / (q - 1.0) if q > 1.0 else -np.inf
