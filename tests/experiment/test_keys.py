"""Keys: told twice is told once, told otherwise is refused, and corrections are events of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.experiment import Phase


def some(n_arms=3, value=1.0, pulls=2):
    return Observations.from_rewards(n_arms, [0] * pulls, [value] * pulls)


def unchanged(x, before):
    assert x.digest() == before[0]
    assert len(x.events()) == before[1]


def snapshot(x):
    return x.digest(), len(x.events())


def test_the_same_again_has_no_effect(x):
    x.ask()
    x.tell(0, arms=[0, 1], rewards=[1.5, -0.25], keys=["a", "b"])
    x.tell(0, observations=some(), key="s")
    before = snapshot(x)
    assert x.tell(0, arms=[1], rewards=[-0.25], keys=["b"]).repeated == 1
    assert x.tell(0, observations=some(), key="s").repeated == 1
    unchanged(x, before)
    result = x.tell(0, arms=[0, 1, 1], rewards=[1.5, 3.0, -0.25], keys=["a", "c", "b"])
    assert (result.accepted, result.repeated, result.pulls) == (1, 2, 1)
    assert x.status().told == 5


def test_a_row_twice_in_one_call_counts_once(x):
    x.ask()
    assert x.tell(0, arms=[0, 0], rewards=[1.0, 1.0], keys=["a", "a"]).accepted == 1
    with pytest.raises(cd.ConflictError, match="'b' stands for two different rows, 0 and 1"):
        x.tell(0, arms=[0, 0], rewards=[1.0, 2.0], keys=["b", "b"])
    assert x.status().told == 1


@pytest.mark.parametrize(
    "other",
    [
        {"arms": [0], "rewards": [1.0000000000000002], "keys": ["a"]},
        {"arms": [2], "rewards": [1.0], "keys": ["a"]},
        {"arms": [1, 0], "rewards": [5.0, 2.0], "keys": ["new", "a"]},
        {"observations": some(value=2.0, pulls=1), "key": "a"},
        {"observations": some(value=2.0), "key": "s"},
        {"observations": some(pulls=3), "key": "s"},
    ],
)
def test_other_content_is_a_conflict_and_changes_nothing(x, other):
    x.ask()
    x.tell(0, arms=[0], rewards=[1.0], keys=["a"])
    x.tell(0, observations=some(), key="s")
    before = snapshot(x)
    with pytest.raises(cd.ConflictError, match="told before with other content"):
        x.tell(0, **other)
    unchanged(x, before)
    assert x.tell(0, arms=[1], rewards=[5.0], keys=["new"]).accepted == 1


def test_keys_are_those_of_the_whole_experiment(x, env):
    batch = x.ask()
    x.tell(batch, observations=env.pull(batch.counts), key="day 1")
    second = x.ask()
    before = snapshot(x)
    with pytest.raises(cd.ConflictError, match="'day 1' was told before"):
        x.tell(second, observations=env.pull(second.counts), key="day 1")
    unchanged(x, before)


def test_a_delivery_that_comes_late_is_still_known(x, env):
    batch = x.ask()
    observed = env.pull(batch.counts)
    x.tell(batch, observations=observed, key="day 1")
    x.ask()
    assert x.tell(0, observations=observed, key="day 1").repeated == 1
    with pytest.raises(cd.InputError, match=r"batch 0 asks for \d+ pulls, \d+ were told before, and now 1 more"):
        x.tell(0, arms=[0], rewards=[1.0], keys=["too late"])


def test_amend_corrects_an_open_batch(x, tmp_path, rewards):
    """The end is that of an experiment that was told the right content at once."""
    batch = x.ask()
    arms, values, keys = rewards(batch)
    wrong = values.copy()
    wrong[3] += 100.0
    x.tell(0, arms=arms[:10], rewards=wrong[:10], keys=keys[:10])
    state = x.amend(keys[3], reward=values[3], reason="typing error")
    assert state.amendments == 1
    assert "amended" in state.guarantee
    x.tell(0, arms=arms, rewards=values, keys=keys)
    event = next(e for e in x.events() if e.kind.value == "amended").body
    assert event["before"] == {"batch": 0, "arm": int(arms[3]), "reward": float(wrong[3])}
    assert event["reason"] == "typing error"
    with cd.Experiment.create(
        tmp_path / "right.db",
        cd.identification.Rage(cd.instances.soare(kappa=2.0).arms, variance_bounds=(1.0, 2.0), rng=0),
    ) as right:
        right.ask()
        right.tell(0, arms=arms, rewards=values, keys=keys)
        assert right.digest() == x.digest()
    with pytest.raises(cd.ConflictError):
        x.tell(0, arms=arms[3:4], rewards=wrong[3:4], keys=keys[3:4])


def test_keys_that_are_numbers_are_their_digits(x):
    x.ask()
    x.tell(0, arms=[0, 0], rewards=[1.0, 2.0], keys=[7, np.int64(8)])
    assert x.batch_told(7) == x.batch_told("7") == 0
    x.amend(7, reward=3.0)
    x.amend(np.int64(8), reward=4.0)
    assert x.tell(0, arms=[0, 0], rewards=[3.0, 4.0], keys=["7", 8]).repeated == 2
    with pytest.raises(cd.InputError, match="nothing was told under the key '9'"):
        x.amend(9, reward=1.0)


def test_amending_a_used_result_sets_aside_what_followed(x, env):
    observed = {}
    for _ in range(2):
        batch = x.ask()
        observed[batch.id] = env.pull(batch.counts)
        x.tell(batch, observations=observed[batch.id], key=f"batch {batch.id}")
    x.ask()
    x.tell(2, arms=[0], rewards=[1.0], keys=["early"])
    right = Observations(observed[0].count, observed[0].mean + 0.5, observed[0].m2)
    before = snapshot(x)
    with pytest.raises(cd.InputError, match=r"batches \[1, 2\] were chosen by what 'batch 0' told"):
        x.amend("batch 0", observations=right)
    unchanged(x, before)
    state = x.amend("batch 0", observations=right, reason="offset of the scale", set_aside=True)
    assert state.phase is Phase.READY
    assert state.pulls_set_aside == observed[1].total + 1
    assert state.pulls_told == observed[0].total
    with pytest.raises(cd.InputError, match="batch 2 was set aside"):
        x.tell(2, arms=[0], rewards=[1.0], keys=["another"])
    with pytest.raises(cd.InputError, match="which was set aside"):
        x.amend("early", reward=2.0)
    assert x.ask().id == 3
    assert cd.simulation.simulate(x, env).answer == (0,)
    assert cd.experiment.check(x._store.path).problems == ()
    # After the answer too: it is taken back.
    assert x.amend("batch 0", observations=observed[0], set_aside=True).phase is Phase.READY
    assert not x.done


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("nobody", {"reward": 1.0}, "nothing was told under the key 'nobody'"),
        ("a", {}, "give reward="),
        ("a", {"reward": 1.0, "observations": some()}, "give reward="),
        ("a", {"reward": 1.0}, "has this content already"),
        ("a", {"reward": np.nan}, "is nan"),
        ("a", {"reward": 1.0, "arm": 9}, "arm 9 is unknown"),
        ("s", {"reward": 1.0}, "holds observations"),
        ("s", {"observations": some(pulls=10**6)}, "does not ask for so many pulls"),
    ],
)
def test_amendments_that_make_no_sense(x, key, change, message):
    x.ask()
    x.tell(0, arms=[0], rewards=[1.0], keys=["a"])
    x.tell(0, observations=some(), key="s")
    before = snapshot(x)
    with pytest.raises(cd.InputError, match=message):
        x.amend(key, **change)
    unchanged(x, before)


def test_an_amendment_may_open_a_batch_again(x, rewards):
    batch = x.ask()
    arms, values, keys = rewards(batch)
    first = int(np.argmax(arms == 0))
    x.tell(0, arms=arms, rewards=values, keys=keys)
    with pytest.raises(cd.InputError, match="does not ask for so many pulls"):
        x.amend(keys[first], arm=1, reward=0.0)
    observed = Observations.from_rewards(3, [0], [2.0])
    assert x.amend(keys[first], observations=observed).phase is Phase.READY
    assert x.ask().id == 1


def test_the_key_of_a_whole_batch_need_not_be_given(x, env):
    batch = x.ask()
    observed = env.pull(batch.counts)
    x.tell(batch, observed)
    assert x.tell(batch, observed).repeated == 1
    other = env.pull(batch.counts)
    with pytest.raises(cd.ConflictError, match="'batch-0'"):
        x.tell(batch, other)
    x.ask()
    with pytest.raises(cd.InputError, match="give key="):
        x.tell(1, some())


def test_a_conflict_names_what_differs_and_a_surplus_the_arm(tmp_path):
    arms = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], index=["left", "up"], columns=["a", "b"])

    def observed(count, mean):
        return cd.estimation.Observations(np.array(count), np.array(mean), np.zeros(2))

    with cd.Experiment.create(tmp_path / "x.db", cd.identification.Rage(arms, variance_bounds=(1, 2))) as x:
        counts = x.ask().counts
        x.tell(0, arms=[1], rewards=[0.5], keys=["a"])
        x.tell(0, observations=observed([2, 2], [0.5, 1.0]), key="s")
        for told, message in (
            ({"arms": [1], "rewards": [0.25], "keys": ["a"]}, r"reward of arm up: 0.5, now 0.25"),
            ({"arms": [0], "rewards": [0.5], "keys": ["a"]}, r"of arm up, now of arm left"),
            ({"observations": observed([2, 2], [0.5, 1.5]), "key": "s"}, r"mean of arm up: 1.0, now 1.5"),
            ({"observations": observed([2, 3], [0.5, 1.0]), "key": "s"}, r"count of arm up: 2, now 3"),
            ({"observations": observed([2, 0], [0.5, 0.0]), "key": "s"}, r"with arm up, now without it"),
            ({"observations": observed([2, 0], [0.5, 0.0]), "key": "a"}, "a single reward, now counts and means"),
        ):
            with pytest.raises(cd.ConflictError, match=message):
                x.tell(0, **told)
        with pytest.raises(cd.InputError, match=r"arm up: batch 0 asks for \d+ pulls, 3 were told") as much:
            x.tell(0, observations=observed([0, int(counts[1])], [0.0, 0.0]), key="t")
        assert "other arms" not in str(much.value)
