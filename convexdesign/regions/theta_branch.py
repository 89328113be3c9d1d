"""A lower bound on log Phi of one design over a box of parameters, by interval branch and bound.

With settings x_i of effort e_i (weight over price) and f_i(theta) = f(x_i; theta), A(theta) = A0 + sum_i e_i f_i f_i'. On a box
with centre c let F be any regular matrix, in practice F'A(c)F = I, and E(theta) = F'A(theta)F - I. Where |E| <= eps < 1 in the
Frobenius norm, log(1 + t) >= t - t^2/(2 (1 - eps)) and 1/(1 + t) <= 1 - t + t^2/(1 - eps) for all eigenvalues t of E, so that

    log det(A)/d                 >= log det(FF')^-1 / d + tr(E)/d - |E|^2 / (2 d (1 - eps)),
    -log tr(A^-1 M)              >= -log tr(m) + (tr(mE) - |m| |E|^2/(1 - eps)) / tr(m),     m = F'MF,
    -log det(K'A^-1K)/s          >= -log det(N)/s + (tr(mE) - |E|^2/(1 - eps)) / s,          N = K'FF'K, m = F'K N^-1 K'F.

Each is first order in theta through tr(GE) = sum_i e_i |B'f_i(theta)|^2 + constant, one function of theta that the
mean-value and second-order forms bound, and |E|^2 is of second order in the size of the box: boxes need not shrink to a
minimum.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convexdesign.compound.components import component_of
from convexdesign.regions.branch import AFTER, forms, scaled
from convexdesign.regions.generalised import GlmModel, NonlinearCurve, NonlinearModel
from convexdesign.regions.intervals import UNIT, Interval, Jet
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.region import Region
from convexdesign.regions.search import maximise, spread_points
from convexdesign.typing import Floats, Indices

__all__ = ["LowestInformation", "ThetaBranch", "at_theta"]

BATCH = 512
MOST_BOXES = 200_000
# A side that is shorter than this share of the longest is not halved.
NARROW = 1.0 / 16.0
# What the roundings of F, of its determinant and of the prices may change a logarithm by, for each parameter.
CHARGE = 256 * UNIT


@dataclass(frozen=True, eq=False)
class LowestInformation:
    """log Phi >= value for all parameters of the box; else parameters that refute it; how many boxes it took."""

    value: float
    refuting: Floats
    boxes: int


class ThetaBranch:
    """One design, settings x of pieces with weights, of a problem whose parameters lie in a box."""

    def __init__(self, problem: RegionProblem, box: Region, where: Sequence[int] | Indices, x: Floats, weights: Floats):
        """problem: at any parameters of the box."""
        self.problem, self.box, self.curve = problem, box, problem.curve
        self.where, self.x = [int(k) for k in where], x
        self.effort = weights / problem.prices(x)
        self.low, self.high = (np.array(ends, dtype=float) for ends in (box.lower, box.upper))
        self.d, self.p = problem.curve.d, box.q
        component = component_of(problem.finite(self.where, x))
        self.prior = np.zeros((self.d, self.d))
        if problem.prior is not None and problem.n_new is not None:
            self.prior = problem.prior / problem.n_new
        self.is_determinant = component.form.is_determinant
        self.L = None if problem.kind == "d_optimal" else aim_of(problem)

    # ------------------------------------------------------------ in floating point

    def values(self, thetas: Floats) -> Floats:
        """log Phi at the rows of thetas (m, p); minus infinity where the design does not measure what is wanted."""
        A = self.information(thetas)
        with np.errstate(all="ignore"):
            scale = 1.0 / np.sqrt(np.einsum("mii->mi", A))
            level, V = np.linalg.eigh(np.nan_to_num(A * scale[:, :, None] * scale[:, None, :]))
            ok = (level[:, 0] > 1e-13 * level[:, -1]) & np.isfinite(A).all(axis=(1, 2))
            level = np.where(ok[:, None], level, 1.0)
            if self.L is None:
                found = (np.log(level).sum(axis=1) - 2.0 * np.log(scale).sum(axis=1)) / self.d
            else:
                image = np.swapaxes(V, 1, 2) @ (scale[:, :, None] * self.L)
                N = np.swapaxes(image, 1, 2) @ (image / level[:, :, None])
                if self.is_determinant:
                    found = -np.linalg.slogdet(N)[1] / N.shape[1]
                else:
                    found = -np.log(np.einsum("mkk->m", N))
        return np.where(ok & np.isfinite(found), found, -np.inf)

    def information(self, thetas: Floats) -> Floats:
        """A (m, d, d) at the rows of thetas."""
        A = np.broadcast_to(self.prior, (len(thetas), self.d, self.d)).copy()
        for piece, x, effort in zip(self.where, self.x, self.effort):
            f = self.rows_at(piece, x, thetas)
            A += effort * f[:, :, None] * f[:, None, :]
        return A

    def rows_at(self, piece: int, x: Floats, thetas: Floats) -> Floats:
        """f(x; theta) with the root of its weight, (m, d)."""
        if isinstance(self.curve, NonlinearCurve):
            values = self.settings(piece, x) | {name: thetas[:, k] for k, name in enumerate(self.box.names)}
            columns = [np.asarray(tree.at(values), dtype=float) for tree in self.curve.trees]
            return np.stack([np.broadcast_to(column, (len(thetas),)) for column in columns], axis=1)
        g = self.curve.rows(piece, x[None, :])[0]
        node = self.curve.weight
        assert node is not None
        weight = np.broadcast_to(node.at({"eta": thetas @ g}), (len(thetas),))
        return np.sqrt(weight)[:, None] * g

    def settings(self, piece: int, x: Floats) -> dict[str, Any]:
        """The factors, and the parameters that are known."""
        assert isinstance(self.curve, NonlinearCurve)
        region = self.curve.region
        values = self.curve.constants(piece) | {name: float(x[k]) for k, name in enumerate(region.names)}
        return values | {name: float(p.at(x[None, :])[0]) for name, p in region.eliminated}

    def lowest(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Local minima over the box that a search finds, the lowest first: parameters (k, p) and values (k,)."""
        starts = np.vstack([spread_points(self.box, 4, rng, 50), self.box_corners()])
        thetas, height = maximise(lambda t: -self.values(t), self.box, starts, 12)
        return thetas, -height

    def box_corners(self) -> Floats:
        """All corners of the box."""
        return np.array(np.meshgrid(*zip(self.low, self.high), indexing="ij")).reshape(self.p, -1).T

    # -------------------------------------------------------------------- the proof

    def prove(self, least: float, deadline: float = np.inf) -> LowestInformation:
        """Whether log Phi >= least everywhere in the box, and if not what is known."""
        # With each batch of boxes what is known of all of them: a half has no smaller values than the whole.
        waiting = [(self.low[None, :], self.high[None, :], -np.inf)]
        count, known = 0, np.inf
        while waiting:
            low, high, _ = waiting.pop()
            count += len(low)
            middle = (low + high) / 2.0
            at = self.values(middle)
            if (at < least).any():
                return LowestInformation(-np.inf, middle[at < least], count)
            bound, axis = self.judged(low, high)
            if count > MOST_BOXES or time.perf_counter() > deadline:
                waiting.sort(key=lambda batch: batch[2])
                ends = [float(self.bound(a, b).min()) for a, b, _ in waiting[:AFTER]]
                known = min([float(bound.min()), *ends, *(below for _, _, below in waiting[AFTER:])])
                break
            left = np.asarray(bound < least, dtype=bool)
            low, high, axis, bound = low[left], high[left], axis[left], bound[left]
            if not len(low):
                continue
            rows = np.arange(len(low))
            first, second = high.copy(), low.copy()
            first[rows, axis] = second[rows, axis] = middle[left][rows, axis]
            low, high, bound = (
                np.stack(pair, axis=1).reshape(2 * len(bound), -1)
                for pair in ((low, second), (first, high), (bound, bound))
            )
            parts = [slice(start, start + BATCH) for start in range(0, len(low), BATCH)]
            waiting += [(low[part], high[part], float(bound[part].min())) for part in parts]
        return LowestInformation(min(least, known), np.empty((0, self.p)), count)

    def bound(self, low: Floats, high: Floats) -> Floats:
        """A lower bound on log Phi over each box."""
        return self.judged(low, high)[0]

    def judged(self, low: Floats, high: Floats) -> tuple[Floats, Indices]:
        """A lower bound on log Phi over each box, and the parameter that it is to be halved along."""
        n, d = len(low), self.d
        centre = (low + high) / 2.0
        A = self.information(centre)
        ok = np.asarray(np.isfinite(A).all(axis=(1, 2)))
        level, V = np.linalg.eigh(np.where(ok[:, None, None], A, np.eye(d)))
        ok &= level[:, 0] > 1e-14 * level[:, -1]
        level = np.where(ok[:, None], level, 1.0)
        F = V / np.sqrt(level)[:, None, :]
        start = np.log(level).sum(axis=1) / d
        if self.L is None:
            G, share = np.broadcast_to(np.eye(d) / np.sqrt(d), (n, d, d)), np.full(n, 1.0 / (2.0 * d))
        else:
            image = np.swapaxes(F, 1, 2) @ self.L
            if self.is_determinant:
                s = self.L.shape[1]
                N = np.swapaxes(image, 1, 2) @ image
                start = -np.linalg.slogdet(N)[1] / s
                root = np.linalg.cholesky(N)
                G = np.swapaxes(np.linalg.solve(root, np.swapaxes(image, 1, 2)), 1, 2) / np.sqrt(s)
                share = np.full(n, 1.0 / s)
            else:
                total = np.einsum("nij,nij->n", image, image)
                start, G = -np.log(total), image / np.sqrt(total)[:, None, None]
                share = np.einsum("nij,nij->n", G, G)
        B = F @ G
        wide, narrow = self.whitened(F, Interval(low, high)), self.whitened(F, Interval(centre, centre))
        over, point = self.traces(B, G, wide), self.traces(B, G, narrow)
        radius = np.maximum(high - centre, centre - low) * (1.0 + 4 * UNIT)
        first_order = -np.fmin(-over.value.lo, forms(-point, -over, radius))
        first_order = first_order + np.einsum("nik,ij,njk->n", B, self.prior, B) - np.einsum("nij,nij->n", G, G)
        moved = self.change(F, wide, narrow, radius)
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.sqrt(np.sum(moved.size**2, axis=(1, 2))) * (1.0 + d * d * UNIT)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            found = start + first_order - share * (1.0 + 1e-9) * size**2 / (1.0 - size)
            found = found - CHARGE * d * (4.0 + np.abs(start) + np.abs(first_order))
        found = np.where((size < 0.99) & np.isfinite(found), found, -np.inf)
        # What loosens a bound is how far the information moves along a parameter.
        with np.errstate(invalid="ignore", over="ignore"):
            index = range(self.p)
            felt = over.gradient.size * radius + over.hessian.size[:, index, index] * radius**2
        share = (high - low) / (self.high - self.low)
        felt = np.where(np.isfinite(felt).all(axis=1, keepdims=True), felt, share)
        # A parameter that is hardly felt by this sum may be felt by others.
        axis = np.argmax(np.where(share >= NARROW * share.max(axis=1, keepdims=True), felt, -1.0), axis=1)
        return np.where(ok & np.isfinite(found), found, -np.inf), axis

    def whitened(self, F: Floats, box: Interval) -> list[list[Jet]]:
        """Of every setting F'f over boxes of the parameters; of a generalised linear model its weight alone."""
        out = []
        for piece, x in zip(self.where, self.x):
            jets, weight = self.jets(piece, x, box)
            out.append([weight] if weight is not None else [mixed(jets, F[:, :, k]) for k in range(self.d)])
        return out

    def traces(self, B: Floats, G: Floats, settings: list[list[Jet]]) -> Jet:
        """sum_i e_i |B'f_i|^2 over boxes of the parameters, B = FG, from F'f_i."""
        out: Jet | None = None
        for piece, x, effort, z in zip(self.where, self.x, self.effort, settings):
            if self.curve.weight is not None:
                # Linear functions that do not depend on the parameters, times one weight that does.
                g = self.curve.rows(piece, x[None, :])[0]
                part = scaled(z[0], effort * np.sum((np.swapaxes(B, 1, 2) @ g) ** 2, axis=1))
            else:
                columns = z if self.L is None else [mixed(z, G[:, :, k]) for k in range(G.shape[2])]
                squares = columns[0].power(2)
                for column in columns[1:]:
                    squares = squares + column.power(2)
                part = squares * float(effort / self.d if self.L is None else effort)
            out = part if out is None else out + part
        assert out is not None
        return out

    def jets(self, piece: int, x: Floats, box: Interval) -> tuple[list[Jet], Jet | None]:
        """f by its entries; or, of a generalised linear model, its weight."""
        n = len(box.lo)
        if isinstance(self.curve, NonlinearCurve):
            values = self.settings(piece, x) | {name: Jet.coordinate(box, k) for k, name in enumerate(self.box.names)}
            return [as_jet(tree.over(values), n, self.p) for tree in self.curve.trees], None
        node = self.curve.weight
        assert node is not None
        g = self.curve.rows(piece, x[None, :])[0]
        eta = Jet.coordinate(box, 0) * float(g[0])
        for k in range(1, self.d):
            eta = eta + Jet.coordinate(box, k) * float(g[k])
        return [], as_jet(node.over({"eta": eta}), n, self.p)

    def change(self, F: Floats, wide: list[list[Jet]], narrow: list[list[Jet]], radius: Floats) -> Interval:
        """F'A(theta)F - I over each box, (n, d, d)."""
        d = self.d
        held = np.swapaxes(F, 1, 2) @ self.prior @ F - np.eye(d)
        total = Interval(held - 1e-13, held + 1e-13)
        for piece, x, effort, over, at in zip(self.where, self.x, self.effort, wide, narrow):
            near = [nearby(jet, point, radius) for jet, point in zip(over, at)]
            if self.curve.weight is not None:
                image = np.swapaxes(F, 1, 2) @ self.curve.rows(piece, x[None, :])[0]
                outer = effort * image[:, :, None] * image[:, None, :]
                total = total + Interval(near[0].lo[:, None, None], near[0].hi[:, None, None]) * outer
                continue
            z = Interval(np.stack([part.lo for part in near], axis=1), np.stack([part.hi for part in near], axis=1))
            product = z[:, :, None] * z[:, None, :]
            index, own = np.arange(d), z.square()
            product.lo[:, index, index], product.hi[:, index, index] = own.lo, own.hi
            total = total + product * float(effort)
        return total


def mixed(jets: list[Jet], factors: Floats) -> Jet:
    """Their sum with factors (n, len(jets)), for each box its own."""
    out = scaled(jets[0], factors[:, 0])
    for k in range(1, len(jets)):
        out = out + scaled(jets[k], factors[:, k])
    return out


def nearby(over: Jet, at: Jet, radius: Floats) -> Interval:
    """The value over the box by its natural extension and by the mean value, whichever is narrower at each end."""
    with np.errstate(invalid="ignore"):
        step = np.sum(np.where(radius > 0, over.gradient.size * radius, 0.0), axis=1) * (1.0 + 8 * UNIT)
        low, high = at.value.lo - step, at.value.hi + step
    off = 8 * UNIT * (np.abs(low) + np.abs(high))
    return Interval(np.fmax(over.value.lo, low - off), np.fmin(over.value.hi, high + off))


def as_jet(found: Any, n: int, p: int) -> Jet:
    """What does not depend on the parameters too."""
    if isinstance(found, Jet):
        return found
    wide = Interval(np.broadcast_to(found.lo, (n,)), np.broadcast_to(found.hi, (n,)))
    return Jet(wide, Interval.of(np.zeros((n, p))), Interval.of(np.zeros((n, p, p))))


def aim_of(problem: RegionProblem) -> Floats:
    """L or K in the coordinates of the model itself."""
    fields = problem.fields
    if "interest" in fields:
        return np.asarray(fields["interest"])
    if "direction" in fields:
        return np.asarray(fields["direction"])[:, None]
    level, V = np.linalg.eigh(fields["M"])
    keep = level > 1e-14 * level[-1]
    return np.asarray(V[:, keep] * np.sqrt(level[keep]))


def at_theta(
    model: GlmModel | NonlinearModel, names: Sequence[str], thetas: Floats
) -> tuple[GlmModel, ...] | tuple[NonlinearModel, ...]:
    """The model at the rows of thetas, whose columns are these parameters; the others stay as they are."""
    if isinstance(model, GlmModel):
        return tuple(replace(model, theta=tuple(row)) for row in thetas.tolist())
    out = []
    for row in thetas.tolist():
        known = dict(zip(model.names, model.theta)) | dict(zip(names, row))
        out.append(replace(model, theta=tuple(known[name] for name in model.names)))
    return tuple(out)
