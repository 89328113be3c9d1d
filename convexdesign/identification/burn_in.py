"""How long HEAD must run before its variances can be trusted: named budgets, from the paper's to a sharp one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from convexdesign.errors import InputError
from convexdesign.estimation import HeadPlan, Proportions, plan_head
from convexdesign.estimation.error_bound import Noise
from convexdesign.problem.read import Rows

__all__ = ["BURN_INS", "burn_in_budget", "check_burn_in", "head_plan"]

BURN_INS = ("sharp", "adaptive", "paper", "released")
# The sharp budget is found to this relative accuracy, from above.
BUDGET_TOLERANCE = 1e-3
# Beyond this many numbers the designs of a set of arms are not kept for a next time.
REMEMBERED_ENTRIES = 200_000


@dataclass(frozen=True)
class _Arms:
    """Arms, equal to others when a digest of their numbers is."""

    digest: bytes
    rows: Rows = field(compare=False)


def head_plan(rows: Rows, proportions: Proportions | None = None) -> HeadPlan:
    """HEAD's two designs for these arms, computed once per set of arms; by `proportions` where that is given."""
    if proportions is not None:
        return plan_head(rows, proportions=proportions)
    if rows.values.size > REMEMBERED_ENTRIES:
        return plan_head(rows)
    numbers = np.ascontiguousarray(rows.values, dtype=float)
    digest = hashlib.blake2b(repr(numbers.shape).encode() + numbers.tobytes(), digest_size=16).digest()
    return _planned(_Arms(digest, rows))


@lru_cache(maxsize=64)
def _planned(arms: _Arms) -> HeadPlan:
    return plan_head(arms.rows)


def burn_in_budget(
    kind: str, plan: HeadPlan, variance_bounds: tuple[float, float], delta: float, noise: Noise = "gaussian"
) -> int:
    """Pulls after which |clipped sigma-hat_x² - s_x²| <= sigma-hat_x²/2 for all arms, except with probability delta/2.

    variance_bounds = (low, high) on VARIANCES, kappa = high/low; n arms in R^d; delta is that of the identification.

    - "paper": 4 C' log(n/delta) kappa² d², C' = 2000, and one pull per supporting arm and stage for rounding.
      (Weltz et al. (2023), appendix E)
    - "released": floor(4 · 385 d² log(12 n/delta) kappa²), the constant of the paper's recorded experiments.
    - "sharp": the least budget, to a relative 1e-3, whose whole-number pulls have `sharp_error_bound` at most low/2
      on every arm with failure probability delta/2. Clipping to the bounds makes low/2 <= sigma-hat_x²/2.

    "paper" and "released" are long enough by the same bound, by far, for designs that are optimal to a hundredth or so.

    Raises InputError for an unknown kind, or where low is zero: then only "adaptive" knows when to stop.

    >>> from convexdesign.instances import experiment_2
    >>> from convexdesign.estimation import plan_head
    >>> burn_in_budget("released", plan_head(experiment_2().arms), (0.2, 1.0), 0.05)
    2519886
    """
    check_burn_in(kind, variance_bounds)
    low, high = variance_bounds
    n, d = plan.arms.values.shape
    kappa = high / low
    if kind == "released":
        # kappa² to twelve digits: 1/.2 must be five.
        return int(np.floor(4.0 * 385.0 * d**2 * np.log(12.0 * n / delta) * float(f"{kappa**2:.12g}")))
    if kind == "paper":
        rounding = np.count_nonzero(plan.weights_1) + np.count_nonzero(plan.weights_2)
        return int(np.ceil(4.0 * 2000.0 * np.log(n / delta) * kappa**2 * d**2)) + int(rounding)
    return sharp_budget(plan, kappa, delta / 2.0, noise)


def check_burn_in(kind: str, variance_bounds: tuple[float, float]) -> None:
    """InputError for an unknown kind of burn-in, and where the lower bound that a budget needs is zero."""
    if kind not in BURN_INS:
        raise InputError(f"burn_in is {kind!r}; choose one of {', '.join(BURN_INS)}")
    low, high = variance_bounds
    if not low > 0:
        raise InputError(
            f"burn_in={kind!r} needs a positive lower bound, but variance_bounds are ({low:g}, {high:g}); "
            "give one, or use burn_in='adaptive'"
        )


@lru_cache(maxsize=256)
def sharp_budget(plan: HeadPlan, kappa: float, delta: float, noise: Noise = "gaussian") -> int:
    """The least budget, to a relative 1e-3, with `sharp_error_bound` at most half the smallest variance.

    kappa: the largest variance over the smallest; delta: probability of failure.
    """

    def enough(budget: int) -> bool:
        stages = plan.counts(budget)
        return bool(plan.sharp_error_bound(*stages, high=kappa, delta=delta, noise=noise).max() <= 0.5)

    return least_budget(enough, plan.least_budget)


def least_budget(enough: Callable[[int], bool], least: int) -> int:
    """The least budget from `least` on that is enough, to a relative 1e-3, by doubling and bisection."""
    high = least
    while not enough(high):
        if high > 2**60:
            raise InputError("no burn-in of fewer than 2^60 pulls is long enough; use tighter variance_bounds")
        high *= 2
    low = max(high // 2, least)
    while high - low > max(1, BUDGET_TOLERANCE * high):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
