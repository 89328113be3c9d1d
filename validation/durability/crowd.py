"""Many processes that tell one store at once: is every result counted, once, and how long does a tell wait?"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from convexdesign.experiment import Experiment, check
from convexdesign.identification import OracleAllocation
from convexdesign.instances import soare

__all__ = ["crowd", "open_batch"]


def crowd(processes: int, results: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Let so many processes tell so many results each, one durable tell a result, into one batch.

    Counts results missing or too many in the end, and gives the percentiles of a tell's time in seconds.
    """
    store = folder / "crowd.db"
    wanted = processes * results
    arms = open_batch(store, wanted)
    values = np.random.default_rng(seed).standard_normal(wanted)
    children = []
    started = time.perf_counter()
    for number in range(processes):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                mine = range(number, wanted, processes)
                _tell(store, [(k, int(arms[k]), float(values[k])) for k in mine], folder / f"times-{number}.npy")
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    seconds = time.perf_counter() - started
    waits = np.concatenate([np.load(folder / f"times-{number}.npy") for number in range(processes)])
    with Experiment.open(store) as x:
        state = x.status()
        sums = x.transcript()["steps"][0]
    exact = np.bincount(arms[:wanted], minlength=3)
    told = np.zeros(3, dtype=int)
    told[sums["batches"][0]["told"]["arms"]] = sums["batches"][0]["told"]["pulls"]
    return {
        "processes": processes,
        "results": wanted,
        "failed_processes": failed,
        "miscounted": int(np.abs(told - exact).sum()) + abs(state.pulls_told - wanted),
        "problems": len(check(store).problems),
        "tells_per_second": wanted / seconds,
        "median_seconds": float(np.quantile(waits, 0.5)),
        "p99_seconds": float(np.quantile(waits, 0.99)),
        "longest_seconds": float(waits.max()),
    }


def open_batch(store: Path, least: int) -> Any:
    """An experiment with an open batch of more pulls than that; the arms of its pulls, one by one."""
    world = soare(omega=0.1)
    scale = 1.0
    while True:
        oracle = OracleAllocation(world.arms, theta=world.theta, noise_variance=scale * world.noise_variance, rng=0)
        counts = oracle.ask().counts
        if counts.sum() > least:
            break
        scale *= 2.0
    with Experiment.create(store, oracle) as x:
        return np.repeat(np.arange(3), x.ask().counts)


def _tell(store: Path, rows: list[tuple[int, int, float]], times: Path) -> None:
    waits = []
    with Experiment.open(store) as x:
        for k, arm, reward in rows:
            begun = time.perf_counter()
            x.tell(0, arms=[arm], rewards=[reward], keys=[f"result-{k}"])
            waits.append(time.perf_counter() - begun)
    np.save(times, waits)
