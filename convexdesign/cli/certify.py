"""`convexdesign certify` and `convexdesign check`: a proof as a file, and its examination by whole numbers alone."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.cli.arguments import (
    FOUND_OUT,
    AsJson,
    Dialect,
    ProblemOptions,
    Watched,
    argument,
    option,
    with_options,
)
from convexdesign.cli.exits import end
from convexdesign.cli.files import check_writable
from convexdesign.cli.output import at_least, print_line, respond, watched
from convexdesign.cli.reading import find_problem, read_design
from convexdesign.errors import InputError
from convexdesign.files import is_file, read_regular

if TYPE_CHECKING:
    from convexdesign.problemfile import ProblemFile

__all__ = ["certify", "check"]

ProblemSource = Annotated[str, argument("FILE", "A problem file (TOML), or a name from `convexdesign problems`.")]


@with_options
def certify(
    source: ProblemSource,
    weights: Annotated[
        Path | None, option("--weights", metavar="CSV", help="Certify these proportions, not the best ones.")
    ] = None,
    counts: Annotated[
        Path | None, option("--counts", metavar="CSV", help="Certify these numbers of measurements.")
    ] = None,
    runs: Annotated[
        Path | None,
        option("--runs", metavar="CSV", help="Over a region: certify this table, a column a factor, a row a run."),
    ] = None,
    dialect: Dialect = FOUND_OUT,
    tol: Annotated[
        float, option("--tol", help="Exit with 3 unless the design is proven to be within this relative gap.")
    ] = 1e-6,
    output: Annotated[Path, option("--output", "-o", metavar="JSON", help="Where to write the certificate.")] = Path(
        "certificate.json"
    ),
    progress: Watched = None,
    as_json: AsJson = False,
) -> None:
    """Write a proof that a design is nearly optimal.

    The certificate holds the design and the bound's vectors as whole numbers. `convexdesign check`, or the one file that
    it consists of (convexdesign/rigorous/check.py, which needs Python alone), computes all claims again from the
    problem file, exactly. Needs convexdesign[rigorous]; not for E, D_s, I and average variance, nor with
    constraints on the weights. Over a region, of polynomial models, it holds the sums of squares too, for all kinds, and
    convexdesign/rigorous/check_region.py is its examiner.

    Exits with 0 when the design is proven to be within --tol, with 3 otherwise (the certificate is written all the same).
    """
    from convexdesign.problemfile import write_certificate
    from convexdesign.problemfile.certificate import stated_ratio

    check_writable(output, "--output")
    if not tol > 0:
        raise InputError(f"--tol {tol:g} must be positive")
    file = find_file(source)
    if runs is None:
        given = design_given(file, weights, counts, dialect)
    else:
        given = runs_given(file, runs, weights, counts, dialect)
    with watched("certify", progress):
        written = write_certificate(file.path, output, **given)
    efficiency = efficiency_proven(stated_ratio(written), file)
    gap = 1.0 / efficiency - 1.0 if efficiency > 0 else float("inf")
    good = gap <= tol

    def show_all() -> None:
        show(efficiency, file)
        print_line(f"{'certificate':<16} {output}")
        if not good:
            print_line(f"this is NOT within the tolerance {tol:.1e}")

    document = {"certificate": str(output), "certified": good, "efficiency": efficiency, "gap": gap, "tol": tol}
    respond(as_json, document, show_all)
    end(good)


def check(
    certificate: Annotated[Path, argument("CERTIFICATE", "What `convexdesign certify` wrote.")],
    source: ProblemSource,
    as_json: AsJson = False,
) -> None:
    """Examine a certificate by whole numbers.

    Every number in the problem file is taken as the fraction it is, and value, bound and their ratio are computed again
    without rounding. Exits with 0 when all claims hold, with 3 when the certificate is rejected.
    """
    from convexdesign.problemfile import check_certificate

    file = find_file(source)
    try:
        json.loads(read_regular(certificate, "a certificate").decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{certificate} is not JSON: {error}; give a file that `convexdesign certify` wrote") from None
    efficiency, reason = None, None
    try:
        efficiency = efficiency_proven(check_certificate(certificate, file.path), file)
    except InputError as error:
        reason = str(error)
    document = {"accepted": efficiency is not None, "efficiency": efficiency, "reason": reason}
    respond(as_json, document, lambda: print_line(str(reason)) if efficiency is None else show(efficiency, file))
    end(efficiency is not None)


def find_file(source: str) -> ProblemFile:
    """The problem file, which must be one: a certificate is about the numbers in it."""
    path = Path(source)
    if is_file(path) and path.suffix.lower() != ".toml":
        raise InputError(f"{source}: a certificate is about a problem file (TOML); state the problem in one")
    return find_problem(source)


def design_given(file: ProblemFile, weights: Path | None, counts: Path | None, dialect: Dialect) -> dict[str, Any]:
    """The design to certify, as a keyword; nothing for the best one."""
    if weights is None and counts is None:
        return {}
    if file.is_over_region:
        raise InputError("--weights and --counts are of a list of arms; over a region give --runs, a column a factor")
    given = read_design(file.problem(), weights, counts, ProblemOptions(str(file.path), dialect=dialect))
    if "weights" in given and abs(given["weights"].sum() - 1.0) > SUM_TOLERANCE:
        raise InputError(f"weights sum to {given['weights'].sum():.9g}, not 1; divide them, or give --counts")
    return given


def runs_given(
    file: ProblemFile, runs: Path, weights: Path | None, counts: Path | None, dialect: Dialect
) -> dict[str, Any]:
    """A table of runs to certify, as keywords."""
    from convexdesign.cli.over_region import read_run_table

    if weights is not None or counts is not None or not file.is_over_region:
        raise InputError("--runs is for problems over a region, without --weights and --counts")
    return read_run_table(file.problem(), runs, dialect.text)


# Weights whose sum is further from one than this are a mistake, not rounding.
SUM_TOLERANCE = 1e-6


def efficiency_proven(ratio: Fraction, file: ProblemFile) -> float:
    """The ratio of the values, of determinants its root; rounded down."""
    safe = float(ratio * (1 - Fraction(1, 2**52)))
    if file.kind not in ("d-optimal", "ds-optimal"):
        return safe
    problem: Any = file.problem()
    if not file.is_over_region:
        order = problem.arms.d
    else:
        order = problem.curve.d if file.kind == "d-optimal" else problem.fields["interest"].shape[1]
    return float(safe ** (1.0 / order) * (1 - 2.0**-50))


def show(efficiency: float, file: ProblemFile) -> None:
    """What was proven, for a reader."""
    print_line(f"{'proven':<16} efficiency at least {at_least(efficiency, 12)}, computed without rounding")
    print_line(f"{'problem':<16} {file.title} ({file.kind}), {file.path}")
