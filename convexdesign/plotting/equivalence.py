"""The equivalence theorem as a picture: a design is optimal where no arm's sensitivity exceeds the bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arms.groups import repeat_per_response, sum_per_arm
from convexdesign.arms.read import read_groups
from convexdesign.errors import InputError
from convexdesign.plotting.allocation import arm_names, checked_weights
from convexdesign.plotting.canvas import axes_or_new, finished, inches, legend_over, name_arms
from convexdesign.plotting.palette import INK, OKABE_ITO
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EquivalenceData", "equivalence_data", "plot_equivalence", "plot_unmeasured", "sensitivity"]


# Names that fit beneath an inch of the axis.
NAMES_PER_INCH = 3.45


@dataclass(frozen=True)
class EquivalenceData:
    """What `plot_equivalence` draws, in the order of the positions.

    Parameters
    ----------
    positions : array, shape (n,)
        Where each arm sits on the axis.
    sensitivity : array, shape (n,)
        Of each arm.
    weights : array, shape (n,)
        The design.
    bound : float
        The weighted mean of the sensitivities (or what was given): the design is optimal if and only if their maximum
        does not exceed it.
    excess : float
        How far it does, max s / bound - 1: zero at an optimum.
    """

    positions: Floats
    sensitivity: Floats
    weights: Floats
    bound: float
    excess: float


def sensitivity(
    arms: ArrayLike, weights: ArrayLike, M: ArrayLike | None = None, prior: ArrayLike | None = None
) -> Floats:
    """y_i' C M C y_i for every arm, C = A(w)^+, A(w) = A0 + sum_i w_i y_i y_i'.

    Parameters
    ----------
    arms : array_like, shape (n, d) or (n, r, d)
        Rows y_i = x_i/s_i, already divided by the noise's standard deviation; of arms with r responses their whitened
        rows, over which the sensitivity sums.
    weights : array_like, shape (n,)
        The design.
    M : array_like, shape (d, d), optional
        Positive semidefinite; what it is makes the criterion: A itself for D (then this is the variance function y'A^-1
        y, and M may be left out), the identity for A, sum_j mu_j v_j v_j' with the certificate's multipliers for
        minimax.
    prior : array_like, shape (d, d), optional
        The matrix A0.

    Returns
    -------
    array, shape (n,)
        A sensitivity for each arm.

    References
    ----------
    The general equivalence theorem: Kiefer and Wolfowitz (1960); Pukelsheim, Optimal Design of Experiments (2006).

    Examples
    --------
    >>> sensitivity([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    array([2., 2.])
    """
    Y, responses = read_groups(arms)
    w = checked_weights(weights)
    if w.size * responses != len(Y):
        raise InputError(f"{w.size} weights for {len(Y) // responses} arms; give one weight an arm")
    A = Y.T @ (Y * repeat_per_response(w, Y)[:, None])
    if prior is not None:
        A = A + np.asarray(prior, dtype=np.float64)
    C = np.linalg.pinv(A, rcond=1e-12, hermitian=True)
    middle = C if M is None else C @ np.asarray(M, dtype=np.float64) @ C
    return sum_per_arm(((Y @ middle) * Y).sum(axis=1), responses)


def equivalence_data(
    values: ArrayLike, weights: ArrayLike, positions: ArrayLike | None = None, bound: float | None = None
) -> EquivalenceData:
    """The sensitivities against their bound, sorted by position.

    Parameters
    ----------
    values : array_like, shape (n,)
        From `sensitivity`.
    weights : array_like, shape (n,)
        The design.
    positions : array_like, shape (n,), optional
        Where each arm sits on the axis, for instance the setting of a regression; indices by default.
    bound : float, optional
        What takes the place of the weighted mean of the values, where it is known otherwise.

    Returns
    -------
    EquivalenceData
        What `plot_equivalence` draws.

    Examples
    --------
    >>> data = equivalence_data([2.0, 2.0, 1.0], [0.5, 0.5, 0.0])
    >>> data.bound, data.excess
    (2.0, 0.0)
    """
    s, w, x = _alike("sensitivities", values, weights, positions)
    if bound is None:
        bound = float(w @ s) / float(w.sum()) if w.sum() > 0 else 0.0
    if not (np.all(np.isfinite(s)) and bound > 0):
        raise InputError("the sensitivities must be finite and positive somewhere on the support")
    order = np.argsort(x, kind="stable")
    return EquivalenceData(x[order], s[order], w[order], bound, float(s.max()) / bound - 1.0)


def plot_equivalence(
    values: ArrayLike,
    weights: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    bound: float | None = None,
    limited: bool = False,
    names: Sequence[str] | None = None,
    xlabel: str | None = None,
    ylabel: str = "sensitivity (variance function)",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the sensitivities of all arms, mark the support, and the bound as a line.

    Parameters
    ----------
    values : array_like, shape (n,)
        From `sensitivity`.
    weights : array_like, shape (n,)
        The design.
    positions : array_like, shape (n,), optional
        Where each arm sits on the axis; then the points are joined by a curve.
    bound : float, optional
        What takes the place of the weighted mean of the values, where it is known otherwise.
    limited : bool
        Whether limits hold weights: then arms of an optimal design may lie above the mean, which bounds nothing.
    names : sequence of str, optional
        Without positions, up to 24 arms are named on the axis.
    xlabel : str, optional
        Of the axis of arms.
    ylabel : str
        Of the axis of sensitivities.
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
    >>> plot_equivalence([2.0, 2.0, 1.0], [0.5, 0.5, 0.0]).get_ylabel()
    'sensitivity (variance function)'
    """
    data = equivalence_data(values, weights, positions, bound)
    labels = arm_names(names, len(data.weights))
    xlabel = xlabel or ("arm" if positions is None else "position of the arm")
    ax = axes_or_new(ax)
    support = data.weights > 0
    if positions is not None:
        ax.plot(data.positions, data.sensitivity, color=OKABE_ITO["blue"], linewidth=2, label="all arms")
    else:
        ax.scatter(
            data.positions[~support], data.sensitivity[~support], s=26, color=OKABE_ITO["sky"], label="other arms"
        )
    ax.axhline(
        data.bound,
        color=INK,
        linestyle="--",
        linewidth=1.4,
        label=f"mean {data.bound:.6g}; limits on weights keep arms off it"
        if limited
        else f"bound {data.bound:.6g}, exceeded by {excess_text(data.excess)}",
    )
    ax.scatter(
        data.positions[support],
        data.sensitivity[support],
        s=30 + 300 * data.weights[support],
        color=OKABE_ITO["vermillion"],
        zorder=4,
        label="arms measured (area: weight)",
    )
    ax.set_ylim(0, 1.15 * max(data.bound, float(data.sensitivity.max())))
    arms = None if positions is not None else labels
    return _with_arms(ax, data.positions, arms, xlabel, ylabel, title)


def plot_unmeasured(
    shares: ArrayLike,
    weights: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what share of each arm a singular design does not measure: arms above zero would add to it.

    Parameters
    ----------
    shares : array_like, shape (n,)
        Between 0 and 1.
    weights : array_like, shape (n,)
        The design.
    positions : array_like, shape (n,), optional
        As for `plot_equivalence`.
    names : sequence of str, optional
        As for `plot_equivalence`.
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
    >>> bool(plot_unmeasured([0.0, 1.0], [1.0, 0.0]).collections)
    True
    """
    s, w, x = _alike("shares", shares, weights, positions)
    labels = arm_names(names, w.size)
    ax = axes_or_new(ax)
    measured = w > 0
    ax.vlines(x, 0.0, s, color=OKABE_ITO["sky"], linewidth=1.4)
    ax.scatter(x[~measured], s[~measured], s=26, color=OKABE_ITO["sky"], label="other arms")
    ax.scatter(x[measured], s[measured], s=30 + 300 * w[measured], color=OKABE_ITO["vermillion"], label="arms measured")
    ax.set_ylim(-0.05, 1.1)
    xlabel = "arm" if positions is None else "position of the arm"
    return _with_arms(ax, x, None if positions is not None else labels, xlabel, "share that is not measured", title)


def _alike(
    what: str, values: ArrayLike, weights: ArrayLike, positions: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Values, weights and positions (n,), the indices where there are none; InputError where they differ in length."""
    w, s = checked_weights(weights), np.asarray(values, dtype=np.float64)
    x = np.arange(w.size, dtype=np.float64) if positions is None else np.asarray(positions, dtype=np.float64)
    if s.shape != w.shape or x.shape != w.shape:
        raise InputError(f"{what} {s.shape}, weights {w.shape} and positions {x.shape} must have one shape")
    return s, w, x


def _with_arms(
    ax: Axes,
    x: Floats,
    names: Sequence[str] | None,
    xlabel: str,
    ylabel: str,
    title: str | None,
) -> Axes:
    """Name the arms on the axis where there is room for their names, and finish."""
    if names is not None and len(names) <= NAMES_PER_INCH * inches(ax):
        name_arms(ax, x.tolist(), names)
    return finished(ax, xlabel, ylabel, grid="y", title=title, pad=legend_over(ax))


def excess_text(excess: float) -> str:
    """A relative excess for the legend: per cent where it is visible, its size where it is rounding.

    >>> excess_text(0.4), excess_text(2e-9), excess_text(-1e-12)
    ('40%', '2e-09', '0')
    """
    if excess <= 0:
        return "0"
    return f"{excess:.0%}" if excess >= 0.005 else f"{excess:.0e}"
