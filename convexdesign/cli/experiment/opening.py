"""The store that a command works on, what its arms and items are called, and the state that it is left in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.cli.arguments import option
from convexdesign.cli.experiment.wording import worded
from convexdesign.cli.output import counted, print_line, printable, respond, say
from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.experiment import Experiment

__all__ = [
    "NewStore",
    "Reason",
    "Store",
    "answer_text",
    "arm_index",
    "changing",
    "item_index",
    "labels",
    "limit_text",
    "listed",
    "open_store",
    "show_state",
    "some",
    "state_document",
    "trying",
]

STORE = {"metavar": "FILE", "envvar": "CONVEXDESIGN_STORE", "show_default": False}
HELP = "The file of the experiment; CONVEXDESIGN_STORE of the environment if left out."
Store = Annotated[Path, option("--store", help=HELP, **STORE)]
NewStore = Annotated[Path, option("--store", help="The file to be written.", **STORE)]
Reason = Annotated[str, option("--reason", help="Why, for the log.", show_default=False)]

ITEMS_SHOWN = 12


def open_store(path: Path, read_only: bool = False) -> Experiment:
    """The experiment in a file."""
    from convexdesign.experiment import Experiment

    return Experiment.open(path, read_only=read_only)


@contextmanager
def changing(path: Path, as_json: bool) -> Iterator[Experiment]:
    """The experiment in a file, to be changed; the state that it is then in is the command's result."""
    with open_store(path) as x:
        yield x
        document = state_document(x)
    respond(as_json, document, lambda: show_state(document))


@contextmanager
def trying(x: Experiment, as_json: bool, dry_run: bool) -> Iterator[None]:
    """An experiment changed all at once, and not at all in a dry run; the state that it is then in, or would be, is shown."""
    with x.together(dry_run=dry_run):
        yield
        document = state_document(x)
    if dry_run:
        say("nothing was written; this is how it would stand")
    respond(as_json, document | {"dry_run": dry_run}, lambda: show_state(document))


def labels(names: Sequence[str] | None, n: int) -> list[str]:
    """What arms or items are called: by name where names are unique, else by index from 0; never by both."""
    if names is not None and len(set(names)) == len(names):
        return [str(name) for name in names]
    return [str(i) for i in range(n)]


def arm_index(x: Experiment, label: str) -> int:
    """The index of an arm called so; InputError where there is none."""
    return _index("arm", label, labels(x.arm_names, x.n_arms))


def item_index(x: Experiment, label: str) -> int:
    """The index of an item called so; InputError where there is none."""
    return _index("item", label, labels(x.item_names, x.n_items))


def _index(noun: str, label: str, called: list[str]) -> int:
    if label not in called:
        raise InputError(f"{noun} {label!r} is unknown; the {noun}s are {some(called)}")
    return called.index(label)


def some(called: Sequence[str]) -> str:
    """The first few names, for messages; in quotes where blanks or control characters are a part of one."""
    plain = all(name.isprintable() and name == name.strip() for name in called)
    return ", ".join(name if plain else repr(name) for name in called[:8]) + (", ..." if len(called) > 8 else "")


def state_document(x: Experiment) -> dict[str, Any]:
    """The state as data; items and arms by their names."""
    state = x.status()
    arms = labels(x.arm_names, x.n_arms)
    items = labels(x.item_names, x.n_items)

    def same(*names: str) -> dict[str, Any]:
        return {name: getattr(state, name) for name in names}

    return {
        "phase": state.phase.name,
        "waits_for": state.phase.value,
        "answer": None if state.answer is None else [items[i] for i in state.answer],
        **same("answer_status"),
        **same("algorithm", "delta", "max_samples", "budget", "rounds"),
        "items": x.n_items,
        **{side: [items[i] for i in getattr(state, side)] for side in ("survivors", "above", "below")},
        "best_guess": None if state.best_guess is None else [items[i] for i in state.best_guess],
        **same("p_value", "batch", "asked", "told", "outstanding", "progress", "pulls_told", "pulls_asked"),
        "pulls_expected": state.pulls_told + state.outstanding,
        **same("pulls_missing", "pulls_set_aside"),
        "withdrawn": [arms[i] for i in state.withdrawn],
        "dropped": [items[i] for i in state.dropped],
        "joined": [items[i] for i in state.joined],
        "joined_arms": [arms[i] for i in state.joined_arms],
        **same("amendments", "taken_back", "guarantee", "assumption", "void", "stopped", "events"),
        **{name: worded(text) for name in ("guarantee", "stopped") if (text := getattr(state, name)) is not None},
    }


def show_state(document: dict[str, Any]) -> None:
    """The state for a reader."""

    def line(name: str, text: str) -> None:
        print_line(f"{name:<14} {text}")

    line("waits for", document["waits_for"])
    if document["answer"] is not None:
        line("answer", answer_text(document["answer"], document["answer_status"]))
    line("algorithm", f"{document['algorithm']}, {counted(document['rounds'], 'round')} complete")
    for side in ("survivors", "above", "below"):
        names = document[side]
        if names or side == "survivors":
            line(side, f"{len(names):,} of {document['items']:,}: {listed(names, ITEMS_SHOWN)}")
    if document["best_guess"] is not None:
        guess = listed(document["best_guess"], ITEMS_SHOWN) or "no item"
        line("best guess", f"{guess}: p-value {document['p_value']:.3g}, of its being wrong")
    if document["batch"] is not None:
        line(
            "open batch",
            f"{document['batch']}: {document['told']:,} of {document['asked']:,} measurements told "
            f"({document['progress']:.1%})",
        )
    expected = f", {document['pulls_expected']:,} with the open batch" if document["batch"] is not None else ""
    asked = ""
    if document["pulls_asked"] > document["pulls_told"] + document["outstanding"]:
        asked = f", {document['pulls_asked']:,} asked for in all"
    line("measurements", f"{document['pulls_told']:,} told{expected}{asked}{limit_text(document)}")
    for name, what in (
        ("pulls_missing", "missing"),
        ("pulls_set_aside", "set aside"),
        ("amendments", "amended"),
        ("taken_back", "taken back"),
    ):
        if document[name]:
            line(what, f"{document[name]:,}")
    if document["withdrawn"]:
        line("withdrawn", listed(document["withdrawn"]))
    if document["dropped"]:
        line("dropped", listed(document["dropped"]))
    if document["joined"]:
        line("joined", listed(document["joined"]))
    if document["joined_arms"]:
        line("arms joined", listed(document["joined_arms"]))
    if document["stopped"]:
        line("stopped", document["stopped"])
    line("guarantee", document["guarantee"])


def limit_text(document: dict[str, Any]) -> str:
    """The limit on all measurements asked for, behind a comma; nothing where there is none."""
    if document["budget"] is not None:
        return f", budget {document['budget']:,}"
    return "" if document["max_samples"] is None else f", at most {document['max_samples']:,}"


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Names after one another, the first few; in quotes where a comma in one would make two of it."""
    shown = [repr(name) if "," in name else printable(name) for name in names[:most]]
    return ", ".join(shown) + (", ..." if len(shown) < len(names) else "")


def answer_text(answer: Sequence[str], status: str | None) -> str:
    """The items of an answer, or what there is in its place."""
    return listed(answer) or ("undecided" if status == "UNDECIDED" else "none")
