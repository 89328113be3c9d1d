"""`convexdesign verify`: how efficient is a design that somebody else made, and what would improve it?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convexdesign.cli.arguments import AsJson, Counts, ProblemOptions, Weights, option, with_problem_options
from convexdesign.cli.exits import ExitCode
from convexdesign.cli.files import check_picture, save_picture
from convexdesign.cli.output import counted, print_line, respond
from convexdesign.cli.reading import read_design, read_matched, read_problem
from convexdesign.cli.report import problem_document
from convexdesign.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convexdesign.problem import DesignProblem
    from convexdesign.verification import Verification

__all__ = ["verify"]

# The interval for the efficiency is proven whatever its width; wider than this it answers nothing.
WIDEST_INTERVAL = 1e-4
# Worst targets and arms in the JSON document.
LISTED = 5


class Measure(StrEnum):
    """What the effort in a listed design is."""

    weights = "weights"
    counts = "counts"


@with_problem_options
def verify(
    stated: ProblemOptions,
    weights: Weights = None,
    counts: Counts = None,
    design: Annotated[
        Path | None,
        option(
            "--design",
            metavar="CSV",
            help="A design of any program: points (or names of arms) with weights or counts, or one row a measurement.",
        ),
    ] = None,
    column: Annotated[
        str | None, option("--column", metavar="NAME", help="The column of --design with weights or counts.")
    ] = None,
    measure: Annotated[
        Measure | None, option("--measure", help="What that column holds, where its name does not say.")
    ] = None,
    match_tol: Annotated[
        float, option("--match-tol", help="How far a point may be from its arm, as a share of each column's range.")
    ] = 1e-6,
    normalise: Annotated[
        bool, option("--normalise", help="Divide the weights by their sum, where they were rounded.")
    ] = False,
    tol: Annotated[
        float | None, option("--tol", help="Exit with 3 unless the design is proven to be within this relative gap.")
    ] = None,
    plot: Annotated[
        Path | None, option("--plot", metavar="FILE", help="Draw the equivalence theorem (.png, .svg or .pdf).")
    ] = None,
    rigorous: Annotated[
        bool,
        option(
            "--rigorous",
            help="Prove it for the numbers exactly as given, rounding included. Needs convexdesign[rigorous].",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Prove how efficient a given design is, and say what would improve it.

    The efficiency is the best possible value divided by the design's: at 0.8 the optimal design needs 80 measurements
    for the precision this one reaches with 100. Both ends of the interval printed are proven. Files of --weights and
    --counts hold one column in the order of the arms, or arms (names, or indices from 0) and numbers; a --design lists points.

    Exits with 0 when the efficiency is known to 1e-4 and, with --tol, within it; with 3 otherwise, and where the weights
    break the problem's constraints on them.
    """
    from convexdesign.verification import verify as verify_design

    if tol is not None and not tol > 0:
        raise InputError(f"--tol {tol:g} must be positive")
    check_picture(plot)
    problem = read_problem(stated)
    if sum(path is not None for path in (weights, counts, design)) != 1:
        raise InputError("give exactly one of --weights, --counts and --design")
    if design is None:
        given = read_design(problem, weights, counts, stated)
        if weights is not None:
            given = {"weights": given["weights"] if normalise else summing_to_one(given["weights"], weights)}
    else:
        options: dict[str, Any] = {
            "column": column,
            "measure": measure and measure.value,
            "tol": match_tol,
            "normalise": normalise,
        }
        given = read_matched(problem, design, stated, **options)
        say_matched(given, design, as_json)
    result = verify_design(problem, **given, rigorous=rigorous, normalise=normalise and "weights" in given)
    low, high = result.efficiency_interval
    known = high - low <= WIDEST_INTERVAL and result.is_allowed
    good = tol is None or result.is_optimal(tol)
    if plot is not None:
        from convexdesign.plotting import new_axes

        save_picture(result.plot(ax=new_axes()), plot)

    def show() -> None:
        print_line(result.summary(1e-6 if tol is None else tol))
        if tol is not None:
            print_line(f"{'gap':<16} {result.gap:.1e}: {'within' if good else 'NOT within'} the tolerance {tol:.1e}")

    respond(as_json, document(problem, result, tol, known and good), show)
    raise typer.Exit(ExitCode.CERTIFIED if known and good else ExitCode.NOT_CERTIFIED)


def summing_to_one(values: NDArray[np.float64], path: Path) -> NDArray[np.float64]:
    """The weights; InputError where they do not sum to 1."""
    from convexdesign.verification.efficiency import SUM_TOLERANCE

    total = float(values.sum())
    if total > 0 and abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(
            f"{path}: the weights sum to {total:.9g}, not 1; --normalise divides them by their sum, --counts takes whole "
            "numbers of measurements"
        )
    return values


def say_matched(given: dict[str, Any], path: Path, as_json: bool) -> None:
    """What was found in a design's file, for a reader to compare with what it should hold."""
    ((name, values),) = given.items()
    total = f", {counted(int(values.sum()), 'measurement')} in all" if name == "counts" else ""
    if not as_json:
        print_line(f"{'design':<16} {name} of {counted(int((values > 0).sum()), 'arm')} in {path}{total}")


def document(problem: DesignProblem, result: Verification, tol: float | None, certified: bool) -> dict[str, Any]:
    """The verification as one JSON document; infinities are null there."""
    low, high = result.efficiency_interval
    step = result.improvement()
    return {
        "problem": problem_document(problem),
        "value": result.value,
        "bound": result.lower_bound,
        "lower_bound": None if problem.criterion.maximised else result.lower_bound,
        "efficiency": result.efficiency,
        "efficiency_interval": [low, high],
        "gap": result.gap,
        "tol": tol,
        "optimal": result.is_optimal(1e-6 if tol is None else tol),
        "violation": result.violation,
        "rank": result.certificate.rank,
        "rank_note": result.rank_note or None,
        "rigorous": result.proof is not None,
        "certified": certified,
        "worst_targets": result.worst_targets(LISTED).to_dict("records"),
        "worst_arms": result.worst_arms(LISTED).reset_index().to_dict("records"),
        "improvement": {
            "arms": step.arms,
            "names": step.names,
            "derivative": step.derivative,
            "share": step.share,
            "value": step.value,
            "gain": step.gain,
            "targets": step.targets,
        },
    }
