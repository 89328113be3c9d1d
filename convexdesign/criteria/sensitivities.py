"""The sensitivity of every arm, s_i = sum_j (b_j'y_i)^2, and the bound that none exceeds at an optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.criteria.evaluation import Evaluation
from convexdesign.dual_certificate import DualCertificate
from convexdesign.problem import Canonical
from convexdesign.typing import Floats, Indices

__all__ = ["Sensitivities", "aligned", "completed"]


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """values s_i (n,), and the bound that they must keep for the design to be optimal."""

    values: Floats
    bound: float


def aligned(B: Floats, index: Indices, best: DualCertificate, V: Floats) -> Floats:
    """For each column b of B (d, m), the certificate's vector for the same target, with the same b'v; b where it has none."""
    out = B.copy()
    where = {int(j): row for row, j in enumerate(best.targets)}
    for column, j in enumerate(index):
        row = where.get(int(j))
        if row is not None:
            hit, wanted = float(best.vectors[row] @ V[column]), float(B[:, column] @ V[column])
            if hit != 0.0:
                out[:, column] = best.vectors[row] * (wanted / hit)
    return out


def completed(canonical: Canonical, at: Evaluation, B: Floats, wanted: Floats) -> Floats:
    """B with the part in the null space of A(w), which the design itself leaves open, as in `wanted`."""
    N, R = at.null, canonical.inverse
    return np.asarray(B + N @ ((R @ N).T @ (R @ (wanted - B))))
