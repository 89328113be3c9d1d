"""Algorithms written elsewhere, in replications and comparison tables beside ours."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

import convexdesign as cd
from convexdesign.estimation import Batch, Observations, least_squares
from convexdesign.instances import soare

I = cd.identification  # noqa: E741
WORLD = soare()


class Uniform:
    """Someone's own: pull every arm `pulls` times, answer the best estimate. Knows nothing of this package's classes."""

    def __init__(self, arms, pulls):
        self.arms, self.pulls, self.found = arms, pulls, None

    @property
    def done(self):
        return self.found is not None

    def ask(self):
        return Batch(0, np.full(len(self.arms), self.pulls))

    def tell(self, batch, observations):
        theta = least_squares(self.arms, observations).theta
        self.found = int(np.argmax(self.arms @ theta))

    def result(self):
        return (self.found,)


def environment(rng):
    return cd.simulation.LinearEnvironment(WORLD.arms, WORLD.theta, WORLD.noise_variance, rng=rng)


def rage(rng):
    return I.Rage(WORLD.arms, variance_bounds=(1, 20), rng=rng)


def uniform(rng):
    return Uniform(WORLD.arms, 2_000)


def guess(rng):
    return Uniform(WORLD.arms, 1)


def test_any_object_can_be_compared():
    table = cd.simulation.compare(
        {"RAGE": rage, "uniform": uniform, "guess": guess}, environment, WORLD.answer, 20, lower_bound=1132.0
    ).set_index("algorithm")
    assert table.loc["RAGE", "errors"] == 0
    assert table.loc["uniform", "mean_samples"] == 6_000
    assert table.loc["uniform", "standard_error"] == 0.0
    assert table.loc["uniform", "times_lower_bound"] == pytest.approx(6_000 / 1132)
    # One pull of each arm tells nothing: right about half the time. P(Bin(20, .3) < 1) < 0.1 %.
    assert table.loc["guess", "errors"] >= 1
    assert (table["error_high"] > table["error_rate"]).all()


def test_rows_are_the_same_on_any_number_of_workers():
    one = cd.simulation.comparison_rows({"RAGE": rage, "uniform": uniform}, environment, WORLD.answer, 4)
    with joblib.parallel_config(backend="threading"):
        two = cd.simulation.comparison_rows({"RAGE": rage, "uniform": uniform}, environment, WORLD.answer, 4, n_jobs=2)
    assert one.equals(two)
    assert one.columns[0] == "algorithm"


def test_undecided_is_neither_right_nor_wrong():
    def stopped(rng):
        return I.Rage(WORLD.arms, variance_bounds=(1, 20), max_samples=10)

    row = cd.simulation.compare({"stopped": stopped}, environment, WORLD.answer, 3).iloc[0]
    assert (row["errors"], row["undecided"], row["mean_samples"]) == (0, 3, 0.0)
    with pytest.raises(cd.InputError, match=r"algorithms is \{\}"):
        cd.simulation.compare({}, environment, WORLD.answer, 3)


def test_replicate_records_identification_results():
    frame = cd.simulation.replicate(rage, environment, 3)
    assert {"answer", "status", "samples", "burn_in_samples", "rounds"} <= set(frame.columns)
    assert frame["answer"].tolist() == [(0,)] * 3
    assert frame["status"].tolist() == ["IDENTIFIED"] * 3


def test_clopper_pearson_upper_end():
    import pandas as pd
    from scipy.stats import binom

    rows = pd.DataFrame(
        {"algorithm": "a", "samples": 1, "correct": [False] * 3 + [True] * 17, "undecided": False, "status": "X"}
    )
    table = cd.simulation.comparison_table(rows)
    assert binom.cdf(3, 20, table.loc[0, "error_high"]) == pytest.approx(0.025)


def test_observations_count_what_was_pulled():
    world = cd.simulation.Pulls(environment(np.random.default_rng(0)))
    assert isinstance(world.pull(np.array([1, 2, 3])), Observations)
    assert world.samples == 6
