"""Stopping whenever one likes: confidence of the best guess and of every item, budgets, epsilon, and taking a run up again."""

from __future__ import annotations

import json

import numpy as np
import pytest
from worlds import bounds_of, play, random_world

import convexdesign as cd
from convexdesign.identification.objectives import ItemPartition

I = cd.identification  # noqa: E741
STATUS = I.AnswerStatus


def steps(algorithm, world, seed, most=30):
    """The algorithm after each of its first rounds."""
    environment = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=seed)
    while not algorithm.done and len(algorithm.rounds) < most:
        batch = algorithm.ask()
        algorithm.tell(batch, environment.pull(batch.counts))
        yield algorithm


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_confidence_agrees_with_what_was_decided(kind):
    world = random_world(kind, seed=11)
    algorithm = I.MartingaleElimination(world.arms, world.items, world.objective, 0.1, bounds_of(world))
    assert algorithm.confidence().answer_confidence == 0.0
    last, led = np.zeros(world.items.shape[0]), []
    for _ in steps(algorithm, world, 3, most=100):
        sure = algorithm.confidence()
        assert np.all((sure.items >= 0.0) & (sure.items <= 1.0 - algorithm.delta_v))
        assert sure.answer_confidence == pytest.approx(1.0 - algorithm.p_value)
        assert sure.answer_confidence == pytest.approx(sure.items.min())
        if kind == "best-arm":
            (leader,) = sure.answer
            gone = np.setdiff1d(np.arange(last.size), algorithm.partition.undecided)
            assert leader in algorithm.partition.undecided
            assert np.all(sure.items[gone] >= 1.0 - algorithm.delta - 1e-12)
            # Evidence that an item is not the best is never taken back.
            rest = np.setdiff1d(np.arange(last.size), [leader, *led])
            assert np.all(sure.items[rest] >= last[rest])
            led.append(leader)
        else:
            assert set(algorithm.partition.above) <= set(sure.answer)
            placed = np.concatenate([algorithm.partition.above, algorithm.partition.below])
            assert np.all(sure.items[placed] >= 1.0 - algorithm.delta - 1e-12)
        last = sure.items
    result = algorithm.result()
    assert result.status is STATUS.IDENTIFIED
    assert result.answer == algorithm.confidence().answer == world.answer
    assert result.p_value == pytest.approx(algorithm.p_value)
    assert result.p_value <= 0.1 + 1e-12


def test_confidence_does_not_depend_on_the_delta_that_ends_the_run():
    """With known variances the p-values of a round are those of the same data at any delta (best arm)."""
    world = random_world("best-arm", seed=12)
    known = world.noise_variance
    strict = I.MartingaleElimination(world.arms, world.items, world.objective, 0.001, known_variances=known)
    for _ in steps(strict, world, 1, most=3):
        pass
    loose = I.MartingaleElimination(world.arms, world.items, world.objective, 0.9, known_variances=known)
    loose._bets, loose._below, loose._leader, loose._fit = strict._bets, strict._below, strict._leader, strict._fit
    np.testing.assert_allclose(loose.confidence().items, strict.confidence().items)


def test_no_item_is_wrongly_called_sure_at_any_time():
    """60 runs at a = .25 on ties, looked at after every round: P(Bin(60, .25) > 26) < 0.1 %."""
    wrong = 0
    arms = np.eye(2)
    world = cd.instances.Instance(arms, arms, np.ones(2), None, np.array([1.0, 3.0]), I.BestArm())
    for seed in range(60):
        algorithm = I.MartingaleElimination(arms, arms, delta=0.01, max_samples=2_000)
        looks = [a.confidence() for a in steps(algorithm, world, seed)]
        # Item 0 is a best item: it may not be ruled out.
        wrong += any(look.items[0] >= 0.75 and look.answer == (1,) for look in looks)
    assert wrong <= 26


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
@pytest.mark.parametrize("budget", [7, 40, 400, 2_000])
def test_a_budget_gives_a_best_guess_with_its_p_value(kind, budget, known):
    world = random_world(kind, seed=5)
    variances = {"known_variances": world.noise_variance} if known else {}
    algorithm = I.MartingaleElimination(world.arms, world.items, world.objective, 0.01, budget=budget, **variances)
    result = play(algorithm, world, 1)
    assert result.samples <= budget
    assert result.status in (STATUS.BEST_GUESS, STATUS.IDENTIFIED)
    if result.status is STATUS.BEST_GUESS:
        assert result.samples == budget
        assert result.answer == algorithm.confidence().answer
        assert 0.01 < result.p_value <= 1.0
    if kind == "best-arm":
        assert len(result.answer) == 1


def test_a_larger_budget_is_worth_more():
    world = random_world("best-arm", seed=5)
    mean = []
    for budget in (100, 400, 1_600):
        results = [
            play(I.MartingaleElimination(world.arms, world.items, delta=0.001, budget=budget), world, seed)
            for seed in range(8)
        ]
        mean.append(np.mean([r.p_value for r in results]))
    assert mean[0] > mean[1] > mean[2]


def test_a_budget_and_max_samples_are_limits_and_only_one_is_given():
    world = random_world("best-arm", seed=5)
    make = lambda **k: I.MartingaleElimination(world.arms, world.items, delta=1e-6, **k)  # noqa: E731
    with pytest.raises(cd.InputError, match="max_samples is 300 and budget is 400; give one"):
        make(budget=400, max_samples=300)
    assert play(make(budget=200), world, 0).samples == 200
    assert play(make(max_samples=300), world, 0).status is STATUS.UNDECIDED
    for wrong in (0, -3, 2.5):
        with pytest.raises(cd.InputError):
            make(budget=wrong)


def test_an_epsilon_good_answer_pays_for_every_item_that_led():
    """Of three items within epsilon any is good; a fourth is not. 40 runs at delta = .2: P(Bin(40, .2) > 17) < 0.1 %."""
    arms = np.eye(3)
    items = np.array([[1.0, 0, 0], [0, 1.0, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
    theta = np.array([0.3, 0.32, 0.0])
    wrong, leaders = 0, set()
    for seed in range(40):
        algorithm = I.MartingaleElimination(arms, items, delta=0.2, known_variances=1.0, epsilon=0.1)
        environment = cd.simulation.LinearEnvironment(arms, theta, noise_variance=1.0, rng=seed)
        result = cd.simulation.simulate(algorithm, environment)
        assert result.status in (STATUS.EPSILON_GOOD, STATUS.IDENTIFIED)
        wrong += result.answer == (3,)
        leaders |= set(result.answer)
    assert wrong <= 17
    assert leaders & {0, 1, 2}


@pytest.mark.parametrize("options", [{}, {"epsilon": 0.05}, {"budget": 5_000}, {"noise": "sub-gaussian"}], ids=str)
@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_a_run_taken_up_again_is_equal_to_the_last_bit(kind, options):
    world = random_world(kind, seed=4)
    make = lambda: I.MartingaleElimination(world.arms, world.items, world.objective, **options)  # noqa: E731
    original, record = make(), []
    environment = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=1)
    while not original.done:
        batch = original.ask()
        record.append((batch.counts, json.dumps(original.state_dict()), environment.pull(batch.counts)))
        original.tell(batch, record[-1][2])
    for kept in (len(record) // 2, len(record)):
        again = make()
        for counts, memory, observations in record[:kept]:
            again.tell(again.load_state_dict(json.loads(memory), counts), observations)
        for counts, _, observations in record[kept:]:
            batch = again.ask()
            assert batch.counts.tolist() == counts.tolist()
            again.tell(batch, observations)
        assert again.done
        assert again.result() == original.result()
        assert again.confidence().items.tolist() == original.confidence().items.tolist()
        assert again.evidence.summaries[-1].factor.tolist() == original.evidence.summaries[-1].factor.tolist()


@pytest.mark.parametrize("options", [{}, {"budget": 3_000}], ids=str)
def test_a_durable_experiment_goes_on_as_if_it_had_never_stopped(tmp_path, options):
    world = random_world("best-arm", seed=4)
    make = lambda: I.MartingaleElimination(world.arms, world.items, world.objective, **options)  # noqa: E731

    def run(path, reopen):
        environment = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=9)
        experiment = cd.Experiment.create(path, make())
        trail = []
        while not experiment.done:
            batch = experiment.ask()
            trail.append(batch.counts.tolist())
            experiment.tell(batch.id, observations=environment.pull(batch.counts), key=str(batch.id))
            if reopen:
                experiment.close()
                experiment = cd.Experiment.open(path)
        return trail, experiment.result()

    assert run(tmp_path / "a.db", False) == run(tmp_path / "b.db", True)


@pytest.mark.parametrize("noise", ["gaussian", "sub-gaussian"])
@pytest.mark.parametrize("quiet", [(0,), (0, 1, 2)])
def test_rewards_that_are_all_alike_are_no_proof_of_silence(noise, quiet):
    """Rounded rewards may have no spread at all; then nothing is divided by zero, and nothing is decided wrongly."""
    arms = np.eye(3)
    algorithm = I.MartingaleElimination(arms, arms, delta=0.05, noise=noise, max_samples=5_000, confirm_noise=True)
    rng = np.random.default_rng(0)
    while not algorithm.done:
        batch = algorithm.ask()
        count = batch.counts
        errors = [np.zeros(c) if i in quiet else rng.standard_normal(c) for i, c in enumerate(count)]
        rewards = [np.array([0.5, 0.2, 0.0])[i] + e for i, e in enumerate(errors)]
        m2 = [float(((r - r.mean()) ** 2).sum()) if i not in quiet else 0.0 for i, r in enumerate(rewards)]
        algorithm.tell(batch, cd.estimation.Observations(count, [r.mean() if r.size else 0.0 for r in rewards], m2))
        assert np.all(algorithm.upper_variances > 0)
    assert 0 in algorithm.result().survivors


def test_a_lost_best_item_does_not_leave_a_run_that_never_ends():
    """Made to believe that the best item is not, it still ends: no estimate stays below those of items that tie."""
    arms = np.eye(3)
    world = cd.instances.Instance(arms, arms, np.array([1.0, 0.0, 0.0]), None, np.ones(3), I.BestArm())
    algorithm = I.MartingaleElimination(arms, arms, delta=0.05, known_variances=1.0)
    environment = cd.simulation.LinearEnvironment(arms, world.theta, noise_variance=1.0, rng=0)
    batch = algorithm.ask()
    algorithm.tell(batch, environment.pull(batch.counts))
    algorithm._bets.best[0] = 10.0
    algorithm.partition = ItemPartition(np.array([1, 2]), np.array([], int), np.array([], int))
    result = cd.simulation.simulate(algorithm, environment)
    assert (result.status, result.answer) == (STATUS.IDENTIFIED, (0,))
    assert result.samples < 10_000
