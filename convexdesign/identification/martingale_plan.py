"""Which batch comes next: the plug-in oracle's proportions, as many pulls as the bets still seem to need."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import LinearFit
from convexdesign.identification.allocations import Allocation
from convexdesign.identification.evidence import SCALES, Evidence
from convexdesign.identification.goals import BestArmGoal, Goal, Standing
from convexdesign.identification.identifier import Statement
from convexdesign.problem import DesignProblem
from convexdesign.problem.read import Rows

__all__ = ["Allocated", "Planner"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Designs need not be precise: the next one comes soon.
DESIGN_TOLERANCE = 1e-3
# The share of pulls that keeps every direction and every variance in view.
EXPLORATION = 0.005
# A batch is between these shares of all samples so far.
LEAST_BATCH, LARGEST_BATCH = 0.1, 0.5
# Gaps are taken to be at least so many standard deviations: what is not yet seen to be small is not chased.
DEVIATIONS = 2.0
# The first batch, in pulls per dimension of the arms; half of it goes to all arms alike where they are few.
FIRST_PULLS = 64


class Allocated(Protocol):
    """Solves a problem, stated for arms and their VARIANCES, over the arms that can be pulled; weights over all arms."""

    def __call__(self, problem: Statement, variances: Floats, **options: Any) -> Allocation: ...


def _exploration(arms: Rows, variances: Floats) -> DesignProblem:
    return DesignProblem.g_optimal(arms)


class Planner:
    """Efficiency only: whatever it plans from earlier rounds, the promise holds.

    After a first batch on the G-optimal design, gaps are estimated as max(estimate, two standard deviations), and the
    proportions are the oracle's for these gaps and the likely variances, with half a percent on the G-optimal design.
    The batch is as long as the direction furthest from being decided seems to need, and adds at least a
    tenth and at most half of the samples so far.
    """

    def __init__(self, evidence: Evidence, goal: Goal, threshold: float) -> None:
        self.evidence = evidence
        self.goal = goal
        # A bet pays about M²/(2V) - log(V/rho)/2 - log(number of scales); the middle term is about two.
        self.needed = threshold + np.log(len(SCALES)) + 2.0
        self.exploring: Floats | None = None
        self.oracle: Allocation | None = None

    def next_counts(
        self,
        standing: Standing,
        fit: LinearFit | None,
        variances: Floats,
        samples: int,
        left: int,
        usable: Indices,
        allocated: Allocated,
    ) -> NDArray[Any]:
        """Counts (n,) of the next batch, at most `left` in all, on the `usable` arms that `allocated` solves over.

        fit: least squares of all rewards so far with the likely VARIANCES `variances` (n,), None before any.
        """
        if self.exploring is None:
            self.exploring = allocated(_exploration, np.ones_like(variances)).weights
        if fit is None:
            return self._whole(self._first_weights(usable), self._first_total(), left)
        directions, gaps = self._wanted(standing, fit)

        def problem(arms: Rows, noise_variance: Floats) -> DesignProblem:
            return DesignProblem(arms, directions / gaps[:, None], noise_variance=noise_variance)

        self.oracle = oracle = allocated(problem, variances, tol=DESIGN_TOLERANCE, remember=False)
        weights = (1.0 - EXPLORATION) * oracle.weights + EXPLORATION * self.exploring
        # Per pull, V grows by one over the variance y'A(w)^-1 y of the direction.
        assert oracle.design is not None  # it was solved just now
        price = np.asarray(oracle.design.variance(directions))
        deficit = float(np.max((2.0 * self.needed / gaps**2 - self._progress(directions)) * price))
        total = np.clip(deficit, LEAST_BATCH * samples, LARGEST_BATCH * samples)
        return self._whole(weights, float(total), left)

    def _first_total(self) -> int:
        return FIRST_PULLS * self.evidence.space.rank

    def _first_weights(self, usable: Indices) -> Floats:
        assert self.exploring is not None
        if usable.size <= self._first_total() // 4:
            weights = 0.5 * self.exploring
            weights[usable] += 0.5 / usable.size
            return weights
        return self.exploring

    def _whole(self, weights: Floats, total: float, left: int) -> NDArray[Any]:
        """ceil, or floor where that would go beyond what is left."""
        counts = np.ceil(total * weights)
        if counts.sum() > left:
            counts = np.floor(left * weights)
            # Whole pulls lost to rounding go to the heaviest arms, one each.
            short = int(left - counts.sum())
            counts[np.argsort(-weights, kind="stable")[:short]] += 1
        return np.asarray(counts)

    def _wanted(self, standing: Standing, fit: LinearFit) -> tuple[Floats, Floats]:
        """Directions (k, d) still to be decided, and their likely gaps (k,)."""
        items = self.goal.values[standing.undecided]
        if isinstance(self.goal, BestArmGoal):
            best = int(np.argmax(items @ fit.theta))
            group = self.goal.group[standing.undecided]
            directions = items[best] - items[group != group[best]]
            estimates = directions @ fit.theta
        else:
            directions = items
            estimates = np.abs(items @ fit.theta - self.goal.threshold)
        return directions, np.maximum(estimates, DEVIATIONS * np.sqrt(fit.variance(directions)))

    def _progress(self, directions: Floats) -> Floats:
        """V (k,) of directions so far."""
        if not self.evidence.summaries:
            return np.zeros(directions.shape[0])
        return np.asarray(self.evidence.totals(directions)[1][-1])
