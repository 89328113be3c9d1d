"""`convexdesign experiment ask`: what to measure next."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.experiment.opening import Store, labels, open_store

if TYPE_CHECKING:
    from convexdesign.experiment import Experiment

__all__ = ["ask"]


def ask(
    store: Store,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="CSV", help="Write the batch there, not to the terminal.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the batch to measure next, as CSV.

    Columns: batch, arm, pulls (how often to measure it) and outstanding (results still to come). The batch stays the same
    until all its results are told; nothing but the header is printed once there is a result.
    """
    from convexdesign.cli.files import check_writable, writing
    from convexdesign.cli.output import print_json, printable, say
    from convexdesign.experiment import Phase

    check_writable(output, "--output")
    with open_store(store) as x:
        if x.done:
            say("there is a result, and nothing more to measure: see `convexdesign experiment result`")
        rows = [] if x.status().phase is Phase.DONE else _rows(x)
    if as_json:
        print_json(_document(rows))
    elif output is not None:
        with writing(output) as file:
            _write(rows, file)
        say(f"batch {rows[0]['batch']} written to {output}" if rows else f"an empty batch written to {output}")
    else:
        if sys.stdout.isatty():  # for eyes; files and pipes get names as they are
            rows = [row | {"arm": printable(row["arm"])} for row in rows]
        _write(rows, sys.stdout)


COLUMNS = ("batch", "arm", "pulls", "outstanding")


def _rows(x: Experiment) -> list[dict[str, Any]]:
    batch, outstanding, called = x.ask(), x.outstanding(), labels(x.arm_names, x.n_arms)
    return [
        {"batch": batch.id, "arm": called[i], "pulls": int(batch.counts[i]), "outstanding": int(outstanding[i])}
        for i in batch.counts.nonzero()[0]
    ]


def _document(rows: list[dict[str, Any]]) -> dict[str, Any]:
    columns = {f"{name}s" if name == "arm" else name: [row[name] for row in rows] for name in COLUMNS[1:]}
    return {
        "done": not rows,
        "batch": rows[0]["batch"] if rows else None,
        "total": sum(columns["pulls"]),
        **columns,
    }


def _write(rows: list[dict[str, Any]], file: Any) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([row[name] for name in COLUMNS] for row in rows)
