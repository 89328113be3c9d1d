"""`convexdesign experiment ask`, `status` and `result`: what to measure next, where it stands, and the answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convexdesign.cli.arguments import AsJson, option
from convexdesign.cli.exits import ExitCode
from convexdesign.cli.experiment.opening import (
    Store,
    answer_text,
    labels,
    listed,
    open_store,
    show_state,
    state_document,
)
from convexdesign.cli.experiment.wording import worded
from convexdesign.cli.files import STANDARD_OUTPUT, check_writable, write_rows, writing
from convexdesign.cli.output import counted, print_json, print_line, printable, respond, say

if TYPE_CHECKING:
    from convexdesign.experiment import Experiment, ExperimentStatus
    from convexdesign.identification import Result

__all__ = ["ask", "result", "status"]

COLUMNS = ("batch", "arm", "pulls", "outstanding")


def ask(
    store: Store,
    output: Annotated[
        Path | None, option("--output", "-o", metavar="CSV", help="Write the batch there; - is standard output.")
    ] = None,
    shares: Annotated[
        bool, option("--shares", help="A column more, share: the part of the traffic that each arm is to get.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the batch to measure next, as CSV.

    Columns: batch, arm, pulls (how often to measure it) and outstanding (results still to come). A splitter that is set to
    the shares and runs until about as many results are in is as good: `tell --as-arrived`. The batch stays the same
    until all its results are told; nothing but the header is printed once there is a result.
    """
    from convexdesign.experiment import Phase

    check_writable(output, "--output", or_standard_output=True)
    with open_store(store) as x:
        if x.done:
            say("there is a result, and nothing more to measure: see `convexdesign experiment result`")
        rows = [] if x.status().phase is Phase.DONE else _rows(x)
    columns: tuple[str, ...] = COLUMNS
    if shares:
        total = sum(row[2] for row in rows)
        columns, rows = (*COLUMNS, "share"), [(*row, row[2] / total) for row in rows]
    if as_json:
        print_json(_batch_document(rows))
    elif output is not None and output != STANDARD_OUTPUT:
        with writing(output) as file:
            write_rows(file, columns, rows)
        say(f"batch {rows[0][0]} written to {output}" if rows else f"an empty batch written to {output}")
    else:
        if sys.stdout.isatty():  # for eyes; files and pipes get names as they are
            rows = [(batch, printable(arm), *rest) for batch, arm, *rest in rows]
        write_rows(sys.stdout, columns, rows)


def _rows(x: Experiment) -> list[tuple[Any, ...]]:
    batch, outstanding, called = x.ask(), x.outstanding(), labels(x.arm_names, x.n_arms)
    return [(batch.id, called[i], int(batch.counts[i]), int(outstanding[i])) for i in batch.counts.nonzero()[0]]


def _batch_document(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    _, arms, pulls, outstanding, *shares = zip(*rows) if rows else ((), (), (), ())
    return {
        "done": not rows,
        "batch": rows[0][0] if rows else None,
        "total": sum(pulls),
        "arms": arms,
        "pulls": pulls,
        "outstanding": outstanding,
        **({"shares": shares[0]} if shares else {}),
    }


def status(store: Store, as_json: AsJson = False) -> None:
    """Show rounds, survivors, measurements and progress. Reads the file only."""
    with open_store(store, read_only=True) as x:
        document = state_document(x)
    respond(as_json, document, lambda: show_state(document))


def result(store: Store, as_json: AsJson = False) -> None:
    """Print the answer and what it is worth. Asks for nothing, and reads the file only.

    Exits with 0 when there is one, with 3 before the end, when --max-samples came first, and when the data contradict what
    the answer rests on (void).
    """
    with open_store(store, read_only=True) as x:
        found, state = x.result_if_done(), x.status()
        if found is None:
            if as_json:
                waits = {name: getattr(state, name) for name in ("batch", "outstanding")}
                print_json({"done": False, "waits_for": state.phase.value, **waits})
            batch = "the next batch is due; ask for it"
            if state.batch is not None:
                batch = f"batch {state.batch} waits for {counted(state.outstanding, 'measurement')}"
            say(f"not done: {batch}")
            raise typer.Exit(ExitCode.NOT_CERTIFIED)
        document = _document(x, found, state)
    respond(as_json, document, lambda: _show(document))
    worthless = document["status"] == "UNDECIDED" or document["void"]
    raise typer.Exit(ExitCode.NOT_CERTIFIED if worthless else ExitCode.CERTIFIED)


# What a status means where the guarantee is void, whatever it says otherwise.
VOID = "void: the data contradict what the answer rests on, so that nothing is promised of it"


def _document(x: Experiment, found: Result, state: ExperimentStatus) -> dict[str, Any]:
    called = labels(x.item_names, x.n_items)
    return {
        "done": True,
        "status": found.status.name,
        "meaning": VOID if state.void else found.status.value,
        **{name: [called[i] for i in getattr(found, name)] for name in ("answer", "survivors", "above", "below")},
        "samples": found.samples,
        "pulls_asked": state.pulls_asked,
        "burn_in_samples": found.burn_in_samples,
        "rounds": found.rounds,
        "burn_in_rounds": state.rounds - found.rounds,
        **{name: getattr(found, name) for name in ("delta", "epsilon", "p_value")},
        "guarantee": worded(state.guarantee),
        "assumption": found.assumption,
        "void": state.void,
    }


def _show(document: dict[str, Any]) -> None:
    print_line(f"{'answer':<14} {answer_text(document['answer'], document['status'])}")
    print_line(f"{'status':<14} {document['status']}: {document['meaning']}")
    if document["p_value"] is not None:
        print_line(f"{'p-value':<14} {document['p_value']:.3g}, of the answer being wrong")
    print_line(f"{'survivors':<14} {listed(document['survivors']) or 'none'}")
    # As many rounds as `status` and `check` count: those of the burn-in too.
    burn_in = ""
    if document["burn_in_samples"]:
        spent = counted(document["burn_in_samples"], "measurement")
        burn_in = f", of them the burn-in {spent} in {counted(document['burn_in_rounds'], 'round')}"
    rounds = counted(document["rounds"] + document["burn_in_rounds"], "round")
    print_line(f"{'measurements':<14} {document['samples']:,} in {rounds}{burn_in}")
    print_line(f"{'guarantee':<14} {document['guarantee']}")
