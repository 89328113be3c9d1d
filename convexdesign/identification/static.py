"""Static allocation: one design for the whole experiment, chosen before the first reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.errors import InputError
from convexdesign.estimation import variance_range
from convexdesign.identification.allocations import Allocation, value_on
from convexdesign.identification.gap_elimination import GapElimination
from convexdesign.identification.identifier import noise_up_to
from convexdesign.problem import DesignProblem
from convexdesign.problem.objectives import BestArm, Objective
from convexdesign.problem.read import Rows, read_positive
from convexdesign.typing import Floats

__all__ = ["StaticAllocation"]


class StaticAllocation(GapElimination):
    """The rounds of RAGE with proportions that never adapt: the baseline that shows what adaptation buys.

    design: "xy" (tell all items apart; for level sets estimate all items) or "g" (G-optimal over the arms).
    Give known_variances (n,) or, to plan for the largest one, variance_bounds. How long a round is still depends on
    what is undecided, through the worst variance that the fixed proportions give it.
    Other arguments as in `Identifier`. Source: Soare, Lazaric and Munos (2014), static allocation, with the
    confidence bounds of RAGE.
    """

    def __init__(
        self,
        arms: Any,
        items: Any | None = None,
        objective: Objective = BestArm(),  # noqa: B008  (a frozen value)
        delta: float = 0.05,
        variance_bounds: Sequence[float] | None = None,
        design: str = "xy",
        known_variances: ArrayLike | None = None,
        *,
        epsilon: float = 0.0,
        max_samples: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(arms, items, objective, delta, epsilon=epsilon, max_samples=max_samples, rng=rng)
        n = self.arms.shape[0]
        remedy, names = "a noise VARIANCE must be positive", self._arm_rows.names
        known = read_positive(known_variances, "known_variances", n, remedy, names)
        bounds = variance_range(variance_bounds, None if known is not None else "a static allocation")
        self.known_variances, self.variance_bounds = known, bounds
        self._known: Floats = known if known is not None else np.full(n, bounds[1] if bounds else 1.0)
        self._low = self._known if known is not None else 0.0
        if design not in ("xy", "g"):
            raise InputError(f"design is {design!r}; choose 'xy' or 'g'")
        self.design = design

    def _plug_in(self) -> tuple[Floats, float]:
        return self._known, 2.0

    @property
    def assumption(self) -> str:
        bounds = self.variance_bounds
        return noise_up_to("the known ones" if self.known_variances is not None or bounds is None else f"{bounds[1]:g}")

    def _variances_assumed(self) -> tuple[Any, Any]:
        return self._low, self._known

    def _design(self, variances: Floats) -> Allocation:
        fixed = self._allocated(self._everything, variances)
        wanted = self._undecided(self._usable_rows, variances[self._usable])
        return replace(fixed, value=value_on(wanted, fixed.weights[self._usable]))

    def _everything(self, arms: Rows, variances: Floats) -> DesignProblem:
        """The one design: for all items, or for all arms."""
        if self.design == "g":
            return DesignProblem.g_optimal(arms, noise_variance=variances)
        return self.goal.allocation(arms, self.goal.start(), variances)
