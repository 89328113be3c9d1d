"""The experiments in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from convexdesign.arguments import to_path
from convexdesign.errors import ConvexDesignError, InputError, StoreError
from convexdesign.experiment.experiment import Experiment
from convexdesign.experiment.journal import whoever
from convexdesign.experiment.status import ExperimentStatus
from convexdesign.experiment.store import APPLICATION_ID

__all__ = ["ExperimentEntry", "experiments_in"]

# Where SQLite's header has the number of the program that a file belongs to.
NUMBER_AT, NUMBER_BYTES = 68, 4
# What may lie beside a store.
BESIDE = ("-journal", "-snapshot", "-wal", "-shm")


@dataclass(frozen=True)
class ExperimentEntry:
    """A store that was found.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    status : ExperimentStatus or None
        Where it stands; None where the store cannot be read.
    last_event : str
        When its last event was written.
    note : str
        Its last note, "" for none.
    trouble : str
        Why it cannot be read.
    answer : tuple of str or None
        What the answer's items are called; None before the end.
    """

    path: Path
    status: ExperimentStatus | None
    last_event: str = ""
    note: str = ""
    trouble: str = ""
    answer: tuple[str, ...] | None = None


def experiments_in(folder: str | os.PathLike[str]) -> list[ExperimentEntry]:
    """All stores of experiments that lie in a folder (not below it), by name. They are only read.

    Files that may not be read, and so may be stores, are among them, with what is in the way.

    Parameters
    ----------
    folder : str or os.PathLike
        Where to look.

    Returns
    -------
    list of ExperimentEntry
        One a store.

    Raises
    ------
    InputError
        Where there is no such folder.
    StoreError
        Where it may not be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import convexdesign as cd
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> algorithm = cd.identification.Rage([[1, 0], [0, 1]], variance_bounds=(1.0, 2.0))
    >>> cd.Experiment.create(folder / "study.db", algorithm).close()
    >>> [entry.path.name for entry in cd.experiment.experiments_in(folder)]
    ['study.db']
    """
    place = to_path(folder, "folder")
    try:
        if place.is_file():
            raise InputError(f"{place} is a file; give the folder that it lies in")
        if not place.is_dir():
            raise InputError(f"{place}: there is no such folder; check the spelling")
        files = sorted(place.iterdir())
    except PermissionError:
        raise StoreError(f"you may not read the folder {place}. {whoever(place)} must give you permission") from None
    return [_entry(path) for path in files if _may_be_store(path)]


def _may_be_store(path: Path) -> bool:
    """Whether a file is a store, or may be one that we may not read."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(NUMBER_AT + NUMBER_BYTES)
    except PermissionError:
        return not path.name.endswith(BESIDE)
    except OSError:
        return False
    return head[NUMBER_AT:] == APPLICATION_ID.to_bytes(NUMBER_BYTES, "big")


def _entry(path: Path) -> ExperimentEntry:
    try:
        with Experiment.open(path, read_only=True) as x:
            events, notes, state = x.events(), x.notes(), x.status()
            answer = None if state.answer is None else tuple(x.item_labels[i] for i in state.answer)
            return ExperimentEntry(path, state, events[-1].time, notes[-1][1] if notes else "", answer=answer)
    except ConvexDesignError as error:
        return ExperimentEntry(path, None, trouble=str(error))
    except Exception as error:  # the others are listed all the same
        return ExperimentEntry(path, None, trouble=f"{type(error).__name__}: {error}")
