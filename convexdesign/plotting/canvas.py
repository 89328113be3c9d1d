"""Where to draw: matplotlib asked for only when a picture is, and axes with one plain look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from convexdesign.extras import needed
from convexdesign.plotting.palette import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "axes_or_new",
    "finished",
    "legend_columns",
    "name_arms",
    "new_axes",
    "require_matplotlib",
    "ticks_between",
    "tidy",
]


# Inches below which a legend goes beneath the plane, and letters of a name that is turned.
NARROW, LONGEST = 6.0, 16


def require_matplotlib() -> None:
    """Import matplotlib, or say which extra brings it.

    Raises
    ------
    MissingExtraError
        An ImportError that names the extra `plot`, where matplotlib is not installed.

    Examples
    --------
    >>> require_matplotlib()
    """
    needed("matplotlib", "drawing")


def new_axes(size: tuple[float, float] = (7.0, 4.2)) -> Axes:
    """Axes on a figure of the given size that no window and no pyplot state knows.

    For writing files: works without a display and leaves nothing open.

    Parameters
    ----------
    size : tuple of float
        Width and height in inches.

    Returns
    -------
    matplotlib.axes.Axes
        Empty.

    Examples
    --------
    >>> ax = new_axes((3.0, 2.0))
    >>> ax.figure.get_size_inches().tolist()
    [3.0, 2.0]
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=size, dpi=150, layout="constrained").subplots()


def axes_or_new(ax: Axes | None, size: tuple[float, float] = (7.0, 4.2)) -> Axes:
    """The axes given, else new ones that a notebook shows by itself."""
    require_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def finished(
    ax: Axes,
    x: str,
    y: str,
    *,
    grid: Literal["x", "y", "both"],
    title: str | None = None,
    pad: float | None = None,
    plane: bool = False,
) -> Axes:
    """The axes with their labels x and y, tidied, and with a title; plane: both coordinates at one scale, legend outside."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    tidy(ax, grid=grid)
    if plane:
        ax.set_aspect("equal", adjustable="datalim")
        figure: Any = ax.figure
        if figure is None or figure.figure.get_figwidth() >= NARROW:
            ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        else:  # beside the plane there would be no room for both
            ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.16), ncols=2, fontsize="x-small", frameon=False)
    if title:
        ax.set_title(title, loc="left", pad=pad)
    return ax


def ticks_between(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers for a logarithmic axis from low > 0 to high: 1, 2 and 5 times powers of ten, or fewer where they crowd.

    At least three, where that many round numbers lie between (or else finer ones), and at most `most`.

    >>> ticks_between(0.02, 0.3), ticks_between(900.0, 1600.0)
    ([0.02, 0.05, 0.1, 0.2], [900.0, 1000.0, 1200.0, 1400.0, 1600.0])
    """
    powers = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 1)

    def among(multiples: Sequence[float], every: int = 1) -> list[float]:
        found = [float(f"{m}e{k}") for k in powers if k % every == 0 for m in multiples]
        return sorted(v for v in found if low * (1 - 1e-9) <= v <= high * (1 + 1e-9))

    fine = sorted({*range(1, 10), 1.2, 1.4, 1.6, 1.8, 2.5, 3.5, 4.5})
    for multiples in (fine, (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = among(multiples)
        if len(ticks) <= most:
            return ticks if len(ticks) >= 3 else sorted({*ticks, *among((1, 2, 5))} or {low, high})
    return next(ticks for every in range(2, 400) if len(ticks := among((1,), every)) <= most)


def legend_columns(labels: Sequence[str], room: int = 62) -> int:
    """How many columns a legend above the axes may have, where a line holds so many letters."""
    widest = max((len(label) for label in labels), default=1) + 6
    return max(1, min(len(labels), 3, room // widest))


def name_arms(ax: Axes, positions: Sequence[float], names: Sequence[str]) -> None:
    """Names along the horizontal axis, turned where they would touch."""
    longest = max(map(len, names), default=0)
    crowded = longest * len(names) > 70
    if crowded and longest > LONGEST:
        names = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names]
        longest = LONGEST
    turned: dict[str, Any] = (
        {"rotation": 90} if crowded and longest * len(names) > 140 else {"rotation": 35, "ha": "right"}
    )
    ax.set_xticks(positions, names, **(turned if crowded else {}))


def tidy(ax: Axes, *, grid: Literal["x", "y", "both"]) -> None:
    """Leave only what carries meaning: two spines, and a faint grid along `grid`."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GREY)
    ax.tick_params(colors=INK, length=3)
    ax.grid(True, axis=grid, color="#E3E3E3", linewidth=0.8)
    ax.set_axisbelow(True)
