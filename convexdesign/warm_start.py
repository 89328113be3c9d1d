"""What a solve may start from: a design of a related problem, or weights alone. Checked for its form, never trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arms.labels import as_labelled
from convexdesign.arms.read import read_vector
from convexdesign.certificate import DualCertificate
from convexdesign.design import Design
from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.typing import Floats

__all__ = ["WarmStart", "read_warm_start"]


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Weights (k,) of the first k <= n arms, and the dual vectors that came with them; None for what there is not."""

    weights: Floats | None = None
    dual: DualCertificate | None = None


def read_warm_start(given: Design | ArrayLike | None, problem: DesignProblem) -> WarmStart:
    """The start for a problem with n arms; InputError for more weights than arms, and for what are no weights.

    Weights alone may have any positive sum; with labels they are put in the order of the arms' names.
    """
    if given is None:
        return WarmStart()
    n, names = problem.n_arms, problem.arms.names
    if isinstance(given, Design):
        _check_size(given.weights.size, n)
        weights = given.weights
        # A design that was tampered with says nothing: no weights at all, or far more than one.
        known = 0.0 < weights.max(initial=0.0) <= 1.0 + 1e-6
        return WarmStart(weights if known else None, given.certificate.dual)
    size = np.size(as_labelled(given, "warm_start").values)
    _check_size(size, n)
    weights = read_vector(given, "warm_start", size, None if names is None else names[:size])
    wrong = np.flatnonzero(weights < 0)
    if wrong.size:
        raise InputError(f"warm_start[{wrong[0]}] is {weights[wrong[0]]:g}; weights cannot be negative")
    total = float(weights.sum())
    if not total > 0:
        raise InputError("all weights of warm_start are zero; leave it out to start from nothing")
    return WarmStart(weights / total)


def _check_size(size: int, n: int) -> None:
    if size > n:
        raise InputError(f"warm_start has {size} arms, the problem {n}: arms may be added at the end, not removed")
