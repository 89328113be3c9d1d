"""psi*, rho* and the bounds: reference values, the sandwich, and measured samples between lower and upper bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import bounds_of, play, random_world, run_many

import convexdesign as cd
from convexdesign.instances import experiment_1, experiment_2, soare

I = cd.identification  # noqa: E741


def arguments(world):
    return world.arms, world.items, world.theta, world.objective, world.noise_variance


@pytest.mark.parametrize(
    ("world", "psi", "rho"),
    [
        (soare(kappa=20.0), 266.91527, 20.0 * 24.170176),
        (experiment_1(), 30345.399, 135726.82),
        (experiment_2(), 11796.468, 45297.49),
    ],
    ids=["soare", "experiment 1", "experiment 2"],
)
def test_reference_values(world, psi, rho):
    c = I.complexity(*arguments(world))
    assert c.psi_star == pytest.approx(psi, rel=1e-6)
    assert c.rho_star == pytest.approx(rho, rel=1e-6)
    assert c.ratio == pytest.approx(psi / rho, rel=1e-6)
    assert I.psi_star(*arguments(world)) == c.psi_star
    assert I.rho_star(*arguments(world)) == c.rho_star
    assert I.lower_bound(*arguments(world), 0.05) == pytest.approx(2.0 * np.log(1.0 / 0.12) * psi, rel=1e-6)


@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["best-arm", "level-set"]), spread=st.floats(0.0, 6.0))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_psi_is_between_rho_over_kappa_and_rho(seed, kind, spread):
    world = random_world(kind, seed, least_gap=0.05)
    variance = np.exp(spread * np.random.default_rng(seed).uniform(size=world.arms.shape[0]))
    c = I.complexity(world.arms, world.items, world.theta, world.objective, variance)
    assert c.kappa == pytest.approx(variance.max() / variance.min())
    assert c.psi_bound <= c.psi_star <= c.psi_bound * (1 + 1e-6)
    assert (1.0 - 1e-6) / c.kappa <= c.ratio <= 1.0 + 1e-6


def test_equal_variances_make_psi_and_rho_equal_and_scale_both():
    world = random_world("level-set", 1)
    one = I.complexity(world.arms, None, world.theta, world.objective, 1.0)
    three = I.complexity(world.arms, None, world.theta, world.objective, 3.0)
    assert one.ratio == pytest.approx(1.0, abs=1e-6)
    assert three.psi_star == pytest.approx(3.0 * one.psi_star, rel=1e-6)


def test_lower_bound_is_nothing_where_guessing_is_good_enough():
    world = soare()
    assert I.lower_bound(*arguments(world), 0.5) == 0.0
    assert I.lower_bound(*arguments(world), 1 / 2.4) == 0.0
    assert I.lower_bound(*arguments(world), 0.01) > I.lower_bound(*arguments(world), 0.1) > 0.0
    with pytest.raises(cd.InputError, match="delta is 0"):
        I.lower_bound(*arguments(world), 0)


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_measured_samples_lie_between_the_bounds(kind):
    for seed in range(3):
        world = random_world(kind, seed, least_gap=0.1)
        values = world.items @ world.theta
        spread = np.ptp(values) if kind == "best-arm" else np.abs(values - world.objective.threshold).max()
        if spread > 2.0:
            continue
        upper = I.upper_bound(*arguments(world), 0.05)
        lower = I.lower_bound(*arguments(world), 0.05)
        runs = run_many(
            lambda w=world: I.HRage(w.arms, w.items, w.objective, known_variances=w.noise_variance), world, 5
        )
        assert lower < np.mean([r.samples for r in runs])
        assert max(r.samples for r in runs) <= upper


def test_upper_bound_has_the_theorems_constants():
    world = soare(omega=0.5)
    psi, gap = I.psi_star(*arguments(world)), 1.0 - np.cos(0.5)
    rounds = np.ceil(np.log2(4.0 / gap))
    confidence = np.log(8.0 * rounds**2 * 3 / 0.05)
    expected = 1000 + rounds * 4 + 384.0 * rounds * confidence * psi
    assert I.upper_bound(*arguments(world), 0.05, burn_in=1000) == pytest.approx(expected)
    level = soare(omega=0.5, objective="level-set")
    gap = 0.9 - np.cos(0.5)
    rounds = np.ceil(np.log2(4.0 / gap))
    confidence = np.log(8.0 * rounds**2 * 3 / 0.05)
    expected = rounds * 4 + 96.0 * rounds * confidence * I.psi_star(*arguments(level))
    assert I.upper_bound(*arguments(level), 0.05) == pytest.approx(expected)


def test_upper_bound_refuses_gaps_the_theorem_does_not_cover():
    with pytest.raises(cd.InputError, match="gap 5; Theorem 2 covers"):
        I.upper_bound(np.eye(2), None, [5.0, 0.0], I.BestArm(), 1.0, 0.05)
    with pytest.raises(cd.InputError, match="nothing to identify"):
        I.psi_star(np.eye(2), [[1.0, 0.0], [1.0, 0.0]], [1.0, 0.0], I.BestArm(), 1.0)
    with pytest.raises(cd.InputError, match="noise_variance is None"):
        I.psi_star(np.eye(2), None, [1.0, 0.0], I.BestArm(), None)


@pytest.mark.parametrize("heteroskedastic", [True, False])
@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_oracles_pull_as_often_as_their_formula_says(kind, heteroskedastic):
    world = random_world(kind, 2)
    algorithm = I.OracleAllocation(
        world.arms,
        world.items,
        world.objective,
        0.1,
        theta=world.theta,
        noise_variance=world.noise_variance,
        heteroskedastic=heteroskedastic,
    )
    c = I.complexity(*arguments(world))
    pulls = 2.0 * (c.psi_star if heteroskedastic else c.rho_star) * np.log(2.0 * world.items.shape[0] / 0.1)
    result = play(algorithm, world, 0)
    assert pulls * (1 - 1e-3) <= result.samples <= pulls * (1 + 1e-3) + 8
    assert (result.rounds, result.burn_in_samples) == (1, 0)
    assert bounds_of(world)[1] * c.kappa > 0


@given(delta=st.floats(1e-9, 0.49))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_three_events_tell_more_than_two(delta):
    """2 (1 - delta) log((1 - delta)/delta) psi*, above 2 log(1/(2.4 delta)) psi* wherever that is positive."""
    world = cd.instances.soare()
    truth = (world.arms, None, world.theta, I.BestArm(), world.noise_variance)
    psi = I.psi_star(*truth)
    sharp = I.sharp_lower_bound(*truth, delta)
    assert sharp == pytest.approx(2.0 * (1.0 - delta) * np.log((1.0 - delta) / delta) * psi, rel=1e-5)
    assert sharp > I.lower_bound(*truth, delta)
    # The least divergence between laws of three events: q is at most delta on two of them, p at least 1 - delta on the first.
    p = 1.0 - delta
    least = p * np.log(p / delta) + delta * np.log(delta / delta)
    for more in np.linspace(p, 1.0 - 1e-12, 7):
        other = 1.0 - more
        assert more * np.log(more / delta) + other * np.log(other / delta) >= least - 1e-12
    assert sharp == pytest.approx(2.0 * least * psi, rel=1e-5)


def test_no_bound_where_guessing_is_as_good():
    world = cd.instances.soare()
    for delta in (0.5, 0.9):
        assert I.sharp_lower_bound(world.arms, None, world.theta, I.BestArm(), world.noise_variance, delta) == 0.0
