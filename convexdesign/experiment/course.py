"""What happened, as it was seen then: every round when it was completed, and who came and went, with the reasons.

`history` looks back from now: at rounds as corrected, without items that were dropped since. Here the log is followed from its
beginning, and looked at after every event that may have changed what was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from convexdesign.experiment.acts import who_joined
from convexdesign.experiment.events import Event, EventKind
from convexdesign.experiment.history import RoundView, view_of
from convexdesign.experiment.ledger import Joining, Ledger, RecordedRound
from convexdesign.experiment.replay import Replay
from convexdesign.identification import BestArm, Identifier

__all__ = ["Course", "Fate", "course"]

# What may change which items are left.
DECIDING = (
    EventKind.CREATED,
    EventKind.CLOSED,
    EventKind.AMENDED,
    EventKind.CORRECTED,
    EventKind.TAKEN_BACK,
    EventKind.WITHDRAWN,
    EventKind.DROPPED,
    EventKind.JOINED,
)
OUT = "eliminated"
LEFT = "left"


@dataclass(frozen=True)
class Fate:
    """That an item left or came (back), or an arm was withdrawn: when, after how many rounds and results, and why."""

    time: str
    who: str
    what: str
    rounds: int
    samples: int
    why: str


@dataclass
class Course:
    """rounds: those that count, as they were when they were first completed. fates: in the order of the log."""

    rounds: list[RoundView] = field(default_factory=list)
    fates: list[Fate] = field(default_factory=list)


def course(events: Iterable[Event], items: Sequence[str], arms: Sequence[str]) -> Course:
    """What a log tells, with items and arms by what they are called."""
    follower = _Follower(items, arms)
    for event in events:
        follower.take(event)
    return follower.course()


class _Follower:
    """Follows a log; places: where every item was when it was last looked at. cause: what made decisions be made anew."""

    def __init__(self, items: Sequence[str], arms: Sequence[str]) -> None:
        self.items, self.arms = items, arms
        self.ledger, self.replay = Ledger(), Replay()
        # By the first batch of the round.
        self.seen: dict[int, RoundView] = {}
        self.fates: list[Fate] = []
        self.places: dict[int, str] = {}
        self.cause = ""

    def course(self) -> Course:
        counting = [min(round_.ids) for round_ in self.complete()]
        return Course([replace(self.seen[first], number=k) for k, first in enumerate(counting, 1)], self.fates)

    def complete(self) -> list[RecordedRound]:
        return [round_ for round_ in self.ledger.rounds if round_.aggregated is not None]

    def take(self, event: Event) -> None:
        self.ledger.apply(event)
        if event.kind not in DECIDING:
            return
        self._act(event)
        self.cause = _cause(event, self.items) or self.cause
        if self.ledger.complete is not None and event.kind is not EventKind.CLOSED:
            return  # what was corrected is added up by the next event
        algorithm = self.replay.follow(self.ledger)
        now = _places(self.ledger, algorithm)
        view = self._completed(event, algorithm, now) if event.kind is EventKind.CLOSED else None
        for item in sorted(now.keys() & self.places.keys()):
            place = now[item]
            if place != self.places[item]:
                what = "in again" if place == LEFT else place
                self._fate(event, self.items[item], what, _why(view, item, self.cause))
        self.places, self.cause = now, ""

    def _act(self, event: Event) -> None:
        """Who came and went because somebody said so."""
        body = event.body
        if event.kind is EventKind.JOINED:
            new = next(iter(_joinings(self.ledger)))
            names = [self.items[i] for i in new.items], [self.arms[i] for i in new.arms]
            self._fate(event, who_joined(*names), "joined", body["reason"])
            self.places |= dict.fromkeys(new.items, LEFT)
        elif event.kind is EventKind.WITHDRAWN:
            for arm in body["arms"]:
                self._fate(event, f"arm {self.arms[arm]}", "withdrawn", body["reason"])
        elif event.kind is EventKind.DROPPED:
            for item in body["items"]:
                self._fate(event, self.items[item], "dropped", body["reason"])

    def _completed(self, event: Event, algorithm: Identifier, now: dict[int, str]) -> RoundView | None:
        """The round that was just completed; None where it had been before."""
        round_ = self.ledger.round_of(event.body["batch"])
        if round_ is None or min(round_.ids) in self.seen:
            return None
        out = sorted(i for i, place in self.places.items() if place == LEFT and now.get(i) != LEFT)
        view = view_of(algorithm, round_, len(self.complete()), self._samples(), dropped=out)
        self.seen[min(round_.ids)] = view = replace(view, completed=event.time)
        return view

    def _samples(self) -> int:
        return sum(round_.aggregated.total for round_ in self.complete() if round_.aggregated is not None)

    def _fate(self, event: Event, who: str, what: str, why: str) -> None:
        self.fates.append(Fate(event.time, who, what, len(self.complete()), self._samples(), why))


def _places(ledger: Ledger, algorithm: Identifier) -> dict[int, str]:
    """Where every item is: left, out, or on a side of the threshold. Those that join after the open round are left."""
    decided = algorithm.partition
    found = dict.fromkeys(set(range(len(algorithm.items))) - set(ledger.dropped), OUT)
    if not isinstance(algorithm.objective, BestArm):
        for side, place in ((decided.above, "placed above"), (decided.below, "placed below")):
            found |= dict.fromkeys(side.tolist(), place)
    found |= dict.fromkeys(decided.undecided.tolist(), LEFT)
    for step in _joinings(ledger):
        found |= dict.fromkeys((i for i in step.items if i not in ledger.dropped), LEFT)
    return found


def _joinings(ledger: Ledger) -> Iterable[Joining]:
    """What joined since the last round was asked for, the last first."""
    for step in reversed(ledger.steps):
        if isinstance(step, RecordedRound):
            return
        if isinstance(step, Joining):
            yield step


def _cause(event: Event, items: Sequence[str]) -> str:
    """What made decisions be made anew."""
    body = event.body
    if event.kind is EventKind.TAKEN_BACK or body.get("takes_back"):
        return f"the amendment of {body['key']} was taken back"
    if event.kind in (EventKind.AMENDED, EventKind.CORRECTED):
        return f"{body['key']} was amended"
    if event.kind is EventKind.DROPPED:
        gone = [items[i] for i in body["items"]]
        return f"{', '.join(gone)} {'was' if len(gone) == 1 else 'were'} dropped"
    return ""


def _why(view: RoundView | None, item: int, cause: str) -> str:
    if view is None:
        return f"decided anew, as {cause}" if cause else "decided anew"
    if view.p_values is not None:
        return f"p-value {view.p_values[item]:.3g}"
    return "its estimate was further off than the accuracy of the round"
