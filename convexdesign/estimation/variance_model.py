"""Noise variances: each arm's own with an interval, and the quadratic model s_x² = x'Sigma x, as estimated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import and_more, flag, generator, instance, is_one_of, probability, shown, whole
from convexdesign.arms.read import LabelledVectors, read_rows
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation.asktell import AskTell
from convexdesign.estimation.error_bound import variance_range
from convexdesign.estimation.linear_fit import least_squares
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.row_space import RowSpace, row_space
from convexdesign.features import phi, unvech
from convexdesign.typing import Counts, Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "VarianceEstimator",
    "VarianceModel",
    "chi_square_intervals",
    "fit_variance_model",
    "mean_squared_residuals",
    "model_variances",
    "whole_budget",
]


# More cannot be counted exactly by floats.
MOST_PULLS = 2**53


@dataclass(frozen=True, eq=False)
class VarianceModel:
    """Estimated noise variances of the arms, and the matrix behind them.

    All are VARIANCES (squares), never standard deviations.

    Parameters
    ----------
    estimator : str
        What made it.
    arms : LabelledVectors
        What was measured.
    variances : array, shape (n_arms,)
        Of the arms, x'Sigma x clipped to variance_bounds where they were given.
    unclipped : array, shape (n_arms,)
        The same before clipping, possibly negative.
    Sigma : array, shape (d, d)
        Symmetric, the one of least Frobenius norm where the pulls leave a choice (x'Sigma x of the arms does not depend
        on it); not necessarily positive semidefinite.
    theta : array, shape (d,), or None
        The estimate of the mean parameter used; None for separate arms and replicates, which need none.
    counts : array of int64, shape (n_arms,)
        All pulls.
    variance_bounds : tuple of float or None
        (low, high).
    space : RowSpace
        What the pulls determine of Sigma.
    coefficients : array
        Sigma in coordinates of that space.
    bounds : mapping
        From a kind of error bound to what computes it.
    no_bound_because : str
        Why there is none.
    """

    estimator: str
    arms: LabelledVectors
    variances: Floats
    unclipped: Floats
    Sigma: Floats
    theta: Floats | None
    counts: Counts
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
        """The variance x'Sigma x of every row x, for arms seen or new.

        Parameters
        ----------
        arms : array_like, shape (m, d)
            The rows x.
        clip : bool
            Clip to variance_bounds where they were given; False gives the plain quadratic form, for arms that the
            bounds are not about.

        Returns
        -------
        array, shape (m,)
            VARIANCES.

        Raises
        ------
        UnidentifiableError
            Naming an arm whose variance the pulls do not determine.
        """
        rows = read_rows(arms, "arms", width=self.Sigma.shape[0])
        features = _features(np.asarray(rows.values, dtype=float))
        missing = np.flatnonzero(~self.space.contains(features))
        if missing.size:
            name = rows.names[missing[0]] if rows.names else f"arms[{missing[0]}]"
            raise UnidentifiableError(
                f"the variance of {name} {and_more(missing.size - 1)}is not determined: the pulled arms span "
                f"{self.space.rank} of {features.shape[1]} dimensions of phi; pull arms whose phi span it"
            )
        values = np.asarray(self.space.coordinates(features) @ self.coefficients)
        return _clipped(values, self.variance_bounds) if flag(clip, "clip") else values

    def error_bound(self, delta: float, kind: str | None = None) -> Floats:
        """What all |variances - s_x²| are at most, with probability 1 - delta.

        Parameters
        ----------
        delta : float
            The probability that a bound fails.
        kind : {"sharp", "paper"}, optional
            For HEAD "sharp" (default, `sharp_error_bound`) or "paper"; for the separate-arm estimator "paper"; for
            replicates "chi-square".

        Returns
        -------
        array, shape (n_arms,)
            A bound for each arm.

        Raises
        ------
        InputError
            Where no bound applies (the uniform estimator) or variance_bounds were not given.
        """
        if not self.bounds:
            raise InputError(f"the {self.estimator} estimator has no error bound: {self.no_bound_because}")
        kind = next(iter(self.bounds)) if kind is None else kind
        if not is_one_of(kind, tuple(self.bounds)):
            raise InputError(f"kind is {shown(kind)}; the {self.estimator} estimator has {', '.join(self.bounds)}")
        return np.broadcast_to(self.bounds[kind](delta), self.variances.shape).copy()

    def to_frame(self) -> pd.DataFrame:
        """One row an arm: pulls, variance, unclipped.

        Returns
        -------
        pandas.DataFrame
            In the order of the arms.
        """
        import pandas as pd

        index = pd.Index(self.arms.names or range(self.variances.size), name="arm")
        columns = {"pulls": self.counts, "variance": self.variances, "unclipped": self.unclipped}
        return pd.DataFrame(columns, index=index)

    def plot(self, ax: Axes | None = None, *, delta: float | None = None) -> Axes:
        """Draw the estimates in increasing order (extra `plot`).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        delta : float, optional
            The level of the error bound to draw with them.

        Returns
        -------
        matplotlib.axes.Axes
            The axis drawn on.
        """
        from convexdesign.plotting.identification import plot_variances

        error = None if delta is None else self.error_bound(delta)
        return plot_variances(self.variances, error=error, bounds=self.variance_bounds, ax=ax)


@dataclass(eq=False, repr=False)
class VarianceEstimator(AskTell):
    """What ends in a VarianceModel after `budget` pulls; what its kinds have in common.

    arms: (n, d). budget: pulls in all, never exceeded. variance_bounds = (low, high) on the noise VARIANCES clip the
    estimates, and error bounds need them. rng: a seed or Generator, accepted everywhere, used where something is random.
    """

    arms: Any
    budget: int
    variance_bounds: Sequence[float] | None = None
    rng: np.random.Generator | int | None = None

    def __post_init__(self) -> None:
        self._rows = read_rows(self.arms, "arms")
        self.arms = self._rows.values
        super().__init__(self._rows.n)
        self.variance_bounds = self._bounds = variance_range(self.variance_bounds)
        self._generator = generator(self.rng)
        self._model: VarianceModel | None = None

    @property
    def done(self) -> bool:
        return self._model is not None

    def _result(self) -> VarianceModel:
        assert self._model is not None
        return self._model


def fit_variance_model(
    estimator: str,
    arms: LabelledVectors,
    counts: NDArray[Any],
    squares: Floats,
    *,
    theta: Floats | None,
    variance_bounds: tuple[float, float] | None,
    all_counts: Counts | None = None,
    bounds: Mapping[str, Callable[[float], Floats]] | None = None,
    no_bound_because: str = "",
) -> VarianceModel:
    """argmin over symmetric S of Σ_i counts_i (x_i'S x_i - squares_i)²: least squares of mean squared residuals.

    counts (n,): pulls behind squares (n,), or other weights; entries of squares are read only where counts > 0.
    all_counts: with those of another stage. With pulls this equals least squares over single pulls. Raises
    UnidentifiableError where an arm's variance is not determined by the arms with counts.
    """
    features = _features(np.asarray(arms.values, dtype=float))
    pulled = counts > 0
    space = row_space(features[pulled])
    missing = np.flatnonzero(~space.contains(features))
    if missing.size:
        name = arms.names[missing[0]] if arms.names else f"arm {missing[0]}"
        raise UnidentifiableError(
            f"the variance of {name} {and_more(missing.size - 1)}is not determined: the {np.count_nonzero(pulled)} "
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


def mean_squared_residuals(arms: NDArray[Any], observations: Observations, theta: Floats) -> Floats:
    """(m2 + count (mean - x'theta)²) / count: the mean of (y - x'theta)² over each arm's pulls, 0 without pulls."""
    bias = observations.mean - arms @ theta
    return np.where(observations.count > 0, observations.m2 / np.maximum(observations.count, 1) + bias**2, 0.0)


def whole_budget(budget: Any, least: int) -> int:
    """A whole number of pulls, at least `least`."""
    number = whole(budget)
    if number is None or number > MOST_PULLS:
        raise InputError(f"budget is {shown(budget)}; give a whole number of pulls, at most 2^53")
    if number < least:
        raise InputError(f"budget is {number}; these arms need at least {least} pulls to determine every variance")
    return number


def chi_square_intervals(observations: Observations, delta: float = 0.05) -> tuple[Floats, Floats]:
    """Intervals that hold ALL noise VARIANCES s_x² at once with probability at least 1 - delta.

    m2 / s_x² is chi-square with count - 1 degrees of freedom, so s_x² lies between m2 / q(1 - a/2) and m2 / q(a/2) with
    probability 1 - a exactly; a = delta / k over the k arms with two pulls or more (Bonferroni). Exact for Gaussian
    noise and numbers of pulls that were fixed beforehand: not for counts that depend on the rewards; heavier tails than
    Gaussian make the intervals too short.

    Parameters
    ----------
    observations : Observations
        Counts and sums of squares per arm.
    delta : float
        The probability that any interval fails.

    Returns
    -------
    pair of array, shape (n_arms,)
        Lower and upper ends; 0 and infinity for arms with fewer than two pulls.

    Examples
    --------
    >>> import convexdesign as cd
    >>> o = cd.estimation.Observations.from_rewards(2, arms=[0, 0, 0, 1], rewards=[1.0, 2.0, 3.0, 7.0])
    >>> low, high = cd.estimation.chi_square_intervals(o, delta=0.05)
    >>> low.round(3).tolist(), high.round(1).tolist()
    ([0.271, 0.0], [39.5, inf])
    """
    from scipy.stats import chi2

    instance(observations, Observations, "observations", "give Observations")
    delta, known = probability(delta), observations.count > 1
    low, high = np.zeros(observations.n_arms), np.full(observations.n_arms, np.inf)
    if known.any():
        share = delta / np.count_nonzero(known)
        dof, m2 = observations.count[known] - 1, observations.m2[known]
        low[known] = m2 / chi2.isf(share / 2, dof)
        high[known] = m2 / chi2.ppf(share / 2, dof)
    return low, high


def model_variances(
    arms: Any, observations: Observations, variance_bounds: Sequence[float] | None = None
) -> VarianceModel:
    """x'Sigma x by least squares of (y - x'theta-hat)² on phi(x), from data however they came about.

    Theta-hat is the ordinary least squares estimate from the same data, so the squares are a little low: by a share
    of about rank(arms) / measurements.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What was measured.
    observations : Observations
        Counts, means and sums of squares per arm.
    variance_bounds : pair of float, optional
        (low, high) on the VARIANCES: they clip the estimates.

    Returns
    -------
    VarianceModel
        Of all arms.

    Raises
    ------
    UnidentifiableError
        Where no measurement is left over for the noise, or an arm's variance is not determined.

    Examples
    --------
    >>> import convexdesign as cd
    >>> told = cd.estimation.Observations([200, 200, 200], mean=[1.0, 2.0, 2.2], m2=[200.0, 800.0, 584.0])
    >>> cd.estimation.model_variances([[1, 0], [0, 1], [0.6, 0.8]], told).variances.round(2)
    array([1.  , 4.  , 2.92])
    """
    rows = read_rows(arms, "arms")
    X = rows.values
    instance(observations, Observations, "observations", "give Observations")
    if observations.n_arms != rows.n:
        raise InputError(f"observations are of {observations.n_arms} arms, but arms has {rows.n} rows")
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
