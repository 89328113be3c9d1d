"""Snapshots: a cache that changes nothing but the time it takes to open."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.experiment import check, snapshot


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(snapshot, "EVERY", 7)
    monkeypatch.setattr(snapshot, "MOST_ROWS", 10)


def beside(path):
    return path.with_name(path.name + "-snapshot")


def fill(x, first, count):
    for k in range(first, first + count):
        x.tell(0, arms=[k % 2], rewards=[0.25 * (k % 5)], keys=[f"k{k}"])


def opened(path):
    with cd.Experiment.open(path) as x:
        return x.digest(), x.status()


def test_with_and_without_it_is_the_same_experiment(often, path, x, env):
    x.ask()
    fill(x, 0, 30)
    x.tell(0, observations=cd.estimation.Observations.from_rewards(3, [0], [1.0]), key="s")
    x.amend("k3", reward=0.125)
    fill(x, 30, 30)
    assert beside(path).exists()
    with_it = opened(path)
    kept = snapshot.load(path)
    assert kept.seq >= x.status().events - 8
    assert len(kept.parts) < kept.seq / 2
    beside(path).unlink()
    assert opened(path) == with_it
    assert beside(path).exists()  # a long log gets one when it is opened
    with cd.Experiment.open(path) as y:
        assert y.tell(0, arms=[1], rewards=[1.0], keys=["k59"]).repeated == 1
        with pytest.raises(cd.ConflictError):
            y.tell(0, arms=[1], rewards=[0.75], keys=["k3"])
        rest = env.pull(y.outstanding())
        y.tell(0, observations=rest, key="rest")
        assert cd.simulation.simulate(y, env).answer == (0,)
    assert check(path).problems == ()


def test_a_snapshot_that_is_damaged_or_of_another_log_is_not_used(often, path, x, tmp_path, algorithm):
    x.ask()
    fill(x, 0, 20)
    expected, data = opened(path), beside(path).read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(25):
        changed = bytearray(data)
        changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        beside(path).write_bytes(changed if rng.random() < 0.7 else changed[: int(rng.integers(len(data)))])
        assert opened(path) == expected
    other = tmp_path / "other.db"
    with cd.Experiment.create(other, algorithm) as y:
        y.ask()
        fill(y, 100, 20)
        mine = y.digest()
    beside(other).write_bytes(data)
    assert opened(other)[0] == mine


def test_a_log_that_is_damaged_before_its_snapshot_is_found_by_check(often, path, x):
    import sqlite3

    x.ask()
    fill(x, 0, 20)
    expected = x.digest()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET body = replace(body, 'k3', 'k9') WHERE seq = 5")
    connection.close()
    assert opened(path)[0] == expected  # harmless: nothing rests on it
    with pytest.raises(cd.DamagedStoreError):
        check(path)
