"""solve over a region: settings are added where the sensitivity is too large, until a proof says that it is nowhere.

1. Settings spread over the region; 2. the optimal design over the list of them, by the methods for lists, which also gives
the vectors b_j; 3. local maxima of the sensitivity p_b over the region become settings, those without weight leave;
4. settings closer than MERGED become one; 5. the proof. Where it refutes, it names settings that the search has missed: go
to 2. Only the proof must be right: whatever the search did, the bound holds.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convexdesign.arguments import real
from convexdesign.design import Design
from convexdesign.errors import ConvergenceWarning, ConvexDesignError, InputError, UnidentifiableError
from convexdesign.evaluation import evaluate
from convexdesign.outcome import Stats, Status
from convexdesign.problem import Criterion, DesignProblem
from convexdesign.regions.ascent import Barrier, ChebyshevFunctions, Pointwise
from convexdesign.regions.branch import Branch
from convexdesign.regions.criteria import Vectors, gap_of, moments_share, proven_bound, vectors_of
from convexdesign.regions.design import RegionCertificate, RegionDesign
from convexdesign.regions.intervals import Interval
from convexdesign.regions.model import Curve
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.proof import RegionProver, SensitivityBound, likely_points
from convexdesign.regions.region import Region
from convexdesign.regions.search import Function, apart, clusters, inner_points, maximise, spread_points, thinned
from convexdesign.regions.sum_of_squares import UNIT, Bound
from convexdesign.regions.symmetry import Symmetry, symmetry_of
from convexdesign.roundoff import value_error
from convexdesign.typing import Floats, Indices

__all__ = ["Search", "solve_over_region"]

ROUNDS = 60
# Settings for each factor of a first grid, by the number of factors, for models that are no polynomials.
PER_AXIS = {1: 201, 2: 31, 3: 13, 4: 7}
# Times that the proof may send the search back.
REFUTED = 12
# Settings closer than this share of the box are tried as one.
MERGED = 0.02
# The search ends when what it finds leaves this share of the tolerance.
SHARE = 0.1
START = 60_000
# Entries of the matrix in which settings are thinned out.
MOST_ENTRIES = 1_500_000
FEWEST = 4000
# Cells that one piece may be cut into, and how often one is halved.
MOST_CELLS = 400
# The same with inequalities, whose relaxations are larger.
FEW_CELLS = 40
DEEPEST = 14
# Local searches of one round over all pieces.
SEARCHES = 60
# Settings at random among which one is sought that a refuted design has missed.
DENSE = 2000
# The same with inequalities for models that are no polynomials, whose derivatives take longer.
FEW_SEARCHES = 80
# With so many images it pays to seek settings for all of them at once; of one at most so many are spelt out.
FEWEST_IMAGES = 8
MOST_IMAGES = 3000
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

    def __init__(self, problem: RegionProblem, seed: int = 0):
        self.problem, self.frame, self.region = problem, problem.frame, problem.region
        self.rng = np.random.default_rng(seed)
        self.is_free_g = problem.predicts_region and not problem.is_kiefer_wolfowitz
        # The variances of G are those of the design itself, and not of one that is symmetric.
        self.symmetry = None if problem.predicts_region else symmetry_of(problem)
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
        if symmetry is None or symmetry.order < FEWEST_IMAGES or problem.kind not in ("d_optimal", *AVERAGES):
            return None
        return symmetry if problem.kind == "d_optimal" or symmetry.leaves(problem.restated["M"]) else None

    def _chamber(self, degree: int) -> Floats:
        """Settings to start from, one of all images each."""
        assert self.orbits is not None
        if self.region.inequalities:
            u = self.frame.scaled(spread_points(self.region, degree, self.rng, self.frame.d))
            u = self.orbits.chamber(u)
            u = u[self.rng.permutation(len(u))]
            return self.frame.unscaled(thinned(u, np.full(u.shape[1], -1.0), np.ones(u.shape[1]), 0.05, FEWEST))
        for axis in range(2 * degree + 1, 1, -1):
            values = np.asarray(np.round(np.cos(np.pi * np.arange(axis) / (axis - 1)), 15) + 0.0)
            if self.orbits.count(values) <= FEWEST:
                break
        return self.frame.unscaled(self.orbits.grid(values))

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
            return maximise(value, self.region, starts, most)
        if not self.problem.is_polynomial:
            return self._best_of_formula(value, piece, B, starts, most, priced)
        few = B if B.shape[0] <= B.shape[1] else np.asarray(np.linalg.qr(B, mode="r"))
        squares = ChebyshevFunctions(self.frame.keys[piece], few @ self.frame.H[piece])
        frame = self.frame
        barrier = self.barrier if priced else replace(self.barrier, price=None)

        def climb(x: Floats) -> Floats:
            return frame.unscaled(barrier.climb(squares, frame.scaled(x)))

        return maximise(value, self.region, starts, most, climb)

    def _best_of_formula(
        self, value: Function, piece: int, B: Floats, starts: Floats, most: int, priced: bool
    ) -> tuple[Floats, Floats]:
        """The same with inequalities for models that are no polynomials."""
        assert self.barrier is not None
        branch, barrier, frame = Branch(self.problem, priced), replace(self.barrier, price=None), self.frame

        def jet(u: Floats) -> tuple[Floats, Floats, Floats]:
            found = branch.sensitivity(piece, B, Interval(u, u))
            parts = [(part.lo + part.hi) / 2.0 for part in (found.value, found.gradient, found.hessian)]
            return parts[0], np.nan_to_num(parts[1]), np.nan_to_num(parts[2])

        def climb(x: Floats) -> Floats:
            objective = Pointwise(lambda u: value(frame.unscaled(u)), jet)
            return frame.unscaled(barrier.climb(objective, frame.scaled(x[:FEW_SEARCHES])))

        return maximise(value, self.region, starts, most, climb)

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
        design = solved_finite(finite, tol)
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
        bound = proven_bound(found.design.problem, found.vectors, most, 0.0)
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
            if gap <= SHARE * tol or time.perf_counter() > deadline:
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
        return self.refined(self.first(), tol, deadline)

    def merged(self, found: SearchOutcome, tol: float) -> SearchOutcome:
        """Settings that are nearly the same made one, and as few as the information needs, where that costs nothing."""
        allowed = max(SHARE * tol, 2.0 * self.gap(found, found.most))
        for distance, least in ((MERGED, 1e-4), (MERGED, 1e-6), (MERGED / 8, 1e-7)):
            where, x = means(found, self.region, distance, least)
            if found.symmetry is not None:
                x = self.frame.unscaled(found.symmetry.on_walls(self.frame.scaled(x)))
            elif len(x) == len(found.x):
                continue
            fewer = self.replaced(found, where, x, tol, allowed)
            if fewer is not None:
                found = fewer
                break
        if found.symmetry is not None:
            where, x = self.fewest_images(found, found.symmetry)
            found = self.replaced(found, where, x, tol, allowed) or found
        every = self.spelt_out(found)
        few = self.fewest(*every)
        if found.symmetry is None:
            if len(few[1]) >= np.count_nonzero(found.design.weights):
                return found
            return self.replaced(found, *few, tol, allowed) or found
        alone = replace(found, symmetry=None)
        trials = (self.replaced(alone, where, x, tol, max(allowed, tol / 3)) for where, x in (few, every[:2]))
        return next((fewer for fewer in trials if fewer is not None), found)

    def fewest_images(self, found: SearchOutcome, symmetry: Symmetry) -> tuple[Indices, Floats]:
        """Settings with the same mean information whose images are few: a vertex of a linear program."""
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
        chosen, cost = np.ones(len(w), dtype=bool), sizes / sizes.max()
        for _ in range(5):
            vertex = linprog(cost, A_eq=kept, b_eq=kept @ w, method="highs-ds")
            if vertex.status != 0:
                break
            own = vertex.x > 1e-9
            chosen = own if sizes[own].sum() < sizes[chosen].sum() else chosen
            # Next time what counts is which settings there are, and not their weights.
            cost = sizes / sizes.max() / (vertex.x + 1e-3)
        return where[chosen], x[chosen]

    def spelt_out(self, found: SearchOutcome) -> tuple[Indices, Floats, Floats]:
        """Settings and weights one by one: all the images that the mean needs."""
        keep = np.flatnonzero(found.design.weights > 1e-7)
        where, x, w = found.where[keep], found.x[keep], found.design.weights[keep]
        if found.symmetry is None:
            return where, x, w
        parts = [found.symmetry.images(u, MOST_IMAGES) for u in self.frame.scaled(x)]
        if any(part is None for part in parts):
            raise Scattered
        sizes = np.array([len(part) for part in parts if part is not None])
        every = self.frame.unscaled(np.vstack([part for part in parts if part is not None]))
        return np.repeat(where, sizes), every, np.repeat(w / sizes, sizes)

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


def solved_finite(problem: DesignProblem, tol: float) -> Design:
    """The optimal design over a list, without a word on what was not reached."""
    from convexdesign.solving import solved_as_found

    # Neighbours are kept: of two points next to an optimum the mean is nearer.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solved_as_found(problem, max(tol, 1e-11))


def inverse_root(design: Design) -> Floats:
    """Rows b_j with sum b_j b_j' = A^-1: their sensitivity is the variance of the mean outcome."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(design.information)))


def rounding_of_rows(search: Search, found: SearchOutcome) -> float:
    """By which share a value may be off because the rows h(x) are rounded: |A^-1/2 dA A^-1/2| <= 2 e + e^2."""
    level, Q = np.linalg.eigh(found.design.information)
    seen = level > 1e-12 * level[-1]
    root = np.abs(Q[:, seen] / np.sqrt(level[seen])).T
    worst = 0.0
    for piece in np.unique(found.where):
        mine = found.where == piece
        off = float(np.linalg.norm(root @ search.frame.rows_error(int(piece))))
        worst = max(worst, off / float(np.sqrt(search.problem.prices(found.x[mine]).min())))
    # The inverse that G uses is off by no more than its own condition makes of rounding.
    own = len(level) * UNIT * float(level[-1] / level[seen][0]) if search.problem.predicts_region else 0.0
    return 2.0 * worst + worst**2 + 8.0 * own


def dimension(problem: DesignProblem) -> int:
    """What a log det is over."""
    return int(problem.contrast_matrix.shape[1]) if problem.criterion == Criterion.DS else problem.arms.d


def solve_over_region(
    problem: RegionProblem,
    tol: float = 1e-6,
    time_limit: float | None = None,
    verbose: bool = False,
    **options: Any,
) -> RegionDesign:
    """The optimal design over the region with its proof."""
    for name, value in options.items():
        if value not in (None, "auto", False):
            raise InputError(f"{name} is not known for a problem over a region; it takes tol, time_limit and verbose")
    stated, problem, tol = problem, problem.adapted, real(tol)
    started = time.perf_counter()
    deadline = np.inf if time_limit is None else started + real(time_limit)
    search = Search(problem)
    prover = RegionProver(problem.frame, problem.price) if problem.is_polynomial else None
    found = search.first()
    extra: tuple[Indices, Floats] | None = None
    best: RegionDesign | None = None
    rounds = 0
    while True:
        found = search.refined(found, tol, deadline, extra)
        certificate, missed = certified(search, prover, found, tol, deadline)
        design = assembled(stated, found, certificate, tol, started, deadline)
        if verbose:
            print(repr(design))
        if best is None or design.gap < best.gap:
            best = design
        rounds += 1
        if design.status is Status.CERTIFIED or missed is None or rounds > REFUTED or time.perf_counter() > deadline:
            break
        extra = missed
    if best.status is not Status.CERTIFIED:
        warnings.warn(
            f"certified gap {best.gap:.2e} is above the tolerance {tol:.1e}: {best.status.value}",
            ConvergenceWarning,
            stacklevel=3,
        )
    return best


def certified(
    search: Search, prover: RegionProver | None, found: SearchOutcome, tol: float, deadline: float
) -> tuple[RegionCertificate, tuple[Indices, Floats] | None]:
    """The certificate of a design over a list, and the settings that the search has missed, where there are any."""
    finite, vectors = found.design.problem, found.vectors
    shift = 0.0 if finite.criterion == Criterion.E else search.frame.log_det
    at = evaluate(found.design.canonical, found.design.weights)
    error = value_error(found.design.canonical, found.design.weights, at) + moments_share(finite)
    error += rounding_of_rows(search, found)
    if search.problem.is_kiefer_wolfowitz:
        return kiefer_wolfowitz(search, prover, found, error, tol, deadline)
    value, dim = found.design.value, dimension(finite)
    if finite.criterion == Criterion.D:
        value -= 2.0 * shift
        error += 4 * UNIT * (abs(value) + 2.0 * abs(shift)) / dim
    worst: SensitivityBound | None = None
    if search.is_free_g:
        worst, missed = worst_variance(search, found, tol, deadline)
        value = worst.value
        if missed is not None:
            assert search.targets is not None
            search.targets = np.vstack([search.targets, search.frame.rows(*missed, weighted=False)])

    def gap(most: float) -> float:
        return gap_of(finite.criterion, value, proven_bound(finite, vectors, most, shift), dim, error)

    proven, missed = prove_everywhere(search, prover, found, lambda most: gap(most) <= tol, deadline)
    bound = proven_bound(finite, vectors, proven.value, shift)
    kind = "sum of squares" if search.problem.is_polynomial else "interval branch and bound"
    kind = kind if np.isfinite(proven.value) else "none"
    certificate = RegionCertificate(
        finite.criterion if worst is None else Criterion.MINIMAX,
        value,
        bound,
        gap(proven.value),
        kind,
        proven.degree,
        proven.value,
        found.most,
        vectors,
        error,
        proven.next_seconds,
    )
    return certificate, missed


def kiefer_wolfowitz(
    search: Search, prover: RegionProver | None, found: SearchOutcome, error: float, tol: float, deadline: float
) -> tuple[RegionCertificate, tuple[Indices, Floats] | None]:
    """G with one price s^2 c: the optimum is s^2 c d, the design's worst variance s^2 c times its largest sensitivity."""
    price = float(search.problem.prices(np.zeros((1, search.region.q)))[0])
    d = search.frame.d
    vectors = Vectors(inverse_root(found.design), np.arange(d))
    found = replace(found, vectors=vectors, most=search.largest(found.where, found.x, vectors.B))

    def gap(most: float) -> float:
        return gap_of(Criterion.MINIMAX, most, float(d), d, error)

    proven, missed = prove_everywhere(search, prover, found, lambda most: gap(most) <= tol, deadline)
    certificate = RegionCertificate(
        Criterion.MINIMAX,
        proven.value * price * (1.0 + 4e-16),
        d * price * (1.0 - 4e-16),
        gap(proven.value),
        "sum of squares" if np.isfinite(proven.value) else "none",
        proven.degree,
        proven.value,
        found.most,
        vectors,
        error,
    )
    return certificate, missed


def worst_variance(
    search: Search, found: SearchOutcome, tol: float, deadline: float
) -> tuple[SensitivityBound, tuple[Indices, Floats] | None]:
    """A proven upper bound on the largest variance of the mean outcome over the region."""
    vectors = Vectors(inverse_root(found.design), np.arange(search.frame.d))
    own = replace(found, vectors=vectors, most=found.value)
    enough = found.value * (1.0 + tol / 4.0)
    return prove_everywhere(search, search.variances, own, lambda most: most <= enough, deadline, priced=False)


def branch_everywhere(
    search: Search, found: SearchOutcome, enough: Any, deadline: float, priced: bool
) -> tuple[SensitivityBound, tuple[Indices, Floats] | None]:
    """The same by branch and bound, for the largest bound that is enough."""
    started = time.perf_counter()
    lam = largest_that_suffices(found.most, enough)
    branch = Branch(search.problem, priced)
    worst, missed_where, missed_x = 0.0, [], []
    for piece in range(len(search.starts)):
        proof = branch.prove(piece, found.vectors.B, lam, deadline)
        worst = max(worst, proof.value)
        if len(proof.refuting):
            x = search.best_near(piece, found.vectors.B, proof.refuting, 20, priced)[0]
            missed_where.append(np.full(len(x), piece))
            missed_x.append(x)
    missed = (np.concatenate(missed_where), np.vstack(missed_x)) if missed_x else None
    if missed is not None and np.isinf(worst):
        # Refuted: what is known is a bound that is larger by halves.
        for factor in (1e-3, 1e-1, 1.0, 10.0):
            higher = [
                branch.prove(k, found.vectors.B, lam * (1.0 + factor), deadline) for k in range(len(search.starts))
            ]
            worst = max(proof.value for proof in higher)
            if np.isfinite(worst):
                break
    return SensitivityBound(worst, 0, (), time.perf_counter() - started), missed


def largest_that_suffices(most: float, enough: Any) -> float:
    """A bound a little above `most`, the largest that is enough where any is."""
    if not enough(most * (1.0 + 1e-13)):
        return most * (1.0 + 1e-6)
    low, high = 1e-13, 1.0
    while high / low > 1.02:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if enough(most * (1.0 + middle)) else (low, middle)
    return most * (1.0 + low)


def prove_everywhere(
    search: Search, prover: RegionProver | None, found: SearchOutcome, enough: Any, deadline: float, priced: bool = True
) -> tuple[SensitivityBound, tuple[Indices, Floats] | None]:
    """The largest bound of all pieces, each by the first relaxation that suffices; and missed settings, with larger p_b."""
    if prover is None:
        return branch_everywhere(search, found, enough, deadline, priced)
    started = time.perf_counter()
    bounds: list[Bound | None] = []
    missed_where, missed_x = [], []
    worst, degree = 0.0, 0
    for piece in range(len(search.starts)):
        attempt = Attempt(search, found, piece, enough, deadline, priced)
        value = attempt.bound(prover, 0)
        bounds.extend(attempt.bounds)
        worst, degree = max(worst, value), max(degree, attempt.degree)
        if len(attempt.missed):
            missed_where.append(np.full(len(attempt.missed), piece))
            missed_x.append(attempt.missed)
    missed = (np.concatenate(missed_where), np.vstack(missed_x)) if missed_x else None
    return SensitivityBound(worst, degree, tuple(bounds), time.perf_counter() - started), missed


class Attempt:
    """An attempt to prove one piece: relaxations in turn, then halves of the box, until enough is proven or refuted."""

    def __init__(self, search: Search, found: SearchOutcome, piece: int, enough: Any, deadline: float, priced: bool):
        self.search, self.found, self.piece = search, found, piece
        self.enough, self.deadline, self.priced = enough, deadline, priced
        self.bounds: list[Bound | None] = []
        self.degree, self.cells = 0, 0
        self.missed: Floats = np.empty((0, search.region.q))

    def bound(self, prover: RegionProver, depth: int) -> float:
        """What is proven of p_b on the prover's cell."""
        p, charge = prover.polynomial(self.piece, self.found.vectors.B)
        best: Bound | None = None
        for relaxation in prover.hierarchy(p)[: 2 if depth else None]:
            if time.perf_counter() > self.deadline and best is not None:
                break
            limit = None if np.isinf(self.deadline) else max(self.deadline - time.perf_counter(), 1e-2)
            bound = prover.bound(self.piece, p, charge, relaxation, limit)
            if bound is None:
                continue
            if best is None or bound.value < best.value:
                best = bound
            if self.enough(best.value):
                break
            if not depth:
                self.missed = missed_points(self.search, self.found, self.piece, bound, self.priced)
                if len(self.missed):
                    break
        value = np.inf if best is None else best.value
        most = FEW_CELLS if self.search.region.inequalities else MOST_CELLS
        over = time.perf_counter() > self.deadline or self.cells > most or depth >= DEEPEST
        if best is None or self.enough(value) or len(self.missed) or over or self.hopeless():
            self.bounds.append(best)
            self.degree = max(self.degree, 0 if best is None else best.degree)
            return value
        self.cells += 2
        return min(value, max(self.bound(half, depth + 1) for half in prover.halves))

    def hopeless(self) -> bool:
        """Whether even the largest sensitivity that was found, were it the bound, would not be enough."""
        return not self.enough(self.found.most)


def missed_points(search: Search, found: SearchOutcome, piece: int, bound: Any, priced: bool) -> Floats:
    """Settings with a larger sensitivity than any known, sought where the relaxation has its mass."""
    frame, region = search.frame, search.region
    if not region.q:
        return np.empty((0, 0))
    pool = np.vstack([search.starts[piece], spread_points(region, 4, search.rng, 50)])
    near = np.vstack(
        [frame.unscaled(likely_points(bound, frame.scaled(pool), 40)), inner_points(region, DENSE, search.rng)]
    )
    x, height = search.best_near(piece, found.vectors.B, near, 20, priced)
    return np.asarray(x[height > found.most * (1.0 + 1e-9)])


def assembled(
    problem: RegionProblem,
    found: SearchOutcome,
    certificate: RegionCertificate,
    tol: float,
    started: float,
    deadline: float,
) -> RegionDesign:
    """The design that is handed back: settings with weight alone, in the order of their coordinates."""
    keep = np.flatnonzero(found.design.weights > 0)
    order = keep[np.lexsort([*found.x[keep].T[::-1], found.where[keep]])]
    where, x, weights = found.where[order].tolist(), found.x[order], found.design.weights[order]
    if problem.adapted is not problem:
        x = problem.region.coordinates(problem.adapted.region.table(where, x))[1]
    ended = Status.TIME_LIMIT if time.perf_counter() > deadline else Status.STALLED
    return RegionDesign(
        problem,
        where,
        x,
        weights,
        certificate,
        Status.CERTIFIED if certificate.gap <= tol else ended,
        found.design.problem,
        Stats("exchange over the region", seconds=time.perf_counter() - started),
        tol,
    )
