"""The rollback journal that a killed process leaves beside a database: whether it is to be played back, and on what."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from convexdesign.errors import StoreError

__all__ = ["copied", "is_hot", "journal_of", "whoever"]


def journal_of(path: Path) -> Path:
    """The rollback journal beside the database at `path`."""
    return path.with_name(path.name + "-journal")


def is_hot(path: Path) -> bool:
    """Whether SQLite would play back the journal at the next look: it is of a commit that nobody is making any more."""
    try:
        if not journal_of(path).stat().st_size:
            return False
    except FileNotFoundError:
        return False
    # Whoever may only read is told, and does not do it.
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as reader:
        try:
            reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            return error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK
        except (sqlite3.Error, UnicodeDecodeError):
            return False
    return False


@contextlib.contextmanager
def copied(path: Path) -> Iterator[tuple[Path, Callable[[], bool]]]:
    """A copy of a database and its journal, for as long as it is needed, and whether both are still what was copied."""

    def contents() -> list[bytes]:
        return [_bytes_of(path), _bytes_of(journal_of(path))]

    found = contents()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        copy.write_bytes(found[0])
        journal_of(copy).write_bytes(found[1])
        yield copy, lambda: contents() == found


def _bytes_of(path: Path) -> bytes:
    """What is in a file; nothing where there is none any more. StoreError where it may not be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except PermissionError:
        raise StoreError(
            f"{path} cannot be read, and a process that wrote was killed: what it had begun must be undone first. "
            f"{whoever(path)} must write something (`convexdesign experiment note --text` will do), or let you read this file"
        ) from None


def whoever(path: Path) -> str:
    """Who may do what others may not, in words that begin a sentence."""
    try:
        return f"Its owner ({path.owner()})"
    except (OSError, KeyError, NotImplementedError):
        return "Its owner"
