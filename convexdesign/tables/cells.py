"""What one cell says: a number written with a given decimal mark, nothing, or text."""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["THOUSANDS", "CellKind", "kind", "looks_numeric", "number", "numbers", "ungrouped", "written_as_integer"]

CellKind = Literal["number", "missing", "text"]

# No text matches a pattern in two ways: where one fails, the time is linear in the length of the cell.
_PATTERN = {
    ".": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?",
    # Stricter than with a point, so that "1," (from "1, 2" split at blanks) is no number.
    ",": r"[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?",
}
_NUMBER = {mark: re.compile(pattern, re.ASCII) for mark, pattern in _PATTERN.items()}
_BETWEEN = "\x1f"
_NUMBERS = {mark: re.compile(f"{p}(?:{_BETWEEN}{p})*", re.ASCII) for mark, p in _PATTERN.items()}
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
# Percentages, currencies, separators, the other decimal mark: a number to a reader, but not to us.
_SEPARATORS = r".,_'\s\u00a0\u2009\u202f\u2019"
_NUMERIC_LOOK = re.compile(
    rf"[+\-\u2212]?[$€£¥]?[{_SEPARATORS}]*\d[\d{_SEPARATORS}]*(?:[eE][+-]?\d+\s*)?[%$€£¥]?", re.ASCII
)
_INFINITE = re.compile(r"[+-]?(?:inf|infinity|∞)", re.IGNORECASE)
_MISSING = frozenset(
    [
        "",
        "na",
        "n/a",
        "#n/a",
        "nan",
        "-nan",
        "null",
        "none",
        "nil",
        "missing",
        "-",
        "--",
        "?",
        ".",
        "#div/0!",
        "#value!",
    ]
)

# 1,234 or 12,345,678: readable as a decimal and as a whole number with thousands separators.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+", re.ASCII)
# 1.234 or 12.345,67: digits in groups of three, as people write them whose decimal mark is the comma.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?", re.ASCII)


def kind(cell: str, decimal: str) -> CellKind:
    """Whether a stripped cell is a number, a way of writing nothing (NA, nan, -, ...), or text."""
    if _NUMBER[decimal].fullmatch(cell.replace("\u2212", "-")) or _INFINITE.fullmatch(cell):
        return "number"
    return "missing" if cell.lower() in _MISSING else "text"


def number(cell: str, decimal: str) -> float:
    """The value of a cell whose kind is "number"; may be infinite."""
    cell = cell.replace("\u2212", "-").replace("∞", "inf")
    return float(cell.replace(",", ".") if decimal == "," else cell)


def numbers(cells: list[str], decimal: str) -> list[float] | None:
    """The values of a row of plain numbers, all at once for speed; None where a cell needs a closer look."""
    joined = _BETWEEN.join(cells)
    if not _NUMBERS[decimal].fullmatch(joined):
        return None
    return [float(cell) for cell in (joined.replace(",", ".") if decimal == "," else joined).split(_BETWEEN)]


def ungrouped(cell: str) -> str:
    """A number with a decimal comma without the points between its thousands; anything else as it is.

    >>> ungrouped("1.045,5"), ungrouped("2.300"), ungrouped("0.125")
    ('1045,5', '2300', '0.125')
    """
    return cell.replace(".", "") if _GROUPED.fullmatch(cell) else cell


def written_as_integer(cell: str) -> bool:
    """Whether the cell is digits with at most a sign."""
    return _INTEGER.fullmatch(cell) is not None


def looks_numeric(cell: str) -> bool:
    """Whether a cell that is no number here was probably meant as one: 5%, 1_000, $3, or the other decimal mark."""
    return _NUMERIC_LOOK.fullmatch(cell) is not None
