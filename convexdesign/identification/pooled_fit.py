"""Least squares of all rewards so far, in the coordinates in which evidence is kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.typing import Floats

__all__ = ["PooledFit", "pooled_fit"]


@dataclass(frozen=True, eq=False)
class PooledFit:
    """theta-hat as b with y'theta-hat = g'b for coordinates g of y; spread F with Cov(g'b) = |F g|².

    spread is None where the pulls so far do not determine everything; b is then the least such vector.
    """

    coefficients: Floats
    spread: Floats | None

    def deviations(self, coordinates: Floats) -> Floats:
        """Standard deviations of y'theta-hat for coordinates (m, r), shape (m,); infinite where nothing is known."""
        if self.spread is None:
            return np.full(coordinates.shape[0], np.inf)
        image = coordinates @ self.spread.T
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", image, image)))


def pooled_fit(rows: Floats, count: Floats, total: Floats, variances: Floats) -> PooledFit:
    """Weighted least squares for arms with coordinates `rows` (n, r), pulled `count` times with rewards that sum to `total`.

    variances (n,): plug-in VARIANCES.
    """
    root = np.sqrt(count / variances)
    scaled = root[:, None] * rows
    wanted = np.divide(root * total, count, out=np.zeros_like(total), where=count > 0)
    Q, R = np.linalg.qr(scaled)
    diagonal = np.abs(np.diag(R))
    if R.shape[0] < R.shape[1] or not diagonal.min() > 1e-12 * diagonal.max():
        return PooledFit(np.asarray(np.linalg.lstsq(scaled, wanted, rcond=1e-12)[0], dtype=float), None)
    inverse = np.asarray(np.linalg.inv(R), dtype=float)
    return PooledFit(inverse @ (Q.T @ wanted), inverse.T)
