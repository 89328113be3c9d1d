"""More or fewer results than asked for: used where the proof allows, by numbers that were said before the values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.experiment import Phase, check
from convexdesign.identification.evidence import SCALES, log_wealth

I = cd.identification  # noqa: E741
ARMS = np.eye(3)
MEANS = np.array([0.0, 0.3, 1.0])


def martingale(path, **options):
    return cd.Experiment.create(path, I.MartingaleElimination(ARMS, rng=0, **options))


@pytest.fixture
def env():
    return cd.simulation.LinearEnvironment(ARMS, MEANS, noise_variance=1.0, rng=1)


def other(counts, rng):
    """Numbers that a traffic splitter might give in place of these."""
    return np.maximum(rng.poisson(counts), 1)


def test_whatever_arrives_counts(path, env):
    rng = np.random.default_rng(0)
    came = []
    with martingale(path) as x:
        while not x.done:
            batch = x.ask()
            came.append(other(batch.counts, rng))
            x.tell(batch, env.pull(came[-1]), key=f"day-{batch.id}", as_arrived=True)
        state, transcript = x.status(), x.transcript()
        assert x.result().answer == (2,)
    total = np.sum(came, axis=0)
    assert state.pulls_told == state.pulls_asked == total.sum()
    assert state.arrivals == len(came)
    assert "chance or a clock decided how many results came" in state.guarantee
    folded = [step["folded"]["count"] for step in transcript["steps"]]
    assert folded == [list(counts) for counts in came]
    assert check(path).problems == ()
    with cd.Experiment.open(path) as again:
        assert again.result().answer == (2,)
        assert again.transcript() == transcript


@pytest.mark.parametrize("algorithm", ["rage", "h-rage"])
def test_where_fewer_are_no_use_those_that_are_short_are_asked_for_again(path, env, algorithm):
    made = {
        "rage": lambda: I.Rage(ARMS, variance_bounds=(1.0, 1.0), rng=0),
        "h-rage": lambda: I.HRage(ARMS, variance_bounds=(1.0, 1.0), burn_in="replicates", rng=0),
    }
    rng = np.random.default_rng(0)
    short = more = 0
    with cd.Experiment.create(path, made[algorithm]()) as x:
        while not x.done:
            batch = x.ask()
            # The numbers of a burn-in cannot be exceeded.
            burning = getattr(x._replay.follow(x._ledger), "variances", ()) is None
            came = rng.binomial(batch.counts, 0.9) if burning else other(batch.counts, rng)
            told = x.tell(batch, env.pull(came), key=f"day-{batch.id}", as_arrived=True)
            missing = np.maximum(batch.counts - came, 0)
            assert told.complete == (not missing.any())
            short, more = short + missing.sum(), more + np.maximum(came - batch.counts, 0).sum()
            if missing.any():
                np.testing.assert_array_equal(x.ask().counts, missing)
        assert x.result().answer == (2,)
        assert "went missing whatever the values were" in x.status().guarantee
        assert "chance or a clock" in x.status().guarantee
    assert short > 0
    assert more > 0
    assert check(path).problems == ()


def test_an_algorithm_told_these_numbers_decides_the_same(path, env):
    """The experiment is the algorithm whose batches had the numbers that arrived."""
    rng = np.random.default_rng(2)
    told = []
    with martingale(path) as x:
        for _ in range(3):
            batch = x.ask()
            observed = env.pull(other(batch.counts, rng))
            x.tell(batch, observed, key=f"{batch.id}", as_arrived=True)
            told.append(observed)
        state, steps = x.status(), x.transcript()["steps"]
    alone = I.MartingaleElimination(ARMS, rng=0)
    for observed, step in zip(told, steps):
        alone.load_state_dict(step["memory"], observed.count)
        alone.tell(alone.ask(), observed)
    assert state.p_value == alone.p_value
    assert state.survivors == tuple(alone.partition.undecided)


def test_numbers_may_be_said_first_and_results_come_in_parts(path, env):
    with martingale(path) as x:
        batch = x.ask()
        part = env.pull([5, 0, 0])
        x.tell(batch, part, key="first")
        wanted = batch.counts + [7, 0, -2]
        state = x.arrived(batch, wanted, reason="the splitter ran for an hour more")
        assert state.outstanding == wanted.sum() - 5
        assert x.outstanding().tolist() == (wanted - part.count).tolist()
        with pytest.raises(cd.InputError, match="now"):
            x.tell(batch, env.pull(wanted), key="too many")
        x.tell(batch, env.pull(wanted - part.count), key="rest")
        assert x.status().phase is Phase.READY
        assert x.status().rounds == 1
        assert "the splitter ran" in x.events()[-3].text


def test_fewer_may_complete_a_batch_at_once(path, env):
    with martingale(path) as x:
        batch = x.ask()
        x.tell(batch, env.pull([20, 20, 20]), key="all")
        x.mark_missing(batch, arms=[0], counts=[1])
        state = x.arrived(batch, [20, 20, 20])
        assert (state.phase, state.pulls_missing, state.pulls_asked) == (Phase.READY, 0, 60)
        assert x.ask().id == 1


def test_told_again_nothing_changes(path, env):
    with martingale(path) as x:
        batch = x.ask()
        observed = env.pull(batch.counts + 3)
        x.tell(batch, observed, key="all", as_arrived=True)
        before = x.digest()
        again = x.tell(batch, observed, key="all", as_arrived=True)
        assert (again.accepted, again.repeated) == (0, 1)
        assert x.digest() == before
        with pytest.raises(cd.InputError, match="not open"):
            x.tell(batch, env.pull([1, 0, 0]), key="late", as_arrived=True)


def test_a_dry_run_records_nothing(path, env):
    with martingale(path) as x:
        batch = x.ask()
        before = x.digest()
        tried = x.tell(batch, env.pull([50, 60, 70]), key="all", as_arrived=True, dry_run=True)
        assert tried.complete
        assert x.digest() == before


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([2, 9, 9], "5 results of batch 0 were told, 2 cannot be all"),
        ([9, 9], "shape"),
        ([9, -1, 9], "counts"),
        ([9, 0.5, 9], "whole numbers"),
    ],
)
def test_what_cannot_have_arrived(path, env, counts, message):
    with martingale(path) as x:
        batch = x.ask()
        x.tell(batch, env.pull([5, 0, 0]), key="a")
        before = x.digest()
        with pytest.raises(cd.InputError, match=message):
            x.arrived(batch, counts)
        assert x.digest() == before


def test_a_batch_without_any_result_is_missing(path):
    with martingale(path) as x, pytest.raises(cd.InputError, match="no result at all"):
        x.arrived(x.ask(), [0, 0, 0])


def test_nothing_more_of_an_arm_that_was_withdrawn(path, env):
    with martingale(path) as x:
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts * [1, 0, 0]), key="a")
        x.withdraw([0], anyway=True)
        with pytest.raises(cd.InputError, match="arm 0 is withdrawn"):
            x.arrived(batch, batch.counts + [1, 0, 0])


def test_rage_takes_more_but_not_fewer(x):
    world = cd.instances.soare(kappa=2.0)
    env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=5)
    batch = x.ask()
    fewer = batch.counts - (batch.counts > 1)
    with pytest.raises(cd.InputError, match="at least the pulls that were asked for"):
        x.arrived(batch, fewer)
    x.tell(batch, env.pull(batch.counts + 5), key="a", as_arrived=True)
    assert x.status().rounds == 1
    assert cd.simulation.simulate(x, env).answer == (0,)


def test_a_burn_in_takes_its_own_numbers_alone(path):
    world = cd.instances.experiment_2(omega=0.3)
    env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0)
    with cd.Experiment.create(path, I.HRage(world.arms, variance_bounds=(0.2, 1.0))) as x:
        batch = x.ask()
        with pytest.raises(cd.InputError, match="error bounds of the burn-in"):
            x.tell(batch, env.pull(batch.counts + 1), key="a", as_arrived=True)
        while x._replay.follow(x._ledger).variances is None:
            batch = x.ask()
            x.tell(batch, env.pull(batch.counts))
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts + 1), key="more", as_arrived=True)
        assert x.ask().id > batch.id


@pytest.mark.parametrize("limit", ["budget", "max_samples"])
def test_limits_count_all_that_was_asked_for_and_what_arrived(path, env, limit):
    """Missing ones, those set aside, and a surplus: what is told and what was lost never exceed the limit."""
    arms = np.vstack([ARMS, np.ones(3)])
    env = cd.simulation.LinearEnvironment(arms, MEANS, noise_variance=1.0, rng=1)
    with cd.Experiment.create(path, I.MartingaleElimination(arms, ARMS, **{limit: 400})) as x:
        batch = x.ask()
        x.mark_missing(batch, arms=[0], counts=[3])
        x.tell(batch, env.pull(batch.counts - [3, 0, 0, 0]), key="a")
        again = x.ask()
        assert again.total == 3
        x.tell(again, env.pull(again.counts + [20, 0, 0, 0]), key="b", as_arrived=True)
        assert x.status().pulls_asked == batch.total + 23
        batch = x.ask()
        x.withdraw([0])  # the open round is set aside
        while not x.done:
            batch = x.ask()
            x.tell(batch, env.pull(batch.counts), key=f"c{batch.id}")
        state = x.status()
        lost = state.pulls_missing + state.pulls_set_aside
        assert state.pulls_told + lost <= state.pulls_asked <= 400
        asked = [sum(e.body["pulls"]) for e in x.events() if e.kind.value == "asked"]
        assert sum(asked) + 20 == state.pulls_asked


# ------------------------------------------------------------------ the chance rule


def wealth(rewards, scale=1.0):
    """Against a mean of at most 1/2, of rewards of variance 1/4 taken together: what one round is worth."""
    precision = 4.0 * len(rewards)
    M = precision * (np.mean(rewards) - 0.5)
    return float(np.exp(log_wealth(np.array([M]), np.array([precision]), scale * SCALES[:, None] * 4.0)[0]))


def test_numbers_decided_by_chance_keep_the_promise_and_numbers_decided_by_values_do_not():
    """Coins, which are strictly sub-Gaussian, enumerated: one reward or up to nine."""
    outcomes = list(product((0.0, 1.0), repeat=9))
    by_chance = np.mean([0.5 * wealth(rewards[:1]) + 0.5 * wealth(rewards) for rewards in outcomes])
    assert by_chance <= 1.0

    # In hindsight: as many as look best.
    chosen = [max(wealth(rewards[:k]) for k in range(1, 10)) for rewards in outcomes]
    assert np.mean(chosen) > 1.05


def test_the_mean_of_one_or_two_by_value_is_biased_as_the_page_says():
    """Stop after a first Gaussian reward above zero, else take a second: the mean is off by s/(2 sqrt(2 pi))."""
    # E[Y1; Y1 > 0] + E[Y1; Y1 <= 0]/2, as the second reward has mean zero; the density's integral in closed form.
    y = np.linspace(0.0, 12.0, 200_001)
    half = np.sum(y * np.exp(-(y**2) / 2.0)) * y[1] / np.sqrt(2.0 * np.pi)
    assert half - half / 2.0 == pytest.approx(1.0 / (2.0 * np.sqrt(2.0 * np.pi)), rel=1e-6)


def test_more_pulls_never_make_an_estimate_worse():
    """For RAGE: Cov of least squares with bounds U >= s² as weights is at most the inverse of A(c), for counts N >= c."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        X = rng.standard_normal((5, 3))
        c = rng.integers(1, 6, 5)
        N = c + rng.integers(0, 6, 5)
        U = rng.uniform(0.5, 2.0, 5)
        s2 = U * rng.uniform(0.1, 1.0, 5)
        A = (X.T * (N / U)) @ X
        covariance = np.linalg.inv(A) @ ((X.T * (N * s2 / U**2)) @ X) @ np.linalg.inv(A)
        promised = np.linalg.inv((X.T * (c / U)) @ X)
        assert np.linalg.eigvalsh(promised - covariance).min() > -1e-12


def test_observations_are_those_of_all_parts(path, env):
    """A surplus told row by row, in any order, adds up to the same bits."""
    digests = set()
    for order in (1, -1):
        own = path.with_name(f"order{order}.db")
        with martingale(own) as x:
            batch = x.ask()
            arms = np.repeat(np.arange(3), batch.counts + [4, 0, 1])
            rewards = np.sin(np.arange(arms.size))
            keys = [f"k{k}" for k in range(arms.size)]
            x.arrived(batch, np.bincount(arms))
            for k in range(arms.size)[::order]:
                x.tell(batch, arms=[arms[k]], rewards=[rewards[k]], keys=[keys[k]])
            digests.add(x.digest())
            folded = x.transcript()["steps"][0]["folded"]
        whole = Observations.from_rewards(3, arms, rewards)
        assert folded["count"] == whole.count.tolist()
        assert folded["mean"] == pytest.approx(whole.mean.tolist())
    assert len(digests) == 1
