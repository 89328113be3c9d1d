"""Blocks of a store zeroed, swapped or copied over others, in the file and in the journal that a killed process leaves."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from convexdesign.errors import ConvexDesignError
from convexdesign.experiment import Experiment, recover
from convexdesign.experiment.events import Event
from convexdesign.experiment.journal import is_hot, journal_of
from convexdesign.experiment.store import Store
from durability.crowd import open_batch

__all__ = ["damaged_blocks", "every_block_zeroed", "left_by_a_kill"]

# Fields of pages and of journals, the header of a journal, sectors, pages, and more than a page.
SIZES = (4, 8, 24, 512, 4096, 8192)
# Rows of one call of the process that is killed: the latter needs several pages.
ROWS = (1, 40)
Pair = tuple[bytes, bytes]


def damaged_blocks(trials: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Zero one block, swap two or copy one over another; in the file or in the journal beside it; then open it, twice.

    Stores are what a process left that was killed in the middle of a commit. detected: an error said so both times;
    harmless: everything that was acknowledged is there; silent: anything else. Counts too the stores that were changed by
    being opened and found damaged, and recoveries that are no prefix of what was written.
    """
    counts = dict.fromkeys(("detected", "harmless", "silent", "changed_files", "wrong_recoveries"), 0)
    pair, events = left_by_a_kill(folder, seed)
    for trial in range(trials):
        if trial % 100 == 99:
            pair, events = left_by_a_kill(folder, seed + 1000 * trial)
        rng = np.random.default_rng([seed, trial])
        parts = [bytearray(part) for part in pair]
        _damage(parts[int(rng.integers(2))], rng)
        _count(counts, folder / f"blocks-{trial}.db", (bytes(parts[0]), bytes(parts[1])), events)
    return {"trials": trials, **counts}


def every_block_zeroed(size: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Zero every block of so many bytes in turn, of the file and of the journal; as `damaged_blocks`."""
    counts = dict.fromkeys(("detected", "harmless", "silent", "changed_files", "wrong_recoveries"), 0)
    pair, events = left_by_a_kill(folder, seed)
    trials = 0
    for which in range(2):
        for at in range(0, len(pair[which]), size):
            parts = [bytearray(part) for part in pair]
            end = min(at + size, len(parts[which]))
            parts[which][at:end] = bytes(end - at)
            _count(counts, folder / f"zeroed-{which}-{at}.db", (bytes(parts[0]), bytes(parts[1])), events)
            trials += 1
    return {"trials": trials, **counts}


def left_by_a_kill(folder: Path, seed: int = 0) -> tuple[Pair, list[Event]]:
    """A file and its journal after a process was killed in the middle of a commit, and all events of earlier ones."""
    rng = random.Random(seed)
    for attempt in range(10_000):
        path = folder / f"killed-{seed}-{attempt}.db"
        arms = open_batch(path, 40 * sum(ROWS))
        child = os.fork()
        if child == 0:
            _tell(path, arms)
        time.sleep(rng.uniform(0.005, 0.05))
        # In the middle of a commit its journal is there; on a busy machine the process may not have begun yet.
        until = time.monotonic() + 2.0
        while not journal_of(path).exists() and time.monotonic() < until:
            time.sleep(1e-4)
        time.sleep(rng.uniform(0.0, 2e-3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pair = None
        if is_hot(path):
            pair = path.read_bytes(), journal_of(path).read_bytes()
            with Experiment.open(path) as x:
                events = x.events()
        _remove(path)
        if pair is not None:
            return pair, events
    raise RuntimeError("no process was killed in the middle of a commit")


def _tell(path: Path, arms: Any) -> None:
    """In a process of its own: short and long commits, one after the other, until it is killed."""
    try:
        with Experiment.open(path) as x:
            start = 0
            for call in range(80):
                rows = ROWS[call % 2]
                stop = start + rows
                keys = [f"visit-{k:0100d}" for k in range(start, stop)]
                x.tell(0, arms=arms[start:stop], rewards=np.cos(np.arange(start, stop)), keys=keys)
                start = stop
        time.sleep(60.0)
    finally:
        os._exit(1)


def _damage(data: bytearray, rng: np.random.Generator) -> None:
    """One block zeroed, two swapped, or one copied over another; aligned to their size as often as not."""
    size = min(int(rng.choice(SIZES)), len(data))
    step = size if rng.random() < 0.5 else 4
    places = max((len(data) - size) // step + 1, 1)
    a, b = (int(at) * step for at in rng.integers(places, size=2))
    first, second = bytes(data[a : a + size]), bytes(data[b : b + size])
    kind = int(rng.integers(3))
    if kind == 0:
        data[a : a + size] = bytes(len(first))
    elif kind == 1 and abs(a - b) >= size:
        data[a : a + size], data[b : b + size] = second, first
    else:
        data[a : a + size] = second


def _count(counts: dict[str, int], path: Path, pair: Pair, events: list[Event]) -> None:
    new = path.with_name(f"{path.stem}-recovered.db")
    _write(path, pair)
    kept = _recovered(path, new)
    counts["wrong_recoveries"] += kept[: len(events)] != events[: len(kept)]
    verdicts = list(_verdicts(path, events))
    counts[verdicts[0] if verdicts[0] == verdicts[1] else "silent"] += 1
    if verdicts[0] == "detected":
        counts["changed_files"] += _read(path) != pair
    _remove(path, new)


def _verdicts(path: Path, events: list[Event]) -> Iterator[str]:
    for _ in range(2):
        try:
            with Store.open(path) as store, store.transaction(write=False):
                found = store.read()
            # One more event may be the one that was being written.
            yield "harmless" if found[: len(events)] == events else "silent"
        except ConvexDesignError:
            yield "detected"


def _recovered(path: Path, new: Path) -> list[Event]:
    try:
        recover(path, new)
    except ConvexDesignError:
        return []
    with Store.open(new) as store, store.transaction(write=False):
        return store.read()


def _write(path: Path, pair: Pair) -> None:
    path.write_bytes(pair[0])
    journal_of(path).write_bytes(pair[1])


def _read(path: Path) -> Pair:
    journal = journal_of(path)
    return path.read_bytes(), journal.read_bytes() if journal.exists() else b""


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
        journal_of(path).unlink(missing_ok=True)
