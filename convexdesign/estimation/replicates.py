"""Noise variances from replicates: each arm's own sample variance, and the quadratic form that fits them best.

The sample variance S_x of n_x pulls of arm x has mean s_x² whatever the mean reward is: no theta is estimated, nothing is
biased, and no pulls are kept apart. For Gaussian noise S_x = s_x² chi²(n_x - 1)/(n_x - 1), independently over the arms, so
that S_x has variance 2 s_x⁴/(n_x - 1).

**The estimate.** The likelihood of Sigma given all S is largest where

    Σ_x (n_x - 1) (S_x - v_x)/v_x² phi_x = 0,   v_x = x'Sigma x,

which least squares of S on phi with the weights (n_x - 1)/v_x² solves once v is its own fit. That is what is
iterated (Fisher's scoring), from the weights n_x - 1 on. *Why not the weights (n_x - 1)/S_x² at once:* S_x that are too low
by chance would get more weight than those too high. Of many arms of one variance with k degrees of freedom each it makes
Σ S^-1/Σ S^-2, which tends to s²(1 - 4/k). The equation above has mean zero at the true Sigma.

**Bounds.** With weights that are fixed before the rewards, the fit of arm x is Σ_y k_xy S_y with fixed k, whose deviation is
a weighted sum of centred chi-squares and nothing else: `IntervalBound.of_replicates` bounds it for all arms at once. So the
intervals are those of the fit with weights n_x - 1 (and, in a second stage, (n_x - 1)/v_x² with v from the first, which is
fixed given that). The event of probability 1 - delta does not mention the estimate: it is whatever one likes between the
ends [L, U], and is off by at most max(U - v, v - L).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import instance, probability, shown
from convexdesign.arms.read import LabelledVectors, read_rows
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation.asktell import Resumable
from convexdesign.estimation.error_bound import variance_range
from convexdesign.estimation.head import HeadPlan, apportioned, plan_head, same_arms
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.row_space import row_space
from convexdesign.estimation.variance_intervals import IntervalBound
from convexdesign.estimation.variance_model import VarianceEstimator, VarianceModel, fit_variance_model, whole_budget
from convexdesign.features import phi
from convexdesign.problem import DesignProblem
from convexdesign.typing import Counts, Floats

__all__ = ["ReplicateEstimator", "replicate_counts", "replicate_variances"]

# The share of the budget that the first of two stages gets: its variances weigh and design the rest.
FIRST_SHARE = 0.3
# Designs for estimated variances need not be precise.
SECOND_TOLERANCE = 1e-2
# Scoring stops where no weight changes by more than this share.
SETTLED, MOST_PASSES = 1e-6, 50
# The share of delta for upper ends of single arms, from which the others start where no bound is known.
OWN_RISK = 0.1
# Variances in weights are not below these shares of an arm's own sample variance and of the largest of all.
OWN_SHARE, LEAST_SHARE = 0.1, 1e-6


def replicate_counts(rows: Floats, weights: Floats, budget: int) -> Counts:
    """Whole pulls (n,), at most `budget` in all, with degrees of freedom (pulls less one) near the proportions `weights`.

    rows (n, r): phi in coordinates of its span. Every arm that is pulled costs one pull for its mean.
    """

    def counts(dof: int) -> Counts:
        freedom = apportioned(rows, weights, dof)
        return np.asarray(freedom + (freedom > 0), dtype=np.int64)

    support = int(np.count_nonzero(weights))
    if budget >= 2 * support:
        return counts(budget - support)
    low, high = rows.shape[1], budget - rows.shape[1]
    while high > low:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if counts(middle).sum() <= budget else (low, middle - 1)
    return counts(low)


@dataclass(eq=False, repr=False)
class ReplicateEstimator(VarianceEstimator, Resumable):
    """Sigma from the arms' own sample variances, by a G-optimal design over phi with the whole budget.

    No part of the budget is spent on theta, and the estimate has no bias from it: errors are those that `Head` makes with
    more than twice the pulls. Works where phi does not span, as HEAD does. Unlike HEAD it needs arms that can be pulled again
    and again.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    budget : int
        Pulls in all, never exceeded.
    variance_bounds : pair of float, optional
        (low, high) on the noise VARIANCES: they clip the estimates.
    rng : numpy.random.Generator or int, optional
        Accepted by all estimators; nothing is random here.
    plan : HeadPlan, optional
        From `plan_head`, to reuse its design over phi over many runs.
    stages : {1, 2}
        2: the last seven tenths of the budget follow a design for the variances that the first three tenths found, which
        lowers the largest error where they differ much, by some 10 %, and costs another design.

    Notes
    -----
    **Why it is right**: see the module `convexdesign.estimation.replicates`. `error_bound` needs Gaussian noise.

    References
    ----------
    Beyond the paper. Weights for sample variances: McCullagh and Nelder (1989), gamma errors; tails: Laurent and Massart
    (2000), Lemma 1.

    Examples
    --------
    >>> import convexdesign as cd
    >>> estimator = cd.estimation.ReplicateEstimator([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], budget=2000)
    >>> env = cd.simulation.LinearEnvironment(estimator.arms, [1.0, 2.0], Sigma=[[1.0, 0.0], [0.0, 4.0]], rng=0)
    >>> model = cd.simulation.simulate(estimator, env)
    >>> bool(abs(model.variances - [1.0, 4.0, 2.92]).max() < 1.0)
    True
    """

    _: KW_ONLY
    plan: HeadPlan | None = None
    stages: int = 1

    def __post_init__(self) -> None:
        self._plan = plan_head(self.arms) if self.plan is None else same_arms(self.plan, self.arms)
        self.arms, self.plan = self._plan.arms, self._plan
        super().__post_init__()
        rank = self._plan.rows_2.shape[1]
        if isinstance(self.stages, bool) or self.stages not in (1, 2):
            raise InputError(f"stages is {shown(self.stages)}; give 1, or 2 for a second design by estimated variances")
        self.budget = whole_budget(self.budget, 2 * rank * self.stages)
        first = max(int(FIRST_SHARE * self.budget), 2 * rank) if self.stages == 2 else self.budget
        self._told_stages: tuple[Observations, ...] = ()
        self._second_weights: Floats | None = None
        self._counts = replicate_counts(self._plan.rows_2, self._plan.weights_2, first)

    @property
    def pulls_left(self) -> int:
        """How many pulls are still to be told before it is done."""
        return 0 if self.done else self.budget - sum(o.total for o in self._told_stages)

    def _next_counts(self) -> Counts:
        return self._counts

    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        self._counts = counts

    def _absorb(self, observations: Observations) -> None:
        stages = (*self._told_stages, observations)
        if len(stages) < self.stages:
            squares, dof = _squares(stages)
            scored = _scored(self._plan.rows_2, squares, dof, self._bounds)
            weights = _second_design(self._plan, scored)
            left = self.budget - observations.total
            self._counts = replicate_counts(self._plan.rows_2, weights, left)
            self._second_weights = scored**-2.0
            self._told_stages = stages
            return
        self._model = self._believed(stages).model(self._rows)
        self._told_stages = stages

    def _believed(self, stages: tuple[Observations, ...]) -> _Intervals:
        return _Intervals(self._plan.rows_2, stages, self._second_weights, self._bounds)

    def intervals(self, delta: float) -> tuple[Floats, Floats]:
        """Ends that hold all noise VARIANCES at once with probability at least 1 - delta (Gaussian noise).

        Parameters
        ----------
        delta : float
            The probability that some variance is outside.

        Returns
        -------
        pair of array, shape (n,)
            Lower and upper ends, within variance_bounds where they were given.

        Raises
        ------
        InputError
            Before it is done.
        """
        if len(self._told_stages) < self.stages:
            raise InputError("intervals are known once everything was told")
        return self._believed(self._told_stages).ends(delta)


def _squares(stages: Sequence[Observations]) -> tuple[Floats, Floats]:
    """Sample variances (n,) and their degrees of freedom; each stage has its own means, as its pulls followed the last."""
    dof = np.sum([np.maximum(o.count - 1.0, 0.0) for o in stages], axis=0)
    m2 = np.sum([o.m2 for o in stages], axis=0)
    return np.divide(m2, dof, out=np.zeros_like(m2), where=dof > 0), dof


@dataclass(frozen=True, eq=False)
class _Intervals:
    """What bounds the variances: sample variances of each stage, fitted to phi in coordinates, rows (n, r), of its span.

    second_weights (n,): what weighs the second stage's degrees of freedom, known from the first.
    """

    rows: Floats
    stages: tuple[Observations, ...]
    second_weights: Floats | None
    bounds: tuple[float, float] | None

    def ends(self, delta: float) -> tuple[Floats, Floats]:
        """Lower and upper ends (n,): those of every stage, each at its share of delta, together.

        Where no upper bound is known, single arms' own chi-square ends are where the deviations, which grow with the
        variances, start from.
        """
        delta, (low, high) = probability(delta), self.bounds or (0.0, np.inf)
        lower, upper = np.full(self.rows.shape[0], low), np.full(self.rows.shape[0], high)
        if not np.isfinite(high):
            upper = _own_ends(*_squares(self.stages[:1]), OWN_RISK * delta)
            delta *= 1.0 - OWN_RISK
        for stage, weights in zip(self.stages, (None, self.second_weights)):
            squares, dof = _squares([stage])
            weight = dof if weights is None else dof * weights
            bound = IntervalBound.of_replicates(self.rows, dof, weight, delta / len(self.stages))
            # What is known of all variances so far is where the next ends may start.
            least, most = bound.intervals(_fit(self.rows, weight, squares), low, upper)
            lower, upper = np.maximum(lower, least), np.minimum(upper, most)
        return lower, upper

    def model(self, arms: LabelledVectors) -> VarianceModel:
        """The quadratic form that fits the sample variances of all stages best."""
        squares, dof = _squares(self.stages)
        scored = _scored(self.rows, squares, dof, self.bounds)
        found = fit_variance_model(
            "replicate",
            arms,
            dof / (scored / scored.max()) ** 2,
            squares,
            theta=None,
            variance_bounds=self.bounds,
            all_counts=np.asarray(sum(o.count for o in self.stages)),
        )
        return replace(found, bounds={"chi-square": partial(self.largest_error, found.variances)})

    def largest_error(self, variances: Floats, delta: float) -> Floats:
        """By how much variances (n,) can be off, (n,)."""
        low, high = self.ends(delta)
        return np.asarray(np.maximum(high - variances, variances - low))


def _own_ends(squares: Floats, dof: Floats, delta: float) -> Floats:
    """Upper ends (n,) of the VARIANCES of single arms, by their own sample variances; infinity without any."""
    from scipy.stats import chi2

    pulled, ends = dof > 0, np.full(dof.size, np.inf)
    ends[pulled] = dof[pulled] * squares[pulled] / chi2.ppf(delta / np.count_nonzero(pulled), dof[pulled])
    return ends


def _fit(rows: Floats, weights: Floats, squares: Floats) -> Floats:
    """The values (n,) of the least squares fit of squares with these weights."""
    pulled = weights > 0
    root = np.sqrt(weights[pulled])
    found = np.linalg.lstsq(root[:, None] * rows[pulled], root * squares[pulled], rcond=None)[0]
    return np.asarray(rows @ found, dtype=float)


def _scored(rows: Floats, squares: Floats, dof: Floats, bounds: tuple[float, float] | None) -> Floats:
    """Positive VARIANCES (n,) for weights: the fit with the weights dof/v² of itself."""
    fitted = _fit(rows, dof, squares)
    largest = float(squares.max(initial=0.0))
    if not largest > 0.0:
        return np.ones_like(fitted)
    least = np.where(dof > 0, np.maximum(OWN_SHARE * squares, LEAST_SHARE * largest), LEAST_SHARE * largest)
    if bounds is not None:
        least = np.maximum(least, bounds[0])
    v = np.maximum(fitted, least)
    for _ in range(MOST_PASSES):
        before, v = v, np.maximum(_fit(rows, dof / v**2, squares), least)
        if np.all(np.abs(v - before) <= SETTLED * v):
            break
    return v


def _second_design(plan: HeadPlan, variances: Floats) -> Floats:
    """Proportions (n,) for which the largest variance of a fitted variance is least, S_x having variance 2 s_x⁴/dof."""
    from convexdesign.rounding.sparsification import sparsify
    from convexdesign.solving import solve

    relative = variances / variances.max()
    problem = DesignProblem(plan.rows_2, plan.rows_2, noise_variance=relative**2)
    weights = solve(problem, tol=SECOND_TOLERANCE).weights
    return np.asarray(sparsify(plan.rows_2 / relative[:, None], weights))


def replicate_variances(
    arms: Any, observations: Observations, variance_bounds: Sequence[float] | None = None, delta: float = 0.05
) -> tuple[VarianceModel, NDArray[np.float64], NDArray[np.float64]]:
    """x'Sigma x from sample variances, as `ReplicateEstimator` finds it, from data however they came about; and intervals.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What was measured.
    observations : Observations
        Counts, means and sums of squares per arm; the counts were fixed before the rewards.
    variance_bounds : pair of float, optional
        (low, high) on the VARIANCES: they clip the estimates and the intervals.
    delta : float
        The probability that some interval misses its variance (Gaussian noise).

    Returns
    -------
    tuple of VarianceModel, array, array
        The model of all arms, and the lower and upper ends of all VARIANCES at once, shape (n,) each.

    Raises
    ------
    UnidentifiableError
        Where the arms with two pulls or more do not determine the variance of every arm.

    References
    ----------
    Beyond the paper; see the module.

    Examples
    --------
    >>> import convexdesign as cd
    >>> told = cd.estimation.Observations([201, 201, 201], mean=[1.0, 2.0, 2.2], m2=[200.0, 800.0, 584.0])
    >>> model, low, high = cd.estimation.replicate_variances([[1, 0], [0, 1], [0.6, 0.8]], told)
    >>> model.variances.round(2)
    array([1.  , 4.  , 2.92])
    """
    rows = read_rows(arms, "arms")
    instance(observations, Observations, "observations", "give Observations")
    if observations.n_arms != rows.n:
        raise InputError(f"observations are of {observations.n_arms} arms, but arms has {rows.n} rows")
    bounds, delta = variance_range(variance_bounds), probability(delta)
    replicated = observations.count > 1
    F = phi(np.asarray(rows.values, dtype=float))
    if not replicated.any():
        raise UnidentifiableError("no arm was measured twice; replicates are what this estimate rests on")
    space = row_space(F[replicated])
    missing = np.flatnonzero(~space.contains(F))
    if missing.size:
        name = rows.names[missing[0]] if rows.names else f"arm {missing[0]}"
        raise UnidentifiableError(
            f"the variance of {name} is not determined by the {np.count_nonzero(replicated)} arms measured twice or more; "
            "measure others again"
        )
    believed = _Intervals(space.coordinates(F), (observations,), None, bounds)
    return (believed.model(rows), *believed.ends(delta))
