"""Several designs for the same arms, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.plotting.allocation import arm_names, checked_weights, leave_room, note_hidden, percent
from convexdesign.plotting.canvas import axes_or_new, tidy
from convexdesign.plotting.palette import INK, series_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ComparisonData", "comparison_data", "plot_comparison"]


@dataclass(frozen=True)
class ComparisonData:
    """Groups of bars, one group an arm and one bar a design, in drawing order.

    `weights` has shape (designs, arms shown). `hidden` counts the arms without bars that some design
    measures; `hidden_weight` is the most that any one design holds there.
    """

    designs: tuple[str, ...]
    arms: NDArray[np.intp]
    names: tuple[str, ...]
    weights: NDArray[np.float64]
    hidden: int
    hidden_weight: float


def comparison_data(
    designs: Mapping[str, ArrayLike], names: Sequence[str] | None = None, max_arms: int = 12
) -> ComparisonData:
    """The arms to compare: all in their order if at most `max_arms`, else those some design favours most.

    designs: from a label to weights (n,), all of one length. Raises InputError where lengths differ or
    no design is given.

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
    largest = W.max(axis=0)
    if largest.size <= max_arms:
        shown = np.arange(largest.size)
    else:
        order = np.argsort(-largest, kind="stable")[:max_arms]
        shown = order[largest[order] > 0]
    hidden = np.ones(largest.size, dtype=bool)
    hidden[shown] = False
    return ComparisonData(
        designs=tuple(rows),
        arms=shown,
        names=tuple(labels[int(i)] if labels else str(i) for i in shown),
        weights=W[:, shown],
        hidden=int(np.count_nonzero(largest[hidden])),
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
    """Draw the designs as grouped horizontal bars with a legend; returns the axes.

    Arguments as in `comparison_data`; share_of: what the weights divide, for the axis ("budget" with costs).
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
            ax.bar_label(bars, [percent(w) for w in data.weights[j]], padding=4, color=INK, fontsize="small")
    ax.set_yticks(rows, data.names)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_ylabel("arm")
    ax.set_xlabel(f"share of {share_of} (%)")
    leave_room(ax, data.weights)
    tidy(ax, grid="x")
    note_hidden(ax, data.hidden, f"at most {percent(data.hidden_weight)} of the {share_of} of any one design")
    # Above the bars, where it can hide none of them.
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=min(k, 3), frameon=False, borderaxespad=0.2)
    if title:
        ax.set_title(title, loc="left", pad=12 + 18 * -(-k // 3))
    return ax
