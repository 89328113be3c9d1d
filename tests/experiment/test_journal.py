"""The journal that a killed process leaves: what it had begun is undone, and all that was acknowledged is there."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest
from durability.blocks import damaged_blocks

import convexdesign as cd
from convexdesign.experiment import recover
from convexdesign.experiment.journal import is_hot, journal_of
from convexdesign.experiment.store import Store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies files while SQLite has them open")


def contents(path):
    return path.read_bytes(), journal_of(path).read_bytes()


def test_what_was_begun_is_undone_and_what_was_acknowledged_is_there(killed, path):
    assert is_hot(killed)
    with cd.Experiment.open(killed) as x, cd.Experiment.open(path) as whole:
        assert x.events() == whole.events()
        assert x.status().told == 60
        assert not journal_of(killed).exists()
        assert x.tell(0, arms=[1], rewards=[1.0], keys=["more"]).accepted == 1


def test_without_its_journal_the_half_written_file_is_refused(killed, tmp_path):
    journal_of(killed).unlink()
    before = killed.read_bytes()
    for _ in range(2):
        with pytest.raises(cd.DamagedStoreError, match="nothing was changed"):
            cd.Experiment.open(killed)
    assert killed.read_bytes() == before
    assert recover(killed, tmp_path / "sound.db").events >= 62


@pytest.mark.parametrize("at", [8, 16, 600, 5000, -1000])
def test_a_damaged_journal_is_not_played_back(killed, tmp_path, at):
    """Noticed every time, with both files as they were; or the journal was of no consequence, and all is there."""
    data = bytearray(journal_of(killed).read_bytes())
    data[at : at + 512 if at > 0 else None] = bytes(len(data[at : at + 512 if at > 0 else None]))
    journal_of(killed).write_bytes(data)
    before = contents(killed)
    outcomes = set()
    for _ in range(2):
        try:
            with cd.Experiment.open(killed) as x:
                assert x.status().told == 60
                outcomes.add("sound")
        except cd.DamagedStoreError:
            assert contents(killed) == before
            outcomes.add("noticed")
    assert len(outcomes) == 1
    shutil.copyfile(killed, tmp_path / "again.db")
    assert recover(killed, tmp_path / "sound.db").events >= 62


def test_the_journal_of_another_experiment_is_not_played_back(killed, tmp_path, algorithm):
    with cd.Experiment.create(tmp_path / "other.db", algorithm) as y:
        y.ask()
    shutil.copyfile(journal_of(killed), journal_of(tmp_path / "other.db"))
    before = contents(tmp_path / "other.db")
    for _ in range(2):
        with pytest.raises(cd.DamagedStoreError, match=r"journal .* beside it .*nothing was changed"):
            cd.Experiment.open(tmp_path / "other.db")
        assert contents(tmp_path / "other.db") == before
    assert recover(tmp_path / "other.db", tmp_path / "sound.db").events == 2


def test_a_journal_that_is_in_use_is_left_to_its_owner(path, algorithm):
    with cd.Experiment.create(path, algorithm) as x:
        x.ask()
    ready = "import sys, time, convexdesign as cd\nfrom convexdesign.experiment.store import Store\n"
    ready += "store = Store.open(sys.argv[1])\nwith store.transaction(write=True):\n    store.read()\n"
    ready += "    store._connection.execute('UPDATE head SET seq = seq')\n    print('begun', flush=True)\n    time.sleep(1)\n"
    writer = subprocess.Popen([sys.executable, "-c", ready, path], stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"begun\n"
    assert not is_hot(path)
    with cd.Experiment.open(path) as x:
        assert x.status().told == 0
    assert writer.wait() == 0
    writer.stdout.close()


def test_blocks_that_are_zeroed_swapped_or_copied_are_noticed_or_harmless(tmp_path):
    found = damaged_blocks(12, tmp_path, seed=1)
    assert found["detected"] + found["harmless"] == 12
    assert found["detected"] > 0
    assert (found["silent"], found["changed_files"], found["wrong_recoveries"]) == (0, 0, 0)


def test_every_sector_of_a_closed_store_that_is_zeroed_is_noticed_or_was_empty(path, algorithm):
    with cd.Experiment.create(path, algorithm) as x:
        x.ask()
        for k in range(20):
            x.tell(0, arms=[0], rewards=[float(k)], keys=[f"k{k}"])
        events = x.events()
    data = path.read_bytes()
    noticed = 0
    for at in range(0, len(data), 512):
        path.write_bytes(data[:at] + bytes(512) + data[at + 512 :])
        try:
            with Store.open(path) as store, store.transaction(write=False):
                assert store.read() == events
            sector = np.frombuffer(data[at : at + 512], np.uint8)
            assert not sector.any() or at < 512
        except cd.DamagedStoreError:
            noticed += 1
    assert noticed >= 8
