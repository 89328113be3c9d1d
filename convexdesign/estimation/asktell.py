"""Ask and tell: an algorithm says how often to pull which arm, and is told what came out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import instance, shown, whole
from convexdesign.errors import InputError
from convexdesign.estimation.observations import Observations, whole_counts
from convexdesign.typing import Counts

__all__ = ["AskTell", "Batch", "Resumable"]


@dataclass(frozen=True, eq=False)
class Batch:
    """What to measure next.

    Parameters
    ----------
    id : int
        Numbers the batches of one algorithm 0, 1, 2, ...
    counts : array of int64, shape (n_arms,)
        Pull arm i counts[i] times; read-only.
    """

    id: int
    counts: Counts

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64)
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    @property
    def total(self) -> int:
        """The number of pulls in the batch."""
        return int(self.counts.sum())


class AskTell(ABC):
    """The protocol: `while not a.done: batch = a.ask(); a.tell(batch, observations)`, then `a.result()`.

    `ask` returns the same batch until it is told. `tell` checks everything before it changes anything: observations
    must have exactly the counts of the open batch and finite values.

    A subclass implements `done`, `_next_counts` (called once per batch), `_absorb` (which must not raise after its
    first change) and `_result`.

    Parameters
    ----------
    n_arms : int
        How many arms can be measured.

    Examples
    --------
    >>> import convexdesign as cd
    >>> estimator = cd.estimation.UniformEstimator([[1.0], [2.0]], budget=100, rng=0)
    >>> batch = estimator.ask()
    >>> batch.id, batch.total, estimator.ask() is batch, estimator.done
    (0, 100, True, False)
    """

    def __init__(self, n_arms: int) -> None:
        self._n_arms = n_arms
        self._open: Batch | None = None
        self._told = 0

    @property
    def n_arms(self) -> int:
        """How many arms there are to pull."""
        return self._n_arms

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the result is there and nothing more will be asked."""

    @abstractmethod
    def _next_counts(self) -> Counts: ...

    @abstractmethod
    def _absorb(self, observations: Observations) -> None: ...

    @abstractmethod
    def _result(self) -> Any: ...

    def ask(self) -> Batch:
        """The batch to measure next; the same one until it is told.

        Returns
        -------
        Batch
            Its id, and the pulls of each arm.

        Raises
        ------
        InputError
            When done.
        """
        if self.done:
            raise InputError(f"{type(self).__name__} is done and asks for nothing more; call result()")
        if self._open is None:
            self._open = Batch(self._told, self._next_counts())
        return self._open

    def tell(self, batch: Batch | int, observations: Observations) -> None:
        """Report what the open batch gave.

        Parameters
        ----------
        batch : Batch or int
            The open batch, or its id.
        observations : Observations
            Counts, means and sums of squares per arm.

        Raises
        ------
        InputError
            Changing nothing, where it does not fit.
        """
        if self._open is None:
            raise InputError(f"no batch of {type(self).__name__} is open; call ask() first")
        number = batch.id if isinstance(batch, Batch) else whole(batch)
        if number != self._open.id:
            raise InputError(
                f"told batch {shown(batch)}, but batch {self._open.id} is open; tell the batch that ask() gives"
            )
        if not isinstance(observations, Observations):
            raise InputError(
                f"observations must be Observations, got {type(observations).__name__}; "
                "summarise single rewards with convexdesign.estimation.Observations.from_rewards"
            )
        if observations.n_arms != self._n_arms:
            raise InputError(f"observations are of {observations.n_arms} arms, the batch of {self._n_arms}")
        wrong = np.flatnonzero(observations.count != self._open.counts)
        if wrong.size:
            i = wrong[0]
            raise InputError(
                f"arm {self._arm_name(int(i))} was pulled {observations.count[i]} times, but batch {number} asks for "
                f"{self._open.counts[i]} ({wrong.size} arms differ); measure the batch as asked"
            )
        self._absorb(observations)
        self._open = None
        self._told += 1

    def _arm_name(self, i: int) -> str:
        """What an arm is called in messages."""
        return str(i)

    def result(self) -> Any:
        """What was found.

        Returns
        -------
        object
            As the algorithm describes it.

        Raises
        ------
        InputError
            While batches are still to be told.
        """
        if not self.done:
            raise InputError(f"{type(self).__name__} is not done; ask, measure and tell until .done is true")
        return self._result()


class Resumable(AskTell):
    """A second protocol, for stores: a run is taken up again in another process without solving anything twice.

    A subclass extends `state_dict` and `_restore` where planning a batch leaves more behind than its counts.

    Parameters
    ----------
    n_arms : int
        How many arms can be measured.

    Examples
    --------
    >>> import convexdesign as cd
    >>> def new():
    ...     return cd.identification.Rage([[1, 0], [0, 1]], variance_bounds=(1.0, 2.0))
    >>> first, again = new(), new()
    >>> batch = first.ask()
    >>> again.load_state_dict(first.state_dict(), batch.counts).counts.tolist() == batch.counts.tolist()
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """What the open batch rests on besides what was told, as plain data that JSON keeps exactly.

        Returns
        -------
        dict
            For `load_state_dict`.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, Any], counts: ArrayLike) -> Batch:
        """Open a batch that was asked for before; nothing is solved again.

        Given the batches before it, told in their order, the algorithm is then in the state in which it asked.

        Parameters
        ----------
        state : mapping
            The state_dict() then.
        counts : array_like of int, shape (n_arms,)
            The batch's counts.

        Returns
        -------
        Batch
            The open batch.

        Raises
        ------
        InputError
            Changing nothing, where a batch is open already or the counts do not fit.
        """
        if self._open is not None:
            raise InputError(f"batch {self._open.id} of {type(self).__name__} is open; tell it first")
        instance(state, Mapping, "state", "give what state_dict() returned")
        asked = whole_counts(counts, "counts", self._n_arms)
        try:
            self._restore(state, asked)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"state is not what state_dict() returned: {type(error).__name__} {error}") from error
        self._open = Batch(self._told, asked)
        return self._open

    @abstractmethod
    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        """Take back what planning the batch with these counts left behind."""
