"""What a minimax solve hands back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.certificate import Witness
from convexdesign.outcome import Status

__all__ = ["Found"]


@dataclass(frozen=True, eq=False)
class Found:
    """Weights (n,), their witness, the limit that stopped the solve, and its passes over the arms."""

    weights: NDArray[np.float64]
    witness: Witness
    ended: Status | None
    passes: float
