"""Designs as bars: which arms one measures, and how often; several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, finished, legend_over, letters, name_rows
from convexdesign.plotting.palette import INK, OKABE_ITO, series_colour
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "AllocationData",
    "ComparisonData",
    "allocation_data",
    "arm_names",
    "checked_weights",
    "comparison_data",
    "plot_allocation",
    "plot_comparison",
]


@dataclass(frozen=True)
class AllocationData:
    """The bars of one design, in drawing order.

    Parameters
    ----------
    arms : array of int, shape (k,)
        Indices into the arms given.
    names : tuple of str
        Theirs.
    weights : array, shape (k,)
        Theirs.
    hidden : int
        How many arms of positive weight got no bar.
    hidden_weight : float
        What these hold together.
    """

    arms: NDArray[np.intp]
    names: tuple[str, ...]
    weights: Floats
    hidden: int
    hidden_weight: float


def allocation_data(weights: ArrayLike, names: Sequence[str] | None = None, max_bars: int = 20) -> AllocationData:
    """Which arms to show: all of them in their order if they are few, else the largest of the support.

    Parameters
    ----------
    weights : array_like, shape (n,)
        Nonnegative.
    names : sequence of str, optional
        Of the n arms; indices by default.
    max_bars : int
        The most bars.

    Returns
    -------
    AllocationData
        What `plot_allocation` draws.

    Raises
    ------
    InputError
        On a wrong shape, a negative or non-finite weight, a wrong number of names, or max_bars < 1.

    Examples
    --------
    >>> data = allocation_data([0.0, 0.7, 0.1, 0.2], max_bars=2)
    >>> data.arms, data.hidden
    (array([1, 3]), 1)
    """
    w = checked_weights(weights)
    labels = arm_names(names, w.size)
    if max_bars < 1:
        raise InputError(f"max_bars must be at least 1, got {max_bars}")
    shown, hidden = largest(w, max_bars)
    return AllocationData(
        arms=shown,
        names=tuple(labels[int(i)] if labels else str(i) for i in shown),
        weights=w[shown],
        hidden=int(np.count_nonzero(w[hidden])),
        hidden_weight=float(w[hidden].sum()),
    )


def plot_allocation(
    weights: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    max_bars: int = 20,
    share_of: str = "measurements",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a design as horizontal bars, one an arm, each labelled with its share.

    Parameters
    ----------
    weights : array_like, shape (n,)
        Nonnegative.
    names : sequence of str, optional
        Of the n arms; indices by default.
    max_bars : int
        The most bars.
    share_of : str
        What the weights divide, for the axis ("budget" with costs).
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
    >>> plot_allocation([0.25, 0.75], ["red", "blue"]).get_ylabel()
    'arm'
    """
    data = allocation_data(weights, names, max_bars)
    ax = axes_or_new(ax, (7.0, 1.3 + 0.32 * max(len(data.names), 4)))
    bars = ax.barh(np.arange(len(data.names)), 100 * data.weights, height=0.72, color=OKABE_ITO["blue"])
    label_bars(ax, bars, data.weights)
    beside = room_for_bars(ax, data.names, data.weights)
    note = hidden_note(data.hidden, f"{percent(data.hidden_weight)} of {share_of} together")
    return finished(ax, f"share of {share_of} (%){note}", "arm", grid="x", title=title, beside=beside)


def largest(weights: Floats, most: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Which arms to show: all in their order if there are at most so many, else the largest; and whether each is hidden."""
    shown = np.arange(weights.size)
    if weights.size > most:
        shown = np.argsort(-weights, kind="stable")[:most]
        shown = shown[weights[shown] > 0]
    hidden = np.ones(weights.size, dtype=bool)
    hidden[shown] = False
    return shown, hidden


def checked_weights(weights: ArrayLike) -> Floats:
    """Weights as float64 (n,), nonnegative and finite, else InputError with the index and the value."""
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or w.size == 0:
        raise InputError(f"weights must be a vector with one entry an arm, got shape {w.shape}")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if bad.size:
        raise InputError(f"weights[{bad[0]}] = {w[bad[0]]}: weights must be finite and not negative")
    return w


def arm_names(names: Sequence[str] | None, n: int) -> Sequence[str] | None:
    """The names if there is one an arm (None stays None), else InputError."""
    if names is not None and len(names) != n:
        raise InputError(f"{len(names)} names for {n} arms; give one name an arm, or None for indices")
    return names


def percent(share: float) -> str:
    """A share as text with one decimal; below one in a million a weight is negligible, and reads as zero.

    >>> percent(0.25), percent(1e-9), percent(2e-5)
    ('25.0 %', '0 %', '<0.1 %')
    """
    if share < 1e-6:
        return "0 %"
    return "<0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"


def label_bars(ax: Axes, bars: Any, weights: Floats) -> None:
    """Write each bar's share at its end."""
    ax.bar_label(bars, [percent(w) for w in weights], padding=4, color=INK, fontsize="small")


def room_for_bars(ax: Axes, names: Sequence[str], weights: Floats) -> int:
    """Name the rows from the top down; start the axis at zero and leave room on the right for the numbers.

    Returns how many letters the names take.
    """
    beside = name_rows(ax, np.arange(len(names)).tolist(), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    most = float(weights.max(initial=0.0))
    # As many letters as "12.3 %" beside the longest bar.
    share = min(8.0 / max(letters(ax) - beside - 3, 12), 0.5)
    ax.set_xlim(0, 100 * most / (1.0 - share) if most > 0 else 1)
    return beside


def hidden_note(hidden: int, amount: str) -> str:
    """Lines beneath the axis that say how many arms are measured but not shown; nothing where none is."""
    arms = "arm is" if hidden == 1 else "arms are"
    return f"\n{hidden:,} more measured {arms} not shown\n({amount})" if hidden else ""


@dataclass(frozen=True)
class ComparisonData:
    """Groups of bars, one group an arm and one bar a design, in drawing order.

    Parameters
    ----------
    designs : tuple of str
        Their labels.
    arms : array of int, shape (k,)
        Indices into the arms given.
    names : tuple of str
        Theirs.
    weights : array, shape (number of designs, k)
        Of the arms shown.
    hidden : int
        How many arms without bars some design measures.
    hidden_weight : float
        The most that any one design holds there.
    """

    designs: tuple[str, ...]
    arms: NDArray[np.intp]
    names: tuple[str, ...]
    weights: Floats
    hidden: int
    hidden_weight: float


def comparison_data(
    designs: Mapping[str, ArrayLike], names: Sequence[str] | None = None, max_arms: int = 12
) -> ComparisonData:
    """The arms to compare: all in their order if they are few, else those some design favours most.

    Parameters
    ----------
    designs : mapping
        From a label to weights (n,), all of one length.
    names : sequence of str, optional
        Of the n arms; indices by default.
    max_arms : int
        The most arms.

    Returns
    -------
    ComparisonData
        What `plot_comparison` draws.

    Raises
    ------
    InputError
        Where lengths differ or no design is given.

    Examples
    --------
    >>> comparison_data({"a": [0.9, 0.1], "b": [0.5, 0.5]}).weights
    array([[0.9, 0.1],
           [0.5, 0.5]])
    """
    if not designs:
        raise InputError("no designs to compare: give a mapping from labels to weights")
    if max_arms < 1:
        raise InputError(f"max_arms must be at least 1, got {max_arms}")
    rows = {str(label): checked_weights(w) for label, w in designs.items()}
    sizes = {label: w.size for label, w in rows.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"designs over different numbers of arms cannot be compared: {sizes}")
    W = np.stack(list(rows.values()))
    labels = arm_names(names, W.shape[1])
    most = W.max(axis=0)
    shown, hidden = largest(most, max_arms)
    return ComparisonData(
        designs=tuple(rows),
        arms=shown,
        names=tuple(labels[int(i)] if labels else str(i) for i in shown),
        weights=W[:, shown],
        hidden=int(np.count_nonzero(most[hidden])),
        hidden_weight=float(W[:, hidden].sum(axis=1).max()),
    )


def plot_comparison(
    designs: Mapping[str, ArrayLike],
    names: Sequence[str] | None = None,
    *,
    max_arms: int = 12,
    share_of: str = "measurements",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the designs as grouped horizontal bars with a legend.

    Parameters
    ----------
    designs : mapping
        From a label to weights (n,), all of one length.
    names : sequence of str, optional
        Of the n arms; indices by default.
    max_arms : int
        The most arms.
    share_of : str
        What the weights divide, for the axis ("budget" with costs).
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
    >>> len(plot_comparison({"a": [0.9, 0.1], "b": [0.5, 0.5]}).containers)
    2
    """
    data = comparison_data(designs, names, max_arms)
    k = len(data.designs)
    ax = axes_or_new(ax, (7.0, min(1.6 + 0.24 * k * max(len(data.names), 3), 8.0)))
    rows = np.arange(len(data.names))
    height = 0.8 / k
    for j, label in enumerate(data.designs):
        at = rows + (j - (k - 1) / 2) * height
        bars = ax.barh(at, 100 * data.weights[j], height=0.9 * height, color=series_colour(j), label=label)
        if k * len(rows) <= 36:  # more numbers than that are noise
            label_bars(ax, bars, data.weights[j])
    beside = room_for_bars(ax, data.names, data.weights)
    note = hidden_note(data.hidden, f"at most {percent(data.hidden_weight)} of the {share_of} of any one design")
    # Above the bars, where it can hide none of them.
    pad = legend_over(ax, beside)
    return finished(ax, f"share of {share_of} (%){note}", "arm", grid="x", title=title, pad=pad, beside=beside)
