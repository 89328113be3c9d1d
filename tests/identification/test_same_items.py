"""Items equal up to rounding are one item, for every algorithm; plans that cannot be counted are never asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import bounds_of, play, random_world

import convexdesign as cd
from convexdesign.identification.identifier import MOST_SAMPLES
from convexdesign.identification.martingale_plan import _whole
from convexdesign.identification.objectives import true_answer
from convexdesign.problem.same_items import SAME, nearly_zero, same_items

I = cd.identification  # noqa: E741


def algorithms(world, items, **options):
    bounds, arms, objective = bounds_of(world), world.arms, world.objective
    known = {"known_variances": world.noise_variance}
    truth = {"theta": world.theta, "noise_variance": world.noise_variance}
    return {
        "rage": lambda: I.Rage(arms, items, objective, variance_bounds=bounds, **options),
        "known": lambda: I.HRage(arms, items, objective, **known, **options),
        "adaptive": lambda: I.HRage(arms, items, objective, burn_in="adaptive", **options),
        "static": lambda: I.StaticAllocation(arms, items, objective, **known, **options),
        "oracle": lambda: I.OracleAllocation(arms, items, objective, **truth, **options),
        "martingale": lambda: I.MartingaleElimination(arms, items, objective, variance_bounds=bounds, **options),
    }


NAMES = tuple(algorithms(random_world("best-arm", 0), None))


def copies_of(items, rng):
    """The items, each followed by itself computed in other ways: a few units in the last place away, in every entry."""
    largest = np.abs(items).max(axis=0)
    out, origin = [], []
    for k, item in enumerate(items):
        for copy in range(int(rng.integers(1, 4))):
            out.append(item + copy * rng.uniform(-4.0, 4.0, item.size) * np.finfo(float).eps * largest)
            origin.append(k)
    return np.array(out), np.array(origin)


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("name", NAMES)
def test_copies_are_answered_with_the_item_that_they_are(kind, epsilon, name):
    """The same rewards would decide the same: with and without copies the answer is right, and copies go together."""
    for seed in range(3):
        world = random_world(kind, seed)
        items, origin = copies_of(world.items, np.random.default_rng(seed))
        algorithm = algorithms(world, items, epsilon=epsilon, max_samples=10**9)[name]()
        with_copies = cd.instances.Instance(
            world.arms, items, world.theta, world.Sigma, world.noise_variance, world.objective
        )
        result = play(algorithm, with_copies, seed)
        assert result.status.name in ("IDENTIFIED", "EPSILON_GOOD")
        answered = set(origin[list(result.answer)])
        assert result.answer == tuple(np.flatnonzero(np.isin(origin, list(answered))))
        if epsilon == 0:
            assert result.answer == true_answer(world.objective, items, world.theta)
            assert answered == set(true_answer(world.objective, world.items, world.theta))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "oracle"])
def test_two_ways_to_write_one_item_are_answered_without_a_pull(name):
    rng = np.random.default_rng(3)
    world = random_world("best-arm", 1)
    for _ in range(6):
        item = rng.standard_normal(world.arms.shape[1])
        other = item.copy()
        other[0] = np.nextafter(item[0], -np.inf)
        algorithm = algorithms(world, np.array([item, other]))[name]()
        assert algorithm.done
        result = algorithm.result()
        assert (result.answer, result.status.name, result.samples) == ((0, 1), "IDENTIFIED", 0)


@pytest.mark.parametrize("name", ["rage", "static", "martingale", "known"])
@pytest.mark.parametrize("distance", [1e-11, 1e-9])
def test_items_that_cannot_be_told_apart_end_undecided_and_nothing_else_is_asked(name, distance):
    """Different items with almost the same value: batches grow until they cannot be counted, and are whole to the end."""
    arms = np.eye(2)
    items = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    world = cd.instances.Instance(arms, items, np.array([1.0, 1.0 - distance]), np.eye(2), np.ones(2), I.BestArm())
    algorithm = algorithms(world, items)[name]()
    env = cd.simulation.LinearEnvironment(arms, world.theta, world.noise_variance, rng=0)
    asked = 0
    while not algorithm.done:
        batch = algorithm.ask()
        assert batch.counts.dtype == np.int64
        assert batch.counts.min() >= 0
        asked += sum(batch.counts.tolist())
        assert asked <= MOST_SAMPLES
        algorithm.tell(batch, env.pull(batch.counts))
    result = algorithm.result()
    assert (result.status.name, result.survivors, result.answer) == ("UNDECIDED", (0, 1), ())


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.integers(1, 30), st.floats(0.0, 19.0), st.floats(0.0, 18.6), st.integers(0, 2**32))
def test_whole_pulls_are_never_negative_nor_more_than_are_left(n, total, left, seed):
    weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.3))
    limit = min(int(10**left), MOST_SAMPLES)
    counts = _whole(weights, 10.0**total, limit)
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    assert sum(counts.tolist()) <= limit


# ------------------------------------------------------------------ which items are equal


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([1e-100, 1e-6, 1.0, 1e9]))
def test_equal_items_are_those_that_exact_arithmetic_finds(m, d, seed, unit):
    rng = np.random.default_rng(seed)
    items = rng.integers(-2, 3, (m, d)) * np.exp(rng.uniform(-3, 3, d)) * unit
    items = items * (1.0 + rng.choice([0.0, 2e-16, 1e-12, -3e-15], (m, d)))
    largest = [max((abs(Fraction(float(v))) for v in column), default=Fraction(0)) for column in items.T]
    near = [
        [
            all(
                abs(Fraction(float(a)) - Fraction(float(b))) <= Fraction(SAME) * big for a, b, big in zip(x, y, largest)
            )
            for y in items
        ]
        for x in items
    ]
    closed = np.linalg.matrix_power(np.array(near, dtype=float), m) > 0  # through others in between
    group = same_items(items)
    assert np.array_equal(group[:, None] == group[None, :], closed)
    zero = [all(abs(Fraction(float(v))) <= Fraction(SAME) * big for v, big in zip(x, largest)) for x in items]
    assert np.array_equal(nearly_zero(items), zero)
    # In other units of every coordinate they are the same.
    assert np.array_equal(same_items(items * 2.0 ** rng.integers(-20, 20, d)), group)


def test_a_hundred_thousand_items_with_copies():
    rng = np.random.default_rng(0)
    items = np.repeat(rng.standard_normal((50_000, 6)), 2, axis=0)
    items[1::2] *= 1.0 + 1e-15
    group = same_items(items)
    assert np.array_equal(group[::2], group[1::2])
    assert np.unique(group).size == 50_000


# ------------------------------------------------------------------ how often warnings may be wrong


@pytest.mark.parametrize("name", ["sharp", "adaptive", "sub-gaussian", "known", "rage", "martingale"])
def test_all_tests_behind_warnings_share_one_in_a_million(name, monkeypatch):
    """The probabilities that any of them errs, in all batches there might be, add up to the level that is stated."""
    from convexdesign.identification import assumption_checks, hrage

    batches, lines, burn_ins = [], [], []
    contradicted, too_far = assumption_checks.contradicted_arms, assumption_checks.too_far_from_any_line
    of = hrage.IntervalBound.of

    def arms_with(observations, low, high, level):
        batches.append(level)
        return contradicted(observations, low, high, level)

    def line_with(arms, everything, high, level, theta=None):
        lines.append(level)
        return too_far(arms, everything, high, level, theta)

    def bound_with(plan, first, second, delta, noise):
        if delta < 1e-3:
            burn_ins.append(delta)
        return of(plan, first, second, delta, noise)

    monkeypatch.setattr(assumption_checks, "contradicted_arms", arms_with)
    monkeypatch.setattr(assumption_checks, "too_far_from_any_line", line_with)
    monkeypatch.setattr(hrage.IntervalBound, "of", bound_with)
    world = random_world("best-arm", 3)
    bounds = {"variance_bounds": bounds_of(world)}
    make = {
        "sharp": lambda: I.HRage(world.arms, world.items, **bounds),
        "adaptive": lambda: I.HRage(world.arms, world.items, burn_in="adaptive"),
        "sub-gaussian": lambda: I.HRage(world.arms, world.items, noise="sub-gaussian", **bounds),
        "known": lambda: I.HRage(world.arms, world.items, known_variances=world.noise_variance),
        "rage": lambda: I.Rage(world.arms, world.items, **bounds),
        "martingale": lambda: I.MartingaleElimination(world.arms, world.items, **bounds),
    }[name]
    algorithm = make()
    play(algorithm, world, 0)
    assert batches
    # A burn-in that might have ended at any phase p has 1/(p(p + 1)) of its level at each.
    p = len(algorithm.estimator.phases) if name == "adaptive" else 0
    spent = sum(burn_ins) * (p * (p + 1) if p else 1)
    assert sum(batches) + max(lines, default=0.0) + spent <= 1e-6 * (1 + 1e-12)
    assert bool(burn_ins) == (name in ("sharp", "adaptive", "sub-gaussian"))
