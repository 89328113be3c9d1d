"""Which arms tell of what is asked: the others would be measured in vain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation.row_space import RANK_TOLERANCE, row_space
from convexdesign.typing import Floats

__all__ = ["telling_arms"]

# An arm with a leverage this close to one takes no part in any combination that vanishes.
ALONE = 1e-8


def telling_arms(arms: Floats, asked: Floats) -> NDArray[np.bool_]:
    """Which arms (n, r) have a part in some Σ h_x x in the span of `asked` (k, r): all others have h_x = 0 in every estimate.

    Modulo the span of what is asked these combinations vanish, and an arm has a part in one of them unless it is independent
    of all others there: unless its leverage is one.

    >>> telling_arms(np.eye(3), np.array([[1.0, -1.0, 0.0]])).tolist()
    [True, True, False]
    """
    everyone = np.ones(len(arms), dtype=bool)
    rest = _units(arms)
    if asked.size:
        basis = _basis(_units(asked))
        rest = rest - (rest @ basis) @ basis.T
    U, sizes, _ = np.linalg.svd(rest, full_matrices=False)
    U = U[:, sizes > np.sqrt(RANK_TOLERANCE)]
    telling = np.asarray(1.0 - np.einsum("ij,ij->i", U, U) > ALONE)
    if telling.all():
        return everyone
    # Where arms almost depend on one another, rounding must not take one that something asked rests on.
    told = asked[row_space(arms).contains(asked)]
    return telling if telling.any() and row_space(arms[telling]).contains(told).all() else everyone


def _units(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _basis(rows: Floats) -> Floats:
    """An orthonormal basis (r, t) of the span of rows (k, r) of length one."""
    _, sizes, vectors = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(vectors[sizes > RANK_TOLERANCE * max(float(sizes[0]), 1.0)].T)
