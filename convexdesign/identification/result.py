"""How an identification ended, and what happened in each of its rounds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from convexdesign.typing import Floats, Indices

__all__ = ["AnswerStatus", "Confidence", "Result", "Round"]


class AnswerStatus(Enum):
    """What the answer is worth; the value says it in words."""

    IDENTIFIED = "the answer is right with probability at least 1 - delta, if the noise is as assumed"
    EPSILON_GOOD = "the answer is right up to epsilon with probability at least 1 - delta, if the noise is as assumed"
    BEST_GUESS = (
        "the budget is spent: the answer is the best guess, worth what its p-value says if the noise is as assumed"
    )
    UNDECIDED = (
        "the next batch would exceed max_samples (or 2^62 measurements): no answer; the survivors are what is left, raise "
        "max_samples or epsilon"
    )


@dataclass(frozen=True)
class Result:
    """What was found, and at what cost.

    Parameters
    ----------
    answer : tuple of int
        Indices of items, increasing; the best item (all its copies, equal up to rounding), or every item above the
        threshold; empty where the status is UNDECIDED.
    status : AnswerStatus
        What the answer is worth.
    survivors : tuple of int
        Items not eliminated, or not placed.
    above, below : tuple of int
        Items placed on a side of the threshold, each with its proof (level sets only).
    samples : int
        All pulls, those of the burn-in included.
    burn_in_samples : int
        Those of the burn-in.
    rounds : int
        How many there were.
    delta : float
        The probability of an error that was allowed.
    epsilon : float
        0 unless the status is EPSILON_GOOD.
    p_value : float, optional
        Of the answer being wrong, valid whenever the run ended; None where the algorithm has none.
    assumption : str
        What all of this rests on, in words that follow "if".
    doubts : tuple of str
        What rewards contradicted of that, in words; where there are any the guarantee is void, whatever the status says.
    """

    answer: tuple[int, ...]
    status: AnswerStatus
    survivors: tuple[int, ...]
    above: tuple[int, ...]
    below: tuple[int, ...]
    samples: int
    burn_in_samples: int
    rounds: int
    delta: float
    epsilon: float = 0.0
    p_value: float | None = None
    assumption: str = ""
    doubts: tuple[str, ...] = ()

    @property
    def void(self) -> bool:
        """Whether the rewards contradicted what the answer rests on."""
        return bool(self.doubts)


@dataclass(frozen=True, eq=False)
class Confidence:
    """What is known at some moment; every claim with confidence 1 - a is right, at all times, but with probability a.

    Parameters
    ----------
    answer : tuple of int
        The best guess, indices of items (all copies of it).
    answer_confidence : float
        That all of it is right.
    items : array, shape (m,)
        Best arm: that the item is not the best (for the leader and its copies: that it is); level set: that the item is
        on the side where the best guess has it. At least 0; below 1 by delta/10 or more where the variances were
        estimated.
    """

    answer: tuple[int, ...]
    answer_confidence: float
    items: Floats


@dataclass(frozen=True, eq=False)
class Round:
    """One round after it was told: the design, what was pulled, what was estimated, who is left.

    Parameters
    ----------
    number : int
        1, 2, ...
    accuracy : float
        How far the estimates may be off (nan where the algorithm has no such promise).
    weights : array, shape (n,)
        The design used.
    value : float
        Its worst variance per unit of sampling.
    gap : float
        Its certified relative gap.
    counts : array of int64, shape (n,)
        Pulls.
    theta : array, shape (d,)
        The estimate.
    estimates : array, shape (m,)
        Of ALL items, z'theta-hat.
    survivors, above, below : array of int
        Items after the round.
    samples : int
        All pulls so far.
    p_value : float
        Of the leader, where the algorithm has one.
    """

    number: int
    accuracy: float
    weights: Floats
    value: float
    gap: float
    counts: NDArray[np.int64]
    theta: Floats
    estimates: Floats
    survivors: Indices
    above: Indices
    below: Indices
    samples: int
    p_value: float = float("nan")
