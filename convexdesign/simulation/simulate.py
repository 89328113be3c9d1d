"""One run of an ask/tell algorithm against a simulated world."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation.asktell import Batch
from convexdesign.estimation.observations import Observations

__all__ = ["AsksAndTells", "Pullable", "simulate"]


class AsksAndTells(Protocol):
    """What an algorithm must offer to be simulated."""

    @property
    def done(self) -> bool: ...

    def ask(self) -> Batch: ...

    def tell(self, batch: Batch, observations: Observations, /) -> None: ...

    def result(self) -> Any: ...


class Pullable(Protocol):
    """What a world must offer: rewards for whole numbers of pulls per arm."""

    def pull(self, counts: NDArray[np.int64], /) -> Observations: ...


def simulate(algorithm: AsksAndTells, environment: Pullable) -> Any:
    """Ask, pull and tell until the algorithm is done; its result.

    >>> import convexdesign as cd
    >>> env = cd.simulation.LinearEnvironment([[1.0], [0.5]], [3.0], noise_variance=[1.0, 0.25], rng=0)
    >>> cd.simulation.simulate(cd.estimation.SeparateArmEstimator(env.arms, 10_000), env).samples
    10000
    """
    while not algorithm.done:
        batch = algorithm.ask()
        algorithm.tell(batch, environment.pull(batch.counts))
    return algorithm.result()
