"""python check_region.py certificate.json problem.toml: is a design over a region nearly optimal? By integers and fractions.

This file needs check.py beside it and no other, no solver and no algebra system. It reads model and region from the problem
file into exact polynomials, every double as the fraction it is, and computes the claims again. f(x) are the model's
functions, s^2 c = N/D the price of a measurement, A = A0 + sum_i w_i f(x_i)f(x_i)'D(x_i)/N(x_i) (w_i D/N over the sum of the
weights, rounded down), at settings that satisfy every inequality exactly. For a positive semidefinite Q let

    h = trace(A0 Q) + lambda,   f'Qf D <= lambda N  everywhere in the region,   so that trace(AQ) <= h for every design. Then

    D        value = det A,                 optimum <= bound = (h/d)^d / det Q,          Q = B'B
    D_s      value = 1 / det K'A^-1K,       optimum <= bound = (h/s)^s / det(BK)^2,      Q = B'B, B of s rows
    E        value <= lambda_min(A),        optimum <= bound = h / trace Q,              Q = B'B
    minimax  value = max_j v_j'A^-1v_j,     optimum >= bound = sum_j (b_j'v_j)^2 / h,    Q = B'B, a row b_j for some targets
    average  value = trace A^-1M,           optimum >= bound = trace(CM)^2 / h,          Q = CMC'
    G        value = lambda N/D (constant), optimum  = d N/D,                            Q - A^-1 positive semidefinite

lambda is proven by sums of squares. In coordinates x = c + Hu, H regular, the region lies in |u_k| <= 1, which the certificate
proves by multipliers of the region's own inequalities ("walls"). The box is cut into cells; in each, v its coordinates between
-1 and 1,

    nu N - f'Qf D - sum_k (sum_c (sum_i r_ic T_i(v))^2) g_k = rest,      T_i products of Chebyshev polynomials,

g_k products of inequalities that hold there. The squares are written out, so that nothing has to be shown to be semidefinite;
on the cell |T| <= 1, so that f'Qf D <= nu N + sum |coefficients of the rest|. A positive lower bound on N is proven likewise.
"""

import importlib
import itertools
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

# check.py beside this file, as part of the package or as it is.
base: Any = importlib.import_module("convexdesign.rigorous.check" if __package__ else "check")

__all__ = ["RegionStatement", "Rejected", "base", "check", "read"]

FORMAT = "convexdesign certificate over a region 1"
FIELDS = [
    "bound",
    "data",
    "digest",
    "format",
    "frame",
    "kind",
    "most",
    "pieces",
    "settings",
    "value",
    "vectors",
    "weights",
]
BITS = 128
AVERAGES = ("a-optimal", "i-optimal", "average-variance")
TARGETED = ("minimax", "c-optimal", "xy-allocation", "level-set-allocation")
KINDS = (*AVERAGES, *TARGETED, "d-optimal", "ds-optimal", "e-optimal", "g-optimal")
MAXIMISED = ("d-optimal", "ds-optimal", "e-optimal")
MOST_POWER = 20
Exponents = tuple[int, ...]
Poly = dict[Exponents, Fraction]  # over powers, or over products of Chebyshev polynomials
Row = list[Any]
Rejected = base.Rejected
ERRORS = base.ERRORS


@dataclass(frozen=True)
class RegionStatement:
    """Exact polynomials of q coordinates: f for every piece, inequalities g >= 0, the price N/D; A0; targets, M or K."""

    kind: str
    q: int
    f: list[list[Poly]]
    g: list[Poly]
    price: tuple[Poly, Poly]
    prior: list[Row]
    aim: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def d(self) -> int:
        return len(self.f[0])

    def digest(self) -> str:
        def shown(p: Poly) -> Row:
            return [[list(key), str(value)] for key, value in sorted(p.items())]

        aim = {name: [[str(x) for x in row] for row in rows] for name, rows in self.aim.items()}
        listed = [
            [[shown(p) for p in row] for row in self.f],
            sorted(shown(p) for p in self.g),
            [*map(shown, self.price)],
        ]
        prior = [[str(Fraction(x)) for x in row] for row in self.prior]
        return base.sha256({"kind": self.kind, "q": self.q, "polynomials": listed, "prior": prior, "aim": aim})


# ------------------------------------------------------------------ polynomials


def plus(a: Poly, b: Poly, factor: Any = 1) -> Poly:
    out = dict(a)
    for key, value in b.items():
        out[key] = out.get(key, Fraction(0)) + factor * value
    return {key: value for key, value in out.items() if value}


def product(a: Poly, b: Poly) -> Poly:
    """Of polynomials over powers."""
    out: Poly = {}
    for (i, x), (j, y) in itertools.product(a.items(), b.items()):
        key = tuple(m + n for m, n in zip(i, j, strict=True))
        out[key] = out.get(key, Fraction(0)) + x * y
    return {key: value for key, value in out.items() if value}


def power(a: Poly, n: int, q: int) -> Poly:
    out = constant(1, q)
    for _ in range(n):
        out = product(out, a)
    return out


def constant(value: Any, q: int) -> Poly:
    return {(0,) * q: Fraction(value)} if value else {}


def variable(k: int, q: int) -> Poly:
    return {tuple(int(j == k) for j in range(q)): Fraction(1)}


def value_at(p: Poly, x: Sequence[Fraction]) -> Fraction:
    return sum((math.prod((v**n for v, n in zip(x, key, strict=True)), start=c) for key, c in p.items()), Fraction(0))


def splits(a: Exponents, b: Exponents) -> tuple[list[Exponents], int]:
    """T_a T_b is the sum of these T over 2^n: T_i T_j = (T_(i+j) + T_|i-j|) / 2 in every coordinate where both are positive."""
    keys: list[Exponents] = [()]
    n = 0
    for i, j in zip(a, b, strict=True):
        if i and j:
            keys, n = [(*k, m) for k in keys for m in (i + j, abs(i - j))], n + 1
        else:
            keys = [(*k, i + j) for k in keys]
    return keys, n


def chebyshev_product(a: Poly, b: Poly) -> Poly:
    out: Poly = {}
    for (i, x), (j, y) in itertools.product(a.items(), b.items()):
        keys, n = splits(i, j)
        share = x * y / 2**n
        for key in keys:
            out[key] = out.get(key, Fraction(0)) + share
    return {key: value for key, value in out.items() if value}


def chebyshev(p: Poly, x: Sequence[Poly], q: int) -> Poly:
    """p over powers of x, where each x_k is a polynomial over Chebyshev polynomials of the new coordinates."""
    powers: list[list[Poly]] = [[constant(1, q)] for _ in x]
    out: Poly = {}
    for key, value in p.items():
        term = constant(value, q)
        for k, n in enumerate(key):
            while len(powers[k]) <= n:
                powers[k].append(chebyshev_product(powers[k][-1], x[k]))
            if n:
                term = chebyshev_product(term, powers[k][n])
        out = plus(out, term)
    return out


def quadratic(S: list[Row], basis: list[Exponents]) -> Poly:
    """sum_ab S_ab T_a T_b for a symmetric S, over Chebyshev polynomials."""
    out: dict[Exponents, Any] = {}
    q = len(basis[0])
    for a, (i, row) in enumerate(zip(basis, S, strict=True)):
        for b in range(a + 1):
            if row[b]:
                keys, n = splits(i, basis[b])
                share = row[b] * 2 ** (q - n + (a != b))
                for key in keys:
                    out[key] = out.get(key, 0) + share
    return {key: Fraction(value) / 2**q for key, value in out.items() if value}


def multiplied(A: list[Row], B: list[Row]) -> list[Row]:
    columns = list(zip(*B, strict=True))
    return [[base.dot(row, list(column)) for column in columns] for row in A]


def transposed(A: list[Row]) -> list[Row]:
    return [list(row) for row in zip(*A, strict=True)]


def trace(A: list[Row], B: list[Row]) -> Any:
    """trace(AB) for symmetric matrices."""
    return sum(base.dot(a, b) for a, b in zip(A, B, strict=True))


def determinant(A: list[Row]) -> Fraction:
    """Of a positive semidefinite matrix."""
    return Fraction(math.prod(base.eliminate(A)[1]))


def solved(A: list[Row], B: list[Row]) -> list[Row]:
    """A^-1 B; Rejected for a singular A."""
    n = len(A)
    S = [[Fraction(x) for x in row] + [Fraction(x) for x in right] for row, right in zip(A, B, strict=True)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if S[i][k]), None)
        if pivot is None:
            raise Rejected("a matrix that must be regular is singular")
        S[k], S[pivot] = S[pivot], S[k]
        S[k] = [x / S[k][k] for x in S[k]]
        for i in range(n):
            if i != k and S[i][k]:
                S[i] = [x - S[i][k] * y for x, y in zip(S[i], S[k], strict=True)]
    return [row[n:] for row in S]


# -------------------------------------------------------------- the largest lambda


def fraction(text: Any) -> Fraction:
    """A whole number, or p/q in hexadecimal digits."""
    if type(text) is int:
        return Fraction(text)
    if not (isinstance(text, str) and re.fullmatch("-?[0-9a-f]+/[1-9a-f][0-9a-f]*", text)):
        raise Rejected("a number is no fraction in hexadecimal digits")
    return Fraction(*(int(part, 16) for part in text.split("/")))


def hexadecimal(x: Fraction) -> str:
    return f"{x.numerator:x}/{x.denominator:x}"


def whole_rows(entry: Any, width: int) -> list[Row]:
    """Rows of whole numbers over 2^bits."""
    rows, bits = entry["rows"], entry["bits"]
    if (
        not all(type(x) is int for x in (bits, *itertools.chain(*rows)))
        or bits < 0
        or {len(row) for row in rows} != {width}
    ):
        raise Rejected("a matrix has entries that are no whole numbers, or rows of another length")
    return [[Fraction(x, 2**bits) for x in row] for row in rows]


def frame(problem: RegionStatement, stated: Any) -> list[Poly]:
    """x as linear polynomials of u, where the region is proven to lie in |u_k| <= 1."""
    q = problem.q
    centre, H = [fraction(x) for x in stated["centre"]], [[fraction(x) for x in row] for row in stated["axes"]]
    if len(centre) != q or [len(row) for row in H] != [q] * q or len(stated["walls"]) != q:
        raise Rejected("the coordinates of the certificate are not those of the region")
    solved(H, [[0] for _ in H])  # regular, or Rejected
    x = [constant(c, q) for c in centre]
    for k, row in enumerate(H):
        for j, value in enumerate(row):
            x[k] = plus(x[k], variable(j, q), value)
    g = [composed(p, x, q) for p in problem.g]
    for k, wall in enumerate(stated["walls"]):
        u = variable(k, q)
        if wall.keys() == {"square"}:
            # 1 - u^2 = sum y g + a quadratic form of 1 and u that is positive semidefinite.
            rest = less(plus(constant(1, q), product(u, u), -1), wall["square"], g)
            unit = [(0,) * q, *(next(iter(variable(j, q))) for j in range(q))]
            S: list[Row] = [[0] * (q + 1) for _ in range(q + 1)]
            for a, b in itertools.product(range(q + 1), repeat=2):
                key = tuple(m + n for m, n in zip(unit[a], unit[b], strict=True))
                S[a][b] = rest.get(key, Fraction(0)) / (1 if a == b else 2)
            if any(sum(key) > 2 for key in rest):
                raise Rejected("a wall is no quadratic form")
            base.eliminate(S)
        else:
            for side, sign in (("above", 1), ("below", -1)):
                rest = less(plus(constant(1, q), u, -sign), wall[side], g)
                if any(sum(key) for key in rest) or rest.get((0,) * q, Fraction(0)) < 0:
                    raise Rejected("the region is not shown to lie within its coordinates")
    return x


def less(p: Poly, multipliers: Any, g: list[Poly]) -> Poly:
    """p - sum y_i g_i for stated y_i >= 0."""
    for number, text in multipliers.items():
        y = fraction(text)
        if y < 0:
            raise Rejected("a multiplier is negative")
        p = plus(p, g[int(number)], -y)
    return p


def composed(p: Poly, x: Sequence[Poly], q: int) -> Poly:
    """p of polynomials, over powers."""
    out: Poly = {}
    for key, value in p.items():
        term = constant(value, q)
        for k, n in enumerate(key):
            if n:
                term = product(term, power(x[k], n, q))
        out = plus(out, term)
    return out


def largest(
    problem: RegionStatement, Q: list[Row], piece: int, x: list[Poly], cell: Any, low: Row, high: Row
) -> Fraction:
    """An upper bound on f'Qf D/N over the cell low <= u <= high of a piece."""
    q = problem.q
    if "cut" in cell:
        axis, middle = cell["cut"], fraction(cell["at"])
        if type(axis) is not int or not 0 <= axis < q or not low[axis] < middle < high[axis]:
            raise Rejected("a cell is not cut inside")
        first, second = [*high], [*low]
        first[axis] = second[axis] = middle
        return max(
            largest(problem, Q, piece, x, cell["low"], low, first),
            largest(problem, Q, piece, x, cell["high"], second, high),
        )
    u = [
        plus(constant((a + b) / 2, q), variable(k, q), (b - a) / 2)
        for k, (a, b) in enumerate(zip(low, high, strict=True))
    ]
    at = [chebyshev(p, u, q) for p in x]
    N, D = (chebyshev(p, at, q) for p in problem.price)
    f = [chebyshev(p, at, q) for p in problem.f[piece]]
    basis = sorted({key for p in f for key in p})
    columns = [[p.get(key, Fraction(0)) for p in f] for key in basis]
    QH = [[base.dot(row, column) for row in Q] for column in columns]
    p = chebyshev_product(quadratic([[base.dot(a, b) for b in columns] for a in QH], basis), D)
    g = [chebyshev(p, at, q) for p in problem.g]
    if all(not sum(key) for key in N):
        return proven(p, N, cell["squares"], g, q, N.get((0,) * q, Fraction(0)), True)
    negative = {key: -value for key, value in N.items()}
    least = -proven(negative, constant(1, q), cell["price"], g, q, Fraction(1), True)
    return proven(p, N, cell["squares"], g, q, least, False)


def proven(p: Poly, N: Poly, stated: Any, g: list[Poly], q: int, least: Fraction, constant_price: bool) -> Fraction:
    """lambda with p <= lambda N where all g >= 0 and |v| <= 1, N >= least: from nu and the squares."""
    if least <= 0:
        raise Rejected("the price of a measurement is not shown to be positive")
    nu = fraction(stated["nu"])
    rest = plus({key: nu * value for key, value in N.items()}, p, -1)
    for square in stated["sum"]:
        basis = [tuple(key) for key in square["basis"]]
        if any(len(key) != q or any(type(n) is not int or n < 0 for n in key) for key in basis):
            raise Rejected("an exponent is no whole number")
        root, bits = square["root"], square["bits"]
        if not all(type(n) is int for n in (bits, *itertools.chain(*root))) or len(root) != len(basis) or bits < 0:
            raise Rejected("the entries of a square are no whole numbers")
        S = [[base.dot(a, b) for b in root[: k + 1]] + [0] * (len(root) - k - 1) for k, a in enumerate(root)]
        part = quadratic(S, basis)
        for name in square["times"]:
            part = chebyshev_product(part, factor(name, g, q))
        rest = plus(rest, part, Fraction(-1, 4**bits))
    level = rest.pop((0,) * q, Fraction(0))
    excess = sum((abs(value) for value in rest.values()), Fraction(0)) - level
    return nu + (excess / least if constant_price or excess > 0 else 0)


def factor(name: str, g: list[Poly], q: int) -> Poly:
    """What holds on a cell: "b2" 1 - v_2^2, "+2" 1 - v_2, "-2" 1 + v_2, "g4" the fifth inequality of the region."""
    if not (isinstance(name, str) and re.fullmatch("[b+g-](0|[1-9][0-9]*)", name)):
        raise Rejected("an inequality is named that there is not")
    kind, k = name[0], int(name[1:])
    if kind == "g":
        return g[k]
    v = variable(k, q)
    if not any(sum(key) for key in v):
        raise Rejected("an inequality is named that there is not")
    # v^2 = (1 + T_2) / 2.
    square = {(0,) * q: Fraction(1, 2), tuple(2 * n for n in next(iter(v))): Fraction(-1, 2)}
    return square if kind == "b" else plus(constant(1, q), v, -1 if kind == "+" else 1)


# ---------------------------------------------------------- value, bound and check


def information(problem: RegionStatement, settings: list[tuple[int, Row]], weights: list[Any]) -> list[Row]:
    """A, from below."""
    if not settings or len(settings) != len(weights) or min(weights) <= 0:
        raise Rejected("weights must be positive, one for each setting")
    efforts, rows = [], []
    for (piece, x), w in zip(settings, weights, strict=True):
        N, D = (value_at(p, x) for p in problem.price)
        if N <= 0 or D <= 0:
            raise Rejected("noise or cost is not positive at a setting")
        efforts.append(Fraction(w) * D / N / sum(weights))
        rows.append([value_at(p, x) for p in problem.f[piece]])
    fine = 2 ** (BITS + max(e.denominator.bit_length() - e.numerator.bit_length() for e in efforts) + 1)
    A = base.gram([(Fraction(math.floor(e * fine), fine), f) for e, f in zip(efforts, rows, strict=True)], problem.d)
    return [[x + y for x, y in zip(*pair, strict=True)] for pair in zip(A, problem.prior, strict=True)]


def form(problem: RegionStatement, vectors: Any) -> tuple[list[Row], list[Row]]:
    """B, or C, and the matrix Q."""
    B = whole_rows(vectors, problem.d)
    if problem.kind in AVERAGES:
        base.eliminate(problem.aim["M"])  # semidefinite
        if len(B) != problem.d:
            raise Rejected("the matrix C is not square")
        return B, multiplied(multiplied(B, problem.aim["M"]), transposed(B))
    return B, base.gram([(1, b) for b in B], problem.d)


def value_of(problem: RegionStatement, A: list[Row], claimed: Fraction | None = None) -> Fraction:
    """The criterion of A; of E a claim that is checked; not of G."""
    d, kind = problem.d, problem.kind
    units = [[Fraction(a == b) for b in range(d)] for a in range(d)]
    match kind:
        case "d-optimal":
            return determinant(A)
        case "e-optimal":
            if claimed is None or claimed < 0:
                raise Rejected("a least eigenvalue is negative, or missing")
            base.eliminate(
                [[x - claimed * y for x, y in zip(*rows, strict=True)] for rows in zip(A, units, strict=True)]
            )
            return claimed
        case "ds-optimal":
            K = problem.aim["interest"]
            return over(Fraction(1), determinant(multiplied(multiplied(transposed(K), inverse(A, transposed(K))), K)))
    if kind in AVERAGES:
        M = problem.aim["M"]
        return Fraction(trace(inverse(A, M), M))
    V = problem.aim["targets"]
    if not any(map(any, V)):
        raise Rejected("all targets are zero")
    return max(Fraction(base.dot(v, [base.dot(row, v) for row in inverse(A, [v])])) for v in V)


def inverse(A: list[Row], wanted: list[Row]) -> list[Row]:
    """A matrix C with v'Cv = v'A^-1v for all v that A measures; Rejected where the wanted are not among them."""
    M, D = base.eliminate(A)
    if any(base.dot(m, v) for m, q in zip(M, D, strict=True) if not q for v in wanted):
        raise Rejected("this design does not measure what is wanted")
    return base.gram([(1 / q, m) for m, q in zip(M, D, strict=True) if q], len(A))  # type: ignore[no-any-return]


def bound_of(problem: RegionStatement, B: list[Row], Q: list[Row], h: Fraction, targets: list[int]) -> Fraction:
    """What trace(AQ) <= h proves of every design."""
    d, kind = problem.d, problem.kind
    base.eliminate(problem.prior)  # semidefinite
    if h <= 0:
        raise Rejected("the vectors are all zero")
    match kind:
        case "d-optimal":
            size = determinant(Q)
            return over((h / d) ** d, size)
        case "ds-optimal":
            K = problem.aim["interest"]
            hits = multiplied(B, K)
            if len(hits) != len(hits[0]):
                raise Rejected("there must be a vector for each parameter of interest")
            s = len(hits)
            size = determinant(multiplied(hits, transposed(hits)))
            return over((h / s) ** s, size)
        case "e-optimal":
            return over(h, Fraction(sum(Q[k][k] for k in range(d))))
    if kind in AVERAGES:
        return Fraction(sum(base.dot(c, m) for c, m in zip(B, transposed(problem.aim["M"]), strict=True))) ** 2 / h
    V = problem.aim["targets"]
    if len(set(targets)) < len(targets) or len(targets) != len(B) or not all(0 <= j < len(V) for j in targets):
        raise Rejected("a vector belongs to no target, or two to one")
    return Fraction(sum(base.dot(b, V[j]) ** 2 for b, j in zip(B, targets, strict=True))) / h


def over(top: Fraction, bottom: Fraction) -> Fraction:
    if bottom <= 0:
        raise Rejected("the vectors do not span what is wanted: a determinant is zero")
    return top / bottom


def inside(problem: RegionStatement, settings: list[tuple[int, Row]]) -> None:
    """Rejected where a setting violates an inequality."""
    for piece, x in settings:
        if type(piece) is not int or not 0 <= piece < len(problem.f) or len(x) != problem.q:
            raise Rejected("a setting belongs to no piece of the region")
        if any(value_at(p, x) < 0 for p in problem.g):
            raise Rejected("a setting lies outside the region")


def most_everywhere(problem: RegionStatement, Q: list[Row], certificate: dict[str, Any]) -> Fraction:
    """lambda: the largest bound of all pieces."""
    if len(certificate["pieces"]) != len(problem.f):
        raise Rejected("a piece of the region is left out")
    x = frame(problem, certificate["frame"])
    low, high = [Fraction(-1)] * problem.q, [Fraction(1)] * problem.q
    return max(largest(problem, Q, k, x, cell, low, high) for k, cell in enumerate(certificate["pieces"]))


def recompute(problem: RegionStatement, certificate: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """(value, bound) of the settings and weights, and from the vectors and squares, of the certificate."""
    settings = [(s["piece"], [fraction(x) for x in s["at"]]) for s in certificate["settings"]]
    weights = certificate["weights"]
    if not all(type(w) is int for w in weights):
        raise Rejected("weights must be whole numbers")
    inside(problem, settings)
    A = information(problem, settings, weights)
    B, Q = form(problem, certificate["vectors"])
    most = fraction(certificate["most"])
    if most_everywhere(problem, Q, certificate) > most:
        raise Rejected("the squares do not prove the bound on the sensitivity that is claimed")
    if problem.kind == "g-optimal":
        return worst_variance(problem, A, Q, most)
    h = most + trace(Q, problem.prior)
    claimed = fraction(certificate["value"]) if problem.kind == "e-optimal" else None
    targets = certificate["vectors"].get("targets", [])
    return value_of(problem, A, claimed), bound_of(problem, B, Q, h, targets)


def worst_variance(problem: RegionStatement, A: list[Row], Q: list[Row], most: Fraction) -> tuple[Fraction, Fraction]:
    """The largest variance over the region, and its least by the theorem of Kiefer and Wolfowitz."""
    if any(map(any, problem.prior)) or any(sum(key) for p in problem.price for key in p):
        raise Rejected("of G-optimality this checker knows equal noise and cost, without information held")
    AQA = multiplied(multiplied(A, Q), A)
    base.eliminate([base.minus(a, b) for a, b in zip(AQA, A, strict=True)])
    solved(A, [[0] for _ in A])  # regular
    N, D = (value_at(p, [Fraction(0)] * problem.q) for p in problem.price)
    return most * N / D, problem.d * N / D


def check(certificate: dict[str, Any], problem: RegionStatement) -> Fraction:
    """The proven ratio of bound and value (at most 1), when every field is as claimed; Rejected otherwise."""
    if sorted(certificate) != FIELDS or certificate["digest"] != base.sha256(certificate):
        raise Rejected("a field is missing, added or changed: the digest does not match")
    if [certificate[x] for x in ("format", "kind", "data")] != [FORMAT, problem.kind, problem.digest()]:
        raise Rejected("the certificate was made for other data, or for another version of this checker")
    value, bound = recompute(problem, certificate)
    if [certificate["value"], certificate["bound"]] != [hexadecimal(x) for x in (value, bound)]:
        raise Rejected("value or bound is not what the settings, vectors and squares give")
    low, high = (value, bound) if problem.kind in MAXIMISED else (bound, value)
    if not 0 <= low <= high or not high:
        raise Rejected("no design is better than the optimum: value and bound contradict each other")
    return low / high


# --------------------------------------------------------------- the problem file


@dataclass
class Space:
    """The region while it is read: coordinates, inequalities, factors that are not coordinates, levels."""

    names: list[str] = field(default_factory=list)
    g: list[Any] = field(default_factory=list)  # polynomials of all factors, as functions of the number of coordinates
    gone: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, Row] = field(default_factory=dict)


TABLES = {"model", "region", "average_over"}
COMMON = {
    "title",
    "statement",
    "kind",
    "reference",
    "noise_variance",
    "costs",
    "prior_information",
    "existing_runs",
    "n_new",
}
OWN = {"minimax": "targets", "c-optimal": "direction", "ds-optimal": "interest", "average-variance": "M"}
OWN |= {"xy-allocation": "items", "level-set-allocation": "items"}
SHAPES = {"box", "ball", "simplex", "polytope", "levels", "where"}


def read(path: Path) -> RegionStatement:
    """The problem that a file states, exactly."""
    p = tomllib.loads(base.content(path).decode("utf-8-sig"))
    kind = str(p.get("kind"))
    own = {OWN[kind]} if kind in OWN else set()
    if (
        kind not in KINDS
        or p.keys() - COMMON - own - TABLES
        or own - p.keys()
        or p.get("model", {}).keys() != {"formula"}
    ):
        raise Rejected(
            f"{path}: this checker knows formulas of polynomials and {', '.join(KINDS)}, with their own fields"
        )
    names, q, g, gone, levels = region(p["region"])
    averaged = p.get("average_over", p["region"])
    if "average_over" in p and (kind != "i-optimal" or region(averaged)[::4] != (names, levels)):
        raise Rejected(f"{path}: average_over has other factors than the region, or belongs to another kind")
    pieces = [dict(zip(levels, chosen, strict=True)) for chosen in itertools.product(*levels.values())]
    terms, f = model(p["model"]["formula"], names, gone, levels, pieces)
    noise, cost = (ratio(p.get(name, 1), names, gone, q) for name in ("noise_variance", "costs"))
    price = (product(noise[0], cost[0]), product(noise[1], cost[1]))
    d = len(terms)
    held = len(p.keys() & {"prior_information", "existing_runs"})
    if held > 1 or held != len(p.keys() & {"n_new"}):
        raise Rejected(f"{path}: n_new and the information held do not come together")
    n_new = base.number(p.get("n_new", 1))
    if n_new <= 0:
        raise Rejected(f"{path}: n_new must be positive")
    prior: list[Row] = [[Fraction(0)] * d for _ in range(d)]
    if "prior_information" in p:
        prior = symmetric(p["prior_information"], d)
    space = (names, gone, levels, pieces)
    if "existing_runs" in p:
        for k, x in rows_of(p["existing_runs"], *space):
            row, (N, D) = [value_at(t, x) for t in f[k]], (value_at(t, x) for t in noise)
            if N <= 0 or D <= 0:
                raise Rejected(f"{path}: noise is not positive at a run")
            prior = [
                [y + D / N * a * b for y, b in zip(old, row, strict=True)] for old, a in zip(prior, row, strict=True)
            ]
    prior = [[x / n_new for x in row] for row in prior]
    aim: dict[str, list[Row]] = {}
    if kind in ("minimax", "xy-allocation", "level-set-allocation"):
        given = p[OWN[kind]]
        if isinstance(given, dict):
            V = [[value_at(t, x) for t in f[k]] for k, x in rows_of(given, *space)]
        else:
            V = [[base.number(x) for x in row] for row in given]
        if kind == "xy-allocation":
            V = [base.minus(a, b) for a in V for b in V]
        aim["targets"] = V
    elif kind == "c-optimal":
        given = p["direction"]
        given = {given: 1.0} if isinstance(given, str) else given
        if isinstance(given, dict):
            if given.keys() - {*terms}:
                raise Rejected(f"{path}: direction names a term that the model does not have")
            given = [given.get(term, 0) for term in terms]
        aim["targets"] = [[base.number(x) for x in given]]
    elif kind == "ds-optimal":
        chosen = [terms.index(x) if isinstance(x, str) else x for x in p["interest"]]
        if not all(type(k) is int and 0 <= k < d for k in chosen) or len({*chosen}) < len(chosen) or not chosen:
            raise Rejected(f"{path}: interest names different terms or their indices")
        aim["interest"] = [[Fraction(k == j) for j in chosen] for k in range(d)]
    elif kind == "a-optimal":
        aim["M"] = [[Fraction(a == b) for b in range(d)] for a in range(d)]
    elif kind == "average-variance":
        aim["M"] = symmetric(p["M"], d)
        base.eliminate(aim["M"])
    elif kind == "i-optimal":
        aim["M"] = moments(averaged, f)
    if any(len(row) != d for row in aim.get("targets", [])):
        raise Rejected(f"{path}: a vector has another number of entries than the model has terms")
    return RegionStatement(kind, q, f, g, price, prior, aim)


def symmetric(given: Any, d: int) -> list[Row]:
    M = [[base.number(x) for x in row] for row in given]
    if [len(row) for row in M] != [d] * d or any(M[a][b] != M[b][a] for a in range(d) for b in range(d)):
        raise Rejected("a matrix is not symmetric, or of another size than the model")
    return M


def region(given: Any) -> tuple[list[str], int, list[Poly], dict[str, Poly], dict[str, Row]]:
    """Coordinates, how many, inequalities, the factors that they determine, and levels."""
    if given.keys() - SHAPES or not given.keys() - {"where"}:
        raise Rejected(f"a region is built of {', '.join(sorted(SHAPES))}")
    levels = dict(given.get("levels", {}))
    ball, mixture, cut = (given.get(name, {}) for name in ("ball", "simplex", "polytope"))
    box, centre, sums = dict(given.get("box", {})), ball.get("centre", {}), list(mixture.get("names", []))
    centre = centre if isinstance(centre, dict) else dict.fromkeys(centre, 0)
    flat = cut.get("names") or [f"x{k + 1}" for k in range(len(cut.get("A", [[]])[0]))]
    names = [*box, *centre, *sums[:-1], *flat]
    every = [*levels, *names, *sums[-1:]]
    if len({*every}) < len(every) or not all(re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", name) for name in every):
        raise Rejected("a factor has no name, or the name of another")
    q = len(names)
    x = {name: variable(k, q) for k, name in enumerate(names)}
    g: list[Poly] = []
    for name, (low, high) in box.items():
        g += [plus(x[name], constant(base.number(low), q), -1), plus(constant(base.number(high), q), x[name], -1)]
    if ball:
        near = constant(base.number(ball.get("radius", 1)) ** 2, q)
        if base.number(ball.get("radius", 1)) <= 0:
            raise Rejected("a radius is not positive")
        for name, middle in centre.items():
            near = plus(near, power(plus(x[name], constant(base.number(middle), q), -1), 2, q), -1)
        g.append(near)
    gone: dict[str, Poly] = {}
    if sums:
        last = constant(1, q)
        for name in sums[:-1]:
            last = plus(last, x[name], -1)
        gone[sums[-1]] = last
        for side, usual in (("lower", 0.0), ("upper", 1.0)):
            limits = mixture.get(side, usual)
            for name in sums:
                one = limits.get(name, usual) if isinstance(limits, dict) else limits
                base.number(one)
                # A decimal means itself here.
                limit = constant(max(Fraction(str(float(one))), Fraction(0)), q)
                p = x.get(name, last)
                g.append(plus(p, limit, -1) if side == "lower" else plus(limit, p, -1))
    for row, right in zip(cut.get("A", []), cut.get("b", []), strict=True):
        p = constant(base.number(right), q)
        for name, entry in zip(flat, row, strict=True):
            p = plus(p, x[name], -base.number(entry))
        g.append(p)
    conditions = given.get("where", [])
    for text in [conditions] if isinstance(conditions, str) else conditions:
        parts = re.split("(<=|>=|<|>)", text)
        sides = [ratio(part, names, gone, q) for part in parts[::2]]
        if len(parts) < 3 or any(bottom != constant(1, q) for _, bottom in sides):
            raise Rejected("a condition is no inequality of polynomials")
        for (low, _), sign, (high, _) in zip(sides, parts[1::2], sides[1:], strict=False):
            g.append(plus(high, low, -1) if "<" in sign else plus(low, high, -1))
    return names, q, g, gone, levels


def ratio(given: Any, names: list[str], gone: dict[str, Poly], q: int) -> tuple[Poly, Poly]:
    """Numerator and denominator of arithmetic of the factors; one below where it is a polynomial."""
    if not isinstance(given, str):
        return constant(base.number(given), q), constant(1, q)
    import ast

    known = {name: variable(k, q) for k, name in enumerate(names)} | gone

    def read(node: ast.expr) -> tuple[Poly, Poly]:
        one = constant(1, q)
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return constant(Fraction(str(value)), q), one
            case ast.Name(id=name) if name in known:
                return known[name], one
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                top, bottom = read(inner)
                return ({key: -value for key, value in top.items()} if isinstance(sign, ast.USub) else top), bottom
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as n)) if 0 <= n <= MOST_POWER:
                top, bottom = read(left)
                return power(top, n, q), power(bottom, n, q)
            case ast.BinOp(left=left, op=op, right=right):
                (a, b), (c, e) = read(left), read(right)
                match op:
                    case ast.Add() | ast.Sub():
                        sign_ = 1 if isinstance(op, ast.Add) else -1
                        if b == e:
                            return plus(a, c, sign_), b
                        return plus(product(a, e), product(c, b), sign_), product(b, e)
                    case ast.Mult():
                        return product(a, c), product(b, e)
                    case ast.Div() if c:
                        return product(a, e), product(b, c)
        raise Rejected("an expression is not sums, products, quotients and powers of the factors")

    top, bottom = read(ast.parse(given.strip().replace("^", "**"), mode="eval").body)
    if not any(sum(key) for key in bottom):
        level = bottom[(0,) * q]
        return {key: value / level for key, value in top.items()}, constant(1, q)
    return top, bottom


Term = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]  # categories in order, and powers of numbers by name


def model(
    text: str, names: list[str], gone: dict[str, Poly], levels: dict[str, Row], pieces: list[dict[str, Any]]
) -> tuple[list[str], list[list[Poly]]]:
    """The names of the terms, and f for every piece, of sums of products by : and * of factors and their whole powers."""
    q = len(names)
    sets = {name for name, values in levels.items() if any(isinstance(v, str) for v in values)}
    known = {*names, *gone, *levels}
    terms: list[Term] = []
    labels: dict[Term, list[tuple[str, int]]] = {((), ()): []}
    plain = True
    for number_, summand in enumerate(re.split(r"\+", text)):
        summand = summand.strip()
        if summand in ("0", "1"):
            plain = summand == "1"
            if number_:
                raise Rejected("the constant of a formula must come first")
            continue
        left: list[Term] = []
        for chain in re.split(r"(?<!\*)\*(?!\*)", summand):
            right: Term = ((), ())
            for atom in chain.split(":"):
                found = re.fullmatch(r"\s*([A-Za-z_][A-Za-z_0-9]*)\s*(?:(?:\*\*|\^)\s*([1-9][0-9]?))?\s*", atom)
                if not found or found[1] not in known or (found[1] in sets and found[2]):
                    raise Rejected("a formula must be sums of products of factors and their whole powers")
                n = int(found[2] or 1)
                factor_: Term = ((found[1],), ()) if found[1] in sets else ((), ((found[1], n),))
                both = united(right, factor_)
                labels.setdefault(both, [*labels[right], (found[1], n)])
                right = both
            crossed = []
            for term in left:
                both = united(term, right)
                labels.setdefault(both, labels[term] + labels[right])
                crossed.append(both)
            left = list(dict.fromkeys([*left, right, *crossed]))
        terms += [term for term in left if term not in terms]
    if plain:
        terms.insert(0, ((), ()))
    f: list[list[Poly]] = [[] for _ in pieces]
    listed: list[str] = []
    for categories, powers in terms:
        chosen = []
        for name in categories:
            rest = (tuple(c for c in categories if c != name), powers)
            same = any({*rest[0]} == {*c} and rest[1] == n for c, n in terms)
            chosen.append([(name, v) for v in (levels[name][1:] if same else levels[name])])
        for picked in itertools.product(*chosen):
            listed.append("" if categories else label(labels[categories, powers]))
            for piece, row in zip(pieces, f, strict=True):
                p = constant(int(all(piece[name] == value for name, value in picked)), q)
                for name, n in powers:
                    inner = constant(base.number(piece[name]), q) if name in levels else gone.get(name)
                    p = product(p, power(variable(names.index(name), q) if inner is None else inner, n, q))
                row.append(p)
    return listed, f


def label(factors: list[tuple[str, int]]) -> str:
    """x**2:y, its factors in the order written."""
    powers: dict[str, int] = {}
    for name, n in factors:
        powers[name] = powers.get(name, 0) + n
    return ":".join(name if n == 1 else f"{name}**{n}" for name, n in powers.items()) or "1"


def united(a: Term, b: Term) -> Term:
    powers = dict(a[1])
    for name, n in b[1]:
        powers[name] = powers.get(name, 0) + n
    return tuple(dict.fromkeys(a[0] + b[0])), tuple(sorted(powers.items()))


def rows_of(
    table: Any, names: list[str], gone: dict[str, Poly], levels: dict[str, Row], pieces: list[dict[str, Any]]
) -> Iterable[tuple[int, Row]]:
    """(piece, coordinates) of every row of a table of settings."""
    if not isinstance(table, dict) or {*names, *levels} - table.keys() or table.keys() - {*names, *levels, *gone}:
        raise Rejected("settings are columns, one for each factor, in the problem file itself")
    for values in zip(*table.values(), strict=True):
        row = dict(zip(table, values, strict=True))
        x = [base.number(row[name]) for name in names]
        for name, p in gone.items():
            if name in row and abs(value_at(p, x) - base.number(row[name])) > Fraction(1, 10**6):
                raise Rejected("the components of a setting do not sum to one")
        yield pieces.index({name: row[name] for name in levels}), x


def moments(given: Any, f: list[list[Poly]]) -> list[Row]:
    """The mean of ff' over boxes, balls, simplices, and all levels."""
    d, known = len(f[0]), {}
    shapes = shapes_of(given)
    out: list[Row] = [[Fraction(0)] * d for _ in range(d)]
    for row in f:
        for a in range(d):
            for b in range(a + 1):
                for key, value in product(row[a], row[b]).items():
                    if key not in known:
                        known[key] = mean_of(key, shapes)
                    out[a][b] += value * known[key] / len(f)
    return [[out[max(a, b)][min(a, b)] for b in range(d)] for a in range(d)]


# Of a shape the mean of a product of powers of z, and x = centre + scale z; as many coordinates as centres.
Shape = tuple[Callable[[Exponents], Fraction], Row, Row]


def shapes_of(given: Any) -> list[Shape]:
    """The shapes whose product a region is, in the order of its coordinates."""
    if given.keys() - {"box", "ball", "simplex", "levels"}:
        raise Rejected("of I-optimality this checker knows boxes, balls, simplices and levels")
    shapes: list[Shape] = []
    for ends in given.get("box", {}).values():
        a, b = map(base.number, ends)
        shapes.append((of_ball, [(a + b) / 2], [(b - a) / 2]))
    if ball := given.get("ball"):
        centre = ball["centre"]
        middle = [base.number(v) for v in centre.values()] if isinstance(centre, dict) else [Fraction(0)] * len(centre)
        shapes.append((of_ball, middle, [base.number(ball.get("radius", 1))] * len(middle)))
    if mixture := given.get("simplex"):
        low, high = limits_of(mixture, "lower"), limits_of(mixture, "upper")
        room = 1 - sum(low)
        if room <= 0 or any(b < a + room for a, b in zip(low, high, strict=True)):
            raise Rejected("of I-optimality this checker knows simplices without upper limits")
        shapes.append((of_simplex, low[:-1], [room] * len(low[:-1])))
    return shapes


def limits_of(mixture: Any, side: str) -> Row:
    """The limits of the components, where a decimal means itself."""
    usual = 0.0 if side == "lower" else 1.0
    given = mixture.get(side, usual)
    listed = [given.get(name, usual) if isinstance(given, dict) else given for name in mixture["names"]]
    for one in listed:
        base.number(one)
    return [max(Fraction(str(float(one))), Fraction(0)) for one in listed]


def of_ball(key: Exponents) -> Fraction:
    """The mean of a product of powers over the unit ball, of one coordinate [-1, 1]."""
    if any(n % 2 for n in key):
        return Fraction(0)
    top = math.prod(math.prod(range(n - 1, 0, -2)) for n in key)
    return Fraction(top, math.prod(len(key) + 2 * j for j in range(1, sum(key) // 2 + 1)))


def of_simplex(key: Exponents) -> Fraction:
    """The same of all but one of proportions that sum to one: Dirichlet's integral."""
    q = len(key)
    return Fraction(math.prod(map(math.factorial, key)) * math.factorial(q), math.factorial(q + sum(key)))


def mean_of(key: Exponents, shapes: list[Shape]) -> Fraction:
    """The mean of a product of powers over a product of shapes."""
    out, at = Fraction(1), 0
    for unit, centre, scale in shapes:
        own, total = key[at : at + len(centre)], Fraction(0)
        at += len(centre)
        for part in itertools.product(*(range(n + 1) for n in own)):
            share = unit(part)
            for n, a, c, s in zip(own, part, centre, scale, strict=True):
                share *= math.comb(n, a) * c ** (n - a) * s**a
            total += share
        out *= total
    return out


def main(arguments: list[str]) -> str | None:
    """Print what is proven, or return why the certificate is rejected."""
    try:
        problem = read(Path(arguments[1]))
        ratio_ = check(base.parsed(base.content(Path(arguments[0]))), problem)
    except (Rejected, *ERRORS) as error:
        return f"rejected: {error or type(error).__name__}"
    share = float(ratio_ * (1 - Fraction(1, 2**52)))  # rounded down
    what = "ratio of determinants" if problem.kind in ("d-optimal", "ds-optimal") else "efficiency"
    return print(f"proven: {what} at least {share}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
