"""Confidence sequences: intervals that narrow as results come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, finished, legend_over, mark_apart, ticks_between
from convexdesign.plotting.palette import LINE_STYLES, OKABE_ITO, series_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_sequences"]

# Up to this many times the first number of results, a plain axis shows all well.
FEW = 6.0


def plot_sequences(
    samples: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    names: Sequence[str],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw intervals against samples as bands; infinite ends are left out.

    Parameters
    ----------
    samples : array_like, shape (rounds,)
        Spent by the end of each round.
    low, high : array_like, shape (rounds, k)
        The ends of the intervals, of k things.
    names : sequence of str
        Theirs.
    title : str, optional
        Of the picture.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axis drawn on.

    Raises
    ------
    InputError
        Where the shapes differ.

    Examples
    --------
    >>> plot_sequences([10, 100], [[0.0], [0.4]], [[1.0], [0.6]], ["red"]).get_xlabel()
    'results'
    """
    spent, ends = np.asarray(samples, dtype=float), (np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    if spent.ndim != 1 or any(end.shape != (spent.size, len(names)) for end in ends):
        shapes = ", ".join(str(end.shape) for end in ends)
        raise InputError(
            f"low and high must have one row for each of {spent.size} samples and one column a name, got {shapes}"
        )
    ax = axes_or_new(ax)
    for k, name in enumerate(names):
        known = np.isfinite(ends[0][:, k]) & np.isfinite(ends[1][:, k])
        x, a, b = spent[known], ends[0][known, k], ends[1][known, k]
        ax.fill_between(x, a, b, color=series_colour(k), alpha=0.15, linewidth=0)
        # Colours repeat after the seventh; the next seven are dashed.
        style = LINE_STYLES[k // len(OKABE_ITO) % len(LINE_STYLES)]
        shown: dict[str, Any] = {
            "color": series_colour(k),
            "linestyle": style,
            "linewidth": 2,
            "marker": "o",
            "markersize": 4,
        }
        ax.plot(x, (a + b) / 2.0, label=name, **shown)
    pad = legend_over(ax) if len(names) > 1 else None
    if spent.size > 1 and spent.max() > FEW * spent.min() > 0:
        ax.set_xscale("log")
        marks = ticks_between(float(spent.min()), float(spent.max()))
        mark_apart(ax, marks, [f"{v:,.6g}" for v in marks])
    return finished(ax, "results", "value", grid="both", title=title, pad=pad)
