"""What proves a bound: vectors in the coordinates as given, read with care where a problem was restated in better ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.problem import Canonical
from convexdesign.problem.compensated import in_two_parts, product
from convexdesign.typing import Floats, Indices

__all__ = ["DualCertificate"]

# Each brings over the digits that the condition of the coordinates leaves, of sixteen.
REFINEMENTS = 4


@dataclass(frozen=True, eq=False)
class DualCertificate:
    """What proves a bound: vectors b_j (k, d), and the targets (k,) they belong to.

    For the average variance the targets number the columns of `problem.contrast_matrix`, and vectors of one column count
    by their sum; for D, D_s and E they carry no meaning.
    remainders (k, d): what doubles leave of the vectors where the problem is so ill-conditioned that it matters, else None.
    """

    targets: Indices
    vectors: Floats
    remainders: Floats | None = None

    def within(self, canonical: Canonical) -> Floats:
        """The vectors c (k, r) in the coordinates of `canonical.problem`, which an ill-conditioned problem is restated in."""
        restatement = canonical.restatement
        if restatement is None:
            return self.vectors
        parts = [self.vectors] if self.remainders is None else [self.vectors, self.remainders]
        c = np.zeros((len(self.vectors), restatement.basis.shape[1]))
        identity = np.eye(self.vectors.shape[1])
        for _ in range(REFINEMENTS):
            # What b - Wc still is, without rounding: it is all that R, a rounded inverse of W, has to bring over.
            left = product(np.hstack([*parts, -c]), np.vstack([identity] * len(parts) + [restatement.basis.T]))
            c = c + left @ restatement.inverse.T
        return np.asarray(c)

    @classmethod
    def found(cls, canonical: Canonical, targets: Indices, vectors: Floats) -> DualCertificate:
        """A dual certificate from vectors (k, r) in the coordinates of `canonical.problem`."""
        if canonical.restatement is None:
            return cls(targets, vectors)
        return cls(targets, *in_two_parts(vectors, canonical.restatement.basis.T))
