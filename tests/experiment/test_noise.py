"""Results that take two values are refused before they are written, unless that is what the experiment was made for."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.errors import InputError
from convexdesign.experiment.specification import algorithm_from, describe

I = cd.identification  # noqa: E741


def rows(batch, number, seed=0):
    arms = np.repeat(np.arange(batch.counts.size), batch.counts)[:number]
    rewards = (np.random.default_rng(seed).random(arms.size) < 0.3).astype(float)
    return {"arms": arms, "rewards": rewards, "keys": [f"{batch.id}-{k}" for k in range(arms.size)]}


def one_by_one(x, batch, told):
    for k in range(batch.total):
        x.tell(batch.id, **{name: values[k : k + 1] for name, values in told.items()})


def test_refused_at_once_or_one_by_one(tmp_path):
    x = cd.Experiment.create(tmp_path / "a.db", I.MartingaleElimination(np.eye(2)))
    batch = x.ask()
    told = rows(batch, batch.total)
    events = len(x.events())
    for dry_run in (True, False):
        with pytest.raises(InputError, match=r"either 0 or 1.*noise='bernoulli'.*nothing was recorded"):
            x.tell(batch.id, **told, dry_run=dry_run)
    assert len(x.events()) == events
    with pytest.raises(InputError, match="either 0 or 1"):
        one_by_one(x, batch, told)
    recorded = len(x.events()) - events
    # Noticed at the next power of two once there are enough, of both values.
    assert recorded in (31, 63)
    assert x.status().told == recorded
    assert not x.status().void


def test_recorded_where_confirmed_or_made_for_it(tmp_path):
    for name, options in (("b", {"confirm_noise": True}), ("c", {"noise": "bernoulli"})):
        x = cd.Experiment.create(tmp_path / f"{name}.db", I.MartingaleElimination(np.eye(2), **options))
        batch = x.ask()
        assert x.tell(batch.id, **rows(batch, batch.total)).complete
        x.close()
        x = cd.Experiment.open(tmp_path / f"{name}.db")
        assert not x.status().void
        assert ("Bernoulli" if name == "c" else "Gaussian") in x.status().guarantee


def test_rewards_out_of_their_range_are_told_at_once_and_can_be_corrected(tmp_path):
    with cd.Experiment.create(tmp_path / "r.db", I.MartingaleElimination(np.eye(2), noise="bernoulli")) as x:
        batch = x.ask()
        with pytest.warns(I.GuaranteeWarning, match=r"rewards of arm 1 are not either 0 or 1 .*; correct them .* void"):
            x.tell(batch, arms=[0, 1], rewards=[1.0, 0.5], keys=["a", "b"])
        with pytest.warns(I.GuaranteeWarning, match="rewards of arm 0 are not"):
            x.tell(batch, cd.estimation.Observations([4, 0], [1.5, 0.0], [0.0, 0.0]), key="c", dry_run=True)
        x.amend("b", reward=1.0)
        rest = x.outstanding()
        x.tell(batch, cd.estimation.Observations(rest, [1.0, 0.0], [0.0, 0.0]), key="d")
        assert not x.status().void


@pytest.mark.parametrize("one_outside", [12.0, -0.5])
def test_one_reward_outside_among_many_within_is_noticed_though_their_sums_would_not_show_it(tmp_path, one_outside):
    path = tmp_path / "s.db"
    x = cd.Experiment.create(path, I.MartingaleElimination(np.eye(2), noise="bounded", reward_range=(0, 10)))
    batch = x.ask()
    arms = np.repeat([0, 1], batch.counts)
    rewards = np.random.default_rng(5).uniform(4, 6, arms.size)
    rewards[-1] = one_outside
    keys = [f"k{k}" for k in range(arms.size)]
    with pytest.warns(I.GuaranteeWarning, match=r"rewards of arm 1 are not between 0 and 10 .*; correct them .* void"):
        x.tell(batch, arms=arms, rewards=rewards, keys=keys)
    for again in (x, cd.Experiment.open(path, read_only=True)):
        assert again.status().guarantee.startswith("void: rewards of arm 1 are not between 0 and 10 (one is")
    x.amend(keys[-1], reward=6.5)
    for again in (x, cd.Experiment.open(path, read_only=True)):
        assert not again.status().void


@pytest.mark.parametrize(("values", "share"), [((0.0, 25.0), 0.03), ((-1.0, 1.0), 0.02), ((9.0, 19.0), 0.5)])
def test_single_rewards_of_one_arm_among_others_are_noticed_in_its_first_twenty(tmp_path, values, share):
    rng = np.random.default_rng(3)
    with cd.Experiment.create(tmp_path / "o.db", I.MartingaleElimination(np.eye(3), variance_bounds=(0.1, 30))) as x:
        while True:
            batch = x.ask()
            arms = np.repeat(np.arange(3), batch.counts)
            rewards = rng.standard_normal(arms.size)
            one = arms == 2
            rewards[one] = np.where(rng.random(one.sum()) < share, values[1], values[0])
            rewards[np.flatnonzero(one)[0]] = values[1]
            if one.sum() + x.status().pulls_told >= 20:
                break
        keys = [f"{batch.id}-{k}" for k in range(arms.size)]
        told = x.status().told
        with pytest.raises(InputError, match=f"rewards of arm 2 are either {values[0]:g} or {values[1]:g}"):
            x.tell(batch, arms=arms, rewards=rewards, keys=keys)
        assert x.status().told == told


def test_a_store_that_has_them_can_be_read_and_is_void(tmp_path, monkeypatch):
    path = tmp_path / "d.db"
    with monkeypatch.context() as patch:
        patch.setattr("convexdesign.experiment.experiment.refuse_two_values", lambda *_: None)
        x = cd.Experiment.create(path, I.MartingaleElimination(np.eye(2)))
        batch = x.ask()
        x.tell(batch.id, **rows(batch, batch.total))
        x.close()
    x = cd.Experiment.open(path)
    state = x.status()
    assert state.void
    assert state.guarantee.startswith("void: all rewards of arm 0, and of 1 more arm, are either 0 or 1")
    with pytest.warns(I.GuaranteeWarning, match="either 0 or 1"):
        x.ask()


def test_an_answer_says_what_the_rewards_contradicted_in_memory_and_from_a_store(tmp_path):
    def run(target):
        env = cd.simulation.LinearEnvironment(np.eye(2), [0.0, 1.0], noise_variance=1.0, rng=0)
        with pytest.warns(I.GuaranteeWarning, match="the guarantee is void"):
            return cd.simulation.simulate(target, env)

    algorithm = I.MartingaleElimination(np.eye(2), known_variances=0.01, rng=0)
    assert "void" not in repr(algorithm)
    with cd.Experiment.create(tmp_path / "v.db", algorithm.copy()) as x:
        results = [run(algorithm), run(x)]
    results.append(cd.Experiment.open(tmp_path / "v.db", read_only=True).result())
    for result in results:
        assert result.status is I.AnswerStatus.IDENTIFIED
        assert result.void
        assert result.doubts[0].endswith("correct the known VARIANCES and start again")
    assert "void: the rewards contradict that" in repr(algorithm)
    sound = cd.simulation.LinearEnvironment(np.eye(2), [0.0, 1.0], noise_variance=0.01, rng=0)
    assert not cd.simulation.simulate(I.MartingaleElimination(np.eye(2), known_variances=0.01, rng=0), sound).void


def test_descriptions_keep_the_noise():
    arms = np.eye(2)
    for algorithm in (
        I.MartingaleElimination(arms, confirm_noise=True),
        I.MartingaleElimination(arms, noise="bounded", reward_range=([0, 1], [2, 3])),
        I.Rage(arms, noise="bernoulli", reward_range=(1, 2)),
    ):
        written = describe(algorithm)
        again = algorithm_from(written)
        assert describe(again) == written
        assert again.assumption == algorithm.assumption
        assert again.confirm_noise == algorithm.confirm_noise
    # Nothing new is written where nothing new is asked for.
    assert "confirm_noise" not in describe(I.MartingaleElimination(arms))
    assert {"noise", "reward_range"}.isdisjoint(describe(I.Rage(arms, variance_bounds=(1, 2)))["options"])


def test_rounded_squares_of_two_values_are_put_right_and_others_are_not(tmp_path):
    algorithm = I.MartingaleElimination(np.eye(2), noise="bernoulli", reward_range=(0.0, [1.0, 9.0]))
    with cd.Experiment.create(tmp_path / "m.db", algorithm) as x:
        batch = x.ask()
        assert batch.counts.tolist() == [32, 32]
        exact = cd.estimation.Observations.from_successes(batch.counts, [5, 5], high=[1.0, 9.0])
        assert exact.m2.tolist() == [4.21875, 341.71875]
        with pytest.warns(I.GuaranteeWarning, match="squares about it of 4.5, which with that mean are 4.21875"):
            x.tell(batch, cd.estimation.Observations(batch.counts, exact.mean, [4.5, 341.71875]), key="k", dry_run=True)
        with pytest.warns(UserWarning, match="m2 of arm 0 is rounded, as that of 1 more arm"):
            x.tell(batch, cd.estimation.Observations(batch.counts, exact.mean, [4.2, 341.72]), key="k")
        assert [row[5] for row in x.results()] == exact.m2.tolist()
        assert not x.status().void
