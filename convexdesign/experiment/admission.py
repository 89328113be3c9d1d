"""Whether what is told fits: into which batch, new or known already, and no more than was asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import ConflictError, InputError
from convexdesign.experiment.ledger import Asked, Ledger
from convexdesign.experiment.results import Content, RewardRows, Summary

__all__ = ["Receipt", "admit", "batch_of", "pulls_in"]

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Receipt:
    """What became of what was told: results taken in, results known already (no effect), and pulls taken in.

    outstanding: pulls of the batch whose results are still to come; complete: whether there are none.
    """

    batch: int
    accepted: int
    repeated: int
    pulls: int
    outstanding: int

    @property
    def complete(self) -> bool:
        return self.outstanding == 0


def admit(ledger: Ledger, part: RewardRows | Summary) -> tuple[RewardRows | Summary | None, Receipt]:
    """The part that is new (None where all is known), and the receipt. Nothing is changed.

    Raises ConflictError where a key is known with other content, InputError for a batch that takes no results or where
    more would be told of an arm than was asked.
    """
    asked = batch_of(ledger, part.batch)
    new = _new_part(ledger, part)
    counts = np.zeros(ledger.n_arms, dtype=np.int64) if new is None else pulls_in(new, ledger.n_arms)
    if new is not None:
        refuse_surplus(asked, counts)
    accepted = 0 if new is None else len(new.keys)
    left = int(asked.outstanding.sum() - counts.sum())
    return new, Receipt(part.batch, accepted, len(part.keys) - accepted, int(counts.sum()), left)


def batch_of(ledger: Ledger, number: int) -> Asked:
    """The batch with this id; InputError where there is none."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise InputError(f"batch is {number!r}; give a batch, or its id")
    if not 0 <= number < len(ledger.batches):
        known = f"the batches are 0 to {len(ledger.batches) - 1}" if ledger.batches else "none was asked for yet"
        raise InputError(f"there is no batch {number}; {known}")
    return ledger.batches[number]


def pulls_in(part: RewardRows | Summary, n_arms: int) -> Counts:
    """How many pulls of each arm (n,) are told."""
    if isinstance(part, Summary):
        return part.observed.pulls(n_arms)
    return np.bincount(part.arms, minlength=n_arms).astype(np.int64)


def refuse_surplus(asked: Asked, counts: Counts) -> None:
    """InputError where a batch takes no results, or not so many of some arm."""
    number = asked.batch.id
    if asked.set_aside:
        raise InputError(f"batch {number} was set aside and takes no results; ask for the batch that replaced it")
    surplus = np.flatnonzero(counts > asked.outstanding)
    if surplus.size:
        i = int(surplus[0])
        missing = f" and {asked.missing[i]} marked as missing" if asked.missing[i] else ""
        raise InputError(
            f"arm {i}: batch {number} asks for {asked.batch.counts[i]} pulls, {asked.told[i]} were told before{missing}, "
            f"and now {counts[i]} more ({surplus.size} arms have too many); nothing was recorded"
        )


def _new_part(ledger: Ledger, part: RewardRows | Summary) -> RewardRows | Summary | None:
    """Without what is known already."""
    results = ledger.results
    if not results.any_known(part.keys):
        return part
    fresh = []
    for k, key in enumerate(part.keys):
        known = results.find(key)
        if known is None:
            fresh.append(k)
        elif known != part.content(k):
            raise ConflictError(
                f"key {key!r} was told before with other content ({_words(known)}) than now ({_words(part.content(k))}); "
                "nothing was recorded. If the first was wrong, amend it; if this is another result, give it another key"
            )
    if isinstance(part, Summary) or not fresh:
        return None
    return RewardRows(part.batch, [part.keys[k] for k in fresh], part.arms[fresh], part.rewards[fresh])


def _words(content: Content) -> str:
    if content.count is None:
        return f"batch {content.batch}, arm {content.arms[0]}, reward {content.values[0]!r}"
    return f"batch {content.batch}, {sum(content.count)} pulls of {len(content.arms)} arms"
