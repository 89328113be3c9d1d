"""Matrices with at most one entry in each row, diagonal ones among them: strata, groups, single effects.

A dense product of two thousand dimensions takes a second, and a problem of as many strata needs dozens; with such a matrix each
is a choice of rows. Nothing is rounded that a dense product would not round.
"""

from __future__ import annotations

import numpy as np

from convexdesign.typing import Floats, Indices

__all__ = ["column_sizes", "single_entries", "times"]

# Smaller matrices are multiplied sooner than looked at.
FEW_ENTRIES = 20_000


def single_entries(matrix: Floats) -> tuple[Indices, Floats] | None:
    """The column and value of the one entry of each row, zero where there is none; None where a row has more, and for few."""
    if matrix.ndim != 2 or matrix.size < FEW_ENTRIES or np.count_nonzero(matrix[0]) > 1:
        return None
    there = matrix != 0
    if (np.count_nonzero(there, axis=1) > 1).any():
        return None
    columns = there.argmax(axis=1)
    return columns, matrix[np.arange(len(matrix)), columns]


def times(first: Floats, second: Floats) -> Floats:
    """The matrix product, from single entries where either matrix has no more in each row or column."""
    left = single_entries(first)
    if left is not None:
        return np.asarray(left[1][:, None] * second[left[0]])
    right = single_entries(second.T)
    if right is not None:
        return np.asarray(first[:, right[0]] * right[1])
    return np.asarray(first @ second)


def column_sizes(rows: Floats) -> Floats | None:
    """The singular values of the rows, by column: its length, where no row has more than one entry; else None."""
    entries = single_entries(rows)
    if entries is None:
        return None
    largest = float(np.abs(entries[1]).max(initial=0.0)) or 1.0
    squares = np.bincount(entries[0], np.square(entries[1] / largest), rows.shape[1])
    return np.asarray(largest * np.sqrt(squares))
