"""RAGE: adaptive elimination that knows one bound for all noise variances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from convexdesign.estimation import variance_range
from convexdesign.identification.gap_elimination import GapElimination
from convexdesign.identification.identifier import noise_up_to
from convexdesign.problem.objectives import BestArm, Objective
from convexdesign.typing import Floats

__all__ = ["Rage"]


class Rage(GapElimination):
    """Elimination in rounds for noise of at most one VARIANCE, `variance_bounds[1]`; heteroskedasticity is ignored.

    Designs and estimates are unweighted (ordinary least squares), and every round is as long as the largest variance
    requires: valid whatever the variances below the bound are, and up to kappa = max s²/min s² times too long.
    Other arguments as in `Identifier`. Source: Fiez et al. (2019); Weltz et al. (2023), appendix I, algorithm RAGE.

    >>> import convexdesign as cd
    >>> world = cd.instances.soare(kappa=2.0)
    >>> algo = cd.identification.Rage(world.arms, delta=0.05, variance_bounds=(1.0, 2.0))
    >>> env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0)
    >>> cd.simulation.simulate(algo, env).answer
    (0,)
    """

    def __init__(
        self,
        arms: Any,
        items: Any | None = None,
        objective: Objective = BestArm(),  # noqa: B008  (a frozen value)
        delta: float = 0.05,
        variance_bounds: Sequence[float] | None = None,
        *,
        epsilon: float = 0.0,
        max_samples: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        bounds = variance_range(variance_bounds, "RAGE")
        assert bounds is not None
        self.variance_bounds = bounds
        super().__init__(arms, items, objective, delta, epsilon=epsilon, max_samples=max_samples, rng=rng)

    def _plug_in(self) -> tuple[Floats, float]:
        return np.full(self.arms.shape[0], self.variance_bounds[1]), 2.0

    @property
    def assumption(self) -> str:
        return noise_up_to(f"{self.variance_bounds[1]:g}")

    def _variances_assumed(self) -> tuple[Any, Any]:
        # The lower bound is not used, so nothing rests on it.
        return 0.0, self.variance_bounds[1]
