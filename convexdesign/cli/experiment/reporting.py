"""`convexdesign experiment report`: what is known of every item, with intervals that hold at all times, and what happened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.cli.arguments import AsJson, option
from convexdesign.cli.experiment.opening import Store, item_index, open_store
from convexdesign.cli.experiment.wording import worded
from convexdesign.cli.files import check_writable, writing
from convexdesign.cli.output import print_line, print_table, respond, say

if TYPE_CHECKING:
    from convexdesign.experiment.estimates import Difference, ExperimentEstimates
    from convexdesign.experiment.history import RoundView

__all__ = ["report"]


def report(
    store: Store,
    html: Annotated[
        Path | None, option("--html", metavar="FILE", help="Write one self-contained page there: tables and pictures.")
    ] = None,
    level: Annotated[
        float | None,
        option("--level", help="The probability that all intervals hold, at all times; 1 - delta if left out."),
    ] = None,
    control: Annotated[
        str | None, option("--control", metavar="ITEM", help="Also the differences to this item, by name or index.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show estimates with intervals, and the table of rounds. Reads the file only.

    All intervals, of values and of differences between any two items, hold together and at all times, whenever one looks
    and whatever made one look, if the noise is as assumed.
    """
    from convexdesign.experiment.page import page

    check_writable(html, "--html")
    with open_store(store, read_only=True) as x:
        chosen = None if control is None else item_index(x, control)
        found, views = x.confidence(level=level, control=chosen), x.rounds(as_completed=True)
        if html is not None:
            text = page(x, level=level, control=chosen, words=worded)
            with writing(html) as file:
                file.write(text)
            say(f"report written to {html}")
    respond(as_json, _document(found, views), lambda: _show(found, views))


def _document(found: ExperimentEstimates, views: list[RoundView]) -> dict[str, Any]:
    items = found.item_names
    return {
        "level": found.level,
        "assumption": found.assumption,
        "items": items,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "to_leader": _difference(found.to_leader, items),
        "to_control": _difference(found.to_control, items),
        "arms": found.arm_names,
        "count": found.count,
        "mean": found.mean,
        "variance": found.variance,
        "rounds": [
            {
                "round": view.number,
                "batches": view.batches,
                "completed": view.completed,
                "pulls": view.observations.total,
                "samples": view.samples,
                "best_guess": None if view.best_guess is None else [items[i] for i in view.best_guess],
                "p_value": view.p_value,
                "left": len(view.survivors),
                "dropped": [items[i] for i in view.dropped],
            }
            for view in views
        ],
    }


def _difference(found: Difference | None, items: tuple[str, ...]) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"item": items[found.reference], "estimate": found.estimate, "low": found.low, "high": found.high}


def _show(found: ExperimentEstimates, views: list[RoundView]) -> None:
    columns, cells = (
        ["item", "value", "low", "high"],
        [found.item_names, *map(_texts, (found.estimate, found.low, found.high))],
    )
    for title, difference in (("the best guess", found.to_leader), ("the control", found.to_control)):
        if difference is not None:
            columns += [f"less {found.item_names[difference.reference]}, {title}", "low", "high"]
            cells += [_texts(difference.estimate), _texts(difference.low), _texts(difference.high)]
    print_table(columns, list(zip(*cells)), left=("item",))
    print_line(f"low, high: hold together and at all times with probability {found.level:g}, if {found.assumption}")
    print_line()
    arms = (found.arm_names, [f"{count:,}" for count in found.count], _texts(found.mean), _texts(found.variance))
    print_table(("arm", "results", "mean", "variance"), list(zip(*arms)), left=("arm",))
    print_line()
    print_table(
        ("round", "completed", "results", "in all", "best guess", "p-value", "left", "dropped"),
        [
            (
                str(view.number),
                view.completed[:16].replace("T", " "),
                f"{view.observations.total:,}",
                f"{view.samples:,}",
                ", ".join(found.item_names[i] for i in view.best_guess or ()),
                "" if view.p_value is None else f"{view.p_value:.3g}",
                str(len(view.survivors)),
                ", ".join(found.item_names[i] for i in view.dropped),
            )
            for view in views
        ],
        left=("completed", "best guess", "dropped"),
    )
    print_line(
        "each round as it was when it was completed (UTC); estimates are of all that counts now, as corrected since"
    )


def _texts(values: Any) -> list[str]:
    return [f"{value:.4g}" for value in values]
