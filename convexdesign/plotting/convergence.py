"""How fast methods prove their designs: the certified gap against seconds or iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, finished
from convexdesign.plotting.palette import GREY, INK, LINE_STYLES, MARKERS, series_colour
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ConvergenceData", "convergence_data", "plot_convergence"]


@dataclass(frozen=True)
class ConvergenceData:
    """One method's curve.

    Parameters
    ----------
    method : str
        Its name.
    positions : array, shape (k,)
        Seconds or iterations, increasing.
    gaps : array, shape (k,)
        The best certified gap so far, never rising.
    """

    method: str
    positions: Floats
    gaps: Floats


def convergence_data(
    histories: Mapping[str, tuple[ArrayLike, ArrayLike]], floor: float = 1e-16
) -> tuple[ConvergenceData, ...]:
    """The best certified gap reached by each position, one curve a method.

    Parameters
    ----------
    histories : mapping
        From a method's name to (positions, gaps), positions in seconds or iterations. Entries without a certificate
        (gap infinite or nan) are left out.
    floor : float
        Gaps below it are raised to it, since the axis is logarithmic.

    Returns
    -------
    tuple of ConvergenceData
        What `plot_convergence` draws.

    Raises
    ------
    InputError
        On shapes that differ, positions that are not finite, or a method with no certified gap at all.

    Examples
    --------
    >>> curve, = convergence_data({"m": ([0, 1, 2, 3], [np.inf, 0.1, 0.3, 0.01])})
    >>> curve.positions, curve.gaps
    (array([1., 2., 3.]), array([0.1 , 0.1 , 0.01]))
    """
    if not histories:
        raise InputError("no histories to draw: give a mapping from names to (positions, gaps)")
    curves = []
    for method, (positions, gaps) in histories.items():
        x = np.asarray(positions, dtype=np.float64)
        g = np.asarray(gaps, dtype=np.float64)
        if x.ndim != 1 or x.shape != g.shape:
            raise InputError(f"history of {method!r}: positions {x.shape} and gaps {g.shape} must be equal vectors")
        if not np.all(np.isfinite(x)):
            raise InputError(f"history of {method!r}: positions must be finite")
        certified = np.isfinite(g)
        if not certified.any():
            raise InputError(f"history of {method!r} holds no finite gap, so there is nothing to draw")
        x, g = x[certified], g[certified]
        order = np.argsort(x, kind="stable")
        best = np.minimum.accumulate(np.maximum(g[order], floor))
        curves.append(ConvergenceData(str(method), x[order], best))
    return tuple(curves)


def plot_convergence(
    histories: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    unit: str = "seconds",
    tol: float | None = None,
    log_x: bool = False,
    floor: float = 1e-16,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the certified gaps of several methods on a logarithmic axis.

    Parameters
    ----------
    histories : mapping
        From a method's name to (positions, gaps), as for `convergence_data`.
    unit : str
        What the positions are, for the axis ("seconds", "iterations").
    tol : float, optional
        The gap asked for, drawn as a line.
    log_x : bool
        Positions on a logarithmic axis too.
    floor : float
        Gaps below it are raised to it.
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
    >>> plot_convergence({"m": ([1, 2], [0.1, 0.01])}).get_yscale()
    'log'
    """
    curves = convergence_data(histories, floor)
    ax = axes_or_new(ax)
    for k, curve in enumerate(curves):
        ax.plot(
            curve.positions,
            curve.gaps,
            color=series_colour(k),
            linestyle=LINE_STYLES[k % len(LINE_STYLES)],
            linewidth=2,
            marker=MARKERS[k % len(MARKERS)],
            markersize=5,
            markevery=max(1, len(curve.positions) // 12),
            # A certificate holds from the moment it is found until a better one is.
            drawstyle="steps-post",
            label=curve.method,
        )
    if tol is not None:
        ax.axhline(tol, color=INK, linewidth=1, linestyle=(0, (2, 2)))
        ax.annotate(
            f"gap asked for: {tol:g}",
            xy=(0.01, tol),
            xycoords=("axes fraction", "data"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="left",
            color=GREY,
            fontsize="small",
        )
    ax.set_yscale("log")
    if log_x:
        ax.set_xscale("log")
    if len(curves) > 1:
        ax.legend(loc="best", frameon=True, facecolor="white", edgecolor="none", framealpha=0.9)
    x = "time (seconds)" if unit == "seconds" else unit
    return finished(ax, x, "certified relative gap", grid="both", title=title)
