"""What engineers look at in a plan, drawn: which terms move together, and how well predictions do over the region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import numeric
from convexdesign.errors import InputError
from convexdesign.plotting.canvas import SMALL, axes_or_new, finished, legend_over, letters, name_arms, name_rows
from convexdesign.plotting.palette import GREY, INK, LINE_STYLES, series_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_correlation", "plot_fraction_of_design_space"]

# Entries of a map up to so many terms are written into it.
MOST_WRITTEN = 14


def plot_correlation(
    matrix: ArrayLike,
    names: Sequence[str],
    rows: Sequence[str] | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A map of correlations or of aliases, from -1 to 1 and beyond; cells without a value stay grey.

    Parameters
    ----------
    matrix : array_like, shape (k, m)
        Such as `Diagnostics.correlation` or `Diagnostics.alias(...)`.
    names : sequence of str
        Of the columns (m).
    rows : sequence of str, optional
        Names of the rows (k), where they differ from those of the columns.
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
        Where the names do not fit the matrix.

    Examples
    --------
    >>> plot_correlation([[1, 0.5], [0.5, 1]], ["a", "b"]).get_xlabel()
    'term'
    """
    values = numeric(matrix, "matrix").astype(float)
    rows = list(names) if rows is None else list(rows)
    if values.shape != (len(rows), len(names)):
        raise InputError(f"matrix has shape {values.shape}; there are names for ({len(rows)}, {len(names)})")
    ax = axes_or_new(ax, (6.4, 5.2))
    most = max(1.0, float(np.nanmax(np.abs(values), initial=0.0)))
    drawn = ax.imshow(np.ma.masked_invalid(values), cmap="PuOr", vmin=-most, vmax=most, aspect="auto")
    ax.set_facecolor("#D9D9D9")
    beside = name_rows(ax, range(len(rows)), rows)
    # Six letters a cell, of what names and the scale of colours leave.
    if max(values.shape) <= MOST_WRITTEN and 6 * len(names) <= 0.8 * letters(ax, SMALL) - beside:
        for (i, j), value in np.ndenumerate(values):
            colour = "white" if abs(value) > 0.6 * most else INK
            text = "" if np.isnan(value) else f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
            ax.text(j, i, text, ha="center", va="center", color=colour, fontsize="small")
    finished(ax, "term", "term", grid="both", title=title, beside=beside)
    ax.grid(False)
    name_arms(ax, range(len(names)), list(names))
    ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
    return ax


def plot_fraction_of_design_space(
    plans: Mapping[str, ArrayLike], *, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """For each plan, the prediction variance that a fraction of the points does not exceed.

    Parameters
    ----------
    plans : mapping
        From a name to prediction variances at points spread over the region, such as `Diagnostics.prediction_variance()`;
        points without one (infinite) cut the curve short.
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
        Where no plan predicts anything.

    References
    ----------
    Zahran, Anderson-Cook and Myers (2003), Fraction of design space to assess prediction capability of response surface
    designs.

    Examples
    --------
    >>> plot_fraction_of_design_space({"plan": [0.2, 0.5, 0.4]}).get_xlabel()
    'fraction of the points'
    """
    curves = {name: np.sort(numeric(values, name).astype(float)) for name, values in plans.items()}
    if not any(np.isfinite(values).any() for values in curves.values()):
        raise InputError("no plan has a finite prediction variance to draw")
    ax = axes_or_new(ax)
    for k, (name, values) in enumerate(curves.items()):
        fraction = np.arange(1, values.size + 1) / values.size
        kept = np.isfinite(values)
        style = LINE_STYLES[k % len(LINE_STYLES)]
        ax.plot(fraction[kept], values[kept], color=series_colour(k), linestyle=style, linewidth=2, label=name)
    ax.axvline(0.5, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    pad = legend_over(ax) if len(curves) > 1 else None
    return finished(ax, "fraction of the points", "prediction variance at most", grid="both", title=title, pad=pad)
