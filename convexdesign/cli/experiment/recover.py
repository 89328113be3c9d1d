"""`convexdesign experiment recover`: what is left of a damaged store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.experiment.opening import Store

__all__ = ["recover"]


def recover(
    store: Store,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The new store.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Save the longest sound part of a damaged store into a new file.

    The damaged file is only read. What was told after the part that is saved must be told again; its keys see to it that
    nothing counts twice.
    """
    from convexdesign.cli.output import print_json, print_line
    from convexdesign.cli.report import counted
    from convexdesign.experiment import recover as recover_store

    saved = recover_store(store, output)
    if as_json:
        print_json({"store": str(saved.path), "events": saved.events, "lost": saved.lost})
        return
    print_line(f"{saved.path}: {counted(saved.events, 'event')} saved, each verified")
    if saved.lost:
        print_line(f"at least {counted(saved.lost, 'later event')} could not be: tell their results again")
