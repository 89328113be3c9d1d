"""Replications: the same rows on one, two or four workers and on Dask; failures that can be run again."""

import contextlib
import io
import os
from dataclasses import dataclass
from enum import Enum

import joblib
import numpy as np
import pandas as pd
import pytest

from convexdesign.errors import InputError
from convexdesign.estimation import Observations, SeparateArmEstimator, UniformEstimator
from convexdesign.simulation import (
    LinearEnvironment,
    ReplicationError,
    replicate,
    replicate_one,
    replication_seed,
    run_replications,
    simulate,
)

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


def algorithm(rng):
    return UniformEstimator(ARMS, 500, rng=rng)


def environment(rng):
    return LinearEnvironment(ARMS, [1.0, 2.0], noise_variance=[1.0, 2.0, 3.0], rng=rng)


def test_simulate_drives_to_the_end_and_returns_the_result():
    estimator = SeparateArmEstimator(ARMS, 300)
    model = simulate(estimator, environment(0))
    assert estimator.done
    assert model is estimator.result()


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_rows_do_not_depend_on_the_number_of_workers(n_jobs):
    alone = replicate(algorithm, environment, 9, n_jobs=1, seed=5)
    pd.testing.assert_frame_equal(replicate(algorithm, environment, 9, n_jobs=n_jobs, seed=5), alone, check_exact=True)
    assert alone.replication.tolist() == list(range(9))
    assert alone.max_absolute_error.nunique() == 9
    assert set(alone.columns) == {"replication", "seed", "estimator", "samples", "max_absolute_error"}


def test_rows_are_the_same_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    alone = replicate(algorithm, environment, 6, seed=6)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        on_dask = replicate(algorithm, environment, 6, n_jobs=None, seed=6)
        # They did run elsewhere: the workers' processes are not this one.
        workers = run_replications(lambda k: {"pid": os.getpid()}, 6, n_jobs=None).pid
    pd.testing.assert_frame_equal(on_dask, alone, check_exact=True)
    assert os.getpid() not in set(workers)


def test_seeds_are_spawned_children_and_differ_between_runs_and_seeds():
    spawned = np.random.SeedSequence(7).spawn(4)
    for k, child in enumerate(spawned):
        assert replication_seed(7, k).generate_state(4).tolist() == child.generate_state(4).tolist()
    few, many = replicate(algorithm, environment, 3, seed=7), replicate(algorithm, environment, 5, seed=7)
    pd.testing.assert_frame_equal(few, many[:3])
    assert not np.any(replicate(algorithm, environment, 3, seed=8).max_absolute_error == few.max_absolute_error)
    for seed in (-1, 1.5, None, True):
        with pytest.raises(InputError, match="seed"):
            replication_seed(seed, 0)


def test_algorithm_and_environment_draw_from_different_generators():
    drawn = {}

    def remember(name, make):
        def made(rng):
            drawn[name] = rng.random()
            return make(rng)

        return made

    replicate(remember("algorithm", algorithm), remember("environment", environment), 1)
    assert drawn["algorithm"] != drawn["environment"]


def fragile(rng):
    if rng.random() < 0.2:
        raise ZeroDivisionError("no luck")
    return environment(rng)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_names_its_seed_and_runs_again_alone(n_jobs):
    with pytest.raises(
        ReplicationError, match=r"replication \d+ of seed 3 failed: ZeroDivisionError: no luck"
    ) as caught:
        replicate(algorithm, fragile, 30, n_jobs=n_jobs, seed=3)
    failed = caught.value
    with pytest.raises(ReplicationError) as again:
        replicate_one(algorithm, fragile, failed.replication, failed.seed)
    assert isinstance(again.value.__cause__, ZeroDivisionError)
    assert (again.value.replication, again.value.seed) == (failed.replication, 3)


def test_one_replication_alone_is_the_row_of_the_whole():
    whole = replicate(algorithm, environment, 4, seed=9)
    assert replicate_one(algorithm, environment, 2, seed=9) == whole.iloc[2].to_dict()


def test_progress_is_shown_only_when_asked_for():
    for progress in (False, True):
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            replicate(algorithm, environment, 3, progress=progress)
        assert ("3/3" in shown.getvalue()) == progress


@pytest.mark.parametrize("replications", [0, -1, 1.5, True])
def test_the_number_of_replications_is_checked(replications):
    with pytest.raises(InputError, match="replications"):
        replicate(algorithm, environment, replications)


def test_record_decides_what_a_row_holds():
    rows = replicate(
        algorithm,
        environment,
        2,
        record=lambda model, env: {"first": model.variances[0], "truth": env.noise_variance[0]},
    )
    assert rows.columns.tolist() == ["replication", "seed", "first", "truth"]
    assert rows.truth.tolist() == [1.0, 1.0]


class Verdict(Enum):
    FOUND = "found"


@dataclass(frozen=True)
class Answer:
    answer: tuple[int, ...]
    status: Verdict
    samples: int
    table: object


class Guess:
    done = False

    def ask(self):
        from convexdesign.estimation import Batch

        return Batch(0, np.array([1, 0, 0]))

    def tell(self, batch, observations):
        assert isinstance(observations, Observations)
        self.done = True

    def result(self):
        return Answer((2,), Verdict.FOUND, 1, object())


def test_any_algorithm_with_the_protocol_gives_a_row_of_its_plain_fields():
    row = replicate_one(lambda rng: Guess(), environment, 0)
    assert row == {"replication": 0, "seed": 0, "answer": (2,), "status": "FOUND", "samples": 1}
