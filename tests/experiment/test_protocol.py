"""Ask and tell on a log: the same run as without one, in any parts, over any number of openings."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from worlds import bounds_of, random_world

import convexdesign as cd
from convexdesign.experiment import Phase, check

I = cd.identification  # noqa: E741
BEST, LEVEL = random_world("best-arm", seed=4), random_world("level-set", seed=2)
MAKERS = {
    "rage": lambda w: I.Rage(w.arms, w.items, w.objective, variance_bounds=bounds_of(w), rng=0),
    "hrage": lambda w: I.HRage(w.arms, w.items, w.objective, variance_bounds=bounds_of(w), epsilon=0.3, rng=0),
    "adaptive": lambda w: I.HRage(w.arms, w.items, w.objective, burn_in="adaptive", max_samples=10**7, rng=0),
    "known": lambda w: I.HRage(w.arms, w.items, w.objective, known_variances=w.noise_variance, noise="sub-gaussian"),
    "static": lambda w: I.StaticAllocation(w.arms, w.items, w.objective, variance_bounds=bounds_of(w), design="g"),
    "oracle": lambda w: I.OracleAllocation(
        w.arms, w.items, w.objective, theta=w.theta, noise_variance=w.noise_variance, heteroskedastic=False
    ),
    "martingale": lambda w: I.MartingaleElimination(w.arms, w.items, w.objective, delta=0.1),
}


def environment(world):
    return cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=1)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("world", [BEST, LEVEL], ids=["best-arm", "level-set"])
def test_a_run_over_many_openings_is_a_run_like_any_other(path, name, world):
    """Opened again after every single step, it answers right (false alarm: delta), and never forgets."""
    cd.Experiment.create(path, MAKERS[name](world)).close()
    env, digests = environment(world), []
    while True:
        with cd.Experiment.open(path) as x:
            if digests:
                assert x.digest() == digests[-1]
            if x.done:
                result = x.result()
                break
            batch = x.ask()
            digests.append(x.digest())
        with cd.Experiment.open(path) as x:
            assert x.ask().counts.tolist() == batch.counts.tolist()
            result = x.tell(batch.id, env.pull(batch.counts))
            assert result.complete
            digests.append(x.digest())
    assert result.answer == world.answer
    assert len(set(digests)) == len(digests)
    assert cd.experiment.check(path).problems == ()
    with cd.Experiment.open(path) as x:
        assert x.result() == result


def test_simulate_drives_it(x, env):
    result = cd.simulation.simulate(x, env)
    assert result.answer == (0,)
    assert result.status is I.AnswerStatus.IDENTIFIED
    state = x.status()
    assert state.phase is Phase.DONE
    assert state.survivors == (0,)
    assert state.pulls_told == result.samples
    assert state.progress == 1.0
    with pytest.raises(cd.InputError, match="done and asks for nothing more"):
        x.ask()


def test_asking_twice_gives_one_batch(x):
    first = x.ask()
    assert x.ask() is first
    assert first.id == 0
    assert sum(event.kind.value == "asked" for event in x.events()) == 1


def test_results_come_in_parts(x, rewards):
    batch = x.ask()
    arms, values, keys = rewards(batch)
    half = arms.size // 2
    result = x.tell(batch.id, arms=arms[:half], rewards=values[:half], keys=keys[:half])
    assert (result.accepted, result.repeated, result.pulls) == (half, 0, half)
    assert result.outstanding == arms.size - half
    assert not result.complete
    state = x.status()
    assert (state.phase, state.batch, state.told, state.outstanding) == (Phase.WAITING, 0, half, arms.size - half)
    assert state.progress == half / arms.size
    assert x.ask().id == 0
    assert not x.done
    with pytest.raises(cd.InputError, match=rf"results of {arms.size - half} pulls are awaited"):
        x.result()
    rest = cd.estimation.Observations.from_rewards(3, arms[half:], values[half:])
    assert x.tell(batch, observations=rest, key="the rest").complete
    whole = cd.estimation.Observations.from_rewards(3, arms, values)
    aggregated = x.transcript()["steps"][0]["folded"]
    assert aggregated["count"] == whole.count[aggregated["arms"]].tolist()
    np.testing.assert_allclose(aggregated["mean"], whole.mean[aggregated["arms"]], rtol=1e-12)
    np.testing.assert_allclose(aggregated["m2"], whole.m2[aggregated["arms"]], rtol=1e-12)
    assert x.status().phase is Phase.READY
    assert x.ask().id == 1


def test_two_that_hold_the_same_experiment_see_the_same(path, x, rewards):
    with cd.Experiment.open(path) as other:
        batch = x.ask()
        assert other.ask().counts.tolist() == batch.counts.tolist()
        arms, values, keys = rewards(batch)
        for k, (arm, value, key) in enumerate(zip(arms[:10], values[:10], keys[:10])):
            (x if k % 2 else other).tell(0, arms=[arm], rewards=[value], keys=[key])
        assert x.status() == other.status()
        assert x.digest() == other.digest()
        assert x.status().told == 10


def test_equal_logs_ask_for_equal_batches(tmp_path, rewards):
    """ask is a function of the log: whatever process or object asks, and however it came there."""
    digests = set()
    for name, reopen in (("a", False), ("b", True)):
        path = tmp_path / f"{name}.db"
        x = cd.Experiment.create(path, MAKERS["martingale"](BEST).__class__(BEST.arms, BEST.items, rng=0))
        env = environment(BEST)
        for _ in range(4):
            if x.done:
                break
            batch = x.ask()
            x.tell(batch, env.pull(batch.counts))
            if reopen:
                x.close()
                x = cd.Experiment.open(path)
        assert x.status().rounds > 1
        digests.add(x.digest())
        x.close()
    assert len(digests) == 1


def test_contradicted_assumptions_void_the_guarantee_and_say_so(path):
    world = cd.instances.soare(kappa=2.0)
    loud = cd.simulation.LinearEnvironment(world.arms, world.theta, noise_variance=400.0, rng=0)
    with cd.Experiment.create(path, I.Rage(world.arms, variance_bounds=(1.0, 2.0))) as x:
        batch = x.ask()
        x.tell(batch, loud.pull(batch.counts))
        with pytest.warns(I.GuaranteeWarning, match="not between 0 and 2"):
            x.ask()
        x.ask()  # says it once
        assert x.status().void
        assert x.status().guarantee.startswith("void: ")
    with cd.Experiment.open(path) as x:
        assert x.status().void


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ({"epsilon": 10.0}, "is wrong by more than 10 with", "is wrong by more than 10 with"),
        ({"max_samples": 1}, "is wrong with probability at most 0.05", "there is no answer; what was eliminated"),
        ({"budget": 20}, "if the budget of 20 measurements is spent first", "a best guess; the p-value of its"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_the_guarantee_is_what_the_status_is_worth(path, options, before, after):
    world = cd.instances.soare(kappa=2.0)
    env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0)
    make = I.MartingaleElimination if "budget" in options else I.Rage
    with cd.Experiment.create(path, make(world.arms, variance_bounds=(1.0, 2.0), **options)) as x:
        assert before in x.status().guarantee
        result = cd.simulation.simulate(x, env)
        assert after in x.status().guarantee
        if result.p_value is not None:
            assert f"wrong is {result.p_value:.3g}, if rewards have" in x.status().guarantee
            assert x.status().p_value == result.p_value


BOUNDED = (
    "rewards have means x'theta and independent Gaussian noise of variances up to {} (or sub-Gaussian noise with such"
)
RESTS = {
    BOUNDED.format("2"): lambda arms: I.Rage(arms, variance_bounds=(1.0, 2.0)),
    BOUNDED.format("3"): lambda arms: I.StaticAllocation(arms, variance_bounds=(1.0, 3.0)),
    BOUNDED.format("the known ones"): lambda arms: I.HRage(arms, known_variances=2.0),
    "rewards have means x'theta and independent Gaussian noise of any variances": I.MartingaleElimination,
    "independent strictly sub-Gaussian noise of variances up to 2": lambda arms: I.MartingaleElimination(
        arms, variance_bounds=(1.0, 2.0), noise="sub-gaussian"
    ),
    "independent Gaussian noise of variances x'Sigma x between 1 and 2": lambda arms: I.HRage(
        arms, variance_bounds=(1.0, 2.0)
    ),
    "strictly sub-Gaussian noise of variances x'Sigma x": lambda arms: I.HRage(
        arms, burn_in="adaptive", noise="sub-gaussian"
    ),
    "theta is the one given, and rewards": lambda arms: I.OracleAllocation(arms, theta=[1.0, 0.0], noise_variance=1.0),
}


@pytest.mark.parametrize("assumption", RESTS, ids=range(len(RESTS)))
def test_every_promise_says_what_it_rests_on(path, assumption):
    algorithm = RESTS[assumption](cd.instances.soare().arms)
    assert assumption in algorithm.assumption
    with cd.Experiment.create(path, algorithm) as x:
        state = x.status()
        assert state.assumption == algorithm.assumption
        assert state.guarantee == f"the answer is wrong with probability at most 0.05, if {algorithm.assumption}"


def test_results_say_what_they_rest_on_however_old_the_store(path, algorithm, env):
    with cd.Experiment.create(path, algorithm) as x:
        result = cd.simulation.simulate(x, env)
        assert result.assumption == algorithm.assumption
        finished = x.events()[-1].body["result"]
        assert "assumption" not in finished  # older versions can read it
        assert x.status().guarantee.endswith(f"if {result.assumption}")


LIMITED = {
    "martingale": lambda arms, n: I.MartingaleElimination(arms, variance_bounds=(1.0, 2.0), budget=n),
    "rage": lambda arms, n: I.Rage(arms, variance_bounds=(1.0, 2.0), max_samples=n),
    "burn-in": lambda arms, n: I.HRage(arms, variance_bounds=(1.0, 2.0), max_samples=n),
    "adaptive": lambda arms, n: I.HRage(arms, burn_in="adaptive", max_samples=n),
}


@pytest.mark.parametrize(
    ("make", "limit"), [("martingale", 200), ("rage", 3000), ("burn-in", 9000), ("adaptive", 9000)]
)
@pytest.mark.parametrize("lost", ["missing", "some", "withdrawn", "amended"])
def test_limits_count_what_was_asked_for(path, make, limit, lost):
    """Whatever becomes of it: results that go missing and are asked for again, rounds that are set aside."""
    world = cd.instances.soare(kappa=2.0)
    arms = np.vstack([world.arms, world.arms[:1]]) if lost == "withdrawn" else world.arms
    variance = np.append(world.noise_variance, 1.0)[: len(arms)]
    with cd.Experiment.create(path, LIMITED[make](arms, limit)) as x:
        steps = 0
        while not x.done:
            batch = x.ask()
            steps += 1
            env = cd.simulation.LinearEnvironment(arms, world.theta, variance, rng=steps)
            if lost in ("missing", "some") and steps % 3 == 0 and steps < 20:
                if lost == "missing" or batch.total < 2:
                    x.mark_missing(batch)
                else:
                    x.mark_missing(batch, arms=[int(np.argmax(batch.counts))], counts=[1])
                    x.tell(batch, env.pull(x.outstanding()), key=f"rest-{batch.id}")
                continue
            if lost == "withdrawn" and steps == 2:
                x.withdraw([int(np.argmax(batch.counts[[0, 3]])) * 3])
                if x.open_batch is None:
                    continue
            x.tell(batch, env.pull(batch.counts))
            if lost == "amended" and steps == 1:
                first = batch
            if lost == "amended" and steps == 3 and not x.done:
                x.amend(f"batch-{first.id}", observations=env.pull(first.counts), set_aside=True)
        state, result = x.status(), x.result()
        asked = sum(sum(event.body["pulls"]) for event in x.events() if event.kind.value == "asked")
        assert asked == state.pulls_asked <= limit
        assert result.samples <= asked
    assert check(path).problems == ()


def test_result_opens_no_batch(x):
    with pytest.raises(cd.InputError, match="next batch is due; call ask"):
        x.result()
    assert (x.open_batch, x.status().events) == (None, 1)


def test_an_experiment_of_another_process_is_opened_again(x):
    x._store._owner += 1
    with pytest.raises(cd.StoreError, match="opened by another process"):
        x.ask()


def test_threads_may_share_it(x):
    from concurrent.futures import ThreadPoolExecutor

    x.ask()
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda k: x.tell(0, arms=[0], rewards=[float(k)], keys=[f"k{k}"]).accepted, range(40)))
    assert told == [1] * 40
    assert x.status().told == 40


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_many_that_ask_at_once_are_given_one_batch(path, x):
    asking = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with cd.Experiment.open(path) as mine:
                    code = 0 if mine.ask().id == 0 else 2
            finally:
                os._exit(code)
        asking.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in asking] == [0] * 4
    assert [event.kind.value for event in x.events()] == ["created", "asked"]


def test_changes_together_are_all_made_or_none(x):
    x.ask()
    before = x.digest()

    def one_good_one_bad():
        with x.together():
            x.tell(0, arms=[0], rewards=[1.0], keys=["a"])
            x.tell(0, arms=[9], rewards=[1.0], keys=["b"])

    with pytest.raises(cd.InputError, match="unknown"):
        one_good_one_bad()
    assert x.digest() == before
    with pytest.raises(cd.InputError, match="dry run"), x.together():
        x.tell(0, arms=[0], rewards=[1.0], keys=["a"], dry_run=True)
    with x.together():
        for k in range(3):
            x.tell(0, arms=[0], rewards=[1.0], keys=[f"k{k}"])
        assert x.status().told == 3
    assert x.status().told == 3
    assert x.outstanding().sum() == x.status().outstanding
    assert (x.open_batch, x.batch_told("k1"), x.batch_told("a")) == (0, 0, None)
