"""Plans by mixed-integer programs: the one nearest to given counts, and where there is none, why and for which total there is.

HiGHS proposes; whether counts are a plan is decided by the rows themselves. The distance is the sum of |n_i - t_i|.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from convexdesign.errors import InputError
from convexdesign.rounding.count_limits import Limits
from convexdesign.rounding.plans import CountInequalities, Plans
from convexdesign.typing import Counts, Floats

__all__ = ["best_by", "broken_for_least", "nearest_plan", "nearest_total", "no_plan"]


# Seconds after which a program is given up, and those that the search for another total may take.
TIME_LIMIT = 20.0
SEARCH_TIME = 10.0
# The share of the best that may be missing.
NEARLY = 0.02
# Totals farther away than this many pulls, or times the total, are not tried.
FARTHEST = 200
# Beyond so many pulls a program is stated for what is left near the quotas, within so many pulls of each arm.
MANY_PULLS = 100_000
WINDOW = 40
# Rows are tightened by what the solver's tolerances let through so often.
ATTEMPTS = 4
# Rows named in a message.
NAMED = 3


def nearest_plan(plans: Plans, quotas: Floats, weights: Floats | None = None) -> Counts | None:
    """The plan with the least sum of weights_i |n_i - aim_i| (k,), nearly; None where none is found.

    A linear part for every arm and one variable for its distance: |n_i - aim_i| is convex.
    """
    if plans.bounds.total > MANY_PULLS:
        near = _near(plans, quotas)
        if near is not None:
            base, window = near
            found = nearest_plan(window, quotas - base, weights)
            if found is not None and plans.holds(base + found):
                return base + found
    k = quotas.size
    cost = np.ones(k) if weights is None else weights
    # d >= n - quotas, d >= quotas - n.
    eye = sparse.identity(k, format="csr")
    distance = [
        LinearConstraint(sparse.hstack([eye, -eye]), -np.inf, quotas),
        LinearConstraint(sparse.hstack([-eye, -eye]), -np.inf, -quotas),
    ]
    return _solved(plans, np.concatenate([np.zeros(k), cost]), distance, k)


def _near(plans: Plans, quotas: Floats) -> tuple[Counts, Plans] | None:
    """A base (k,) and the plans n - base for n near the quotas: numbers that a solver can tell apart."""
    bounds = plans.bounds
    base = np.clip(np.floor(quotas).astype(np.int64) - WINDOW, bounds.lower, bounds.upper)
    upper = np.minimum(bounds.upper - base, 3 * WINDOW)
    total = bounds.total - int(base.sum())
    if not 0 < total <= min(int(upper.sum()), MANY_PULLS):
        return None
    rows = plans.all_rows
    window = CountInequalities(rows.R, rows.b - rows.R @ base, rows.names)
    return base, Plans(Limits(total, np.zeros_like(base), upper), window)


def best_by(plans: Plans, gains: Floats, offsets: Floats, missing: float = NEARLY) -> Counts | None:
    """The plan with the largest min_k offsets_k + gains_k'n, but for a share `missing` of it; None where none is found.

    gains (m, k), offsets (m,).
    """
    k = gains.shape[1]
    cuts = LinearConstraint(np.hstack([-gains, np.ones((len(gains), 1))]), -np.inf, offsets)
    return _solved(plans, np.append(np.zeros(k), -1.0), [cuts], 1, free=True, missing=missing)


def _solved(
    plans: Plans,
    objective: Floats,
    more: list[LinearConstraint],
    extra: int,
    free: bool = False,
    missing: float = NEARLY,
) -> Counts | None:
    """Counts of a program with `extra` variables that are not whole, checked; None where HiGHS finds no plan."""
    bounds, rows = plans.bounds, plans.all_rows
    k = bounds.lower.size
    low = np.concatenate([bounds.lower.astype(float), np.full(extra, -np.inf if free else 0.0)])
    high = np.concatenate([bounds.upper.astype(float), np.full(extra, np.inf)])
    whole = np.concatenate([np.ones(k), np.zeros(extra)])
    total = LinearConstraint(np.concatenate([np.ones(k), np.zeros(extra)])[None], bounds.total, bounds.total)
    scaled = rows.in_their_units()
    R, b = scaled.R, scaled.b
    wide = sparse.hstack([sparse.csr_matrix(R), sparse.csr_matrix((len(b), extra))])
    for _ in range(ATTEMPTS):
        inside = [LinearConstraint(wide, -np.inf, b)] if len(b) else []
        result = milp(
            objective,
            integrality=whole,
            bounds=Bounds(low, high),
            constraints=[total, *inside, *more],
            options={"time_limit": TIME_LIMIT, "mip_rel_gap": missing},
        )
        if result.x is None:
            return None
        counts = np.round(result.x[:k]).astype(np.int64)
        if plans.holds(counts):
            return counts
        over = R @ counts - b
        if int(counts.sum()) != bounds.total or not (over > 0).any():
            return None
        b = np.where(over > 0, b - 2.0 * over, b)
    return None


def broken_for_least(plans: Plans) -> list[str]:
    """Names of the rows that counts with this total and these limits break where the sum of what they miss is least."""
    rows = plans.all_rows
    k, m = plans.bounds.lower.size, len(rows)
    if m == 0:
        return []
    scaled = rows.in_their_units()
    R, b = scaled.R, scaled.b
    result = milp(
        np.concatenate([np.zeros(k), np.ones(m)]),
        integrality=np.concatenate([np.ones(k), np.zeros(m)]),
        bounds=Bounds(
            np.concatenate([plans.bounds.lower.astype(float), np.zeros(m)]),
            np.concatenate([plans.bounds.upper.astype(float), np.full(m, np.inf)]),
        ),
        constraints=[
            LinearConstraint(np.concatenate([np.ones(k), np.zeros(m)])[None], plans.bounds.total, plans.bounds.total),
            LinearConstraint(sparse.hstack([sparse.csr_matrix(R), -sparse.identity(m)]), -np.inf, b),
        ],
        options={"time_limit": TIME_LIMIT},
    )
    if result.x is None:
        return list(dict.fromkeys(rows.names))
    counts = np.round(result.x[:k]).astype(np.int64)
    return list(dict.fromkeys(rows.names[i] for i in rows.broken(counts)))


def nearest_total(plans_for: Callable[[int], Plans | None], total: int) -> int | None:
    """The number of pulls nearest to `total` for which there is a plan; None where none is found."""
    deadline = time.monotonic() + SEARCH_TIME
    for n in _around(total):
        if time.monotonic() > deadline:
            return None
        plans = plans_for(n)
        if plans is not None and plans.is_box:
            return n
        if plans is not None and nearest_plan(plans, np.zeros(plans.bounds.lower.size)) is not None:
            return n
    return None


def _around(total: int) -> Iterator[int]:
    """total - 1, total + 1, total - 2, ... as far as that is worth while."""
    for step in range(1, max(FARTHEST, total) + 1):
        if total > step:
            yield total - step
        yield total + step


def no_plan(names: list[str], plans_for: Callable[[int], Plans | None] | None, total: int, asked: str) -> InputError:
    """What to say where no plan is found: the constraints in the way, and the nearest number of pulls that works.

    plans_for: the plans with another number of pulls than `total`, None where the number is free.
    """
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    reason = f"no whole numbers for {asked} meet {shown or 'all constraints together'}"
    remedy = "relax it" if len(names) == 1 else "relax them"
    if plans_for is None:
        return InputError(f"{reason}; {remedy}")
    n = nearest_total(plans_for, total)
    if n is None:
        return InputError(f"{reason}, and no other n near it was found that does; {remedy}")
    return InputError(f"{reason}; the nearest n that works is {n}")
