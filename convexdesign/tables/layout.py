"""From rows of cells to a header, row names and a matrix of numbers, or a reason why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.tables.cells import THOUSANDS, kind, looks_numeric, number, numbers, written_as_integer

__all__ = ["Line", "Reading", "lay_out"]

# Headers under which a column of numbers is more likely a label than a feature.
_LABELS = frozenset(
    ["id", "index", "idx", "row", "run", "arm", "arms", "item", "name", "names", "label", "no", "nr", "#"]
)


# What else a table with text in it may be.
SETTINGS = (
    "If these are factor settings, as they look, say for which model (--formula '1 + ...', features.model_matrix)"
)

# Longer numbers count nothing, and Python refuses to convert very long ones.
LONGEST_COUNT = 18


@dataclass(frozen=True)
class Line:
    """One record of the file: the line it starts on and its stripped cells ([] for a blank line)."""

    number: int
    cells: list[str]


@dataclass(frozen=True, eq=False)
class Reading:
    """One way of reading the file. `thousands`: every decimal comma could be a thousands separator."""

    values: NDArray[np.float64]
    columns: tuple[str, ...]
    names: tuple[str, ...] | None
    has_header: bool
    thousands: bool
    all_integers: bool

    def agrees(self, other: Reading) -> bool:
        """Whether both readings say the same."""
        same_text = self.names == other.names and self.columns == other.columns
        return same_text and np.array_equal(self.values, other.values)


def lay_out(lines: Sequence[Line], decimal: str, header: bool | None, names: bool | None, keep_index: bool) -> Reading:
    """Decide on header and row names where not told, then convert. Raises InputError with line and column.

    keep_index: leave a numeric first column in the values even if it looks like an index (vectors of weights).
    """
    rows, trailing = _without_empty_last_column(_records(lines))
    has_header = _has_header(rows, decimal) if header is None else header
    head = rows[0].cells if has_header else None
    body = rows[1:] if has_header else rows
    if not body:
        raise InputError("there is a header line but no row of numbers below it")
    width = Counter(len(row.cells) for row in body).most_common(1)[0][0]
    _refuse_ragged(body, width)
    if header is None and head is None:
        _refuse_counting_first_line(body)
    head, label_first = _fit_header(head, body, width, decimal, trailing)
    if label_first is None:
        label_first = names if names is not None else _first_column_is_names(head, body, decimal, keep_index)
    if label_first and width == 1:
        raise InputError(f"line {body[0].number}: the only column holds text ({body[0].cells[0]!r}), no numbers")
    start = 1 if label_first else 0
    columns = tuple(head[start:]) if head else tuple(f"x{j + 1}" for j in range(width - start))
    columns = tuple(name or f"column {j + start + 1}" for j, name in enumerate(columns))
    repeated = [name for name, count in Counter(columns).items() if count > 1]
    if repeated:
        raise InputError(f"the header names two columns {repeated[0]!r}; column names must differ")
    values, commas, integers = _numbers(body, start, columns, decimal)
    labels = _row_names(body) if label_first else None
    thousands = decimal == "," and bool(commas) and all(THOUSANDS.fullmatch(cell) for cell in commas)
    return Reading(values, columns, labels, head is not None, thousands, integers)


def _records(lines: Sequence[Line]) -> list[Line]:
    """The rows without blank lines; a blank line inside one column of cells is a missing value, so an error."""
    rows = list(lines)
    while rows and not any(rows[-1].cells):
        rows.pop()
    while rows and not any(rows[0].cells):
        rows.pop(0)
    if not rows:
        raise InputError("the file holds no cells")
    blank = next((row for row in rows if not row.cells), None)
    kept = [row for row in rows if row.cells]
    if blank is not None and max(len(row.cells) for row in kept) == 1:
        raise InputError(
            f"line {blank.number} is blank inside a single column, so a value is missing there; "
            "fill it in or delete the line"
        )
    return kept


def _without_empty_last_column(rows: list[Line]) -> tuple[list[Line], bool]:
    """Drop the empty column that a delimiter at the end of every line makes."""
    widths = {len(row.cells) for row in rows[1:]} or {len(rows[0].cells)}
    if len(widths) > 1 or min(widths) < 2 or any(row.cells[-1] for row in rows[1:]):
        return rows, False
    first = rows[0].cells
    width = widths.pop()
    if len(first) == width and not first[-1]:
        return [Line(row.number, row.cells[:-1]) for row in rows], True
    if len(first) == width - 1 and len(rows) > 1 and first[-1]:
        return [rows[0], *(Line(row.number, row.cells[:-1]) for row in rows[1:])], True
    return rows, False


def _has_header(rows: list[Line], decimal: str) -> bool:
    """Text in the first line, where the lines below have numbers, makes it a header; a mixture is an error."""
    first, line = rows[0].cells, rows[0].number
    kinds = [kind(cell, decimal) for cell in first]
    texts = [cell for cell, found in zip(first, kinds) if found == "text"]
    odd = next((cell for cell in texts if looks_numeric(cell)), None)
    if odd is not None:
        raise InputError(
            f"line {line}: {odd!r} is not a number with {decimal!r} as decimal mark; {_remedy(odd, decimal)}"
        )
    if "text" in (kinds[1:] or kinds):
        if "number" in kinds:
            found = first[kinds.index("number")]
            raise InputError(
                f"line {line} mixes text ({texts[-1]!r}) and numbers ({found!r}); "
                "pass header=True if it names the columns, or correct the cell"
            )
        return True
    if len(first) == 1:
        return False
    if first[0] == "" and _counts([first[1:]]):
        return True
    if texts and len(rows) > 1 and all(kind(row.cells[0], decimal) == "number" for row in rows[1:] if row.cells):
        raise InputError(
            f"line {line} begins with text ({first[0]!r}) but the lines below begin with numbers; "
            "pass header=True if it names the columns, or correct the cell"
        )
    return False


def _counts(groups: Sequence[Sequence[str]]) -> bool:
    """Whether the cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    cells = [cell for group in groups for cell in group]
    if not all(written_as_integer(cell) and len(cell) <= LONGEST_COUNT for cell in cells):
        return False
    found = [int(cell) for cell in cells]
    return any(found == list(range(first, first + len(found))) for first in (0, 1))


def _refuse_counting_first_line(body: list[Line]) -> None:
    """A first line 0, 1, 2, ... over decimals may be the column numbers that data frames write as header, behind the name of
    the index where that has one."""
    first = body[0].cells
    if len(first) >= 4 and kind(first[0], ".") == kind(first[0], ",") == "text":
        first = first[1:]
    if len(body) < 2 or not written_as_integer(first[0]) or first[0].lstrip("+-0") or not _counts([first]):
        return
    decimals_below = not any(written_as_integer(cell) for row in body[1:] for cell in row.cells)
    if len(first) >= 3 or decimals_below:
        raise InputError(
            f"line {body[0].number} reads {', '.join(first)}: column numbers or data? "
            "Pass header=True if they number the columns, header=False if they are a row of numbers"
        )


def _refuse_ragged(body: list[Line], width: int) -> None:
    for row in body:
        if len(row.cells) != width:
            raise InputError(
                f"line {row.number} has {len(row.cells)} cells where the others have {width}; quote cells that "
                "contain the delimiter, and if commas are decimal marks pass delimiter= and decimal=','"
            )


def _fit_header(
    head: list[str] | None, body: list[Line], width: int, decimal: str, trailing: bool
) -> tuple[list[str] | None, bool | None]:
    """Match the header to the rows; one cell short means that the first column holds row names (as R writes)."""
    if head is None or len(head) == width:
        return head, None
    first = [row.cells[0] for row in body]
    if len(head) == width - 1 and not trailing:
        labels = not any(kind(cell, decimal) == "number" for cell in first) or _counts([first])
        if labels:
            return ["", *head], True
    raise InputError(f"the header has {len(head)} cells but the rows have {width}; they must match")


def _first_column_is_names(head: list[str] | None, body: list[Line], decimal: str, keep_index: bool) -> bool:
    kinds = [kind(row.cells[0], decimal) for row in body]
    if "text" in kinds:
        odd = next((row for row, found in zip(body, kinds) if found == "text" and looks_numeric(row.cells[0])), None)
        if odd is not None:
            cell = odd.cells[0]
            raise InputError(
                f"line {odd.number}: {cell!r} looks like a number but is none with {decimal!r} as decimal mark; "
                f"{_remedy(cell, decimal)}, or pass names=True if the first column names the rows"
            )
        if "number" in kinds:
            text, numeric = body[kinds.index("text")], body[kinds.index("number")]
            raise InputError(
                f"the first column holds text (line {text.number}: {text.cells[0]!r}) and numbers "
                f"(line {numeric.number}: {numeric.cells[0]!r}); pass names=True if it names the rows, "
                "or correct the cell"
            )
        return True
    if head is None or keep_index or len(body[0].cells) == 1 or "missing" in kinds:
        return False
    counting = _counts([[row.cells[0] for row in body]])
    if not head[0]:
        if counting:
            return True
        raise InputError(
            "the first column has numbers but no header; pass names=True if it names the rows, "
            "names=False if it is a feature"
        )
    if head[0].lower() in _LABELS and len(body) > 1:
        raise InputError(
            f"the first column, {head[0]!r}, {'counts the rows' if counting else 'has numbers'}: pass names=True if it "
            "names the rows, names=False if it is a feature"
        )
    return False


def _row_names(body: list[Line]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    for row in body:
        name = row.cells[0]
        if not name:
            raise InputError(f"line {row.number}: the row has no name in the first column; give it one")
        if name in seen:
            raise InputError(
                f"lines {seen[name]} and {row.number} have the same name, {name!r}; row names must differ: number them, or "
                f"delete the column. {SETTINGS}"
            )
        seen[name] = row.number
    return tuple(seen)


def _numbers(
    body: list[Line], start: int, columns: tuple[str, ...], decimal: str
) -> tuple[NDArray[np.float64], list[str], bool]:
    """The matrix, the cells that contain a comma, and whether every cell is written as an integer."""
    values = np.empty((len(body), len(columns)))
    commas: list[str] = []
    integers = True
    for i, row in enumerate(body):
        cells = row.cells[start:]
        plain = numbers(cells, decimal)
        if plain is None:
            for j, cell in enumerate(cells):
                found = kind(cell, decimal)
                if found != "number":
                    if len(body) > 1 and all(kind(other.cells[start + j], decimal) == "missing" for other in body):
                        raise InputError(
                            f"column {columns[j]!r} is empty in every row; fill it in or delete the column"
                        )
                    _refuse_cell(row, i, start, j, columns[j], found, decimal)
            plain = [number(cell, decimal) for cell in cells]
        values[i] = plain
        integers = integers and all(written_as_integer(cell) for cell in cells)
        if decimal == ",":
            commas.extend(cell for cell in cells if "," in cell)
    if not np.isfinite(values).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
        raise InputError(f"{_place(body[i], i, start, j, columns[j])} is infinite; every number must be finite")
    return values, commas, integers


def _place(row: Line, i: int, start: int, j: int, column: str) -> str:
    label = f" ({row.cells[0]!r})" if start else ""
    cell = row.cells[start + j]
    return f"row {i + 1}{label} on line {row.number}, column {column!r}: {cell!r}"


def _refuse_cell(row: Line, i: int, start: int, j: int, column: str, found: str, decimal: str) -> None:
    place = _place(row, i, start, j, column)
    if found == "missing":
        raise InputError(f"{place} is missing; fill it in or delete the row")
    cell = row.cells[start + j]
    if not looks_numeric(cell) and not any(mark.isdigit() for mark in cell):
        raise InputError(f"{place} is not a number; correct it. {SETTINGS}")
    raise InputError(f"{place} is not a number; {_remedy(cell, decimal)}")


def _remedy(cell: str, decimal: str) -> str:
    other = "," if decimal == "." else "."
    if kind(cell, other) == "number":
        return f"pass decimal={other!r} if {other!r} is the decimal mark in this file, or correct the cell"
    return f"write numbers with {decimal!r} as decimal mark, without units or thousands separators"
