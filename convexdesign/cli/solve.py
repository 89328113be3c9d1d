"""`convexdesign solve`: weights with a certificate, from a problem file, the library, or a table of arms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

from convexdesign.cli import over_region as region_report
from convexdesign.cli import report as list_report
from convexdesign.cli.arguments import AsJson, ProblemOptions, Watched, option, with_options
from convexdesign.cli.completion import choices
from convexdesign.cli.exits import end
from convexdesign.cli.files import check_picture, check_writable, save_plot
from convexdesign.cli.output import respond, watched
from convexdesign.cli.reading import read_stated
from convexdesign.cli.report import write_per_arm
from convexdesign.errors import InputError

__all__ = ["solve"]


@with_options
def solve(
    stated: ProblemOptions,
    tol: Annotated[float, option("--tol", help="The relative gap to prove.")] = 1e-6,
    method: Annotated[
        str,
        option(
            "--method",
            help="auto, conic, frank-wolfe, frank-wolfe-vanilla, frank-wolfe-away or multiplicative.",
            autocompletion=choices(
                "auto", "conic", "frank-wolfe", "frank-wolfe-vanilla", "frank-wolfe-away", "multiplicative"
            ),
        ),
    ] = "auto",
    formulation: Annotated[
        str | None,
        option(
            "--formulation",
            help="Of conic: sdp, matrix-fractional, socp, dual-socp or log-det.",
            autocompletion=choices("sdp", "matrix-fractional", "socp", "dual-socp", "log-det"),
        ),
    ] = None,
    backend: Annotated[
        str | None,
        option("--backend", help="Of conic: clarabel or scs.", autocompletion=choices("clarabel", "scs")),
    ] = None,
    max_iter: Annotated[
        int | None,
        option(
            "--max-iter",
            metavar="N",
            help="Stop after this many steps of the method (conic programs of conic; 1000 of the classic ones if left out).",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, option("--time-limit", metavar="SECONDS", help="Stop after this long with the best so far.")
    ] = None,
    round_to: Annotated[
        int | None, option("--round", metavar="N", help="Also give N whole measurements (see `convexdesign round`).")
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the weights, with --round the counts too: CSV, or with the ending .json the whole design.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, option("--plot", metavar="FILE", help="Draw the weights (.png, .svg or .pdf).")
    ] = None,
    progress: Watched = None,
    as_json: AsJson = False,
) -> None:
    """Find the best weights, with a proof.

    Exits with 0 when the gap is proven to be within --tol and whole numbers keep every constraint, with 3 otherwise (the best
    design found is printed and written all the same).
    """
    from convexdesign.problem.continuum import ContinuumProblem
    from convexdesign.solving import solve as solve_problem

    check_writable(output, "--output")
    check_picture(plot)
    if round_to is not None and round_to < 1:
        raise InputError(f"--round {round_to}: give the number of measurements, at least 1")
    problem = read_stated(stated)
    if hasattr(problem, "mixtures") and (round_to is not None or (output and output.suffix.lower() == ".json")):
        raise InputError(
            "a design for several values of the parameters is neither rounded nor saved as JSON; leave out --round, and "
            "give --output the ending .csv"
        )
    how: dict[str, Any] = {"method": method, "tol": tol, "max_iter": max_iter, "time_limit": time_limit}
    with watched("solve", progress, time_limit):
        design: Any = solve_problem(problem, **how, formulation=formulation, backend=backend)
    if not hasattr(design, "round"):
        finish_joint(design, tol, output, plot, as_json)
    with watched("round", progress):
        rounded = None if round_to is None else design.round(round_to)
    over_region = isinstance(problem, ContinuumProblem)
    if output is not None and output.suffix.lower() == ".json":
        design.save(output)
    elif output is not None and over_region:
        region_report.write_settings(design.points if rounded is None else rounded.points, output)
    elif output is not None:
        columns = {"weight": design.weights} | ({} if rounded is None else {"count": rounded.counts})
        write_per_arm(design.problem, columns, output)
    save_plot(design, plot)
    report: Any = region_report if over_region else list_report
    respond(as_json, report.design_document(design, rounded), lambda: report.show_design(design, rounded))
    kept = over_region or rounded is None or rounded.is_allowed
    end(design.status.name == "CERTIFIED" and kept)


def finish_joint(design: Any, tol: float, output: Path | None, plot: Path | None, as_json: bool) -> NoReturn:
    """A design for several values of the parameters: written, drawn and told; ends the command."""
    if output is not None:
        region_report.write_settings(design.points, output)
    save_plot(design, plot)
    respond(as_json, region_report.joint_document(design, tol), lambda: region_report.show_joint(design, tol))
    end(design.status.name == "CERTIFIED")
