"""Elimination with test martingales: the same promise from all the data, without a burn-in or tight variance bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import choice, positive
from convexdesign.errors import InputError
from convexdesign.estimation import Observations, variance_range
from convexdesign.estimation.error_bound import Noise as SubGaussian
from convexdesign.estimation.observations import arm_indices
from convexdesign.estimation.row_space import RowSpace, row_space
from convexdesign.identification.allocations import allocate, packed, unpacked
from convexdesign.identification.assumption_checks import LEVEL, and_more_arms, arm_name
from convexdesign.identification.best_arm import BestArm, alike_outside
from convexdesign.identification.coin_bets import BoundedEvidence
from convexdesign.identification.evidence import Bets, CoordinateFit, Evidence, pooled_fit, variance_upper_ends
from convexdesign.identification.gaussian_bets import GaussianEvidence
from convexdesign.identification.identifier import (
    PULLS,
    REWARDS,
    VARIANCES,
    Identifier,
    noise_up_to,
    whole_limit,
)
from convexdesign.identification.level_set import LevelSet
from convexdesign.identification.martingale_plan import WIDEST_GAPS, ArmsToPull, Planner, Wanted, likely_gaps
from convexdesign.identification.objectives import ItemPartition, as_tuple
from convexdesign.identification.result import AnswerStatus, Confidence, Result
from convexdesign.identification.reward_range import BOUNDED_NOISES, reward_range_of
from convexdesign.identification.shared_capital import SharedCapital
from convexdesign.identification.sized_bets import SizedBets
from convexdesign.identification.telling import telling_arms
from convexdesign.identification.variance_history import VarianceHistory
from convexdesign.typing import Counts, Floats, Indices

__all__ = ["MartingaleElimination"]


NOISES = ("gaussian", "sub-gaussian", *BOUNDED_NOISES)
Noise = Literal["gaussian", "sub-gaussian", "bernoulli", "bounded"]
# Variances are not taken to be below this share of the largest (or of the mean) for what the rewards say.
SMALLEST_SHARE = 1e-15
# Nor, where a guess will do, so small that numbers of pulls divided by them could overflow.
SMALLEST_LIKELY = 1e-280
# The share of delta that pays for the variances where they are unknown; bets on Gaussian rewards hardly feel their bounds.
VARIANCE_SHARE, GAUSSIAN_VARIANCE_SHARE = 0.1, 0.02
# The share of what is left that pays for answers right up to epsilon, where those are asked for.
EPSILON_SHARE = 0.5


@dataclass(eq=False, repr=False)
class MartingaleElimination(Identifier):
    """Bets against every wrong answer, on all rounds together, in batches that follow the plug-in oracle.

    `confidence()` holds after every round, at any time.

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
        (low, high) on the noise VARIANCES; high is where the upper confidence ends of the variances start, low is used
        for planning alone.
    known_variances : array_like, scalar or shape (n,), optional
        VARIANCES.
    epsilon : float
        Settle for an answer that is right up to epsilon (units of the rewards).
    max_samples : int, optional
        Never ask for more pulls than this in all (2^62 where there is none).
    rng : numpy.random.Generator or int, optional
        Accepted everywhere, used where something is random.
    confirm_noise : bool
        Take rewards of two values too where the noise was said to be another; otherwise `tell` refuses them, since their
        variances are not learned as those of Gaussian noise are.
    noise : {"gaussian", "sub-gaussian", "bernoulli", "bounded"}
        The law of the rewards: Gaussian or strictly sub-Gaussian noise; rewards that are one of two values, as
        conversions are; all rewards between two, of any variances (see `convexdesign.identification.coin_bets`).
    reward_range : pair, optional
        These two values, (low, high), scalars or (n,) each; (0, 1) for "bernoulli" where it is left out.
    budget : int, optional
        At most so many pulls, and then the best guess with its p-value (status BEST_GUESS), where max_samples gives no
        answer; give one of the two.
    smallest_gap : float, optional
        The order of the smallest gap that matters (units of the rewards), between items or from the threshold. The promise
        holds whatever is told; gaps from half of it to three times of it are found with fewer samples, others with more.

    Notes
    -----
    **Why it is right.** Counts c_k and the leader L_k of round k depend on earlier rounds only. Where all y_k'theta <=
    0, the wealth of the bets on y_k is a nonnegative supermartingale that starts at one, and reaches 1/p with
    probability at most p: for known variances, and bounds U_x on them from earlier rounds, see `log_wealth`; for
    Gaussian noise of unknown variances, where the bounds hardly matter, the module `gaussian_bets`; for rewards in a
    range, which need none, `coin_bets`. On the event U >= s² in all rounds, of probability at least 1 - delta_v
    (`variance_upper_ends`; delta_v = delta/50, 0 for known variances), max(U, s²), for which all of this holds without
    a condition, is U. Best arm: item z is dropped once the wealth of the bets on y_k = L_k - z reaches 1/delta_m,
    delta_m = delta - delta_v. All of these are bets against one hypothesis, that z is a best item: it implies (L_k -
    z)'theta <= 0 for every k. So a best item is lost, and an answer that is not a best item given, with probability at
    most delta_m, however many items there are. Level sets: the bets of all items share a capital of one, see the module
    `shared_capital`; each item has one wrong side, and is placed once its bets have 1/delta_m. Epsilon: see
    `_good_best_arm` and `_good_level_set`.

    References
    ----------
    Beyond the paper; the tools are those of Robbins (1970), method of mixtures, and Howard et al. (2021).

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.soare()
    >>> algo = cd.identification.MartingaleElimination(world.arms, variance_bounds=(0.1, 100.0))
    >>> env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0)
    >>> cd.simulation.simulate(algo, env).answer
    (0,)
    """

    variance_bounds: Sequence[float] | None = field(default=None, metadata=VARIANCES)
    known_variances: ArrayLike | None = field(default=None, metadata=VARIANCES)
    _: KW_ONLY
    noise: Noise = "gaussian"
    reward_range: Sequence[ArrayLike] | None = field(default=None, metadata=REWARDS)
    budget: int | None = field(default=None, metadata=PULLS)
    smallest_gap: float | None = field(default=None, metadata=REWARDS)

    def __post_init__(self) -> None:
        if self.budget is not None:
            if self.max_samples is not None:
                raise InputError(
                    f"max_samples is {self.max_samples!r} and budget is {self.budget!r}; give one: after max_samples there "
                    "is no answer, after a budget the best guess"
                )
            self.budget = self.max_samples = whole_limit("budget", self.budget)
        super().__post_init__()
        choice(self.noise, NOISES, "noise")
        if self.smallest_gap is not None:
            self.smallest_gap = positive(self.smallest_gap, "smallest_gap")
        n, m = self.n_arms, len(self.items)
        self.known_variances = self._known = known = self._positive(self.known_variances, "known_variances")
        self.variance_bounds = variance_range(self.variance_bounds)
        self._low, self._high = self.variance_bounds or (0.0, np.inf)
        self._range = within = reward_range_of(self.noise, self.reward_range, n, self.arm_rows.names)
        if within is not None:
            self.reward_range = (within.low, within.high)
            for name in ("variance_bounds", "known_variances"):
                if getattr(self, name) is not None:
                    raise InputError(f"noise={self.noise!r} rests on no variances; leave {name} out")
        # The shares of delta for the variances and for the means; of the latter, one for answers right up to epsilon.
        share = GAUSSIAN_VARIANCE_SHARE if self.noise == "gaussian" else VARIANCE_SHARE
        self.delta_v = 0.0 if known is not None or within is not None else share * self.delta
        self.delta_m = self.delta - self.delta_v
        # What pays for learning the variances of so many arms; arms that join add as much for each to delta_v.
        self._delta_learnt, self._arms_paid = self.delta_v, n
        settles = self.epsilon > 0 and isinstance(self.objective, BestArm)
        self._delta_epsilon = EPSILON_SHARE * self.delta_m if settles else 0.0
        self._threshold = -float(np.log(self.delta_m - self._delta_epsilon))
        self.upper_variances: Floats = np.full(n, self._high) if known is None else known
        values = np.asarray(self.arms, dtype=float)
        self.evidence: Evidence = Evidence(values)
        if within is not None:
            self.upper_variances = within.largest_variances
            self.evidence = BoundedEvidence(values, within)
        elif known is None and self.noise == "gaussian":
            self.evidence = GaussianEvidence(values)
        self._coordinates = self.evidence.space.coordinates(self._items.values)
        self._count, self._sum, self._squares, self._dof = np.zeros((4, n))
        self._history = VarianceHistory(n)
        self._fit: CoordinateFit | None = None
        self._leader: int | None = None
        # Items that join later, on which nothing is bet before; and of all items after how many rounds of evidence they did.
        self._waiting: Indices = np.empty(0, dtype=np.intp)
        self._since: Indices = np.zeros(m, dtype=np.intp)
        # Items that led while a round was measured, in order, with the number of rounds of evidence before that.
        self._led: dict[int, int] = {}
        # Bets that item z is not the best, or that it is above; and that it is below.
        self._bets, self._below = self._new_bets(m), self._new_bets(m)
        # Of level sets: what part of all capital is bet on each item.
        self._capital = None if isinstance(self.objective, BestArm) else self._shared_capital()
        # What items that joined have added to that capital, which is one in the beginning.
        self._added = 0.0
        self._planner = Planner(self.evidence, self._threshold)
        self._play: tuple[tuple[bytes, bytes], Indices, RowSpace | None] | None = None

    @property
    def error_probability(self) -> float:
        """What the answer is wrong with at most: delta, and what arms and a level set's items that joined add to it."""
        return self.delta + (self.delta_v - self._delta_learnt) + self._added * self.delta_m

    @property
    def assumption(self) -> str:
        """What the promise rests on, in words that follow "if"."""
        if self._range is not None:
            return self._range.assumption
        if self.known_variances is not None:
            return noise_up_to("the known ones")
        law = "Gaussian" if self.noise == "gaussian" else "strictly sub-Gaussian"
        variances = f"of variances up to {self._high:g}" if np.isfinite(self._high) else "of any variances"
        return f"rewards have means x'theta and independent {law} noise {variances}"

    def _out_of_pulls(self) -> AnswerStatus:
        # Without a round there is nothing to guess by.
        return AnswerStatus.BEST_GUESS if self.budget is not None and self.rounds else AnswerStatus.UNDECIDED

    def _violation(self, observations: Observations, share: float = 1.0) -> str | None:
        half = share / 2.0 if self._learns_variances else share
        return super()._violation(observations, half) or self._change(half * LEVEL)

    def _change(self, level: float) -> str | None:
        """Whether variances that are learned have changed on the way, in words."""
        if not self._learns_variances:
            return None
        arms, before, after = self._history.changed(level, self._law)
        if not arms.size:
            return None
        name = arm_name(self.arm_rows, arms[0]) + and_more_arms(arms.size)
        return (
            f"the rewards of arm {name} had variance {before[0]:g} in the first half of the rounds and {after[0]:g} in the "
            "second, which are not one variance"
        )

    @property
    def _learns_variances(self) -> bool:
        return self._known is None and self._range is None

    @property
    def _law(self) -> SubGaussian:
        return "gaussian" if self.noise == "gaussian" else "sub-gaussian"

    def _remedy(self) -> str:
        if self._learns_variances and not np.isfinite(self._high):
            return (
                "start again with noise='bounded' and the reward_range, for which variances may change, or with "
                "known_variances that are never exceeded"
            )
        return super()._remedy()

    def _variances_assumed(self) -> tuple[Any, Any] | None:
        if self._known is not None:
            return self._known, self._known
        # The lower bound is used for planning alone.
        return (0.0, self._high) if np.isfinite(self._high) else None

    def may_end(self, in_vain: int = 0) -> bool:
        """Whether there may be a result without another batch: as batches take what is left, where there is one.

        Parameters
        ----------
        in_vain : int
            As in `asked_in_vain`.

        Returns
        -------
        bool
            False where there is surely none.
        """
        return self._status is not None or self.limit - self.samples - in_vain <= 0

    @property
    def in_play(self) -> Indices:
        """The arms that can be pulled; once items were dropped or arms withdrawn, of these the ones that tell of the rest."""
        return self._telling()[0]

    def _telling(self) -> tuple[Indices, RowSpace | None]:
        """The arms in play, and what they span in coordinates where that is not everything."""
        now = (self.usable.tobytes(), self._excluded.tobytes())
        if self._play is None or self._play[0] != now:
            arms, rows, within = self.usable, self.evidence.rows, None
            if arms.size < self.n_arms or self._excluded.size:
                asked = np.delete(self._coordinates, self._excluded, axis=0)
                if isinstance(self.objective, BestArm):
                    asked = asked[1:] - asked[0]
                arms = arms[telling_arms(rows[arms], asked)]
                space = row_space(rows[arms])
                within = space if space.rank < self.evidence.space.rank else None
            self._play = now, arms, within
        return self._play[1:]

    # ---------------------------------------------------------------- rounds

    def _plan(self) -> NDArray[Any] | AnswerStatus:
        left = self.pulls_left
        if left <= 0:
            return self._out_of_pulls()
        # An experiment that solves its designs in its own way is asked for all of them.
        over = ArmsToPull(left, *self._telling(), self._allocated, at_once=self.design_solver is allocate)
        wanted = None if self._fit is None else self._wanted(self._fit)
        if wanted is None or not wanted.seen:
            return self._planner.first_counts(over, self.budget is not None)
        likely = self._likely_variances()
        self._allocation, counts = self._planner.next_counts(wanted, likely, self.samples, over)
        return counts

    def _wanted(self, fit: CoordinateFit) -> Wanted:
        """The directions still to be decided."""
        items, values, group = self.partition.undecided, self._items.values, self._items.group
        if isinstance(self.objective, BestArm):
            leader = self._leader
            items = items[group[items] != group[leader]]
            directions = values[leader] - values[items]
            coordinates = self._coordinates[leader] - self._coordinates[items]
            estimates = coordinates @ fit.coefficients
        else:
            assert isinstance(self.objective, LevelSet)
            directions, coordinates = values[items], self._coordinates[items]
            estimates = np.abs(coordinates @ fit.coefficients - self.objective.threshold)
        variances = fit.variances(coordinates)
        gaps = likely_gaps(estimates, np.sqrt(variances)) + self.epsilon
        if self.smallest_gap is not None:
            gaps = np.maximum(gaps, self.smallest_gap)
        least = gaps.min(initial=np.inf)
        gaps = np.minimum(gaps, WIDEST_GAPS * least) if least > 0 else gaps
        wealth = self._bets.log_wealth()
        if self._capital is not None:
            wealth = self._capital.capital(self._wealth()).max(axis=0)
        missing = self._threshold - wealth[items]
        return Wanted(directions, coordinates, gaps, missing, seen=bool(np.isfinite(variances).all()))

    def _new_bets(self, m: int) -> Bets:
        return self.evidence.bets(m) if self.smallest_gap is None else SizedBets(m, self.smallest_gap)

    def _shared_capital(self) -> SharedCapital:
        group = self._items.group
        first = np.unique(group, return_index=True)
        return SharedCapital(first[1][np.searchsorted(first[0], group)], self._items.zero, self._waiting)

    def _wealth(self, shift: float = 0.0) -> Floats:
        """The log wealth (2, m) of the bets that items are above, and below."""
        return np.array([self._bets.log_wealth(shift), self._below.log_wealth(shift)])

    def _forget_designs(self) -> None:
        super()._forget_designs()
        self._planner.exploring = None

    def state_dict(self) -> dict[str, Any]:
        """Who was left and who led, the open batch's design, and the one that explores.

        Returns
        -------
        dict
            Plain data, for `load_state_dict`.
        """
        exploring = self._planner.exploring
        return super().state_dict() | {
            "leader": self._leader,
            "exploring": None if exploring is None else packed(exploring),
        }

    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        super()._restore(state, counts)
        exploring = state["exploring"]
        leader = state.get("leader", self._leader)
        if leader is None or leader not in self._excluded:
            self._leader = (
                leader  # else it is the best of the others by the rounds before, as if it had never been there
            )
        self._planner.exploring = None if exploring is None else unpacked(exploring, self.n_arms)

    def hold_back(self, items: ArrayLike, arms: ArrayLike = ()) -> None:
        """Ask nothing of these items, nor for these arms, and bet nothing on them, until they `join`.

        Only before anything is told. The variances of arms that join are paid for when they do, as much as for each of the
        others.

        Parameters
        ----------
        items : array_like of int
            Items that will join later, by their indices.
        arms : array_like of int
            Arms that will join later.
        """
        self._waiting = held = np.unique(arm_indices(items, len(self._items.values)))
        # Those that will be dropped as well: a level set's go on betting then, from when they join.
        self._unasked = np.intersect1d(self._excluded, held)
        self._excluded, self.partition = np.union1d(self._excluded, held), self.partition.without(held)
        if self._capital is not None:
            self._capital = self._shared_capital()
        later = arm_indices(arms, self.n_arms)
        self.usable, self._arms_paid = np.setdiff1d(self.usable, later), self.n_arms - later.size

    def join(self, items: ArrayLike, arms: ArrayLike = ()) -> None:
        """Take in items and arms that were held back, between batches: they are bet on and asked for from the next one on.

        Parameters
        ----------
        items : array_like of int
            Items by their indices.
        arms : array_like of int
            Arms by theirs.
        """
        new, before = np.intersect1d(self._waiting, arm_indices(items, len(self._items.values))), self.in_play
        asked = np.setdiff1d(new, self._unasked)
        self._waiting = np.setdiff1d(self._waiting, new)
        self._excluded = np.setdiff1d(self._excluded, asked)
        self._since = self._since.copy()
        self._since[new] = len(self.evidence.summaries)
        self.partition = self.partition.with_more(self.objective.start(self._items), asked)
        if self._capital is not None:
            self._added += self._capital.join(new)
            # What was dropped before, and is asked about again, may be decided already.
            self.partition = self.partition if self._fit is None else self._judge(self._fit)
        self._planned = None
        came = arm_indices(arms, self.n_arms)
        self.usable = np.union1d(self.usable, came)
        self.delta_v += came.size * self._delta_learnt / self._arms_paid
        if not np.array_equal(before, self.in_play):
            self._forget_designs()
        self._status = self._found()

    @property
    def keeps_corrected(self) -> bool:
        """Bets are on directions and counts that were fixed before their rewards, by whatever was believed then."""
        return True

    def reconsider(self) -> None:
        """Decide anew: every item by the largest wealth that its bets have had, whatever was decided before."""
        fit = self._fit
        if fit is None or self._open is not None:
            return
        start = self.objective.start(self._items)
        self.partition = start.without(self._excluded)
        self.partition = self._judge(fit)
        self._status = self._found()

    def _found(self) -> AnswerStatus | None:
        """Whether what is known is an answer."""
        if self._settled:
            return AnswerStatus.IDENTIFIED
        return AnswerStatus.EPSILON_GOOD if self.epsilon > 0 and self._good() else None

    def counts_refused(self, came: Counts) -> str | None:
        """Nothing is refused: bets hold for all numbers of results that chance decided.

        Parameters
        ----------
        came : array of int64, shape (n,)
            Results of each arm.

        Returns
        -------
        str or None
            None.
        """
        return None

    def _learn(self, observations: Observations) -> None:
        if isinstance(self.objective, BestArm) and self._leader is not None:
            self._led.setdefault(self._leader, len(self.evidence.summaries))
        summary = self._summary(observations)
        if summary is not None:
            self._bet(summary)
        self._count = self._count + observations.count
        self._sum = self._sum + observations.count * observations.mean
        self._fit = pooled_fit(self.evidence.rows, self._count, self._sum, self._likely_variances())
        partition = self._judge(self._fit)
        theta = self.evidence.space.lift(self._fit.coefficients)
        self._close_round(observations, partition, theta, p_value=self.p_value)
        if self.epsilon > 0 and self._status is None and self._good():
            self._status = AnswerStatus.EPSILON_GOOD

    def _summary(self, observations: Observations) -> CoordinateFit | None:
        """What the round just measured says; None where nothing may be bet on it."""
        if isinstance(self.evidence, BoundedEvidence):
            # Before the first batch nothing is known that would make a good bet.
            guesses, centres = self._likely_variances(), self._centres()
            self._add_squares(observations)
            return self.evidence.take(observations, guesses, centres) if self._told > 0 else None
        before, guesses = self.upper_variances, self._likely_variances()
        self._add_squares(observations)
        self._tighten()
        if isinstance(self.evidence, GaussianEvidence):
            excess = np.ones(before.size)
            if self._fit is None:
                # The first round: means and sums of squares are independent, so that these may weigh those, by ends that
                # they are paid for. Guesses from before any reward would be no more than the bounds that were told.
                before, guesses = np.full(before.size, np.inf), self.upper_variances
            else:
                excess = np.minimum(before / guesses, self._ends(self._dof))
            return self.evidence.take(observations, guesses, before, self.upper_variances, excess)
        # The bounds in force when the batch was asked for. Before the first they may be so wide that bets are worth nothing.
        return self.evidence.add(observations, before) if self._told > 0 or self._known is not None else None

    def _bet(self, summary: CoordinateFit) -> None:
        """Settle the bets of the round just measured, on directions fixed before its rewards."""
        objective, leader, group = self.objective, self._leader, self._items.group
        active = np.ones(group.size, dtype=bool) if leader is None else group != group[leader]
        active[self._waiting] = False
        if isinstance(objective, LevelSet):
            self._bets.take(summary, self._coordinates, -objective.threshold, active=active)
            self._below.take(summary, -self._coordinates, objective.threshold, active=active)
            assert self._capital is not None
            self._capital.take(self._wealth(), self._threshold)
        elif leader is not None:
            self._bets.take(summary, self._coordinates[leader] - self._coordinates, active=active)

    def _add_squares(self, observations: Observations) -> None:
        self._squares = self._squares + observations.m2
        self._dof = self._dof + np.maximum(observations.count - 1, 0)
        self._history.add(observations)

    def _tighten(self) -> None:
        """Upper ends of the variances for the next round; never larger than before."""
        if self._known is None:
            ends = np.minimum(self._ends(self._squares), self._high)
            # Rewards that are all alike (rounded ones may be) do not make an arm free of noise; larger ends are valid too.
            least = SMALLEST_SHARE * ends[np.isfinite(ends)].max(initial=0.0)
            ends = np.maximum(ends, least if least > 0 else np.inf)
            self.upper_variances = np.minimum(self.upper_variances, np.maximum(ends, self._low))

    def _ends(self, squares: Floats) -> Floats:
        """Upper ends (n,) of VARIANCES for sums of squares (n,) with the degrees of freedom so far."""
        return variance_upper_ends(squares, self._dof, self._arms_paid / self._delta_learnt, noise=self._law)

    def _likely_variances(self) -> Floats:
        """Plug-in VARIANCES (n,) for planning: sample variances, shrunk to the common one where pulls are few."""
        if self._known is not None:
            return self._known
        if self._range is not None and self._range.two_valued:
            share = self._likely_shares()
            return np.asarray(self._range.width**2 * share * (1.0 - share))
        dof, low = self._dof, self._low
        common = self._squares.sum() / max(dof.sum(), 1.0)
        if common <= 0:
            return np.clip(np.ones_like(dof), low, self.upper_variances)
        likely = np.maximum((4.0 * common + self._squares) / (4.0 + dof), SMALLEST_SHARE * common)
        return np.maximum(np.clip(likely, low, self.upper_variances), SMALLEST_LIKELY)

    def _likely_shares(self) -> Floats:
        """The shares (n,) of rewards that are the higher of two values: the pooled one counts as one reward of each value."""
        assert self._range is not None
        # Rewards outside the range, which void the guarantee, must leave something to compute with.
        highs = np.clip((self._sum - self._count * self._range.low) / self._range.width, 0.0, self._count)
        pooled = (highs.sum() + 1.0) / (self._count.sum() + 2.0)
        prior = 1.0 / min(pooled, 1.0 - pooled)
        return np.asarray((highs + prior * pooled) / (self._count + prior))

    def _centres(self) -> Floats:
        """Likely means (n,), within the range of the rewards: what bets are centred on."""
        within = self._range
        assert within is not None
        if self._fit is None:
            return np.asarray((within.low + within.high) / 2.0)
        likely = self.evidence.rows @ self._fit.coefficients
        margin = within.width / (2.0 + 2.0 * np.maximum(self._count, self._count.mean()))
        return np.clip(likely, within.low + margin, within.high - margin)

    # ---------------------------------------------------------------- judging

    def _judge(self, fit: CoordinateFit) -> ItemPartition:
        """Who is left, and who leads."""
        now, items = self.partition, self.partition.undecided
        if isinstance(self.objective, LevelSet):
            assert self._capital is not None
            above, below = self._capital.best[:, items] >= self._threshold
            return self.objective.place(now, above, below)
        rejected = self._bets.best[items] >= self._threshold
        # The best of all items leads, even where it was dropped: else, with the best item lost, others that tie would
        # never be told apart. It is left while it leads; that the survivors are more cannot make them wrong.
        estimates = self._coordinates @ fit.coefficients
        estimates[self._excluded] = -np.inf
        estimates[~self._comparable(items[~rejected] if not rejected.all() else items)] = -np.inf
        self._leader = int(np.argmax(estimates))
        group = self._items.group
        leading = np.setdiff1d(np.flatnonzero(group == group[self._leader]), self._excluded)
        return ItemPartition(np.union1d(items[~rejected], leading), now.above, now.below)

    def _comparable(self, survivors: Indices) -> NDArray[np.bool_]:
        """Which items (m,) the arms in play tell from the survivors, or from most of them: others would lead to no bets."""
        space = self._telling()[1]
        if space is None:
            return np.ones(len(self._items.values), dtype=bool)
        classes = alike_outside(space, self._coordinates)
        return np.asarray(classes == np.bincount(classes[survivors]).argmax())

    def _good(self) -> bool:
        """Whether the answer that the estimate gives now is epsilon-good."""
        return self._good_best_arm() if isinstance(self.objective, BestArm) else self._good_level_set()

    def _good_best_arm(self) -> bool:
        """No survivor beats the leader by more than epsilon.

        The hypothesis that some z does so is bet against by (leader - z)'theta + epsilon <= 0, in the rounds since the
        leader first led, and z was there. It is the j-th item ever to lead, known before those rounds, and gets
        delta_e/(j(j + 1)) of delta_e = delta_m/2; these sum to delta_e. The other half pays for the items dropped before.
        """
        leader = self._leader
        if leader not in self._led:
            return False
        place = list(self._led).index(leader) + 1
        items, values, group = self.partition.undecided, self._items.values, self._items.group
        rivals = items[group[items] != group[leader]]
        directions, since = values[leader] - values[rivals], np.maximum(self._since[rivals], self._led[leader])
        enough = np.log(place * (place + 1) / self._delta_epsilon)
        return all(
            bool(np.all(self.evidence.log_wealth(directions[since == k], self.epsilon, since=k) >= enough))
            for k in np.unique(since).tolist()
        )

    def _good_level_set(self) -> bool:
        """No undecided item is more than epsilon on the other side of where its estimate puts it.

        Bets against z'theta - alpha + epsilon <= 0 (and its mirror) are worth at least those that place items, in the
        same directions, so the same capital pays for both.
        """
        assert self._capital is not None
        items = self.partition.undecided
        above, below = self._capital.capital(self._wealth(), self._wealth(self.epsilon))[:, items]
        return bool(np.all(np.where(self._likely_above()[items], above, below) >= self._threshold))

    # ---------------------------------------------------------------- at any time

    @property
    def p_value(self) -> float:
        """P-value, valid at any time, of the hypothesis that the best guess now is wrong."""
        return 1.0 - self.confidence().answer_confidence

    def confidence(self) -> Confidence:
        """How sure the best guess is, and what is known of each item; valid at all times at once.

        Best arm: with probability at least 1 - a no best item is ever ruled out with confidence 1 - a or more, and no
        leader that is not best ever has that confidence. (Given several best items, the former holds for each.) Level
        sets: with probability at least 1 - a no item is ever put on its wrong side with confidence 1 - a or more. (Ever:
        since the last item joined.)

        Returns
        -------
        Confidence
            Of the answer, and of each item.
        """
        if isinstance(self.objective, BestArm):
            p = np.minimum(1.0, self.delta_v + np.exp(-self._bets.best))
            if self._leader is None:
                return Confidence((), 0.0, np.zeros(p.size))
            here = np.ones(p.size, dtype=bool)
            here[self._excluded] = False
            others = self._items.group != self._items.group[self._leader]
            p[~others] = p[others & here].max() if (others & here).any() else 0.0
            return Confidence(as_tuple(np.flatnonzero(~others & here)), float(1.0 - p[self._leader]), 1.0 - p)
        assert self._capital is not None
        above = self._likely_above()
        best = np.where(above, self._capital.best[0], self._capital.best[1])
        p = np.minimum(1.0, self.delta_v + (1.0 + self._added) * np.exp(-best))
        p[self._items.zero] = 0.0
        p[self._excluded] = 0.0
        return Confidence(tuple(np.flatnonzero(above).tolist()), float(1.0 - p.max()), 1.0 - p)

    def _likely_above(self) -> NDArray[np.bool_]:
        """Whether each item is above the threshold (m,), by its proof where there is one, else by its estimate."""
        assert isinstance(self.objective, LevelSet)
        above = np.zeros(len(self._items.values), dtype=bool)
        if self._fit is not None:
            above = self._coordinates @ self._fit.coefficients > self.objective.threshold
        above[self.partition.above], above[self.partition.below] = True, False
        above[self._excluded] = False
        return above

    def _result(self) -> Result:
        result = replace(super()._result(), p_value=self.p_value)
        if self._status in (AnswerStatus.EPSILON_GOOD, AnswerStatus.BEST_GUESS):
            # The very answer that was judged, not one that the last digits of another sum would give.
            result = replace(result, answer=self.confidence().answer)
        return result
