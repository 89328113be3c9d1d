"""The store that a command works on, and what its arms and items are called on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.experiment import Experiment

__all__ = ["NewStore", "Reason", "Store", "arm_index", "labels", "open_store", "some"]

HELP = "The file of the experiment; CONVEXDESIGN_STORE of the environment if left out."
Store = Annotated[
    Path, typer.Option("--store", metavar="FILE", envvar="CONVEXDESIGN_STORE", help=HELP, show_default=False)
]
NewStore = Annotated[
    Path,
    typer.Option(
        "--store", metavar="FILE", envvar="CONVEXDESIGN_STORE", help="The file to be written.", show_default=False
    ),
]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the log.", show_default=False)]


def open_store(path: Path) -> Experiment:
    """The experiment in a file."""
    from convexdesign.experiment import Experiment

    return Experiment.open(path)


def labels(names: Sequence[str] | None, n: int) -> list[str]:
    """What arms or items are called: by name where names are unique, else by index from 0; never by both."""
    if names is not None and len(set(names)) == len(names):
        return [str(name) for name in names]
    return [str(i) for i in range(n)]


def arm_index(x: Experiment, label: str, where: str = "") -> int:
    """The index of an arm called so; InputError, with the place, where there is none."""
    called = labels(x.arm_names, x.n_arms)
    if label not in called:
        raise InputError(f"{where}arm {label!r} is unknown; the arms are {some(called)}")
    return called.index(label)


def some(called: Sequence[str]) -> str:
    """The first few names, for messages; in quotes where blanks or control characters are a part of one."""
    plain = all(name.isprintable() and name == name.strip() for name in called)
    return ", ".join(name if plain else repr(name) for name in called[:8]) + (", ..." if len(called) > 8 else "")
