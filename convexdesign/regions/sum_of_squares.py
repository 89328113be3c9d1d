"""An upper bound on a rational function over a region, proven by sums of squares that are repaired, whatever a solver did.

For polynomials p and N > 0 and a region {g_k >= 0} within the box |u_i| <= 1 the semidefinite program

    min nu   subject to   nu N - p = sum_k <S_k, m_k m_k'> g_k + r,  r = 0,  S_k positive semidefinite,

bounds p / N by nu: every summand is nonnegative on the region. A solver returns S_k that are neither quite semidefinite nor
quite feasible. Repair: take S_k := LL', L from the nonnegative part of its eigenvalues, which is semidefinite exactly, whatever
the numbers in L are. Compute the coefficients r of what is left, over products of Chebyshev polynomials, each at most one on
the box. Then p <= nu N + sum |r|, where the constant may keep its sign. In floating point every coefficient is charged its
rounding: a product T_a T_b has coefficients of sum one, so that all charges together are at most a few units times the sum of
the absolute entries of S_k and the coefficients of g_k. In rational arithmetic nothing is charged and nothing is lost.

Signs u_i -> -u_i that leave p, N and all g_k as they are split the m_k into blocks (Lofberg 2009); what of p breaks them by
rounding alone is left in r. The moments y, the multipliers of the program, show where the bound is attained.

Source: Lasserre (2001); Putinar (1993); Schmudgen (1991) for products of the g_k; De Castro et al. (2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from convexdesign.regions.polynomial import Exponents
from convexdesign.regions.relaxation_size import RelaxationSize, relaxation_size
from convexdesign.typing import Floats, Indices

__all__ = ["Bound", "Code", "Coefficients", "Domain", "Square", "SumOfSquaresProgram", "products"]

UNIT = 2.0**-53
# Rows of all bases together beyond which they are not even split into sign classes.
MOST_ROWS = 300_000
Coefficients = Mapping[Exponents, float]


@dataclass(frozen=True)
class Domain:
    """{u in [-1, 1]^q : g_k(u) >= 0}: exact Chebyshev coefficients of each g_k, scaled to sum to one."""

    q: int
    constraints: tuple[Mapping[Exponents, Fraction], ...]


@dataclass(frozen=True, eq=False)
class Square:
    """A summand <LL', m m'> g: the constraint g, the exponents of m (n, q), and L (n, k)."""

    constraint: Mapping[Exponents, Fraction]
    basis: Indices
    root: Floats


@dataclass(frozen=True, eq=False)
class Bound:
    """p <= value N on the domain, proven by the squares; degree of the relaxation; moments and their exponents; nu."""

    value: float
    nu: float
    degree: int
    squares: tuple[Square, ...]
    keys: Indices
    moments: Floats


@dataclass(frozen=True, eq=False)
class _Block:
    """One cone: the basis (n, q) of one sign class, and the map (pairs, keys) from <S, .> to coefficients."""

    constraint: Mapping[Exponents, Fraction]
    basis: Indices
    rows: Indices
    cols: Indices
    values: Floats
    size: float


class SumOfSquaresProgram:
    """The relaxation of one degree for one domain: built once, solved for many p."""

    def __init__(self, domain: Domain, support: Sequence[Exponents], degree: int):
        """support: the exponents of p and N that decide which signs may be split off; degree: of all summands, even."""
        self.domain, self.support, self.degree = domain, support, degree
        self.code = Code(domain.q, degree)
        one: Mapping[Exponents, Fraction] = {(0,) * domain.q: Fraction(1)}
        self.parts: list[tuple[Mapping[Exponents, Fraction], int]] = []
        for g in (one, *domain.constraints):
            room = (degree - max(sum(key) for key in g)) // 2
            if room >= 0:
                self.parts.append((g, room))

    @cached_property
    def cones(self) -> list[tuple[Mapping[Exponents, Fraction], list[Indices]]]:
        """Every summand's constraint and the bases (n, q) of its sign classes."""
        q = self.domain.q
        lattice = _parities(q, [*self.support, *(key for g in self.domain.constraints for key in g)])
        bases = {room: exponents(q, room) for _, room in self.parts}
        classes = {room: [basis[group] for group in _classes(basis, lattice)] for room, basis in bases.items()}
        return [(g, classes[room]) for g, room in self.parts]

    @cached_property
    def size(self) -> RelaxationSize:
        """What it will take, known before any of it is built."""
        q = self.domain.q
        if sum(comb(q + room, room) for _, room in self.parts) > MOST_ROWS:
            # Too many to be split into sign classes, and for any machine.
            return relaxation_size([comb(q + room, room) for _, room in self.parts])
        return relaxation_size([len(basis) for _, bases in self.cones for basis in bases])

    @cached_property
    def _built(self) -> tuple[list[_Block], Indices]:
        """The cones with their maps, and the exponents that occur, as whole numbers."""
        q, blocks = self.domain.q, []
        for g, bases in self.cones:
            pairs = [np.tril_indices(len(basis)) for basis in bases]
            first, second = (
                np.concatenate([basis[pair[side]] for basis, pair in zip(bases, pairs)]) for side in (1, 0)
            )
            rows, cols, values = _products_of(first, second, g, self.code)
            ends = np.cumsum([0, *(len(pair[0]) for pair in pairs)])
            size = float(sum(abs(v) for v in g.values()))
            for basis, start, low, high in zip(bases, ends, *(np.searchsorted(rows, e) for e in (ends[:-1], ends[1:]))):
                blocks.append(_Block(g, basis, rows[low:high] - start, cols[low:high], values[low:high], size))
        wanted = self.code.of(
            np.array([key for key in self.support if sum(key) <= self.degree] + [(0,) * q], dtype=np.int64).reshape(
                -1, q
            )
        )
        keys = np.unique(np.concatenate([wanted, *(block.cols for block in blocks)]))
        return [replace(block, cols=np.searchsorted(keys, block.cols)) for block in blocks], keys

    @property
    def blocks(self) -> list[_Block]:
        """The cones, with what each adds to the coefficients."""
        return self._built[0]

    @property
    def keys(self) -> Indices:
        """The exponents that occur, as whole numbers in order."""
        return self._built[1]

    @cached_property
    def place(self) -> dict[int, int]:
        """Where each of them is."""
        return {int(key): k for k, key in enumerate(self.keys)}

    # ----------------------------------------------------------------- solving

    def solve(
        self, p: Coefficients, N: Coefficients, tol: float = 1e-10, time_limit: float | None = None
    ) -> Bound | None:
        """The best bound on p / N by this relaxation; None where the solver has none. charge: see `repaired`."""
        import clarabel
        from scipy import sparse

        target, scale = self._vector(p)[0], self._vector(N)[0]
        rows, cols, values, offset = [np.zeros(len(self.keys), dtype=np.int64)], [np.arange(len(self.keys))], [scale], 1
        cones: list[Any] = [clarabel.ZeroConeT(1)]
        for block in self.blocks:
            n = len(block.basis)
            twist = _twist(n)
            rows.append(offset + block.rows)
            cols.append(block.cols)
            values.append(-block.values * twist[block.rows])
            cones.append(clarabel.PSDTriangleConeT(n))
            offset += n * (n + 1) // 2
        A = sparse.csc_matrix(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), shape=(offset, len(self.keys))
        )
        b = np.zeros(offset)
        b[0] = 1.0
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
        settings.max_iter = 100
        settings.max_threads = 1
        if time_limit is not None:
            settings.time_limit = time_limit
        empty = sparse.csc_matrix((len(self.keys), len(self.keys)))
        try:
            found = clarabel.DefaultSolver(empty, -target, A, b, cones, settings).solve()
        except BaseException as error:  # the solver's own panics are no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            return None
        z, y = np.array(found.z), np.array(found.x)
        if not (np.isfinite(z).all() and np.isfinite(y).all()):
            return None
        squares, offset = [], 1
        for block in self.blocks:
            n = len(block.basis)
            size = n * (n + 1) // 2
            S = np.zeros((n, n))
            j, i = np.tril_indices(n)
            S[i, j] = z[offset : offset + size] / _twist(n)
            S[j, i] = S[i, j]
            offset += size
            level, vectors = np.linalg.eigh(S)
            keep = level > 0
            squares.append(Square(block.constraint, block.basis, vectors[:, keep] * np.sqrt(level[keep])))
        return Bound(np.nan, float(z[0]), self.degree, tuple(squares), self.code.back(self.keys), y)

    def vector(self, p: Coefficients) -> Floats:
        """Coefficients in the order of the keys, as far as they have a place there."""
        return self._vector(p)[0]

    def _vector(self, p: Coefficients) -> tuple[Floats, float]:
        """Coefficients in the order of the keys, and the sum of the absolute ones that have no place there."""
        out, left = np.zeros(len(self.keys)), 0.0
        for key, value in p.items():
            k = self.place.get(int(self.code.of(np.array([key]))[0])) if sum(key) <= self.degree else None
            if k is None:
                left += abs(value)
            else:
                out[k] = value
        return out, left

    def repaired(self, found: Bound, p: Coefficients, N: Coefficients, charge: float, least: float) -> float:
        """The proven bound on p / N: charge bounds what all coefficients of p are off by, least bounds N from below."""
        target, left_p = self._vector(p)
        scale, left_n = self._vector(N)
        residual = found.nu * scale - target
        off = charge + left_p + abs(found.nu) * left_n
        # The largest that any partial sum may be, over all coefficients; each block rounds it once.
        partial = float(np.sum(np.abs(target)) + abs(found.nu) * np.sum(np.abs(scale)))
        off += 4 * UNIT * partial
        for block, square in zip(self.blocks, found.squares):
            L = square.root
            n, k = L.shape
            if not k:
                continue
            S, size = L @ L.T, np.abs(L) @ np.abs(L).T
            j, i = np.tril_indices(n)
            double = np.where(i == j, 1.0, 2.0)
            terms = (S[i, j] * double)[block.rows] * block.values
            residual -= np.bincount(block.cols, weights=terms, minlength=len(residual))
            weight = float(size.sum()) * block.size
            count = int(np.bincount(block.cols).max())
            partial += weight
            # The products LL', the coefficients of g and T_a T_b g, and their sums key by key.
            off += (k + count + 16 + 4 * len(block.constraint)) * UNIT * weight
        off += (len(self.blocks) + 2) * UNIT * partial
        zero = self.place[int(self.code.of(np.zeros((1, self.domain.q), dtype=np.int64))[0])]
        constant = float(residual[zero])
        residual[zero] = 0.0
        rest = float(np.abs(residual).sum()) * (1.0 + len(residual) * UNIT) + off * (1.0 + 1e-9)
        excess = rest - constant
        if len(N) == 1 and (0,) * self.domain.q in N and N[(0,) * self.domain.q] == 1.0:
            bound = found.nu + excess
        else:
            bound = found.nu + (excess / least if excess > 0 else 0.0)
        return bound + 8 * UNIT * (abs(found.nu) + abs(excess))


def exponents(q: int, degree: int) -> Indices:
    """All exponents of q variables up to a degree, lowest first, (n, q)."""
    out = []
    for total in range(degree + 1):
        for chosen in combinations_with_replacement(range(q), total):
            row = [0] * q
            for k in chosen:
                row[k] += 1
            out.append(row)
    return np.array(out, dtype=np.int64).reshape(-1, q)


class Code:
    """Exponents of a total degree up to `most` as single whole numbers, by the combinatorial number system."""

    def __init__(self, q: int, most: int):
        if comb(q + most, max(q, 1)) >= 2**62:
            raise OverflowError(f"{q} coordinates of degree {most}")
        # e_0 + ... + e_k + k rises with k: a set of q numbers, whose rank is the sum of binomials of its members.
        # No member is above most + k; what stands there only keeps the rows rising.
        rows = [[comb(c, k + 1) if c <= most + k else 2**62 for c in range(q + most)] for k in range(q)]
        self.table = np.array(rows, dtype=np.int64).reshape(q, q + most)
        self.places = np.arange(q)

    def of(self, keys: Indices) -> Indices:
        members = np.cumsum(keys, axis=1) + self.places
        return np.asarray(self.table[self.places, members].sum(axis=1))

    def back(self, codes: Indices) -> Indices:
        left, sums = codes.copy(), np.zeros((len(codes), len(self.places) + 1), dtype=np.int64)
        for k in self.places[::-1]:
            member = np.searchsorted(self.table[k], left, side="right") - 1
            left = left - self.table[k, member]
            sums[:, k + 1] = member - k
        return np.diff(sums, axis=1)


def products(basis: Indices, g: Mapping[Exponents, Fraction], code: Code) -> tuple[Indices, Indices, Floats]:
    """T_a T_b g for all pairs a <= b of the basis, in the order of the upper triangle by columns."""
    j, i = np.tril_indices(len(basis))
    return _products_of(basis[i], basis[j], g, code)


def _products_of(
    first: Indices, second: Indices, g: Mapping[Exponents, Fraction], code: Code
) -> tuple[Indices, Indices, Floats]:
    """T_a T_b g for pairs of rows: the number of the pair, rising, the exponents and the coefficient."""
    pair, weight = np.arange(len(first)), np.ones(len(first))
    first, weight, pair = _times(first, second, weight, pair)
    parts = []
    for key, value in g.items():
        e, w, r = _times(first, np.broadcast_to(np.array(key), first.shape), weight * float(value), pair)
        parts.append((e, w, r))
    codes, place = np.unique(np.concatenate([code.of(e) for e, _, _ in parts]), return_inverse=True)
    both, inverse = np.unique(
        np.concatenate([r for _, _, r in parts]) * len(codes) + place.ravel(), return_inverse=True
    )
    sums = np.bincount(inverse.ravel(), weights=np.concatenate([w for _, w, _ in parts]), minlength=len(both))
    return both // len(codes), codes[both % len(codes)], np.asarray(sums, dtype=float)


def _times(a: Indices, b: Indices, weight: Floats, label: Indices) -> tuple[Indices, Floats, Indices]:
    """T_a T_b row by row: every coordinate in which both are positive splits into sum and difference, half each."""
    out, other, w, r = a.copy(), b, weight, label
    for k in range(a.shape[1]):
        both = (out[:, k] > 0) & (other[:, k] > 0)
        low = np.abs(out[both, k] - other[both, k])
        extra, rest = out[both].copy(), other[both]
        extra[:, k] = low
        out = out.copy()
        out[:, k] += other[:, k]
        w = np.where(both, w / 2.0, w)
        out, other = np.vstack([out, extra]), np.vstack([other, rest])
        w, r = np.concatenate([w, w[both]]), np.concatenate([r, r[both]])
    return out, w, r


def _twist(n: int) -> Floats:
    """sqrt 2 off the diagonal, in the order of the upper triangle by columns."""
    j, i = np.tril_indices(n)
    return np.where(i == j, 1.0, np.sqrt(2.0))


def _parities(q: int, keys: Sequence[Exponents]) -> list[int]:
    """A basis of the parities of the exponents over GF(2), as bit masks with distinct leading bits, reduced."""
    basis: list[int] = []
    for mask in {sum((int(e) & 1) << k for k, e in enumerate(key)) for key in keys}:
        for known in basis:
            mask = min(mask, mask ^ known)
        if mask:
            basis = [min(known, known ^ mask) for known in basis] + [mask]
            basis.sort(reverse=True)
    return basis


def _classes(basis: Indices, lattice: list[int]) -> list[Indices]:
    """Rows whose parities differ by an element of the lattice belong together."""
    groups: dict[int, list[int]] = {}
    for k, row in enumerate(basis):
        mask = sum((int(e) & 1) << j for j, e in enumerate(row))
        for known in lattice:
            mask = min(mask, mask ^ known)
        groups.setdefault(mask, []).append(k)
    return [np.array(group) for group in groups.values()]
