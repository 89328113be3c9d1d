"""What errors of tables advise, in the words of whoever asked: arguments in Python, options on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from convexdesign.errors import InputError

__all__ = ["as_options", "options_advised"]

SWITCH = re.compile(r"\b(header|names)=(True|False)")
VALUE = re.compile(r"\b(delimiter|decimal|encoding)=('[^']*')")
BARE = re.compile(r"\b(delimiter|decimal|encoding)=(?!=)")


def as_options(message: str) -> str:
    """names=True as --names, names=False as --no-names, decimal=',' as --decimal ','.

    >>> as_options("pass names=True if it names the rows, or decimal=',' (and header= otherwise)")
    "pass --names if it names the rows, or --decimal ',' (and --header or --no-header otherwise)"
    """
    message = SWITCH.sub(lambda found: f"--{'' if found[2] == 'True' else 'no-'}{found[1]}", message)
    message = BARE.sub(r"--\1", VALUE.sub(r"--\1 \2", message))
    return re.sub(r"\b(header|names)=(?!=)", r"--\1 or --no-\1", message)


@contextmanager
def options_advised() -> Iterator[None]:
    """Errors of what is read inside advise options."""
    try:
        yield
    except InputError as error:
        raise InputError(as_options(str(error))) from None
