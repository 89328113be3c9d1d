"""A round's results as one summary, added up in the order of their keys, whatever order they came in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations
from convexdesign.experiment.packing import summary_of
from convexdesign.experiment.results import Content, Results

__all__ = ["aggregate"]


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
    return summary_of({"arms": arms, "count": content.count, "mean": content.values, "m2": content.m2}, seen.size)
