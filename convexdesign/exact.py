"""A whole-number design of a problem: its counts, re-evaluated, with a certified efficiency."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arms.labels import keys_of
from convexdesign.evaluation import Evaluation
from convexdesign.problem import DesignProblem
from convexdesign.result_table import ResultTable
from convexdesign.typing import Counts, Indices

if TYPE_CHECKING:
    import pandas

    from convexdesign.precision import Diagnostics

__all__ = ["ExactDesign"]


# A proven gap up to this is called a proof that the counts are best.
PROVEN = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class ExactDesign:
    """Whole numbers of pulls, with a certified efficiency against the best weights.

    Parameters
    ----------
    problem : DesignProblem
        What the design is for.
    counts : array of int64, shape (n_arms,)
        Pulls of each arm.
    value : float
        The criterion per observation (per unit of budget where the problem has costs), comparable with Design.value.
    bound : float
        Proven for the best proportions with the budget that the counts spend, in the same unit.
    efficiency : float
        A proven lower bound on what they achieve, 1 being as good as the best proportions (more only where the counts
        leave the constraints).
    method : str
        The one that found the counts.
    optimality_gap : float, optional
        For `optimal`, the proven relative distance from the best whole-number design of this total (it may stay below 1
        in efficiency even at gap 0).
    scale : float
        What the evaluation's variances are divided by to be those of the counts.
    evaluation : Evaluation
        The information matrix of the counts, factorised.
    rank_note : str
        'rank 2 of 3 (...)' where some coefficients cannot be estimated from the counts, else empty.
    cost : float, optional
        What all measurements cost together, where costs are known.
    budget : float, optional
        What they were allowed to cost.
    violation : float
        By which share of its own room the counts miss a constraint, at most; 0 where they keep all.
    broken : tuple of str
        The constraints that the counts miss, by name.
    """

    problem: DesignProblem
    counts: Counts
    value: float
    bound: float
    efficiency: float
    method: str
    optimality_gap: float | None
    scale: float
    evaluation: Evaluation
    rank_note: str = ""
    cost: float | None = None
    budget: float | None = None
    violation: float = 0.0
    broken: tuple[str, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether no counts that are allowed are better, by more than a share of 1e-5, which is proven."""
        return self.optimality_gap is not None and self.optimality_gap <= PROVEN

    @property
    def is_allowed(self) -> bool:
        """Whether the counts keep every constraint and limit, up to rounding."""
        return not self.broken

    @property
    def total(self) -> int:
        """The number of pulls; as asked, except `ceil`: at most one more per arm with weight."""
        return int(self.counts.sum())

    @property
    def support(self) -> Indices:
        """Indices of the arms that are pulled."""
        return np.flatnonzero(self.counts != 0)

    @cached_property
    def max_variance(self) -> float:
        """max_j v_j' (information held + sum_i n_i x_i x_i' / noise_variance_i)^-1 v_j, in squared outcome units.

        The targets are the problem's own: for D all arms, for A and E the coefficients, for I the points of the region.
        """
        if self.problem.criterion.by_target:
            return self.evaluation.value / self.scale
        if not np.isfinite(self.value):
            return np.inf
        return float(self.problem.targets.worst(self.evaluation.factor, 1)[1][0]) / self.scale

    def to_frame(self) -> pandas.DataFrame:
        """One row per arm that is pulled: arm, count.

        Returns
        -------
        pandas.DataFrame
            In the order of the arms.
        """
        import pandas

        arms = keys_of(self.problem.arms.names, self.support)
        return pandas.DataFrame({"arm": arms, "count": self.counts[self.support]})

    def run_sheet(self, seed: int | None = 0, *, blocks: str | ArrayLike | None = None) -> pandas.DataFrame:
        """One row a run, in random order: run, block where there are blocks, arm, replicate, and the factors of the settings.

        Parameters
        ----------
        seed : int, optional
            Of the order; None for another one each time.
        blocks : str or array_like, shape (n_arms,), optional
            The block of every arm, or the column of the settings that holds it; runs are shuffled within blocks.

        Returns
        -------
        DataFrame
            `total` rows.

        Raises
        ------
        InputError
            Where the blocks do not fit.

        Examples
        --------
        >>> import convexdesign as cd
        >>> plan = cd.solve(cd.DesignProblem.d_optimal([[1, -1], [1, 1]])).round(4)
        >>> sorted(plan.run_sheet(seed=1)["arm"])
        [0, 0, 1, 1]
        """
        from convexdesign.runs import sheet_of

        return sheet_of(self.problem, self.counts, seed=seed, blocks=blocks)

    def diagnostics(self, noise_sd: float = 1.0) -> Diagnostics:
        """Standard errors, power, variance inflation, correlations, aliases and prediction variances; see `diagnose`.

        Parameters
        ----------
        noise_sd : float
            The standard deviation of one run.

        Returns
        -------
        Diagnostics
            In the order of the coordinates of the arms.

        Raises
        ------
        InputError
            For arms with several responses.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.solve(cd.DesignProblem.d_optimal([[1, -1], [1, 1]])).round(4).diagnostics().standard_errors.tolist()
        [0.5, 0.5]
        """
        from convexdesign.precision import diagnose

        return diagnose(self.problem, self.counts, noise_sd=noise_sd)

    def __repr__(self) -> str:
        gap = ""
        if self.optimality_gap is not None:
            gap = f", {'PROVEN' if self.is_proven else 'NOT proven'} best, whole-number gap {self.optimality_gap:.1e}"
        rank = f"; {self.rank_note}" if self.rank_note else ""
        cost = "" if self.cost is None else f", cost {self.cost:.8g}"
        outside = (
            "" if self.is_allowed else f"; NOT ALLOWED: {', '.join(self.broken[:3])} missed by {self.violation:.2g}"
        )
        return (
            f"ExactDesign({self.total} pulls of {self.support.size} arms by {self.method}{cost}: {self._value_text}, "
            f"efficiency at least {self.efficiency:.6f}{gap}{rank}{outside})"
        )

    @property
    def _value_text(self) -> str:
        """The criterion by its name: a largest variance after all pulls, any other per pull, as of proportions."""
        criterion = self.problem.criterion
        if criterion.by_target:
            return f"{criterion.value_name} {self.max_variance:.8g}"
        return f"{criterion.value_name} {self.value:.8g} per pull"

    def table(self) -> ResultTable:
        """What was rounded and how good it is, then the arms that are pulled.

        Returns
        -------
        ResultTable
            As text by str, in notebooks as HTML, for papers by as_latex().

        Examples
        --------
        >>> import convexdesign as cd
        >>> plan = cd.solve(cd.DesignProblem.d_optimal([[1.0, 0.0], [0.0, 1.0]])).round(4)
        >>> print(plan.table())
        d-optimal, whole numbers
        -----------------------------
        pulls                       4
        method              apportion
        criterion   log det -1.386294
        efficiency  at least 1.000000
        -----------------------------
        arm    count
        arm 0      2
        arm 1      2
        """
        name, value = self.problem.criterion.value_name, self.value
        after = f"{self.max_variance:.7g} after all pulls" if self.problem.criterion.by_target else f"{value:.7g}"
        facts = [("pulls", f"{self.total:,}"), ("method", self.method), ("criterion", f"{name} {after}")]
        facts.append(("efficiency", f"at least {self.efficiency:.6f}"))
        if self.optimality_gap is not None:
            facts.append(("whole-number gap", f"{self.optimality_gap:.1e}"))
        if self.cost is not None:
            facts.append(("cost", f"{self.cost:.8g}"))
        if self.rank_note:
            facts.append(("rank", self.rank_note))
        if not self.is_allowed:
            facts.append(("NOT ALLOWED", f"{', '.join(self.broken[:3])} missed by {self.violation:.2g}"))
        order = self.support[np.argsort(-self.counts[self.support], kind="stable")]
        rows = tuple((self.problem.arm_name(int(i)), f"{self.counts[i]:,}") for i in order)
        return ResultTable(f"{self.problem.kind}, whole numbers", tuple(facts), ("arm", "count"), rows)

    def _repr_html_(self) -> str:
        return self.table().as_html()
