"""Small random identification problems whose gaps are wide enough to be solved quickly, and how to run on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import convexdesign as cd
from convexdesign.identification.best_arm import BestArm
from convexdesign.identification.level_set import LevelSet
from convexdesign.instances import Instance

__all__ = ["bounds_of", "play", "random_world", "run_many"]


def random_world(kind: str, seed: int, n: int = 8, m: int = 6, d: int = 3, least_gap: float = 0.15) -> Instance:
    """Gaussian arms in R^d, other items, s_x² = x'Sigma x, and a theta whose gaps are all at least `least_gap`."""
    rng = np.random.default_rng(seed)
    while True:
        arms, items = rng.standard_normal((n, d)), rng.standard_normal((m, d)) / 2.0
        root = rng.standard_normal((d, d))
        Sigma = root @ root.T / d + 0.2 * np.eye(d)
        theta = rng.standard_normal(d)
        theta /= np.linalg.norm(theta)
        values = np.sort(items @ theta)
        threshold = float(values[m // 2] + values[m // 2 - 1]) / 2.0
        gap = values[-1] - values[-2] if kind == "best-arm" else np.abs(values - threshold).min()
        if gap >= least_gap:
            objective = BestArm() if kind == "best-arm" else LevelSet(threshold)
            variance = np.einsum("ij,jk,ik->i", arms, Sigma, arms)
            return Instance(arms, items, theta, Sigma, variance, objective)


def bounds_of(world: Instance) -> tuple[float, float]:
    """The tight bounds on the noise variances."""
    return float(world.noise_variance.min()), float(world.noise_variance.max())


def play(algorithm: Any, world: Instance, seed: int, noise: str = "gaussian") -> Any:
    """Simulate one run; its result."""
    environment = cd.simulation.LinearEnvironment(
        world.arms, world.theta, world.noise_variance, noise=noise, rng=np.random.default_rng(seed)
    )
    return cd.simulation.simulate(algorithm, environment)


def run_many(make: Callable[[], Any], world: Instance, runs: int, noise: str = "gaussian") -> list[Any]:
    """Results of `runs` simulated runs with seeds 0, 1, ..."""
    return [play(make(), world, seed, noise) for seed in range(runs)]
