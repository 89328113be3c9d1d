"""Wrong with probability at most delta: seeded samples for every algorithm, and controls that must fail.

`python validation/identification_promise.py` runs the full counts.
"""

from __future__ import annotations

import numpy as np
import pytest
from worlds import bounds_of, random_world, run_many

import convexdesign as cd
from convexdesign.instances import experiment_1, experiment_2, multivariate_testing

I = cd.identification  # noqa: E741


def makers(world, delta):
    low, high = bounds_of(world)
    arms, items, objective = world.arms, world.items, world.objective
    known, truth = world.noise_variance, {"theta": world.theta, "noise_variance": world.noise_variance}
    return {
        "rage": lambda: I.Rage(arms, items, objective, delta, (low, high)),
        "hrage": lambda: I.HRage(arms, items, objective, delta, (low, high)),
        "adaptive": lambda: I.HRage(arms, items, objective, delta, (low / 9, high * 9), burn_in="adaptive"),
        "known": lambda: I.HRage(arms, items, objective, delta, known_variances=known),
        "static": lambda: I.StaticAllocation(arms, items, objective, delta, known_variances=known),
        "oracle": lambda: I.OracleAllocation(arms, items, objective, delta, **truth),
        "homoskedastic oracle": lambda: I.OracleAllocation(
            arms, items, objective, delta, **truth, heteroskedastic=False
        ),
        "martingale": lambda: I.MartingaleElimination(arms, items, objective, delta, (low / 9, high * 9)),
    }


NAMES = tuple(makers(random_world("best-arm", 0), 0.05))


def errors(results, truth):
    assert all(r.status is I.AnswerStatus.IDENTIFIED for r in results)
    return sum(r.answer != truth for r in results)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", [experiment_1, experiment_2, multivariate_testing])
def test_few_errors_on_the_experiments(make, name):
    """10 runs of each objective at delta = .05: P(Bin(20, .05) > 5) < 0.04 %."""
    wrong = 0
    for objective in ("best-arm", "level-set"):
        world = make(objective=objective)
        wrong += errors(run_many(makers(world, 0.05)[name], world, 10), world.answer)
    assert wrong <= 5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_few_errors_on_random_worlds(kind, name):
    """24 runs at delta = .2: P(Bin(24, .2) > 12) < 0.1 %."""
    wrong = 0
    for seed in range(8):
        world = random_world(kind, seed=300 + seed, least_gap=0.1)
        wrong += errors(run_many(makers(world, 0.2)[name], world, 3), world.answer)
    assert wrong <= 12


class Starved(I.HRage):
    """H-RAGE with known variances and a twentieth of the samples: a control that must break the promise."""

    def _plan(self):
        plan = super()._plan()
        return plan if isinstance(plan, I.AnswerStatus) else np.ceil(plan / 20.0)


@pytest.mark.parametrize("make", [experiment_1, multivariate_testing])
def test_a_twentieth_of_the_samples_breaks_the_promise(make):
    """At delta = .05, 60 runs: more than 10 errors have probability below 0.02 % if the promise held."""
    world = make()
    results = run_many(lambda: Starved(world.arms, delta=0.05, known_variances=world.noise_variance), world, 60)
    assert sum(r.answer != world.answer for r in results) > 10


@pytest.mark.filterwarnings("ignore::convexdesign.identification.GuaranteeWarning")
def test_bets_on_a_twentieth_of_the_variance_break_the_promise():
    """As above: evidence that counts twentyfold ends runs after a twentieth of the samples."""
    world = experiment_2()
    known = world.noise_variance / 20.0
    results = run_many(lambda: I.MartingaleElimination(world.arms, known_variances=known), world, 60)
    assert sum(r.answer != world.answer for r in results) > 10


def makers_for_other_noise(world):
    low, high = bounds_of(world)
    world_is, relaxed = (world.arms, world.items, world.objective, 0.2), {"noise": "sub-gaussian"}
    return {
        "rage": lambda: I.Rage(*world_is, (low, high)),
        "hrage": lambda: I.HRage(*world_is, (low, high), **relaxed),
        "adaptive": lambda: I.HRage(*world_is, burn_in="adaptive", **relaxed),
        "known": lambda: I.HRage(*world_is, known_variances=world.noise_variance),
        "martingale": lambda: I.MartingaleElimination(*world_is, **relaxed),
    }


@pytest.mark.parametrize("noise", ["uniform", "symmetric-beta"])
@pytest.mark.parametrize("name", ["rage", "hrage", "adaptive", "known", "martingale"])
def test_strictly_sub_gaussian_noise_keeps_the_promise(noise, name):
    """18 runs at delta = .2 with wide gaps, rewards drawn one by one: P(Bin(18, .2) > 10) < 0.1 %."""
    wrong = 0
    for seed, kind in enumerate(["best-arm", "level-set", "best-arm"]):
        world = random_world(kind, seed=400 + seed, least_gap=0.3, n=6, d=2, m=4)
        wrong += errors(run_many(makers_for_other_noise(world)[name], world, 6, noise), world.answer)
    assert wrong <= 10
