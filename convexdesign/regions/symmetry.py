"""Reflections u_k -> -u_k under which a problem over a region stays the same, and what they leave of an information matrix."""

from __future__ import annotations

import numpy as np

from convexdesign.regions.problem import RegionProblem
from convexdesign.typing import Floats

__all__ = ["symmetry_mask"]

# Coefficients below this share of a row are the rounding of the coordinates.
ROUNDED = 1e-11


def symmetry_mask(problem: RegionProblem) -> Floats | None:
    """(d, d) of zeros and ones: which entries the mean of A over all reflections keeps; None where there are none.

    The mean over a group under which the criterion and the region are invariant is at least as good as A itself (concavity),
    so that its bound is at least as tight; any vectors b_j prove a bound, so nothing here needs to be exact.
    """
    if not problem.is_polynomial:
        return None
    frame, region = problem.frame, problem.region
    mask = np.ones((frame.d, frame.d))
    found = False
    even = [region.scaled(g) for g in region.inequalities]
    if problem.price is not None:
        even += [region.scaled(p) for p in problem.price]
    for k in range(region.q):
        if any(key[k] % 2 for g in even for key in g):
            continue
        signs = np.zeros(frame.d, dtype=int)
        definite = True
        for keys, H in zip(frame.keys, frame.H):
            size = np.abs(H)
            large = size > ROUNDED * size.max(axis=1, keepdims=True)
            odd = keys[:, k] % 2 == 1
            has_odd, has_even = (large & odd).any(axis=1), (large & ~odd).any(axis=1)
            here = np.where(has_odd, -1, np.where(has_even, 1, 0))
            definite &= not (has_odd & has_even).any() and not ((here * signs) < 0).any()
            signs = np.where(signs == 0, here, signs)
        if definite:
            found = True
            signs = np.where(signs == 0, 1, signs)
            mask *= np.equal.outer(signs, signs)
    prior = problem.restated.get("prior_information")
    if not found or (prior is not None and np.abs(prior * (1.0 - mask)).max() > 1e-13 * np.abs(prior).max()):
        return None
    return mask
