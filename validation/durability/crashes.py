"""Processes killed at random moments around ask and tell: is anything lost that was acknowledged?"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from convexdesign.errors import DamagedStoreError
from convexdesign.experiment import Experiment
from convexdesign.experiment.events import EventKind
from durability.crowd import open_batch
from durability.study import algorithm, parts_of, uninterrupted

__all__ = ["killed_at_random", "killed_beside_another"]


def killed_at_random(kills: int, folder: Path, seed: int = 0, longest: float = 0.5) -> dict[str, Any]:
    """Kill the process (SIGKILL) that runs an experiment, after up to `longest` seconds, until so many were killed.

    A new process goes on each time, and experiments follow one another. Every key is noted when its tell has returned.
    Counts acknowledged keys that a store lacks, batches asked for twice, and transcripts other than that of the
    experiment that nobody interrupted.
    """
    expected = uninterrupted(folder / "uninterrupted.db")
    rng = random.Random(seed)
    killed = experiments = lost = acknowledged = twice = different = 0
    while killed < kills:
        store, notes = folder / f"killed-{experiments}.db", folder / f"killed-{experiments}.txt"
        experiments += 1
        while not _outlived(partial(_run, store, notes), rng.uniform(0.0, longest) if killed < kills else None):
            killed += 1
        with Experiment.open(store) as x:
            different += x.digest() != expected
            events = x.events()
        told = {key for event in events for key in _keys(event)}
        noted = notes.read_text().splitlines()
        acknowledged += len(noted)
        lost += len(set(noted) - told)
        asked = [event.body["batch"] for event in events if event.kind is EventKind.ASKED]
        twice += len(asked) - len(set(asked))
    return {
        "kills": killed,
        "experiments": experiments,
        "acknowledged": acknowledged,
        "lost": lost,
        "batches_twice": twice,
        "different_transcripts": different,
    }


# Rows of one call: of the process that is killed, and of the one that goes on beside it.
LARGE, SMALL = 300, 1
MOST_CALLS = 60


def killed_beside_another(kills: int, folder: Path, seed: int = 0, longest: float = 0.05) -> dict[str, Any]:
    """Kill one of two processes that tell the same store, let the other one go on for a moment, and kill that too.

    What either was about to commit is then partly in the file, with a journal beside it to undo it. Counts keys that were
    acknowledged and are lost, and stores that are taken for damaged although nobody has damaged them.
    """
    store, notes = folder / "shared.db", folder / "shared.txt"
    notes.touch()
    arms = open_batch(store, kills * MOST_CALLS * (LARGE + SMALL))
    rng, lost, refused, start, noted = random.Random(seed), 0, 0, 0, []
    for _ in range(kills):
        large = rng.choice([LARGE, LARGE // 5])
        children = []
        for rows in (large, SMALL):
            children.append(os.fork())
            if children[-1] == 0:
                _tell_until_killed(store, notes, arms[start : start + MOST_CALLS * rows], start, rows)
            start += MOST_CALLS * rows
        deadline = time.monotonic() + 10.0
        while not notes.stat().st_size and time.monotonic() < deadline:
            time.sleep(0.001)  # on a busy machine the first one may take long to begin
        time.sleep(0.02 + rng.uniform(0.0, longest))
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)
        time.sleep(rng.choice([0.0, 0.001, 0.01]))
        os.kill(children[1], signal.SIGKILL)
        os.waitpid(children[1], 0)
        noted = notes.read_text().splitlines()
        try:
            with Experiment.open(store) as x:
                lost = sum(x.batch_told(key) is None for key in noted)
        except DamagedStoreError:
            refused += 1
    return {"kills": 2 * kills, "acknowledged": len(noted), "lost": lost, "taken_for_damaged": refused}


def _tell_until_killed(store: Path, notes: Path, arms: Any, start: int, rows: int) -> None:
    try:
        with Experiment.open(store) as x, notes.open("a") as acknowledged:
            for first in range(0, len(arms), rows):
                keys = [f"visit-{start + k}" for k in range(first, first + rows)]
                x.tell(0, arms=arms[first : first + rows], rewards=[1.0] * rows, keys=keys)
                acknowledged.write("".join(f"{key}\n" for key in keys))
                acknowledged.flush()
            time.sleep(60.0)
    finally:
        os._exit(1)


def _run(store: Path, notes: Path) -> None:
    """In a process of its own: begin the experiment or go on with it, and note every key that was acknowledged."""
    x = Experiment.open(store) if store.exists() else Experiment.create(store, algorithm())
    with notes.open("a") as acknowledged:
        while not x.done:
            batch = x.ask()
            for part in parts_of(batch.id, batch.counts):
                if x.tell(batch, **part.arguments).accepted:
                    acknowledged.write("".join(f"{key}\n" for key in part.keys))
                    acknowledged.flush()
    x.close()


def _outlived(work: Callable[[], None], seconds: float | None) -> bool:
    """Whether the work was done in a forked process before that was killed, after `seconds` (None: never)."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    if seconds is not None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return _succeeded(status)
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return _succeeded(status)


def _succeeded(status: int) -> bool:
    if os.WIFSIGNALED(status):
        return False
    if os.WEXITSTATUS(status):
        raise RuntimeError("a process failed that nobody had killed; its traceback is above")
    return True


def _keys(event: Any) -> list[str]:
    if event.kind is EventKind.TOLD:
        return list(event.body["keys"].split("\n"))
    return [event.body["key"]] if event.kind is EventKind.SUMMARISED else []
