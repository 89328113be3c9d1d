"""Designs over regions, and judgements on run tables, as JSON documents, as text, and as files of settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.cli.output import at_least, counted, print_line, print_table, say
from convexdesign.cli.report import ROWS_SHOWN, verdict
from convexdesign.errors import InputError

if TYPE_CHECKING:
    import pandas

    from convexdesign.regions import Region, RegionCompoundDesign, RegionDesign, RegionExactDesign, RegionVerification
    from convexdesign.typing import Floats

__all__ = [
    "design_document",
    "exact_document",
    "joint_document",
    "read_run_table",
    "show_design",
    "show_exact_design",
    "show_joint",
    "show_verification",
    "verification_document",
    "write_settings",
]

# Rows are told one by one where to go.
MOST_COUNT = 100_000
# What other programs call a column of how often a row is run; so may a measurement be called, so that only count is taken.
TIMES = frozenset(["count", "counts", "freq", "frequency", "n"])
# Coded settings go so far from zero: to the stars of composite designs of eight factors.
FAR_CODED = 4.0


def problem_document(problem: Any) -> dict[str, Any]:
    """What was solved."""
    region = problem.region
    return {
        "kind": problem.kind.replace("_", "-"),
        "model": problem.curve.model.text,
        "terms": list(problem.curve.terms),
        "factors": list(region.factors),
        "dimension": problem.curve.d,
    }


def joint_document(design: RegionCompoundDesign, tol: float) -> dict[str, Any]:
    """A design for several values of the parameters, and what is proven of it; names as in Python."""
    alone = design.problem.mixtures[0].problems[0]
    return {
        "problem": problem_document(alone) | {"values": len(values_of(design))},
        "status": design.status.name,
        "certified": design.status.name == "CERTIFIED",
        "value": design.value,
        "bound": design.bound,
        "gap": design.gap,
        "tol": tol,
        "proof": design.kind,
        "settings": design.problem.region.table(design.where, design.x),
        "weights": design.weights,
        "multipliers": design.multipliers,
        "efficiencies": design.efficiencies,
        "values": design.values,
        "seconds": design.stats.seconds,
    }


def values_of(design: RegionCompoundDesign) -> list[Any]:
    """The problems, one for each value of the parameters."""
    return [problem for mixture in design.problem.mixtures for problem in mixture.problems]


def show_joint(design: RegionCompoundDesign, tol: float) -> None:
    """A design for several values of the parameters, for a reader."""
    values, alone = len(values_of(design)), design.problem.mixtures[0].problems[0]
    print_line(f"{alone.kind.replace('_', '-')}: {counted(values, 'value')} of the parameters over {alone.region!r}")
    print_line(f"terms: {', '.join(alone.curve.terms)}")
    print_line()
    print_line(f"{design.called:<18} {design.value:.8g}")
    print_line(f"{'upper bound':<18} {design.bound:.8g} over the whole region, proven by {design.kind}")
    inside = "certified," if design.status.name == "CERTIFIED" else "NOT within it,"
    print_line(f"{'gap':<18} {design.gap:.1e}: {inside} the tolerance is {tol:.1e}")
    if len(design.efficiencies):
        print_line(f"{'efficiencies':<18} {design.efficiencies.min():.4g} to {design.efficiencies.max():.4g}")
    print_line(f"{'seconds':<18} {design.stats.seconds:.3g}")
    print_line()
    show_table(design.points)


def design_document(design: RegionDesign, rounded: RegionExactDesign | None = None) -> dict[str, Any]:
    """The design and what is proven of it; names as in Python."""
    c = design.certificate
    document = {
        "problem": problem_document(design.problem),
        "status": design.status.name,
        "certified": design.status.name == "CERTIFIED",
        "value": design.value,
        "bound": design.bound,
        "gap": design.gap,
        "tol": design.tol,
        "proof": c.kind,
        "degree": c.degree,
        "next_seconds": c.next_seconds if c.next_seconds == c.next_seconds else None,
        "settings": design.problem.region.table(design.where, design.x),
        "weights": design.weights,
        "seconds": design.stats.seconds,
    }
    return document if rounded is None else document | {"rounded": exact_document(rounded)}


def exact_document(exact: RegionExactDesign) -> dict[str, Any]:
    """Whole numbers of runs and how good they are."""
    return {
        "total": exact.total,
        "settings": exact.problem.region.table(exact.where, exact.x),
        "counts": exact.counts,
        "value": exact.value,
        "bound": exact.bound,
        "efficiency": exact.efficiency,
        "cost": exact.cost,
    }


def show_design(design: RegionDesign, rounded: RegionExactDesign | None = None) -> None:
    """The design for a reader: what was solved, how good it is, and where to measure."""
    problem, c = design.problem, design.certificate
    print_line(f"{problem.kind.replace('_', '-')}: {counted(problem.curve.d, 'term')} over {problem.region!r}")
    print_line(f"terms: {', '.join(problem.curve.terms)}")
    print_line()
    side = "upper bound" if c.criterion.maximised else "lower bound"
    how = c.kind + (f" of degree {c.degree}" if c.degree else "")
    print_line(f"{c.criterion.value_name:<16} {design.value:.8g}")
    print_line(f"{side:<16} {design.bound:.8g} over the whole region, proven by {how}")
    print_line(f"{'gap':<16} {verdict(design)}")  # type: ignore[arg-type]
    print_line(f"{'seconds':<16} {design.stats.seconds:.3g}")
    if c.next_seconds == c.next_seconds:
        print_line(f"{'next step':<16} about {c.next_seconds:.2g} s more")
    print_line()
    show_table(design.points)
    if rounded is not None:
        print_line()
        show_exact(rounded)
        print_line()
        show_table(rounded.points)


def show_exact(exact: RegionExactDesign) -> None:
    """How good whole numbers of runs are."""
    name = exact.reference.certificate.criterion.value_name
    unit = "run" if exact.problem.cost is None else "unit of cost"
    print_line(f"{'runs':<16} {counted(exact.total, 'run')} at {counted(len(exact.counts), 'setting')}")
    print_line(f"{'with counts':<16} {exact.value:.8g}: the {name} per {unit}")
    if exact.problem.cost is not None:
        print_line(f"{'total cost':<16} {exact.cost:.8g}")
    print_line(
        f"{'efficiency':<16} at least {at_least(exact.efficiency, 6)}, proven, against the best shares over the region"
    )


def show_exact_design(exact: RegionExactDesign) -> None:
    """A plan of runs for a reader."""
    print_line(f"{exact.problem.kind.replace('_', '-')}: {counted(exact.problem.curve.d, 'term')}")
    print_line()
    show_exact(exact)
    print_line()
    show_table(exact.points)


def show_table(points: pandas.DataFrame) -> None:
    """Settings for a reader, the first of very many."""
    columns = [str(name) for name in points.columns]
    rows = [tuple(cell(value) for value in row) for row in points.head(ROWS_SHOWN).itertuples(index=False)]
    print_table(columns, rows, left=tuple(name for name in columns if points[name].dtype.kind not in "fiu"))
    if len(points) > ROWS_SHOWN:
        print_line(f"and {len(points) - ROWS_SHOWN} more settings; --output writes all")


def cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_settings(points: pandas.DataFrame, path: Path) -> None:
    """A row for each setting, numbers to the last digit; `verify --runs` reads it back."""
    from convexdesign.files import write_text

    write_text(path, points.to_csv(index=False, lineterminator="\n"))


def read_run_table(problem: Any, path: Path, dialect: dict[str, Any]) -> dict[str, Any]:
    """The runs of a CSV file for `verify`: a row a run, or a column count or weight for how often each row counts.

    Columns that are no factors (run, replicate, answers) are passed over, and named on standard error.
    """
    import pandas

    from convexdesign.regions.problem import repetitions
    from convexdesign.tables.factors import first_line, read_factors

    factors = problem.region.factors
    header = first_line(path, delimiter=dialect.get("delimiter"), encoding=dialect.get("encoding"))
    table = read_factors(path, unique=False, only={*factors, "count", "weight"}, **dialect)
    columns = {name.strip(): values for name, values in table.columns.items()}
    missing = [name for name in factors if name not in columns and name not in dict(problem.region.eliminated)]
    if missing:
        near = [name for name in header if bare(name) == bare(missing[0])]
        first = f"the first line has {', '.join(filter(None, header[:8]))}"
        seen = f"there is a column {near[0]!r}: call it {missing[0]}" if near else first
        needed = f"they need {', '.join(factors)}, as the problem calls them"
        raise InputError(f"{path}: the runs have no column {missing[0]!r}; {needed} ({seen})")
    runs = pandas.DataFrame({name: columns[name] for name in factors if name in columns})
    try:
        x = problem.region.coordinates(runs)[1]
        counts, weights = (repetitions(columns, factors, name) for name in ("count", "weight"))
    except InputError as error:
        raise InputError(f"{path}: {error} (rows count from 0, below the header)") from None
    check_units(path, problem.region, x)
    own = {*factors, *(["count"] if counts is not None else [] if weights is None else ["weight"])}
    passed = [name for name in header if name and name not in own]
    often = [name for name in passed if name.lower() in TIMES]
    if passed:
        remedy = f"; call {often[0]} count if it says how often each row is run" if often and counts is None else ""
        say(f"note: of {path.name} these columns are passed over: {', '.join(passed)}{remedy}")
    if counts is not None:
        if counts.max(initial=0.0) > MOST_COUNT:
            raise InputError(f"{path}: count goes up to {counts.max():g}; at most {MOST_COUNT}")
        return {"runs": runs.loc[runs.index.repeat(counts.astype(int))].reset_index(drop=True)}
    return {"runs": runs} if weights is None else {"runs": runs, "weights": weights}


def bare(name: str) -> str:
    """A column's name without units and in small letters: temp of "Temp (C)"."""
    return re.split(r"[\s(\[{]", name.strip().lower(), maxsplit=1)[0]


def check_units(path: Path, region: Region, x: Floats) -> None:
    """InputError for runs in coded units: all about zero, and none anywhere in the box."""
    low, high = (np.array(side, dtype=float) for side in (region.lower, region.upper))
    coded = x.size > 0 and np.abs(x).max() <= FAR_CODED and x.min() < 0 < x.max()
    if coded and not ((x >= low) & (x <= high)).all(axis=1).any():
        say_how = ", ".join(
            f"{name} = {(a + b) / 2:g} + {(b - a) / 2:g} z" for name, a, b in zip(region.names, low, high)
        )
        raise InputError(
            f"{path}: the runs lie between {x.min():g} and {x.max():g}, none of them where the problem's factors do: they look "
            f"coded. Write the units of the problem; with -1 and 1 for the limits, {say_how}"
        )


def verification_document(result: RegionVerification, tol: float | None, certified: bool) -> dict[str, Any]:
    """The judgement as data."""
    low, high = result.efficiency_interval
    moves = result.moves()
    return {
        "problem": problem_document(result.reference.problem),
        "value": result.value,
        "bound": result.lower_bound,
        "efficiency": result.efficiency,
        "efficiency_interval": [low, high],
        "tol": tol,
        "optimal": result.is_optimal(1e-6 if tol is None else tol),
        "outside": result.outside.tolist(),
        "proof": result.proof,
        "certified": certified,
        "moves": moves.to_dict("records"),
        "best": {
            "settings": result.reference.problem.region.table(result.reference.where, result.reference.x),
            "weights": result.reference.weights,
        },
    }


def show_verification(result: RegionVerification, tol: float | None, good: bool) -> None:
    """The judgement for a reader, with what should move where."""
    print_line(result.summary())
    if tol is not None:
        gap = 1.0 / result.efficiency - 1.0 if result.efficiency > 0 else float("inf")
        print_line(f"{'gap':<16} {gap:.1e}: {'within' if good else 'NOT within'} the tolerance {tol:.1e}")
