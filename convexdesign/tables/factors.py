"""A table of factor settings with a header: columns of numbers, and columns of text for categories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from convexdesign.arguments import to_path
from convexdesign.errors import InputError
from convexdesign.tables.cells import kind, looks_numeric, number
from convexdesign.tables.dialect import DELIMITERS, split
from convexdesign.tables.layout import Line
from convexdesign.tables.table import is_npy
from convexdesign.tables.text import read_text

__all__ = ["Factors", "first_line", "read_factors"]

# Headers of a first column that names the rows and is no factor.
LABELS = frozenset(["", "name", "label", "arm", "run", "id"])


@dataclass(frozen=True, eq=False)
class Factors:
    """columns: for each factor n numbers or n texts; cells: the same as written; names: n row names or None."""

    columns: Mapping[str, list[float] | list[str]]
    cells: Mapping[str, list[str]]
    names: tuple[str, ...] | None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(next(iter(self.cells.values())))


def read_factors(
    path: str | PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    unique: bool = True,
    only: Collection[str] | None = None,
) -> Factors:
    """Read factor settings from a CSV file with a header, one setting a row.

    A column in which every cell is a number is numeric; one of text is categorical; a mixture is refused, and so are
    cells that look like numbers but are none with the decimal mark (a point, unless `decimal` says a comma). A first
    column headed name, label, arm, run, id or not at all names the rows, each differently if `unique`, unless it is among
    `only`. Columns that are not among `only`, where that is given, are passed over, whatever they hold. The delimiter is
    found in the header.

    Raises InputError naming file, line and column.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "factors.csv"
    >>> _ = path.write_text("colour,dose\\nred,0.5\\nblue,2\\n")
    >>> dict(read_factors(path).columns)
    {'colour': ['red', 'blue'], 'dose': [0.5, 2.0]}
    """
    path = to_path(path)
    if is_npy(path):
        raise InputError(f"{path} is an NPY file, whose columns have no names; give the factors as CSV with a header")
    return read_text(path, encoding, lambda text: _read(text, delimiter, decimal, unique, only))


def first_line(path: str | PathLike[str], *, delimiter: str | None = None, encoding: str | None = None) -> list[str]:
    """The cells of a file's first line, whatever they are; none of an NPY file, or where they cannot be told apart."""
    path = to_path(path)
    if is_npy(path):
        return []
    try:
        lines = read_text(path, encoding, lambda text: _rows("\n".join(text.lstrip().splitlines()[:3]), delimiter))
    except InputError:
        return []
    return [cell.strip() for cell in lines[0].cells] if lines else []


def _read(
    text: str, delimiter: str | None, decimal: str | None, unique: bool, only: Collection[str] | None = None
) -> Factors:
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal must be '.' or ',', got {decimal!r}")
    mark = decimal or "."
    rows = list(_rows(text, delimiter))
    if len(rows) < 2:
        raise InputError("there is a header line but no row of settings below it")
    head, body = rows[0].cells, rows[1:]
    _check_header([name for name in head if name.strip() in only] if only is not None else head, rows[0].number, mark)
    for row in body:
        if len(row.cells) != len(head):
            raise InputError(
                f"line {row.number} has {len(row.cells)} cells, the header {len(head)}; quote cells with delimiters"
            )
    columns = {name: [row.cells[j] for row in body] for j, name in enumerate(head)}
    lines = [row.number for row in body]
    names = None
    if head[0].lower() in LABELS and len(head) > 1 and head[0].strip() not in (only or ()):
        names = tuple(columns.pop(head[0]))
        if unique:
            _check_names(names, lines, head[0])
    if only is not None:
        columns = {name: cells for name, cells in columns.items() if name.strip() in only}
    typed = {name: _typed(name, cells, lines, mark) for name, cells in columns.items()}
    return Factors(typed, columns, names)


def _check_names(names: Sequence[str], lines: list[int], column: str) -> None:
    """InputError, naming lines and remedy, where a row has no name or that of another."""
    seen: dict[str, int] = {}
    remedy = f"number them, or call the column otherwise than {column!r} if it is a factor"
    for name, line in zip(names, lines):
        if not name:
            raise InputError(f"line {line} has no name in the column {column!r}; fill it in: names of rows must differ")
        if name in seen:
            raise InputError(
                f"lines {seen[name]} and {line} have the same name, {name!r}; row names must differ: {remedy}"
            )
        seen[name] = line


def _rows(text: str, delimiter: str | None) -> list[Line]:
    """Lines that are not blank, with their numbers; a header that lacks a cell, as R writes it, gets an empty first one.

    A first line sep=; is for Excel, and says the delimiter.
    """
    told = re.match(r"\s*sep=(.)[ \t]*(?=[\r\n])", text)
    if told is not None:
        text, delimiter = text[told.end() :], delimiter or told[1]
    if delimiter is None:
        delimiter = _delimiter(text)
    elif len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"delimiter must be one character, got {delimiter!r}")
    rows = _split(text, delimiter)
    if len(rows) > 1 and {len(row.cells) for row in rows[1:]} == {len(rows[0].cells) + 1}:
        rows[0] = Line(rows[0].number, ["", *rows[0].cells])
    return rows


def _delimiter(text: str) -> str:
    """The mark in the header; blanks where they split all lines alike."""
    first = re.sub(r'"[^"]*"', '""', text.lstrip("\r\n").splitlines()[0])
    present = [mark for mark in DELIMITERS if mark in first]
    if len(present) > 1:
        raise InputError(f"the header holds several delimiters ({' '.join(map(repr, present))}); pass delimiter=")
    if present or " " not in first.strip():
        return present[0] if present else ","
    try:
        rows = _split(text, " ")
    except InputError:
        return ","
    widths, names = {len(row.cells) for row in rows[1:]}, len(rows[0].cells)
    return " " if len(widths) == 1 and widths <= {names, names + 1} and widths != {1} else ","


def _split(text: str, delimiter: str) -> list[Line]:
    """The lines that hold anything."""
    return [line for line in split(text, delimiter) if any(line.cells)]


def _check_header(head: list[str], line: int, mark: str) -> None:
    for j, name in enumerate(head):
        if kind(name, mark) == "number" or (not name and j > 0):
            raise InputError(f"line {line}: the factors need names in a header line, but column {j + 1} has {name!r}")
    repeated = next((name for name, count in Counter(head).items() if count > 1), None)
    if repeated is not None:
        raise InputError(f"the header names two columns {repeated!r}; column names must differ")


def _typed(name: str, cells: list[str], lines: list[int], mark: str) -> list[float] | list[str]:
    """Numbers where all cells are, text where none is."""
    # "none" is a level of many a factor.
    kinds = ["text" if cell.lower() == "none" else kind(cell, mark) for cell in cells]
    if len(cells) > 1 and all(found == "missing" for found in kinds):
        raise InputError(f"column {name!r} is empty in every row; fill it in or delete the column")
    for cell, line, found in zip(cells, lines, kinds):
        if found == "missing":
            raise InputError(f"line {line}, column {name!r}: {cell!r} is missing; fill it in or delete the row")
        if found == "text" and looks_numeric(cell):
            other = "," if mark == "." else "."
            hint = (
                f"pass decimal={other!r} if that is the decimal mark" if kind(cell, other) == "number" else "correct it"
            )
            raise InputError(
                f"line {line}, column {name!r}: {cell!r} is no number with {mark!r} as decimal mark; {hint}"
            )
    if "text" not in kinds:
        return [number(cell, mark) for cell in cells]
    if "number" in kinds:
        odd, usual = cells[kinds.index("number")], cells[kinds.index("text")]
        raise InputError(
            f"column {name!r} holds numbers ({odd!r}) and text ({usual!r}); correct it, or write the levels as text"
        )
    return cells
