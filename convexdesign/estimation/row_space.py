"""What rows of features determine: their row space, coordinates in it, the least vector that agrees with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.typing import Floats

__all__ = ["RowSpace", "row_space"]


# Singular values below this share of the largest, after columns and rows are scaled to one, count as zero.
RANK_TOLERANCE = 1e-10
# A row belongs to the space when its part outside is below this share of it, in the scaled columns.
MEMBER_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The span of rows f_i in R^k, as an orthonormal basis (k, r) in columns divided by `scale` (k,).

    A row f in the space has coordinates g = basis'(f / scale), so that f's = g'b for s = `lift(b)`.
    """

    basis: Floats
    scale: Floats

    @property
    def rank(self) -> int:
        """The dimension r of the space."""
        return int(self.basis.shape[1])

    def coordinates(self, rows: Floats) -> Floats:
        """g for every row (m, k), shape (m, r); rows outside are projected onto the space."""
        return np.asarray((rows / self.scale) @ self.basis)

    def contains(self, rows: Floats) -> NDArray[np.bool_]:
        """Whether each row (m, k) lies in the space, up to rounding; shape (m,)."""
        scaled = rows / self.scale
        outside = scaled - (scaled @ self.basis) @ self.basis.T
        allowed = MEMBER_TOLERANCE * np.linalg.norm(scaled, axis=1)
        return np.asarray(np.linalg.norm(outside, axis=1) <= allowed)

    def lift(self, b: Floats) -> Floats:
        """The least-norm s in R^k with basis' (scale * s) = b; for b of shape (r, c), column by column."""
        if self.basis.shape[0] == self.rank:
            return np.asarray(((self.basis @ b).T / self.scale).T)
        # With S = diag(scale) basis = QR: the s in the range of S with S's = b is Q R^-T b.
        Q, R = np.linalg.qr(self.scale[:, None] * self.basis)
        return np.asarray(Q @ np.linalg.solve(R.T, b))


def row_space(rows: Floats) -> RowSpace:
    """The row space of a matrix (m, k).

    Columns are scaled to length one, then rows, and singular values are compared after that: the rank depends
    neither on the units of coordinates nor on the lengths of rows.
    """
    scale = np.linalg.norm(rows, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    scaled = rows / scale
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    directions = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    if rows.shape[0] > rows.shape[1]:
        # The triangular factor has the same row space and is smaller.
        directions = np.linalg.qr(directions, mode="r")
    _, values, vectors = np.linalg.svd(directions, full_matrices=False)
    rank = int(np.count_nonzero(values > RANK_TOLERANCE * values[0])) if values.size and values[0] > 0 else 0
    return RowSpace(np.ascontiguousarray(vectors[:rank].T), scale)
