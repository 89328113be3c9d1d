"""`convexdesign experiment note` and `list`: what people wrote down, and which experiments there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.cli.arguments import AsJson, argument, option
from convexdesign.cli.experiment.opening import Store, answer_text, open_store
from convexdesign.cli.output import print_line, print_table, printable, respond

if TYPE_CHECKING:
    from convexdesign.experiment import ExperimentEntry

__all__ = ["list_", "note"]


def note(
    store: Store,
    text: Annotated[str | None, option("--text", "-t", metavar="TEXT", help="Write this down.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write something down in the log, or show all notes so far.

    Notes are for people; nothing depends on them. Without --text the file is only read.
    """
    with open_store(store, read_only=text is None) as x:
        if text is not None:
            x.note(text)
        notes = x.notes()

    def show() -> None:
        for time, written in notes:
            print_line(f"{time}  {written}")

    respond(as_json, {"notes": [{"time": time, "note": written} for time, written in notes]}, show)


def list_(
    folder: Annotated[Path, argument("DIR", "The folder that they lie in.")],
    as_json: AsJson = False,
) -> None:
    """List the experiments in a folder: what each waits for, and its last note. Reads the files only."""
    from convexdesign.experiment import experiments_in

    found = experiments_in(folder)

    def show() -> None:
        if not found:
            print_line("no experiments")
            return
        print_table(
            COLUMNS, [_cells(entry) for entry in found], left=("file", "algorithm", "last event", "waits for", "note")
        )

    respond(as_json, {"experiments": [_document(entry) for entry in found]}, show)


COLUMNS = ("file", "algorithm", "rounds", "left", "measurements", "last event", "waits for", "note")


def _cells(entry: ExperimentEntry) -> tuple[str, ...]:
    state, name = entry.status, printable(entry.path.name)
    if state is None:
        return (name, "", "", "", "", "", f"cannot be read: {entry.trouble}", "")
    left = str(len(state.survivors))
    waits = state.phase.value
    if entry.answer is not None:
        waits = f"nothing: the answer is {answer_text(entry.answer, state.answer_status)}"
    last = entry.last_event[:16].replace("T", " ")
    return (
        name,
        state.algorithm,
        str(state.rounds),
        left,
        f"{state.pulls_told:,}",
        last,
        waits + ("; VOID" if state.void else ""),
        entry.note,
    )


def _document(entry: ExperimentEntry) -> dict[str, Any]:
    state = entry.status
    if state is None:
        return {"store": str(entry.path), "trouble": entry.trouble}
    return {
        "store": str(entry.path),
        "algorithm": state.algorithm,
        "phase": state.phase.name,
        "waits_for": state.phase.value,
        "answer": entry.answer,
        "answer_status": state.answer_status,
        "void": state.void,
        "rounds": state.rounds,
        "survivors": len(state.survivors),
        "pulls_told": state.pulls_told,
        "last_event": entry.last_event,
        "note": entry.note,
    }
