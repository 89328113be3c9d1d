"""`convexdesign experiment status`: where an experiment stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.experiment.opening import Store, labels, open_store

if TYPE_CHECKING:
    from convexdesign.experiment import Experiment

__all__ = ["limit_text", "show_state", "state_document", "status"]

ITEMS_SHOWN = 12


def status(store: Store, as_json: AsJson = False) -> None:
    """Show rounds, survivors, measurements and progress."""
    from convexdesign.cli.output import print_json

    with open_store(store) as x:
        document = state_document(x)
    if as_json:
        print_json(document)
    else:
        show_state(document)


def state_document(x: Experiment) -> dict[str, Any]:
    """The state as data; items and arms by their names."""
    state = x.status()
    arms = labels(x.arm_names, x.n_arms)
    items = labels(x.item_names, x.n_items)
    return {
        "phase": state.phase.name,
        "waits_for": state.phase.value,
        "algorithm": state.algorithm,
        "delta": state.delta,
        "max_samples": state.max_samples,
        "budget": state.budget,
        "rounds": state.rounds,
        "items": x.n_items,
        **{side: [items[i] for i in getattr(state, side)] for side in ("survivors", "above", "below")},
        "best_guess": None if state.best_guess is None else [items[i] for i in state.best_guess],
        "p_value": state.p_value,
        "batch": state.batch,
        "asked": state.asked,
        "told": state.told,
        "outstanding": state.outstanding,
        "progress": state.progress,
        "pulls_told": state.pulls_told,
        "pulls_asked": state.pulls_asked,
        "pulls_expected": state.pulls_told + state.outstanding,
        "pulls_missing": state.pulls_missing,
        "pulls_set_aside": state.pulls_set_aside,
        "withdrawn": [arms[i] for i in state.withdrawn],
        "amendments": state.amendments,
        "guarantee": state.guarantee,
        "assumption": state.assumption,
        "void": state.void,
        "stopped": state.stopped,
        "events": state.events,
    }


def show_state(document: dict[str, Any]) -> None:
    """The state for a reader."""
    from convexdesign.cli.output import print_line, printable
    from convexdesign.cli.report import counted

    print_line(f"{'waits for':<14} {document['waits_for']}")
    print_line(f"{'algorithm':<14} {document['algorithm']}, {counted(document['rounds'], 'round')} complete")
    for side in ("survivors", "above", "below"):
        names = document[side]
        if names or side == "survivors":
            print_line(f"{side:<14} {len(names):,} of {document['items']:,}: {_listed(names)}")
    if document["best_guess"] is not None:
        guess = _listed(document["best_guess"]) or "no item"
        print_line(f"{'best guess':<14} {guess}: p-value {document['p_value']:.3g}, of its being wrong")
    if document["batch"] is not None:
        print_line(
            f"{'open batch':<14} {document['batch']}: {document['told']:,} of {document['asked']:,} measurements told "
            f"({document['progress']:.1%})"
        )
    expected = f", {document['pulls_expected']:,} with the open batch" if document["batch"] is not None else ""
    asked = ""
    if document["pulls_asked"] > document["pulls_told"] + document["outstanding"]:
        asked = f", {document['pulls_asked']:,} asked for in all"
    print_line(f"{'measurements':<14} {document['pulls_told']:,} told{expected}{asked}{limit_text(document)}")
    for name, what in (("pulls_missing", "missing"), ("pulls_set_aside", "set aside"), ("amendments", "amended")):
        if document[name]:
            print_line(f"{what:<14} {document[name]:,}")
    if document["withdrawn"]:
        print_line(f"{'withdrawn':<14} {', '.join(map(printable, document['withdrawn']))}")
    if document["stopped"]:
        print_line(f"{'stopped':<14} {document['stopped']}")
    print_line(f"{'guarantee':<14} {document['guarantee']}")


def limit_text(document: dict[str, Any]) -> str:
    """The limit on all measurements asked for, behind a comma; nothing where there is none."""
    if document["budget"] is not None:
        return f", budget {document['budget']:,}"
    return "" if document["max_samples"] is None else f", at most {document['max_samples']:,}"


def _listed(names: list[str]) -> str:
    from convexdesign.cli.output import printable

    return ", ".join(map(printable, names[:ITEMS_SHOWN])) + (", ..." if len(names) > ITEMS_SHOWN else "")
