"""One design as bars: which arms it measures, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, tidy
from convexdesign.plotting.palette import GREY, INK, OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AllocationData", "allocation_data", "arm_names", "checked_weights", "plot_allocation"]


@dataclass(frozen=True)
class AllocationData:
    """The bars of one design, in drawing order.

    `arms` are indices into the arms given, `names` and `weights` belong to them. `hidden` counts the arms of
    positive weight that got no bar, and `hidden_weight` is what they hold together.
    """

    arms: NDArray[np.intp]
    names: tuple[str, ...]
    weights: NDArray[np.float64]
    hidden: int
    hidden_weight: float


def allocation_data(weights: ArrayLike, names: Sequence[str] | None = None, max_bars: int = 20) -> AllocationData:
    """Which arms to show: all of them in their order if at most `max_bars`, else the largest of the support.

    weights: (n,) nonnegative. names: n arm names; indices where None. Raises InputError on a wrong shape, a
    negative or non-finite weight, a wrong number of names, or max_bars < 1.

    >>> data = allocation_data([0.0, 0.7, 0.1, 0.2], max_bars=2)
    >>> data.arms, data.hidden
    (array([1, 3]), 1)
    """
    w = checked_weights(weights)
    labels = arm_names(names, w.size)
    if max_bars < 1:
        raise InputError(f"max_bars must be at least 1, got {max_bars}")
    if w.size <= max_bars:
        shown = np.arange(w.size)
    else:
        largest = np.argsort(-w, kind="stable")[:max_bars]
        shown = largest[w[largest] > 0]
    hidden = np.ones(w.size, dtype=bool)
    hidden[shown] = False
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
    """Draw a design as horizontal bars, one an arm, each labelled with its share; returns the axes.

    Arguments as in `allocation_data`; share_of: what the weights divide, for the axis ("budget" with costs).
    """
    data = allocation_data(weights, names, max_bars)
    ax = axes_or_new(ax, (7.0, 1.3 + 0.32 * max(len(data.names), 4)))
    rows = np.arange(len(data.names))
    bars = ax.barh(rows, 100 * data.weights, height=0.72, color=OKABE_ITO["blue"])
    ax.bar_label(bars, [percent(w) for w in data.weights], padding=4, color=INK, fontsize="small")
    ax.set_yticks(rows, data.names)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_ylabel("arm")
    ax.set_xlabel(f"share of {share_of} (%)")
    leave_room(ax, data.weights)
    tidy(ax, grid="x")
    note_hidden(ax, data.hidden, f"{percent(data.hidden_weight)} of {share_of} together")
    if title:
        ax.set_title(title, loc="left")
    return ax


def checked_weights(weights: ArrayLike) -> NDArray[np.float64]:
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
    """A share as text with one decimal; below one in a million it is a solver's dust, and reads as zero.

    >>> percent(0.25), percent(1e-9), percent(2e-5)
    ('25.0 %', '0 %', '<0.1 %')
    """
    if share < 1e-6:
        return "0 %"
    return "<0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"


def leave_room(ax: Axes, weights: NDArray[np.float64]) -> None:
    """Start the axis at zero and leave room on the right for the numbers at the bars' ends."""
    largest = float(weights.max(initial=0.0))
    ax.set_xlim(0, 115 * largest if largest > 0 else 1)


def note_hidden(ax: Axes, hidden: int, amount: str) -> None:
    """Say under the bars how many arms are measured but not shown; nothing where none is."""
    if hidden:
        arms = "arm is" if hidden == 1 else "arms are"
        text = f"{hidden:,} more measured {arms} not shown\n({amount})"
        ax.text(0.99, 0.02, text, transform=ax.transAxes, ha="right", va="bottom", color=GREY, fontsize="small")
