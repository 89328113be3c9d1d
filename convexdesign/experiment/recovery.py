"""The longest sound prefix of a damaged log, in a new file; the damaged one is only read."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from convexdesign.arguments import to_path
from convexdesign.errors import DamagedStoreError, InputError
from convexdesign.experiment.events import GENESIS, Event, link
from convexdesign.experiment.journal import journal_of
from convexdesign.experiment.salvage import SalvagedEvent, pages_of, salvage
from convexdesign.experiment.store import OPEN, Store, kind_of, log_of

__all__ = ["Recovery", "recover"]

# Where an event's number cannot be read, all that was found is tried for it; so many times.
MOST_SEARCHES = 20


@dataclass(frozen=True)
class Recovery:
    """What was saved; an event that follows a lost one is lost too: what it rests on is not known.

    Parameters
    ----------
    path : pathlib.Path
        The new store.
    events : int
        Its events.
    lost : int
        How many later ones were seen but could not be chained.
    """

    path: Path
    events: int
    lost: int


def recover(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> Recovery:
    """Write the longest sound prefix of a log to a new file.

    Sound means that every checksum holds, from the first event on. Results that were told after the prefix must be told
    again; their keys see to it that none counts twice.

    Parameters
    ----------
    path : str or os.PathLike
        The damaged store.
    target : str or os.PathLike
        The new file, which must not exist.

    Returns
    -------
    Recovery
        What was saved.

    Raises
    ------
    InputError
        Where the target exists.
    DamagedStoreError
        Where not even the first event is left.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import convexdesign as cd
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> algorithm = cd.identification.Rage([[1, 0], [0, 1]], variance_bounds=(1.0, 2.0))
    >>> cd.Experiment.create(folder / "study.db", algorithm).close()
    >>> cd.experiment.recover(folder / "study.db", folder / "saved.db").lost
    0
    """
    source, new = to_path(path).resolve(), to_path(target, "target")
    if not source.is_file():
        raise InputError(f"{source}: there is no such file; check the spelling and the folder")
    if new.exists():
        raise InputError(f"{new} exists already; recover writes a new file")
    if any(store.path == source for store in OPEN):
        # Closing a file that SQLite has open in the same process would give up its locks.
        raise InputError(f"{source} is open in this process; close it first")
    events, lost = _prefix(_candidates(source), source)
    if not events:
        raise DamagedStoreError(f"{source}: nothing can be recovered, not even how the experiment began")
    Store.create(new, events)
    return Recovery(new, len(events), lost)


def _candidates(source: Path) -> list[SalvagedEvent]:
    """Whatever may be an event, of the file first, then of what its journal or an older version's write-ahead log adds.

    Those may be another experiment's; their events follow from none in the file, and what begins there counts.
    """
    original = source.read_bytes()
    journal, log = (name(source).read_bytes() if name(source).is_file() else b"" for name in (journal_of, log_of))
    with tempfile.TemporaryDirectory() as folder:
        # SQLite changes what it opens; it gets a copy.
        copy = Path(folder) / "copy.db"
        copy.write_bytes(original)
        journal_of(copy).write_bytes(journal)
        log_of(copy).write_bytes(log)
        by_sqlite = _read(copy)
        merged = copy.read_bytes()
    pages = pages_of(original)
    return [*salvage(original), *by_sqlite, *salvage(merged), *salvage(journal, pages), *salvage(log, pages)]


def _read(path: Path) -> list[SalvagedEvent]:
    """What SQLite reads of the events, one by one where it must."""
    found: list[SalvagedEvent] = []
    unreadable = (sqlite3.Error, UnicodeDecodeError)
    with contextlib.suppress(*unreadable), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        cursor = connection.execute("SELECT seq, kind, time, body, checksum FROM events ORDER BY seq")
        for seq, *parts in cursor:
            if isinstance(seq, int) and all(isinstance(part, bytes) for part in parts):
                found.append(SalvagedEvent(seq, *parts))
    return found


def _prefix(candidates: list[SalvagedEvent], source: Path) -> tuple[list[Event], int]:
    """The longest chain that the candidates form from the beginning, and how many later numbers were seen."""
    by_number: dict[int, list[SalvagedEvent]] = defaultdict(list)
    for found in candidates:
        if found.seq is not None:
            by_number[found.seq].append(found)
    events: list[Event] = []
    checksum, searches = GENESIS, 0
    while True:
        seq = len(events)
        event = _next(by_number.get(seq, []), seq, checksum, source)
        if event is None and searches < MOST_SEARCHES:
            searches += 1
            event = _next(candidates, seq, checksum, source)
        if event is None:
            return events, sum(number >= seq for number in by_number if number < seq + len(candidates))
        events.append(event)
        checksum = event.checksum


def _next(candidates: list[SalvagedEvent], seq: int, before: bytes, source: Path) -> Event | None:
    """The candidate whose checksum says that it is event `seq` after the checksum `before`."""
    for found in candidates:
        if link(before, seq, found.kind, found.time, found.text) == found.checksum:
            kind = kind_of(source, seq, found.kind)
            return Event(seq, kind, found.time.decode(), found.text.decode(), found.checksum)
    return None
