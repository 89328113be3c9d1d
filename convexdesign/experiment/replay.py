"""The algorithm in the state that the log describes: rebuilt, given the logged batches and results, solving nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations
from convexdesign.experiment.designing import Designer
from convexdesign.experiment.events import EventKind, PendingEvent
from convexdesign.experiment.ledger import Ledger, RecordedRound, Step
from convexdesign.experiment.packing import packed_pulls
from convexdesign.experiment.specification import algorithm_from
from convexdesign.identification import AnswerStatus, GuaranteeWarning, Identifier, Result
from convexdesign.identification.allocations import unpacked
from convexdesign.identification.assumption_checks import VOID
from convexdesign.typing import Counts

__all__ = ["Replay", "begun_with", "result_from"]


class Replay:
    """An algorithm that follows a ledger, step by step; rebuilt where the ledger took steps back.

    violations: what results contradicted of the algorithm's assumptions, in words.
    """

    def __init__(self) -> None:
        self.algorithm: Identifier | None = None
        self.violations: list[str] = []
        self.attempts: list[dict[str, Any]] = []
        # Every step followed, the results it was told (None while they are awaited), and a round's counts.
        self._items: tuple[tuple[int, ...], int, int] = ((), 0, 0)
        self._done: list[tuple[Step, Observations | None, Counts | None]] = []

    def follow(self, ledger: Ledger) -> Identifier:
        """The algorithm after all steps of the ledger."""
        items = (ledger.dropped, len(ledger.joined), len(ledger.joined_arms))
        if self.algorithm is None or self._items != items or not self._is_prefix(ledger.steps):
            self.algorithm, self.violations, self._done = begun_with(ledger, ledger.dropped), [], []
            self._items = items
            self.algorithm.refuses_two_values = False  # what is recorded is warned of
        try:
            return self._catch_up(self.algorithm, ledger)
        except BaseException:
            self.algorithm = None  # half a step is not a state
            raise

    def _catch_up(self, algorithm: Identifier, ledger: Ledger) -> Identifier:
        if self._done and isinstance(self._done[-1][0], RecordedRound) and self._done[-1][1] is None:
            self._tell(self._done.pop()[0], ledger)
        for step in ledger.steps[len(self._done) :]:
            if self._done and isinstance(self._done[-1][0], RecordedRound) and self._done[-1][1] is None:
                break  # what comes after an open round waits for its results
            if not isinstance(step, RecordedRound):
                step.make(algorithm)
                self._done.append((step, None, None))
                continue
            algorithm.load_state_dict(step.memory, step.counts)
            self._tell(step, ledger)
        return algorithm

    def _is_prefix(self, steps: list[Step]) -> bool:
        """Whether what was done is how the ledger's steps begin, results included."""
        if len(self._done) > len(steps):
            return False
        return all(
            step is mine
            and (aggregated is None or (isinstance(step, RecordedRound) and step.aggregated is aggregated))
            and (counts is None or (isinstance(step, RecordedRound) and step.counts is counts))
            for (mine, aggregated, counts), step in zip(self._done, steps)
        )

    def _tell(self, step: Step, ledger: Ledger) -> None:
        """Tell the algorithm's open batch what the round gave, once that is complete."""
        assert isinstance(step, RecordedRound)
        assert self.algorithm is not None
        if step.aggregated is not None:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.algorithm.tell(self.algorithm.ask(), step.aggregated)
            if ledger.reconsiders:
                self.algorithm.reconsider()
            found = [str(w.message) for w in caught if issubclass(w.category, GuaranteeWarning)]
            if not found:
                single = self.algorithm.singles_out_of_range(*ledger.results.singles_of(step.ids))
                found = [] if single is None else [f"{VOID}: {single}"]
            self.violations += [words for words in found if words not in self.violations]
        self._done.append((step, step.aggregated, step.counts))

    def plan(self, ledger: Ledger, seconds: float) -> PendingEvent:
        """The event that follows: the next batch, or the result. `attempts` lists what was tried for its designs.

        To be called when no results are awaited. The algorithm itself is left as the ledger has it. Raises SolverError
        where no method found a certified design, UnidentifiableError where the arms that are left cannot tell.
        """
        algorithm = self.follow(ledger)
        draft = algorithm.copy()
        draft.asked_in_vain(ledger.asked_in_vain)
        designer = Designer(seconds, _last_weights(ledger, algorithm.n_arms), algorithm.in_play)
        draft.set_design_solver(designer)
        try:
            if draft.done:
                return self._finished(draft)
            counts = packed_pulls(draft.ask().counts)
        finally:
            self.attempts = designer.record()
        body = {"batch": len(ledger.batches), "memory": draft.state_dict(), "replaces": None, "designs": self.attempts}
        return PendingEvent(EventKind.ASKED, body | counts)

    def replacement(self, ledger: Ledger) -> PendingEvent:
        """The event after results of a round went missing: as many pulls again, or the end where they are too many.

        Limits count what is asked for. A round that cannot be completed within them tells nothing: which of its results are
        there need not have been known beforehand.
        """
        current = ledger.current
        assert current is not None
        algorithm = self.follow(ledger)
        if int(current.lost.sum()) > algorithm.limit - ledger.asked_for:
            draft = algorithm.copy()
            draft.stop()
            return self._finished(draft)
        body = {"batch": len(ledger.batches), "memory": current.memory, "designs": []}
        return PendingEvent(EventKind.ASKED, body | {"replaces": max(current.ids)} | packed_pulls(current.lost))

    def _finished(self, algorithm: Identifier) -> PendingEvent:
        return PendingEvent(
            EventKind.FINISHED, {"result": result_record(algorithm.result()), "doubts": self.violations}
        )


def begun_with(ledger: Ledger, dropped: Iterable[int]) -> Identifier:
    """The algorithm as it begins, as if items that were dropped had never been there; those that join wait."""
    algorithm = algorithm_from(ledger.specification, ledger.joined, ledger.joined_arms)
    gone = list(dropped)
    if gone:
        algorithm.exclude(gone)
    if ledger.joined:
        items = range(ledger.first_joined, ledger.first_joined + len(ledger.joined))
        algorithm.hold_back(items, range(ledger.n_arms - len(ledger.joined_arms), ledger.n_arms))
    return algorithm


def _last_weights(ledger: Ledger, n: int) -> NDArray[np.float64] | None:
    """Weights of the design behind the last batch that had one."""
    for round_ in reversed(ledger.rounds):
        record = round_.memory.get("allocation")
        if record is not None:
            return unpacked(record["weights"], n)
    return None


def result_record(result: Result) -> dict[str, Any]:
    """A result as plain data, but for what it rests on, which the specification says."""
    record = {name: value for name, value in vars(result).items() if name not in ("status", "assumption")}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in record.items()} | {"status": result.status.name}


def result_from(record: dict[str, Any], assumption: str) -> Result:
    """The result that `result_record` gave, with what it rests on."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
    return Result(**values | {"status": AnswerStatus[record["status"]], "assumption": assumption})
