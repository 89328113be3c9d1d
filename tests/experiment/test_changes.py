"""Results that never come, and arms that can no longer be pulled: said, logged, and said again in the guarantee."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.experiment import Phase

I = cd.identification  # noqa: E741


def fill(x, batch, rewards, of):
    """Tell the pulls of a batch for which of(arm) is true; how many."""
    arms, values, keys = rewards(batch)
    chosen = np.flatnonzero([of(k, arm) for k, arm in enumerate(arms)])
    x.tell(batch, arms=arms[chosen], rewards=values[chosen], keys=[keys[k] for k in chosen])
    return chosen.size


# ------------------------------------------------------------------ missing results


def test_missing_pulls_are_asked_for_again(x, rewards, env):
    batch = x.ask()
    told = fill(x, batch, rewards, lambda k, arm: k >= 5)
    state = x.mark_missing(batch, reason="a server was down")
    assert state.phase is Phase.READY
    assert state.pulls_missing == 5
    assert "5 missing results (asked for again) went missing whatever the values were" in state.guarantee
    again = x.ask()
    assert (again.id, again.total) == (1, 5)
    assert again.total + told == batch.total
    with pytest.raises(cd.InputError, match="marked as missing, and now"):
        fill(x, batch, rewards, lambda k, arm: k < 5)
    x.tell(again, env.pull(again.counts))
    steps = x.transcript()["steps"]
    assert len(steps) == 1
    assert sum(steps[0]["folded"]["count"]) == batch.total
    assert x.ask().id == 2
    assert cd.simulation.simulate(x, env).answer == (0,)
    assert cd.experiment.check(x._store.path).problems == ()


def test_missing_again_and_again(x, env):
    batch = x.ask()
    x.mark_missing(batch)
    for number in (1, 2):
        again = x.ask()
        assert again.id == number
        assert again.counts.tolist() == batch.counts.tolist()
        x.mark_missing(again)
    last = x.ask()
    x.tell(last, env.pull(last.counts))
    assert x.status().rounds == 1


def test_some_results_of_some_arms_may_be_missing(x):
    batch = x.ask()
    arm = int(np.argmax(batch.counts))
    state = x.mark_missing(0, arms=[arm], counts=[3])
    assert (state.pulls_missing, state.outstanding) == (3, batch.total - 3)
    state = x.mark_missing(0, arms=[arm])
    assert state.pulls_missing == batch.counts[arm]
    assert x.ask().id == 0  # still open for the other arms


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": [0], "counts": [10**6]}, "cannot be missing"),
        ({"arms": [2]}, "waits for no results of these arms"),
        ({"arms": [7]}, "arm 7 is unknown"),
        ({"arms": [0, 0]}, "named twice"),
        ({"counts": [1]}, "give both"),
        ({"arms": [0], "counts": [0.5]}, "whole numbers"),
    ],
)
def test_what_cannot_be_missing(x, arguments, message):
    x.ask()
    before = x.digest()
    with pytest.raises(cd.InputError, match=message):
        x.mark_missing(0, **arguments)
    assert x.digest() == before


# ------------------------------------------------------------------ arms withdrawn


def four_arms(path):
    """The items are the axes; either the fourth arm or both others do for the second axis."""
    arms = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]]
    algorithm = I.Rage(arms, [[1.0, 0.0], [0.0, 1.0]], variance_bounds=(1.0, 1.0), rng=0)
    env = cd.simulation.LinearEnvironment(arms, [1.0, 0.6], noise_variance=1.0, rng=1)
    return cd.Experiment.create(path, algorithm), env


def test_the_design_is_solved_again_without_a_withdrawn_arm(path):
    x, env = four_arms(path)
    batch = x.ask()
    gone = int(np.argmax(batch.counts))
    x.tell(batch, arms=[gone], rewards=[1.0], keys=["one"])
    state = x.withdraw([gone], reason="broken")
    assert state.withdrawn == (gone,)
    assert state.phase is Phase.READY
    assert state.pulls_set_aside == 1
    assert "withdrawn" in state.guarantee
    second = x.ask()
    assert second.id == 1
    assert second.counts[gone] == 0
    with pytest.raises(cd.InputError, match="batch 0 was set aside"):
        x.tell(0, arms=[gone], rewards=[1.0], keys=["two"])
    assert cd.simulation.simulate(x, env).answer == (0,)
    assert not any(step.get("folded", {}).get("count") and gone in step["folded"]["arms"] for step in steps_of(x))
    x.close()
    with cd.Experiment.open(path) as again:
        assert again.result().answer == (0,)
    assert cd.experiment.check(path).problems == ()


def steps_of(x):
    return [step for step in x.transcript()["steps"] if "folded" in step]


def test_a_batch_that_needs_nothing_of_the_arm_goes_on(path):
    x, env = four_arms(path)
    batch = x.ask()
    idle = int(np.argmin(batch.counts))
    own = np.where(np.arange(4) == idle, batch.counts, 0)
    if own.any():
        x.tell(batch, observations=env.pull(own), key="all of the arm that goes")
    state = x.withdraw([idle])
    assert (state.phase, state.batch, state.pulls_set_aside) == (Phase.WAITING, 0, 0)
    x.tell(batch, observations=env.pull(batch.counts - own), key="the rest")
    assert x.ask().counts[idle] == 0
    assert cd.simulation.simulate(x, env).answer == (0,)


def test_an_experiment_that_cannot_tell_any_more_stops_and_names_the_directions(path):
    x, _ = four_arms(path)
    x.ask()
    x.withdraw([1, 3])
    before = x.digest()
    with pytest.raises(cd.UnidentifiableError, match=r"nothing was withdrawn, as without arm 2 the arms that are left"):
        x.withdraw([2])
    assert x.digest() == before
    x.withdraw([2], reason="the last one that saw the second axis", anyway=True)
    for _ in range(2):
        with pytest.raises(cd.UnidentifiableError, match=r"cannot tell item 1 from item 0, along \(-1, 1\)"):
            x.ask()
    x.close()
    with cd.Experiment.open(path) as x:
        assert x.status().phase is Phase.STOPPED
        assert "along (-1, 1)" in x.status().stopped
        with pytest.raises(cd.UnidentifiableError, match="along"):
            x.result()
        with pytest.raises(cd.InputError, match="nothing to withdraw from"):
            x.withdraw([0])
        assert [event.kind.value for event in x.events()].count("stopped") == 1


@pytest.mark.parametrize("kind", [I.MartingaleElimination, I.Rage])
def test_a_variant_that_cannot_go_is_refused_with_what_would_help(path, kind):
    with cd.Experiment.create(path, kind(np.eye(3), variance_bounds=(1.0, 1.0))) as x:
        with pytest.raises(cd.UnidentifiableError, match=r"cannot tell item 2 from item 0.* Drop item 2 too"):
            x.withdraw([2])
        x.drop_item([2])
        assert x.withdraw([2]).phase is Phase.READY
        assert x.ask().counts[2] == 0


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([4], "arm 4 is unknown"),
        ([0, 1, 2, 3], "no arm would be left"),
        ([], "give the arms"),
        ([0.5], "must be indices"),
        ([3], "withdrawn already"),
    ],
)
def test_what_cannot_be_withdrawn(path, arms, message):
    x, _ = four_arms(path)
    x.withdraw([3])
    before = x.digest()
    with pytest.raises(cd.InputError, match=message):
        x.withdraw(arms)
    assert x.digest() == before


def test_a_burn_in_begins_again_on_the_arms_that_are_left(path):
    world = cd.instances.experiment_2(omega=0.3)
    env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0)
    with cd.Experiment.create(path, I.HRage(world.arms, variance_bounds=(0.2, 1.0))) as x:
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts))
        x.withdraw([5])
        restarted = x.ask()
        assert restarted.counts[5] == 0
        x.tell(restarted, env.pull(restarted.counts))
    with cd.Experiment.open(path) as x:
        assert cd.simulation.simulate(x, env).answer == (0,)
        assert all(5 not in step["folded"]["arms"] for step in steps_of(x)[1:])


def test_an_amendment_cannot_take_pulls_from_a_withdrawn_arm(path):
    x, env = four_arms(path)
    batch = x.ask()
    gone = int(np.argmax(batch.counts))
    x.tell(batch, observations=env.pull(batch.counts), key="all")
    x.withdraw([gone])
    fewer = batch.counts.copy()
    fewer[gone] -= 1
    with pytest.raises(cd.InputError, match="is withdrawn: pulls taken from it"):
        x.amend("all", observations=env.pull(fewer))
