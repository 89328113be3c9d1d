"""Rows kept as they come: what a long run had found is there when it is cut off, and the same run goes on behind it."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from convexdesign.arguments import to_path
from convexdesign.digest import array_digest
from convexdesign.errors import InputError

__all__ = ["SavedRows"]


class SavedRows:
    """A CSV file that grows by a row at a time, each on the disk's way before the next is computed; made anew at the start.

    The first row names the columns. Sequences become their entries with blanks between them, None an empty cell.
    `front`: columns to be put before those of the rows to come. without: columns that are left out.
    identity: all that decides the rows, as data. With it whole runs are kept in `.NAME.unfinished` beside the file until all
    is done, and where one of the same identity and code was cut off, `found` has its runs, in order, to be taken by `known`.
    InputError where the folder is missing or the path is a folder, and for a row with other columns than the first.
    """

    def __init__(self, path: str | PathLike[str] | None, without: tuple[str, ...] = (), identity: Any = None) -> None:
        self.front: dict[str, Any] = {}
        self.found: list[list[dict[str, Any]]] = []
        self._mark = None if identity is None or path is None else _mark(identity)
        self._taken = 0
        self._runs: IO[str] | None = None
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
            if self._mark is not None:
                self._go_on(self._mark)
            self._file = self._path.open("w", encoding="utf-8", newline="")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
        if self._runs is not None:
            self._runs.close()
            if kind is None:
                self._unfinished.unlink()

    @property
    def _unfinished(self) -> Path:
        assert self._path is not None
        return self._path.with_name(f".{self._path.name}.unfinished")

    def _go_on(self, mark: str) -> None:
        """Take up the whole runs of one that was cut off, if it was the same; what a kill left of a line goes."""
        lines = self._unfinished.read_text(encoding="utf-8").split("\n") if self._unfinished.exists() else [""]
        whole = lines[1:-1] if lines[0] == mark else []
        self.found = [json.loads(line, object_hook=_plain) for line in whole]
        self._runs = self._unfinished.open("w", encoding="utf-8", newline="")
        self._runs.write("\n".join([mark, *whole, ""]))
        self._runs.flush()

    def known(self, most: int) -> Sequence[list[dict[str, Any]]]:
        """The next runs that were found before, so many at most."""
        taken = self.found[self._taken : self._taken + most]
        self._taken += len(taken)
        return taken

    def keep(self, rows: list[dict[str, Any]]) -> None:
        """Remember the rows of one run that is new."""
        if self._runs is not None:
            self._runs.write(json.dumps(rows, default=_as_plain) + "\n")
            self._runs.flush()

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


def _mark(identity: Any) -> str:
    """A fingerprint of what decides the rows, and of this package's code."""
    import convexdesign

    code = hashlib.sha256(json.dumps(identity, sort_keys=True, default=_fingerprint).encode())
    for path in sorted(Path(convexdesign.__file__).parent.rglob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()


def _fingerprint(value: Any) -> Any:
    """Arrays by their numbers, NumPy's numbers as such."""
    return array_digest(value) if isinstance(value, np.ndarray) else value.tolist()


def _as_plain(value: Any) -> Any:
    """Arrays and NumPy's numbers as lists and numbers."""
    return value.tolist()


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Lists, as JSON has them, back to tuples, as rows have them."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def _cell(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        return " ".join(map(str, value))
    return "" if value is None else value
