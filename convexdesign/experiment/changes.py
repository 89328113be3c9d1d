"""What people decide about an experiment that runs: results that will not come, corrections, arms withdrawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import flag, numeric
from convexdesign.errors import InputError
from convexdesign.estimation import Observations
from convexdesign.estimation.observations import whole_counts
from convexdesign.experiment.events import EventKind, PendingEvent
from convexdesign.experiment.ledger import Asked, Ledger, Phase
from convexdesign.experiment.packing import packed_pulls
from convexdesign.experiment.parsing import checked_key, checked_reason, reward_rows, summary_under
from convexdesign.experiment.results import RewardRows, SummaryRows, content_record
from convexdesign.experiment.validation import arm_text, pulls_in
from convexdesign.identification import Identifier
from convexdesign.typing import Indices

__all__ = ["amendment", "arrival", "missing", "withdrawal"]


def missing(asked: Asked, arms: ArrayLike | None, counts: ArrayLike | None, reason: str) -> PendingEvent:
    """The event that some results of a batch will never come; InputError where they are not due."""
    due = asked.outstanding
    number = asked.batch.id
    if not due.any():
        raise InputError(f"batch {number} waits for no results")
    index = np.flatnonzero(due) if arms is None else _arms(arms, due.size)
    if counts is None:
        wanted = due[index]
    else:
        if arms is None:
            raise InputError("counts= says how many of each of arms=; give both")
        wanted = whole_counts(counts, "counts", index.size)
    lost = np.zeros_like(due)
    lost[index] = wanted
    surplus = np.flatnonzero(lost > due)
    if surplus.size:
        i = surplus[0]
        raise InputError(f"arm {i}: batch {number} waits for {due[i]} results, {lost[i]} cannot be missing")
    if not lost.any():
        raise InputError(f"batch {number} waits for no results of these arms")
    return PendingEvent(EventKind.MISSING, {"batch": number, "reason": checked_reason(reason)} | packed_pulls(lost))


def arrival(ledger: Ledger, algorithm: Identifier, asked: Asked, came: Any, reason: str) -> PendingEvent | None:
    """The event that `came` (n,) results of the open batch there are in all; None where these are the expected ones.

    InputError where that cannot be, or where the algorithm's proof does not allow it.
    """
    number, counts = asked.batch.id, whole_counts(came, "counts", ledger.n_arms)
    if np.array_equal(counts, asked.expected) and not asked.missing.any():
        return None
    if ledger.open is not asked:
        raise InputError(f"batch {number} is not open; how many results arrived is said of the open batch")
    fewer = np.flatnonzero(counts < asked.told)
    if fewer.size:
        i = fewer[0]
        raise InputError(
            f"arm {arm_text(ledger, i)}: {asked.told[i]} results of batch {number} were told, {counts[i]} cannot be all of them"
        )
    gone = [i for i in ledger.withdrawn if counts[i] > asked.expected[i]]
    if gone:
        raise InputError(f"arm {arm_text(ledger, gone[0])} is withdrawn; its results are not used any more")
    if not counts.any():
        raise InputError(f"batch {number} has no result at all; mark it as missing, and it is asked for again")
    current = ledger.current
    assert current is not None
    refused = algorithm.counts_refused(current.counts - asked.expected + counts)
    if refused is not None:
        raise InputError(
            f"batch {number}: other numbers of results than asked for cannot be used, since {refused}; leave out what is too "
            "many, and mark as missing what did not come"
        )
    return PendingEvent(EventKind.ARRIVED, {"batch": number, "reason": checked_reason(reason)} | packed_pulls(counts))


def amendment(
    ledger: Ledger,
    key: str,
    observations: Observations | None,
    arm: int | None,
    reward: float | None,
    reason: str,
    set_aside: bool,
) -> PendingEvent:
    """The event that corrects what was told under a key. InputError where it cannot be, with the reason."""
    key, set_aside = checked_key(key), flag(set_aside, "set_aside")
    old = ledger.results.find(key)
    if old is None:
        raise InputError(f"nothing was told under the key {key!r}")
    round_ = ledger.round_of(old.batch)
    if round_ is None:
        raise InputError(f"{key!r} belongs to batch {old.batch}, which was set aside; it has no effect any more")
    part: RewardRows | SummaryRows
    if observations is not None and arm is None and reward is None:
        part = summary_under(old.batch, key, observations, ledger.n_arms)
    elif observations is None and reward is not None:
        known = old.arms[0] if arm is None and old.count is None else arm
        if known is None:
            raise InputError(f"{key!r} holds observations; give observations=, or arm= and reward=")
        part = reward_rows(old.batch, [key], [known], [reward], ledger.n_arms)
    else:
        raise InputError("give reward= (and arm=), or observations=")
    new = part.content(0)
    if new == old:
        raise InputError(f"{key!r} has this content already")
    asked = ledger.batches[old.batch]
    more = pulls_in(part, ledger.n_arms) - old.pulls(ledger.n_arms)
    surplus = np.flatnonzero(more > asked.outstanding)
    if surplus.size:
        raise InputError(f"arm {surplus[0]}: batch {old.batch} does not ask for so many pulls")
    taken = [arm for arm in ledger.withdrawn if more[arm] < 0]
    if taken:
        raise InputError(f"arm {taken[0]} is withdrawn: pulls taken from it could not be made again")
    later = ledger.later(round_)
    if ledger.used_after(round_) and not set_aside:
        chosen = f"batches {later}" if later else "the answer"
        raise InputError(
            f"{chosen} were chosen by what {key!r} told; with set_aside=True they count no more, and the experiment goes "
            "on from the corrected round"
        )
    body = {"key": key, "content": content_record(new), "before": content_record(old)}
    return PendingEvent(EventKind.AMENDED, body | {"reason": checked_reason(reason), "set_aside": later})


def withdrawal(ledger: Ledger, arms: ArrayLike, reason: str) -> PendingEvent:
    """The event that arms are withdrawn. InputError for unknown arms, all arms, or when nothing more is asked anyway."""
    if ledger.phase in (Phase.DONE, Phase.STOPPED):
        raise InputError(f"the experiment waits for {ledger.phase.value}; there is nothing to withdraw from")
    index = _arms(arms, ledger.n_arms)
    gone = set(ledger.withdrawn)
    if not index.size or gone >= set(index.tolist()):
        raise InputError("these arms are withdrawn already" if index.size else "give the arms to withdraw")
    if len(gone | set(index.tolist())) == ledger.n_arms:
        raise InputError("no arm would be left to pull")
    current = ledger.current
    waits = current is not None and bool(current.lost[index].any())
    body: dict[str, Any] = {"arms": index.tolist(), "reason": checked_reason(reason)}
    return PendingEvent(
        EventKind.WITHDRAWN, body | {"set_aside": sorted(current.ids) if current is not None and waits else []}
    )


def _arms(arms: ArrayLike, n: int) -> Indices:
    """Distinct indices of arms, increasing."""
    index = np.atleast_1d(numeric(arms, "arms", whole=True))
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise InputError(f"arms must be indices, got dtype {index.dtype}")
    unknown = np.flatnonzero((index < 0) | (index >= n))
    if unknown.size:
        raise InputError(f"arm {index[unknown[0]]} is unknown; arms are numbered 0 to {n - 1}")
    if np.unique(index).size < index.size:
        raise InputError("an arm is named twice")
    return index.astype(np.intp)
