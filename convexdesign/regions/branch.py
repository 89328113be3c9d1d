"""An upper bound on a sensitivity over a region by interval branch and bound, for models that are no polynomials.

The region lies in the box |u_k| <= 1. A box X with centre c and radii r is discarded where one of these upper bounds of p over
X is at most lambda, all in outward-rounded arithmetic:

- the natural extension of p = |B h(u)|^2 omega(u);
- the mean-value form p(c) + sum_k |dp_k(X)| r_k;
- the second-order form p(c) + sum_k max over |t| <= r_k of (|dp_k(c)| t + H_kk t^2 / 2) + sum_(k<l) |H_kl| r_k r_l, H the upper
  ends of the Hessian over X: at a maximum, where the gradient vanishes and H_kk < 0, boxes need not shrink to it.

Where dp_k has one sign on X the maximum is on a face, which replaces X (only where the region is the whole box: a
face may leave a region with inequalities). With inequalities g_i >= 0 the last two forms are also taken of p + sum_i
mu_i g_i, at least p on the region for any mu_i >= 0; mu makes the gradient at c small, so that a maximum on a
boundary is like one inside. A box on which an inequality is violated everywhere is outside. Every other box is
halved. The boxes discarded cover the region, so that p <= lambda on it. A centre inside with p(c) > lambda refutes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.regions.intervals import UNIT, Interval, Jet, combined
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.tape import as_tree, number
from convexdesign.typing import Floats, Indices

__all__ = ["Branch", "BranchProof"]

Mask = NDArray[np.bool_]
BATCH = 4096
MOST_BOXES = 3_000_000
# Batches that are looked at after the deadline, the worst; of the others what is known of the boxes that they come from counts.
AFTER = 4


@dataclass(frozen=True, eq=False)
class BranchProof:
    """p <= value on the piece; the settings (k, q) that refute a smaller one; how many boxes it took."""

    value: float
    refuting: Floats
    boxes: int


class Branch:
    """Branch and bound for one problem; priced: with noise, cost and the weights of a generalised linear model."""

    def __init__(self, problem: RegionProblem, priced: bool = True):
        self.problem, self.frame, self.region = problem, problem.frame, problem.region
        self.q, self.batch = self.region.q, BATCH
        self.low = np.array(self.region.lower, dtype=float)
        self.high = np.array(self.region.upper, dtype=float)
        self.inequalities = [as_tree(g) for g in self.region.inequalities]
        self.price = None if problem.price is None or not priced else tuple(as_tree(p) for p in problem.price)
        self.weighted = priced and problem.curve.weight is not None

    def prove(self, piece: int, B: Floats, lam: float, deadline: float) -> BranchProof:
        """Whether p <= lam on the piece, and if not what is known."""
        q = self.q
        # With each batch of boxes what is known of all of them: a half has no larger values than the whole.
        waiting = [(np.full((1, q), -1.0), np.full((1, q), 1.0), np.inf)]
        count, left_over = 0, 0.0
        while waiting:
            low, high, _ = waiting.pop()
            count += len(low)
            proven, bound, refuting, low, high, axis = self._judge(piece, B, low, high, lam)
            if len(refuting):
                return BranchProof(np.inf, self.frame.unscaled(refuting), count)
            if count > MOST_BOXES or time.perf_counter() > deadline or not q:
                left_over = max(left_over, float(bound[~proven].max(initial=0.0)))
                if not q:
                    continue
                waiting.sort(key=lambda batch: -batch[2])
                ends = [float(self._judge(piece, B, a, b, lam)[1].max()) for a, b, _ in waiting[:AFTER]]
                left_over = max([left_over, *ends, *(known for _, _, known in waiting[AFTER:])])
                break
            low, high, axis, bound = low[~proven], high[~proven], axis[~proven], bound[~proven]
            if not len(low):
                continue
            rows = np.arange(len(low))
            middle = (low[rows, axis] + high[rows, axis]) / 2.0
            first_high, second_low = high.copy(), low.copy()
            first_high[rows, axis], second_low[rows, axis] = middle, middle
            # Halves lie next to one another, so that a batch has the bound of its own.
            low, high, bound = (
                np.stack(pair, axis=1).reshape(2 * len(bound), -1)
                for pair in ((low, second_low), (first_high, high), (bound, bound))
            )
            for start in range(0, len(low), self.batch):
                part = slice(start, start + self.batch)
                waiting.append((low[part], high[part], float(bound[part].max())))
        return BranchProof(max(lam, left_over), np.empty((0, q)), count)

    def _judge(
        self, piece: int, B: Floats, low: Floats, high: Floats, lam: float
    ) -> tuple[Mask, Floats, Floats, Floats, Floats, Indices]:
        """Which boxes are done, their bounds, refuting centres, the boxes (perhaps faces now), and where to halve them."""
        if self.q == 0:
            p = self.sensitivity(piece, B, Interval(low, high)).value
            return p.hi <= lam, p.hi, np.empty((0, 0)), low, high, np.zeros(len(low), dtype=int)
        over = self.sensitivity(piece, B, Interval(low, high))
        if not self.inequalities:
            up, down = over.gradient.lo > 0, over.gradient.hi < 0
            low, high = np.where(up, high, low), np.where(down, low, high)
        centre = (low + high) / 2.0
        radius = np.maximum(high - centre, centre - low) * (1.0 + 4 * UNIT)
        at = self.sensitivity(piece, B, Interval(centre, centre))
        bound = np.minimum(over.value.hi, forms(at, over, radius))
        if self.inequalities:
            outside, lifted = self._constrained(low, high, centre, radius, at, over)
            bound = np.where(outside, -np.inf, np.minimum(bound, lifted))
        inside = self._inside(centre)
        refuting = centre[inside & (at.value.lo > lam)]
        with np.errstate(invalid="ignore"):
            smear = over.gradient.size * radius + over.hessian.size[:, range(self.q), range(self.q)] * radius**2
        smear = np.where(np.isfinite(smear), smear, radius * 1e300)
        smear = np.where(radius > 0, smear, -1.0)
        return bound <= lam, bound, refuting, low, high, np.argmax(smear, axis=1)

    def _constrained(
        self, low: Floats, high: Floats, centre: Floats, radius: Floats, at: Jet, over: Jet
    ) -> tuple[Mask, Floats]:
        """Which boxes are outside, and bounds on p + sum_i mu_i g_i, g the inequalities and the sides of the box."""
        wide, point = Interval(low, high), Interval(centre, centre)
        settings, fixed = self._settings(wide), self._settings(point)
        pairs = [(g.over(settings), g.over(fixed)) for g in self.inequalities]
        for k in range(self.q):
            pairs.append((-Jet.coordinate(wide, k) + 1.0, -Jet.coordinate(point, k) + 1.0))
            pairs.append((Jet.coordinate(wide, k) + 1.0, Jet.coordinate(point, k) + 1.0))
        outside = np.zeros(len(low), dtype=bool)
        for g, _ in pairs[: len(self.inequalities)]:
            outside |= g.value.hi < 0
        slopes = np.stack([g.gradient.lo / 2.0 + g.gradient.hi / 2.0 for _, g in pairs], axis=1)
        reach = 4.0 * np.einsum("nmk,nk->nm", np.abs(slopes), radius)
        near = np.stack([g.value.lo for _, g in pairs], axis=1) <= reach
        length = np.maximum(np.einsum("nmk,nmk->nm", slopes, slopes), 1e-300)
        rest = np.nan_to_num(at.gradient.lo / 2.0 + at.gradient.hi / 2.0)
        mu = np.zeros(near.shape)
        for _ in range(12):
            for i in range(len(pairs)):
                new = np.maximum(mu[:, i] - np.einsum("nk,nk->n", slopes[:, i], rest) / length[:, i], 0.0) * near[:, i]
                rest = rest + (new - mu[:, i])[:, None] * slopes[:, i]
                mu[:, i] = new
        for i, (g, g_at) in enumerate(pairs):
            over, at = over + scaled(g, mu[:, i]), at + scaled(g_at, mu[:, i])
        return outside, forms(at, over, radius)

    def _inside(self, u: Floats) -> Mask:
        return self.region.inside(self.frame.unscaled(u), 0.0) if self.inequalities else np.ones(len(u), dtype=bool)

    def _settings(self, u: Interval) -> dict[str, Jet]:
        """The factors as functions of u."""
        out = {}
        for k, name in enumerate(self.region.names):
            centre, half = self.region.centre[k], self.region.half[k]
            a, b = number(centre).over({}), number(half).over({})
            out[name] = Jet.coordinate(u, k) * b + a
        return out

    def sensitivity(self, piece: int, B: Floats, u: Interval) -> Jet:
        """p = |B h|^2 omega over boxes of u."""
        parts = self.frame.jets(piece, u)
        H = self.frame.H[piece]
        h = [combined(H, part, 2 * UNIT) for part in (parts.value, parts.gradient, parts.hessian)]
        z, dz, ddz = (combined(B, part) for part in h)
        value = total(z.square())
        gradient = total(z[:, :, None] * dz) * 2.0
        cross = dz[:, :, :, None] * dz[:, :, None, :]
        index = np.arange(self.q)
        own = dz.square()
        cross.lo[:, :, index, index], cross.hi[:, :, index, index] = own.lo, own.hi
        hessian = (total(cross) + total(z[:, :, None, None] * ddz)) * 2.0
        p = Jet(value, gradient, hessian)
        if self.weighted:
            p = p * self.frame.weight_jet(piece, parts)
        return self.over_price(p, u)

    def over_price(self, p: Jet, u: Interval) -> Jet:
        """p divided by noise and cost, over boxes of u."""
        if self.price is None:
            return p
        settings = self._settings(u)
        top, bottom = (node.over(settings) for node in self.price)
        return p * bottom / top


def forms(at: Jet, over: Jet, radius: Floats) -> Floats:
    """The smaller of the mean-value form and the second-order form, rounded up."""
    q = radius.shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        first = at.value.hi + np.sum(np.where(radius > 0, over.gradient.size * radius, 0.0), axis=1)
        slope, bend = at.gradient.size, over.hessian.hi[:, range(q), range(q)]
        step = np.where(bend < 0, np.minimum(slope / np.maximum(-bend, 1e-300), radius), radius)
        gain = np.where(radius > 0, slope * step + bend * step**2 / 2.0, 0.0)
        # A step rounded is a little off the maximum; what that costs is of second order, and charged.
        gain = np.maximum(gain, 0.0) * (1.0 + 16 * UNIT) + 16 * UNIT * slope * radius
        across = np.zeros(len(radius))
        for k in range(q):
            for j in range(k):
                across += np.where(
                    radius[:, k] * radius[:, j] > 0, over.hessian.size[:, k, j] * radius[:, k] * radius[:, j], 0.0
                )
        second = at.value.hi + gain.sum(axis=1) + across
        first = first + 8 * (q + 2) * UNIT * np.abs(first)
        second = second + 16 * (q + 2) ** 2 * UNIT * (np.abs(second) + np.abs(at.value.hi))
    return np.fmin(np.where(np.isnan(first), np.inf, first), np.where(np.isnan(second), np.inf, second))


def scaled(g: Jet, factor: Floats) -> Jet:
    """Each box its own multiple."""
    return Jet(g.value * factor, g.gradient * factor[:, None], g.hessian * factor[:, None, None])


def total(x: Interval) -> Interval:
    """Sums over the second axis."""
    with np.errstate(invalid="ignore"):
        low, high = x.lo.sum(axis=1), x.hi.sum(axis=1)
        off = (x.lo.shape[1] + 2) * UNIT * np.maximum(np.abs(x.lo), np.abs(x.hi)).sum(axis=1)
        low, high = low - off, high + off
    return Interval(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))
