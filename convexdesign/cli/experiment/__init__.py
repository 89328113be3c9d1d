"""`convexdesign experiment ...`: experiments that run for weeks, over crashes and retries."""

from __future__ import annotations

import typer

from convexdesign.cli.command import SETTINGS, Group
from convexdesign.cli.experiment.changes import amend, arrived, join, mark_missing, take_back, tell, withdraw
from convexdesign.cli.experiment.creation import create
from convexdesign.cli.experiment.notes import list_, note
from convexdesign.cli.experiment.planning import plan
from convexdesign.cli.experiment.record import check, export, recover
from convexdesign.cli.experiment.reporting import report
from convexdesign.cli.experiment.state import ask, result, status
from convexdesign.cli.experiment.wording import ExperimentCommand

__all__ = ["experiment"]

COMMANDS = (
    create,
    plan,
    ask,
    tell,
    status,
    result,
    mark_missing,
    arrived,
    amend,
    take_back,
    withdraw,
    join,
    export,
    check,
    recover,
    report,
    note,
    list_,
)

experiment = typer.Typer(
    cls=Group,
    help="Run an adaptive experiment for weeks: durable batches and results in one file.",
    epilog="Exit codes: 0 done, 2 bad input, 3 not done or undecided, 4 the arms that are left cannot tell, 5 a conflict "
    "or a damaged store.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=SETTINGS,
)
for command in COMMANDS:
    name = command.__name__.strip("_").replace("_", "-")
    experiment.command(name, cls=ExperimentCommand, context_settings=SETTINGS)(command)
