"""Observations from a CSV file or standard input: single rewards or aggregates, arms by name or index, streamed."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from convexdesign.errors import InputError
from convexdesign.files import is_file, is_folder

if TYPE_CHECKING:
    from convexdesign.estimation import Observations

__all__ = ["opened", "read_observations"]

# A header or a row of more bytes is no row.
LONGEST_LINE = 2**20


def read_observations(
    source: str,
    n: int,
    names: Sequence[str] | None,
    *,
    arm: str,
    reward: str,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None = None,
) -> Observations:
    """One row a pull (columns arm, reward) or one a batch (arm, count, mean, and m2 or variance); "-" is standard input.

    The header tells which, and the delimiter. Arms go by name where the first row has a name, else by index.
    """
    from convexdesign.estimation import observations_from_aggregates, observations_from_csv

    if decimal not in (None, ".", ","):
        raise InputError(f"--decimal must be '.' or ',', got {decimal!r}")
    with opened(source) as stream:
        first, second = stream.readline(LONGEST_LINE), stream.readline(LONGEST_LINE)
        head, delimiter = header(source, first, delimiter, reward, encoding)
        options: dict[str, Any] = {"arm": arm, "delimiter": delimiter, "decimal": decimal or "."}
        if encoding is not None:
            options["encoding"] = encoding
        arms = names if names is not None and is_named(second, head, arm, delimiter, names, encoding) else n
        whole = io.BufferedReader(_Rejoined(first + second, stream))
        try:
            if reward in head:
                return observations_from_csv(whole, arms, reward=reward, **options)
            return observations_from_aggregates(whole, arms, **options)
        except InputError as error:
            hint = f" (the arms are {', '.join(map(str, names[:5]))}, ...)" if names is not None and arms is n else ""
            raise InputError(f"{source}: {error}{hint}") from None


@contextmanager
def opened(source: str) -> Iterator[Any]:
    """The bytes of a file, unpacked, or of standard input."""
    if source == "-":
        # What was put in the place of standard input may be text already.
        yield sys.stdin.buffer if hasattr(sys.stdin, "buffer") else io.BytesIO(sys.stdin.read().encode())
        return
    path = Path(source)
    if is_folder(path):
        raise InputError(f"{source} is a folder; name a file in it")
    if not is_file(path):
        raise InputError(f"{source}: there is no such file; check the spelling and the folder")
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{source} is damaged, or not compressed by gzip: {error}") from None


def header(
    source: str, line: bytes, delimiter: str | None, reward: str, encoding: str | None = None
) -> tuple[list[str], str]:
    """The names of the columns, and the delimiter: the one that separates the names that are needed."""
    try:
        text = line.decode(encoding or "utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        what = encoding or "UTF-8"
        raise InputError(
            f"{source} is not {what} text; pass encoding='cp1252' if a Windows program saved it, or save it as CSV in UTF-8"
        ) from None
    except LookupError:
        raise InputError(f"encoding {encoding!r} is unknown to Python; for example 'utf-8' or 'cp1252'") from None
    if not text.strip():
        raise InputError(f"{source} is empty; it needs a header, for example arm,{reward}")
    from convexdesign.tables.dialect import DELIMITERS

    for mark in DELIMITERS if delimiter is None else (delimiter,):
        columns = cells_of(text, mark)
        if reward in columns or {"count", "mean"} <= set(columns):
            return columns, mark
    raise InputError(
        f"{source}: the header is {text[:200]!r}; it needs columns arm and {reward} (one row a measurement), or arm, count, "
        "mean and m2 or variance (one row a batch); name others with --arm-column and --reward-column"
    )


def cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of one line; none where it is no line of CSV (old ends of lines, quotes without end)."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except (csv.Error, TypeError):  # TypeError: the delimiter is no single character
        return []


def is_named(
    row: bytes, head: list[str], arm: str, delimiter: str, names: Sequence[str], encoding: str | None = None
) -> bool:
    """Whether the first row calls its arm by name, so that all rows must."""
    if arm not in head:
        return False
    cells = cells_of(row.decode(encoding or "utf-8", "replace").strip("\r\n"), delimiter)
    label = cells[head.index(arm)] if len(cells) > head.index(arm) else ""
    return label in names or not label.strip().isdigit()


class _Rejoined(io.RawIOBase):
    """Lines already read, then the rest of their stream."""

    def __init__(self, read: bytes, rest: IO[bytes]) -> None:
        super().__init__()
        self._read = read
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read[: len(buffer)] or self._rest.read(len(buffer))
        self._read = self._read[len(data) :]
        buffer[: len(data)] = data
        return len(data)
