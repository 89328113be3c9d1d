"""Exact linear dependence: arms that do not span R^d lie on coordinates J with the others linear functions of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.rigorous.data import ExactRows

__all__ = ["Dependence", "find_dependence"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Dependence:
    """Coordinates J (r,), the rest R, and exact L with x_R = x_J L for every vector of a subspace of dimension r.

    On that subspace v'A^+ v = v_J' A_J^-1 v_J, so that nothing but v_R = v_J L has to be known of the rest.
    """

    chosen: Indices
    rest: Indices
    L: Any

    def functional(self, F: Floats) -> Floats:
        """Doubles G (r, k) with G'x_J ~ F'x for x in the subspace and F (d, k)."""
        L = np.array([[float(x.p) / float(x.q) for x in row] for row in self.L.tolist()])
        return np.asarray(F[self.chosen] + L @ F[self.rest])

    def holds_for(self, rows: list[list[Any]]) -> bool:
        """Whether every row of exact fractions lies in the subspace."""
        from flint import fmpq_mat

        k, r, m = len(rows), self.chosen.size, self.rest.size
        on = fmpq_mat(k, r, [row[c] for row in rows for c in self.chosen.tolist()])
        off = fmpq_mat(k, m, [row[c] for row in rows for c in self.rest.tolist()])
        return bool(on * self.L == off)

    def first_outside(self, rows: ExactRows, index: Indices | None = None) -> int | None:
        """The first vector outside the subspace, or None."""
        index = np.arange(rows.n) if index is None else index
        for start in range(0, index.size, BLOCK):
            part = index[start : start + BLOCK]
            exact = rows.rationals(part)
            if not self.holds_for(exact):
                return int(next(i for i, row in zip(part, exact) if not self.holds_for([row])))
        return None


def find_dependence(
    arms: ExactRows, support: Indices, held: list[list[Any]] | None, rank: int, basis: Floats | None
) -> Dependence | None:
    """The dependence that all supporting arms and the information held satisfy exactly; None where rank = d.

    basis (r, d): rows that span their range in doubles, where known, so that J does not depend on the support.

    Raises InputError when the numbers are dependent only up to rounding: read exactly, their rank is higher.
    """
    import scipy.linalg
    from flint import fmpq_mat

    if rank == arms.d:
        return None
    index = support[:BLOCK]
    rows = arms.rationals(index) + (held or [])
    X = np.array([[float(x.p) / float(x.q) for x in row] for row in rows])
    size = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(size > 0, size, 1.0)
    size = np.abs(X).max(axis=0)
    X = X / np.where(size > 0, size, 1.0)
    span = X if basis is None else basis / np.where(size > 0, size, 1.0)
    columns = scipy.linalg.qr(span, mode="r", pivoting=True)[1][:rank]
    picked = scipy.linalg.qr(X[:, columns].T, mode="r", pivoting=True)[1][:rank]
    chosen = np.sort(columns)
    rest = np.setdiff1d(np.arange(arms.d), chosen)
    on = fmpq_mat(rank, rank, [rows[i][c] for i in picked for c in chosen.tolist()])
    off = fmpq_mat(rank, rest.size, [rows[i][c] for i in picked for c in rest.tolist()])
    try:
        L = on.inv() * off
    except ZeroDivisionError:
        raise InputError(
            "the arms are too nearly dependent for an exact proof; rescale or remove coordinates"
        ) from None
    dependence = Dependence(chosen, rest, L)
    outside = dependence.first_outside(arms, support)
    if outside is not None or (held is not None and not dependence.holds_for(held)):
        where = "the information held" if outside is None else f"arm {outside}"
        raise InputError(
            f"the measured arms have rank {rank} only up to rounding: read exactly, {where} leaves the span of the "
            "others; give coordinates that are exact (whole numbers, say), or drop columns until the arms span"
        )
    return dependence
