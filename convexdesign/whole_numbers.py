"""From the weights of a problem to whole numbers of pulls, within everything that counts must keep, and re-evaluated."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.aliasing import rank_note
from convexdesign.arguments import choice, generator, positive, real, shown
from convexdesign.arms.groups import grouped, repeat_per_response
from convexdesign.arms.labels import in_order
from convexdesign.arms.read import column_or_numbers
from convexdesign.certificate import DualCertificate, vector_bound
from convexdesign.criteria import oracle_of
from convexdesign.errors import InputError
from convexdesign.evaluation import evaluate
from convexdesign.exact import ExactDesign
from convexdesign.problem import Canonical
from convexdesign.roundoff import value_error
from convexdesign.showing import show_progress
from convexdesign.typing import Counts, Floats, Indices

if TYPE_CHECKING:
    from convexdesign.allowed import Allowed
    from convexdesign.rounding import RoundedDesign
    from convexdesign.rounding.many_starts import Tell
    from convexdesign.rounding.plans import Plans

__all__ = ["per_pull", "round_design"]


# Up to this many arms, every one may receive pulls; beyond, those with weight and a few of the most informative.
ALL_CANDIDATES = 2000
EXTRA_CANDIDATES = 64
# From this many pulls per arm with weight on, others have nothing to add.
PULLS_PER_ARM = 10
# By so much a proven efficiency may exceed one through rounding alone.
ROUNDING = 1e-9
# Linearisations of curved constraints that whole numbers are moved onto, one after another.
MOST_CUTS = 6
METHODS = ("auto", "ceil", "apportion", "regret", "exchange", "optimal")


def round_design(
    canonical: Canonical,
    weights: Floats,
    bound: float,
    n: int | None = None,
    *,
    method: str = "auto",
    budget: float | None = None,
    costs: ArrayLike | None = None,
    min_counts: ArrayLike | None = None,
    max_counts: ArrayLike | None = None,
    inequalities: Any = None,
    groups: Any = None,
    per_group: Any = None,
    rng: np.random.Generator | None = None,
    time_limit: float = 60.0,
    effort: str | float = "quick",
    progress: bool = False,
    dual: DualCertificate | None = None,
) -> ExactDesign:
    """Counts near n w_i for a problem's weights (n_arms,), and their efficiency against `bound` on its optimum.

    Bounds, linear constraints and the budget hold for the counts; convex constraints that are not linear are kept where their
    linearisations suffice, and are judged. Information held counts as n A0. dual: what proves the bound; where information
    is held and the counts cost another budget than was planned, it proves one for that budget. Raises InputError for an unknown
    method, limits that no whole numbers meet (the constraints in the way and the nearest n are named), or an n too small to
    estimate what is asked (the least n is named).
    """
    from convexdesign.allowed import allowed_counts
    from convexdesign.rounding.count_limits import whole_total
    from convexdesign.rounding.many_starts import AMOUNTS

    choice(method, METHODS, "method")
    if not real(time_limit) > 0:
        raise InputError(f"time_limit is {shown(time_limit)}; give a positive number of seconds")
    if isinstance(effort, str):
        choice(effort, tuple(AMOUNTS), "effort")
    else:
        effort = positive(effort, "effort", "give a positive number of seconds, 'quick' or 'thorough'")
    n = None if n is None else whole_total(n)
    rows, names = canonical.problem.rows, canonical.problem.arms.names
    least, most = (
        in_order(column_or_numbers(rows, given, name), name, names)
        for name, given in (("min_counts", min_counts), ("max_counts", max_counts))
    )
    allowed = allowed_counts(
        canonical.problem,
        n,
        budget=budget,
        costs=column_or_numbers(rows, costs, "costs"),
        min_counts=least,
        max_counts=most,
        inequalities=inequalities,
        groups=groups,
        per_group=per_group,
    )
    pulls, scale = _proportions(allowed, weights)
    seconds = effort if isinstance(effort, float) else real(time_limit) if method == "optimal" else None
    with _bar(progress, seconds) as tell:
        options = _Options(method, None if rng is None else generator(rng), real(time_limit), effort, tell)
        found, name = _found(canonical, allowed, pulls, scale, options)
    exact = _evaluated(canonical, allowed, found.counts, bound, dual, scale, name, found.optimality_gap)
    if exact.optimality_gap is None or not allowed.problem.weight_set.is_simplex or not 0.0 < exact.efficiency <= 1.0:
        return exact
    if allowed.budget is not None or allowed.own_costs:
        return exact
    # No counts are better than the best proportions: that bound is proven too.
    return replace(exact, optimality_gap=min(exact.optimality_gap, 1.0 / exact.efficiency - 1.0))


@dataclass(frozen=True, eq=False)
class _Options:
    """How to search."""

    method: str
    rng: np.random.Generator | None
    time_limit: float
    effort: str | float
    tell: Tell | None


@contextmanager
def _bar(wanted: bool, at_most: float | None) -> Iterator[Tell | None]:
    """A line on standard error, where that is a terminal: descents or boxes so far, the best value and what is proven.

    at_most: seconds after which the search ends whatever it has found, where it does.
    """
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    with show_progress("round", at_most) as line:
        steps = 0

        def tell(value: float, lower_bound: float) -> None:
            nonlocal steps
            steps += 1
            gap = f", gap {value / lower_bound - 1.0:.1e}" if 0 < lower_bound < np.inf else ""
            line.tell(None, f"step {steps}, value {value:.6g}{gap}")

        yield tell


def _proportions(allowed: Allowed, weights: Floats) -> tuple[Floats, float]:
    """Counts in proportion to the weights, not whole, and their measure in the unit of the weights: their number or cost."""
    problem = allowed.problem
    pulls = weights if problem.costs is None else weights / problem.costs
    if allowed.n is not None:
        pulls = pulls * (allowed.n / float(pulls.sum()))
    else:
        assert allowed.costs is not None
        assert allowed.budget is not None
        pulls = pulls * (allowed.budget / float(allowed.costs @ pulls))
    return pulls, float(problem.effort(pulls).sum())


def _found(
    canonical: Canonical, allowed: Allowed, pulls: Floats, scale: float, options: _Options
) -> tuple[RoundedDesign, str]:
    """The counts found, and by which method."""
    from convexdesign.rounding import Method

    method = options.method
    if method == "ceil":
        if allowed.n is None:
            raise InputError("method 'ceil' rounds up, which leaves a budget; use 'auto', 'apportion' or 'exchange'")
        lower, upper = allowed.least, allowed.most_rounded_up(scale)
        return _rounded(canonical, allowed, pulls, scale, options, lower, upper), method
    plans = allowed.plans()
    if plans is None:
        raise _none(allowed)
    if allowed.is_plain:
        whole = _rounded(canonical, allowed, pulls, scale, options, plans.bounds.lower, plans.bounds.upper)
        return whole, whole.method.value if method == "auto" else method
    if method == "regret":
        raise InputError(
            "method 'regret' knows no constraints, costs or budget; use 'auto', 'exchange' or 'apportion', which keep them"
        )
    if method == "optimal" and plans.price is not None:
        raise InputError(
            "method 'optimal' needs a budget= where measurements have costs: what may be spent decides which counts are best"
        )
    whole = _inside(canonical, allowed, plans, pulls, scale, options)
    return whole, Method.EXCHANGE.value if method == "auto" else method


def _none(allowed: Allowed) -> InputError:
    """What to say where no counts meet the limits."""
    from convexdesign.rounding.whole_program import no_plan

    n = allowed.n
    asked = f"n = {n}" if allowed.budget is None else f"n = {n} and budget = {allowed.budget:g}"
    if n is None:
        asked = f"budget = {allowed.budget:g}"
    return no_plan(allowed.in_the_way(), None if n is None else allowed.plans, n or 0, asked)


def _rounded(
    canonical: Canonical,
    allowed: Allowed,
    pulls: Floats,
    scale: float,
    options: _Options,
    lower: Counts,
    upper: Counts,
) -> RoundedDesign:
    """Counts where limits of single counts are all there is."""
    from convexdesign.rounding import Method, round_weights

    problem, n = allowed.problem, allowed.n
    assert n is not None
    index = _candidates(canonical, pulls, n, lower, upper, options.method)
    free = not lower.any() and bool(np.all(upper >= n))
    whole = round_weights(
        per_pull(canonical, index),
        pulls[index],
        n,
        oracle_of(canonical).of_matrix(canonical),
        method=Method(options.method),
        prior=None if canonical.prior is None else scale * canonical.prior,
        min_counts=None if free else lower[index],
        max_counts=None if free else upper[index],
        reduce_support=problem.weight_set.is_simplex,
        rng=options.rng,
        time_limit=options.time_limit,
        effort=options.effort,
        tell=options.tell,
    )
    return replace(whole, counts=_spread(whole.counts, index, problem.n_arms))


def _inside(
    canonical: Canonical, allowed: Allowed, plans: Plans, pulls: Floats, scale: float, options: _Options
) -> RoundedDesign:
    """Counts within linear constraints, shares and a budget; curved constraints by linearisations, one after another."""
    for _ in range(MOST_CUTS):
        whole = _inside_rows(canonical, allowed, plans, pulls, scale, options)
        cuts = allowed.cuts(whole.counts)
        if cuts is None:
            break
        plans = replace(plans, rows=plans.rows + (cuts.with_slack_arm() if plans.slack else cuts))
        try:
            other = _inside_rows(canonical, allowed, plans, pulls, scale, options)
        except InputError:  # no whole numbers keep them: what is missed is said with the plan
            break
        whole = other
        if allowed.cuts(whole.counts) is None:
            break
    return whole


def _inside_rows(
    canonical: Canonical, allowed: Allowed, plans: Plans, pulls: Floats, scale: float, options: _Options
) -> RoundedDesign:
    from convexdesign.rounding.inside import round_inside

    problem = allowed.problem
    bounds = plans.bounds
    k = problem.n_arms
    index = _candidates(canonical, pulls, bounds.total, bounds.lower[:k], bounds.upper[:k], options.method)
    prior = None if canonical.prior is None else scale * canonical.prior
    for chosen in [index] if index.size == k else [index, np.arange(k)]:
        arms, quotas = per_pull(canonical, chosen), pulls[chosen]
        own = chosen
        if plans.slack:
            arms = np.concatenate([arms, np.zeros((1, *arms.shape[1:]))])
            quotas = np.append(quotas, max(bounds.total - float(quotas.sum()), 0.0))
            own = np.append(chosen, k)
        whole = round_inside(
            arms,
            quotas,
            plans.taken(own),
            oracle_of(canonical).of_matrix(canonical),
            method=options.method,
            prior=prior,
            rng=options.rng,
            time_limit=options.time_limit,
            effort=options.effort,
            tell=options.tell,
        )
        if whole is not None:
            counts = whole.counts[:-1] if plans.slack else whole.counts
            return replace(whole, counts=_spread(counts, chosen, k))
    raise _none(allowed)


def _spread(counts: Counts, index: Indices, k: int) -> Counts:
    """The counts of some arms among those of all."""
    spread = np.zeros(k, dtype=np.int64)
    spread[index] = counts
    return spread


def per_pull(canonical: Canonical, index: Indices) -> Floats:
    """Whitened arms (k, r), or groups of them, with the information of one pull, not of one unit of budget."""
    arms, costs = canonical.whiten_arms(index), canonical.problem.costs
    if costs is not None:
        arms = arms * repeat_per_response(np.sqrt(costs[index]), arms)[:, None]
    return grouped(arms, canonical.problem.responses)


def _evaluated(
    canonical: Canonical,
    allowed: Allowed,
    counts: Counts,
    bound: float,
    dual: DualCertificate | None,
    scale: float,
    name: str,
    optimality_gap: float | None,
) -> ExactDesign:
    """The criterion recomputed from the data. With M the information of all pulls, `at` refers to M / scale."""
    problem = canonical.problem
    effort = problem.effort(counts.astype(float))
    at = evaluate(canonical, effort / scale)
    spent = float(effort.sum()) / scale
    bound = _bound_for_budget(canonical, bound, dual, spent)
    dim = oracle_of(problem).dimension(canonical)
    value = problem.criterion.per_unit(at.value, spent, dim)
    efficiency = problem.criterion.efficiency(value, bound, dim)
    # More than one by more than rounding is the truth: of counts outside the constraints.
    efficiency = 1.0 if 1.0 < efficiency <= 1.0 + ROUNDING else efficiency
    efficiency = float(efficiency) / (1.0 + value_error(canonical, effort / scale, at))
    note = rank_note(canonical, at)
    cost = None if allowed.costs is None else float(allowed.costs @ counts)
    violation, broken = allowed.judged(counts)
    return ExactDesign(
        problem,
        counts,
        float(value),
        bound,
        efficiency,
        name,
        optimality_gap,
        scale,
        at,
        note,
        cost,
        allowed.budget,
        violation,
        broken,
    )


def _bound_for_budget(canonical: Canonical, bound: float, dual: DualCertificate | None, spent: float) -> float:
    """A bound on the optimum for `spent` times the budget planned, per unit of the budget spent.

    With A = A0 + s sum_i w_i y_i y_i', s = spent, let t_s be the least variance; per unit of budget it is s t_s. Without
    information held that is t_1 whatever s. With it, s t_s grows with s, since A / s = A0 / s + sum: the bound on t_1 holds
    for s >= 1, and s times it for s < 1, where A is at most what it is for s = 1. There the certificate proves more: in its
    bound, h_W(q) becomes s h_W(q). The same holds for log det and lambda_min, whose bounds are upper ones.
    """
    problem = canonical.problem
    if problem.prior is None or spent >= 1.0:
        return bound
    criterion, dim = problem.criterion, oracle_of(problem).dimension(canonical)
    bounds = [criterion.per_unit(bound, spent, dim)]
    if dual is not None:
        support = problem.weight_set.support
        proven = vector_bound(canonical, dual, lambda q: spent * support(q))[0]
        bounds.append(criterion.per_unit(proven, spent, dim))
    return min(bounds) if criterion.maximised else max(bounds)


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
