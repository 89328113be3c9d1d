"""Corrections that keep the data, corrections that cost some and say so first, and corrections taken back."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.experiment import Phase, check
from convexdesign.identification.evidence import Bets

I = cd.identification  # noqa: E741
ARMS = np.eye(4)
MEANS = np.array([1.0, 0.7, 0.4, 0.0])


def martingale(path, **options):
    return cd.Experiment.create(path, I.MartingaleElimination(ARMS, **options))


@pytest.fixture
def env():
    return cd.simulation.LinearEnvironment(ARMS, MEANS, noise_variance=1.0, rng=11)


def advance(x, env, rounds):
    told = []
    for _ in range(rounds):
        batch = x.ask()
        told.append(env.pull(batch.counts))
        x.tell(batch, told[-1])
    return told


def shifted(observations, arm, by):
    mean = observations.mean.copy()
    mean[arm] += by
    return Observations(observations.count, mean, observations.m2)


def recomputed(x, told):
    """An algorithm told the corrected results, with the counts and leaders of the log, that decides by them alone."""
    algorithm = I.MartingaleElimination(ARMS)
    steps = [step for step in x.transcript()["steps"] if "memory" in step]
    for step, observations in zip(steps, told):
        algorithm.load_state_dict(step["memory"], observations.count)
        algorithm.tell(algorithm.ask(), observations)
    algorithm.reconsider()
    return algorithm


def test_later_rounds_stay_and_count_with_the_corrected_one(path, env):
    with martingale(path) as x:
        told = advance(x, env, 4)
        before = x.status()
        right = shifted(told[0], 2, 0.25)
        state = x.amend("batch-0", observations=right, reason="offset of the scale")
        assert (state.pulls_set_aside, state.pulls_told, state.rounds) == (0, before.pulls_told, 4)
        assert state.amendments == 1
        assert "amended whatever answer it leads to" in state.guarantee
        again = recomputed(x, [right, *told[1:]])
        assert state.p_value == again.p_value
        assert set(state.survivors) == set(again.partition.undecided.tolist())
        assert x.confidence().mean == pytest.approx(
            sum(o.count * o.mean for o in (right, *told[1:])) / sum(o.count for o in told)
        )
        transcript = x.transcript()
    assert check(path).problems == ()
    with cd.Experiment.open(path) as x:
        assert x.transcript() == transcript
        assert x.status() == state
        assert cd.simulation.simulate(x, env).answer == (0,)
    assert check(path).problems == ()


def test_an_item_that_wrong_results_dropped_comes_back(path, env):
    """A mistyped sign drops the best item; corrected, it is in again, and wins, and what was measured since counts."""
    with martingale(path) as x:
        right = []
        while 0 in x.status().survivors:
            batch = x.ask()
            right.append(env.pull(batch.counts))
            x.tell(batch, shifted(right[-1], 0, -6.0))
        if not x.done:
            advance(x, env, 1)
        spent = x.status().pulls_told
        with x.together():
            for number, observations in enumerate(right):
                x.amend(f"batch-{number}", observations=observations, reason="sign")
        state = x.status()
        assert 0 in state.survivors
        assert state.pulls_told == spent
        assert cd.simulation.simulate(x, env).answer == (0,)
        assert x.status().pulls_set_aside == 0
    assert check(path).problems == ()


def test_an_answer_given_is_reconsidered(path, env):
    with martingale(path) as x:
        told = []
        while not x.done:
            told += advance(x, env, 1)
        assert x.result().answer == (0,)
        found = x.transcript()
        state = x.amend("batch-0", observations=shifted(told[0], 0, -40.0))
        assert state.phase is Phase.READY
        assert x.status().pulls_set_aside == 0
        # And the answer is there again once the correction is taken back, even after another one.
        x.amend("batch-0", observations=shifted(told[0], 0, -30.0))
        x.take_back("batch-0", reason="-40 was right")
        assert x.results()[0][4] == told[0].mean[0] - 40.0
        advance(x, env, 1)
        x.take_back("batch-0", reason="so was the first")
        state = x.status()
        assert (state.amendments, state.taken_back) == (0, 2)
        assert x.results()[0][4] == told[0].mean[0]
        assert x.done
        assert x.result().answer == (0,)
        assert x.transcript()["steps"][: len(found["steps"])] == found["steps"]
        with pytest.raises(cd.InputError, match="no amendment of"):
            x.take_back("batch-0")


def test_single_rewards_are_corrected_and_may_be_of_another_arm(path, env):
    with martingale(path) as x:
        batch = x.ask()
        x.tell(batch, arms=[0, 1], rewards=[1.0, 2.0], keys=["a", "b"])
        x.tell(batch, env.pull(batch.counts - [1, 1, 0, 0]), key="rest")
        advance(x, env, 2)
        x.amend("a", reward=1.5)
        x.amend("b", arm=2, reward=2.0, reason="the label was wrong")
        first = x.transcript()["steps"][0]
        assert first["folded"]["count"] == (batch.counts + [0, -1, 1, 0]).tolist()
        assert x.status().rounds == 3
        assert cd.simulation.simulate(x, env).answer == (0,)
    assert check(path).problems == ()


def test_the_same_bits_whichever_process_follows(path, env):
    """A process that saw everything, and one that reads the log at the end, know the same, to the last bit."""
    env = cd.simulation.LinearEnvironment(ARMS, 0.1 * MEANS, noise_variance=1.0, rng=11)
    with martingale(path) as x, cd.Experiment.open(path) as other:
        told = advance(x, env, 3)
        other.status()
        x.amend("batch-1", observations=shifted(told[1], 1, 0.5))
        advance(x, env, 1)
        state = x.status()
        assert other.status() == state
        assert other.ask().counts.tolist() == x.ask().counts.tolist()
        with cd.Experiment.open(path, read_only=True) as fresh:
            assert fresh.status() == x.status()
            assert fresh.to_frame().equals(x.to_frame())


def test_level_sets_are_reconsidered_too(path):
    env = cd.simulation.LinearEnvironment(ARMS, MEANS, noise_variance=1.0, rng=3)
    with cd.Experiment.create(path, I.MartingaleElimination(ARMS, objective=I.LevelSet(0.55))) as x:
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts))
        right = []
        for _ in range(2):  # the first of them turns the side on which is bet, the second is bet on
            batch = x.ask()
            right.append(env.pull(batch.counts))
            x.tell(batch, shifted(right[-1], 3, 30.0))
        assert 3 in x.status().above
        for k, observations in enumerate(right, 1):
            state = x.amend(f"batch-{k}", observations=observations)
        assert 3 not in state.above
        assert cd.simulation.simulate(x, env).answer == (0, 1)


# ------------------------------------------------------------------ the promise


def test_rounds_chosen_by_wrong_results_keep_the_bets_fair():
    """Two arms that tie; mistakes that exaggerate whatever was seen choose counts and leaders of five rounds. The bets that
    item 1 is not the best, on the true results, have a mean wealth of at most one; on the wrong ones it is far above."""
    rng, runs = np.random.default_rng(8), 40_000
    true, wrong = Bets(runs), Bets(runs)
    believed = np.zeros(runs)  # the sum of wrong differences, item 0 less item 1
    for _ in range(5):
        leads = believed > 0  # item 0: bets are made in the direction item 0 less item 1
        counts = np.where(leads, 40, 10), np.where(leads, 5, 30)
        variance = 1.0 / counts[0] + 1.0 / counts[1]
        seen = rng.standard_normal(runs) * np.sqrt(variance)
        mistaken = seen + 0.3 * np.sign(seen)
        precision = np.where(leads, 1.0 / variance, 0.0)
        true.add(seen, precision)
        wrong.add(mistaken, precision)
        believed = believed + mistaken
    fair, unfair = np.exp(true.log_wealth()), np.exp(wrong.log_wealth())
    assert fair.mean() <= 1.0 + 4.0 * fair.std() / np.sqrt(runs)
    assert fair.max() > 20.0  # some are rich
    assert unfair.mean() > 1.2


# ------------------------------------------------------------------ where data must go, it is counted first


@pytest.fixture
def rounds(x, env):
    """RAGE after two rounds and a part of the third; what was told."""
    world = cd.instances.soare(kappa=2.0)
    env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=5)
    told = advance(x, env, 2)
    batch = x.ask()
    x.tell(batch, env.pull(batch.counts // 2), key="half")
    return env, told


def test_rage_counts_what_would_be_set_aside_before_the_act(x, rounds):
    _, told = rounds
    half = x.status().told
    lost, everything = told[1].total + half, told[0].total + told[1].total + half
    before = x.digest()
    with pytest.raises(cd.InputError, match=f"would set {lost:,} of {everything:,} results aside"):
        x.amend("batch-0", observations=shifted(told[0], 0, 1.0))
    assert x.digest() == before


def test_a_dry_run_says_how_it_would_stand_and_writes_nothing(x, path, rounds):
    _, told = rounds
    before, bytes_before, state = x.digest(), path.read_bytes(), x.status()
    would = x.amend("batch-0", observations=shifted(told[0], 0, 1.0), set_aside=True, dry_run=True)
    assert would.pulls_set_aside == told[1].total + state.told
    assert would.amendments == 1
    assert (x.digest(), path.read_bytes(), x.status()) == (before, bytes_before, state)
    with x.together(), pytest.raises(cd.InputError, match="dry run"):
        x.amend("batch-0", observations=shifted(told[0], 0, 1.0), set_aside=True, dry_run=True)
    assert x.digest() == before


def test_an_amendment_is_taken_back_and_everything_counts_again(x, path, rounds):
    env, told = rounds
    before, state, frame = x.transcript(), x.status(), x.to_frame()
    x.amend("batch-0", observations=shifted(told[0], 0, 1.0), set_aside=True)
    assert x.status().pulls_set_aside > 0
    assert x.to_frame().equals(frame.iloc[:1])  # as it was completed; what was set aside is no round
    x.note("that was the wrong file")
    back = x.take_back("batch-0", reason="the first was right")
    assert back.pulls_set_aside == 0
    assert (back.told, back.outstanding, back.survivors) == (state.told, state.outstanding, state.survivors)
    assert x.transcript() == before
    assert x.to_frame().equals(frame)
    assert (back.amendments, back.taken_back) == (0, 1)
    assert "amended and taken back was so whatever" in back.guarantee  # it was looked at
    assert "was amended whatever" not in back.guarantee
    assert check(path).problems == ()
    with cd.Experiment.open(path) as again:
        assert again.transcript() == before
        again.tell(2, env.pull(again.outstanding()), key="other half")
        assert cd.simulation.simulate(again, env).answer == (0,)
    assert check(path).problems == ()


def test_several_amendments_are_taken_back_the_last_first(x, rounds):
    env, _ = rounds
    batch = x.ask()
    x.tell(batch, arms=[0, 1], rewards=[1.0, 2.0], keys=["a", "b"])
    before = x.transcript()
    with x.together():
        x.amend("a", reward=5.0)
        x.amend("b", reward=6.0)
    with pytest.raises(cd.InputError, match="'b' was amended after 'a'"):
        x.take_back("a")
    with x.together():
        x.take_back("b")
        x.take_back("a")
    assert x.transcript() == before
    for key in ("a", "half", "nothing"):
        with pytest.raises(cd.InputError, match="no amendment of"):
            x.take_back(key)
    x.amend("a", reward=7.0)
    x.tell(batch, env.pull(x.outstanding()), key="rest")
    with pytest.raises(cd.InputError, match="that nothing rests on"):
        x.take_back("a")


def test_an_answer_that_an_amendment_took_away_comes_back(x, env):
    world = cd.instances.soare(kappa=2.0)
    env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=5)
    told = []
    while not x.done:
        told += advance(x, env, 1)
    found = x.result()
    x.amend("batch-0", observations=shifted(told[0], 0, 0.5), set_aside=True)
    assert x.status().phase is not Phase.DONE
    assert x.take_back("batch-0").phase is Phase.DONE
    assert x.result() == found
