"""`convexdesign experiment tell`, `amend`, `mark-missing` and `withdraw`: what was measured, and what will not be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convexdesign.cli.arguments import AsJson, Decimal, Delimiter, argument, option
from convexdesign.cli.experiment.opening import (
    Reason,
    Store,
    arm_index,
    changing,
    item_index,
    open_store,
    trying,
)
from convexdesign.cli.output import counted, print_line, respond, say
from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.cli.experiment.results import ResultsFile
    from convexdesign.experiment import Experiment, TellResult

__all__ = ["amend", "arrived", "join", "mark_missing", "take_back", "tell", "withdraw"]

ResultsArgument = Annotated[
    str,
    argument(
        "RESULTS",
        "CSV with a header, - for standard input: key, arm, reward (one line a measurement), or key, arm, count, mean "
        "and m2 (sum of squared deviations from the mean) or variance (one line an arm). Of conversions (noise bernoulli) "
        "key, arm, count and mean are enough, or key, arm, count and successes. With a column batch, as `ask` "
        "prints it, results find their batch by themselves. Semicolons and decimal commas are found out.",
    ),
]
BatchNumber = Annotated[int | None, option("--batch", metavar="ID", help="The batch; the open one.")]
DryRun = Annotated[bool, option("--dry-run", help="Show how it would stand, and write nothing.")]


def tell(
    results: ResultsArgument,
    store: Store,
    batch: Annotated[
        int | None, option("--batch", metavar="ID", help="The batch, where the file does not say; the open one.")
    ] = None,
    key_prefix: Annotated[
        str | None,
        option(
            "--key-prefix",
            metavar="TEXT",
            help="Where the file has no column of keys: its lines are called TEXT-1, TEXT-2, ... Every file needs another "
            "one.",
        ),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    as_arrived: Annotated[
        bool,
        option(
            "--as-arrived",
            help="These, with what was told before, are all results of the batch, be they more or fewer than asked. The "
            "promise then rests on chance or a clock having decided how many came, and not their values.",
        ),
    ] = False,
    dry_run: Annotated[bool, option("--dry-run", help="Check everything and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Record results of the open batch.

    All of the file is checked before anything is written, and all or nothing is recorded. Every result has a key: told
    again it has no effect, so that a file that has grown, or a command that was interrupted, can just be told again. A
    key that is known with other content is a conflict (exit code 5), and nothing is recorded.
    """
    from convexdesign.cli.experiment.results import read_results

    with open_store(store) as x:
        found = read_results(results, x, key_prefix, delimiter, decimal)
        _say_rounded(found)
        parts = _parts(x, found, batch)
        document = _document(x, x.tell_all(parts, dry_run=dry_run, as_arrived=as_arrived), dry_run)
    respond(as_json, document, lambda: _show(document))


def amend(
    results: ResultsArgument,
    store: Store,
    reason: Reason = "",
    set_aside: Annotated[
        bool,
        option(
            "--set-aside",
            help="Also where later batches were chosen by what was wrong: they then count no more, and the experiment goes "
            "on from the corrected round. Martingale elimination keeps them, and needs no leave.",
        ),
    ] = False,
    dry_run: DryRun = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    as_json: AsJson = False,
) -> None:
    """Correct results that were told: those under the keys in the file.

    What was told first stays in the log, with the reason. Martingale elimination keeps all later rounds and decides anew from
    the corrected results; for others the results that would be set aside are counted first, and nothing is done without
    --set-aside. `take-back` undoes an amendment (of those others: one that nothing rests on yet).
    """
    from convexdesign.cli.experiment.results import read_results

    with open_store(store) as x:
        found = read_results(results, x, None, delimiter, decimal)
        _say_rounded(found)
        with trying(x, as_json, dry_run):
            for key, index, value in zip(found.keys, found.arms, found.rewards):
                x.amend(key, arm=index, reward=value, reason=reason, set_aside=set_aside)
            for key, (_, rows) in found.summaries.items():
                x.amend(key, observations=_observations(x, rows), reason=reason, set_aside=set_aside)


def take_back(
    keys: Annotated[list[str], argument("KEY...", "The keys that were amended, the last first.")],
    store: Store,
    reason: Reason = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take amendments back: what was told before counts again, and the batches that they had set aside.

    In martingale elimination always possible; of other algorithms as long as no batch was asked for and no result told since.
    The amendments stay in the log.
    """
    with open_store(store) as x, trying(x, as_json, dry_run):
        for key in keys:
            x.take_back(key, reason=reason)


def mark_missing(
    store: Store,
    batch: BatchNumber = None,
    arm: Annotated[list[str] | None, option("--arm", metavar="ARM", help="Only of this arm; may be repeated.")] = None,
    count: Annotated[
        list[int] | None, option("--count", metavar="N", help="Only so many, one number for each --arm.")
    ] = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Say that results will never come.

    As many measurements are asked for again, so that every round gets what its promise needs. The promise then holds if
    results went missing whatever their values were; the status says so from now on.
    """
    with changing(store, as_json) as x:
        number = _awaited(x, batch)
        arms = [arm_index(x, label) for label in arm] if arm else None
        x.mark_missing(number, arms, count or None, reason=reason)


def arrived(
    store: Store,
    arm: Annotated[list[str], option("--arm", metavar="ARM", help="The arm; may be repeated.")],
    count: Annotated[
        list[int], option("--count", metavar="N", help="How many results of it there are in all, one for each --arm.")
    ],
    batch: BatchNumber = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Say that more or fewer results of the open batch come than were asked for; arms not named have what was asked.

    A traffic splitter does not stop at 64. The promise then holds if chance or a clock decided the numbers, and not the
    values of the results: say it before these are looked at. `tell --as-arrived` says it of the results in a file.
    """
    from convexdesign.identification.identifier import MOST_SAMPLES

    with changing(store, as_json) as x:
        number = _awaited(x, batch)
        if len(arm) != len(count):
            raise InputError(f"--arm is given {times(arm)} and --count {times(count)}; give one for each")
        counts, indices = x.expected(), [arm_index(x, label) for label in arm]
        if len(set(indices)) < len(indices):
            raise InputError("an arm is named twice; give one --count for each")
        for label, index, wanted in zip(arm, indices, count):
            if not 0 <= wanted <= MOST_SAMPLES:
                raise InputError(f"arm {label}: {wanted} results; give a whole number from 0 to {MOST_SAMPLES}")
            counts[index] = wanted
        x.arrived(number, counts, reason=reason)


def withdraw(
    store: Store,
    arms: Annotated[list[str] | None, typer.Argument(metavar="[ARM...]", help="The arms, by name or index.")] = None,
    item: Annotated[
        list[str] | None, option("--item", metavar="ITEM", help="Ask nothing of this item any more; may be repeated.")
    ] = None,
    reason: Reason = "",
    anyway: Annotated[
        bool,
        option("--anyway", help="Also where the other arms cannot tell the items apart: the experiment then stops."),
    ] = False,
    set_aside: Annotated[
        bool,
        option(
            "--set-aside",
            help="Let rounds go that were chosen by comparisons with an item that is dropped (never needed "
            "by martingale elimination).",
        ),
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Never ask for these arms again, and drop items.

    A round that still waits for a withdrawn arm is set aside, and its design is solved again without it. Where the others
    cannot tell the items apart, nothing is done, and the items are named (exit code 4). Of items that are dropped nothing is
    asked any more: the answer is about the others, as if they had never been there. Their arms are measured from the next batch
    on only if they tell of the others. A variant that is gone is both: `withdraw red --item red`.
    """
    if not arms and not item:
        raise InputError("give the arms to withdraw, or --item, the items to drop")
    with open_store(store) as x, trying(x, as_json, dry_run):
        if item:
            x.drop_item([item_index(x, label) for label in item], reason=reason, set_aside=set_aside, anyway=anyway)
        if arms:
            x.withdraw([arm_index(x, label) for label in arms], reason=reason, anyway=anyway)


def join(
    store: Store,
    variant: Annotated[
        list[str] | None,
        option(
            "--variant", metavar="NAME", help="A new variant, with an arm of its own that is its item; may be repeated."
        ),
    ] = None,
    vector: Annotated[
        list[str] | None,
        option(
            "--vector",
            metavar="NUMBERS",
            help="A new item, in the coordinates of the arms, separated by commas; may be repeated.",
        ),
    ] = None,
    item: Annotated[
        list[str] | None,
        option("--item", metavar="NAME", help="Its name, where items have names, one for each --vector."),
    ] = None,
    noise_variance: Annotated[
        float | None,
        option(
            "--noise-variance", metavar="V", help="VARIANCE of the new variants, where those of the others are known."
        ),
    ] = None,
    reward_range: Annotated[
        tuple[float, float] | None,
        option(
            "--reward-range",
            metavar="LOW HIGH",
            help="Of the new variants, where the ranges of the others differ.",
        ),
    ] = None,
    reason: Reason = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Ask about more items from now on.

    Martingale elimination takes them at any time, also after an answer; bets on them begin with the next batch. Best arm: the
    promise is what it was if they joined whatever the rewards were; for any other reason it is what the guarantee says. Level
    sets: each adds delta over the number of items in the beginning, for any reason. An item given by its vector must be one
    that the arms tell of already; a new variant brings its arm.
    """
    from convexdesign.cli.reading import numbers_in

    if not variant and not vector:
        raise InputError("give --variant, or --vector and --item")
    rows = [numbers_in(text) for text in vector or ()]
    for text, row in zip(vector or (), rows):
        if row is None:
            raise InputError(f"--vector {text!r} must be numbers separated by commas")
    if item and not rows:
        raise InputError("--item is the name of a --vector; of a new variant --variant is the name")
    if item and len(item) != len(rows):
        raise InputError(f"--item is given {times(item)} and --vector {times(rows)}; give one for each")
    if not variant and (noise_variance is not None or reward_range is not None):
        raise InputError("--noise-variance and --reward-range are for a --variant; an item has no noise")
    with open_store(store) as x, trying(x, as_json, dry_run):
        if rows:
            x.join_item(rows, names=item or None, reason=reason)
        for name in variant or ():
            if x.arm_names is None and name != str(x.n_arms):
                raise InputError(f"the arms have no names; the new one is {x.n_arms} (--variant {x.n_arms})")
            called = None if x.arm_names is None else name
            x.join_variant(called, noise_variance=noise_variance, reward_range=reward_range, reason=reason)


def times(given: Sequence[Any]) -> str:
    """How often an option was given."""
    return "once" if len(given) == 1 else f"{len(given)} times"


def _say_rounded(found: ResultsFile) -> None:
    if found.rounded:
        first, others = found.rounded[0], len(found.rounded) - 1
        more = f" (and so in {counted(others, 'other row')})" if others else ""
        say(f"{first}{more}")


def _awaited(x: Experiment, batch: int | None) -> int:
    """The batch that was named, or the open one."""
    number = x.open_batch if batch is None else batch
    if number is None:
        raise InputError("no batch is open, so that no results are awaited")
    return number


# Rows of one event: an event of a million rows would be read as slowly as it was written.
ROWS = 50_000


def _parts(x: Experiment, found: ResultsFile, batch: int | None) -> list[Any]:
    """What the file tells, checked, by batch."""
    from convexdesign.experiment.parsing import reward_rows, summary_under

    if not found.single:
        return [
            summary_under(_batch(x, key, said, batch), key, _observations(x, rows), x.n_arms, x.arm_names)
            for key, (said, rows) in found.summaries.items()
        ]
    by_batch: dict[int, list[int]] = {}
    for k, (key, said) in enumerate(zip(found.keys, found.batches)):
        by_batch.setdefault(_batch(x, key, said, batch), []).append(k)
    parts = []
    for number, own in by_batch.items():
        for start in range(0, len(own), ROWS):
            keys, arms, rewards = (
                [column[k] for k in own[start : start + ROWS]] for column in (found.keys, found.arms, found.rewards)
            )
            parts.append(reward_rows(number, keys, arms, rewards, x.n_arms, x.arm_names))
    return parts


def _batch(x: Experiment, key: str, said: int | None, wanted: int | None) -> int:
    """The batch of a result: as the file says, else as the command does, else where its key is known, else the open one."""
    for number in (said, wanted, x.batch_told(key), x.open_batch):
        if number is not None:
            return number
    raise InputError("no batch is open; ask for one, or give --batch")


def _observations(x: Experiment, rows: list[tuple[int, int, float, float]]) -> Any:
    """Observations from rows (arm, count, mean, m2)."""
    from convexdesign.experiment.packing import unpacked_summary

    return unpacked_summary(dict(zip(("arms", "count", "mean", "m2"), zip(*rows))), x.n_arms)


def _document(x: Experiment, recorded: list[TellResult], dry_run: bool) -> dict[str, Any]:
    left = {part.batch: part.outstanding for part in recorded}
    return {
        "dry_run": dry_run,
        **{name: sum(getattr(part, name) for part in recorded) for name in ("accepted", "repeated", "pulls")},
        "batches": [{"batch": number, "outstanding": outstanding} for number, outstanding in left.items()],
        "phase": x.status().phase.name,
    }


def _show(document: dict[str, Any]) -> None:
    would = "would be " if document["dry_run"] else ""
    print_line(
        f"{counted(document['accepted'], 'result')} {would}recorded ({counted(document['pulls'], 'measurement')}), "
        f"{document['repeated']:,} known already"
    )
    for entry in document["batches"]:
        left = entry["outstanding"]
        waits = f"waits for {counted(left, 'measurement')}" if left else "complete"
        print_line(f"batch {entry['batch']}: {waits}")
