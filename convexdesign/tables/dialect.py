"""Which delimiter and which decimal mark: try all that are usual, accept only one meaning."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import numpy as np

from convexdesign.arguments import is_one_of, shown
from convexdesign.errors import InputError
from convexdesign.tables.cells import kind, looks_numeric, ungrouped
from convexdesign.tables.layout import Line, Reading, lay_out

__all__ = ["DELIMITERS", "read_text_table", "split"]

# What separates cells, but for blanks, which do so only where they split all lines alike.
DELIMITERS = (",", ";", "\t", "|")
_DELIMITERS = (*DELIMITERS[:3], " ", "|")
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", " ": "blank", "|": "bar"}
# Enough to rule most dialects out; the survivors then read the whole file.
_SAMPLE = 32_768

_QUOTED_DECIMAL = re.compile(r'"[+-]?\d+,\d+(?:[eE][+-]?\d+)?"')
_DECLARED = re.compile(r"\s*\"?sep=(.)\"?\s*(?:\r\n|\r|\n)", re.IGNORECASE)


def read_text_table(
    text: str,
    *,
    delimiter: str | None,
    decimal: str | None,
    header: bool | None,
    names: bool | None,
    comment: str | None,
    keep_index: bool = False,
) -> Reading:
    """The one meaning of the text; InputError where it has none, or several that differ."""
    _check_marks(delimiter, decimal)
    declared = _DECLARED.match(text)
    skipped = 0
    if declared:
        delimiter = delimiter or declared.group(1)
        text, skipped = text[declared.end() :], 1
    dialects = _dialects(text, delimiter, decimal)

    def attempt(part: str, pair: tuple[str, str], whole: bool) -> Reading | InputError:
        try:
            lines = list(split(part, pair[0], comment, skipped))
            if not whole and len(lines) > 2:
                lines.pop()
            if pair == (",", ",") and not any("," in cell for line in lines for cell in line.cells):
                raise InputError("the comma cannot be delimiter and decimal mark at once, unless cells are quoted")
            if pair == (";", ","):
                lines = [Line(line.number, [ungrouped(cell) for cell in line.cells]) for line in lines]
            reading = _split_throughout(lay_out(lines, pair[1], header, names, keep_index), pair)
            if delimiter is None:
                _refuse_unsplit_numbers(reading, pair[0], part, comment)
            return reading
        except InputError as error:
            return error

    if len(text) > _SAMPLE:
        sample = text[:_SAMPLE]
        alive = [pair for pair in dialects if isinstance(attempt(sample, pair, False), Reading)]
        dialects = alive or [_most_numeric(sample, dialects, comment)]
    results = {pair: attempt(text, pair, True) for pair in dialects}
    readings = {pair: r for pair, r in results.items() if isinstance(r, Reading)}
    if not readings:
        best = results[_most_numeric(text[:_SAMPLE], dialects, comment)]
        assert isinstance(best, InputError)
        raise best
    return _only_meaning(text, readings, free=(delimiter is None, decimal is None), keep_index=keep_index)


def _split_throughout(reading: Reading, pair: tuple[str, str]) -> Reading:
    """The reading, unless it is a single column under a header that a comma would have split: then commas are not decimals."""
    if (
        reading.has_header
        and pair[1] == ","
        and reading.values.shape[1] == 1
        and any("," in c for c in reading.columns or ())
    ):
        raise InputError(
            f"the first line {reading.columns[0]!r} holds a comma, and so do the numbers below it: pass delimiter=',' if the "
            "comma separates columns (and correct the first line if it is not a header), decimal=',' and header= otherwise"
        )
    return reading


def _refuse_unsplit_numbers(reading: Reading, delimiter: str, text: str, comment: str | None) -> None:
    """InputError where names hold a mark that splits every line alike and leaves numbers as people write them: a;1 045,5."""
    labels = (*(reading.columns if reading.has_header else ()), *(reading.names or ()))
    for mark in _DELIMITERS:
        if mark in (delimiter, " ") or not any(mark in label for label in labels):
            continue
        try:
            rows = [line.cells for line in split(text, mark, comment) if line.cells]
        except InputError:
            continue
        body = rows[1:] if reading.has_header else rows
        if len({len(cells) for cells in rows}) == 1 and any(map(_look_numeric, list(zip(*body))[1:])):
            raise InputError(
                f"the {_NAMES[mark]} splits every line alike, and so does the {_NAMES[delimiter]}: write numbers without "
                f"blanks or thousands separators, or pass delimiter={delimiter!r} if the {_NAMES[delimiter]} separates columns"
            )


def _look_numeric(column: tuple[str, ...]) -> bool:
    return all(map(looks_numeric, column))


def _check_marks(delimiter: str | None, decimal: str | None) -> None:
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n.'):
        raise InputError(f"delimiter must be one character such as ',' ';' or a tab, got {shown(delimiter)}")
    if not is_one_of(decimal, (None, ".", ",")):
        raise InputError(f"decimal must be '.' or ',', got {shown(decimal)}")


def _dialects(text: str, delimiter: str | None, decimal: str | None) -> list[tuple[str, str]]:
    pairs = [(a, b) for b in ".," for a in _DELIMITERS if (a, b) != (",", ",")]
    if _QUOTED_DECIMAL.search(text):
        pairs.append((",", ","))
    if delimiter is not None:
        marks = ".," if delimiter != "," or (",", ",") in pairs or decimal == "," else "."
        pairs = [(delimiter, b) for b in marks]
    return [pair for pair in pairs if decimal in (None, pair[1])]


def split(text: str, delimiter: str, comment: str | None = None, skipped: int = 0) -> Iterator[Line]:
    """Records with their starting lines; the csv module does quoting and every kind of line end."""
    source: Iterator[str] = iter(io.StringIO(text, newline=""))
    if comment:
        source = ("\n" if line.lstrip().startswith(comment) else line for line in source)
    if delimiter == " ":
        source = (line.strip(" ") for line in source)
    reader = csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=True)
    start = 1
    try:
        for cells in reader:
            line = start + skipped
            start = reader.line_num + 1
            if not comment or cells:
                yield Line(line, [cell.strip() for cell in cells])
    except csv.Error as error:
        raise InputError(
            f"line {reader.line_num + skipped}: {error}; check the double quotes around this line"
        ) from None


def _most_numeric(text: str, dialects: list[tuple[str, str]], comment: str | None) -> tuple[str, str]:
    """The dialect whose complaint is worth reporting: one that splits all lines alike, and most cells into numbers."""

    def score(pair: tuple[str, str]) -> tuple[bool, int]:
        try:
            lines = [line.cells for line in split(text, pair[0], comment) if line.cells]
        except InputError:
            return False, -(10**9)
        if len(text) >= _SAMPLE:
            lines = lines[:-1]  # cut off within
        widths = {len(cells) for cells in lines}
        cells = [ungrouped(cell) if pair == (";", ",") else cell for line in lines for cell in line]
        numbers = sum(1 if kind(cell, pair[1]) == "number" else -1 for cell in cells)
        return len(widths) == 1 and widths != {1}, numbers if cells else -(10**9)

    return max(dialects, key=score)


def _only_meaning(
    text: str, readings: dict[tuple[str, str], Reading], free: tuple[bool, bool], keep_index: bool
) -> Reading:
    readings = _without_unsplit_text(readings)
    comma = readings.get((",", "."))
    codes = comma is not None and not keep_index and _are_codes(comma)
    if codes:
        # Rows of codes such as 1,0 and 0,1 are two columns: nobody's decimals are all 0,1 and 1,0.
        readings = {p: r for p, r in readings.items() if p[1] == "." or r.values.shape[1] > 1}
    first_pair, first = next(iter(readings.items()))
    for pair, other in readings.items():
        if not first.agrees(other):
            raise InputError(
                f"the numbers can be read in two ways, with {_describe(first_pair)} as {_shape(first)} or with "
                f"{_describe(pair)} as {_shape(other)}; pass delimiter= and decimal= to say which"
            )
    if first.thousands and free[1]:
        raise InputError(
            "every comma is followed by three digits: decimal mark or thousands separator? Pass decimal=',' if "
            "it is the decimal mark; otherwise remove the separators"
        )
    if all(free) and comma is not None and not codes and _could_be_decimals(text, comma):
        raise InputError(
            "whole numbers separated by commas and no header: 1,5 could be two numbers or one with a decimal "
            "comma. Pass delimiter=',' if the comma separates them, or decimal=',' if it is the decimal mark"
        )
    return first


def _without_unsplit_text(readings: dict[tuple[str, str], Reading]) -> dict[tuple[str, str], Reading]:
    """Drop readings whose names or header contain a delimiter by which another reading succeeds."""

    def unsplit(pair: tuple[str, str], reading: Reading) -> bool:
        header = reading.columns if reading.has_header else ()
        others = {p[0] for p in readings if p[0] not in (pair[0], " ")}
        return any(mark in cell for cell in (*header, *(reading.names or ())) for mark in others)

    kept = {pair: reading for pair, reading in readings.items() if not unsplit(pair, reading)}
    return kept or readings


def _are_codes(reading: Reading) -> bool:
    """Whether it is several bare columns of -1, 0 and 1."""
    bare = reading.names is None and reading.values.shape[1] > 1
    return bare and bool(np.isin(reading.values, (-1.0, 0.0, 1.0)).all())


def _could_be_decimals(text: str, reading: Reading) -> bool:
    """Two headerless columns of integers, the second unsigned: perhaps one column with decimal commas.

    More columns cannot be: nothing writes decimal commas between delimiting commas without quotes.
    """
    if reading.has_header or not reading.all_integers or reading.names is not None or reading.values.shape[1] != 2:
        return False
    return bool(re.search(r"\d,\d", text)) and bool((reading.values[:, 1] >= 0).all())


def _describe(pair: tuple[str, str]) -> str:
    return f"delimiter {_NAMES.get(pair[0], repr(pair[0]))} and decimal {pair[1]!r}"


def _shape(reading: Reading) -> str:
    n, d = reading.values.shape
    labels = ", the first column naming the rows" if reading.names is not None else ""
    shown = ", ".join(f"{value:g}" for value in reading.values[0][:6])
    return f"{n} rows of {d} (first row {shown}{labels})"
