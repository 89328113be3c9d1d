"""What a relaxation by sums of squares will take in memory and time, from the orders of its cones: before it is built.

A cone of order n has s = n(n+1)/2 numbers. The solver factorises, at every step, a matrix that is full over each cone, so that
memory goes like s^2; time is between s^2, while that matrix fits in fast memory, and s^3. The constants were measured with
Clarabel 0.11: python benchmarks/relaxation_seconds.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["RelaxationSize", "relaxation_size"]

SECONDS_AT_LEAST = 5e-3
SECONDS_PER_CONE = 2e-4
SECONDS_PER_SQUARE = 1e-6
SECONDS_PER_CUBE = 2e-10
BYTES_PER_SQUARE = 40.0


@dataclass(frozen=True)
class RelaxationSize:
    """Seconds of a relaxation, to a factor of about three, and bytes at the most."""

    seconds: float
    memory: float


def relaxation_size(orders: Sequence[int]) -> RelaxationSize:
    """Of cones of these orders."""
    sizes = [n * (n + 1) // 2 for n in orders]
    squares, cubes = (float(sum(s**k for s in sizes)) for k in (2, 3))
    seconds = SECONDS_AT_LEAST + SECONDS_PER_CONE * len(sizes)
    seconds += SECONDS_PER_SQUARE * squares + SECONDS_PER_CUBE * cubes
    return RelaxationSize(seconds, BYTES_PER_SQUARE * squares)
