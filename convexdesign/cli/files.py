"""Files a command writes: checked before the work that fills them, there when they are complete."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING, Any

from convexdesign.errors import InputError
from convexdesign.files import descriptor_of, open_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["STANDARD_OUTPUT", "check_picture", "check_writable", "save_picture", "save_plot", "write_rows", "writing"]

PICTURES = (".png", ".svg", ".pdf")


# What stands for standard output where that is where a file goes without the option.
STANDARD_OUTPUT = Path("-")


def check_writable(path: Path | None, option: str, or_standard_output: bool = False) -> None:
    """InputError where the folder is missing or the path is a folder, so that no result is lost at the end.

    or_standard_output: - is standard output there; elsewhere it is refused, as a file of this name is nobody's wish.
    """
    if path is None or descriptor_of(path) is not None:
        return
    if path == STANDARD_OUTPUT:
        if or_standard_output:
            return
        raise InputError(f"{option} - is standard output, where this does not go; name a file")
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; name a file")
    if not path.resolve().parent.is_dir():
        raise InputError(f"{option} {path}: the folder {path.parent} does not exist; create it first")


@contextmanager
def writing(path: Path | None) -> Iterator[IO[str]]:
    """A file of text that appears under its name, or replaces what was there, when it is complete; None, -: standard output.

    Devices, pipes and files that are open already (/dev/stdout, /dev/fd/3) are written to as they are, from where they stand.
    """
    if path is None or path == STANDARD_OUTPUT:
        yield sys.stdout
        return
    if descriptor_of(path) is not None or (path.exists() and not path.is_file()):
        with open_text(path) as file:
            yield file
        return
    target = path.resolve()
    draft = target.with_name(f".convexdesign-{token_hex(8)}")
    try:
        with draft.open("x", encoding="utf-8", newline="") as file:
            yield file
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def write_rows(file: IO[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows under a header, as CSV."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def check_picture(path: Path | None, option: str = "--plot") -> None:
    """As `check_writable`, and for the ending and matplotlib too."""
    if path is None:
        return
    check_writable(path, option)
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"{option} {path}: the ending must be one of {', '.join(PICTURES)}")
    from convexdesign.plotting import require_matplotlib

    require_matplotlib()


def save_picture(ax: Axes, path: Path) -> None:
    """Write the whole figure that the axes belong to, in the format of the path's ending."""
    figure: Any = ax.figure
    figure.savefig(path)


def save_plot(result: Any, path: Path | None) -> None:
    """The picture that a result draws of itself, where one is wanted."""
    if path is not None:
        from convexdesign.plotting import new_axes

        save_picture(result.plot(ax=new_axes()), path)
