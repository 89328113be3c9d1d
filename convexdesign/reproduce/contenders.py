"""The algorithms that figures and tables compare, each ready to run on an instance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.algorithms import ALGORITHMS
from convexdesign.identification import Identifier, lower_bound, sharp_lower_bound
from convexdesign.instances import Instance, experiment_1, experiment_2, multivariate_testing
from convexdesign.simulation import LinearEnvironment, comparison_rows, comparison_table
from convexdesign.simulation.saving import SavedRows

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "EXPERIMENTS",
    "LOOSE",
    "Maker",
    "arguments",
    "contenders",
    "environment",
    "instance_lower_bound",
    "instance_sharp_bound",
    "simulated",
]

Maker = Callable[[np.random.Generator], Identifier]

EXPERIMENTS: dict[str, Callable[..., Instance]] = {
    "experiment 1": experiment_1,
    "experiment 2": experiment_2,
    "experiment 3": multivariate_testing,
}
# Algorithms that need no tight bounds are given bounds this many times too wide on either side.
LOOSE = 10.0


def contenders(instance: Instance, delta: float, names: tuple[str, ...] | None = None) -> dict[str, Maker]:
    """From a name to make_algorithm(rng) for this instance; all of them, or those named, in that order.

    RAGE and H-RAGE know the tight bounds on the noise variances, as in the paper; martingale elimination and the
    adaptive burn-in know bounds that are ten times too wide on either side. The last four know more than is fair.
    """
    low, high = float(instance.noise_variance.min()), float(instance.noise_variance.max())
    tight, loose = {"variance_bounds": (low, high)}, {"variance_bounds": (low / LOOSE, high * LOOSE)}
    known = {"known_variances": instance.noise_variance}
    truth = {"theta": instance.theta, "noise_variance": instance.noise_variance}
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "martingale elimination": ("martingale", loose),
        "H-RAGE": ("h-rage", tight),
        "H-RAGE, adaptive burn-in": ("h-rage", loose | {"burn_in": "adaptive"}),
        "H-RAGE, released burn-in": ("h-rage", tight | {"burn_in": "released"}),
        "H-RAGE, burn-in of replicates": ("h-rage", tight | {"burn_in": "replicates"}),
        "RAGE": ("rage", tight),
        "H-RAGE, variances known": ("h-rage", known),
        "static XY, variances known": ("static", known),
        "oracle": ("oracle", truth),
        "homoskedastic oracle": ("oracle-equal-noise", truth),
    }
    every: dict[str, Maker] = {
        name: partial(_make, kind, instance, delta, options) for name, (kind, options) in told.items()
    }
    return every if names is None else {name: every[name] for name in names}


def simulated(
    instance: Instance,
    delta: float,
    names: tuple[str, ...],
    replications: int,
    seed: int,
    jobs: int | None,
    progress: bool,
    bound: float | None = None,
    save: SavedRows | None = None,
    title: str = "",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All runs of these contenders on an instance, each saved as it comes, and their `comparison_table` with this bound."""
    makers, make_world = contenders(instance, delta, names), partial(environment, instance)
    how: dict[str, Any] = {"save": save, "title": title}
    rows = comparison_rows(makers, make_world, instance.answer, replications, jobs, seed, progress, **how)
    return rows, comparison_table(rows, bound)


def environment(instance: Instance, rng: np.random.Generator, noise: str = "gaussian") -> LinearEnvironment:
    """The instance as a simulated world."""
    return LinearEnvironment(instance.arms, instance.theta, instance.noise_variance, noise=noise, rng=rng)


def arguments(instance: Instance) -> tuple[Any, Any, Any, Any, Any]:
    """(arms, items, theta, objective, noise_variance), as the bounds take them."""
    return instance.arms, instance.items, instance.theta, instance.objective, instance.noise_variance


def instance_lower_bound(instance: Instance, delta: float) -> float:
    """The published lower bound on the mean number of samples, variances known."""
    return lower_bound(*arguments(instance), delta)


def instance_sharp_bound(instance: Instance, delta: float) -> float:
    """The larger lower bound, which ratios are taken to."""
    return sharp_lower_bound(*arguments(instance), delta)


def _make(kind: str, instance: Instance, delta: float, options: dict[str, Any], rng: np.random.Generator) -> Identifier:
    return ALGORITHMS[kind].make(instance.arms, instance.items, instance.objective, delta=delta, rng=rng, **options)
