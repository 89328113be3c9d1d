"""Run sheets: a plan as a list of runs in random order, one row each, and back.

The columns are run (1, 2, ...), block where there are blocks, arm, replicate (1, 2, ... of the same arm), and the factors of
the settings, or the coordinates where the arms were not made of settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.typing import Counts

if TYPE_CHECKING:
    import pandas

__all__ = ["arms_of_runs", "blocks_of_runs", "sheet_of"]


# Columns of a run sheet that are no factors.
OWN = ("run", "block", "arm", "replicate")


def sheet_of(
    problem: DesignProblem, counts: Counts, *, seed: int | None = 0, blocks: str | ArrayLike | None = None
) -> pandas.DataFrame:
    """One row a run, in random order, within blocks where there are any.

    counts (n_arms,); blocks: the block of every arm (n_arms,), or the name of a column of the settings; blocks come in the
    order of the arms.

    >>> import convexdesign as cd
    >>> sheet = sheet_of(cd.DesignProblem.d_optimal([[1, -1], [1, 1]]), np.array([1, 2]), seed=1)
    >>> sheet["run"].tolist(), sorted(sheet["arm"])
    ([1, 2, 3], [0, 1, 1])
    """
    import pandas

    rng = np.random.default_rng(seed)
    arms = np.repeat(np.arange(counts.size), counts)
    settings = _settings(problem)
    block = _blocks(problem, settings, blocks)
    order = rng.permutation(arms.size)
    if block is not None:
        number = {name: k for k, name in enumerate(dict.fromkeys(block))}
        within = np.array([number[block[i]] for i in arms[order]])
        order = order[np.argsort(within, kind="stable")]
    arms = arms[order]
    replicate = np.empty(arms.size, dtype=int)
    seen = np.zeros(counts.size, dtype=int)
    for k, i in enumerate(arms):
        seen[i] += 1
        replicate[k] = seen[i]
    names = problem.arms.names
    sheet: dict[str, Any] = {"run": np.arange(1, arms.size + 1)}
    if block is not None:
        sheet["block"] = [block[i] for i in arms]
    sheet["arm"] = arms if names is None else [names[int(i)] for i in arms]
    sheet["replicate"] = replicate
    for name, column in settings.items():
        key = f"{name} " if name in sheet else name
        sheet[key] = [column[i] for i in arms]
    return pandas.DataFrame(sheet)


def _settings(problem: DesignProblem) -> dict[str, Any]:
    """The factors of every arm, by column; the coordinates where the arms are plain vectors of not too many numbers."""
    table = problem.rows.settings
    if table is not None:
        return {str(name): table[name].tolist() for name in table.columns}
    if problem.responses > 1:
        return {}
    values = np.asarray(problem.stated.arms.values if hasattr(problem.stated.arms, "values") else problem.stated.arms)
    columns = problem.rows.columns or tuple(f"x{k + 1}" for k in range(values.shape[1]))
    return {str(name): values[:, k].tolist() for k, name in enumerate(columns)}


def _blocks(problem: DesignProblem, settings: dict[str, Any], blocks: str | ArrayLike | None) -> list[Any] | None:
    if blocks is None:
        return None
    if isinstance(blocks, str):
        if blocks not in settings:
            raise InputError(f"there is no column {blocks!r} for the blocks; the settings have {', '.join(settings)}")
        return list(settings[blocks])
    labels = list(np.asarray(blocks).tolist())
    if len(labels) != problem.n_arms:
        raise InputError(f"blocks has {len(labels)} entries; give one for each of the {problem.n_arms} arms")
    return labels


def arms_of_runs(problem: DesignProblem, sheet: Any) -> list[int]:
    """The arm of every run of a sheet, in its order: by its column arm, or else by the settings.

    Raises InputError naming a run that is no arm of the problem.
    """
    columns = {str(name): list(sheet[name]) for name in sheet}
    n = len(next(iter(columns.values()), []))
    if n == 0:
        raise InputError("the run sheet has no runs")
    return _by_arm(problem, columns["arm"]) if "arm" in columns else _by_settings(problem, columns, n)


def blocks_of_runs(problem: DesignProblem, sheet: Any, arms: Sequence[int]) -> list[Any] | None:
    """The block of every arm (n_arms,), where the sheet has a column block that one of the settings repeats; else None."""
    if "block" not in [str(name) for name in sheet]:
        return None
    block = _key(tuple(sheet["block"]))
    for column in _settings(problem).values():
        if _key(tuple(column[i] for i in arms)) == block:
            return list(_key(tuple(column)))
    return None


def _by_arm(problem: DesignProblem, arms: list[Any]) -> list[int]:
    names = problem.arms.names
    known = None if names is None else {str(name): i for i, name in enumerate(names)}
    index = []
    for run, arm in enumerate(arms, 1):
        if known is not None and str(arm) in known:
            index.append(known[str(arm)])
            continue
        number = int(arm) if known is None and str(arm).removesuffix(".0").isdigit() else -1
        if not 0 <= number < problem.n_arms:
            raise InputError(
                f"run {run} is of arm {arm!r}, which is not among the {problem.n_arms} arms of the problem"
            )
        index.append(number)
    return index


def _by_settings(problem: DesignProblem, columns: dict[str, list[Any]], n: int) -> list[int]:
    """Runs by their settings: all factors of the model, and what else the sheet tells of the table that arms were made of."""
    settings = {name.strip(): column for name, column in _settings(problem).items()}
    needed = list(settings) if problem.rows.settings is None else list(problem.rows.matrix.spec.factors)
    factors = [name for name in settings if name in columns]
    missing = [name for name in needed if name not in columns]
    if missing or not factors:
        raise InputError(f"the run sheet has neither a column arm nor all factors: {', '.join(missing)} missing")
    known: dict[tuple[Any, ...], int] = {}
    several: dict[tuple[Any, ...], int] = {}
    for i, row in enumerate(zip(*(settings[name] for name in factors))):
        key = _key(row)
        if known.setdefault(key, i) != i:
            several[key] = i
    others = [name for name in settings if name not in factors]
    index = []
    for run, row in enumerate(zip(*(columns[name] for name in factors)), 1):
        shown = ", ".join(f"{name} = {value}" for name, value in zip(factors, row))
        key = _key(row)
        if key not in known:
            raise InputError(f"run {run} ({shown}) is no setting of the problem; the candidates must hold it")
        if key in several and others:
            raise InputError(
                f"run {run} ({shown}) is arm {known[key]} and arm {several[key]}, which differ in {', '.join(others)}; add "
                "that column"
            )
        index.append(known[key])
    return index


def _key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a row, numbers as numbers however they are written, to ten digits."""
    key: list[Any] = []
    for value in row:
        try:
            key.append(float(f"{float(value):.10g}") + 0.0)
        except (TypeError, ValueError):
            key.append(str(value))
    return tuple(key)
