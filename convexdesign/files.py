"""Input files: regular ones of limited size, read whole or mapped; whatever else a path may be is refused with the reason.

A device or a pipe may never end, a folder cannot be read, and a file may claim to hold more than it does.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any

from convexdesign.errors import InputError

__all__ = [
    "MAX_TEXT_BYTES",
    "check_nesting",
    "check_regular",
    "descriptor_of",
    "is_file",
    "is_folder",
    "open_array",
    "open_text",
    "read_regular",
    "short",
    "write_text",
]

# What stands for files that are open already: to open them again would begin anew, over what is in them.
STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
OPEN_FILE = re.compile(r"/dev/stdout|/dev/stderr|(?:/dev/fd|/proc/self/fd)/(\d{1,6})")

# Parsing text costs about a second and 50 MB of memory per million numbers; NPY costs neither.
MAX_TEXT_BYTES = 64 * 2**20
# Lists in lists in lists: three for arms with several responses; a document nested deeper means nothing to anybody.
DEEPEST = 20


def short(path: Any) -> str:
    """A path for a message: as it is, without characters that no terminal should see, and not endless."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(path))
    return text if len(text) <= 300 else text[:140] + "..." + text[-140:]


def is_file(path: str | PathLike[str]) -> bool:
    """Whether there is a regular file; False too for what can be no path (such as one with a NUL)."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: str | PathLike[str]) -> bool:
    """Whether there is a folder; False too for what can be no path."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def check_regular(path: Path, what: str, most: int | None) -> None:
    """InputError unless the path is a regular file of at most so many bytes; what: the kind of file to give instead."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise InputError(f"{short(path)} does not exist; check the spelling and the folder") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{short(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{short(path)} is a folder; give the path of {what}")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(
            f"{short(path)} is no regular file but a device, pipe or socket; save it as {what} and give that"
        )
    if most is not None and found.st_size > most:
        raise InputError(_too_large(path, found.st_size, most))


def read_regular(path: Path, what: str) -> bytes:
    """The content of a regular file of text that is not too large; InputError otherwise."""
    check_regular(path, what, MAX_TEXT_BYTES)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise InputError(f"{short(path)} cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_TEXT_BYTES:  # some files of the system say that they are empty
        raise InputError(_too_large(path, len(data), MAX_TEXT_BYTES))
    return data


def _too_large(path: Path, size: int, most: int) -> str:
    return (
        f"{short(path)} has {size / 2**20:.0f} MiB; text is read up to {most // 2**20} MiB. Save the numbers as NPY "
        "(numpy.save) and give that file instead: it is read without copying"
    )


def open_array(path: str | PathLike[str]) -> Any:
    """The array of an NPY file as a memory map, of whatever shape and type; InputError where it is none."""
    import numpy as np

    path = Path(path)
    check_regular(path, "an NPY file", None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers as Python 2 wrote them
            return np.lib.format.open_memmap(str(path), mode="r")
    except Exception as error:  # a broken header makes NumPy and the parser in it fail in many ways
        reason = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
        raise InputError(
            f"{short(path)} cannot be read as NPY ({reason}); save a plain numeric array with numpy.save"
        ) from None


def check_nesting(data: Any, path: Path) -> None:
    """InputError where lists and tables are nested deeper than any input is; without recursion."""
    layer, depth = [data], 0
    while layer:
        depth += 1
        if depth > DEEPEST:
            raise InputError(f"{short(path)} is nested more than {DEEPEST} levels deep; no field of it is")
        layer = [
            part
            for value in layer
            if isinstance(value, (dict, list))
            for part in (value.values() if isinstance(value, dict) else value)
            if isinstance(part, (dict, list))
        ]


def descriptor_of(path: Path) -> int | None:
    """The number of the open file that a path stands for, as /dev/stdout and /dev/fd/3 do; None for all other paths."""
    found = OPEN_FILE.fullmatch(str(path))
    if found is None:
        return None
    return STANDARD.get(found[0]) or int(found[1] or 0)


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """A file of text, to be written anew; one that is open already goes on from where it stands."""
    number = descriptor_of(path)
    if number in (1, 2):  # after what was printed already
        yield sys.stdout if number == 1 else sys.stderr
        return
    with (
        path.open("w", encoding="utf-8", newline="")
        if number is None
        else os.fdopen(os.dup(number), "w", encoding="utf-8", newline="")
    ) as file:
        yield file


def write_text(path: Path, text: str) -> None:
    """Write a file of text; InputError where it cannot be."""
    try:
        with open_text(path) as file:
            file.write(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{short(path)}: cannot be written: {reason}; choose another place") from None
