"""`convexdesign experiment export`: everything that happened, for other programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from convexdesign.cli.experiment.opening import Store, labels, open_store
from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.experiment.events import Event

__all__ = ["export"]

COLUMNS = ("seq", "time", "kind", "batch", "key", "arm", "pulls", "mean", "m2", "detail", "checksum")


def export(
    store: Store,
    format_: Annotated[str, typer.Option("--format", help="csv or json.")] = "csv",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Print every event of the log.

    CSV: one line for every arm or result of an event (pulls, mean and m2; of a single reward pulls is 1), one for an event
    without any; what else an event says is in the column detail, as JSON. JSON: one document with the events as they are.
    """
    from convexdesign.cli.files import check_writable, writing

    check_writable(output, "--output")
    chosen = "json" if as_json else format_
    if chosen not in ("csv", "json"):
        raise InputError(f"--format {format_}: choose csv or json")
    with open_store(store) as x:
        events, called = x.events(), labels(x.arm_names, x.n_arms)
    write = _write_json if chosen == "json" else _write_csv
    if output is None:
        write(events, called, sys.stdout)
    else:
        with writing(output) as file:
            write(events, called, file)


def _write_json(events: list[Event], called: list[str], file: IO[str]) -> None:
    document = {
        "arms": called,
        "events": [
            {"seq": e.seq, "time": e.time, "kind": e.kind.value, "checksum": e.checksum.hex(), "body": _body(e)}
            for e in events
        ],
    }
    file.write(json.dumps(document) + "\n")


def _write_csv(events: list[Event], called: list[str], file: IO[str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for event in events:
        head = (event.seq, event.time, event.kind.value)
        for row in _rows(_body(event), called):
            writer.writerow((*head, *row, event.checksum.hex()))


def _body(event: Event) -> dict[str, Any]:
    """What an event says, single rewards as lists."""
    from convexdesign.experiment.events import Kind
    from convexdesign.experiment.results import RewardRows

    if event.kind is not Kind.TOLD:
        return event.body
    rows = RewardRows.from_record(event.body)
    return {
        "batch": rows.batch,
        "keys": list(rows.keys),
        "arms": rows.arms.tolist(),
        "rewards": rows.rewards.tolist(),
    }


def _rows(body: dict[str, Any], called: list[str]) -> Iterator[tuple[Any, ...]]:
    """batch, key, arm, pulls, mean, m2 and detail of every line."""
    batch, key = body.get("batch"), body.get("key")
    if "rewards" in body:
        for name, arm, reward in zip(body["keys"], body["arms"], body["rewards"]):
            yield batch, name, called[arm], 1, repr(reward), "", ""
        return
    told = {"batch", "key", "arms", "count", "mean", "m2", "pulls"}
    rest = {name: value for name, value in body.items() if name not in told and value not in (None, "", [])}
    detail = json.dumps(rest) if rest else ""
    if not isinstance(body.get("arms"), list) or not body["arms"]:
        yield batch, key, "", "", "", "", detail
        return
    pulls = body.get("count", body.get("pulls"))
    for k, arm in enumerate(body["arms"]):
        counts = "" if pulls is None else pulls[k]
        mean, m2 = (repr(body[name][k]) if name in body else "" for name in ("mean", "m2"))
        yield batch, key, called[arm], counts, mean, m2, detail if k == 0 else ""
