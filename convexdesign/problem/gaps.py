"""How far the value of every item is from the best one's, in one pass over the items, wherever they lie."""

from __future__ import annotations

from functools import partial

import numpy as np

from convexdesign.arms.read import LabelledVectors
from convexdesign.arms.source import per_arm
from convexdesign.errors import InputError
from convexdesign.typing import Floats

__all__ = ["gaps_to_best", "name_of", "score_rounding", "scores"]


def scores(items: LabelledVectors, theta: Floats) -> Floats:
    """z'theta of every item, shape (k,)."""
    return per_arm(items.source, partial(_products, theta=theta))


def score_rounding(items: LabelledVectors, theta: Floats) -> Floats:
    """A bound on the rounding error of each z'theta: gaps below it cannot be told from ties."""
    eps = 2.0 * np.finfo(float).eps
    return eps * per_arm(items.source, partial(_absolute_products, theta=np.abs(theta)))


def gaps_to_best(items: LabelledVectors, theta: Floats) -> tuple[Floats, int]:
    """(z* - z)'theta of every item and the index of z*; InputError, naming the tie, where the best is not unique."""
    values = scores(items, theta)
    if values.size < 2:
        raise InputError("items has one row; a best-arm oracle needs at least two items")
    best = int(np.argmax(values))
    # Subtracting first keeps the digits that nearly equal scores would lose.
    gaps = per_arm(items.source, partial(_gaps, best=items.source.take(np.array([best]))[0], theta=theta))
    error = score_rounding(items, theta)
    tied = np.flatnonzero(gaps <= error + error[best])
    if tied.size > 1:
        listed = ", ".join(name_of(items, i, "item") for i in tied[:4]) + (", ..." if tied.size > 4 else "")
        raise InputError(
            f"theta has no unique best item: {listed} tie at {values[best]:g}; remove duplicates or change theta"
        )
    return gaps, best


def name_of(rows: LabelledVectors, index: int, noun: str) -> str:
    """What a user calls this row."""
    return rows.called(index, noun)


def _products(rows: Floats, theta: Floats) -> Floats:
    return rows @ theta


def _absolute_products(rows: Floats, theta: Floats) -> Floats:
    return np.abs(rows) @ theta


def _gaps(rows: Floats, best: Floats, theta: Floats) -> Floats:
    return (best - rows) @ theta
