"""Stores of older versions with the write-ahead log that a killed process left: what damage of it can tell, is told.

Older versions are played by keeping the store in their mode; what was never acknowledged is no damage.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.experiment import check, recover
from convexdesign.experiment.store import Store
from convexdesign.experiment.write_ahead import _checksum, _Log, log_of

LONG = {"arms": [0] * 90, "rewards": [1.0] * 90, "keys": [f"long-{k:0150d}" for k in range(90)]}  # more than a page
SHORT = {"arms": [1], "rewards": [0.5], "keys": ["short"]}


def left(path, x):
    """A store as it would be left at `path` if this process were killed now."""
    shutil.copyfile(x._store.path, path)
    shutil.copyfile(log_of(x._store.path), log_of(path))
    return path


LEAVE = Store._leave_write_ahead_logging


@pytest.fixture(autouse=True)
def older(monkeypatch):
    """Stores stay as they are."""
    monkeypatch.setattr(Store, "_leave_write_ahead_logging", lambda self: None)


def logging(experiment):
    """The experiment with a write-ahead log, as older versions had it."""
    assert experiment._store._connection.execute("PRAGMA journal_mode = WAL").fetchone() == (b"wal",)
    return experiment


@pytest.fixture
def x(path, algorithm):
    with cd.Experiment.create(path, algorithm) as experiment:
        logging(experiment)
    with cd.Experiment.open(path) as experiment:
        yield experiment


@pytest.fixture
def killed(tmp_path, x):
    """A store that was killed after an ask and six tells of one result each."""
    x.ask()
    for k in range(6):
        x.tell(0, arms=[0], rewards=[float(k)], keys=[f"k{k}"])
    return left(tmp_path / "killed.db", x)


def after(killed, path, *tells, together=False):
    """What is in the log when a process goes on with these tells, in one commit if together, and is killed."""
    shutil.copyfile(killed, path)
    shutil.copyfile(log_of(killed), log_of(path))
    with cd.Experiment.open(path) as x:
        with x.together() if together else nullcontext():
            for tell in tells:
                x.tell(0, **tell)
        return log_of(path).read_bytes()


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


# ------------------------------------------------------------------ going on without it


def test_the_log_is_folded_into_the_file_and_not_used_again(killed, x, monkeypatch):
    monkeypatch.setattr(Store, "_leave_write_ahead_logging", LEAVE)
    with cd.Experiment.open(killed) as y:
        assert y.events() == x.events()
        assert not log_of(killed).exists()
        y.tell(0, **SHORT)
        assert not log_of(killed).exists()
        assert y._store._connection.execute("PRAGMA journal_mode").fetchone() == (b"delete",)
    assert (check(killed).results, check(killed).problems) == (7, ())


def test_while_an_older_version_has_it_open_the_log_is_kept(x, monkeypatch):
    x.ask()
    monkeypatch.setattr(Store, "_leave_write_ahead_logging", LEAVE)
    with cd.Experiment.open(x._store.path) as y:
        y.tell(0, **SHORT)
        assert y._store._connection.execute("PRAGMA journal_mode").fetchone() == (b"wal",)
    assert x.tell(0, **SHORT).repeated == 1


def test_a_damaged_log_is_not_folded(killed, monkeypatch):
    """Sound pages, a broken chain: both files stay the evidence that they are."""
    monkeypatch.setattr(Store, "_leave_write_ahead_logging", LEAVE)
    connection = sqlite3.connect(killed)
    connection.execute("UPDATE events SET body = replace(body, 'k3', 'k9') WHERE seq = 5")
    connection.commit()
    data, log = killed.read_bytes(), log_of(killed).read_bytes()
    connection.close()
    killed.write_bytes(data)
    log_of(killed).write_bytes(log)
    with pytest.raises(cd.DamagedStoreError, match="event 5"):
        cd.Experiment.open(killed)
    assert (killed.read_bytes(), log_of(killed).read_bytes()) == (data, log)


# ------------------------------------------------------------------ damage


@pytest.mark.parametrize("at", [3, 20, 32 + 9, 32 + 300, -4120 - 2000, -5])
def test_damage_is_found_every_time_and_nothing_is_changed(killed, tmp_path, at):
    size = log_of(killed).stat().st_size
    flip(log_of(killed), at % size)
    before = killed.read_bytes(), log_of(killed).read_bytes()
    for _ in range(2):
        with pytest.raises(cd.DamagedStoreError, match=r"write-ahead log.*nothing was changed"):
            cd.Experiment.open(killed)
        assert (killed.read_bytes(), log_of(killed).read_bytes()) == before
    # Most is still in the log, and can be saved.
    assert recover(killed, tmp_path / "sound.db").events >= 7


def test_damage_of_the_events_is_found_every_time_and_nothing_is_changed(killed, tmp_path):
    """The pages are sound for SQLite; the chain of checksums is not."""
    path = tmp_path / "changed.db"
    connection = sqlite3.connect(killed)
    connection.execute("UPDATE events SET body = replace(body, 'k3', 'k9') WHERE seq = 5")
    connection.commit()
    shutil.copyfile(killed, path)
    shutil.copyfile(log_of(killed), log_of(path))
    connection.close()
    before = path.read_bytes(), log_of(path).read_bytes()
    for _ in range(2):
        with pytest.raises(cd.DamagedStoreError, match="event 5"):
            cd.Experiment.open(path)
        assert (path.read_bytes(), log_of(path).read_bytes()) == before


def test_a_link_to_the_file_is_as_good_as_the_file(killed, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(killed)
    assert recover(link, tmp_path / "sound.db").events == 8
    with cd.Experiment.open(link) as x:
        assert x.status().told == 6
        x.tell(0, **SHORT)
        # What a crash would leave is beside the file, and so is looked for there.
        left(tmp_path / "again.db", x)
    flip(log_of(tmp_path / "again.db"), 32 + 300)
    link.unlink()
    link.symlink_to(tmp_path / "again.db")
    with pytest.raises(cd.DamagedStoreError, match="write-ahead log"):
        cd.Experiment.open(link)


def test_the_log_of_another_experiment_is_not_taken(killed, tmp_path, algorithm):
    own = killed.read_bytes()
    with cd.Experiment.create(tmp_path / "other.db", algorithm) as y:
        logging(y)
    with cd.Experiment.open(tmp_path / "other.db") as y:
        y.ask()
        for k in range(9):
            y.tell(0, arms=[1], rewards=[float(k)], keys=[f"other-{k}"])
        shutil.copyfile(log_of(tmp_path / "other.db"), log_of(killed))
    for _ in range(2):
        with pytest.raises(cd.DamagedStoreError, match="that of another experiment"):
            cd.Experiment.open(killed)
        assert killed.read_bytes() == own
    # What is saved is of the file itself: how the experiment began.
    assert recover(killed, tmp_path / "sound.db").events == 1
    with cd.Experiment.open(tmp_path / "sound.db") as x, cd.Experiment.open(tmp_path / "study.db") as whole:
        assert x.events() == whole.events()[:1]


def test_without_the_log_the_store_is_what_it_was_before(killed):
    """Nothing says that there was more; what it holds is sound, and telling the rest again completes it."""
    log_of(killed).unlink()
    with cd.Experiment.open(killed) as x:
        assert x.status().told == 0
        x.ask()
        x.tell(0, arms=[0] * 6, rewards=np.arange(6.0), keys=[f"k{k}" for k in range(6)])
        assert x.status().told == 6


@pytest.mark.parametrize("content", [None, b"", bytes(range(256)) * 128])
def test_the_index_of_the_log_is_made_again(killed, content):
    index = killed.with_name(killed.name + "-shm")
    if content is not None:
        index.write_bytes(content)
    with cd.Experiment.open(killed) as x:
        assert x.status().told == 6


def test_copies_made_while_it_is_open_are_sound_prefixes_or_refused(tmp_path, x):
    x.ask()
    written, outcomes = x.events(), set()
    for k in range(40):
        shutil.copyfile(x._store.path, tmp_path / f"{k}.db")
        x.tell(0, arms=[0], rewards=[float(k)], keys=[f"k{k}"])
        if k % 2:
            shutil.copyfile(log_of(x._store.path), log_of(tmp_path / f"{k}.db"))
        if k % 8 == 0:
            x._store._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    written = x.events()
    for k in range(40):
        with cd.Experiment.open(tmp_path / f"{k}.db") as copied:
            found = copied.events()
        assert found == written[: len(found)]
        outcomes.add(len(found))
    assert len(outcomes) > 10


def test_an_open_store_is_not_recovered_in_the_same_process(x, tmp_path):
    with pytest.raises(cd.InputError, match="is open in this process; close it first"):
        recover(x._store.path, tmp_path / "sound.db")


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")
@pytest.mark.parametrize("ending", ["", "-wal"])
@pytest.mark.parametrize("replaced", [True, False])
def test_nothing_is_acknowledged_that_would_go_into_a_deleted_file(x, tmp_path, ending, replaced):
    x.ask()
    x.tell(0, arms=[0], rewards=[1.0], keys=["before"])
    file = x._store.path.with_name(x._store.path.name + ending)
    data = file.read_bytes()
    file.rename(tmp_path / "moved")
    if replaced:
        file.write_bytes(data)
    for _ in range(2):
        with pytest.raises(cd.StoreError, match="deleted or replaced while it was open"):
            x.tell(0, **SHORT)
    if not replaced:
        (tmp_path / "moved").rename(file)
        assert x.tell(0, **SHORT).accepted == 1
        assert x.status().told == 2


# ------------------------------------------------------------------ commits that nobody acknowledged


MANY = [{"arms": [k % 2], "rewards": [0.25], "keys": [f"more-{k}-{'x' * 180}"]} for k in range(20)]


@pytest.mark.parametrize("abandoned", [[LONG], MANY[:1], MANY, [LONG, *MANY]], ids=["long", "short", "many", "both"])
def test_what_a_killed_writer_left_behind_the_commits_of_others_is_no_damage(killed, tmp_path, abandoned):
    """Its frames were written, not acknowledged; another process went on from the same place with a shorter commit."""
    theirs = after(killed, tmp_path / "theirs.db", SHORT)
    gone = after(killed, tmp_path / "gone.db", *abandoned, together=True)
    assert len(gone) > len(theirs) or abandoned == MANY[:1]
    log_of(killed).write_bytes(theirs + gone[len(theirs) :])
    with cd.Experiment.open(killed) as x:
        assert x.status().told == 7
        assert x.batch_told("short") == 0


def test_the_same_frames_in_their_own_place_are_no_damage_but_a_commit(killed, tmp_path):
    log_of(killed).write_bytes(after(killed, tmp_path / "gone.db", LONG))
    with cd.Experiment.open(killed) as x:
        assert x.status().told == 96


@pytest.mark.parametrize("tells", [[SHORT], [LONG], [SHORT, LONG]], ids=["short", "long", "both"])
def test_every_bit_of_the_last_commit_counts(killed, tmp_path, tells):
    """Wherever a commit that was acknowledged is damaged, it is not taken for one that was not."""
    before = log_of(killed).stat().st_size
    whole = after(killed, tmp_path / "whole.db", *tells)
    rng = np.random.default_rng(0)
    # Headers of frames, where most depends on single bytes, and places anywhere.
    heads = [frame + at for frame in range(before, len(whole), 4120) for at in range(24)]
    for at in [*heads[:: max(1, len(heads) // 24)], *rng.integers(before, len(whole), 12)]:
        log_of(killed).write_bytes(whole)
        flip(log_of(killed), int(at))
        frame = (int(at) - 32) // 4120 * 4120 + 32
        if frame + 4120 == len(whole) and int(at) - frame in (*range(4, 8), *range(8, 16)):
            continue  # the last frame's own mark of a commit, or of its generation, is what is gone
        with pytest.raises(cd.DamagedStoreError):
            cd.Experiment.open(killed)


@pytest.mark.skipif(sys.platform != "linux", reason="who has a store open is only asked there")
def test_nothing_is_damaged_while_others_have_it_open(killed, tmp_path):
    """The first frame of a commit that was written and not acknowledged is not even whole yet."""
    gone = after(killed, tmp_path / "gone.db", LONG)
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            x = cd.Experiment.open(killed)
            os.write(ready[1], b"1")
            os.read(done[0], 1)
            x.close()
        finally:
            os._exit(0)
    os.read(ready[0], 1)
    size = log_of(killed).stat().st_size
    with log_of(killed).open("r+b") as file:
        file.seek(size)
        file.write(bytes([gone[size] ^ 1]) + gone[size + 1 :])
    with cd.Experiment.open(killed) as x:
        assert x.status().told == 6
        assert x.tell(0, **SHORT).accepted == 1
    os.write(done[1], b"1")
    os.waitpid(child, 0)
    with cd.Experiment.open(killed) as x:
        assert x.status().told == 7


# ------------------------------------------------------------------ frames and checksums


def test_checksums_are_those_that_the_format_defines():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, (5, 26), dtype=np.uint32)
    before = rng.integers(0, 2**32, (5, 2), dtype=np.uint32)
    for row, start, found in zip(words.tolist(), before.tolist(), _checksum(before, words).tolist()):
        a, b = start
        for first, second in zip(row[::2], row[1::2]):
            a = (a + first + b) % 2**32
            b = (b + second + a) % 2**32
        assert found == [a, b]


def test_the_frames_that_are_valid_are_those_that_sqlite_takes(killed, tmp_path):
    data = log_of(killed).read_bytes()
    rng = np.random.default_rng(1)
    counts = set()
    for trial in range(30):
        changed = bytearray(data)
        if trial:
            changed[int(rng.integers(32, len(data)))] ^= 1 << int(rng.integers(8))
        del changed[int(rng.integers(32 + 4120, len(data))) if trial % 3 == 2 else len(data) :]
        copy = tmp_path / f"frames-{trial}.db"
        shutil.copyfile(killed, copy)
        log_of(copy).write_bytes(changed)
        connection = sqlite3.connect(copy)
        (_, frames, _) = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        connection.close()
        assert _Log(bytes(changed)).valid() == frames
        counts.add(frames)
    assert len(counts) > 5
