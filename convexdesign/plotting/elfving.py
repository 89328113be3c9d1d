"""Elfving's picture: the best variance of one combination, read off the convex hull of the arms and their negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.errors import InputError
from convexdesign.plotting.canvas import axes_or_new, tidy
from convexdesign.plotting.ellipse import plane
from convexdesign.plotting.palette import GREY, OKABE_ITO
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ElfvingData", "elfving_data", "plot_elfving"]


# A corner with less than this share of the target's coefficients is not needed.
NEEDED = 1e-9


@dataclass(frozen=True, eq=False)
class ElfvingData:
    """What `plot_elfving` draws, for arms y_i = x_i / s_i (n, 2) and one target v (2,).

    hull (k, 2): the corners of conv{y_i, -y_i} in order, the first repeated at the end. touch (2,): where the ray from
    the origin along v leaves the hull. value: the best variance of v'theta per measurement, (|v| / |touch|)^2.
    weights (n,): an optimal design; the arms at the ends of the edge that holds `touch`.
    """

    arms: Floats
    target: Floats
    hull: Floats
    touch: Floats
    value: float
    weights: Floats


def elfving_data(arms: ArrayLike, target: ArrayLike, noise_variance: ArrayLike | None = None) -> ElfvingData:
    """The hull of the arms and their negatives, where the target's ray leaves it, and the design that this gives.

    arms: (n, 2). target: (2,), not zero. noise_variance: s_i^2, a scalar or (n,), one where None. Any unbiased estimate
    sum_i h_i y_i of v has standard deviation at least sum_i |h_i| per measurement, and v / sum_i |h_i| lies in the hull:
    the further out along v the hull reaches, the smaller the variance (Elfving 1952).

    Raises InputError where the arms are not in the plane, lie on one line, or the target is zero.

    >>> elfving_data([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]).value
    4.0
    """
    X, v = plane(arms, "arms"), plane(np.atleast_2d(np.asarray(target, dtype=float)), "target")[0]
    if not v.any():
        raise InputError("target is zero: there is nothing to estimate; give a combination of the two coordinates")
    variance = np.broadcast_to(np.asarray(1.0 if noise_variance is None else noise_variance, float), (len(X),))
    if not np.all(variance > 0):
        raise InputError("noise_variance must be positive for every arm")
    Y = X / np.sqrt(variance)[:, None]
    singular = np.linalg.svd(Y, compute_uv=False)
    if len(Y) < 2 or singular[1] <= 1e-12 * singular[0]:
        raise InputError("the arms lie on one line, so the hull has no inside; add an arm off that line")
    from scipy.spatial import ConvexHull

    points = np.vstack([Y, -Y])
    found = ConvexHull(points)
    normals, offsets = found.equations[:, :2], -found.equations[:, 2]
    reach = normals @ v / offsets  # the largest is the gauge of v: v / gauge lies on that edge
    edge = int(np.argmax(reach))
    gauge = float(reach[edge])
    corners = found.simplices[edge]
    share = np.linalg.solve(points[corners].T, v / gauge)
    weights = np.zeros(len(Y))
    np.add.at(weights, corners % len(Y), np.where(np.abs(share) > NEEDED, np.abs(share), 0.0))
    around = np.append(found.vertices, found.vertices[0])
    return ElfvingData(Y, v, points[around], v / gauge, gauge**2, weights / weights.sum())


def plot_elfving(
    arms: ArrayLike,
    target: ArrayLike,
    noise_variance: ArrayLike | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the hull, the arms (filled) and their negatives (open), the target and where its ray leaves the hull."""
    data = elfving_data(arms, target, noise_variance)
    ax = axes_or_new(ax, (6.4, 5.2))
    ax.fill(*data.hull.T, color=OKABE_ITO["sky"], alpha=0.2, linewidth=0)
    ax.plot(*data.hull.T, color=OKABE_ITO["blue"], linewidth=1.6, label="hull of the arms and their negatives")
    ax.scatter(data.arms[:, 0], data.arms[:, 1], s=45, color=OKABE_ITO["vermillion"], zorder=4, label="arms")
    ax.scatter(
        -data.arms[:, 0],
        -data.arms[:, 1],
        s=45,
        facecolors="white",
        edgecolors=OKABE_ITO["vermillion"],
        zorder=4,
        label="negatives",
    )
    end = max((data.target, data.touch), key=lambda p: float(np.hypot(*p)))
    ax.plot([0, end[0]], [0, end[1]], color=GREY, linestyle=":", linewidth=1.4, zorder=1)
    ax.annotate("", xy=tuple(data.target), xytext=(0, 0), arrowprops={"arrowstyle": "-|>", "color": OKABE_ITO["green"]})
    ax.update_datalim([data.target])
    ax.plot([], [], color=OKABE_ITO["green"], marker=">", markevery=[-1], label="target")
    ax.plot(
        *data.touch, marker="X", markersize=9, color="black", linestyle="none", zorder=5, label="where its ray leaves"
    )
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.1)
    ax.set_xlabel("first coordinate")
    ax.set_ylabel("second coordinate")
    tidy(ax, grid="both")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    if title:
        ax.set_title(title, loc="left")
    return ax
