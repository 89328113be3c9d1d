"""HEAD and its baselines: protocol, agreement with raw samples, statistics, invariances, degenerate data."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from convexdesign import instances
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation import (
    Batch,
    Head,
    Observations,
    ReplicateEstimator,
    SeparateArmEstimator,
    UniformEstimator,
    least_squares,
    plan_head,
)
from convexdesign.features import phi
from convexdesign.plotting import new_axes
from convexdesign.simulation import LinearEnvironment, simulate

ESTIMATORS = [Head, ReplicateEstimator, UniformEstimator, SeparateArmEstimator]


@cache
def instance(name):
    if name == "two_spheres":  # more arms than phi has dimensions
        return instances.two_spheres(3, outer=12, inner=8, rng=0)
    return getattr(instances, name)()


@cache
def plan(name):
    return plan_head(instance(name).arms)


PAPER = ["experiment_1", "experiment_2", "multivariate_testing"]


def raw_rewards(env, counts, rng):
    """Single rewards, and the arm of each."""
    arms = np.repeat(np.arange(env.n_arms), counts)
    return arms, env.mean[arms] + np.sqrt(env.noise_variance[arms]) * rng.standard_normal(arms.size)


# Designs and counts


@pytest.mark.parametrize("name", PAPER)
def test_both_stages_are_g_optimal(name):
    arms = instance(name).arms
    for rows, weights in ((arms, plan(name).weights_1), (phi(arms), plan(name).weights_2)):
        information = (rows.T * weights) @ rows
        variances = np.einsum("ij,jk,ik->i", rows, np.linalg.pinv(information, rcond=1e-11, hermitian=True), rows)
        # Kiefer and Wolfowitz: the least possible maximum is the rank.
        assert variances.max() <= np.linalg.matrix_rank(rows, tol=1e-9) * 1.0002


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("budget", [20, 37, 1000, 104_697, 10**12 + 1])
def test_counts_spend_the_budget_in_two_halves_near_the_weights(name, budget):
    first, second = plan(name).counts(budget)
    assert (first.sum(), second.sum()) == (budget // 2, budget - budget // 2)
    arms = instance(name).arms
    for counts, weights, rows in ((first, plan(name).weights_1, arms), (second, plan(name).weights_2, phi(arms))):
        assert np.linalg.matrix_rank(rows[counts > 0], tol=1e-9) == np.linalg.matrix_rank(rows, tol=1e-9)
        total, support = counts.sum(), np.count_nonzero(weights)
        if total >= support:
            assert np.all(counts >= (1 - support / total) * total * weights - 1e-6)


def test_the_least_budget_works_and_one_less_is_refused():
    for name in PAPER:
        least = plan(name).least_budget
        arms = instance(name).arms
        assert least == 2 * np.linalg.matrix_rank(phi(arms), tol=1e-9) - 1
        model = simulate(Head(arms, least, plan=plan(name)), LinearEnvironment(arms, instance(name).theta, 1.0, rng=0))
        assert np.isfinite(model.variances).all()
        with pytest.raises(InputError, match=f"at least {least} pulls"):
            Head(arms, least - 1, plan=plan(name))


@pytest.mark.parametrize("budget", [0, -5, 100.5, "many", True, None, float("nan")])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_budget_is_a_whole_number_of_pulls(estimator, budget):
    with pytest.raises(InputError, match="budget"):
        estimator(np.eye(2), budget)


@pytest.mark.parametrize("bounds", [(1.0,), (2.0, 1.0), (-1.0, 1.0), (0.0, 0.0), (1.0, np.inf), (np.nan, 1.0), 3.0])
def test_bounds_are_an_interval_of_variances(bounds):
    with pytest.raises(InputError, match="variance_bounds"):
        UniformEstimator(np.eye(2), 100, bounds)


def test_a_plan_for_other_arms_is_refused():
    with pytest.raises(InputError, match="other arms"):
        Head(instance("experiment_2").arms * 2.0, 1000, plan=plan("experiment_2"))


# The protocol


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_asking_twice_gives_the_same_batch_and_a_rejected_tell_changes_nothing(estimator):
    inst = instance("experiment_2")
    bounds = (0.05, 2.0)

    def run(disturb):
        env = LinearEnvironment(inst.arms, inst.theta, Sigma=inst.Sigma, rng=3)
        algorithm = estimator(inst.arms, 3000, bounds, rng=4)
        while not algorithm.done:
            batch = algorithm.ask()
            assert batch.counts.dtype == np.int64
            assert batch.counts.shape == (inst.arms.shape[0],)
            obs = env.pull(batch.counts)
            if disturb:
                assert algorithm.ask() is batch
                fewer = Observations(np.maximum(obs.count - 1, 0), obs.mean, np.zeros(obs.n_arms))
                more = Observations(obs.count + 2, obs.mean, obs.m2)
                for wrong_batch, wrong_obs in [
                    (batch, fewer),
                    (batch, more),
                    (batch, Observations.empty(obs.n_arms)),
                    (batch, Observations.empty(obs.n_arms + 1)),
                    (batch, obs.mean),
                    (Batch(batch.id + 1, batch.counts), obs),
                    (batch.id - 1, obs),
                ]:
                    with pytest.raises(InputError):
                        algorithm.tell(wrong_batch, wrong_obs)
                with pytest.raises(InputError, match="not done"):
                    algorithm.result()
                with pytest.raises(InputError, match="is nan"):
                    algorithm.tell(batch, Observations(obs.count, np.full(obs.n_arms, np.nan), obs.m2))
                assert algorithm.ask() is batch
            algorithm.tell(batch, obs)
            if disturb:
                with pytest.raises(InputError):  # told already
                    algorithm.tell(batch, obs)
        with pytest.raises(InputError, match="done"):
            algorithm.ask()
        return algorithm.result()

    undisturbed, disturbed = run(False), run(True)
    np.testing.assert_array_equal(undisturbed.variances, disturbed.variances)
    assert undisturbed.samples == 3000


def test_telling_before_asking_is_refused_and_an_id_is_enough():
    algorithm = SeparateArmEstimator(np.eye(2), 10)
    obs = Observations([5, 5], [0.0, 0.0], [1.0, 2.0])
    with pytest.raises(InputError, match="call ask"):
        algorithm.tell(0, obs)
    algorithm.tell(algorithm.ask().id, obs)
    np.testing.assert_allclose(algorithm.result().variances, [0.2, 0.4])


def test_batches_cannot_be_changed():
    batch = UniformEstimator(np.eye(3), 50, rng=0).ask()
    assert batch.total == 50
    with pytest.raises(ValueError, match="read-only"):
        batch.counts[0] = 1


# Against the raw samples


@pytest.mark.parametrize("name", [*PAPER, "two_spheres"])
def test_head_equals_its_definition_on_raw_samples(name):
    inst, rng = instance(name), np.random.default_rng(7)
    env = LinearEnvironment(inst.arms, inst.theta, inst.noise_variance)
    head = Head(inst.arms, 301, plan=plan(name))
    stage_1, y_1 = raw_rewards(env, head.ask().counts, rng)
    head.tell(head.ask(), Observations.from_rewards(env.n_arms, stage_1, y_1))
    stage_2, y_2 = raw_rewards(env, head.ask().counts, rng)
    head.tell(head.ask(), Observations.from_rewards(env.n_arms, stage_2, y_2))
    model = head.result()

    theta = np.linalg.lstsq(inst.arms[stage_1], y_1, rcond=1e-10)[0]
    squares = (y_2 - inst.arms[stage_2] @ theta) ** 2
    vech = np.linalg.lstsq(phi(inst.arms)[stage_2], squares, rcond=1e-10)[0]
    np.testing.assert_allclose(model.theta, theta, atol=1e-8)
    np.testing.assert_allclose(model.variances, phi(inst.arms) @ vech, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(model.counts, np.bincount(np.r_[stage_1, stage_2], minlength=env.n_arms))


@pytest.mark.parametrize("name", ["experiment_2", "two_spheres"])
def test_the_uniform_estimator_equals_its_definition_on_raw_samples(name):
    inst, rng = instance(name), np.random.default_rng(8)
    env = LinearEnvironment(inst.arms, inst.theta, inst.noise_variance)
    algorithm = UniformEstimator(inst.arms, 300, rng=9)
    arms, y = raw_rewards(env, algorithm.ask().counts, rng)
    assert arms.size == 300
    algorithm.tell(algorithm.ask(), Observations.from_rewards(env.n_arms, arms, y))
    theta = np.linalg.lstsq(inst.arms[arms], y, rcond=None)[0]
    vech = np.linalg.lstsq(phi(inst.arms)[arms], (y - inst.arms[arms] @ theta) ** 2, rcond=None)[0]
    np.testing.assert_allclose(algorithm.result().variances, phi(inst.arms) @ vech, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", PAPER)
def test_the_separate_arm_estimator_equals_its_definition_on_raw_samples(name):
    inst, rng = instance(name), np.random.default_rng(10)
    env = LinearEnvironment(inst.arms, inst.theta, inst.noise_variance)
    algorithm = SeparateArmEstimator(inst.arms, 305)
    counts = algorithm.ask().counts
    rank = np.linalg.matrix_rank(phi(inst.arms), tol=1e-9)
    assert np.count_nonzero(counts) == rank
    assert counts.sum() == 305
    assert counts.max() - counts[counts > 0].min() <= 1
    arms, y = raw_rewards(env, counts, rng)
    algorithm.tell(algorithm.ask(), Observations.from_rewards(env.n_arms, arms, y))
    centred = y - (np.bincount(arms, y, env.n_arms) / np.maximum(counts, 1))[arms]
    vech = np.linalg.lstsq(phi(inst.arms)[arms], centred**2, rcond=1e-10)[0]
    np.testing.assert_allclose(algorithm.result().variances, phi(inst.arms) @ vech, rtol=1e-6, atol=1e-8)
    # As many arms as dimensions: their own sample variances are reproduced.
    chosen = algorithm.chosen
    sample = np.bincount(arms, centred**2, env.n_arms)[chosen] / counts[chosen]
    np.testing.assert_allclose(algorithm.result().variances[chosen], sample, rtol=1e-8)


# Statistics


def test_the_mean_before_clipping_is_the_variance_plus_that_of_the_mean():
    # 1,500 runs; z-scores of 6 arms within 4.5: false alarm below 6 * 7e-6 (the averages are close to normal).
    inst, runs = instance("experiment_2"), 1500
    env = LinearEnvironment(inst.arms, inst.theta, Sigma=inst.Sigma, rng=11)
    head = Head(inst.arms, 30, plan=plan("experiment_2"))
    estimates = np.array([simulate(Head(inst.arms, 30, plan=head.plan), env).unclipped for _ in range(runs)])
    A = np.linalg.inv((inst.arms.T * head.stage_1) @ inst.arms)
    cov = A @ (inst.arms.T * (head.stage_1 * inst.noise_variance)) @ inst.arms @ A
    bias = np.einsum("ij,jk,ik->i", inst.arms, cov, inst.arms)
    standard_error = estimates.std(axis=0, ddof=1) / np.sqrt(runs)
    assert np.abs((estimates.mean(axis=0) - inst.noise_variance - bias) / standard_error).max() < 4.5
    # The test can tell: without the term the same average is off by many standard errors.
    assert np.abs((estimates.mean(axis=0) - inst.noise_variance) / standard_error).max() > 6
    # And the covariance is the one that least_squares reports for OLS.
    fit = least_squares(inst.arms, env.pull(head.stage_1), inst.noise_variance, weighted=False)
    np.testing.assert_allclose(fit.variance(inst.arms), bias, rtol=1e-9)


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("kind", ["sharp", "paper"])
def test_errors_stay_within_the_bound(name, kind):
    # 60 runs at delta = 0.05: if the level were exactly 0.05, more than 10 failures have probability below 4e-4.
    inst = instance(name)
    bounds = (inst.noise_variance.min(), inst.noise_variance.max())
    env = LinearEnvironment(inst.arms, inst.theta, Sigma=inst.Sigma, rng=12)
    failures = 0
    for _ in range(60):
        model = simulate(Head(inst.arms, 5000, bounds, plan=plan(name)), env)
        bound = model.error_bound(0.05, kind)
        failures += bool(np.any(np.abs(model.variances - inst.noise_variance) > bound))
        failures += bool(np.any(np.abs(model.unclipped - inst.noise_variance) > bound))
    assert failures <= 10


def test_separate_arms_stay_within_the_paper_s_bound():
    # 60 runs at delta = 0.05, as above; the bound is loose, so only its order is tested from the other side.
    inst = instance("two_spheres")
    bounds = (inst.noise_variance.min(), inst.noise_variance.max())
    env = LinearEnvironment(inst.arms, inst.theta, Sigma=inst.Sigma, rng=21)
    models = [simulate(SeparateArmEstimator(inst.arms, 6000, bounds), env) for _ in range(60)]
    errors = np.array([np.abs(model.unclipped - inst.noise_variance).max() for model in models])
    bound = models[0].error_bound(0.05)[0]
    assert np.count_nonzero(errors > bound) <= 10
    assert errors.max() > bound / 1000
    assert models[0].error_bound(0.05, "paper")[0] == bound


def test_head_is_consistent():
    # 1e12 pulls: relative standard deviations are near 1e-5, far inside 1e-3.
    for name in PAPER:
        inst = instance(name)
        env = LinearEnvironment(inst.arms, 1e3 * inst.theta, Sigma=inst.Sigma, rng=13)
        for estimator in ESTIMATORS:
            model = simulate(estimator(inst.arms, 10**12, rng=14), env)
            np.testing.assert_allclose(model.variances, inst.noise_variance, rtol=1e-3)


# Invariances


def told(estimator, arms, statistics, **options):
    """The model after each batch got means and m2 computed from per-pull statistics (mean, variance) per arm."""
    mean, variance = statistics
    algorithm = estimator(arms, 1000, rng=1, **options)
    while not algorithm.done:
        counts = algorithm.ask().counts
        algorithm.tell(algorithm.ask(), Observations(counts, mean, np.where(counts > 1, counts * variance, 0.0)))
    return algorithm.result()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_units_of_rewards_and_a_linear_shift(estimator):
    inst, rng = instance("experiment_2"), np.random.default_rng(15)
    mean = inst.arms @ inst.theta + 0.1 * rng.standard_normal(6)
    variance = rng.uniform(0.5, 2.0, 6)
    options = {"plan": plan("experiment_2")} if estimator is Head else {}
    base = told(estimator, inst.arms, (mean, variance), **options)
    scaled = told(estimator, inst.arms, (1e3 * mean, 1e6 * variance), **options)
    np.testing.assert_allclose(scaled.variances, 1e6 * base.variances, rtol=1e-9)
    shifted = told(estimator, inst.arms, (mean + inst.arms @ [3.0, -5.0, 100.0], variance), **options)
    np.testing.assert_allclose(shifted.variances, base.variances, rtol=1e-9)


@pytest.mark.parametrize("name", PAPER)
def test_rotations_turn_sigma_and_units_leave_the_variances(name):
    inst, rng = instance(name), np.random.default_rng(16)
    n, d = inst.arms.shape
    statistics = (inst.arms @ inst.theta, rng.uniform(0.5, 2.0, n))
    chosen = SeparateArmEstimator(inst.arms, 100).chosen
    base = told(SeparateArmEstimator, inst.arms, statistics, chosen=chosen)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    turned = told(SeparateArmEstimator, inst.arms @ Q, statistics, chosen=chosen)
    np.testing.assert_allclose(turned.variances, base.variances, rtol=1e-8)
    np.testing.assert_allclose(turned.Sigma, Q.T @ base.Sigma @ Q, atol=1e-8 * np.abs(base.Sigma).max())
    rescaled = told(SeparateArmEstimator, inst.arms * np.logspace(-3, 3, d), statistics, chosen=chosen)
    np.testing.assert_allclose(rescaled.variances, base.variances, rtol=1e-6)


def test_sigma_is_the_one_of_least_norm():
    inst = instance("multivariate_testing")
    env = LinearEnvironment(inst.arms, inst.theta, Sigma=inst.Sigma, rng=17)
    model = simulate(Head(inst.arms, 5000, plan=plan("multivariate_testing")), env)
    assert model.space.rank == 8
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", inst.arms, model.Sigma, inst.arms), model.variances)
    np.testing.assert_array_equal(model.Sigma, model.Sigma.T)
    # Least norm: orthogonal to every symmetric N with x'Nx = 0 for all arms; equivalently in the span of the xx'.
    outer = np.einsum("ij,ik->ijk", inst.arms, inst.arms).reshape(8, -1)
    fit = outer.T @ np.linalg.lstsq(outer.T, model.Sigma.ravel(), rcond=1e-10)[0]
    np.testing.assert_allclose(fit, model.Sigma.ravel(), atol=1e-9)


# Degenerate data


def test_raw_estimates_below_zero_are_clipped():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    # Variances 4, 4 and 0.1: x'Sigma x of (1, -1) is 2 (4 + 4) - 0.1 - ... > 0, that of (1, 1) follows the data.
    statistics = (np.zeros(4), np.array([4.0, 4.0, 17.0, 0.0]))
    model = told(SeparateArmEstimator, arms, statistics, chosen=np.array([0, 1, 2]), variance_bounds=(0.5, 10.0))
    assert model.unclipped[3] == pytest.approx(2 * 4 + 2 * 4 - 17)
    np.testing.assert_allclose(model.variances, [4.0, 4.0, 10.0, 0.5])
    np.testing.assert_allclose(model.predict(arms), model.variances)
    np.testing.assert_allclose(model.predict(arms, clip=False), model.unclipped)
    unbounded = told(SeparateArmEstimator, arms, statistics, chosen=np.array([0, 1, 2]))
    np.testing.assert_allclose(unbounded.variances, [4.0, 4.0, 17.0, -1.0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_constant_rewards_have_variance_zero_or_the_lower_bound(estimator):
    inst = instance("experiment_2")
    exact = (inst.arms @ inst.theta, np.zeros(6))
    np.testing.assert_allclose(told(estimator, inst.arms, exact).variances, 0.0, atol=1e-25)
    np.testing.assert_array_equal(told(estimator, inst.arms, exact, variance_bounds=(0.2, 1.0)).variances, 0.2)


def test_arms_pulled_once_and_arms_never_pulled():
    inst = instance("experiment_2")
    least = plan("experiment_2").least_budget
    head = Head(inst.arms, least, plan=plan("experiment_2"))
    assert head.stage_2.max() == 1
    assert SeparateArmEstimator(inst.arms, 6).ask().counts.max() == 1
    # A single pull has no spread to tell of, so that only designs without one give back the variances.
    for seed in range(10):
        spheres = instances.two_spheres(3, outer=40, inner=60, rng=seed)
        model = told(Head, spheres.arms, (spheres.arms @ spheres.theta, spheres.noise_variance))
        if not np.any(model.counts == 1):
            break
    assert not np.any(model.counts == 1)
    assert np.count_nonzero(model.counts[:40] == 0) > 5
    assert np.all(model.counts[40:] == 0)  # short arms tell less than long ones
    np.testing.assert_allclose(model.variances, spheres.noise_variance, rtol=1e-9)


def test_too_few_uniform_pulls_are_refused_and_leave_the_batch_open():
    inst = instance("experiment_2")
    algorithm = UniformEstimator(inst.arms, 5, rng=0)
    batch = algorithm.ask()
    with pytest.raises(UnidentifiableError, match="raise the budget"):
        algorithm.tell(batch, LinearEnvironment(inst.arms, inst.theta, 1.0, rng=0).pull(batch.counts))
    assert not algorithm.done
    assert algorithm.ask() is batch


# The model


def test_new_arms_are_predicted_where_they_are_identified():
    inst = instance("multivariate_testing")
    env = LinearEnvironment(inst.arms, inst.theta, Sigma=inst.Sigma, rng=18)
    model = simulate(Head(inst.arms, 4000, (0.2, 1.2), plan=plan("multivariate_testing")), env)
    np.testing.assert_allclose(model.predict(2.0 * inst.arms, clip=False), 4.0 * model.unclipped)
    np.testing.assert_array_equal(model.predict(inst.arms[::-1]), model.variances[::-1])
    with pytest.raises(UnidentifiableError, match=r"arms\[1\] is not determined.*8 of 28"):
        model.predict(np.vstack([inst.arms[3], np.eye(7)[1]]))
    with pytest.raises(InputError, match="entries each"):
        model.predict(np.eye(3))


def test_error_bounds_where_they_apply_and_refusals_where_not():
    inst = instance("experiment_2")
    bounds = (0.2, 1.0)
    env = LinearEnvironment(inst.arms, inst.theta, Sigma=inst.Sigma, rng=19)
    kinds = (Head, UniformEstimator, SeparateArmEstimator)
    head, uniform, separate = (simulate(e(inst.arms, 5000, bounds, rng=1), env) for e in kinds)
    assert head.error_bound(0.05).shape == (6,)
    assert np.all(head.error_bound(0.01) > head.error_bound(0.1))
    assert np.all(head.error_bound(0.05) < head.error_bound(0.05, "paper"))
    assert np.ptp(separate.error_bound(0.05)) == 0
    with pytest.raises(InputError, match="does not split its samples"):
        uniform.error_bound(0.05)
    with pytest.raises(InputError, match="kind is 'best'"):
        head.error_bound(0.05, "best")
    for model in (head, separate):
        for delta in (0.0, 1.0, -1.0, float("nan")):
            with pytest.raises(InputError, match="delta"):
                model.error_bound(delta)
    for estimator in (Head, SeparateArmEstimator):
        with pytest.raises(InputError, match="needs variance_bounds"):
            simulate(estimator(inst.arms, 5000), env).error_bound(0.05)


def test_frames_and_plots():
    inst = instance("experiment_2")
    env = LinearEnvironment(inst.arms, inst.theta, Sigma=inst.Sigma, rng=20)
    named = pd.DataFrame(inst.arms, index=list("abcdef"), columns=["x", "y", "z"])
    model = simulate(Head(named, 5000, (0.2, 1.0)), env)
    frame = model.to_frame()
    assert frame.index.tolist() == list("abcdef")
    assert frame.pulls.sum() == 5000
    np.testing.assert_array_equal(frame.variance, model.variances)
    ax = model.plot(new_axes(), delta=0.05)
    drawn = next(line for line in ax.lines if line.get_label() == "estimate")
    np.testing.assert_array_equal(drawn.get_ydata(), np.sort(model.variances))
    assert ax.get_ylabel() == "noise variance"
