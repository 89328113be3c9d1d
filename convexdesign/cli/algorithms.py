"""Algorithms on the command line: their names, in lists of choices and checked."""

from __future__ import annotations

from typing import Any

from convexdesign.algorithms import ALGORITHMS, Algorithm
from convexdesign.errors import InputError

__all__ = ["FOR_EXPERIMENTS", "choices", "named", "noise_of"]

# Those that are told nothing of the truth.
FOR_EXPERIMENTS = {name: line for name, line in ALGORITHMS.items() if not line.knows_theta}


def choices(algorithms: dict[str, Algorithm]) -> str:
    """The names, each with what it does."""
    return ", ".join(f"{name} ({line.about})" for name, line in algorithms.items())


def named(
    name: str, algorithms: dict[str, Algorithm], budget: int | None, smallest_gap: float | None = None
) -> Algorithm:
    """The algorithm of a name; InputError for an unknown one, and for a budget or a smallest gap where it takes none."""
    if name not in algorithms:
        raise InputError(f"--algorithm {name} is unknown; choose from {', '.join(algorithms)}")
    line = algorithms[name]
    if budget is not None and "budget" not in line.options:
        own = ", ".join(other for other, known in algorithms.items() if "budget" in known.options)
        raise InputError(f"--budget is {own}'s alone; limit {name} by --max-samples")
    if smallest_gap is not None and "smallest_gap" not in line.options:
        own = ", ".join(other for other, known in algorithms.items() if "smallest_gap" in known.options)
        raise InputError(f"--smallest-gap is {own}'s alone; leave it out for {name}")
    return line


def noise_of(line: Algorithm, noise: str, reward_range: tuple[float, float] | None) -> dict[str, Any]:
    """The options that say what the rewards are; InputError where the algorithm is for Gaussian noise alone."""
    if "noise" not in line.options and (noise != "gaussian" or reward_range is not None):
        able = ", ".join(name for name, known in FOR_EXPERIMENTS.items() if "reward_range" in known.options)
        raise InputError(
            f"--noise {noise}: {line.name} takes gaussian noise alone, up to --variance-bounds; use {able}"
        )
    if reward_range is not None and "reward_range" not in line.options:
        raise InputError(f"--reward-range: {line.name} does not hold for rewards known by their range; use martingale")
    return {"noise": noise} | ({} if reward_range is None else {"reward_range": reward_range})
