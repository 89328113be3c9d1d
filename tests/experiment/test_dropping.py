"""Items that are dropped: the answer is about the others, as if they had never been there, and all data count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.experiment import Phase, check
from convexdesign.identification.evidence import Bets

I = cd.identification  # noqa: E741
NAMES = ["red", "green", "blue", "grey"]
MEANS = np.array([1.0, 0.7, 0.4, 0.0])
ARMS = pd.DataFrame(np.eye(4), index=NAMES)


def martingale(path, **options):
    return cd.Experiment.create(path, I.MartingaleElimination(ARMS, **options))


@pytest.fixture
def env():
    return cd.simulation.LinearEnvironment(np.eye(4), MEANS, noise_variance=1.0, rng=2)


def advance(x, env, rounds):
    told = []
    for _ in range(rounds):
        batch = x.ask()
        told.append(env.pull(batch.counts))
        x.tell(batch, told[-1])
    return told


def test_the_answer_is_the_best_of_the_others(path, env):
    with martingale(path) as x:
        advance(x, env, 2)
        spent = x.status().pulls_told
        state = x.drop_item([0], reason="legal said no")
        assert state.dropped == (0,)
        assert 0 not in state.survivors
        assert (state.pulls_told, state.pulls_set_aside) == (spent, 0)
        assert cd.simulation.simulate(x, env).answer == (1,)
        transcript = x.transcript()
    assert check(path).problems == ()
    with cd.Experiment.open(path) as again:
        assert again.transcript() == transcript
        assert again.result().answer == (1,)
        assert "legal said no" in again.to_html()


def test_it_is_as_if_the_item_had_never_been_there(path, env):
    """The same data, counts and leaders but those of the dropped item, given to an algorithm that never knew it."""
    with martingale(path) as x:
        told = advance(x, env, 3)
        x.drop_item([0])
        state, steps = x.status(), [s for s in x.transcript()["steps"] if "memory" in s]
    alone = I.MartingaleElimination(np.eye(4), np.eye(4)[1:])
    leader = None
    for step, observations in zip(steps, told):
        recorded = step["memory"]["leader"]
        leader = leader if recorded == 0 else None if recorded is None else recorded - 1
        memory = step["memory"] | {"undecided": [0, 1, 2], "leader": leader}
        alone.load_state_dict(memory, observations.count)
        alone.tell(alone.ask(), observations)
        estimates = np.eye(4)[1:] @ alone.rounds[-1].theta
        leader = int(np.argmax(estimates))
    alone.reconsider()
    assert state.survivors == tuple(alone.partition.undecided + 1)
    assert state.p_value == pytest.approx(alone.p_value, rel=1e-9)
    assert state.best_guess == (leader + 1,)


def test_items_that_lost_against_it_alone_are_in_again(path):
    env = cd.simulation.LinearEnvironment(np.eye(4), [3.0, 0.2, 0.1, 0.0], noise_variance=1.0, rng=2)
    with martingale(path) as x:
        while not x.done:
            advance(x, env, 1)
        assert x.result().answer == (0,)
        state = x.drop_item([0])
        assert state.phase is not Phase.DONE
        assert set(state.survivors) >= {1, 2}
        assert cd.simulation.simulate(x, env).answer[0] in (1, 2, 3)
        assert x.status().pulls_set_aside == 0


def test_an_open_batch_goes_on(path, env):
    with martingale(path) as x:
        advance(x, env, 1)
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts // 2), key="half")
        state = x.drop_item([3])
        assert (state.batch, state.told) == (batch.id, int((batch.counts // 2).sum()))
        x.tell(batch, env.pull(x.outstanding()), key="other half")
        assert cd.simulation.simulate(x, env).answer == (0,)


def test_what_a_drop_for_any_reason_leaves_of_the_promise(path, env):
    with martingale(path) as x:
        advance(x, env, 2)
        leaders = {step["memory"]["leader"] for step in x.transcript()["steps"]}
        idle = next(i for i in (3, 2, 1, 0) if i not in leaders)
        x.drop_item([idle])
        assert (
            "items were dropped whatever the rewards were (dropped for whatever reason: with probability at most 0.1)"
            in (x.status().guarantee)
        )
        led = next(i for i in leaders if i is not None)
        would = x.drop_item([led], dry_run=True)
        # Two of four items, one of which led: six pairs.
        assert "with probability at most 0.3)" in would.guarantee
        assert x.status().dropped == (idle,)


def test_level_sets_lose_the_item_and_nothing_of_the_promise(path, env):
    with martingale(path, objective=I.LevelSet(0.55)) as x:
        advance(x, env, 1)
        state = x.drop_item([0, 2])
        assert "items were dropped whatever the rewards were" in state.guarantee
        assert "whatever reason" not in state.guarantee
        assert cd.simulation.simulate(x, env).answer == (1,)
        assert x.status().below == (3,)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([4], "item 4 is unknown"),
        ([], "give the items"),
        ([1, 1], "named twice"),
        ([0.5], "must be indices"),
        ([0, 1, 2], "too few items"),
        ([3], "dropped already"),
    ],
)
def test_what_cannot_be_dropped(path, items, message):
    with martingale(path) as x:
        x.drop_item([3])
        before = x.digest()
        with pytest.raises(cd.InputError, match=message):
            x.drop_item(items)
        assert x.digest() == before


def test_rage_counts_the_rounds_that_rest_on_the_item(path):
    env = cd.simulation.LinearEnvironment(np.eye(4), [1.0, 0.65, 0.2, 0.6], noise_variance=1.0, rng=4)
    with cd.Experiment.create(path, I.Rage(ARMS, variance_bounds=(1.0, 1.0))) as x:
        advance(x, env, 1)
        assert x.status().survivors == (0, 1, 3)
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts // 2), key="half")
        before = x.digest()
        with pytest.raises(
            cd.InputError, match=r"were chosen by comparisons with what is dropped: that would set .* results"
        ):
            x.drop_item([0])
        assert x.digest() == before
        # An item that decided nothing costs nothing.
        assert x.drop_item([2], dry_run=True).pulls_set_aside == 0
        state = x.drop_item([0], set_aside=True)
        assert state.pulls_set_aside > 0
        assert "whatever reason" not in state.guarantee
        assert cd.simulation.simulate(x, env).answer == (1,)
    assert check(path).problems == ()


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("gone", ["item", "both"])
def test_the_arm_of_a_variant_that_is_dropped_is_not_measured_any_more(path, noise, gone):
    world = {"noise": noise} if noise == "bernoulli" else {"noise_variance": 0.2}
    env = cd.simulation.LinearEnvironment(np.eye(4), [0.6, 0.3, 0.2, 0.1], rng=2, **world)
    with martingale(path, noise=noise) as x:
        advance(x, env, 2)
        open_one = x.ask()
        with x.together():
            x.drop_item([0], reason="exposure")
            if gone == "both":
                x.withdraw([0])
        if gone == "item":
            x.tell(open_one, env.pull(open_one.counts))
        while not x.done:
            batch = x.ask()
            assert batch.counts[0] == 0
            assert batch.counts[1:].all()
            x.tell(batch, env.pull(batch.counts))
        assert x.result().answer == (1,)
        transcript, values = x.transcript(), x.confidence()
        assert np.all(values.low <= values.high)
    assert check(path).problems == check(path).differences == ()
    with cd.Experiment.open(path) as again:
        assert again.transcript() == transcript


def test_items_that_would_be_in_again_without_their_arm_are_named_before(path):
    env = cd.simulation.LinearEnvironment(np.eye(4), [3.0, 0.2, 0.1, 0.0], noise_variance=1.0, rng=2)
    with martingale(path) as x:
        while x.status().survivors != (0,) and 3 in x.status().survivors:
            advance(x, env, 1)
        if x.status().phase is Phase.DONE:
            x.join_item([[0.9, 0.0, 0.0, 0.0]], names=["less red"])
        x.withdraw([3])  # it has lost
        with pytest.raises(cd.UnidentifiableError, match=r"nothing was dropped, as then .* Drop item grey too"):
            x.drop_item([0])
        assert x.status().dropped == ()
        x.drop_item([0, 3])
        assert x.ask().counts[[0, 3]].tolist() == [0, 0]
        assert x.status().guarantee.count("with probability at most") == 2


def test_a_variant_that_is_gone_is_item_and_arm(path):
    """Separate arms: alone, the arm cannot go; with its item it can. Names in the message."""
    env = cd.simulation.LinearEnvironment(np.eye(4), MEANS, noise_variance=1.0, rng=2)
    with cd.Experiment.create(path, I.Rage(ARMS, variance_bounds=(1.0, 1.0))) as x:
        with pytest.raises(cd.UnidentifiableError, match=r"without arm green.* cannot tell item green from item red"):
            x.withdraw([1])
        with x.together():
            x.drop_item([1])
            x.withdraw([1])
        assert x.ask().counts[1] == 0
        assert cd.simulation.simulate(x, env).answer == (0,)


def test_dropping_by_the_rewards_costs_at_most_what_is_said():
    """Three items that tie; whichever of the two that never lead looks best is dropped. The bets that some item left is not
    the best reach 1/delta in at most (D + 1) delta of the runs; 40,000 runs of four rounds, at delta = 0.1."""
    rng, runs, delta = np.random.default_rng(3), 40_000, 0.1
    bets = [Bets(runs), Bets(runs)]  # that items 1 and 2 are not the best, item 0 leading
    for _ in range(4):
        means = rng.standard_normal((3, runs)) / np.sqrt(20.0)
        for k in (1, 2):
            bets[k - 1].add(means[0] - means[k], np.full(runs, 10.0))
    wealth = np.exp([b.best for b in bets])
    # The one with less wealth goes: the other, which is a best item, is lost as often as can be.
    lost = wealth.max(axis=0) >= 1.0 / delta
    assert 0 < lost.mean() <= 2.0 * delta
