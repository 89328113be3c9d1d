"""Minimax designs with bounds on the weights: targets are generated, and of very many arms a working set is free.

The master of `bounded_minimax` holds a few targets and the arms of the working set; all other weights stay at the bounds that
the last prices q_i = sum_v mu_v (y_i'A^-1 t_v)^2 asked for, and only add a fixed information matrix. Its answer prices every
target and every arm:

    gap = max over ALL targets of f_v  *  (tr(G A0) + h_W(q))  /  sum_v mu_v f_v^2  -  1.

Targets above the level join, arms that q says are on the wrong bound are freed, with those between bounds and next to the
price, and so on until it closes. The level falls from round to round where no target joins: fixed weights are feasible ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from convexdesign.arms.groups import rows_of_arms, squared_norms
from convexdesign.dual_certificate import DualCertificate
from convexdesign.frankwolfe.bounded import filled
from convexdesign.frankwolfe.bounded_minimax import minimax_within_bounds
from convexdesign.frankwolfe.pricing import Pricing, target_pricing
from convexdesign.frankwolfe.symmetric import combine, symmetric_dimension
from convexdesign.frankwolfe.tuning import BOUNDED, BoundedTuning
from convexdesign.frankwolfe.working_set import WorkingSet, batch_size, violators
from convexdesign.problem import Canonical
from convexdesign.trace import Trace
from convexdesign.typing import Floats

__all__ = ["BoundedMinimaxDesign", "minimax_design_within"]


# A weight nearer to its bound than this is at it.
SLACK = 1e-12
# How far masters are solved, as a share of the gap, and of the gap asked for at the end.
MASTER_SHARE, FINAL_SHARE = 0.05, 0.3
# From how near a master begins, in gaps of the point before.
NEAR = 5.0
# Targets with less multiplier, and further below the level than this many gaps, are forgotten.
IDLE, BELOW = 1e-6, 4.0
# To what gap a sample of the arms is solved, and how often, with the targets that join.
SAMPLED, SAMPLINGS = 0.02, 3
# Working sets become half as large where a round has brought the gap to this share, down to one part in so many.
FALL, FEWEST = 0.1, 8


@dataclass(frozen=True, eq=False)
class BoundedMinimaxDesign:
    """Weights (n,) within their bounds, the dual certificate of their gap, and that gap."""

    weights: Floats
    dual: DualCertificate
    gap: float


@dataclass(frozen=True, eq=False)
class _Point:
    """Weights (n,), targets with multipliers, the factor F with FF' = A^-1, and what they price: q (n,), value, gap, bounds.

    settled: no target at all exceeds the value.
    """

    weights: Floats
    targets: WorkingSet
    factor: Floats
    q: Floats
    vertex: Floats
    price: float
    value: float
    gap: float
    settled: bool
    joining: WorkingSet


def minimax_design_within(
    canonical: Canonical,
    trace: Trace,
    lower: Floats,
    upper: Floats,
    stop: Callable[[], bool] = lambda: False,
    tuning: BoundedTuning = BOUNDED,
) -> BoundedMinimaxDesign:
    """Weights between lower (n,) and upper (n,) whose worst variance is within trace.tol of the optimum, as far as rounds lead.

    Raises LinAlgError where the arms that may have weight do not span.
    """
    n, tol = canonical.problem.arms.n, trace.tol
    arms = canonical.whiten_arms(np.arange(n))
    prices = target_pricing(canonical)
    w, targets = _first(canonical, arms, prices, lower, upper, tuning)
    best = at = _priced(canonical, arms, w, targets, prices, lower, upper, tol)
    master_tol = MASTER_SHARE
    least = tuning.per_coordinate * symmetric_dimension(canonical.rank)
    size = most = max(tuning.minimax_most, least)
    for _ in range(tuning.rounds):
        free = _free(at, lower, upper, size, tuning)
        low, high = np.where(free, lower, at.weights), np.where(free, upper, at.weights)
        members = at.joining
        assert members.weights is not None
        found = minimax_within_bounds(
            arms,
            members.vectors,
            low,
            high,
            master_tol,
            prior=canonical.prior,
            start=(at.weights, members.weights),
            near=NEAR * at.gap,
            max_steps=min(trace.iterations_left, tuning.minimax_steps),
            stop=stop,
        )
        trace.iterations += found.steps
        members = replace(members, weights=found.multipliers)
        before, at = at, _priced(canonical, arms, found.weights, members, prices, lower, upper, tol)
        _record(canonical, trace, at)
        best = at if at.gap < best.gap else best
        if (at.settled and at.gap <= tol) or stop() or trace.limit_reached() is not None:
            break
        if found.gap > master_tol and at.joining.size == members.size and at.gap >= before.gap:
            break  # nothing is missing, and the master cannot be solved any better
        master_tol = max(MASTER_SHARE * min(at.gap, 1.0), FINAL_SHARE * tol)
        # The nearer the optimum, the fewer arms have yet to move.
        size = max(size // 2, most // FEWEST, least) if at.gap < FALL * before.gap else min(2 * size, most)
    return _design(canonical, best)


def _first(
    canonical: Canonical, arms: Floats, prices: Pricing, lower: Floats, upper: Floats, tuning: BoundedTuning
) -> tuple[Floats, WorkingSet]:
    """Weights and targets to begin with: even weights and the targets worst for them; of many arms what a sample says."""
    w = _even(lower, upper)
    factor = _factor(canonical, arms, w)
    size = batch_size(canonical.rank)
    priced = prices.price(factor, 0.0)
    worst = violators(priced, 0.0, size, 0.5, factor)
    targets = WorkingSet(priced.index.take(worst), priced.vectors.take(worst, axis=0))
    targets = replace(targets, weights=1.0 / squared_norms(targets.vectors, 1))
    if w.size >= tuning.many:
        found: _Sampled | None = None
        for _ in range(SAMPLINGS):
            found = _by_sample(canonical, arms, targets, lower, upper, found and found.weights, tuning)
            if found is None:
                break
            targets = replace(targets, weights=found.multipliers)
            w = filled(squared_norms(arms @ found.root, canonical.problem.responses), lower, upper)[0]
            above = float(squared_norms(targets.vectors @ found.factor, 1).max()) * (1.0 + SAMPLED)
            priced = prices.price(found.factor, above)
            joined = targets.joined_by(priced, violators(priced, above, size, SAMPLED, found.factor))
            if joined.size == targets.size:
                break
            targets = joined
    try:
        _factor(canonical, arms, w)
    except np.linalg.LinAlgError:
        w = _even(lower, upper)
    return w, targets


def _even(lower: Floats, upper: Floats) -> Floats:
    """The weights that share of the way from the lower to the upper bounds which makes their sum one."""
    share = (1.0 - lower.sum()) / max(float((upper - lower).sum()), 1e-300)
    return lower + min(max(share, 0.0), 1.0) * (upper - lower)


class _Sampled(NamedTuple):
    """Weights of the sample, multipliers of the targets, R with RR' = sum_v mu_v C t_v t_v'C, and F with FF' = C."""

    weights: Floats
    multipliers: Floats
    root: Floats
    factor: Floats


def _by_sample(
    canonical: Canonical,
    arms: Floats,
    targets: WorkingSet,
    lower: Floats,
    upper: Floats,
    sampled: Floats | None,
    tuning: BoundedTuning,
) -> _Sampled | None:
    """What every so manieth arm says, from weights of these to begin with; None where they do not span.

    Their bounds are as many times as wide, so that the best information is about that of all arms.
    """
    assert targets.weights is not None
    n = lower.size
    some = min(max(tuning.sample, tuning.sample_per_coordinate * symmetric_dimension(canonical.rank)), n)
    chosen = np.sort(np.random.default_rng(0).choice(n, some, replace=False))
    rows = arms.take(rows_of_arms(chosen, canonical.problem.responses), axis=0)
    low, high = lower[chosen], np.minimum(upper[chosen] * (n / some), 1.0)
    if high.sum() < 1.0 or not high.sum() > low.sum():
        return None
    low = low * min(lower.sum() / max(float(low.sum()), 1e-300), 1.0 / max(float(low.sum()), 1e-300))
    low = np.minimum(low, high)
    try:
        found = minimax_within_bounds(
            rows,
            targets.vectors,
            low,
            high,
            SAMPLED,
            prior=canonical.prior,
            start=(_even(low, high) if sampled is None else sampled, targets.weights),
        )
        factor = _factor(canonical, rows, found.weights)
    except np.linalg.LinAlgError:
        return None
    root = _root(targets.vectors @ factor, found.multipliers, factor)
    return _Sampled(found.weights, found.multipliers, root, factor)


def _root(images: Floats, multipliers: Floats, factor: Floats) -> Floats:
    """R (r, r) with RR' = C (sum_v mu_v t_v t_v') C, from the images F't_v."""
    triangle = np.asarray(np.linalg.qr(np.sqrt(multipliers)[:, None] * images, mode="r"))
    return np.asarray(factor @ triangle.T)


def _factor(canonical: Canonical, arms: Floats, w: Floats) -> Floats:
    """F with FF' = A(w)^-1."""
    used = np.flatnonzero(w != 0)
    rows = arms if used.size == w.size else arms.take(rows_of_arms(used, len(arms) // w.size), axis=0)
    lower, info = dpotrf(combine(rows.T, w[used], canonical.prior), lower=1)
    if info:
        raise np.linalg.LinAlgError("the arms that may have weight do not span their space")
    return np.asarray(dtrtri(lower, lower=1)[0].T)


def _priced(
    canonical: Canonical,
    arms: Floats,
    w: Floats,
    targets: WorkingSet,
    prices: Pricing,
    lower: Floats,
    upper: Floats,
    tol: float,
) -> _Point:
    """All targets and arms at these weights and multipliers."""
    assert targets.weights is not None
    factor = _factor(canonical, arms, w)
    images = targets.vectors @ factor
    f = squared_norms(images, 1)
    mu = targets.weights / targets.weights.sum()
    level = float(f.max())
    worst = prices.price(factor, level * (1.0 + tol / 3.0))
    value = max(level, float(worst.values.max(initial=0.0)))
    root = _root(images, mu, factor)
    q = squared_norms(arms @ root, canonical.problem.responses)
    held = 0.0 if canonical.prior is None else float(np.vdot(root, canonical.prior @ root))
    vertex, price = filled(q, lower, upper)
    gap = value * (held + float(vertex @ q)) / float(mu @ f**2) - 1.0
    kept = targets
    if targets.size > 2 * batch_size(canonical.rank):
        near = (mu > IDLE * mu.max()) | (f > (1.0 - BELOW * max(gap, tol)) * level)
        kept = targets.kept(near, targets.weights)
    else:
        kept = replace(targets, weights=mu)
    chosen = violators(worst, level * (1.0 + 0.1 * tol), batch_size(canonical.rank), min(gap, 1.0), factor)
    joining = kept.joined_by(worst, chosen)
    return _Point(w, replace(targets, weights=mu), factor, q, vertex, price, value, max(gap, 0.0), worst.below, joining)


def _free(at: _Point, lower: Floats, upper: Floats, size: int, tuning: BoundedTuning) -> NDArray[np.bool_]:
    """The arms to solve for: all, or those that gain most by moving, those between their bounds, and those near the price."""
    w, n = at.weights, at.weights.size
    if n < tuning.many:
        return np.ones(n, dtype=bool)
    away = np.abs(at.q - at.price)
    worth = away * np.abs(at.vertex - w)
    free = np.zeros(n, dtype=bool)
    half = min(size // 2, n - 1)
    chosen = np.argpartition(-worth, half)[:half]
    free[chosen[worth[chosen] > 0]] = True
    free[np.argpartition(away, half)[:half]] = True
    between = np.flatnonzero((w > lower + SLACK) & (w < upper - SLACK))
    free[between[np.argsort(away[between])][: 2 * size]] = True
    return free


def _record(canonical: Canonical, trace: Trace, at: _Point) -> None:
    value = at.value * canonical.target_scale
    trace.record(value, value / (1.0 + at.gap), at.gap, int(np.count_nonzero(at.weights > 1e-9)), at.targets.size)


def _design(canonical: Canonical, at: _Point) -> BoundedMinimaxDesign:
    assert at.targets.weights is not None
    images = at.targets.vectors @ at.factor
    vectors = (np.sqrt(at.targets.weights)[:, None] * images) @ (canonical.basis @ at.factor).T
    return BoundedMinimaxDesign(at.weights, DualCertificate.found(canonical, at.targets.index, vectors), at.gap)
