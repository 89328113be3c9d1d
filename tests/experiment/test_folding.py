"""Adding up: the same bits for the same contents, however they came; and the packed columns they are kept in."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.estimation import Observations
from convexdesign.experiment.packing import packed_summary, unpacked_summary
from convexdesign.experiment.results import (
    Content,
    Results,
    RewardRows,
    SummaryRows,
    aggregate,
    content_from_record,
    content_record,
)

N_ARMS = 4
rewards = st.floats(-1e12, 1e12, allow_nan=False, allow_subnormal=True)
row = st.tuples(st.integers(0, N_ARMS - 1), rewards)
deliveries = st.lists(st.lists(row, min_size=1, max_size=6), min_size=1, max_size=6)


def parts_of(lists, batch=0):
    """Every list as rows of one call; every third as a summary under one key."""
    for i, rows in enumerate(lists):
        arms, values = np.array([a for a, _ in rows]), np.array([v for _, v in rows])
        if i % 3 == 2:
            observed = Observations.from_rewards(N_ARMS, arms, values)
            pulled = tuple(np.flatnonzero(observed.count).tolist())
            columns = [tuple(getattr(observed, name)[list(pulled)].tolist()) for name in ("mean", "count", "m2")]
            yield SummaryRows(batch, f"s{i}", Content(batch, pulled, *columns))
        else:
            keys = [f"k{i}-{k}" for k in range(len(rows))]
            yield RewardRows(batch, keys, arms.astype(np.int32), values)


def bits(observed):
    return [getattr(observed, name).tobytes() for name in ("count", "mean", "m2")]


def aggregated(parts, amended=()):
    results = Results()
    for part in parts:
        results.add(part)
    for key, content in amended:
        results.amend(key, content)
    return aggregate(results, {0}, N_ARMS)


@given(lists=deliveries, seed=st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_order_and_division_change_no_bit(lists, seed):
    rng = np.random.default_rng(seed)
    parts = list(parts_of(lists))
    expected = bits(aggregated(parts))
    single = []
    for part in parts:
        if isinstance(part, SummaryRows):
            single.append(part)
        else:
            single += [RewardRows(0, [part.keys[k]], part.arms[[k]], part.rewards[[k]]) for k in range(len(part.keys))]
    shuffled = [single[k] for k in rng.permutation(len(single))]
    assert bits(aggregated(shuffled)) == expected
    # Others' results, and what was wrong before it was amended, leave no trace.
    other = RewardRows(1, ["other"], np.array([0], np.int32), np.array([1e9]))
    first = shuffled[0]
    key, right = first.keys[0], first.content(0)
    wrong = Content(0, (0,), (123.0,), (1,), (0.0,))
    wrongly = [RewardRows(0, [key], np.array([1], np.int32), np.array([5.0])), *shuffled[1:], other]
    assert bits(aggregated(wrongly, [(key, wrong), (key, right)])) == expected


@given(lists=deliveries)
@settings(deadline=None, derandomize=True, max_examples=40)
def test_the_sums_are_those_of_all_rewards_at_once(lists):
    everything = [pair for rows in lists for pair in rows]
    whole = Observations.from_rewards(N_ARMS, [a for a, _ in everything], [v for _, v in everything])
    found = aggregated(parts_of(lists))
    assert found.count.tolist() == whole.count.tolist()
    size = max(abs(v) for _, v in everything) + 1e-300
    np.testing.assert_allclose(found.mean, whole.mean, atol=1e-12 * size)
    np.testing.assert_allclose(found.m2, whole.m2, atol=1e-10 * size**2)


@given(lists=deliveries)
@settings(deadline=None, derandomize=True, max_examples=40)
def test_records_read_back_bit_for_bit(lists):
    for part in parts_of(lists):
        if isinstance(part, RewardRows):
            again = RewardRows.from_record(json.loads(json.dumps(part.record())))
            assert (list(again.keys), again.arms.tolist()) == (list(part.keys), part.arms.tolist())
            assert again.rewards.tobytes() == part.rewards.tobytes()
            assert len(again.keys) == len(part.keys)
        for k in range(len(part.keys)):
            content = part.content(k)
            assert content_from_record(json.loads(json.dumps(content_record(content)))) == content
    observed = aggregated(parts_of(lists))
    assert bits(unpacked_summary(json.loads(json.dumps(packed_summary(observed))), N_ARMS)) == bits(observed)


@given(lists=deliveries)
@settings(deadline=None, derandomize=True, max_examples=40)
def test_contents_are_found_by_key(lists):
    results = Results()
    parts = list(parts_of(lists))
    assert not results.any_known(["k0-0"])
    for part in parts:
        results.add(part)
    for part in parts:
        for k, key in enumerate(part.keys):
            assert results.find(key) == part.content(k)
    assert results.find("nobody") is None
    assert results.any_known(["nobody", parts[0].keys[0]])
    assert len(results) == sum(len(part.keys) for part in parts)
