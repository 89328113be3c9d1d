"""lambda >= max over a region of sum_j (b_j'f(x))^2 / (s^2(x) c(x)), proven; or the settings that refute a smaller one.

The coefficients of p = sum_j (b_j'h)^2 over products of Chebyshev polynomials are computed in floating point and charged
their rounding: with C = BH, |C - exact| <= E = (d + 2) u |B||H| entry by entry, the coefficients of sum_j (C_j'm)^2 are off
by no more, in sum, than the sum of the entries of |C|'E + E'|C| + E'E + (J + count) u |C|'|C|, because a product of two
Chebyshev polynomials has coefficients of sum one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from convexdesign.criteria.program_size import memory_allowed
from convexdesign.regions.correction import corrected
from convexdesign.regions.frame import Frame, chebyshev_rows
from convexdesign.regions.polynomial import Exponents, Polynomial
from convexdesign.regions.region import Region
from convexdesign.regions.relaxation_size import RelaxationSize
from convexdesign.regions.sum_of_squares import UNIT, Bound, Code, Domain, SumOfSquaresProgram, products
from convexdesign.regions.text import Ratio
from convexdesign.typing import Floats

__all__ = ["RegionProver", "Relaxation", "SensitivityBound", "named_constraints"]

# Coefficients below this share of all are rounding, and do not decide which signs may be split off.
ROUNDED = 1e-12
# Squares are corrected where the solver itself was at most this share above what is wanted.
NEAR = 1e-3
# Relaxations that take less say nothing of how fast larger ones are here.
MEASURABLE = 0.05
# Seconds that a relaxation may be expected to take where there is no time limit.
PATIENCE = 600.0
# A relaxation is begun where it is expected to take no more than this many times what is left: the expectation may be too high,
# and the solver ends in time.
HOPE = 1.5
# How far the speed of a machine may be from that of the one on which seconds were measured.
PACES = (1.0 / 4.0, 4.0)
Coefficients = dict[Exponents, float]


@dataclass(frozen=True)
class Relaxation:
    """One level of the hierarchy: the degree of all summands, and whether products of inequalities are among them."""

    degree: int
    products: bool


@dataclass(frozen=True, eq=False)
class SensitivityBound:
    """sum_j (b_j'f)^2 <= value times the price everywhere, proven at this degree; per piece the bound that proves it."""

    value: float
    degree: int
    pieces: tuple[Bound | None, ...]
    seconds: float
    next_seconds: float = np.nan
    next_memory: float = np.nan
    by_coefficients: bool = False


class RegionProver:
    """Upper bounds over one region, or a cell of it, and price, with everything that depends on these alone built once."""

    def __init__(self, frame: Frame, price: Ratio | None, cell: Region | None = None):
        self.frame, self.price = frame, price
        self.region = frame.region if cell is None else cell
        self.keys, self.H = frame.tables(self.region)
        one = Polynomial.constant(1, self.region.names)
        top, bottom = (one, one) if price is None else price
        self.top = {key: float(value) for key, value in self.region.scaled(top).items()}
        self.bottom = self.region.scaled(bottom)
        self.plain = top.is_constant
        self.least = float(top.constant_term()) if self.plain else 0.0
        self.programs: dict[object, SumOfSquaresProgram] = {}
        # Seconds for each that was expected.
        self.pace = 1.0
        # What proves that the price is positive.
        self.of_price: tuple[Relaxation, Bound] | None = None

    @cached_property
    def halves(self) -> tuple[RegionProver, RegionProver]:
        """The same for the two halves of the box, cut across its longest side as the whole region's box measures it."""
        region, whole = self.region, self.frame.region
        k = max(range(region.q), key=lambda j: region.half[j] / whole.half[j])
        middle, boxed = region.centre[k], (True,) * region.q
        upper = (*region.upper[:k], middle, *region.upper[k + 1 :])
        lower = (*region.lower[:k], middle, *region.lower[k + 1 :])
        return (
            RegionProver(self.frame, self.price, replace(region, upper=upper, boxed=boxed)),
            RegionProver(self.frame, self.price, replace(region, lower=lower, boxed=boxed)),
        )

    # ------------------------------------------------------------ the polynomial

    def polynomial(self, piece: int, B: Floats) -> tuple[Coefficients, float]:
        """The coefficients of sum_j (b_j'h)^2 times the price's denominator, and what all are off by, in sum."""
        H, keys = self.H[piece], self.keys[piece]
        d = H.shape[0]
        C, size = B @ H, np.abs(B) @ np.abs(H)
        E = (d + 2) * UNIT * size
        G, bulk = C.T @ C, np.abs(C).T @ np.abs(C)
        most = 2 * int(keys.sum(axis=1).max(initial=0)) + max((sum(key) for key in self.bottom), default=0)
        code = Code(self.region.q, most)
        rows, cols, values = products(keys, self.bottom, code)
        n = len(keys)
        j, i = np.tril_indices(n)
        terms = (G[i, j] * np.where(i == j, 1.0, 2.0))[rows] * values
        codes, place = np.unique(cols, return_inverse=True)
        sums = np.bincount(place.ravel(), weights=terms, minlength=len(codes))
        count = int(np.bincount(place.ravel()).max(initial=1))
        scale = float(sum(abs(value) for value in self.bottom.values()))
        cross = np.abs(C).T @ E
        charge = float(
            2.0 * cross.sum() + (E.T @ E).sum() + (len(C) + count + 16 + 4 * len(self.bottom)) * UNIT * bulk.sum()
        )
        exponents = [tuple(int(e) for e in row) for row in code.back(codes)]
        return dict(zip(exponents, sums.tolist())), charge * scale * (1.0 + 1e-9)

    # ------------------------------------------------------------------ bounds

    def hierarchy(self, p: Mapping[Exponents, float]) -> list[Relaxation]:
        """The relaxations to try in turn, the cheapest first."""
        degree = max((sum(key) for key in (*p, *self.top)), default=0)
        degree += degree % 2
        for g in self.region.inequalities:
            degree = max(degree, g.degree + g.degree % 2)
        sides = bool(self.region.inequalities)
        flat = sides and all(g.degree == 1 for g in self.region.inequalities)
        relaxations = [Relaxation(degree, flat)]
        if sides and not flat:
            relaxations.append(Relaxation(degree, True))
        return [*relaxations, Relaxation(degree + 2, True), *([Relaxation(degree + 4, True)] if flat else [])]

    def bound(
        self, piece: int, p: Coefficients, charge: float, relaxation: Relaxation, time_limit: float | None = None
    ) -> Bound | None:
        """The proven bound of one relaxation, or None where it is too large or the solver has nothing."""
        if not self.is_affordable(self.size(p, relaxation), time_limit):
            return None
        # Without a positive lower bound on the price's numerator nothing is proven of a ratio.
        if not self.positive() > 0:
            return None
        program, scale = self._program(p, relaxation), self._scale(p)
        p = {key: scale * value for key, value in p.items()}
        started = time.perf_counter()
        found = program.solve(p, self.top, time_limit=time_limit)
        if found is None:
            return None
        seconds = time.perf_counter() - started
        if seconds > MEASURABLE and (time_limit is None or seconds < time_limit):
            self.pace = float(np.clip(seconds / program.size.seconds, *PACES))
        value = program.repaired(found, p, self.top, scale * charge, self.positive())
        return Bound(value / scale, found.nu, found.degree, found.squares, found.keys, found.moments)

    def is_affordable(self, size: RelaxationSize, time_limit: float | None) -> bool:
        """Whether a relaxation may be begun: it fits in memory, and is expected to end in time, or with patience."""
        seconds = PATIENCE if time_limit is None else HOPE * time_limit
        return size.memory <= memory_allowed() and size.seconds <= seconds

    def bound_by_coefficients(self, p: Coefficients, charge: float) -> float:
        """A bound that takes no time: no product of Chebyshev polynomials is above one."""
        zero = (0,) * self.region.q
        size = sum(abs(value) for value in p.values()) + charge
        most = (p.get(zero, 0.0) + sum(abs(value) for key, value in p.items() if key != zero) + charge) * (1.0 + 1e-9)
        least = self.least
        if not least > 0:
            least = self.top.get(zero, 0.0) - sum(abs(value) for key, value in self.top.items() if key != zero)
            least -= 1e-12 * sum(abs(value) for value in self.top.values())
        return float((most + 1e-12 * size) / least) if least > 0 else np.inf

    def size(self, p: Coefficients, relaxation: Relaxation) -> RelaxationSize:
        """What a relaxation would take, known before it is built."""
        size = self._program(p, relaxation).size
        return replace(size, seconds=self.pace * size.seconds)

    def corrected(
        self, p: Coefficients, charge: float, relaxation: Relaxation, bound: Bound, wanted: float, most: float
    ) -> Bound:
        """The bound, its squares corrected towards the one wanted where that is better; most: the largest p known."""
        program, scale = self._program(p, relaxation), self._scale(p)
        if bound.nu > scale * wanted * (1.0 + NEAR):
            return bound
        p = {key: scale * value for key, value in p.items()}
        found = corrected(program, bound, p, self.top, scale * wanted, scale * (wanted - most))
        if found is None:
            return bound
        value = program.repaired(found, p, self.top, scale * charge, self.positive()) / scale
        return replace(found, value=value) if value < bound.value else bound

    def _scale(self, p: Coefficients) -> float:
        """A power of two that brings p to the size of the price, and rounds nothing."""
        share = max(p.values(), key=abs) / max(self.top.values(), key=abs)
        return float(2.0 ** -round(float(np.log2(abs(share)))))

    def positive(self) -> float:
        """A proven lower bound on the price's numerator over the region."""
        if not self.plain and not self.least:
            self.least = self._least()
        return self.least

    def _least(self) -> float:
        negative = {key: -value for key, value in self.top.items()}
        one = {(0,) * self.region.q: 1.0}
        size = float(sum(abs(value) for value in self.top.values()))
        for relaxation in self.hierarchy({}):
            program = self._program(negative, relaxation)
            found = None if program.size.memory > memory_allowed() else program.solve(negative, one)
            if found is not None:
                least = -program.repaired(found, negative, one, 4 * UNIT * size, 1.0)
                if least > 0:
                    self.of_price = (relaxation, found)
                    return least
        return -np.inf

    def _program(self, p: Mapping[Exponents, float], relaxation: Relaxation) -> SumOfSquaresProgram:
        name = self._name(p, relaxation)
        if name not in self.programs:
            domain = Domain(self.region.q, tuple(self.constraints(relaxation)))
            self.programs[name] = SumOfSquaresProgram(domain, name[0], relaxation.degree)
        return self.programs[name]

    def _name(self, p: Mapping[Exponents, float], relaxation: Relaxation) -> tuple[tuple[Exponents, ...], Relaxation]:
        """What programs are kept under: the exponents that decide which signs may be split off, and the relaxation."""
        whole = sum(abs(value) for value in p.values())
        support = sorted({*(key for key, value in p.items() if abs(value) > ROUNDED * whole), *self.top})
        return tuple(support), relaxation

    def constraints(self, relaxation: Relaxation) -> list[dict[Exponents, Fraction]]:
        """The inequalities of the region, the sides of its box, and products of any two of these."""
        return constraints_of(self.region, relaxation.products)


def constraints_of(region: Region, with_products: bool) -> list[dict[Exponents, Fraction]]:
    """Chebyshev coefficients, of sum one, of what is nonnegative on the region."""
    return [scaled for _, scaled, _ in named_constraints(region, with_products)]


def named_constraints(
    region: Region, with_products: bool
) -> list[tuple[tuple[str, ...], dict[Exponents, Fraction], Fraction]]:
    """The same with what each is the product of, and the sum of its own coefficients, by which it is divided.

    b2 is 1 - u_2^2, +2 is 1 - u_2, -2 is 1 + u_2, and g4 the fifth inequality of the region.
    """
    q = region.q
    names = region.names
    centre, half = [Fraction(0)] * q, [Fraction(1)] * q
    Part = tuple[tuple[str, ...], Polynomial]

    def scaled(part: Part) -> tuple[tuple[str, ...], dict[Exponents, Fraction], Fraction]:
        found = part[1].chebyshev(centre, half)
        whole = sum((abs(value) for value in found.values()), Fraction(0))
        return part[0], {key: value / whole for key, value in found.items()}, whole

    def pairs(parts: list[Part]) -> list[Part]:
        return [((*a, *b), p * r) for (a, p), (b, r) in combinations(parts, 2)]

    u = {
        name: Polynomial.constant(region.centre[k], names)
        + Polynomial.constant(region.half[k], names) * Polynomial.variable(name, names)
        for k, name in enumerate(names)
    }
    inner: list[Part] = [((f"g{k}",), g.substituted(u, names)) for k, g in enumerate(region.inequalities)]
    one = Polynomial.constant(1, names)
    variables = [Polynomial.variable(name, names) for name in names]
    limited = [(k, v) for k, (v, boxed) in enumerate(zip(variables, region.boxed)) if boxed]
    boxes: list[Part] = [((f"b{k}",), one - v * v) for k, v in limited]
    if not (with_products and inner):
        return [scaled(part) for part in ([*boxes, *pairs(boxes)] if with_products else [*boxes, *inner])]
    flat = all(g.degree == 1 for _, g in inner)
    sides: list[Part] = [side for k, v in limited for side in (((f"+{k}",), one - v), ((f"-{k}",), one + v))]
    single = [*(sides if flat else boxes), *inner]
    return [scaled(part) for part in [*single, *pairs(single)]]


def likely_points(bound: Bound, u: Floats, count: int) -> Floats:
    """Of the rows of u those at which the moments of a relaxation are concentrated, by its Christoffel function."""
    known = {tuple(int(e) for e in key): float(y) for key, y in zip(bound.keys, bound.moments)}
    total = known.get((0,) * u.shape[1], 1.0) or 1.0
    score = np.zeros(len(u))
    for square in bound.squares:
        if len(square.constraint) != 1 or len(square.basis) == 0:
            continue
        n = len(square.basis)
        code = Code(u.shape[1], 2 * int(square.basis.sum(axis=1).max(initial=0)))
        rows, cols, values = products(square.basis, {(0,) * u.shape[1]: Fraction(1)}, code)
        moments = np.array([known.get(tuple(int(e) for e in key), 0.0) for key in code.back(cols)]) / total
        pair = np.bincount(rows, weights=values * moments, minlength=n * (n + 1) // 2)
        M = np.zeros((n, n))
        j, i = np.tril_indices(n)
        M[i, j] = M[j, i] = pair
        level, vectors = np.linalg.eigh(M)
        floor = 1e-5 * max(level[-1], 1e-300)
        image = chebyshev_rows(square.basis, u) @ vectors
        score += np.sum(image**2 / np.maximum(level, floor), axis=1)
    return u[np.argsort(score, kind="stable")[:count]]
