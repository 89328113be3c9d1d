"""HEAD: heteroskedasticity estimation by two stages of G-optimal design."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from convexdesign.arguments import real, shown
from convexdesign.arms.read import LabelledVectors, read_rows
from convexdesign.errors import InputError
from convexdesign.estimation.asktell import Resumable
from convexdesign.estimation.error_bound import (
    Noise,
    largest,
    paper_error_bound,
    sharp_error_bound_in_coordinates,
)
from convexdesign.estimation.linear_fit import least_squares
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.row_space import row_space
from convexdesign.estimation.variance_model import (
    VarianceEstimator,
    fit_variance_model,
    mean_squared_residuals,
    whole_budget,
)
from convexdesign.features import phi
from convexdesign.problem import DesignProblem
from convexdesign.typing import Counts, Floats

__all__ = ["Head", "HeadPlan", "Proportions", "plan_head"]

# The optimal proportions (n,) of a problem, to a relative gap.
Proportions = Callable[[DesignProblem, float], Floats]

# A design this close to optimal costs HEAD a ten-thousandth of its pulls, far less than rounding does.
DESIGN_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """Both G-optimal designs of HEAD for a set of arms: computed once, rounded to any budget.

    Parameters
    ----------
    arms : LabelledVectors
        What can be measured.
    weights_1, weights_2 : array, shape (n,)
        Proportions of stage 1 (G-optimal over the arms) and stage 2 (over their phi).
    rows_1, rows_2 : array, shapes (n, r1) and (n, r2)
        Arms and phi in coordinates of their spans.
    """

    arms: LabelledVectors
    weights_1: Floats
    weights_2: Floats
    rows_1: Floats
    rows_2: Floats

    @classmethod
    def of(cls, arms: Any, weights_1: Floats, weights_2: Floats) -> HeadPlan:
        """The plan with these proportions, wherever they come from.

        Parameters
        ----------
        arms : array_like, shape (n, d)
            What can be measured.
        weights_1, weights_2 : array, shape (n,)
            Proportions of the two stages.

        Returns
        -------
        HeadPlan
            With arms and phi in coordinates of their spans.
        """
        rows = read_rows(arms, "arms")
        X = np.asarray(rows.values, dtype=float)
        F = phi(X)
        return cls(rows, weights_1, weights_2, row_space(X).coordinates(X), row_space(F).coordinates(F))

    @property
    def least_budget(self) -> int:
        """The fewest pulls that determine theta and every variance: two halves, each spanning."""
        return max(2 * self.rows_1.shape[1], 2 * self.rows_2.shape[1] - 1)

    def counts(self, budget: int) -> tuple[Counts, Counts]:
        """Whole pulls per arm of the two stages: floor(budget/2) and ceil(budget/2) in all, exactly.

        Rounded by Pukelsheim and Rieder's apportionment: every arm gets at least (1 - l/N) N w_i of its stage's N
        pulls, l the support size; never more than the budget, as rounding every arm up would. Where N < l, arms
        that complete a spanning set come first.

        Parameters
        ----------
        budget : int
            Pulls in all.

        Returns
        -------
        pair of array of int64, shape (n,)
            The two stages.

        Raises
        ------
        InputError
            For a budget below `least_budget`.
        """
        total = whole_budget(budget, self.least_budget)
        first, second = total // 2, total - total // 2
        return apportioned(self.rows_1, self.weights_1, first), apportioned(self.rows_2, self.weights_2, second)

    def sharp_error_bound(
        self, stage_1: Counts, stage_2: Counts, high: float, delta: float, noise: Noise = "gaussian"
    ) -> Floats:
        """`sharp_error_bound` of these pulls, without repeating what depends on the arms alone.

        Parameters
        ----------
        stage_1, stage_2 : array of int64, shape (n,)
            Pulls of the two stages.
        high : float
            The upper bound on the noise VARIANCES.
        delta : float
            The probability that it fails.
        noise : {"gaussian", "sub-gaussian"}
            The law of the noise.

        Returns
        -------
        array, shape (n,)
            A bound for each arm.
        """
        return sharp_error_bound_in_coordinates(self.rows_1, self.rows_2, stage_1, stage_2, high, delta, noise=noise)


def plan_head(arms: Any, tol: float = DESIGN_TOLERANCE, proportions: Proportions | None = None) -> HeadPlan:
    """The G-optimal designs over the arms and over their phi, to a certified relative gap.

    Both are thinned to at most r(r+1)/2 + 1 arms at no loss (Caratheodory), since rounding costs up to a pull an arm.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    tol : float
        The gap.
    proportions : callable, optional
        From a problem and a gap to proportions; `solve` by default.

    Returns
    -------
    HeadPlan
        For any budget.

    References
    ----------
    Weltz et al. (2023), algorithm HEAD.

    Examples
    --------
    >>> import convexdesign as cd
    >>> cd.estimation.plan_head([[1.0, 0.0], [0.0, 1.0]]).weights_1.round(3)
    array([0.5, 0.5])
    """
    from convexdesign.rounding.sparsification import sparsify

    if not 0 < real(tol) < 1:
        raise InputError(f"tol is {shown(tol)}; give a relative gap strictly between 0 and 1, such as 1e-4")
    tol, solved = real(tol), _solved if proportions is None else proportions
    rows = read_rows(arms, "arms")
    X = np.asarray(rows.values, dtype=float)
    dense = HeadPlan.of(rows, solved(DesignProblem.g_optimal(X), tol), solved(DesignProblem.variance_g_optimal(X), tol))
    return replace(
        dense,
        weights_1=sparsify(dense.rows_1, dense.weights_1),
        weights_2=sparsify(dense.rows_2, dense.weights_2),
    )


def _solved(problem: DesignProblem, tol: float) -> Floats:
    from convexdesign.solving import solve

    return solve(problem, tol=tol).weights


@dataclass(eq=False, repr=False)
class Head(VarianceEstimator, Resumable):
    """HEAD: theta from a G-optimal design over the arms, then Sigma from one over phi, on separate samples.

    Half of the budget (rounded down) is for stage 1. Stage 2 regresses (y - x'theta-hat)² on phi(x). Before clipping
    the estimates have mean s_x² + x'Cov(theta-hat)x. Works where phi does not span: x'Sigma x of the arms is determined
    even if Sigma is not.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    budget : int
        Pulls in all, never exceeded.
    variance_bounds : pair of float, optional
        (low, high) on the noise VARIANCES: they clip the estimates, and error bounds need them.
    rng : numpy.random.Generator or int, optional
        Accepted by all estimators; nothing is random here.
    plan : HeadPlan, optional
        From `plan_head`, to reuse designs over many runs.

    References
    ----------
    Weltz et al. (2023), section 3, algorithm HEAD.

    Examples
    --------
    >>> import convexdesign as cd
    >>> head = cd.estimation.Head([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], budget=2000, variance_bounds=(0.1, 9.0))
    >>> env = cd.simulation.LinearEnvironment(head.arms, [1.0, 2.0], Sigma=[[1.0, 0.0], [0.0, 4.0]], rng=0)
    >>> model = cd.simulation.simulate(head, env)
    >>> bool(abs(model.variances - [1.0, 4.0, 2.92]).max() < 1.0)
    True
    """

    _: KW_ONLY
    plan: HeadPlan | None = None

    def __post_init__(self) -> None:
        self._plan = plan_head(self.arms) if self.plan is None else same_arms(self.plan, self.arms)
        self.arms, self.plan = self._plan.arms, self._plan
        super().__post_init__()
        self.stage_1, self.stage_2 = self._plan.counts(self.budget)
        self.budget = int(self.budget)
        self.theta: Floats | None = None

    @property
    def pulls(self) -> tuple[Counts, Counts]:
        """The pulls (n,), (n,) of the two stages."""
        return self.stage_1, self.stage_2

    @property
    def pulls_left(self) -> int:
        """How many pulls are still to be told before it is done."""
        return sum(int(counts.sum()) for counts in self.pulls[self._told :])

    def _next_counts(self) -> Counts:
        return self.stage_1 if self.theta is None else self.stage_2

    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        if self.theta is None:
            self.stage_1 = counts
        else:
            self.stage_2 = counts

    def _absorb(self, observations: Observations) -> None:
        if self.theta is None:
            self.theta = least_squares(self._rows, observations).theta
            return
        self._model = fit_variance_model(
            "HEAD",
            self._rows,
            self.stage_2,
            mean_squared_residuals(self.arms, observations, self.theta),
            theta=self.theta,
            variance_bounds=self._bounds,
            all_counts=self.stage_1 + self.stage_2,
            bounds={"sharp": self._sharp_bound, "paper": self._paper_bound},
        )

    def _sharp_bound(self, delta: float) -> Floats:
        return self._plan.sharp_error_bound(self.stage_1, self.stage_2, largest(self._bounds), delta)

    def _paper_bound(self, delta: float) -> Floats:
        n, d = self.arms.shape
        return np.asarray(paper_error_bound(n, d, self.budget, (0.0, largest(self._bounds)), delta))


def same_arms(plan: HeadPlan, arms: Any) -> HeadPlan:
    if not isinstance(plan, HeadPlan):
        raise InputError(f"plan is {shown(plan)}; give what plan_head returns, or leave it out")
    if not np.array_equal(plan.arms.values, read_rows(arms, "arms").values):
        raise InputError("plan was made for other arms; give the arms it was made for, or leave plan out")
    return plan


def apportioned(rows: Floats, weights: Floats, total: int) -> Counts:
    from convexdesign.rounding.apportionment import apportion
    from convexdesign.rounding.count_limits import completing_arms, limits

    bounds = limits(total, weights.size)
    if total < np.count_nonzero(weights):
        needed = np.zeros(weights.size, dtype=np.int64)
        needed[completing_arms(rows, weights, None, bounds)] = 1
        bounds = limits(total, weights.size, needed)
    return apportion(weights, bounds)
