"""What goes where: results to standard output, everything said about them to standard error."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from convexdesign.decimals import at_least, at_most

__all__ = [
    "at_least",
    "at_most",
    "counted",
    "print_json",
    "print_line",
    "print_table",
    "printable",
    "respond",
    "say",
    "terminal_width",
    "watched",
    "window_width",
    "wrapped",
]

# Tables wider than their window, whose numbers and names are never cut, are printed as they are.
ENDLESS = 4000
# How wide tables are that nobody's window limits.
FILE_WIDTH = 120
# A window narrower than this is none to wrap for.
NARROWEST = 20
# Text in a table is broken into pieces no shorter than this.
LEAST_TEXT = 8
# A label at the beginning of a line, padded to a column: "gap              ".
LABEL = re.compile(r"\S[^ ]*(?: \S+){0,3} {2,}|\s+")
# What is left as it is in texts of several lines.
LINES = "\n\t"


def printable(text: str, keep: str = "") -> str:
    """The text with every character that does something to a terminal, but those in `keep`, as its escape: \\x1b.

    Names come from files of other people: printed raw, one could hide lines, or write what was never said.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def say(message: str) -> None:
    """A message to the person running the command, on standard error; whole words a line where that is a terminal."""
    text = printable(f"convexdesign: {message}", keep=LINES)
    print(wrapped(text, terminal_width(sys.stderr)), file=sys.stderr)


def print_line(text: str = "") -> None:
    """One line of a result, on standard output, in a terminal wrapped between words; characters the terminal's encoding
    lacks become "?"."""
    _print(wrapped(printable(text, keep=LINES), terminal_width(sys.stdout)))


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))


def print_json(document: Mapping[str, Any]) -> None:
    """The one JSON document of a command run with --json. Infinities and nan become null: JSON has none."""
    text = json.dumps(finite(document), ensure_ascii=not utf8(), allow_nan=False)
    # JSON leaves the controls above 127 as they are; its own way to write them means the same.
    print(text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))


def respond(as_json: bool, document: Mapping[str, Any], show: Callable[[], None]) -> None:
    """The result of a command: as its document with --json, else as it is shown to a reader."""
    if as_json:
        print_json(document)
    else:
        show()


@contextmanager
def watched(label: str, wanted: bool | None, at_most: float | None = None) -> Iterator[None]:
    """How far the work inside is, on standard error: where it is wanted, or a terminal and nothing was said."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield
        return
    from convexdesign.showing import show_progress

    with show_progress(label, at_most):
        yield


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the plural where that is right."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> None:
    """A table on standard output; columns named in `left` are text, all others align as numbers.

    In a narrow window headings are broken between words, and the last column wraps, if it is text; where that is not enough
    all text goes on in the next line of its cell. Nothing is cut, and numbers are never broken, even where they need more room,
    nor the texts of columns in `whole`: names to be typed again.
    """
    from rich.console import Console
    from rich.measure import Measurement

    cells = [[printable(cell) for cell in row] for row in rows]
    console = Console(file=sys.stdout, highlight=False, width=window_width())

    def fits(table: Any) -> bool:
        return Measurement.get(console, console.options.update_width(ENDLESS), table).minimum <= console.width

    last: tuple[str, ...] = (columns[-1],) if columns[-1] in left else ()
    # From no heading broken to every one that has two words; then names too.
    ways = [(most, last) for most in (ENDLESS, 18, 14, 10, 1)]
    ways += [(most, tuple(name for name in left if name not in whole)) for most in (18, 10, 1)]
    for most, wrapping in ways:
        heads = [textwrap.fill(name, most, break_long_words=False, break_on_hyphens=False) for name in columns]
        table = _table(columns, heads, cells, left, wrapping)
        if fits(table) or (wrapping != last and _least_width(columns, heads, cells, wrapping) <= console.width):
            break
    else:
        console.width = max(console.width, _least_width(columns, heads, cells, wrapping))
    with console.capture() as capture:  # rich would answer a closed pipe by ending the process
        console.print(table)
    _print("\n".join(line.rstrip() for line in capture.get().split("\n")))


def _width(head: str, column: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(cell_len(text) for text in (*head.split("\n"), *column))


def _least_width(
    columns: Sequence[str], heads: Sequence[str], cells: Sequence[Sequence[str]], wrapping: Sequence[str]
) -> int:
    """How wide a table is at least whose texts are broken anywhere."""
    widths = (_width(head, (row[j] for row in cells)) for j, head in enumerate(heads))
    return sum(2 + (min(width, LEAST_TEXT) if name in wrapping else width) for name, width in zip(columns, widths))


def _table(
    columns: Sequence[str],
    heads: Sequence[str],
    cells: Sequence[Sequence[str]],
    left: Sequence[str],
    wrapping: Sequence[str],
) -> Any:
    """The table under these headings, in rich's terms."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD if utf8() else box.ASCII2,
        header_style="bold",
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for j, (name, head) in enumerate(zip(columns, heads)):
        wraps = name in wrapping
        width = _width(head, (row[j] for row in cells))
        # Without a least width rich cuts what does not wrap.
        table.add_column(
            head,
            vertical="bottom",
            justify="left" if name in left else "right",
            no_wrap=not wraps,
            overflow="fold",
            min_width=min(width, LEAST_TEXT) if wraps else width,
        )
    for row in cells:
        # Text, not str: names of arms may hold square brackets, which rich would read as markup.
        table.add_row(*map(Text, row))
    return table


def window_width() -> int:
    """How wide tables may be: as the terminal that they are read in, also behind a pipe; for files as `FILE_WIDTH`.

    The variable COLUMNS, where it is set, counts before all.
    """
    return width_told() or terminal_width(sys.stdout) or terminal_width(sys.stderr) or FILE_WIDTH


def terminal_width(stream: Any) -> int | None:
    """The width of the terminal that a stream is shown in, as COLUMNS or the terminal says; None where there is none."""
    try:
        shown = stream.isatty()
        return (width_told() or os.get_terminal_size(stream.fileno()).columns or None) if shown else None
    except (OSError, ValueError, AttributeError):
        return None


def width_told() -> int | None:
    """What the variable COLUMNS says, if anything."""
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isdecimal() and 0 < int(told) < ENDLESS else None


def wrapped(text: str, width: int | None) -> str:
    """The text with lines no longer than the width, broken between words; what follows a label hangs behind it.

    >>> print(wrapped("gap              9.9e-07: certified, the tolerance is 1.0e-06", 44))
    gap              9.9e-07: certified, the
                     tolerance is 1.0e-06
    """
    if width is None or width < NARROWEST:
        return text
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    label = LABEL.match(line)
    hang = " " * (label.end() if label is not None and label.end() < width // 2 else 2)
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": hang}
    return textwrap.wrap(line, width, drop_whitespace=True, replace_whitespace=False, **how)


def finite(value: Any) -> Any:
    """The value with NumPy arrays and numbers as plain ones, and None for what JSON cannot hold."""
    if isinstance(value, Mapping):
        return {str(key): finite(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def utf8() -> bool:
    """Whether standard output takes any character."""
    return (sys.stdout.encoding or "utf-8").lower().replace("-", "").startswith("utf")
