"""`convexdesign solve`: weights with a certificate, from a problem file, the library, or a table of arms."""

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

__all__ = ["solve"]


def solve(
    source: Source,
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
    tol: Annotated[float, typer.Option("--tol", help="The relative gap to prove.")] = 1e-6,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="auto, conic, frank-wolfe, frank-wolfe-vanilla, frank-wolfe-away or multiplicative.",
        ),
    ] = "auto",
    formulation: Annotated[
        str | None,
        typer.Option("--formulation", help="Of conic: sdp, matrix-fractional, socp, dual-socp or log-det."),
    ] = None,
    backend: Annotated[str | None, typer.Option("--backend", help="Of conic: clarabel or scs.")] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Stop after this long with the best so far.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the weights: CSV, or with the ending .json all of it."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the weights (.png, .svg or .pdf).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best weights, with a proof.

    Exits with 0 when the gap is proven to be within --tol, with 3 when it is not (the best design found is
    printed and written all the same).
    """
    from convexdesign.cli.files import check_picture, check_writable, save_picture
    from convexdesign.cli.output import print_json
    from convexdesign.cli.reading import read_problem
    from convexdesign.cli.report import design_document, show_design, write_weights
    from convexdesign.solve import solve as solve_problem

    check_writable(output, "--output")
    check_picture(plot)
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
    design = solve_problem(
        stated, method=method, tol=tol, time_limit=time_limit, formulation=formulation, backend=backend
    )
    if output is not None and output.suffix.lower() == ".json":
        design.save(output)
    elif output is not None:
        write_weights(design, output)
    if plot is not None:
        from convexdesign.plotting import new_axes

        save_picture(design.plot(new_axes()), plot)
    if as_json:
        print_json(design_document(design))
    else:
        show_design(design)
    raise typer.Exit(ExitCode.CERTIFIED if design.status.name == "CERTIFIED" else ExitCode.NOT_CERTIFIED)
