"""Arms that tell of what is asked, against all combinations; experiments that go on with a part of the arms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.identification.telling import telling_arms

I = cd.identification  # noqa: E741


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_an_arm_tells_if_some_estimate_of_what_is_asked_uses_it(seed):
    """Small whole numbers; every h with sum h_x x in the span of what is asked, from the null space of [X', -asked']."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(-1, 2, (5, 3)).astype(float)
    asked = rng.integers(-1, 2, (int(rng.integers(1, 3)), 3)).astype(float)
    both = np.hstack([arms.T, -asked.T])
    _, sizes, vectors = np.linalg.svd(both)
    null = vectors[np.count_nonzero(sizes > 1e-9) :]
    uses = np.abs(null[:, :5]).max(axis=0, initial=0.0) > 1e-9
    found = telling_arms(arms, asked)
    assert found.tolist() == (uses if uses.any() else np.ones(5, dtype=bool)).tolist()


LAWS = {
    "gaussian": {},
    "known": {"known_variances": 1.0},
    "sub-gaussian": {"noise": "sub-gaussian", "variance_bounds": (0.1, 4.0)},
    "bernoulli": {"noise": "bernoulli"},
    "bounded": {"noise": "bounded", "reward_range": (0.0, 1.0)},
}


@pytest.mark.parametrize("law", LAWS)
def test_without_a_variant_all_is_as_if_it_had_never_been_there(law):
    """Three arms of which one is withdrawn with its item, and two alone, given the same rewards: the same to rounding."""
    noise = {"noise": "bernoulli"} if law in ("bernoulli", "bounded") else {"noise_variance": 1.0}
    env = cd.simulation.LinearEnvironment(np.eye(2), [0.6, 0.4], rng=4, **noise)
    whole = I.MartingaleElimination(np.eye(3), **LAWS[law])
    whole.exclude([2])
    whole.withdraw([2])
    # The variances of three arms are paid for there.
    alone = I.MartingaleElimination(np.eye(2), **LAWS[law])
    alone._arms_paid = 3
    for _ in range(12):
        if alone.done:
            break
        batch = alone.ask()
        assert whole.ask().counts.tolist() == [*batch.counts, 0]
        told = env.pull(batch.counts)
        alone.tell(batch, told)
        whole.tell(whole.ask(), Observations(*(np.append(part, 0) for part in (told.count, told.mean, told.m2))))
    assert whole._bets.best[:2] == pytest.approx(alone._bets.best, rel=1e-6)
    assert whole._bets.best[:2].max() > 0
