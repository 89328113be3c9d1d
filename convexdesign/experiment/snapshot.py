"""A shorter log with the same effect, kept beside the store so that a long one opens quickly; a cache, never the record.

Runs of told rows are joined into one event each; all else stays. It is used only where its own checksum holds and the
store has, under the number of its last event, the checksum that it names: the chain then vouches for all before it.
Deleting it costs time, nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from convexdesign.experiment.events import Event, Kind, plain_json
from convexdesign.experiment.results import RewardRows

__all__ = ["EVERY", "Snapshot", "load", "save"]

# A new one is made after so many more events.
EVERY = 20_000
# Joined rows stay below this, so that what is added later does not rewrite all.
MOST_ROWS = 100_000
FORMAT = "convexdesign snapshot 1"


@dataclass(frozen=True)
class Snapshot:
    """Kinds and bodies that have the effect of all events up to `seq`, whose checksum is given."""

    seq: int
    checksum: bytes
    parts: list[tuple[Kind, str]]

    def events(self) -> list[Event]:
        """The parts as events; they have no numbers, times and checksums of their own."""
        return [Event(self.seq, kind, "", text, self.checksum) for kind, text in self.parts]


def load(store: Path) -> Snapshot | None:
    """The snapshot beside a store; None where there is none, or it is not what was written."""
    try:
        digest, _, data = _beside(store).read_bytes().partition(b"\n")
        if blake2b(data, digest_size=16).hexdigest().encode() != digest:
            return None
        found = json.loads(data)
        if found["format"] != FORMAT:
            return None
        parts = [(Kind(kind), text) for kind, text in found["parts"]]
        return Snapshot(found["seq"], bytes.fromhex(found["checksum"]), parts)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(store: Path, before: Snapshot | None, events: list[Event]) -> Snapshot:
    """Write the snapshot of the events that follow `before` (None: from the first on); a failure does no harm."""
    parts = [] if before is None else list(before.parts)
    run: list[RewardRows] = []
    if parts and parts[-1][0] is Kind.TOLD:
        run.append(RewardRows.from_record(json.loads(parts.pop()[1])))
    for event in events:
        rows = RewardRows.from_record(event.body) if event.kind is Kind.TOLD else None
        if run and (rows is None or rows.batch != run[0].batch or run[0].arms.size > MOST_ROWS):
            parts.append(_joined(run))
            run = []
        if rows is None:
            parts.append((event.kind, event.text))
        else:
            run.append(rows)
    if run:
        parts.append(_joined(run))
    made = Snapshot(events[-1].seq, events[-1].checksum, parts)
    body = {"format": FORMAT, "seq": made.seq, "checksum": made.checksum.hex(), "parts": parts}
    data = plain_json(body).encode()
    target = _beside(store)
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        draft.write_bytes(blake2b(data, digest_size=16).hexdigest().encode() + b"\n" + data)
        os.replace(draft, target)
    draft.unlink(missing_ok=True)
    return made


def _joined(run: list[RewardRows]) -> tuple[Kind, str]:
    return Kind.TOLD, plain_json(run[0].joined(run[1:]).record())


def _beside(store: Path) -> Path:
    return store.with_name(store.name + "-snapshot")
