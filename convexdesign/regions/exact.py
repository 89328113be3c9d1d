"""Whole numbers of runs over a region: settings with counts, and what they are proven to be worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import choice, positive, whole_at_least
from convexdesign.decimals import at_least
from convexdesign.errors import InputError
from convexdesign.regions.criteria import gap_of
from convexdesign.regions.design import RegionDesign, table_of_settings
from convexdesign.regions.whole import AMOUNTS, WholeSearch
from convexdesign.result_table import ResultTable
from convexdesign.typing import Counts, Floats, Indices

if TYPE_CHECKING:
    import pandas

__all__ = ["RegionExactDesign", "judged", "round_over_region"]

# Digits of a setting, of the width of the region.
DIGITS = 8


@dataclass(frozen=True, eq=False, repr=False)
class RegionExactDesign:
    """Whole numbers of runs at settings of a region, with a certified efficiency against the best shares over the region.

    Parameters
    ----------
    reference : RegionDesign
        The design over all shares that the runs are compared with; its bound is proven.
    where : sequence of int
        The piece of the region (combination of levels) of every setting.
    x : array, shape (k, q)
        Its continuous coordinates.
    counts : array of int64, shape (k,)
        How often each setting is run.
    value : float
        The criterion per run (per unit of cost where runs have costs), comparable with RegionDesign.value.
    efficiency : float
        A proven lower bound on the efficiency against the best shares anywhere in the region.

    Examples
    --------
    >>> import convexdesign as cd
    >>> curve = cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))
    >>> plan = cd.solve(cd.DesignProblem.d_optimal(curve)).round(6)
    >>> plan.points["x"].round(6).tolist(), plan.counts.tolist(), round(plan.efficiency, 5)
    ([-1.0, 0.0, 1.0], [2, 2, 2], 1.0)
    """

    reference: RegionDesign
    where: Sequence[int]
    x: Floats
    counts: Counts
    value: float
    efficiency: float

    @property
    def problem(self) -> Any:
        """The problem over the region."""
        return self.reference.problem

    @property
    def total(self) -> int:
        """The number of runs."""
        return int(self.counts.sum())

    @property
    def bound(self) -> float:
        """A proven bound on the optimal value of all shares over the region."""
        return self.reference.bound

    @property
    def cost(self) -> float:
        """What all runs cost together; their number where runs have no costs."""
        return float(self.counts @ costs_of(self.problem, self.x))

    @property
    def points(self) -> pandas.DataFrame:
        """A row for each setting: a column for each factor, and `count`."""
        import pandas

        return pandas.DataFrame({**self.problem.region.table(self.where, self.x), "count": self.counts})

    def to_frame(self) -> pandas.DataFrame:
        """The same as `points`, as of a design.

        Returns
        -------
        pandas.DataFrame
            One row a setting.
        """
        return self.points

    def table(self) -> ResultTable:
        """The runs as one table: what they are worth, then their settings.

        Returns
        -------
        ResultTable
            As text by str, in notebooks as HTML, for papers by as_latex().

        Examples
        --------
        >>> import convexdesign as cd
        >>> curve = cd.Model.polynomial("x", 1).over(cd.Region.box(x=(0, 2)))
        >>> table = cd.solve(cd.DesignProblem.d_optimal(curve)).round(4).table()
        >>> print("\\n".join(str(table).splitlines()[-3:]))
        x  count
        0      2
        2      2
        """
        c = self.reference.certificate
        facts = [("runs", f"{self.total:,}"), (c.criterion.value_name, f"{self.value:.8g}")]
        facts += [("efficiency", f"at least {at_least(self.efficiency, 6)}"), ("proven over the region by", c.kind)]
        return table_of_settings(f"{self.problem.kind.replace('_', '-')}, whole numbers", facts, self.points)

    def _repr_html_(self) -> str:
        return self.table().as_html()

    def run_sheet(self, seed: int | None = 0) -> pandas.DataFrame:
        """One row a run, in random order: run, replicate, and the factors; `verify` reads it as `runs`.

        Parameters
        ----------
        seed : int, optional
            Of the order; None for another one each time.

        Returns
        -------
        pandas.DataFrame
            `total` rows.
        """
        import pandas

        settings = np.repeat(np.arange(len(self.counts)), self.counts)
        settings = np.random.default_rng(seed).permutation(settings)
        seen: dict[int, int] = {}
        replicate = []
        for k in settings.tolist():
            seen[k] = seen.get(k, 0) + 1
            replicate.append(seen[k])
        sheet: dict[str, Any] = {"run": np.arange(1, len(settings) + 1), "replicate": replicate}
        table = self.problem.region.table([self.where[k] for k in settings.tolist()], self.x[settings])
        for name, column in table.items():
            sheet[f"{name} " if name in sheet else name] = column
        return pandas.DataFrame(sheet)

    def variance(self, at: Any) -> Floats:
        """The variance of the mean outcome at settings, or of v'theta-hat, after all runs, for noise of variance one.

        Parameters
        ----------
        at : DataFrame, mapping or array_like of shape (k, d)
            A table of settings, or rows v.

        Returns
        -------
        array, shape (k,)
            Infinite where it is not measured.
        """
        spent = self.counts * costs_of(self.problem, self.x)
        shares = replace(self.reference, where=self.where, x=self.x, weights=spent / float(spent.sum()))
        return shares.variance(at) / float(spent.sum())

    def plot(self, ax: Any = None) -> Any:
        """The settings drawn over the region with how often each is run.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axis drawn on.
        """
        from convexdesign.plotting import plot_region_design

        return plot_region_design(self, ax=ax)

    def save(self, path: str | Path) -> None:
        """Write the runs, the design that they are compared with, and the problem as JSON.

        Parameters
        ----------
        path : str or pathlib.Path
            The file to write.
        """
        from convexdesign.regions.saved import save_exact

        save_exact(self, path)

    @classmethod
    def load(cls, path: str | Path) -> RegionExactDesign:
        """Read what `save` wrote; value, bound and efficiency are computed and proven again.

        Parameters
        ----------
        path : str or pathlib.Path
            The file to read.

        Returns
        -------
        RegionExactDesign
            The runs.

        Raises
        ------
        InputError
            For a file that is no such document, or is damaged, naming the field.
        """
        from convexdesign.regions.saved import load_exact

        return load_exact(path)

    def __repr__(self) -> str:
        c = self.reference.certificate
        return (
            f"RegionExactDesign({self.total} runs at {len(self.counts)} settings: {c.criterion.value_name} "
            f"{self.value:.8g}, efficiency at least {self.efficiency:.6f}, proven over the region by {c.kind})"
        )


def costs_of(problem: Any, x: Floats) -> Floats:
    """What one run costs at each setting; one where there are no costs."""
    from convexdesign.regions.problem import values_of

    return np.ones(len(x)) if problem.cost is None else values_of(problem.cost, x)


def round_over_region(design: RegionDesign, n: int, effort: str | float = "quick", seed: int = 0) -> RegionExactDesign:
    """n runs, the settings free to move; see `RegionDesign.round`."""
    n = whole_at_least(1, n, "n")
    if isinstance(effort, str):
        choice(effort, tuple(AMOUNTS), "effort")
    else:
        effort = positive(effort, "effort", "give a positive number of seconds, 'quick' or 'thorough'")
    rng = np.random.default_rng(whole_at_least(0, seed, "seed"))
    problem = design.problem
    if problem.cost is None and problem.n_new is not None and problem.n_new != n:
        design = replace(problem, n_new=float(n)).solved(tol=design.tol)
    search = WholeSearch(design.problem, np.asarray(design.where, dtype=np.intp), design.x, design.weights, n, rng)
    plan = search.best(effort)
    if plan is not None:
        x = tidied(search, plan.where, search.frame.unscaled(plan.u))
        order = np.lexsort([*x.T[::-1], plan.where])
        exact = judged(design, plan.where[order], x[order], plan.counts[order])
        if exact.efficiency > 0:
            return exact
    least = design.problem.curve.d
    raise InputError(
        f"no {n} runs were found that estimate what is asked; the model has {least} terms: give n >= {least}"
    )


def tidied(search: WholeSearch, where: Indices, x: Floats) -> Floats:
    """The coordinates to about eight digits of the region's width, where that stays inside: what a person can set."""
    out = x.copy()
    for k in range(search.q):
        digits = DIGITS - int(np.floor(np.log10(search.frame.high[k] - search.frame.low[k])))
        short = out.copy()
        short[:, k] = np.round(out[:, k], digits)
        ok = search.inside(where, search.frame.scaled(short))
        out[ok] = short[ok]
    return out


def judged(design: RegionDesign, where: Indices, x: Floats, counts: Counts) -> RegionExactDesign:
    """The runs with what is proven of them; information held counts beside the budget that they spend."""
    from convexdesign.regions.criteria import dimension
    from convexdesign.regions.verification import value_of

    problem = design.problem
    spent = counts * costs_of(problem, x)
    total = float(spent.sum())
    if problem.n_new is not None and problem.n_new != total:
        problem = replace(problem, n_new=total)
        design = problem.solved(tol=design.tol)
    value, error, _ = value_of(problem, where, x, spent / total, design)
    efficiency = 0.0
    if np.isfinite(value):
        gap = gap_of(design.certificate.criterion, value, design.bound, dimension(design.finite), error)
        efficiency = 1.0 / (1.0 + gap)
    return RegionExactDesign(design, where.tolist(), x, counts, value, efficiency)
