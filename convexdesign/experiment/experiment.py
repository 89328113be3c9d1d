"""An experiment that outlives its processes: ask and tell on a log that loses nothing it has acknowledged."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import flag, positive
from convexdesign.errors import InputError, SolverError, UnidentifiableError
from convexdesign.estimation import Batch, Observations
from convexdesign.experiment.changes import (
    NewArms,
    amendment,
    arrival,
    dropping,
    joining,
    missing,
    refuse_untold,
    taking_back,
    usable,
    withdrawal,
)
from convexdesign.experiment.conversions import rounded_put_right
from convexdesign.experiment.course import course
from convexdesign.experiment.estimates import ExperimentEstimates, estimates_of
from convexdesign.experiment.events import GENESIS, Event, EventKind, PendingEvent, chained
from convexdesign.experiment.following import DryRun, LogFollower
from convexdesign.experiment.history import RoundView, history, rounds_frame
from convexdesign.experiment.ledger import Phase
from convexdesign.experiment.names import labels
from convexdesign.experiment.noise import refuse_two_values, told_of_round, warn_out_of_range
from convexdesign.experiment.packing import packed_summary, unpacked_summary
from convexdesign.experiment.parsing import checked_key, checked_note, reward_rows, summary_under
from convexdesign.experiment.reading import ReadOnlyStore
from convexdesign.experiment.replay import result_from
from convexdesign.experiment.results import RewardRows, SummaryRows, aggregate, content_record
from convexdesign.experiment.specification import algorithm_from, describe
from convexdesign.experiment.status import ExperimentStatus, experiment_status
from convexdesign.experiment.store import FORMAT, Store
from convexdesign.experiment.validation import TellResult, admit, batch_of, new_pulls
from convexdesign.identification import GuaranteeWarning, Identifier, Result
from convexdesign.identification.assumption_checks import and_more_arms
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Experiment"]

T = TypeVar("T")
Path = str | os.PathLike[str]

# How long one method may work on one design before the next is tried.
DESIGN_SECONDS = 300.0


class Experiment(LogFollower):
    """Durable ask/tell: every batch and every result is an event in one SQLite file, and the state is their replay.

    Any number of processes may hold the same experiment; one of them asking is all of them asking. A tell that returned
    is on the disk. Results come in any order and in parts, each under a key; the same key with the same content has no
    effect, so that whatever may have been lost on the way can be told again. Begin with `create` or `open`.

    Parameters
    ----------
    store : Store
        The open file.
    design_seconds : float
        How long one method may work on one design before another is tried.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import convexdesign as cd
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> world = cd.instances.soare(kappa=2.0)
    >>> x = cd.Experiment.create(path, cd.identification.Rage(world.arms, variance_bounds=(1.0, 2.0)))
    >>> batch = x.ask()
    >>> x.tell(batch.id, arms=[0, 0], rewards=[1.1, 0.7], keys=["visit-1", "visit-2"]).outstanding == batch.total - 2
    True
    >>> x.tell(batch.id, arms=[0], rewards=[0.7], keys=["visit-2"]).repeated
    1
    >>> x.close(); cd.Experiment.open(path).status().told
    2
    """

    def __init__(self, store: Store, design_seconds: float = DESIGN_SECONDS) -> None:
        super().__init__(store)
        self.design_seconds = _seconds(design_seconds)
        self._warned: set[str] = set()
        self._look()

    @property
    def n_arms(self) -> int:
        """How many arms there are, those that joined or were withdrawn included."""
        return self._ledger.n_arms

    @property
    def arm_names(self) -> Sequence[str] | None:
        """The arms' names; None where they have none."""
        return self._ledger.arm_names

    def arm_vectors(self) -> Floats:
        """The vectors of all arms, those that joined or were withdrawn included.

        Returns
        -------
        ndarray of float, shape (n_arms, d)
            Where arms joined with new coordinates, zeros in these for the arms before.
        """
        with self._lock:
            self._look()
            return np.array(self._replay.follow(self._ledger).arms, dtype=float)

    @property
    def arm_columns(self) -> list[str]:
        """What the coordinates of the arms are called: as in the table they came from, else x1, x2, ..."""
        named = self._ledger.specification["arms"]["columns"] or []
        d = self.arm_vectors().shape[1]
        called = [str(name) for name in named]
        return [*called, *(f"x{k}" for k in range(len(called) + 1, d + 1))]

    @property
    def n_items(self) -> int:
        """How many items there are, those that joined or were dropped included."""
        return len(self._ledger.item_rows["values"])

    @property
    def item_names(self) -> Sequence[str] | None:
        """The items' names; None where they have none."""
        names: Sequence[str] | None = self._ledger.item_rows["names"]
        return names

    @classmethod
    def create(cls, path: Path, algorithm: Any, *, design_seconds: float = DESIGN_SECONDS) -> Experiment:
        """Begin an experiment in a new file.

        Parameters
        ----------
        path : str or pathlib.Path
            The file, which must not exist.
        algorithm : Identifier or estimator
            A new algorithm of `identification` or `estimation`, of which nothing has been asked yet.
        design_seconds : float
            How long one method may work on one design before another is tried.

        Returns
        -------
        Experiment
            Open, with nothing asked.

        Raises
        ------
        InputError
            Where the file exists, or the algorithm cannot be described.
        """
        from convexdesign import __version__

        _seconds(design_seconds)
        specification = describe(algorithm)
        algorithm_from(specification)  # what cannot be rebuilt is refused here, not at the first ask
        body = {"format": FORMAT, "version": __version__, "specification": specification}
        Store.create(path, chained([PendingEvent(EventKind.CREATED, body)], -1, GENESIS))
        return cls.open(path, design_seconds=design_seconds)

    @classmethod
    def open(cls, path: Path, *, design_seconds: float = DESIGN_SECONDS, read_only: bool = False) -> Experiment:
        """Go on with an experiment; the log is read and its checksums verified: all of it, or all since the snapshot.

        What a snapshot stands for is in it, and the chain vouches for that; `check` verifies the whole log in any case.

        Parameters
        ----------
        path : str or pathlib.Path
            The file.
        design_seconds : float
            How long one method may work on one design before another is tried.
        read_only : bool
            For those who only look: nothing is written, no permission to write is needed, and what would have to write
            raises StoreError. An answer that the results give already, but that nobody has recorded, is given all the
            same.

        Returns
        -------
        Experiment
            In the state that the log tells.

        Raises
        ------
        InputError
            Where there is no such store or its format is of the future.
        DamagedStoreError
            Where it is not what was written.
        """
        store = ReadOnlyStore.open(path) if flag(read_only, "read_only") else Store.open(path)
        try:
            return cls(store, design_seconds)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # ---------------------------------------------------------------- asking

    def ask(self) -> Batch:
        """The batch to measure next: the open one, or a new one once all results of the last are in.

        Returns
        -------
        Batch
            Its id, and the pulls of each arm.

        Raises
        ------
        InputError
            When there is a result.
        UnidentifiableError
            Where the arms that are left cannot tell what is asked (the directions are named).
        SolverError
            Where no method finds a certified design (nothing is asked then).
        """
        with self._lock:
            self._advance()
            ledger = self._ledger
            if ledger.phase is Phase.DONE:
                raise InputError("the experiment is done and asks for nothing more; call result()")
            assert ledger.open is not None
            return ledger.open.batch

    @property
    def done(self) -> bool:
        """Whether there is a result. Plans the next batch, where none is open, to know."""
        with self._lock:
            self._advance(asking=not self.read_only)
            return self._ledger.phase is Phase.DONE

    def result(self) -> Result:
        """What was found; asks for nothing: no batch is opened.

        Returns
        -------
        Result
            The answer, as the algorithm gives it.

        Raises
        ------
        InputError
            Before the end.
        """
        with self._lock:
            found, asked = self.result_if_done(), self._ledger.open
        if found is not None:
            return found
        if asked is None:
            raise InputError("the experiment is not done: its next batch is due; call ask()")
        raise InputError(f"the experiment is not done: results of {int(asked.outstanding.sum())} pulls are awaited")

    def result_if_done(self) -> Result | None:
        """What was found, if anything; asks for nothing: no batch is opened.

        Returns
        -------
        Result or None
            The answer; None before the end.
        """
        with self._lock:
            self._advance(asking=False)
            finished = self._ledger.finished
            if finished is None:
                return None
            assumption = self._replay.follow(self._ledger).assumption
            return result_from(finished, assumption, self._replay.violations)

    def status(self) -> ExperimentStatus:
        """Where the experiment stands; nothing is written.

        An answer that the results give already is shown, whether it is recorded or not. Where pulls are limited, it takes the
        next design to know that they are not enough for another batch.

        Returns
        -------
        ExperimentStatus
            What it waits for, what was told, and what the answer is worth.
        """
        with self._lock:
            self._look()
            algorithm, ledger = self._replay.follow(self._ledger), self._ledger
            if ledger.phase is Phase.READY:
                ledger = replace(ledger, finished=self._unrecorded_answer(algorithm))
            return experiment_status(ledger, algorithm, self._replay.violations)

    @property
    def two_values(self) -> tuple[Floats, Floats] | None:
        """Low and high, (n_arms,) each, of which every reward is one; None where the noise is not "bernoulli"."""
        with self._lock:
            self._look()
            algorithm = self._replay.follow(self._ledger)
        if getattr(algorithm, "noise", None) != "bernoulli":
            return None
        low, high = (np.broadcast_to(np.asarray(end, dtype=float), self.n_arms) for end in algorithm.reward_range)  # type: ignore[attr-defined]
        return low, high

    @property
    def item_labels(self) -> list[str]:
        """What the items are called: by name where names are unique, else by index."""
        return labels(self.item_names, self.n_items)

    @property
    def arm_labels(self) -> list[str]:
        """What the arms are called: by name where names are unique, else by index."""
        return labels(self.arm_names, self.n_arms)

    def algorithm(self) -> Identifier:
        """The algorithm as it was when the experiment was created, told nothing: for simulations.

        Returns
        -------
        Identifier
            A new one at every call.
        """
        return algorithm_from(self._ledger.specification)

    def rounds(self, *, as_completed: bool = False) -> list[RoundView]:
        """What was told and known after every complete round that counts.

        Parameters
        ----------
        as_completed : bool
            As it was when each round was first completed, with the time. Else looked back at from now: results as they were
            corrected since, and items that were dropped since as if they had never been there.

        Returns
        -------
        list of RoundView
            In order.
        """
        if flag(as_completed, "as_completed"):
            events = self.events()
            self._look()  # after the events, so that all that joined in them have their names
            return course(events, self.item_labels, self.arm_labels).rounds
        with self._lock:
            self._look()
            return history(self._ledger)[1]

    def to_frame(self) -> pd.DataFrame:
        """The table of rounds: pulls, best guess and its p-value, how many items were left, and which were dropped.

        Each round is shown as it was when it was first completed, whatever was corrected, dropped or joined since.

        Returns
        -------
        pandas.DataFrame
            One row a round.
        """
        return rounds_frame(self.rounds(as_completed=True), self.item_labels)

    def confidence(self, *, level: float | None = None, control: int | str | None = None) -> ExperimentEstimates:
        """Values of all items, and differences to the best guess and to a control (an item, by name or index).

        All intervals hold at once and at all times with probability `level` (1 - delta if left out), whatever made one look
        and whatever answer there is, if the noise is as assumed. Nothing is written.

        Parameters
        ----------
        level : float or None
            The probability that no interval ever misses.
        control : int, str or None
            The item that others are compared with, beside the best guess. It may be chosen when all is seen.

        Returns
        -------
        ExperimentEstimates
            With tables as data frames.

        Raises
        ------
        InputError
            Before the first round is complete; for a level that the bounds on the variances do not leave.
        """
        with self._lock:
            self._look()
            algorithm, views = history(self._ledger)
        wanted = (
            self.item_labels.index(control) if isinstance(control, str) and control in self.item_labels else control
        )
        return estimates_of(algorithm, views, self.item_labels, self.arm_labels, level, wanted)  # type: ignore[arg-type]

    def plot(self, *, level: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the items' values with their intervals against the results so far (extra `plot`).

        Parameters
        ----------
        level : float or None
            As in `confidence`.
        ax : matplotlib.axes.Axes or None
            Where to draw; new axes if None.

        Returns
        -------
        matplotlib.axes.Axes
            With the drawing.
        """
        from convexdesign.plotting.sequences import plot_sequences

        found = self.confidence(level=level)
        return plot_sequences(found.samples, found.over_time.low, found.over_time.high, found.item_names, ax=ax)

    def to_html(self, *, level: float | None = None, control: int | str | None = None) -> str:
        """A report as one HTML page that needs no other file: where it stands, estimates, what happened, what it rests on.

        Parameters
        ----------
        level : float or None
            As in `confidence`.
        control : int, str or None
            As in `confidence`.

        Returns
        -------
        str
            The page.
        """
        from convexdesign.experiment.page import page

        return page(self, level=level, control=control)

    @property
    def open_batch(self) -> int | None:
        """The id of the batch that results are awaited for; None where there is none."""
        with self._lock:
            self._look()
            return None if self._ledger.open is None else self._ledger.open.batch.id

    def outstanding(self) -> NDArray[np.int64]:
        """Pulls of the open batch whose results are still to come.

        Returns
        -------
        array of int64, shape (n_arms,)
            Zero where none is open.
        """
        with self._lock:
            self._look()
            asked = self._ledger.open
            return np.zeros(self.n_arms, dtype=np.int64) if asked is None else asked.outstanding

    def expected(self) -> NDArray[np.int64]:
        """Results of the open batch that there are to be in all: those asked for, or those that `arrived`.

        Returns
        -------
        array of int64, shape (n_arms,)
            Zero where none is open.
        """
        with self._lock:
            self._look()
            asked = self._ledger.open
            return np.zeros(self.n_arms, dtype=np.int64) if asked is None else asked.expected.copy()

    def batch_told(self, key: str) -> int | None:
        """The batch for which something was told under a key.

        Parameters
        ----------
        key : str
            A key of `tell`.

        Returns
        -------
        int or None
            The batch's id; None where the key is new.
        """
        with self._lock:
            found = self._ledger.results.find(checked_key(key))
            return None if found is None else found.batch

    # ---------------------------------------------------------------- telling

    def tell(
        self,
        batch: Batch | int,
        observations: Observations | None = None,
        *,
        key: str | None = None,
        arms: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
        keys: Sequence[str] | None = None,
        dry_run: bool = False,
        as_arrived: bool = False,
    ) -> TellResult:
        """Record results of a batch: observations under one key, or single rewards under one key each.

        All is checked before anything is written, and all or nothing is recorded. Keys are those of the whole
        experiment.

        Parameters
        ----------
        batch : Batch or int
            The batch that was asked, or its id.
        observations : Observations, optional
            Counts, means and sums of squares per arm.
        key : str, optional
            Of the observations; without one they must be the whole batch.
        arms : array_like of int, shape (k,), optional
            Instead of observations, the arm of each single reward.
        rewards : array_like, shape (k,), optional
            The rewards, in the units of the outcome.
        keys : sequence of str, optional
            A key for each reward.
        dry_run : bool
            Check everything and record nothing, whatever the result says.
        as_arrived : bool
            These, and what was told before, are all results of the batch, whether more or fewer than asked; see
            `arrived` for what that rests on. Where fewer cannot be used, those that are short are asked for again.

        Returns
        -------
        TellResult
            What was taken in, what was known already, and what is outstanding.

        Raises
        ------
        InputError
            For numbers that are not finite, unknown arms, more pulls than asked; for rewards of two values where the
            algorithm's noise is another and was not confirmed (`confirm_noise`).
        ConflictError
            Where a key is known with other content.
        StoreError
            Where the file cannot be written.

        Warns
        -----
        GuaranteeWarning
            Where rewards are not in the range that they were said to have.
        """
        part = self._part(batch, observations, key, arms, rewards, keys)
        return self.tell_all([part], dry_run=dry_run, as_arrived=as_arrived)[0]

    def tell_all(
        self, parts: Sequence[RewardRows | SummaryRows], *, dry_run: bool = False, as_arrived: bool = False
    ) -> list[TellResult]:
        """Record several parts, all or none.

        Parameters
        ----------
        parts : sequence of RewardRows or SummaryRows
            Each with its batch and its keys.
        dry_run : bool
            Check everything and record nothing.
        as_arrived : bool
            They are all that there is of their batches.

        Returns
        -------
        list of TellResult
            One a part.
        """
        if flag(dry_run, "dry_run") and self._joint is not None:
            raise InputError("a dry run undoes all that is done together with it; do it by itself")
        results, short = [], list[int]()
        with self._writing() as write:
            before = told_of_round(self._ledger)
            if flag(as_arrived, "as_arrived"):
                # Before any of their values: numbers first.
                for number in dict.fromkeys(part.batch for part in parts):
                    own = [new_pulls(self._ledger, part) for part in parts if part.batch == number]
                    asked = batch_of(self._ledger, number)
                    came = asked.told + sum(own)
                    counts = usable(self._ledger, self._replay.follow(self._ledger), asked, came)
                    short += [number] if (counts > came).any() else []
                    self._expect(write, number, counts, "")
            for part in parts:
                new, result = admit(self._ledger, part)
                results.append(result)
                if new is not None:
                    warn_out_of_range(self._replay.follow(self._ledger), new)
                if isinstance(new, RewardRows):
                    write(PendingEvent(EventKind.TOLD, new.record()))
                elif new is not None:
                    write(PendingEvent(EventKind.SUMMARISED, {"key": new.key} | content_record(new.observed)))
            if told_of_round(self._ledger) > before:
                refuse_two_values(self._ledger, self._replay.follow(self._ledger), before)
            for number in short:
                write(missing(self._ledger, batch_of(self._ledger, number), None, None, ""))
            if dry_run:
                raise DryRun
            self._close_round(write)
        return results

    def arrived(self, batch: Batch | int, counts: ArrayLike, *, reason: str = "") -> ExperimentStatus:
        """Say how many results of the open batch there are in all: more or fewer than asked.

        A traffic splitter does not stop at 64. All are used where the proof allows (of martingale elimination any
        numbers; of RAGE and H-RAGE, beside the burn-in, more). The promise then holds if chance or a clock decided the
        numbers, and not the values of the results: so say it before these are looked at, and for all arms alike. The
        status says so from now on.

        Parameters
        ----------
        batch : Batch or int
            The open batch, or its id.
        counts : array_like of int, shape (n_arms,)
            Results of each arm, those told before included.
        reason : str
            In words, for the log.

        Returns
        -------
        ExperimentStatus
            Where the experiment stands then.

        Raises
        ------
        InputError
            Where fewer than told are given, or the algorithm cannot use other numbers.
        """
        with self._writing() as write:
            self._expect(write, _number(batch), counts, reason)
            self._close_round(write)
        return self.status()

    def _expect(self, write: Callable[[PendingEvent], None], number: int, counts: ArrayLike, reason: str) -> None:
        asked = batch_of(self._ledger, number)
        event = arrival(self._ledger, self._replay.follow(self._ledger), asked, counts, reason)
        if event is not None:
            write(event)

    def mark_missing(
        self, batch: Batch | int, arms: ArrayLike | None = None, counts: ArrayLike | None = None, *, reason: str = ""
    ) -> ExperimentStatus:
        """Say that results of a batch will never come: of all arms, some arms, or so many of each; all that are due.

        The batch then waits for them no more, and the next `ask` asks for as many pulls again, so that every round
        has the pulls that its promise needs. The promise then holds if results went missing whatever their values
        were; the status says so from now on.

        Parameters
        ----------
        batch : Batch or int
            The open batch, or its id.
        arms : array_like of int, shape (k,), optional
            The arms concerned; all by default.
        counts : array_like of int, shape (k,), optional
            How many of each; all that are due by default.
        reason : str
            In words, for the log.

        Returns
        -------
        ExperimentStatus
            Where the experiment stands then.
        """
        with self._writing() as write:
            write(missing(self._ledger, batch_of(self._ledger, _number(batch)), arms, counts, reason))
            self._close_round(write)
        return self.status()

    def amend(
        self,
        key: str,
        *,
        observations: Observations | None = None,
        arm: int | None = None,
        reward: float | None = None,
        reason: str = "",
        set_aside: bool = False,
        dry_run: bool = False,
    ) -> ExperimentStatus:
        """Correct what was told under a key; the first content stays in the log.

        Martingale elimination keeps all later rounds: they were chosen by what was believed then, and hold as they are. All
        decisions are made anew from the corrected results.

        Parameters
        ----------
        key : str
            The key it was told under.
        observations : Observations, optional
            The right content, where observations were told.
        arm : int, optional
            The right arm, where a single reward was told.
        reward : float, optional
            The right reward.
        reason : str
            In words, for the log.
        set_aside : bool
            Of other algorithms: where later batches, or the answer, were chosen by it already, that is refused, with their
            number, unless this is set: they then count no more, and the experiment goes on from the corrected round.
        dry_run : bool
            Write nothing, and say how the experiment would stand.

        Returns
        -------
        ExperimentStatus
            Where the experiment stands then.
        """
        with self.together(dry_run=dry_run):
            write = self._joint
            assert write is not None
            algorithm = self._replay.follow(self._ledger)
            told = self._of_all_arms(observations)
            write(amendment(self._ledger, algorithm, key, told, arm, reward, reason, set_aside))
            self._close_round(write)
            return self.status()

    def take_back(self, key: str, *, reason: str = "", dry_run: bool = False) -> ExperimentStatus:
        """Take an amendment back: the content before it counts again, and batches that it had set aside.

        Always possible in martingale elimination, which decides anew. Of other algorithms only while nothing rests on the
        amendment: no batch was asked for and no result told since. It stays in the log.

        Parameters
        ----------
        key : str
            The key that was amended; of several, the last first.
        reason : str
            In words, for the log.
        dry_run : bool
            Write nothing, and say how the experiment would stand.

        Returns
        -------
        ExperimentStatus
            Where the experiment stands then.
        """
        with self.together(dry_run=dry_run):
            write = self._joint
            assert write is not None
            write(taking_back(self._ledger, self._replay.follow(self._ledger), key, reason))
            self._close_round(write)
            return self.status()

    def withdraw(
        self, arms: ArrayLike, *, reason: str = "", anyway: bool = False, dry_run: bool = False
    ) -> ExperimentStatus:
        """Never ask for these arms again.

        A round that still waits for one of them is set aside, with the results it has, and its design is solved again
        without them.

        Parameters
        ----------
        arms : array_like of int
            Indices of arms.
        reason : str
            In words, for the log.
        anyway : bool
            Also where the other arms cannot tell the items apart any more; the next `ask` then stops the experiment and
            names the directions.
        dry_run : bool
            Write nothing, and say how the experiment would stand.

        Returns
        -------
        ExperimentStatus
            Where the experiment stands then.

        Raises
        ------
        UnidentifiableError
            Before the act, where the other arms cannot tell the items apart any more.
        """
        with self.together(dry_run=dry_run):
            assert self._joint is not None
            algorithm = self._replay.follow(self._ledger)
            self._joint(withdrawal(self._ledger, algorithm, arms, reason, anyway))
            return self.status()

    def drop_item(
        self,
        items: ArrayLike,
        *,
        reason: str = "",
        set_aside: bool = False,
        anyway: bool = False,
        dry_run: bool = False,
    ) -> ExperimentStatus:
        """Ask nothing of these items any more: the answer is about the others, as if these had never been there.

        What was measured counts all the same, and items that lost against a dropped one alone are in again. The promise
        holds if they were dropped whatever their rewards were; what it is for any other reason, `status` says. An arm that
        tells of nothing else is not asked for any more, once the open batch is told; `withdraw` it too if it must not be.

        Parameters
        ----------
        items : array_like of int
            Indices of items; two must be left, or one of a level set.
        reason : str
            In words, for the log.
        set_aside : bool
            Of other algorithms than martingale elimination: rounds that were chosen by comparisons with these items are
            refused to go, with their number, unless this is set.
        anyway : bool
            Also where items are in again that the arms which are left cannot tell; the next `ask` then stops the experiment.
        dry_run : bool
            Write nothing, and say how the experiment would stand.

        Returns
        -------
        ExperimentStatus
            Where the experiment stands then.

        Raises
        ------
        UnidentifiableError
            Before the act, where items that had lost against these are in again, and their arms were withdrawn.
        """
        with self.together(dry_run=dry_run):
            assert self._joint is not None
            self._joint(dropping(self._ledger, items, reason, set_aside))
            if not flag(anyway, "anyway"):
                algorithm = self._replay.follow(self._ledger)
                refuse_untold(self._ledger, algorithm, algorithm.usable, "nothing was dropped, as then")
            return self.status()

    def join_item(
        self,
        items: Any,
        *,
        names: Sequence[str] | None = None,
        arms: Any = None,
        arm_names: Sequence[str] | None = None,
        noise_variance: ArrayLike | None = None,
        reward_range: Sequence[ArrayLike] | None = None,
        reason: str = "",
        dry_run: bool = False,
    ) -> ExperimentStatus:
        """Ask about more items from now on: martingale elimination takes them at any time.

        Bets on them begin with the batch that is asked for next; an experiment that has its answer goes on. Best arm: the
        promise is what it was if they joined whatever the rewards were; what it is for any other reason, `status` says. Level
        sets: each adds delta divided by the number of items in the beginning, whatever the reason. Arms can join with them.
        Where variances are learned, each arm that joins adds to the probability of error what learning the variance of one
        arm costs (Gaussian noise: delta/50 over the number of arms in the beginning); `status` says the sum.

        Parameters
        ----------
        items : array_like, shape (k, d)
            Vectors in the coordinates of the arms, of which the arms tell.
        names : sequence of str, optional
            What they are called, where the other items have names; the index of a data frame says it too.
        arms : array_like, shape (k', d'), optional
            New arms, with d' >= d: all vectors before have zeros in coordinates that are new. The items then have d' too.
        arm_names : sequence of str, optional
            What these are called, where the other arms have names.
        noise_variance : array_like, scalar or shape (k',), optional
            Their VARIANCES, where the algorithm knows those of the others.
        reward_range : pair, optional
            (low, high) of their rewards, where the algorithm was told ranges; left out, that of all others.
        reason : str
            In words, for the log.
        dry_run : bool
            Write nothing, and say how the experiment would stand.

        Returns
        -------
        ExperimentStatus
            Where the experiment stands then.
        """
        with self.together(dry_run=dry_run):
            assert self._joint is not None
            algorithm = self._replay.follow(self._ledger)
            new_arms = None if arms is None else NewArms(arms, arm_names, noise_variance, reward_range)
            self._joint(joining(self._ledger, algorithm, items, names, new_arms, reason))
            algorithm = self._replay.follow(self._ledger)
            refuse_untold(self._ledger, algorithm, algorithm.usable, "nothing joined, as")
            return self.status()

    def join_variant(
        self,
        name: str | None = None,
        *,
        noise_variance: float | None = None,
        reward_range: Sequence[float] | None = None,
        reason: str = "",
        dry_run: bool = False,
    ) -> ExperimentStatus:
        """Take in a new variant: an arm with a coordinate of its own, and the item of the same vector, by `join_item`.

        Parameters
        ----------
        name : str, optional
            What both are called, where the others have names.
        noise_variance : float, optional
            Its VARIANCE, where the algorithm knows those of the others.
        reward_range : pair of float, optional
            (low, high) of its rewards, where those of the others differ from arm to arm.
        reason : str
            In words, for the log.
        dry_run : bool
            Write nothing, and say how the experiment would stand.

        Returns
        -------
        ExperimentStatus
            Where the experiment stands then.
        """
        with self.together(dry_run=dry_run):
            own = np.zeros((1, self._replay.follow(self._ledger).arms.shape[1] + 1))
            own[0, -1] = 1.0
            names = None if name is None else [name]
            return self.join_item(
                own,
                names=names,
                arms=own,
                arm_names=names,
                noise_variance=noise_variance,
                reward_range=reward_range,
                reason=reason,
            )

    @contextmanager
    def together(self, *, dry_run: bool = False) -> Iterator[None]:
        """Make the changes within all at once, or none of them where one fails.

        Parameters
        ----------
        dry_run : bool
            None of them in any case: within, `status` says how the experiment would stand.

        Yields
        ------
        None
            For a with statement.
        """
        if flag(dry_run, "dry_run") and self._joint is not None:
            raise InputError("a dry run undoes all that is done together with it; do it by itself")
        if self._joint is not None:
            yield
            return
        self._record_answer()
        with self._writing() as write:
            self._joint = write
            try:
                yield
                if dry_run:
                    raise DryRun
            finally:
                self._joint = None

    # ---------------------------------------------------------------- the log

    def events(self) -> list[Event]:
        """Everything that happened, verified, from the beginning.

        Returns
        -------
        list of Event
            In the order of the log.
        """
        with ReadOnlyStore.open(self._store.path) as store, store.transaction(write=False):
            return store.read()

    def results(self) -> list[tuple[str, int, int, int, float, float]]:
        """All results that count, as corrected.

        Returns
        -------
        list of tuple
            Key, batch, arm, count, mean and sum of squares, by batch and key.
        """
        with self._lock:
            self._look()
            told, batches = self._ledger.results, [a.batch.id for a in self._ledger.batches if not a.set_aside]
            return [row for batch in batches for row in told.rows_of(batch)]

    def transcript(self) -> dict[str, Any]:
        """All that counts as plain data; the same for any order of delivery, any crashes and any clocks.

        Returns
        -------
        dict
            Nothing in it but what JSON keeps.
        """
        with self._lock:
            self._look()
            return self._ledger.transcript()

    def digest(self) -> str:
        """A fingerprint of the transcript, to the last bit.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        with self._lock:
            self._look()
            return self._ledger.digest()

    def note(self, text: str) -> None:
        """Write something down in the log, for people; nothing depends on it.

        Parameters
        ----------
        text : str
            The note.
        """
        with self._writing() as write:
            write(PendingEvent(EventKind.NOTED, {"note": checked_note(text)}))

    def notes(self) -> list[tuple[str, str]]:
        """What was written down so far.

        Returns
        -------
        list of (str, str)
            The time of each note (UTC, ISO 8601) and its text.
        """
        return [(event.time, event.body["note"]) for event in self.events() if event.kind is EventKind.NOTED]

    @property
    def path(self) -> pathlib.Path:
        """The file."""
        return self._store.path

    @property
    def read_only(self) -> bool:
        """Whether it was opened to be read only."""
        return isinstance(self._store, ReadOnlyStore)

    def __repr__(self) -> str:
        return f"Experiment({str(self._store.path)!r}: {self.n_arms} arms, {self._store.seq + 1} events)"

    # ---------------------------------------------------------------- inside

    def _close_round(self, write: Callable[[PendingEvent], None]) -> None:
        """Add up rounds whose results are complete."""
        while (complete := self._ledger.complete) is not None:
            aggregated = aggregate(self._ledger.results, complete.ids, self._ledger.n_arms)
            write(PendingEvent(EventKind.CLOSED, {"batch": max(complete.ids)} | packed_summary(aggregated)))
            self._replay.follow(self._ledger)
            refused = self._replay.refuses(complete)
            if refused is not None:
                raise InputError(f"{refused}, or choose another unit; nothing was recorded")

    def _advance(self, *, asking: bool = True, warning: bool = True) -> None:
        """Make the next batch, or the result, an event, where one is due; the result alone unless asking.

        warning: of what the results contradict; whoever corrects them knows.

        That the result is written by whoever sees it first matters: what is amended from then on, is amended by
        somebody who may know the answer.
        """
        while True:
            self._look()
            if self._ledger.phase is Phase.STOPPED:
                raise UnidentifiableError(str(self._ledger.stopped))
            if self._ledger.phase is not Phase.READY:
                return
            seen = self._store.seq
            draft, error = self._next(warning)
            if not asking and draft is not None and draft.kind is not EventKind.FINISHED:
                if draft.kind is EventKind.STOPPED:
                    raise UnidentifiableError(draft.body["message"])
                if error is not None:
                    raise error
                return
            if self.read_only:
                if draft is not None and draft.kind is EventKind.FINISHED:
                    self._ledger.finished = draft.body["result"]  # as it will be recorded; what comes next replaces it
                    return
                if not asking:
                    return
            with self._writing() as write:
                if self._store.seq != seen:
                    continue  # another process was faster
                if draft is not None:
                    write(draft)
                else:
                    self._close_round(write)
            if error is not None:
                raise error

    def _unrecorded_answer(self, algorithm: Identifier) -> dict[str, Any] | None:
        """The result that is due, as it will be recorded; None where there is none, or where nobody can tell."""
        current = self._ledger.current
        if current is None and not algorithm.may_end(self._ledger.asked_in_vain):
            return None
        try:
            draft = self._next(warning=False)[0]
        except (SolverError, UnidentifiableError):
            return None
        return draft.body["result"] if draft is not None and draft.kind is EventKind.FINISHED else None

    def _record_answer(self) -> None:
        """Record the answer where the results give it already: whoever changes something from now on may have seen it."""
        if self._joint is None and not self.read_only:
            with self._lock, suppress(SolverError, UnidentifiableError):
                self._advance(asking=False, warning=False)

    def _next(self, warning: bool) -> tuple[PendingEvent | None, Exception | None]:
        """The event that is due, None to add up a complete round; and the error that it must end with."""
        current = self._ledger.current
        if current is not None:
            if not current.lost.any():
                return None, None
            return self._replay.replacement(self._ledger), None
        try:
            draft = self._replay.plan(self._ledger, self.design_seconds)
        except UnidentifiableError as error:
            return PendingEvent(EventKind.STOPPED, {"message": str(error)}), None
        except SolverError as error:
            return PendingEvent(EventKind.FAILED, {"message": str(error), "designs": self._replay.attempts}), error
        finally:
            if warning:
                self._warn()
        return draft, None

    def _warn(self) -> None:
        """GuaranteeWarning for what the results contradict, once in this process."""
        for violation in self._replay.violations:
            if violation not in self._warned and violation != self._replay.trouble:  # that is an error
                self._warned.add(violation)
                warnings.warn(violation, GuaranteeWarning, stacklevel=5)

    def _part(
        self,
        batch: Batch | int,
        observations: Observations | None,
        key: str | None,
        arms: ArrayLike | None,
        rewards: ArrayLike | None,
        keys: Sequence[str] | None,
    ) -> RewardRows | SummaryRows:
        """What is told, checked by itself."""
        self._look()  # an arm may have joined
        number, n, observations = _number(batch), self.n_arms, self._of_all_arms(observations)
        single = [value is not None for value in (arms, rewards, keys)]
        if (observations is None) == (not any(single)) or (any(single) and not all(single)):
            raise InputError("give observations= and key=, or arms=, rewards= and keys=")
        if observations is not None:
            if key is None:
                key = self._whole_batch_key(number, observations)
            return summary_under(number, key, observations, n, self.arm_names)
        if key is not None:
            raise InputError("single rewards have one key each; give keys=, not key=")
        assert keys is not None
        assert arms is not None
        assert rewards is not None
        return reward_rows(number, keys, arms, rewards, n, self.arm_names)

    def _of_all_arms(self, observations: Observations | None) -> Observations | None:
        """Of those who do not know yet that arms joined: nothing of these. Of two values, rounded squares are put right."""
        joined = len(self._ledger.joined_arms)
        if isinstance(observations, Observations) and 0 < self.n_arms - observations.n_arms <= joined:
            observations = unpacked_summary(packed_summary(observations), self.n_arms)
        values = self.two_values
        if values is None or not isinstance(observations, Observations) or observations.n_arms != self.n_arms:
            return observations
        told, arms = rounded_put_right(*values, observations)
        if arms:
            warnings.warn(
                f"m2 of arm {self.arm_labels[arms[0]]} is rounded{and_more_arms(len(arms), 'as that')}; of rewards of two "
                "values it follows from count and mean, and is taken from these",
                stacklevel=4,
            )
        return told

    def _whole_batch_key(self, number: int, observations: Any) -> str:
        self._look()
        whole = batch_of(self._ledger, number).batch.counts
        if isinstance(observations, Observations) and np.array_equal(observations.count, whole):
            return f"batch-{number}"
        raise InputError(
            "give key=, a name for these results, since they are a part of the batch: told again under it, they do not "
            "count twice"
        )


def _seconds(given: float) -> float:
    return positive(given, "design_seconds", "give a positive number of seconds")


def _number(batch: Batch | int) -> int:
    return batch.id if isinstance(batch, Batch) else batch
