"""Those who only look: without permission to write, without a trace, and with all that there is to see."""

from __future__ import annotations

import os
import pickle
import sqlite3
import sys
import traceback

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.errors import StoreError
from convexdesign.experiment import Phase, check, experiments_in
from convexdesign.experiment.journal import journal_of
from convexdesign.experiment.reading import ReadOnlyStore
from convexdesign.experiment.store import Store

NOBODY = 65534
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and takes permissions away")


def as_reader(work, *paths):
    """What `work` returns in a process that may write neither the paths nor anything in their folders."""
    for path in paths:
        path.chmod(0o444)
        for folder in path.parents[:-2]:  # those that pytest or we made
            if folder.stat().st_uid == os.getuid() and folder.stat().st_mode & 0o077 == 0:
                folder.chmod(0o755)
        path.parent.chmod(0o555)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            assert not any(os.access(path, os.W_OK) or os.access(path.parent, os.W_OK) for path in paths)
            answer = pickle.dumps(work())
        except BaseException:
            answer = pickle.dumps(AssertionError(traceback.format_exc()))
        with os.fdopen(writer, "wb") as file:
            file.write(answer)
        os._exit(0)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as file:
            answer = pickle.loads(file.read())
    finally:
        os.waitpid(child, 0)
        for path in paths:
            path.parent.chmod(0o755)
            path.chmod(0o644)
    if isinstance(answer, AssertionError):
        raise answer
    return answer


def seen(path):
    """All that a reader can see of an experiment."""
    with cd.Experiment.open(path, read_only=True) as x:
        events = [(e.seq, e.kind, e.text, e.checksum) for e in x.events()]
        return x.status(), x.digest(), events, x.notes(), check(path).problems


def traces(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_reader_without_permission_sees_what_a_writer_sees_and_leaves_no_trace(x, path, env):
    x.note("begun on a Monday")
    batch = x.ask()
    x.tell(batch, env.pull(batch.counts))
    x.ask()
    x.close()
    expected, before = seen(path), traces(path.parent)
    found = as_reader(lambda: seen(path), path)
    assert found == expected
    assert found[0].rounds == 1
    assert [text for _, text in found[3]] == ["begun on a Monday"]
    assert traces(path.parent) == before


def test_a_journal_that_a_killed_process_left_is_not_touched(killed, path, tmp_path):
    with cd.Experiment.open(path) as x:
        events = x.events()
    folder = tmp_path / "shared"
    folder.mkdir()
    path = folder / "study.db"
    path.write_bytes(killed.read_bytes())
    journal_of(path).write_bytes(journal_of(killed).read_bytes())
    before = traces(folder)

    def look():
        with cd.Experiment.open(path, read_only=True) as x:
            return [e.checksum for e in x.events()], x.status().told, check(path).problems

    checksums, told, problems = as_reader(look, path, journal_of(path))
    assert checksums == [e.checksum for e in events]
    assert problems == ()
    assert traces(folder) == before
    # A reader that stays sees what comes after the journal was played back by somebody who writes.
    with cd.Experiment.open(path, read_only=True) as reader:
        assert reader.status().told == told
        with cd.Experiment.open(path) as writer:
            writer.tell(0, arms=[0], rewards=[1.0], keys=["another"])
        assert reader.status().told == told + 1


def refusals(*attempts):
    found = []
    for attempt in attempts:
        with pytest.raises(StoreError) as refused:
            attempt()
        found.append(str(refused.value))
    return found


def test_who_may_not_read_or_write_is_told_who_must_do_what(killed, tmp_path):
    """With a journal that only its owner may undo, or read; stores and folders that may not be read are not passed over."""
    owner = tmp_path.owner()
    shared, closed = tmp_path / "shared", tmp_path / "closed"
    shared.mkdir()
    closed.mkdir()
    path, secret = shared / "study.db", shared / "secret.db"
    path.write_bytes(killed.read_bytes())
    journal_of(path).write_bytes(journal_of(killed).read_bytes())
    secret.write_bytes(killed.read_bytes())
    secret.chmod(0)
    closed.chmod(0)

    def look():
        told = refusals(
            lambda: cd.Experiment.open(path).note("not mine"),
            lambda: cd.Experiment.open(secret, read_only=True),
            lambda: experiments_in(closed),
        )
        return told, [(entry.path.name, entry.trouble) for entry in experiments_in(shared)]

    told, listed = as_reader(look, path, journal_of(path))
    assert "a process that wrote was killed, and what it had begun must be undone; you may only read it" in told[0]
    assert f"Its owner ({owner}), or somebody else who may write it and its folder, must do this" in told[0]
    assert told[1].endswith(f"you may not read it. Its owner ({owner}) must give you permission")
    assert told[2] == f"you may not read the folder {closed}. Its owner ({owner}) must give you permission"
    assert [name for name, _ in listed] == ["secret.db", "study.db"]
    assert listed[0][1].endswith("must give you permission")
    assert listed[1][1] == ""
    journal_of(path).chmod(0)
    told = as_reader(lambda: refusals(lambda: cd.Experiment.open(path, read_only=True), lambda: check(path)), path)
    for text in told:
        assert "study.db-journal cannot be read, and a process that wrote was killed" in text
        assert f"Its owner ({owner}) must write something" in text
    closed.chmod(0o755)


def test_a_copy_that_a_writer_tears_is_made_again(killed, monkeypatch):
    """Between the file and its journal, which he plays back and removes: half a commit would be left."""
    from convexdesign.experiment import journal

    with ReadOnlyStore.open(killed) as store:
        read, seen = journal._bytes_of, []

        def late(path):
            found = read(path)
            if not seen:
                seen.append(path)
                Store.open(killed).close()
            return found

        monkeypatch.setattr(journal, "_bytes_of", late)
        with store.transaction(write=False):
            assert store.read()
        assert len(seen) == 1


def test_a_file_of_an_older_version_is_read_as_it_is(x, path):
    x.ask()
    x.tell(0, arms=[0], rewards=[1.0], keys=["a"])
    x.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    connection.close()
    before = traces(path.parent)
    told = as_reader(lambda: seen(path)[0].told, path)
    assert told == 1
    assert traces(path.parent) == before


def test_a_reader_follows_a_writer(x, path):
    with cd.Experiment.open(path, read_only=True) as reader:
        assert reader.status().phase is Phase.READY
        batch = x.ask()
        x.tell(batch, arms=[0, 0], rewards=[1.0, 2.0], keys=["a", "b"])
        assert reader.status() == x.status()
        assert reader.ask().counts.tolist() == batch.counts.tolist()
        assert reader.batch_told("a") == 0


def test_nothing_is_written_by_a_reader(x, path):
    batch = x.ask()
    x.tell(batch, arms=[0], rewards=[1.0], keys=["a"])
    before = traces(path.parent)
    with cd.Experiment.open(path, read_only=True) as reader:
        assert reader.read_only
        assert not reader.done
        attempts = (
            lambda: reader.tell(batch, arms=[0], rewards=[1.0], keys=["b"]),
            lambda: reader.mark_missing(batch),
            lambda: reader.amend("a", reward=2.0),
            lambda: reader.withdraw([1]),
            lambda: reader.note("not mine"),
        )
        for attempt in attempts:
            with pytest.raises(StoreError, match="open to be read only"):
                attempt()
    with ReadOnlyStore.open(path) as store, pytest.raises(StoreError, match="read only"), store.transaction(write=True):
        pass
    assert traces(path.parent) == before


def finish_without_looking(x, env):
    """Tell batches until the results give the answer, which nobody has recorded yet."""
    while True:
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts))
        with cd.Experiment.open(x.path, read_only=True) as reader:
            if reader.done:
                return batch


def test_the_answer_is_seen_before_it_is_recorded_and_counts_as_seen_from_then_on(x, path, env):
    last = finish_without_looking(x, env)
    kinds = [e.kind.value for e in x.events()]
    assert "finished" not in kinds
    with cd.Experiment.open(path, read_only=True) as reader:
        for looks in (reader, x):
            state = looks.status()
            assert (state.phase, state.answer, state.answer_status) == (Phase.DONE, (0,), "IDENTIFIED")
        (entry,) = experiments_in(path.parent)
        assert (entry.status.phase, entry.answer) == (Phase.DONE, ("0",))
        assert "finished" not in [e.kind.value for e in x.events()]
        found = reader.result()
        assert found.answer == (0,)
        # Whoever corrects the last round may have seen what it leads to.
        with pytest.raises(cd.InputError, match="the answer"):
            x.amend(f"batch-{last.id}", observations=env.pull(last.counts))
        assert reader.status().phase is Phase.DONE
    assert [e.kind.value for e in x.events()].count("finished") == 1
    assert x.result() == found


def test_a_damaged_store_is_refused_to_readers_too(x, path):
    x.ask()
    x.close()
    data = bytearray(path.read_bytes())
    at = data.find(b'"memory"')
    data[at + 1] ^= 1
    path.write_bytes(data)
    with pytest.raises(cd.errors.DamagedStoreError):
        cd.Experiment.open(path, read_only=True)
    with pytest.raises(cd.InputError, match="no such file"):
        cd.Experiment.open(path.with_name("other.db"), read_only=True)


@pytest.mark.parametrize("text", ["", "  ", 7, "x" * 10_001])
def test_what_is_no_note(x, text):
    with pytest.raises(cd.InputError, match="note"):
        x.note(text)
    assert x.notes() == []


def test_notes_change_nothing_but_the_log(x, path):
    before = x.digest()
    x.note("first")
    x.note("second\nof two lines")
    assert x.digest() == before
    assert [text for _, text in x.notes()] == ["first", "second\nof two lines"]
    assert check(path).problems == ()
    x.close()
    with cd.Experiment.open(path) as again:
        assert [text for _, text in again.notes()] == ["first", "second\nof two lines"]


def test_the_experiments_in_a_folder(tmp_path, algorithm):
    for name in ("b.db", "a.db"):
        with cd.Experiment.create(tmp_path / name, algorithm) as x:
            if name == "a.db":
                x.ask()
                x.note("the one that counts")
    damaged = tmp_path / "c.db"
    damaged.write_bytes((tmp_path / "b.db").read_bytes()[:5000])
    (tmp_path / "other.txt").write_text("nothing")
    sqlite3.connect(tmp_path / "other.db").close()
    before = traces(tmp_path)
    found = experiments_in(tmp_path)
    assert [entry.path.name for entry in found] == ["a.db", "b.db", "c.db"]
    assert [entry.note for entry in found] == ["the one that counts", "", ""]
    assert [entry.status is None for entry in found] == [False, False, True]
    assert found[0].status.phase is Phase.WAITING
    assert "damaged" in found[2].trouble
    assert traces(tmp_path) == before
    with pytest.raises(cd.InputError, match="no such folder"):
        experiments_in(tmp_path / "none")


def test_reading_takes_no_lock_for_longer_than_it_reads(x, path):
    batch = x.ask()
    readers = [cd.Experiment.open(path, read_only=True) for _ in range(3)]
    for reader in readers:
        reader.status()
    x.tell(batch, arms=np.zeros(3, dtype=int), rewards=np.ones(3), keys=["a", "b", "c"])
    assert [reader.status().told for reader in readers] == [3, 3, 3]
    for reader in readers:
        reader.close()
        with pytest.raises(StoreError, match="was closed here"):
            reader.status()
    assert Store.open(path).seq == -1
