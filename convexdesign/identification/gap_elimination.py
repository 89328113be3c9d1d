"""The round loop of RAGE and its relatives: design, pull, estimate, eliminate, with twice the accuracy each time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations, least_squares
from convexdesign.identification.allocations import Allocation
from convexdesign.identification.identifier import Identifier
from convexdesign.identification.result import Status
from convexdesign.problem import DesignProblem
from convexdesign.problem.read import Rows
from convexdesign.typing import Floats

__all__ = ["GapElimination"]


class GapElimination(Identifier):
    """Rounds l = 1, 2, ...: estimate what is undecided to accuracy 2^-l, and drop what differs by more.

    The number of pulls is tau = c 4^l q log(8 l² |Z| / delta) in the proportions w of the design, rounded up, with |Z|
    the number of ALL items and q the worst variance of exactly these proportions, so that an inexact design costs
    samples, never validity. If the true variances are at most c/2 times the plugged-in ones, each direction is then
    off by more than 2^-l with probability at most 2 exp(-log(8 l² |Z| / delta)) = delta / (4 l² |Z|), and in all
    rounds and directions together with probability at most (pi²/24) delta < delta/2.

    Source: Fiez, Jain, Jamieson and Ratliff (2019); Weltz et al. (2023), section 4 and appendices F and G.
    """

    _allocation: Allocation | None = None
    _allocated_for: NDArray[np.intp] | None = None

    @abstractmethod
    def _plug_in(self) -> tuple[Floats, float]:
        """VARIANCES (n,) to design and to weigh with, and c: the true ones must be at most c/2 times these."""

    def _plan(self) -> NDArray[Any] | Status:
        number = len(self.rounds) + 1
        if self.rounds and self.rounds[-1].accuracy <= self.epsilon / 2.0:
            # All that survive are within two accuracies of the best, or of the threshold.
            return Status.EPSILON_GOOD
        variances, constant = self._plug_in()
        if self._allocation is None or not np.array_equal(self._allocated_for, self.standing.undecided):  # type: ignore[arg-type]
            self._allocation = self._design(variances)
            self._allocated_for = self.standing.undecided
        confidence = np.log(8.0 * number**2 * self.items.shape[0] / self.delta)
        with np.errstate(over="ignore", invalid="ignore"):  # what cannot be counted is not asked for
            tau = constant * np.exp2(2.0 * number) * self._allocation.value * confidence
            return np.asarray(np.ceil(tau * self._allocation.weights))

    def _design(self, variances: Floats) -> Allocation:
        """The design of the next round: the best one for what is undecided."""
        return self._allocated(self._undecided, variances)

    def _undecided(self, arms: Rows, variances: Floats) -> DesignProblem:
        """The allocation for what is undecided now."""
        return self.goal.allocation(arms, self.standing, variances)

    def _forget_designs(self) -> None:
        self._allocation = None

    def memory(self) -> dict[str, Any]:
        """Who was left, and the design of the open batch."""
        design = None if self._allocation is None else self._allocation.record()
        return super().memory() | {"allocation": design}

    def _recall(self, memory: Mapping[str, Any], counts: NDArray[np.int64]) -> None:
        super()._recall(memory, counts)
        record = memory["allocation"]
        self._allocation = None if record is None else Allocation.from_record(record, self.arms.shape[0])
        self._allocated_for = self.standing.undecided

    def _learn(self, observations: Observations) -> None:
        accuracy = 2.0 ** -(len(self.rounds) + 1)
        theta = least_squares(self._arm_rows, observations, self._plug_in()[0]).theta
        standing = self.goal.decide(self.standing, theta, accuracy)
        self._close_round(observations, standing, theta, self._allocation, accuracy)
