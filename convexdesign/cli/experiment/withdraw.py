"""`convexdesign experiment withdraw`: arms that can be measured no more."""

from __future__ import annotations

from typing import Annotated

import typer

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.experiment.opening import Reason, Store, arm_index, open_store

__all__ = ["withdraw"]


def withdraw(
    arms: Annotated[list[str], typer.Argument(metavar="ARM...", help="The arms, by name or index.")],
    store: Store,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Never ask for these arms again.

    A round that still waits for one of them is set aside, and its design is solved again without them. Where the others
    cannot tell the items apart, the next `ask` stops the experiment and names the directions (exit code 4).
    """
    from convexdesign.cli.experiment.status import show_state, state_document
    from convexdesign.cli.output import print_json

    with open_store(store) as x:
        x.withdraw([arm_index(x, label) for label in arms], reason=reason)
        document = state_document(x)
    if as_json:
        print_json(document)
    else:
        show_state(document)
