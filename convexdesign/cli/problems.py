"""`convexdesign problems`: the problems that ship with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.output import print_table, respond, window_width

if TYPE_CHECKING:
    from convexdesign.problemfile import ProblemFile

__all__ = ["problems"]


def problems(as_json: AsJson = False) -> None:
    """List the problems shipped with it.

    Their names can be given to `solve` and `verify` in place of a file. The value is the known optimum,
    with its provenance.
    """
    from convexdesign.problemfile import library, load_problem

    entries = [describe(load_problem(path)) for path in library()]
    respond(as_json, {"problems": entries}, lambda: show(entries))


def show(entries: list[dict[str, Any]]) -> None:
    """The list for a reader; the last columns where the window has room for them."""
    columns = ["name", "kind", "arms", "d", "value", "provenance", "title"][: 7 if window_width() >= 120 else 5]
    rows = [[row_text(entry)[column] for column in columns] for entry in entries]
    print_table(columns, rows, left=("name", "kind", "provenance", "title"), whole=("name",))


def row_text(entry: dict[str, Any]) -> dict[str, str]:
    """The cells of one row of the table, by column."""
    return {
        "name": entry["name"],
        "kind": entry["kind"],
        "arms": "region" if entry["n_arms"] is None else f"{entry['n_arms']:,}",
        "d": str(entry["dimension"]),
        "value": "" if entry["value"] is None else f"{entry['value']:.8g}",
        "provenance": entry["provenance"] or "",
        "title": entry["title"],
    }


def describe(file: ProblemFile) -> dict[str, Any]:
    """One entry of the list, in terms of the file's own fields."""
    known = file.reference
    n, d = None if file.is_over_region else file.arms.n, file.arms.d
    return {
        "name": file.name,
        "title": file.title,
        "kind": file.kind,
        "n_arms": n,
        "dimension": d,
        "value": None if known is None else known.value,
        "provenance": None if known is None else known.provenance,
        "path": str(file.path),
    }
