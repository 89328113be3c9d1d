"""What every identification algorithm shares: its inputs, its account of samples, when it stops, what it shows."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import flag, generator, probability, real, shown, whole
from convexdesign.arms.read import COPY_BELOW, LabelledVectors, read_alike, read_positive, read_rows
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation import Batch, Observations, Resumable
from convexdesign.estimation.observations import arm_indices
from convexdesign.estimation.row_space import row_space
from convexdesign.identification.allocations import Allocation, DesignSolver, allocate
from convexdesign.identification.assumption_checks import (
    LEVEL,
    VOID,
    GuaranteeWarning,
    and_more_arms,
    arm_name,
    assumption_violation,
)
from convexdesign.identification.best_arm import BestArm
from convexdesign.identification.objectives import ItemPartition, Items, Objective, Untold, as_tuple, checked_objective
from convexdesign.identification.result import AnswerStatus, Result, Round
from convexdesign.identification.reward_range import RewardRange
from convexdesign.identification.two_values import TwoValues, alike, two_values, two_values_of_singles
from convexdesign.problem import DesignProblem, canonicalise
from convexdesign.typing import Counts, Floats, Indices

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "MOST_SAMPLES",
    "PROBABILITY",
    "PULLS",
    "REWARDS",
    "VARIANCES",
    "Identifier",
    "ProblemOver",
    "UntoldError",
    "noise_up_to",
    "total_pulls",
    "whole_limit",
]

# A design problem for given arms (k, d) and their VARIANCES (k,).
ProblemOver = Callable[[LabelledVectors, Floats], DesignProblem]

# All pulls together must fit into int64 with room to spare.
MOST_SAMPLES = 2**62
# More unidentifiable items than this are counted, not named.
NAMED = 5
# What options are measured in.
PROBABILITY, REWARDS = {"unit": "probability"}, {"unit": "units of the rewards"}
PULLS, VARIANCES = {"unit": "pulls"}, {"unit": "variances of the rewards"}


class UntoldError(UnidentifiableError):
    """Arms that are left cannot tell what is asked: `untold` says which items would have to go too."""

    def __init__(self, message: str, untold: Untold) -> None:
        super().__init__(message)
        self.untold = untold


@dataclass(eq=False, repr=False)
class Identifier(Resumable):
    """An ask/tell algorithm that answers a BestArm or LevelSet objective about items.

    `rounds` holds a Round for each one told, `partition` what is known about the items now, `observations` all rewards.
    The options that all algorithms have are the fields of this class; a subclass declares its own likewise and
    implements `_plan`, `_learn` and `assumption`, and reports each finished round through `_close_round`.

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

    Raises
    ------
    InputError
        For inputs that make no sense.
    UnidentifiableError
        For items outside the range of the arms.

    Examples
    --------
    >>> import convexdesign as cd
    >>> issubclass(cd.identification.MartingaleElimination, cd.identification.Identifier)
    True
    """

    arms: Any
    items: Any = None
    objective: Objective = BestArm()  # noqa: RUF009  (a frozen value)
    delta: float = field(default=0.05, metadata=PROBABILITY)
    _: KW_ONLY
    epsilon: float = field(default=0.0, metadata=REWARDS)
    max_samples: int | None = field(default=None, metadata=PULLS)
    rng: np.random.Generator | int | None = None
    confirm_noise: bool = False

    def __post_init__(self) -> None:
        self.arm_rows = own = _kept(read_rows(self.arms, "arms"))
        self.item_rows = own if self.items is None else _kept(read_alike(own, self.items, "items"))
        # The arms (n, d) and the items (m, d).
        self.arms, self.items = self.arm_rows.values, self.item_rows.values
        super().__init__(self.arms.shape[0])
        self.objective = checked_objective(self.objective)
        names = self.item_rows.names
        self._items = Items(np.asarray(self.items, dtype=float), None if names is None else tuple(map(str, names)))
        self.delta, self.epsilon = probability(self.delta), _nonnegative(self.epsilon)
        if self.max_samples is not None:
            self.max_samples = whole_limit("max_samples", self.max_samples)
        self.rng = generator(self.rng)
        # A store refuses by itself, before it writes; what is in it must be taken.
        self.refuses_two_values = not flag(self.confirm_noise, "confirm_noise")
        self.observations = Observations.empty(self.n_arms)
        self.burn_in_samples = 0
        self.rounds: tuple[Round, ...] = ()
        self.partition: ItemPartition = self.objective.start(self._items)
        # What rewards lie between, where that is what the answer rests on.
        self._range: RewardRange | None = None
        # What solves the designs, and the arms that can be pulled.
        self.design_solver: DesignSolver = allocate
        self.usable: Indices = np.arange(self.n_arms)
        self._status: AnswerStatus | None = None
        self._planned: Counts | None = None
        # What the rewards contradicted, once it was warned of.
        self._doubts: tuple[str, ...] = ()
        self._in_vain = 0
        # Items that are not asked about: they were dropped by decision.
        self._excluded: Indices = np.empty(0, dtype=np.intp)
        # The design of the open batch, or of the last one.
        self._allocation: Allocation | None = None
        if self._settled:
            self._status = AnswerStatus.IDENTIFIED
        else:
            # Items outside the range of the arms are refused here, not after the first batch.
            canonicalise(self._undecided(self.arm_rows, np.ones(self.n_arms)))

    # ---------------------------------------------------------------- what an algorithm adds

    @abstractmethod
    def _plan(self) -> NDArray[Any] | AnswerStatus:
        """How often to pull each arm next, or why to stop."""

    @abstractmethod
    def _learn(self, observations: Observations) -> None:
        """Take in the batch that was planned; must not raise after its first change."""

    def _variances_assumed(self) -> tuple[Any, Any] | None:
        """(low, high), scalars or (n,): bounds on the VARIANCES that the guarantee rests on; None where it has none."""
        return None

    @property
    def error_probability(self) -> float:
        """What the answer is wrong with at most: delta, but for what arms that joined may cost."""
        return self.delta

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What the answer rests on, in words that follow "if"."""

    @property
    def _learns_variances(self) -> bool:
        """Whether the guarantee rests on variances learned from the rewards, as noise of the law assumed has them."""
        return False

    def _holds_for(self, values: TwoValues) -> bool:
        """Whether the guarantee holds for rewards of these two values: their variance proxies are (high - low)²/4."""
        assumed = self._variances_assumed()
        if self._range is not None:
            return True  # whose own check is exact
        if self._learns_variances or assumed is None:
            return False
        most = np.broadcast_to(assumed[1], self.n_arms)[values.arms]
        return bool(np.all((values.high - values.low) ** 2 / 4.0 <= most * (1.0 + 1e-9)))

    def _out_of_pulls(self) -> AnswerStatus:
        """How it ends when no more pulls may be asked for."""
        return AnswerStatus.UNDECIDED

    def _undecided(self, arms: LabelledVectors, variances: Floats) -> DesignProblem:
        """The allocation for what is undecided now."""
        return self.objective.allocation(arms, self._items, self.partition, variances)

    @property
    def _settled(self) -> bool:
        return self.objective.settled(self._items, self.partition)

    def _forget_designs(self) -> None:
        """Drop designs that are kept for later rounds: the arms they are over have changed."""
        self._allocation = None

    def _allocated(self, problem: ProblemOver, variances: Floats, **options: Any) -> Allocation:
        """The allocation over the arms in play, with weights (n,) over all arms; variances (n,)."""
        found = self.design_solver(problem(self._rows_in_play, variances[self.in_play]), **options)
        whole = self.in_play.size == self.n_arms
        return found if whole else replace(found, weights=self._on_all_arms(found.weights))

    def _positive(self, values: ArrayLike | None, name: str) -> Floats | None:
        """VARIANCES (n,) from a scalar or one per arm; None for None."""
        return read_positive(values, name, self.n_arms, "a noise VARIANCE must be positive", self.arm_rows.names)

    @property
    def in_play(self) -> Indices:
        """The arms that designs are over: those that can be pulled, or of these the ones that tell of what is asked."""
        return self.usable

    @property
    def _rows_in_play(self) -> LabelledVectors:
        rows, arms = self.arm_rows, self.in_play
        if arms.size == rows.n:
            return rows
        return LabelledVectors(rows.values[arms], None if rows.names is None else tuple(rows.names[i] for i in arms))

    def _on_all_arms(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the arms in play, and 0 for the others: (n,)."""
        if self.in_play.size == self.n_arms:
            return values
        out = np.zeros(self.n_arms, dtype=values.dtype)
        out[self.in_play] = values
        return out

    # ---------------------------------------------------------------- ask and tell

    @property
    def samples(self) -> int:
        """All pulls told so far."""
        return self.observations.total

    @property
    def pulls_left(self) -> int:
        """How many more pulls may be asked for; below zero where others asked for too many."""
        return self.limit - self.samples - self._in_vain

    @property
    def limit(self) -> int:
        """The most pulls that may be asked for in all."""
        return MOST_SAMPLES if self.max_samples is None else self.max_samples

    @property
    def done(self) -> bool:
        """Whether there is a result. Plans the next batch, where none is planned yet, to know."""
        if self._status is None and self._planned is None:
            self._refuse_unidentifiable()
            plan = self._plan()
            if isinstance(plan, AnswerStatus):
                self._status = plan
            elif total_pulls(plan) > self.pulls_left:
                self._status = self._out_of_pulls()
            else:
                self._planned = plan.astype(np.int64)
        return self._status is not None

    def may_end(self, in_vain: int = 0) -> bool:
        """Whether there may be a result without another batch; `done` knows, and plans the next one to know.

        Parameters
        ----------
        in_vain : int
            As in `asked_in_vain`.

        Returns
        -------
        bool
            False where there is surely none.
        """
        return self._status is not None or self.max_samples is not None or self.epsilon > 0

    def _next_counts(self) -> Counts:
        assert self._planned is not None  # ask() looks at `done` first
        return self._planned

    def two_valued(
        self, observations: Observations, singles: tuple[NDArray[np.integer], Floats] | None = None
    ) -> str | None:
        """What arms have rewards of two values, in words with the remedy, where the guarantee would not hold for them.

        Parameters
        ----------
        observations : Observations
            The batch that is open, or a part of it.
        singles : tuple of arrays, shape (k,) each, optional
            Arms and rewards of all measurements that are known one by one; they show what sums hide.

        Returns
        -------
        str or None
            None where the guarantee holds, or where `confirm_noise` says so.
        """
        values = None if self.confirm_noise else two_values(self.observations, observations)
        if values is None and singles is not None and not self.confirm_noise:
            values = two_values_of_singles(self.n_arms, *singles)
        if values is None or self._holds_for(values):
            return None
        name = arm_name(self.arm_rows, values.arms[0]) + and_more_arms(values.arms.size)
        ends = [np.unique(end) for end in (values.low, values.high)]
        alone = all(end.size == 1 for end in ends)
        within = f"({ends[0][0]:g}, {ends[1][0]:g})" if alone else "the two values of each arm"
        return (
            f"all rewards of arm {name} are {values.words(0)}, which is not the noise that the answer rests on (it is right if "
            f"{self.assumption}): start again with MartingaleElimination, noise='bernoulli' and reward_range={within}, or "
            "with confirm_noise=True if that holds all the same"
        )

    def out_of_range(self, observations: Observations) -> str | None:
        """Which of these rewards are not in the range that the answer rests on, in words with the remedy.

        Parameters
        ----------
        observations : Observations
            Some rewards.

        Returns
        -------
        str or None
            None where all may be, or where the answer rests on no range.
        """
        found = None if self._range is None else self._outside(self._range, observations)
        return None if found is None else f"{found}; {self._remedy()}"

    def singles_out_of_range(self, arms: ArrayLike, rewards: ArrayLike) -> str | None:
        """As `out_of_range`, of single rewards: sums cannot show one reward outside among many within.

        Parameters
        ----------
        arms : array_like of int, shape (k,)
            The arm of each reward.
        rewards : array_like of float, shape (k,)
            The rewards.

        Returns
        -------
        str or None
            None where all may be, or where the answer rests on no range.
        """
        own, values = np.asarray(arms, dtype=np.intp), np.asarray(rewards, dtype=float)
        wrong = None if self._range is None else self._range.single_outside(own, values)
        if self._range is None or wrong is None or not wrong.any():
            return None
        outside = np.unique(own[wrong])
        one = values[wrong & (own == outside[0])][0]
        found = self._not_in(self._range, outside, Observations.from_rewards(self.n_arms, outside[:1], [one]))
        return f"{found}; {self._remedy()}"

    def _absorb(self, observations: Observations) -> None:
        refused = self.two_valued(observations) if self.refuses_two_values else None
        if refused is not None:
            raise InputError(f"{refused}; nothing was recorded")
        everything = self.observations.merge(observations)
        self._learn(observations)
        self.observations = everything
        self._planned = None

    def tell(self, batch: Batch | int, observations: Observations) -> None:
        """Report what the open batch gave, as in `AskTell`.

        Parameters
        ----------
        batch : Batch or int
            The open batch, or its id.
        observations : Observations
            Counts, means and sums of squares per arm.

        Raises
        ------
        InputError
            Changing nothing, where it does not fit, and where rewards are of two values and the noise was said to be
            another, unless `confirm_noise`.

        Warns
        -----
        GuaranteeWarning
            Once, where the rewards contradict what the answer rests on.
        """
        found = None
        if not self._doubts and self._open is not None and isinstance(observations, Observations):
            found = None if self.refuses_two_values else self._two_valued_part(observations)
        super().tell(batch, observations)
        # The state is complete by now: a warning that is made an error undoes nothing.
        found = None if self._doubts else found or self._contradiction(observations)
        if found is not None:
            self._doubts = (found,)
            warnings.warn(found, GuaranteeWarning, stacklevel=2)

    def _two_valued_part(self, observations: Observations) -> str | None:
        """The warning that rewards of two values are worth."""
        fits = observations.n_arms == self.n_arms
        found = self.two_valued(observations) if fits else None
        return None if found is None else f"{VOID}: {found}"

    def _contradiction(self, observations: Observations) -> str | None:
        """What in the batch just told contradicts the assumptions, and what to do about it, in words; None if nothing."""
        same = alike(self.observations) if self._learns_variances and not self.confirm_noise else np.zeros(0)
        if same.size:
            i = int(same[0])
            name, count = arm_name(self.arm_rows, i), self.observations.count[i]
            return (
                f"all {count} rewards of arm {name} are {self.observations.mean[i]:g}, without any variance"
                f"{and_more_arms(same.size, 'as those')}; {VOID}: start again with MartingaleElimination and noise='bernoulli' "
                "or noise='bounded', as the rewards are, or with confirm_noise=True if what the answer rests on holds all the "
                "same"
            )
        violation = self._violation(observations)
        return None if violation is None else f"{violation}; {VOID}: {self._remedy()}"

    def _remedy(self) -> str:
        """What to do about a violated assumption."""
        if self._range is not None:
            other = ", or noise='bounded'," if self._range.two_valued else ""
            return f"correct them if they are mistakes, else give the right reward_range{other} and start again"
        if getattr(self, "known_variances", None) is not None:
            return "correct the known VARIANCES and start again"
        return "give wider bounds (on VARIANCES) and start again"

    def _violation(self, observations: Observations, share: float = 1.0) -> str | None:
        """What in the batch just told contradicts the assumptions; wrong with probability at most `share` of LEVEL, ever."""
        if self._range is not None:
            return self._outside(self._range, observations)
        assumed = self._variances_assumed()
        if assumed is None:
            return None
        theta = self.rounds[-1].theta if self.rounds else None
        everything, level = self.observations, share * LEVEL
        return assumption_violation(self.arm_rows, self._told, observations, everything, assumed, level, theta)

    def _outside(self, within: RewardRange, observations: Observations) -> str | None:
        """Which rewards are not in their range, in words."""
        outside = np.flatnonzero(within.outside(observations))
        return self._not_in(within, outside, observations) if outside.size else None

    def _not_in(self, within: RewardRange, outside: Indices, observations: Observations) -> str:
        name = arm_name(self.arm_rows, outside[0]) + and_more_arms(outside.size)
        i = int(outside[0])
        return f"rewards of arm {name} are not {within.of_arm(i)} ({within.contradiction(i, observations)})"

    def _refuse_unidentifiable(self) -> None:
        """UnidentifiableError, naming the directions, where withdrawn arms have left something unknown that must be told."""
        self.refuse_untold(self.usable, self.partition)

    def refuse_untold(self, usable: Indices, partition: ItemPartition) -> None:
        """UnidentifiableError, naming the directions, where these arms cannot tell what is open in this partition.

        Parameters
        ----------
        usable : ndarray
            Arms, by their indices.
        partition : ItemPartition
            What is known of the items, and which are left.
        """
        if usable.size == self.n_arms:
            return
        space = row_space(np.asarray(self.arms[usable], dtype=float))
        untold = self.objective.unidentifiable(space, self._items, partition)
        if untold.words:
            number = len(untold.words)
            listed = "; ".join(
                f"{words}, along {_text(row)}" for words, row in zip(untold.words[:NAMED], untold.directions)
            )
            more = f"; and {number - NAMED} more" if number > NAMED else ""
            raise UntoldError(f"the arms that are left cannot tell {listed}{more}; no design can", untold)

    # ---------------------------------------------------------------- for stores

    @property
    def begun(self) -> bool:
        """Whether something was told, or arms were withdrawn."""
        return self._told > 0 or self.usable.size < self.n_arms

    def copy(self) -> Self:
        """A copy that can be changed; arms and items, which nobody changes, are shared.

        Returns
        -------
        Identifier
            In the same state.
        """
        constant = (self.arm_rows, self.item_rows, self.arms, self.items, self._items)
        return copy.deepcopy(self, {id(shared): shared for shared in constant})

    def state_dict(self) -> dict[str, Any]:
        """Who was left when the open batch was asked for, and its design; an algorithm adds what else it keeps.

        Returns
        -------
        dict
            Plain data, for `load_state_dict`.
        """
        return self.partition.record() | {"allocation": None if self._allocation is None else self._allocation.record()}

    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        # What was decided stays decided, even where another machine's rounding would have decided otherwise.
        recorded = ItemPartition(*(np.array(state[s], dtype=np.intp) for s in ("undecided", "above", "below")))
        self.partition = recorded.without(self._excluded)
        self._allocation = Allocation.from_record(state["allocation"], self.n_arms)
        self._planned = counts
        # What had been asked for goes on, even where corrected results would have ended it before.
        self._status = None

    def set_design_solver(self, solver: DesignSolver) -> None:
        """Have all further designs solved by another function.

        Parameters
        ----------
        solver : callable
            With the contract of `allocations.allocate`.
        """
        self.design_solver = solver

    def asked_in_vain(self, pulls: int) -> None:
        """Say what was asked for beside the pulls told: it counts towards `max_samples`.

        Parameters
        ----------
        pulls : int
            In all.
        """
        self._in_vain = pulls

    def exclude(self, items: ArrayLike) -> None:
        """Ask nothing of these items (indices), as if they had never been among the others.

        Only before anything is told. What batches that were asked for with them tell counts all the same.

        Parameters
        ----------
        items : array_like of int
            Items; at least two that differ must be left, or one of a level set.
        """
        if self.begun or self._open is not None:
            raise InputError("items are excluded before anything is asked")
        gone = np.union1d(self._excluded, np.unique(arm_indices(items, len(self._items.values))))
        left = self.partition.without(gone)
        if not left.undecided.size or (
            isinstance(self.objective, BestArm) and self.objective.settled(self._items, left)
        ):
            raise InputError("too few items would be left to ask anything about")
        self._excluded, self.partition = gone, left

    def hold_back(self, items: ArrayLike, arms: ArrayLike = ()) -> None:
        """Ask nothing of these items, and nothing for these arms (indices), until they `join`. Only before anything is told.

        Parameters
        ----------
        items : array_like of int
            Items that will join later.
        arms : array_like of int
            Arms that will join later.
        """
        raise self._takes_none()

    def join(self, items: ArrayLike, arms: ArrayLike = ()) -> None:
        """Take in items and arms that were held back, from the next batch on.

        Parameters
        ----------
        items : array_like of int
            Items by their indices.
        arms : array_like of int
            Arms by theirs.
        """
        raise self._takes_none()

    def _takes_none(self) -> InputError:
        return InputError(
            f"items cannot join a {type(self).__name__}: its rounds divide delta among the items of the beginning. Martingale "
            "elimination takes them; here begin another experiment, with all items"
        )

    @property
    def keeps_corrected(self) -> bool:
        """Whether rounds stay valid where results of earlier ones, by which they were chosen, turn out to have been wrong."""
        return False

    def reconsider(self) -> None:
        """Decide anew from all that was told: what earlier rounds had decided may have rested on what was corrected."""

    def counts_refused(self, came: Counts) -> str | None:
        """Why the open batch cannot be used if other numbers of results come than were asked for.

        However it is answered, the numbers must have been decided by chance or by a clock, not by the rewards.

        Parameters
        ----------
        came : array of int64, shape (n,)
            Results of each arm.

        Returns
        -------
        str or None
            The reason; None where they can be used.
        """
        return "its promise rests on the numbers that were asked for"

    def _arm_name(self, i: int) -> str:
        return arm_name(self.arm_rows, i)

    def stop(self) -> None:
        """End here, with what was told: the open batch cannot be completed within `max_samples`."""
        self._open = self._planned = None
        if self._status is None:
            self._status = self._out_of_pulls()

    def withdraw(self, arms: ArrayLike) -> None:
        """Plan without some arms from now on; what they told before stays.

        Only between batches. Whether the other arms still tell the items apart shows in the next design: `ask` raises
        UnidentifiableError if not.

        Parameters
        ----------
        arms : array_like of int, shape (k,)
            Indices of arms.

        Raises
        ------
        InputError
            Where a batch is open, or where no arm would be left.
        """
        if self._open is not None:
            raise InputError(f"batch {self._open.id} is open; arms are withdrawn between batches")
        gone = np.unique(arm_indices(arms, self.n_arms))
        left = np.setdiff1d(self.usable, gone)
        if left.size == 0:
            raise InputError("no arm would be left to pull")
        self.usable = left
        self._planned = None
        self._forget_designs()

    # ---------------------------------------------------------------- rounds and result

    def _close_round(
        self,
        observations: Observations,
        partition: ItemPartition,
        theta: Floats,
        accuracy: float = float("nan"),
        p_value: float = float("nan"),
    ) -> None:
        """Record the round just told: who is left after it, and the estimate; stops where that decides everything."""
        design = self._allocation
        if design is None:
            design = Allocation(observations.count / observations.total, float("nan"), float("nan"))
        round_ = Round(
            number=len(self.rounds) + 1,
            accuracy=accuracy,
            weights=design.weights,
            value=design.value,
            gap=design.gap,
            counts=observations.count,
            theta=theta,
            estimates=np.asarray(self.items @ theta, dtype=float),
            survivors=partition.undecided,
            above=partition.above,
            below=partition.below,
            samples=self.samples + observations.total,
            p_value=p_value,
        )
        self.rounds = (*self.rounds, round_)
        self.partition = partition
        if self._settled:
            self._status = AnswerStatus.IDENTIFIED

    def _result(self) -> Result:
        status, known = self._status, self.partition
        assert status is not None
        if status not in (AnswerStatus.IDENTIFIED, AnswerStatus.UNDECIDED):
            known = self.objective.conclude(self._items, known, self.rounds[-1].theta)
        answer = () if status is AnswerStatus.UNDECIDED else self.objective.answer(self._items, known)
        return Result(
            answer=answer,
            status=status,
            survivors=as_tuple(self.partition.undecided),
            above=as_tuple(self.partition.above),
            below=as_tuple(self.partition.below),
            samples=self.samples,
            burn_in_samples=self.burn_in_samples,
            rounds=len(self.rounds),
            delta=self.error_probability,
            epsilon=self.epsilon if status is AnswerStatus.EPSILON_GOOD else 0.0,
            assumption=self.assumption,
            doubts=self._doubts,
        )

    # ---------------------------------------------------------------- display

    def to_frame(self) -> pd.DataFrame:
        """One row per round: accuracy, value and gap of the design, pulls, samples so far, numbers of items left.

        Returns
        -------
        pandas.DataFrame
            In the order of the rounds.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "round": [r.number for r in self.rounds],
                "accuracy": [r.accuracy for r in self.rounds],
                "value": [r.value for r in self.rounds],
                "gap": [r.gap for r in self.rounds],
                "support": [int(np.count_nonzero(r.weights)) for r in self.rounds],
                "pulls": [int(r.counts.sum()) for r in self.rounds],
                "samples": [r.samples for r in self.rounds],
                "survivors": [r.survivors.size for r in self.rounds],
                "above": [r.above.size for r in self.rounds],
                "below": [r.below.size for r in self.rounds],
                "p_value": [r.p_value for r in self.rounds],
            }
        )

    def plot_rounds(self, ax: Axes | None = None) -> Axes:
        """Draw how many items are undecided against the samples spent (extra `plot`).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axis drawn on.
        """
        from convexdesign.plotting.identification import plot_rounds

        return plot_rounds(
            [r.samples for r in self.rounds],
            [r.survivors.size for r in self.rounds],
            n_items=self.items.shape[0],
            burn_in=self.burn_in_samples,
            ax=ax,
        )

    def __repr__(self) -> str:
        state = "running" if self._status is None else self._status.name
        void = " (void: the rewards contradict that)" if self._doubts else ""
        return (
            f"{type(self).__name__}({self.objective!r}: {self.arms.shape[0]} arms, {self.items.shape[0]} items, "
            f"delta {self.delta:g} if {self.assumption}{void}; {state} after {self.samples} samples, "
            f"{self.partition.undecided.size} undecided)"
        )


def total_pulls(plan: NDArray[Any]) -> float:
    """How many pulls a plan has, exactly; infinite where it is not of whole numbers that can be counted.

    Overflow on the way to a plan makes infinities, or no numbers at all.
    """
    if not np.all((plan >= 0) & (plan <= MOST_SAMPLES)):  # false for what is no number
        return float("inf")
    if float(plan.sum(dtype=float)) < MOST_SAMPLES / 2.0:
        return int(plan.astype(np.int64).sum())
    return sum(int(count) for count in plan)


def _kept(rows: LabelledVectors) -> LabelledVectors:
    """The rows with values of our own: an experiment lasts, and what becomes of the caller's array must not change it.

    `read_rows` copies small arrays; a large one, or a memory map, would be the caller's.
    """
    if rows.values.nbytes < COPY_BELOW and not _mapped(rows.values):
        return rows
    values = np.array(rows.values, dtype=float, order="C")
    values.flags.writeable = False
    return LabelledVectors(values, rows.names, rows.columns)


def _mapped(values: NDArray[Any] | None) -> bool:
    """Whether an array is a memory map, or a view of one."""
    while values is not None:
        if isinstance(values, np.memmap):
            return True
        values = values.base if isinstance(values.base, np.ndarray) else None
    return False


def _text(direction: Floats) -> str:
    numbers = [f"{value:.4g}" for value in direction[:12]]
    return f"({', '.join(numbers)}{', ...' if direction.size > 12 else ''})"


def noise_up_to(variances: str) -> str:
    """The assumption of algorithms that use bounds on the variances, known beforehand, and nothing else of the noise."""
    return (
        f"rewards have means x'theta and independent Gaussian noise of variances up to {variances} (or sub-Gaussian noise "
        "with such variance proxies)"
    )


def _nonnegative(epsilon: float) -> float:
    if not 0 <= real(epsilon) < np.inf:
        raise InputError(f"epsilon is {shown(epsilon)}; give a number >= 0 in the units of the rewards")
    return real(epsilon)


def whole_limit(name: str, limit: int) -> int:
    """A limit on the pulls; InputError under the name of the argument."""
    number = whole(limit)
    if number is None or not 1 <= number <= MOST_SAMPLES:
        raise InputError(f"{name} is {shown(limit)}; give a whole number from 1 to {MOST_SAMPLES}")
    return number
