"""Whether what is told fits: into which batch, new or known already, and no more than was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.arms.labels import called
from convexdesign.errors import ConflictError, InputError
from convexdesign.experiment.ledger import Asked, Ledger
from convexdesign.experiment.results import Content, RewardRows, SummaryRows
from convexdesign.typing import Counts

__all__ = ["TellResult", "admit", "arm_text", "batch_of", "new_pulls", "pulls_in"]


@dataclass(frozen=True)
class TellResult:
    """What became of what was told.

    Parameters
    ----------
    batch : int
        The batch's id.
    accepted : int
        Results taken in.
    repeated : int
        Results known already, without effect.
    pulls : int
        Pulls taken in.
    outstanding : int
        Pulls of the batch whose results are still to come.
    """

    batch: int
    accepted: int
    repeated: int
    pulls: int
    outstanding: int

    @property
    def complete(self) -> bool:
        """Whether nothing of the batch is outstanding."""
        return self.outstanding == 0


def admit(ledger: Ledger, part: RewardRows | SummaryRows) -> tuple[RewardRows | SummaryRows | None, TellResult]:
    """The part that is new (None where all is known), and the result. Nothing is changed.

    Raises ConflictError where a key is known with other content, InputError for a batch that takes no results or where
    more would be told of an arm than was asked.
    """
    asked = batch_of(ledger, part.batch)
    new = _new_part(ledger, part)
    counts = np.zeros(ledger.n_arms, dtype=np.int64) if new is None else pulls_in(new, ledger.n_arms)
    if new is not None:
        refuse_surplus(ledger, asked, counts)
    accepted = 0 if new is None else len(new.keys)
    left = int(asked.outstanding.sum() - counts.sum())
    return new, TellResult(part.batch, accepted, len(part.keys) - accepted, int(counts.sum()), left)


def batch_of(ledger: Ledger, number: int) -> Asked:
    """The batch with this id; InputError where there is none."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise InputError(f"batch is {number!r}; give a batch, or its id")
    if not 0 <= number < len(ledger.batches):
        known = f"the batches are 0 to {len(ledger.batches) - 1}" if ledger.batches else "none was asked for yet"
        raise InputError(f"there is no batch {number}; {known}")
    return ledger.batches[number]


def pulls_in(part: RewardRows | SummaryRows, n_arms: int) -> Counts:
    """How many pulls of each arm (n,) are told."""
    if isinstance(part, SummaryRows):
        return part.observed.pulls(n_arms)
    return np.bincount(part.arms, minlength=n_arms).astype(np.int64)


def new_pulls(ledger: Ledger, part: RewardRows | SummaryRows) -> Counts:
    """How many pulls (n,) of a part are not known already. ConflictError where a key is known with other content."""
    new = _new_part(ledger, part)
    return np.zeros(ledger.n_arms, dtype=np.int64) if new is None else pulls_in(new, ledger.n_arms)


def refuse_surplus(ledger: Ledger, asked: Asked, counts: Counts) -> None:
    """InputError where a batch takes no results, or not so many of some arm."""
    number = asked.batch.id
    if asked.set_aside:
        raise InputError(f"batch {number} was set aside and takes no results; ask for the batch that replaced it")
    surplus = np.flatnonzero(counts > asked.outstanding)
    if surplus.size:
        i = int(surplus[0])
        missing = f" and {asked.missing[i]} marked as missing" if asked.missing[i] else ""
        others = f" (so have {surplus.size - 1} other arms too many)" if surplus.size > 1 else ""
        raise InputError(
            f"arm {arm_text(ledger, i)}: batch {number} asks for {asked.expected[i]} pulls, {asked.told[i]} were told "
            f"before{missing}, and now {counts[i]} more{others}; nothing was recorded. If so many came, whatever their values, "
            "tell them as what arrived (as_arrived=True, --as-arrived)"
        )


def _new_part(ledger: Ledger, part: RewardRows | SummaryRows) -> RewardRows | SummaryRows | None:
    """Without what is known already."""
    results = ledger.results
    if not results.any_known(part.keys):
        return part
    fresh = []
    for k, key in enumerate(part.keys):
        known = results.find(key)
        if known is None:
            fresh.append(k)
        elif not known.same_as(part.content(k)):
            raise ConflictError(
                f"key {key!r} was told before with other content: {_difference(ledger, known, part.content(k))}; "
                "nothing was recorded. If the first was wrong, amend it; if this is another result, give it another key"
            )
    if isinstance(part, SummaryRows) or not fresh:
        return None
    return RewardRows(part.batch, [part.keys[k] for k in fresh], part.arms[fresh], part.rewards[fresh])


def arm_text(ledger: Ledger, i: Any) -> str:
    """What an arm is called in messages."""
    return called(ledger.arm_names, i)


def _difference(ledger: Ledger, old: Content, new: Content) -> str:
    """The first thing in which two contents differ, then and now."""
    if old.batch != new.batch:
        return f"for batch {old.batch}, now for batch {new.batch}"
    if (old.count is None) != (new.count is None):
        then, now = ("a single reward" if c.count is None else "counts and means" for c in (old, new))
        return f"{then}, now {now}"
    if old.arms != new.arms:
        if len(old.arms) == len(new.arms) == 1:
            return f"of arm {arm_text(ledger, old.arms[0])}, now of arm {arm_text(ledger, new.arms[0])}"
        i = min(set(old.arms) ^ set(new.arms))
        then, now = ("with" if i in content.arms else "without" for content in (old, new))
        return f"{then} arm {arm_text(ledger, i)}, now {now} it"
    fields = ("reward",) if old.count is None else ("count", "mean", "m2")
    for place, i in enumerate(old.arms):
        for field, was, now_is in zip(fields, _columns(old), _columns(new)):
            if was[place] != now_is[place]:
                return f"{field} of arm {arm_text(ledger, i)}: {was[place]!r}, now {now_is[place]!r}"
    raise AssertionError("equal contents do not differ")


def _columns(content: Content) -> list[tuple[float, ...]]:
    """The rewards, or counts, means and sums of squares, of the arms."""
    if content.count is None or content.m2 is None:
        return [content.values]
    return [content.count, content.values, content.m2]
