"""Estimated noise variances of many arms at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, tidy
from convexdesign.plotting.palette import GREY, series_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["VariancesData", "plot_variances", "variances_data"]


@dataclass(frozen=True, eq=False)
class VariancesData:
    """Arms in increasing order of variance: their indices, variances, and the ends of their error bars."""

    arms: NDArray[np.intp]
    variance: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def variances_data(
    variances: ArrayLike, error: ArrayLike | None = None, bounds: tuple[float, float] | None = None
) -> VariancesData:
    """What is drawn: variances (n,) sorted, with variance -+ error cut off at zero and at the known bounds.

    error: (n,) or None, for bars of no length. All are VARIANCES. Raises InputError where shapes differ.

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
    """Draw the variances as points in increasing order, bars for the error, lines at the bounds; returns the axes."""
    data = variances_data(variances, error, bounds)
    ax = axes_or_new(ax, (7.0, 4.2))
    rank = np.arange(data.variance.size)
    if error is not None:
        ax.vlines(rank, data.low, data.high, color=series_colour(0), alpha=0.35, linewidth=1.0, label="error bound")
    ax.plot(rank, data.variance, ".", color=series_colour(0), label="estimate")
    for value in bounds or ():
        ax.axhline(value, color=GREY, linewidth=0.8, linestyle="--")
    ax.set_xlabel("arms, by estimated variance")
    ax.set_ylabel("noise variance")
    if error is not None:
        ax.legend(frameon=False)
    tidy(ax, grid="y")
    if title:
        ax.set_title(title, loc="left")
    return ax
