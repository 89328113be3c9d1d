"""Matrices with at most one entry in each row, diagonal ones among them: strata, groups, single effects.

A dense product of two thousand dimensions takes a second, and a problem of as many strata needs dozens; with such a matrix each
is a choice of rows. Nothing is rounded that a dense product would not round.
"""

from __future__ import annotations

import numpy as np

from convexdesign.typing import Floats, Indices

__all__ = ["column_sizes", "inverse_of", "single_entries", "times"]

# Smaller matrices are multiplied sooner than looked at.
FEW_ENTRIES = 20_000


def single_entries(matrix: Floats) -> tuple[Indices, Floats] | None:
    """The column and value of the one entry of each row, zero where there is none; None where a row has more, and for few."""
    if matrix.ndim != 2 or matrix.size < FEW_ENTRIES or np.count_nonzero(matrix[0]) > 1:
        return None
    n, d = matrix.shape
    there = matrix != 0
    by_row = there.flags.c_contiguous
    # One pass in the order of memory: counting row by row takes several times as long.
    filled = np.flatnonzero(there if by_row else there.T)
    if filled.size > n:
        return None
    rows, at = np.divmod(filled, d) if by_row else np.divmod(filled, n)[::-1]
    if filled.size > 1 and np.bincount(rows, minlength=n).max() > 1:
        return None
    columns, values = np.zeros(n, dtype=np.intp), np.zeros(n)
    columns[rows], values[rows] = at, matrix[rows, at]
    return columns, values


def times(first: Floats, second: Floats) -> Floats:
    """The matrix product, from single entries where either matrix has no more in each row or column."""
    if first.size < FEW_ENTRIES and second.size < FEW_ENTRIES:
        return np.asarray(first @ second)
    left = single_entries(first)
    if left is not None:
        below = single_entries(second)
        if below is not None:
            return _filled(len(first), second.shape[1], below[0][left[0]], left[1] * below[1][left[0]])
        return np.asarray(left[1][:, None] * second[left[0]])
    right = single_entries(second.T)
    if right is not None:
        return np.asarray(first[:, right[0]] * right[1])
    return np.asarray(first @ second)


def _filled(n: int, d: int, columns: Indices, values: Floats) -> Floats:
    """The matrix (n, d) of these entries, one a row."""
    out = np.zeros((n, d))
    out[np.arange(n), columns] = values
    return out


def inverse_of(matrix: Floats) -> Floats:
    """The inverse, entry by entry where each row and column has one; LinAlgError where there is none."""
    entries = single_entries(matrix)
    if entries is None or len(matrix) != matrix.shape[1]:
        return np.asarray(np.linalg.inv(matrix))
    columns, values = entries
    if not values.all() or np.bincount(columns, minlength=len(matrix)).max() > 1:
        raise np.linalg.LinAlgError("Singular matrix")
    order = np.argsort(columns)
    return _filled(len(matrix), len(matrix), order, 1.0 / values[order])


def column_sizes(rows: Floats) -> Floats | None:
    """The singular values of the rows, by column: its length, where no row has more than one entry; else None."""
    entries = single_entries(rows)
    if entries is None:
        return None
    largest = float(np.abs(entries[1]).max(initial=0.0)) or 1.0
    squares = np.bincount(entries[0], np.square(entries[1] / largest), rows.shape[1])
    return np.asarray(largest * np.sqrt(squares))
