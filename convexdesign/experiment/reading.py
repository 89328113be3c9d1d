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
        needs_copy = not self._closed and self._needs_copy()
        if needs_copy or self._copy is not None:
            self._connection.close()
            if self._copy is not None:
                self._copy.close()
            self._copy = contextlib.ExitStack() if needs_copy else None
            path = self.path if self._copy is None else self._copy.enter_context(copied(self.path))[0]
            self._connection = connect(path, "ro" if self._copy is None else "rw")
        yield

    def _needs_copy(self) -> bool:
        if any(store.path == self.path for store in OPEN):
            return False  # this process can write, and does what is to be done
        return is_hot(self.path) or _written_ahead(self.path)


def _written_ahead(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:  # SQLite says what is wrong with it
        return file.read(WRITE_VERSION + 1)[WRITE_VERSION:] == bytes([WRITE_AHEAD])
    return False
