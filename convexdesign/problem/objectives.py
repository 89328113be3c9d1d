"""What an identification problem asks for: the best item, or all items above a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.errors import InputError
from convexdesign.problem.same_items import same_items

__all__ = ["BestArm", "LevelSet", "Objective", "true_answer"]


@dataclass(frozen=True)
class BestArm:
    """Find argmax over items z of z'theta."""


@dataclass(frozen=True)
class LevelSet:
    """Find every item z with z'theta > threshold, in the units of the measurements.

    >>> LevelSet(0.9)
    LevelSet(threshold=0.9)
    """

    threshold: float

    def __post_init__(self) -> None:
        try:
            threshold = float(self.threshold)
        except (TypeError, ValueError):
            threshold = np.nan
        if not np.isfinite(threshold):
            raise InputError(f"threshold must be a finite number, got {self.threshold!r}")
        object.__setattr__(self, "threshold", threshold)


Objective = BestArm | LevelSet


def true_answer(objective: Objective, items: ArrayLike, theta: ArrayLike) -> tuple[int, ...]:
    """The items that answer the objective when theta is known: indices in increasing order.

    BestArm: every maximiser of z'theta (one index unless items tie exactly), and items equal to one up to rounding.
    LevelSet: every item with z'theta > threshold (possibly none).

    >>> true_answer(BestArm(), [[1.0, 0.0], [0.0, 1.0]], [0.2, 0.7])
    (1,)
    >>> true_answer(LevelSet(0.1), [[1.0, 0.0], [0.0, 1.0]], [0.2, 0.7])
    (0, 1)
    """
    values = np.asarray(items, dtype=float)
    means = values @ np.asarray(theta, dtype=float)
    if isinstance(objective, LevelSet):
        cut = means > objective.threshold
    else:
        group = same_items(values)
        cut = np.isin(group, group[means == means.max()])
    return tuple(int(i) for i in np.flatnonzero(cut))
