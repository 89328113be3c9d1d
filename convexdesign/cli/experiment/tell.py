"""`convexdesign experiment tell`: what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from convexdesign.cli.arguments import AsJson, Decimal, Delimiter
from convexdesign.cli.experiment.opening import Store, open_store
from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.cli.experiment.results import ResultsFile
    from convexdesign.experiment import Experiment, TellResult

__all__ = ["Prefix", "ResultsArgument", "observations_of", "tell"]

ResultsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RESULTS",
        help="CSV with a header, - for standard input: key, arm, reward (one line a measurement), or key, arm, count, mean "
        "and m2 (sum of squared deviations from the mean) or variance (one line an arm). With a column batch, as `ask` "
        "prints it, results find their batch by themselves. Semicolons and decimal commas are found out.",
        show_default=False,
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        "--key-prefix",
        metavar="TEXT",
        help="Where the file has no column of keys: its lines are called TEXT-1, TEXT-2, ... Every file needs another one.",
    ),
]


def tell(
    results: ResultsArgument,
    store: Store,
    batch: Annotated[
        int | None, typer.Option("--batch", metavar="ID", help="The batch, where the file does not say; the open one.")
    ] = None,
    key_prefix: Prefix = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Record results of the open batch.

    All of the file is checked before anything is written, and all or nothing is recorded. Every result has a key: told
    again it has no effect, so that a file that has grown, or a command that was interrupted, can just be told again. A
    key that is known with other content is a conflict (exit code 5), and nothing is recorded.
    """
    from convexdesign.cli.experiment.results import read_results
    from convexdesign.cli.output import print_json

    with open_store(store) as x:
        parts = _parts(x, read_results(results, x, key_prefix, delimiter, decimal), batch)
        recorded = x.tell_all(parts, dry_run=dry_run)
        document = _document(x, recorded, dry_run)
    if as_json:
        print_json(document)
    else:
        _show(document)


# Rows of one event: an event of a million rows would be read as slowly as it was written.
ROWS = 50_000


def _parts(x: Experiment, found: ResultsFile, batch: int | None) -> list[Any]:
    """What the file tells, checked, by batch."""
    from convexdesign.experiment.parsing import reward_rows, summary_under

    if not found.single:
        return [
            summary_under(_batch(x, key, said, batch), key, observations_of(x, rows), x.n_arms)
            for key, (said, rows) in found.summaries.items()
        ]
    by_batch: dict[int, list[int]] = {}
    for k, (key, said) in enumerate(zip(found.keys, found.batches)):
        by_batch.setdefault(_batch(x, key, said, batch), []).append(k)
    parts = []
    for number, own in by_batch.items():
        for start in range(0, len(own), ROWS):
            chosen = own[start : start + ROWS]
            keys = [found.keys[k] for k in chosen]
            arms, rewards = [found.arms[k] for k in chosen], [found.rewards[k] for k in chosen]
            parts.append(reward_rows(number, keys, arms, rewards, x.n_arms))
    return parts


def _batch(x: Experiment, key: str, said: int | None, wanted: int | None) -> int:
    """The batch of a result: as the file says, else as the command does, else where its key is known, else the open one."""
    for number in (said, wanted, x.batch_told(key), x.open_batch):
        if number is not None:
            return number
    raise InputError("no batch is open; ask for one, or give --batch")


def observations_of(x: Experiment, rows: list[tuple[int, int, float, float]]) -> Any:
    """Observations from rows (arm, count, mean, m2)."""
    import numpy as np

    from convexdesign.estimation import Observations

    count = np.zeros(x.n_arms, dtype=np.int64)
    mean, m2 = np.zeros(x.n_arms), np.zeros(x.n_arms)
    for arm, pulls, average, squares in rows:
        count[arm], mean[arm], m2[arm] = pulls, average, squares
    return Observations(count, mean, m2)


def _document(x: Experiment, results: list[TellResult], dry_run: bool) -> dict[str, Any]:
    state = x.status()
    totals = {name: sum(getattr(r, name) for r in results) for name in ("accepted", "repeated", "pulls")}
    left = {r.batch: r.outstanding for r in results}
    return {
        "dry_run": dry_run,
        **totals,
        "batches": [{"batch": number, "outstanding": outstanding} for number, outstanding in left.items()],
        "phase": state.phase.name,
    }


def _show(document: dict[str, Any]) -> None:
    from convexdesign.cli.output import print_line
    from convexdesign.cli.report import counted

    would = "would be " if document["dry_run"] else ""
    print_line(
        f"{counted(document['accepted'], 'result')} {would}recorded ({counted(document['pulls'], 'measurement')}), "
        f"{document['repeated']:,} known already"
    )
    for entry in document["batches"]:
        left = entry["outstanding"]
        waits = f"waits for {counted(left, 'measurement')}" if left else "complete"
        print_line(f"batch {entry['batch']}: {waits}")
