"""RAGE and the round loop of its relatives: design, pull, estimate, eliminate, with twice the accuracy each time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import choice
from convexdesign.errors import InputError
from convexdesign.estimation import Observations, least_squares, variance_range
from convexdesign.identification.allocations import Allocation
from convexdesign.identification.identifier import REWARDS, VARIANCES, Identifier, noise_up_to
from convexdesign.identification.result import AnswerStatus
from convexdesign.identification.reward_range import BOUNDED_NOISES, reward_range_of
from convexdesign.typing import Counts, Floats, Indices

__all__ = ["ROUNDS_SHARE", "GapElimination", "Rage"]

# The share of delta that the rounds may spend where there is a burn-in, which has the other half.
ROUNDS_SHARE = 0.5


@dataclass(eq=False, repr=False)
class GapElimination(Identifier):
    """Rounds l = 1, 2, ...: estimate what is undecided to accuracy 2^-l, and drop what differs by more.

    The number of pulls is tau = c 4^l q log(pi² l² |Z| / (6 delta_r)) in the proportions w of the design, rounded up, with
    |Z| the number of ALL items, delta_r the rounds' share of delta (all of it where there is no burn-in), and q the worst
    variance of exactly these proportions, so that an inexact design costs samples, never validity. If the true
    variances are at most c/2 times the plugged-in ones, each direction is then too high by more than 2^-l with probability at
    most exp(-log(pi² l² |Z| / (6 delta_r))) = 6 delta_r / (pi² l² |Z|), and too low likewise. One side of each is enough.
    Best arm: z* is dropped, or an item more than two accuracies worse is left, only where some (z - z*)'theta-hat is too
    high by more than that, one event for each z. Level sets: an item above the threshold is misplaced, or left where it is
    further than two accuracies away, only where its estimate is too low by more, an item below only where it is too high.
    So in all rounds and directions together an error has probability at most delta_r, as Σ 6/(pi² l²) = 1.

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
    Fiez, Jain, Jamieson and Ratliff (2019); Weltz et al. (2023), section 4 and appendices F and G.

    Examples
    --------
    >>> import convexdesign as cd
    >>> [issubclass(kind, GapElimination) for kind in (cd.identification.Rage, cd.identification.HRage)]
    [True, True]
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._delta_rounds = self.delta
        self._allocated_for: Indices | None = None

    @abstractmethod
    def _plug_in(self) -> tuple[Floats, float]:
        """VARIANCES (n,) to design and to weigh with, and c: the true ones must be at most c/2 times these."""

    def _plan(self) -> NDArray[Any] | AnswerStatus:
        number, undecided = len(self.rounds) + 1, self.partition.undecided
        if self.rounds and self.rounds[-1].accuracy <= self.epsilon / 2.0:
            # All that survive are within two accuracies of the best, or of the threshold.
            return AnswerStatus.EPSILON_GOOD
        variances, constant = self._plug_in()
        if self._allocation is None or not np.array_equal(self._allocated_for, undecided):  # type: ignore[arg-type]
            self._allocation, self._allocated_for = self._design(variances), undecided
        confidence = np.log(np.pi**2 * number**2 * self.items.shape[0] / (6.0 * self._delta_rounds))
        with np.errstate(over="ignore", invalid="ignore"):  # what cannot be counted is not asked for
            tau = constant * np.exp2(2.0 * number) * self._allocation.value * confidence
            return np.asarray(np.ceil(tau * self._allocation.weights))

    def _design(self, variances: Floats) -> Allocation:
        """The design of the next round: the best one for what is undecided."""
        return self._allocated(self._undecided, variances)

    def counts_refused(self, came: Counts) -> str | None:
        """Why other numbers of results cannot be used: more make a round more accurate than it must be; fewer do not.

        Parameters
        ----------
        came : array of int64, shape (n,)
            Results of each arm.

        Returns
        -------
        str or None
            The reason; None where they can.
        """
        fewer = self._planned is not None and bool((came < self._planned).any())
        return "every round needs at least the pulls that were asked for" if fewer else None

    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        super()._restore(state, counts)
        self._allocated_for = self.partition.undecided

    def _learn(self, observations: Observations) -> None:
        accuracy = 2.0 ** -(len(self.rounds) + 1)
        theta = least_squares(self.arm_rows, observations, self._plug_in()[0]).theta
        partition = self.objective.decide(self._items, self.partition, theta, accuracy)
        self._close_round(observations, partition, theta, accuracy)


@dataclass(eq=False, repr=False)
class Rage(GapElimination):
    """Elimination in rounds for noise of at most one VARIANCE, `variance_bounds[1]`; heteroskedasticity is ignored.

    Designs and estimates are unweighted (ordinary least squares), and every round is as long as the largest variance
    requires: valid whatever the variances below the bound are, and up to kappa = max s²/min s² times too long.

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
    variance_bounds : pair of float
        (low, high) on the noise VARIANCES; only high is used, and none is needed where the rewards have a range.
    epsilon : float
        Settle for an answer that is right up to epsilon (units of the rewards).
    max_samples : int, optional
        Never ask for more pulls than this in all (2^62 where there is none).
    rng : numpy.random.Generator or int, optional
        Accepted everywhere, used where something is random.
    confirm_noise : bool
        Take rewards of two values too where the noise was said to be another; otherwise `tell` refuses them, since their
        variances are not learned as those of Gaussian noise are.
    noise : {"gaussian", "bernoulli", "bounded"}
        "bernoulli" for rewards that are one of two values, "bounded" for all between two. The bound is then their variance
        proxy max (high - low)²/4 (Hoeffding 1963). `MartingaleElimination` needs far fewer samples where variances are
        far below that.
    reward_range : pair, optional
        (low, high), scalars or of shape (n,) each; (0, 1) for "bernoulli" where it is left out.

    References
    ----------
    Fiez et al. (2019); Weltz et al. (2023), appendix I, algorithm RAGE.

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.soare(kappa=2.0)
    >>> algo = cd.identification.Rage(world.arms, delta=0.05, variance_bounds=(1.0, 2.0))
    >>> env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0)
    >>> cd.simulation.simulate(algo, env).answer
    (0,)
    """

    variance_bounds: Sequence[float] | None = field(default=None, metadata=VARIANCES)
    _: KW_ONLY
    noise: str = "gaussian"
    reward_range: Sequence[ArrayLike] | None = field(default=None, metadata=REWARDS)

    def __post_init__(self) -> None:
        choice(self.noise, ("gaussian", *BOUNDED_NOISES), "noise")
        bounds = variance_range(self.variance_bounds, None if self.noise in BOUNDED_NOISES else "RAGE")
        super().__post_init__()
        self._range = within = reward_range_of(self.noise, self.reward_range, self.n_arms, self.arm_rows.names)
        if within is not None:
            self.reward_range, proxy = (within.low, within.high), float(within.largest_variances.max())
            if bounds is not None and bounds[1] < proxy:
                raise InputError(
                    f"variance_bounds end at {bounds[1]:g}, and rewards in the reward_range have variance proxies of up to "
                    f"{proxy:g}; leave variance_bounds out"
                )
            bounds = bounds or (0.0, proxy)
        assert bounds is not None
        self.variance_bounds, self._most = bounds, bounds[1]

    def _plug_in(self) -> tuple[Floats, float]:
        return np.full(self.n_arms, self._most), 2.0

    @property
    def assumption(self) -> str:
        """What the promise rests on, in words that follow "if"."""
        return noise_up_to(f"{self._most:g}") if self._range is None else self._range.assumption

    def _variances_assumed(self) -> tuple[Any, Any]:
        # The lower bound is not used, so nothing rests on it.
        return 0.0, self._most
