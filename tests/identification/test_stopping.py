"""Ties, limits and epsilon: every ending is honest about what it knows."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import bounds_of, play, random_world

import convexdesign as cd

I = cd.identification  # noqa: E741
STATUS = I.AnswerStatus


def algorithms(world, **options):
    """One of each algorithm that ends by itself, on this world."""
    low, high = bounds_of(world)
    arms, items, objective = world.arms, world.items, world.objective
    return {
        "rage": I.Rage(arms, items, objective, variance_bounds=(low, high), **options),
        "known": I.HRage(arms, items, objective, known_variances=world.noise_variance, **options),
        "adaptive": I.HRage(arms, items, objective, variance_bounds=(low, high), burn_in="adaptive", **options),
        "static": I.StaticAllocation(arms, items, objective, known_variances=world.noise_variance, **options),
        "martingale": I.MartingaleElimination(arms, items, objective, variance_bounds=(low, high), **options),
    }


NAMES = tuple(algorithms(random_world("best-arm", 0)))


def tied_world(kind):
    """Two different items with exactly the same value, or one exactly on the threshold; the others are far away."""
    arms = np.eye(3)
    items = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    theta = np.array([1.0, 1.0, -1.0]) if kind == "best-arm" else np.array([1.5, 0.5, -1.0])
    objective = I.BestArm() if kind == "best-arm" else I.LevelSet(0.5)
    return cd.instances.Instance(arms, items, theta, np.eye(3), np.ones(3), objective)


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
@pytest.mark.parametrize("name", NAMES)
def test_a_tie_ends_undecided_at_max_samples(kind, name):
    world = tied_world(kind)
    result = play(algorithms(world, max_samples=60_000)[name], world, 0)
    assert result.status is STATUS.UNDECIDED
    assert result.answer == ()
    assert result.samples <= 60_000
    # Item 2 is far away and gone; the tied ones are what is left.
    assert set(result.survivors) == ({0, 1} if kind == "best-arm" else {1})
    if kind == "level-set":
        assert (result.above, result.below) == ((0,), (2,))


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
@pytest.mark.parametrize("name", NAMES)
def test_a_tie_ends_epsilon_good(kind, name):
    world = tied_world(kind)
    result = play(algorithms(world, epsilon=0.2)[name], world, 1)
    assert result.status is STATUS.EPSILON_GOOD
    assert result.epsilon == 0.2
    if kind == "best-arm":
        assert result.answer in ((0,), (1,))
    else:
        assert result.answer in ((0,), (0, 1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_max_samples_is_never_exceeded(kind, name):
    world = random_world(kind, seed=5)
    for limit in (1, 100, 3_000, 20_000):
        result = play(algorithms(world, max_samples=limit)[name], world, 2)
        assert result.samples <= limit
        assert (result.answer == ()) == (result.status is STATUS.UNDECIDED)
        if result.status is STATUS.IDENTIFIED:
            assert result.answer == world.answer


@pytest.mark.parametrize("name", NAMES)
def test_without_a_limit_a_tie_still_ends_before_counts_overflow(name):
    world = tied_world("best-arm")
    result = play(algorithms(world)[name], world, 0)
    assert result.status is STATUS.UNDECIDED
    assert result.survivors == (0, 1)


@pytest.mark.parametrize("name", NAMES)
def test_copies_of_the_best_item_are_all_the_answer(name):
    world = random_world("best-arm", seed=7)
    best = world.answer[0]
    items = np.vstack([world.items, world.items[best], world.items[(best + 1) % 6]])
    doubled = cd.instances.Instance(world.arms, items, world.theta, world.Sigma, world.noise_variance, world.objective)
    result = play(algorithms(doubled)[name], doubled, 0)
    assert result.status is STATUS.IDENTIFIED
    assert result.answer == (best, 6) == doubled.answer


def test_nothing_to_find_takes_no_samples():
    arms = [[1.0, 0.0], [0.0, 1.0]]
    one = I.Rage(arms, [[1.0, 2.0]], variance_bounds=(1, 2))
    assert one.done
    assert one.result().answer == (0,)
    assert one.result().samples == 0
    equal = I.HRage(arms, [[1.0, 2.0], [1.0, 2.0]], variance_bounds=(1, 2))
    assert equal.result().answer == (0, 1)
    zero = I.MartingaleElimination(arms, [[0.0, 0.0]], I.LevelSet(-1.0))
    assert zero.result().answer == (0,)
    assert I.Rage(arms, [[0.0, 0.0]], I.LevelSet(0.0), variance_bounds=(1, 2)).result().answer == ()
    with pytest.raises(cd.InputError, match="is done"):
        one.ask()


def test_a_zero_item_is_placed_without_measuring_it():
    arms, items = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]
    world = cd.instances.Instance(
        np.array(arms), np.array(items), np.array([1.0, 0.0]), np.eye(2), np.ones(2), I.LevelSet(-0.5)
    )
    for algorithm in algorithms(world).values():
        assert play(algorithm, world, 0).answer == (0, 1)


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_epsilon_good_answers_are_epsilon_good(kind):
    """8 worlds x 5 algorithms at delta = .05: P(Bin(40, .05) > 6) < 0.4 %, and the algorithms err far less often."""
    epsilon, wrong = 0.5, 0
    for seed in range(8):
        world = random_world(kind, seed=100 + seed, least_gap=0.01)
        values = world.items @ world.theta
        for algorithm in algorithms(world, epsilon=epsilon).values():
            result = play(algorithm, world, seed)
            assert result.status in (STATUS.IDENTIFIED, STATUS.EPSILON_GOOD)
            chosen = np.isin(np.arange(values.size), result.answer)
            if kind == "best-arm":
                wrong += bool(values.max() - values[chosen].min() > epsilon)
            else:
                threshold = world.objective.threshold
                too_low = np.any(values[chosen] <= threshold - epsilon)
                wrong += bool(too_low or np.any(values[~chosen] >= threshold + epsilon))
    assert wrong <= 6


def test_oracle_with_epsilon_does_not_tell_close_items_apart():
    world = tied_world("best-arm")
    options = {"theta": world.theta, "noise_variance": world.noise_variance}
    with pytest.raises(cd.InputError, match="tie"):
        I.OracleAllocation(world.arms, world.items, world.objective, **options)
    algorithm = I.OracleAllocation(world.arms, world.items, world.objective, epsilon=0.1, **options)
    result = play(algorithm, world, 0)
    assert result.status is STATUS.EPSILON_GOOD
    assert result.answer in ((0,), (1,))
    everything = I.OracleAllocation(world.arms, world.items, world.objective, epsilon=5.0, **options)
    assert play(everything, world, 0).samples == 3
