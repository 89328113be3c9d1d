"""What the events add up to: batches, rounds, results and what became of them. Only data; no algorithm, no solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.estimation import Batch, Observations
from convexdesign.experiment.events import Event, EventKind, plain_json
from convexdesign.experiment.packing import packed_pulls, packed_summary, unpacked_pulls, unpacked_summary
from convexdesign.experiment.results import Content, Results, RewardRows, SummaryRows, content_from_record
from convexdesign.typing import Counts

if TYPE_CHECKING:
    from convexdesign.identification import Identifier

__all__ = ["Asked", "Joining", "Ledger", "Phase", "RecordedRound", "Step", "Withdrawal"]


# What may happen after an amendment while that can still be taken back: nothing that rests on it.
LEAVES_UNDONE = (
    EventKind.AMENDED,
    EventKind.TAKEN_BACK,
    EventKind.CLOSED,
    EventKind.NOTED,
    EventKind.FINISHED,
    EventKind.STOPPED,
    EventKind.FAILED,
)


class Phase(Enum):
    """What an experiment waits for; the value says it in words."""

    WAITING = "results of the open batch"
    READY = "the next batch: ask"
    DONE = "nothing: there is a result"
    STOPPED = "nothing: the arms that are left cannot tell what is asked"


@dataclass(eq=False)
class Asked:
    """A batch (counts (n,)), what was told of it, what is known to be missing, and whether it still counts.

    arrived (n,): how many results there are in all, where other numbers came than were asked for.
    """

    batch: Batch
    told: Counts
    missing: Counts
    set_aside: bool = False
    arrived: Counts | None = None

    @property
    def expected(self) -> Counts:
        """How many results (n,) there were to be: those asked for, or those that arrived instead."""
        return self.batch.counts if self.arrived is None else self.arrived

    @property
    def outstanding(self) -> Counts:
        """Pulls (n,) whose results are still to come."""
        if self.set_aside:
            return np.zeros_like(self.told)
        return self.expected - self.told - self.missing


@dataclass(eq=False)
class RecordedRound:
    """What an algorithm asked for at once: a batch, and more batches in place of results that went missing.

    counts (n,): the results that it takes, as asked for or as they arrived. memory: of the algorithm when it asked.
    aggregated: all its results, once they are complete.
    """

    counts: Counts
    memory: dict[str, Any]
    batches: list[Asked]
    aggregated: Observations | None = None

    @property
    def ids(self) -> set[int]:
        """The ids of its batches."""
        return {asked.batch.id for asked in self.batches}

    @property
    def told(self) -> Counts:
        """Results (n,) so far."""
        return np.asarray(np.sum([asked.told for asked in self.batches], axis=0))

    @property
    def open(self) -> Asked | None:
        """The first batch with results to come."""
        return next((asked for asked in self.batches if asked.outstanding.any()), None)

    @property
    def lost(self) -> Counts:
        """Pulls (n,) that must be asked for again, once no batch is open."""
        return self.counts - self.told


@dataclass(frozen=True)
class Undo:
    """What an amendment changed, while nothing rests on it yet: its key, the content before, and the state before."""

    key: str
    before: Content
    set_aside: tuple[int, ...]
    steps: list[Step]
    round_: RecordedRound | None
    aggregated: Observations | None
    finished: dict[str, Any] | None
    stopped: str | None


@dataclass(frozen=True)
class Withdrawal:
    """Arms that were withdrawn, by their indices."""

    arms: tuple[int, ...]

    def make(self, algorithm: Identifier) -> None:
        """Make the change in an algorithm, between batches."""
        algorithm.withdraw(self.arms)


@dataclass(frozen=True)
class Joining:
    """Items and arms that joined, by their indices, which follow those of all before."""

    items: tuple[int, ...]
    arms: tuple[int, ...] = ()

    def make(self, algorithm: Identifier) -> None:
        """Make the change in an algorithm, between batches."""
        algorithm.join(self.items, self.arms)


Step = RecordedRound | Withdrawal | Joining


@dataclass
class Ledger:
    """The state after some events: `apply` takes the next one.

    steps: rounds, withdrawals and joinings that count, in order. batches: all that were ever asked for.
    """

    specification: dict[str, Any] = field(default_factory=dict)
    n_arms: int = 0
    batches: list[Asked] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    results: Results = field(default_factory=Results)
    finished: dict[str, Any] | None = None
    stopped: str | None = None
    # Amendments that stand, and those that were taken back.
    amendments: int = 0
    taken_back: int = 0
    events: int = 0
    # Whether decisions are made anew from all that counts, as rounds were corrected that later ones followed.
    reconsiders: bool = False
    # Items that are not asked about any more.
    dropped: tuple[int, ...] = ()
    # Items that joined later: their values, and their names where items have them.
    joined: list[tuple[str | None, list[float]]] = field(default_factory=list)
    # Arms that joined: name, values, and what the algorithm is told of their noise. Their values may have more coordinates
    # than those before, which have zeros there.
    joined_arms: list[dict[str, Any]] = field(default_factory=list)
    undo: list[Undo] = field(default_factory=list)
    # Of keys that were amended: what they held before each amendment that was not taken back.
    replaced: dict[str, list[Content]] = field(default_factory=dict)

    # ---------------------------------------------------------------- questions

    @property
    def rounds(self) -> list[RecordedRound]:
        """The rounds that count."""
        return [step for step in self.steps if isinstance(step, RecordedRound)]

    @property
    def last_round(self) -> RecordedRound | None:
        """The round that was asked for last, of those that count."""
        return next((step for step in reversed(self.steps) if isinstance(step, RecordedRound)), None)

    @property
    def current(self) -> RecordedRound | None:
        """The round whose results are not complete; None between rounds."""
        last = self.last_round
        return last if last is not None and last.aggregated is None else None

    @property
    def complete(self) -> RecordedRound | None:
        """A round whose results are complete, and that is not added up yet."""
        waits = (round_ for round_ in self.rounds if round_.aggregated is None)
        return next((round_ for round_ in waits if round_.open is None and not round_.lost.any()), None)

    @property
    def open(self) -> Asked | None:
        """The batch that results are awaited for."""
        return None if self.current is None else self.current.open

    @property
    def withdrawn(self) -> list[int]:
        """All arms withdrawn, increasing."""
        return sorted({arm for step in self.steps if isinstance(step, Withdrawal) for arm in step.arms})

    @property
    def first_joined(self) -> int:
        """How many items there were in the beginning."""
        return len((self.specification["items"] or self.specification["arms"])["values"])

    @property
    def item_rows(self) -> dict[str, Any]:
        """Values and names (or None) of all items, those that joined included."""
        rows = self.specification["items"] or self.specification["arms"]
        names = rows["names"]
        return {
            "values": rows["values"] + [values for _, values in self.joined],
            "names": None if names is None else [*names, *(name for name, _ in self.joined)],
        }

    @property
    def arm_names(self) -> list[str] | None:
        """What the arms are called; None where they have no names."""
        names: list[str] | None = self.specification["arms"]["names"]
        return names if names is None else [*names, *(arm["name"] for arm in self.joined_arms)]

    @property
    def asked_for(self) -> int:
        """All pulls that were ever asked for, whatever became of them; those that arrived where the numbers are others."""
        return sum(int(asked.expected.sum()) for asked in self.batches)

    @property
    def arrivals(self) -> int:
        """Batches that count of which other numbers of results arrived than were asked for."""
        return sum(asked.arrived is not None and not asked.set_aside for asked in self.batches)

    @property
    def asked_in_vain(self) -> int:
        """Those of them that are in no complete round that counts: missing, set aside, or of a round that goes on."""
        return self.asked_for - sum(round_.aggregated.total for round_ in self.rounds if round_.aggregated is not None)

    @property
    def phase(self) -> Phase:
        """What is waited for."""
        if self.stopped is not None:
            return Phase.STOPPED
        if self.finished is not None:
            return Phase.DONE
        return Phase.READY if self.open is None else Phase.WAITING

    def round_of(self, batch: int) -> RecordedRound | None:
        """The round a batch belongs to; None where it was set aside."""
        return next((round_ for round_ in self.rounds if batch in round_.ids), None)

    def used_after(self, round_: RecordedRound) -> bool:
        """Whether later batches, or the result, were chosen by what this round told."""
        return round_ is not self.last_round or self.finished is not None

    def later(self, round_: RecordedRound) -> list[int]:
        """The ids of all batches of later rounds."""
        rounds = self.rounds
        return sorted(i for later in rounds[rounds.index(round_) + 1 :] for i in later.ids)

    def transcript(self) -> dict[str, Any]:
        """All that counts, and nothing of how it came in: equal for equal experiments, whatever the order of delivery."""
        steps: list[dict[str, Any]] = []
        for step in self.steps:
            if isinstance(step, Withdrawal):
                steps.append({"withdrawn": list(step.arms)})
                continue
            if isinstance(step, Joining):
                joined: dict[str, Any] = {"joined": [[*self.joined[i - self.first_joined]] for i in step.items]}
                arms = [self.joined_arms[i - self.n_arms] for i in step.arms]  # from the end
                steps.append(joined | ({"arms": arms} if arms else {}))
                continue
            batches = [
                {
                    "id": a.batch.id,
                    "counts": packed_pulls(a.batch.counts),
                    "told": packed_pulls(a.told),
                    "missing": packed_pulls(a.missing),
                }
                | ({} if a.arrived is None else {"arrived": packed_pulls(a.arrived)})
                for a in step.batches
            ]
            aggregated = None if step.aggregated is None else packed_summary(step.aggregated)
            steps.append({"batches": batches, "memory": step.memory, "folded": aggregated})
        whole = {"specification": self.specification, "steps": steps, "result": self.finished, "stopped": self.stopped}
        return whole | ({"dropped": list(self.dropped)} if self.dropped else {})

    def digest(self) -> str:
        """A fingerprint of the transcript, to the last bit of every number."""
        return blake2b(plain_json(self.transcript()).encode(), digest_size=16).hexdigest()

    # ---------------------------------------------------------------- events

    def apply(self, event: Event) -> None:
        """Take in the next event: by the method that is called as its kind."""
        getattr(self, f"_{event.kind.name.lower()}")(event.body)
        self.events += 1
        if event.kind not in LEAVES_UNDONE:
            self.undo = []

    def _failed(self, body: dict[str, Any]) -> None:
        """Nothing was asked; the next ask tries again."""

    def _noted(self, body: dict[str, Any]) -> None:
        """Nothing depends on what people write down."""

    def _created(self, body: dict[str, Any]) -> None:
        self.specification = body["specification"]
        self.n_arms = len(self.specification["arms"]["values"])

    def _asked(self, body: dict[str, Any]) -> None:
        counts = unpacked_pulls(body, self.n_arms)
        nothing = np.zeros(self.n_arms, dtype=np.int64)
        asked = Asked(Batch(body["batch"], counts), nothing, nothing)
        self.batches.append(asked)
        current = self.current
        if body["replaces"] is None or current is None:
            self.steps.append(RecordedRound(counts, body["memory"], [asked]))
        else:
            current.batches.append(asked)

    def _told(self, body: dict[str, Any]) -> None:
        part = RewardRows.from_record(body)
        self.results.add(part)
        self._count(part.batch, np.bincount(part.arms, minlength=self.n_arms))

    def _summarised(self, body: dict[str, Any]) -> None:
        content = content_from_record(body)
        self.results.add(SummaryRows(content.batch, body["key"], content))
        self._count(content.batch, content.pulls(self.n_arms))

    def _count(self, batch: int, counts: Counts) -> None:
        self.batches[batch].told = self.batches[batch].told + counts

    def _closed(self, body: dict[str, Any]) -> None:
        round_ = self.round_of(body["batch"])
        if round_ is not None:
            round_.aggregated = unpacked_summary(body, self.n_arms)

    def _missing(self, body: dict[str, Any]) -> None:
        asked = self.batches[body["batch"]]
        asked.missing = asked.missing + unpacked_pulls(body, self.n_arms)

    def _arrived(self, body: dict[str, Any]) -> None:
        asked = self.batches[body["batch"]]
        round_ = self.round_of(body["batch"])
        came = unpacked_pulls(body, self.n_arms)
        if round_ is not None:
            round_.counts = round_.counts - asked.expected + came
        # What was marked as missing is among those that did not come.
        asked.arrived, asked.missing = came, np.zeros_like(asked.missing)

    def _amended(self, body: dict[str, Any]) -> None:
        new: Content = content_from_record(body["content"])
        old = self.results.find(body["key"])
        assert old is not None
        round_ = self.round_of(new.batch)
        aggregated = None if round_ is None else round_.aggregated
        gone = tuple(body["set_aside"])
        undo = Undo(body["key"], old, gone, self.steps, round_, aggregated, self.finished, self.stopped)
        self.undo = [] if self._replace(body, old) else [*self.undo, undo]
        self.results.amend(body["key"], new)
        self._count(new.batch, new.pulls(self.n_arms) - old.pulls(self.n_arms))
        if round_ is not None:
            round_.aggregated = None
        self._set_aside(gone)

    def _replace(self, body: dict[str, Any], old: Content) -> bool:
        """Keep what a key held before an amendment; whether it takes one back."""
        before = self.replaced.setdefault(body["key"], [])
        if body.get("takes_back", False):
            before.pop()
            self._stands_no_more()
            return True
        before.append(old)
        self.amendments += 1
        return False

    def _stands_no_more(self) -> None:
        self.amendments -= 1
        self.taken_back += 1

    def _corrected(self, body: dict[str, Any]) -> None:
        """As an amendment, and later rounds stay; a complete round keeps to the numbers that its results have now."""
        new: Content = content_from_record(body["content"])
        old, asked = self.results.find(body["key"]), self.batches[new.batch]
        assert old is not None
        change = new.pulls(self.n_arms) - old.pulls(self.n_arms)
        self._replace(body, old)
        self.results.amend(body["key"], new)
        self._count(new.batch, change)
        round_ = self.round_of(new.batch)
        if round_ is not None:
            round_.aggregated = None
            if change.any():
                came = asked.expected + change
                asked.arrived = None if np.array_equal(came, asked.batch.counts) else came
                round_.counts = round_.counts + change
        self.finished = self.stopped = None
        self.reconsiders = True

    def _taken_back(self, body: dict[str, Any]) -> None:
        last = self.undo.pop()
        self.replaced[last.key].pop()
        self._stands_no_more()
        now = self.results.find(last.key)
        assert now is not None
        self.results.amend(last.key, last.before)
        self._count(last.before.batch, last.before.pulls(self.n_arms) - now.pulls(self.n_arms))
        for i in last.set_aside:
            self.batches[i].set_aside = False
        self.steps = last.steps
        if last.round_ is not None:
            last.round_.aggregated = last.aggregated
        self.finished, self.stopped = last.finished, last.stopped

    def _withdrawn(self, body: dict[str, Any]) -> None:
        self._set_aside(body["set_aside"])
        self.steps.append(Withdrawal(tuple(body["arms"])))

    def _joined(self, body: dict[str, Any]) -> None:
        first = self.first_joined + len(self.joined)
        new = [(name, [float(number) for number in values]) for name, values in body["items"]]
        self.joined = [*self.joined, *new]
        arms = body.get("arms", [])
        self.steps.append(
            Joining(tuple(range(first, first + len(new))), tuple(range(self.n_arms, self.n_arms + len(arms))))
        )
        self._more_arms(arms)
        self.finished = self.stopped = None

    def _more_arms(self, arms: list[dict[str, Any]]) -> None:
        """Arms that nothing was asked for before."""
        self.joined_arms = [*self.joined_arms, *arms]
        self.n_arms += len(arms)
        if not arms:
            return

        def longer(counts: Counts) -> Counts:
            return np.append(counts, np.zeros(len(arms), dtype=np.int64))

        for asked in self.batches:
            asked.batch = Batch(asked.batch.id, longer(asked.batch.counts))
            asked.told, asked.missing = longer(asked.told), longer(asked.missing)
            asked.arrived = None if asked.arrived is None else longer(asked.arrived)
        for round_ in self.rounds:
            round_.counts, told = longer(round_.counts), round_.aggregated
            if told is not None:
                round_.aggregated = unpacked_summary(packed_summary(told), self.n_arms)

    def _dropped(self, body: dict[str, Any]) -> None:
        self.dropped = tuple(sorted({*self.dropped, *body["items"]}))
        self.reconsiders = True
        self._set_aside(body["set_aside"])

    def _set_aside(self, batches: Iterable[int]) -> None:
        gone = set(batches)
        for i in gone:
            self.batches[i].set_aside = True
        self.steps = [step for step in self.steps if not isinstance(step, RecordedRound) or not step.ids <= gone]
        # A result, or the reason to stop, rested on what was just changed.
        self.finished = self.stopped = None

    def _stopped(self, body: dict[str, Any]) -> None:
        self.stopped = body["message"]

    def _finished(self, body: dict[str, Any]) -> None:
        self.finished = body["result"]
