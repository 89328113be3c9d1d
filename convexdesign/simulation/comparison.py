"""Several algorithms on one problem: how often each is right, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import function, instance, real, shown
from convexdesign.errors import InputError
from convexdesign.estimation.observations import MOST_ARMS, arm_indices
from convexdesign.simulation.pulls import Pulls
from convexdesign.simulation.replication import MakeAlgorithm, MakeEnvironment, Record, replicate_one, run_replications
from convexdesign.simulation.saving import SavedRows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare", "comparison_rows", "comparison_table"]


def _counted(make: MakeEnvironment, rng: np.random.Generator) -> Pulls:
    """A world that counts what is pulled, so that samples need not be believed."""
    return Pulls(make(rng))


def _record(
    truth: tuple[int, ...],
    answer_of: Callable[[Any], Sequence[int]],
    more: Record | None,
    result: Any,
    environment: Pulls,
) -> dict[str, Any]:
    """One row of a run: its samples as counted, the answer, whether it is right, the status, and what else is wanted."""
    found = answer_of(result)
    name = "UNDECIDED" if found is None else getattr(getattr(result, "status", None), "name", "ANSWERED")
    answer = () if found is None else tuple(arm_indices(np.atleast_1d(found), MOST_ARMS, "the answer").tolist())
    undecided = name == "UNDECIDED"
    row = {"samples": environment.samples, "answer": answer, "status": name}
    row |= {"undecided": undecided, "correct": not undecided and answer == truth}
    return row if more is None else row | dict(more(result, environment.environment))


def answer_field(result: Any) -> Sequence[int]:
    """result.answer, or the result itself where it has none."""
    answer: Sequence[int] = getattr(result, "answer", result)
    return answer


def comparison_rows(
    algorithms: Mapping[str, MakeAlgorithm],
    make_environment: MakeEnvironment,
    truth: Sequence[int],
    replications: int,
    n_jobs: int | None = 1,
    seed: int = 0,
    progress: bool = False,
    *,
    answer_of: Callable[[Any], Sequence[int]] = answer_field,
    record: Record | None = None,
    save: str | PathLike[str] | SavedRows | None = None,
    title: str = "",
) -> pd.DataFrame:
    """One row per algorithm and run: algorithm, replication, seed, samples, answer, status, undecided, correct.

    Samples are counted at the environment. Run k of every algorithm meets an environment with the same seed.

    Parameters
    ----------
    algorithms : mapping
        From a name to make_algorithm(rng), which builds ANY object with done, ask(), tell(batch, observations) and
        result(), where batches have `counts` (n_arms,); or to `PullsItself(run)`, for code that pulls by itself.
    make_environment : callable
        From a generator to a fresh world.
    truth : sequence of int
        The items that are the right answer.
    replications : int
        Runs of each algorithm.
    n_jobs : int, optional
        Processes, as joblib counts them; None takes what a joblib context says.
    seed : int
        Of all runs.
    progress : bool
        Show a bar for each algorithm, under its name, with the time left.
    answer_of : callable
        From a result to the items found, or to one; None where it could not decide.
    record : callable, optional
        From (result, environment) to a mapping: columns of your own.
    save : path, optional
        A CSV file that takes every run as it comes, so that what is cut off leaves what it had found.
    title : str
        What stands before the names of the bars.

    Returns
    -------
    pandas.DataFrame
        In the order of algorithms and runs.

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.soare(kappa=2.0)
    >>> rows = cd.simulation.comparison_rows(
    ...     {"RAGE": lambda rng: cd.identification.Rage(world.arms, variance_bounds=(1, 2))},
    ...     lambda rng: cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=rng),
    ...     truth=world.answer,
    ...     replications=2,
    ... )
    >>> rows.correct.tolist()
    [True, True]
    """
    import pandas as pd

    if not isinstance(algorithms, Mapping) or not algorithms or not all(map(callable, algorithms.values())):
        raise InputError(f"algorithms is {shown(algorithms)}; give a mapping from names to functions that build them")
    function(make_environment, "make_environment")
    function(answer_of, "answer_of")
    if record is not None:
        function(record, "record")
    right = tuple(arm_indices(truth, MOST_ARMS, "truth").tolist())
    # Partial functions, not closures, so that workers can be sent them.
    world, kept = partial(_counted, make_environment), partial(_record, right, answer_of, record)
    frames = []
    with nullcontext(save) if isinstance(save, SavedRows) else SavedRows(save) as saved:
        for number, (name, make) in enumerate(algorithms.items(), 1):
            run = partial(_run, name, make, world, kept, seed)
            label = f"{name} ({number} of {len(algorithms)})" if len(algorithms) > 1 else str(name)
            label = f"{title}, {label}" if title else label
            frames.append(run_replications(run, replications, n_jobs, progress, label=label, save=saved))
    return pd.concat(frames, ignore_index=True)


def _run(
    name: str, make: MakeAlgorithm, world: MakeEnvironment, record: Record, seed: int, replication: int
) -> dict[str, Any]:
    return {"algorithm": name} | replicate_one(make, world, replication, seed, record=record)


def comparison_table(rows: pd.DataFrame, lower_bound: float | None = None) -> pd.DataFrame:
    """One row per algorithm, from `comparison_rows`: runs, errors, error rate with its interval, undecided, samples.

    errors: runs with an answer that is wrong; error_high: upper end of the 95 % Clopper-Pearson interval of their
    share; mean_samples with its standard_error.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `comparison_rows`.
    lower_bound : float, optional
        On the mean number of samples, for the column times_lower_bound: best `identification.sharp_lower_bound`, the larger.

    Returns
    -------
    pandas.DataFrame
        In the order in which the algorithms come.

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.soare(kappa=2.0)
    >>> rows = cd.simulation.comparison_rows(
    ...     {"RAGE": lambda rng: cd.identification.Rage(world.arms, variance_bounds=(1, 2))},
    ...     lambda rng: cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=rng),
    ...     truth=world.answer,
    ...     replications=2,
    ... )
    >>> cd.simulation.comparison_table(rows).errors.tolist()
    [0]
    """
    import pandas as pd
    from scipy.stats import beta

    instance(rows, pd.DataFrame, "rows", "give those of comparison_rows")
    missing = [column for column in ("algorithm", "samples", "undecided", "correct") if column not in rows.columns]
    if missing:
        raise InputError(f"rows have no column {missing[0]!r}; give those of comparison_rows")
    bound = None if lower_bound is None else real(lower_bound)
    if bound is not None and not 0 <= bound < np.inf:
        raise InputError(f"lower_bound is {shown(lower_bound)}; give a number of samples, or None")
    table = []
    for name, group in rows.groupby("algorithm", sort=False):
        runs = len(group)
        errors = int((~group["correct"] & ~group["undecided"]).sum())
        samples = group["samples"].to_numpy(dtype=float)
        row = {
            "algorithm": name,
            "runs": runs,
            "errors": errors,
            "error_rate": errors / runs,
            "error_high": 1.0 if errors == runs else float(beta.ppf(0.975, errors + 1, runs - errors)),
            "undecided": int(group["undecided"].sum()),
            "mean_samples": samples.mean(),
            "standard_error": samples.std(ddof=1) / np.sqrt(runs) if runs > 1 else float("nan"),
        }
        if bound is not None:
            row["times_lower_bound"] = samples.mean() / bound if bound > 0 else float("inf")
        table.append(row)
    return pd.DataFrame(table)


def compare(
    algorithms: Mapping[str, MakeAlgorithm],
    make_environment: MakeEnvironment,
    truth: Sequence[int],
    replications: int,
    n_jobs: int | None = 1,
    seed: int = 0,
    progress: bool = False,
    *,
    lower_bound: float | None = None,
    answer_of: Callable[[Any], Sequence[int]] = answer_field,
    save: str | PathLike[str] | None = None,
) -> pd.DataFrame:
    """One row per algorithm, whoever wrote it: `comparison_table` of `comparison_rows`.

    Parameters
    ----------
    algorithms : mapping
        From a name to make_algorithm(rng), which builds ANY object with done, ask(), tell(batch, observations) and
        result(), where batches have `counts` (n_arms,); or to `PullsItself(run)`, for code that pulls by itself.
    make_environment : callable
        From a generator to a fresh world.
    truth : sequence of int
        The items that are the right answer.
    replications : int
        Runs of each algorithm.
    n_jobs : int, optional
        Processes, as joblib counts them; None takes what a joblib context says.
    seed : int
        Of all runs; run k of every algorithm meets an environment with the same seed.
    progress : bool
        Show a bar for each algorithm, under its name, with the time left.
    lower_bound : float, optional
        On the mean number of samples, for the column times_lower_bound: best `identification.sharp_lower_bound`, the larger.
    answer_of : callable
        From a result to the items found, or to one; None where it could not decide.
    save : path, optional
        A CSV file that takes every run as it comes, so that what is cut off leaves what it had found.

    Returns
    -------
    pandas.DataFrame
        As `comparison_table` makes it.

    Examples
    --------
    >>> import convexdesign as cd
    >>> world, I = cd.instances.soare(), cd.identification
    >>> cd.simulation.compare(
    ...     {
    ...         "RAGE": lambda rng: I.Rage(world.arms, variance_bounds=(1, 20)),
    ...         "H-RAGE, variances known": lambda rng: I.HRage(world.arms, known_variances=world.noise_variance),
    ...     },
    ...     lambda rng: cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=rng),
    ...     truth=world.answer,
    ...     replications=3,
    ... )[["algorithm", "runs", "errors", "undecided"]]
                     algorithm  runs  errors  undecided
    0                     RAGE     3       0          0
    1  H-RAGE, variances known     3       0          0
    """
    how: dict[str, Any] = {"answer_of": answer_of, "save": save}
    rows = comparison_rows(algorithms, make_environment, truth, replications, n_jobs, seed, progress, **how)
    return comparison_table(rows, lower_bound)
