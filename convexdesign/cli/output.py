"""What goes where: results to standard output, everything said about them to standard error."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    "window_width",
]

ENDLESS = 4000
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
    """A message to the person running the command, on standard error."""
    print(f"convexdesign: {printable(message, keep=LINES)}", file=sys.stderr)


def print_line(text: str = "") -> None:
    """One line of a result, on standard output; characters the terminal's encoding lacks become "?"."""
    _print(printable(text, keep=LINES))


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


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the plural where that is right."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: Sequence[str] = ()) -> None:
    """A table on standard output; columns named in `left` are text, all others align as numbers.

    In a narrow window the last column wraps, if it is text; numbers and names are never cut.
    """
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD if utf8() else box.ASCII2,
        header_style="bold",
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for name in columns:
        wraps = name == columns[-1] and name in left
        table.add_column(name, justify="left" if name in left else "right", no_wrap=not wraps)
    for row in rows:
        # Text, not str: names of arms may hold square brackets, which rich would read as markup.
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(file=sys.stdout, highlight=False, width=window_width())
    if Measurement.get(console, console.options, table).minimum > console.width:
        console.width = ENDLESS
    with console.capture() as capture:  # rich would answer a closed pipe by ending the process
        console.print(table)
    _print(capture.get())


def window_width() -> int:
    """The width of the terminal in characters; endless for files and pipes, which nobody's window limits."""
    if not sys.stdout.isatty():
        return ENDLESS
    return shutil.get_terminal_size().columns


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
