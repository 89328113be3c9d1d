"""Damage that SQLite does not report: commits in the write-ahead log that it passes over in silence.

When a database is opened after a crash, SQLite takes its log up to the first frame whose checksum is wrong and ignores the
rest: right for a write that was torn and hence never acknowledged, wrong for a frame that was damaged later. The two
differ in what follows: a commit beyond the end that SQLite sees was acknowledged, after the frames before it were on the
disk. One more kind of commit lies there: that of a process which was killed between writing and acknowledging it, where
others went on and wrote over its first frames. See "Write-ahead Log Format" of the SQLite documentation.
"""

from __future__ import annotations

import sqlite3
import struct
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convexdesign.experiment.bounded import bounded
from convexdesign.experiment.carve import PAGE, Found, Pages, carve, numbers, pages_of
from convexdesign.experiment.events import GENESIS, link

__all__ = ["log_of", "lost_commits", "pages_with"]

HEADER, FRAME_HEADER = 32, 24
MAGIC_LITTLE, MAGIC_BIG = 0x377F0682, 0x377F0683
Words = NDArray[np.uint32]


def log_of(path: Path) -> Path:
    """The write-ahead log beside the database at `path`."""
    return path.with_name(path.name + "-wal")


def pages_with(log: bytes, others: Pages, start: int = HEADER) -> Pages:
    """The pages that a log's bytes hold from `start` on, each as it was written last, and others where it holds none."""
    last = {int.from_bytes(log[at : at + 4], "big"): at for at in range(start, len(log), FRAME_HEADER + PAGE)}

    def page(number: int) -> bytes:
        at = last.get(number)
        return others(number) if at is None else log[at + FRAME_HEADER : at + FRAME_HEADER + PAGE]

    return page


def lost_commits(path: Path) -> str | None:
    """What is wrong with the write-ahead log of the database at `path`, not yet opened here; None if nothing.

    While others have the database open, what they have not acknowledged may lie in the log, and it is they who know its
    end; nothing is wrong then.
    """
    if not log_of(path).exists() or _problem(path) is None or _in_use(path):
        return None
    return _problem(path)  # nobody has it open any more, so that it is still


def _problem(path: Path) -> str | None:
    try:
        data = log_of(path).read_bytes()
    except FileNotFoundError:  # the last process that had it open has closed it
        return None
    if len(data) < HEADER + FRAME_HEADER:
        return None
    if not _header_is_sound(data):
        return "the header of its write-ahead log is not what was written"
    log = _Log(data)
    valid = log.valid()
    beyond = log.salts[valid:] == log.own_salts
    if (beyond[:, 0] != beyond[:, 1]).any():  # frames of an earlier generation share neither
        return f"its write-ahead log was damaged after frame {valid}"
    runs = [run for run in log.runs(valid) if log.commits[run].any()]
    if not runs or all(_was_abandoned(path, log, valid, run) for run in runs):
        return None
    return f"its write-ahead log holds a commit after frame {valid}, where it ends for SQLite"


class _Log:
    """The frames of a log whose header is sound, as arrays with one row a frame."""

    def __init__(self, data: bytes) -> None:
        header = struct.unpack(">8I", data[:HEADER])
        words = "<u4" if header[0] == MAGIC_LITTLE else ">u4"
        self.size = FRAME_HEADER + header[2]
        count = (len(data) - HEADER) // self.size
        self.frames = np.frombuffer(data, np.uint8, count * self.size, HEADER).reshape(count, self.size)
        heads = np.ascontiguousarray(self.frames[:, :FRAME_HEADER]).view(">u4").astype(np.uint32)
        self.commits, self.salts, self.own_salts = heads[:, 1] != 0, heads[:, 2:4], np.array(header[4:6], np.uint32)
        body = np.hstack([self.frames[:, :8], self.frames[:, FRAME_HEADER:]]).view(words).astype(np.uint32)
        before = np.vstack([np.array(header[6:8], np.uint32), heads[:-1, 4:6]])
        # Whether a frame's checksum is right, given the one before it.
        self.linked = (_checksum(before, body) == heads[:, 4:6]).all(axis=1)

    def valid(self) -> int:
        """How many frames SQLite takes: those before the first that is wrong, up to their last commit."""
        good = self.linked & (self.salts == self.own_salts).all(axis=1)
        end = int(np.argmin(good)) if not good.all() else good.size
        return int(np.flatnonzero(self.commits[:end])[-1]) + 1 if self.commits[:end].any() else 0

    def runs(self, start: int) -> Iterator[slice]:
        """The frames of this generation from `start` on, in runs of checksums that follow from one another."""
        end = self.linked.size
        others = np.flatnonzero((self.salts[start:] != self.own_salts).any(axis=1))
        end = start + int(others[0]) if others.size else end
        edges = [start, *(k for k in range(start + 1, end) if not self.linked[k]), end]
        return (slice(a, b) for a, b in pairwise(edges) if b > a)

    def bytes(self, frames: slice) -> bytes:
        """Some frames as they are in the file."""
        return self.frames[frames].tobytes()


def _was_abandoned(path: Path, log: _Log, valid: int, run: slice) -> bool:
    """Whether frames are left of a commit in whose place another one was made: its writer was killed, others went on.

    They then tell of no number that is not taken, or hold an event that follows from the one before its place as well as
    what is there. What is lost has numbers that nobody has taken.
    """
    data, sound, left = path.read_bytes(), log.bytes(slice(0, valid)), log.bytes(run)
    last = max(numbers(sound or data), default=-1)
    if all(number <= last for number in numbers(left)):
        return True
    taken = _chain([*carve(data), *carve(sound, pages_with(sound, pages_of(data), 0))])
    for found in carve(left, pages_with(left, pages_of(data), 0)):
        seq = -1 if found.seq is None else found.seq
        is_taken = 0 <= seq < len(taken) - 1 and found.checksum != taken[seq + 1]
        if is_taken and link(taken[seq], seq, *found[1:4]) == found.checksum:
            return True
    return False


def _chain(seen: list[Found]) -> list[bytes]:
    """The checksums before the first event, after it, after the second, and so on, of those seen."""
    by_number: dict[int | None, list[Found]] = {}
    for found in seen:
        by_number.setdefault(found.seq, []).append(found)
    chain = [GENESIS]
    while True:
        seq = len(chain) - 1
        follow = [f for f in by_number.get(seq, []) if link(chain[-1], seq, *f[1:4]) == f.checksum]
        if not follow:
            return chain
        chain.append(follow[0].checksum)


def _in_use(path: Path) -> bool:
    """Whether somebody has the database open. Where that cannot be known, False.

    Only a connection that wants the database for itself is told, and when it closes, it folds the log into the database;
    so a process asks that ends without closing.
    """
    if sys.platform != "linux":
        return False
    kept = []

    def alone() -> bool:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", timeout=0.0, uri=True)
        kept.append(connection)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            return error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
        except (sqlite3.Error, UnicodeDecodeError):
            return True
        return True

    return not bounded(alone, 30.0)


def _header_is_sound(data: bytes) -> bool:
    """Whether the checksum in the log's header is that of its first 24 bytes."""
    magic = struct.unpack(">I", data[:4])[0]
    if magic not in (MAGIC_LITTLE, MAGIC_BIG):
        return False
    words = np.frombuffer(data[:24], "<u4" if magic == MAGIC_LITTLE else ">u4").astype(np.uint32)
    found = _checksum(np.zeros((1, 2), np.uint32), words[None])
    return struct.pack(">2I", *found[0].tolist()) == data[24:32]


def _checksum(before: Words, words: Words) -> Words:
    """SQLite's checksums (k, 2) of k rows of words, each going on from (k, 2) other ones.

    For every two words x, y it makes a += x + b, then b += y + a: linear, modulo 2^32, in all of them.
    """
    start, weights = _coefficients(words.shape[1] // 2)
    return np.asarray(before @ start.T + words @ weights.T, dtype=np.uint32)


@cache
def _coefficients(pairs: int) -> tuple[Words, Words]:
    """What (a, b) and the words, two for each pair, are multiplied by: (2, 2) and (2, 2·pairs)."""
    step, take = np.array([[1, 1], [1, 2]], np.uint32), np.array([[1, 0], [1, 1]], np.uint32)
    power, blocks = np.eye(2, dtype=np.uint32), []
    for _ in range(pairs):
        blocks.append(power @ take)
        power = power @ step
    return power, np.hstack(blocks[::-1])
