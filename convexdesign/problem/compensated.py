"""Products of matrices as if computed in twice the precision, from ordinary doubles (Ogita, Rump and Oishi 2005, Dot2).

A sum and a product of two doubles have errors that are doubles again: a + b = s + e and a b = p + f exactly. Adding the
errors up on the side gives an inner product with |result - x'y| <= u |x'y| + (n u)^2 |x|'|y|, u = 2^-53, where the plain one
has n u |x|'|y|: vectors that nearly cancel, by a factor of up to 1e15, still give all digits.

Source: T. Ogita, S. M. Rump and S. Oishi, Accurate sum and dot product, SIAM Journal on Scientific Computing 26 (2005).
"""

from __future__ import annotations

import numpy as np

from convexdesign.typing import Floats

__all__ = ["congruence", "difference", "in_two_parts", "product", "product_error"]


# Veltkamp's constant: splits a double into two of 26 bits.
SPLITTER = 134217729.0
# Products of less than this share of all entries are made by themselves.
SPARSE = 0.1
# Rows at a time, so that what is added up stays in the processor's cache.
BLOCK_ENTRIES = 2**14


def product(first: Floats, second: Floats) -> Floats:
    """A B for A (n, d) and B (d, k), every entry right to a unit in the last place and (d u)^2 of |A||B|."""
    out = np.empty((first.shape[0], second.shape[1]))
    step = max(1, BLOCK_ENTRIES // max(second.shape[1], 1))
    for start in range(0, first.shape[0], step):
        high, low = _accumulated(first[start : start + step], second)
        out[start : start + step] = high + low
    return out


def in_two_parts(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """A B as doubles and what they are short of it."""
    high, low = _accumulated(first, second)
    return _two_sum(high, low)


def difference(first: Floats, second: Floats) -> Floats:
    """a - b as two doubles side by side, exactly: (n, 2 d) whose product with B over B is (a - b) B."""
    high, low = _two_sum(np.asarray(first, dtype=float), -np.asarray(second, dtype=float))
    return np.concatenate([high, low], axis=-1)


def congruence(columns: Floats, matrix: Floats) -> Floats:
    """C'MC for C (d, k) and symmetric M (d, d), without rounding in between; exactly symmetric."""
    half = np.hstack(_accumulated(columns.T, matrix))
    out = product(half, np.vstack([columns, columns]))
    return (out + out.T) / 2.0


def _accumulated(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """A B as a sum of two doubles, and what the second is short of that: next to nothing."""
    high = np.zeros((first.shape[0], second.shape[1]))
    low = np.zeros_like(high)
    first_parts, second_parts = _split(first), _split(second)
    filled, full = second != 0, first.shape[0] * second.shape[1]
    for k in range(second.shape[0]):
        rows, cols = np.flatnonzero(first[:, k]), np.flatnonzero(filled[k])
        if rows.size * cols.size < SPARSE * full:
            # Of sparse matrices, diagonal ones among them, only what is there.
            at = np.ix_(rows, cols)
            a, b = first[rows, k, None], second[k, cols]
            p = a * b
            error = _error(p, *(part[rows, k, None] for part in first_parts), *(part[k, cols] for part in second_parts))
            total, lost = _two_sum(high[at], p)
            high[at], low[at] = total, low[at] + (lost + error)
            continue
        left, right = first[:, k, None], second[k]
        p = left * right
        error = _error(p, *(part[:, k, None] for part in first_parts), *(part[k] for part in second_parts))
        high, lost = _two_sum(high, p)
        low += lost + error
    return high, low


def product_error(first: Floats, second: Floats) -> Floats:
    """What fl(a b) is short of a b, entry by entry, exactly."""
    return _error(first * second, *_split(first), *_split(second))


def _error(p: Floats, left_high: Floats, left_low: Floats, right_high: Floats, right_low: Floats) -> Floats:
    return left_low * right_low - (((p - left_high * right_high) - left_low * right_high) - left_high * right_low)


def _split(x: Floats) -> tuple[Floats, Floats]:
    scaled = SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """s = fl(a + b) and e with s + e = a + b exactly (Knuth)."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)
