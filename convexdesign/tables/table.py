"""A matrix of numbers with its column and row names, read from CSV or NPY."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.files import is_file
from convexdesign.tables.dialect import read_text_table
from convexdesign.tables.npy import read_npy
from convexdesign.tables.text import NPY_MAGIC, read_bytes, to_text

__all__ = ["Table", "is_npy", "read_table"]


@dataclass(frozen=True, eq=False)
class Table:
    """values (n, d) float64, read-only; columns: d names (x1 .. xd without a header); names: n row names or None."""

    values: NDArray[np.float64]
    columns: tuple[str, ...]
    names: tuple[str, ...] | None


def read_table(
    path: str | PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    names: bool | None = None,
    comment: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read arms or items from a CSV or NPY file, one row each; refuse whatever could be read in two ways.

    CSV: delimiter comma, semicolon, tab, blank or bar; decimal point or comma; with or without a header; a first
    column of text names the rows, as does the unnamed counting column that data frames write. All of this is
    found out, and every choice can be made instead: delimiter=";", decimal=",", header=True or False,
    names=True or False (does the first column name the rows?), comment="#" (skip lines that start so),
    encoding="cp1252" (default: by byte-order mark, else UTF-8). Files above 64 MiB are refused: use NPY.
    NPY (numpy.save): opened by memory mapping, never unpickled.

    Raises InputError, naming file, line and column, for missing cells, text among the numbers, NaN, infinities,
    rows of unequal length, repeated names, and for ambiguous files, saying which argument resolves them.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "arms.csv"
    >>> _ = path.write_text("arm;height;width\\nred;0,5;1\\nblue;1,25;-2\\n")
    >>> read_table(path).names, read_table(path).values.tolist()
    (('red', 'blue'), [[0.5, 1.0], [1.25, -2.0]])
    """
    path = Path(path)
    if is_npy(path):
        if any(option is not None for option in (delimiter, decimal, header, names, comment, encoding)):
            raise InputError(f"{path} is an NPY file: delimiter, decimal, header, names and encoding do not apply")
        values = read_npy(path, ndim=2)
        return Table(values, tuple(f"x{j + 1}" for j in range(values.shape[1])), None)
    text = to_text(read_bytes(path), path, encoding)
    try:
        reading = read_text_table(
            text, delimiter=delimiter, decimal=decimal, header=header, names=names, comment=comment
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    reading.values.flags.writeable = False
    return Table(reading.values, reading.columns, reading.names)


def is_npy(path: Path) -> bool:
    """Whether the file is NPY by its first bytes, or by its name where it cannot be read."""
    if not is_file(path):
        return False
    try:
        with path.open("rb") as file:
            magic = file.read(len(NPY_MAGIC)) == NPY_MAGIC
    except OSError:
        return False
    return magic or path.suffix.lower() == ".npy"
