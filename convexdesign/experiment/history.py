"""What happened, round by round: the algorithm given the recorded sums again, looked at after each of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.estimation import Observations
from convexdesign.experiment.ledger import Ledger, RecordedRound
from convexdesign.experiment.replay import begun_with, take_in
from convexdesign.identification import GuaranteeWarning, Identifier, MartingaleElimination
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RoundView", "history", "rounds_frame", "view_of"]


@dataclass(frozen=True, eq=False)
class RoundView:
    """A round that is complete, and what was known after it.

    Parameters
    ----------
    number : int
        1, 2, ..., the rounds of a burn-in included.
    batches : tuple of int
        The ids of its batches.
    observations : Observations
        Its results.
    samples : int
        All results so far.
    best_guess : tuple of int or None
        Items; None where the algorithm has no guess before the end.
    p_value : float or None
        Of the guess being wrong.
    p_values : ndarray (m,) or None
        What the bets say of every item, as in `Confidence`.
    survivors : tuple of int
        Items that are left.
    above : tuple of int
        Items placed above the threshold.
    below : tuple of int
        Items placed below.
    dropped : tuple of int
        Items that were left before, and are no more (for level sets: that were placed).
    summaries : int
        Rounds of evidence so far.
    estimates : ndarray (m,) or None
        Of all items; none of a burn-in.
    completed : str
        When it was completed (UTC, ISO 8601), of rounds as they were then; "" of rounds looked back at from now.
    """

    number: int
    batches: tuple[int, ...]
    observations: Observations
    samples: int
    best_guess: tuple[int, ...] | None
    p_value: float | None
    p_values: Floats | None
    survivors: tuple[int, ...]
    above: tuple[int, ...]
    below: tuple[int, ...]
    dropped: tuple[int, ...]
    summaries: int
    estimates: Floats | None
    completed: str = ""


def history(ledger: Ledger) -> tuple[Identifier, list[RoundView]]:
    """The algorithm after all complete rounds, and each of these."""
    algorithm = begun_with(ledger, ledger.dropped)
    views: list[RoundView] = []
    samples = 0
    left = set(algorithm.partition.undecided.tolist())
    for step in ledger.steps:
        if not isinstance(step, RecordedRound):
            step.make(algorithm)
            left |= set(algorithm.partition.undecided.tolist())
            continue
        batch = algorithm.load_state_dict(step.memory, step.counts)
        if step.aggregated is None:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)
            take_in(algorithm, batch, step, ledger.reconsiders)
        samples += step.aggregated.total
        undecided = set(algorithm.partition.undecided.tolist())
        views.append(view_of(algorithm, step, len(views) + 1, samples, dropped=sorted(left - undecided)))
        left = undecided
    return algorithm, views


def view_of(
    algorithm: Identifier, step: RecordedRound, number: int, samples: int, *, dropped: Sequence[int]
) -> RoundView:
    """A complete round, and what an algorithm that was told it last knows."""
    assert step.aggregated is not None
    sure = algorithm.confidence() if isinstance(algorithm, MartingaleElimination) else None
    return RoundView(
        number=number,
        batches=tuple(sorted(step.ids)),
        observations=step.aggregated,
        samples=samples,
        best_guess=None if sure is None else sure.answer,
        p_value=None if sure is None else 1.0 - sure.answer_confidence,
        p_values=None if sure is None else np.asarray(1.0 - sure.items),
        survivors=tuple(algorithm.partition.undecided.tolist()),
        above=tuple(algorithm.partition.above.tolist()),
        below=tuple(algorithm.partition.below.tolist()),
        dropped=tuple(dropped),
        summaries=len(algorithm.evidence.summaries) if isinstance(algorithm, MartingaleElimination) else 0,
        estimates=algorithm.rounds[-1].estimates if algorithm.rounds else None,
    )


def rounds_frame(views: Sequence[RoundView], items: Sequence[str]) -> pd.DataFrame:
    """The table of rounds: one row each, items by what they are called; `completed` is the time (UTC)."""
    import pandas as pd

    def named(numbers: Sequence[int] | None) -> str:
        return "" if numbers is None else ", ".join(items[i] for i in numbers)

    return pd.DataFrame(
        {
            "round": [view.number for view in views],
            "batches": [", ".join(map(str, view.batches)) for view in views],
            "completed": [view.completed for view in views],
            "pulls": [view.observations.total for view in views],
            "samples": [view.samples for view in views],
            "best_guess": [named(view.best_guess) for view in views],
            "p_value": [np.nan if view.p_value is None else view.p_value for view in views],
            "left": [len(view.survivors) for view in views],
            "dropped": [named(view.dropped) for view in views],
        }
    )
