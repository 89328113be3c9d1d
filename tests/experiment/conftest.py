from __future__ import annotations

import numpy as np
import pytest
from fast_folder import fast_folder

import convexdesign as cd

WORLD = cd.instances.soare(kappa=2.0)


@pytest.fixture(name="tmp_path")
def folder():
    with fast_folder() as path:
        yield path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


@pytest.fixture
def algorithm():
    """RAGE on three arms: about four rounds, the first of a few hundred pulls."""
    return cd.identification.Rage(WORLD.arms, variance_bounds=(1.0, 2.0), rng=0)


@pytest.fixture
def x(path, algorithm):
    with cd.Experiment.create(path, algorithm) as experiment:
        yield experiment


@pytest.fixture
def env():
    return cd.simulation.LinearEnvironment(WORLD.arms, WORLD.theta, WORLD.noise_variance, rng=5)


@pytest.fixture
def rewards():
    """Single rewards of every pull of a batch, in a random order: arms, rewards, keys."""

    def make(batch, seed=0):
        rng = np.random.default_rng([seed, batch.id])
        arms = rng.permutation(np.repeat(np.arange(batch.counts.size), batch.counts))
        values = (WORLD.arms @ WORLD.theta)[arms] + rng.standard_normal(arms.size) * np.sqrt(WORLD.noise_variance)[arms]
        return arms, values, [f"b{batch.id}-{k}" for k in range(arms.size)]

    return make
