"""How much rounding may have changed a value and a bound, relatively: what an interval that is not rigorous has to allow for.

A(w) = M'M with rows sqrt(w_i) u_i, u = W'y. Rounding moves u by eps a |u|, a Skeel's condition number of the coordinates W
(`coordinates.amplification`), and so A in its own norm by eps a k, k the condition of M: by that much v'A^-1 v, a mean of
such, an eigenvalue or the r-th root of det A may be wrong. Where an ill-conditioned problem was restated in better
coordinates, the rows are read with twice the digits, but what was rounded before (x over the root of its price, phi(x), sums
that make up information held) still counts in the coordinates given. Information held A0 is rounded by eps |A0|, which moves
A in its own norm by eps |F|'|A0||F|, FF' = A^-1.
"""

from __future__ import annotations

import numpy as np

from convexdesign.evaluation import Evaluation
from convexdesign.problem import Canonical
from convexdesign.problem.coordinates import amplification

__all__ = ["rounding_of"]

# Several roundings for each of a row's entries, and as many in the evaluation.
UNITS = 16 * np.finfo(float).eps


def rounding_of(canonical: Canonical, at: Evaluation) -> float:
    """The relative error to allow for in a value evaluated by `at`, and in a bound proven in the same coordinates."""
    if at.rank == 0:
        return 0.0
    given = canonical.given
    size = np.linalg.svd(canonical.inverse @ at.factor, compute_uv=False)
    rounded = given.stated.lifted or any(x is not None for x in (given.noise_variance, given.costs, given.prior))
    coordinates = canonical.plain if rounded else canonical
    magnified = amplification(coordinates.basis, coordinates.inverse) * float(size[0] / size[-1])
    if given.prior is not None:
        F = np.abs(canonical.outward(at.factor))
        magnified += float(np.einsum("ik,ij,jk->k", F, np.abs(given.prior), F).max())
    return float(UNITS * magnified) if np.isfinite(magnified) else 1.0
