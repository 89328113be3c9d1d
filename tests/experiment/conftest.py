from __future__ import annotations

import subprocess

import numpy as np
import pytest
from fast_folder import fast_folder

import convexdesign as cd
from convexdesign.experiment.events import EventKind, PendingEvent
from convexdesign.experiment.journal import journal_of
from convexdesign.experiment.store import Store

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


def interrupted(path, copy):
    """Begin a long commit at `path`, copy both files in the middle of it, and do not end it."""
    with Store.open(path) as store:
        # A cache of nothing: SQLite writes pages to the file before the commit, having synced their journal.
        store._connection.execute("PRAGMA cache_size = 0")
        with store.transaction(write=True):
            store.read()
            for _ in range(30):
                store.append([PendingEvent(EventKind.FAILED, {"message": "y" * 2000, "designs": []})])
            # By another process: closing the file in this one would give up SQLite's locks.
            subprocess.run(["cp", path, copy], check=True)
            subprocess.run(["cp", journal_of(path), journal_of(copy)], check=True)
            raise KeyboardInterrupt


@pytest.fixture
def killed(path, algorithm, tmp_path):
    """A store as it is left by a process that is killed in the middle of a long commit: half of its pages are written."""
    with cd.Experiment.create(path, algorithm) as x:
        x.ask()
        for k in range(60):
            x.tell(0, arms=[0], rewards=[float(k)], keys=[f"k{k}-{'x' * 100}"])
    with pytest.raises(KeyboardInterrupt):
        interrupted(path, tmp_path / "killed.db")
    assert (tmp_path / "killed.db").read_bytes() != path.read_bytes()
    return tmp_path / "killed.db"
