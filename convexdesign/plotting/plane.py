"""Designs in the plane: arms, targets and the confidence ellipse; and Elfving's picture of one target's best design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arms.groups import repeat_per_response
from convexdesign.arms.noise import read_noise
from convexdesign.arms.read import has_responses, read_arms
from convexdesign.errors import InputError
from convexdesign.plotting.allocation import checked_weights
from convexdesign.plotting.canvas import axes_or_new, finished
from convexdesign.plotting.palette import GREY, INK, OKABE_ITO
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ElfvingData", "EllipseData", "elfving_data", "ellipse_data", "plot_elfving", "plot_ellipse"]


@dataclass(frozen=True)
class EllipseData:
    """What `plot_ellipse` draws.

    Parameters
    ----------
    arms : array, shape (n, 2)
        Of arms with several responses every response vector.
    weights : array, shape (n,)
        Theirs, or of the arm that a response belongs to.
    targets : array, shape (m, 2)
        The combinations that are wanted.
    information : array, shape (2, 2)
        The matrix A.
    boundary : array, shape (k, 2)
        Points with z'A z = 1; the first and the last coincide.
    """

    arms: Floats
    weights: Floats
    targets: Floats
    information: Floats
    boundary: Floats

    @property
    def deviations(self) -> Floats:
        """sqrt(v'A^-1 v) for every target: how far the ellipse reaches along v, per one measurement; (m,)."""
        solved = np.linalg.solve(self.information, self.targets.T)
        return np.sqrt(np.einsum("ji,ij->j", self.targets, solved))


def ellipse_data(
    arms: ArrayLike,
    weights: ArrayLike,
    targets: ArrayLike | None = None,
    noise_variance: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    points: int = 241,
) -> EllipseData:
    """The boundary of {z : z'A z <= 1}, A = A0 + sum_i w_i x_i x_i' / s_i^2, for arms in the plane.

    After N measurements the estimate's covariance is A^-1/N, so the ellipse has the shape of every confidence
    region for theta; the largest v'z on it is the standard deviation of v'theta, times sqrt(N).

    Parameters
    ----------
    arms : array_like, shape (n, 2) or (n, 2, r)
        In the plane.
    weights : array_like, shape (n,)
        The design.
    targets : array_like, shape (m, 2), optional
        The combinations that are wanted.
    noise_variance : array_like, scalar or shape (n,), optional
        VARIANCES s_i^2, one by default; for arms with several responses also (n, r) or (n, r, r).
    prior : array_like, shape (2, 2), optional
        The matrix A0.
    points : int
        How many on the boundary.

    Returns
    -------
    EllipseData
        What `plot_ellipse` draws.

    Raises
    ------
    InputError
        Where the dimension is not two or A is singular (the region is then an unbounded strip).

    Examples
    --------
    >>> ellipse_data([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]).boundary[0].round(6)
    array([1.414214, 0.      ])
    """
    w = checked_weights(weights)
    X, w, A = _information(arms, w, noise_variance)
    V = np.empty((0, 2)) if targets is None else plane(targets, "targets")
    if prior is not None:
        A = A + np.asarray(prior, dtype=np.float64)
    scale, axes = np.linalg.eigh(A)
    if scale[0] <= 1e-12 * max(scale[1], np.finfo(float).tiny):
        raise InputError(
            "the information matrix is singular: the arms with positive weight lie on one line, "
            "so the confidence region is unbounded; add an arm off that line"
        )
    # The symmetric square root, so that the walk starts on the first axis whatever the eigenvectors' signs.
    root = axes @ (axes / np.sqrt(scale)).T
    angle = np.linspace(0.0, 2 * np.pi, points)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    circle[-1] = circle[0]
    return EllipseData(X, w, V, A, circle @ root)


def _information(arms: ArrayLike, w: Floats, noise_variance: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    """What is measured: vectors (k, 2), their weights (k,), and sum_i w_i x_i x_i' / s_i^2."""
    rows = read_arms(arms) if has_responses(arms) else None
    X = plane(arms if rows is None else rows.vectors.values, "arms")
    n = len(X) if rows is None else rows.n
    if w.size != n:
        raise InputError(f"{w.size} weights for {n} arms; give one weight an arm")
    if rows is not None and rows.responses > 1:
        Y = read_noise(noise_variance, rows).divided().take(np.arange(n))
        return X, w[rows.places[0]], Y.T @ (Y * repeat_per_response(w, Y)[:, None])
    return X, w, X.T @ (X * (w / variances(noise_variance, n))[:, None])


def plot_ellipse(
    arms: ArrayLike,
    weights: ArrayLike,
    targets: ArrayLike | None = None,
    noise_variance: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw arms (area proportional to weight), targets (arrows) and {z : z'A z <= 1}.

    Targets too long or too short for the picture are all drawn at one scale, which the legend names.

    Parameters
    ----------
    arms : array_like, shape (n, 2) or (n, 2, r)
        In the plane.
    weights : array_like, shape (n,)
        The design.
    targets : array_like, shape (m, 2), optional
        The combinations that are wanted.
    noise_variance : array_like, scalar or shape (n,), optional
        VARIANCES, as for `ellipse_data`.
    prior : array_like, shape (2, 2), optional
        The matrix A0.
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
    >>> bool(plot_ellipse([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]).lines)
    True
    """
    data = ellipse_data(arms, weights, targets, noise_variance, prior)
    ax = axes_or_new(ax, (6.4, 5.2))
    ax.fill(*data.boundary.T, color=OKABE_ITO["sky"], alpha=0.25, linewidth=0)
    ax.plot(*data.boundary.T, color=OKABE_ITO["blue"], linewidth=2, label="{z : z′A z ≤ 1}")
    draw_targets(ax, data)
    measured = data.weights > 0
    X = data.arms
    ax.scatter(X[~measured, 0], X[~measured, 1], s=28, facecolors="white", edgecolors=GREY, linewidths=1.2, zorder=4)
    area = 40 + 460 * data.weights[measured]
    ax.scatter(X[measured, 0], X[measured, 1], s=area, color=OKABE_ITO["vermillion"], edgecolors="white", zorder=4)
    # Legend entries of one size; the drawn areas differ from arm to arm.
    ax.scatter([], [], s=60, color=OKABE_ITO["vermillion"], label="arms (area: weight)")
    if not measured.all():
        ax.scatter([], [], s=28, facecolors="white", edgecolors=GREY, label="arms never measured")
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.margins(0.08)
    return finished(ax, "first coordinate", "second coordinate", grid="both", title=title, plane=True)


def draw_targets(ax: Axes, data: EllipseData) -> None:
    """Arrows from the origin to the targets, rescaled together where they would not fit the ellipse."""
    if not len(data.targets):
        return
    reach = max(np.abs(data.boundary).max(), np.abs(data.arms).max())
    longest = float(np.linalg.norm(data.targets, axis=1).max())
    factor = 1.0
    if longest > 0 and not 0.2 * reach <= longest <= 1.5 * reach:
        factor = reach / longest
    for v in factor * data.targets:
        ax.annotate(
            "",
            xy=v,
            xytext=(0, 0),
            arrowprops={"arrowstyle": "-|>", "color": OKABE_ITO["green"], "shrinkA": 0, "shrinkB": 0},
            zorder=3,
        )
    # Arrows do not stretch the axes by themselves.
    ax.update_datalim(factor * data.targets)
    label = "targets" if factor == 1.0 else f"targets (drawn × {factor:.2g})"
    ax.plot([], [], color=OKABE_ITO["green"], marker=">", markevery=[-1], label=label)
    ax.tick_params(labelcolor=INK)


def variances(noise_variance: ArrayLike | None, n: int) -> Floats:
    """One noise variance an arm (n,), all one where None; InputError where one is not positive."""
    variance = np.broadcast_to(np.asarray(1.0 if noise_variance is None else noise_variance, float), (n,))
    if not np.all(variance > 0):
        raise InputError("noise_variance must be positive for every arm")
    return variance


def plane(points: ArrayLike, what: str) -> Floats:
    """Points as float64 (k, 2), else InputError."""
    P = np.asarray(points, dtype=np.float64)
    if P.ndim != 2 or P.shape[1] != 2 or not len(P):
        raise InputError(
            f"{what} must have two coordinates, one row each, to be drawn in the plane; got shape {P.shape}"
        )
    if not np.all(np.isfinite(P)):
        raise InputError(f"{what} must be finite")
    return P


# A corner with less than this share of the target's coefficients is not needed.
NEEDED = 1e-9


@dataclass(frozen=True, eq=False)
class ElfvingData:
    """What `plot_elfving` draws, for arms y_i = x_i / s_i and one target v in the plane.

    Parameters
    ----------
    arms : array, shape (n, 2)
        The y_i.
    target : array, shape (2,)
        The v.
    hull : array, shape (k, 2)
        The corners of conv{y_i, -y_i} in order, the first repeated at the end.
    touch : array, shape (2,)
        Where the ray from the origin along v leaves the hull.
    value : float
        The best variance of v'theta per measurement, (|v| / |touch|)^2.
    weights : array, shape (n,)
        An optimal design; the arms at the ends of the edge that holds `touch`.
    """

    arms: Floats
    target: Floats
    hull: Floats
    touch: Floats
    value: float
    weights: Floats


def elfving_data(arms: ArrayLike, target: ArrayLike, noise_variance: ArrayLike | None = None) -> ElfvingData:
    """The hull of the arms and their negatives, where the target's ray leaves it, and the design that this gives.

    Any unbiased estimate sum_i h_i y_i of v has standard deviation at least sum_i |h_i| per measurement, and v / sum_i
    |h_i| lies in the hull: the further out along v the hull reaches, the smaller the variance.

    Parameters
    ----------
    arms : array_like, shape (n, 2)
        In the plane.
    target : array_like, shape (2,)
        Not zero.
    noise_variance : array_like, scalar or shape (n,), optional
        VARIANCES s_i^2, one by default.

    Returns
    -------
    ElfvingData
        What `plot_elfving` draws.

    Raises
    ------
    InputError
        Where the arms are not in the plane, lie on one line, or the target is zero.

    References
    ----------
    Elfving, Optimum allocation in linear regression theory (1952).

    Examples
    --------
    >>> elfving_data([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]).value
    4.0
    """
    X, v = plane(arms, "arms"), plane(np.atleast_2d(np.asarray(target, dtype=float)), "target")[0]
    if not v.any():
        raise InputError("target is zero: there is nothing to estimate; give a combination of the two coordinates")
    Y = X / np.sqrt(variances(noise_variance, len(X)))[:, None]
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
    """Draw the hull, the arms (filled) and their negatives (open), the target and where its ray leaves the hull.

    Parameters
    ----------
    arms : array_like, shape (n, 2)
        In the plane.
    target : array_like, shape (2,)
        Not zero.
    noise_variance : array_like, scalar or shape (n,), optional
        VARIANCES s_i^2, one by default.
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
    >>> bool(plot_elfving([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]).lines)
    True
    """
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
    ax.margins(0.1)
    return finished(ax, "first coordinate", "second coordinate", grid="both", title=title, plane=True)
