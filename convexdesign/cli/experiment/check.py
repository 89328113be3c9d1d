"""`convexdesign experiment check`: is the store what was written, and does everything in it hold?"""

from __future__ import annotations

import typer

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.exits import ExitCode
from convexdesign.cli.experiment.opening import Store

__all__ = ["check"]


def check(store: Store, as_json: AsJson = False) -> None:
    """Verify the whole store.

    Pages, checksums, that every result fits its batch and counts once, the sums of every round, and the decisions made by
    them. Exits with 5 where something is wrong.
    """
    from convexdesign.cli.output import print_json, print_line
    from convexdesign.cli.report import counted
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
