"""Events found in the bytes of a store, whatever SQLite makes of the file: by the shape of their records.

A record of the table of events begins with its header: the header's length, then the types of the five columns, of
which three are always the same (NULL for the number, which is the key; a time of 29 characters; a checksum of 16 bytes).
See "Database File Format", sections 1.6 and 2.1, of the SQLite documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["SalvagedEvent", "pages_of", "salvage"]

PAGE = 4096
# The most of a record that lies within a page, and the least where the rest lies elsewhere.
MOST_LOCAL, LEAST_LOCAL = PAGE - 35, (PAGE - 12) * 32 // 255 - 23
TIME, CHECKSUM = 29, 16
# Header length, NULL, text of any length below 58, text of 29, text of any length, blob of 16.
RECORD = re.compile(rb"[\x06-\x0e]\x00[\x0f-\x7f]\x47(?:[\x80-\xff]{0,8}[\x00-\x7f])\x2c", re.DOTALL)
# The content of a page by its number, b"" where there is none.
Pages = Callable[[int], bytes]


class SalvagedEvent(NamedTuple):
    """What may be an event: its number as the table has it (None where that cannot be read), and its parts."""

    seq: int | None
    kind: bytes
    time: bytes
    text: bytes
    checksum: bytes


def pages_of(data: bytes) -> Pages:
    """The pages of a database file."""
    return lambda number: data[(number - 1) * PAGE : number * PAGE] if number > 0 else b""


def salvage(data: bytes, pages: Pages | None = None) -> Iterator[SalvagedEvent]:
    """Everything in `data` that has the shape of an event; long ones go on in other pages (those of data if None).

    Nothing is trusted: whether it is an event, its checksum says.
    """
    pages = pages_of(data) if pages is None else pages
    for match in RECORD.finditer(data):
        at = match.start()
        header = data[at]
        kind = (data[at + 2] - 13) // 2
        body_type, end = _varint(data, at + 4)
        if header != end + 1 - at or body_type < 13 or body_type % 2 == 0:
            continue
        body = (body_type - 13) // 2
        payload = _payload(data, at, header + kind + TIME + body + CHECKSUM, pages)
        if payload is None:
            continue
        rest = payload[header:]
        ends = (kind, kind + TIME, kind + TIME + body)
        yield SalvagedEvent(
            _number_before(data, at), rest[: ends[0]], rest[ends[0] : ends[1]], rest[ends[1] : ends[2]], rest[ends[2] :]
        )


def _payload(data: bytes, at: int, size: int, pages: Pages) -> bytes | None:
    """The `size` bytes of a record that begins at `at`, from its overflow pages too; None where they end too soon."""
    local = size
    if size > MOST_LOCAL:
        local = LEAST_LOCAL + (size - LEAST_LOCAL) % (PAGE - 4)
        local = local if local <= MOST_LOCAL else LEAST_LOCAL
    parts, missing = [data[at : at + local]], size - local
    follow = int.from_bytes(data[at + local : at + local + 4], "big")
    while missing > 0:
        page = pages(follow)
        if len(page) < PAGE:
            return None
        parts.append(page[4 : 4 + missing])
        missing -= len(parts[-1])
        follow = int.from_bytes(page[:4], "big")
    payload = b"".join(parts)
    return payload if len(payload) == size else None


def _number_before(data: bytes, at: int) -> int | None:
    """The variable-length integer that ends before `at`: the shortest reading that the bytes allow."""
    start = at - 1
    while start > 0 and at - start < 9 and data[start - 1] >= 0x80:
        start -= 1
    # The length of the record stands before the number and may end in bytes that look like its beginning.
    value, end = _varint(data, max(start, 0))
    return value if end == at else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """SQLite's variable-length integer at `at`, and where it ends."""
    value = 0
    for k in range(9):
        if at + k >= len(data):
            return value, at + k
        byte = data[at + k]
        if k == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + k + 1
    return value, at + 9
