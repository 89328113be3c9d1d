"""Verification: what a verifier asks of a design. Is it optimal, how efficient, what is worst, what would improve it?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.aliasing import rank_note
from convexdesign.arguments import real, shown, whole_at_least
from convexdesign.arms.labels import keys_of
from convexdesign.arms.read import read_vector
from convexdesign.certificate import Certificate
from convexdesign.design import Design
from convexdesign.errors import InputError
from convexdesign.evaluation import Evaluation, evaluate
from convexdesign.exact import ExactDesign
from convexdesign.outcome import FEASIBILITY_TOLERANCE
from convexdesign.problem import Canonical, DesignProblem
from convexdesign.result_table import ResultTable
from convexdesign.typing import Floats
from convexdesign.verification import improvement as improving
from convexdesign.verification import report
from convexdesign.verification.equivalence import sensitivities, unmeasured_shares
from convexdesign.verification.worst import worst_arms, worst_targets
from convexdesign.whole_numbers import round_design

if TYPE_CHECKING:
    import pandas

    from convexdesign.precision import Diagnostics
    from convexdesign.rigorous import Proof
    from convexdesign.swaps import Swap

__all__ = ["Verification"]

# Up to so many runs times arms a design is compared with the best whole-number plan found.
WHOLE_NUMBERS = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """The certified efficiency of a design, and what limits it.

    Parameters
    ----------
    value : float
        The criterion at the design's weights.
    lower_bound : float
        A proven bound on the optimum (an upper one for log det and lambda_min).
    efficiency : float
        A proven lower bound on optimum / value.
    efficiency_interval : tuple of float
        (low, high), both proven.
    certificate : Certificate
        Of the design verified.
    weights : array, shape (n,)
        The design, sum 1.
    reference : Design
        The design it was compared with.
    proof : Proof, optional
        With rigorous=True, what is proven in exact and ball arithmetic, on which the efficiencies then rest.
    unmeasured : int
        The number of a target that is not measured, where exact arithmetic had to tell, otherwise -1.
    remark : str
        What double precision cannot tell, or sees otherwise, in words.
    counts : array, shape (n,), optional
        The whole numbers verified, where it was not weights.
    order : tuple of int, optional
        The arm of every run, where it was a run sheet.
    blocks : tuple, optional
        The block of every arm, where the run sheet has blocks.

    Examples
    --------
    >>> import convexdesign as cd
    >>> p = cd.DesignProblem.g_optimal([[1, 0], [0, 1]], noise_variance=[1.0, 3.0])
    >>> v = cd.verify(p, weights=[0.5, 0.5])
    >>> v.is_optimal(), round(v.efficiency, 6), v.worst_targets(1)["target"][0]
    (False, 0.666667, 'arm 1')
    """

    value: float
    lower_bound: float
    efficiency: float
    efficiency_interval: tuple[float, float]
    certificate: Certificate
    weights: Floats
    reference: Design
    proof: Proof | None = None
    unmeasured: int = -1
    remark: str = ""
    counts: Floats | None = None
    order: tuple[int, ...] | None = None
    blocks: tuple[Any, ...] | None = None

    def round(
        self,
        n: int | None = None,
        method: str = "auto",
        *,
        budget: float | None = None,
        costs: ArrayLike | None = None,
        min_counts: ArrayLike | None = None,
        max_counts: ArrayLike | None = None,
        inequalities: Any = None,
        rng: np.random.Generator | None = None,
        time_limit: float = 60.0,
        effort: str | float = "quick",
        progress: bool = False,
    ) -> ExactDesign:
        """n pulls as whole numbers per arm in about these proportions, as `Design.round` makes them.

        Parameters
        ----------
        n : int, optional
            The number of pulls; with a budget alone as many as that pays.
        method : {"auto", "ceil", "apportion", "regret", "exchange", "optimal"}
            As for `Design.round`, and so are all others.
        budget : float, optional
            What all pulls together may cost.
        costs : array_like, scalar or shape (n_arms,), optional
            What a pull costs, where the problem has no costs of its own.
        min_counts, max_counts : array_like, scalar or shape (n_arms,), optional
            The least and the most pulls of each arm.
        inequalities : (R, b), optional
            R n <= b for the counts n, R of shape (k, n_arms).
        rng : numpy.random.Generator, optional
            For the starts of the searches; fixed by default.
        time_limit : float
            Seconds, for `optimal`.
        effort : {"quick", "thorough"} or float
            What `auto` and the start of `optimal` spend.
        progress : bool
            A bar on standard error, where that is a terminal.

        Returns
        -------
        ExactDesign
            Counts, with their efficiency against the best proportions.

        Raises
        ------
        InputError
            When n is too small, naming the least n that works.

        Examples
        --------
        >>> import convexdesign as cd
        >>> p = cd.DesignProblem.g_optimal([[1, 0], [0, 1]])
        >>> cd.verify(p, weights=[0.4, 0.6]).round(10, "apportion").counts.tolist()
        [4, 6]
        """
        return round_design(
            self.reference.canonical,
            self.weights,
            self.lower_bound,
            n,
            method=method,
            budget=budget,
            costs=costs,
            min_counts=min_counts,
            max_counts=max_counts,
            inequalities=inequalities,
            rng=rng,
            time_limit=time_limit,
            effort=effort,
            progress=progress,
            dual=self.certificate.dual,
        )

    @property
    def problem(self) -> DesignProblem:
        """The problem that the design is for."""
        return self.reference.problem

    @cached_property
    def rank_note(self) -> str:
        """'rank 2 of 3 (columns 1, 2 are aliased)' where some coefficients cannot be estimated; empty where all can."""
        return rank_note(self._canonical, self._evaluation)

    @property
    def gap(self) -> float:
        """The smallest tolerance within which the design is proven optimal: 1 / efficiency - 1."""
        return 1.0 / self.efficiency - 1.0 if self.efficiency > 0 else np.inf

    @property
    def violation(self) -> float:
        """The largest share by which the weights miss one of the problem's constraints on them; zero where they meet all.

        A weight of 0.3 under a cap of 0.2 misses it by 0.5. No unit in which a constraint is written changes it.
        """
        return self.certificate.feasibility

    @property
    def is_allowed(self) -> bool:
        """Whether the weights satisfy the problem's constraints, up to a share of 1e-8."""
        return self.violation <= FEASIBILITY_TOLERANCE

    def diagnostics(self, noise_sd: float = 1.0) -> Diagnostics:
        """Standard errors, power, variance inflation, correlations, aliases and prediction variances of the counts verified.

        Parameters
        ----------
        noise_sd : float
            The standard deviation of one run.

        Returns
        -------
        Diagnostics
            As `diagnose` makes them.

        Raises
        ------
        InputError
            For a design verified by its weights: precision needs numbers of runs.
        """
        from convexdesign.precision import diagnose

        if self.counts is None:
            raise InputError("diagnostics need whole numbers of runs; verify counts=, or use diagnose(problem, counts)")
        return diagnose(self.problem, self.counts, noise_sd=noise_sd)

    def swaps(self, k: int = 3) -> list[Swap]:
        """The swaps of one run that raise the efficiency of the counts verified most, best first; none where none does.

        No swap leaves a constraint of the problem, and of a run sheet with blocks runs stay in their block.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        list of Swap
            What is replaced by what, and how many times as efficient the counts become.

        Raises
        ------
        InputError
            For a design verified by its weights.
        """
        from convexdesign.swaps import best_swaps

        if self.counts is None:
            raise InputError("swaps are of whole numbers of runs; verify counts=")
        counts, k = self.counts.astype(np.int64), whole_at_least(1, k, "k")
        return best_swaps(self._canonical, counts, k, order=self.order, blocks=self.blocks)

    @cached_property
    def best_plan(self) -> ExactDesign | None:
        """The best whole-number plan found with as many runs as the counts verified; None for weights, and for many runs."""
        if self.counts is None or self.counts.sum() * self.counts.size > WHOLE_NUMBERS:
            return None
        try:
            return self.reference.round(int(self.counts.sum()))
        except InputError:  # no counts of this total are allowed
            return None

    def is_optimal(self, tol: float = 1e-6) -> bool:
        """Whether the design is proven to be within a relative `tol` of the optimum: efficiency at least 1 / (1 + tol).

        False is no proof of the contrary: that is `is_worse_than(tol)`. Weights that break the problem's constraints
        are never optimal.

        Parameters
        ----------
        tol : float
            The optimum is known to about 1e-7 (1e-10 with rigorous=True), so a smaller tol proves nothing more.

        Returns
        -------
        bool
            Whether that is proven.
        """
        return self.is_allowed and self.gap <= _positive(tol)

    def is_worse_than(self, tol: float = 1e-6) -> bool:
        """Whether the design is proven to be more than a relative `tol` from the optimum, or breaks the constraints.

        Parameters
        ----------
        tol : float
            A relative gap.

        Returns
        -------
        bool
            Whether that is proven.
        """
        return not self.is_allowed or self.efficiency_interval[1] * (1.0 + _positive(tol)) < 1.0

    def worst_targets(self, k: int = 5) -> pandas.DataFrame:
        """The k targets with the largest variance v'A(w)^+ v, worst first: columns target (its name), variance.

        Variances are per unit of sampling effort, infinite for targets that are not measured. Targets are the problem's
        own; for D the arms, for A the coefficients, and for E all combinations of them of length one: the worst is the
        eigenvector of the least eigenvalue, whose inverse is its variance.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        pandas.DataFrame
            At most k rows.
        """
        return worst_targets(self._canonical, self._evaluation, whole_at_least(1, k, "k"))

    def worst_arms(self, k: int = 5) -> pandas.DataFrame:
        """The k arms that the design neglects most, indexed by number.

        Columns: arm (its name or settings, else its number), weight, variance, derivative.

        derivative: the directional derivative of the criterion when effort moves from all arms alike to this one, the
        best first; none is an improvement (negative for variances, positive for log det and lambda_min) where one
        target decides and the design is optimal. Where several targets tie it is that of their maximum. variance:
        x'A(w)^+ x of the arm's own mean, the largest where it has several responses. Where the design does not measure
        something: first the arms that together cure it, with an infinite derivative those that do so alone, nan
        otherwise.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        pandas.DataFrame
            At most k rows.
        """
        return worst_arms(self._canonical, self.weights, self._evaluation, whole_at_least(1, k, "k"))

    def improvement(self, share: float = 0.01) -> improving.Improvement:
        """The move of effort that improves the design fastest, and what moving a `share` of all effort so is worth.

        Effort is taken from all arms alike and given to the arm with the best directional derivative of the criterion.
        The value after the move is computed, not extrapolated; where it is worse, since the share is too large, the
        share is halved until it is better. Several arms get the effort in four cases:

        - several targets tie for the worst (to 1e-6) and no arm alone helps all of them best: the mix of arms with the
          steepest descent of their maximum;
        - no single arm improves the design, though a combination does (the least eigenvalue is multiple, or arms tell
          only together about a direction not measured yet): towards the best weights known, `reference.weights`;
        - the problem has constraints on the weights: the same;
        - the design does not measure something: the arms, in equal parts, that cure that.

        Parameters
        ----------
        share : float
            Of the effort, between 0 and 1.

        Returns
        -------
        Improvement
            Where the effort goes, and what it gains.
        """
        if not 0 < real(share) < 1:
            raise InputError(f"share is {shown(share)}; give a share of the effort between 0 and 1, such as 0.01")
        return improving.improvement(
            self._canonical, self.weights, self._evaluation, self.reference.weights, real(share)
        )

    def plot(self, ax: Any = None, *, positions: ArrayLike | None = None) -> Any:
        """The equivalence theorem as a picture (extra `plot`).

        The sensitivity of every arm, from the design's own information, against the bound that no arm exceeds if and
        only if the design is optimal; the largest exceeds it by the gap that this proves (with constraints on the
        weights, arms at their limits may exceed it). Of a design that does not measure something: the share of each arm
        that is not measured.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        positions : array_like, shape (n,), optional
            Where the arms sit on the axis, such as the setting of a regression.

        Returns
        -------
        matplotlib.axes.Axes
            The axis drawn on.
        """
        from convexdesign.plotting import plot_equivalence, plot_unmeasured

        names = self.problem.arms.names
        if positions is not None:
            positions = read_vector(positions, "positions", self.weights.size, names)
        if not improving.measures(self._canonical, self._evaluation):
            shares = unmeasured_shares(self._canonical, self._evaluation)
            title = f"{self._unmeasured} is not measured"
            return plot_unmeasured(shares, self.weights, positions, names=names, title=title, ax=ax)
        found = sensitivities(self._canonical, self._evaluation, self.reference.certificate.dual)
        how: dict[str, Any] = {"bound": found.bound, "limited": not self.problem.weight_set.is_simplex}
        return plot_equivalence(found.values, self.weights, positions, names=names, ax=ax, **how)

    def summary(self, tol: float = 1e-6) -> str:
        """The verification in a few lines of text: value, bound, efficiency, verdict, what is worst, what would help.

        Parameters
        ----------
        tol : float
            The relative gap up to which the verdict is "optimal".

        Returns
        -------
        str
            A fact a line.
        """
        return "\n".join(f"{name:<16} {text}" for name, text in report.facts(self, _positive(tol)))

    @cached_property
    def _evaluation(self) -> Evaluation:
        at = evaluate(self._canonical, self.weights)
        if self.unmeasured < 0 or not at.null.shape[1]:
            return at
        return replace(at, value=self.problem.criterion.worst_value, worst_target=self.unmeasured)

    @property
    def _canonical(self) -> Canonical:
        return self.reference.canonical

    @property
    def _unmeasured(self) -> str:
        target = improving.unmeasured_target(self._canonical, self._evaluation)
        return self.problem.targets.label(target)

    def __repr__(self) -> str:
        low, high = self.efficiency_interval
        rank = f"; {self.rank_note}" if self.rank_note else ""
        return f"Verification(value {self.value:.8g}, efficiency in [{low:.7g}, {high:.7g}]{rank})"

    def table(self, tol: float = 1e-6) -> ResultTable:
        """What was judged and how good it is, then the worst targets: as text, HTML or LaTeX.

        Parameters
        ----------
        tol : float
            The relative gap up to which the design is called optimal.

        Returns
        -------
        ResultTable
            As text by str, in notebooks as HTML, for papers by as_latex().

        Examples
        --------
        >>> import convexdesign as cd
        >>> table = cd.verify(cd.DesignProblem.d_optimal([[1.0, 0.0], [0.0, 1.0]]), counts=[1, 3]).table()
        >>> print("\\n".join(str(table).splitlines()[-3:]))
        target  variance
        arm 0          4
        arm 1    1.33333
        """
        facts = [fact for fact in report.facts(self, _positive(tol)) if fact[0] != "worst variances"]
        worst = self.worst_targets()
        rows = tuple((str(name), f"{value:.6g}") for name, value in zip(worst["target"], worst["variance"]))
        return ResultTable(f"{self.problem.kind}, verified", tuple(facts), ("target", "variance"), rows)

    def to_frame(self) -> pandas.DataFrame:
        """One row per arm with weight: arm, weight, as of a Design.

        Returns
        -------
        pandas.DataFrame
            In the order of the arms.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.verify(cd.DesignProblem.d_optimal([[1.0, 0.0], [0.0, 1.0]]), counts=[1, 3]).to_frame().weight.tolist()
        [0.25, 0.75]
        """
        import pandas

        support = np.flatnonzero(self.weights != 0)
        arms = keys_of(self.problem.arms.names, support)
        return pandas.DataFrame({"arm": arms, "weight": self.weights[support]})

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align: left'>{escape(name)}</th><td style='text-align: left'>{escape(text)}</td></tr>"
            for name, text in report.facts(self, 1e-6)
        )
        return f"<table>{rows}</table>"


def _positive(tol: float) -> float:
    if not real(tol) > 0:
        raise InputError(f"tol is {shown(tol)}; give a positive relative gap, such as 1e-6")
    return real(tol)
