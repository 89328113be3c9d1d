"""What a conic program will take in memory and time, from the numbers of its arms, targets and dimensions: before it is built.

An interior point method factorises, at every step, a matrix that is full over each semidefinite cone: a cone of order p holds
s = p(p+1)/2 numbers, so that memory goes like s^2 ~ p^4 / 4 and time like s^3 ~ p^6 / 8. All else is sparse and about linear in
the nonzeros of the constraints. The constants were measured with CVXPY 1.9 and Clarabel 0.11; they are meant to be right to a
factor of about two.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from convexdesign.errors import SolverError

__all__ = ["ProgramSize", "memory_allowed", "program_size", "require_memory"]

GIGABYTE = 2**30
# No program takes more than this, whatever the machine has: beyond it, none ends in a day.
MOST_MEMORY = 6 * GIGABYTE
BYTES_PER_NONZERO = 300.0
# Per square of s. Some cones have much structure: half of the matrix is diagonal, or constant.
BYTES_PER_SQUARE = {"log-det": 20.0, "average": 38.0}
BYTES_PER_FULL_SQUARE = 50.0
# Second-order cones are small and many, one for each arm and target.
SECONDS_PER_NONZERO = {"socp": 2e-6, "dual-socp": 2e-6}
SECONDS_PER_OTHER_NONZERO = 4e-7
SECONDS_PER_CUBE = 2e-10


@dataclass(frozen=True)
class ProgramSize:
    """A formulation for n arms in r dimensions: the nonzeros of its constraints, and its semidefinite cones of one order."""

    formulation: str
    n: int
    r: int
    nonzeros: int
    cone: int = 0
    cones: int = 0
    bytes_per_square: float = BYTES_PER_FULL_SQUARE

    @property
    def memory(self) -> float:
        """Bytes at the most, CVXPY's and the solver's together."""
        return BYTES_PER_NONZERO * self.nonzeros + self.bytes_per_square * self.cones * self._numbers**2

    @property
    def seconds_per_iteration(self) -> float:
        """Seconds for one step of an interior point method, as a rule."""
        each = SECONDS_PER_NONZERO.get(self.formulation, SECONDS_PER_OTHER_NONZERO)
        return each * self.nonzeros + SECONDS_PER_CUBE * self.cones * self._numbers**3

    @property
    def _numbers(self) -> float:
        return self.cone * (self.cone + 1) / 2


def program_size(
    formulation: str, n: int, r: int, *, targets: int = 1, columns: int = 0, responses: int = 1
) -> ProgramSize:
    """The size of a formulation by name; for the criteria without targets these are "log-det", "interest", "average", "least".

    n arms in r dimensions with so many responses; targets of the minimax; columns of what is averaged or of interest.
    """
    triangle = r * (r + 1) // 2
    information = n * triangle
    match formulation:
        case "socp":
            return ProgramSize(formulation, n, r, targets * n * responses * (r + 6))
        case "dual-socp":
            return ProgramSize(formulation, n, r, targets * n * responses * (r + 6))
        case "sdp" | "matrix-fractional":
            return ProgramSize(formulation, n, r, information + targets * triangle, r + 1, targets)
        case "log-det":
            return ProgramSize(formulation, n, r, information, 2 * r, 1, BYTES_PER_SQUARE["log-det"])
        case "interest":
            return ProgramSize(formulation, n, r, information, max(r, 2 * columns), 2)
        case "average":
            return ProgramSize(formulation, n, r, information, r + columns, 1, BYTES_PER_SQUARE["average"])
        case "least":
            return ProgramSize(formulation, n, r, information, r, 1)
    raise AssertionError(formulation)


def memory_allowed() -> float:
    """Bytes that a program may take: MOST_MEMORY, and no more than half of what the machine has."""
    try:
        physical = float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not told on this system
        return float(MOST_MEMORY)
    return min(float(MOST_MEMORY), physical / 2)


def require_memory(size: ProgramSize, otherwise: str) -> None:
    """SolverError where the program would take more memory than is allowed, saying what would do instead."""
    allowed = memory_allowed()
    if size.memory > allowed:
        raise SolverError(
            f"{size.n} arms in {size.r} dimensions would take about {size.memory / GIGABYTE:.3g} GB of memory, more than the "
            f"{allowed / GIGABYTE:.2g} GB it may; {otherwise}"
        )
