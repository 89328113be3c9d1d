"""One run of an ask/tell algorithm against a simulated world, and independent replications: one seed each, the same rows
on any number of workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import flag, function, shown, text_of, whole, whole_at_least
from convexdesign.errors import ConvexDesignError, InputError
from convexdesign.estimation.asktell import Batch
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.variance_model import VarianceModel
from convexdesign.simulation.environment import LinearEnvironment
from convexdesign.simulation.pulls import SelfPulling
from convexdesign.simulation.saving import SavedRows

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AsksAndTells",
    "Pullable",
    "ReplicationError",
    "replicate",
    "replicate_one",
    "replication_seed",
    "run_replications",
    "simulate",
]


class AsksAndTells(Protocol):
    """What an algorithm must offer to be simulated."""

    @property
    def done(self) -> bool:
        """Whether there is a result."""

    def ask(self) -> Batch:
        """The batch to measure next.

        Returns
        -------
        Batch
            Anything with `counts`, shape (n_arms,).
        """

    def tell(self, batch: Batch, observations: Observations, /) -> None:
        """Take in what a batch gave.

        Parameters
        ----------
        batch : Batch
            What `ask` returned.
        observations : Observations
            Its rewards, summarised per arm.
        """

    def result(self) -> Any:
        """What was found.

        Returns
        -------
        object
            Whatever the algorithm finds.
        """


class Pullable(Protocol):
    """What a world must offer: rewards for whole numbers of pulls per arm."""

    def pull(self, counts: NDArray[np.int64], /) -> Observations:
        """Rewards for whole numbers of pulls per arm.

        Parameters
        ----------
        counts : array of int64, shape (n_arms,)
            Pulls of each arm.

        Returns
        -------
        Observations
            Counts, means and sums of squares per arm.
        """


def simulate(algorithm: AsksAndTells | SelfPulling, environment: Pullable) -> Any:
    """Ask, pull and tell until the algorithm is done; one that pulls by itself runs to its end.

    Parameters
    ----------
    algorithm : AsksAndTells
        Anything with done, ask, tell and result; or what `PullsItself` makes.
    environment : Pullable
        Anything with pull(counts).

    Returns
    -------
    object
        The algorithm's result.

    Examples
    --------
    >>> import convexdesign as cd
    >>> env = cd.simulation.LinearEnvironment([[1.0], [0.5]], [3.0], noise_variance=[1.0, 0.25], rng=0)
    >>> cd.simulation.simulate(cd.estimation.SeparateArmEstimator(env.arms, 10_000), env).samples
    10000
    """
    itself = isinstance(algorithm, SelfPulling)
    for what, given, parts in (
        ("algorithm", algorithm, () if itself else ("done", "ask", "tell", "result")),
        ("environment", environment, ("pull",)),
    ):
        if isinstance(given, type) or not all(hasattr(given, part) for part in parts):
            raise InputError(f"{what} is {shown(given)}; give an object with {', '.join(parts)}")
    if isinstance(algorithm, SelfPulling):
        return algorithm.to_the_end(environment)
    while not algorithm.done:
        batch = algorithm.ask()
        algorithm.tell(batch, environment.pull(batch.counts))
    return algorithm.result()


MakeAlgorithm = Callable[[np.random.Generator], AsksAndTells | SelfPulling]
MakeEnvironment = Callable[[np.random.Generator], Pullable]
Record = Callable[[Any, Any], Mapping[str, Any]]


# More workers than any machine has processors, more runs than any lifetime; a number beyond is a mistake.
MOST_JOBS = 2**16
MOST_REPLICATIONS = 2**40


class ReplicationError(ConvexDesignError):
    """One replication failed; it can be rerun alone.

    Parameters
    ----------
    replication : int
        Which.
    seed : int
        The seed of all.
    reason : str
        What went wrong.
    """

    def __init__(self, replication: int, seed: int, reason: str) -> None:
        super().__init__(replication, seed, reason)
        self.replication = replication
        self.seed = seed
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"replication {self.replication} of seed {self.seed} failed: {self.reason}; rerun it alone with "
            f"replicate_one(..., replication={self.replication}, seed={self.seed})"
        )


def replicate(
    make_algorithm: MakeAlgorithm,
    make_environment: MakeEnvironment,
    replications: int,
    n_jobs: int | None = 1,
    seed: int = 0,
    progress: bool = False,
    *,
    record: Record | None = None,
    label: str = "replications",
    save: str | PathLike[str] | None = None,
) -> pd.DataFrame:
    """Simulate independent runs; a DataFrame with one row a run, in order.

    A fresh pair is built for every run, with generators of their own, both spawned from SeedSequence(seed): the rows do
    not depend on n_jobs, nor on where they are computed. Runs go through joblib, so `with
    joblib.parallel_config(backend="dask"):` sends them to a Dask cluster.

    Parameters
    ----------
    make_algorithm : callable
        From a generator to a fresh algorithm.
    make_environment : callable
        From a generator to a fresh world.
    replications : int
        How many runs.
    n_jobs : int, optional
        Processes, as joblib counts them; None takes what a joblib context says.
    seed : int
        Of all runs.
    progress : bool
        Show a bar, with the time left.
    record : callable, optional
        From (result, environment) to a mapping that may hold anything; by default the numbers, texts, statuses (by
        name) and tuples among the result's fields, and for a VarianceModel `samples` and `max_absolute_error` against
        the environment's noise_variance.
    label : str
        What the bar is called.
    save : path, optional
        A CSV file that takes every row as it comes, so that a run that is cut off leaves what it had found.

    Returns
    -------
    pandas.DataFrame
        Columns: replication, seed, then what was recorded.

    Raises
    ------
    ReplicationError
        Naming the run that failed; `replicate_one` repeats it alone.

    Examples
    --------
    >>> import convexdesign as cd
    >>> arms = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
    >>> cd.simulation.replicate(
    ...     lambda rng: cd.estimation.UniformEstimator(arms, 1000, rng=rng),
    ...     lambda rng: cd.simulation.LinearEnvironment(arms, [1.0, 2.0], noise_variance=1.0, rng=rng),
    ...     replications=3,
    ... ).samples.tolist()
    [1000, 1000, 1000]
    """

    _check_makers(make_algorithm, make_environment, record)

    def run(replication: int) -> dict[str, Any]:
        return replicate_one(make_algorithm, make_environment, replication, seed, record=record)

    return run_replications(run, replications, n_jobs, progress, label=label, save=save)


def replicate_one(
    make_algorithm: MakeAlgorithm,
    make_environment: MakeEnvironment,
    replication: int,
    seed: int = 0,
    *,
    record: Record | None = None,
) -> dict[str, Any]:
    """The row of one replication, exactly as `replicate` computes it.

    Parameters
    ----------
    make_algorithm : callable
        From a generator to a fresh algorithm.
    make_environment : callable
        From a generator to a fresh world.
    replication : int
        Which run.
    seed : int
        Of all runs.
    record : callable, optional
        As for `replicate`.

    Returns
    -------
    dict
        From column to value.

    Raises
    ------
    ReplicationError
        As for `replicate`, chained to its cause.

    Examples
    --------
    >>> import convexdesign as cd
    >>> row = cd.simulation.replicate_one(
    ...     lambda rng: cd.estimation.UniformEstimator([[1.0], [2.0]], 100, rng=rng),
    ...     lambda rng: cd.simulation.LinearEnvironment([[1.0], [2.0]], [1.0], noise_variance=1.0, rng=rng),
    ...     replication=7,
    ... )
    >>> row["replication"], row["samples"]
    (7, 100)
    """
    _check_makers(make_algorithm, make_environment, record)
    try:
        for_algorithm, for_environment = replication_seed(seed, replication).spawn(2)
        environment = make_environment(np.random.default_rng(for_environment))
        algorithm = make_algorithm(np.random.default_rng(for_algorithm))
        result = simulate(algorithm, environment)
        row = _row(result, environment) if record is None else dict(record(result, environment))
    except Exception as error:
        raise ReplicationError(replication, seed, f"{type(error).__name__}: {error}") from error
    return {"replication": replication, "seed": seed} | row


def replication_seed(seed: int, replication: int) -> np.random.SeedSequence:
    """The SeedSequence of one replication: its child of that number, as SeedSequence(seed) spawns it.

    Parameters
    ----------
    seed : int
        Of all runs.
    replication : int
        Which run.

    Returns
    -------
    numpy.random.SeedSequence
        For a generator of its own.

    Examples
    --------
    >>> replication_seed(3, 1).spawn_key
    (1,)
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed is {shown(seed)}; give a whole number >= 0, so that every replication can be repeated")
    replication = whole_at_least(0, replication, "replication")
    return np.random.SeedSequence(int(seed), spawn_key=(replication,))


def run_replications(
    run: Callable[[int], Mapping[str, Any] | list[dict[str, Any]]],
    replications: int,
    n_jobs: int | None = 1,
    progress: bool = False,
    *,
    label: str = "replications",
    save: str | PathLike[str] | SavedRows | None = None,
) -> pd.DataFrame:
    """run(0), run(1), ... through joblib.

    Parameters
    ----------
    run : callable
        From the number of a run to a row, or to a list of rows.
    replications : int
        How many runs.
    n_jobs : int, optional
        Processes, as joblib counts them; None takes what a joblib context says.
    progress : bool
        Show a bar, with the time left.
    label : str
        What the bar is called.
    save : path, optional
        A CSV file that takes every row as it comes.

    Returns
    -------
    pandas.DataFrame
        The rows in order.

    Examples
    --------
    >>> run_replications(lambda k: {"run": k, "square": k * k}, 3).square.tolist()
    [0, 1, 4]
    """
    import pandas as pd

    function(run, "run")
    replications = whole_at_least(1, replications, "replications")
    if replications > MOST_REPLICATIONS:
        raise InputError(f"replications is {shown(replications)}; give a number that can be run")
    if n_jobs is not None and not 1 <= abs(whole(n_jobs) or 0) <= MOST_JOBS:
        raise InputError(f"n_jobs is {shown(n_jobs)}; give a number of workers, -1 for all processors, or None")
    progress = flag(progress, "progress")
    label = text_of(label, "label")
    if isinstance(save, SavedRows):
        return pd.DataFrame(_rows_of(run, replications, n_jobs, progress, label, save))
    with SavedRows(save) as saved:
        return pd.DataFrame(_rows_of(run, replications, n_jobs, progress, label, saved))


def _rows_of(
    run: Callable[[int], Any], replications: int, n_jobs: int | None, progress: bool, label: str, saved: SavedRows
) -> list[Any]:
    from joblib import Parallel, delayed
    from tqdm import tqdm

    known = saved.known(replications)
    rows: list[Any] = [row for given in known for row in given]
    for row in rows:
        saved.add(row)
    jobs = (delayed(run)(k) for k in range(len(known), replications))
    found = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    for given in tqdm(found, total=replications, initial=len(known), desc=label, disable=not progress):
        new = given if isinstance(given, list) else [given]
        saved.keep(new)
        for row in new:
            saved.add(row)
            rows.append(row)
    return rows


def _check_makers(make_algorithm: Any, make_environment: Any, record: Any) -> None:
    function(make_algorithm, "make_algorithm")
    function(make_environment, "make_environment")
    if record is not None:
        function(record, "record")


def _row(result: Any, environment: Any) -> dict[str, Any]:
    if isinstance(result, VarianceModel):
        row: dict[str, Any] = {"estimator": result.estimator, "samples": result.samples}
        if isinstance(environment, LinearEnvironment):
            row["max_absolute_error"] = float(np.abs(result.variances - environment.noise_variance).max())
        return row
    if not is_dataclass(result):
        return {"result": result}
    given = {field.name: getattr(result, field.name) for field in fields(result)}
    plain = (bool, int, float, str, tuple, np.generic, type(None))
    row = {name: value.name if isinstance(value, Enum) else value for name, value in given.items()}
    return {name: value for name, value in row.items() if isinstance(value, plain)}
