"""How an identification narrows down: items undecided against samples spent; and variances estimated on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, finished, mark_apart, ticks_between
from convexdesign.plotting.palette import GREY, series_colour
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RoundsData", "VariancesData", "plot_rounds", "plot_variances", "rounds_data", "variances_data"]


# Up to this many times the first round's samples, a plain axis shows all rounds well.
FEW_ROUNDS = 6.0


@dataclass(frozen=True, eq=False)
class RoundsData:
    """A staircase: from samples[k] on, undecided[k] items are left.

    Parameters
    ----------
    samples : array, shape (k,)
        Rising.
    undecided : array of int, shape (k,)
        Not rising.
    """

    samples: Floats
    undecided: NDArray[np.intp]


def rounds_data(samples: ArrayLike, undecided: ArrayLike, n_items: int) -> RoundsData:
    """What is drawn: a staircase that starts with all items and no samples.

    Parameters
    ----------
    samples : array_like, shape (rounds,)
        Spent by the end of each round.
    undecided : array_like of int, shape (rounds,)
        Items that were undecided then.
    n_items : int
        How many there are.

    Returns
    -------
    RoundsData
        What `plot_rounds` draws.

    Raises
    ------
    InputError
        Where the shapes differ.

    Examples
    --------
    >>> rounds_data([100, 300], [3, 1], n_items=5).undecided
    array([5, 3, 1])
    """
    spent, left = np.asarray(samples, dtype=float), np.asarray(undecided, dtype=np.intp)
    if spent.ndim != 1 or spent.shape != left.shape:
        raise InputError(f"samples and undecided must be vectors of one length, got {spent.shape} and {left.shape}")
    return RoundsData(np.concatenate([[0.0], spent]), np.concatenate([[n_items], left]))


def plot_rounds(
    samples: ArrayLike,
    undecided: ArrayLike,
    *,
    n_items: int,
    burn_in: int = 0,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the staircase of `rounds_data`, and a line where a burn-in ended.

    Parameters
    ----------
    samples : array_like, shape (rounds,)
        Spent by the end of each round.
    undecided : array_like of int, shape (rounds,)
        Items that were undecided then.
    n_items : int
        How many there are.
    burn_in : int
        Its samples; 0 for none.
    title : str, optional
        Of the picture.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axis drawn on.

    Examples
    --------
    >>> plot_rounds([100, 300], [3, 1], n_items=5).get_xlabel()
    'samples'
    """
    data = rounds_data(samples, undecided, n_items)
    ax = axes_or_new(ax)
    from matplotlib.ticker import MaxNLocator

    ax.step(data.samples, data.undecided, where="post", color=series_colour(0), linewidth=2)
    ax.plot(data.samples[1:], data.undecided[1:], "o", color=series_colour(0), markersize=5)
    if burn_in > 0:
        ax.axvline(burn_in, color=GREY, linewidth=1, linestyle="--")
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "bottom"}
        ax.annotate("burn-in ends", (burn_in, 0.02), xytext=(4, 0), color=GREY, **place)
    first = max(float(burn_in), 1.0) if data.samples.size == 1 else float(data.samples[1])
    # Rounds grow geometrically; nothing happens before the first ends.
    start = max(min(first, float(burn_in) or first), 1.0)
    last = max(float(data.samples[-1]), start)
    ax.set_xlim(0, 1.15 * last)
    if last > FEW_ROUNDS * start:
        ax.set_xscale("symlog", linthresh=start, linscale=0.5)
        marks = [0.0, *ticks_between(start, last, most=6)]
        mark_apart(ax, marks, [f"{v:,.6g}" for v in marks])
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6))
        ax.xaxis.set_major_formatter("{x:,.6g}")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(0, 1.06 * n_items)
    return finished(ax, "samples", "items undecided", grid="both", title=title)


@dataclass(frozen=True, eq=False)
class VariancesData:
    """Arms in increasing order of variance.

    Parameters
    ----------
    arms : array of int, shape (n,)
        Their indices.
    variance : array, shape (n,)
        Their VARIANCES.
    low, high : array, shape (n,)
        The ends of their error bars.
    """

    arms: NDArray[np.intp]
    variance: Floats
    low: Floats
    high: Floats


def variances_data(
    variances: ArrayLike, error: ArrayLike | None = None, bounds: tuple[float, float] | None = None
) -> VariancesData:
    """What is drawn: variances sorted, with variance -+ error cut off at zero and at the known bounds.

    Parameters
    ----------
    variances : array_like, shape (n,)
        VARIANCES.
    error : array_like, shape (n,), optional
        Bars have no length by default.
    bounds : tuple of float, optional
        (low, high), known beforehand.

    Returns
    -------
    VariancesData
        What `plot_variances` draws.

    Raises
    ------
    InputError
        Where shapes differ.

    Examples
    --------
    >>> variances_data([2.0, 1.0], error=[0.5, 3.0], bounds=(0.1, 9.0)).low
    array([0.1, 1.5])
    """
    values = np.asarray(variances, dtype=float)
    half = np.zeros_like(values) if error is None else np.asarray(error, dtype=float)
    if values.ndim != 1 or half.shape != values.shape:
        raise InputError(f"variances and error must be vectors of one length, got {values.shape} and {half.shape}")
    order = np.argsort(values, kind="stable")
    least, most = bounds if bounds is not None else (min(0.0, float(values.min(initial=0.0))), np.inf)
    low, high = np.clip([values - half, values + half], least, most)
    # A value clipped to nothing must still lie on its own bar.
    return VariancesData(order, values[order], np.minimum(low, values)[order], np.maximum(high, values)[order])


def plot_variances(
    variances: ArrayLike,
    *,
    error: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the variances as points in increasing order, bars for the error, lines at the bounds.

    Parameters
    ----------
    variances : array_like, shape (n,)
        VARIANCES.
    error : array_like, shape (n,), optional
        Half the length of each bar.
    bounds : tuple of float, optional
        (low, high), known beforehand.
    title : str, optional
        Of the picture.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axis drawn on.

    Examples
    --------
    >>> bool(plot_variances([2.0, 1.0], error=[0.5, 3.0], bounds=(0.1, 9.0)).lines)
    True
    """
    data = variances_data(variances, error, bounds)
    ax = axes_or_new(ax)
    rank = np.arange(data.variance.size)
    if error is not None:
        ax.vlines(rank, data.low, data.high, color=series_colour(0), alpha=0.35, linewidth=1.0, label="error bound")
    ax.plot(rank, data.variance, ".", color=series_colour(0), label="estimate")
    for value in bounds or ():
        ax.axhline(value, color=GREY, linewidth=0.8, linestyle="--")
    if error is not None:
        ax.legend(frameon=False)
    return finished(ax, "arms, by estimated variance", "noise variance", grid="y", title=title)
