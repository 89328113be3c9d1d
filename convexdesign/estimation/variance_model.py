"""The quadratic model of the noise, s_x² = x'Sigma x, as estimated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation.row_space import RowSpace, row_space
from convexdesign.features import phi, unvech
from convexdesign.problem.read import Rows, read_rows
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["VarianceModel", "fit_variance_model"]


@dataclass(frozen=True, eq=False)
class VarianceModel:
    """Estimated noise variances of the arms, and the matrix behind them.

    variances: (n_arms,), x'Sigma x clipped to variance_bounds where they were given. unclipped: the same before
    clipping, possibly negative. Sigma: (d, d) symmetric, the one of least Frobenius norm where the pulls leave a
    choice (x'Sigma x of the arms does not depend on it); not necessarily positive semidefinite.
    theta: (d,) the estimate of the mean parameter used, None for the separate-arm estimator, which needs none.
    counts: (n_arms,) all pulls. All variances are VARIANCES (squares), never standard deviations.
    """

    estimator: str
    arms: Rows
    variances: Floats
    unclipped: Floats
    Sigma: Floats
    theta: Floats | None
    counts: NDArray[np.int64]
    variance_bounds: tuple[float, float] | None
    space: RowSpace
    coefficients: Floats
    # From a kind of bound to a function of delta; the first is the default. Empty: no bound applies, for the reason.
    bounds: Mapping[str, Callable[[float], Floats]] = field(default_factory=dict)
    no_bound_because: str = ""

    @property
    def samples(self) -> int:
        """How many pulls the model was estimated from."""
        return int(self.counts.sum())

    def predict(self, arms: Any, *, clip: bool = True) -> Floats:
        """The variance x'Sigma x of every row x, shape (m,), for arms seen or new.

        Clipped to variance_bounds where they were given; clip=False gives the plain quadratic form, for arms that
        the bounds are not about. Raises UnidentifiableError naming an arm whose variance the pulls do not determine.
        """
        rows = read_rows(arms, "arms", width=self.Sigma.shape[0])
        features = _features(np.asarray(rows.values, dtype=float))
        missing = np.flatnonzero(~self.space.contains(features))
        if missing.size:
            name = rows.names[missing[0]] if rows.names else f"arms[{missing[0]}]"
            raise UnidentifiableError(
                f"the variance of {name} (and {missing.size - 1} more) is not determined: the pulled arms span "
                f"{self.space.rank} of {features.shape[1]} dimensions of phi; pull arms whose phi span it"
            )
        values = np.asarray(self.space.coordinates(features) @ self.coefficients)
        return _clipped(values, self.variance_bounds) if clip else values

    def error_bound(self, delta: float, kind: str | None = None) -> Floats:
        """(n_arms,) such that all |variances - s_x²| are at most these with probability 1 - delta.

        kind: for HEAD "sharp" (default, `sharp_error_bound`) or "paper"; for the separate-arm estimator "paper".
        Raises InputError where no bound applies (the uniform estimator) or variance_bounds were not given.
        """
        if not self.bounds:
            raise InputError(f"the {self.estimator} estimator has no error bound: {self.no_bound_because}")
        kind = next(iter(self.bounds)) if kind is None else kind
        if kind not in self.bounds:
            raise InputError(f"kind is {kind!r}; the {self.estimator} estimator has {', '.join(self.bounds)}")
        return np.broadcast_to(self.bounds[kind](delta), self.variances.shape).copy()

    def to_frame(self) -> pd.DataFrame:
        """One row an arm: pulls, variance, unclipped."""
        import pandas as pd

        index = pd.Index(self.arms.names or range(self.variances.size), name="arm")
        columns = {"pulls": self.counts, "variance": self.variances, "unclipped": self.unclipped}
        return pd.DataFrame(columns, index=index)

    def plot(self, ax: Axes | None = None, *, delta: float | None = None) -> Axes:
        """Draw the estimates in increasing order, with the error bound at level delta where one is asked for."""
        from convexdesign.plotting.identification import plot_variances

        error = None if delta is None else self.error_bound(delta)
        return plot_variances(self.variances, error=error, bounds=self.variance_bounds, ax=ax)


def fit_variance_model(
    estimator: str,
    arms: Rows,
    counts: NDArray[np.int64],
    squares: Floats,
    *,
    theta: Floats | None,
    variance_bounds: tuple[float, float] | None,
    all_counts: NDArray[np.int64] | None = None,
    bounds: Mapping[str, Callable[[float], Floats]] | None = None,
    no_bound_because: str = "",
) -> VarianceModel:
    """argmin over symmetric S of Σ_i counts_i (x_i'S x_i - squares_i)²: least squares of mean squared residuals.

    counts (n,): pulls behind squares (n,), whose entries are read only where counts > 0; all_counts: with those of
    another stage. This equals least squares over single pulls. Raises UnidentifiableError where an arm's variance
    is not determined by the arms with counts.
    """
    features = _features(np.asarray(arms.values, dtype=float))
    pulled = counts > 0
    space = row_space(features[pulled])
    missing = np.flatnonzero(~space.contains(features))
    if missing.size:
        name = arms.names[missing[0]] if arms.names else f"arm {missing[0]}"
        raise UnidentifiableError(
            f"the variance of {name} (and {missing.size - 1} more) is not determined: the {np.count_nonzero(pulled)} "
            f"arms pulled span {space.rank} dimensions of phi; raise the budget"
        )
    coordinates = space.coordinates(features)
    root = np.sqrt(counts[pulled])
    b = np.asarray(np.linalg.lstsq(root[:, None] * coordinates[pulled], root * squares[pulled], rcond=None)[0], float)
    unclipped = coordinates @ b
    return VarianceModel(
        estimator=estimator,
        arms=arms,
        variances=_clipped(unclipped, variance_bounds),
        unclipped=unclipped,
        Sigma=unvech(space.lift(b) * _off_diagonal_scale(arms.values.shape[1])),
        theta=theta,
        counts=counts if all_counts is None else all_counts,
        variance_bounds=variance_bounds,
        space=space,
        coefficients=b,
        bounds=bounds or {},
        no_bound_because=no_bound_because,
    )


def _off_diagonal_scale(d: int) -> Floats:
    rows, cols = np.triu_indices(d)
    return np.where(rows == cols, 1.0, np.sqrt(0.5))


def _features(X: Floats) -> Floats:
    """phi with off-diagonal entries divided by sqrt(2): the norm of a coefficient vector is then |Sigma|_F."""
    return phi(X) * _off_diagonal_scale(X.shape[1])


def _clipped(values: Floats, bounds: tuple[float, float] | None) -> Floats:
    return values if bounds is None else np.clip(values, *bounds)
