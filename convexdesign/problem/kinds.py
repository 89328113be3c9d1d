"""THE table of kinds of problem: their constructors, what each needs, and the mathematical program it expresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from convexdesign.problem.problem import DesignProblem

__all__ = ["COMMON", "KINDS", "Kind"]

# What every kind takes beside its own.
COMMON = (
    "noise_variance",
    "costs",
    "existing_counts",
    "prior_information",
    "n_new",
    "min_weight",
    "max_weight",
)


@dataclass(frozen=True)
class Kind:
    """One kind of problem: its constructor and what this takes.

    Parameters
    ----------
    constructor : callable
        Called as constructor(arms, **fields).
    about : str
        The kind in words.
    program : str
        The optimisation in mathematics.
    needs, takes : tuple of str
        The fields beyond arms and the common ones, that must be or may be given.
    """

    constructor: Callable[..., DesignProblem]
    about: str
    program: str
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


# To these `convexdesign.criteria` adds the kinds that a criterion brings along.
KINDS: dict[str, Kind] = {
    "minimax": Kind(
        DesignProblem,
        "the general problem: explicit targets v_j whose worst variance is to be small",
        "min over w of max_j v_j' A(w)^+ v_j",
        needs=("targets",),
    ),
    "g-optimal": Kind(
        DesignProblem.g_optimal,
        "predict the outcome of every arm",
        "min over w of max_i x_i' A(w)^+ x_i",
    ),
    "variance-g-optimal": Kind(
        DesignProblem.variance_g_optimal,
        "estimate how the noise variance x' Sigma x depends on the arm, through phi(x)' vech(Sigma)",
        "min over w of max_i phi(x_i)' A(w)^+ phi(x_i), with A(w) = sum_i w_i phi(x_i) phi(x_i)' / s_i^2",
    ),
    "xy-allocation": Kind(
        DesignProblem.xy_allocation,
        "tell any two items apart",
        "min over w of max over z != z' of (z - z')' A(w)^+ (z - z')",
        takes=("items",),
    ),
    "level-set-allocation": Kind(
        DesignProblem.level_set_allocation,
        "estimate the value of every item",
        "min over w of max_z z' A(w)^+ z",
        takes=("items",),
    ),
    "best-arm-oracle": Kind(
        DesignProblem.best_arm_oracle,
        "separate the best item z* from each other item, weighing each by its known gap",
        "min over w of max over z != z* of (z* - z)' A(w)^+ (z* - z) / ((z* - z)' theta)^2",
        needs=("theta",),
        takes=("items",),
    ),
    "level-set-oracle": Kind(
        DesignProblem.level_set_oracle,
        "place each item above or below a threshold alpha, weighing each by its known distance",
        "min over w of max_z z' A(w)^+ z / (z' theta - alpha)^2",
        needs=("theta", "threshold"),
        takes=("items",),
    ),
    "c-optimal": Kind(
        DesignProblem.c_optimal, "estimate one combination c' theta", "min over w of c' A(w)^+ c", needs=("direction",)
    ),
    "d-optimal": Kind(
        DesignProblem.d_optimal,
        "make the confidence ellipsoid of all of theta small",
        "max over w of log det A(w)",
    ),
    "ds-optimal": Kind(
        DesignProblem.ds_optimal,
        "make the confidence ellipsoid of the parameters of interest, K' theta, small",
        "max over w of log det (K' A(w)^+ K)^-1",
        needs=("interest",),
    ),
    "a-optimal": Kind(
        DesignProblem.a_optimal,
        "make the average variance of the coefficients small",
        "min over w of tr A(w)^-1",
    ),
    "i-optimal": Kind(
        DesignProblem.i_optimal,
        "make the average predictive variance over a region small",
        "min over w of the mean over v in the region of v' A(w)^+ v",
        needs=("region",),
    ),
    "average-variance": Kind(
        DesignProblem.average_variance,
        "make any weighted average of variances small, for a positive semidefinite M",
        "min over w of tr(A(w)^+ M)",
        needs=("M",),
    ),
    "e-optimal": Kind(
        DesignProblem.e_optimal,
        "make the worst variance over all combinations of length one small",
        "max over w of lambda_min A(w)",
    ),
}
