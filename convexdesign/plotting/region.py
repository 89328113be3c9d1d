"""Designs over regions: the sensitivity over the region, its proven bound, and the settings with their shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, finished, legend_over
from convexdesign.plotting.palette import INK, LINE_STYLES, MARKERS, OKABE_ITO, series_colour
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RegionData", "plot_region_design", "region_data"]

# Points of the curve of one factor, and along each side of the plane of two.
CURVE, PLANE = 401, 121
# The largest marker, in square points.
LARGEST = 320.0


@dataclass(frozen=True)
class RegionData:
    """What `plot_region_design` draws.

    Parameters
    ----------
    factors : tuple of str
        One or two continuous factors, along the axes.
    axes : tuple of array
        For each the values at which the sensitivity is computed.
    sensitivity : array, shape (pieces, k) or (pieces, k2, k1), or None
        Of every combination of levels, nan outside the region; None where there are more continuous factors than drawn.
    most : float
        The proven upper bound on the sensitivity over the region.
    points : array, shape (n, 1) or (n, 2)
        The settings, by these factors.
    where : array of int, shape (n,)
        The combination of levels of each.
    heights : array, shape (n,)
        The sensitivity at each.
    weights : array, shape (n,)
        Their shares of the measurements, or of the runs.
    counts : array of int or None
        How often each is run, of whole numbers of runs.
    pieces : tuple of str
        The combinations of levels in words; a single empty one without discrete factors.
    hidden : tuple of str
        The continuous factors that are not drawn.
    """

    factors: tuple[str, ...]
    axes: tuple[Floats, ...]
    sensitivity: Floats | None
    most: float
    points: Floats
    where: Indices
    heights: Floats
    weights: Floats
    counts: Indices | None
    pieces: tuple[str, ...]
    hidden: tuple[str, ...] = ()


def region_data(design: Any, factors: Sequence[str] | None = None) -> RegionData:
    """The sensitivity of a design over its region, on a grid, and its settings.

    Parameters
    ----------
    design : RegionDesign, RegionExactDesign or RegionCompoundDesign
        Of whole numbers of runs the sensitivity is that of the shares that they are compared with; of several problems
        at once that of all of them together.
    factors : sequence of str, optional
        One or two continuous factors to draw; the first ones by default.

    Returns
    -------
    RegionData
        What `plot_region_design` draws.

    Raises
    ------
    InputError
        Where no continuous factor is there to be drawn.

    Examples
    --------
    >>> import convexdesign as cd
    >>> curve = cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))
    >>> data = region_data(cd.solve(cd.DesignProblem.d_optimal(curve)))
    >>> data.heights.round(4).tolist(), round(data.most, 4)
    ([3.0, 3.0, 3.0], 3.0)
    """
    proof = getattr(design, "reference", design)
    # A design for several problems is its own certificate.
    region, certificate = design.problem.region, getattr(proof, "certificate", proof)
    chosen = tuple(region.names[:2]) if factors is None else tuple(factors)
    for name in chosen:
        if name not in region.names:
            raise InputError(f"{name!r} is no continuous factor; those are {', '.join(region.names) or 'none'}")
    if not 1 <= len(set(chosen)) == len(chosen) <= 2:
        raise InputError(f"factors is {list(chosen)}; a picture has one or two different continuous factors")
    place = [region.names.index(name) for name in chosen]
    size = CURVE if len(chosen) == 1 else PLANE
    axes = tuple(np.linspace(float(region.lower[k]), float(region.upper[k]), size) for k in place)
    surface = None
    if len(chosen) == region.q:
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(chosen))
        x = np.empty((len(grid), region.q))
        x[:, place] = grid
        ok = region.inside(x)
        surface = np.full((len(region.pieces), len(grid)), np.nan)
        for piece in range(len(region.pieces)):
            values = proof.heights(np.full(int(ok.sum()), piece), x[ok])
            surface[piece, ok] = np.where(np.isfinite(values), values, np.nan)
        surface = surface.reshape(len(region.pieces), *([size] * len(chosen)))
    where = np.asarray(design.where, dtype=np.intp)
    counts = getattr(design, "counts", None)
    weights = design.weights if counts is None else counts / counts.sum()
    most = certificate.most
    heights = proof.heights(where, design.x)
    if not np.isfinite(most):
        most = float(certificate.found)
    pieces = tuple(", ".join(f"{name} = {level}" for name, level in piece.items()) for piece in region.pieces)
    hidden = tuple(name for name in region.names if name not in chosen)
    return RegionData(chosen, axes, surface, most, design.x[:, place], where, heights, weights, counts, pieces, hidden)


def plot_region_design(
    design: Any,
    factors: Sequence[str] | None = None,
    *,
    runs: tuple[Any, Floats] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The settings of a design drawn over its region: of one factor on the curve of the sensitivity, of two on its surface.

    The sensitivity nowhere exceeds the proven bound, and touches it where there is something to measure. Markers have areas
    in proportion to the shares; whole numbers of runs are written beside them.

    Parameters
    ----------
    design : RegionDesign, RegionExactDesign or RegionCompoundDesign
        The design.
    factors : sequence of str, optional
        One or two continuous factors to draw; the first ones by default.
    runs : (sequence of int, array of shape (n, q)), optional
        Pieces and coordinates of other runs, drawn as crosses.
    title : str, optional
        Above the axes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axis drawn on.

    Raises
    ------
    ImportError
        Without the extra `plot`.

    Examples
    --------
    >>> import convexdesign as cd
    >>> square = cd.Region.box(a=(-1, 1), b=(-1, 1))
    >>> design = cd.solve(cd.DesignProblem.d_optimal(cd.Model.polynomial(["a", "b"], 2).over(square)))
    >>> plot_region_design(design).get_ylabel()
    'b'
    """
    data = region_data(design, factors)
    ax = axes_or_new(ax, (7.0, 4.2) if len(data.factors) == 1 else (5.6, 4.4))
    if runs is not None:
        _crosses(design, data, runs, ax)
    return _curve(data, ax, title) if len(data.factors) == 1 else _surface(data, ax, title)


def _curve(data: RegionData, ax: Axes, title: str | None) -> Axes:
    if data.sensitivity is not None:
        for piece, values in enumerate(data.sensitivity):
            label = data.pieces[piece] or "sensitivity"
            style = LINE_STYLES[piece % len(LINE_STYLES)]
            ax.plot(data.axes[0], values, color=series_colour(piece), linestyle=style, label=label)
    ax.axhline(data.most, color=OKABE_ITO["vermillion"], linestyle="--", linewidth=1.0, label="proven bound")
    _markers(data, ax, data.points[:, 0], data.heights)
    low = 0.0 if data.sensitivity is None else float(np.nanmin(data.sensitivity))
    ax.set_ylim(min(0.0, low), 1.18 * data.most)
    return finished(ax, _across(data), "sensitivity", grid="y", title=title, pad=legend_over(ax))


def _surface(data: RegionData, ax: Axes, title: str | None) -> Axes:
    if data.sensitivity is not None:
        # Of several combinations of levels the largest.
        seen = np.isfinite(data.sensitivity).any(axis=0)
        values = np.where(
            seen, np.nanmax(np.where(np.isfinite(data.sensitivity), data.sensitivity, -1.0), axis=0), np.nan
        )
        levels = np.linspace(float(np.nanmin(values)), data.most * (1.0 + 1e-9), 13)
        drawn = ax.contourf(data.axes[0], data.axes[1], values, levels=levels, cmap="Blues", alpha=0.85)
        bar = ax.figure.colorbar(drawn, ax=ax, format="%.3g")
        bar.set_label(f"sensitivity, proven below {data.most:.4g}")
    _markers(data, ax, data.points[:, 0], data.points[:, 1])
    for axis, values in ((ax.set_xlim, data.axes[0]), (ax.set_ylim, data.axes[1])):
        room = 0.06 * float(values[-1] - values[0])
        axis(float(values[0]) - room, float(values[-1]) + room)
    pad = legend_over(ax) if ax.get_legend_handles_labels()[1] else None
    return finished(ax, _across(data), data.factors[1], grid="both", title=title, pad=pad)


def _across(data: RegionData) -> str:
    """What the axis across is called, and what the picture leaves out."""
    hidden = f"\n(not drawn: {', '.join(data.hidden)})" if data.hidden else ""
    return data.factors[0] + hidden


def _crosses(design: Any, data: RegionData, runs: tuple[Any, Floats], ax: Axes) -> None:
    """Other runs where they are: of one factor at the height of the sensitivity there."""
    where, x = np.asarray(runs[0], dtype=np.intp), runs[1]
    place = [design.problem.region.names.index(name) for name in data.factors]
    along = x[:, place[0]]
    up = x[:, place[1]] if len(place) > 1 else design.heights(where, x)
    ax.scatter(along, up, marker="x", s=60, color=OKABE_ITO["vermillion"], linewidth=1.6, zorder=5, label="runs")


def _markers(data: RegionData, ax: Axes, x: Floats, y: Floats) -> None:
    """Settings with areas in proportion to their shares, a shape for every combination of levels."""
    size = LARGEST * data.weights / float(data.weights.max())
    for piece in np.unique(data.where):
        mine = data.where == piece
        ax.scatter(
            x[mine],
            y[mine],
            s=size[mine],
            marker=MARKERS[int(piece) % len(MARKERS)],
            facecolor=OKABE_ITO["orange"] if len(data.pieces) == 1 else series_colour(int(piece)),
            edgecolor=INK,
            linewidth=0.8,
            alpha=0.9,
            zorder=3,
            label=data.pieces[int(piece)] if len(data.factors) == 2 and len(data.pieces) > 1 else None,
        )
    if data.counts is not None:
        for a, b, count in zip(x, y, data.counts):
            ax.annotate(
                str(int(count)),
                (a, b),
                xytext=(8, 8),
                textcoords="offset points",
                color=INK,
                fontsize="small",
                zorder=4,
                bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            )
