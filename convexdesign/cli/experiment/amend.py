"""`convexdesign experiment amend`: corrections of what was told."""

from __future__ import annotations

from typing import Annotated

import typer

from convexdesign.cli.arguments import AsJson, Decimal, Delimiter
from convexdesign.cli.experiment.opening import Reason, Store, open_store
from convexdesign.cli.experiment.tell import ResultsArgument, observations_of

__all__ = ["amend"]


def amend(
    results: ResultsArgument,
    store: Store,
    reason: Reason = "",
    set_aside: Annotated[
        bool,
        typer.Option(
            "--set-aside",
            help="Also where later batches were chosen by what was wrong: they then count no more, and the experiment goes "
            "on from the corrected round.",
        ),
    ] = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    as_json: AsJson = False,
) -> None:
    """Correct results that were told: those under the keys in the file.

    What was told first stays in the log, with the reason.
    """
    from convexdesign.cli.experiment.results import read_results
    from convexdesign.cli.experiment.status import show_state, state_document
    from convexdesign.cli.output import print_json

    with open_store(store) as x:
        found = read_results(results, x, None, delimiter, decimal)
        with x.together():
            for key, index, value in zip(found.keys, found.arms, found.rewards):
                x.amend(key, arm=index, reward=value, reason=reason, set_aside=set_aside)
            for key, (_, rows) in found.summaries.items():
                x.amend(key, observations=observations_of(x, rows), reason=reason, set_aside=set_aside)
        document = state_document(x)
    if as_json:
        print_json(document)
    else:
        show_state(document)
