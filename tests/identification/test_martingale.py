"""Elimination with test martingales: evidence by a second way, predictability, p-values, and what it saves."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import bounds_of, play, random_world, run_many

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.identification.evidence import SCALES, SHARES, Bets, Evidence, log_wealth
from convexdesign.instances import experiment_1, experiment_2

I = cd.identification  # noqa: E741


def some_rounds(rng, arms, rounds=5):
    """Counts, rewards and upper bounds of a few rounds."""
    n = arms.shape[0]
    for _ in range(rounds):
        counts = rng.integers(1, 30, n)
        upper = rng.uniform(0.5, 4.0, n)
        yield (
            Observations(counts, rng.standard_normal(n), rng.chisquare(np.maximum(counts - 1, 1)) * (counts > 1)),
            upper,
        )


def test_evidence_is_that_of_plain_matrices():
    rng = np.random.default_rng(0)
    arms, directions = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    evidence, bets = Evidence(arms), Bets(4)
    M, V = np.zeros(4), np.zeros(4)
    first, best = None, np.zeros(4)
    for observed, upper in some_rounds(rng, arms):
        summary = evidence.add(observed, upper)
        p = observed.count / upper
        A = arms.T @ (p[:, None] * arms)
        theta = np.linalg.solve(A, arms.T @ (p * observed.mean))
        v = np.einsum("ij,jk,ik->i", directions, np.linalg.inv(A), directions)
        estimates, precision = summary.of(evidence.space.coordinates(directions))
        np.testing.assert_allclose(estimates, directions @ theta, rtol=1e-9)
        np.testing.assert_allclose(precision, 1.0 / v, rtol=1e-9)
        bets.add(estimates + 0.25, precision)
        first = 1.0 / v if first is None else first
        M += (directions @ theta + 0.25) / v
        V += 1.0 / v
        best = np.maximum(best, log_wealth(M, V, SCALES[:, None] * first, SHARES))
    np.testing.assert_allclose(bets.M, M, rtol=1e-9)
    np.testing.assert_allclose(bets.V, V, rtol=1e-9)
    np.testing.assert_allclose(bets.best, best, rtol=1e-9)
    np.testing.assert_allclose(evidence.log_wealth(directions, 0.25), best, rtol=1e-9)
    # As if the bets had begun later.
    assert np.all(evidence.log_wealth(directions, 0.25, since=5) == 0.0)
    np.testing.assert_allclose(
        bets.log_wealth(-0.25), log_wealth(M - 0.25 * V, V, SCALES[:, None] * first, SHARES), rtol=1e-9
    )


def test_directions_may_change_from_round_to_round():
    """Rounds without a bet (a direction of length zero) change nothing; scales are those of the first bet."""
    arms = np.eye(2)
    evidence, bets = Evidence(arms), Bets(2)
    M, V = np.zeros(2), np.zeros(2)
    for k, (mean, count) in enumerate([((1.0, 0.5), (4, 4)), ((0.2, 0.6), (8, 8)), ((0.9, 0.1), (20, 5))]):
        summary = evidence.add(Observations(count, mean, (1.0, 1.0)), np.ones(2))
        leader = (0, 0, 1)[k]
        directions = arms[leader] - arms
        bets.add(*summary.of(evidence.space.coordinates(directions)))
        other = 1 - leader
        precision = 1.0 / (1.0 / count[0] + 1.0 / count[1])
        M[other] += (mean[leader] - mean[other]) * precision
        V[other] += precision
    np.testing.assert_allclose(bets.M, M)
    np.testing.assert_allclose(bets.V, V)
    np.testing.assert_allclose(bets.first, [4.0, 2.0])


def test_rounds_bet_on_what_they_cover_alone():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    evidence, alone = Evidence(arms), Evidence(np.array([[1.0]]))
    upper = np.array([1.0, np.inf, 1.0])
    for counts in ([5, 0, 0], [5, 5, 0]):  # of the second arm no variance is known
        evidence.add(Observations(counts, [1.0, 0.0, 0.0], [4.0, 0.0, 0.0]), upper)
        alone.add(Observations([5], [1.0], [4.0]), np.ones(1))
    wealth = evidence.log_wealth(np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    assert wealth == pytest.approx([alone.log_wealth(np.array([[1.0]]))[0], 0.0, 0.0, 0.0])
    assert wealth[0] > 1.0
    assert evidence.add(Observations([0, 5, 0], [1.0, 0.0, 0.0], [4.0, 0.0, 0.0]), upper) is None
    # Arms that span a subspace are worked with in it.
    flat = Evidence(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]]))
    summary = flat.add(Observations([5, 5], [1.0, 2.0], [4.0, 4.0]), np.ones(2))
    assert summary.of(flat.space.coordinates(np.array([[1.0, 2.0, 0.0]])))[1] == pytest.approx(25.0)


@pytest.mark.parametrize("noise", ["gaussian", "sub-gaussian"])
def test_what_bets_rest_on_is_known_before_the_rewards_they_count(noise):
    """Two runs with equal rewards up to round k have equal counts, leaders and weights in round k, whatever its rewards."""
    world = random_world("best-arm", seed=3)
    low, high = bounds_of(world)

    def run(change_at, mean, squares):
        algorithm = I.MartingaleElimination(world.arms, world.items, variance_bounds=(low / 5, 5 * high), noise=noise)
        environment = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=5)
        trail = []
        while not algorithm.done and len(trail) < 6:
            batch, leader = algorithm.ask(), algorithm.state_dict()["leader"]
            observed = environment.pull(batch.counts)
            if len(trail) == change_at:
                observed = Observations(observed.count, observed.mean + mean, observed.m2 * squares)
            algorithm.tell(batch, observed)
            spreads = [summary.factor.tolist() for summary in algorithm.evidence.summaries]
            trail.append((batch.counts.tolist(), leader, spreads))
        return trail

    shift = np.linspace(-5.0, 5.0, 8)
    plain = run(None, 0.0, 1.0)
    for k in (1, 2):
        other_means, other_squares = run(k, shift, 1.0), run(k, 0.0, 0.25)
        assert other_means[: k + 1] == plain[: k + 1]
        assert other_means[k + 1 :] != plain[k + 1 :]
        assert other_squares[k][:2] == plain[k][:2]
        assert other_squares[k][2] == plain[k][2]


def test_first_batch_chooses_the_leader_before_any_bet():
    world = random_world("best-arm", seed=4)
    algorithm = I.MartingaleElimination(world.arms, world.items)
    assert algorithm.confidence().answer == ()
    batch = algorithm.ask()
    environment = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=5)
    algorithm.tell(batch, environment.pull(batch.counts))
    assert algorithm.p_value == 1.0
    assert algorithm.confidence().answer == (algorithm.state_dict()["leader"],)
    assert not algorithm.confidence().items.any()


@pytest.mark.parametrize("options", ["loose", "none", "known", "sub-gaussian"])
@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_answers_are_right_whatever_is_known_of_the_variances(kind, options):
    """15 runs at delta = .1: P(Bin(15, .1) > 6) < 0.1 %."""
    wrong = 0
    for seed in range(15):
        world = random_world(kind, seed=200 + seed, least_gap=0.1)
        low, high = bounds_of(world)
        keywords = {
            "loose": {"variance_bounds": (low / 100, high * 100)},
            "none": {},
            "known": {"known_variances": world.noise_variance},
            "sub-gaussian": {"variance_bounds": (low, high), "noise": "sub-gaussian"},
        }[options]
        algorithm = I.MartingaleElimination(world.arms, world.items, world.objective, 0.1, **keywords)
        result = play(algorithm, world, seed)
        assert result.status is I.AnswerStatus.IDENTIFIED
        wrong += result.answer != world.answer
    assert wrong <= 6


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_p_values_of_a_wrong_leader_are_rarely_small(kind):
    """On a tie, or with an item on the threshold, no answer is right: P(p <= .2 at any time) <= .2.
    P(Bin(60, .2) > 22) < 0.1 %."""
    items = np.eye(2)
    theta, objective = (np.ones(2), I.BestArm()) if kind == "best-arm" else (np.array([1.0, 0.5]), I.LevelSet(0.5))
    small = 0
    for seed in range(60):
        algorithm = I.MartingaleElimination(items, items, objective, 0.1, max_samples=3_000)
        environment = cd.simulation.LinearEnvironment(items, theta, noise_variance=[1.0, 2.0], rng=seed)
        cd.simulation.simulate(algorithm, environment)
        small += min(r.p_value for r in algorithm.rounds) <= 0.2
    assert small <= 22


def test_p_value_falls_below_delta_when_the_answer_is_found():
    world = random_world("best-arm", seed=6)
    algorithm = I.MartingaleElimination(world.arms, world.items, delta=0.05, variance_bounds=bounds_of(world))
    result = play(algorithm, world, 0)
    assert result.status is I.AnswerStatus.IDENTIFIED
    assert algorithm.rounds[-1].p_value <= 0.05 + 1e-12
    assert algorithm.to_frame()["p_value"].iloc[-1] == algorithm.p_value


@pytest.mark.parametrize("make", [experiment_1, experiment_2])
def test_fewer_samples_than_rage_and_hrage_on_the_experiments(make):
    world = make()
    low, high = bounds_of(world)
    bound = I.lower_bound(world.arms, None, world.theta, world.objective, world.noise_variance, 0.05)
    martingale = run_many(lambda: I.MartingaleElimination(world.arms, variance_bounds=(low / 10, high * 10)), world, 5)
    rage = run_many(lambda: I.Rage(world.arms, variance_bounds=(low, high)), world, 5)
    mean = np.mean([r.samples for r in martingale])
    assert bound < mean < 9.0 * bound
    assert 3.0 * mean < np.mean([r.samples for r in rage])
