"""How long HEAD must run before its variances can be trusted: named budgets, and a burn-in that finds out by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from convexdesign.arguments import choice, instance, probability, real, shown
from convexdesign.arms.read import LabelledVectors, read_rows
from convexdesign.digest import array_digest
from convexdesign.errors import InputError
from convexdesign.estimation import (
    HeadPlan,
    Observations,
    Proportions,
    Resumable,
    VarianceModel,
    least_squares,
    plan_head,
)
from convexdesign.estimation.error_bound import Noise, checked_noise, variance_range
from convexdesign.estimation.replicates import replicate_counts
from convexdesign.estimation.variance_intervals import IntervalBound
from convexdesign.estimation.variance_model import fit_variance_model, mean_squared_residuals, whole_budget
from convexdesign.typing import Counts, Floats

__all__ = [
    "BURN_INS",
    "BURN_IN_SHARE",
    "AdaptiveBurnIn",
    "BurnInPhase",
    "burn_in_budget",
    "check_burn_in",
    "check_replicates",
    "head_plan",
    "kept_positive",
    "pulls_for",
    "within_factor",
]

BURN_INS = ("sharp", "replicates", "adaptive", "paper", "released")
# The share of an identification's delta that its burn-in may spend.
BURN_IN_SHARE = 0.5
# The sharp budget is found to this relative accuracy, from above.
BUDGET_TOLERANCE = 1e-3
# Beyond this many numbers the designs of a set of arms are not kept for a next time.
REMEMBERED_ENTRIES = 200_000
# What a plugged-in variance may be off: U <= (1 + 1/2) sigma-hat² and L >= (1 - 1/2) sigma-hat² for some sigma-hat²
# exactly when U <= 3 L.
SHARE = 0.5
# What stands for a variance that the rewards deny: nothing smaller can be divided by.
LEAST, LEAST_SHARE = 1e-70, 1e-12


@dataclass(frozen=True)
class _Arms:
    """Arms, equal to others when a digest of their numbers is."""

    digest: str
    rows: LabelledVectors = field(compare=False)


def head_plan(rows: LabelledVectors, proportions: Proportions | None = None) -> HeadPlan:
    """HEAD's two designs for these arms, computed once per set of arms; by `proportions` where that is given."""
    if proportions is not None:
        return plan_head(rows, proportions=proportions)
    if rows.values.size > REMEMBERED_ENTRIES:
        return plan_head(rows)
    return _planned(_Arms(array_digest(rows.values, short=True), rows))


@lru_cache(maxsize=64)
def _planned(arms: _Arms) -> HeadPlan:
    return plan_head(arms.rows)


def burn_in_budget(
    kind: str, plan: HeadPlan, variance_bounds: tuple[float, float], delta: float, noise: Noise = "gaussian"
) -> int:
    """Pulls after which |clipped sigma-hat_x² - s_x²| <= sigma-hat_x²/2 for all arms, except with probability delta/2.

    With kappa = high/low, for n arms in R^d:

    - "paper": 4 C' log(n/delta) kappa² d², C' = 2000, and one pull per supporting arm and stage for rounding.
      (Weltz et al. (2023), appendix E)
    - "released": floor(4 · 385 d² log(12 n/delta) kappa²), the constant of the paper's recorded experiments.
    - "sharp": the least budget, to a relative 1e-3, whose whole-number pulls have `sharp_error_bound` at most low/2
      on every arm with failure probability delta/2. Clipping to the bounds makes low/2 <= sigma-hat_x²/2.
    - "replicates": the same for the least squares fit of the arms' own sample variances (`ReplicateEstimator`), which
      needs no theta and no split. Its intervals [L_x, U_x] have U_x - L_x <= low, so U_x <= 2 L_x, and estimates between
      U_x/1.5 and 2 L_x are as promised. Gaussian noise only.

    "paper" and "released" are long enough by the same bound, by far, for designs that are optimal to a hundredth or so.

    Parameters
    ----------
    kind : {"paper", "released", "sharp", "replicates"}
        Which.
    plan : HeadPlan
        HEAD's designs for the arms.
    variance_bounds : pair of float
        (low, high) on VARIANCES.
    delta : float
        That of the identification, half of which its burn-in may spend.
    noise : {"gaussian", "sub-gaussian"}
        The law of the noise.

    Returns
    -------
    int
        Pulls in all.

    Raises
    ------
    InputError
        For an unknown kind, or where low is zero: then only "adaptive" knows when to stop.

    Examples
    --------
    >>> from convexdesign.instances import experiment_2
    >>> from convexdesign.estimation import plan_head
    >>> burn_in_budget("released", plan_head(experiment_2().arms), (0.2, 1.0), 0.05)
    2519886
    """
    instance(plan, HeadPlan, "plan", "make one with plan_head")
    choice(kind, BURN_INS, "kind")
    checked_noise(noise)
    bounds = variance_range(variance_bounds, "the burn-in")
    assert bounds is not None
    return pulls_for(kind, plan, bounds, BURN_IN_SHARE * probability(delta), noise)


def pulls_for(
    kind: str, plan: HeadPlan, variance_bounds: tuple[float, float], failure: float, noise: Noise = "gaussian"
) -> int:
    """`burn_in_budget`, given the probability of failure that the burn-in may spend."""
    check_burn_in(kind, variance_bounds)
    low, high = variance_bounds
    n, d = plan.arms.values.shape
    kappa = high / low
    if kind == "released":
        # kappa² to twelve digits: 1/.2 must be five.
        return int(np.floor(4.0 * 385.0 * d**2 * np.log(6.0 * n / failure) * float(f"{kappa**2:.12g}")))
    if kind == "paper":
        rounding = np.count_nonzero(plan.weights_1) + np.count_nonzero(plan.weights_2)
        return int(np.ceil(4.0 * 2000.0 * np.log(n / (2.0 * failure)) * kappa**2 * d**2)) + int(rounding)
    if kind == "replicates":
        check_replicates(noise)
        return replicates_budget(plan, kappa, failure)
    return sharp_budget(plan, kappa, failure, noise)


def check_replicates(noise: Noise) -> None:
    """InputError for noise whose sample variances are not chi-square."""
    if noise != "gaussian":
        raise InputError(
            f"burn_in='replicates' rests on the chi-square law of Gaussian noise, and noise is {noise!r}; use burn_in='sharp'"
        )


def check_burn_in(kind: str, variance_bounds: tuple[float, float]) -> None:
    """InputError where the lower bound that a budget needs is zero, or far too low."""
    low, high = variance_bounds
    if not low > 0:
        raise InputError(
            f"burn_in={kind!r} needs a positive lower bound, but variance_bounds are ({low:g}, {high:g}); "
            "give one, or use burn_in='adaptive'"
        )
    if not np.isfinite((high / low) ** 2 * 1e18):
        raise InputError(
            f"variance_bounds are ({low:g}, {high:g}), too far apart for any number of pulls; use tighter ones"
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


@lru_cache(maxsize=256)
def replicates_budget(plan: HeadPlan, kappa: float, delta: float) -> int:
    """The least budget, to a relative 1e-3, with `IntervalBound.of_replicates` at most half the smallest variance.

    kappa: the largest variance over the smallest; delta: probability of failure.
    """
    equal = np.full(plan.rows_2.shape[0], kappa)

    def enough(budget: int) -> bool:
        dof = np.maximum(replicate_counts(plan.rows_2, plan.weights_2, budget) - 1.0, 0.0)
        return bool(IntervalBound.of_replicates(plan.rows_2, dof, dof, delta).noise(equal).max() <= 0.5)

    return least_budget(enough, 2 * plan.rows_2.shape[1])


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


@dataclass(frozen=True, eq=False)
class BurnInPhase:
    """One phase: pulls so far, HEAD's model from all of them, and intervals (n,), (n,) for the VARIANCES."""

    number: int
    samples: int
    model: VarianceModel
    low: Floats
    high: Floats


class AdaptiveBurnIn(Resumable):
    """Phases p = 1, 2, ... of HEAD with 2^(p-1) times the first budget, until |sigma-hat_x² - s_x²| <= sigma-hat_x²/2.

    Once done, `variances` holds sigma-hat_x², (n,), and `phases` one BurnInPhase each.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    delta : float
        The probability that the promise fails.
    variance_bounds : pair of float, optional
        (low, high) on the VARIANCES, (0, inf) by default: they need not be tight, and neither is needed.
    noise : {"gaussian", "sub-gaussian"}
        The law of the noise.
    plan : HeadPlan, optional
        HEAD's designs, where they are known already.
    budget : int, optional
        The first one, where it is known already.

    Notes
    -----
    **Why it is right.** The pulls of every phase are fixed beforehand: N_p = 2^(p-1) N_1 in all, in HEAD's two split
    stages, those of earlier phases included. Only the phase at which to stop depends on rewards. Let E_p be the event
    of `IntervalBound` for the pulls of phase p with failure probability delta_p = delta / (p (p + 1)): its probability
    is about fixed pulls and the true variances, so it does not matter that the phase was reached. By the union bound
    all E_p hold together with probability at least 1 - Σ_p delta / (p (p + 1)) = 1 - delta. On that event, and if the
    known bounds are right, every interval [L_x, U_x] of every phase holds s_x² (see `IntervalBound.intervals`: upper
    ends that come from upper ends), hence so do the intersections over phases. The burn-in stops when U_x <= 3 L_x for
    every arm. Then U_x/1.5 <= 2 L_x, and sigma-hat_x², the estimate clipped to [U_x/1.5, 2 L_x], satisfies s_x² <= U_x
    <= 1.5 sigma-hat_x² and s_x² >= L_x >= 0.5 sigma-hat_x²: the promise.

    **Why it stops.** Deviations shrink like N^(-1/2) (up to the logarithm of p), so U_x/L_x tends to 1 where
    s_x² > 0. With bounds low and high it stops at the latest when N_p reaches the sharp budget for them at delta_p. The
    first budget is the sharp one for kappa = 1, below which no data can suffice.

    Examples
    --------
    >>> import convexdesign as cd
    >>> burn_in = cd.identification.AdaptiveBurnIn([[1.0], [2.0]], delta=0.05)
    >>> env = cd.simulation.LinearEnvironment([[1.0], [2.0]], [1.0], noise_variance=[1.0, 4.0], rng=0)
    >>> _ = cd.simulation.simulate(burn_in, env)
    >>> bool((abs(burn_in.variances - [1.0, 4.0]) <= burn_in.variances / 2).all())
    True
    """

    def __init__(
        self,
        arms: Any,
        delta: float,
        variance_bounds: tuple[float, float] | None = None,
        noise: Noise = "gaussian",
        *,
        plan: HeadPlan | None = None,
        budget: int | None = None,
    ) -> None:
        self._rows: LabelledVectors = read_rows(arms, "arms")
        n = self._rows.values.shape[0]
        super().__init__(n)
        self.delta, self.noise = probability(delta), noise
        checked_noise(noise)
        self.bounds = _bounds(variance_bounds)
        if plan is not None:
            instance(plan, HeadPlan, "plan", "make one with plan_head")
        self.plan = head_plan(self._rows) if plan is None else plan
        self.first_budget = (
            sharp_budget(self.plan, 1.0, self._share(1), noise)
            if budget is None
            else whole_budget(budget, self.plan.least_budget)
        )
        self.phases: tuple[BurnInPhase, ...] = ()
        self.variances: Floats | None = None
        self._low, self._high = np.full(n, self.bounds[0]), np.full(n, self.bounds[1])
        self._stages = [Observations.empty(n), Observations.empty(n)]
        self._in_stage_2 = False

    @property
    def done(self) -> bool:
        """Whether every variance is known to the promised factor."""
        return self.variances is not None

    @property
    def samples(self) -> int:
        """Pulls told so far."""
        return sum(stage.total for stage in self._stages)

    @property
    def pulls(self) -> tuple[Counts, Counts]:
        """The pulls (n,), (n,) of the two stages so far."""
        return self._stages[0].count, self._stages[1].count

    @property
    def contradicted(self) -> bool:
        """Whether some interval is empty: the known bounds are wrong, or the probability delta has struck."""
        return bool(np.any(self._low > self._high))

    def _share(self, phase: int) -> float:
        return self.delta / (phase * (phase + 1))

    def _next_counts(self) -> Counts:
        stage = int(self._in_stage_2)
        planned = self.plan.counts(self.first_budget * 2 ** len(self.phases))[stage]
        # Rounding may give an arm fewer pulls of a larger budget; pulls made stay made.
        return np.maximum(planned - self._stages[stage].count, 0)

    def _absorb(self, observations: Observations) -> None:
        stage = int(self._in_stage_2)
        merged = self._stages[stage].merge(observations)
        if not self._in_stage_2:
            self._stages[0], self._in_stage_2 = merged, True
            return
        model = self._fit(merged)  # may raise; nothing has changed yet
        self._stages[1], self._in_stage_2 = merged, False
        number = len(self.phases) + 1
        bound = IntervalBound.of(self.plan, self._stages[0].count, merged.count, self._share(number), self.noise)
        low, high = bound.intervals(model.unclipped, *self.bounds)
        self._low, self._high = np.maximum(self._low, low), np.minimum(self._high, high)
        self.phases = (*self.phases, BurnInPhase(number, self.samples, model, self._low, self._high))
        # Empty intervals cannot get better: stop with what there is, and `contradicted` says that it is worth nothing.
        if self.contradicted or np.all((1.0 - SHARE) * self._high <= (1.0 + SHARE) * self._low):
            self.variances = within_factor(model.unclipped, self._low, self._high)

    def _fit(self, stage_2: Observations) -> VarianceModel:
        theta = least_squares(self._rows, self._stages[0]).theta
        return fit_variance_model(
            "HEAD, adaptive budget",
            self._rows,
            stage_2.count,
            mean_squared_residuals(self._rows.values, stage_2, theta),
            theta=theta,
            variance_bounds=None,
            all_counts=self._stages[0].count + stage_2.count,
            no_bound_because="its intervals are in AdaptiveBurnIn.phases",
        )

    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        """Nothing but its counts is behind a batch."""

    def _result(self) -> Floats:
        assert self.variances is not None
        return self.variances


def within_factor(estimates: Floats, low: Floats, high: Floats) -> Floats:
    """The estimates clipped to [high/1.5, 2 low]."""
    least, most = high / (1.0 + SHARE), low / (1.0 - SHARE)
    clipped = np.clip(estimates, np.minimum(least, most), np.maximum(least, most))
    return kept_positive(clipped)


def _bounds(given: Any) -> tuple[float, float]:
    """(low, high) with 0 <= low <= high <= inf and low < inf; (0, inf) for None."""
    if given is None:
        return 0.0, np.inf
    try:
        low, high = map(real, given)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (0 <= low <= high and low < np.inf and high > 0):
        raise InputError(f"variance_bounds is {shown(given)}; give a pair of VARIANCES (low, high), 0 <= low <= high")
    return low, high


def kept_positive(variances: Floats) -> Floats:
    """The variances (n,), positive and within 1e12 of the largest whatever happens: contradicted ones may be anything."""
    return np.maximum(variances, max(LEAST_SHARE * float(variances.max()), LEAST))
