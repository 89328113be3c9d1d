"""What happened, one event after the other; each carries a checksum that is chained to the last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple

__all__ = ["GENESIS", "Event", "EventKind", "PendingEvent", "chained", "plain_json"]


class EventKind(StrEnum):
    """What an event says; the value is how it is written."""

    CREATED = "created"
    ASKED = "asked"
    TOLD = "told"
    SUMMARISED = "summarised"
    CLOSED = "closed"
    MISSING = "missing"
    AMENDED = "amended"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"
    STOPPED = "stopped"
    FINISHED = "finished"
    NOTED = "noted"
    ARRIVED = "arrived"
    CORRECTED = "corrected"
    TAKEN_BACK = "taken-back"
    DROPPED = "dropped"
    JOINED = "joined"


# The checksum before the first event.
GENESIS = blake2b(b"convexdesign experiment", digest_size=16).digest()


@dataclass(frozen=True)
class PendingEvent:
    """An event that is not yet in a log."""

    kind: EventKind
    body: dict[str, Any]


class Event(NamedTuple):
    """Number `seq` of a log. text: the body as JSON. time: when it was written, by a clock that nothing relies on.

    checksum: of this event and the checksum before it, so that one number vouches for all that happened up to here.
    """

    seq: int
    kind: EventKind
    time: str
    text: str
    checksum: bytes

    @property
    def body(self) -> dict[str, Any]:
        """What happened, as data."""
        found: dict[str, Any] = json.loads(self.text)
        return found


def chained(pending: list[PendingEvent], seq: int, checksum: bytes) -> list[Event]:
    """Pending events as events after number `seq`, whose checksum is given; (-1, GENESIS) for the start of a log."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    events = []
    for event in pending:
        seq += 1
        text = plain_json(event.body)
        checksum = link(checksum, seq, event.kind.value.encode(), time.encode(), text.encode())
        events.append(Event(seq, event.kind, time, text, checksum))
    return events


def link(before: bytes, seq: int, kind: bytes, time: bytes, text: bytes) -> bytes:
    """The checksum of an event: BLAKE2b, 16 bytes, over the one before, the number and the parts."""
    return blake2b(b"%b%d\n%b\n%b\n%b" % (before, seq, kind, time, text), digest_size=16).digest()


def plain_json(body: dict[str, Any]) -> str:
    """JSON that reads back as the same numbers, bit for bit: ASCII, sorted, without spaces, without NaN."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
