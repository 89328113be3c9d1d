"""Proven bounds in decimals, rounded outwards, so that what is printed is proven too."""

from __future__ import annotations

import math

__all__ = ["at_least", "at_most"]


def at_least(number: float, digits: int) -> str:
    """A proven lower bound with so many decimals, rounded down.

    >>> at_least(0.99996, 4), at_most(0.99996, 4)
    ('0.9999', '1.0000')
    """
    return f"{math.floor(number * 10**digits) / 10**digits:.{digits}f}" if math.isfinite(number) else str(number)


def at_most(number: float, digits: int) -> str:
    """A proven upper bound with so many decimals, rounded up."""
    return f"{math.ceil(number * 10**digits) / 10**digits:.{digits}f}" if math.isfinite(number) else str(number)
