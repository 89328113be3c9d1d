"""A design as a JSON document, as text, and as a file of weights."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convexdesign.cli.output import print_line, print_table

if TYPE_CHECKING:
    from convexdesign.design import Design
    from convexdesign.problem import DesignProblem

__all__ = ["design_document", "problem_document", "show_design", "write_weights"]

# A terminal is read, not scrolled: larger supports go to --output or --json.
ROWS_SHOWN = 20

VALUES = {
    "MINIMAX": "max variance",
    "AVERAGE": "average variance",
    "D": "log det",
    "DS": "log det",
    "E": "least eigenvalue",
}


def problem_document(problem: DesignProblem) -> dict[str, Any]:
    """What was solved: kind, criterion, sizes."""
    return {
        "kind": problem.kind,
        "criterion": problem.criterion.value,
        "n_arms": problem.n_arms,
        "n_targets": problem.targets.m,
        "dimension": problem.arms.d,
    }


def design_document(design: Design) -> dict[str, Any]:
    """The design and its certificate; names as in Python, weights (n,) in the order of the arms."""
    names = design.problem.arms.names
    return {
        "problem": problem_document(design.problem),
        "status": design.status.name,
        "certified": design.status.name == "CERTIFIED",
        "value": design.value,
        "bound": design.bound,
        "lower_bound": None if design.problem.criterion.maximised else design.bound,
        "gap": design.gap,
        "tol": design.tol,
        "weights": design.weights,
        "support": design.support,
        "names": None if names is None else list(names),
        "method": design.stats.method,
        "formulation": design.stats.formulation,
        "backend": design.stats.backend,
        "iterations": design.stats.iterations,
        "seconds": design.stats.seconds,
    }


def show_design(design: Design) -> None:
    """The design for a reader: what was solved, how good it is, and where to measure."""
    problem = design.problem
    bound = "upper bound" if problem.criterion.maximised else "lower bound"
    arms, targets = counted(problem.n_arms, "arm"), counted(problem.targets.m, "target")
    print_line(f"{problem.kind}: {arms} in {counted(problem.arms.d, 'dimension')}, {targets}")
    print_line()
    print_line(f"{value_name(problem):<16} {design.value:.8g}")
    print_line(f"{bound:<16} {design.bound:.8g}")
    print_line(f"{'gap':<16} {verdict(design)}")
    print_line(f"{'method':<16} {method_line(design)}")
    print_line()
    order = design.support[(-design.weights[design.support]).argsort(kind="stable")]
    shown = order[:ROWS_SHOWN]
    print_table(
        ("arm", "weight"),
        [(problem.arm_name(int(i)), weight_text(design.weights[i])) for i in shown],
        left=("arm",),
    )
    if order.size > shown.size:
        rest = float(design.weights[order[ROWS_SHOWN:]].sum())
        print_line(f"and {order.size - shown.size:,} more arms with weight {rest:.6f} together; --output writes all")


def weight_text(weight: float) -> str:
    """Six decimals, and the power of ten where those would read as zero."""
    return f"{weight:.6f}" if weight >= 5e-7 or weight == 0 else f"{weight:.0e}"


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the plural where that is right."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def value_name(problem: DesignProblem) -> str:
    """What the value is, in one or two words."""
    return VALUES[problem.criterion.name]


def verdict(design: Design) -> str:
    """The gap, and in words whether it is within the tolerance."""
    if design.status.name == "CERTIFIED":
        return f"{design.gap:.1e}: certified, the tolerance is {design.tol:.1e}"
    return f"{design.gap:.1e}: NOT within the tolerance {design.tol:.1e} ({design.status.value})"


def method_line(design: Design) -> str:
    stats = design.stats
    parts = [part for part in (stats.method, stats.formulation, stats.backend) if part]
    return f"{', '.join(parts)}: {counted(stats.iterations, 'step')}, {stats.seconds:.3g} s"


def write_weights(design: Design, path: Path) -> None:
    """One row an arm, all arms, weights to the last digit; `verify --weights` reads it back exactly.

    Arms go by name where every name is unique and no name could be taken for a number, else by index from 0.
    """
    names = design.problem.arms.names
    by_name = names is not None and len(set(names)) == len(names) and not any(map(is_number, names))
    labels = names if names is not None and by_name else range(design.weights.size)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("arm", "weight"))
        writer.writerows(zip(labels, map(repr, design.weights.tolist())))


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
