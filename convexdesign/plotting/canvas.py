"""Where to draw: matplotlib asked for only when a picture is, and axes with one plain look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from convexdesign.plotting.palette import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes_or_new", "finished", "new_axes", "require_matplotlib", "tidy"]


def require_matplotlib() -> None:
    """Import matplotlib, or say which extra brings it.

    Raises
    ------
    ImportError
        Naming the extra `plot`, where matplotlib is not installed.

    Examples
    --------
    >>> require_matplotlib()
    """
    try:
        import matplotlib  # noqa: F401  (only whether it is there matters)
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed; get it with: pip install 'convexdesign[plot]'"
        ) from error


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
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    if title:
        ax.set_title(title, loc="left", pad=pad)
    return ax


def tidy(ax: Axes, *, grid: Literal["x", "y", "both"]) -> None:
    """Leave only what carries meaning: two spines, and a faint grid along `grid`."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GREY)
    ax.tick_params(colors=INK, length=3)
    ax.grid(True, axis=grid, color="#E3E3E3", linewidth=0.8)
    ax.set_axisbelow(True)
