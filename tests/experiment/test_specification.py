"""Algorithms as data: rebuilt, they ask for the same, whatever they were made of."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from worlds import bounds_of, random_world

import convexdesign as cd
from convexdesign.algorithms import ALGORITHMS
from convexdesign.experiment.specification import algorithm_from, describe

I = cd.identification  # noqa: E741
WORLD = random_world("level-set", seed=2)
COMMON = (WORLD.arms, WORLD.items, WORLD.objective, 0.1)
BOUNDS = bounds_of(WORLD)

ALL = [
    I.Rage(*COMMON, variance_bounds=BOUNDS, epsilon=0.25, max_samples=10**9, rng=7),
    I.HRage(*COMMON, variance_bounds=BOUNDS, burn_in="released", noise="sub-gaussian"),
    I.HRage(*COMMON, burn_in="adaptive"),
    I.HRage(*COMMON, known_variances=WORLD.noise_variance),
    I.HRage(*COMMON, known_variances=2.0),
    I.MartingaleElimination(*COMMON),
    I.MartingaleElimination(*COMMON, variance_bounds=(0.0, 5.0), noise="sub-gaussian"),
    I.MartingaleElimination(*COMMON, known_variances=WORLD.noise_variance, epsilon=0.1, budget=5_000),
    I.StaticAllocation(*COMMON, variance_bounds=BOUNDS, design="g"),
    I.StaticAllocation(*COMMON, known_variances=WORLD.noise_variance),
    I.OracleAllocation(*COMMON, WORLD.theta, WORLD.noise_variance, heteroskedastic=False, epsilon=0.1),
]


@pytest.mark.parametrize("algorithm", ALL, ids=lambda a: type(a).__name__)
def test_a_described_algorithm_is_the_same_algorithm(algorithm):
    description = json.loads(json.dumps(describe(algorithm), allow_nan=False))
    again = algorithm_from(description)
    assert type(again) is type(algorithm)
    assert describe(again) == description
    assert again.arms.tolist() == algorithm.arms.tolist()
    assert again.items.tolist() == algorithm.items.tolist()
    assert repr(again) == repr(algorithm)
    assert again.rng.bit_generator.state == algorithm.rng.bit_generator.state
    assert again.ask().counts.tolist() == algorithm.ask().counts.tolist()


def test_every_algorithm_is_covered():
    assert {type(a) for a in ALL} == {line.cls for line in ALGORITHMS.values()}


def test_a_store_that_was_given_both_limits_ends_at_the_smaller_one_with_a_guess():
    """Budgets were once allowed beside max_samples; the smaller was kept as max_samples."""
    description = describe(I.MartingaleElimination(*COMMON, budget=5_000))
    old = algorithm_from(description | {"max_samples": 300})
    assert (old.budget, old.max_samples) == (300, 300)


def test_names_and_single_precision_come_through():
    frame = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}, index=["left", "right"])
    again = algorithm_from(describe(I.Rage(frame, variance_bounds=(1, 1))))
    assert again.arm_rows.names == ("left", "right")
    assert again.arm_rows.columns == ("a", "b")
    assert again.item_rows is again.arm_rows
    single = I.Rage(np.eye(2, dtype=np.float32) / 3, variance_bounds=(1, 1))
    assert algorithm_from(describe(single)).arms.tolist() == single.arms.tolist()


def test_arms_that_are_not_those_of_their_digest_are_noticed():
    description = describe(ALL[0])
    description["arms"]["values"][0][0] += 1.0
    with pytest.raises(cd.DamagedStoreError, match="not those of its digest"):
        algorithm_from(description)


def test_other_generators_are_kept_too():
    algorithm = I.Rage(*COMMON, variance_bounds=BOUNDS, rng=np.random.Generator(np.random.MT19937(3)))
    description = json.loads(json.dumps(describe(algorithm)))
    assert algorithm_from(description).rng.random() == algorithm.rng.random()


def test_an_algorithm_of_the_future_is_refused():
    with pytest.raises(cd.InputError, match="'h-h-rage' is unknown to this version"):
        algorithm_from(describe(ALL[0]) | {"algorithm": "h-h-rage"})
    description = describe(ALL[0])
    description["options"]["colour"] = "blue"
    with pytest.raises(cd.InputError, match="has colour, unknown to this version"):
        algorithm_from(description)


def test_arms_beyond_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr("convexdesign.experiment.specification.MOST_NUMBERS", 3)
    with pytest.raises(cd.InputError, match="a store takes up to 3"):
        describe(ALL[0])


def test_a_store_from_before_margins_keeps_the_fixed_one():
    algorithm = cd.identification.HRage([[1.0, 0.0], [0.0, 1.0]], variance_bounds=(0.5, 1.0))
    specification = describe(algorithm)
    assert algorithm_from(specification).margin == "achieved"
    specification["options"].pop("margin")
    assert algorithm_from(specification).margin == "fixed"


WRITTEN = {
    "h-rage": {"burn_in": "released", "known_variances": None, "noise": "sub-gaussian", "margin": "fixed"},
    "rage": {},
    "martingale": {"known_variances": [0.5, 0.25], "noise": "gaussian", "budget": None},
    "static": {"known_variances": None, "design": "g"},
    "oracle": {"theta": [1.0, 0.5], "noise_variance": [0.5, 0.25], "heteroskedastic": False},
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_stores_have_written_so_far_is_read_and_written_again_as_it_was(kind):
    """Names and options of format 1, which stores of other versions hold."""
    written = describe(cd.identification.Rage(np.eye(2), variance_bounds=(0.25, 0.5), epsilon=0.1, rng=7))
    options = WRITTEN[kind] | ({} if kind == "oracle" else {"variance_bounds": [0.25, 0.5]})
    specification = json.loads(json.dumps(written | {"algorithm": kind, "options": options, "max_samples": 500}))
    again = algorithm_from(specification)
    assert json.loads(json.dumps(describe(again))) == specification
