"""Negligible weights: arms without which a design is as good, as far as its certificate can tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import repeat_per_response
from convexdesign.certificate import Certificate, revalued
from convexdesign.problem import Canonical
from convexdesign.typing import Floats

__all__ = ["without_least_leverage", "without_negligible"]


# What interior points leave of zero is below one of these, the most first that the certificate allows.
INTERIOR_CUTS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
# What other methods leave of zero is below this share of the tolerance times the largest weight.
SHARE_OF_TOLERANCE = 1e-2


def without_least_leverage(weights: Floats, leverages: Floats, allowance: float) -> Floats:
    """The weights (k,), renormalised, without those of least l_i = w_i y_i'A^-1y_i as long as these sum to the allowance.

    Removing arms of total delta = sum l_i leaves A' >= (1 - delta) A, because y y' <= (y'A^-1y) A; so no variance grows
    by more than the factor 1 / (1 - delta), whatever the target.
    """
    if leverages.min() > allowance:
        return weights
    order = np.argsort(leverages, kind="stable")
    gone = order[np.cumsum(leverages[order]) <= allowance]
    kept = weights.copy()
    kept[gone] = 0.0
    # With much information held, no arm may matter: then all weights are negligible, and stay.
    return np.asarray(kept / kept.sum()) if kept.any() else weights


def without_negligible(
    canonical: Canonical, weights: Floats, certificate: Certificate, tol: float, interior: bool
) -> tuple[Floats, Certificate]:
    """The weights (n,) without those that a solver meant for zero, and their certificate, which stays within tol.

    interior: whether they come from interior points, whose zeros are large; then half of tol is left alone. A direction held
    only by small weights stays held: whether a target lies in what is left would be a matter of rounding. Only bounds on the
    weights are kept to; with other constraints nothing is removed.
    """
    weight_set = canonical.problem.weight_set
    if not weight_set.is_box:
        return weights, certificate
    least = 0.0 if weight_set.lower is None else weight_set.lower
    cuts = [(cut, tol / 2) for cut in INTERIOR_CUTS] if interior else []
    for cut, allowed in [*cuts, (SHARE_OF_TOLERANCE * tol * float(weights.max()), tol)]:
        small = (weights > least) & (weights - least < cut)
        if not small.any():
            continue
        fewer = np.where(small & ~_spanning(canonical, weights), least, weights)
        fewer = fewer / fewer.sum() if weight_set.is_simplex else weight_set.projected(fewer)
        again = revalued(certificate, canonical, fewer)
        if again.gap <= max(certificate.gap, allowed) and again.rank == certificate.rank:
            return fewer, replace(again, feasibility=weight_set.violation(fewer))
    return weights, certificate


def _spanning(canonical: Canonical, weights: Floats) -> NDArray[np.bool_]:
    """Marks the arms that, with the prior, span all that is measured: pivots of the rows sqrt(w_i) u_i."""
    from scipy.linalg import qr

    carried = np.flatnonzero(weights != 0)
    prior = canonical.prior_rows
    arms = canonical.whiten_arms(carried)
    rows = np.vstack([prior, np.sqrt(repeat_per_response(weights[carried], arms))[:, None] * arms])
    pivots = qr(rows.T, mode="r", pivoting=True, check_finite=False)[1][: canonical.rank]
    marked = np.zeros(weights.size, dtype=bool)
    marked[repeat_per_response(carried, arms)[pivots[pivots >= len(prior)] - len(prior)]] = True
    return marked
