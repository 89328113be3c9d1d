"""`convexdesign extras`: what else can be installed, and whether it is."""

from __future__ import annotations

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.output import print_table, respond

__all__ = ["extras"]


def extras(as_json: AsJson = False) -> None:
    """List the extras: what each is for, and whether it is installed.

    Everything else works without them. One that is missing comes with `pip install 'convexdesign[NAME]'`, or in a checkout
    `pip install '.[NAME]'`.
    """
    from convexdesign.extras import EXTRAS, installed

    there = [(e, installed(e)) for e in EXTRAS]
    entries = [{"name": e.name, "what": e.what, "installed": found} for e, found in there]
    rows = [[e.name, "yes" if found else "no", e.what] for e, found in there]
    columns = ("extra", "installed", "for")
    respond(as_json, {"extras": entries}, lambda: print_table(list(columns), rows, left=columns))
