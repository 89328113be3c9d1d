"""What people decide about an experiment that runs: results that will not come, corrections, arms withdrawn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import flag, numeric
from convexdesign.arms.read import LabelledVectors, read_alike, read_positive, read_rows
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation import Observations
from convexdesign.estimation.observations import whole_counts
from convexdesign.experiment.events import EventKind, PendingEvent
from convexdesign.experiment.ledger import Asked, Ledger, Phase, RecordedRound
from convexdesign.experiment.names import labels
from convexdesign.experiment.packing import packed_pulls
from convexdesign.experiment.parsing import checked_key, checked_reason, reward_rows, summary_under
from convexdesign.experiment.replay import begun_with, take_in
from convexdesign.experiment.results import Content, RewardRows, SummaryRows, content_record
from convexdesign.experiment.specification import algorithm_from
from convexdesign.experiment.validation import arm_text
from convexdesign.identification import GuaranteeWarning, Identifier
from convexdesign.identification.identifier import NAMED, UntoldError
from convexdesign.identification.reward_range import reward_range_of
from convexdesign.problem.same_items import same_items
from convexdesign.typing import Counts, Indices

__all__ = [
    "NewArms",
    "amendment",
    "arrival",
    "dropping",
    "joining",
    "missing",
    "refuse_untold",
    "taking_back",
    "withdrawal",
]


def missing(
    ledger: Ledger, asked: Asked, arms: ArrayLike | None, counts: ArrayLike | None, reason: str
) -> PendingEvent:
    """The event that some results of a batch will never come; InputError where they are not due."""
    due = asked.outstanding
    number = asked.batch.id
    if not due.any():
        raise InputError(f"batch {number} waits for no results")
    index = np.flatnonzero(due) if arms is None else _indices(arms, due.size)
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
        name = arm_text(ledger, i)
        raise InputError(f"arm {name}: batch {number} waits for {due[i]} results, {lost[i]} cannot be missing")
    if not lost.any():
        raise InputError(f"batch {number} waits for no results of these arms")
    return PendingEvent(EventKind.MISSING, {"batch": number, "reason": checked_reason(reason)} | packed_pulls(lost))


def usable(ledger: Ledger, algorithm: Identifier, asked: Asked, came: Counts) -> Counts:
    """The numbers (n,) of results that a batch waits for where `came` (n,) arrived: more than these where fewer are no use.

    What is short is then asked for again, and what is too much is used.
    """
    current = ledger.current
    if current is None or ledger.open is not asked:
        return came
    others, enough = current.counts - asked.expected, np.maximum(came, asked.expected)
    fits = np.array_equal(enough, asked.expected) or algorithm.counts_refused(others + enough) is None
    return enough if fits and algorithm.counts_refused(others + came) is not None else came


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
    algorithm: Identifier,
    key: str,
    observations: Observations | None,
    arm: int | None,
    reward: float | None,
    reason: str,
    set_aside: bool,
) -> PendingEvent:
    """The event that corrects what was told under a key. InputError where it cannot be, with the reason.

    Where the algorithm can, later rounds are kept; else they are set aside, which must be allowed.
    """
    key, set_aside = checked_key(key), flag(set_aside, "set_aside")
    old = ledger.results.find(key)
    if old is None:
        raise InputError(f"nothing was told under the key {key!r}")
    names = ledger.arm_names
    part: RewardRows | SummaryRows
    if observations is not None and arm is None and reward is None:
        part = summary_under(old.batch, key, observations, ledger.n_arms, names)
    elif observations is None and reward is not None:
        known = old.arms[0] if arm is None and old.count is None else arm
        if known is None:
            raise InputError(f"{key!r} holds observations; give observations=, or arm= and reward=")
        part = reward_rows(old.batch, [key], [known], [reward], ledger.n_arms, names)
    else:
        raise InputError("give reward= (and arm=), or observations=")
    new = part.content(0)
    if new.same_as(old):
        raise InputError(f"{key!r} has this content already")
    return _replacement(ledger, algorithm, key, old, new, checked_reason(reason), set_aside)


def _replacement(
    ledger: Ledger, algorithm: Identifier, key: str, old: Content, new: Content, reason: str, set_aside: bool
) -> PendingEvent:
    """The event that a key's content is replaced."""
    round_, asked = ledger.round_of(old.batch), ledger.batches[old.batch]
    if round_ is None:
        raise InputError(f"{key!r} belongs to batch {old.batch}, which was set aside; it has no effect any more")
    more = new.pulls(ledger.n_arms) - old.pulls(ledger.n_arms)
    body = {"key": key, "content": content_record(new), "before": content_record(old), "reason": reason}
    if ledger.used_after(round_) and algorithm.keeps_corrected:
        if not (round_.counts + more).any():
            raise InputError(f"{key!r}: no result would be left of its round")
        return PendingEvent(EventKind.CORRECTED, body)
    surplus = np.flatnonzero(more > asked.outstanding)
    if surplus.size:
        raise InputError(f"arm {arm_text(ledger, surplus[0])}: batch {old.batch} does not ask for so many pulls")
    taken = [arm for arm in ledger.withdrawn if more[arm] < 0]
    if taken:
        raise InputError(f"arm {arm_text(ledger, taken[0])} is withdrawn: pulls taken from it could not be made again")
    later = ledger.later(round_)
    if ledger.used_after(round_) and not set_aside:
        raise InputError(_what_would_go(ledger, key, later))
    return PendingEvent(EventKind.AMENDED, body | {"set_aside": later})


def _what_would_go(ledger: Ledger, key: str, later: list[int]) -> str:
    """What an amendment costs, counted before the act."""
    if not later:
        return (
            f"the answer was chosen by what {key!r} told; with set_aside=True it counts no more, and the experiment goes on "
            "from the corrected round"
        )
    all_told = sum(int(a.told.sum()) for a in ledger.batches if not a.set_aside)
    lost = sum(int(ledger.batches[i].told.sum()) for i in later)
    return (
        f"batches {later} were chosen by what {key!r} told: correcting it would set {lost:,} of {all_told:,} results aside. "
        "With set_aside=True they count no more, and the experiment goes on from the corrected round; dry_run=True shows how "
        "it would stand then"
    )


def taking_back(ledger: Ledger, algorithm: Identifier, key: str, reason: str) -> PendingEvent:
    """The event that the amendment of a key is taken back. InputError where there is none, or something rests on it.

    Where the algorithm keeps what is corrected nothing does: what was there before is put back as a correction is.
    """
    key, reason = checked_key(key), checked_reason(reason)
    if ledger.undo and ledger.undo[-1].key == key:
        return PendingEvent(EventKind.TAKEN_BACK, {"key": key, "reason": reason})
    if not ledger.replaced.get(key):
        raise InputError(f"there is no amendment of {key!r}, or it is taken back already")
    if algorithm.keeps_corrected:
        now, before = ledger.results.find(key), ledger.replaced[key][-1]
        assert now is not None
        event = _replacement(ledger, algorithm, key, now, before, reason, set_aside=False)
        return PendingEvent(event.kind, event.body | {"takes_back": True})
    if any(undo.key == key for undo in ledger.undo):
        raise InputError(f"{ledger.undo[-1].key!r} was amended after {key!r}; take that back first")
    raise InputError(
        f"there is no amendment of {key!r} that nothing rests on yet: batches were asked for, or results told, since; amend it "
        "again"
    )


def withdrawal(ledger: Ledger, algorithm: Identifier, arms: ArrayLike, reason: str, anyway: bool) -> PendingEvent:
    """The event that arms are withdrawn. InputError for unknown arms, all arms, or when nothing more is asked anyway.

    UnidentifiableError, unless anyway, where the arms that are left cannot tell what is asked.
    """
    if ledger.phase in (Phase.DONE, Phase.STOPPED):
        raise InputError(f"the experiment waits for {ledger.phase.value}; there is nothing to withdraw from")
    index = _indices(arms, ledger.n_arms)
    gone = set(ledger.withdrawn)
    if not index.size or gone >= set(index.tolist()):
        raise InputError("these arms are withdrawn already" if index.size else "give the arms to withdraw")
    if len(gone | set(index.tolist())) == ledger.n_arms:
        raise InputError("no arm would be left to pull")
    if not flag(anyway, "anyway"):
        left = np.setdiff1d(algorithm.usable, index)
        refuse_untold(ledger, algorithm, left, f"nothing was withdrawn, as without {arms_text(ledger, index)}")
    current = ledger.current
    waits = current is not None and bool(current.lost[index].any())
    body: dict[str, Any] = {"arms": index.tolist(), "reason": checked_reason(reason)}
    return PendingEvent(
        EventKind.WITHDRAWN, body | {"set_aside": sorted(current.ids) if current is not None and waits else []}
    )


def refuse_untold(ledger: Ledger, algorithm: Identifier, usable: Indices, why: str) -> None:
    """UnidentifiableError where these arms cannot tell what is still asked, with the items that would have to go too."""
    try:
        algorithm.refuse_untold(usable, algorithm.partition)
    except UntoldError as error:
        called = labels(ledger.item_rows["names"], len(algorithm.items))
        gone = error.untold.items
        names = ", ".join(called[i] for i in gone[:NAMED]) + (
            f" and {gone.size - NAMED} more" if gone.size > NAMED else ""
        )
        raise UnidentifiableError(
            f"{why} {error}. Drop item{'' if gone.size == 1 else 's'} {names} too (drop_item, --item), or insist (anyway=True, "
            "--anyway): the experiment then stops"
        ) from None


def dropping(ledger: Ledger, items: ArrayLike, reason: str, set_aside: bool) -> PendingEvent:
    """The event that items are dropped, and the rounds that go with them.

    Rounds go where decisions before them rested on an item that is dropped, and the algorithm cannot decide anew; that must
    be allowed. InputError where it is not, for unknown items, or where too few would be left.
    """
    index = _indices(items, ledger.first_joined + len(ledger.joined), "item")
    gone = {*ledger.dropped, *index.tolist()}
    if not index.size or gone == set(ledger.dropped):
        raise InputError("these items are dropped already" if index.size else "give the items to drop")
    lost = _rested_on(ledger, begun_with(ledger, sorted(gone)))
    if lost and not flag(set_aside, "set_aside"):
        told = sum(int(a.told.sum()) for a in ledger.batches if not a.set_aside)
        fewer = sum(int(ledger.batches[i].told.sum()) for i in lost)
        raise InputError(
            f"batches {lost} were chosen by comparisons with what is dropped: that would set {fewer:,} of {told:,} results "
            "aside. With set_aside=True they count no more; dry_run=True shows how it would stand then"
        )
    body = {"items": index.tolist(), "reason": checked_reason(reason), "set_aside": lost}
    return PendingEvent(EventKind.DROPPED, body)


def joining(
    ledger: Ledger, algorithm: Identifier, items: Any, names: Sequence[str] | None, arms: NewArms | None, reason: str
) -> PendingEvent:
    """The event that items join, and arms with them. InputError where they cannot, with the reason."""
    new_arms = [] if arms is None else _arm_records(ledger, algorithm, arms)
    width = max([len(algorithm.arms[0]), *(len(arm["values"]) for arm in new_arms)])
    rows = (
        read_rows(items, "items") if width > len(algorithm.arms[0]) else read_alike(algorithm.arm_rows, items, "items")
    )
    if rows.values.shape[1] != width:
        raise InputError(f"items that join have {rows.values.shape[1]} coordinates, and the arms now have {width}")
    called = _new_names("item", ledger.item_rows["names"], rows, names)
    nameless: list[str | None] = [None] * rows.n
    new = list(zip(called or nameless, np.asarray(rows.values, dtype=float).tolist()))
    trial = algorithm_from(ledger.specification, [*ledger.joined, *new], [*ledger.joined_arms, *new_arms])
    before = ledger.first_joined + len(ledger.joined)
    trial.hold_back(range(before, before + len(new)))
    group = same_items(np.asarray(trial.items, dtype=float))
    for k in range(before, before + len(new)):
        alike = [i for i in range(k) if group[i] == group[k] and i not in ledger.dropped]
        if alike:
            known = ledger.item_rows["names"]
            named = labels(None if known is None or called is None else [*known, *called], before + len(new))
            raise InputError(f"item {named[k]} is item {named[alike[0]]} again; the same question is asked once")
    body: dict[str, Any] = {"items": [[*item] for item in new], "reason": checked_reason(reason)}
    return PendingEvent(EventKind.JOINED, body | ({"arms": new_arms} if new_arms else {}))


@dataclass(frozen=True)
class NewArms:
    """Arms that are to join: vectors (k, d') with d' >= d, names, and VARIANCES or ranges where the algorithm is told them."""

    vectors: Any
    names: Sequence[str] | None = None
    noise_variance: ArrayLike | None = None
    reward_range: Sequence[ArrayLike] | None = None


def _arm_records(ledger: Ledger, algorithm: Identifier, arms: NewArms) -> list[dict[str, Any]]:
    """Name, values and options of every new arm, checked."""
    rows, d = read_rows(arms.vectors, "arms"), algorithm.arms.shape[1]
    k, width = rows.values.shape
    if width < d:
        raise InputError(
            f"arms that join have {width} coordinates; give the {d} of the others, and more for what is new"
        )
    called = _new_names("arm", ledger.arm_names, rows, arms.names)
    options: list[dict[str, Any]] = [{} for _ in range(k)]
    known = getattr(algorithm, "known_variances", None)
    variance = read_positive(arms.noise_variance, "noise_variance", k, "a noise VARIANCE must be positive", called)
    if (variance is None) != (known is None):
        raise InputError(
            "the algorithm learns variances; leave noise_variance= out"
            if known is None
            else "the algorithm knows the VARIANCE of every arm; give those of the new ones (noise_variance=)"
        )
    noise, ends = getattr(algorithm, "noise", "gaussian"), getattr(algorithm, "reward_range", None)
    within = arms.reward_range
    if ends is not None and within is None:
        low, high = ends
        if np.ptp(low) > 0 or np.ptp(high) > 0:
            raise InputError("the arms have ranges of rewards of their own; give those of the new ones (reward_range=)")
        within = (float(low[0]), float(high[0]))
    found = reward_range_of(noise, within, k, called)
    for i in range(k):
        if variance is not None:
            options[i]["noise_variance"] = float(variance[i])
        if found is not None:
            options[i]["reward_range"] = [float(found.low[i]), float(found.high[i])]
    values = np.asarray(rows.values, dtype=float).tolist()
    nameless: list[str | None] = [None] * k
    return [
        {"name": name, "values": own, "options": more} for name, own, more in zip(called or nameless, values, options)
    ]


def _new_names(
    what: str, known: Sequence[str] | None, rows: LabelledVectors, names: Sequence[str] | None
) -> list[str] | None:
    """What new items or arms are called; None where the others have no names."""
    given = rows.names if names is None else [str(name) for name in names]
    if (known is None) != (given is None):
        raise InputError(
            f"the {what}s have no names; give new ones without names too"
            if known is None
            else f"the {what}s have names; give new ones names too (names=, --{what})"
        )
    if given is None:
        return None
    if len(given) != rows.n:
        raise InputError(f"{what}s that join need a name each: {len(given)} names for {rows.n} of them")
    seen = [str(name) for name in known or ()]
    for name in map(str, given):
        if not name.strip():
            raise InputError(f"an {what} that joins is called {name!r}; give it a name that can be read")
        if name in seen:
            raise InputError(f"there is an {what} {name!r} already; give the new one a name of its own")
        seen.append(name)
    return [str(name) for name in given]


def _rested_on(ledger: Ledger, algorithm: Identifier) -> list[int]:
    """Batches from the first round on before which `algorithm`, begun without some items, has decided otherwise."""
    if algorithm.keeps_corrected:
        return []
    for step in ledger.steps:
        if not isinstance(step, RecordedRound):
            step.make(algorithm)
            continue
        mine = algorithm.partition.record()
        batch = algorithm.load_state_dict(step.memory, step.counts)
        if mine != algorithm.partition.record():
            return sorted({*step.ids, *ledger.later(step)})
        if step.aggregated is None:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)
            take_in(algorithm, batch, step, reconsiders=False)
    return []


def arms_text(ledger: Ledger, arms: Any) -> str:
    """Some arms by what they are called."""
    called = [arm_text(ledger, i) for i in arms]
    return f"{'arm' if len(called) == 1 else 'arms'} {', '.join(called)}"


def _indices(given: ArrayLike, n: int, what: str = "arm") -> Indices:
    """Distinct indices of arms or items, increasing."""
    index = np.atleast_1d(numeric(given, f"{what}s", whole=True))
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise InputError(f"{what}s must be indices, got dtype {index.dtype}")
    unknown = np.flatnonzero((index < 0) | (index >= n))
    if unknown.size:
        raise InputError(f"{what} {index[unknown[0]]} is unknown; {what}s are numbered 0 to {n - 1}")
    if np.unique(index).size < index.size:
        raise InputError(f"an {what} is named twice")
    return index.astype(np.intp)
