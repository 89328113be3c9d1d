"""Whole-number plans inside constraints: starts from mixed-integer programs, exchanges that stay inside.

A descent makes the best move of one pull that keeps the plan inside; where none helps, two at once, the second mending what
the first breaks (runs that change places between blocks, an expensive run for two cheap ones over time). What a plan is judged
by is phi, or phi times its cost where the user has set costs and no budget.

A start that measures too little is mended by outer approximation: with cuts 1/phi(M) <= tr(G M), tight at M raised a little,
the next start is the plan with the largest least right-hand side.
"""

from __future__ import annotations

import time

import numpy as np

from convexdesign.arms.groups import as_groups
from convexdesign.criteria.exchange import MatrixCriterion, information, inverse_factor, value_on_range
from convexdesign.criteria.swap_tables import ALL_PAIRS, SwapTable, swap_table
from convexdesign.errors import InputError
from convexdesign.rounding.cached_criterion import CachedCriterion
from convexdesign.rounding.many_starts import MOVES_PER_TABLE, PROGRESS, Effort, Tell, best_descent
from convexdesign.rounding.optimal import prove_optimal
from convexdesign.rounding.plans import Plans
from convexdesign.rounding.ranged import on_range
from convexdesign.rounding.rounded_design import Method, RoundedDesign
from convexdesign.rounding.whole_program import best_by, nearest_plan
from convexdesign.typing import Counts, Floats, Indices

__all__ = ["round_inside", "search_inside", "spanning_plan"]


# First halves of double moves that are tried, and pairs that are looked at where each is dear.
FIRST_HALVES = 24
PAIRS = 400
# Plans that outer approximation tries until one measures enough, and by how much it raises information.
MENDING = 25
RAISED = 1e-4
# Any plan does that measures enough: the search for the best one took twenty times as long (12 runs of 36 in four blocks).
MISSING = 0.5
# What making a table anew counts for besides its numbers, and what a mixed-integer program counts for, in numbers handled.
TABLE, PROGRAM = 5e5, 3e7
# Beyond so many pulls one more descent has nothing to gain.
MANY_PULLS = 2000
# Of a few starts one is a random plan, the others are the best so far with a few pulls moved.
KICKS_PER_START = 4


def spanning_plan(
    arms: Floats, quotas: Floats, plans: Plans, criterion: MatrixCriterion, prior: Floats | None
) -> tuple[Counts | None, bool]:
    """A plan near the counts aimed at, and whether it has a finite criterion; None where there is no plan at all."""
    counts = nearest_plan(plans, quotas)
    if counts is None:
        return None, False
    r = arms.shape[-1]
    U = as_groups(arms)
    gains, offsets = np.empty((0, len(arms))), np.empty(0)
    for _ in range(MENDING):
        M = information(arms, counts, prior)
        if np.isfinite(criterion.value(M)):
            return counts, True
        F = inverse_factor(M + RAISED * max(float(np.trace(M)), 1e-300) / r * np.eye(r))
        if F is None:
            break
        G = criterion.cuts(F, 4)
        G = G[np.isfinite(G).all(axis=(1, 2))]
        if not len(G):
            break
        size = float(np.abs(np.einsum("ilr,krs,ils->ki", U, G, U, optimize=True)).max()) or 1.0
        G = G / size
        gains = np.vstack([gains, np.einsum("ilr,krs,ils->ki", U, G, U, optimize=True)])
        held = np.zeros(len(G)) if prior is None else np.einsum("krs,rs->k", G, prior)
        offsets = np.concatenate([offsets, held])
        following = best_by(plans, gains, offsets, missing=MISSING)
        if following is None or np.array_equal(following, counts):
            break
        counts = following
    M = information(arms, counts, prior)
    return counts, bool(np.isfinite(value_on_range(criterion, M)))


def search_inside(
    arms: Floats,
    quotas: Floats,
    plans: Plans,
    criterion: MatrixCriterion,
    prior: Floats | None,
    effort: Effort,
    *,
    polish: bool = True,
    rng: np.random.Generator | None = None,
) -> Counts | None:
    """A plan (k,) that is judged well; None where no plan is found.

    arms (k, r) or groups (k, l, r), quotas (k,): N w_i, not whole; prior (r, r) TOTAL information held;
    polish=False: the plan nearest to the proportions, mended only where it measures too little.
    Raises InputError where no plan is found that estimates what is asked.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    plain = criterion.criterion if isinstance(criterion, CachedCriterion) and not criterion.lists_targets else criterion
    ranged = on_range(arms, quotas, plans.bounds, plain, prior)
    inside = plans.tightened(ranged.bounds.upper)
    U, held, measured = ranged.arms, ranged.prior, ranged.criterion
    counts, works = spanning_plan(U, quotas, inside, measured, held)
    if not works and U.shape[-1] < arms.shape[-1]:
        # What the best proportions measure is too little for whole numbers inside: other arms may have to help.
        U, held, measured, inside = arms, prior, plain, plans
        counts, works = spanning_plan(U, quotas, inside, measured, held)
    if counts is None:
        return None
    if not works:
        raise InputError(
            f"no whole-number plan was found within the constraints that estimates all that is asked with "
            f"{plans.bounds.total} pulls at most; allow more, or relax a constraint"
        )
    if not polish:
        return counts
    return _searched(U, counts, quotas, inside, measured, held, effort, rng)


def round_inside(
    arms: Floats,
    quotas: Floats,
    plans: Plans,
    criterion: MatrixCriterion,
    *,
    method: str,
    prior: Floats | None = None,
    rng: np.random.Generator | None = None,
    time_limit: float = 60.0,
    effort: str | float = "quick",
    tell: Tell | None = None,
) -> RoundedDesign | None:
    """A plan near the quotas N w_i (k,), with what it gives; None where no plan is found.

    arms (k, r) or groups (k, l, r); prior (r, r) TOTAL information held; method: "auto" and "exchange" improve by exchange,
    "apportion" stays near, "optimal" proves (time_limit in seconds).
    """
    deadline = time.monotonic() + time_limit
    spend = Effort.of(effort, tell)
    if plans.bounds.total - (quotas[-1] if plans.slack else 0.0) > MANY_PULLS:
        spend.patience = 0
    remembering = CachedCriterion(criterion)
    counts = search_inside(arms, quotas, plans, remembering, prior, spend, polish=method != "apportion", rng=rng)
    if counts is None:
        return None
    bound = None
    if method == "optimal":
        left = max(deadline - time.monotonic(), 0.0)
        proven = prove_optimal(
            arms, counts, plans.bounds, remembering, prior, rows=plans.all_rows, time_limit=left, tell=tell
        )
        counts, bound = proven.counts, proven.lower_bound
    return RoundedDesign(counts, Method(method), information(arms, counts, prior), criterion, bound)


def _searched(
    arms: Floats,
    start: Counts,
    quotas: Floats,
    plans: Plans,
    criterion: MatrixCriterion,
    prior: Floats | None,
    effort: Effort,
    rng: np.random.Generator,
) -> Counts:
    """The best local optimum from the start, random plans and kicks, until the effort is spent."""

    def drawn(tried: int, best: Counts) -> Counts:
        if (tried + 1) % (KICKS_PER_START + 1):
            return _kicked(best, plans, rng)
        counts = nearest_plan(plans, quotas * rng.exponential(size=quotas.size), rng.exponential(size=quotas.size))
        effort.spend(PROGRAM)
        return best if counts is None else counts

    return best_descent(start, lambda counts: _descended(arms, counts, plans, criterion, prior, effort), drawn, effort)


def _kicked(counts: Counts, plans: Plans, rng: np.random.Generator) -> Counts:
    """A few pulls moved at random, each move inside."""
    counts = counts.copy()
    for _ in range(1 + rng.poisson(1.0 + 0.15 * min(plans.bounds.total, 40))):
        out, into = plans.givers(counts), plans.takers(counts)
        if not out.size or not into.size:
            break
        out = rng.permutation(out)[:PAIRS]
        into = rng.permutation(into)[:PAIRS]
        at = np.flatnonzero(plans.swaps(counts, out, into))
        if not at.size:
            break
        chosen = int(rng.choice(at))
        counts[out[chosen // into.size]] -= 1
        counts[into[chosen % into.size]] += 1
    return counts


def _descended(
    arms: Floats, counts: Counts, plans: Plans, criterion: MatrixCriterion, prior: Floats | None, effort: Effort
) -> tuple[Counts, float]:
    """The local optimum that best moves inside lead to, and what it is judged by; infinite if it measures too little."""
    counts = counts.copy()
    moves = 0
    table: SwapTable | None = None
    while not effort.spent or moves == 0:
        if moves % MOVES_PER_TABLE == 0 or table is None:
            table = swap_table(arms, counts, criterion, prior)
            effort.spend(arms.size * arms.shape[-1] + TABLE)
        if table is None:
            return counts, np.inf
        below = plans.worth(table.value, counts) * (1.0 - PROGRESS)
        move = _best_move(table, counts, plans, below, effort)
        if move is None:
            double = _best_double(table, arms, counts, plans, criterion, prior, below, effort)
            if double is None:
                break
            counts, table, moves = double, None, moves + 1
            continue
        o, i = move
        table.move(o, i)
        counts[o] -= 1
        counts[i] += 1
        moves += 1
        if not plans.worth(table.value, counts) < below:
            counts[o] += 1
            counts[i] -= 1
            break
    final = swap_table(arms, counts, criterion, prior)
    return counts, np.inf if final is None else plans.worth(final.value, counts)


def _looks(table: SwapTable, out: Indices, into: Indices) -> list[tuple[Indices, Indices]]:
    """The givers and takers to look at: first those on the short list, then all of them where these are not too many."""
    short = table.shortlist(out, into)
    if short[0].size * short[1].size == out.size * into.size:
        return [(out, into)]
    return [short, (out, into)] if out.size * into.size <= ALL_PAIRS else [short]


def _judged(
    table: SwapTable, counts: Counts, plans: Plans, out: Indices, into: Indices, effort: Effort
) -> tuple[Floats, Floats]:
    """What plans after moves of one pull are judged by (a, b), and the same, infinite where the move leads outside."""
    phi = plans.worths(table.swaps(out, into), counts, out, into)
    effort.spend(phi.size * 20.0 + 2e5)
    return phi, np.where(plans.swaps(counts, out, into), phi, np.inf)


def _best_move(table: SwapTable, counts: Counts, plans: Plans, below: float, effort: Effort) -> tuple[int, int] | None:
    """The move of one pull inside that is judged best, if that is below."""
    out, into = plans.givers(counts), plans.takers(counts)
    if not out.size or not into.size:
        return None
    for givers, takers in _looks(table, out, into):
        inside = _judged(table, counts, plans, givers, takers, effort)[1]
        at = int(np.argmin(inside))
        if inside.flat[at] < below:
            return int(givers[at // takers.size]), int(takers[at % takers.size])
    return None


def _best_double(
    table: SwapTable,
    arms: Floats,
    counts: Counts,
    plans: Plans,
    criterion: MatrixCriterion,
    prior: Floats | None,
    below: float,
    effort: Effort,
) -> Counts | None:
    """Counts after two moves that are judged below: the first among the best that lead outside, the second back inside."""
    out, into = plans.givers(counts), plans.takers(counts)
    if plans.is_box or not out.size or not into.size:
        return None
    givers, takers = _looks(table, out, into)[-1]
    phi, inside = _judged(table, counts, plans, givers, takers, effort)
    phi[np.isfinite(inside)] = np.inf
    for o, i in _first_halves(phi):
        if effort.spent:
            break
        half = counts.copy()
        half[givers[o]] -= 1
        half[takers[i]] += 1
        after = swap_table(arms, half, criterion, prior)
        effort.spend(arms.size * arms.shape[-1] + TABLE)
        second = None if after is None else _best_move(after, half, plans, below, effort)
        if second is not None:
            half[second[0]] -= 1
            half[second[1]] += 1
            return half
    return None


def _first_halves(phi: Floats) -> list[tuple[int, int]]:
    """Positions (o, i) of the best moves of each giver and to each taker, the most promising first."""
    rows = [(float(phi[o, i]), o, int(i)) for o, i in enumerate(phi.argmin(axis=1))]
    columns = [(float(phi[o, i]), int(o), i) for i, o in enumerate(phi.argmin(axis=0))]
    best = sorted(set(rows))[: FIRST_HALVES // 2] + sorted(set(columns) - set(rows))[: FIRST_HALVES // 2]
    return [(o, i) for value, o, i in sorted(best) if np.isfinite(value)]
