"""The round loop: every number of a round recomputed from the data, stopping rules, and what is shown."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import bounds_of, play, random_world

import convexdesign as cd
from convexdesign.identification.allocations import Allocation, allocate
from convexdesign.problem import DesignProblem

I = cd.identification  # noqa: E741


class Told:
    """An environment that remembers what it told."""

    def __init__(self, world, seed):
        self.world = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=seed)
        self.observations = []

    def pull(self, counts):
        self.observations.append(self.world.pull(counts))
        return self.observations[-1]


def worst_variance(world, weights, variances, directions):
    """max of v'A(w)^-1 v, with a plain inverse."""
    A = world.arms.T @ ((weights / variances)[:, None] * world.arms)
    return np.einsum("ij,jk,ik->i", directions, np.linalg.inv(A), directions).max()


def directions_of(world, undecided):
    Z = world.items[undecided]
    if isinstance(world.objective, I.BestArm):
        return (Z[:, None, :] - Z[None, :, :]).reshape(-1, Z.shape[1])
    return Z


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
@pytest.mark.parametrize("name", ["rage", "known", "fixed", "achieved"])
def test_every_round_is_as_the_formulas_say(kind, name):
    world, delta = random_world(kind, seed=3), 0.1
    low, high = bounds_of(world)
    if name == "rage":
        algorithm = I.Rage(world.arms, world.items, world.objective, delta, (low, high))
        plugged, c = np.full(world.arms.shape[0], high), 2.0
    elif name == "known":
        algorithm = I.HRage(world.arms, world.items, world.objective, delta, known_variances=world.noise_variance)
        plugged, c = world.noise_variance, 2.0
    else:
        algorithm = I.HRage(world.arms, world.items, world.objective, delta, (low, high), "adaptive", margin=name)
        # Estimates that may be off by a factor of 1.5, or upper ends.
        plugged, c = None, {"fixed": 3.0, "achieved": 2.0}[name]
    environment = Told(world, 5)
    cd.simulation.simulate(algorithm, environment)
    if plugged is None:
        plugged = algorithm.variances
    undecided = np.arange(world.items.shape[0])
    placed_above, placed_below = set(), set()
    threshold = getattr(world.objective, "threshold", None)
    told = environment.observations[-len(algorithm.rounds) :]
    for number, (round_, observed) in enumerate(zip(algorithm.rounds, told), start=1):
        assert round_.number == number
        assert round_.accuracy == 2.0**-number
        V = directions_of(world, undecided)
        q = worst_variance(world, round_.weights, plugged, V)
        assert round_.value == pytest.approx(q, rel=1e-9)
        # The sample size: |Z| counts ALL items, also those long gone.
        # The rounds have all of delta where there is no burn-in, else a half.
        share = delta / 2.0 if name in ("fixed", "achieved") else delta
        tau = c * 4.0**number * q * np.log(np.pi**2 * number**2 * world.items.shape[0] / (6.0 * share))
        assert np.all(np.abs(round_.counts - tau * round_.weights) <= 1.0 + 1e-6 * tau)
        assert np.all(round_.counts >= tau * round_.weights * (1.0 - 1e-9))
        # Weighted least squares from this round's rewards alone.
        p = observed.count / plugged
        theta = np.linalg.solve(world.arms.T @ (p[:, None] * world.arms), world.arms.T @ (p * observed.mean))
        np.testing.assert_allclose(round_.estimates, world.items @ theta, atol=1e-8)
        scores = world.items[undecided] @ theta
        if threshold is None:
            undecided = undecided[scores.max() - scores <= 2.0**-number]
        else:
            placed_above |= set(undecided[scores > threshold + 2.0**-number])
            placed_below |= set(undecided[scores < threshold - 2.0**-number])
            undecided = undecided[np.abs(scores - threshold) <= 2.0**-number]
        np.testing.assert_array_equal(round_.survivors, undecided)
        assert set(round_.above) == placed_above
        assert set(round_.below) == placed_below
    result = algorithm.result()
    assert result.status is I.AnswerStatus.IDENTIFIED
    assert result.rounds == len(algorithm.rounds)
    assert result.samples == sum(o.total for o in environment.observations)
    assert result.burn_in_samples == result.samples - sum(o.total for o in told)


def test_design_of_a_round_is_certified_and_close_to_optimal():
    world = random_world("best-arm", seed=1)
    algorithm = I.HRage(world.arms, world.items, world.objective, known_variances=world.noise_variance)
    play(algorithm, world, 0)
    everything = np.arange(world.items.shape[0])
    for before, round_ in zip([everything, *(r.survivors for r in algorithm.rounds)], algorithm.rounds):
        problem = DesignProblem.xy_allocation(world.arms, world.items[before], noise_variance=world.noise_variance)
        check = cd.verify(problem, weights=round_.weights)
        assert check.value == pytest.approx(round_.value, rel=1e-9)
        assert round_.gap <= 1e-3
        assert cd.solve(problem).value >= round_.value / (1.0 + round_.gap) * (1.0 - 1e-9)
        # Caratheodory: at most r(r+1)/2 + 1 arms.
        assert np.count_nonzero(round_.weights) <= 3 * 4 // 2 + 1


def test_an_inexact_design_costs_samples_and_nothing_else(monkeypatch):
    world, n = random_world("best-arm", seed=2), 8
    exact = I.HRage(world.arms, world.items, world.objective, known_variances=world.noise_variance)
    play(exact, world, 0)

    def uniform(problem, tol=0.0, remember=True):
        weights = np.full(n, 1.0 / n)
        at = cd.verify(problem, weights=weights)
        return Allocation(weights, at.value, at.lower_bound)

    class NoDesign(I.HRage):
        def _design(self, variances):
            return uniform(self.objective.allocation(self.arms, self._items, self.partition, variances))

    lazy = NoDesign(world.arms, world.items, world.objective, known_variances=world.noise_variance)
    play(lazy, world, 0)
    first, second = exact.rounds[0], lazy.rounds[0]
    assert second.value > 1.05 * first.value
    assert second.counts.sum() / first.counts.sum() == pytest.approx(second.value / first.value, rel=0.2)
    # The promise of the round is kept by the pulls themselves: worst variance x 2 log(...) <= accuracy².
    for algorithm in (exact, lazy):
        counts = algorithm.rounds[0].counts
        worst = worst_variance(world, counts.astype(float), world.noise_variance, directions_of(world, slice(None)))
        assert 2.0 * worst * np.log(np.pi**2 * world.items.shape[0] / (6.0 * 0.05)) <= 0.25 * (1.0 + 1e-9)


@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_invertible_maps_of_arms_and_items_change_nothing(kind):
    world = random_world(kind, seed=4)
    T = np.array([[2.0, 1.0, 0.0], [0.0, 1e-3, 0.5], [1.0, 0.0, 40.0]])
    plain = I.Rage(world.arms, world.items, world.objective, variance_bounds=bounds_of(world))
    mapped = I.Rage(world.arms @ T, world.items @ T, world.objective, variance_bounds=bounds_of(world))
    first, second = plain.ask().counts, mapped.ask().counts
    assert plain._allocation.value == pytest.approx(mapped._allocation.value, rel=2e-4)
    assert first.sum() == pytest.approx(second.sum(), rel=1e-3, abs=14)


def test_static_allocation_never_changes_its_proportions():
    world = random_world("best-arm", seed=6)
    for design in ("xy", "g"):
        algorithm = I.StaticAllocation(
            world.arms, world.items, world.objective, known_variances=world.noise_variance, design=design
        )
        result = play(algorithm, world, 1)
        assert result.answer == world.answer
        assert all(np.array_equal(r.weights, algorithm.rounds[0].weights) for r in algorithm.rounds)
    bounded = I.StaticAllocation(world.arms, world.items, variance_bounds=bounds_of(world))
    assert play(bounded, world, 1).answer == world.answer
    with pytest.raises(cd.InputError, match="design is 'd'"):
        I.StaticAllocation(world.arms, known_variances=1.0, design="d")


def test_replications_share_designs():
    solved = []
    world = random_world("best-arm", seed=8)

    def make():
        algorithm = I.Rage(world.arms, world.items, world.objective, variance_bounds=bounds_of(world))
        algorithm.set_design_solver(lambda *a, **k: solved.append(1) or allocate(*a, **k))
        return algorithm

    algorithms = [make(), make()]
    for algorithm in algorithms:
        play(algorithm, world, 0)
    assert [r.weights.tolist() for r in algorithms[0].rounds] == [r.weights.tolist() for r in algorithms[1].rounds]
    assert algorithms[0]._allocation is algorithms[1]._allocation
    # No design is asked for while the survivors stay the same.
    changes = 1 + sum(
        a.survivors.size != b.survivors.size for a, b in zip(algorithms[0].rounds[:-1], algorithms[0].rounds[1:-1])
    )
    assert len(solved) <= 2 * (changes + 1)


def test_frames_and_pictures_show_the_rounds():
    world = random_world("level-set", seed=2)
    algorithm = I.HRage(world.arms, world.items, world.objective, known_variances=world.noise_variance)
    play(algorithm, world, 3)
    frame = algorithm.to_frame()
    assert frame["pulls"].cumsum().tolist() == frame["samples"].tolist()
    assert (frame["survivors"] + frame["above"] + frame["below"] == world.items.shape[0]).all()
    axes = algorithm.plot_rounds(ax=cd_axes())
    assert axes.get_xlabel() == "samples"
    heights = axes.get_lines()[0].get_ydata()
    assert heights[0] == world.items.shape[0]
    assert heights[-1] == 0
    assert "IDENTIFIED" in repr(algorithm)


def cd_axes():
    from convexdesign.plotting import new_axes

    return new_axes()
