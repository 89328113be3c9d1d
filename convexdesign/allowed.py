"""What a problem and its user allow whole numbers of measurements to be: limits, linear rows and shares, each by its name.

Weights are shares of what is spent, w_i = c_i n_i / c'n with c the costs (one each without): every bound and linear constraint
on them is one on the counts whatever the total (`rounding.plans`). A budget and limits of whole groups are rows of their own.
Convex constraints that are not linear are kept by their linearisations where these suffice, and are judged afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from convexdesign.arguments import positive, whole_at_least
from convexdesign.arms.labels import in_order
from convexdesign.arms.read import column_or_numbers, read_positive, read_vector
from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.problem.common import read_inequalities
from convexdesign.rounding.count_limits import MAX_TOTAL, Limits, added_up, count_limits, limits
from convexdesign.rounding.plans import CountInequalities, Plans, Shares, no_rows
from convexdesign.rounding.whole_program import broken_for_least
from convexdesign.typing import Counts, Floats

if TYPE_CHECKING:
    from convexdesign.programs.constraints import Feasible

__all__ = ["Allowed", "allowed_counts"]


# Bounds on weights times the total that are whole numbers up to so much are those.
SLACK = 1e-9
# Limits of shares as rows may hold so many numbers.
DENSE = 20_000_000
COST_REMEDY = "a measurement costs something"


@dataclass(frozen=True, eq=False)
class Allowed:
    """What counts are held to. n: the total, None for any number that the budget pays; costs (n_arms,) of one measurement.

    own_costs: whether the problem has them, so that weights are shares of money and a plan is judged by what it gives for it;
    least, most (n_arms,): the user's own limits of single counts; rows: the user's own limits of groups of counts.
    """

    problem: DesignProblem
    n: int | None
    budget: float | None
    costs: Floats | None
    least: Counts
    most: Counts
    rows: CountInequalities

    @property
    def own_costs(self) -> bool:
        return self.problem.costs is not None

    @property
    def is_plain(self) -> bool:
        """Whether limits of single counts are all there is, and plans are judged by the criterion alone."""
        return self.problem.weight_set.is_box and not self.own_costs and self.budget is None and not len(self.rows)

    def feasible(self) -> Feasible | None:
        """The constraints given as a function, read; None without such."""
        if self.problem.weight_set.constraints is None:
            return None
        from convexdesign.programs.constraints import feasible_set

        return feasible_set(self.problem.weight_set, self.problem.n_arms)

    def largest_total(self) -> int:
        """The number of measurements: n, or the most that the budget pays."""
        if self.n is not None:
            return self.n
        assert self.budget is not None
        assert self.costs is not None
        cheapest = float(self.costs[self.most > 0].min(initial=np.inf))
        most = np.floor(self.budget / cheapest * (1.0 + SLACK))
        if most < 1:
            raise InputError(
                f"budget is {self.budget:g}, less than the cheapest measurement, {cheapest:g}; raise the budget"
            )
        if most > MAX_TOTAL:
            raise InputError(f"budget pays {most:g} measurements, more than can be counted exactly; lower it")
        return int(min(most, added_up(np.minimum(self.most, int(most)))))

    def in_the_way(self) -> list[str]:
        """The constraints that no counts with this total meet together, by their names, as far as a program tells."""
        W, k = self.problem.weight_set, self.problem.n_arms
        total, slack = self.largest_total(), self.n is None
        lower = np.zeros(k) if W.lower is None else W.lower
        upper = np.ones(k) if W.upper is None else np.minimum(W.upper, 1.0)
        if np.count_nonzero((lower > 0) | (upper < 1.0)) * k > DENSE:
            return [name for name, bound in (("min_weight", W.lower), ("max_weight", W.upper)) if bound is not None]
        costs = np.ones(k) if self.problem.costs is None else self.problem.costs
        rows = self._rows() + Shares(costs, lower, upper).as_rows()
        least, most = self.least, np.minimum(self.most, total)
        if slack:
            least, most, rows = np.append(least, 0), np.append(most, total), rows.with_slack_arm()
        return broken_for_least(Plans(Limits(total, least, most), rows, None, slack))

    def plans(self, n: int | None = None) -> Plans | None:
        """The plans with n measurements, by default as many as asked for; None where limits of single counts exclude all."""
        total = self.largest_total() if n is None else n
        slack = self.n is None and n is None
        W, k = self.problem.weight_set, self.problem.n_arms
        lower, upper = self.least, np.minimum(self.most, total)
        shares = None
        if (W.lower is not None or W.upper is not None) and (self.own_costs or slack):
            costs = np.ones(k) if self.problem.costs is None else self.problem.costs
            shares = Shares(
                costs,
                np.zeros(k) if W.lower is None else W.lower,
                np.ones(k) if W.upper is None else np.minimum(W.upper, 1.0),
            )
            if W.lower is not None and not slack:
                lower = np.maximum(lower, (W.lower > 0).astype(np.int64))
            if W.upper is not None:
                upper = np.where(W.upper > 0, upper, 0)
        else:
            if W.lower is not None:
                lower = np.maximum(lower, np.ceil(W.lower * total * (1.0 - SLACK)).astype(np.int64))
            if W.upper is not None:
                upper = np.minimum(upper, np.floor(W.upper * total * (1.0 + SLACK)).astype(np.int64))
        rows = self._rows()
        price = self.problem.costs if self.own_costs and self.budget is None else None
        if slack:
            lower, upper = np.append(lower, 0), np.append(upper, total)
            rows, shares = rows.with_slack_arm(), None if shares is None else shares.with_slack_arm()
        if np.any(lower > upper) or not added_up(lower) <= total <= added_up(upper):
            return None
        return Plans(Limits(total, lower, upper), rows, shares, slack, price)

    def most_rounded_up(self, scale: float) -> Counts:
        """The most that weights within their bounds are rounded up to: a weight at its cap is no more, whatever rounding says.

        scale: the measure of all counts in the unit of the weights, their number or their cost.
        """
        assert self.n is not None
        most, W = np.minimum(self.most, self.n), self.problem.weight_set
        if W.upper is None:
            return most
        pulls = W.upper * scale if self.problem.costs is None else W.upper * scale / self.problem.costs
        return np.maximum(np.minimum(most, np.ceil(pulls * (1.0 - SLACK)).astype(np.int64)), self.least)

    def _rows(self) -> CountInequalities:
        """Linear constraints on the weights, the budget and the user's own rows, on the counts of all arms."""
        rows = self.rows
        W, k = self.problem.weight_set, self.problem.n_arms
        costs = np.ones(k) if self.problem.costs is None else self.problem.costs
        if W.G is not None and W.h is not None:
            names = tuple(f"inequalities row {i} (G w <= h)" for i in range(len(W.h)))
            rows = rows + CountInequalities((W.G - W.h[:, None]) * costs, np.zeros(len(W.h)), names)
        feasible = self.feasible()
        if feasible is not None:
            rows = rows + _linear_rows(feasible, costs)
        if self.budget is not None and self.costs is not None:
            rows = rows + CountInequalities(self.costs[None], np.array([self.budget]), (f"budget = {self.budget:g}",))
        return rows

    def cuts(self, counts: Counts) -> CountInequalities | None:
        """Linearisations, at the counts, of curved constraints that they break; None where there are none that tell."""
        feasible = self.feasible()
        if feasible is None or not feasible.evaluable or not feasible.curved:
            return None
        effort = self.problem.effort(counts.astype(float))
        G, h = feasible.cuts(effort / float(effort.sum()))
        if G is None or h is None or not len(h):
            return None
        costs = np.ones(counts.size) if self.problem.costs is None else self.problem.costs
        return CountInequalities((G - h[:, None]) * costs, np.zeros(len(h)), ("constraints (not linear)",) * len(h))

    def judged(self, counts: Counts) -> tuple[float, tuple[str, ...]]:
        """By which share of its own room the counts miss a constraint, at most, and the names of those they miss."""
        if self.is_plain and self.problem.weight_set.is_simplex:
            return 0.0, ()  # nothing is asked of shares, and a pass over all arms would be most of a rounding
        effort = self.problem.effort(counts.astype(float))
        weights = effort / float(effort.sum())
        W, feasible, rows = self.problem.weight_set, self.feasible(), self._rows()
        missed = W.violation(weights) if feasible is None else feasible.violation(weights)
        broken = rows.broken(counts)
        names = [rows.names[i] for i in broken]
        for i in broken[(broken < len(self.rows)) | (rows.b[broken] > 0)]:
            missed = max(missed, float(rows.R[i] @ counts - rows.b[i]) / max(abs(float(rows.b[i])), 1.0))
        if W.lower is not None:
            names += [f"min_weight[{i}]" for i in np.flatnonzero(weights < W.lower * (1.0 - SLACK))]
        if W.upper is not None:
            names += [f"max_weight[{i}]" for i in np.flatnonzero(weights > W.upper * (1.0 + SLACK))]
        if missed > SLACK and not names:
            names.append("constraints (not linear)")
        return (missed, tuple(dict.fromkeys(names))) if names else (0.0, ())


def _linear_rows(feasible: Feasible, costs: Floats) -> CountInequalities:
    """The linear ones of constraints given as a function, on counts: G w <= h and E w = e, by the words that state them."""
    parts, names = [np.zeros((0, costs.size))], []
    for row in feasible.rows:
        if row is None or isinstance(row.of, str) or not row.g.is_affine():
            continue
        if any(v.id != feasible.w.id for v in row.g.variables()):
            continue
        feasible.w.value = np.zeros(costs.size)
        offset = np.atleast_1d(np.asarray(row.g.value, dtype=float)).ravel(order="F")
        slope = row.g.grad.get(feasible.w)
        slopes = np.zeros((costs.size, offset.size)) if slope is None else sparse.csc_array(slope).todense()
        G = (np.asarray(slopes, dtype=float).reshape(costs.size, -1).T + offset[:, None]) * costs
        parts += [G, -G] if row.equality else [G]
        names += [row.label] * (len(parts[-1]) * (2 if row.equality else 1))
    R = np.vstack(parts)
    return CountInequalities(R, np.zeros(len(R)), tuple(names))


def allowed_counts(
    problem: DesignProblem,
    n: int | None,
    *,
    budget: float | None = None,
    costs: ArrayLike | None = None,
    min_counts: ArrayLike | None = None,
    max_counts: ArrayLike | None = None,
    inequalities: Any = None,
    groups: Any = None,
    per_group: Any = None,
) -> Allowed:
    """Checked: what whole numbers of measurements are held to.

    inequalities: (R, b), R n <= b on the counts; groups (n_arms,): the block of every arm, and per_group: how many measurements
    each gets, a number, (least, most), or such for every group by its name; costs (n_arms,) or one number: what a
    measurement costs where the problem has no costs of its own. Raises InputError naming what is missing or wrong.
    """
    if n is None and budget is None:
        raise InputError("give n, the number of measurements, or budget=, what they may cost together, or both")
    k = problem.n_arms
    price = problem.costs
    if costs is not None:
        price = read_positive(costs, "costs", k, COST_REMEDY, problem.arms.names)
        if problem.costs is not None and not np.array_equal(np.broadcast_to(np.asarray(price), (k,)), problem.costs):
            raise InputError("costs differ from those of the problem, in which its weights are stated; leave them out")
        price = np.broadcast_to(np.asarray(price, dtype=float), (k,))
    if budget is not None:
        budget = positive(budget, "budget", "give a positive amount, in the unit of the costs")
        if price is None:
            raise InputError("a budget needs to know what measurements cost: give costs= here or in the problem")
    if n is not None:
        limits(n, k, min_counts, max_counts)
    least, most = count_limits(k, min_counts, max_counts)
    rows = no_rows(k)
    if inequalities is not None:
        R, right = read_inequalities(problem.rows, inequalities, ("R", "b"))
        R, b = np.asarray(R, dtype=float), read_vector(right, "the right-hand side b of inequalities", len(R))
        rows = CountInequalities(R, np.asarray(b), tuple(f"inequalities row {i} (R n <= b)" for i in range(len(R))))
    if groups is not None or per_group is not None:
        rows = rows + _group_rows(problem, groups, per_group)
    return Allowed(problem, n, budget, price, least, most, rows)


def _as_written(name: Any) -> str:
    """A number without its decimals where it has none; anything else as text."""
    try:
        return f"{float(name):.12g}"
    except (TypeError, ValueError):
        return str(name)


def _group_rows(problem: DesignProblem, groups: Any, per_group: Any) -> CountInequalities:
    """How many measurements each group of arms gets, as rows named by the group."""
    if groups is None or per_group is None:
        raise InputError(
            "groups= says which group each arm is in and per_group= how many measurements one gets; give both"
        )
    k = problem.n_arms
    groups = in_order(column_or_numbers(problem.rows, groups, "groups"), "groups", problem.arms.names)
    labels = list(np.asarray(groups).tolist())
    if len(labels) != k:
        raise InputError(f"groups has {len(labels)} entries; give one for each of the {k} arms")
    names = list(dict.fromkeys(labels))
    given = per_group if isinstance(per_group, Mapping) else dict.fromkeys(names, per_group)
    # Groups that are numbers in a table may be called as they are written.
    written = {_as_written(name): name for name in names}
    given = {name if name in names else written.get(_as_written(name), name): limit for name, limit in given.items()}
    strange = [name for name in given if name not in names]
    if strange:
        raise InputError(
            f"per_group has {strange[0]!r}, which is no group; the groups are {', '.join(map(str, names))}"
        )
    R, b, said = [np.zeros((0, k))], list[float](), list[str]()
    for name, limit in given.items():
        member = np.array([label == name for label in labels], dtype=float)
        pair = (limit, limit) if np.ndim(limit) == 0 else tuple(limit)
        low, high = (whole_at_least(0, x, f"per_group[{name!r}]") for x in pair)
        R += [member[None], -member[None]]
        b += [float(high), -float(low)]
        said += [f"at most {high} in group {name}", f"at least {low} in group {name}"]
    return CountInequalities(np.vstack(R), np.array(b), tuple(said))
