"""One table of the D, A, G, I and E efficiencies of a design, each with its proven interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arms.read import read_arms
from convexdesign.deprecation import once_positional
from convexdesign.errors import InputError, SolverError, UnidentifiableError
from convexdesign.problem import DesignProblem
from convexdesign.showing import in_turn
from convexdesign.verification import verify

if TYPE_CHECKING:
    import pandas

__all__ = ["CRITERIA", "efficiencies"]

CRITERIA = ("D", "A", "G", "I", "E")


@once_positional(since="0.2", removed="0.4")
def efficiencies(
    arms: ArrayLike | Any,
    weights: ArrayLike | None = None,
    *,
    counts: ArrayLike | None = None,
    noise_variance: ArrayLike | None = None,
    criteria: Iterable[str] = CRITERIA,
) -> pandas.DataFrame:
    """The efficiency of a design under each classical criterion, relative to that criterion's own optimum.

    D-efficiency is (det A / det A*)^(1/rank), the others are ratios of variances or eigenvalues; G is over the arms, or
    the responses, and I the average over them. Where the arms do not span, A and E do not exist: their entries are nan
    and the note says why. Where an optimum is out of reach (E in more than a hundred dimensions or so), the efficiency
    is known to lie between 0 and 1 only, and the note says what is too large.

    Parameters
    ----------
    arms : array_like, shape (n, d) or (n, d, r)
        The arms, as in `DesignProblem`.
    weights : array_like, shape (n,), optional
        With sum 1.
    counts : array_like, shape (n,), optional
        Instead of weights: whole numbers.
    noise_variance : array_like, scalar or shape (n,), optional
        VARIANCES; for several responses as in `DesignProblem`.
    criteria : iterable of str
        Those wanted of D, A, G, I and E, in this order, such as "DAG"; each takes as long as its own optimum.

    Returns
    -------
    pandas.DataFrame
        A row a criterion; columns: value of the criterion at the design, optimum (a proven bound on it), efficiency (a
        proven lower bound), efficiency_high, note.

    Raises
    ------
    InputError
        For an unknown criterion, or where not exactly one of weights and counts is given.

    Examples
    --------
    >>> import convexdesign as cd
    >>> table = cd.efficiencies([[1, 0], [0, 1]], weights=[0.8, 0.2])
    >>> table.loc[["D", "A", "G"], "efficiency"].round(4).tolist()
    [0.8, 0.64, 0.4]
    """
    import pandas

    rows = read_arms(arms)
    P = DesignProblem
    constructors: dict[str, Callable[..., DesignProblem]] = {
        "D": P.d_optimal,
        "A": P.a_optimal,
        "G": P.g_optimal,
        "I": partial(P.i_optimal, region=rows.vectors),
        "E": P.e_optimal,
    }
    wanted = _chosen(criteria)
    if (weights is None) == (counts is None):
        raise InputError("give exactly one of weights and counts")
    table: dict[str, tuple[float, float, float, float, str]] = {}
    for name in in_turn(wanted):
        try:
            result = verify(constructors[name](rows, noise_variance=noise_variance), weights=weights, counts=counts)
        except UnidentifiableError as error:
            table[name] = (np.nan, np.nan, np.nan, np.nan, str(error))
            continue
        except SolverError as error:
            table[name] = (np.nan, np.nan, 0.0, 1.0, str(error))
            continue
        low, high = result.efficiency_interval
        table[name] = (result.value, result.lower_bound, low, high, "")
    columns = ["value", "optimum", "efficiency", "efficiency_high", "note"]
    return pandas.DataFrame.from_dict(table, orient="index", columns=columns).rename_axis("criterion")


def _chosen(criteria: Iterable[str]) -> list[str]:
    chosen = list(dict.fromkeys(criteria))
    unknown = [name for name in chosen if name not in CRITERIA]
    if unknown or not chosen:
        what = f"criteria holds {unknown[0]!r}" if unknown else "criteria is empty"
        raise InputError(f"{what}; give some of {', '.join(CRITERIA)}, such as criteria='DA'")
    return chosen
