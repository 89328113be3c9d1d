"""The log for those who only look: nothing is written beside it or into it, and no permission to write is needed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from convexdesign.errors import StoreError
from convexdesign.experiment.journal import copied, is_hot
from convexdesign.experiment.store import (
    OPEN,
    Store,
    check_format,
    connect,
    errors_of,
    existing,
    refuse_spoilt_journal,
    refuse_write_ahead_log,
)

__all__ = ["ReadOnlyStore"]

# Where SQLite's header says that a file was written with a write-ahead log, as older versions did.
WRITE_VERSION, WRITE_AHEAD = 18, 2


class ReadOnlyStore(Store):
    """A log that is read only.

    Where a killed process left a journal to be played back, or an older version its own kind of file, SQLite would have to
    write; then a copy is read, in a folder of our own, until the next look finds the file as it should be.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._copy: contextlib.ExitStack | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ReadOnlyStore:
        """Open a log that exists, to read it."""
        target = existing(path)
        refuse_write_ahead_log(target)
        refuse_spoilt_journal(target)
        with errors_of(target):
            store = cls(target, connect(target, "ro"))
            try:
                with store._sound_connection():
                    check_format(target, store._connection)
                store.check_structure()
            except BaseException:
                store.close()
                raise
        return store

    def close(self) -> None:
        """Close the file, and forget a copy."""
        super().close()
        if self._copy is not None:
            self._copy.close()

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[None]:
        """One view of the log. StoreError where it is to be written."""
        if write:
            raise StoreError(f"{self.path} was not changed: it is open to be read only; open it without read_only=True")
        with errors_of(self.path), self._sound_connection(), super().transaction(write=False):
            yield

    @contextlib.contextmanager
    def _sound_connection(self) -> Iterator[None]:
        """With a connection that can read without writing: to the file itself, else to a copy of it."""
        if not self._closed and (self._copy is not None or self._needs_copy()):
            copy = self._copied()
            connection = connect(self.path, "ro") if copy is None else connect(copy[1], "rw")
            self._connection.close()
            if self._copy is not None:
                self._copy.close()
            self._connection, self._copy = connection, None if copy is None else copy[0]
        yield

    def _copied(self) -> tuple[contextlib.ExitStack, Path] | None:
        """A copy, for as long as the stack is open; None where none is needed (any more)."""
        while self._needs_copy():
            with contextlib.ExitStack() as stack:
                path, unchanged = stack.enter_context(copied(self.path))
                # Who began to write while it was copied may have torn it.
                if unchanged():
                    return stack.pop_all(), path
        return None

    def _needs_copy(self) -> bool:
        if any(store.path == self.path for store in OPEN):
            return False  # this process can write, and does what is to be done
        return is_hot(self.path) or _written_ahead(self.path)


def _written_ahead(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:  # SQLite says what is wrong with it
        return file.read(WRITE_VERSION + 1)[WRITE_VERSION:] == bytes([WRITE_AHEAD])
    return False
