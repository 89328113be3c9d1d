"""Ball arithmetic as used here: exact input, 256 bits inside, and floats that are rounded in the direction asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.extras import needed

__all__ = [
    "ball",
    "ball_matrix",
    "bits",
    "cholesky",
    "diagonal_products",
    "down",
    "midpoints",
    "nearest",
    "precision",
    "quadratic_forms",
    "up",
]

# Enough that products and sums of doubles lose nothing that matters, even for matrices of condition 1e40.
BITS = 256
# python-flint has one precision for the whole process: whoever changes it does so alone, or would restore another's.
_ALONE = RLock()


@contextmanager
def precision(bits: int = BITS) -> Iterator[None]:
    """Work with balls of this many bits, one thread at a time.

    Parameters
    ----------
    bits : int
        Of every midpoint.

    Yields
    ------
    None
        The precision lasts as long as the `with` block.

    Raises
    ------
    MissingExtraError
        When python-flint (extra `rigorous`) is missing.

    Examples
    --------
    >>> from convexdesign.rigorous import precision
    >>> with precision(128):
    ...     pass
    """
    ctx = needed("flint", "rigorous verification").ctx
    with _ALONE:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def bits() -> int:
    """The bits that balls have at present."""
    from flint import ctx

    return int(ctx.prec)


def ball(x: float) -> Any:
    """The double x as an exact ball."""
    from flint import arb

    return arb(float(x))


def ball_matrix(rows: NDArray[np.float64]) -> Any:
    """A matrix of doubles as exact balls."""
    from flint import arb_mat

    return arb_mat(rows.shape[0], rows.shape[1], rows.ravel().tolist())


def down(x: Any) -> float:
    """A double that is at most every number in the ball; -inf for a ball without finite lower end."""
    if not x.is_finite():
        return -np.inf
    return float(np.nextafter(float(x.lower()), -np.inf))


def up(x: Any) -> float:
    """A double that is at least every number in the ball; inf for a ball without finite upper end."""
    if not x.is_finite():
        return np.inf
    return float(np.nextafter(float(x.upper()), np.inf))


def midpoints(M: Any) -> NDArray[np.float64]:
    """The doubles nearest to the midpoints of a ball matrix."""
    return np.array([[nearest(x) for x in row] for row in M.tolist()], dtype=float).reshape(M.nrows(), M.ncols())


def nearest(x: Any) -> float:
    """The double nearest to a ball's midpoint, or to a fraction; infinite beyond all doubles."""
    from flint import arb

    return float(arb(x).mid())


def cholesky(A: Any) -> Any | None:
    """Lower triangular L with LL' = A in balls, None where a pivot is not certainly positive: a proof that A is definite."""
    from flint import arb_mat

    S = A.tolist()
    d = len(S)
    L = [[ball(0.0)] * d for _ in range(d)]
    for k in range(d):
        if not S[k][k] > 0:
            return None
        root = S[k][k].sqrt()
        column = [S[a][k] / root for a in range(k, d)]
        for a in range(k, d):
            L[a][k] = column[a - k]
            for b in range(k + 1, a + 1):
                S[a][b] -= column[a - k] * column[b - k]
    return arb_mat(L)


def quadratic_forms(M: Any, rows: Any) -> list[Any]:
    """x'Mx for every row x of a ball matrix, as balls."""
    return diagonal_products(rows * M, rows)


def diagonal_products(left: Any, right: Any) -> list[Any]:
    """The inner product of every row on the left with the same row on the right."""
    from flint import arb

    zero = arb(0)
    return [sum((a * b for a, b in zip(x, y)), zero) for x, y in zip(left.tolist(), right.tolist())]
