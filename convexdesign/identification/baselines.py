"""Baselines: one design for the whole experiment, chosen before the first reward, and the oracle that knows theta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import choice, flag
from convexdesign.arms.labels import COORDINATES
from convexdesign.arms.read import LabelledVectors, read_vector
from convexdesign.errors import InputError
from convexdesign.estimation import Observations, least_squares, variance_range
from convexdesign.identification.allocations import Allocation, value_on
from convexdesign.identification.identifier import REWARDS, VARIANCES, Identifier, noise_up_to
from convexdesign.identification.rage import GapElimination
from convexdesign.identification.result import AnswerStatus
from convexdesign.problem import DesignProblem
from convexdesign.typing import Floats

__all__ = ["OracleAllocation", "StaticAllocation"]


@dataclass(eq=False, repr=False)
class StaticAllocation(GapElimination):
    """The rounds of RAGE with proportions that never adapt: the baseline that shows what adaptation buys.

    How long a round is still depends on what is undecided, through the worst variance that the fixed proportions give
    it.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), optional
        What is asked about; the arms by default.
    objective : BestArm or LevelSet
        What is to be found.
    delta : float
        The answer may be wrong with this probability.
    variance_bounds : pair of float, optional
        (low, high) on the noise VARIANCES, to plan for the largest one.
    design : {"xy", "g"}
        Tell all items apart (for level sets: estimate all items), or G-optimal over the arms.
    known_variances : array_like, scalar or shape (n,), optional
        Instead of variance_bounds: VARIANCES.
    epsilon : float
        Settle for an answer that is right up to epsilon (units of the rewards).
    max_samples : int, optional
        Never ask for more pulls than this in all (2^62 where there is none).
    rng : numpy.random.Generator or int, optional
        Accepted everywhere, used where something is random.
    confirm_noise : bool
        Take rewards of two values too where the noise was said to be another; otherwise `tell` refuses them, since their
        variances are not learned as those of Gaussian noise are.

    References
    ----------
    Soare, Lazaric and Munos (2014), static allocation, with the confidence bounds of RAGE.

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.soare(kappa=2.0)
    >>> algo = cd.identification.StaticAllocation(world.arms, known_variances=world.noise_variance)
    >>> env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0)
    >>> cd.simulation.simulate(algo, env).answer
    (0,)
    """

    variance_bounds: Sequence[float] | None = field(default=None, metadata=VARIANCES)
    design: str = "xy"
    known_variances: ArrayLike | None = field(default=None, metadata=VARIANCES)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.known_variances = known = self._positive(self.known_variances, "known_variances")
        bounds = variance_range(self.variance_bounds, None if known is not None else "a static allocation")
        self.variance_bounds = bounds
        self._most: Floats = known if known is not None else np.full(self.n_arms, bounds[1] if bounds else 1.0)
        self._least = 0.0 if known is None else known
        choice(self.design, ("xy", "g"), "design")

    def _plug_in(self) -> tuple[Floats, float]:
        return self._most, 2.0

    @property
    def assumption(self) -> str:
        """What the promise rests on, in words that follow "if"."""
        return noise_up_to("the known ones" if self.known_variances is not None else f"{self._most[0]:g}")

    def _variances_assumed(self) -> tuple[Any, Any]:
        return self._least, self._most

    def _design(self, variances: Floats) -> Allocation:
        fixed = self._allocated(self._everything, variances)
        wanted = self._undecided(self._rows_in_play, variances[self.usable])
        return replace(fixed, value=value_on(wanted, fixed.weights[self.usable]))

    def _everything(self, arms: LabelledVectors, variances: Floats) -> DesignProblem:
        """The one design: for all items, or for all arms."""
        if self.design == "g":
            return DesignProblem.g_optimal(arms, noise_variance=variances)
        return self.objective.allocation(arms, self._items, self.objective.start(self._items), variances)


@dataclass(eq=False, repr=False)
class OracleAllocation(Identifier):
    """One batch of 2 psi* log(2|Z|/delta) pulls in the oracle proportions, then the answer that the estimate gives.

    Only the allocation uses theta, the answer comes from the rewards: a yardstick, not an algorithm. With epsilon,
    items within epsilon of the best (or of the threshold) need not be told apart.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), optional
        What is asked about; the arms by default.
    objective : BestArm or LevelSet
        What is to be found.
    delta : float
        The answer may be wrong with this probability.
    theta : array_like, shape (d,)
        The true coefficients.
    noise_variance : array_like, scalar or shape (n,)
        The true VARIANCES.
    heteroskedastic : bool
        False plans for the largest variance on every arm and estimates by ordinary least squares: 2 rho*
        log(2|Z|/delta) pulls, up to kappa times as many.
    epsilon : float
        Settle for an answer that is right up to epsilon (units of the rewards).
    max_samples : int, optional
        Never ask for more pulls than this in all (2^62 where there is none).
    rng : numpy.random.Generator or int, optional
        Accepted everywhere, used where something is random.
    confirm_noise : bool
        Take rewards of two values too where the noise was said to be another; otherwise `tell` refuses them, since their
        variances are not learned as those of Gaussian noise are.

    References
    ----------
    Weltz et al. (2023), sections 4 and 5, the heteroskedastic and homoskedastic oracles.

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.soare()
    >>> algo = cd.identification.OracleAllocation(world.arms, theta=world.theta, noise_variance=world.noise_variance)
    >>> algo.ask().counts.round(-1)
    array([1280,    0, 1280])
    """

    theta: ArrayLike | None = field(default=None, metadata=REWARDS)
    noise_variance: ArrayLike | None = field(default=None, metadata=VARIANCES)
    heteroskedastic: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.theta is None or self.noise_variance is None:
            raise InputError("an oracle needs the truth: give theta and noise_variance (VARIANCES)")
        columns = self.arm_rows.columns
        self.theta = self._theta = read_vector(self.theta, "theta", self.arms.shape[1], columns, COORDINATES)
        variance = self._positive(self.noise_variance, "noise_variance")
        assert variance is not None
        self.noise_variance = variance
        self._planning = (
            variance if flag(self.heteroskedastic, "heteroskedastic") else np.full(self.n_arms, variance.max())
        )
        # Ties are refused here, not when the batch is planned.
        self._is_settled = self._oracle(self.arm_rows, self._planning) is None

    @property
    def assumption(self) -> str:
        """What the promise rests on, in words that follow "if"."""
        return f"theta is the one given, and {noise_up_to('those given')}"

    def _variances_assumed(self) -> tuple[Any, Any]:
        return self.noise_variance, self.noise_variance

    def _oracle(self, arms: LabelledVectors, variances: Floats) -> DesignProblem | None:
        """The oracle's problem; None where all items are within epsilon of the answer."""
        return self.objective.oracle(arms, self._items, self._theta, variances, self.epsilon)

    def _plan(self) -> NDArray[Any] | AnswerStatus:
        if self.rounds:
            return AnswerStatus.EPSILON_GOOD
        if self._is_settled:
            # Any estimate will do, so measure each arm once.
            return self._on_all_arms(np.ones(self.usable.size))
        if self._allocation is None:
            # The question was answered for all arms; fewer arms do not change it.
            self._allocation = self._allocated(self._oracle, self._planning)  # type: ignore[arg-type]
        with np.errstate(over="ignore", invalid="ignore"):  # what cannot be counted is not asked for
            pulls = 2.0 * self._allocation.value * np.log(2.0 * self.items.shape[0] / self.delta)
            return np.asarray(np.ceil(pulls * self._allocation.weights))

    def _learn(self, observations: Observations) -> None:
        theta = least_squares(self.arm_rows, observations, self._planning).theta
        known = self.partition
        partition = known if self.epsilon > 0 else self.objective.conclude(self._items, known, theta)
        self._close_round(observations, partition, theta)
