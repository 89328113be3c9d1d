"""Bad input: refused with a reason, and a refused tell changes nothing."""

from __future__ import annotations

import copy
import re
import warnings

import numpy as np
import pytest
from worlds import bounds_of, play, random_world

import convexdesign as cd

I = cd.identification  # noqa: E741
WORLD = random_world("best-arm", seed=9)
ARMS, ITEMS, BOUNDS = WORLD.arms, WORLD.items, bounds_of(WORLD)

MAKERS = {
    "rage": lambda **k: I.Rage(ARMS, ITEMS, **{"variance_bounds": BOUNDS} | k),
    "hrage": lambda **k: I.HRage(ARMS, ITEMS, **{"variance_bounds": BOUNDS} | k),
    "adaptive": lambda **k: I.HRage(ARMS, ITEMS, burn_in="adaptive", **k),
    "static": lambda **k: I.StaticAllocation(ARMS, ITEMS, **{"variance_bounds": BOUNDS} | k),
    "oracle": lambda **k: I.OracleAllocation(ARMS, ITEMS, theta=WORLD.theta, noise_variance=WORLD.noise_variance, **k),
    "martingale": lambda **k: I.MartingaleElimination(ARMS, ITEMS, **{"variance_bounds": BOUNDS} | k),
}
every_algorithm = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@every_algorithm
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, float("nan"), "0.05", None, True])
def test_delta_is_a_probability(make, delta):
    with pytest.raises(cd.InputError, match="delta is"):
        make(delta=delta)


@every_algorithm
@pytest.mark.parametrize("epsilon", [-1.0, float("inf"), float("nan"), "a"])
def test_epsilon_is_a_distance(make, epsilon):
    with pytest.raises(cd.InputError, match="epsilon is"):
        make(epsilon=epsilon)


@every_algorithm
@pytest.mark.parametrize("limit", [0, -5, 1.5, float("inf"), "many", True])
def test_max_samples_is_a_number_of_pulls(make, limit):
    with pytest.raises(cd.InputError, match="max_samples is"):
        make(max_samples=limit)


@every_algorithm
def test_objectives_are_objectives(make):
    with pytest.raises(cd.InputError, match="give BestArm"):
        make(objective="best-arm")


@pytest.mark.parametrize("name", ["rage", "hrage", "static", "martingale"])
@pytest.mark.parametrize("bounds", [(2.0, 1.0), (-1.0, 1.0), (1.0, float("inf")), (1.0,), "ab", (0.0, 0.0)])
def test_bounds_that_cross_or_make_no_sense(name, bounds):
    with pytest.raises(cd.InputError, match="variance_bounds"):
        MAKERS[name](variance_bounds=bounds)


def test_bounds_that_are_needed():
    for name in ("rage", "hrage", "static"):
        with pytest.raises(cd.InputError, match="needs variance_bounds"):
            MAKERS[name](variance_bounds=None)
    with pytest.raises(cd.InputError, match="needs a positive lower bound"):
        MAKERS["hrage"](variance_bounds=(0.0, 1.0))
    with pytest.raises(cd.InputError, match="burn_in is 'short'"):
        MAKERS["hrage"](burn_in="short")
    with pytest.raises(cd.InputError, match="noise is 'cauchy'"):
        MAKERS["hrage"](noise="cauchy")
    with pytest.raises(cd.InputError, match=r"known_variances\[2\] is -1"):
        I.HRage(ARMS, known_variances=[1, 1, -1, 1, 1, 1, 1, 1])
    with pytest.raises(cd.InputError, match="give theta and noise_variance"):
        I.OracleAllocation(ARMS)


@pytest.mark.parametrize("name", MAKERS)
def test_items_outside_the_range_of_the_arms_are_named(name):
    flat = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    makers = {
        "rage": lambda *a: I.Rage(*a, variance_bounds=(1, 1)),
        "hrage": lambda *a: I.HRage(*a, variance_bounds=(1, 1)),
        "adaptive": lambda *a: I.HRage(*a, burn_in="adaptive"),
        "static": lambda *a: I.StaticAllocation(*a, variance_bounds=(1, 1)),
        "oracle": lambda *a: I.OracleAllocation(*a, theta=[1, 0, 0], noise_variance=1.0),
        "martingale": lambda *a: I.MartingaleElimination(*a),
    }
    with pytest.raises(cd.UnidentifiableError, match="item"):
        makers[name](flat, [[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]], I.BestArm(), 0.05)
    with pytest.raises(cd.UnidentifiableError, match="item"):
        makers[name](flat, [[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]], I.LevelSet(0.5), 0.05)
    # Differences within the range are enough to find the best item.
    raised = [[1.0, 0.0, 7.0], [0.0, 1.0, 7.0]]
    makers[name](flat, raised, I.BestArm(), 0.05)
    with pytest.raises(cd.UnidentifiableError):
        makers[name](flat, raised, I.LevelSet(0.5), 0.05)


def test_best_item_among_items_that_only_differ_within_the_range():
    flat = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    raised = np.array([[1.0, 0.0, 7.0], [0.0, 1.0, 7.0]])
    world = cd.instances.Instance(flat, raised, np.array([0.2, 0.9, 3.0]), None, np.ones(3), I.BestArm())
    for algorithm in (
        I.Rage(flat, raised, variance_bounds=(1, 1)),
        I.MartingaleElimination(flat, raised, variance_bounds=(0.5, 2)),
    ):
        assert play(algorithm, world, 0).answer == (1,)


def state(algorithm):
    """All that an observer can see, and the open batch."""
    frame = algorithm.to_frame().to_dict("list")
    standing = algorithm.partition
    batch = algorithm.ask()
    places = tuple(x.tolist() for x in (standing.undecided, standing.above, standing.below))
    return repr(frame), places, algorithm.samples, batch.id, batch.counts.tolist()


def told(batch, **changes):
    """Fitting observations of a batch, with some fields changed."""
    fields = {"count": batch.counts.copy(), "mean": np.ones(batch.counts.size), "m2": np.maximum(batch.counts - 1.0, 0)}
    return cd.estimation.Observations(**fields | changes)


@every_algorithm
def test_a_refused_tell_changes_nothing(make):
    algorithm = make()
    environment = cd.simulation.LinearEnvironment(ARMS, WORLD.theta, WORLD.noise_variance, rng=0)
    for _ in range(3):
        if algorithm.done:
            break
        batch = algorithm.ask()
        assert algorithm.ask() is batch
        before = state(algorithm)
        counts = batch.counts
        pulled = int(np.argmax(counts))
        fewer, more = counts.copy(), counts.copy()
        fewer[pulled] -= 1
        more[pulled] += 1
        refusals = [
            (batch, told(batch, count=fewer), f"arm {pulled} was pulled"),
            (batch, told(batch, count=more), f"arm {pulled} was pulled"),
            (batch.id + 1, told(batch), f"batch {batch.id} is open"),
            (batch, "rewards", "must be Observations"),
            (batch, cd.estimation.Observations.empty(counts.size + 1), "observations are of"),
        ]
        if np.any(counts == 0):
            unasked = counts.copy()
            unasked[int(np.flatnonzero(counts == 0)[0])] = 3
            refusals.append((batch, told(batch, count=unasked), "was pulled 3 times"))
        for number, observations, message in refusals:
            with pytest.raises(cd.InputError, match=message):
                algorithm.tell(number, observations)
            assert state(algorithm) == before
        with pytest.raises(cd.InputError, match="is nan"):
            algorithm.tell(batch, told(batch, mean=np.full(counts.size, np.nan)))
        assert state(algorithm) == before
        with pytest.raises(cd.InputError, match="is not done"):
            algorithm.result()
        algorithm.tell(batch, environment.pull(counts))
        with pytest.raises(cd.InputError, match="no batch of"):
            algorithm.tell(batch, told(batch))


@every_algorithm
def test_a_run_is_a_function_of_what_it_is_told(make):
    """Copies in mid-run that are told the same end the same."""
    algorithm = make()
    first = cd.simulation.LinearEnvironment(ARMS, WORLD.theta, WORLD.noise_variance, rng=4)
    batch = algorithm.ask()
    algorithm.tell(batch, first.pull(batch.counts))
    twin, second = copy.deepcopy(algorithm), copy.deepcopy(first)
    assert cd.simulation.simulate(algorithm, first) == cd.simulation.simulate(twin, second)


@pytest.mark.parametrize("name", ["rage", "hrage", "static", "martingale"])
def test_rewards_that_deny_the_bounds_void_the_guarantee(name):
    """Noise variances a thousand times the upper bound; a false alarm has probability 1e-6."""
    algorithm = MAKERS[name](variance_bounds=(1e-3, 2e-3))
    environment = cd.simulation.LinearEnvironment(ARMS, WORLD.theta, WORLD.noise_variance * 1e3, rng=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cd.simulation.simulate(algorithm, environment)
    # Said once, and the run goes on.
    assert [w.category for w in caught] == [I.GuaranteeWarning]
    assert re.search("guarantee is void.*VARIANCES", str(caught[0].message))


def test_noise_that_is_no_quadratic_form_is_no_fault_of_the_bounds():
    """Variances 1, 1, 9, 9 of e1, e2, e1 + e2 and e1 - e2: x'Sigma x has as much on the diagonals as on the axes, twice."""
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    environment = cd.simulation.LinearEnvironment(arms, [1.0, 0.8], [1.0, 1.0, 9.0, 9.0], rng=1)
    with pytest.warns(I.GuaranteeWarning) as caught:
        cd.simulation.simulate(I.HRage(arms, variance_bounds=(0.5, 10.0)), environment)
    (message,) = (str(w.message) for w in caught)
    assert "wider bounds" not in message
    assert re.search("void: .*x'Sigma x.*MartingaleElimination.*known_variances", message)
    # With bounds that are too narrow for the burn-in already, they are the first thing to look at.
    with pytest.warns(I.GuaranteeWarning, match="give wider bounds"):
        cd.simulation.simulate(I.HRage(arms, variance_bounds=(0.01, 0.02)), environment)
    with pytest.warns(I.GuaranteeWarning, match="correct the known VARIANCES"):
        cd.simulation.simulate(I.HRage(arms, known_variances=0.01), environment)


def test_rewards_below_the_lower_bound_and_wrong_known_variances():
    environment = cd.simulation.LinearEnvironment(ARMS, WORLD.theta, WORLD.noise_variance, rng=1)
    for algorithm in (
        MAKERS["hrage"](variance_bounds=(50 * BOUNDS[1], 60 * BOUNDS[1])),
        I.HRage(ARMS, ITEMS, known_variances=WORLD.noise_variance * 9.0),
        I.HRage(ARMS, ITEMS, known_variances=WORLD.noise_variance / 9.0),
    ):
        with pytest.warns(I.GuaranteeWarning):
            cd.simulation.simulate(algorithm, environment)


def test_noise_that_is_no_quadratic_form_is_noticed():
    """Arms with phi of lower rank than their number, and a variance that no Sigma explains."""
    arms = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0.0, 2.8, 8)])
    variance = np.ones(8)
    variance[4] = 30.0
    world = cd.instances.Instance(arms, arms.copy(), np.array([1.0, 0.1]), None, variance, I.BestArm())
    algorithm = I.HRage(arms, variance_bounds=(1.0, 30.0))
    with pytest.warns(I.GuaranteeWarning):
        play(algorithm, world, 0)


@every_algorithm
def test_right_assumptions_raise_no_warning(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(3):
            play(make(), WORLD, seed)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("mapped", [False, True])
def test_what_becomes_of_the_arrays_later_changes_nothing(monkeypatch, tmp_path, large, mapped):
    """Large arrays too, which problems do not copy."""
    if large:
        monkeypatch.setattr("convexdesign.arms.read.COPY_BELOW", 1)
        monkeypatch.setattr("convexdesign.identification.identifier.COPY_BELOW", 1)
    arms, items = np.array(ARMS, dtype=float), np.array(ITEMS, dtype=float)
    if mapped:
        np.save(tmp_path / "arms.npy", arms)
        arms = np.load(tmp_path / "arms.npy", mmap_mode="r+")
    algo = I.MartingaleElimination(arms, items)
    arms[:], items[:] = 7.0, 7.0
    assert np.array_equal(algo.arms, ARMS)
    assert np.array_equal(algo.items, ITEMS)
    assert not algo.arms.flags.writeable
