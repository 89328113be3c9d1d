"""The uniform estimator: arms at random, and one sample for both steps; a baseline for HEAD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation.asktell import AskTell
from convexdesign.estimation.error_bound import variance_range
from convexdesign.estimation.head import mean_squared_residuals, whole_budget
from convexdesign.estimation.least_squares import least_squares
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.variance_model import VarianceModel, fit_variance_model
from convexdesign.problem.read import read_rows

__all__ = ["UniformEstimator"]


class UniformEstimator(AskTell):
    """`budget` pulls of arms drawn uniformly at random; theta and Sigma by least squares from the same pulls.

    variance_bounds = (low, high) on the noise VARIANCES clip the estimates. rng draws the arms. The model has no
    `error_bound`: residuals and squared residuals come from one sample. The last `tell` raises
    UnidentifiableError, changing nothing, where the arms drawn leave a variance undetermined.
    Source: Weltz et al. (2023), appendix C.
    """

    def __init__(
        self,
        arms: Any,
        budget: int,
        variance_bounds: Sequence[float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self._rows = read_rows(arms, "arms")
        super().__init__(self.arms.shape[0])
        self.budget = whole_budget(budget, 1)
        self.variance_bounds = variance_range(variance_bounds)
        self._rng = np.random.default_rng(rng)
        self._model: VarianceModel | None = None

    @property
    def arms(self) -> NDArray[Any]:
        """The arms (n, d)."""
        return self._rows.values

    @property
    def done(self) -> bool:
        return self._model is not None

    def _next_counts(self) -> NDArray[np.int64]:
        n = self.arms.shape[0]
        return self._rng.multinomial(self.budget, np.full(n, 1.0 / n)).astype(np.int64)

    def _absorb(self, observations: Observations) -> None:
        theta = least_squares(self._rows, observations).theta
        self._model = fit_variance_model(
            "uniform",
            self._rows,
            observations.count,
            mean_squared_residuals(self.arms, observations, theta),
            theta=theta,
            variance_bounds=self.variance_bounds,
            no_bound_because="it does not split its samples, so theta-hat and the residuals are dependent; use Head",
        )

    def _result(self) -> VarianceModel:
        assert self._model is not None
        return self._model
