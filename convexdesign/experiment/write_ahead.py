"""Damage that SQLite does not report: commits in the write-ahead log that it passes over in silence.

After a crash SQLite takes the log up to the first frame whose checksum is wrong and ignores the rest: right for a write
that was torn and hence never acknowledged, wrong for a frame that was damaged later. The two differ in what follows: a
commit beyond the end that SQLite sees was written, and acknowledged, after the frames before it were on the disk.
"""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

__all__ = ["lost_commits"]

HEADER, FRAME_HEADER = 32, 24


def lost_commits(connection: sqlite3.Connection, path: Path) -> str | None:
    """What is wrong with the write-ahead log beside the database at `path`, as SQLite sees it; None if nothing.

    To be called while another connection holds the write lock: nobody then writes frames that are not yet valid.
    """
    # The number of frames that SQLite takes to be valid; checkpointing them is harmless.
    _, valid, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    log = path.with_name(path.name + "-wal")
    return _problem(log.read_bytes(), max(valid, 0)) if log.exists() else None


def _problem(data: bytes, valid: int) -> str | None:
    if len(data) < HEADER + FRAME_HEADER:
        return None
    if not _header_is_sound(data):
        return "the header of its write-ahead log is not what was written"
    page, salts = struct.unpack(">I", data[8:12])[0], data[16:24]
    size = FRAME_HEADER + page
    for at in range(HEADER + valid * size, len(data) - FRAME_HEADER + 1, size):
        commit, found = struct.unpack(">I", data[at + 4 : at + 8])[0], data[at + 8 : at + 16]
        # Frames of an earlier generation share neither salt; one salt alone is one that was damaged.
        if (found == salts and commit) or (found[:4] == salts[:4]) != (found[4:] == salts[4:]):
            return f"its write-ahead log holds a commit after frame {valid}, where it ends for SQLite"
    return None


def _header_is_sound(data: bytes) -> bool:
    """Whether the checksum in the log's header is that of its first 24 bytes."""
    magic = struct.unpack(">I", data[:4])[0]
    if magic not in (0x377F0682, 0x377F0683):
        return False
    words = struct.unpack(("<" if magic == 0x377F0682 else ">") + "6I", data[:24])
    a = b = 0
    for first, second in zip(words[::2], words[1::2]):
        a = (a + first + b) & 0xFFFFFFFF
        b = (b + second + a) & 0xFFFFFFFF
    return struct.unpack(">II", data[24:32]) == (a, b)
