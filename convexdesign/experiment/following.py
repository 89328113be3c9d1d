"""What an experiment knows, kept in step with a log that any process may write to: transactions, and snapshots."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from convexdesign.experiment import snapshot
from convexdesign.experiment.events import GENESIS, Event, PendingEvent
from convexdesign.experiment.ledger import Ledger
from convexdesign.experiment.replay import Replay
from convexdesign.experiment.store import Store

__all__ = ["DryRun", "LogFollower"]


class DryRun(Exception):
    """Undoes a transaction that was only tried."""


class LogFollower:
    """The ledger and the replay of a store, as far as its log has been read.

    One thread at a time reads or writes. What is pending within `together` goes to the transaction that is open.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._joint: Callable[[PendingEvent], None] | None = None
        self._start_over()

    def _start_over(self) -> None:
        """Forget the state, which the log has too."""
        self._store.rewind()
        self._snapshot_at, self._snapshot_digest = -1, ""
        self._ledger = Ledger()
        self._replay = Replay()

    def _catch_up(self) -> None:
        """Take in what any process has written; to be called in a transaction."""
        if self._ledger.events != self._store.seq + 1:
            self._start_over()
        if self._store.seq < 0:
            self._begin_with_snapshot()
        for event in self._store.read():
            self._take_in(event)

    def _take_in(self, event: Event) -> None:
        self._ledger.apply(event)
        digest = snapshot.vouched(event)
        if digest is not None:
            self._snapshot_at, self._snapshot_digest = event.seq - 1, digest

    def _begin_with_snapshot(self) -> None:
        """Begin with the snapshot beside the store, where the event after those that it stands for vouches for it."""
        found = snapshot.load(self._store.path)
        if found is None or not self._store.has(found.seq, found.checksum):
            return
        later = self._store.read_after(found.seq, found.checksum)
        if not later or snapshot.vouched(later[0]) != found.digest:
            return
        for event in found.events():
            self._ledger.apply(event)
        self._ledger.events = found.seq + 1
        for event in later:
            self._take_in(event)
        self._store.seq, self._store.checksum = later[-1].seq, later[-1].checksum

    def _new_snapshot(self) -> snapshot.LogSnapshot | None:
        """The snapshot of all events there are, where the last one is far behind; to be called in a writing transaction."""
        if self._store.seq - self._snapshot_at < snapshot.EVERY:
            return None
        before = snapshot.load(self._store.path)
        if before is not None and (before.seq, before.digest) != (self._snapshot_at, self._snapshot_digest):
            before = None
        seq, checksum = (-1, GENESIS) if before is None else (before.seq, before.checksum)
        return snapshot.made(before, self._store.read_after(seq, checksum))

    def _look(self) -> None:
        with self._lock:
            if self._joint is None:
                with self._store.transaction(write=False):
                    self._catch_up()

    @contextmanager
    def _writing(self) -> Iterator[Callable[[PendingEvent], None]]:
        """A transaction in which pending events are appended and take effect; all or none of them stay."""
        if self._joint is not None:
            yield self._joint
            return
        written = False
        made: snapshot.LogSnapshot | None = None

        def write(draft: PendingEvent) -> None:
            nonlocal written, made
            made = made or self._new_snapshot()
            if made is not None and made.seq == self._store.seq:
                draft = PendingEvent(draft.kind, draft.body | {snapshot.VOUCHED: made.digest})
            written = True
            for event in self._store.append([draft]):
                self._take_in(event)

        with self._lock:
            try:
                with self._store.transaction(write=True):
                    self._catch_up()
                    yield write
            except BaseException as error:
                if written:
                    self._start_over()
                if not isinstance(error, DryRun):
                    raise
            else:
                if made is not None:
                    snapshot.save(self._store.path, made)
