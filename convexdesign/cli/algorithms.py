"""Algorithms on the command line: their names, in lists of choices and checked."""

from __future__ import annotations

from convexdesign.algorithms import ALGORITHMS, Algorithm
from convexdesign.errors import InputError

__all__ = ["FOR_EXPERIMENTS", "choices", "named"]

# Those that are told nothing of the truth.
FOR_EXPERIMENTS = {name: line for name, line in ALGORITHMS.items() if not line.knows_theta}


def choices(algorithms: dict[str, Algorithm]) -> str:
    """The names, each with what it does."""
    return ", ".join(f"{name} ({line.about})" for name, line in algorithms.items())


def named(name: str, algorithms: dict[str, Algorithm], budget: int | None) -> Algorithm:
    """The algorithm of a name; InputError for an unknown one, and for a budget where it takes none."""
    if name not in algorithms:
        raise InputError(f"--algorithm {name} is unknown; choose from {', '.join(algorithms)}")
    line = algorithms[name]
    if budget is not None and "budget" not in line.options:
        own = ", ".join(other for other, known in algorithms.items() if "budget" in known.options)
        raise InputError(f"--budget is {own}'s alone; limit {name} by --max-samples")
    return line
