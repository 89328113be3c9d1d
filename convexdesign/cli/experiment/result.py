"""`convexdesign experiment result`: the answer, once there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.exits import ExitCode
from convexdesign.cli.experiment.opening import Store, labels, open_store

if TYPE_CHECKING:
    from convexdesign.experiment import Experiment

__all__ = ["result"]


def result(store: Store, as_json: AsJson = False) -> None:
    """Print the answer and what it is worth.

    Exits with 0 when there is one, with 3 while results are awaited and when --max-samples came first.
    """
    from convexdesign.cli.output import print_json, say

    with open_store(store) as x:
        if not x.done:
            state = x.status()
            if as_json:
                print_json({"done": False, "batch": state.batch, "outstanding": state.outstanding})
            say(f"not done: batch {state.batch} waits for {state.outstanding:,} measurements")
            raise typer.Exit(ExitCode.NOT_CERTIFIED)
        document = _document(x)
    if as_json:
        print_json(document)
    else:
        _show(document)
    raise typer.Exit(ExitCode.NOT_CERTIFIED if document["status"] == "UNDECIDED" else ExitCode.CERTIFIED)


def _document(x: Experiment) -> dict[str, Any]:
    found, state = x.result(), x.status()
    called = labels(x.item_names, x.n_items)
    return {
        "done": True,
        "status": found.status.name,
        "meaning": found.status.value,
        **{name: [called[i] for i in getattr(found, name)] for name in ("answer", "survivors", "above", "below")},
        "samples": found.samples,
        "burn_in_samples": found.burn_in_samples,
        "rounds": found.rounds,
        "delta": found.delta,
        "epsilon": found.epsilon,
        "p_value": found.p_value,
        "guarantee": state.guarantee,
        "void": state.void,
    }


def _show(document: dict[str, Any]) -> None:
    from convexdesign.cli.output import print_line
    from convexdesign.cli.report import counted

    answer = ", ".join(document["answer"]) or ("none" if document["status"] != "UNDECIDED" else "undecided")
    print_line(f"{'answer':<14} {answer}")
    print_line(f"{'status':<14} {document['status']}: {document['meaning']}")
    if document["p_value"] is not None:
        print_line(f"{'p-value':<14} {document['p_value']:.3g}, of the answer being wrong")
    print_line(f"{'survivors':<14} {', '.join(document['survivors']) or 'none'}")
    burn_in = f", {document['burn_in_samples']:,} of them in the burn-in" if document["burn_in_samples"] else ""
    print_line(f"{'measurements':<14} {document['samples']:,} in {counted(document['rounds'], 'round')}{burn_in}")
    print_line(f"{'guarantee':<14} {document['guarantee']}")
