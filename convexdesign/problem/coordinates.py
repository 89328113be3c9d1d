"""Coordinates for rows: their range, their scale, and those in which a coarse D-optimal design over them is round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import SolverError

__all__ = ["cholesky", "coarse_design", "column_scale", "leaving", "span_of", "well_scaled"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# A direction counts as measured when its singular value, over arms scaled to length one, is above this share of the
# largest: rounding leaves 1e-16, honest geometry rarely less than 1e-9.
RANK_TOLERANCE = 1e-11
# A coarse design is good enough when no arm's leverage exceeds this multiple of the average, and is not improved for ever.
COARSE = 4.0
MOST_STEPS = 12
# The share of fresh weights in those that a related problem lends.
RENEWED = 0.1
# Information squared up keeps half the digits: it is, where the spread of scales is no more than this.
CHOLESKY_SPREAD = 1e-2


def column_scale(rows: Floats) -> Floats:
    """Factors (d,) that bring the largest entry of every column to one, over rows of length one; one for a zero column."""
    largest = np.abs(_unit_rows(rows)).max(axis=0)
    return np.asarray(1.0 / np.where(largest > 0, largest, 1.0))


def _unit_rows(rows: Floats) -> Floats:
    length = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(length > 0, length, 1.0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0))


def span_of(rows: Floats) -> tuple[Floats, float]:
    """An orthonormal basis (d, r) of the span of the rows, and sigma_max / sigma_r; an arm's noise moves neither."""
    unit = _unit_rows(rows)
    if unit.shape[0] > unit.shape[1]:
        unit = _triangle(unit)
    sigma = np.linalg.svd(unit, compute_uv=False)
    rank = int(np.count_nonzero(sigma > RANK_TOLERANCE * sigma[0])) if sigma[0] > 0 else 0
    if rank == rows.shape[1]:
        # The coordinates themselves: no rounding is better than a rotation's.
        return np.eye(rank), float(sigma[0] / sigma[-1])
    vt = np.linalg.svd(unit, full_matrices=False)[2]
    return vt[:rank].T, float(sigma[0] / sigma[rank - 1]) if rank else np.inf


def leaving(rows: Floats, null: Floats, scale: Floats, silent: NDArray[np.bool_]) -> Indices:
    """Indices of rows that, with a range given by its complement null (d, k), span what all of them do; at most k.

    Columns that are zero all over the range (silent) have no scale yet: the rows' own is taken.
    """
    if not rows.size:
        return np.empty(0, dtype=np.intp)
    scaled = _unit_rows(rows * np.where(silent, column_scale(rows), scale))
    off = scaled @ null
    chosen: list[int] = []
    for _ in range(null.shape[1]):
        length = np.linalg.norm(off, axis=1)
        worst = int(np.argmax(length))
        if length[worst] <= RANK_TOLERANCE:
            break
        direction = off[worst] / length[worst]
        off = off - np.outer(off @ direction, direction)
        chosen.append(worst)
    return np.array(chosen, dtype=np.intp)


def coarse_design(
    rows: Floats, held: int, responses: int, first: Floats | None = None
) -> tuple[Indices, Floats, Floats, Floats]:
    """A coarse D-optimal design over the rows, and the map W (r, r) and inverse that make its information I.

    The first `held` rows are information already there, of weight one; the others are the arms, as many rows each as
    there are responses. first: weights to begin from, if it has one for every arm that is not zero. Returns indices and
    weights of the arms.
    Coordinates are renewed at every step, so that directions known only through very noisy arms are resolved to
    full relative accuracy: information matrices are never squared up from an ill-conditioned start.
    """
    from scipy.linalg.lapack import dtrtri  # here, not above: importing the package must not wait for it

    r = rows.shape[1]
    whitening = unwhitening = np.eye(r)
    length = np.linalg.norm(rows[held:].reshape(-1, responses * r), axis=1)
    nonzero = np.flatnonzero(length > 0)
    weights = 1.0 / length[nonzero] ** 2
    if first is not None and first.size == nonzero.size:
        # Weights only ever shrink by factors, and what was negligible before may be needed now.
        weights = first / first.sum() + RENEWED * weights / weights.sum()
    own = nonzero if responses == 1 else (responses * nonzero[:, None] + np.arange(responses)).ravel()
    kept = np.concatenate([np.arange(held), held + own])
    current = rows[kept]
    for step in range(MOST_STEPS + 1):
        weights = weights / weights.sum()
        each = weights if responses == 1 else np.repeat(weights, responses)
        effort = np.sqrt(np.concatenate([np.ones(held), each]))
        triangle = _triangle(effort[:, None] * current)
        inverse, info = dtrtri(triangle)
        if info:
            raise SolverError("the arms are too nearly dependent for double precision; drop some of their coordinates")
        whitening, unwhitening = whitening @ inverse, triangle @ unwhitening
        current = current @ inverse
        leverage = np.einsum("ij,ij->i", current[held:], current[held:])
        if responses > 1:
            leverage = leverage.reshape(-1, responses).sum(axis=1)
        if step == MOST_STEPS or leverage.max() <= COARSE * max(weights @ leverage, 1e-300):
            break
        weights = weights * (leverage / leverage.max()) ** (0.5 if step < 2 else 1.0)
    return nonzero, weights, whitening, unwhitening


def _triangle(rows: Floats) -> Floats:
    """Upper triangular T with T'T = rows'rows: by Cholesky where that loses no digits, otherwise by QR."""
    triangle, info = cholesky(rows.T @ rows)
    return triangle if well_scaled(triangle, info) else np.asarray(np.linalg.qr(rows, mode="r"))


def cholesky(matrix: Floats) -> tuple[Floats, int]:
    """The upper factor, and LAPACK's word on it: zero where there is one."""
    from scipy.linalg.lapack import dpotrf  # here, not above: importing the package must not wait for it

    triangle, info = dpotrf(matrix)
    return triangle, int(info)


def well_scaled(triangle: Floats, info: int) -> bool:
    """Whether a Cholesky factor exists and has lost no digits that matter."""
    diagonal = triangle.diagonal()
    return info == 0 and bool(diagonal.min() > CHOLESKY_SPREAD * diagonal.max())
