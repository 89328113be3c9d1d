"""python check.py certificate.json problem.toml: is the design nearly optimal? By Python's integers and fractions alone.

This file needs no other and trusts none: every double is read as the fraction it is, and the claims are computed again. With
A = A0 + sum_i w_i x_i x_i'/p_i (weights over their sum, p_i noise variance times cost, w_i/p_i rounded down: that only makes
the design look worse), vectors b_j, multipliers m_j, S = sum m_j b_j b_j', h = sum m_j b_j'A0b_j + max_i x_i'Sx_i/p_i:

    minimax  value = max over ALL targets of v'A^-1v,  optimum >= bound = sum m_j (b_j'v_j)^2 / h,    efficiency bound/value
    A        value = tr A^-1,                          optimum >= bound = (sum m_j b_j'v_j)^2 / h,    efficiency bound/value
    D        value = det A,                            optimum <= bound = (h/d)^d / det S,   efficiency (value/bound)^(1/d)

as (b'v)^2 <= (v'A^-1v)(b'Ab), det(A) det(S) <= (tr(AS)/d)^d and tr(AS) <= h for the optimal A.
"""

import ast
import csv
import hashlib
import json
import math
import struct
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

FORMAT, BITS = "convexdesign certificate 1", 128
FIELDS = ["bound", "data", "digest", "format", "kind", "multipliers", "value", "vectors", "weights"]
ORACLES = ("best-arm-oracle", "level-set-oracle")
KINDS = "minimax g-optimal variance-g-optimal xy-allocation level-set-allocation c-optimal a-optimal d-optimal"
Row = list[Any]  # whole numbers, or fractions


class Rejected(Exception):
    """Why a certificate proves nothing."""


@dataclass(frozen=True)
class Problem:
    """Exact data, in a unit of length that makes all vectors whole: arms x_i, prices p_i, vectors behind the targets, A0."""

    kind: str
    arms: list[Row]
    prices: Row
    vectors: list[Row]
    prior: list[Row]
    theta: Row | None
    threshold: Fraction

    def targets(self) -> Iterator[tuple[int, Row, Any]]:
        """(index, v, g) for every target v/g; a pair of items i < j has the index i * count + j."""
        if self.kind == "xy-allocation":
            for (i, a), (j, b) in combinations(enumerate(self.vectors), 2):
                yield i * len(self.vectors) + j, minus(a, b), Fraction(1)
        else:
            gaps = [Fraction(1) if self.theta is None else dot(z, self.theta) - self.threshold for z in self.vectors]
            best = gaps.index(max(gaps)) if self.kind == "best-arm-oracle" else -1
            for j, (z, g) in enumerate(zip(self.vectors, gaps)):
                if j != best:
                    yield (j, z, g) if best < 0 else (j, minus(self.vectors[best], z), gaps[best] - g)


def dot(a: Row, b: Row) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


def minus(a: Row, b: Row) -> Row:
    return [x - y for x, y in zip(a, b, strict=True)]


def gram(weighted: list[tuple[Any, Row]], d: int) -> list[Row]:
    return [[sum(e * x[a] * x[b] for e, x in weighted) for b in range(d)] for a in range(d)]


def eliminate(A: list[Row]) -> tuple[list[Row], Row]:
    """M, triangular with ones on its diagonal, and D >= 0 with M A M' = diag(D); A is positive semidefinite or Rejected."""
    d = len(A)
    S = [[Fraction(x) for x in row] + [Fraction(a == b) for b in range(d)] for a, row in enumerate(A)]
    for k in range(d):
        if S[k][k] < 0 or (S[k][k] == 0 and any(S[k][k + 1 : d])):
            raise Rejected("a matrix that should be positive semidefinite is not")
        for a in range(k + 1, d):
            if S[a][k]:
                S[a] = minus(S[a], [S[a][k] / S[k][k] * y for y in S[k]])
    return [row[d:] for row in S], [S[k][k] for k in range(d)]


def variances(problem: Problem, A: list[Row]) -> Iterator[Any]:
    """v'A^-1v for every target; Rejected where A does not measure it."""
    M, D = eliminate(A)
    inverse = gram([(1 / q, m) for m, q in zip(M, D) if q], len(A))
    common = math.lcm(*(x.denominator for row in inverse for x in row))
    C = [[int(x * common) for x in row] for row in inverse]
    lost = [m for m, q in zip(M, D) if not q]
    for j, v, g in problem.targets():
        if g == 0 or any(dot(m, v) for m in lost):
            raise Rejected(f"target {j} is not measured by this design")
        yield Fraction(dot(v, [dot(row, v) for row in C]), common) / g**2


def recompute(problem: Problem, certificate: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """(value, bound) from the certificate's weights, multipliers and vectors alone."""
    d = len(problem.arms[0])
    w, m, B = ({int(i): x for i, x in certificate[f].items()} for f in ("weights", "multipliers", "vectors"))
    numbers = [*w.values(), *m.values(), *(x for b in B.values() for x in b)]
    whole = all(type(x) is int for x in numbers) and min([*w.values(), *m.values(), *problem.prices]) > 0
    if not whole or m.keys() != B.keys() or not all(0 <= i < len(problem.arms) for i in w):
        raise Rejected("weights and multipliers must be positive and whole, vectors whole, one per multiplier")
    efforts = {i: x / problem.prices[i] / sum(w.values()) for i, x in w.items()}
    fine = 2 ** (BITS + max(e.denominator.bit_length() - e.numerator.bit_length() for e in efforts.values()) + 1)
    pulled = [(math.floor(e * fine), problem.arms[i]) for i, e in efforts.items()]
    eliminate(problem.prior)  # semidefinite
    A = [[Fraction(x, fine) + y for x, y in zip(*rows)] for rows in zip(gram(pulled, d), problem.prior)]
    S = gram([(m[j], b) for j, b in B.items()], d)
    h = max(dot(x, [dot(row, x) for row in S]) / p for x, p in zip(problem.arms, problem.prices))
    h += sum(m[j] * dot(b, [dot(row, b) for row in problem.prior]) for j, b in B.items())
    if problem.kind == "d-optimal":
        return Fraction(math.prod(eliminate(A)[1])), (h / d) ** d / math.prod(eliminate(S)[1])
    terms = {j: (m[j], dot(B[j], v), g) for j, v, g in problem.targets() if j in B}
    if terms.keys() != B.keys():
        raise Rejected("a vector belongs to no target")
    if problem.kind == "a-optimal":
        return sum(variances(problem, A)), Fraction(sum(x * hit for x, hit, _ in terms.values())) ** 2 / h
    return max(variances(problem, A)), sum(x * (hit / g) ** 2 for x, hit, g in terms.values()) / h


def sha256(data: dict[str, Any]) -> str:
    """Over every field but the digest itself."""
    rest = {field: x for field, x in data.items() if field != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, default=str).encode()).hexdigest()


def check(certificate: dict[str, Any], problem: Problem) -> Fraction:
    """The proven ratio of bound and value (at most 1), when every field is as claimed; Rejected otherwise."""
    if sorted(certificate) != FIELDS or certificate["digest"] != sha256(certificate):
        raise Rejected("a field is missing, added or changed: the digest does not match")
    if [certificate[x] for x in ("format", "kind", "data")] != [FORMAT, problem.kind, sha256(vars(problem))]:
        raise Rejected("the certificate was made for other data, or for another version of this checker")
    value, bound = recompute(problem, certificate)
    if [certificate["value"], certificate["bound"]] != [f"{x.numerator:x}/{x.denominator:x}" for x in (value, bound)]:
        raise Rejected("value or bound is not what the weights and vectors give")
    return value / bound if problem.kind == "d-optimal" else bound / value


def table(folder: Path, given: Any) -> list[Row]:
    """Rows of exact numbers, from the problem file itself or a plain CSV or NPY file of doubles beside it."""
    if isinstance(given, str):
        raw = (folder / given).read_bytes()
        if raw[:6] == b"\x93NUMPY":
            head, _, body = raw[10:].partition(b"\n")
            flat, (_, d) = [x for (x,) in struct.iter_unpack("<d", body)], ast.literal_eval(head.decode())["shape"]
            given = [flat[i : i + d] for i in range(0, len(flat), d)]
        else:  # the header, if there is one, is the line that starts with no number
            given = [r for r in csv.reader(raw.decode("utf-8-sig").split()) if r[0].strip("+-.")[:1].isdigit()]
    return [[Fraction(float(x)) for x in (row if isinstance(row, list) else [row])] for row in given]


def read(path: Path) -> Problem:
    """The problem that a file states, exactly."""
    p, here = tomllib.loads(path.read_text(encoding="utf-8-sig")), path.parent
    kind, xs = p["kind"], table(here, p["arms"])
    if kind not in (*KINDS.split(), *ORACLES) or {"min_weight", "max_weight", "inequalities"} & p.keys():
        raise Rejected(f"{path}: this checker knows {KINDS} and the oracles, without constraints on the weights")
    n, d = len(xs), len(xs[0])
    per_arm = (p.get("noise_variance", 1), p.get("costs", 1), p.get("existing_counts", 0))
    tables = (table(here, [x] * n if isinstance(x, int | float) else x) for x in per_arm)
    noise, costs, counts = ([x for (x,) in rows] for rows in tables)
    if "Sigma" in p:
        noise = [dot(x, [dot(row, x) for row in table(here, p["Sigma"])]) for x in xs]
    given = [p["direction"]] if "direction" in p else p.get("targets", p.get("items", p["arms"]))
    vs = table(here, given) if kind != "a-optimal" else [[Fraction(a == b) for b in range(d)] for a in range(d)]
    if kind == "variance-g-optimal":
        xs = vs = [[x[a] * x[b] * (1 + (a != b)) for a in range(d) for b in range(a, d)] for x in xs]
    unit = math.lcm(*(x.denominator for row in (*xs, *vs) for x in row))
    xs, vs = ([[int(x * unit) for x in row] for row in rows] for rows in (xs, vs))
    d = len(xs[0])
    held, n_new = table(here, p.get("prior_information", [[0] * d] * d)), Fraction(float(p.get("n_new", 1)))
    past = gram([(c / s, x) for c, s, x in zip(counts, noise, xs) if c], d)
    prior = [[(h * unit**2 + x) / n_new for h, x in zip(*rows)] for rows in zip(held, past)]
    theta = [x / unit for (x,) in table(here, p["theta"])] if kind in ORACLES else None
    prices = [s * c for s, c in zip(noise, costs)]
    return Problem(kind, xs, prices, vs, prior, theta, Fraction(float(p.get("threshold", 0))))


def main(arguments: list[str]) -> str | None:
    """Print what is proven, or return why the certificate is rejected."""
    try:
        problem = read(Path(arguments[1]))
        ratio = check(json.loads(Path(arguments[0]).read_text(encoding="utf-8")), problem)
    except (Rejected, ArithmeticError, LookupError, TypeError, ValueError, OSError) as error:
        return f"rejected: {error or type(error).__name__}"
    share = float(ratio * (1 - Fraction(1, 2**52)))  # rounded down
    return print(f"proven: {'ratio of determinants' if problem.kind == 'd-optimal' else 'efficiency'} at least {share}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
