"""Where to draw: matplotlib asked for only when a picture is, and axes with one plain look, on a page and on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.extras import needed
from convexdesign.plotting.palette import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "axes_or_new",
    "finished",
    "inches",
    "legend_beneath",
    "legend_columns",
    "legend_over",
    "letters",
    "mark_apart",
    "name_arms",
    "name_rows",
    "new_axes",
    "require_matplotlib",
    "ticks_between",
    "tidy",
]


# Inches below which a legend goes beneath the plane, and letters of a name that is turned.
NARROW, LONGEST = 6.0, 16
# The mean width of a letter, and how far lines are apart, as shares of the size of the type; what small type is of it.
LETTER, LINE, SMALL = 0.55, 1.2, 0.833
# Letters that a line and the space beside it take in a legend.
HANDLE = 5
# The share of a picture's width that names of rows may take, and how much larger titles are than labels.
BESIDE, TITLE = 0.38, 1.2
# The share of a picture's width that a legend may take beside a plane.
ASIDE = 0.36


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
    beside: int = 6,
) -> Axes:
    """The axes with their labels x and y, tidied, and with a title; plane: both coordinates at one scale, legend outside.

    beside: how many letters the marks of the vertical axis take. Labels and titles wider than what is left are broken.
    """
    room = max(letters(ax) - beside - 3, 12)
    ax.set_xlabel("\n".join(part for line in x.split("\n") for part in wrap(line, room)))
    ax.set_ylabel(y)
    tidy(ax, grid=grid)
    if plane:
        ax.set_aspect("equal", adjustable="datalim")
        figure: Any = ax.figure
        widest = HANDLE + max(map(len, ax.get_legend_handles_labels()[1]), default=0)
        if figure is None or (figure.figure.get_figwidth() >= NARROW and widest <= ASIDE * letters(ax)):
            ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        else:  # beside the plane there would be no room for both
            legend_beneath(ax)
    if title:
        ax.set_title(balanced(title, int(room / TITLE)), loc="left", pad=pad)
    return ax


def balanced(text: str, most: int) -> str:
    """The text in as few lines as so many letters a line allow, of about one length.

    >>> balanced("one and two and three", 16)
    'one and two\\nand three'
    """
    lines = wrap(text, most)
    return "\n".join(next(found for k in range(1, most + 1) if len(found := wrap(text, k)) <= len(lines)))


def inches(ax: Axes) -> float:
    """The width that the axes may take, in inches."""
    figure: Any = ax.figure
    if figure is None:
        return 7.0
    columns = ax.get_subplotspec()
    share = 1.0 if columns is None else len(columns.colspan) / columns.get_gridspec().ncols
    return float(figure.figure.get_figwidth()) * share  # of a subfigure, the figure that holds it


def letters(ax: Axes, scale: float = 1.0) -> int:
    """How many letters fit into the width that the axes may take, of this share of the size of labels."""
    return int(72.0 * inches(ax) / (LETTER * _type(ax) * scale))


def _type(ax: Axes) -> float:
    """The size of labels, in points."""
    return float(ax.xaxis.label.get_fontsize())


def legend_over(ax: Axes, beside: int = 6) -> float:
    """A legend above the axes, where it hides nothing, as wide as it may be; how far above the axes a title then goes."""
    return _legend(ax, letters(ax, SMALL) - int(beside / SMALL), loc="lower left", bbox_to_anchor=(0.0, 1.0))


def legend_beneath(ax: Axes) -> None:
    """A legend below the axes and their label."""
    points = 3.2 * LINE * _type(ax)
    height = 72.0 * float(ax.figure.figure.get_figheight()) * 0.75  # type: ignore[union-attr]
    _legend(ax, letters(ax, SMALL) - 6, loc="upper left", bbox_to_anchor=(0.0, -points / height))


def _legend(ax: Axes, room: int, **place: Any) -> float:
    """A legend of so many letters a line: in as many columns as fit, long labels broken. Its height in points."""
    handles, labels = ax.get_legend_handles_labels()
    shown = ["\n".join(wrap(label, max(room - HANDLE, 8))) or label for label in labels]
    columns = legend_columns(shown, room)
    ax.legend(
        handles,
        shown,
        ncols=columns,
        fontsize="small",
        columnspacing=1.2,
        handletextpad=0.5,
        borderaxespad=0.2,
        frameon=False,
        **place,
    )
    rows = -(-len(shown) // columns)
    # Entries run down the columns, and each row is as high as the highest in it.
    lines = sum(max(label.count("\n") + 1 for label in shown[row::rows]) for row in range(rows))
    return 8.0 + 1.5 * LINE * SMALL * _type(ax) * lines


def mark_apart(ax: Axes, values: ArrayLike, texts: Sequence[str]) -> None:
    """Marks on the horizontal axis, without those whose texts would touch others; the first and the last stay."""
    at = ax.transAxes.inverted().transform(ax.transData.transform([(float(v), 0.0) for v in np.asarray(values)]))[:, 0]
    # The axes take most of the width; between texts there is a letter at least.
    at = at * 0.8 * letters(ax)
    half = [len(text) / 2.0 for text in texts]
    kept: list[int] = []
    for k in range(len(texts)):
        free = all(abs(at[k] - at[j]) >= half[k] + half[j] + 1.0 for j in {*kept[-1:], len(texts) - 1} - {k})
        if free or k == len(texts) - 1:
            kept.append(k)
    ax.set_xticks([float(np.asarray(values)[k]) for k in kept], [texts[k] for k in kept])
    ax.set_xticks([], minor=True)


def name_rows(ax: Axes, positions: Sequence[float], names: Sequence[str]) -> int:
    """Names beside the vertical axis, in two lines or cut where they would take too much of the width; the letters taken."""
    room = int(BESIDE * letters(ax, SMALL))
    longest = max(map(len, names), default=0)
    if longest <= BESIDE * letters(ax):
        ax.set_yticks(positions, names)
        return longest
    figure: Any = ax.figure
    lines = 72.0 * float(figure.figure.get_figheight()) * 0.7 / (LINE * SMALL * _type(ax) * max(len(names), 1))
    shown = two_lines(names, room) if lines >= 2.0 else shortened(names, room)
    ax.set_yticks(positions, shown, fontsize="small")
    return int(SMALL * min(room, longest))


def two_lines(names: Sequence[str], most: int) -> list[str]:
    """Names in at most two lines of so many letters, cut where that is too little."""
    broken = [wrap(name, most) or [""] for name in names]
    if all(len(lines) <= 2 for lines in broken):
        return ["\n".join(lines) for lines in broken]
    return ["\n".join((name[:most], name[most:])) for name in shortened(names, 2 * most)]


def shortened(names: Sequence[str], most: int) -> list[str]:
    """Names of at most so many letters: cut at the end, or in the middle or at the beginning where that tells them apart.

    >>> shortened(["catalyst one", "catalyst two"], 8), shortened(["short"], 8)
    (['cata…one', 'cata…two'], ['short'])
    """
    if max(map(len, names), default=0) <= most:
        return list(names)
    ends = [(most - 1, 0), (most // 2, most - 1 - most // 2), (0, most - 1)]
    tried = [
        [name if len(name) <= most else f"{name[:first]}…{name[len(name) - last :] if last else ''}" for name in names]
        for first, last in ends
    ]
    return max(tried, key=lambda found: len(set(found)))


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
    longest, line = max(map(len, names), default=0), letters(ax)
    crowded = (longest + 1) * len(names) > 0.75 * line
    if crowded and longest > LONGEST:
        names = shortened(names, LONGEST)
        longest = LONGEST
    turned: dict[str, Any] = (
        {"rotation": 90} if crowded and longest * len(names) > 1.5 * line else {"rotation": 35, "ha": "right"}
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
