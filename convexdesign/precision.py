"""What engineers look at in a design: standard errors, power, variance inflation, correlations, aliases, prediction variance.

With M = A0 + sum_i n_i x_i x_i' / s_i^2 (s_i^2 the noise of arm i, A0 the information held for all runs together) and C = M^-1,
the least squares estimates have covariance C. Of a design of less than full rank, what cannot be estimated is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import positive, probability, real_array
from convexdesign.errors import InputError
from convexdesign.features.model import coded_settings
from convexdesign.problem import DesignProblem
from convexdesign.typing import Counts, Floats

if TYPE_CHECKING:
    import pandas

__all__ = ["Diagnostics", "diagnose"]


# A coefficient is estimable where no more than this share of it is in the null space.
ESTIMABLE = 1e-7
RANK = 1e-11


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Precision of every coefficient and prediction after the runs of a plan.

    Parameters
    ----------
    terms : tuple of str
        The coefficients, by the names of their columns.
    X : array, shape (N, d)
        One row a run.
    covariance : array, shape (d, d)
        Of the estimates, a generalised inverse where the rank is not full.
    null : array, shape (d, k)
        An orthonormal basis of what is not measured.
    noise_sd : float
        The standard deviation that errors of the runs are multiplied by.
    candidates : array, shape (n, d)
        All arms, over which predictions are looked at.
    runs_held : int
        Runs done before, whose information is held.
    coding : ModelMatrix, optional
        The arms as a model matrix, where they came as one: then points may be settings.

    Examples
    --------
    >>> import convexdesign as cd
    >>> p = cd.DesignProblem.d_optimal([[1, -1], [1, 0], [1, 1]])
    >>> cd.diagnose(p, [2, 0, 2]).standard_errors.tolist()
    [0.5, 0.5]
    """

    terms: tuple[str, ...]
    X: Floats
    covariance: Floats
    null: Floats
    noise_sd: float
    candidates: Floats
    runs_held: int = 0
    coding: Any = None

    @cached_property
    def estimable(self) -> Any:
        """Which coefficients (d,) the runs tell."""
        return np.linalg.norm(self.null, axis=1) <= ESTIMABLE

    @property
    def residual_degrees(self) -> int:
        """Runs less what they estimate: the degrees of freedom left for the noise."""
        return len(self.X) + self.runs_held - (len(self.terms) - self.null.shape[1])

    @cached_property
    def standard_errors(self) -> Floats:
        """Of every coefficient (d,), infinite where it cannot be estimated."""
        size = self.noise_sd * np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return np.where(self.estimable, size, np.inf)

    def power(self, effect: float | ArrayLike = 1.0, alpha: float = 0.05) -> Floats:
        """The chance that a two-sided t-test sees each coefficient, if it has this size.

        P(|T| > t) for T noncentral t with `residual_degrees` and noncentrality |effect| / standard error.

        Parameters
        ----------
        effect : float or array_like, shape (d,)
            The size of the coefficients.
        alpha : float
            The level of the test.

        Returns
        -------
        array, shape (d,)
            Chances; nan where no residuals are left, and 0 for what cannot be estimated.

        Raises
        ------
        InputError
            For an alpha that is no probability.

        Examples
        --------
        >>> import convexdesign as cd
        >>> p = cd.DesignProblem.d_optimal([[1, -1], [1, 1]])
        >>> cd.diagnose(p, [5, 5]).power(1.0).round(3).tolist()
        [0.791, 0.791]
        """
        from scipy.stats import nct, t

        alpha = probability(alpha, "alpha")
        sizes = np.broadcast_to(np.abs(real_array(effect, "effect")), (len(self.terms),))
        df = self.residual_degrees
        if df < 1:
            return np.full(len(self.terms), np.nan)
        shift = np.where(self.estimable, sizes / self.standard_errors, 0.0)
        limit = t.isf(alpha / 2, df)
        power = nct.sf(limit, df, shift) + nct.cdf(-limit, df, shift)
        return np.where(self.estimable, np.where(shift > 0, power, alpha), 0.0)

    @cached_property
    def variance_inflation(self) -> Floats:
        """1 / (1 - R^2) of every column (d,) on the others; infinite where it is a combination of them; 1 for the constant.

        R^2 is about the mean where the others contain a constant, as statsmodels has it.
        """
        out = np.full(len(self.terms), np.inf)
        for j in range(len(self.terms)):
            x, others = self.X[:, j], np.delete(self.X, j, axis=1)
            constant = np.ptp(others, axis=0) == 0
            total = np.square(x - x.mean() if (constant & (others[0] != 0)).any() else x).sum()
            left = x - others @ np.linalg.lstsq(others, x, rcond=None)[0] if others.size else x
            rest = float(np.square(left).sum())
            if np.ptp(x) == 0:
                out[j] = 1.0
            elif rest > RANK * float(np.square(x).sum()):
                out[j] = total / rest
        return out

    @cached_property
    def correlation(self) -> pandas.DataFrame:
        """Of the columns over the runs (d, d), about their means; nan for columns that do not vary."""
        import pandas

        centred = self.X - self.X.mean(axis=0)
        size = np.linalg.norm(centred, axis=0)
        scaled = centred / np.where(size > 0, size, np.nan)
        return pandas.DataFrame(scaled.T @ scaled, index=list(self.terms), columns=list(self.terms))

    @cached_property
    def estimate_correlation(self) -> pandas.DataFrame:
        """Of the estimates (d, d); nan where they do not exist."""
        import pandas

        size = np.sqrt(np.where(self.estimable, np.diag(self.covariance), np.nan))
        return pandas.DataFrame(
            self.covariance / size / size[:, None], index=list(self.terms), columns=list(self.terms)
        )

    def alias(self, columns: Any) -> pandas.DataFrame:
        """What terms left out would add to each estimate, (X'X)^+ X'Z.

        Parameters
        ----------
        columns : DataFrame or array_like, shape (N, k)
            The terms left out, a row each run.

        Returns
        -------
        DataFrame
            One row a term, one column a term left out.

        Raises
        ------
        InputError
            Where the rows are not the runs.

        Examples
        --------
        >>> import convexdesign as cd
        >>> p = cd.DesignProblem.d_optimal([[1, -1], [1, 1]])
        >>> cd.diagnose(p, [1, 1]).alias([[1.0], [1.0]])["0"].abs().round(9).tolist()
        [1.0, 0.0]
        """
        import pandas

        extra = np.asarray(columns, dtype=float)
        if extra.ndim != 2 or len(extra) != len(self.X):
            raise InputError(f"columns must have one row for each of the {len(self.X)} runs, got shape {extra.shape}")
        names = [str(name) for name in getattr(columns, "columns", range(extra.shape[1]))]
        return pandas.DataFrame(np.linalg.lstsq(self.X, extra, rcond=None)[0], index=list(self.terms), columns=names)

    @cached_property
    def aliased(self) -> tuple[str, ...]:
        """For each direction that the runs do not tell: 'a = b', the terms that cannot be told apart, with their factors."""
        lines = []
        if not self.null.size:
            return ()
        # Reduced from the last terms on: each line says what the last of its terms is aliased with.
        rows = _reduced(self.null.T[:, ::-1])[:, ::-1]
        for row in rows:
            last = int(np.flatnonzero(np.abs(row) > 1e-8)[-1])
            others = [(-row[j] / row[last], self.terms[j]) for j in range(last) if abs(row[j]) > 1e-8]
            # Coefficients along a null direction move together: X row = 0, so column `last` = sum of the others.
            said = " + ".join(name if abs(c - 1) < 1e-9 else f"{c:.4g} {name}" for c, name in others) or "0"
            lines.append(f"{self.terms[last]} = {said}")
        return tuple(lines)

    def prediction_variance(self, points: ArrayLike | None = None) -> Floats:
        """x'Cx noise_sd^2, infinite where the prediction cannot be made.

        Parameters
        ----------
        points : array_like, shape (k, d), or table of settings, optional
            Where to predict; at all arms by default.

        Returns
        -------
        array, shape (k,)
            Variances.

        Raises
        ------
        InputError
            For points that are no numbers.

        Examples
        --------
        >>> import convexdesign as cd
        >>> p = cd.DesignProblem.d_optimal([[1, -1], [1, 1]])
        >>> cd.diagnose(p, [1, 1]).prediction_variance().round(9).tolist()
        [1.0, 1.0]
        """
        points = coded_settings(self.coding, points, "points")
        P = self.candidates if points is None else np.atleast_2d(real_array(points, "points"))
        outside = np.linalg.norm(P @ self.null, axis=1) > ESTIMABLE * np.linalg.norm(P, axis=1)
        values = np.einsum("ij,jk,ik->i", P, self.covariance, P) * self.noise_sd**2
        return np.where(outside, np.inf, values)

    def fraction_of_design_space(self, points: ArrayLike | None = None) -> pandas.DataFrame:
        """At how large a part of the points the prediction variance is no larger.

        Parameters
        ----------
        points : array_like, shape (k, d), or table of settings, optional
            Points spread over the region; all arms by default.

        Returns
        -------
        DataFrame
            Columns fraction and variance, both rising.

        Raises
        ------
        InputError
            For points that are no numbers.

        Examples
        --------
        >>> import convexdesign as cd
        >>> p = cd.DesignProblem.d_optimal([[1, -1], [1, 0], [1, 1]])
        >>> cd.diagnose(p, [1, 0, 1]).fraction_of_design_space()["variance"].round(9).tolist()
        [0.5, 1.0, 1.0]
        """
        import pandas

        values = np.sort(self.prediction_variance(points))
        return pandas.DataFrame({"fraction": np.arange(1, values.size + 1) / values.size, "variance": values})

    def plot_correlation(self, ax: Any = None) -> Any:
        """A map of the correlations of the estimates.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axis drawn on.

        Raises
        ------
        ImportError
            Without the extra `plot`.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.diagnose(cd.DesignProblem.d_optimal([[1, -1], [1, 1]]), [2, 1]).plot_correlation().get_ylabel()
        'term'
        """
        from convexdesign.plotting.precision import plot_correlation

        title = "correlations of the estimates"
        return plot_correlation(self.estimate_correlation.to_numpy(), list(self.terms), title=title, ax=ax)

    def plot_fraction_of_design_space(self, points: ArrayLike | None = None, ax: Any = None) -> Any:
        """The prediction variance that a fraction of the points does not exceed.

        Parameters
        ----------
        points : array_like, shape (k, d), or table of settings, optional
            Points spread over the region; all arms by default.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axis drawn on.

        Raises
        ------
        ImportError
            Without the extra `plot`.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.diagnose(cd.DesignProblem.d_optimal([[1, -1], [1, 1]]), [2, 1]).plot_fraction_of_design_space().get_ylabel()
        'prediction variance at most'
        """
        from convexdesign.plotting.precision import plot_fraction_of_design_space

        return plot_fraction_of_design_space({f"{len(self.X)} runs": self.prediction_variance(points)}, ax=ax)

    def to_frame(self, effect: float | ArrayLike = 1.0, alpha: float = 0.05) -> pandas.DataFrame:
        """One row a term.

        Parameters
        ----------
        effect : float or array_like, shape (d,)
            The size of the coefficients, for their power.
        alpha : float
            The level of the test.

        Returns
        -------
        DataFrame
            Columns term, standard_error, power and vif.

        Raises
        ------
        InputError
            For an alpha that is no probability.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.diagnose(cd.DesignProblem.d_optimal([[1, -1], [1, 1]]), [2, 2]).to_frame()["vif"].round(9).tolist()
        [1.0, 1.0]
        """
        import pandas

        return pandas.DataFrame(
            {
                "term": list(self.terms),
                "standard_error": self.standard_errors,
                "power": self.power(effect, alpha),
                "vif": self.variance_inflation,
            }
        )

    def __repr__(self) -> str:
        worst = float(self.standard_errors.max())
        aliased = f"; {'; '.join(self.aliased[:3])}" if self.aliased else ""
        return f"Diagnostics({len(self.X)} runs, {len(self.terms)} terms: largest standard error {worst:.6g}{aliased})"


def _reduced(rows: Floats) -> Floats:
    """The reduced row echelon form of independent rows."""
    rows = rows.copy()
    at = 0
    for column in range(rows.shape[1]):
        if at == len(rows):
            break
        pivot = at + int(np.argmax(np.abs(rows[at:, column])))
        if abs(rows[pivot, column]) < 1e-9:
            continue
        rows[[at, pivot]] = rows[[pivot, at]]
        rows[at] /= rows[at, column]
        for k in range(len(rows)):
            if k != at:
                rows[k] -= rows[k, column] * rows[at]
        at += 1
    return rows


def diagnose(problem: DesignProblem, counts: ArrayLike, *, noise_sd: float = 1.0) -> Diagnostics:
    """Standard errors, power, variance inflation, correlations, aliases and prediction variances of a plan.

    Parameters
    ----------
    problem : DesignProblem
        Its arms are the rows of the model matrix; noise variances and information held count.
    counts : array_like, shape (n_arms,)
        Runs of each arm.
    noise_sd : float
        The standard deviation of one run (a factor on it where the problem has noise variances of its own).

    Returns
    -------
    Diagnostics
        In the order of the coordinates of the arms.

    Raises
    ------
    InputError
        For counts that are no whole numbers, and for arms with several responses.

    References
    ----------
    Montgomery (2017), Design and Analysis of Experiments. Zahran, Anderson-Cook and Myers (2003), Fraction of design space to
    assess prediction capability of response surface designs.

    Examples
    --------
    >>> import convexdesign as cd
    >>> cd.diagnose(cd.DesignProblem.d_optimal([[1, -1], [1, 1]]), [2, 2], noise_sd=3).standard_errors.tolist()
    [1.5, 1.5]
    """
    if problem.responses > 1:
        raise InputError("diagnostics are of arms with one response each")
    numbers = real_array(counts, "counts")
    if numbers.shape != (problem.n_arms,) or (numbers < 0).any() or (numbers != np.floor(numbers)).any():
        raise InputError(f"counts must be whole numbers >= 0, one for each of the {problem.n_arms} arms")
    if not numbers.any():
        raise InputError("counts are all zero; a plan has at least one run")
    whole: Counts = numbers.astype(np.int64)
    noise_sd = positive(noise_sd, "noise_sd", "give the standard deviation of one run, above zero")
    every = problem.rows.source.take(np.arange(problem.n_arms))
    used = np.flatnonzero(whole)
    noise = (
        np.ones(problem.n_arms) if problem.noise_variance is None else np.asarray(problem.noise_variance, dtype=float)
    )
    rows = every[used] / np.sqrt(noise[used])[:, None]
    M = (rows * whole[used][:, None]).T @ rows
    if problem.prior is not None:
        planned = problem.stated.n_new
        M = M + problem.prior * (float(problem.effort(numbers).sum()) if planned is None else planned)
    columns = problem.rows.columns or tuple(f"x{k + 1}" for k in range(every.shape[1]))
    size = np.sqrt(np.maximum(np.diag(M), 1e-300))
    lam, Q = np.linalg.eigh(M / size / size[:, None])
    keep = lam > RANK * max(float(lam[-1]), 1e-300)
    C = (Q[:, keep] / lam[keep]) @ Q[:, keep].T / size / size[:, None]
    null = np.linalg.qr(Q[:, ~keep] / size[:, None])[0] if not keep.all() else np.empty((len(lam), 0))
    held = problem.stated.existing_counts
    runs_held = 0 if held is None else int(np.asarray(held).sum())
    runs = np.repeat(every[used], whole[used], axis=0)
    return Diagnostics(tuple(map(str, columns)), runs, C, null, noise_sd, every, runs_held, problem.rows.matrix)
