"""Burn-in budgets against the recorded numbers, and the adaptive one against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import bounds_of, play, random_world

import convexdesign as cd
from convexdesign.estimation import plan_head
from convexdesign.estimation.error_bound import sharp_error_bound
from convexdesign.estimation.variance_intervals import IntervalBound
from convexdesign.identification.burn_in import AdaptiveBurnIn, burn_in_budget
from convexdesign.instances import experiment_1, experiment_2, multivariate_testing

I = cd.identification  # noqa: E741
EXPERIMENTS = (experiment_1, experiment_2, multivariate_testing)


@pytest.mark.parametrize(("make", "expected"), list(zip(EXPERIMENTS, (104_697, 44_497, 32_738))))
def test_sharp_budget_of_the_experiments(make, expected):
    """The budgets of an independent computation; both are found to a relative 1e-3, from G-designs to 1e-4."""
    world = make()
    budget = burn_in_budget("sharp", plan_head(world.arms), bounds_of(world), 0.05)
    assert budget == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("make", "expected"), [(experiment_2, 2_519_886), (multivariate_testing, 6_402_253)])
def test_released_budget_is_the_recorded_one(make, expected):
    world = make()
    assert burn_in_budget("released", plan_head(world.arms), bounds_of(world), 0.05) == expected


def test_paper_budget_covers_its_formula_after_rounding():
    world = experiment_2()
    plan = plan_head(world.arms)
    budget = burn_in_budget("paper", plan, (0.2, 1.0), 0.05)
    gamma = 8000.0 * np.log(6 / 0.05) * 25.0 * 9.0
    for counts, weights in zip(plan.counts(budget), (plan.weights_1, plan.weights_2)):
        assert np.all(counts >= gamma / 2.0 * weights - 1.0)
    assert gamma <= budget <= gamma + 20


@pytest.mark.parametrize("make", EXPERIMENTS)
def test_sharp_budget_is_enough_and_hardly_more(make):
    world, delta = make(), 0.05
    low, high = bounds_of(world)
    plan = plan_head(world.arms)
    budget = burn_in_budget("sharp", plan, (low, high), delta)

    def error(total):
        return sharp_error_bound(world.arms, *plan.counts(total), (low, high), delta / 2.0).max()

    assert error(budget) <= low / 2.0
    assert error(int(0.99 * budget)) > low / 2.0


def test_budgets_depend_on_kappa_alone_and_grow_with_confidence():
    plan = plan_head(experiment_2().arms)
    for kind in ("sharp", "paper", "released"):
        assert burn_in_budget(kind, plan, (0.2, 1.0), 0.05) == burn_in_budget(kind, plan, (20.0, 100.0), 0.05)
        assert burn_in_budget(kind, plan, (0.2, 1.0), 0.01) > burn_in_budget(kind, plan, (0.2, 1.0), 0.05)
    gaussian = burn_in_budget("sharp", plan, (0.2, 1.0), 0.05)
    assert gaussian < burn_in_budget("sharp", plan, (0.2, 1.0), 0.05, "sub-gaussian") < 1.6 * gaussian


@given(seed=st.integers(0, 10_000), budget=st.integers(60, 5_000), scale=st.floats(0.01, 100.0))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_interval_bound_is_the_sharp_bound_at_equal_variances(seed, budget, scale):
    arms = np.random.default_rng(seed).standard_normal((7, 3))
    plan = plan_head(arms)
    stages = plan.counts(budget)
    for noise in ("gaussian", "sub-gaussian"):
        bound = IntervalBound.of(plan, *stages, 0.1, noise)
        equal = np.full(7, scale)
        # The sharp bound takes the largest bias in its last term, this one the bias of each arm.
        sharp = sharp_error_bound(arms, *stages, (scale, scale), 0.1, noise=noise)
        assert np.all(bound.bias(equal) + bound.noise(equal) <= sharp * (1.0 + 1e-9))
        np.testing.assert_allclose(bound.noise(equal), scale * bound.noise(np.ones(7)), rtol=1e-9)
        unequal = scale * np.linspace(0.1, 1.0, 7)
        assert np.all(bound.noise(unequal) <= bound.noise(equal) * (1.0 + 1e-12))


def test_deviations_of_the_interval_bound_are_those_of_a_direct_computation():
    """W, G and the three terms from dense matrices with one row a pull."""
    from convexdesign.features import phi

    rng = np.random.default_rng(0)
    arms, s2 = rng.standard_normal((5, 2)), rng.uniform(0.5, 3.0, 5)
    plan = plan_head(arms)
    first, second = plan.counts(40)
    bound = IntervalBound.of(plan, first, second, 0.2, "gaussian")
    u = np.log(6 * 5 / 0.2)
    X1, X2 = np.repeat(arms, first, axis=0), np.repeat(arms, second, axis=0)
    v1, v2 = np.repeat(s2, first), np.repeat(s2, second)
    H1 = arms @ np.linalg.solve(X1.T @ X1, X1.T)  # weights of single rewards in x'theta-hat
    P2 = phi(X2)
    H2 = phi(arms) @ np.linalg.solve(P2.T @ P2, P2.T)
    bias = 2.0 * u * (H1**2) @ v1
    np.testing.assert_allclose(bound.bias(s2), bias, rtol=1e-9)
    b2 = np.repeat(bias, second)
    noise = (
        2.0 * np.sqrt(u * (H2**2) @ v2**2)
        + 2.0 * u * np.max(np.abs(H2) * v2, axis=1)
        + 2.0 * np.sqrt(2.0 * u * (H2**2) @ (b2 * v2))
    )
    np.testing.assert_allclose(bound.noise(s2), noise, rtol=1e-9)


def run_adaptive(world, seed, bounds=None, delta=0.05, noise="gaussian"):
    burn_in = AdaptiveBurnIn(world.arms, delta, bounds, "gaussian" if noise == "gaussian" else "sub-gaussian")
    environment = cd.simulation.LinearEnvironment(
        world.arms, world.theta, world.noise_variance, noise=noise, rng=np.random.default_rng(seed)
    )
    return burn_in, cd.simulation.simulate(burn_in, environment)


@pytest.mark.parametrize("make", EXPERIMENTS)
def test_adaptive_burn_in_keeps_its_promise_without_any_bounds(make):
    """60 runs at delta = .2, intervals of all phases and the promise checked: P(Bin(60, .2) > 21) < 0.5 %. The bounds
    are conservative: no failure is expected at all."""
    world, failures = make(), 0
    for seed in range(60):
        burn_in, variances = run_adaptive(world, seed, delta=0.2)
        inside = all(np.all((p.low <= world.noise_variance) & (world.noise_variance <= p.high)) for p in burn_in.phases)
        kept = np.all(np.abs(variances - world.noise_variance) <= variances / 2.0)
        failures += not (inside and kept)
        assert not burn_in.contradicted
    assert failures <= 21


@pytest.mark.parametrize("make", EXPERIMENTS)
def test_adaptive_burn_in_is_shorter_than_the_sharp_one(make):
    world = make()
    sharp = burn_in_budget("sharp", plan_head(world.arms), bounds_of(world), 0.05)
    low, high = bounds_of(world)
    for bounds in (None, (low / 1e3, high * 1e3), (low, high)):
        burn_in, _ = run_adaptive(world, 0, bounds, delta=0.025)
        assert burn_in.samples < sharp
        totals = [p.samples for p in burn_in.phases]
        assert totals == [burn_in.first_budget * 2**k for k in range(len(totals))]


def test_adaptive_burn_in_stops_by_the_sharp_budget_of_its_phase():
    """With tight bounds no run is longer than the first doubling past the sharp budget at that phase's delta."""
    world = random_world("best-arm", seed=11)
    low, high = bounds_of(world)
    plan = plan_head(world.arms)
    for seed in range(5):
        burn_in, _ = run_adaptive(world, seed, (low, high), delta=0.05)
        phase = len(burn_in.phases)
        if phase > 1:
            share = 0.05 / ((phase - 1) * phase)
            assert burn_in.phases[-2].samples < burn_in_budget("sharp", plan, (low, high), 2.0 * share)


def test_adaptive_burn_in_with_wrong_bounds_says_so():
    world = experiment_2()
    burn_in, _ = run_adaptive(world, 0, (10.0, 20.0))
    assert burn_in.contradicted
    algorithm = I.HRage(world.arms, variance_bounds=(10.0, 20.0), burn_in="adaptive")
    environment = cd.simulation.LinearEnvironment(world.arms, world.theta, Sigma=world.Sigma, rng=0)
    with pytest.warns(I.GuaranteeWarning):
        cd.simulation.simulate(algorithm, environment)


def test_burn_in_longer_than_max_samples_is_not_begun():
    world = experiment_2()
    algorithm = I.HRage(world.arms, variance_bounds=(0.2, 1.0), max_samples=10_000)
    assert algorithm.done
    assert algorithm.result().status is I.AnswerStatus.UNDECIDED
    assert algorithm.result().samples == 0


@pytest.mark.parametrize("burn_in", ["sharp", "adaptive"])
def test_variances_after_the_burn_in_are_what_the_rounds_use(burn_in):
    world = experiment_2(omega=0.4)
    algorithm = I.HRage(world.arms, variance_bounds=(0.2, 1.0), burn_in=burn_in, margin="fixed")
    assert algorithm.variance_model is None
    environment = cd.simulation.LinearEnvironment(world.arms, world.theta, Sigma=world.Sigma, rng=3)
    result = cd.simulation.simulate(algorithm, environment)
    assert result.burn_in_samples == algorithm.variance_model.samples
    assert np.all(np.abs(algorithm.variances - world.noise_variance) <= algorithm.variances / 2.0)
    if burn_in == "sharp":
        np.testing.assert_array_equal(algorithm.variances, algorithm.variance_model.variances)


@pytest.mark.parametrize("burn_in", ["sharp", "adaptive"])
@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_the_achieved_margin_covers_and_saves(burn_in, kind):
    """40 runs, each wrong about a variance with probability at most delta/2 = .1: P(Bin(40, .1) > 14) < 1e-5."""
    missed, fixed, achieved = 0, 0, 0
    for seed in range(40):
        world = random_world(kind, seed=seed % 8)
        low, high = bounds_of(world)
        bounds = (low, high) if burn_in == "sharp" else (low / 9.0, 9.0 * high)
        for margin in ("fixed", "achieved"):
            algo = I.HRage(world.arms, world.items, world.objective, 0.2, bounds, burn_in, margin=margin)
            result = play(algo, world, seed)
            if margin == "fixed":
                fixed += result.samples - algo.burn_in_samples
                continue
            achieved += result.samples - algo.burn_in_samples
            variances, constant = algo._plug_in()
            missed += bool((variances < world.noise_variance).any())
            # What is plugged in is never more than the fixed margin allows for.
            assert constant == 2.0
            found = algo.estimator.result()
            estimates = found if burn_in == "adaptive" else found.variances
            assert (variances <= 1.5 * (1.0 + 1e-3) * estimates).all()
    assert missed <= 14
    assert achieved < 0.9 * fixed


def test_margins_of_the_paper_stay_as_they_are():
    world = experiment_2()
    algo = I.HRage(world.arms, variance_bounds=(0.2, 1.0), burn_in="released")
    play(algo, world, 0)
    assert algo._plug_in()[1] == 3.0
    with pytest.raises(cd.InputError, match="margin is 'none'; choose one of achieved, fixed"):
        I.HRage(world.arms, variance_bounds=(0.2, 1.0), margin="none")


@pytest.mark.parametrize("kind", ["paper", "released"])
@pytest.mark.parametrize("noise", ["gaussian", "sub-gaussian"])
def test_named_budgets_are_long_enough_by_the_sharp_bound(kind, noise):
    """What the mathematics page proves: errors of at most .2 of the smallest variance, where .5 is needed."""
    for seed in range(4):
        world = random_world("best-arm", seed)
        low, high = bounds_of(world)
        plan = plan_head(world.arms)
        for delta in (0.3, 0.01):
            stages = plan.counts(burn_in_budget(kind, plan, (low, high), delta, noise))
            error = plan.sharp_error_bound(*stages, high=high, delta=delta / 2.0, noise=noise)
            assert error.max() <= 0.2 * low


def test_a_burn_in_that_nothing_proves_is_not_begun(monkeypatch):
    world = experiment_2()
    algorithm = I.HRage(world.arms, variance_bounds=bounds_of(world), burn_in="released")
    monkeypatch.setattr("convexdesign.identification.hrage.pulls_for", lambda *arguments: 1000)
    with pytest.raises(cd.SolverError, match=r"is 1000 pulls, which leave errors of up to .* use burn_in='sharp'"):
        algorithm.ask()
