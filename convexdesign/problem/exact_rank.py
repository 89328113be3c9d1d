"""A proven lower bound on the rank of a matrix of doubles: its rank modulo a prime.

Every double is a whole number times a power of two, and two has an inverse modulo an odd prime p: reduction modulo p maps
such numbers to GF(p), sums to sums and products to products. A minor that is not zero modulo p is not zero, so that the rank
over GF(p) is at most the true one, and for a prime not made for the data almost surely equal to it (few of the hundred
million primes of that size divide a given minor). Rows are first combined at random, which can only lose rank too.
"""

from __future__ import annotations

import numpy as np

from convexdesign.typing import Counts, Floats

__all__ = ["PRIMES", "rank_at_least", "residues"]


# Not 2^31 - 1, modulo which the powers of two repeat after 31.
PRIMES = (2147483629, 2147483587)
# Rows beyond the number of columns after combining; coefficients below 2^10, so that sums of products stay exact.
SPARE = 8
COEFFICIENT = 2**10
HALF = 2**16
MOST_ROWS = 2**26


def rank_at_least(*parts: Floats) -> int:
    """A number that the rank of rows (n, d), a sum of parts read exactly, is not below; almost surely the rank itself."""
    return max(_rank(_combined(sum(residues(rows, p) for rows in parts) % p, p), p) for p in PRIMES)  # type: ignore[arg-type]


def residues(rows: Floats, p: int) -> Counts:
    """The rows in GF(p)."""
    mantissa, exponent = np.frexp(rows)
    whole = (mantissa * 2.0**53).astype(np.int64)
    exponents, place = np.unique(exponent, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, p) for e in exponents], dtype=np.int64)
    return np.asarray((whole % p) * powers[place].reshape(rows.shape) % p)


def _combined(rows: Counts, p: int) -> Counts:
    """As many random combinations as there are columns, and a few more; the rows themselves where they are no more."""
    n, d = rows.shape
    if n <= d + SPARE:
        return rows
    low, high = (part.astype(float) for part in (rows % HALF, rows // HALF))
    mix = np.random.default_rng(0).integers(1, COEFFICIENT, (d + SPARE, min(n, MOST_ROWS))).astype(float)
    below, above = ((mix @ part[:MOST_ROWS]).astype(np.int64) % p for part in (low, high))
    return np.asarray((above * HALF + below) % p)


def _rank(rows: Counts, p: int) -> int:
    """Gaussian elimination over GF(p)."""
    rows = rows.copy()
    rank = 0
    for column in range(rows.shape[1]):
        if rank == rows.shape[0]:
            break
        nonzero = np.flatnonzero(rows[rank:, column])
        if not nonzero.size:
            continue
        pivot = rank + int(nonzero[0])
        rows[[rank, pivot]] = rows[[pivot, rank]]
        lead = rows[rank] * pow(int(rows[rank, column]), p - 2, p) % p
        below = rows[rank + 1 :]
        below -= below[:, column, None] * lead % p
        below %= p
        rank += 1
    return rank
