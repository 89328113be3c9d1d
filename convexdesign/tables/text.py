"""From bytes to text: byte-order marks, encodings, and files that are no text at all."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from convexdesign.arguments import shown, text_of
from convexdesign.errors import InputError
from convexdesign.files import MAX_TEXT_BYTES, read_regular

__all__ = ["MAX_TEXT_BYTES", "NPY_MAGIC", "read_text"]

T = TypeVar("T")

NPY_MAGIC = b"\x93NUMPY"

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_FORMATS = (
    (b"PK\x03\x04", "a spreadsheet (.xlsx, .ods) or another zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls)"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"PAR1", "a Parquet file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"%PDF", "a PDF"),
)


def read_text(path: Path, encoding: str | None, parse: Callable[[str], T]) -> T:
    """What `parse` makes of the text in a file; its InputErrors begin with the path.

    Raises InputError where the file is missing, empty, no regular file, over MAX_TEXT_BYTES, or no text.
    """
    text = to_text(read_regular(path, "a CSV or NPY file"), path, encoding)
    try:
        return parse(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def to_text(data: bytes, path: Path, encoding: str | None) -> str:
    """Decode by byte-order mark, else as UTF-8, unless `encoding` says otherwise; never by guessing."""
    for magic, what in _OTHER_FORMATS:
        if data.startswith(magic):
            raise InputError(f"{path} is {what}, not text; export it as CSV (or NPY) and give that file")
    if encoding is None:
        encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is None:
        _refuse_nul(data, path)
        encoding = "utf-8"
    encoding = text_of(encoding, "encoding")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not valid {encoding}. If the file was saved "
            "by a Windows program, pass encoding='cp1252'; otherwise save it as UTF-8"
        ) from None
    except (LookupError, ValueError):
        raise InputError(f"encoding {shown(encoding)} is unknown to Python; for example 'utf-8' or 'cp1252'") from None
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InputError(f"{path} is empty; a table needs at least one row of numbers")
    bad = next((c for c in text if c < " " and c not in "\t\n\r\f\v"), None)
    if bad is not None:
        line = text.count("\n", 0, text.index(bad)) + 1
        raise InputError(f"{path}, line {line}: control character {bad!r}; this is binary data, not a text table")
    return text


def _refuse_nul(data: bytes, path: Path) -> None:
    head = data[:4096]
    if b"\0" not in head:
        return
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if head[start::2].count(0) > 0.9 * len(head[start::2]):
            raise InputError(
                f"{path} looks like UTF-16 without a byte-order mark; pass encoding={name!r}, or save it as UTF-8"
            )
    raise InputError(f"{path} is binary, not text; give a CSV file, or an NPY file saved by numpy.save")
