"""Rows kept as they come: what a long run had found is there when it is cut off."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from convexdesign.arguments import to_path
from convexdesign.errors import InputError

__all__ = ["SavedRows"]


class SavedRows:
    """A CSV file that grows by a row at a time, each on the disk's way before the next is computed; made anew at the start.

    The first row names the columns. Sequences become their entries with blanks between them, None an empty cell.
    `front`: columns to be put before those of the rows to come. without: columns that are left out.
    InputError where the folder is missing or the path is a folder, and for a row with other columns than the first.
    """

    def __init__(self, path: str | PathLike[str] | None, without: tuple[str, ...] = ()) -> None:
        self.front: dict[str, Any] = {}
        self._path: Path | None = None if path is None else to_path(path)
        self._without = without
        self._file: IO[str] | None = None
        self._columns: list[str] | None = None

    def __enter__(self) -> SavedRows:
        if self._path is not None:
            if self._path.is_dir():
                raise InputError(f"save: {self._path} is a folder; name a file")
            if not self._path.resolve().parent.is_dir():
                raise InputError(f"save: the folder {self._path.parent} does not exist; create it first")
            self._file = self._path.open("w", encoding="utf-8", newline="")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, row: Mapping[str, Any]) -> None:
        """Write one row."""
        if self._file is None:
            return
        kept = self.front | {name: value for name, value in row.items() if name not in self._without}
        writer = csv.writer(self._file, lineterminator="\n")
        if self._columns is None:
            self._columns = list(kept)
            writer.writerow(self._columns)
        if list(kept) != self._columns:
            raise InputError(f"a row has the columns {', '.join(kept)}, the first had {', '.join(self._columns)}")
        writer.writerow([_cell(value) for value in kept.values()])
        self._file.flush()


def _cell(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        return " ".join(map(str, value))
    return "" if value is None else value
