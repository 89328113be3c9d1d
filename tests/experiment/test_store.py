"""The file: durable, refused when it is of the future, noticed when it is not what was written, kept when disks fill."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.experiment import check, events, recover
from convexdesign.experiment.store import FORMAT, Store

FIXTURES = Path(__file__).parent / "formats"


def edit(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_every_commit_is_synced_into_the_one_file(x, path):
    """What is acknowledged needs nothing but the file: a copy of it alone has everything."""
    assert x._store._connection.execute("PRAGMA synchronous").fetchone() == (3,)
    assert x._store._connection.execute("PRAGMA journal_mode").fetchone() == (b"delete",)
    x.ask()
    for k in range(3):
        x.tell(0, arms=[0], rewards=[float(k)], keys=[f"k{k}"])
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]
        data = path.read_bytes()
        with cd.Experiment.open(_written(path.parent / "copy" / path.name, data)) as y:
            assert y.events() == x.events()
        shutil.rmtree(path.parent / "copy")


def _written(path, data):
    path.parent.mkdir()
    path.write_bytes(data)
    return path


# ------------------------------------------------------------------ formats


@pytest.mark.parametrize("folder", sorted(FIXTURES.glob("format-*")), ids=lambda path: path.name)
def test_every_older_format_opens(tmp_path, folder):
    """A store of each format, with what it held when it was written."""
    path = tmp_path / "study.db"
    shutil.copyfile(folder / "study.db", path)
    expected = json.loads((folder / "transcript.json").read_text())
    with cd.Experiment.open(path) as x:
        assert x.transcript() == expected
        assert x.ask().id == len(expected["steps"]) - 1
        state = x.status()
        assert (state.rounds, state.pulls_missing, state.amendments, state.withdrawn) == (2, 3, 1, (3,))
        assert x.tell(0, arms=[3], rewards=[0.5], keys=["visitor-0"]).repeated == 1
    assert check(path).problems == ()


def test_there_is_a_store_of_the_current_format():
    assert (FIXTURES / f"format-{FORMAT}" / "study.db").is_file()


def test_a_newer_format_is_refused(path, algorithm):
    cd.Experiment.create(path, algorithm).close()
    edit(path, f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(cd.InputError, match=rf"has format {FORMAT + 1}, .* reads formats up to {FORMAT}; upgrade"):
        cd.Experiment.open(path)


def test_an_event_of_a_newer_kind_is_refused(path, algorithm):
    class Newer:
        value = "dreamt"

    cd.Experiment.create(path, algorithm).close()
    with Store.open(path) as store, store.transaction(write=True):
        store.read()
        store.append([events.PendingEvent(Newer(), {"batch": 0})])
    with pytest.raises(cd.InputError, match="event 1 is of kind 'dreamt', unknown to this version; upgrade"):
        cd.Experiment.open(path)


# ------------------------------------------------------------------ beginning


@pytest.mark.parametrize("name", ["study no. 1 (50% off)?#&é☃.db", "%41.db", " ", "-wal", "x" * 240])
def test_any_name_will_do(tmp_path, algorithm, name):
    folder = tmp_path / "ünï ☃ d#r?%41"
    folder.mkdir()
    with cd.Experiment.create(folder / name, algorithm) as x:
        x.ask()
    assert [entry.name for entry in folder.iterdir()] == [name]
    assert recover(folder / name, folder / "sound").events == 2


def test_the_folder_may_be_the_current_one(tmp_path, algorithm, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cd.Experiment.create("study.db", algorithm).close()
    with cd.Experiment.open("study.db") as x:
        assert x.ask().id == 0


def test_links_are_not_replaced(path, algorithm):
    path.symlink_to("nowhere.db")
    with pytest.raises(cd.InputError, match="exists already"):
        cd.Experiment.create(path, algorithm)
    assert not path.exists()


def test_a_file_system_without_hard_links_will_do(path, algorithm, monkeypatch):
    def link(source, target):
        raise PermissionError(1, "Operation not permitted", str(target))

    monkeypatch.setattr(os, "link", link)
    with cd.Experiment.create(path, algorithm) as x:
        x.ask()
    with pytest.raises(cd.InputError, match="exists already"):
        cd.Experiment.create(path, algorithm)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_one_of_many_that_create_at_once_does(path, algorithm):
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                cd.Experiment.create(path, algorithm).close()
                code = 0
            except cd.InputError:
                code = 2
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert sorted(codes) == [0, 2, 2, 2, 2, 2]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert check(path).events == 1


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
@pytest.mark.parametrize("limit", [0, 8192])
def test_a_disk_that_is_full_at_the_beginning_leaves_no_file(tmp_path, limit):
    run = subprocess.run([sys.executable, "-c", FULL_FROM_THE_START, str(limit)], cwd=tmp_path, check=False)
    assert run.returncode == 3
    assert list(tmp_path.iterdir()) == []


FULL_FROM_THE_START = """
import resource, signal, sys
import convexdesign as cd
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
algorithm = cd.identification.Rage(cd.instances.soare(kappa=2.0).arms, variance_bounds=(1.0, 2.0), rng=0)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
try:
    cd.Experiment.create("study.db", algorithm)
except cd.StoreError as error:
    sys.exit(3)
"""


# ------------------------------------------------------------------ damage


@pytest.fixture
def told(path, algorithm):
    """A store with a few results; its path."""
    with cd.Experiment.create(path, algorithm) as x:
        x.ask()
        for k in range(5):
            x.tell(0, arms=[0], rewards=[float(k)], keys=[f"k{k}"])
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = replace(body, 'k3', 'k9') WHERE seq = 5",
        "UPDATE events SET time = '2000-01-01T00:00:00.000+00:00' WHERE seq = 3",
        "UPDATE events SET kind = 'closed' WHERE seq = 4",
        "UPDATE events SET checksum = zeroblob(16) WHERE seq = 6",
        "UPDATE events SET seq = 60 WHERE seq = 6",
        "DELETE FROM events WHERE seq = 2",
        "DELETE FROM events WHERE seq = 6",
        "DELETE FROM events",
        "DELETE FROM head",
        "INSERT INTO head VALUES (1, 6, zeroblob(16))",
        "UPDATE head SET seq = 5",
        "INSERT INTO events SELECT seq + 10, kind, time, body, checksum FROM events WHERE seq = 6",
        "DROP TABLE head",
        "ALTER TABLE events RENAME COLUMN body TO text",
        "CREATE TABLE more (a)",
    ],
)
def test_changes_behind_its_back_are_noticed(told, statement):
    edit(told, statement)
    with pytest.raises(cd.DamagedStoreError, match=r"is damaged: .*recover"):
        cd.Experiment.open(told)


def test_changes_while_it_is_open_are_noticed_too(told):
    with cd.Experiment.open(told) as x:
        edit(told, "DELETE FROM events WHERE seq = 6", "UPDATE head SET seq = 5")
        with pytest.raises(cd.DamagedStoreError):
            x.tell(0, arms=[0], rewards=[9.0], keys=["new"])


def test_recover_writes_the_sound_prefix_into_a_new_file(told, tmp_path):
    with Store.open(told) as store, store.transaction(write=False):
        written = store.read()
    edit(told, "UPDATE events SET body = replace(body, 'k3', 'k9') WHERE seq = 5")
    before = told.read_bytes()
    new = tmp_path / "sound.db"
    saved = recover(told, new)
    assert (saved.events, saved.lost) == (5, 2)
    assert told.read_bytes() == before
    with cd.Experiment.open(new) as x:
        assert x.events() == written[:5]
        assert x.status().told == 3
        x.tell(0, arms=[0] * 5, rewards=np.arange(5.0), keys=[f"k{k}" for k in range(5)])
        assert x.status().told == 5
    assert check(new).problems == ()
    with pytest.raises(cd.InputError, match="exists already"):
        recover(told, new)
    with pytest.raises(cd.InputError, match="no such file"):
        recover(tmp_path / "none.db", tmp_path / "other.db")
    (tmp_path / "noise.db").write_bytes(bytes(range(256)) * 100)
    with pytest.raises(cd.DamagedStoreError, match="nothing can be recovered"):
        recover(tmp_path / "noise.db", tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize("at", [0, 18, 21, 60, 100, 103])
def test_recover_needs_no_sound_file_around_the_events(told, tmp_path, at):
    """Bytes of the database's header and of its schema are wrong; all events are there."""
    data = bytearray(told.read_bytes())
    data[at] ^= 0xFF
    told.write_bytes(data)
    assert recover(told, tmp_path / "sound.db").events == 7


def test_tables_that_cannot_even_be_named_are_damage(told, tmp_path):
    """A byte of the text of the tables that is no text: SQLite's message about it cannot be decoded."""
    data = bytearray(told.read_bytes())
    data[data.index(b"tableheadhead") + 5] ^= 0x80  # the name of a table
    told.write_bytes(data)
    with pytest.raises(cd.DamagedStoreError, match="tables cannot be read"):
        cd.Experiment.open(told)
    assert recover(told, tmp_path / "sound.db").events == 7


def test_check_finds_what_checksums_cannot(path, algorithm, monkeypatch):
    """A program that wrote wrong sums: every checksum is right, and the sums are not."""
    from convexdesign.experiment import experiment

    right = experiment.aggregate

    def wrong(*arguments):
        found = right(*arguments)
        return cd.estimation.Observations(found.count, found.mean + 1e-3, found.m2)

    monkeypatch.setattr(experiment, "aggregate", wrong)
    with cd.Experiment.create(path, algorithm) as x:
        batch = x.ask()
        arms = np.repeat(np.arange(3), batch.counts)
        x.tell(batch, arms=arms, rewards=np.cos(np.arange(arms.size)), keys=np.arange(arms.size))
    assert check(path).problems == ("event 3: the sums are not those of the results",)


def test_check_says_what_it_checked(told):
    report = check(told)
    assert (report.events, report.rounds, report.results) == (7, 1, 5)
    with Store.open(told) as store, store.transaction(write=False):
        assert store.read()[-1].checksum.hex() == report.checksum


# ------------------------------------------------------------------ disks and clocks


def test_a_full_disk_fails_loudly_and_loses_nothing(told):
    with cd.Experiment.open(told) as x:
        before, pages = x.digest(), x._store._connection.execute("PRAGMA page_count").fetchone()[0]
        x._store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        many = {"arms": [0] * 140, "rewards": [1.0] * 140, "keys": [f"many-{k:0100d}" for k in range(140)]}
        with pytest.raises(cd.StoreError, match="was not changed: the disk is full; free some space"):
            x.tell(0, **many)
        assert x.digest() == before
        x._store._connection.execute("PRAGMA max_page_count = 1000000")
        assert x.tell(0, **many).accepted == 140
    assert check(told).problems == ()


SMALL_DISK = """
import resource, signal, sys
import convexdesign as cd
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
x = cd.Experiment.open(sys.argv[1])
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, limits[1]))
told = failed = 0
for k in range(60):
    try:
        told += x.tell(0, arms=[0], rewards=[float(k)], keys=[f"row-{k}"]).accepted
    except cd.StoreError:
        failed += 1
assert x.status().told == 5 + told
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
again = x.tell(0, arms=[0] * 60, rewards=[float(k) for k in range(60)], keys=[f"row-{k}" for k in range(60)])
print(told, failed, again.accepted, again.repeated, x.status().told)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_files_that_may_not_grow_fail_loudly_and_lose_nothing(told):
    """The system refuses to write: every tell that was acknowledged counts, every other one can be told again."""
    run = subprocess.run([sys.executable, "-c", SMALL_DISK, told], capture_output=True, text=True, check=True)
    accepted, failed, later, repeated, total = map(int, run.stdout.split())
    assert accepted + failed == 60
    assert failed > 0
    # A commit may have reached the disk although its acknowledgement failed; it is told again without effect.
    assert later + repeated == 60
    assert repeated >= accepted
    assert total == 65
    assert check(told).problems == ()


class Jumping:
    """A clock that runs backwards by years."""

    def __init__(self):
        self.year = 2100

    def now(self, zone):
        self.year -= 7
        return datetime(self.year, 1, 1, tzinfo=UTC)


def test_clocks_that_jump_change_nothing(tmp_path, algorithm, rewards, monkeypatch):
    digests = []
    for jumping in (False, True):
        if jumping:
            monkeypatch.setattr(events, "datetime", Jumping())
        with cd.Experiment.create(tmp_path / f"{jumping}.db", algorithm) as x:
            batch = x.ask()
            arms, values, keys = rewards(batch)
            for part in np.array_split(np.arange(arms.size), 4):
                x.tell(0, arms=arms[part], rewards=values[part], keys=[keys[k] for k in part])
            x.ask()
            digests.append(x.digest())
            times = [event.time for event in x.events()]
    assert digests[0] == digests[1]
    assert times == sorted(times, reverse=True)
    with cd.Experiment.open(tmp_path / "True.db") as x:
        assert x.digest() == digests[0]


def test_a_store_that_others_keep_locked_is_waited_for_and_then_refused(told, monkeypatch):
    monkeypatch.setattr("convexdesign.experiment.store.PATIENCE", 0.2)
    with cd.Experiment.open(told) as x:
        other = sqlite3.connect(told, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(cd.StoreError, match="locked"):
            x.tell(0, arms=[0], rewards=[1.0], keys=["new"])
        assert x.status().told == 5  # readers do not wait
        other.execute("ROLLBACK")
        other.close()
        assert x.tell(0, arms=[0], rewards=[1.0], keys=["new"]).accepted == 1


def test_an_interrupt_in_the_middle_of_a_tell_leaves_nothing_behind(told, monkeypatch):
    with cd.Experiment.open(told) as x:
        before = x.digest()

        def interrupted(event):
            raise KeyboardInterrupt

        monkeypatch.setattr(x._ledger, "apply", interrupted)
        with pytest.raises(KeyboardInterrupt):
            x.tell(0, arms=[0], rewards=[1.0], keys=["new"])
        assert x.digest() == before
        assert x.tell(0, arms=[0], rewards=[1.0], keys=["new"]).accepted == 1


# ------------------------------------------------------------------ one file


def test_a_link_to_the_file_is_as_good_as_the_file(told, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(told)
    assert recover(link, tmp_path / "sound.db").events == 7
    with cd.Experiment.open(link) as x:
        assert x.tell(0, arms=[1], rewards=[0.5], keys=["short"]).accepted == 1
    assert check(told).results == 6


def test_an_open_store_is_not_recovered_in_the_same_process(x, tmp_path):
    with pytest.raises(cd.InputError, match="is open in this process; close it first"):
        recover(x._store.path, tmp_path / "sound.db")


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")
@pytest.mark.parametrize("replaced", [True, False])
def test_nothing_is_acknowledged_that_would_go_into_a_deleted_file(x, tmp_path, replaced):
    x.ask()
    x.tell(0, arms=[0], rewards=[1.0], keys=["before"])
    short = {"arms": [1], "rewards": [0.5], "keys": ["short"]}
    file = x._store.path
    data = file.read_bytes()
    file.rename(tmp_path / "moved")
    if replaced:
        file.write_bytes(data)
    for _ in range(2):
        with pytest.raises(cd.StoreError, match="deleted or replaced while it was open"):
            x.tell(0, **short)
    if not replaced:
        (tmp_path / "moved").rename(file)
        assert x.tell(0, **short).accepted == 1
        assert x.status().told == 2
