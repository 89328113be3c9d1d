"""What every identification algorithm shares: its inputs, its account of samples, when it stops, what it shows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.estimation import AskTell, Batch, Observations
from convexdesign.identification.allocations import Allocate, Allocation, allocate
from convexdesign.identification.contradiction import VOID, GuaranteeWarning, contradicted_arms, too_far_from_any_line
from convexdesign.identification.goals import Goal, Standing, as_tuple, goal_for
from convexdesign.identification.hidden import refuse_hidden
from convexdesign.identification.result import Result, Round, Status
from convexdesign.problem import DesignProblem, canonicalise
from convexdesign.problem.objectives import Objective
from convexdesign.problem.read import COPY_BELOW, Rows, aligned, read_rows
from convexdesign.typing import Counts, Floats, Indices

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Identifier", "noise_up_to", "probability", "total_pulls", "whole_limit"]

# A design problem for given arms (k, d) and their VARIANCES (k,).
Statement = Callable[[Rows, Floats], DesignProblem]

# All pulls together must fit into int64 with room to spare.
MOST_SAMPLES = 2**62
# Probability that results are ever wrongly said to contradict what an algorithm assumes; all its tests share it.
CONTRADICTION_LEVEL = 1e-6


class Identifier(AskTell):
    """An ask/tell algorithm that answers a BestArm or LevelSet objective about items.

    arms: (n, d) what can be measured; items: (m, d) what is asked about, the arms by default. delta: the answer may
    be wrong with this probability. epsilon: settle for an answer that is right up to epsilon (units of the rewards).
    max_samples: never ask for more pulls than this in all (2^62 where there is none). rng: accepted everywhere, used where
    something is random.

    `rounds` holds a Round for each one told, `standing` what is known about the items now, `observations` all rewards.
    Raises InputError for inputs that make no sense, UnidentifiableError for items outside the range of the arms.

    A subclass implements `_plan` and `_learn`, and reports each finished round through `_close_round`.
    """

    def __init__(
        self,
        arms: Any,
        items: Any | None,
        objective: Objective,
        delta: float,
        *,
        epsilon: float,
        max_samples: int | None,
        rng: np.random.Generator | int | None,
    ) -> None:
        self._arm_rows = _kept(read_rows(arms, "arms"))
        super().__init__(self.arms.shape[0])
        own = self._arm_rows
        self._item_rows = own if items is None else _kept(aligned(own, read_rows(items, "items"), "items"))
        self.objective = objective
        self.goal: Goal = goal_for(objective, self._item_rows)
        self.delta = probability(delta)
        self.epsilon = _nonnegative(epsilon)
        self.max_samples = MOST_SAMPLES if max_samples is None else whole_limit("max_samples", max_samples)
        self.rng = np.random.default_rng(rng)
        self.observations = Observations.empty(self.arms.shape[0])
        self.burn_in_samples = 0
        self.rounds: tuple[Round, ...] = ()
        self.standing: Standing = self.goal.start()
        self._status: Status | None = None
        self._planned: Counts | None = None
        self._warned = False
        self._in_vain = 0
        self._allocate: Allocate = allocate
        self._usable: Indices = np.arange(self.arms.shape[0])
        if self.goal.settled(self.standing):
            self._status = Status.IDENTIFIED
        else:
            # Items outside the range of the arms are refused here, not after the first batch.
            canonicalise(self.goal.allocation(self._arm_rows, self.standing, np.ones(self.arms.shape[0])))

    # ---------------------------------------------------------------- what an algorithm adds

    @abstractmethod
    def _plan(self) -> NDArray[Any] | Status:
        """How often to pull each arm next, or why to stop."""

    @abstractmethod
    def _learn(self, observations: Observations) -> None:
        """Take in the batch that was planned; must not raise after its first change."""

    def _variances_assumed(self) -> tuple[Any, Any] | None:
        """(low, high), scalars or (n,): bounds on the VARIANCES that the guarantee rests on; None where it has none."""
        return None

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What the answer rests on, in words that follow "if"."""

    def _out_of_pulls(self) -> Status:
        """How it ends when no more pulls may be asked for."""
        return Status.UNDECIDED

    def _span_needed(self) -> Floats | None:
        """Arms whose whole span every design must cover; None where the undecided items decide that."""
        return None

    def _refuse_hidden(self) -> None:
        """UnidentifiableError where withdrawn arms have left something unknown that must be told."""
        if self._usable.size < self.arms.shape[0]:
            arms = np.asarray(self.arms[self._usable], dtype=float)
            refuse_hidden(arms, self.goal, self.standing, self._span_needed())

    def _forget_designs(self) -> None:
        """Drop designs that are kept for later rounds: the arms they are over have changed."""

    def _allocated(self, problem: Statement, variances: Floats, **options: Any) -> Allocation:
        """The allocation over the arms that can be pulled, with weights (n,) over all arms; variances (n,)."""
        found = self._allocate(problem(self._usable_rows, variances[self._usable]), **options)
        whole = self._usable.size == self.arms.shape[0]
        return found if whole else replace(found, weights=self._on_all_arms(found.weights))

    def _arm_name(self, i: int) -> str:
        """What an arm is called in messages."""
        names = self._arm_rows.names
        return str(i) if names is None else f"{names[i]} (index {i})"

    @property
    def _usable_rows(self) -> Rows:
        """The arms that can be pulled."""
        rows, usable = self._arm_rows, self._usable
        if usable.size == rows.n:
            return rows
        return Rows(rows.values[usable], None if rows.names is None else tuple(rows.names[i] for i in usable))

    def _on_all_arms(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the arms that can be pulled, and 0 for the others: (n,)."""
        if self._usable.size == self.arms.shape[0]:
            return values
        out = np.zeros(self.arms.shape[0], dtype=values.dtype)
        out[self._usable] = values
        return out

    # ---------------------------------------------------------------- protocol

    @property
    def arms(self) -> NDArray[Any]:
        """The arms (n, d)."""
        return self._arm_rows.values

    @property
    def items(self) -> NDArray[Any]:
        """The items (m, d)."""
        return self._item_rows.values

    @property
    def samples(self) -> int:
        """All pulls told so far."""
        return self.observations.total

    @property
    def pulls_left(self) -> int:
        """How many more pulls may be asked for; below zero where others asked for too many."""
        return self.max_samples - self.samples - self._in_vain

    def asked_in_vain(self, pulls: int) -> None:
        """Say that so many pulls in all were asked for beside those told: they count towards `max_samples`."""
        self._in_vain = pulls

    def stop(self) -> None:
        """End here, with what was told: the open batch cannot be completed within `max_samples`."""
        self._open = self._planned = None
        if self._status is None:
            self._status = self._out_of_pulls()

    @property
    def done(self) -> bool:
        """Whether there is a result. Plans the next batch, where none is planned yet, to know."""
        if self._status is None and self._planned is None:
            self._refuse_hidden()
            plan = self._plan()
            if isinstance(plan, Status):
                self._status = plan
            elif total_pulls(plan) > self.pulls_left:
                self._status = self._out_of_pulls()
            else:
                self._planned = plan.astype(np.int64)
        return self._status is not None

    def _next_counts(self) -> Counts:
        assert self._planned is not None  # ask() looks at `done` first
        return self._planned

    def _absorb(self, observations: Observations) -> None:
        everything = self.observations.merge(observations)
        self._learn(observations)
        self.observations = everything
        self._planned = None

    def memory(self) -> dict[str, Any]:
        """Who was left when the open batch was asked for; an algorithm adds the designs that it keeps."""
        standing = self.standing
        return {side: getattr(standing, side).tolist() for side in ("undecided", "above", "below")}

    def _recall(self, memory: Mapping[str, Any], counts: Counts) -> None:
        # What was decided stays decided, even where another machine's rounding would have decided otherwise.
        self.standing = Standing(*(np.array(memory[side], dtype=np.intp) for side in ("undecided", "above", "below")))
        self._planned = counts

    def design_with(self, allocate: Allocate) -> None:
        """Have all further designs solved by another function with the contract of `allocations.allocate`."""
        self._allocate = allocate

    def withdraw(self, arms: ArrayLike) -> None:
        """Plan without these arms (indices) from now on; what they told before stays.

        Only between batches. Raises InputError where a batch is open, or where no arm would be left. Whether the
        other arms still tell the items apart shows in the next design: `ask` raises UnidentifiableError if not.
        """
        if self._open is not None:
            raise InputError(f"batch {self._open.id} is open; arms are withdrawn between batches")
        gone = np.unique(np.asarray(arms, dtype=np.intp))
        left = np.setdiff1d(self._usable, gone)
        if left.size == 0:
            raise InputError("no arm would be left to pull")
        self._usable = left
        self._planned = None
        self._forget_designs()

    def tell(self, batch: Batch | int, observations: Observations) -> None:
        """Report what the open batch gave, as in `AskTell`; GuaranteeWarning, once, where it contradicts the variances."""
        super().tell(batch, observations)
        # The state is complete by now: a warning that is made an error undoes nothing.
        doubt = None if self._warned else self._doubt(observations)
        if doubt is not None:
            self._warned = True
            warnings.warn(f"{doubt}; {VOID}: {self._remedy()}", GuaranteeWarning, stacklevel=2)

    def _remedy(self) -> str:
        """What to do about a doubt."""
        if getattr(self, "known_variances", None) is not None:
            return "correct the known VARIANCES and start again"
        return "give wider bounds (on VARIANCES) and start again"

    def _doubt(self, observations: Observations, share: float = 1.0) -> str | None:
        """What in the batch just told contradicts the assumptions, or None.

        Wrong with probability at most `share` of CONTRADICTION_LEVEL over all batches: half of it for single batches,
        1/(t(t + 1)) of that for batch t, and half for all together.
        """
        assumed = self._variances_assumed()
        if assumed is None:
            return None
        half = share * CONTRADICTION_LEVEL / 2.0
        level = half / (self._told * (self._told + 1))
        arms = contradicted_arms(observations, *assumed, level)
        low, high = (np.broadcast_to(end, self.arms.shape[0]) for end in assumed)
        if arms.size:
            more = f", and of {arms.size - 1} more like it," if arms.size > 1 else ""
            return (
                f"the rewards of arm {self._arm_name(arms[0])}{more} have variance "
                f"{observations.sample_variance()[arms[0]]:g}, which is not between {low[arms[0]]:g} and "
                f"{high[arms[0]]:g}"
            )
        # All batches together are looked at after 1, 2, 4, 8, ... of them: errors that gross are found early.
        due = self._told & (self._told - 1) == 0
        theta = self.rounds[-1].theta if self.rounds else None
        if due and too_far_from_any_line(self._arm_rows, self.observations, high, half, theta):
            return f"the rewards are further from every linear model than variances up to {high.max():g} allow"
        return None

    def _close_round(
        self,
        observations: Observations,
        standing: Standing,
        theta: Floats,
        allocation: Allocation | None = None,
        accuracy: float = float("nan"),
        p_value: float = float("nan"),
    ) -> None:
        """Record the round just told: who is left after it, and the estimate; stops where that decides everything."""
        if allocation is None:
            weights, value, gap = observations.count / observations.total, float("nan"), float("nan")
        else:
            weights, value, gap = allocation.weights, allocation.value, allocation.gap
        round_ = Round(
            number=len(self.rounds) + 1,
            accuracy=accuracy,
            weights=weights,
            value=value,
            gap=gap,
            counts=observations.count,
            theta=theta,
            estimates=np.asarray(self.items @ theta, dtype=float),
            survivors=standing.undecided,
            above=standing.above,
            below=standing.below,
            samples=self.samples + observations.total,
            p_value=p_value,
        )
        self.rounds = (*self.rounds, round_)
        self.standing = standing
        if self.goal.settled(standing):
            self._status = Status.IDENTIFIED

    def _result(self) -> Result:
        status = self._status
        assert status is not None
        if status is Status.UNDECIDED:
            answer: tuple[int, ...] = ()
        elif status is not Status.IDENTIFIED:
            answer = self.goal.answer(self.standing, self.rounds[-1].theta)
        else:
            answer = self.goal.answer(self.standing)
        return Result(
            answer=answer,
            status=status,
            survivors=as_tuple(self.standing.undecided),
            above=as_tuple(self.standing.above),
            below=as_tuple(self.standing.below),
            samples=self.samples,
            burn_in_samples=self.burn_in_samples,
            rounds=len(self.rounds),
            delta=self.delta,
            epsilon=self.epsilon if status is Status.EPSILON_GOOD else 0.0,
            assumption=self.assumption,
        )

    # ---------------------------------------------------------------- display

    def to_frame(self) -> pd.DataFrame:
        """One row per round: accuracy, value and gap of the design, pulls, samples so far, numbers of items left."""
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
        """Draw how many items are undecided against the samples spent (extra `plot`); returns the axes."""
        from convexdesign.plotting.rounds import plot_rounds

        return plot_rounds(
            [r.samples for r in self.rounds],
            [r.survivors.size for r in self.rounds],
            n_items=self.items.shape[0],
            burn_in=self.burn_in_samples,
            ax=ax,
        )

    def __repr__(self) -> str:
        state = "running" if self._status is None else self._status.name
        return (
            f"{type(self).__name__}({self.objective!r}: {self.arms.shape[0]} arms, {self.items.shape[0]} items, "
            f"delta {self.delta:g}; {state} after {self.samples} samples, {self.standing.undecided.size} undecided)"
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


def _kept(rows: Rows) -> Rows:
    """The rows with values of our own: an experiment lasts, and what becomes of the caller's array must not change it.

    `read_rows` copies small arrays; a large one, or a memory map, would be the caller's.
    """
    if rows.values.nbytes < COPY_BELOW and not _mapped(rows.values):
        return rows
    values = np.array(rows.values, dtype=float, order="C")
    values.flags.writeable = False
    return Rows(values, rows.names, rows.columns)


def _mapped(values: NDArray[Any] | None) -> bool:
    """Whether an array is a memory map, or a view of one."""
    while values is not None:
        if isinstance(values, np.memmap):
            return True
        values = values.base if isinstance(values.base, np.ndarray) else None
    return False


def noise_up_to(variances: str) -> str:
    """The assumption of algorithms that use bounds on the variances, known beforehand, and nothing else of the noise."""
    return (
        f"rewards have means x'theta and independent Gaussian noise of variances up to {variances} (or sub-Gaussian noise "
        "with such variance proxies)"
    )


def probability(delta: float) -> float:
    """delta, checked to lie strictly between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, (int, float, np.number)) or not 0 < delta < 1:
        raise InputError(f"delta is {delta!r}; a probability of failure lies strictly between 0 and 1")
    return float(delta)


def _nonnegative(epsilon: float) -> float:
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float, np.number)) or not 0 <= epsilon < np.inf:
        raise InputError(f"epsilon is {epsilon!r}; give a number >= 0 in the units of the rewards")
    return float(epsilon)


def whole_limit(name: str, limit: int) -> int:
    """A limit on the pulls; InputError under the name of the argument."""
    if isinstance(limit, bool) or not isinstance(limit, (int, float, np.number)):
        raise InputError(f"{name} is {limit!r}; give a whole number of pulls, or None for no limit")
    if not (limit == np.floor(limit) and 1 <= limit <= MOST_SAMPLES):
        raise InputError(f"{name} is {limit!r}; give a whole number from 1 to {MOST_SAMPLES}")
    return int(limit)
