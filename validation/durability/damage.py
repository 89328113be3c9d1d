"""Bits flipped in stores and stores cut short: is every one noticed, or without any effect?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from convexdesign.errors import ConvexDesignError
from convexdesign.experiment import Experiment, recover
from convexdesign.experiment.store import Store
from durability.study import algorithm, finish, parts_of, uninterrupted

__all__ = ["damaged_files"]


def damaged_files(trials: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Flip one bit of a store, or cut it short, in turn; then open it, go on to the end, and recover it.

    detected: opening, or going on, raised an error that says so, and the next time again. harmless: the experiment ended
    as it would have. silent: anything else. Counts too the recoveries that were no prefix of what had been written, or
    changed the damaged file, and the shortest of them.
    """
    expected = uninterrupted(folder / "sound.db")
    begun, events = _begun(folder / "begun.db")
    data = begun.read_bytes()
    counts = dict.fromkeys(("detected", "harmless", "silent", "wrong_recoveries"), 0)
    shortest = len(events)
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        path, new = folder / f"damaged-{trial}.db", folder / f"recovered-{trial}.db"
        changed = bytearray(data)
        (_cut if trial % 2 else _flip)(changed, rng)
        path.write_bytes(changed)
        verdict = _judge(path, expected)
        counts[verdict] += 1
        path.write_bytes(changed)
        kept = _recovered(path, new, events)
        if kept is None or path.read_bytes() != changed:
            counts["wrong_recoveries"] += 1
        else:
            shortest = min(shortest, kept)
        _remove(path, new)
    return {"trials": trials, **counts, "events": len(events), "shortest_recovery": shortest}


def _begin(x: Experiment) -> None:
    """Two rounds, and some results of the third."""
    for _ in range(2):
        batch = x.ask()
        for part in parts_of(batch.id, batch.counts):
            x.tell(batch, **part.arguments)
    batch = x.ask()
    for part in list(parts_of(batch.id, batch.counts))[::2]:
        x.tell(batch, **part.arguments)


def _begun(path: Path) -> tuple[Path, list[Any]]:
    with Experiment.create(path, algorithm()) as x:
        _begin(x)
        events = x.events()
    return path, events


def _flip(data: bytearray, rng: np.random.Generator) -> None:
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def _cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[int(rng.integers(len(data))) :]


def _judge(path: Path, expected: str) -> str:
    """What comes of a damaged store: "detected" both times that it is opened, "harmless" or "silent"."""
    verdicts = [_once(path, expected) for _ in range(2)]
    return verdicts[0] if verdicts[0] == verdicts[1] else "silent"


def _once(path: Path, expected: str) -> str:
    try:
        with Experiment.open(path) as x:
            finish(x)
            return "harmless" if x.digest() == expected else "silent"
    except ConvexDesignError:
        return "detected"


def _recovered(path: Path, new: Path, events: list[Any]) -> int | None:
    """How many events were recovered; None where they are not the first that were written."""
    try:
        recover(path, new)
    except ConvexDesignError:
        return 0
    with Store.open(new) as store, store.transaction(write=False):
        found = store.read()
    return len(found) if found == events[: len(found)] else None


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
