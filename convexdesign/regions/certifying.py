"""The certificate of a design over a list of settings for the whole region, with all rounding of its value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from convexdesign.evaluation import evaluate
from convexdesign.regions.criteria import Vectors, dimension, gap_of, moments_share, proven_bound
from convexdesign.regions.design import RegionCertificate
from convexdesign.regions.everywhere import prove_everywhere
from convexdesign.regions.exchange import Search, SearchOutcome, inverse_root
from convexdesign.regions.proof import RegionProver, SensitivityBound
from convexdesign.regions.sum_of_squares import UNIT
from convexdesign.roundoff import value_error
from convexdesign.typing import Floats, Indices

__all__ = ["certified", "rounding_of_rows"]


def certified(
    search: Search, prover: RegionProver | None, found: SearchOutcome, tol: float, deadline: float
) -> tuple[RegionCertificate, tuple[Indices, Floats] | None]:
    """The certificate of a design over a list, and the settings that the search has missed, where there are any."""
    finite, canonical, vectors = found.design.problem, found.design.canonical, found.vectors
    shift = search.frame.log_det
    at = evaluate(found.design.canonical, found.design.weights)
    error = value_error(found.design.canonical, found.design.weights, at) + moments_share(finite)
    error += rounding_of_rows(search, found)
    if search.problem.is_kiefer_wolfowitz:
        return kiefer_wolfowitz(search, prover, found, error, tol, deadline)
    value, dim = found.design.value, dimension(finite)
    if finite.criterion.on_range:
        value -= 2.0 * shift
        error += 4 * UNIT * (abs(value) + 2.0 * abs(shift)) / dim
    worst: SensitivityBound | None = None
    if search.is_free_g:
        worst, missed = worst_variance(search, found, tol, deadline)
        value = worst.value
        if missed is not None:
            assert search.targets is not None
            search.targets = np.vstack([search.targets, search.frame.rows(*missed, weighted=False)])

    def gap(most: float) -> float:
        return gap_of(finite.criterion, value, proven_bound(canonical, vectors, most, shift), dim, error)

    proven, missed = prove_everywhere(search, prover, vectors.B, found.most, lambda most: gap(most) <= tol, deadline)
    bound = proven_bound(canonical, vectors, proven.value, shift)
    certificate = RegionCertificate(
        finite.criterion,
        value,
        bound,
        gap(proven.value),
        kind_of(search, proven),
        proven.degree,
        proven.value,
        found.most,
        vectors,
        error,
        proven.next_seconds,
        proven.next_memory,
    )
    return certificate, missed


def kiefer_wolfowitz(
    search: Search, prover: RegionProver | None, found: SearchOutcome, error: float, tol: float, deadline: float
) -> tuple[RegionCertificate, tuple[Indices, Floats] | None]:
    """G with one price s^2 c: the optimum is s^2 c d, the design's worst variance s^2 c times its largest sensitivity."""
    price = float(search.problem.prices(np.zeros((1, search.region.q)))[0])
    d = search.frame.d
    vectors = Vectors(inverse_root(found.design), np.arange(d))
    found = replace(found, vectors=vectors, most=search.largest(found.where, found.x, vectors.B))
    rows = search.frame.rows(found.where, found.x, weighted=False)
    criterion = search.problem.finite(found.where, found.x, rows).criterion

    def gap(most: float) -> float:
        return gap_of(criterion, most, float(d), d, error)

    proven, missed = prove_everywhere(search, prover, vectors.B, found.most, lambda most: gap(most) <= tol, deadline)
    certificate = RegionCertificate(
        criterion,
        proven.value * price * (1.0 + 4e-16),
        d * price * (1.0 - 4e-16),
        gap(proven.value),
        kind_of(search, proven),
        proven.degree,
        proven.value,
        found.most,
        vectors,
        error,
        proven.next_seconds,
        proven.next_memory,
    )
    return certificate, missed


def kind_of(search: Search, proven: SensitivityBound) -> str:
    """What the bound over the region was proven by."""
    if not np.isfinite(proven.value):
        return "none"
    if not search.problem.is_polynomial:
        return "interval branch and bound"
    return "sum of coefficients" if proven.by_coefficients else "sum of squares"


def worst_variance(
    search: Search, found: SearchOutcome, tol: float, deadline: float
) -> tuple[SensitivityBound, tuple[Indices, Floats] | None]:
    """A proven upper bound on the largest variance of the mean outcome over the region."""
    vectors = Vectors(inverse_root(found.design), np.arange(search.frame.d))
    enough = found.value * (1.0 + tol / 4.0)
    return prove_everywhere(
        search, search.variances, vectors.B, found.value, lambda most: most <= enough, deadline, priced=False
    )


def rounding_of_rows(search: Search, found: SearchOutcome) -> float:
    """By which share a value may be off because the rows h(x) are rounded: |A^-1/2 dA A^-1/2| <= 2 e + e^2."""
    level, Q = np.linalg.eigh(found.design.information)
    seen = level > 1e-12 * level[-1]
    root = np.abs(Q[:, seen] / np.sqrt(level[seen])).T
    worst = 0.0
    for piece in np.unique(found.where):
        mine = found.where == piece
        off = float(np.linalg.norm(root @ search.frame.rows_error(int(piece))))
        worst = max(worst, off / float(np.sqrt(search.problem.prices(found.x[mine]).min())))
    # The inverse that G uses is off by no more than its own condition makes of rounding.
    own = len(level) * UNIT * float(level[-1] / level[seen][0]) if search.problem.predicts_region else 0.0
    return 2.0 * worst + worst**2 + 8.0 * own
