"""Elimination with test martingales: the same promise from all the data, without a burn-in or tight variance bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.estimation import LinearFit, Observations, least_squares, variance_range
from convexdesign.estimation.error_bound import Noise
from convexdesign.identification.allocations import Allocation, packed, unpacked
from convexdesign.identification.evidence import Evidence
from convexdesign.identification.goals import BestArmGoal, LevelSetGoal, Standing
from convexdesign.identification.identifier import Identifier
from convexdesign.identification.martingale_plan import Planner
from convexdesign.identification.result import Status
from convexdesign.identification.wealth import variance_upper_ends
from convexdesign.problem.objectives import BestArm, Objective
from convexdesign.problem.read import read_positive

__all__ = ["MartingaleElimination"]

Floats = NDArray[np.float64]

# The share of delta that pays for the variances where they are unknown.
VARIANCE_SHARE = 0.1


class MartingaleElimination(Identifier):
    """Bets against every wrong answer, on all rounds together, in batches that follow the plug-in oracle.

    variance_bounds: (low, high) on the noise VARIANCES, or None; high is where the upper confidence ends of the variances
    start, low is used for planning alone. known_variances: (n,) or scalar. noise: "gaussian" or "sub-gaussian" (strictly
    sub-Gaussian). Other arguments as in `Identifier`. After every round `p_value` holds for the leader, at any time.

    **Why it is right.** Counts c_k and bounds U_x of round k depend on earlier rounds only. Put U' = max(U, s²): given
    the past, y'theta_k has mean y'theta and variance at most v_k' = v_k(U'), so that for y'theta <= 0 the wealth of
    `log_wealth` is below a nonnegative supermartingale that starts at one, and reaches 1/p with probability at most p.
    On the event U >= s² in all rounds, of probability at least 1 - delta_v (`variance_upper_ends`; delta_v = delta/10,
    0 for known variances), U' = U. Best arm: item z is dropped once the wealth of z' - z reaches (|Z| - 1)/delta_m for
    some z', delta_m = delta - delta_v. The best item z* is lost only through one of |Z| - 1 directions z' - z* with
    (z' - z*)'theta <= 0. Level sets: item z is placed above (below) once the wealth of z'theta - alpha (its negative)
    reaches |Z|/delta_m; each item has one wrong side. Epsilon-good: bets on y'theta + epsilon <= 0, in the same
    directions, whose wealth is never less; so the same |Z| - 1 (or |Z|) events pay for both.

    Beyond the paper; the tools are those of Robbins (1970), method of mixtures, and Howard et al. (2021).

    >>> import convexdesign as cd
    >>> world = cd.instances.soare()
    >>> algo = cd.identification.MartingaleElimination(world.arms, variance_bounds=(0.1, 100.0))
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
        known_variances: ArrayLike | None = None,
        *,
        noise: Noise = "gaussian",
        epsilon: float = 0.0,
        max_samples: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(arms, items, objective, delta, epsilon=epsilon, max_samples=max_samples, rng=rng)
        if noise not in ("gaussian", "sub-gaussian"):
            raise InputError(f"noise is {noise!r}; choose 'gaussian' or 'sub-gaussian'")
        n = self.arms.shape[0]
        self.noise: Noise = noise
        self.known_variances = read_positive(known_variances, "known_variances", n, "a noise VARIANCE must be positive")
        self.variance_bounds = variance_range(variance_bounds) or (0.0, np.inf)
        known = self.known_variances
        self.delta_v = 0.0 if known is not None else VARIANCE_SHARE * self.delta
        self.delta_m = self.delta - self.delta_v
        self.upper_variances: Floats = np.full(n, self.variance_bounds[1]) if known is None else known
        self.evidence = Evidence(np.asarray(self.arms, dtype=float))
        self.p_value = 1.0
        self._squares, self._dof = np.zeros(n), np.zeros(n)
        self._fit: LinearFit | None = None
        self._planner = Planner(self.evidence, self.goal, np.log(self.goal.mistakes / self.delta_m))

    def _variances_assumed(self) -> tuple[Any, Any] | None:
        if self.known_variances is not None:
            return self.known_variances, self.known_variances
        # The lower bound is used for planning alone.
        return (0.0, self.variance_bounds[1]) if np.isfinite(self.variance_bounds[1]) else None

    def _span_needed(self) -> Floats:
        # Rounds that miss part of the span are worth no bets.
        return np.asarray(self.arms, dtype=float)

    # ---------------------------------------------------------------- rounds

    def _plan(self) -> NDArray[Any] | Status:
        left = self.max_samples - self.samples
        if left <= 0:
            return Status.UNDECIDED
        likely = self._likely_variances()
        return self._planner.next_counts(
            self.standing, self._fit, likely, self.samples, left, self._usable, self._allocated
        )

    def _forget_designs(self) -> None:
        self._planner.exploring = None

    def memory(self) -> dict[str, Any]:
        """Who was left, the design that explores, and the open batch's design."""
        exploring, oracle = self._planner.exploring, self._planner.oracle
        return super().memory() | {
            "exploring": None if exploring is None else packed(exploring),
            "allocation": None if oracle is None else oracle.record(),
        }

    def _recall(self, memory: Mapping[str, Any], counts: NDArray[np.int64]) -> None:
        super()._recall(memory, counts)
        n, exploring, oracle = self.arms.shape[0], memory["exploring"], memory["allocation"]
        self._planner.exploring = None if exploring is None else unpacked(exploring, n)
        self._planner.oracle = None if oracle is None else Allocation.from_record(oracle, n)

    def _learn(self, observations: Observations) -> None:
        if self._told > 0 or self.known_variances is not None:
            # The bounds in force when the batch was asked for: nothing of its own rewards is in them. The first
            # batch is for the variances alone: before it, the bounds may be so wide that its bets are worth nothing.
            self.evidence.add(observations, self.upper_variances)
        self._tighten(observations)
        self._fit = least_squares(self._arm_rows, self.observations.merge(observations), self._likely_variances())
        standing, good = self._judge(self._fit.theta)
        self._close_round(observations, standing, self._fit.theta, self._planner.oracle, p_value=self.p_value)
        if good and self._status is None:
            self._status = Status.EPSILON_GOOD

    def _tighten(self, observations: Observations) -> None:
        """Upper ends of the variances for the next round; never larger than before."""
        self._squares = self._squares + observations.m2
        self._dof = self._dof + np.maximum(observations.count - 1, 0)
        if self.known_variances is None:
            threshold = self.arms.shape[0] / self.delta_v
            ends = variance_upper_ends(self._squares, self._dof, threshold, self.variance_bounds[1], self.noise)
            self.upper_variances = np.minimum(self.upper_variances, np.maximum(ends, self.variance_bounds[0]))

    def _likely_variances(self) -> Floats:
        """Plug-in VARIANCES (n,) for planning: sample variances, shrunk to the common one where pulls are few."""
        if self.known_variances is not None:
            return self.known_variances
        dof, low = self._dof, self.variance_bounds[0]
        if not dof.any():
            return np.ones_like(dof)
        common = self._squares.sum() / dof.sum()
        likely = (4.0 * common + self._squares) / (4.0 + dof)
        return np.maximum(np.clip(likely, low, self.upper_variances), np.finfo(float).tiny)

    # ---------------------------------------------------------------- judging

    def _judge(self, theta: Floats) -> tuple[Standing, bool]:
        """Who is left, and whether the answer that theta gives is epsilon-good."""
        if isinstance(self.goal, BestArmGoal):
            return self._judge_best_arm(self.goal, theta)
        return self._judge_level_set(self.goal, theta)

    def _judge_best_arm(self, goal: BestArmGoal, theta: Floats) -> tuple[Standing, bool]:
        threshold = np.log(goal.mistakes / self.delta_m)
        survivors = self.standing.undecided
        leader = int(survivors[np.argmax(goal.values[survivors] @ theta)])
        others = np.flatnonzero(goal.group != goal.group[leader])
        wealth = np.full(goal.values.shape[0], -np.inf)
        wealth[others] = self.evidence.best_log_wealth(goal.values[leader] - goal.values[others])
        least = float(wealth[others].min())
        self.p_value = min(1.0, self.delta_v + goal.mistakes * float(np.exp(-least)))
        left = Standing(survivors[wealth[survivors] < threshold], self.standing.above, self.standing.below)
        rivals = left.undecided[goal.group[left.undecided] != goal.group[leader]]
        good = False
        if self.epsilon > 0 and rivals.size:
            directions = goal.values[leader] - goal.values[rivals]
            good = bool(np.all(self.evidence.best_log_wealth(directions, self.epsilon) >= threshold))
        return left, good

    def _judge_level_set(self, goal: LevelSetGoal, theta: Floats) -> tuple[Standing, bool]:
        threshold = np.log(goal.mistakes / self.delta_m)
        measured = goal.values.any(axis=1)
        above, below = np.full((2, measured.size), np.inf)
        above[measured] = self.evidence.best_log_wealth(goal.values[measured], -goal.threshold)
        below[measured] = self.evidence.best_log_wealth(-goal.values[measured], goal.threshold)
        items = self.standing.undecided
        left = goal.place(self.standing, above[items] >= threshold, below[items] >= threshold)
        likely = goal.values @ theta > goal.threshold
        likely[left.above], likely[left.below] = True, False
        least = float(np.where(likely, above, below).min())
        self.p_value = min(1.0, self.delta_v + goal.mistakes * float(np.exp(-least)))
        rest = left.undecided
        good = False
        if self.epsilon > 0 and rest.size:
            sign = np.where(likely[rest], 1.0, -1.0)
            shift = self.epsilon - sign * goal.threshold
            good = bool(np.all(self.evidence.best_log_wealth(sign[:, None] * goal.values[rest], shift) >= threshold))
        return left, good
