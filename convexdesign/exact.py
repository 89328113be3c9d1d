"""Whole-number designs of a problem: from weights to counts, re-evaluated, with a certified efficiency."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.aliasing import rank_note
from convexdesign.arguments import choice, generator, real, shown
from convexdesign.arms.labels import in_order
from convexdesign.certificate import Witness, dimension, vector_bound
from convexdesign.errors import InputError
from convexdesign.evaluation import Evaluation, evaluate
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.roundoff import value_error
from convexdesign.typing import Counts, Floats, Indices

if TYPE_CHECKING:
    import pandas

    from convexdesign.rounding import Criterion as RoundingCriterion

__all__ = ["ExactDesign", "round_design"]


# Up to this many arms, every one may receive pulls; beyond, those with weight and a few of the most informative.
ALL_CANDIDATES = 2000
EXTRA_CANDIDATES = 64
# From this many pulls per arm with weight on, others have nothing to add.
PULLS_PER_ARM = 10
# By so much a proven efficiency may exceed one through rounding alone.
ROUNDING = 1e-9
METHODS = ("auto", "ceil", "apportion", "regret", "exchange", "optimal")


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
        A proven lower bound on what they achieve, 1 being as good as the best proportions (more only where whole
        numbers cannot keep bounds on the weights).
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

    @property
    def total(self) -> int:
        """The number of pulls; as asked, except `ceil`: at most one more per arm with weight."""
        return int(self.counts.sum())

    @property
    def support(self) -> Indices:
        """Indices of the arms that are pulled."""
        return np.flatnonzero(self.counts)

    @cached_property
    def max_variance(self) -> float:
        """max_j v_j' (information held + sum_i n_i x_i x_i' / noise_variance_i)^-1 v_j, in squared outcome units.

        The targets are the problem's own: for D all arms, for A and E the coefficients, for I the points of the region.
        """
        if self.problem.criterion is Criterion.MINIMAX or not np.isfinite(self.value):
            return self.evaluation.value / self.scale if self.problem.criterion is Criterion.MINIMAX else np.inf
        return float(self.problem.targets.worst(self.evaluation.factor, 1)[1][0]) / self.scale

    def to_frame(self) -> pandas.DataFrame:
        """One row per arm that is pulled: arm, count.

        Returns
        -------
        pandas.DataFrame
            In the order of the arms.
        """
        import pandas

        arms = [self.problem.arm_name(int(i)) for i in self.support]
        return pandas.DataFrame({"arm": arms, "count": self.counts[self.support]})

    def __repr__(self) -> str:
        gap = "" if self.optimality_gap is None else f", whole-number gap {self.optimality_gap:.1e}"
        rank = f"; {self.rank_note}" if self.rank_note else ""
        return (
            f"ExactDesign({self.total} pulls of {self.support.size} arms by {self.method}: max variance "
            f"{self.max_variance:.8g}, efficiency at least {self.efficiency:.6f}{gap}{rank})"
        )


def round_design(
    canonical: Canonical,
    weights: Floats,
    bound: float,
    n: int,
    *,
    method: str = "auto",
    min_counts: ArrayLike | None = None,
    max_counts: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    time_limit: float = 60.0,
    witness: Witness | None = None,
) -> ExactDesign:
    """Counts near n w_i for a problem's weights (n_arms,), and their efficiency against `bound` on its optimum.

    Information held counts as n A0. witness: what proves the bound; where information is held and the counts cost another
    budget than was planned, it proves one for that budget. Bounds on the weights are kept to within one pull. Raises
    InputError for an unknown method, limits that cannot be met, or an n too small to estimate what is asked (the least n
    is named).
    """
    from convexdesign.rounding import Method, limits, round_weights
    from convexdesign.rounding.count_limits import whole_total

    choice(method, METHODS, "method")
    if not real(time_limit) > 0:
        raise InputError(f"time_limit is {shown(time_limit)}; give a positive number of seconds")
    n = whole_total(n)
    time_limit, rng = real(time_limit), None if rng is None else generator(rng)
    names = canonical.problem.arms.names
    min_counts = None if min_counts is None else in_order(min_counts, "min_counts", names)
    max_counts = None if max_counts is None else in_order(max_counts, "max_counts", names)
    problem = canonical.problem
    costs = np.ones(problem.n_arms) if problem.costs is None else problem.costs
    pulls = weights / costs
    scale = float(n) / float(pulls.sum())  # the budget that n pulls in these proportions cost; n without costs
    bounds = limits(n, problem.n_arms, min_counts, max_counts)
    lower, upper = _with_weight_bounds(problem, bounds.lower, bounds.upper, scale / costs)
    simple = problem.weight_set.is_box and problem.costs is None
    if not simple and method not in ("auto", "ceil", "apportion"):
        kept = "constraints on the weights" if problem.costs is None else "budget"
        raise InputError(
            f"method {method!r} moves pulls between arms, which would leave the {kept}; use 'apportion' or 'ceil'"
        )
    chosen = method if simple or method != "auto" else "apportion"
    index = _candidates(canonical, weights, n, lower, upper, chosen)
    free = not lower.any() and bool(np.all(upper >= n))
    whole = round_weights(
        _per_pull(canonical.whiten_arms(index), costs[index]),
        pulls[index],
        n,
        _criterion(canonical),
        method=Method(chosen),
        prior=None if canonical.prior is None else scale * canonical.prior,
        min_counts=None if free else lower[index],
        max_counts=None if free else upper[index],
        reduce_support=problem.weight_set.is_simplex,
        rng=rng,
        time_limit=time_limit,
    )
    counts = np.zeros(problem.n_arms, dtype=np.int64)
    counts[index] = whole.counts
    name = whole.method.value if method == "auto" else method
    return _evaluated(canonical, counts, bound, witness, scale, name, whole.optimality_gap)


def _per_pull(arms: Floats, costs: Floats) -> Floats:
    """Arms (k, r), or groups of them, with the information of one pull, not of one unit of budget."""
    root = np.sqrt(costs)
    return arms * (root[:, None] if arms.ndim == 2 else root[:, None, None])


def _evaluated(
    canonical: Canonical,
    counts: Counts,
    bound: float,
    witness: Witness | None,
    scale: float,
    name: str,
    optimality_gap: float | None,
) -> ExactDesign:
    """The criterion recomputed from the data. With M the information of all pulls, `at` refers to M / scale."""
    problem = canonical.problem
    effort = problem.effort(counts.astype(float))
    at = evaluate(canonical, effort / scale)
    spent = float(effort.sum()) / scale
    bound = _bound_for_budget(canonical, bound, witness, spent)
    match problem.criterion:
        case Criterion.D | Criterion.DS:
            size = dimension(canonical)
            value = at.value - size * np.log(spent)
            efficiency = float(np.exp((value - bound) / size))
        case Criterion.E:
            value = at.value / spent
            efficiency = value / bound
        case _:
            value = at.value * spent
            efficiency = bound / value
    # More than one by more than rounding is the truth: counts keep bounds on the weights only to within one pull.
    efficiency = 1.0 if 1.0 < efficiency <= 1.0 + ROUNDING else efficiency
    efficiency = float(efficiency) / (1.0 + value_error(canonical, effort / scale, at))
    note = rank_note(canonical, at)
    return ExactDesign(problem, counts, float(value), bound, efficiency, name, optimality_gap, scale, at, note)


def _bound_for_budget(canonical: Canonical, bound: float, witness: Witness | None, spent: float) -> float:
    """A bound on the optimum for `spent` times the budget planned, per unit of the budget spent.

    With A = A0 + s sum_i w_i y_i y_i', s = spent, let t_s be the least variance; per unit of budget it is s t_s. Without
    information held that is t_1 whatever s. With it, s t_s grows with s, since A / s = A0 / s + sum: the bound on t_1 holds
    for s >= 1, and s times it for s < 1, where A is at most what it is for s = 1. There the witness proves more: in its
    bound, h_W(q) becomes s h_W(q). The same holds for log det and lambda_min, whose bounds are upper ones.
    """
    problem = canonical.problem
    if problem.prior is None or spent >= 1.0:
        return bound
    maximised = problem.criterion.maximised
    logarithmic = problem.criterion in (Criterion.D, Criterion.DS)
    size = dimension(canonical) if logarithmic else 1

    def per_unit(total: float) -> float:
        if logarithmic:
            return total - size * float(np.log(spent))
        return total / spent if maximised else total * spent

    bounds = [per_unit(bound)]
    if witness is not None:
        support = problem.weight_set.support
        bounds.append(per_unit(vector_bound(canonical, witness, lambda q: spent * support(q))[0]))
    return min(bounds) if maximised else max(bounds)


def _with_weight_bounds(
    problem: DesignProblem, lower: Counts, upper: Counts, pulls_per_weight: Floats
) -> tuple[Counts, Counts]:
    """Count limits that also keep min_weight and max_weight, to within one pull so that some counts always do."""
    slack = 1e-9
    W = problem.weight_set
    if W.lower is not None:
        lower = np.maximum(lower, np.floor(W.lower * pulls_per_weight + slack).astype(np.int64))
    if W.upper is not None:
        upper = np.minimum(upper, np.ceil(W.upper * pulls_per_weight - slack).astype(np.int64))
        upper = np.maximum(upper, lower)
    return lower, upper


def _candidates(canonical: Canonical, weights: Floats, n: int, lower: Counts, upper: Counts, method: str) -> Indices:
    """The arms that may be pulled: all of a few, else those with weight, those that must be, and the most informative."""
    problem = canonical.problem
    if problem.n_arms <= ALL_CANDIDATES:
        return np.arange(problem.n_arms)
    if method == "optimal":
        raise InputError(
            f"method 'optimal' searches over at most {ALL_CANDIDATES} arms, not {problem.n_arms}; use 'exchange', "
            "whose certified efficiency says how little is left to gain"
        )
    wanted = (weights > 0) | (lower > 0)
    index = np.flatnonzero(wanted)
    missing = n - int(np.minimum(upper[index], n).sum()) if upper[index].max() < n else 0
    few = n < PULLS_PER_ARM * index.size and method in ("auto", "exchange", "regret")
    if missing <= 0 and not few:
        return index
    leverage = problem.arms.quadratic(evaluate(canonical, weights).factor)
    leverage[wanted | (upper == 0)] = -1.0
    order = np.argsort(-leverage, kind="stable")
    # Capped arms may each take only a few of the missing pulls.
    room = np.cumsum(np.minimum(upper[order], n))
    enough = int(np.searchsorted(room, max(missing, 0))) + 1
    extra = order[: max(EXTRA_CANDIDATES, enough)]
    return np.sort(np.concatenate([index, extra[leverage[extra] > 0]]))


def _criterion(canonical: Canonical) -> RoundingCriterion:
    """The problem's criterion on information matrices in whitened coordinates."""
    from convexdesign.rounding import AverageVariance, Minimax, SphereTargets, TransformedTargets, Volume

    problem = canonical.problem
    match problem.criterion:
        case Criterion.MINIMAX:
            return Minimax(TransformedTargets(problem.targets, canonical.basis))
        case Criterion.AVERAGE:
            return AverageVariance(canonical.aim @ canonical.aim.T)
        case Criterion.D:
            return Volume(np.eye(canonical.rank))
        case Criterion.DS:
            return Volume(canonical.aim)
        case Criterion.E:
            return Minimax(SphereTargets(canonical.aim))
    raise AssertionError(problem.criterion)
