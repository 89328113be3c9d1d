"""The search for settings over a region: the best design on a list of them, and where its sensitivity is too large, in turn.

Settings are spread over the region; the optimal design over the list of them, by the methods for lists, gives the vectors b_j;
local maxima of the sensitivity p_b over the region become settings, those without weight leave; settings closer than MERGED
become one. Where the problem has symmetries a setting stands for all of its images until the end. Nothing here is trusted.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from dataclasses import dataclass, replace

import numpy as np

from convexdesign.certificate import certify
from convexdesign.design import Design
from convexdesign.errors import ConvergenceWarning, ConvexDesignError, SolverError, UnidentifiableError
from convexdesign.outcome import Status
from convexdesign.problem import DesignProblem, canonicalise
from convexdesign.regions.ascent import Barrier, ChebyshevFunctions, Pointwise
from convexdesign.regions.branch import Branch
from convexdesign.regions.criteria import Vectors, dimension, gap_of, proven_bound, vectors_of
from convexdesign.regions.intervals import Interval
from convexdesign.regions.model import Curve
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.proof import RegionProver
from convexdesign.regions.region import Region
from convexdesign.regions.search import Function, apart, clusters, maximise, spread_points, thinned
from convexdesign.regions.symmetry import Symmetry, symmetry_of
from convexdesign.typing import Floats, Indices

__all__ = ["SHARE", "Search", "SearchOutcome", "given_design", "inverse_root", "solved_finite"]

ROUNDS = 60
# Settings for each factor of a first grid, by the number of factors, for models that are no polynomials.
PER_AXIS = {1: 201, 2: 31, 3: 13, 4: 7}
# Settings closer than this share of the box are tried as one.
MERGED = 0.02
# The search ends when what it finds leaves this share of the tolerance.
SHARE = 0.1
START = 60_000
# Entries of the matrix in which settings are thinned out.
MOST_ENTRIES = 1_500_000
FEWEST = 4000
# What a design over a list may take after the deadline.
LEAST_SECONDS = 0.5
# Local searches of one round over all pieces.
SEARCHES = 60
# The same with inequalities for models that are no polynomials, whose derivatives take longer.
FEW_SEARCHES = 80
# With so many images it pays to seek settings for all of them at once; of one at most so many are spelt out.
FEWEST_IMAGES = 8
MOST_IMAGES = 30_000
MOST_LISTED = 50_000
# Entries of the means over the images of all settings to start from.
START_ENTRIES = 4_000_000
AVERAGES = ("a_optimal", "i_optimal", "average_variance")


class Scattered(Exception):
    """A setting has too many images."""


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """A design over a list of settings, its vectors, and the largest sensitivity known, at settings like its own.

    symmetry: each setting stands for all of its images, in equal shares; None for itself alone.
    value: of the criterion in the frame's coordinates; of G the largest variance over the region that is known.
    """

    where: Indices
    x: Floats
    design: Design
    vectors: Vectors
    most: float
    value: float
    symmetry: Symmetry | None = None


class Search:
    """The search for one problem: settings in, better settings out. Nothing here is trusted."""

    def __init__(self, problem: RegionProblem, seed: int = 0, deadline: float = np.inf):
        # Designs over lists and searches end by then.
        self.deadline = deadline
        # Why designs over lists are out of reach, where they are.
        self.beyond = ""
        self.problem, self.frame, self.region = problem, problem.frame, problem.region
        self.rng = np.random.default_rng(seed)
        self.is_free_g = problem.predicts_region and not problem.is_kiefer_wolfowitz
        # The variances of G are those of the design itself, and not of one that is symmetric; where G is D it is symmetric.
        self.symmetry = None if self.is_free_g else symmetry_of(problem)
        self.orbits = self._orbits()
        self.starts = self._spread()
        self.targets: Floats | None = self._first_targets() if self.is_free_g else None
        self.variances = RegionProver(self.frame, None) if isinstance(problem.curve, Curve) else None
        self.barrier = self._barrier() if self.region.inequalities else None

    def _spread(self) -> list[Floats]:
        """For every piece the settings to start from."""
        problem = self.problem
        degree = max(problem.curve.degree, 1)
        pieces = len(self.region.pieces)
        least = max(-(-2 * problem.curve.d // pieces), 4)
        fine = None if problem.is_polynomial else max(PER_AXIS.get(self.region.q, 5), 2 * degree + 1)
        x = spread_points(self.region, degree, self.rng, least, fine) if self.orbits is None else self._chamber(degree)
        x = x[problem.allowed(x)]
        room = START if pieces == 1 else max(FEWEST // pieces, least)
        return [x if len(x) <= room else x[self.rng.permutation(len(x))[:room]] for _ in range(pieces)]

    def first(self) -> SearchOutcome:
        """The best design over the settings to start from."""
        where = np.concatenate([np.full(len(x), piece) for piece, x in enumerate(self.starts)])
        return self.solved(where, np.vstack(self.starts), 1e-4, self.orbits)

    def _orbits(self) -> Symmetry | None:
        """The symmetry, where settings are sought for all of their images at once."""
        symmetry, problem = self.symmetry, self.problem
        is_d = problem.kind == "d_optimal" or problem.is_kiefer_wolfowitz
        if symmetry is None or symmetry.order < FEWEST_IMAGES or not (is_d or problem.kind in AVERAGES):
            return None
        return symmetry if is_d or symmetry.leaves(problem.restated["M"]) else None

    def _chamber(self, degree: int) -> Floats:
        """Settings to start from, one of all images each."""
        assert self.orbits is not None
        if self.region.inequalities:
            u = self.frame.scaled(spread_points(self.region, degree, self.rng, self.frame.d))
            u = self.orbits.chamber(u)
            u = u[self.rng.permutation(len(u))]
            return self.frame.unscaled(thinned(u, np.full(u.shape[1], -1.0), np.ones(u.shape[1]), 0.05, FEWEST))
        # Each setting stands for a matrix of d x d.
        room = min(FEWEST, max(START_ENTRIES // self.frame.d**2, self.frame.d // 2))
        for axis in range(2 * degree + 1, 2, -2):
            values = np.asarray(np.round(np.cos(np.pi * np.arange(axis) / (axis - 1)), 15) + 0.0)
            if self.orbits.count(values) <= room:
                return self.frame.unscaled(self.orbits.grid(values))
        u = self.orbits.chamber(self.rng.choice([-1.0, 0.0, 1.0], size=(4 * FEWEST, self.region.q)))
        u = np.unique(u, axis=0)
        return self.frame.unscaled(u[self.rng.permutation(len(u))[:room]])

    @property
    def by_formula(self) -> bool:
        """Whether sensitivities are no polynomials over one."""
        return not self.problem.is_polynomial

    def branch(self, priced: bool) -> Branch:
        """Sensitivities over boxes."""
        return Branch(self.problem, priced)

    def _first_targets(self) -> Floats:
        rows = np.vstack([self.frame.piece_rows(piece, x, False) for piece, x in enumerate(self.starts)])
        return rows[self.rng.permutation(len(rows))[: 4 * self.frame.d]]

    def _barrier(self) -> Barrier:
        """The region's inequalities and the sides of its box, in coordinates between -1 and 1."""
        region, q = self.region, self.region.q
        g = [{key: float(value) for key, value in region.scaled(p).items()} for p in region.inequalities]
        g = [{key: value / sum(map(abs, p.values())) for key, value in p.items()} for p in g]
        for k in range(q):
            side = tuple(int(j == k) for j in range(q))
            g += [{(0,) * q: 1.0, side: 1.0}, {(0,) * q: 1.0, side: -1.0}]
        price = None
        if self.problem.price is not None:
            price = ChebyshevFunctions.of(
                [{key: float(v) for key, v in region.scaled(p).items()} for p in self.problem.price], q
            )
        return Barrier(ChebyshevFunctions.of(g, q), price)

    def best_near(self, piece: int, B: Floats, starts: Floats, most: int, priced: bool = True) -> tuple[Floats, Floats]:
        """Local maxima of p_b on one piece, best first, and their heights; without the price those of a variance."""

        def value(x: Floats) -> Floats:
            return self.sensitivity(piece, B, x, priced)

        if self.barrier is None:
            return maximise(value, self.region, starts, most, deadline=self.deadline)
        if self.by_formula:
            return self._best_of_formula(value, piece, B, starts, most, priced)
        squares, frame = self.squares(piece, B), self.frame
        barrier = self.barrier if priced else replace(self.barrier, price=None)

        def climb(x: Floats) -> Floats:
            return frame.unscaled(barrier.climb(squares, frame.scaled(x)))

        return maximise(value, self.region, starts, most, climb, self.deadline)

    def squares(self, piece: int, B: Floats) -> ChebyshevFunctions:
        """Polynomials whose squares add up to p_b times the price."""
        few = B if B.shape[0] <= B.shape[1] else np.asarray(np.linalg.qr(B, mode="r"))
        return ChebyshevFunctions(self.frame.keys[piece], few @ self.frame.H[piece])

    def _best_of_formula(
        self, value: Function, piece: int, B: Floats, starts: Floats, most: int, priced: bool
    ) -> tuple[Floats, Floats]:
        """The same with inequalities for models that are no polynomials."""
        assert self.barrier is not None
        branch, barrier, frame = self.branch(priced), replace(self.barrier, price=None), self.frame

        def jet(u: Floats) -> tuple[Floats, Floats, Floats]:
            found = branch.sensitivity(piece, B, Interval(u, u))
            parts = [(part.lo + part.hi) / 2.0 for part in (found.value, found.gradient, found.hessian)]
            return parts[0], np.nan_to_num(parts[1]), np.nan_to_num(parts[2])

        def climb(x: Floats) -> Floats:
            objective = Pointwise(lambda u: value(frame.unscaled(u)), jet)
            return frame.unscaled(barrier.climb(objective, frame.scaled(x[:FEW_SEARCHES])))

        return maximise(value, self.region, starts, most, climb, self.deadline)

    def sensitivity(self, piece: int, B: Floats, x: Floats, priced: bool = True) -> Floats:
        """p_b at coordinates of one piece; zero where noise or cost are not positive numbers."""
        image = self.frame.piece_rows(piece, x, priced) @ B.T
        values = np.einsum("ij,ij->i", image, image)
        if self.problem.price is None or not priced:
            return np.asarray(values)
        with np.errstate(all="ignore"):
            values = values / self.problem.prices(x)
        return np.where(np.isfinite(values) & self.problem.allowed(x), values, 0.0)

    def solved(self, where: Indices, x: Floats, tol: float, symmetry: Symmetry | None = None) -> SearchOutcome:
        """The optimal design over a list of settings, or of their images."""
        finite = self.problem.finite(where, x, self.targets, symmetry)
        try:
            design = solved_finite(finite, tol, self.deadline)
        except SolverError as error:
            # A design is handed back all the same, with what can be proven of it.
            self.beyond = str(error)
            other = replace(self.problem, kind="d_optimal", fields={}, like=self.problem).finite(where, x)
            design = given_design(finite, solved_finite(other, tol, self.deadline).weights)
        if design.canonical.rank < self.frame.d:
            raise UnidentifiableError("the settings do not span the model")
        vectors = vectors_of(design, self.symmetry)
        most = self.largest(where, x, vectors.B)
        if not self.is_free_g:
            return SearchOutcome(where, x, design, vectors, most, design.value, symmetry)
        found = SearchOutcome(where, x, design, vectors, most, design.value)
        pieces, at, height = self.maxima(found, priced=False)
        rows = self.frame.rows(pieces, at, weighted=False)
        assert self.targets is not None
        self.targets = np.vstack([self.targets, rows[height > design.value * (1.0 + 1e-12)]])
        return replace(found, value=max(design.value, float(height[0])))

    def largest(self, where: Indices, x: Floats, B: Floats) -> float:
        """The largest sensitivity at these settings."""
        image = self.frame.rows(where, x) @ B.T
        return float((np.einsum("ij,ij->i", image, image) / self.problem.prices(x)).max())

    def maxima(
        self, found: SearchOutcome, extra: tuple[Indices, Floats] | None = None, priced: bool = True
    ) -> tuple[Indices, Floats, Floats]:
        """Local maxima over the region, from settings spread over it, those of the design, and others: highest first."""
        pieces = range(len(self.starts))
        per_piece = max(SEARCHES // len(self.starts), 4)
        own = found.design.weights > 1e-7
        listed = []
        B = found.vectors.B if priced else inverse_root(found.design)
        for piece in pieces:
            mine = own & (found.where == piece)
            parts = [self.inside_chamber(found.x[mine]), self.starts[piece]]
            if extra is not None:
                parts.insert(0, self.inside_chamber(extra[1][extra[0] == piece]))
            x, height = self.best_near(piece, B, np.vstack(parts), max(per_piece, int(mine.sum()) + 10), priced)
            listed.append((np.full(len(x), piece), x, height))
        where = np.concatenate([a for a, _, _ in listed])
        x = np.vstack([b for _, b, _ in listed])
        height = np.concatenate([c for _, _, c in listed])
        order = np.argsort(-height, kind="stable")
        return where[order], x[order], height[order]

    def inside_chamber(self, x: Floats) -> Floats:
        """Of each setting the image that is sought."""
        if self.orbits is None or not len(x):
            return x
        return self.frame.unscaled(self.orbits.chamber(self.frame.scaled(x)))

    def gap(self, found: SearchOutcome, most: float) -> float:
        """What the design would be proven to, if `most` were an upper bound on its sensitivity."""
        bound = proven_bound(found.design.canonical, found.vectors, most, 0.0)
        return gap_of(found.design.problem.criterion, found.value, bound, dimension(found.design.problem))

    def refined(
        self, found: SearchOutcome, tol: float, deadline: float, extra: tuple[Indices, Floats] | None = None
    ) -> SearchOutcome:
        """Rounds of 2 to 4 until the search sees nothing larger than the tolerance allows."""
        best, best_gap = found, np.inf
        for _ in range(ROUNDS):
            where, x, height = self.maxima(found, extra)
            extra = None
            most = max(found.most, float(height[0]))
            gap = self.gap(found, most)
            if gap < best_gap:
                best, best_gap = replace(found, most=most), gap
            if gap <= SHARE * tol or time.perf_counter() > deadline or self.beyond:
                break
            keep = found.design.weights > 1e-9
            high = height > 0.5 * height[0]
            all_where = np.concatenate([where[high], found.where[keep]])
            all_x = self.inside_chamber(np.vstack([x[high], found.x[keep]]))
            all_where, all_x = distinct(all_where, all_x, self.region, 1e-7)
            found = self.solved(all_where, all_x, max(min(SHARE * tol / 2, 1e-2 * gap), 1e-11), self.orbits)
        with contextlib.suppress(Scattered):
            best = self.merged(best, tol)
        if best.symmetry is None:
            return best
        # The images are too many: from here each setting stands for itself.
        self.orbits = None
        self.starts = self._spread()
        part = self.spelt_in_part(best, best.symmetry) if time.perf_counter() > deadline else None
        return part or self.refined(self.first(), tol, deadline)

    def merged(self, found: SearchOutcome, tol: float) -> SearchOutcome:
        """Settings that are nearly the same made one, and as few as the information needs, where that costs nothing."""
        allowed = max(SHARE * tol, 2.0 * self.gap(found, found.most))
        for distance, least in ((MERGED, 1e-4), (MERGED, 1e-6), (MERGED / 8, 1e-7)):
            if time.perf_counter() > self.deadline:
                break
            where, x = means(found, self.region, distance, least)
            if found.symmetry is not None:
                x = self.frame.unscaled(found.symmetry.on_walls(self.frame.scaled(x)))
            elif len(x) == len(found.x):
                continue
            fewer = self.replaced(found, where, x, tol, allowed)
            if fewer is not None:
                found = fewer
                break
        where, x, w = self.spelt_out(found)
        few = self.fewest(where, x, w)
        if found.symmetry is None:
            if len(few[1]) >= np.count_nonzero(found.design.weights):
                return found
            return self.replaced(found, *few, tol, allowed) or found
        alone = replace(found, symmetry=None)
        fewer = self.replaced(alone, *few, tol, max(allowed, tol / 3)) if len(few[1]) < len(x) else None
        return fewer or self.weighed(alone, where, x, w)

    def weighed(self, found: SearchOutcome, where: Indices, x: Floats, w: Floats) -> SearchOutcome:
        """These settings with these weights, as they are: all images of a design whose sensitivity is known."""
        design = given_design(self.problem.finite(where, x, self.targets), w / w.sum())
        vectors = vectors_of(design, self.symmetry)
        out = replace(found, where=where, x=x, design=design, vectors=vectors, value=design.value)
        return replace(out, most=max(self.largest(where, x, vectors.B), float(self.maxima(found)[2][0])))

    def fewest_images(self, found: SearchOutcome, symmetry: Symmetry) -> tuple[Indices, Floats, Floats]:
        """Settings and weights with the same mean information whose images are few: a vertex of a linear program."""
        from scipy.optimize import linprog

        keep = np.flatnonzero(found.design.weights > 1e-7)
        where, x, w = found.where[keep], found.x[keep], found.design.weights[keep]
        # Settings without weight whose sensitivity is about the largest may have some.
        for piece, starts in enumerate(self.starts):
            high = self.sensitivity(piece, found.vectors.B, starts) > (1.0 - 1e-4) * found.most
            where, x = np.append(where, np.full(high.sum(), piece)), np.vstack([x, starts[high]])
        first = apart(np.column_stack([2.0 * where, self.frame.scaled(x)]), 1e-7)
        where, x, w = where[first], x[first], np.append(w, np.zeros(len(x) - len(w)))[first]
        rows = self.frame.rows(where, x) / np.sqrt(self.problem.prices(x))[:, None]
        means = symmetry.averaged(rows[:, :, None] * rows[:, None, :])
        features = np.column_stack([means.reshape(len(w), -1), np.ones(len(w))])
        left, size, _ = np.linalg.svd(features, full_matrices=False)
        kept = left[:, size > 1e-9 * size[0]].T
        sizes = np.array([symmetry.size(u) for u in self.frame.scaled(x)], dtype=float)
        chosen, weights, cost = np.ones(len(w), dtype=bool), w, sizes / sizes.max()
        for _ in range(5):
            vertex = linprog(cost, A_eq=kept, b_eq=kept @ w, method="highs-ds")
            if vertex.status != 0:
                break
            own = vertex.x > 1e-9
            if sizes[own].sum() < sizes[chosen].sum():
                chosen, weights = own, vertex.x
            # Next time what counts is which settings there are, and not their weights.
            cost = sizes / sizes.max() / (vertex.x + 1e-3)
        return where[chosen], x[chosen], weights[chosen]

    def spelt_out(self, found: SearchOutcome) -> tuple[Indices, Floats, Floats]:
        """Settings and weights one by one: all the images that the mean needs."""
        if found.symmetry is None:
            keep = np.flatnonzero(found.design.weights > 1e-7)
            return found.where[keep], found.x[keep], found.design.weights[keep]
        where, x, w = self.fewest_images(found, found.symmetry)
        if sum(map(found.symmetry.size, self.frame.scaled(x))) > MOST_LISTED:
            raise Scattered
        parts = [found.symmetry.images(u, MOST_IMAGES) for u in self.frame.scaled(x)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            raise Scattered
        every = self.frame.unscaled(np.vstack([images for images, _ in known]))
        shares = np.concatenate([size * own for size, (_, own) in zip(w, known)])
        return np.repeat(where, [len(images) for images, _ in known]), every, shares

    def spelt_in_part(self, found: SearchOutcome, symmetry: Symmetry) -> SearchOutcome | None:
        """A design from those settings whose images are few; None where they do not span the model."""
        keep = np.flatnonzero(found.design.weights > 1e-7)
        sizes = np.array([symmetry.size(u) for u in self.frame.scaled(found.x[keep])])
        keep = keep[np.argsort(sizes, kind="stable")[: np.count_nonzero(np.cumsum(np.sort(sizes)) <= MOST_IMAGES)]]
        parts = [symmetry.images(u, MOST_IMAGES) for u in self.frame.scaled(found.x[keep])]
        known = [(k, *part) for k, part in zip(keep, parts) if part is not None]
        if not known:
            return None
        where = np.concatenate([np.full(len(images), found.where[k]) for k, images, _ in known])
        x = self.frame.unscaled(np.vstack([images for _, images, _ in known]))
        w = np.concatenate([found.design.weights[k] * shares for k, _, shares in known])
        try:
            out = self.weighed(replace(found, symmetry=None), where, x, w)
        except (ConvexDesignError, np.linalg.LinAlgError):
            return None
        return out if out.design.canonical.rank == self.frame.d else None

    def replaced(
        self, found: SearchOutcome, where: Indices, x: Floats, tol: float, allowed: float
    ) -> SearchOutcome | None:
        """The design over these settings instead, unless it is worse than allowed."""
        inside = self.region.inside(x) if self.region.q else np.ones(len(x), dtype=bool)
        if not inside.all():
            return None
        try:
            fewer = self.solved(where, x, max(SHARE * tol / 2, 1e-11), found.symmetry)
            height = self.maxima(fewer)[2]
        except (ConvexDesignError, np.linalg.LinAlgError):
            return None
        fewer = replace(fewer, most=max(fewer.most, float(height[0])))
        return fewer if self.gap(fewer, fewer.most) <= allowed else None

    def fewest(self, where: Indices, x: Floats, w: Floats) -> tuple[Indices, Floats]:
        """Settings with the same information that number no more than it has entries (Caratheodory)."""
        from scipy.linalg import blas

        rows = self.frame.rows(where, x) / np.sqrt(self.problem.prices(x))[:, None]
        j, i = np.tril_indices(rows.shape[1])
        if len(w) * len(i) > MOST_ENTRIES:
            return where, x
        features = np.column_stack([rows[:, i] * rows[:, j], np.ones(len(w))])
        left, size, _ = np.linalg.svd(features, full_matrices=True)
        rank = int(np.count_nonzero(size > 1e-9 * size[0]))
        null, alive = np.asfortranarray(left[:, rank:]), np.ones(len(w), dtype=bool)
        for last in range(null.shape[1] - 1, -1, -1):
            v = null[:, last] if (null[:, last] > 0).any() else -null[:, last]
            up = np.flatnonzero(alive & (v > 1e-12 * np.abs(v).max()))
            if not up.size:
                continue
            k = up[np.argmin(w[up] / v[up])]
            w = np.maximum(w - w[k] / v[k] * v, 0.0)
            w[k], alive[k] = 0.0, False
            # What is left of the null space leaves the setting that has gone at zero.
            if last:
                blas.dger(-1.0 / v[k], v, null[k, :last].copy(), a=null[:, :last], overwrite_a=1)
        left_over = w > 1e-9
        return where[left_over], x[left_over]


def means(found: SearchOutcome, region: Region, distance: float, least: float) -> tuple[Indices, Floats]:
    """Clusters of settings around the heaviest, as their weighted means; those with less weight than `least` left out."""
    low, high = np.array(region.lower, dtype=float), np.array(region.upper, dtype=float)
    weights = found.design.weights
    heavy = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights > 1e-9)]
    where, x = [], []
    for piece in np.unique(found.where[heavy]):
        own = heavy[found.where[heavy] == piece]
        for near in clusters((found.x[own] - low) / (high - low), distance):
            w = weights[own[near]]
            total = float(w.sum())
            if total >= least:
                where.append(piece)
                x.append(np.clip(w @ found.x[own[near]] / total, low, high))
    return np.array(where, dtype=np.intp), np.array(x).reshape(len(x), region.q)


def distinct(where: Indices, x: Floats, region: Region, distance: float) -> tuple[Indices, Floats]:
    """Settings without those that are closer to an earlier one of their piece than a share of the box."""
    low, high = np.array(region.lower, dtype=float), np.array(region.upper, dtype=float)
    parts_where, parts_x = [], []
    for piece in np.unique(where):
        own = x[where == piece]
        kept = own[:1] if not region.q else thinned(own, low, high, distance)
        parts_where.append(np.full(len(kept), piece))
        parts_x.append(kept)
    return np.concatenate(parts_where), np.vstack(parts_x)


def solved_finite(problem: DesignProblem, tol: float, deadline: float = np.inf) -> Design:
    """The optimal design over a list, or as near as the deadline allows, without a word on what was not reached."""
    from convexdesign.solving import solved_as_found

    # Neighbours are kept: of two points next to an optimum the mean is nearer.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        left = None if np.isinf(deadline) else max(deadline - time.perf_counter(), LEAST_SECONDS)
        return solved_as_found(problem, max(tol, 1e-11), left)


def given_design(problem: DesignProblem, weights: Floats) -> Design:
    """Weights that are given as a design over the list."""
    canonical = canonicalise(problem)
    return Design(problem, weights, certify(canonical, weights), Status.STALLED, known=canonical)


def inverse_root(design: Design) -> Floats:
    """Rows b_j with sum b_j b_j' = A^-1: their sensitivity is the variance of the mean outcome."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(design.information)))
