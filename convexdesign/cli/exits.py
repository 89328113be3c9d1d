"""Exit codes: what a script that calls the command line can rely on."""

from enum import IntEnum
from typing import NoReturn

import typer

__all__ = ["ExitCode", "end"]


class ExitCode(IntEnum):
    """0 is success: for `solve` and `verify` a certificate within the tolerance, nothing less."""

    CERTIFIED = 0
    BUG = 1
    BAD_INPUT = 2
    NOT_CERTIFIED = 3
    UNIDENTIFIABLE = 4
    # A result told again with other content, or the file of an experiment that is not what was written.
    CONFLICT = 5
    INTERRUPTED = 130
    # The reader of our output went away, as in `convexdesign problems | head -1`.
    PIPE_CLOSED = 141


def end(certified: bool) -> NoReturn:
    """End a command whose work is done: with success for what was certified alone."""
    raise typer.Exit(ExitCode.CERTIFIED if certified else ExitCode.NOT_CERTIFIED)
