"""What is known of given weights: the criterion, a factor of the inverse of their information, and how far rounding reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from convexdesign.problem.prior_information import UNIT
from convexdesign.typing import Floats

__all__ = ["OUTSIDE_TOLERANCE", "Evaluation", "Inverse", "Rounded", "inner_product"]

# A target counts as measured when no more than this share of it lies outside the range of A(w).
OUTSIDE_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The criterion at given weights.

    value: in the user's units, infinitely bad where something wanted is not measured; worst_target: the index of the
    target that decides (minimax), or of one that is not measured, else -1; factor F (d, k): C = FF' is an inverse of A(w)
    on its range; rank of A(w); null N (d, r - k): v is measured exactly where N'v = 0, and N'N = I in whitened coordinates.
    """

    value: float
    worst_target: int
    factor: Floats
    rank: int
    null: Floats


@dataclass(frozen=True, eq=False)
class Inverse:
    """How well FF' is known to be A^-1: M = AF; delta and row as in `roundoff`; entries (k, k) above those of |F'AF - I|."""

    M: Floats
    delta: float
    row: float
    entries: Floats


@dataclass(frozen=True, eq=False)
class Rounded:
    """Entry by entry: N (k, k) above the entries of |(F'AF)^-1 - I|, and for rows v (m, d) by how much |F'v|^2 may be off."""

    N: Floats
    errors: Callable[[Floats], Floats]


def inner_product(p: int) -> float:
    """g: the share of |x|'|y| by which an inner product of p terms may be off, the rounding of one factor included."""
    return (p + 8) * UNIT
