"""The log in one SQLite file: events are appended in transactions that survive power failures, and never changed.

Commits go through a rollback journal: once one returns, it is on the disk, in the one file, head of the chain included.
What lies beside the file is then nothing that was acknowledged, so that no damage to it, nor its loss, can take back what
was. (A write-ahead log, which older versions used, holds what was acknowledged, and one zeroed field of it makes SQLite
end the log there, as after a torn write: the two cannot be told apart, so that such a log is refused, and left to `recover`.)
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from weakref import WeakSet

from convexdesign.arguments import to_path
from convexdesign.errors import DamagedStoreError, InputError, StoreError
from convexdesign.experiment.events import GENESIS, Event, EventKind, PendingEvent, chained, link
from convexdesign.experiment.journal import copied, is_hot, journal_of, whoever

__all__ = ["APPLICATION_ID", "FORMAT", "Store"]

# "cvxd", so that `file` and we know the file from any other database.
APPLICATION_ID = 0x63767864
# Raised when older programs could misread what newer ones write; every older format stays readable.
FORMAT = 1
PAGE_SIZE = 4096
COLUMNS = "seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, body TEXT NOT NULL, checksum BLOB NOT NULL"
SCHEMA = (
    f"CREATE TABLE events ({COLUMNS})",
    # The last event once more: that the end of the log is missing shows nowhere else.
    "CREATE TABLE head (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, checksum BLOB NOT NULL)",
)
# How long, in seconds, a process waits for others that write; how long it sleeps between two looks; and after which
# waiting it looks twice as often.
PATIENCE = 60.0
LONGEST_NAP, FAIR_WAIT = 0.004, 0.02
KINDS = {kind.value.encode(): kind for kind in EventKind}
FIRST = "SELECT checksum FROM events WHERE seq = 0"
READ = "SELECT seq, kind, time, body, checksum FROM events WHERE seq > ? ORDER BY seq"

FileId = tuple[int, int]
# Those of this process.
OPEN: WeakSet[Store] = WeakSet()

DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR}
REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and do it again",
    sqlite3.SQLITE_BUSY: f"other processes kept it locked for {PATIENCE:g} s; do it again",
    sqlite3.SQLITE_READONLY_ROLLBACK: "a process that wrote was killed just now; do it again",
    sqlite3.SQLITE_READONLY: "it is read-only; check the permissions of file and folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the path and the permissions of file and folder",
}
# What only somebody with more permissions can do.
NOT_ALLOWED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


class Store:
    """An append-only log; `seq` and `checksum` are those of the last event that was read or appended here.

    Every commit is synced: an append that returned is on the disk, in this file. Writers of any number of processes queue,
    and wait for those who read. Raises StoreError where reading or writing fails, leaving the log as it was, and
    DamagedStoreError where the file is not what was written to it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.seq, self.checksum = -1, GENESIS
        self._connection = connection
        self._owner = os.getpid()
        self._files: list[FileId | None] = []
        self._closed = False

    # ---------------------------------------------------------------- files

    @classmethod
    def create(cls, path: str | os.PathLike[str], events: list[Event]) -> None:
        """Write a new log with these events, chained from the first on; the file appears when it is complete.

        Raises InputError where there is a file of this name, or no folder for it.
        """
        target = to_path(path)
        if os.path.lexists(target):
            raise InputError(f"{target} exists already; open it, or choose another name")
        if not target.parent.is_dir():
            raise InputError(f"{target}: the folder {target.parent} does not exist; create it first")
        target = target.parent.resolve() / target.name
        draft = target.with_name(f".convexdesign-{token_hex(8)}")
        try:
            with errors_of(target), contextlib.closing(connect(draft, "rwc")) as connection:
                connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute("PRAGMA journal_mode = DELETE")
                store = cls(draft, connection)
                with store.transaction(write=True):
                    for table in SCHEMA:
                        connection.execute(table)
                    connection.execute("INSERT INTO head VALUES (0, -1, ?)", (GENESIS,))
                    store._insert(events)
            try:
                publish(draft, target)
            except FileExistsError:
                raise InputError(f"{target} exists already; open it, or choose another name") from None
            sync_folder(target)
        finally:
            for ending in ("", "-wal", "-shm", "-journal"):
                draft.with_name(draft.name + ending).unlink(missing_ok=True)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Store:
        """Open a log that exists; its structure is checked here, its content when it is read."""
        target = existing(path)
        refuse_write_ahead_log(target)
        refuse_spoilt_journal(target)
        with errors_of(target):
            connection = connect(target)
            try:
                check_format(target, connection)
                store = cls(target, connection)
                store.check_structure()
                store._leave_write_ahead_logging()
            except BaseException:
                connection.close()
                raise
        store._files = files_of(target)
        OPEN.add(store)
        return store

    def close(self) -> None:
        """Close the file."""
        OPEN.discard(self)
        self._closed = True
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # ---------------------------------------------------------------- reading and writing

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[None]:
        """One view of the log; with write=True nobody else writes meanwhile, and leaving normally commits."""
        if os.getpid() != self._owner:
            raise StoreError(f"{self.path} was opened by another process; open it again in this one")
        if self._closed:
            raise StoreError(f"{self.path} was closed here; open it again")
        if write and self._files and self._files != files_of(self.path):
            raise StoreError(
                f"{self.path} was deleted or replaced while it was open; what is told now would be lost with it, and is not "
                "recorded. Open it again"
            )
        with errors_of(self.path):
            if write:
                begin_writing(self._connection)
            else:
                self._connection.execute("BEGIN")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def rewind(self) -> None:
        """Read from the beginning next: what was appended last may not have been committed."""
        self.seq, self.checksum = -1, GENESIS

    def has(self, seq: int, checksum: bytes) -> bool:
        """Whether event `seq` has this checksum; to be called in a transaction."""
        found = self._connection.execute("SELECT checksum FROM events WHERE seq = ?", (seq,)).fetchone()
        return bool(found == (checksum,))

    def read(self) -> list[Event]:
        """The events since the last one read, each verified; to be called in a transaction.

        Raises DamagedStoreError where an event is not what was written, or the log does not end where it should.
        """
        events = self.read_after(self.seq, self.checksum)
        if events:
            self.seq, self.checksum = events[-1].seq, events[-1].checksum
        return events

    def read_after(self, seq: int, checksum: bytes) -> list[Event]:
        """The events after number `seq`, whose checksum is given, each verified; `read` goes on where it was."""
        events: list[Event] = []
        for number, kind, when, text, found in self._connection.execute(READ, (seq,)):
            seq += 1
            try:
                sound = number == seq and link(checksum, seq, kind, when, text) == found
            except TypeError:  # not bytes at all
                sound = False
            if not sound:
                raise damaged(self.path, f"event {seq} is missing or not what was written")
            checksum = found
            events.append(Event(seq, kind_of(self.path, seq, kind), when.decode(), text.decode(), found))
        heads = self._connection.execute("SELECT id, seq, checksum FROM head").fetchall()
        if heads != [(0, seq, checksum)]:
            raise damaged(self.path, f"the log ends with event {seq}, but that is not the last one written")
        return events

    def append(self, pending: list[PendingEvent]) -> list[Event]:
        """Add events after the last one read; to be called in a writing transaction, after `read`."""
        events = chained(pending, self.seq, self.checksum)
        self._insert(events)
        return events

    def _insert(self, events: list[Event]) -> None:
        if events:
            rows = [(e.seq, e.kind.value, e.time, e.text, e.checksum) for e in events]
            self._connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
            self.seq, self.checksum = events[-1].seq, events[-1].checksum
            self._connection.execute("UPDATE head SET seq = ?, checksum = ?", (self.seq, self.checksum))

    def check_structure(self, thorough: bool = False) -> None:
        """DamagedStoreError where the pages are not a sound database with our two tables."""
        with self.transaction(write=False):
            tables = self._connection.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
            if [sql for (sql,) in tables] != [table.encode() for table in SCHEMA]:
                raise damaged(self.path, "its tables are not those of an experiment")
            check = "integrity_check" if thorough else "quick_check"
            (verdict,) = self._connection.execute(f"PRAGMA {check}(1)").fetchone()
            if bytes(verdict) != b"ok":
                raise damaged(self.path, bytes(verdict).decode(errors="replace"))

    def _leave_write_ahead_logging(self) -> None:
        """Have a file of an older version go on with a rollback journal; StoreError while somebody else has it open."""
        if self._connection.execute("PRAGMA journal_mode").fetchone() != (b"wal",):
            return
        with self.transaction(write=False):
            self.read()  # a damaged one stays as it is
        self.rewind()
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * PATIENCE)}")


# So much of a file is looked at to know text.
TEXT_BYTES = 2**20


def existing(path: str | os.PathLike[str]) -> Path:
    """The path of a store itself, whatever links lead to it; InputError where there is none."""
    target = to_path(path)
    try:
        found, folder = target.is_file(), target.is_dir()
    except PermissionError:
        raise StoreError(f"{target} cannot be opened: check the permissions of its folders") from None
    if folder:
        raise InputError(f"{target} is a folder; name the file of the experiment in it")
    if not found:
        raise InputError(f"{target}: there is no such file; check the spelling, or create the experiment first")
    target = target.resolve()  # what SQLite keeps beside a file is beside the file itself, not beside links to it
    if not target.stat().st_size:
        raise damaged(target, "it is empty")
    if _is_text(target):
        raise InputError(f"{target} is a file of text, and not the store of an experiment; name the store")
    return target


def _is_text(path: Path) -> bool:
    """Whether a file begins as text does: pages of a database, damaged or not, hold zeros, and text holds none."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        head = file.read(TEXT_BYTES)
        if b"\0" in head or head.startswith(b"SQLite format 3"):
            return False
        with contextlib.suppress(UnicodeDecodeError):
            head[: head.rfind(b"\n") + 1 or None].decode()
            return True
    return False


def kind_of(path: Path, seq: int, name: bytes) -> EventKind:
    """The kind of an event by its name; InputError where only later versions know it."""
    if name not in KINDS:
        raise InputError(f"{path}: event {seq} is of kind {name.decode()!r}, unknown to this version; upgrade")
    return KINDS[name]


def log_of(path: Path) -> Path:
    """The write-ahead log that older versions kept beside the database at `path`."""
    return path.with_name(path.name + "-wal")


def refuse_write_ahead_log(path: Path) -> None:
    """StoreError where an older version's write-ahead log holds anything: how much of it is sound, SQLite does not say."""
    log = log_of(path)
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} was not changed: a process of an older version that was killed, or still runs, left {log.name} beside "
            "it; close it with that version, or save all that is proven into a new file by `convexdesign experiment recover`"
        )


def refuse_spoilt_journal(path: Path) -> None:
    """DamagedStoreError where undoing what a killed process had begun would not leave a sound log; nothing is changed.

    SQLite would undo it at the next look, trusting a journal that may be damaged, or that of another file. So that is
    done to a copy first, and every checksum of the chain is the judge.
    """
    while is_hot(path) and all(store.path != path for store in OPEN):
        with copied(path) as (copy, unchanged):
            own = first_checksum(copy)
            try:
                with errors_of(path), contextlib.closing(connect(copy)) as connection:
                    check_format(path, connection)
                    trial = Store(copy, connection)
                    trial.check_structure()
                    with trial.transaction(write=False):
                        first = connection.execute(FIRST).fetchone()
                        trial.read()
                if own in (None, first):
                    return
                why = "is that of another experiment"
            except DamagedStoreError:
                why = "is not what was written"
            if is_hot(path) and unchanged():
                raise damaged(path, f"the journal {journal_of(path).name} that a killed process left beside it {why}")


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """A connection in autocommit mode that waits for others and syncs every commit; text comes as bytes.

    mode: rw to read and write, rwc to create, ro to read.
    """
    uri = f"{path.as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=True)
    connection.text_factory = bytes
    if not mode.startswith("ro"):
        connection.execute(
            "PRAGMA synchronous = EXTRA"
        )  # the journal's end too, or a power failure could bring it back
        connection.execute("PRAGMA fullfsync = ON")  # macOS: through the disk's own cache too; elsewhere without effect
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def first_checksum(path: Path) -> tuple[bytes] | None:
    """The checksum of the first event in the file as it is, without its journal; None where it cannot be read.

    It is there since the file was created, and no journal of this file holds another one.
    """
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
        with contextlib.closing(connect(path, "ro&immutable=1")) as alone:
            found: tuple[bytes] | None = alone.execute(FIRST).fetchone()
        return found
    return None


def begin_writing(connection: sqlite3.Connection) -> None:
    """BEGIN IMMEDIATE, waiting for other writers: those who have waited longest look most often, so that none starves.

    SQLite's own way of waiting looks less and less often, and then some of many writers wait for very long.
    """
    started = time.monotonic()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - started
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waited > PATIENCE:
                    raise
            time.sleep(LONGEST_NAP / (1.0 + waited / FAIR_WAIT))
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * PATIENCE)}")


def check_format(path: Path, connection: sqlite3.Connection) -> None:
    """InputError where the file is no experiment's, or of a format from the future."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise InputError(f"{path} is a database, but not the store of an experiment")
    if version > FORMAT:
        raise InputError(
            f"{path} has format {version}, this version of convexdesign reads formats up to {FORMAT}; upgrade"
        )
    if version < 1:
        raise damaged(path, f"there is no format {version}")


@contextlib.contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """SQLite's errors as ours: what happened to which file, and what to do."""
    try:
        yield
    except UnicodeDecodeError as error:
        # SQLite quotes what it found in place of its tables, and Python cannot read the message.
        raise damaged(path, "its tables cannot be read") from error
    except sqlite3.Error as error:
        whole = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        code = whole & 0xFF
        if code == sqlite3.SQLITE_TOOBIG:
            raise InputError(f"{path} was not changed: that is too much for one event; tell it in parts") from error
        if code in DAMAGED or not isinstance(error, sqlite3.OperationalError):
            raise damaged(path, str(error)) from error
        reason = REASONS.get(whole) or REASONS.get(code, f"{error}; do it again")
        if code in NOT_ALLOWED:
            reason = _who_may(path) or reason
        raise StoreError(f"{path} was not changed: {reason}") from error


def _who_may(path: Path) -> str | None:
    """Who must do it where we may not; None where we may do everything."""
    if not os.access(path, os.R_OK):
        return f"you may not read it. {whoever(path)} must give you permission"
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return None
    killed = "a process that wrote was killed, and what it had begun must be undone; " if is_hot(path) else ""
    return (
        f"{killed}you may only read it. {whoever(path)}, or somebody else who may write it and its folder, must do this; to "
        "look, open it with read_only=True"
    )


def damaged(path: Path, why: str) -> DamagedStoreError:
    """The error for a file that is not what was written to it."""
    return DamagedStoreError(
        f"{path} is damaged: {why}; nothing was changed. `convexdesign experiment recover` saves the longest sound "
        "part of the log into a new file"
    )


def publish(draft: Path, target: Path) -> None:
    """Give a finished file its name; FileExistsError where that is taken."""
    try:
        os.link(draft, target)  # unlike a rename, it never replaces another file
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: take the name first
        target.open("xb").close()
        os.replace(draft, target)


def files_of(path: Path) -> list[FileId | None]:
    """Which files are there under the names of a store and of a write-ahead log, which has none now: device and number."""
    found: list[FileId | None] = []
    for file in (path, log_of(path)):
        try:
            status = file.stat()
            found.append((status.st_dev, status.st_ino))
        except FileNotFoundError:
            found.append(None)
    return found


def sync_folder(path: Path) -> None:
    """Make the entry of a file in its folder durable, where the system can."""
    if os.name != "posix":
        return
    folder = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
