"""A design as a JSON document, as text, and as a file of weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convexdesign.cli.files import write_rows
from convexdesign.cli.output import at_least, counted, print_line, print_table
from convexdesign.files import open_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from convexdesign.design import Design, ExactDesign
    from convexdesign.problem import DesignProblem

__all__ = [
    "design_document",
    "exact_document",
    "labels_of",
    "problem_document",
    "show_design",
    "show_exact",
    "verdict",
    "write_per_arm",
]

# A terminal is read, not scrolled: larger supports go to --output or --json.
ROWS_SHOWN = 20
# Coordinates without names of their own are called x1, x2, ...; that is not worth a line.
COLUMNS_SHOWN = 12


def problem_document(problem: DesignProblem) -> dict[str, Any]:
    """What was solved: kind, criterion, sizes."""
    return {
        "kind": problem.kind,
        "criterion": problem.criterion.formula,
        "n_arms": problem.n_arms,
        "n_targets": problem.targets.m,
        "dimension": problem.arms.d,
        "responses": problem.responses,
    }


def design_document(design: Design, rounded: ExactDesign | None = None) -> dict[str, Any]:
    """The design and its certificate; names as in Python, weights (n,) in the order of the arms."""
    rows = design.problem.rows
    document = {
        "problem": problem_document(design.problem),
        "status": design.status.name,
        "certified": design.status.name == "CERTIFIED",
        "value": design.value,
        "bound": design.bound,
        "lower_bound": None if design.problem.criterion.maximised else design.bound,
        "gap": design.gap,
        "tol": design.tol,
        "rank": design.rank,
        "rank_note": design.rank_note or None,
        "weights": design.weights,
        "support": design.support,
        "names": None if rows.names is None else list(rows.names),
        "columns": None if rows.columns is None else list(rows.columns),
        "method": design.stats.method,
        "formulation": design.stats.formulation,
        "backend": design.stats.backend,
        "iterations": design.stats.iterations,
        "seconds": design.stats.seconds,
    }
    return document if rounded is None else document | {"rounded": exact_document(rounded)}


def exact_document(exact: ExactDesign) -> dict[str, Any]:
    """Whole-number counts (n,) and how good they are."""
    return {
        "total": exact.total,
        "counts": exact.counts,
        "method": exact.method,
        "value": exact.value,
        "max_variance": exact.max_variance,
        "efficiency": exact.efficiency,
        "optimality_gap": exact.optimality_gap,
        "proven": exact.is_proven,
        "cost": exact.cost,
        "budget": exact.budget,
        "allowed": exact.is_allowed,
        "violation": exact.violation,
        "broken": list(exact.broken),
    }


def show_design(design: Design, rounded: ExactDesign | None = None) -> None:
    """The design for a reader: what was solved, how good it is, and where to measure."""
    problem = design.problem
    bound = "upper bound" if problem.criterion.maximised else "lower bound"
    arms, targets = counted(problem.n_arms, "arm"), counted(problem.targets.m, "target")
    each = f" with {problem.rows.how_many}" if problem.responses > 1 else ""
    print_line(f"{problem.kind}: {arms} in {counted(problem.arms.d, 'dimension')}{each}, {targets}")
    columns = problem.rows.columns
    if columns is not None and len(columns) <= COLUMNS_SHOWN and columns[0] != "x1":
        print_line(f"coordinates: {', '.join(columns)}")
    print_line()
    if design.rank_note:
        print_line(f"{'rank':<16} {design.rank_note.removeprefix('rank ')}")
    print_line(f"{problem.criterion.value_name:<16} {design.value:.8g}")
    print_line(f"{bound:<16} {design.bound:.8g}")
    print_line(f"{'gap':<16} {verdict(design)}")
    print_line(f"{'method':<16} {method_line(design)}")
    if rounded is not None:
        show_exact(rounded)
    print_line()
    weights, extra = design.weights, [] if rounded is None else [rounded.counts]
    support = design.support if rounded is None else (rounded.counts + weights).nonzero()[0]
    order = support[(-weights[support]).argsort(kind="stable")]
    shown = order[:ROWS_SHOWN]
    print_table(
        ("arm", "weight", "count")[: 2 + len(extra)],
        [(problem.arm_name(int(i)), weight_text(weights[i]), *(f"{counts[i]:,}" for counts in extra)) for i in shown],
        left=("arm",),
    )
    if order.size > shown.size:
        rest = order[ROWS_SHOWN:]
        more = "" if rounded is None else f" and {counted(int(rounded.counts[rest].sum()), 'measurement')}"
        print_line(
            f"and {order.size - shown.size:,} more arms with weight {float(weights[rest].sum()):.6f}{more} together; "
            "--output writes all"
        )


def show_exact(exact: ExactDesign) -> None:
    """How good whole-number counts are, for a reader."""
    name = exact.problem.criterion.value_name
    print_line(f"{'counts':<16} {counted(exact.total, 'measurement')} by {exact.method}")
    if name == "max variance":
        print_line(f"{'with counts':<16} {exact.max_variance:.8g}: the max variance after all measurements")
    else:
        unit = "measurement" if exact.problem.costs is None else "unit of budget"
        print_line(f"{'with counts':<16} {exact.value:.8g}: the {name} per {unit}")
    if exact.cost is not None:
        of = "" if exact.budget is None else f" of {exact.budget:.8g}"
        print_line(f"{'total cost':<16} {exact.cost:.8g}{of}")
    if not exact.is_allowed:
        missed = ", ".join(exact.broken[:3])
        print_line(f"{'NOT ALLOWED':<16} the counts miss {missed}, by a share of {exact.violation:.2g} of its room")
    print_line(f"{'efficiency':<16} at least {at_least(exact.efficiency, 6)}, proven, against the best proportions")
    if exact.rank_note:
        print_line(f"{'counts tell':<16} {exact.rank_note}")
    if exact.optimality_gap is not None:
        of = "this total" if exact.budget is None else "this budget"
        said = (
            f"PROVEN best: no counts of {of} are better by more than {exact.optimality_gap:.1e}"
            if exact.is_proven
            else f"NOT proven best: counts of {of} may be better by {exact.optimality_gap:.1e}, and no more"
        )
        print_line(f"{'whole numbers':<16} {said}")


def weight_text(weight: float) -> str:
    """Six decimals, and the power of ten where those would read as zero."""
    return f"{weight:.6f}" if weight >= 5e-7 or weight == 0 else f"{weight:.0e}"


def verdict(design: Design) -> str:
    """The gap, and in words whether it is within the tolerance."""
    if design.status.name == "CERTIFIED":
        return f"{design.gap:.1e}: certified, the tolerance is {design.tol:.1e}"
    return f"{design.gap:.1e}: NOT within the tolerance {design.tol:.1e} ({design.status.value})"


def method_line(design: Design) -> str:
    stats = design.stats
    parts = [part for part in (stats.method, stats.formulation, stats.backend) if part]
    return f"{', '.join(parts)}: {counted(stats.iterations, 'step')}, {stats.seconds:.3g} s"


def write_per_arm(problem: DesignProblem, columns: Mapping[str, NDArray[Any]], path: Path) -> None:
    """One row an arm, all arms, numbers to the last digit; `verify` and the other commands read it back exactly."""
    with open_text(path) as file:
        rows = zip(labels_of(problem), *(map(repr, values.tolist()) for values in columns.values()))
        write_rows(file, ("arm", *columns), rows)


def labels_of(problem: DesignProblem) -> Sequence[Any]:
    """What arms are called in files: by name where every name is unique and none could be taken for a number, else by
    index from 0."""
    names = problem.arms.names
    by_name = names is not None and len(set(names)) == len(names) and not any(map(is_number, names))
    return names if names is not None and by_name else range(problem.n_arms)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
