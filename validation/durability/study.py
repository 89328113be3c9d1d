"""One small experiment, and a world that answers every batch the same way whenever it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.experiment import Experiment
from convexdesign.identification import Identifier, Rage
from convexdesign.instances import soare

__all__ = ["Part", "algorithm", "finish", "parts_of", "uninterrupted"]

WORLD = soare(kappa=2.0)
# So many single rewards of every batch come in one call (their event then needs more than one page), and so many more
# in small ones; the rest come summarised.
IN_ONE_CALL, ROWS, IN_ROWS, SUMMARIES = 200, 12, 4, 5


@dataclass(frozen=True, eq=False)
class Part:
    """What is told in one call: the arguments of `Experiment.tell`, and the keys in it."""

    keys: tuple[str, ...]
    arguments: dict[str, Any]


def algorithm() -> Identifier:
    """RAGE on three arms; four rounds or so."""
    return Rage(WORLD.arms, delta=0.05, variance_bounds=(1.0, 2.0), rng=0)


def parts_of(batch: int, counts: Any) -> Iterator[Part]:
    """The results of a batch in parts, always the same: rows with one key each, and summaries of what is left."""
    rng = np.random.default_rng([7, batch])
    arms = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    rewards = (WORLD.arms @ WORLD.theta)[arms] + rng.standard_normal(arms.size) * np.sqrt(WORLD.noise_variance)[arms]
    edges = [0, *range(IN_ONE_CALL, IN_ONE_CALL + ROWS + 1, IN_ROWS)]
    for start, stop in pairwise(edges):
        keys = [f"{batch}-{k}" for k in range(start, min(stop, arms.size))]
        if keys:
            yield Part(tuple(keys), {"arms": arms[start:stop], "rewards": rewards[start:stop], "keys": keys})
    for number, chunk in enumerate(np.array_split(np.arange(edges[-1], max(arms.size, edges[-1])), SUMMARIES)):
        if chunk.size:
            observed = Observations.from_rewards(len(counts), arms[chunk], rewards[chunk])
            key = f"{batch}-part-{number}"
            yield Part((key,), {"observations": observed, "key": key})


def finish(x: Experiment, rng: np.random.Generator | None = None) -> None:
    """Run an experiment to its end, telling the parts of each batch in order, or in one that rng draws."""
    while not x.done:
        batch = x.ask()
        parts = list(parts_of(batch.id, batch.counts))
        for k in range(len(parts)) if rng is None else rng.permutation(len(parts)):
            x.tell(batch, **parts[k].arguments)


def uninterrupted(path: Path) -> str:
    """The fingerprint of the experiment when nothing goes wrong; its store is left at `path`."""
    with Experiment.create(path, algorithm()) as x:
        finish(x)
        return x.digest()
