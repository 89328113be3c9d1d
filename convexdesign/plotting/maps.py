"""Designs over two factors as maps: each setting where it lies, and how much of the effort goes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.plotting.allocation import checked_weights, percent
from convexdesign.plotting.canvas import axes_or_new, finished
from convexdesign.plotting.palette import GREY, INK, OKABE_ITO
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MapData", "map_data", "plot_map"]

# More labels than this lie over one another.
MOST_LABELS = 30
LARGEST = 900.0  # points squared: the area of the largest weight's disc


@dataclass(frozen=True)
class MapData:
    """What `plot_map` draws: the distinct settings, and on each of them the weights of all arms set so.

    Parameters
    ----------
    settings : array, shape (k, 2)
        Distinct, in increasing order of the first factor and then of the second.
    weights : array, shape (k,)
        Of the design on each setting.
    values : array, shape (k,), or None
        The largest value of an arm at each setting.
    labelled : array of int
        Which settings are labelled with their share: those measured, the largest thirty at most.
    """

    settings: Floats
    weights: Floats
    values: Floats | None
    labelled: NDArray[np.intp]


def map_data(settings: ArrayLike, weights: ArrayLike, values: ArrayLike | None = None) -> MapData:
    """Gather the arms of one setting, which differ in other factors, say.

    Parameters
    ----------
    settings : array_like, shape (n, 2)
        Of the two factors, an arm a row.
    weights : array_like, shape (n,)
        The design.
    values : array_like, shape (n,), optional
        A number per arm, such as its sensitivity.

    Returns
    -------
    MapData
        What `plot_map` draws.

    Raises
    ------
    InputError
        For settings that are not two finite columns, or numbers of other lengths.

    Examples
    --------
    >>> map_data([[0, 0], [1, 0], [0, 0]], [0.25, 0.5, 0.25]).weights.tolist()
    [0.5, 0.5]
    """
    w, points = checked_weights(weights), np.asarray(settings, dtype=np.float64)
    if points.shape != (w.size, 2):
        raise InputError(
            f"settings have shape {points.shape}; give two columns, and a row for each of the {w.size} arms"
        )
    bad = np.argwhere(~np.isfinite(points))
    if bad.size:
        i, k = bad[0]
        raise InputError(f"settings[{i}, {k}] = {points[i, k]}: settings must be finite")
    distinct, owner = np.unique(points + 0.0, axis=0, return_inverse=True)
    owner = owner.reshape(-1)
    shares: Floats = np.bincount(owner, weights=w, minlength=len(distinct)).astype(np.float64)
    heights = None
    if values is not None:
        s = np.asarray(values, dtype=np.float64)
        if s.shape != w.shape:
            raise InputError(f"values have shape {s.shape}; give one for each of the {w.size} arms")
        heights = np.full(len(distinct), -np.inf)
        np.maximum.at(heights, owner, s)
    order = np.argsort(-shares, kind="stable")[:MOST_LABELS]
    return MapData(distinct, shares, heights, order[shares[order] > 1e-6 * shares.sum()])


def plot_map(
    settings: ArrayLike,
    weights: ArrayLike,
    values: ArrayLike | None = None,
    *,
    factors: Sequence[str] = ("first factor", "second factor"),
    value_name: str = "sensitivity",
    share_of: str = "measurements",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a design over two factors: a disc on each setting that is measured, its area the share.

    Parameters
    ----------
    settings : array_like, shape (n, 2)
        Of the two factors, an arm a row; arms at the same setting are added.
    weights : array_like, shape (n,)
        The design.
    values : array_like, shape (n,), optional
        A number per arm, such as its sensitivity, drawn in colour: a tile a setting where these make a full grid, and
        rings around the settings elsewhere.
    factors : pair of str
        Their names, for the axes.
    value_name : str
        What the colour shows.
    share_of : str
        What the weights divide ("budget" with costs).
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
        As `map_data`.

    Examples
    --------
    >>> plot_map([[0, 0], [1, 0], [1, 1]], [0.5, 0.5, 0.0], factors=("dose", "heat")).get_xlabel()
    'dose'
    """
    data = map_data(settings, weights, values)
    ax = axes_or_new(ax, (7.0, 5.0))
    figure: Any = ax.figure
    if data.values is not None:
        shown = _coloured(ax, data.settings, data.values)
        figure.colorbar(shown, ax=ax, label=value_name, fraction=0.06, pad=0.03)
    unused = data.weights <= 1e-6 * data.weights.sum()
    ax.scatter(
        data.settings[unused, 0],
        data.settings[unused, 1],
        s=14,
        facecolors="white",
        edgecolors=GREY,
        zorder=3,
        label="not measured",
    )
    most = float(data.weights.max(initial=0.0)) or 1.0
    ax.scatter(
        data.settings[~unused, 0],
        data.settings[~unused, 1],
        s=40 + LARGEST * data.weights[~unused] / most,
        color=OKABE_ITO["vermillion"],
        edgecolors="white",
        zorder=4,
        label=f"share of {share_of} (area)",
    )
    for axis, column in (("x", 0), ("y", 1)):
        _room(ax, axis, data.settings[:, column])
    for k in _apart(data, np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())):
        radius = np.sqrt((40 + LARGEST * data.weights[k] / most) / np.pi)
        ax.annotate(
            percent(float(data.weights[k] / data.weights.sum())),
            data.settings[k],
            xytext=(0, -radius - 3),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize="small",
            color=INK,
            zorder=5,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )
    return finished(ax, factors[0], factors[1], grid="both", title=title)


def _apart(data: MapData, width: float, height: float) -> list[int]:
    """The settings whose labels lie clear of those of larger weight, in an area of this width and height."""
    kept: list[int] = []
    for k in data.labelled.tolist():
        away = np.abs(data.settings[kept] - data.settings[k]) / (width, height)
        if np.all((away > (0.15, 0.1)).any(axis=1)):
            kept.append(k)
    return kept


def _coloured(ax: Axes, settings: Floats, values: Floats) -> Any:
    """Tiles where the settings are all pairs of their levels, else coloured rings."""
    a, b = (np.unique(settings[:, k]) for k in (0, 1))
    if len(settings) == a.size * b.size and min(a.size, b.size) > 1:
        return ax.pcolormesh(a, b, values.reshape(a.size, b.size).T, cmap="Blues", shading="nearest", zorder=0)
    return ax.scatter(
        settings[:, 0], settings[:, 1], c=values, cmap="Blues", s=LARGEST, edgecolors=GREY, linewidths=0.6, zorder=1
    )


def _room(ax: Axes, axis: str, levels: Floats) -> None:
    """Each level marked where they are few, and room around the outermost for their discs and labels."""
    distinct = np.unique(levels)
    low, high = float(distinct[0]), float(distinct[-1])
    step = float(np.diff(distinct).min()) if distinct.size > 1 else 1.0
    room = max(0.55 * step, 0.14 * (high - low))
    if axis == "x":
        ax.set_xlim(low - room, high + room)
    else:
        ax.set_ylim(low - 1.25 * room, high + room)
    if distinct.size <= 7:
        (ax.set_xticks if axis == "x" else ax.set_yticks)(distinct, [f"{v:.4g}".replace("-", "−") for v in distinct])
