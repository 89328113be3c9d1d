"""Variances from replicates: whole pulls, the best fit recomputed, intervals and their level, the burn-in of H-RAGE."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import convexdesign as cd
from convexdesign import instances
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation import Head, Observations, ReplicateEstimator, plan_head, replicate_variances
from convexdesign.estimation.replicates import replicate_counts
from convexdesign.estimation.variance_intervals import IntervalBound
from convexdesign.features import phi
from convexdesign.identification.burn_in import burn_in_budget
from convexdesign.simulation import LinearEnvironment, simulate

PAPER = ["experiment_1", "experiment_2", "multivariate_testing"]


@cache
def world(name):
    if name == "two_spheres":
        return instances.two_spheres(3, outer=12, inner=8, rng=0)
    return getattr(instances, name)()


@cache
def plan(name):
    return plan_head(world(name).arms)


def sampled(variances, dof, rng):
    """Observations with means that no theta has: they must not matter."""
    squares = np.where(dof > 0, variances * rng.chisquare(np.maximum(dof, 1)), 0.0)
    return Observations(dof + (dof > 0), rng.standard_normal(dof.size), squares)


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("extra", [0, 1, 7, 1000, 10**9])
def test_pulls_keep_to_the_budget_and_every_one_has_a_replicate(name, extra):
    arms = world(name).arms
    rank = np.linalg.matrix_rank(phi(arms), tol=1e-9)
    counts = ReplicateEstimator(arms, 2 * rank + extra, plan=plan(name)).ask().counts
    assert counts.sum() <= 2 * rank + extra
    assert not np.any(counts == 1)
    assert np.linalg.matrix_rank(phi(arms)[counts > 0], tol=1e-9) == rank
    with pytest.raises(InputError, match=f"at least {2 * rank} pulls"):
        ReplicateEstimator(arms, 2 * rank - 1, plan=plan(name))
    if extra == 1000:
        assert counts.sum() == 2 * rank + 1000
        assert np.abs(counts / counts.sum() - plan(name).weights_2).max() < 0.02


def test_the_estimate_solves_the_likelihood_equation_and_ignores_the_means():
    rng = np.random.default_rng(1)
    inst = world("two_spheres")
    counts = ReplicateEstimator(inst.arms, 800, plan=plan("two_spheres")).ask().counts
    told = sampled(inst.noise_variance, np.maximum(counts - 1, 0), rng)
    model, low, high = replicate_variances(inst.arms, told, delta=0.1)
    dof, v = np.maximum(counts - 1, 0), model.variances
    pulled = dof > 0
    residual = dof[pulled] * (told.sample_variance()[pulled] - v[pulled]) / v[pulled] ** 2
    scale = np.abs(phi(inst.arms)[pulled]).T @ (dof[pulled] / v[pulled])
    assert np.all(np.abs(phi(inst.arms)[pulled].T @ residual) <= 1e-5 * scale)
    other = Observations(told.count, 1e3 * rng.standard_normal(counts.size), told.m2)
    np.testing.assert_array_equal(replicate_variances(inst.arms, other)[0].variances, v)
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", inst.arms, model.Sigma, inst.arms), v, rtol=1e-9)
    assert np.all(low <= high)
    np.testing.assert_allclose(model.error_bound(0.1), np.maximum(high - v, v - low))
    doubled = replicate_variances(inst.arms, Observations(told.count, told.mean, 4.0 * told.m2))[0]
    np.testing.assert_allclose(doubled.variances, 4.0 * v, rtol=1e-9)


@pytest.mark.parametrize("stages", [1, 2])
def test_exact_sample_variances_give_sigma_exactly(stages):
    inst = world("two_spheres")
    estimator = ReplicateEstimator(inst.arms, 900, plan=plan("two_spheres"), stages=stages)
    asked = 0
    while not estimator.done:
        counts = estimator.ask().counts
        asked += counts.sum()
        m2 = inst.noise_variance * np.maximum(counts - 1, 0)
        estimator.tell(estimator.ask(), Observations(counts, np.zeros(counts.size), m2))
    assert asked <= 900
    np.testing.assert_allclose(estimator.result().variances, inst.noise_variance, rtol=1e-9)
    assert estimator.result().samples == asked
    low, high = estimator.intervals(0.05)
    assert np.all((low <= inst.noise_variance) & (inst.noise_variance <= high))


def test_the_mean_is_right_where_weights_by_sample_variances_are_low():
    """4,000 runs with 8 replicates of 20 arms of one dimension and one variance.

    The mean may miss by 5 standard errors: a right one does so with probability 6e-7. Weights dof/S² are 4/8 low.
    """
    rng, arms, dof = np.random.default_rng(2), np.ones((20, 1)), np.full(20, 8)
    S = rng.chisquare(dof, (4000, 20)) / dof
    found = np.array(
        [replicate_variances(arms, Observations(dof + 1, 0.0 * dof, 8 * s))[0].variances[0] for s in S[:300]]
    )
    np.testing.assert_allclose(
        found, S[:300].mean(axis=1), rtol=1e-5
    )  # one variance: the plain mean, which is unbiased
    naive = (1 / S).sum(axis=1) / (1 / S**2).sum(axis=1)
    assert abs(S.mean() - 1.0) < 5.0 * np.sqrt(2.0 / 8.0 / S.size)
    assert naive.mean() < 0.7


def test_deviations_are_those_of_a_direct_computation():
    rng = np.random.default_rng(3)
    F, s2 = rng.standard_normal((6, 3)), rng.uniform(0.5, 3.0, 6)
    dof, weights = np.array([4, 0, 9, 2, 30, 1]), rng.uniform(0.5, 2.0, 6)
    bound = IntervalBound.of_replicates(F, dof, dof * weights, 0.2)
    W = np.diag(dof * weights)
    k, u = F @ np.linalg.solve(F.T @ W @ F, F.T @ W), np.log(2 * 6 / 0.2)
    c = np.divide(k * s2, dof, out=np.zeros_like(k), where=dof > 0)  # coefficients of single degrees of freedom
    expected = 2.0 * np.sqrt(u * (c**2 @ dof)) + 2.0 * u * np.abs(c).max(axis=1)
    np.testing.assert_allclose(bound.noise(s2), expected, rtol=1e-9)
    np.testing.assert_allclose(k @ F, F, atol=1e-9)  # it reproduces what is linear in phi
    assert not bound.bias(s2).any()


@pytest.mark.parametrize("stages", [1, 2])
def test_intervals_hold_the_variances(stages):
    """150 runs at delta = .2 on each of two instances: P(Bin(150, .2) > 58) < 1e-7."""
    for name in ("experiment_2", "two_spheres"):
        inst, failures, ratios = world(name), 0, []
        for seed in range(150):
            estimator = ReplicateEstimator(inst.arms, 600, plan=plan(name), stages=stages)
            model = simulate(estimator, LinearEnvironment(inst.arms, inst.theta, inst.noise_variance, rng=seed))
            low, high = estimator.intervals(0.2)
            failures += bool(np.any((inst.noise_variance < low) | (inst.noise_variance > high)))
            bound = model.error_bound(0.2)
            ratios.append(np.max(np.abs(model.variances - inst.noise_variance) / bound))
        assert failures <= 58
        assert max(ratios) > 0.2  # of their order


def test_errors_are_less_than_head_s():
    """40 runs of 5,000 pulls: mean largest errors differ by far more than their standard errors (under a tenth of each)."""
    inst, errors = world("two_spheres"), {Head: [], ReplicateEstimator: []}
    for seed in range(40):
        for kind, found in errors.items():
            env = LinearEnvironment(inst.arms, inst.theta, inst.noise_variance, rng=seed)
            model = simulate(kind(inst.arms, 5000, plan=plan("two_spheres")), env)
            found.append(np.abs(model.variances - inst.noise_variance).max())
    assert np.mean(errors[ReplicateEstimator]) < 0.85 * np.mean(errors[Head])


@pytest.mark.parametrize("name", PAPER)
def test_the_burn_in_is_shorter_and_keeps_its_promise(name):
    """30 runs at delta = .2, .1 of it for the burn-in: P(Bin(30, .1) > 12) < 1e-5."""
    inst, failures = world(name), 0
    bounds = (inst.noise_variance.min(), inst.noise_variance.max())
    for seed in range(30):
        algorithm = cd.identification.HRage(
            inst.arms, inst.items, inst.objective, 0.2, bounds, burn_in="replicates", rng=0, margin="fixed"
        )
        env = LinearEnvironment(inst.arms, inst.theta, inst.noise_variance, rng=seed)
        batch = algorithm.ask()
        algorithm.tell(batch, env.pull(batch.counts))
        assert algorithm.variances is not None
        failures += bool(np.any(np.abs(algorithm.variances - inst.noise_variance) > algorithm.variances / 2))
    assert failures <= 12
    budgets = [burn_in_budget(kind, plan(name), bounds, 0.2) for kind in ("replicates", "sharp")]
    assert batch.total <= budgets[0] < 0.45 * budgets[1]
    dof = np.maximum(replicate_counts(plan(name).rows_2, plan(name).weights_2, budgets[0]) - 1, 0)
    error = IntervalBound.of_replicates(plan(name).rows_2, dof, dof, 0.1).noise(np.full(len(inst.arms), bounds[1]))
    assert error.max() <= bounds[0] / 2


def test_h_rage_with_replicates_goes_on_after_a_restart():
    inst = world("experiment_2")

    def new():
        return cd.identification.HRage(inst.arms, variance_bounds=(0.2, 1.0), burn_in="replicates")

    first, again = new(), new()
    batch = first.ask()
    restored = again.load_state_dict(first.state_dict(), batch.counts)
    np.testing.assert_array_equal(restored.counts, batch.counts)
    env = LinearEnvironment(inst.arms, inst.theta, inst.noise_variance, rng=0)
    told = env.pull(batch.counts)
    for algorithm in (first, again):
        algorithm.tell(0, told)
    np.testing.assert_array_equal(first.ask().counts, again.ask().counts)
    assert first.variance_model.estimator == "replicate"
    assert simulate(first, env).answer == (0,)


def test_what_cannot_be_is_refused():
    inst = world("experiment_2")
    with pytest.raises(InputError, match="chi-square law of Gaussian noise"):
        cd.identification.HRage(inst.arms, variance_bounds=(0.2, 1.0), burn_in="replicates", noise="sub-gaussian")
    with pytest.raises(InputError, match="stages is 3"):
        ReplicateEstimator(inst.arms, 100, stages=3)
    with pytest.raises(InputError, match="once everything was told"):
        ReplicateEstimator(inst.arms, 100).intervals(0.1)
    once = Observations([1, 1], [1.0, 2.0], [0.0, 0.0])
    with pytest.raises(UnidentifiableError, match="no arm was measured twice"):
        replicate_variances(np.eye(2), once)
    with pytest.raises(UnidentifiableError, match="arm 1 is not determined"):
        replicate_variances(np.eye(2), Observations([5, 1], [1.0, 2.0], [3.0, 0.0]))
    with pytest.raises(InputError, match="observations are of 2 arms"):
        replicate_variances(np.eye(3), once)
    alike = replicate_variances(np.eye(2), Observations([5, 5], [1.0, 2.0], [0.0, 0.0]))[0]
    np.testing.assert_array_equal(alike.variances, [0.0, 0.0])
