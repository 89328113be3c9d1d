"""The experiments in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from convexdesign.arguments import to_path
from convexdesign.errors import ConvexDesignError, InputError
from convexdesign.experiment.experiment import Experiment
from convexdesign.experiment.status import ExperimentStatus
from convexdesign.experiment.store import APPLICATION_ID

__all__ = ["ExperimentEntry", "experiments_in"]

# Where SQLite's header has the number of the program that a file belongs to.
NUMBER_AT, NUMBER_BYTES = 68, 4


@dataclass(frozen=True)
class ExperimentEntry:
    """A store that was found: where it stands, when its last event was written, and its last note ("" for none).

    status is None where the store cannot be read, and trouble says why.
    """

    path: Path
    status: ExperimentStatus | None
    last_event: str = ""
    note: str = ""
    trouble: str = ""


def experiments_in(folder: str | os.PathLike[str]) -> list[ExperimentEntry]:
    """All stores of experiments that lie in a folder (not below it), by name. They are only read.

    Raises InputError where there is no such folder.
    """
    place = to_path(folder, "folder")
    if not place.is_dir():
        raise InputError(f"{place}: there is no such folder; check the spelling")
    return [_entry(path) for path in sorted(place.iterdir()) if _is_store(path)]


def _is_store(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(NUMBER_AT + NUMBER_BYTES)
    except OSError:
        return False
    return head[NUMBER_AT:] == APPLICATION_ID.to_bytes(NUMBER_BYTES, "big")


def _entry(path: Path) -> ExperimentEntry:
    try:
        with Experiment.open(path, read_only=True) as x:
            events, notes = x.events(), x.notes()
            return ExperimentEntry(path, x.status(), events[-1].time, notes[-1][1] if notes else "")
    except ConvexDesignError as error:
        return ExperimentEntry(path, None, trouble=str(error))
