"""What is told in one call, checked by itself: keys, arms and numbers, before anybody looks at the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import numeric, shown
from convexdesign.arms.labels import called
from convexdesign.errors import ConflictError, InputError
from convexdesign.estimation import Observations
from convexdesign.experiment.results import Content, RewardRows, SummaryRows

__all__ = ["checked_key", "checked_note", "checked_reason", "reward_rows", "summary_under"]

LONGEST_KEY = 200
LONGEST_NOTE = 10_000
# Sums of squares of so large numbers, over any number of pulls, stay finite.
LARGEST = 1e100


def summary_under(
    batch: int, key: Any, observations: Any, n_arms: int, names: Sequence[str] | None = None
) -> SummaryRows:
    """Observations of n arms under a key, for a batch. InputError where they are not that, or hold no pull."""
    if not isinstance(observations, Observations):
        raise InputError(
            f"observations must be Observations, got {type(observations).__name__}; give single rewards as arms=, "
            "rewards=, keys="
        )
    if observations.n_arms != n_arms:
        raise InputError(f"observations are of {observations.n_arms} arms, the experiment has {n_arms}")
    arms = np.flatnonzero(observations.count != 0)
    if not arms.size:
        raise InputError("the observations hold no pull; there is nothing to tell")
    for name, largest in (("mean", LARGEST), ("m2", LARGEST**2)):
        values = getattr(observations, name)
        bad = np.flatnonzero(np.abs(values) > largest)
        if bad.size:
            raise InputError(
                f"key {key!r}: {name} of arm {called(names, bad[0])} is {values[bad[0]]:g}; choose a larger unit for rewards"
            )
    count, mean, m2 = (tuple(getattr(observations, name)[arms].tolist()) for name in ("count", "mean", "m2"))
    return SummaryRows(batch, checked_key(key), Content(batch, tuple(arms.tolist()), mean, count, m2))


def reward_rows(
    batch: int,
    keys: Sequence[Any],
    arms: ArrayLike,
    rewards: ArrayLike,
    n_arms: int,
    names: Sequence[str] | None = None,
) -> RewardRows:
    """Single rewards with their keys, for a batch; a row given twice counts once.

    InputError names the row of an unknown arm, of a reward that is not finite or of a key that is no text;
    ConflictError a key that stands for two different rows.
    """
    index, values = numeric(arms, "arms", whole=True), np.array(numeric(rewards, "rewards"), dtype=float)
    if not isinstance(keys, Iterable) or getattr(keys, "ndim", 1) != 1:
        raise InputError(f"keys are {shown(keys)}; give one for each reward")
    named = [checked_key(key) for key in keys] if not isinstance(keys, str) else [checked_key(keys)]
    if index.ndim != 1 or not index.shape == values.shape == (len(named),):
        raise InputError(
            f"arms, rewards and keys must have one length, got {index.shape}, {values.shape} and {len(named)}"
        )
    if not index.size:
        raise InputError("there is no row to tell")
    if index.dtype.kind not in "iu":
        raise InputError(f"arms must be indices, got dtype {index.dtype}")
    unknown = np.flatnonzero((index < 0) | (index >= n_arms))
    if unknown.size:
        k = unknown[0]
        raise InputError(f"row {k} (key {named[k]!r}): arm {index[k]} is unknown; arms are numbered 0 to {n_arms - 1}")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        k = bad[0]
        raise InputError(
            f"row {k} (key {named[k]!r}): the reward of arm {called(names, index[k])} is {values[k]}; leave it out, and mark "
            "it as missing if it will never come"
        )
    bad = np.flatnonzero(np.abs(values) > LARGEST)
    if bad.size:
        k = bad[0]
        raise InputError(
            f"row {k} (key {named[k]!r}): the reward of arm {called(names, index[k])} is {values[k]:g}, and its square would "
            "be too large; choose a larger unit for rewards"
        )
    return _once(RewardRows(batch, named, index.astype(np.int32), values))


def checked_key(key: Any) -> str:
    """The key as text. InputError where it is none, empty, too long, or holds a control character."""
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str):
        raise InputError(f"key is {key!r}; give a text that names the result, so that telling it again does no harm")
    if not key or len(key) > LONGEST_KEY or not key.isprintable():
        raise InputError(f"key is {key[:60]!r}; give 1 to {LONGEST_KEY} printable characters")
    return str(key)


def checked_reason(reason: Any) -> str:
    """The reason as text. InputError where it is none."""
    if not isinstance(reason, str):
        raise InputError(f"reason is {reason!r}; give a text, for the log")
    return reason


def checked_note(text: Any) -> str:
    """A note as text. InputError where it is none, empty, or too long to be one."""
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"note is {shown(text)}; give a text")
    if len(text) > LONGEST_NOTE:
        raise InputError(f"the note has {len(text):,} characters; give at most {LONGEST_NOTE:,}")
    return text


def _once(rows: RewardRows) -> RewardRows:
    """Each key once."""
    first: dict[str, int] = {}
    for k, key in enumerate(rows.keys):
        if first.setdefault(key, k) != k and rows.content(first[key]) != rows.content(k):
            raise ConflictError(
                f"key {key!r} stands for two different rows, {first[key]} and {k}; keys name one result"
            )
    if len(first) == len(rows.keys):
        return rows
    kept = list(first.values())
    return RewardRows(rows.batch, list(first), rows.arms[kept], rows.rewards[kept])
