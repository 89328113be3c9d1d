"""Several problems over one region at once: compound, maximin, and the mean information of uncertain parameters.

The certificate is that of `compound`: with vectors V_j and levels l_j of the information functions, and any a_j >= 0 of sum
one, no design has more than sum_j a_j l_j and the logarithm of

    sum_j a_j <V_jV_j', A0_j> + max over the region of phi(x) = sum_j a_j sum_k s_jk omega_jk(x) |V_j'h_j(x)|^2,

where a problem may be a mixture of parameter values k with shares s_jk. For polynomial models with one price phi is a
polynomial over it, bounded by sums of squares; all other phi by interval branch and bound, where values of the parameters that
share their functions h are evaluated together.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import real
from convexdesign.compound.ascent import best_weights, in_order
from convexdesign.compound.components import (
    Component,
    ComponentGroup,
    GroupState,
    component_of,
    evaluated,
    exact_values,
    grouped,
    more_targets,
)
from convexdesign.compound.design import facts_of_each
from convexdesign.compound.problem import shares
from convexdesign.compound.solving import least_bound, value_and_room
from convexdesign.criteria.information import InformationForm, compressed, squares
from convexdesign.errors import ConvergenceWarning, InputError, UnidentifiableError
from convexdesign.outcome import Stats, Status
from convexdesign.problem.continuum import ContinuumProblem
from convexdesign.regions.ascent import ChebyshevFunctions
from convexdesign.regions.design import table_of_settings
from convexdesign.regions.everywhere import prove_everywhere
from convexdesign.regions.exchange import Search
from convexdesign.regions.generalised import GlmCurve, GlmModel
from convexdesign.regions.intervals import UNIT
from convexdesign.regions.predicted import PredictedTargets
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.search import apart, clusters
from convexdesign.regions.sensitivities import SumBranch, SumProver, Term
from convexdesign.result_table import ResultTable
from convexdesign.rounding.sparsification import fewer_points
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    import pandas

__all__ = ["RegionCompoundDesign", "RegionCompoundProblem", "mixture_problem", "solve_together", "together"]

KINDS = (
    "d_optimal",
    "ds_optimal",
    "a_optimal",
    "i_optimal",
    "average_variance",
    "c_optimal",
    "e_optimal",
    "DesignProblem",
    "xy_allocation",
    "level_set_allocation",
    "g_optimal",
)
ROUNDS = 60
FIRST = 80
LAST = 1e-12
# The search ends when what it finds leaves this share of the tolerance.
SHARE = 0.1
MERGED = 0.02
REFUTED = 8
# Rounds that do not halve the gap before neighbours are made one: with them rounding decides.
IDLE = 5
# Settings added a round: where a circle of them is optimal, a search finds hundreds, and Newton's steps cost their cube.
MOST_ADDED = 20
NEGLIGIBLE = 1e-9
# Of more entries of the information of all settings no vertex is sought.
MOST_ENTRIES = 1_000_000


@dataclass(frozen=True, eq=False)
class Mixture:
    """One information function of the mean information of several problems with the same functions: their shares."""

    problems: tuple[RegionProblem, ...]
    shares: Floats


class Family:
    """Mixtures whose problems share their functions, noise and cost: all are evaluated at once."""

    def __init__(self, numbers: Sequence[int], mixtures: Sequence[Mixture]):
        self.numbers = np.array(numbers)
        self.problems = [problem for mixture in mixtures for problem in mixture.problems]
        self.shares = np.zeros((len(self.problems), len(mixtures)))
        start = 0
        for k, mixture in enumerate(mixtures):
            self.shares[start : start + len(mixture.problems), k] = mixture.shares
            start += len(mixture.problems)
        models = [problem.curve.model for problem in self.problems]
        known = [model for model in models if isinstance(model, GlmModel)]
        self.alike = len(known) == len(models) and len({(model.link, model.family) for model in known}) == 1
        self.thetas = np.array([model.theta for model in known]) if self.alike else np.empty((0, 0))

    def at(self, where: Indices, x: Floats) -> tuple[Floats, Floats]:
        """The functions h (n, d), and how much information of each mixture a unit of cost buys, (n, mixtures)."""
        first = self.problems[0]
        weights = np.ones((len(x), len(self.problems)))
        for piece in np.unique(where):
            mine, own = where == piece, int(piece)
            if self.alike and isinstance(first.curve, GlmCurve) and first.curve.weight is not None:
                eta = first.curve.rows(own, x[mine]) @ self.thetas.T
                weights[mine] = first.curve.weight.at({"eta": eta})
            else:
                weights[mine] = np.column_stack([p.curve.weights(own, x[mine]) for p in self.problems])
        return first.frame.rows(where, x, weighted=False), weights @ self.shares / first.prices(x)[:, None]


def families_of(mixtures: Sequence[Mixture]) -> list[Family]:
    """Mixtures with the same functions, noise and cost together."""
    alike: dict[tuple[int, int, int], list[int]] = {}
    for k, mixture in enumerate(mixtures):
        first = mixture.problems[0]
        alike.setdefault((id(first.frame.H[0]), id(first.noise), id(first.cost)), []).append(k)
    return [Family(numbers, [mixtures[k] for k in numbers]) for numbers in alike.values()]


@dataclass(frozen=True, eq=False, repr=False)
class RegionCompoundProblem(ContinuumProblem):
    """max over designs on a region of sum_j a_j log Phi_j, or of min_j Phi_j / Phi_j*; made by `compound` and `maximin`.

    Parameters
    ----------
    mixtures : tuple of Mixture
        The information functions, all over one region.
    weights : array of float, optional
        The a_j, of sum one; None for the least of all.
    standard : bool
        The least of the efficiencies, each against the best design for its problem alone; else of log Phi_j as it is.
    """

    mixtures: tuple[Mixture, ...]
    weights: Floats | None
    standard: bool = True

    @property
    def is_maximin(self) -> bool:
        """Whether the least efficiency, or the least log Phi, is maximised."""
        return self.weights is None

    @property
    def region(self) -> Any:
        """The settings allowed."""
        return self.mixtures[0].problems[0].region

    def solved(self, **options: Any) -> RegionCompoundDesign:
        """The best design for all of them, proven over the region; called by `solve`.

        Parameters
        ----------
        **options : dict
            Those of `solve`.

        Returns
        -------
        RegionCompoundDesign
            Certified over the whole region, or as far as the proof went.
        """
        first = self.mixtures[0]
        if len(self.mixtures) == 1 and any(p.frame.H[0] is not first.problems[0].frame.H[0] for p in first.problems):
            return solve_expected(self, **options)
        return solve_together(self, **options)

    def verified(self, *, runs: Any = None, weights: Any = None, counts: Any = None, rigorous: bool = False) -> Any:
        """Not known: InputError.

        Parameters
        ----------
        runs, weights, counts, rigorous : object
            Those of `verify`.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError("a compound problem is solved, not verified; verify the runs for each of its problems")

    def __repr__(self) -> str:
        kind = ("maximin" if self.standard else "lowest") if self.is_maximin else "compound"
        return f"RegionCompoundProblem({kind} of {len(self.mixtures)} over {self.region!r})"


@dataclass(frozen=True, eq=False, repr=False)
class RegionCompoundDesign:
    """Settings of a region with weights for several problems at once, with a proof over the whole region.

    Parameters
    ----------
    problem : RegionCompoundProblem
        What it is for.
    where : sequence of int
        The piece of the region of every setting.
    x : array, shape (n, q)
        Its continuous coordinates.
    weights : array, shape (n,)
        Positive, sum 1.
    value : float
        Of a compound problem sum_j a_j log Phi_j; of a maximin problem the least efficiency, or the least log Phi.
    bound : float
        A proven upper bound on the value of any design on the region.
    gap : float
        The relative gap between them: of logarithms exp(bound - value) - 1.
    multipliers : array of float
        The a_j that prove the bound; of a maximin problem the least favourable prior.
    efficiencies : array of float
        Of a maximin problem the efficiency for every problem, against the best for it alone; else empty.
    values : array of float
        Of every problem log Phi_j: log det / d, minus the logarithm of a variance, or that of the least eigenvalue; of G of
        the proven worst variance.
    kind : str
        How the largest sensitivity was bounded: "sum of squares" or "interval branch and bound".
    most, found : float
        The proven upper bound on the sensitivity, and the largest value that was found.
    status : convexdesign.Status
        Whether the gap is within the tolerance.
    stats : Stats
        What it cost.
    phi : callable
        The sensitivity at a piece and coordinates (k, q) in it.
    """

    problem: RegionCompoundProblem
    where: Sequence[int]
    x: Floats
    weights: Floats
    value: float
    bound: float
    gap: float
    multipliers: Floats
    efficiencies: Floats
    values: Floats
    kind: str
    most: float
    found: float
    status: Status
    stats: Stats
    phi: Callable[[int, Floats], Floats]

    @property
    def efficiency(self) -> float:
        """A proven lower bound on the efficiency: 1 / (1 + gap)."""
        return 1.0 / (1.0 + self.gap)

    def sensitivity(self, at: Any) -> Floats:
        """The common sensitivity of all problems at a table of settings: nowhere above `most`; so the bound holds.

        Parameters
        ----------
        at : DataFrame or mapping
            A table of settings.

        Returns
        -------
        array, shape (k,)
            The sensitivity at each.

        Examples
        --------
        >>> import convexdesign as cd
        >>> curve = cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))
        >>> both = [cd.DesignProblem.d_optimal(curve), cd.DesignProblem.c_optimal(curve, {"x**2": 1.0})]
        >>> design = cd.solve(cd.DesignProblem.compound(both))
        >>> bool(design.sensitivity({"x": [-1, -0.5, 0, 0.5, 1]}).max() <= design.most)
        True
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
        out, pieces = np.empty(len(x)), np.asarray(where, dtype=np.intp)
        for piece in np.unique(pieces):
            mine = pieces == piece
            out[mine] = self.phi(int(piece), x[mine])
        return out

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

    @property
    def points(self) -> pandas.DataFrame:
        """A row for each setting: a column for each factor, and `weight`."""
        import pandas

        return pandas.DataFrame({**self.problem.region.table(self.where, self.x), "weight": self.weights})

    def to_frame(self) -> pandas.DataFrame:
        """The same as `points`.

        Returns
        -------
        pandas.DataFrame
            One row a setting.
        """
        return self.points

    def table(self) -> ResultTable:
        """What was solved, how good it is, and for each problem; then where to measure.

        Returns
        -------
        ResultTable
            As text by str, in notebooks as HTML, for papers by as_latex().
        """
        names = [mixture.problems[0].kind.replace("_", "-") for mixture in self.problem.mixtures]
        facts = [(self.called, f"{self.value:.8g}"), ("upper bound", f"{self.bound:.8g}"), ("gap", f"{self.gap:.1e}")]
        facts += [("status", self.status.name), ("proven over the region by", self.kind)]
        facts += facts_of_each(names, self.multipliers, self.efficiencies, self.values)
        kind = ("maximin" if self.problem.standard else "lowest") if self.problem.is_maximin else "compound"
        return table_of_settings(f"{kind}, proportions", facts, self.points)

    def _repr_html_(self) -> str:
        return self.table().as_html()

    @property
    def called(self) -> str:
        """What the value is."""
        least = "least efficiency" if self.problem.standard else "least log information"
        return least if self.problem.is_maximin else "sum of logarithms"

    def __repr__(self) -> str:
        return (
            f"RegionCompoundDesign({self.called} {self.value:.8g}, upper bound {self.bound:.8g} proven over the region by "
            f"{self.kind}, gap {self.gap:.1e}, {self.status.name}; {len(self.weights)} settings)"
        )


def together(problems: Sequence[Any], weights: Any, standard: bool = True) -> RegionCompoundProblem:
    """The compound problem of problems over one region; weights: None for the least efficiency, or the least log Phi."""
    return RegionCompoundProblem(
        tuple(Mixture((problem,), np.ones(1)) for problem in checked(problems)),
        None if weights is None else shares(weights, len(problems)),
        standard,
    )


def mixture_problem(problems: Sequence[RegionProblem], weights: Sequence[float]) -> RegionCompoundProblem:
    """The problem of the mean information of several parameter values."""
    listed = checked(problems)
    if listed[0].predicts_region:
        raise InputError(
            'over="information" is not known for G, whose targets are the whole region; give items or targets'
        )
    return RegionCompoundProblem((Mixture(listed, shares(list(weights), len(listed))),), np.ones(1))


def checked(problems: Sequence[Any]) -> tuple[RegionProblem, ...]:
    """Problems over one region with one cost; InputError for what does not fit together."""
    listed = tuple(problems)
    for k, problem in enumerate(listed):
        if not isinstance(problem, RegionProblem):
            raise InputError(
                f"problem {k} is not over a region as the first is; all must be over the same arms or region"
            )
        if problem.region != listed[0].region:
            raise InputError(f"problem {k} is over another region than the first; one design has one region")
        if problem.kind not in KINDS:
            known = ", ".join(KINDS)
            raise InputError(f"problem {k} is {problem.kind}; over a region several problems at once may be {known}")
        if problem.cost != listed[0].cost:
            raise InputError(f"problem {k} has other costs than the first; one design has one price for each setting")
    return listed


class TogetherSearch(Search):
    """The search for several problems at once: where their common sensitivity is too large."""

    def __init__(self, problem: RegionCompoundProblem):
        self.together = problem
        self.mixtures, self.families = problem.mixtures, families_of(problem.mixtures)
        super().__init__(problem.mixtures[0].problems[0])
        self.orbits = None
        self.columns: list[Floats] = []

    @cached_property
    def by_formula(self) -> bool:  # type: ignore[override]
        """Whether the sum is no polynomial over one price."""
        every = [problem for mixture in self.mixtures for problem in mixture.problems]
        return not all(problem.is_polynomial and problem.price == every[0].price for problem in every)

    def squares(self, piece: int, B: Floats) -> ChebyshevFunctions:
        """Polynomials whose squares add up to the sum times the price; B, the rows of one term, is not used."""
        terms = self.terms()
        keys = [term.problem.frame.keys[piece] for term in terms]
        every, place = np.unique(np.vstack(keys), axis=0, return_inverse=True)
        parts = np.split(place.ravel(), np.cumsum([len(own) for own in keys])[:-1])
        rows = []
        for term, own in zip(terms, parts):
            K = np.zeros((len(term.B), len(every)))
            K[:, own] = term.B @ term.problem.frame.H[piece]
            rows.append(K)
        K = np.vstack(rows)
        return ChebyshevFunctions(every, K if len(K) <= len(every) else np.asarray(np.linalg.qr(K, mode="r")))

    def branch(self, priced: bool) -> SumBranch:
        """The sum for branch and bound."""
        return SumBranch(self.terms())

    def terms(self) -> list[Term]:
        """The summands of the sensitivity."""
        return [
            Term(problem, np.sqrt(share) * V.T)
            for mixture, V in zip(self.mixtures, self.columns)
            for share, problem in zip(mixture.shares, mixture.problems)
            if share > 0 and V.any()
        ]

    def sensitivity(self, piece: int, B: Floats, x: Floats, priced: bool = True) -> Floats:
        """phi at coordinates of one piece."""
        where, out = np.full(len(x), piece), np.zeros(len(x))
        with np.errstate(all="ignore"):
            for family in self.families:
                h, size = family.at(where, x)
                widths = np.array([self.columns[k].shape[1] for k in family.numbers])
                for width in np.unique(widths):
                    own = np.flatnonzero(widths == width)
                    z = h @ np.hstack([self.columns[k] for k in family.numbers[own]])
                    z = z.reshape(len(x), len(own), width)
                    out += np.einsum("nkc,nkc,nk->n", z, z, size[:, own])
        return np.where(np.isfinite(out) & self.problem.allowed(x), out, 0.0)

    def peaks(self, where: Indices, x: Floats, w: Floats) -> tuple[Indices, Floats, Floats]:
        """Local maxima of phi over the region, highest first."""
        listed = []
        for piece, starts in enumerate(self.starts):
            own = x[(where == piece) & (w > 1e-7)]
            at, height = self.best_near(piece, np.empty((0, self.frame.d)), np.vstack([own, starts]), 20 + len(own))
            listed.append((np.full(len(at), piece), at, height))
        every = tuple(np.concatenate([part[k] for part in listed]) for k in range(3))
        order = np.argsort(-every[2], kind="stable")
        return every[0][order], every[1][order], every[2][order]


@dataclass(frozen=True, eq=False)
class Reached:
    """Weights on a list of settings with log Phi of each problem there, and what proves the bound.

    groups, states, multipliers: the vectors of phi with their levels, of these weights or of others near them; most: the
    largest phi that is known; error: what values and levels may be off by.
    """

    where: Indices
    x: Floats
    weights: Floats
    values: Floats
    multipliers: Floats
    groups: list[ComponentGroup]
    states: list[GroupState]
    error: float
    most: float
    gap: float


class Together:
    """The driver for one problem."""

    def __init__(self, problem: RegionCompoundProblem, tol: float, deadline: float):
        self.problem, self.tol, self.deadline = problem, tol, deadline
        self.search = TogetherSearch(problem)
        firsts = [mixture.problems[0] for mixture in problem.mixtures]
        sample = self.search.starts[0][: 4 * max(p.curve.d for p in firsts) + 20]
        where = np.zeros(len(sample), dtype=np.intp)
        self.shifts = np.array([shift_of(p) for p in firsts])
        self.components = [over_settings(p, where, sample) for p in firsts]
        # What is subtracted: of the least log Phi what makes it comparable between coordinates.
        best = -self.shifts if problem.is_maximin else 0.0 * self.shifts
        if problem.is_maximin and problem.standard:
            each = [
                best_alone(p, own, tol, self.share_of_time(len(firsts) - k))
                for k, (p, own) in enumerate(zip(firsts, self.components))
            ]
            best = np.array(each) - self.shifts
        self.components = [replace(own, best=float(b)) for own, b in zip(self.components, best)]

    def share_of_time(self, left: int) -> float | None:
        """Seconds for one of so many problems that are still to be solved alone, and the joint one after them."""
        if self.deadline == np.inf:
            return None
        return max(self.deadline - time.perf_counter(), 0.1) / (left + 1)

    def rows(self, groups: Sequence[ComponentGroup], where: Indices, x: Floats) -> tuple[list[Floats], Floats]:
        """Rows of every group, (K, n, d); and for every component the largest factor of a row of h."""
        every: list[Floats] = [np.empty((0, 0))] * len(self.components)
        most = np.ones(len(self.components))
        for family in self.search.families:
            h, size = family.at(where, x)
            for place, k in enumerate(family.numbers):
                every[k], most[k] = h * np.sqrt(size[:, place])[:, None], np.sqrt(size[:, place].max())
        return [np.stack([every[k] for k in group.numbers]) for group in groups], most

    def rounding(self, groups: Sequence[ComponentGroup], states: Sequence[GroupState], most: Floats) -> float:
        """By how much log Phi may be off: in its arithmetic, and since rows h are rounded, |A^-1/2 dA A^-1/2| <= 2 e + e^2."""
        worst = max(float(state.error.max()) for state in states)
        for group, state in zip(groups, states):
            for place, k in enumerate(group.numbers):
                frame = self.problem.mixtures[k].problems[0].frame
                off = np.max([frame.rows_error(piece) for piece in range(len(frame.H))], axis=0)
                e = float(most[k] * np.linalg.norm(np.abs(state.half[place]) @ off))
                worst = max(worst, float(state.error[place]) + 2.0 * e + e * e)
        return worst

    def at(self, where: Indices, x: Floats, start: Floats, last: float, first: float = 1e-3) -> Reached:
        """The best weights on these settings."""
        groups = grouped(self.components)
        rows, most = self.rows(groups, where, x)
        spans(groups, rows)
        w, a, states = best_weights(groups, rows, self.problem.weights, start, last, max(last, first))
        if self.problem.is_maximin:
            J = np.empty((len(a), len(x)))
            for group, state, Y in zip(groups, states, rows):
                J[group.numbers] = state.slopes(Y) + state.held[:, None]
            a = least_bound(J, in_order(groups, [state.levels for state in states]), a)
        values, error = exact_values(self.components, groups, states), self.rounding(groups, states, most)
        return self.with_most(Reached(where, x, w, values, a, groups, states, error, 1.0, np.inf), 1.0)

    def with_most(self, reached: Reached, most: float) -> Reached:
        """With a largest phi, and the gap that it makes."""
        return replace(reached, most=most, gap=self.judged(reached, most)[0])

    def set_columns(self, reached: Reached) -> None:
        """The vectors of phi."""
        columns: list[Floats] = [np.empty((0, 0))] * len(self.components)
        for group, state in zip(reached.groups, reached.states):
            few = compressed(state.columns)
            for place, k in enumerate(group.numbers):
                columns[k] = np.sqrt(reached.multipliers[k]) * few[place]
        self.search.columns = columns

    def judged(self, reached: Reached, most: float) -> tuple[float, float, float]:
        """The gap, the value and the bound where phi is at most `most`; rounding is charged."""
        a = reached.multipliers
        levels = in_order(reached.groups, [state.levels for state in reached.states])
        held = float(a @ in_order(reached.groups, [state.held for state in reached.states]))
        room = float(np.log(most + held)) + 4.0 * reached.error + 64 * UNIT * (1.0 + float(np.abs(a * levels).sum()))
        value, above = value_and_room(reached.values, a, self.problem.weights, float(a @ levels) + room)
        gap = float(np.expm1(above))
        if not self.problem.is_maximin:
            value += float(a @ self.shifts)
        elif self.problem.standard:
            return gap, float(np.exp(value)), float(np.exp(min(value + above, 0.0)))
        return gap, value, value + above

    def looked_at(self, reached: Reached) -> tuple[Reached, Indices, Floats, Floats]:
        """With the largest phi that a search finds."""
        self.set_columns(reached)
        where, x, height = self.search.peaks(reached.where, reached.x, reached.weights)
        return self.with_most(reached, float(height[0])), where, x, height

    def refined(self, reached: Reached, missed: tuple[Indices, Floats] | None) -> Reached:
        """Settings where phi is too large are added until there are none."""
        best, last, idle, halved = reached, 1e-6, 0, np.inf
        for _ in range(ROUNDS):
            reached, where, x, height = self.looked_at(reached)
            idle, halved = (0, reached.gap) if reached.gap < halved / 2.0 else (idle + 1, halved)
            if reached.gap < best.gap or best.most == 1.0:
                best = reached
            done = reached.gap <= SHARE * self.tol or idle >= IDLE or time.perf_counter() > self.deadline
            if missed is None and done:
                break
            keep = reached.weights > 1e-3 / len(reached.weights) * min(1.0, 1e3 * reached.gap)
            high = height > 1.0 - 10.0 * reached.gap
            high[MOST_ADDED:] = False  # the highest come first
            parts_where, parts_x = [reached.where[keep], where[high]], [reached.x[keep], x[high]]
            if missed is not None:
                parts_where.append(missed[0])
                parts_x.append(missed[1])
                missed = None
            self.components, _ = more_targets(self.components, reached.groups, reached.states, reached.gap)
            every_where, every_x = np.concatenate(parts_where), np.vstack(parts_x)
            start = np.append(reached.weights[keep], np.full(len(every_x) - int(keep.sum()), 1e-3))
            first = apart(np.column_stack([2.0 * every_where, self.search.frame.scaled(every_x)]), 1e-7)
            last = max(min(last, 1e-3 * reached.gap / len(first)), LAST)
            reached = self.at(every_where[first], every_x[first], start[first], last, min(1e-3, reached.gap / 100))
        return self.merged(best)

    def merged(self, reached: Reached) -> Reached:
        """Neighbours made one, where that costs nothing."""
        allowed = max(SHARE * self.tol, 2.0 * reached.gap)
        for distance, least in ((MERGED, 1e-4), (MERGED, 1e-6), (MERGED / 8, 1e-7)):
            order = np.argsort(-reached.weights, kind="stable")
            order = order[reached.weights[order] > 1e-9]
            u = np.column_stack([2.0 * reached.where, self.search.frame.scaled(reached.x)])[order]
            listed = [order[near] for near in clusters(u, 2.0 * distance)]
            listed = [near for near in listed if reached.weights[near].sum() >= least]
            x = np.array([np.average(reached.x[near], axis=0, weights=reached.weights[near]) for near in listed])
            where = reached.where[[near[0] for near in listed]]
            if self.search.region.inequalities and not self.search.region.inside(x).all():
                continue
            w = np.array([reached.weights[near].sum() for near in listed])
            try:
                fewer = self.looked_at(self.at(where, x, w, LAST, 1e-8))[0]
            except UnidentifiableError:
                continue
            if fewer.gap <= allowed:
                return fewer
        self.set_columns(reached)
        return reached

    def without_negligible(self, reached: Reached) -> Reached:
        """Settings with weight alone: what is proven is proven of exactly the weights that are handed back."""
        keep = reached.weights > NEGLIGIBLE
        if keep.all():
            return reached
        return self.reweighted(reached, np.where(keep, reached.weights, 0.0)) or reached

    def reweighted(self, reached: Reached, weights: Floats) -> Reached | None:
        """The settings with weight, judged by what proves the bound already: of corners the shares are those from before."""
        keep = weights > 0
        where, x, weights = reached.where[keep], reached.x[keep], weights[keep] / weights.sum()
        rows, most = self.rows(reached.groups, where, x)
        states = [evaluated(group, Y, weights) for group, Y in zip(reached.groups, rows)]
        known = [state for state in states if state is not None]
        if len(known) < len(states):
            return None
        values, error = exact_values(self.components, reached.groups, known), self.rounding(reached.groups, known, most)
        fewer = replace(reached, where=where, x=x, weights=weights, values=values, error=max(error, reached.error))
        return self.with_most(fewer, reached.most)

    def at_vertex(self, reached: Reached) -> Reached:
        """The same information of every problem from settings whose own are independent (Caratheodory)."""
        n = len(reached.weights)
        entries = sum(len(own.L) * (len(own.L) + 1) // 2 for own in self.components)
        if n * entries > MOST_ENTRIES:
            return reached
        rows, _ = self.rows(reached.groups, reached.where, reached.x)
        white = [Y @ np.swapaxes(state.half, 1, 2) for Y, state in zip(rows, reached.states)]
        lifted = np.hstack([np.swapaxes(squares(z), 0, 1).reshape(n, -1) for z in white] + [np.ones((n, 1))])
        fewer = self.reweighted(reached, fewer_points(lifted, reached.weights))
        return reached if fewer is None or fewer.gap > max(reached.gap * 1.01, SHARE * self.tol) else fewer

    def with_proven_targets(self, reached: Reached) -> tuple[Reached, bool]:
        """With the variances of G as they are proven over the region; and whether targets with more were found."""
        values, components, grew = reached.values.copy(), list(self.components), False
        rows, _ = self.rows(reached.groups, reached.where, reached.x)
        for group, Y in zip(reached.groups, rows):
            state = evaluated(group, Y, reached.weights)
            for place, k in enumerate(group.numbers):
                own = components[k]
                if state is None or not isinstance(own.targets, PredictedTargets):
                    continue
                most, missed = own.targets.proven(state.half[place].T, self.tol / 4.0, self.deadline)
                values[k] = -float(np.log(most)) - own.best
                if len(missed):
                    components[k], grew = replace(own, L=np.hstack([own.L, missed.T])), True
        self.components = components
        return self.with_most(replace(reached, values=values), reached.most), grew

    def proven(self, reached: Reached) -> tuple[float, tuple[Indices, Floats] | None]:
        """The proven upper bound on phi, and settings that refute the tolerance."""
        self.set_columns(reached)
        firsts = [problem for mixture in self.problem.mixtures for problem in mixture.problems]
        plain = all(p.is_polynomial and p.price == firsts[0].price for p in firsts)
        prover = SumProver(self.search.terms()) if plain else None

        def enough(most: float) -> bool:
            return self.judged(reached, most)[0] <= self.tol

        # The search knows the vectors of each problem itself.
        none = np.empty((0, self.search.frame.d))
        bound, missed = prove_everywhere(self.search, prover, none, reached.most, enough, self.deadline)
        return bound.value, missed


def shift_of(problem: RegionProblem) -> float:
    """What the frame's coordinates add to log Phi."""
    return -2.0 * problem.frame.log_det / problem.curve.d if problem.kind == "d_optimal" else 0.0


def best_alone(problem: RegionProblem, own: Component, tol: float, time_limit: float | None) -> float:
    """An upper bound on log Phi of the best design for one problem alone, proven."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Of G the variances are sought and proven in turns, of which the last digits take many.
        is_quick = problem.is_polynomial and not problem.predicts_region
        design = problem.solved(tol=min(tol / 10, 1e-7) if is_quick else tol / 4, time_limit=time_limit)
    return own.form.logarithm(design.bound, own.L)


def form_of(problem: RegionProblem) -> InformationForm:
    """What its criterion is among information functions."""
    return alone(problem).form


def alone(problem: RegionProblem) -> Component:
    """Its information function, over a few settings."""
    x = problem.search().starts[0][: 4 * problem.curve.d]
    return over_settings(problem, np.zeros(len(x), dtype=np.intp), x)


def over_settings(problem: RegionProblem, where: Indices, x: Floats) -> Component:
    """Its information function, over these settings; of G with all settings of the region as targets."""
    if not problem.predicts_region:
        return component_of(problem.finite(where, x))
    own = component_of(problem.finite(where, x, problem.frame.rows(where, x, weighted=False)))
    return replace(own, targets=PredictedTargets(problem))


def spans(groups: Sequence[ComponentGroup], rows: Sequence[Floats]) -> None:
    """UnidentifiableError where the settings do not measure what a problem asks for."""
    for group, Y in zip(groups, rows):
        if evaluated(group, Y, np.full(Y.shape[1], 1.0 / Y.shape[1])) is None:
            raise UnidentifiableError(
                f"the settings do not span the {group.d} parameters of problem {group.numbers[0]}"
            )


def solve_together(
    problem: RegionCompoundProblem,
    tol: float = 1e-6,
    time_limit: float | None = None,
    verbose: bool = False,
    **options: Any,
) -> RegionCompoundDesign:
    """The best design on the region for all problems at once, with its proof."""
    for name, value in options.items():
        if value not in (None, "auto", False):
            raise InputError(f"{name} is not known for several problems at once; they take tol, time_limit and verbose")
    started = time.perf_counter()
    deadline = np.inf if time_limit is None else started + real(time_limit)
    solver = Together(problem, real(tol), deadline)
    starts = solver.search.starts
    where = np.concatenate([np.full(len(x), piece) for piece, x in enumerate(starts)])
    x = np.vstack(starts)
    few = np.sort(
        np.random.default_rng(0).permutation(len(x))[: max(FIRST, 4 * max(len(own.L) for own in solver.components))]
    )
    reached = solver.at(where[few], x[few], np.full(len(few), 1.0 / len(few)), 1e-4)
    missed: tuple[Indices, Floats] | None = None
    best: RegionCompoundDesign | None = None
    for _ in range(REFUTED):
        reached = solver.at_vertex(solver.without_negligible(solver.refined(reached, missed)))
        reached, grew = solver.with_proven_targets(reached)
        most, missed = solver.proven(reached)
        design = joint_design(solver, reached, most, started)
        best = design if best is None or design.gap < best.gap else best
        if verbose:
            print(repr(design))
        if design.status is Status.CERTIFIED or (missed is None and not grew) or time.perf_counter() > deadline:
            break
    assert best is not None
    if best.status is not Status.CERTIFIED:
        warnings.warn(
            f"certified gap {best.gap:.2e} is above the tolerance {real(tol):.1e}: {best.status.value}",
            ConvergenceWarning,
            stacklevel=4,
        )
    return best


def solve_expected(problem: RegionCompoundProblem, **options: Any) -> RegionCompoundDesign:
    """The best design for the mean information of values whose functions of the settings differ."""
    from convexdesign.regions.expected import expected_problem
    from convexdesign.regions.solving import solve_over_region

    mixture = problem.mixtures[0]
    mean = expected_problem(mixture.problems, mixture.shares)
    design = solve_over_region(mean, **options)
    own = alone(mixture.problems[0])
    value, bound = (own.form.logarithm(v, own.L) for v in (design.value, design.bound))
    c = design.certificate
    return RegionCompoundDesign(
        problem,
        design.where,
        design.x,
        design.weights,
        value,
        bound,
        design.gap,
        np.ones(1),
        np.empty(0),
        np.array([value]),
        c.kind,
        c.most,
        c.found,
        design.status,
        design.stats,
        partial(at_vectors, mean.search(), np.empty((0, mean.curve.d)) if c.vectors is None else c.vectors.B),
    )


def at_vectors(search: Search, B: Floats, piece: int, x: Floats) -> Floats:
    """The sensitivity that vectors make, at coordinates of one piece."""
    return search.sensitivity(piece, B, x)


def joint_design(solver: Together, reached: Reached, most: float, started: float) -> RegionCompoundDesign:
    """The design that is handed back, in the order of its coordinates."""
    problem = solver.problem
    gap, value, bound = solver.judged(reached, most)
    order = np.lexsort([*reached.x.T[::-1], reached.where])
    solver.set_columns(reached)
    f, bests = reached.values, np.array([own.best for own in solver.components])
    plain = all(p.is_polynomial for mixture in problem.mixtures for p in mixture.problems)
    ended = Status.TIME_LIMIT if time.perf_counter() > solver.deadline else Status.STALLED
    return RegionCompoundDesign(
        problem,
        reached.where[order].tolist(),
        reached.x[order],
        reached.weights[order],
        value,
        bound,
        gap,
        reached.multipliers,
        np.exp(f) if problem.is_maximin and problem.standard else np.empty(0),
        f + bests + solver.shifts,
        "sum of squares" if plain else "interval branch and bound",
        most,
        reached.most,
        Status.CERTIFIED if gap <= solver.tol else ended,
        Stats("interior point and exchange over the region", seconds=time.perf_counter() - started),
        partial(at_vectors, solver.search, np.empty((0, 0))),
    )
