"""The proof of settings and weights that are given, made anew: of a design that was read from a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from convexdesign.problem import DesignProblem
from convexdesign.regions.certifying import certified
from convexdesign.regions.criteria import Vectors, vectors_of
from convexdesign.regions.design import RegionCertificate
from convexdesign.regions.exchange import SHARE, Search, SearchOutcome, given_design, inverse_root, solved_finite
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.proof import RegionProver
from convexdesign.typing import Floats, Indices

__all__ = ["proven_again"]


def proven_again(
    problem: RegionProblem, where: Indices, x: Floats, weights: Floats, tol: float
) -> tuple[RegionCertificate, DesignProblem]:
    """The certificate, and the problem over these settings alone."""
    x, problem = problem.adapted_settings(where, x), problem.adapted
    search = Search(problem)
    prover = RegionProver(problem.frame, problem.price) if problem.is_polynomial else None
    design = given_design(problem.finite(where, x, search.targets), weights)
    if search.is_free_g:
        # The targets that count are where the variance of these weights is largest.
        vectors = Vectors(inverse_root(design), np.arange(problem.frame.d))
        at_piece, at, _ = search.maxima(SearchOutcome(where, x, design, vectors, 1.0, design.value), priced=False)
        assert search.targets is not None
        search.targets = np.vstack([search.targets, problem.frame.rows(at_piece, at, weighted=False)])
        design = given_design(problem.finite(where, x, search.targets), weights)
    finite = design.problem
    # The vectors of the best weights over the same settings prove no less.
    vectors = vectors_of(solved_finite(finite, SHARE * tol / 2), search.symmetry)
    found = SearchOutcome(where, x, design, vectors, search.largest(where, x, vectors.B), design.value)
    found = replace(found, most=max(found.most, float(search.maxima(found)[2][0])))
    certificate, _ = certified(search, prover, found, tol, np.inf)
    return certificate, finite
