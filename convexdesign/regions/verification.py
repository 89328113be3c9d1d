"""verify over a region: a run table judged against the best possible anywhere in the region, and what would improve it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import numeric
from convexdesign.certificate import certify
from convexdesign.decimals import at_least, at_most
from convexdesign.design import Design
from convexdesign.errors import ConvergenceWarning, InputError
from convexdesign.evaluation import evaluate
from convexdesign.outcome import Status
from convexdesign.problem import Criterion, canonicalise
from convexdesign.regions.certifying import rounding_of_rows
from convexdesign.regions.criteria import Vectors, dimension, gap_of, log_det_shift
from convexdesign.regions.design import RegionDesign, table_of_settings
from convexdesign.regions.everywhere import prove_everywhere
from convexdesign.regions.exchange import Search, SearchOutcome, inverse_root
from convexdesign.regions.problem import RegionProblem, repetitions, values_of
from convexdesign.regions.proof import RegionProver
from convexdesign.result_table import ResultTable
from convexdesign.roundoff import value_error
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    import pandas

__all__ = ["RegionVerification", "verify_over_region"]

REFERENCE_TOL = 1e-7
EXACT = "sums of squares, in rational arithmetic"
# What the ends of the efficiency rest on.
PROOFS = {
    "sum of squares": "sums of squares, in double precision with all rounding charged",
    "interval branch and bound": "intervals rounded outwards, elementary functions taken to be right to 8 units",
    "sum of coefficients": "sums of coefficients, in double precision with all rounding charged",
    "none": "none",
}


@dataclass(frozen=True, eq=False, repr=False)
class RegionVerification:
    """How good a table of runs is, against the best possible anywhere in the region.

    Parameters
    ----------
    value : float
        The criterion of the runs, per unit of effort; of G the proven worst variance over the region.
    lower_bound : float
        A proven bound on the optimum: a lower one for variances, an upper one for log det and lambda_min.
    efficiency : float
        A proven lower bound on the efficiency; for log det (det A / det A*)^(1/d).
    efficiency_interval : tuple of float
        Both ends, proven.
    weights : array of float
        The shares of the runs, summing to one.
    outside : array of int
        The rows of the table that lie outside the region.
    reference : RegionDesign
        The design over the region that the runs are compared with.
    where, x : array
        The piece and coordinates of every run.
    proof : str
        What the ends of the efficiency rest on; with rigorous=True, of polynomial models, rational arithmetic alone.
    """

    value: float
    lower_bound: float
    efficiency: float
    efficiency_interval: tuple[float, float]
    weights: Floats
    outside: Indices
    reference: RegionDesign
    where: Indices
    x: Floats
    proof: str = PROOFS["none"]

    @property
    def is_allowed(self) -> bool:
        """Whether all runs lie in the region."""
        return not len(self.outside)

    def is_optimal(self, tol: float = 1e-6) -> bool:
        """Whether the runs are proven to be within a relative `tol` of the optimum.

        Parameters
        ----------
        tol : float
            The relative gap.

        Returns
        -------
        bool
            Never true for runs outside the region.
        """
        return self.is_allowed and self.efficiency > 0 and 1.0 / self.efficiency - 1.0 <= tol

    def is_worse_than(self, tol: float = 1e-6) -> bool:
        """Whether the runs are proven to be more than a relative `tol` from the optimum, or leave the region.

        Parameters
        ----------
        tol : float
            The relative gap.

        Returns
        -------
        bool
            False too where the proof does not decide.
        """
        return not self.is_allowed or self.efficiency_interval[1] * (1.0 + tol) < 1.0

    def moves(self) -> pandas.DataFrame:
        """Where each run should go: the runs matched to the settings of the reference, at least distance in all.

        One row for each run: its settings, the settings to move to (columns with `to_`), and the distance, in shares of the
        half widths of the region. Runs with a smaller distance than 1e-3 may stay.

        Returns
        -------
        DataFrame
            A row for each run.
        """
        import pandas
        from scipy.optimize import linear_sum_assignment

        region, best = self.reference.problem.region, self.reference
        low, high = np.array(region.lower, dtype=float), np.array(region.upper, dtype=float)
        far = 2.0 * (np.asarray(self.where)[:, None] != np.asarray(best.where)[None, :])
        if region.q:
            far += np.linalg.norm(2.0 * (self.x[:, None, :] - best.x[None, :, :]) / (high - low), axis=2)
        near = np.bincount(far.argmin(axis=1), minlength=len(best.weights))
        copies = np.repeat(np.arange(len(best.weights)), rounded_counts(best.weights, len(far), near))
        far = far[:, copies]
        row, column = linear_sum_assignment(far**2)
        target = copies[column]
        table = pandas.DataFrame(region.table(np.asarray(self.where).tolist(), self.x))
        goal = region.table([best.where[k] for k in target], best.x[target])
        for name, values in goal.items():
            table[f"to_{name}"] = values
        table["distance"] = far[row, column]
        return table

    def plot(self, ax: Any = None) -> Any:
        """The runs, as crosses, over the region with the best design.

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

        return plot_region_design(self.reference, runs=(self.where, self.x), ax=ax)

    def table(self) -> ResultTable:
        """The judgement as one table: what the runs are worth, then every run and where it should move.

        Returns
        -------
        ResultTable
            As text by str, in notebooks as HTML, for papers by as_latex().
        """
        low, high = self.efficiency_interval
        facts = [("value", f"{self.value:.8g}"), ("proven bound", f"{self.lower_bound:.8g}")]
        proven = f"between {at_least(low, 6)} and {at_most(high, 6)}"
        if not self.is_allowed and low == high == 1.0:
            proven = "none: better than anything inside the region, by leaving it"
        facts += [("efficiency", proven), ("proof", self.proof)]
        if len(self.outside):
            facts.append(("outside the region", f"rows {', '.join(map(str, self.outside.tolist()))}"))
        return table_of_settings("run table, judged over a region", facts, self.moves().reset_index(names="row"))

    def _repr_html_(self) -> str:
        return self.table().as_html()

    def summary(self) -> str:
        """The judgement in a few lines of text.

        Returns
        -------
        str
            Value, bound, efficiency and verdict, and which runs to move.
        """
        low, high = self.efficiency_interval
        proven = f"between {low:.6f} and {high:.6f}"
        if not self.is_allowed and low == high == 1.0:
            proven = "none: better than anything inside the region, by leaving it"
        lines = [
            f"value            {self.value:.8g}",
            f"proven bound     {self.lower_bound:.8g} over the whole region, by {self.reference.certificate.kind}",
            f"efficiency       {proven}",
            f"proof            {self.proof}",
        ]
        if self.is_optimal():
            return "\n".join([*lines, "verdict          optimal to a share of 1e-6"])
        moves = self.moves()
        far = moves[moves["distance"] > 1e-3]
        said = f"{100 * (1 - low):.3g} % of the runs are wasted"
        if high == 0.0:
            said = "the runs do not measure all that is asked for"
        if not self.is_allowed:
            lines.append(f"outside          rows {', '.join(map(str, self.outside.tolist()))} lie outside the region")
            said = f"NOT allowed: {len(self.outside)} of {len(moves)} runs lie outside"
        if len(far):
            lines.append(f"verdict          {said}; {len(far)} of {len(moves)} should move:")
            lines.append(far.head(10).round(4).to_string(index=True))
        else:
            lines.append(
                f"verdict          {said}, by how often each setting is run, and not by where they are; round({len(moves)}) "
                f"seeks the best plan of {len(moves)} runs"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        low, high = self.efficiency_interval
        return f"RegionVerification(value {self.value:.8g}, efficiency in [{low:.7g}, {high:.7g}] over the region)"


def verify_over_region(
    problem: RegionProblem, runs: Any = None, weights: Any = None, counts: Any = None, rigorous: bool = False
) -> RegionVerification:
    """The efficiency of a run table, a row a run, against the best possible anywhere in the region."""
    if runs is None:
        raise InputError(
            "a problem over a region is verified by runs=: a table with a column for each factor, a row a run"
        )
    stated, problem = problem, problem.adapted
    listed, x = problem.region.coordinates(runs)
    where = np.array(listed, dtype=np.intp)
    if weights is None and counts is None:
        counts = repetitions(runs, problem.region.factors)
        weights = repetitions(runs, problem.region.factors, "weight") if counts is None else None
    w = shares(weights, counts, len(x))
    if not len(x):
        raise InputError("runs has no rows; a design must measure something")
    bad = np.flatnonzero(~problem.allowed(x))
    if bad.size:
        raise InputError(f"row {bad[0]} of runs: noise or cost is no positive number there")
    if problem.cost is not None:
        prices = problem.prices(x) / (1.0 if problem.noise is None else noise_at(problem, x))
        w = w * prices / float(np.sum(w * prices))
    outside = np.flatnonzero(~problem.region.inside(x)) if problem.region.q else np.empty(0, dtype=np.intp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        reference = problem.solved(tol=REFERENCE_TOL)
    value, error, high_value = value_of(problem, where, x, w, reference)
    dim = dimension(reference.finite)
    criterion = reference.certificate.criterion
    low = 1.0 / (1.0 + gap_of(criterion, value, reference.bound, dim, error)) if np.isfinite(value) else 0.0
    better = high_value >= reference.value if criterion.maximised else high_value <= reference.value
    spare = gap_of(criterion, high_value, reference.value, dim) if np.isfinite(high_value) else np.inf
    high = 1.0 if better else min(1.0, (1.0 + error) * (1.0 + reference.certificate.rounding) / (1.0 + spare))
    if not np.isfinite(value):
        high = 0.0
    proof = PROOFS[reference.certificate.kind]
    if rigorous and problem.is_polynomial and reference.certificate.kind.startswith("sum of"):
        low, high = in_rational_arithmetic(stated, runs, weights if counts is None else counts, reference)
        proof = EXACT
    if len(outside) and value_is_better(criterion, value, reference.bound):
        low = high = 1.0  # better than anything inside, by leaving the region: it is not allowed
    return RegionVerification(
        value, reference.bound, low, (low, max(low, high)), w, outside, reference, where, x, proof
    )


def in_rational_arithmetic(
    stated: RegionProblem, runs: Any, times: Any, reference: RegionDesign
) -> tuple[float, float]:
    """Both ends of the efficiency of exactly these runs, by the checker of certificates; times: how often each counts."""
    from convexdesign.regions.rational import exact_efficiency

    where, x = stated.region.coordinates(runs)
    at = reference.problem.region.table(reference.where, reference.x)
    design = replace(reference, problem=stated, x=stated.region.coordinates(at)[1])
    counts = np.ones(len(x)) if times is None else np.asarray(numeric(times, "counts"), dtype=float)
    return exact_efficiency(design, np.array(where, dtype=np.intp), x, counts).interval


def value_is_better(criterion: Criterion, value: float, bound: float) -> bool:
    """Whether a value is beyond a bound on all designs in the region."""
    return value > bound if criterion.maximised else value < bound


def value_of(
    problem: RegionProblem, where: Any, x: Floats, w: Floats, reference: RegionDesign
) -> tuple[float, float, float]:
    """The criterion of the runs, its rounding, and (of G) the largest variance that was found, else the value again."""
    # Settings of the reference, without weight, so that the list spans the model.
    at = np.concatenate([where, np.asarray(reference.where, dtype=np.intp)])
    every = np.vstack([x, reference.x])
    weights = np.concatenate([w, np.zeros(len(reference.x))])
    targets = problem.frame.rows(at, every, weighted=False) if problem.predicts_region else None
    finite = problem.finite(at, every, targets)
    canonical = canonicalise(finite)
    found = evaluate(canonical, weights)
    shift = log_det_shift(finite, problem.frame.log_det)
    if not np.isfinite(found.value) or found.value == finite.criterion.worst_value:
        return finite.criterion.worst_value, 0.0, finite.criterion.worst_value
    design = Design(finite, weights, certify(canonical, weights), Status.STALLED, known=canonical)
    search = Search(problem)
    own = SearchOutcome(
        at, every, design, Vectors(np.eye(problem.frame.d), np.arange(problem.frame.d)), 1.0, found.value
    )
    error = value_error(canonical, weights, found) + rounding_of_rows(search, own)
    if not problem.predicts_region:
        return found.value - shift, error, found.value - shift
    vectors = Vectors(inverse_root(design), np.arange(problem.frame.d))
    own = replace(own, vectors=vectors)
    _, _, height = search.maxima(own, priced=False)
    most = max(found.value, float(height[0]))
    prover = RegionProver(problem.frame, None) if search.variances is not None else None
    proven, _ = prove_everywhere(
        search, prover, vectors.B, most, lambda bound: bound <= most * (1.0 + 1e-7), np.inf, priced=False
    )
    return proven.value, error, most


def shares(weights: Any, counts: Any, n: int) -> Floats:
    """The share of every row: equal, or as weights or counts say."""
    if weights is not None and counts is not None:
        raise InputError("give at most one of weights= and counts= with runs=")
    given = weights if weights is not None else counts
    if given is None:
        return np.full(n, 1.0 / max(n, 1))
    name = "weights" if weights is not None else "counts"
    values = np.asarray(numeric(given, name), dtype=float)
    if values.shape != (n,):
        raise InputError(f"{name} has the shape {values.shape}; runs has {n} rows")
    bad = np.flatnonzero(~(values >= 0))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] is {values[bad[0]]:g}; {name} cannot be negative")
    if not values.sum() > 0:
        raise InputError(f"all {name} are zero; a design must measure something")
    return values / float(values.sum())


def noise_at(problem: RegionProblem, x: Floats) -> Floats:
    """s^2 at the coordinates."""
    assert problem.noise is not None
    return values_of(problem.noise, x)


def rounded_counts(weights: Floats, n: int, near: Any) -> Any:
    """n copies in about these proportions: the largest remainders, of equal ones where there are runs already."""
    exact = weights / weights.sum() * n
    counts = np.floor(exact + 1e-6).astype(int)
    rest = np.lexsort([-(near - counts), -np.round(exact - counts, 3)])[: n - int(counts.sum())]
    counts[rest] += 1
    return counts
