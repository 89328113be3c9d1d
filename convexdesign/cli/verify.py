"""`convexdesign verify`: how efficient is a design that somebody else made?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convexdesign.cli.arguments import (
    AsJson,
    Decimal,
    Delimiter,
    Direction,
    Interest,
    Items,
    Kind,
    Matrix,
    NoiseVariance,
    Region,
    Source,
    Targets,
    Theta,
    Threshold,
)
from convexdesign.cli.exits import ExitCode
from convexdesign.errors import InputError

__all__ = ["verify"]

# The interval for the efficiency is proven whatever its width; wider than this it answers nothing.
WIDEST_INTERVAL = 1e-4


def verify(
    source: Source,
    weights: Annotated[
        Path | None, typer.Option("--weights", metavar="CSV", help="Proportions that sum to 1, one an arm.")
    ] = None,
    counts: Annotated[
        Path | None, typer.Option("--counts", metavar="CSV", help="Whole numbers of measurements, one an arm.")
    ] = None,
    problem: Kind = None,
    items: Items = None,
    targets: Targets = None,
    theta: Theta = None,
    threshold: Threshold = None,
    noise_variance: NoiseVariance = None,
    direction: Direction = None,
    interest: Interest = None,
    region: Region = None,
    matrix: Matrix = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    tol: Annotated[
        float | None,
        typer.Option("--tol", help="Exit with 3 unless the design is proven to be within this relative gap."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove how efficient a given design is.

    The efficiency is the best possible value divided by the design's: at 0.8 the optimal design needs 80 measurements
    for the precision this one reaches with 100. Both ends of the interval printed are proven. Files hold one
    column in the order of the arms, or arms (names, or indices from 0) and numbers.

    Exits with 0 when the efficiency is known to 1e-4 and, with --tol, within it; with 3 otherwise.
    """
    from convexdesign.cli.output import print_json
    from convexdesign.cli.reading import read_problem
    from convexdesign.cli.report import problem_document, value_name
    from convexdesign.tables import read_vector
    from convexdesign.verify import verify as verify_design

    if (weights is None) == (counts is None):
        raise InputError("give exactly one of --weights and --counts")
    if tol is not None and not tol > 0:
        raise InputError(f"--tol {tol:g} must be positive")
    stated = read_problem(
        source,
        kind=problem,
        items=items,
        targets=targets,
        theta=theta,
        threshold=threshold,
        noise_variance=noise_variance,
        direction=direction,
        interest=interest,
        region=region,
        matrix=matrix,
        delimiter=delimiter,
        decimal=decimal,
    )
    names = stated.arms.names
    if weights is not None:
        result = verify_design(
            stated, weights=read_vector(weights, stated.n_arms, names=names, delimiter=delimiter, decimal=decimal)
        )
    else:
        assert counts is not None
        result = verify_design(
            stated, counts=read_vector(counts, stated.n_arms, names=names, delimiter=delimiter, decimal=decimal)
        )
    low, high = result.efficiency_interval
    gap = 1.0 / low - 1.0 if low > 0 else float("inf")
    known = high - low <= WIDEST_INTERVAL
    good = tol is None or gap <= tol
    if as_json:
        print_json(
            {
                "problem": problem_document(stated),
                "value": result.value,
                "bound": result.lower_bound,
                "lower_bound": None if stated.criterion.maximised else result.lower_bound,
                "efficiency": result.efficiency,
                "efficiency_interval": [low, high],
                "gap": gap,
                "tol": tol,
                "certified": known and good,
            }
        )
    else:
        show(value_name(stated), result.value, result.lower_bound, low, high, gap, tol)
    raise typer.Exit(ExitCode.CERTIFIED if known and good else ExitCode.NOT_CERTIFIED)


def show(name: str, value: float, bound: float, low: float, high: float, gap: float, tol: float | None) -> None:
    """The verification for a reader."""
    from convexdesign.cli.output import print_line

    print_line(f"{name:<16} {value:.8g}")
    print_line(f"{'bound':<16} {bound:.8g}")
    print_line(f"{'efficiency':<16} between {low:.7f} and {high:.7f}, both proven")
    if low <= 0:
        print_line("the design does not measure some target at all, so no number of measurements suffices")
    elif tol is not None:
        print_line(f"{'gap':<16} {gap:.1e}: {'within' if gap <= tol else 'NOT within'} the tolerance {tol:.1e}")
