"""`convexdesign verify`: how efficient is a design that somebody else made, and what would improve it?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from convexdesign.cli.arguments import AsJson, JudgedDesign, ProblemOptions, Watched, option, with_options
from convexdesign.cli.exits import end
from convexdesign.cli.files import check_picture, save_picture, save_plot
from convexdesign.cli.output import counted, print_line, print_table, respond, watched
from convexdesign.cli.reading import (
    find_problem,
    options_advised,
    options_given,
    read_judged,
    read_runs,
    read_stated,
)
from convexdesign.cli.report import problem_document
from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.precision import Diagnostics
    from convexdesign.problem import DesignProblem
    from convexdesign.verification import Verification

__all__ = ["verify"]

# The interval for the efficiency is proven whatever its width; wider than this it answers nothing.
WIDEST_INTERVAL = 1e-4
# Worst targets and arms in the JSON document.
LISTED = 5


@with_options
def verify(
    stated: ProblemOptions,
    judged: JudgedDesign,
    runs: Annotated[
        Path | None,
        option(
            "--runs",
            metavar="CSV",
            help="A run sheet, one row a run, as round --run-sheet writes it; over a region a table of settings.",
        ),
    ] = None,
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
    precision: Annotated[
        bool,
        option(
            "--diagnostics", help="Standard errors, power and variance inflation of every term, aliases, predictions."
        ),
    ] = False,
    noise_sd: Annotated[
        float, option("--noise-sd", help="The standard deviation of one run, for --diagnostics.")
    ] = 1.0,
    diagnostics_plot: Annotated[
        Path | None,
        option("--diagnostics-plot", metavar="FILE", help="Draw correlations and predictions (.png, .svg or .pdf)."),
    ] = None,
    effect: Annotated[float, option("--effect", help="The coefficient whose power --diagnostics says.")] = 1.0,
    progress: Watched = None,
    as_json: AsJson = False,
) -> None:
    """Prove how efficient a given design is, and say what would improve it.

    The efficiency is the best possible value divided by the design's: at 0.8 the optimal design needs 80 measurements
    for the precision this one reaches with 100. Both ends of the interval printed are proven. Files of --weights and
    --counts hold one column in the order of the arms, or arms (names, or indices from 0) and numbers; a --design lists points.

    Of a problem over a region --runs takes the table of any program, a column a factor and a row a run: it is judged against
    the best possible anywhere in the region, and every run that should move is told where to.

    Exits with 0 when the efficiency is known to 1e-4 and, with --tol, within it; with 3 otherwise, and where the weights
    break the problem's constraints on them.
    """
    from convexdesign.verification import verify as verify_design

    if tol is not None and not tol > 0:
        raise InputError(f"--tol {tol:g} must be positive")
    check_picture(plot)
    check_picture(diagnostics_plot, "--diagnostics-plot")
    precision = precision or diagnostics_plot is not None
    if runs is not None and is_over_region(stated):
        if replace(judged, match_tol=1e-6) != JudgedDesign():
            raise InputError("a problem over a region is judged by --runs alone: a table with a column for each factor")
        if precision:
            raise InputError("--diagnostics is for lists of arms; over a region leave it out")
        verify_runs(stated, runs, tol, plot, progress, as_json, rigorous)
    if runs is None:
        problem, given = read_judged(stated, judged)
    elif judged.files:
        raise InputError("give exactly one of --weights, --counts, --design and --runs")
    else:
        problem, given = read_runs(stated, runs)
    if judged.design is not None:
        say_matched(given, judged.design, as_json)
    with watched("verify", progress):
        result = verify_design(problem, **given, rigorous=rigorous)
    if precision and result.counts is None:
        raise InputError("--diagnostics needs whole numbers of runs: --counts, --runs, or a --design with counts")
    low, high = result.efficiency_interval
    known = high - low <= WIDEST_INTERVAL and result.is_allowed
    good = tol is None or result.is_optimal(tol)
    save_plot(result, plot)
    if diagnostics_plot is not None:
        draw_diagnostics(result.diagnostics(noise_sd), diagnostics_plot)

    def show() -> None:
        print_line(result.summary(1e-6 if tol is None else tol))
        if precision:
            show_diagnostics(result.diagnostics(noise_sd), effect)
        if tol is not None:
            print_line(f"{'gap':<16} {result.gap:.1e}: {'within' if good else 'NOT within'} the tolerance {tol:.1e}")

    found = document(problem, result, tol, known and good)
    if precision:
        found["diagnostics"] = diagnostics_document(result.diagnostics(noise_sd), effect)
    respond(as_json, found, show)
    end(known and good)


def is_over_region(stated: ProblemOptions) -> bool:
    """Whether the source is a problem file, or a name in the library, that states a problem over a region."""
    return (
        Path(stated.source).suffix.lower() in ("", ".toml")
        and not options_given(stated)
        and find_problem(stated.source).is_over_region
    )


def verify_runs(
    stated: ProblemOptions,
    runs: Path,
    tol: float | None,
    plot: Path | None,
    progress: bool | None,
    as_json: bool,
    rigorous: bool,
) -> NoReturn:
    """A table of runs judged against the best possible anywhere in the region; ends the command."""
    from convexdesign.cli import over_region
    from convexdesign.verification import verify as verify_design

    problem = read_stated(stated)
    with options_advised():
        given = over_region.read_run_table(problem, runs, stated.dialect.text)
    with watched("verify", progress):
        result: Any = verify_design(problem, **given, rigorous=rigorous)
    low, high = result.efficiency_interval
    known = high - low <= WIDEST_INTERVAL and result.is_allowed
    good = tol is None or result.is_optimal(tol)
    save_plot(result, plot)
    document = over_region.verification_document(result, tol, known and good)
    respond(as_json, document, lambda: over_region.show_verification(result, tol, good))
    end(known and good)


def show_diagnostics(found: Diagnostics, effect: float) -> None:
    """Precision of every term and of predictions, for a reader."""
    frame = found.to_frame(effect)
    print_line()
    print_table(
        ("term", "standard error", f"power for {effect:g}", "variance inflation"),
        [(str(row[0]), *(f"{x:.6g}" for x in row[1:])) for row in frame.itertuples(index=False)],
        left=("term",),
    )
    for line in found.aliased:
        print_line(f"{'aliased':<16} {line}")
    space = found.fraction_of_design_space()
    half, ninety, most = (float(space["variance"].iloc[int(q * (len(space) - 1))]) for q in (0.5, 0.9, 1.0))
    print_line(
        f"{'predictions':<16} variance at most {half:.4g} at half of the arms, {ninety:.4g} at 90 %, {most:.4g} at all"
    )
    print_line(f"{'residuals':<16} {counted(found.residual_degrees, 'degree')} of freedom for the noise")


def draw_diagnostics(found: Diagnostics, path: Path) -> None:
    """The correlations of the estimates beside the fraction of design space, in one file."""
    from convexdesign.extras import needed

    needed("matplotlib", "drawing")
    from matplotlib.figure import Figure

    left, right = Figure(figsize=(12.0, 5.0), dpi=150, layout="constrained").subplots(1, 2)
    found.plot_correlation(left)
    save_picture(found.plot_fraction_of_design_space(ax=right), path)


def diagnostics_document(found: Diagnostics, effect: float) -> dict[str, Any]:
    """The same as data."""
    frame = found.to_frame(effect)
    return {name: frame[name].tolist() for name in frame} | {
        "aliased": list(found.aliased),
        "residual_degrees": found.residual_degrees,
        "prediction_variance": found.prediction_variance().tolist(),
    }


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
