"""A matrix of numbers with its column and row names, read from CSV or NPY (mapped, never unpickled)."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import to_path
from convexdesign.arms.read import LabelledVectors, read_arms
from convexdesign.errors import InputError
from convexdesign.files import is_file, open_array
from convexdesign.tables.dialect import read_text_table
from convexdesign.tables.text import NPY_MAGIC, read_text

__all__ = ["Table", "is_npy", "read_npy", "read_rows", "read_table", "stored_array"]

ROWS_PER_CHECK = 65_536


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers with the names of their rows and columns.

    Parameters
    ----------
    values : array, shape (n, d)
        Double precision, read-only.
    columns : tuple of str
        Their names, x1 .. xd without a header.
    names : tuple of str or None
        Those of the rows.
    """

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
    r"""Read arms or items from a CSV or NPY file, one row each; refuse whatever could be read in two ways.

    CSV: delimiter comma, semicolon, tab, blank or bar; decimal point or comma; with or without a header; a first
    column of text names the rows, as does the unnamed counting column that data frames write. All of this is
    found out, and every choice can be made instead. Files above 64 MiB are refused: use NPY.
    NPY (numpy.save): opened by memory mapping, never unpickled.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    delimiter : str, optional
        Such as ";".
    decimal : str, optional
        The mark, "." or ",".
    header : bool, optional
        Whether the first line names the columns.
    names : bool, optional
        Whether the first column names the rows.
    comment : str, optional
        Skip lines that start so, such as "#".
    encoding : str, optional
        By byte-order mark by default, else UTF-8.

    Returns
    -------
    Table
        Values and names.

    Raises
    ------
    InputError
        Naming file, line and column, for missing cells, text among the numbers, NaN, infinities, rows of unequal
        length, repeated names, and for ambiguous files, saying which argument resolves them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "arms.csv"
    >>> _ = path.write_text("arm;height;width\nred;0,5;1\nblue;1,25;-2\n")
    >>> read_table(path).names, read_table(path).values.tolist()
    (('red', 'blue'), [[0.5, 1.0], [1.25, -2.0]])
    """
    path = to_path(path)
    if is_npy(path):
        if any(option is not None for option in (delimiter, decimal, header, names, comment, encoding)):
            raise InputError(f"{path} is an NPY file: delimiter, decimal, header, names and encoding do not apply")
        values = read_npy(path, ndim=2)
        return Table(values, tuple(f"x{j + 1}" for j in range(values.shape[1])), None)
    how: dict[str, Any] = {
        "delimiter": delimiter,
        "decimal": decimal,
        "header": header,
        "names": names,
        "comment": comment,
    }
    reading = read_text(path, encoding, lambda text: read_text_table(text, **how))
    reading.values.flags.writeable = False
    return Table(reading.values, reading.columns, reading.names)


def read_rows(path: Path, **options: Any) -> LabelledVectors:
    """Labelled vectors from a file, or matrices, of arms with several responses, from an NPY file of three dimensions.

    options: those of `read_table`, for text; an NPY file needs none.
    """
    stored = stored_array(path)
    if stored is not None and stored.ndim == 3:
        return read_arms(stored)
    table = read_table(path, **({} if is_npy(path) else options))
    return LabelledVectors(table.values, table.names, table.columns)


def stored_array(path: Path) -> Any | None:
    """The array of a file that is called NPY, of whatever dimensions; None for any other file."""
    return open_array(path) if path.suffix.lower() == ".npy" and is_file(path) else None


def read_npy(path: Path, ndim: int) -> NDArray[np.float64]:
    """The array of an NPY file as float64 with `ndim` dimensions; float64 files stay memory-mapped."""
    array = open_array(path)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{path} holds numbers of type {array.dtype}; save it as float64")
    if ndim == 1 and array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != ndim:
        wanted = "a matrix with one row per arm" if ndim == 2 else "a vector"
        raise InputError(f"{path} has shape {array.shape}; it must be {wanted}")
    if array.size == 0:
        raise InputError(f"{path} has shape {array.shape}: it holds no number")
    if array.dtype != np.float64:
        array = array.astype(np.float64)
    for start in range(0, array.shape[0], ROWS_PER_CHECK):
        block = array[start : start + ROWS_PER_CHECK]
        finite = np.isfinite(block)
        if not finite.all():
            where = np.argwhere(~finite)[0]
            index = (int(where[0]) + start, *(int(k) for k in where[1:]))
            raise InputError(f"{path}: entry {list(index)} is {array[index]}; every number must be finite")
    return array


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
