"""How an identification narrows down: items undecided against samples spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, tidy
from convexdesign.plotting.palette import GREY, series_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RoundsData", "plot_rounds", "rounds_data"]


@dataclass(frozen=True, eq=False)
class RoundsData:
    """A staircase: from samples[k] on, undecided[k] items are left; samples (k,) rise, undecided (k,) do not."""

    samples: NDArray[np.float64]
    undecided: NDArray[np.intp]


def rounds_data(samples: ArrayLike, undecided: ArrayLike, n_items: int) -> RoundsData:
    """What is drawn: samples (rounds,) spent by the end of each round and items undecided then (rounds,).

    Starts with all n_items and no samples. Raises InputError where the shapes differ.

    >>> rounds_data([100, 300], [3, 1], n_items=5).undecided
    array([5, 3, 1])
    """
    spent, left = np.asarray(samples, dtype=float), np.asarray(undecided, dtype=np.intp)
    if spent.ndim != 1 or spent.shape != left.shape:
        raise InputError(f"samples and undecided must be vectors of one length, got {spent.shape} and {left.shape}")
    return RoundsData(np.concatenate([[0.0], spent]), np.concatenate([[n_items], left]))


def plot_rounds(
    samples: ArrayLike,
    undecided: ArrayLike,
    *,
    n_items: int,
    burn_in: int = 0,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the staircase of `rounds_data`, and a line where a burn-in of so many samples ended; returns the axes."""
    data = rounds_data(samples, undecided, n_items)
    ax = axes_or_new(ax, (7.0, 4.2))
    ax.step(data.samples, data.undecided, where="post", color=series_colour(0), linewidth=2)
    ax.plot(data.samples[1:], data.undecided[1:], "o", color=series_colour(0), markersize=5)
    if burn_in > 0:
        ax.axvline(burn_in, color=GREY, linewidth=1, linestyle="--")
        ax.annotate("burn-in ends", (burn_in, n_items), xytext=(4, 0), textcoords="offset points", color=GREY)
    first = max(float(burn_in), 1.0) if data.samples.size == 1 else float(data.samples[1])
    # Rounds grow geometrically; nothing happens before the first ends.
    ax.set_xscale("symlog", linthresh=max(min(first, float(burn_in) or first), 1.0))
    ax.set_xlabel("samples")
    ax.set_ylabel("items undecided")
    ax.set_ylim(bottom=0)
    tidy(ax, grid="both")
    if title:
        ax.set_title(title, loc="left")
    return ax
