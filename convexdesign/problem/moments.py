"""Second moments of a region, as a root."""

from __future__ import annotations

import numpy as np

from convexdesign.arms.source import Arms
from convexdesign.typing import Floats

__all__ = ["root_of_moments"]


def root_of_moments(points: Arms) -> Floats:
    """L (d, k) with LL' = the mean of vv' over the points v, by a triangular factor of every block."""
    size = np.sqrt(points.n)
    R = np.vstack([part for _, part in points.map(_triangle)]) / size
    return _triangle(R).T


def _triangle(rows: Floats) -> Floats:
    """A matrix R with R'R = the sum of xx' over the rows, no more rows than columns."""
    return np.asarray(np.linalg.qr(rows, mode="r")) if rows.shape[0] > rows.shape[1] else rows
