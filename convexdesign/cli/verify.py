"""`convexdesign verify`: how efficient is a design that somebody else made?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convexdesign.cli.arguments import AsJson
from convexdesign.cli.exits import ExitCode
from convexdesign.cli.statement import Statement, states_problem
from convexdesign.errors import InputError

__all__ = ["verify"]

# The interval for the efficiency is proven whatever its width; wider than this it answers nothing.
WIDEST_INTERVAL = 1e-4


@states_problem
def verify(
    stated: Statement,
    weights: Annotated[
        Path | None, typer.Option("--weights", metavar="CSV", help="Proportions that sum to 1, one an arm.")
    ] = None,
    counts: Annotated[
        Path | None, typer.Option("--counts", metavar="CSV", help="Whole numbers of measurements, one an arm.")
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option("--tol", help="Exit with 3 unless the design is proven to be within this relative gap."),
    ] = None,
    rigorous: Annotated[
        bool,
        typer.Option(
            "--rigorous",
            help="Prove it for the numbers exactly as given, rounding included. Needs convexdesign[rigorous].",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Prove how efficient a given design is.

    The efficiency is the best possible value divided by the design's: at 0.8 the optimal design needs 80 measurements
    for the precision this one reaches with 100. Both ends of the interval printed are proven. Files hold one
    column in the order of the arms, or arms (names, or indices from 0) and numbers.

    Exits with 0 when the efficiency is known to 1e-4 and, with --tol, within it; with 3 otherwise.
    """
    from convexdesign.cli.output import print_json
    from convexdesign.cli.reading import read_design, read_problem
    from convexdesign.cli.report import problem_document, value_name
    from convexdesign.verify import verify as verify_design

    if tol is not None and not tol > 0:
        raise InputError(f"--tol {tol:g} must be positive")
    problem = read_problem(stated)
    result = verify_design(problem, **read_design(problem, weights, counts, stated), rigorous=rigorous)
    low, high = result.efficiency_interval
    gap = 1.0 / low - 1.0 if low > 0 else float("inf")
    known = high - low <= WIDEST_INTERVAL
    good = tol is None or gap <= tol
    if as_json:
        print_json(
            {
                "problem": problem_document(problem),
                "value": result.value,
                "bound": result.lower_bound,
                "lower_bound": None if problem.criterion.maximised else result.lower_bound,
                "efficiency": result.efficiency,
                "efficiency_interval": [low, high],
                "gap": gap,
                "tol": tol,
                "rigorous": rigorous,
                "certified": known and good,
            }
        )
    else:
        show(value_name(problem), result.value, result.lower_bound, (low, high), gap, tol, rigorous)
    raise typer.Exit(ExitCode.CERTIFIED if known and good else ExitCode.NOT_CERTIFIED)


def show(
    name: str,
    value: float,
    bound: float,
    interval: tuple[float, float],
    gap: float,
    tol: float | None,
    rigorous: bool,
) -> None:
    """The verification for a reader."""
    from convexdesign.cli.output import at_least, at_most, print_line

    low, high = interval
    print_line(f"{name:<16} {value:.8g}")
    print_line(f"{'bound':<16} {bound:.8g}")
    how = ", for the numbers exactly as given" if rigorous else ""
    print_line(f"{'efficiency':<16} between {at_least(low, 7)} and {at_most(high, 7)}, both proven{how}")
    if low <= 0:
        print_line("the design does not measure some target at all, so no number of measurements suffices")
    elif tol is not None:
        print_line(f"{'gap':<16} {gap:.1e}: {'within' if gap <= tol else 'NOT within'} the tolerance {tol:.1e}")
