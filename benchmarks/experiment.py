"""How fast a durable experiment is on this machine: python benchmarks/experiment.py [--output FILE.md]

Durable tells a second beside what the disk's sync allows, a million rows told in batches, reopening after them, and eight
processes that tell at once. Everything is done in a folder on the disk that --folder names (the current one).
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.experiment import check

sys.path.insert(0, str(Path(__file__).parents[1] / "validation"))
from durability.crowd import crowd, open_batch

ROWS = 1_000_000


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the work gave."""
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def syncs_a_second(folder: Path, count: int = 300) -> float:
    """Appends of one page with a sync each: the most durable commits that the disk allows."""
    with (folder / "sync").open("wb") as file:

        def run() -> None:
            for _ in range(count):
                file.write(bytes(4096))
                file.flush()
                os.fsync(file.fileno())

        return count / timed(run)[0]


def single_tells(folder: Path, count: int = 1000) -> dict[str, float]:
    """Tells of one result each, by one process."""
    arms = open_batch(folder / "single.db", count)
    waits = []
    with cd.Experiment.open(folder / "single.db") as x:
        for k in range(count):
            row = {"arms": [int(arms[k])], "rewards": [0.1 * k], "keys": [f"visit-{k}"]}
            waits.append(timed(lambda row=row: x.tell(0, **row))[0])
    return {"tells a second": count / sum(waits), "p99 of a tell, s": float(np.quantile(waits, 0.99))}


def a_million_rows(folder: Path, batch: int) -> dict[str, float]:
    """Rows told `batch` at a time; then the store opened again, its first tell, the fold of all rows, and a check."""
    path = folder / f"rows-{batch}.db"
    arms = open_batch(path, ROWS)
    rewards = np.random.default_rng(0).standard_normal(ROWS)
    keys = [f"visit-{k:07d}" for k in range(ROWS)]
    found: dict[str, float] = {}
    with cd.Experiment.open(path) as x:

        def tell() -> None:
            for start in range(0, ROWS, batch):
                rows = slice(start, start + batch)
                x.tell(0, arms=arms[rows], rewards=rewards[rows], keys=keys[rows])

        found["told, s"] = timed(tell)[0]
        digest = x.digest()
    found["size, MB"] = path.stat().st_size / 1e6
    found["opened again, s"], x = timed(lambda: cd.Experiment.open(path))
    with x:
        found["status, s"], state = timed(x.status)
        assert state.told == ROWS
        assert x.digest() == digest
        again = {"arms": arms[:1], "rewards": rewards[:1], "keys": keys[:1]}
        found["first tell after opening, s"], receipt = timed(lambda: x.tell(0, **again))
        assert receipt.repeated == 1
        rest = np.bincount(arms[ROWS:], minlength=3)
        observed = Observations(rest, np.zeros(3), np.where(rest > 1, rest, 0.0))
        found["last tell of the batch: all added up, s"], receipt = timed(lambda: x.tell(0, observed, key="rest"))
        assert receipt.complete
    found["opened once more, s"], x = timed(lambda: cd.Experiment.open(path))
    x.close()
    found["checked, s"], report = timed(lambda: check(path))
    assert not report.problems
    return found


def a_long_log(folder: Path, events: int) -> dict[str, float]:
    """A log of single results, one event each (written many to a commit, to get there), opened again."""
    path = folder / "long.db"
    arms = open_batch(path, events)
    with cd.Experiment.open(path) as x:
        for start in range(0, events, 2000):
            with x.together():
                for k in range(start, start + 2000):
                    x.tell(0, arms=arms[k : k + 1], rewards=[0.1 * k], keys=[f"visit-{k}"])
    found = {"opened with its snapshot, s": timed(lambda: cd.Experiment.open(path).close())[0]}
    path.with_name(path.name + "-snapshot").unlink()
    return found | {"opened without, s": timed(lambda: cd.Experiment.open(path).close())[0]}


def measure(folder: Path, long: int) -> list[tuple[str, str, float]]:
    """What, measure and value."""
    rows = [("disk", "syncs a second", syncs_a_second(folder))]
    parts = {
        "one result a tell, one process": lambda: single_tells(folder),
        "1,000,000 rows, 1,000 a tell": lambda: a_million_rows(folder, 1000),
        "1,000,000 rows, 10,000 a tell": lambda: a_million_rows(folder, 10_000),
        f"{long:,} results, one event each": lambda: a_long_log(folder, long),
    }
    for what, work in parts.items():
        rows += [(what, name, value) for name, value in work().items()]
    told = crowd(8, 1000, folder)
    assert told["miscounted"] == told["failed_processes"] == told["problems"] == 0
    names = ("tells_per_second", "median_seconds", "p99_seconds", "longest_seconds")
    rows += [("8 processes, 1,000 results each", name.replace("_", " "), told[name]) for name in names]
    return [*rows, ("disk", "syncs a second, at the end", syncs_a_second(folder))]


def page(rows: list[tuple[str, str, float]], arguments: str) -> str:
    """The table, with what it was made on."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end"
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    lines = [
        "# Speed of durable experiments",
        "",
        f"`python benchmarks/experiment.py{arguments}`, {datetime.date.today().isoformat()}; {machine}; {versions}.",
        "",
        "| what | measure | value |",
        "|---|---|---|",
    ]
    return "\n".join([*lines, *(f"| {what} | {name} | {value:.4g} |" for what, name, value in rows)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of durable experiments.")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--long", type=int, default=100_000, help="events of the long log")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        text = page(measure(Path(folder), options.long), f" --long {options.long}")
    print(text)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
