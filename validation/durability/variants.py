"""A/B tests in which variants come and go, killed at every single write: is each change there as a whole, or not at all?"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.experiment import Experiment, check
from convexdesign.experiment.store import Store
from convexdesign.identification import BestArm, LevelSet, MartingaleElimination

__all__ = ["killed_at_every_write"]

RATES = (0.3, 0.5, 0.2, 0.45)
# Rounds before each change, and in all.
DROPPED, JOINED, CORRECTED, TAKEN_BACK, ROUNDS = 1, 2, 3, 4, 5


def killed_at_every_write(
    folder: Path, writes: Iterable[int] | None = None, threshold: float | None = None
) -> dict[str, Any]:
    """Kill the process (SIGKILL) in the middle of every write, or those of these numbers, and again just before the next one.

    After each, another process goes on to the end. Counts stores that are not what they would be without, or not sound.
    threshold: of a level set up to .02; the best arm is sought where there is none.
    """
    whole = folder / "whole.db"
    _advance(whole, threshold)
    with Experiment.open(whole) as x:
        expected, events, status = x.transcript(), len(x.events()), x.status()
    killed = different = problems = 0
    for number in range(events - 1) if writes is None else writes:
        for after in (False, True):
            store = folder / f"killed-{number}-{after}.db"
            child = os.fork()
            if child == 0:
                _die_at(number, after)
                _advance(store, threshold)
                os._exit(1)
            killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
            _advance(store, threshold)
            with Experiment.open(store) as x:
                different += x.transcript() != expected or x.status().guarantee != status.guarantee
            problems += len(check(store).problems)
    return {"kills": killed, "writes": events - 1, "different": different, "problems": problems}


def _die_at(number: int, after: bool) -> None:
    """Have this process killed in the transaction of append `number`, or when the one after it begins."""
    append, seen = Store.append, [0]

    def dying(self: Store, pending: Any) -> Any:
        if after and seen[0] == number + 1:
            os.kill(os.getpid(), signal.SIGKILL)
        events = append(self, pending)
        if not after and seen[0] == number:
            os.kill(os.getpid(), signal.SIGKILL)
        seen[0] += 1
        return events

    Store.append = dying  # type: ignore[method-assign]


def _advance(path: Path, threshold: float | None) -> None:
    """Begin the experiment, or do what is left of it: every step first looks whether it was done."""
    if not path.exists():
        objective = BestArm() if threshold is None else LevelSet(threshold)
        epsilon = 0.0 if threshold is None else 0.02
        algorithm = MartingaleElimination(np.eye(3), None, objective, 0.05, epsilon=epsilon, noise="bernoulli", rng=0)
        Experiment.create(path, algorithm).close()
    with Experiment.open(path) as x:
        while (state := x.status()).rounds < ROUNDS:
            if state.rounds == DROPPED and not state.dropped and state.batch is None:
                with x.together():
                    x.drop_item([0], reason="legal said no")
                    x.withdraw([0], reason="legal said no")
            elif state.rounds == JOINED and not state.joined and state.batch is None:
                x.join_variant(reason="an idea")
            elif state.rounds == CORRECTED and not state.amendments and state.batch is None:
                batch = x.events()[1].body["batch"]
                x.amend(f"batch-{batch}", observations=_results(batch, [20, 20, 20]), reason="a part was counted twice")
            elif state.rounds == TAKEN_BACK and not _taken_back(x) and state.batch is None:
                x.take_back("batch-0", reason="it was not")
            else:
                asked = x.ask()
                x.tell(asked, _results(asked.id, asked.counts), key=f"batch-{asked.id}")


def _taken_back(x: Experiment) -> bool:
    return any(event.body.get("takes_back", False) for event in x.events())


def _results(batch: int, counts: Any) -> Observations:
    """The same whenever they are asked for."""
    count = np.asarray(counts)
    won = np.random.default_rng([11, batch]).binomial(count, RATES[: count.size]).astype(float)
    mean = np.divide(won, count, out=np.zeros(count.size), where=count > 0)
    return Observations(count, mean, count * mean * (1.0 - mean))
