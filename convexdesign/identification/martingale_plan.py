"""Which batch comes next: the plug-in oracle's proportions, as many pulls as the bets still seem to need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.read import LabelledVectors
from convexdesign.estimation.row_space import RowSpace
from convexdesign.frankwolfe import correct_minimax
from convexdesign.identification.allocations import Allocation
from convexdesign.identification.evidence import Evidence
from convexdesign.identification.identifier import ProblemOver, total_pulls
from convexdesign.problem import DesignProblem
from convexdesign.typing import Counts, Floats, Indices

__all__ = ["WIDEST_GAPS", "ArmsToPull", "Planner", "Wanted", "likely_gaps", "plugin_design"]


# Designs need not be precise: the next one comes soon.
DESIGN_TOLERANCE = 1e-2
# The share of pulls that keeps every direction and every variance in view.
EXPLORATION = 0.005
# A batch is between these shares of all samples so far; early batches, while samples are few, may be larger.
LEAST_BATCH, LARGEST_BATCH = 0.02, 0.3
# A batch brings this part of what is still missing: most of what comes after a bet has been won is lost.
PART = 0.3
# Once some bet is so close to winning, in nats and as a share of what it needs, no batch is larger than this share.
NEAR, NEAR_SHARE, NEAR_BATCH = 2.0, 0.5, 0.1
EARLY_BATCH, EARLY_SAMPLES = 0.5, 16
# Gaps are taken to be at least so many standard deviations: what is not yet seen to be small is not chased.
DEVIATIONS = 2.0
# Gaps so many times the smallest one want next to nothing; of larger ones the squares would overflow.
WIDEST_GAPS = 1e12
# The first batch, in pulls per dimension of the arms; half of it goes to all arms alike where they are few.
FIRST_PULLS = 32
# At most this share of all samples there will be, where their number is limited.
FIRST_SHARE = 0.125
# Up to so many arms and targets together all of them are given to one interior point; `solve` works on few at a time.
MOST_VECTORS = 160
# Weights below this share of the largest are what an interior point leaves of zero.
NEGLIGIBLE = 1e-3


class Allocated(Protocol):
    """Solves a problem, stated for arms and their VARIANCES, over the arms that can be pulled; weights over all arms."""

    def __call__(self, problem: ProblemOver, variances: Floats, **options: Any) -> Allocation: ...


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is still to be decided: directions (k, d) with coordinates (k, r), and likely gaps (k,).

    missing (k,): by how many nats the bets on each fall short. seen: whether earlier rounds tell something of all of them.
    """

    directions: Floats
    coordinates: Floats
    gaps: Floats
    missing: Floats
    seen: bool


@dataclass(frozen=True, eq=False)
class ArmsToPull:
    """The arms in play that `allocated` solves designs over, and how many pulls are left in all.

    within: their span, in coordinates, where it is not everything. at_once: small designs may be found here, without
    `allocated`.
    """

    left: int
    usable: Indices
    within: RowSpace | None
    allocated: Allocated
    at_once: bool


def likely_gaps(estimates: Floats, deviations: Floats) -> Floats:
    """Gaps for planning: the estimates, but at least two of their standard deviations."""
    return np.maximum(estimates, DEVIATIONS * deviations)


def _exploration(arms: LabelledVectors, variances: Floats) -> DesignProblem:
    return DesignProblem.g_optimal(arms)


class Planner:
    """Efficiency only: whatever it plans from earlier rounds, the promise holds.

    After a first batch on the G-optimal design, and another one where something came that nothing is known of, the
    proportions are the oracle's for the likely gaps and the likely variances, with half a percent on the G-optimal design.
    The batch is three tenths of what the direction furthest from being decided seems to need, and adds at least a fiftieth
    and at most three tenths of the samples so far (half as many as there are while they are few); at most a tenth once some
    bet is close to winning: what a batch brings beyond that is lost, and the next design can leave the loser out.
    """

    def __init__(self, evidence: Evidence, threshold: float) -> None:
        self.evidence, self.threshold = evidence, threshold
        self.exploring: Floats | None = None

    def first_counts(self, over: ArmsToPull, limited: bool) -> Counts:
        """Counts (n,) of the first batch; a share of what is left where that is a limit."""
        rank = self.evidence.space.rank if over.within is None else over.within.rank
        total = float(FIRST_PULLS * rank)
        if limited:
            total = min(total, max(FIRST_SHARE * over.left, 2.0 * rank))
        weights = exploring = self._exploring(over)
        if over.usable.size <= total / 4:
            weights = 0.5 * exploring
            weights[over.usable] += 0.5 / over.usable.size
        return _whole(weights, total, over.left)

    def next_counts(
        self, wanted: Wanted, variances: Floats, samples: int, over: ArmsToPull
    ) -> tuple[Allocation, Counts]:
        """The plug-in oracle's design for likely VARIANCES (n,), and counts (n,) of the next batch."""
        oracle, exploring = self._oracle(wanted, variances, over), self._exploring(over)
        weights = (1.0 - EXPLORATION) * oracle.weights + EXPLORATION * exploring
        early = samples < EARLY_SAMPLES * FIRST_PULLS * self.evidence.space.rank
        most = EARLY_BATCH if early else LARGEST_BATCH
        if wanted.missing.min(initial=np.inf) < min(NEAR, NEAR_SHARE * self.threshold):
            most = NEAR_BATCH
        if not np.isfinite(weights).all():
            # Gaps so unequal that their squares overflow: no plan is better than all directions alike.
            return oracle, _whole(exploring, most * samples, over.left)
        # Per pull, V grows by one over the variance y'A(w)^-1 y of the direction, and wealth by gap²/2 times that.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            lacking = PART * 2.0 * wanted.missing / wanted.gaps**2
            deficit = float(np.max(lacking * self._price(wanted, weights, variances, over.within)))
        total = most * samples if np.isnan(deficit) else np.clip(deficit, LEAST_BATCH * samples, most * samples)
        return oracle, _whole(weights, float(total), over.left)

    def _exploring(self, over: ArmsToPull) -> Floats:
        if self.exploring is None or np.delete(self.exploring, over.usable).any():
            self.exploring = over.allocated(_exploration, np.ones(self.evidence.rows.shape[0])).weights
        return self.exploring

    def _oracle(self, wanted: Wanted, variances: Floats, over: ArmsToPull) -> Allocation:
        usable = over.usable
        if over.at_once and usable.size + wanted.gaps.size <= MOST_VECTORS:
            rows, coordinates = self.evidence.rows[usable], wanted.coordinates
            if over.within is not None:
                rows, coordinates = over.within.coordinates(rows), over.within.coordinates(coordinates)
            rows = rows / np.sqrt(variances[usable])[:, None]
            found = plugin_design(rows, coordinates / wanted.gaps[:, None], DESIGN_TOLERANCE)
            if usable.size == variances.size:
                return found
            weights = np.zeros(variances.size)
            weights[usable] = found.weights
            return Allocation(weights, found.value, found.bound)

        def problem(arms: LabelledVectors, noise_variance: Floats) -> DesignProblem:
            return DesignProblem(arms, wanted.directions / wanted.gaps[:, None], noise_variance=noise_variance)

        return over.allocated(problem, variances, tol=DESIGN_TOLERANCE, remember=False)

    def _price(self, wanted: Wanted, weights: Floats, variances: Floats, within: RowSpace | None) -> Floats:
        """y'A(w)^-1 y (k,) of the directions."""
        rows, coordinates = self.evidence.rows, wanted.coordinates
        if within is not None:
            rows, coordinates = within.coordinates(rows), within.coordinates(coordinates)
        R: Floats = np.asarray(np.linalg.qr(np.sqrt(weights / variances)[:, None] * rows, mode="r"))
        image = np.asarray(np.linalg.solve(R.T, coordinates.T), dtype=float)
        return np.asarray(np.einsum("ij,ij->j", image, image))


def _whole(weights: Floats, total: float, left: int) -> NDArray[np.int64]:
    """ceil, or floor where that would go beyond what is left: whole numbers (n,) >= 0, at most `left` in all."""
    counts = np.ceil(total * weights)
    if total_pulls(counts) <= left:
        return counts.astype(np.int64)
    shares = weights / weights.sum()
    largest = np.argsort(-shares, kind="stable")
    whole = np.minimum(np.floor(left * shares), float(left)).astype(np.int64)
    # Whole pulls lost to rounding go to the largest shares, one each; those too many, where doubles cannot count them,
    # come from the largest, which has most of them.
    short = int(left - total_pulls(whole))
    if short >= 0:
        whole[largest[:short]] += 1
    else:
        whole[largest[0]] += short
    return whole


def plugin_design(arms: Floats, targets: Floats, tol: float) -> Allocation:
    """Weights (n,) with max_j t_j'A(w)^-1 t_j within `tol` of the least; arms (n, r), over their noise, span R^r.

    The value is that of the weights as returned, the bound that of the interior point's multipliers.

    >>> np.round(plugin_design(np.eye(2), np.array([[1.0, 0.0], [0.0, 2.0]]), 1e-6).weights, 3)
    array([0.2, 0.8])
    """
    found = correct_minimax(arms, targets, tol)
    weights = np.where(found.weights >= NEGLIGIBLE * found.weights.max(), found.weights, 0.0)
    without = _worst(arms, targets, weights / weights.sum())
    value = _worst(arms, targets, found.weights)
    bound = value / (1.0 + found.gap)
    if without <= (1.0 + tol) * value:
        return Allocation(weights / weights.sum(), without, bound)
    return Allocation(found.weights, value, bound)


def _worst(arms: Floats, targets: Floats, weights: Floats) -> float:
    try:
        L = np.linalg.cholesky((arms.T * weights) @ arms)
    except np.linalg.LinAlgError:
        return float("inf")
    image = np.linalg.solve(L, targets.T)
    return float(np.einsum("ij,ij->j", image, image).max())
