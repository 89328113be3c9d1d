"""What people did with an experiment, in words: the act, which variants, keys and batches it was about, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from convexdesign.experiment.events import Event, EventKind

__all__ = ["Act", "acts", "who_joined"]

# More arms than these are counted, not named.
NAMED = 12
# What an event is called that is not called as it is written.
CALLED = {
    EventKind.NOTED: "note",
    EventKind.CORRECTED: "amended",
    EventKind.TAKEN_BACK: "taken back",
}
KINDS = (
    EventKind.NOTED,
    EventKind.MISSING,
    EventKind.ARRIVED,
    EventKind.AMENDED,
    EventKind.CORRECTED,
    EventKind.TAKEN_BACK,
    EventKind.WITHDRAWN,
    EventKind.DROPPED,
    EventKind.JOINED,
    EventKind.STOPPED,
)


class Act(NamedTuple):
    """When (UTC, ISO 8601), what, on what, and why (what was written down)."""

    time: str
    what: str
    which: str
    why: str


def acts(events: Iterable[Event], items: Sequence[str], arms: Sequence[str]) -> list[Act]:
    """All acts of a log, with items and arms by what they are called."""
    found: list[Act] = []
    asked: dict[int, dict[int, int]] = {}
    n_items = n_arms = 0
    for event in events:
        if event.kind is EventKind.CREATED:
            begun = event.body["specification"]
            n_arms = len(begun["arms"]["values"])
            n_items = len((begun["items"] or begun["arms"])["values"])
        if event.kind is EventKind.ASKED:
            body = event.body
            asked[body["batch"]] = dict(zip(body["arms"], body["pulls"]))
        if event.kind not in KINDS:
            continue
        body = event.body
        if event.kind is EventKind.JOINED:
            new_items, new_arms = items[n_items:][: len(body["items"])], arms[n_arms:][: len(body.get("arms", ()))]
            n_items, n_arms = n_items + len(new_items), n_arms + len(new_arms)
            found.append(Act(event.time, "joined", who_joined(new_items, new_arms), body["reason"]))
            continue
        what = "taken back" if body.get("takes_back") else CALLED.get(event.kind, event.kind.value)
        why = body.get("note") or body.get("reason") or body.get("message") or ""
        found.append(Act(event.time, what, _which(event.kind, body, items, arms, asked), str(why)))
    return found


def _which(
    kind: EventKind,
    body: dict[str, Any],
    items: Sequence[str],
    arms: Sequence[str],
    asked: dict[int, dict[int, int]],
) -> str:
    """What an act is about."""
    if kind is EventKind.MISSING:
        return f"batch {body['batch']}: {_each(zip(body['arms'], body['pulls']), arms)}"
    if kind is EventKind.ARRIVED:
        return f"batch {body['batch']}: {_arrived(body, arms, asked[body['batch']])}"
    if kind in (EventKind.AMENDED, EventKind.CORRECTED):
        was, now = (_content(body[name], arms) for name in ("before", "content"))
        return f"{body['key']}, of batch {body['content']['batch']}: {was}; now {now}{_aside(body)}"
    if kind is EventKind.TAKEN_BACK:
        return f"{body['key']}: what was told before the amendment counts again"
    if kind is EventKind.WITHDRAWN:
        return f"{_names('arm', body['arms'], arms)}{_aside(body)}"
    if kind is EventKind.DROPPED:
        return f"{_names('item', body['items'], items)}{_aside(body)}"
    return ""


def who_joined(items: Sequence[str], arms: Sequence[str]) -> str:
    """Who joined; a variant is an item with an arm of its own, called alike."""
    if list(items) == list(arms):
        return _called("variant", items)
    return ", ".join(_called(noun, names) for noun, names in (("item", items), ("arm", arms)) if names)


def _names(noun: str, index: Sequence[int], called: Sequence[str]) -> str:
    return _called(noun, [called[i] for i in index])


def _called(noun: str, names: Sequence[str]) -> str:
    return f"{noun if len(names) == 1 else f'{noun}s'} {', '.join(names)}"


def _each(pulls: Iterable[tuple[int, int]], arms: Sequence[str]) -> str:
    """So many results of each of some arms."""
    parts = [f"{count:,} of {arms[arm]}" for arm, count in pulls]
    more = f" and of {len(parts) - NAMED} more arms" if len(parts) > NAMED else ""
    return ", ".join(parts[:NAMED]) + more


def _arrived(body: dict[str, Any], arms: Sequence[str], asked: dict[int, int]) -> str:
    """How many results came of the arms of which other numbers came than were asked for."""
    came = dict(zip(body["arms"], body["pulls"]))
    other = [arm for arm in sorted({*came, *asked}) if came.get(arm, 0) != asked.get(arm, 0)]
    parts = [f"{came.get(arm, 0):,} of {arms[arm]} ({asked.get(arm, 0):,} asked for)" for arm in other[:NAMED]]
    more = f" and other numbers of {len(other) - NAMED} more arms" if len(other) > NAMED else ""
    rest = ", of the others as asked" if 0 < len(other) < len({*came, *asked}) else ""
    return ", ".join(parts) + more + rest if parts else "as many as asked"


def _content(content: dict[str, Any], arms: Sequence[str]) -> str:
    """What came under a key: a reward, or numbers of results and their means."""
    if "reward" in content:
        return f"{content['reward']:g} of {arms[content['arm']]}"
    rows = list(zip(content["arms"], content["count"], content["mean"]))
    parts = [f"{count:,} of {arms[arm]} with mean {mean:.6g}" for arm, count, mean in rows[:NAMED]]
    more = f" and of {len(rows) - NAMED} more arms" if len(rows) > NAMED else ""
    return ", ".join(parts) + more


def _aside(body: dict[str, Any]) -> str:
    """Batches that count no more since then."""
    gone = body.get("set_aside") or []
    noun = "batch" if len(gone) == 1 else "batches"
    return f"; {noun} {', '.join(map(str, gone))} set aside" if gone else ""
