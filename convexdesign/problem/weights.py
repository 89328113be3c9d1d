"""The feasible set W of the weights: the unit simplex, possibly cut by bounds, inequalities or DCP constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WeightSet"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WeightSet:
    """W = {w >= 0, sum w = 1, lower <= w <= upper, G w <= h, and a callable's DCP constraints}; all parts optional."""

    lower: Floats | None = None
    upper: Floats | None = None
    G: Floats | None = None
    h: Floats | None = None
    constraints: Callable[[Any], list[Any]] | None = None

    @property
    def is_simplex(self) -> bool:
        """Whether W is the whole unit simplex."""
        return self.lower is None and self.upper is None and self.G is None and self.constraints is None

    @property
    def is_box(self) -> bool:
        """Whether W is the simplex with bounds on the weights alone."""
        return self.G is None and self.constraints is None
