"""A design over a region: settings with their shares of the measurements, and the proof of how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import numeric
from convexdesign.errors import InputError
from convexdesign.outcome import Stats, Status
from convexdesign.problem import Criterion, DesignProblem
from convexdesign.regions.criteria import Vectors
from convexdesign.regions.problem import RegionProblem
from convexdesign.result_table import ResultTable
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    import pandas

    from convexdesign.regions.exact import RegionExactDesign

__all__ = ["RegionCertificate", "RegionDesign", "table_of_settings"]


def table_of_settings(title: str, facts: Sequence[tuple[str, str]], points: pandas.DataFrame) -> ResultTable:
    """Facts, then settings to six digits with their weights or counts."""

    def text(name: str, value: Any) -> str:
        if name == "weight":
            return f"{value:.6f}"
        return f"{value + 0.0:.6g}" if isinstance(value, (float, np.floating)) else str(value)

    names = [str(name) for name in points.columns]
    rows = tuple(tuple(map(text, names, row)) for row in points.itertuples(index=False))
    return ResultTable(title, tuple(facts), tuple(names), rows)


@dataclass(frozen=True, eq=False)
class RegionCertificate:
    """The proof that no design over the region is better than by `gap`.

    Parameters
    ----------
    criterion : Criterion
        What is optimised.
    value : float
        The criterion of the design; for G the proven upper bound on its worst variance over the region.
    bound : float
        A proven bound on the optimum over the whole region: a lower one for variances, an upper one for log det and
        lambda_min.
    gap : float
        The relative gap between them, rounding included; for log det exp((bound - value) / d) - 1.
    kind : str
        How the largest sensitivity over the region was bounded: "sum of squares", "interval branch and bound", "sum of
        coefficients" (no product of Chebyshev polynomials is above one: where there was no time for more), or "none".
    degree : int
        The degree of the sums of squares, the largest of all pieces; 0 where there are none.
    most : float
        The proven upper bound on the sensitivity sum_j (b_j'f(x))^2 / s^2(x) over the region, for the vectors below.
    found : float
        The largest value of it that was found: below `most`, by what the proof did not reach.
    vectors : Vectors or None
        The b_j, in the coordinates of `RegionProblem.adapted.frame`.
    rounding : float
        The share by which the value may be off.
    next_seconds : float
        Where the tolerance is not proven: about how long the next step would take, a larger relaxation, halves of all cells,
        as many boxes again, or one more round of search and proof, from what the last one took; nan where none is left. An
        estimate to a factor of about three.
    next_memory : float
        The bytes that this step would take at the most, where it is a larger relaxation; else nan.
    """

    criterion: Criterion
    value: float
    bound: float
    gap: float
    kind: str
    degree: int
    most: float
    found: float
    vectors: Vectors | None
    rounding: float = 0.0
    next_seconds: float = np.nan
    next_memory: float = np.nan

    @property
    def efficiency(self) -> float:
        """A proven lower bound on the efficiency of the design: 1 / (1 + gap)."""
        return 1.0 / (1.0 + self.gap)


@dataclass(frozen=True, eq=False, repr=False)
class RegionDesign:
    """Settings of a region with weights, and a certificate over the whole region.

    Variances are per unit of sampling effort, as everywhere: with N measurements in these proportions the variance of
    v'theta-hat is variance(v) / N.

    Parameters
    ----------
    problem : RegionProblem
        The problem over the region.
    where : sequence of int
        The piece of the region (combination of levels) of every setting.
    x : array, shape (n, q)
        Its continuous coordinates.
    weights : array, shape (n,)
        Positive, sum 1.
    certificate : RegionCertificate
        What proves the bound.
    status : convexdesign.Status
        How the solve ended.
    finite : DesignProblem
        The problem over these settings alone.
    stats : Stats
        How it went.
    tol : float
        The relative gap that was asked for.

    Examples
    --------
    >>> import convexdesign as cd
    >>> curve = cd.Model.polynomial("x", 3).over(cd.Region.box(x=(0, 10)))
    >>> design = cd.solve(cd.DesignProblem.d_optimal(curve))
    >>> design.status.name, design.certificate.kind, design.certificate.degree
    ('CERTIFIED', 'sum of squares', 6)
    >>> design.points["x"].round(3).tolist()
    [0.0, 2.764, 7.236, 10.0]
    """

    problem: RegionProblem
    where: Sequence[int]
    x: Floats
    weights: Floats
    certificate: RegionCertificate
    status: Status
    finite: DesignProblem
    stats: Stats = field(default_factory=lambda: Stats("given"))
    tol: float = 1e-6

    @property
    def points(self) -> pandas.DataFrame:
        """A row for each setting: a column for each factor, and `weight`."""
        import pandas

        return pandas.DataFrame({**self.problem.region.table(self.where, self.x), "weight": self.weights})

    def to_frame(self) -> pandas.DataFrame:
        """The same as `points`, with the variance of the mean outcome at each setting.

        Returns
        -------
        pandas.DataFrame
            One row a setting.
        """
        frame = self.points
        frame["variance"] = self.variance(self.problem.region.table(self.where, self.x))
        return frame

    def table(self) -> ResultTable:
        """The design as one table: what it is worth, then where to measure.

        Returns
        -------
        ResultTable
            As text by str, in notebooks as HTML, for papers by as_latex().

        Examples
        --------
        >>> import convexdesign as cd
        >>> curve = cd.Model.polynomial("x", 1).over(cd.Region.box(x=(0, 2)))
        >>> table = cd.solve(cd.DesignProblem.d_optimal(curve)).table()
        >>> print("\\n".join(str(table).splitlines()[-3:]))
        x    weight
        0  0.500000
        2  0.500000
        """
        c = self.certificate
        side = "upper bound" if c.criterion.maximised else "lower bound"
        facts = [(c.criterion.value_name, f"{c.value:.8g}"), (side, f"{c.bound:.8g}"), ("gap", f"{c.gap:.1e}")]
        facts += [("status", self.status.name), ("proven over the region by", c.kind)]
        return table_of_settings(f"{self.problem.kind.replace('_', '-')}, proportions", facts, self.points)

    def _repr_html_(self) -> str:
        return self.table().as_html()

    @property
    def value(self) -> float:
        """The criterion of the design."""
        return self.certificate.value

    @property
    def bound(self) -> float:
        """A proven bound on the optimal value over the region."""
        return self.certificate.bound

    @property
    def gap(self) -> float:
        """The certified relative gap: the design is at most this share from the optimum."""
        return self.certificate.gap

    @property
    def efficiency(self) -> float:
        """A proven lower bound on the efficiency: 1 / (1 + gap)."""
        return self.certificate.efficiency

    @property
    def information(self) -> Floats:
        """A = A0 + sum_i w_i f(x_i)f(x_i)' / (s^2(x_i) c(x_i)), in the model's own coordinates (d, d)."""
        curve = self.problem.curve
        F = curve.at(self.problem.region.table(self.where, self.x))
        for piece in set(self.where):
            mine = np.array(self.where) == piece
            F[mine] *= np.sqrt(curve.weights(piece, self.x[mine]))[:, None]
        A = F.T @ ((self.weights / self.problem.prices(self.x))[:, None] * F)
        prior, n_new = self.problem.prior, self.problem.n_new
        return A if prior is None or n_new is None else A + prior / n_new

    def variance(self, at: Any) -> Floats:
        """f(x)'A^-1f(x) at settings, or v'A^-1v for vectors.

        Parameters
        ----------
        at : DataFrame, mapping or array_like of shape (k, d)
            A table of settings, or rows v.

        Returns
        -------
        array, shape (k,)
            Infinite where it is not measured.
        """
        curve = self.problem.curve
        if hasattr(at, "columns") or isinstance(at, dict):
            where, x = self.problem.adapted.region.coordinates(at)
            H = self.problem.adapted.frame.rows(where, x, weighted=False)
        else:
            V = np.atleast_2d(numeric(at, "at")).astype(float)
            if V.shape[1] != curve.d:
                raise InputError(
                    f"a vector has {V.shape[1]} entries; the model has {curve.d} terms: {', '.join(curve.terms)}"
                )
            H = self.problem.adapted.frame.vectors(V)
        A = self._internal()
        level, vectors = np.linalg.eigh(A)
        seen = level > 1e-12 * level[-1]
        image = H @ vectors
        out = np.sum(image[:, seen] ** 2 / level[seen], axis=1)
        lost = np.sum(image[:, ~seen] ** 2, axis=1) > 1e-16 * np.sum(H**2, axis=1)
        return np.where(lost, np.inf, out)

    def sensitivity(self, at: Any) -> Floats:
        """sum_j (b_j'f(x))^2 / (s^2(x) c(x)) at a table of settings: nowhere above `certificate.most`; so the bound holds.

        Parameters
        ----------
        at : DataFrame or mapping
            A table of settings.

        Returns
        -------
        array, shape (k,)
            The sensitivity at each.
        """
        return self.heights(*self.problem.region.coordinates(at))

    def heights(self, where: Sequence[int] | Indices, x: Floats) -> Floats:
        """The sensitivity by coordinates of the region, as `where` and `x` are.

        Parameters
        ----------
        where : sequence of int
            The piece of the region of every setting.
        x : array, shape (k, q)
            Its continuous coordinates.

        Returns
        -------
        array, shape (k,)
            The sensitivity at each.
        """
        if self.certificate.vectors is None:
            raise InputError("the design has no vectors: nothing was proven of it")
        problem, own = self.problem.adapted, self.problem.adapted_settings(where, x)
        with np.errstate(all="ignore"):
            image = problem.frame.rows(where, own) @ self.certificate.vectors.B.T
            return np.asarray(np.sum(image**2, axis=1) / problem.prices(own))

    def round(self, n: int, *, effort: str | float = "quick", seed: int = 0) -> RegionExactDesign:
        """n runs, a whole number at each setting, with a certified efficiency; the settings are free to move.

        From several roundings of the shares and from random runs, single runs are exchanged over settings spread over the
        region; then all coordinates of the best plans move together along the gradient of the criterion. Nothing here is
        proven but what counts: the efficiency against the best shares anywhere in the region.

        Parameters
        ----------
        n : int
            How many runs.
        effort : {"quick", "thorough"} or float
            What is spent on the search: the words give the same plan on every machine, a number is seconds.
        seed : int
            Of the starts.

        Returns
        -------
        RegionExactDesign
            Settings with counts.

        Raises
        ------
        InputError
            Where no n runs estimate what is asked.

        Examples
        --------
        >>> import convexdesign as cd
        >>> curve = cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))
        >>> plan = cd.solve(cd.DesignProblem.d_optimal(curve)).round(5)
        >>> sorted(plan.counts.tolist()), round(plan.efficiency, 4)
        ([1, 2, 2], 0.9524)
        """
        from convexdesign.regions.exact import round_over_region

        return round_over_region(self, n, effort, seed)

    def plot(self, ax: Any = None) -> Any:
        """The settings drawn over the region, with their shares; of one factor with the sensitivity, of two on its surface.

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
        """
        from convexdesign.plotting import plot_region_design

        return plot_region_design(self, ax=ax)

    def save(self, path: str | Path) -> None:
        """Write the design and its problem as JSON.

        Parameters
        ----------
        path : str or pathlib.Path
            The file to write.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import convexdesign as cd
        >>> curve = cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "design.json"
        >>> cd.solve(cd.DesignProblem.d_optimal(curve)).save(path)
        >>> cd.regions.RegionDesign.load(path).status.name
        'CERTIFIED'
        """
        from convexdesign.regions.saved import save_design

        save_design(self, path)

    @classmethod
    def load(cls, path: str | Path) -> RegionDesign:
        """Read a design written by `save`; value and bound are computed and proven again from the data in the file.

        Parameters
        ----------
        path : str or pathlib.Path
            The file to read.

        Returns
        -------
        RegionDesign
            The design, with its problem.

        Raises
        ------
        InputError
            For a file that is no saved design over a region, or is damaged, naming the field.
        """
        from convexdesign.regions.saved import load_design

        return load_design(path)

    def _internal(self) -> Floats:
        problem, x = self.problem.adapted, self.problem.adapted_settings(self.where, self.x)
        rows = problem.frame.rows(self.where, x)
        A = rows.T @ ((self.weights / problem.prices(x))[:, None] * rows)
        return A if self.finite.prior is None else A + self.finite.prior

    def __repr__(self) -> str:
        c = self.certificate
        side = "upper" if c.criterion.maximised else "lower"
        how = f" by {c.kind}" + (f" of degree {c.degree}" if c.degree else "")
        return (
            f"RegionDesign({c.criterion.value_name} {c.value:.8g}, {side} bound {c.bound:.8g} proven over the region{how}, "
            f"gap {c.gap:.1e}, {self.status.name}; {len(self.weights)} settings)"
        )
