"""Everything that was told, by key: what came under which key, for which batch, and in which order it is added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations
from convexdesign.experiment.packing import packed_numbers, unpacked_numbers, unpacked_summary
from convexdesign.typing import Counts, Floats

__all__ = ["Content", "Results", "RewardRows", "SummaryRows", "aggregate", "content_from_record", "content_record"]


@dataclass(frozen=True)
class Content:
    """What came under one key: a reward (count None), or counts, means and sums of squares of some arms.

    Two contents are equal when nothing could tell them apart: the same batch, arms and numbers.
    """

    batch: int
    arms: tuple[int, ...]
    values: tuple[float, ...]
    count: tuple[int, ...] | None = None
    m2: tuple[float, ...] | None = None

    def same_as(self, other: Content) -> bool:
        """Whether both say the same, be it a single reward or a mean of one."""
        return self._summed == other._summed

    @property
    def _summed(self) -> Content:
        return self if self.count is not None else Content(self.batch, self.arms, self.values, (1,), (0.0,))

    def pulls(self, n_arms: int) -> Counts:
        """How many pulls of each arm it is about, (n,)."""
        counts = np.zeros(n_arms, dtype=np.int64)
        np.add.at(counts, list(self.arms), 1 if self.count is None else list(self.count))
        return counts


def content_record(content: Content) -> dict[str, Any]:
    """A content as plain data."""
    record: dict[str, Any] = {"batch": content.batch}
    if content.count is None or content.m2 is None:
        return record | {"arm": content.arms[0], "reward": content.values[0]}
    columns = {"arms": content.arms, "count": content.count, "mean": content.values, "m2": content.m2}
    return record | {name: list(column) for name, column in columns.items()}


def content_from_record(record: dict[str, Any]) -> Content:
    """The content that `content_record` gave."""
    if "reward" in record:
        return Content(record["batch"], (record["arm"],), (record["reward"],))
    arms, mean, count, m2 = (tuple(record[name]) for name in ("arms", "mean", "count", "m2"))
    return Content(record["batch"], arms, mean, count, m2)


@dataclass(frozen=True, eq=False)
class RewardRows:
    """Single rewards of one batch: keys, arms (k,) and rewards (k,)."""

    batch: int
    keys: Sequence[str]
    arms: NDArray[np.int32]
    rewards: Floats

    def record(self) -> dict[str, Any]:
        """The rows as plain data; keys hold no line break."""
        return {
            "batch": self.batch,
            "keys": "\n".join(self.keys),
            "arms": packed_numbers(self.arms, "<i4"),
            "rewards": packed_numbers(self.rewards, "<f8"),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> RewardRows:
        """The rows that `record` gave; their keys stay one text until somebody asks for them."""
        arms, rewards = unpacked_numbers(record["arms"], "<i4"), unpacked_numbers(record["rewards"], "<f8")
        return cls(record["batch"], _Lines(record["keys"]), arms, rewards)

    def joined(self, others: Sequence[RewardRows]) -> RewardRows:
        """These rows and those of others, of the same batch, after one another."""
        parts = (self, *others)
        keys = [key for part in parts for key in part.keys]
        arms, rewards = (np.concatenate([getattr(part, name) for part in parts]) for name in ("arms", "rewards"))
        return RewardRows(self.batch, keys, arms, rewards)

    def content(self, k: int) -> Content:
        """Of row k."""
        return Content(self.batch, (int(self.arms[k]),), (float(self.rewards[k]),))


@dataclass(frozen=True, eq=False)
class SummaryRows:
    """Counts, means and sums of squares of one batch under one key."""

    batch: int
    key: str
    observed: Content

    @property
    def keys(self) -> Sequence[str]:
        return (self.key,)

    def content(self, k: int) -> Content:
        """Of the one key there is."""
        return self.observed


class Results:
    """All contents by key; those amended replace what came first."""

    def __init__(self) -> None:
        self._parts: list[RewardRows | SummaryRows] = []
        self._starts: list[int] = [0]
        self._amended: dict[str, Content] = {}
        # Built when the first key is looked up: reading a store does not need it.
        self._numbers: dict[str, int] = {}
        self._indexed = 0

    def add(self, part: RewardRows | SummaryRows) -> None:
        """Take in contents under keys that are new."""
        self._parts.append(part)
        self._starts.append(self._starts[-1] + len(part.keys))

    def amend(self, key: str, content: Content) -> None:
        """Put another content under a key that is known."""
        self._amended[key] = content

    def __len__(self) -> int:
        return self._starts[-1]

    def find(self, key: str) -> Content | None:
        """What is under the key now; None where the key is new."""
        number = self._index.get(key)
        if number is None or key in self._amended:
            return self._amended.get(key)
        part = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self._parts[part].content(number - self._starts[part])

    def any_known(self, keys: Iterable[str]) -> bool:
        """Whether something is under any of the keys."""
        return not self._index.keys().isdisjoint(keys)

    def of_batches(self, batches: set[int]) -> tuple[list[str], NDArray[np.int32], Floats, dict[str, Content]]:
        """Keys, arms and rewards of all single rewards of some batches, and their other contents by key."""
        keys: list[str] = []
        arms, rewards = [np.empty(0, np.int32)], [np.empty(0)]
        others = {key: content for key, content in self._amended.items() if content.batch in batches}
        for part in self._parts:
            if part.batch not in batches:
                continue
            if isinstance(part, SummaryRows):
                others.setdefault(part.key, part.observed)
                continue
            own = list(part.keys)
            kept = [k for k, key in enumerate(own) if key not in self._amended] if self._amended else range(len(own))
            keys += own if len(kept) == len(own) else [own[k] for k in kept]
            arms.append(part.arms[kept] if len(kept) < len(own) else part.arms)
            rewards.append(part.rewards[kept] if len(kept) < len(own) else part.rewards)
        for key in [key for key, content in others.items() if content.count is None]:
            content = others.pop(key)
            keys.append(key)
            arms.append(np.array(content.arms, np.int32))
            rewards.append(np.array(content.values))
        return keys, np.concatenate(arms), np.concatenate(rewards), others

    def singles_of(self, batches: set[int]) -> tuple[NDArray[np.int32], Floats]:
        """Arms and rewards of all single rewards of some batches; keys are not read unless something was amended."""
        if self._amended:
            _, arms, rewards, _ = self.of_batches(batches)
            return arms, rewards
        parts = [part for part in self._parts if part.batch in batches and isinstance(part, RewardRows)]
        arms = np.concatenate([np.empty(0, np.int32), *(part.arms for part in parts)])
        return arms, np.concatenate([np.empty(0), *(part.rewards for part in parts)])

    def rows_of(self, batch: int) -> list[tuple[str, int, int, int, float, float]]:
        """Key, batch, arm, count, mean and sum of squares of all contents of a batch, by key; one row an arm."""
        keys, arms, rewards, others = self.of_batches({batch})
        rows = [(key, batch, int(arm), 1, float(reward), 0.0) for key, arm, reward in zip(keys, arms, rewards)]
        for key, content in others.items():
            assert content.count is not None
            assert content.m2 is not None
            columns = zip(content.arms, content.count, content.values, content.m2)
            rows += [(key, batch, arm, count, mean, m2) for arm, count, mean, m2 in columns]
        return sorted(rows)

    @property
    def _index(self) -> dict[str, int]:
        for number in range(self._indexed, len(self._parts)):
            part, start = self._parts[number], self._starts[number]
            self._numbers.update(zip(part.keys, range(start, start + len(part.keys))))
        self._indexed = len(self._parts)
        return self._numbers


class _Lines(Sequence[str]):
    """The lines of a text, split when they are needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __len__(self) -> int:
        return self._text.count("\n") + 1

    def __getitem__(self, k: Any) -> Any:
        return self._text.split("\n")[k]

    def __iter__(self) -> Any:
        return iter(self._text.split("\n"))


def aggregate(results: Results, batches: set[int], n_arms: int) -> Observations:
    """The observations of n arms from all that was told for these batches.

    Sums in floating point depend on their order, so there is one: single rewards first, sorted by key (by code
    point), then the summaries, merged one by one, sorted by key. The same contents give the same bits.
    """
    keys, arms, rewards, others = results.of_batches(batches)
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)
    total = Observations.from_rewards(n_arms, arms[order], rewards[order])
    # Many small summaries of few of many arms: only those arms are merged.
    seen = np.unique([arm for content in others.values() for arm in content.arms]).astype(np.intp)
    part = total.of_arms(seen) if seen.size else total
    for key in sorted(others):
        part = part.merge(_among(seen, others[key]))
    if not seen.size:
        return total
    count, mean, m2 = total.count.copy(), total.mean.copy(), total.m2.copy()
    count[seen], mean[seen], m2[seen] = part.count, part.mean, part.m2
    return Observations(count, mean, m2)


def _among(seen: NDArray[np.intp], content: Content) -> Observations:
    """A summary as observations of the arms `seen` alone."""
    assert content.count is not None
    assert content.m2 is not None
    arms = np.searchsorted(seen, content.arms)
    return unpacked_summary({"arms": arms, "count": content.count, "mean": content.values, "m2": content.m2}, seen.size)
