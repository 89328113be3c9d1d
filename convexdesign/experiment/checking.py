"""The whole of a store, proven again: its pages, its checksums, its sums, and what was decided by them."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

import numpy as np

from convexdesign.errors import ConvexDesignError
from convexdesign.experiment import snapshot
from convexdesign.experiment.events import Event, EventKind
from convexdesign.experiment.ledger import Ledger, RecordedRound
from convexdesign.experiment.packing import packed_summary
from convexdesign.experiment.reading import ReadOnlyStore
from convexdesign.experiment.replay import begun_with, take_in
from convexdesign.experiment.results import RewardRows, SummaryRows, aggregate, content_from_record
from convexdesign.experiment.validation import admit
from convexdesign.identification import GuaranteeWarning

__all__ = ["Report", "check"]


@dataclass(frozen=True)
class Report:
    """What was checked, and what was found wrong, in words; no problems, and everything in the store holds.

    Parameters
    ----------
    events, rounds, results : int
        How many there are.
    checksum : str
        Of the last event, hence of all.
    problems : tuple of str
        What is wrong.
    differences : tuple of str
        Rounds that this machine would have decided otherwise, by the last digits; the record counts.
    """

    events: int
    rounds: int
    results: int
    checksum: str
    problems: tuple[str, ...]
    differences: tuple[str, ...]


def check(path: str | os.PathLike[str]) -> Report:
    """Verify a store from its pages up, without believing anything that can be recomputed.

    SQLite's own full check; every checksum; that every result fits its batch and no key counts twice; that the sums of
    every round are those of its results; that a snapshot beside it, if the log vouches for it, has the effect of what
    it stands for; that the algorithm, given the sums, comes to the recorded decisions.

    Parameters
    ----------
    path : str or os.PathLike
        The store.

    Returns
    -------
    Report
        What was found.

    Raises
    ------
    DamagedStoreError
        Where the log cannot be read at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import convexdesign as cd
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> algorithm = cd.identification.Rage([[1, 0], [0, 1]], variance_bounds=(1.0, 2.0))
    >>> cd.Experiment.create(path, algorithm).close()
    >>> cd.experiment.check(path).problems
    ()
    """
    with ReadOnlyStore.open(path) as store:
        store.check_structure(thorough=True)
        with store.transaction(write=False):
            events = store.read()
        beside = snapshot.load(store.path)
    ledger, problems = Ledger(), _wrong_snapshot(beside, events)
    for event in events:
        problems += _refused(ledger, event)
        ledger.apply(event)
        if event.kind is EventKind.CLOSED:
            problems += _wrong_sums(ledger, event)
    try:
        differences = _decisions(ledger)
    except (ConvexDesignError, ArithmeticError, LookupError) as error:
        differences = []
        problems.append(f"the algorithm does not follow the record: {error}")
    checksum = events[-1].checksum.hex()
    return Report(len(events), len(ledger.rounds), len(ledger.results), checksum, tuple(problems), tuple(differences))


def _wrong_snapshot(beside: snapshot.LogSnapshot | None, events: list[Event]) -> list[str]:
    """Whether the snapshot that experiments begin with is what it stands for; one that they do not use says nothing."""
    if (
        beside is None
        or not 0 <= beside.seq < len(events) - 1
        or snapshot.vouched(events[beside.seq + 1]) != beside.digest
    ):
        return []
    if beside.stands_for(events[: beside.seq + 1]):
        return []
    return [f"the snapshot beside it is not what the first {beside.seq + 1} events say"]


def _refused(ledger: Ledger, event: Event) -> list[str]:
    """Why an event could not have been accepted when it was."""
    if event.kind not in (EventKind.TOLD, EventKind.SUMMARISED):
        return []
    body = event.body
    part: RewardRows | SummaryRows
    if event.kind is EventKind.TOLD:
        part = RewardRows.from_record(body)
    else:
        content = content_from_record(body)
        part = SummaryRows(content.batch, body["key"], content)
    try:
        _, result = admit(ledger, part)
    except ConvexDesignError as error:
        return [f"event {event.seq}: {error}"]
    return [f"event {event.seq}: {result.repeated} of its keys were known"] if result.repeated else []


def _wrong_sums(ledger: Ledger, event: Event) -> list[str]:
    """Whether a round's sums are those of its results: counts exactly, the rest to the last bit or nearly."""
    round_ = ledger.round_of(event.body["batch"])
    if round_ is None or round_.aggregated is None:
        return [f"event {event.seq}: it closes a round that is not there"]
    again = aggregate(ledger.results, round_.ids, ledger.n_arms)
    if not np.array_equal(again.count, round_.counts):
        return [f"event {event.seq}: the round was closed before its results were complete"]
    if packed_summary(again) == packed_summary(round_.aggregated):
        return []
    close = np.allclose(again.mean, round_.aggregated.mean, rtol=1e-9) and np.allclose(
        again.m2, round_.aggregated.m2, rtol=1e-9
    )
    return [] if close else [f"event {event.seq}: the sums are not those of the results"]


def _decisions(ledger: Ledger) -> list[str]:
    """Rounds before which this machine would have had other survivors than the record."""
    algorithm = begun_with(ledger, ledger.dropped)
    differences = []
    for number, step in enumerate(ledger.steps):
        if not isinstance(step, RecordedRound):
            step.make(algorithm)
            continue
        known = algorithm.partition.record()
        # What was decided before a correction need not be what the corrected results decide.
        if not ledger.reconsiders and known != {side: step.memory[side] for side in known}:
            differences.append(f"before step {number}")
        batch = algorithm.load_state_dict(step.memory, step.counts)
        if step.aggregated is None:
            return differences
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)
            take_in(algorithm, batch, step, ledger.reconsiders)
    finished = ledger.finished
    if finished is not None and finished["survivors"] != algorithm.partition.undecided.tolist():
        differences.append("in the result")
    return differences
