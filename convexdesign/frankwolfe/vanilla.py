"""Frank-Wolfe with the textbook step 2/(k+2): one arm a step, and on a maximum of variances it stalls.

The maximum over targets is not smooth: the step follows one worst target while others wait, and the value hovers a
percent or so above the optimum for thousands of steps. It is here to be compared with.
Source: Frank and Wolfe (1956); Jaggi (2013) for the step.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from convexdesign.frankwolfe.first_order import FirstOrder, uniform_start
from convexdesign.outcome import Outcome, Report
from convexdesign.problem import Canonical

__all__ = ["vanilla"]


def vanilla(
    canonical: Canonical,
    *,
    start: NDArray[np.float64] | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """w <- (1 - 2/(k+2)) w + 2/(k+2) e_i, i the arm with the largest slope; the best certified weights met."""
    method = FirstOrder.begin("frank-wolfe-vanilla", canonical, tol, max_iter, time_limit, report)
    weights = uniform_start(canonical, start)
    share = 1.0
    for k in itertools.count(1):
        point = method.at(weights, share)
        if point is None or method.done(point):
            break
        share = 2.0 / (k + 2.0)
        weights = (1.0 - share) * weights
        weights[np.argmax(point.slope)] += share
    return method.outcome()
