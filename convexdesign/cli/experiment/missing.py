"""`convexdesign experiment mark-missing`: results that will never come."""

from __future__ import annotations

from typing import Annotated

import typer

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.experiment.opening import Reason, Store, arm_index, open_store
from convexdesign.errors import InputError

__all__ = ["mark_missing"]


def mark_missing(
    store: Store,
    batch: Annotated[int | None, typer.Option("--batch", metavar="ID", help="The batch; the open one.")] = None,
    arm: Annotated[
        list[str] | None, typer.Option("--arm", metavar="ARM", help="Only of this arm; may be repeated.")
    ] = None,
    count: Annotated[
        list[int] | None, typer.Option("--count", metavar="N", help="Only so many, one number for each --arm.")
    ] = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Say that results will never come.

    As many measurements are asked for again, so that every round gets what its promise needs. The promise then holds if
    results went missing whatever their values were; the status says so from now on.
    """
    from convexdesign.cli.experiment.status import show_state, state_document
    from convexdesign.cli.output import print_json

    with open_store(store) as x:
        number = x.open_batch if batch is None else batch
        if number is None:
            raise InputError("no batch is open, so that no results are awaited")
        arms = [arm_index(x, label) for label in arm] if arm else None
        x.mark_missing(number, arms, count or None, reason=reason)
        document = state_document(x)
    if as_json:
        print_json(document)
    else:
        show_state(document)
