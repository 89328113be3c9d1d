"""Ball arithmetic as used here: exact input, 256 bits inside, and floats that are rounded in the direction asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import ConvexDesignError

__all__ = ["ball", "ball_matrix", "diagonal_products", "down", "precision", "quadratic_forms", "up"]

# Enough that products and sums of doubles lose nothing that matters, even for matrices of condition 1e40.
BITS = 256


@contextmanager
def precision(bits: int = BITS) -> Iterator[None]:
    """Work with balls of this many bits; raises ConvexDesignError when python-flint (extra `rigorous`) is missing."""
    try:
        from flint import ctx
    except ImportError as error:
        raise ConvexDesignError(
            "rigorous verification needs python-flint: install the extra with pip install 'convexdesign[rigorous]'"
        ) from error
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


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


def quadratic_forms(M: Any, rows: Any) -> list[Any]:
    """x'Mx for every row x of a ball matrix, as balls."""
    return diagonal_products(rows * M, rows)


def diagonal_products(left: Any, right: Any) -> list[Any]:
    """The inner product of every row on the left with the same row on the right."""
    from flint import arb

    zero = arb(0)
    return [sum((a * b for a, b in zip(x, y)), zero) for x, y in zip(left.tolist(), right.tolist())]
