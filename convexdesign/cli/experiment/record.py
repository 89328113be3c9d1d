"""`convexdesign experiment export`, `check` and `recover`: the log for other programs, its proof, and what is left of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from convexdesign.cli.arguments import AsJson, option
from convexdesign.cli.exits import ExitCode
from convexdesign.cli.experiment.opening import Store, labels, open_store
from convexdesign.cli.files import check_writable, write_rows, writing
from convexdesign.cli.output import counted, print_json, print_line, respond, say
from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.experiment.events import Event

__all__ = ["check", "export", "recover"]

COLUMNS = ("seq", "time", "kind", "batch", "key", "arm", "pulls", "mean", "m2", "detail", "checksum")


def export(
    store: Store,
    format_: Annotated[str, option("--format", help="csv or json.")] = "csv",
    output: Annotated[
        Path | None, option("--output", "-o", metavar="FILE", help="Write it there; - is standard output.")
    ] = None,
    results: Annotated[
        bool,
        option(
            "--results", help="Not the events but the results that count, in columns that `estimate` and `tell` read."
        ),
    ] = False,
    arms: Annotated[
        Path | None,
        option(
            "--arms",
            metavar="FILE",
            help="Write the arms there, those that joined included, as the table that `estimate --arms` reads; events are then "
            "written with --output alone.",
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", help="The same as --format json.")] = False,
) -> None:
    """Print every event of the log.

    CSV: one line for every arm or result of an event (pulls, mean and m2; of a single reward pulls is 1), one for an event
    without any; what else an event says is in the column detail, as JSON. JSON: one document with the events as they are.
    """
    check_writable(output, "--output", or_standard_output=True)
    check_writable(arms, "--arms")
    chosen = "json" if as_json else format_
    if chosen not in ("csv", "json"):
        raise InputError(f"--format {format_}: choose csv or json")
    if arms is not None:
        _export_arms(store, arms)
        if output is None and not results:
            return
    if results:
        _export_results(store, output, chosen)
        return
    with open_store(store, read_only=True) as x:
        events, called = x.events(), labels(x.arm_names, x.n_arms)
    write = _write_json if chosen == "json" else _write_csv
    with writing(output) as file:
        write(events, called, file)


RESULTS = ("key", "batch", "arm", "count", "mean", "m2")


def _export_results(store: Path, output: Path | None, chosen: str) -> None:
    with open_store(store, read_only=True) as x:
        called = labels(x.arm_names, x.n_arms)
        rows = [(key, batch, called[arm], *rest) for key, batch, arm, *rest in x.results()]
    with writing(output) as file:
        if chosen == "json":
            file.write(json.dumps({name: list(column) for name, column in zip(RESULTS, zip(*rows))}) + "\n")
        else:
            write_rows(file, RESULTS, ((*row[:4], *map(repr, row[4:])) for row in rows))


def _export_arms(store: Path, path: Path) -> None:
    with open_store(store, read_only=True) as x:
        called, columns = labels(x.arm_names, x.n_arms), x.arm_columns
        rows = x.arm_vectors().tolist()
    with writing(path) as file:
        write_rows(file, ("arm", *columns), ((name, *map(repr, row)) for name, row in zip(called, rows)))
    say(f"{counted(len(rows), 'arm')} written to {path}")


def _write_json(events: list[Event], called: list[str], file: IO[str]) -> None:
    told = [
        {"seq": e.seq, "time": e.time, "kind": e.kind.value, "checksum": e.checksum.hex(), "body": _body(e)}
        for e in events
    ]
    file.write(json.dumps({"arms": called, "events": told}) + "\n")


def _write_csv(events: list[Event], called: list[str], file: IO[str]) -> None:
    write_rows(
        file,
        COLUMNS,
        (
            (event.seq, event.time, event.kind.value, *row, event.checksum.hex())
            for event in events
            for row in _rows(_body(event), called)
        ),
    )


def _body(event: Event) -> dict[str, Any]:
    """What an event says, single rewards as lists."""
    from convexdesign.experiment.events import EventKind
    from convexdesign.experiment.results import RewardRows

    if event.kind is not EventKind.TOLD:
        return event.body
    rows = RewardRows.from_record(event.body)
    return {"batch": rows.batch, "keys": list(rows.keys), "arms": rows.arms.tolist(), "rewards": rows.rewards.tolist()}


def _rows(body: dict[str, Any], called: list[str]) -> Iterator[tuple[Any, ...]]:
    """batch, key, arm, pulls, mean, m2 and detail of every line."""
    batch, key = body.get("batch"), body.get("key")
    if "rewards" in body:
        for name, arm, reward in zip(body["keys"], body["arms"], body["rewards"]):
            yield batch, name, called[arm], 1, repr(reward), "", ""
        return
    arms = body.get("arms")
    known = isinstance(arms, list) and all(isinstance(arm, int) for arm in arms)  # arms that join are told in full
    told = {"batch", "key", "count", "mean", "m2", "pulls"} | ({"arms"} if known else set())
    rest = {name: value for name, value in body.items() if name not in told and value not in (None, "", [])}
    detail = json.dumps(rest) if rest else ""
    if not known or not arms:
        yield batch, key, "", "", "", "", detail
        return
    pulls = body.get("count", body.get("pulls"))
    for k, arm in enumerate(arms):
        counts = "" if pulls is None else pulls[k]
        mean, m2 = (repr(body[name][k]) if name in body else "" for name in ("mean", "m2"))
        yield batch, key, called[arm], counts, mean, m2, detail if k == 0 else ""


def check(store: Store, as_json: AsJson = False) -> None:
    """Verify the whole store.

    Pages, checksums, that every result fits its batch and counts once, the sums of every round, and the decisions made by
    them. Exits with 5 where something is wrong.
    """
    from convexdesign.experiment import check as check_store

    report = check_store(store)
    if as_json:
        print_json({"sound": not report.problems, **vars(report)})
    else:
        for problem in report.problems:
            print_line(f"problem: {problem}")
        for difference in report.differences:
            print_line(f"this machine would have decided otherwise {difference}, by the last digits; the record counts")
        verdict = "sound" if not report.problems else f"NOT sound: {counted(len(report.problems), 'problem')}"
        print_line(
            f"{verdict}; {counted(report.events, 'event')}, {counted(report.rounds, 'round')}, "
            f"{counted(report.results, 'result')}, checksum {report.checksum}"
        )
    raise typer.Exit(ExitCode.CONFLICT if report.problems else ExitCode.CERTIFIED)


def recover(
    store: Store,
    output: Annotated[Path, option("--output", "-o", metavar="FILE", help="The new store.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Save the longest sound part of a damaged store into a new file.

    The damaged file is only read. What was told after the part that is saved must be told again; its keys see to it that
    nothing counts twice.
    """
    from convexdesign.experiment import recover as recover_store

    check_writable(output, "--output")
    saved = recover_store(store, output)

    def show() -> None:
        print_line(f"{saved.path}: {counted(saved.events, 'event')} saved, each verified")
        if saved.lost:
            print_line(f"at least {counted(saved.lost, 'later event')} could not be: tell their results again")

    respond(as_json, {"store": str(saved.path), "events": saved.events, "lost": saved.lost}, show)
