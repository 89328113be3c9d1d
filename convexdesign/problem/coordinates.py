"""Coordinates for rows: their range, their scale, and those in which a coarse D-optimal design over them is round.

The rank of rows does not depend on the units of rows or columns, so it is judged where these are equilibrated: singular values
above CLEAR of the largest are there, whatever the rounding of a QR and of the data; those below EPS are within the rounding
of the data, as numbers that are sums of others are (a column c = a + b in decimals). What lies between, rounding could
hardly have made, nor can it be ruled out: there the rows are read exactly, and their rank modulo a prime decides
(`exact_rank`), which is a proof that the rank is no lower.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.monomial import column_sizes, single_entries, times
from convexdesign.errors import SolverError
from convexdesign.problem.exact_rank import rank_at_least
from convexdesign.typing import Floats, Indices

__all__ = [
    "amplification",
    "cholesky",
    "coarse_design",
    "column_scale",
    "equilibration",
    "leaving",
    "rank_of",
    "span_of",
    "well_scaled",
]


# Singular values, over rows scaled to length one, as shares of the largest: clearly there, and within rounding.
CLEAR = 1e-10
EPS = 1e-15
# A row leaves a range when more than this of it, scaled to length one, does: rounding leaves less.
LEAVING = 1e-14
# Nonzero entries further below the largest, both of rows and of columns, may be so by unit alone: then scales are
# sought until they settle.
UNSETTLED = 1e-6
MOST_SCALINGS = 50
SETTLED = 1e-2
# Coordinates that magnify the rounding of what is read by more than this are made from rows read with twice the digits.
ILL = 1e6
# A coarse design is good enough when no arm's leverage exceeds this multiple of the average, and is not improved for ever.
COARSE = 4.0
MOST_STEPS = 12
# Sums of squares within these have lost no digits to overflow or underflow.
SQUARED = (1e-200, 1e200)
# Information squared up keeps half the digits: it is, where the spread of scales is no more than this.
CHOLESKY_SPREAD = 1e-2


def column_scale(rows: Floats) -> Floats:
    """Factors (d,) that bring the largest entry of every column to one, over rows of length one; one for a zero column."""
    largest = np.abs(_unit_rows(rows)).max(axis=0)
    return np.asarray(1.0 / np.where(largest > 0, largest, 1.0))


def _unit_rows(rows: Floats) -> Floats:
    square = np.einsum("ij,ij->i", rows, rows)  # which overflows without a warning
    if square.size and SQUARED[0] < square.min() and square.max() < SQUARED[1]:
        return np.asarray(rows / np.sqrt(square)[:, None])
    # Squares would leave the range of doubles, or there are rows of zeros.
    length = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(length > 0, length, 1.0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0))


def equilibration(rows: Floats) -> Floats:
    """Factors (d,) after which rows and columns are of one size, whatever their units; one for a zero column.

    Where the entries so differ that their largest say little, the logarithms of all nonzero entries are fitted by
    a row's and a column's size, alternately until these settle (Curtis and Reid 1972), and what spans better is taken.
    """
    scale = column_scale(rows)
    unit = np.abs(_unit_rows(rows * scale))
    if unit.min(initial=1.0, where=unit > 0) >= UNSETTLED:
        return scale
    fitted = _fitted_scale(rows)
    return fitted if _quality(rows * fitted) > _quality(rows * scale) else scale


def _fitted_scale(rows: Floats) -> Floats:
    """Column factors that, with row factors, bring the nonzero entries closest to one in the mean square of logarithms."""
    there = rows != 0
    size = np.log(np.abs(rows), out=np.zeros_like(rows), where=there)
    in_row, in_column = np.maximum(there.sum(axis=1), 1), np.maximum(there.sum(axis=0), 1)
    columns = np.zeros(rows.shape[1])
    for _ in range(MOST_SCALINGS):
        own = ((size - columns) * there).sum(axis=1) / in_row
        before, columns = columns, ((size - own[:, None]) * there).sum(axis=0) / in_column
        if np.abs(columns - before).max() <= SETTLED:
            break
    return np.asarray(np.exp(-np.clip(columns - columns.mean(), -150.0, 150.0)))


def _quality(rows: Floats) -> tuple[int, float]:
    """How many singular values of the rows scaled to length one are clearly there, and the least of them as a share."""
    sigma = np.linalg.svd(_reduced(_unit_rows(rows)), compute_uv=False)
    clear = sigma[sigma > CLEAR * sigma[0]]
    return clear.size, float(clear[-1] / sigma[0]) if clear.size else 0.0


def _reduced(unit: Floats) -> Floats:
    return _triangle(unit) if unit.shape[0] > unit.shape[1] else unit


def span_of(rows: Floats, given: Callable[[], tuple[Floats, ...]] | None = None) -> tuple[Floats, float]:
    """An orthonormal basis (d, r) of the span of the rows, and sigma_max / sigma_r; an arm's noise moves neither.

    given: makes rows of the same span as they were before any rounding on the way here, in any units, as a sum of parts.
    """
    unit = _unit_rows(rows)
    apart = column_sizes(unit)
    sigma = np.linalg.svd(_reduced(unit), compute_uv=False) if apart is None else np.sort(apart)[::-1]
    if not sigma[0] > 0:
        return np.empty((rows.shape[1], 0)), np.inf
    share = sigma / sigma[0]
    if share.size == rows.shape[1] and share[-1] > CLEAR:
        # The coordinates themselves: no rounding is better than a rotation's.
        return np.eye(share.size), float(1.0 / share[-1])
    vt = np.linalg.svd(_reduced(unit), full_matrices=False)[2]
    rank = int(np.count_nonzero(share > CLEAR))
    possible = int(np.count_nonzero(share > EPS))
    if possible > rank:
        rank = max(rank, min(possible, rank_at_least(*((rows,) if given is None else given()))))
    spread = float(1.0 / share[rank - 1])
    return (np.eye(rank) if rank == rows.shape[1] else vt[:rank].T), spread


def rank_of(rows: Floats) -> int:
    """The rank of the rows, in whatever units they and their columns are."""
    return int(span_of(rows * equilibration(rows), lambda: (rows,))[0].shape[1])


def amplification(basis: Floats, inverse: Floats) -> float:
    """How much larger the rounding of y'W may be than that of a vector of its size: |||W|'|R|'||, for y = R'u, RW = I.

    |y|'|W| <= |u|'|R||W| for every y in the range, whatever its scale: Skeel's condition number of the coordinates.
    """
    return float(np.linalg.norm(times(np.abs(inverse), np.abs(basis))))


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
        if length[worst] <= LEAVING:
            break
        direction = off[worst] / length[worst]
        off = off - np.outer(off @ direction, direction)
        chosen.append(worst)
    return np.array(chosen, dtype=np.intp)


def coarse_design(
    rows: Floats,
    held: int,
    responses: int,
    again: Callable[[Floats], Floats] | None = None,
) -> tuple[Indices, Floats, Floats, Floats]:
    """A coarse D-optimal design over the rows, and the map W (r, r) and inverse that make its information I.

    The first `held` rows are information already there, of weight one; the others are the arms, as many rows each as
    there are responses. again: a map W (r, r)
    to what the rows become in these coordinates, read with more digits than `rows` themselves have. Returns indices
    and weights of the arms.
    Coordinates are renewed at every step, so that directions known only through very noisy arms are resolved to
    full relative accuracy: information matrices are never squared up from an ill-conditioned start.
    """
    from scipy.linalg.lapack import dtrtri  # here, not above: importing the package must not wait for it

    r = rows.shape[1]
    whitening = unwhitening = np.eye(r)
    length = np.linalg.norm(rows[held:].reshape(-1, responses * r), axis=1)
    nonzero = np.flatnonzero(length > 0)
    # Of as many arms as dimensions the best design is even.
    weights = np.ones(nonzero.size) if held == 0 and nonzero.size * responses == r else 1.0 / length[nonzero] ** 2
    own = nonzero if responses == 1 else (responses * nonzero[:, None] + np.arange(responses)).ravel()
    kept = np.concatenate([np.arange(held), held + own])
    current, ill = rows[kept], False
    for step in range(MOST_STEPS + 1):
        weights = weights / weights.sum()
        each = weights if responses == 1 else np.repeat(weights, responses)
        effort = np.sqrt(np.concatenate([np.ones(held), each]))
        triangle = _triangle(effort[:, None] * current)
        diagonal = single_entries(triangle) is not None and bool((triangle.diagonal() != 0).all())
        inverse, info = (np.diag(1.0 / triangle.diagonal()), 0) if diagonal else dtrtri(triangle)
        if info:
            raise SolverError("the arms are too nearly dependent for double precision; drop some of their coordinates")
        whitening, unwhitening = times(whitening, inverse), times(triangle, unwhitening)
        ill = ill or (again is not None and amplification(whitening, unwhitening) > ILL)
        current = times(current, inverse) if again is None or not ill else again(whitening)[kept]
        leverage = np.einsum("ij,ij->i", current[held:], current[held:])
        if responses > 1:
            leverage = leverage.reshape(-1, responses).sum(axis=1)
        if step == MOST_STEPS or leverage.max() <= COARSE * max(weights @ leverage, 1e-300):
            break
        weights = weights * (leverage / leverage.max()) ** (0.5 if step < 2 else 1.0)
    return nonzero, weights, whitening, unwhitening


def _triangle(rows: Floats) -> Floats:
    """Upper triangular T with T'T = rows'rows: by Cholesky where that loses no digits, otherwise by QR."""
    apart = column_sizes(rows)
    if apart is not None:
        return np.diag(apart)
    triangle, info = cholesky(rows.T @ rows)
    if well_scaled(triangle, info):
        return triangle
    # Longest first: then rows of whatever scale keep their own digits.
    return np.asarray(np.linalg.qr(rows[np.argsort(-np.abs(rows).max(axis=1), kind="stable")], mode="r"))


def cholesky(matrix: Floats) -> tuple[Floats, int]:
    """The upper factor, and LAPACK's word on it: zero where there is one."""
    from scipy.linalg.lapack import dpotrf  # here, not above: importing the package must not wait for it

    triangle, info = dpotrf(matrix)
    return triangle, int(info)


def well_scaled(triangle: Floats, info: int) -> bool:
    """Whether a Cholesky factor exists and has lost no digits that matter."""
    diagonal = triangle.diagonal()
    return info == 0 and bool(diagonal.min() > CHOLESKY_SPREAD * diagonal.max())
