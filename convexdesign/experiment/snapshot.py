"""A shorter log with the same effect, kept beside the store so that a long one opens quickly; a cache, never the record.

Runs of told rows are joined into one event each; all else stays. The event after those that a snapshot stands for holds
its fingerprint, so that the chain of checksums vouches for it: one that is changed, forged, or of another log is not used.
Deleting it costs time, nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from convexdesign.experiment.events import Event, EventKind, plain_json
from convexdesign.experiment.results import RewardRows

__all__ = ["EVERY", "VOUCHED", "LogSnapshot", "load", "made", "save", "vouched"]

# A new one is made after so many more events.
EVERY = 20_000
# Joined rows stay below this, so that what is added later does not rewrite all.
MOST_ROWS = 100_000
FORMAT = "convexdesign snapshot 2"
# Where the body of an event holds the fingerprint of the snapshot of all events before it.
VOUCHED = "snapshot"


@dataclass(frozen=True)
class LogSnapshot:
    """Kinds and bodies that have the effect of all events up to `seq`, whose checksum is given; digest: its fingerprint."""

    seq: int
    checksum: bytes
    parts: list[tuple[EventKind, str]]
    digest: str
    data: bytes

    def events(self) -> list[Event]:
        """The parts as events; they have no numbers, times and checksums of their own."""
        return [Event(self.seq, kind, "", text, self.checksum) for kind, text in self.parts]

    def stands_for(self, events: list[Event]) -> bool:
        """Whether it has the effect of these events, and of no others."""
        return list(_joined(self.parts)) == list(_joined(_parts(events)))


def vouched(event: Event) -> str | None:
    """The fingerprint of the snapshot of all earlier events, where this event holds one."""
    if f'"{VOUCHED}":' not in event.text:  # most have none, and need not be read twice for it
        return None
    found = event.body.get(VOUCHED)
    return found if isinstance(found, str) else None


def load(store: Path) -> LogSnapshot | None:
    """The snapshot beside a store; None where there is none that can be read. Only the log can say what it is worth."""
    try:
        data = _beside(store).read_bytes()
        found = json.loads(data)
        if found["format"] != FORMAT:
            return None
        parts = [(EventKind(kind), str(text)) for kind, text in found["parts"]]
        return LogSnapshot(int(found["seq"]), bytes.fromhex(found["checksum"]), parts, _digest(data), data)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def made(before: LogSnapshot | None, events: list[Event]) -> LogSnapshot:
    """The snapshot of the events that follow `before` (None: from the first on), those that it stands for included."""
    known = [] if before is None else before.parts
    parts = known[:-1] + list(_joined([*known[-1:], *_parts(events)], MOST_ROWS))
    last = events[-1]
    body = {"format": FORMAT, "seq": last.seq, "checksum": last.checksum.hex(), "parts": parts}
    data = plain_json(body).encode()
    return LogSnapshot(last.seq, last.checksum, parts, _digest(data), data)


def save(store: Path, snapshot: LogSnapshot) -> None:
    """Write a snapshot beside its store; a failure does no harm."""
    target = _beside(store)
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        draft.write_bytes(snapshot.data)
        os.replace(draft, target)
    draft.unlink(missing_ok=True)


def _parts(events: list[Event]) -> list[tuple[EventKind, str]]:
    return [(event.kind, event.text) for event in events]


def _joined(parts: Iterable[tuple[EventKind, str]], most: float = np.inf) -> Iterator[tuple[EventKind, str]]:
    """The parts, told rows of one batch that follow one another as one, until that has more rows than `most`."""
    run: list[RewardRows] = []
    ends: list[tuple[EventKind | None, str]] = [(None, "")]
    for kind, text in [*parts, *ends]:
        rows = RewardRows.from_record(json.loads(text)) if kind is EventKind.TOLD else None
        if run and (rows is None or rows.batch != run[0].batch or run[0].arms.size > most):
            yield EventKind.TOLD, plain_json(run[0].joined(run[1:]).record())
            run = []
        if rows is not None:
            run.append(rows)
        elif kind is not None:
            yield kind, text


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _beside(store: Path) -> Path:
    return store.with_name(store.name + "-snapshot")
