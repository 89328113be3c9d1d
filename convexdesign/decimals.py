"""Proven bounds in decimals, rounded outwards, so that what is printed is proven too."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["above", "at_least", "at_most", "below"]


def at_least(number: float, digits: int) -> str:
    """A proven lower bound with so many decimals, rounded down.

    >>> at_least(0.99996, 4), at_most(0.99996, 4)
    ('0.9999', '1.0000')
    """
    return f"{math.floor(number * 10**digits) / 10**digits:.{digits}f}" if math.isfinite(number) else str(number)


def at_most(number: float, digits: int) -> str:
    """A proven upper bound with so many decimals, rounded up."""
    return f"{math.ceil(number * 10**digits) / 10**digits:.{digits}f}" if math.isfinite(number) else str(number)


def below(number: float, digits: int) -> str:
    """A proven lower bound with so many significant digits, rounded down.

    >>> below(3.99999979, 8), above(3.99999979, 8)
    ('3.9999997', '3.9999998')
    """
    return _significant(number, Context(prec=digits, rounding=ROUND_FLOOR))


def above(number: float, digits: int) -> str:
    """A proven upper bound with so many significant digits, rounded up."""
    return _significant(number, Context(prec=digits, rounding=ROUND_CEILING))


def _significant(number: float, context: Context) -> str:
    return (
        f"{float(context.create_decimal(Decimal(number))):.{context.prec}g}" if math.isfinite(number) else str(number)
    )
