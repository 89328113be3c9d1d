"""The options by which a command is told its problem, shared by every command that needs one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "KINDS",
    "AsJson",
    "Costs",
    "Decimal",
    "Delimiter",
    "Direction",
    "Encoding",
    "ExistingCounts",
    "Formula",
    "Header",
    "Interest",
    "Items",
    "Jobs",
    "Kind",
    "Matrix",
    "MaxWeight",
    "MinWeight",
    "Names",
    "NewMeasurements",
    "NoiseVariance",
    "PriorInformation",
    "Progress",
    "Region",
    "Seed",
    "Source",
    "Targets",
    "Theta",
    "Threshold",
]

# Written out, since importing them would make `--help` slow; a test compares them with problemfile.KINDS.
KINDS = (
    "minimax",
    "g-optimal",
    "variance-g-optimal",
    "xy-allocation",
    "level-set-allocation",
    "best-arm-oracle",
    "level-set-oracle",
    "c-optimal",
    "d-optimal",
    "ds-optimal",
    "a-optimal",
    "i-optimal",
    "average-variance",
    "e-optimal",
)

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A problem file (TOML), a name from `convexdesign problems`, or a table of arms (CSV or NPY, one arm "
        "a row), which needs --problem.",
        show_default=False,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option("--problem", metavar="KIND", help=f"What to do with a table of arms: {', '.join(KINDS)}."),
]
Items = Annotated[
    Path | None, typer.Option("--items", metavar="CSV", help="Items, one a row; the arms themselves if left out.")
]
Targets = Annotated[Path | None, typer.Option("--targets", metavar="CSV", help="Targets, one a row (for minimax).")]
Theta = Annotated[
    str | None,
    typer.Option("--theta", metavar="CSV|a,b,...", help="The parameter, for the oracles: a file or numbers."),
]
Threshold = Annotated[
    float | None, typer.Option("--threshold", help="The threshold, for level-set-oracle, in units of the outcome.")
]
NoiseVariance = Annotated[
    str | None,
    typer.Option(
        "--noise-variance",
        metavar="CSV|NUMBER",
        help="Variance (not standard deviation) of one measurement: one number for all arms, or a file with one an "
        "arm. 1 if left out.",
    ),
]
Direction = Annotated[
    str | None,
    typer.Option("--direction", metavar="CSV|a,b,...", help="The combination of theta to estimate, for c-optimal."),
]
Interest = Annotated[
    str | None,
    typer.Option(
        "--interest",
        metavar="CSV|i,j,...",
        help="The parameters of interest, for ds-optimal: indices from 0, names of columns (or of terms), or a file "
        "with one combination a column.",
    ),
]
Region = Annotated[
    Path | None, typer.Option("--region", metavar="CSV", help="Where to predict, one point a row, for i-optimal.")
]
Matrix = Annotated[
    Path | None, typer.Option("--matrix", metavar="CSV", help="The matrix M of weights, for average-variance.")
]
Formula = Annotated[
    str | None,
    typer.Option(
        "--formula",
        metavar="TERMS",
        help="The table holds factor settings, and this is the model: '1 + a + b + a:b + a**2', C(c) for categories. "
        "Items, targets and region are then settings of the same factors. Needs convexdesign[formula].",
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        "--costs",
        metavar="CSV|NUMBER",
        help="The price of one measurement of each arm; the weights become shares of a budget.",
    ),
]
MinWeight = Annotated[
    str | None,
    typer.Option("--min-weight", metavar="CSV|NUMBER", help="Lower bounds on the weights; 0 for arms not in the file."),
]
MaxWeight = Annotated[
    str | None,
    typer.Option("--max-weight", metavar="CSV|NUMBER", help="Upper bounds on the weights; 1 for arms not in the file."),
]
ExistingCounts = Annotated[
    Path | None,
    typer.Option(
        "--existing-counts",
        metavar="CSV",
        help="Measurements already made of each arm; the weights are those of the next --n-new.",
    ),
]
PriorInformation = Annotated[
    Path | None,
    typer.Option(
        "--prior-information",
        metavar="CSV",
        help="Or the total information already held, a matrix with one row a coordinate; needs --n-new.",
    ),
]
NewMeasurements = Annotated[
    float | None,
    typer.Option("--n-new", metavar="N", help="How many measurements are planned (with --costs: the budget)."),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="CHAR", help="What separates cells in CSV files; found out if left out."),
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", metavar="CHAR", help="The decimal mark in CSV files; found out if left out.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether CSV files begin with a line of names; found out if left out."),
]
Names = Annotated[
    bool | None,
    typer.Option("--names/--no-names", help="Whether the first column names the rows; found out if left out."),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="How CSV files are written, if not in UTF-8: cp1252.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, also for errors, and nothing else.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")]
Jobs = Annotated[int, typer.Option("--jobs", help="Processes to spread the runs over; -1 for all cores.")]
Progress = Annotated[bool, typer.Option("--progress/--no-progress", help="A bar on standard error.")]
