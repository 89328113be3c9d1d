"""Stores of older versions, which kept a write-ahead log: gone on with where the log is folded, refused where it is not.

What such a log lost to damage cannot be told from what was never acknowledged, so that nothing is taken from it in silence.
"""

from __future__ import annotations

import shutil
import sqlite3

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.experiment import check, recover
from convexdesign.experiment.store import log_of


def logging(path):
    """Have the file keep a write-ahead log, as older versions had it."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    connection.close()


@pytest.fixture
def older(path, algorithm):
    """A store as an older version left it: closed, its log folded into the file."""
    with cd.Experiment.create(path, algorithm) as x:
        x.ask()
        for k in range(6):
            x.tell(0, arms=[0], rewards=[float(k)], keys=[f"k{k}"])
    logging(path)
    return path


@pytest.fixture
def killed(older, tmp_path):
    """A store as an older version left it when it was killed: its last tells are in the log alone."""
    with cd.Experiment.open(older) as x:
        # As the older version would go on: everything but the mode is as it was.
        x._store._connection.execute("PRAGMA journal_mode = WAL")
        x._store._files = []
        for k in range(3):
            x.tell(0, arms=[1], rewards=[float(k)], keys=[f"late-{k}"])
        copy = tmp_path / "killed.db"
        shutil.copyfile(older, copy)
        shutil.copyfile(log_of(older), log_of(copy))
    return copy


def contents(path):
    return path.read_bytes(), log_of(path).read_bytes()


def test_a_closed_store_goes_on_with_a_journal(older):
    with cd.Experiment.open(older) as x:
        assert x.status().told == 6
        assert x._store._connection.execute("PRAGMA journal_mode").fetchone() == (b"delete",)
        x.tell(0, arms=[1], rewards=[0.5], keys=["new"])
        assert not log_of(older).exists()
    assert (check(older).results, check(older).problems) == (7, ())


def test_a_closed_store_that_is_damaged_stays_as_it_is(older):
    connection = sqlite3.connect(older)
    connection.execute("UPDATE events SET body = replace(body, 'k3', 'k9') WHERE seq = 5")
    connection.commit()
    connection.close()
    before = older.read_bytes()
    with pytest.raises(cd.DamagedStoreError, match="event 5"):
        cd.Experiment.open(older)
    assert older.read_bytes() == before


def test_while_an_older_version_has_it_open_it_is_refused(older):
    connection = sqlite3.connect(older)
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (8,)
    with pytest.raises(cd.StoreError, match="was not changed"):
        cd.Experiment.open(older)
    connection.close()
    with cd.Experiment.open(older) as x:
        assert x.status().told == 6


def test_what_a_killed_process_left_in_the_log_is_saved_by_recover_alone(killed, tmp_path):
    before = contents(killed)
    for command in (cd.Experiment.open, check):
        with pytest.raises(cd.StoreError, match=r"killed\.db-wal beside it; .*experiment recover"):
            command(killed)
    assert (recover(killed, tmp_path / "sound.db").events, contents(killed)) == (11, before)
    with cd.Experiment.open(tmp_path / "sound.db") as x:
        assert x.status().told == 9
    assert check(tmp_path / "sound.db").problems == ()


def test_a_damaged_log_is_never_taken_for_a_whole_one(killed, tmp_path, algorithm):
    """Wherever a bit is flipped: refused, nothing changed, and what recover saves is how the log begins."""
    with cd.Experiment.open(tmp_path / "study.db") as x:
        written = x.events()
    rng = np.random.default_rng(0)
    data, log = contents(killed)
    for trial, at in enumerate(rng.integers(len(log), size=12)):
        changed = bytearray(log)
        changed[at] ^= 4
        log_of(killed).write_bytes(changed)
        with pytest.raises(cd.StoreError):
            cd.Experiment.open(killed)
        assert contents(killed) == (data, bytes(changed))
        new = tmp_path / f"sound-{trial}.db"
        assert recover(killed, new).events >= 8
        with cd.Experiment.open(new) as y:
            found = y.events()
            assert found == written[: len(found)]


def test_the_log_of_another_experiment_is_not_taken(older, tmp_path, killed, algorithm):
    other = tmp_path / "other.db"
    cd.Experiment.create(other, algorithm).close()
    shutil.copyfile(log_of(killed), log_of(other))
    with pytest.raises(cd.StoreError):
        cd.Experiment.open(other)
    assert recover(other, tmp_path / "sound.db").events == 1
