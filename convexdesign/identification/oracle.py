"""The oracle allocation: what one would pull if theta and the variances were known; a yardstick, not an algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.estimation import Observations, least_squares
from convexdesign.identification.allocations import Allocation
from convexdesign.identification.identifier import Identifier, noise_up_to
from convexdesign.identification.result import Status
from convexdesign.problem import DesignProblem
from convexdesign.problem.labels import COORDINATES
from convexdesign.problem.objectives import BestArm, Objective
from convexdesign.problem.read import Rows, read_positive, read_vector
from convexdesign.typing import Floats

__all__ = ["OracleAllocation"]


class OracleAllocation(Identifier):
    """One batch of 2 psi* log(2|Z|/delta) pulls in the oracle proportions, then the answer that the estimate gives.

    theta (d,) and noise_variance (scalar or (n,), VARIANCES) are the truth; only the allocation uses theta, the answer
    comes from the rewards. heteroskedastic=False plans for the largest variance on every arm and estimates by ordinary
    least squares: 2 rho* log(2|Z|/delta) pulls, up to kappa times as many. With epsilon, items within epsilon of the
    best (or of the threshold) need not be told apart. Other arguments as in `Identifier`.
    Source: Weltz et al. (2023), sections 4 and 5, the heteroskedastic and homoskedastic oracles.

    >>> import convexdesign as cd
    >>> world = cd.instances.soare()
    >>> algo = cd.identification.OracleAllocation(world.arms, theta=world.theta, noise_variance=world.noise_variance)
    >>> algo.ask().counts.round(-1)
    array([1280,    0, 1280])
    """

    def __init__(
        self,
        arms: Any,
        items: Any | None = None,
        objective: Objective = BestArm(),  # noqa: B008  (a frozen value)
        delta: float = 0.05,
        theta: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
        heteroskedastic: bool = True,
        *,
        epsilon: float = 0.0,
        max_samples: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(arms, items, objective, delta, epsilon=epsilon, max_samples=max_samples, rng=rng)
        if theta is None or noise_variance is None:
            raise InputError("an oracle needs the truth: give theta and noise_variance (VARIANCES)")
        n, d = self.arms.shape
        self.theta = read_vector(theta, "theta", d, self._arm_rows.columns, COORDINATES)
        remedy, names = "a noise VARIANCE must be positive", self._arm_rows.names
        variance = read_positive(noise_variance, "noise_variance", n, remedy, names)
        assert variance is not None
        self.noise_variance = variance
        self.heteroskedastic = heteroskedastic
        self._planning = variance if heteroskedastic else np.full(n, variance.max())
        self._oracle(self._arm_rows, self._planning)  # ties are refused here, not when the batch is planned
        self._allocation: Allocation | None = None

    @property
    def assumption(self) -> str:
        return f"theta is the one given, and {noise_up_to('those given')}"

    def _variances_assumed(self) -> tuple[Any, Any]:
        return self.noise_variance, self.noise_variance

    def _oracle(self, arms: Rows, variances: Floats) -> DesignProblem | None:
        """The oracle's problem; None where all items are within epsilon of the answer."""
        return self.goal.oracle(arms, self.theta, variances, self.epsilon)

    def _plan(self) -> NDArray[Any] | Status:
        if self.rounds:
            return Status.EPSILON_GOOD
        if self._oracle(self._arm_rows, self._planning) is None:
            # Any estimate will do, so measure each arm once.
            return self._on_all_arms(np.ones(self._usable.size))
        if self._allocation is None:
            # The question was just answered for all arms; fewer arms do not change it.
            self._allocation = self._allocated(self._oracle, self._planning)  # type: ignore[arg-type]
        with np.errstate(over="ignore", invalid="ignore"):  # what cannot be counted is not asked for
            pulls = 2.0 * self._allocation.value * np.log(2.0 * self.items.shape[0] / self.delta)
            return np.asarray(np.ceil(pulls * self._allocation.weights))

    def _forget_designs(self) -> None:
        self._allocation = None

    def memory(self) -> dict[str, Any]:
        """Who was left, and the oracle's design."""
        return super().memory() | {"allocation": None if self._allocation is None else self._allocation.record()}

    def _recall(self, memory: Mapping[str, Any], counts: NDArray[np.int64]) -> None:
        super()._recall(memory, counts)
        record = memory["allocation"]
        self._allocation = None if record is None else Allocation.from_record(record, self.arms.shape[0])

    def _learn(self, observations: Observations) -> None:
        theta = least_squares(self._arm_rows, observations, self._planning).theta
        standing = self.standing if self.epsilon > 0 else self.goal.conclude(self.standing, theta)
        self._close_round(observations, standing, theta, self._allocation)
