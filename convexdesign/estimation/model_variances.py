"""The quadratic model of the noise fitted to whatever was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convexdesign.errors import UnidentifiableError
from convexdesign.estimation.error_bound import variance_range
from convexdesign.estimation.head import mean_squared_residuals
from convexdesign.estimation.least_squares import least_squares
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.row_space import row_space
from convexdesign.estimation.variance_model import VarianceModel, fit_variance_model
from convexdesign.problem.read import read_rows

__all__ = ["model_variances"]


def model_variances(
    arms: Any, observations: Observations, variance_bounds: Sequence[float] | None = None
) -> VarianceModel:
    """x'Sigma x by least squares of (y - x'theta-hat)² on phi(x), from data however they came about.

    Theta-hat is the ordinary least squares estimate from the same data, so the squares are a little low: by a share
    of about rank(arms) / measurements. variance_bounds = (low, high) on the VARIANCES clip the estimates.
    Raises UnidentifiableError where no measurement is left over for the noise, or an arm's variance is not determined.

    >>> import convexdesign as cd
    >>> told = cd.estimation.Observations([200, 200, 200], mean=[1.0, 2.0, 2.2], m2=[200.0, 800.0, 584.0])
    >>> cd.estimation.model_variances([[1, 0], [0, 1], [0.6, 0.8]], told).variances.round(2)
    array([1.  , 4.  , 2.92])
    """
    rows = read_rows(arms, "arms")
    X = rows.values
    rank = row_space(X[observations.count > 0]).rank
    if observations.total <= rank:
        raise UnidentifiableError(
            f"{observations.total} measurements leave nothing for the noise: the mean alone has {rank} parameters; "
            "measure more"
        )
    theta = least_squares(rows, observations).theta
    return fit_variance_model(
        "least squares",
        rows,
        observations.count,
        mean_squared_residuals(X, observations, theta),
        theta=theta,
        variance_bounds=variance_range(variance_bounds),
        no_bound_because="its samples were not split, so theta-hat and the residuals are dependent; use Head",
    )
