"""The algorithm in the state that the log describes: rebuilt, given the logged batches and results, solving nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError, SolverError
from convexdesign.estimation import Batch, Observations
from convexdesign.experiment.designing import Designer
from convexdesign.experiment.events import EventKind, PendingEvent
from convexdesign.experiment.ledger import Ledger, RecordedRound, Step
from convexdesign.experiment.packing import packed_pulls
from convexdesign.experiment.specification import algorithm_from
from convexdesign.identification import AnswerStatus, GuaranteeWarning, Identifier, MartingaleElimination, Result
from convexdesign.identification.allocations import unpacked
from convexdesign.identification.assumption_checks import VOID
from convexdesign.typing import Counts

__all__ = ["Replay", "UncomputableError", "begun_with", "result_from", "take_in"]


class Replay:
    """An algorithm that follows a ledger, step by step; rebuilt where the ledger took steps back.

    trouble: which results the algorithm could not compute with, in words; it is then as it was before them, and whoever
    looks, or corrects them, can.
    """

    def __init__(self) -> None:
        self.algorithm: Identifier | None = None
        self.trouble: str | None = None
        self._violations: list[str] = []
        # The round that makes the trouble, with what was told of it.
        self._untaken: tuple[Step, Observations | None, Counts | None] | None = None
        self.attempts: list[dict[str, Any]] = []
        # Every step followed, the results it was told (None while they are awaited), and a round's counts.
        self._items: tuple[tuple[int, ...], int, int] = ((), 0, 0)
        self._done: list[tuple[Step, Observations | None, Counts | None]] = []

    @property
    def violations(self) -> list[str]:
        """What results contradicted of the algorithm's assumptions, in words."""
        return self._violations if self.trouble is None else [*self._violations, self.trouble]

    def follow(self, ledger: Ledger) -> Identifier:
        """The algorithm after all steps of the ledger, or after all before results that it cannot compute with."""
        items = (ledger.dropped, len(ledger.joined), len(ledger.joined_arms))
        if self.algorithm is None or self._items != items or not self._is_prefix(ledger.steps):
            self._begin(ledger)
        if self._untaken is not None and any(_same(self._untaken, step) for step in ledger.steps):
            assert self.algorithm is not None
            return self.algorithm
        self.trouble = self._untaken = None
        try:
            return self._catch_up(ledger, ledger.steps)
        except UncomputableError as error:
            number = ledger.steps.index(error.round_)
            self._begin(ledger)
            algorithm = self._catch_up(ledger, ledger.steps[:number])
            self.trouble, self._untaken = str(error), (error.round_, error.round_.aggregated, error.round_.counts)
            return algorithm
        except BaseException:
            self.algorithm = None  # half a step is not a state
            raise

    def _begin(self, ledger: Ledger) -> None:
        self.algorithm, self._violations, self._done = begun_with(ledger, ledger.dropped), [], []
        self._items = (ledger.dropped, len(ledger.joined), len(ledger.joined_arms))
        self.trouble = self._untaken = None

    def refuses(self, round_: RecordedRound) -> str | None:
        """Why the results of a round that is complete cannot be computed with, in words; None where they can."""
        return self.trouble if self._untaken is not None and _same(self._untaken, round_) else None

    def _catch_up(self, ledger: Ledger, steps: list[Step]) -> Identifier:
        algorithm = self.algorithm
        assert algorithm is not None
        if self._done and isinstance(self._done[-1][0], RecordedRound) and self._done[-1][1] is None:
            self._tell(self._done.pop()[0], ledger)
        for step in steps[len(self._done) :]:
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
        return all(_same(done, step) for done, step in zip(self._done, steps))

    def _tell(self, step: Step, ledger: Ledger) -> None:
        """Tell the algorithm's open batch what the round gave, once that is complete."""
        assert isinstance(step, RecordedRound)
        assert self.algorithm is not None
        if step.aggregated is not None:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                take_in(self.algorithm, self.algorithm.ask(), step, ledger.reconsiders)
            found = [str(w.message) for w in caught if issubclass(w.category, GuaranteeWarning)]
            if not found:
                single = self.algorithm.singles_out_of_range(*ledger.results.singles_of(step.ids))
                found = [] if single is None else [f"{VOID}: {single}"]
            self._violations += [words for words in found if words not in self._violations]
        self._done.append((step, step.aggregated, step.counts))

    def plan(self, ledger: Ledger, seconds: float) -> PendingEvent:
        """The event that follows: the next batch, or the result. `attempts` lists what was tried for its designs.

        To be called when no results are awaited. The algorithm itself is left as the ledger has it. Raises SolverError
        where no method found a certified design, UnidentifiableError where the arms that are left cannot tell.
        """
        algorithm = self.follow(ledger)
        self.attempts = []
        if self.trouble is not None:
            raise SolverError(self.trouble)
        draft = algorithm.copy()
        draft.asked_in_vain(ledger.asked_in_vain)
        designer = Designer(seconds, _last_weights(ledger, algorithm.n_arms), algorithm.in_play)
        draft.set_design_solver(designer)
        try:
            with np.errstate(all="ignore"):
                if draft.done:
                    return self._finished(draft)
                counts = packed_pulls(draft.ask().counts)
        except (ArithmeticError, np.linalg.LinAlgError, InputError) as error:
            raise SolverError(
                f"no batch can be planned from these results ({type(error).__name__}: {error}); correct those that are "
                "mistakes (amend)"
            ) from error
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
    algorithm.refuses_two_values = False  # what is recorded is warned of
    gone = list(dropped)
    if gone:
        algorithm.exclude(gone)
    if ledger.joined:
        items = range(ledger.first_joined, ledger.first_joined + len(ledger.joined))
        algorithm.hold_back(items, range(ledger.n_arms - len(ledger.joined_arms), ledger.n_arms))
    return algorithm


class UncomputableError(SolverError):
    """The results of a round are nothing that the algorithm can compute with."""

    def __init__(self, message: str, round_: RecordedRound) -> None:
        super().__init__(message)
        self.round_ = round_


def take_in(algorithm: Identifier, batch: Batch, round_: RecordedRound, reconsiders: bool) -> None:
    """Tell an algorithm what a complete round gave. UncomputableError where it cannot compute with that."""
    assert round_.aggregated is not None
    try:
        # Whatever overflows was told by mistake, and shows in what comes out.
        with np.errstate(all="ignore"):
            algorithm.tell(batch, round_.aggregated)
            if reconsiders:
                algorithm.reconsider()
            if isinstance(algorithm, MartingaleElimination) and not np.isfinite(algorithm.confidence().items).all():
                raise ArithmeticError("sums that are no numbers come of them")
    except MemoryError:
        raise  # another machine, or another day, may have enough
    except Exception as error:
        numbers = sorted(round_.ids)
        which = f"batch {numbers[0]}" if len(numbers) == 1 else f"batches {', '.join(map(str, numbers))}"
        raise UncomputableError(
            f"the results of {which} are nothing to compute with ({type(error).__name__}: {error}); correct those that are "
            "mistakes (amend)",
            round_,
        ) from error


def _same(done: tuple[Step, Observations | None, Counts | None], step: Step) -> bool:
    """Whether a step is the one that was done, its results included."""
    mine, aggregated, counts = done
    return (
        step is mine
        and (aggregated is None or (isinstance(step, RecordedRound) and step.aggregated is aggregated))
        and (counts is None or (isinstance(step, RecordedRound) and step.counts is counts))
    )


def _last_weights(ledger: Ledger, n: int) -> NDArray[np.float64] | None:
    """Weights of the design behind the last batch that had one."""
    for round_ in reversed(ledger.rounds):
        record = round_.memory.get("allocation")
        if record is not None:
            return unpacked(record["weights"], n)
    return None


def result_record(result: Result) -> dict[str, Any]:
    """A result as plain data, but for what it rests on, which the specification says, and for doubts of that."""
    record = {name: value for name, value in vars(result).items() if name not in ("status", "assumption", "doubts")}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in record.items()} | {"status": result.status.name}


def result_from(record: dict[str, Any], assumption: str, doubts: Iterable[str]) -> Result:
    """The result that `result_record` gave, with what it rests on, and what contradicted that."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
    return Result(
        **values | {"status": AnswerStatus[record["status"]], "assumption": assumption, "doubts": tuple(doubts)}
    )
