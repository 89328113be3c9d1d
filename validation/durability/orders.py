"""Results delivered in random orders, in parts, some of them twice: is the state the same, bit for bit?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from convexdesign.experiment import Experiment
from durability.study import algorithm, parts_of, uninterrupted

__all__ = ["random_orders"]

# The share of deliveries that come again at some later time.
AGAIN = 0.3


def random_orders(runs: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Count the runs whose fingerprint differs from that of the run in order, and repeats that had an effect."""
    expected = uninterrupted(folder / "in-order.db")
    different = effects = deliveries = 0
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        path = folder / f"run-{run}.db"
        with Experiment.create(path, algorithm()) as x:
            told = []
            while not x.done:
                batch = x.ask()
                parts = list(parts_of(batch.id, batch.counts))
                for k in rng.permutation(len(parts)):
                    x.tell(batch, **parts[k].arguments)
                    told.append((batch.id, parts[k]))
                    deliveries += 1
                    if rng.random() < AGAIN:
                        earlier, part = told[int(rng.integers(len(told)))]
                        effects += x.tell(earlier, **part.arguments).accepted
                        deliveries += 1
            different += x.digest() != expected
        path.unlink()
    return {"runs": runs, "deliveries": deliveries, "different": different, "repeats_with_effect": effects}
