"""A run taken up again from counts, memories and results: the same run, with nothing solved twice; arms withdrawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from worlds import bounds_of, random_world

import convexdesign as cd

I = cd.identification  # noqa: E741
BEST, LEVEL = random_world("best-arm", seed=4), random_world("level-set", seed=2)


def makers(world):
    common = (world.arms, world.items, world.objective)
    bounds = bounds_of(world)
    return {
        "rage": lambda: I.Rage(*common, variance_bounds=bounds),
        "hrage": lambda: I.HRage(*common, variance_bounds=bounds),
        "known": lambda: I.HRage(*common, known_variances=world.noise_variance),
        "adaptive": lambda: I.HRage(*common, burn_in="adaptive"),
        "static": lambda: I.StaticAllocation(*common, variance_bounds=bounds, design="g"),
        "oracle": lambda: I.OracleAllocation(*common, theta=world.theta, noise_variance=world.noise_variance),
        "martingale": lambda: I.MartingaleElimination(*common),
    }


def never(*arguments, **options):
    raise AssertionError("a design was solved although it is in the record")


every = pytest.mark.parametrize("name", makers(BEST))
both = pytest.mark.parametrize("world", [BEST, LEVEL], ids=["best-arm", "level-set"])


def run(make, world, most=8):
    """Play up to `most` batches: the record (counts, memory as JSON, results), and the algorithm."""
    env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=1)
    algorithm, record = make(), []
    while not algorithm.done and len(record) < most:
        batch = algorithm.ask()
        record.append((batch.counts, json.dumps(algorithm.state_dict()), env.pull(batch.counts)))
        algorithm.tell(batch, record[-1][2])
    return record, algorithm


@every
@both
def test_a_resumed_run_is_the_same_run(name, world):
    make = makers(world)[name]
    record, original = run(make, world)
    again = make()
    again.set_design_solver(never)
    for counts, memory, observations in record:
        batch = again.load_state_dict(json.loads(memory), counts)
        assert again.ask() is batch
        again.tell(batch, observations)
    for a, b in zip(again.rounds, original.rounds, strict=True):
        assert a.theta.tolist() == b.theta.tolist()
        assert a.weights.tolist() == b.weights.tolist()
        assert (a.value, a.gap) == (b.value, b.gap) or np.isnan(a.value)
        assert a.survivors.tolist() == b.survivors.tolist()
    assert (again.samples, again.burn_in_samples) == (original.samples, original.burn_in_samples)
    if original._status is not None:
        assert again.result() == original.result()


@every
def test_counts_and_standing_are_those_recorded(name):
    """A record made elsewhere counts, even where this machine would have planned otherwise."""
    make = makers(BEST)[name]
    record, _ = run(make, BEST, most=1)
    counts, memory, _ = record[0]
    more = counts + 1
    remembered = json.loads(memory)
    remembered["undecided"] = remembered["undecided"][1:]
    again = make()
    again.set_design_solver(never)
    batch = again.load_state_dict(remembered, more)
    assert batch.counts.tolist() == more.tolist()
    assert again.partition.undecided.tolist() == remembered["undecided"]
    env = cd.simulation.LinearEnvironment(BEST.arms, BEST.theta, BEST.noise_variance, rng=0)
    again.tell(batch, env.pull(more))
    assert again.samples == more.sum()
    with pytest.raises(cd.InputError, match="one entry for each of"):
        again.load_state_dict(remembered, more[:-1])


def test_an_open_batch_is_told_before_another_is_resumed():
    algorithm = makers(BEST)["rage"]()
    batch = algorithm.ask()
    with pytest.raises(cd.InputError, match="batch 0 of Rage is open"):
        algorithm.load_state_dict(algorithm.state_dict(), batch.counts)
    with pytest.raises(cd.InputError, match="between batches"):
        algorithm.withdraw([0])


@every
@both
@pytest.mark.parametrize("after", [0, 1, 2])
def test_withdrawn_arms_are_never_pulled_again_and_the_answer_stays_right(name, world, after):
    """False alarm: delta for each of the runs, the seeds are fixed."""
    algorithm = makers(world)[name]()
    env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=3)
    told, gone = 0, []
    while not algorithm.done:
        batch = algorithm.ask()
        assert not batch.counts[gone].any()
        algorithm.tell(batch, env.pull(batch.counts))
        told += 1
        if told == after:
            gone = [int(np.argmax(batch.counts)), int(np.argmin(batch.counts))]
            algorithm.withdraw(gone)
    assert algorithm.result().answer == world.answer


def test_what_cannot_be_told_any_more_is_named():
    arms = np.eye(3)
    items = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    algorithm = I.Rage(arms, items, variance_bounds=(1, 1))
    algorithm.ask()
    algorithm = I.Rage(arms, items, variance_bounds=(1, 1))
    algorithm.withdraw([2])
    with pytest.raises(cd.UnidentifiableError, match=r"item 3 from item 0, along \(-1, 0, 1\); no design can"):
        algorithm.ask()
    level = I.Rage(arms, items, I.LevelSet(0.2), variance_bounds=(1, 1))
    level.withdraw([0])
    with pytest.raises(cd.UnidentifiableError, match=r"side of the threshold item 0 lies.*item 2 lies, along \(0.5"):
        level.ask()
    # What the items that are left need is enough.
    betting = I.MartingaleElimination(arms, items[:3])
    betting.withdraw([2])
    assert betting.ask().counts[2] == 0
    betting = I.MartingaleElimination(arms, items[:3])
    with pytest.raises(cd.InputError, match="no arm would be left"):
        betting.withdraw([0, 1, 2])


def test_items_that_share_what_is_hidden_can_still_be_told_apart():
    """The third coordinate is hidden, but it is the same for both items left in the race."""
    arms, items = np.eye(3), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    algorithm = I.Rage(arms, items, variance_bounds=(1, 1))
    algorithm.withdraw([2])
    assert algorithm.ask().counts[2] == 0
