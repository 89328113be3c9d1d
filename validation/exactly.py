"""Criteria and bounds of design problems in exact rational arithmetic, from the data as stated: no float, no solver.

Every double is an exact rational. With e_i = w_i / (s_i^2 c_i) the information is A = A0 + sum_i e_i X_i S_i^-1 X_i', exactly;
so are its range, its inverse there, and for any weights and any dual vectors the bounds of design theory. Only logarithms
leave the rationals, for balls of 256 bits. Nothing here is shared with the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_mat

__all__ = ["Exact", "WeightRules", "double", "rational"]

MAXIMISED = ("log det", "interest", "least eigenvalue")


def rational(x: Any) -> fmpq:
    """The double (or whole number, or fraction) as an exact rational."""
    if isinstance(x, fmpq):
        return x
    if isinstance(x, Fraction):
        return fmpq(x.numerator, x.denominator)
    return fmpq(*float(x).as_integer_ratio())


def double(x: fmpq) -> float:
    """The double nearest to an exact rational."""
    return int(x.p) / int(x.q)


def matrix(rows: Sequence[Sequence[fmpq]], columns: int) -> fmpq_mat:
    return fmpq_mat(len(rows), columns, [x for row in rows for x in row])


def table(M: fmpq_mat) -> list[list[fmpq]]:
    return [list(row) for row in M.tolist()]


def trace(M: fmpq_mat) -> fmpq:
    return sum((M[k, k] for k in range(M.nrows())), fmpq(0))


def ball_log(x: fmpq) -> arb:
    return arb(x).log()


@dataclass(frozen=True)
class WeightRules:
    """W: the simplex with lower and upper bounds and rows G w <= h, all exact; round: sum w_i^2 <= radius^2 where given."""

    n: int
    lower: list[fmpq]
    upper: list[fmpq]
    G: list[list[fmpq]] = field(default_factory=list)
    h: list[fmpq] = field(default_factory=list)
    radius: fmpq | None = None

    def violations(self, w: Sequence[fmpq]) -> float:
        """The largest excess relative to the rule's own scale: a bound's size, a row's largest |G_i w_i| or limit."""
        worst = 0.0
        for x, low, high in zip(w, self.lower, self.upper, strict=True):
            if x > high:
                worst = max(worst, double((x - high) / high) if high > 0 else float("inf"))
            if x < low:
                worst = max(worst, double((low - x) / low) if low > 0 else float("inf"))
        for row, limit in zip(self.G, self.h, strict=True):
            excess = sum((g * x for g, x in zip(row, w)), fmpq(0)) - limit
            if excess > 0:
                size = max(max(abs(g * x) for g, x in zip(row, w)), abs(limit))
                worst = max(worst, double(excess / size))
        if self.radius is not None:
            length = sum((x * x for x in w), fmpq(0)) / self.radius**2
            worst = max(worst, double(length) ** 0.5 - 1.0)
        return worst

    def allows(self, w: Sequence[fmpq]) -> bool:
        """Whether w lies in W exactly, its sum included."""
        return (
            sum(w, fmpq(0)) == 1
            and all(low <= x <= high for x, low, high in zip(w, self.lower, self.upper))
            and all(sum((g * x for g, x in zip(row, w)), fmpq(0)) <= limit for row, limit in zip(self.G, self.h))
            and (self.radius is None or sum((x * x for x in w), fmpq(0)) <= self.radius**2)
        )

    def repaired(self, w: Sequence[fmpq], inside: Sequence[fmpq]) -> list[fmpq] | None:
        """A point of W next to w: sum one, then as little of the point `inside` W as is needed."""
        total = sum(w, fmpq(0))
        if total <= 0:
            return None
        base = [x / total for x in w]
        if self.allows(base):
            return base
        share = fmpq(1, 2**50)
        while share <= 1:
            mixed = [(1 - share) * x + share * y for x, y in zip(base, inside)]
            if self.allows(mixed):
                return mixed
            share *= 2
        return list(inside) if self.allows(inside) else None

    def support(self, q: Sequence[fmpq]) -> fmpq:
        """At least max over w in W of sum q_i w_i: a fractional knapsack, and multipliers of the rows from a linear program."""
        plain = self._knapsack(q)
        if self.radius is not None:
            plain = min(plain, self._shifted_length(q))
        if not self.G:
            return plain
        multipliers = self._multipliers(q)
        left = list(q)
        extra = fmpq(0)
        for lam, row, limit in zip(multipliers, self.G, self.h):
            extra += lam * limit
            left = [a - lam * g for a, g in zip(left, row)]
        return min(plain, extra + self._knapsack(left))

    def _knapsack(self, q: Sequence[fmpq]) -> fmpq:
        left = 1 - sum(self.lower, fmpq(0))
        total = sum((a * low for a, low in zip(q, self.lower)), fmpq(0))
        for i in sorted(range(self.n), key=lambda k: q[k], reverse=True):
            room = min(self.upper[i] - self.lower[i], left)
            total += q[i] * room
            left -= room
            if left == 0:
                break
        return total

    def _shifted_length(self, q: Sequence[fmpq]) -> fmpq:
        """sum q_i w_i <= level + |(q - level)_+| radius for w >= 0 of sum one and length radius, at the best level found."""
        from scipy.optimize import minimize_scalar

        values, radius = np.array([double(a) for a in q]), double(self.radius)
        reach = float(np.abs(values).max()) or 1.0
        best = minimize_scalar(
            lambda level: level + radius * np.linalg.norm(np.maximum(values - level, 0.0)),
            bounds=(-4 * reach * len(q), reach),
            method="bounded",
            options={"xatol": 1e-13 * reach},
        )
        level = rational(best.x)
        square = sum((max(a - level, fmpq(0)) ** 2 for a in q), fmpq(0))
        length = rational(double(square) ** 0.5 * (1 + 1e-15))
        return level + length * self.radius if length**2 >= square else self._knapsack(q)

    def _multipliers(self, q: Sequence[fmpq]) -> list[fmpq]:
        """Nonnegative multipliers of the rows; good ones where the linear program is well solved, valid in any case."""
        from scipy.optimize import linprog

        G = np.array([[double(g) for g in row] for row in self.G])
        scale = np.abs(G).max(axis=1)
        scale[scale == 0] = 1.0
        size = max(max(abs(double(a)) for a in q), 1e-300)
        result = linprog(
            [-double(a) / size for a in q],
            A_ub=G / scale[:, None],
            b_ub=np.array([double(x) for x in self.h]) / scale,
            A_eq=np.ones((1, self.n)),
            b_eq=[1.0],
            bounds=[(double(a), double(b)) for a, b in zip(self.lower, self.upper)],
        )
        if result.status != 0:
            return [fmpq(0)] * len(self.G)
        return [rational(max(0.0, -m)) * rational(size) / rational(s) for m, s in zip(result.ineqlin.marginals, scale)]


@dataclass(frozen=True)
class Exact:
    """A problem: blocks[i] = X_i S_i^-1 X_i' / c_i and factors of it; targets, M or K by criterion; A0; W.

    criterion: "minimax" (targets), "average" (M), "log det", "interest" (K, d x s), "least eigenvalue". columns[i] are the
    x_ik and precision[i] = S_i^-1 / c_i (r, r), so that sum_j (b_j'y_i)^2 = tr(B'X_i S_i^-1 X_i'B) / c_i.
    """

    d: int
    criterion: str
    columns: list[fmpq_mat]
    precision: list[fmpq_mat]
    rules: WeightRules
    targets: list[list[fmpq]] = field(default_factory=list)
    M: fmpq_mat | None = None
    K: fmpq_mat | None = None
    A0: fmpq_mat | None = None

    @cached_property
    def blocks(self) -> list[fmpq_mat]:
        return [X * P * X.transpose() for X, P in zip(self.columns, self.precision)]

    def information(self, w: Sequence[fmpq]) -> fmpq_mat:
        A = fmpq_mat(self.d, self.d) if self.A0 is None else fmpq_mat(self.A0)
        for x, block in zip(w, self.blocks):
            if x != 0:
                A += block * x
        return A

    @cached_property
    def span(self) -> fmpq_mat:
        """A basis of the range of arms and information held, as columns (d, r)."""
        rows = [list(row) for X in self.columns for row in X.transpose().tolist()]
        if self.A0 is not None:
            rows += table(self.A0)
        reduced, rank = matrix(rows, self.d).rref()
        return matrix(table(reduced)[:rank], self.d).transpose()

    @property
    def rank(self) -> int:
        return int(self.span.ncols())

    @property
    def dimension(self) -> int:
        return int(self.K.ncols()) if self.criterion == "interest" and self.K is not None else self.rank

    @property
    def maximised(self) -> bool:
        return self.criterion in MAXIMISED

    def solvable(self) -> bool:
        """Whether something is asked for, and all of it lies in the range of the arms and what is held."""
        wanted = self.wanted()
        return any(x != 0 for v in wanted for x in v) and self._in_range(wanted, self.span)

    def wanted(self) -> list[list[fmpq]]:
        if self.criterion == "minimax":
            return self.targets
        if self.criterion == "average":
            return table(self.M)
        if self.criterion == "interest":
            return table(self.K.transpose())
        if self.criterion == "least eigenvalue":
            return [[fmpq(int(a == b)) for b in range(self.d)] for a in range(self.d)]
        return table(self.span.transpose())

    def _in_range(self, vectors: list[list[fmpq]], columns: fmpq_mat) -> bool:
        rows = table(columns.transpose())
        return not vectors or matrix(rows + vectors, self.d).rank() == columns.rank()

    def inverse(self, A: fmpq_mat) -> tuple[fmpq_mat, int]:
        """A reflexive generalised inverse of a psd matrix and its rank: v'Cv is right for v in the range."""
        reduced, rank = A.rref()
        pivots = [next(k for k in range(self.d) if reduced[i, k] != 0) for i in range(rank)]
        inner = fmpq_mat(rank, rank, [A[a, b] for a in pivots for b in pivots]).inv() if rank else fmpq_mat(0, 0)
        C = fmpq_mat(self.d, self.d)
        for i, a in enumerate(pivots):
            for j, b in enumerate(pivots):
                C[a, b] = inner[i, j]
        return C, rank

    # ------------------------------------------------------------------ values

    def value(self, w: Sequence[fmpq]) -> Any:
        """The criterion at w: a rational (log det: a ball), None where it is infinitely bad."""
        A = self.information(w)
        C, rank = self.inverse(A)
        if rank < self.rank and not self._in_range(self.wanted(), A):
            return None
        if self.criterion == "minimax":
            return max(self.variances(C))
        if self.criterion == "average":
            return trace(C * self.M)
        if self.criterion == "interest":
            return -ball_log((self.K.transpose() * C * self.K).det())
        if self.criterion == "log det":
            B = self.span
            return ball_log((B.transpose() * A * B).det()) - ball_log((B.transpose() * B).det())
        return self._least_eigenvalue(A)

    def variances(self, C: fmpq_mat) -> list[fmpq]:
        V = matrix(self.targets, self.d)
        W = V * C
        return [sum((a * b for a, b in zip(x, y)), fmpq(0)) for x, y in zip(V.tolist(), W.tolist())]

    def _least_eigenvalue(self, A: fmpq_mat) -> fmpq:
        """A number at most the least eigenvalue, to a relative 1e-13."""
        low, high = fmpq(0), min(A[k, k] for k in range(self.d))
        if high == 0 or A.rank() < self.d:
            return fmpq(0)
        while low == 0 or (high - low) * 10**13 > low:
            middle = (low + high) / 2 if low > 0 else high / 1024
            middle = fmpq(*double(middle).as_integer_ratio())
            if not low < middle < high:
                break
            if self._definite(A, middle):
                low = middle
            else:
                high = middle
        return low

    def _definite(self, A: fmpq_mat, shift: fmpq) -> bool:
        S = [[A[a, b] - (shift if a == b else 0) for b in range(self.d)] for a in range(self.d)]
        for k in range(self.d):
            if S[k][k] <= 0:
                return False
            for a in range(k + 1, self.d):
                share = S[a][k] / S[k][k]
                S[a] = [x - share * y for x, y in zip(S[a], S[k])]
        return True

    # ------------------------------------------------------------------ bounds

    def most(self, P: fmpq_mat) -> fmpq:
        """tr(P A0) + h_W(tr(P X_i S_i^-1 X_i')): at least tr(P A(w)) for every w in W; P psd."""
        q = [trace(P * block) for block in self.blocks]
        held = fmpq(0) if self.A0 is None else trace(P * self.A0)
        return held + self.rules.support(q)

    def bound_of_vectors(self, targets: Sequence[int], vectors: Any) -> Any:
        """What dual vectors b_j prove: minimax, D, D_s and E; None where they prove nothing."""
        B = [[rational(x) for x in row] for row in vectors]
        if not B:
            return None
        H = matrix(B, self.d).transpose()
        most = self.most(H * H.transpose())
        if not most > 0:
            return None
        if self.criterion == "minimax":
            hits = [sum((x * v for x, v in zip(b, self.targets[j])), fmpq(0)) for b, j in zip(B, targets)]
            return sum((x * x for x in hits), fmpq(0)) / most
        if self.criterion == "least eigenvalue":
            return most / trace(H.transpose() * H)
        s = self.dimension
        K = self.K if self.criterion == "interest" else self.span
        if H.ncols() != s or self.criterion == "average":
            return None
        hit = (K.transpose() * H).det() ** 2
        if hit == 0:
            return None
        volume = fmpq(1) if self.criterion == "interest" else (K.transpose() * K).det()
        return s * (arb(most) / s).log() - ball_log(hit) + ball_log(volume)

    def bound_of_matrix(self, P: fmpq_mat) -> Any:
        """What any matrix P near the inverse proves of an average variance: (tr PM)^2 / tr(P'AP M) at most."""
        spread = P * self.M * P.transpose()
        most = self.most(spread)
        return trace(P * self.M) ** 2 / most if most > 0 else None

    def bound(self, w: Sequence[fmpq], shares: dict[int, fmpq] | None = None) -> Any:
        """What C = A(w)^-1 proves; shares: the multiplier of each target (minimax)."""
        A = self.information(w)
        C, rank = self.inverse(A)
        if rank < self.rank:
            return None
        if self.criterion == "minimax":
            S = fmpq_mat(self.d, self.d)
            total = fmpq(0)
            for j, share in (shares or {}).items():
                v = fmpq_mat(self.d, 1, self.targets[j])
                S += v * v.transpose() * share
                total += share * (v.transpose() * C * v)[0, 0] ** 2
            most = self.most(C * S * C)
            return total / most if most > 0 else None
        if self.criterion == "average":
            most = self.most(C * self.M * C)
            return trace(C * self.M) ** 2 / most if most > 0 else None
        if self.criterion == "log det":
            B = self.span
            P = B * (B.transpose() * A * B).inv() * B.transpose()  # the inverse on the range, as a form on it
            r = self.rank
            return self.value(w) + r * (arb(self.most(P)) / r).log()
        if self.criterion == "interest":
            inner = self.K.transpose() * C * self.K
            if inner.det() == 0:
                return None
            P = C * self.K * inner.inv() * self.K.transpose() * C
            s = int(self.K.ncols())
            return s * (arb(self.most(P)) / s).log() - ball_log(inner.det())
        return None

    # ------------------------------------------------------------------ gaps

    def gap(self, value: Any, bound: Any) -> float:
        """The relative gap between a value and a bound, rounded upwards; infinite where either is missing."""
        if value is None or bound is None:
            return np.inf
        if self.criterion in ("log det", "interest"):
            distance = (bound - value) / self.dimension
            return float((distance.exp() - 1).upper())
        high, low = (bound, value) if self.maximised else (value, bound)
        return double(high / low - 1) if low > 0 else np.inf
