"""HEAD: heteroskedasticity estimation by two stages of G-optimal design."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.estimation.asktell import Resumable
from convexdesign.estimation.error_bound import (
    Noise,
    paper_error_bound,
    sharp_error_bound_in_coordinates,
    variance_range,
)
from convexdesign.estimation.least_squares import least_squares
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.row_space import row_space
from convexdesign.estimation.variance_model import VarianceModel, fit_variance_model
from convexdesign.features import phi
from convexdesign.problem import DesignProblem
from convexdesign.problem.read import Rows, read_rows
from convexdesign.typing import Counts, Floats

__all__ = ["Head", "HeadPlan", "Proportions", "mean_squared_residuals", "plan_head", "whole_budget"]

# The optimal proportions (n,) of a problem, to a relative gap.
Proportions = Callable[[DesignProblem, float], Floats]

# A design this close to optimal costs HEAD a ten-thousandth of its pulls, far less than rounding does.
DESIGN_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """Both G-optimal designs of HEAD for a set of arms: computed once, rounded to any budget.

    weights_1, weights_2 (n,): proportions of stage 1 (G-optimal over the arms) and stage 2 (over their phi).
    rows_1 (n, r1), rows_2 (n, r2): arms and phi in coordinates of their spans.
    """

    arms: Rows
    weights_1: Floats
    weights_2: Floats
    rows_1: Floats
    rows_2: Floats

    @classmethod
    def of(cls, arms: Any, weights_1: Floats, weights_2: Floats) -> HeadPlan:
        """The plan with these proportions (n,), wherever they come from."""
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
        that complete a spanning set come first. Raises InputError for a budget below `least_budget`.
        """
        total = whole_budget(budget, self.least_budget)
        first, second = total // 2, total - total // 2
        return _apportioned(self.rows_1, self.weights_1, first), _apportioned(self.rows_2, self.weights_2, second)

    def sharp_error_bound(
        self, stage_1: Counts, stage_2: Counts, high: float, delta: float, noise: Noise = "gaussian"
    ) -> Floats:
        """`sharp_error_bound` of these pulls, shape (n,), without repeating what depends on the arms alone."""
        return sharp_error_bound_in_coordinates(self.rows_1, self.rows_2, stage_1, stage_2, high, delta, noise=noise)


def plan_head(arms: Any, tol: float = DESIGN_TOLERANCE, proportions: Proportions | None = None) -> HeadPlan:
    """The G-optimal designs over the arms and over their phi, to a certified relative gap `tol`.

    Both are thinned to at most r(r+1)/2 + 1 arms at no loss (Caratheodory), since rounding costs up to a pull an arm.
    proportions: solves a problem to a gap; `solve` where None. Source: Weltz et al. (2023), algorithm HEAD.
    """
    from convexdesign.rounding.sparsify import sparsify

    solved = _solved if proportions is None else proportions
    rows = read_rows(arms, "arms")
    X = np.asarray(rows.values, dtype=float)
    dense = HeadPlan.of(rows, solved(DesignProblem.g_optimal(X), tol), solved(DesignProblem.variance_g_optimal(X), tol))
    return replace(
        dense,
        weights_1=sparsify(dense.rows_1, dense.weights_1),
        weights_2=sparsify(dense.rows_2, dense.weights_2),
    )


def _solved(problem: DesignProblem, tol: float) -> Floats:
    from convexdesign.solve import solve

    return solve(problem, tol=tol).weights


class Head(Resumable):
    """HEAD: theta from a G-optimal design over the arms, then Sigma from one over phi, on separate samples.

    budget: pulls in all, half (rounded down) for stage 1; never exceeded. variance_bounds = (low, high) on the
    noise VARIANCES clip the estimates and are needed for `error_bound`. rng: accepted like everywhere, not used:
    nothing is random. plan: from `plan_head`, to reuse designs over many runs.

    Stage 2 regresses (y - x'theta-hat)² on phi(x). Before clipping the estimates have mean s_x² + x'Cov(theta-hat)x.
    Works where phi does not span: x'Sigma x of the arms is determined even if Sigma is not.
    Source: Weltz et al. (2023), section 3, algorithm HEAD.

    >>> import convexdesign as cd
    >>> head = cd.estimation.Head([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], budget=2000, variance_bounds=(0.1, 9.0))
    >>> env = cd.simulation.LinearEnvironment(head.arms, [1.0, 2.0], Sigma=[[1.0, 0.0], [0.0, 4.0]], rng=0)
    >>> model = cd.simulation.simulate(head, env)
    >>> bool(abs(model.variances - [1.0, 4.0, 2.92]).max() < 1.0)
    True
    """

    def __init__(
        self,
        arms: Any,
        budget: int,
        variance_bounds: Sequence[float] | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        plan: HeadPlan | None = None,
    ) -> None:
        self.plan = plan_head(arms) if plan is None else _same_arms(plan, arms)
        super().__init__(self.plan.arms.values.shape[0])
        self.variance_bounds = variance_range(variance_bounds)
        self.stage_1, self.stage_2 = self.plan.counts(budget)
        self.budget = int(budget)
        self.theta: Floats | None = None
        self._model: VarianceModel | None = None

    @property
    def arms(self) -> NDArray[Any]:
        """The arms (n, d)."""
        return self.plan.arms.values

    @property
    def done(self) -> bool:
        return self._model is not None

    def _next_counts(self) -> Counts:
        return self.stage_1 if self.theta is None else self.stage_2

    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        if self.theta is None:
            self.stage_1 = counts
        else:
            self.stage_2 = counts

    def _absorb(self, observations: Observations) -> None:
        if self.theta is None:
            self.theta = least_squares(self.plan.arms, observations).theta
            return
        self._model = fit_variance_model(
            "HEAD",
            self.plan.arms,
            self.stage_2,
            mean_squared_residuals(self.arms, observations, self.theta),
            theta=self.theta,
            variance_bounds=self.variance_bounds,
            all_counts=self.stage_1 + self.stage_2,
            bounds={"sharp": partial(_sharp, self.plan, self.stage_1, self.stage_2, self.variance_bounds)}
            | {"paper": partial(_paper, self.arms.shape, self.budget, self.variance_bounds)},
        )

    def _result(self) -> VarianceModel:
        assert self._model is not None
        return self._model


def mean_squared_residuals(arms: NDArray[Any], observations: Observations, theta: Floats) -> Floats:
    """(m2 + count (mean - x'theta)²) / count: the mean of (y - x'theta)² over each arm's pulls, 0 without pulls."""
    bias = observations.mean - arms @ theta
    return np.where(observations.count > 0, observations.m2 / np.maximum(observations.count, 1) + bias**2, 0.0)


def whole_budget(budget: Any, least: int) -> int:
    """A whole number of pulls, at least `least`."""
    number = isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool)
    if not number or budget % 1 != 0:  # true for NaN and infinity as well
        raise InputError(f"budget is {budget!r}; give a whole number of pulls")
    if budget < least:
        raise InputError(f"budget is {budget}; these arms need at least {least} pulls to determine every variance")
    return int(budget)


def _same_arms(plan: HeadPlan, arms: Any) -> HeadPlan:
    if not np.array_equal(plan.arms.values, read_rows(arms, "arms").values):
        raise InputError("plan was made for other arms; give the arms it was made for, or leave plan out")
    return plan


def _apportioned(rows: Floats, weights: Floats, total: int) -> Counts:
    from convexdesign.rounding.apportion import apportion
    from convexdesign.rounding.limits import completing_arms, limits

    bounds = limits(total, weights.size)
    if total < np.count_nonzero(weights):
        needed = np.zeros(weights.size, dtype=np.int64)
        needed[completing_arms(rows, weights, None, bounds)] = 1
        bounds = limits(total, weights.size, needed)
    return apportion(weights, bounds)


def _sharp(
    plan: HeadPlan, stage_1: Counts, stage_2: Counts, variance_bounds: tuple[float, float] | None, delta: float
) -> Floats:
    checked = variance_range(variance_bounds, "the error bound")
    assert checked is not None
    return plan.sharp_error_bound(stage_1, stage_2, checked[1], delta)


def _paper(shape: tuple[int, ...], budget: int, variance_bounds: tuple[float, float] | None, delta: float) -> Floats:
    checked = variance_range(variance_bounds, "the error bound")
    assert checked is not None
    return np.asarray(paper_error_bound(shape[0], shape[1], budget, checked, delta))
