"""Snapshots: a cache that changes nothing but the time it takes to open."""

from __future__ import annotations

import json
from hashlib import blake2b

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.experiment import check, snapshot
from convexdesign.experiment.events import EventKind


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
    with cd.Experiment.open(path) as y:
        assert y.tell(0, arms=[1], rewards=[1.0], keys=["k59"]).repeated == 1
        with pytest.raises(cd.ConflictError):
            y.tell(0, arms=[1], rewards=[0.75], keys=["k3"])
        assert not beside(path).exists()  # nothing has been written since
        fill(y, 60, 8)
        assert beside(path).exists()
        rest = env.pull(y.outstanding())
        y.tell(0, observations=rest, key="rest")
        assert cd.simulation.simulate(y, env).answer == (0,)
    assert check(path).problems == ()


def forged(path):
    """The snapshot beside a store with other rewards in it, and all its fingerprints made anew."""
    found = snapshot.load(path)
    body = json.loads(found.data)
    k = next(k for k, (kind, _) in enumerate(body["parts"]) if kind == "told")
    part = json.loads(body["parts"][k][1])
    rows = snapshot.RewardRows.from_record(part)
    changed = snapshot.RewardRows(rows.batch, rows.keys, rows.arms, rows.rewards + 100.0)
    body["parts"][k][1] = snapshot.plain_json(
        changed.record() | {name: part[name] for name in part if name == "snapshot"}
    )
    return found, snapshot.plain_json(body).encode()


def test_a_forged_snapshot_is_not_used(often, path, x, env):
    """The chain holds the fingerprint of the one that was made: no other one has any effect."""
    x.ask()
    fill(x, 0, 30)
    x.tell(0, observations=env.pull(x.outstanding()), key="rest")
    fill_digest, used = x.digest(), snapshot.load(path)
    assert used.seq >= 20
    found, data = forged(path)
    assert data != found.data
    beside(path).write_bytes(data)
    assert snapshot.load(path).parts != found.parts
    assert opened(path)[0] == fill_digest
    with cd.Experiment.open(path) as y:
        assert y.tell(0, arms=[1], rewards=[0.25], keys=["k1"]).repeated == 1  # as the log has it
    assert check(path).problems == ()


def test_a_snapshot_that_was_made_wrongly_is_found_by_check(often, path, x, monkeypatch):
    """A program that wrote another snapshot than the log says, and had the chain vouch for it."""
    right = snapshot.made

    def wrong(before, events):
        made = right(before, events)
        with monkeypatch.context() as within:
            within.setattr(snapshot, "load", lambda store: made)
            data = forged(path)[1]
        parts = [(EventKind(kind), text) for kind, text in json.loads(data)["parts"]]
        return snapshot.LogSnapshot(made.seq, made.checksum, parts, snapshot._digest(data), data)

    monkeypatch.setattr(snapshot, "made", wrong)
    x.ask()
    fill(x, 0, 9)
    assert check(path).problems == ("the snapshot beside it is not what the first 7 events say",)


def test_snapshots_of_older_versions_are_not_used(often, path, x):
    x.ask()
    fill(x, 0, 20)
    expected = opened(path)
    body = json.loads(snapshot.load(path).data) | {"format": "convexdesign snapshot 1"}
    data = snapshot.plain_json(body).encode()
    beside(path).write_bytes(blake2b(data, digest_size=16).hexdigest().encode() + b"\n" + data)
    assert snapshot.load(path) is None
    assert opened(path) == expected


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
