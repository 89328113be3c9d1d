"""`convexdesign experiment result`: the answer, once there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.exits import ExitCode
from convexdesign.cli.experiment.opening import Store, labels, open_store

if TYPE_CHECKING:
    from convexdesign.experiment import Experiment, Standing
    from convexdesign.identification import Result

__all__ = ["result"]


def result(store: Store, as_json: AsJson = False) -> None:
    """Print the answer and what it is worth. Asks for nothing.

    Exits with 0 when there is one, with 3 before the end, when --max-samples came first, and when the data contradict what
    the answer rests on (void).
    """
    from convexdesign.cli.output import print_json, say
    from convexdesign.cli.report import counted

    with open_store(store) as x:
        found, state = x.result_if_done(), x.status()
        if found is None:
            waits_for = state.phase.value
            if as_json:
                print_json(
                    {"done": False, "waits_for": waits_for, "batch": state.batch, "outstanding": state.outstanding}
                )
            batch = "the next batch is due; ask for it"
            if state.batch is not None:
                batch = f"batch {state.batch} waits for {counted(state.outstanding, 'measurement')}"
            say(f"not done: {batch}")
            raise typer.Exit(ExitCode.NOT_CERTIFIED)
        document = _document(x, found, state)
    if as_json:
        print_json(document)
    else:
        _show(document)
    worthless = document["status"] == "UNDECIDED" or document["void"]
    raise typer.Exit(ExitCode.NOT_CERTIFIED if worthless else ExitCode.CERTIFIED)


# What a status means where the guarantee is void, whatever it says otherwise.
VOID = "void: the data contradict what the answer rests on, so that nothing is promised of it"


def _document(x: Experiment, found: Result, state: Standing) -> dict[str, Any]:
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
        "delta": found.delta,
        "epsilon": found.epsilon,
        "p_value": found.p_value,
        "guarantee": state.guarantee,
        "assumption": found.assumption,
        "void": state.void,
    }


def _show(document: dict[str, Any]) -> None:
    from convexdesign.cli.output import print_line, printable
    from convexdesign.cli.report import counted

    answer = ", ".join(map(printable, document["answer"])) or (
        "none" if document["status"] != "UNDECIDED" else "undecided"
    )
    print_line(f"{'answer':<14} {answer}")
    print_line(f"{'status':<14} {document['status']}: {document['meaning']}")
    if document["p_value"] is not None:
        print_line(f"{'p-value':<14} {document['p_value']:.3g}, of the answer being wrong")
    print_line(f"{'survivors':<14} {', '.join(map(printable, document['survivors'])) or 'none'}")
    # As many rounds as `status` and `check` count: those of the burn-in too.
    burn_in = ""
    if document["burn_in_samples"]:
        spent = counted(document["burn_in_samples"], "measurement")
        burn_in = f", of them the burn-in {spent} in {counted(document['burn_in_rounds'], 'round')}"
    rounds = counted(document["rounds"] + document["burn_in_rounds"], "round")
    print_line(f"{'measurements':<14} {document['samples']:,} in {rounds}{burn_in}")
    print_line(f"{'guarantee':<14} {document['guarantee']}")
