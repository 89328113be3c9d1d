"""A conic formulation of a criterion: how its program is built over some arms and targets, and how large it gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convexdesign.criteria.program_size import ProgramSize
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    from convexdesign.criteria.program import Constrain, Program

__all__ = ["Formulation"]


@dataclass(frozen=True)
class Formulation:
    """build(U, J, W): the program over whitened arms U (k, r) and the targets with indices J; W None is the whole simplex.

    size(n, m): of n arms and m targets; by_target: whether its targets are generated, as those of the minimax are.
    """

    build: Callable[[Floats, Indices, Constrain | None], Program]
    size: Callable[[int, int], ProgramSize]
    by_target: bool = False
