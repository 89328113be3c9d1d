"""What goes where: results to standard output, everything said about them to standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["print_json", "print_line", "print_table", "say"]


def say(message: str) -> None:
    """A message to the person running the command, on standard error."""
    print(f"convexdesign: {message}", file=sys.stderr)


def print_line(text: str = "") -> None:
    """One line of a result, on standard output; characters the terminal's encoding lacks become "?"."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))


def print_json(document: Mapping[str, Any]) -> None:
    """The one JSON document of a command run with --json. Infinities and nan become null: JSON has none."""
    print(json.dumps(finite(document), ensure_ascii=not utf8(), allow_nan=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: Sequence[str] = ()) -> None:
    """A table on standard output; columns named in `left` are text, all others align as numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        # Nobody's window limits a file or a pipe: never cut a number there.
        console = Console(file=sys.stdout, highlight=False, width=4000)
    table = Table(box=box.SIMPLE_HEAD if utf8() else box.ASCII2, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right", overflow="fold")
    for row in rows:
        # Text, not str: names of arms may hold square brackets, which rich would read as markup.
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


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
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
