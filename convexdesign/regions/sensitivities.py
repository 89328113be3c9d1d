"""The sum of several sensitivities over one region: enclosed over boxes, and its coefficients where all are polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from convexdesign.regions.branch import Branch, total
from convexdesign.regions.generalised import GlmCurve
from convexdesign.regions.intervals import UNIT, Interval, Jet, combined
from convexdesign.regions.polynomial import Exponents
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.proof import RegionProver
from convexdesign.regions.region import Region
from convexdesign.typing import Floats

__all__ = ["SumBranch", "SumProver", "Term"]


@dataclass(frozen=True, eq=False)
class Term:
    """One summand |B h(x)|^2 omega(x) / (s^2(x) c(x)): the problem that h, omega and the price are of, and rows B (r, d)."""

    problem: RegionProblem
    B: Floats


class SumBranch(Branch):
    """Branch and bound for the sum of terms over one region."""

    def __init__(self, terms: Sequence[Term]):
        super().__init__(terms[0].problem)
        self.batches: list[_Batch] = []
        alone: list[Term] = []
        alike: dict[tuple[int, int, int], list[Term]] = {}
        for term in terms:
            if isinstance(term.problem.curve, GlmCurve):
                key = (id(term.problem.frame.H[0]), id(term.problem.noise), term.B.shape[0])
                alike.setdefault(key, []).append(term)
            else:
                alone.append(term)
        self.batches = [_Batch(own) for own in alike.values()]
        self.alone = [(Branch(term.problem), term.B) for term in alone]
        self.batch = max(self.batch // max([len(b.terms) for b in self.batches] or [1]), 64)

    def sensitivity(self, piece: int, B: Floats, u: Interval) -> Jet:
        """The sum over boxes of u; B, the rows of one term, is not used."""
        parts = [branch.sensitivity(piece, own, u) for branch, own in self.alone]
        parts += [batch.sensitivity(piece, u) for batch in self.batches]
        out = parts[0]
        for part in parts[1:]:
            out = out + part
        return out


class _Batch:
    """Generalised linear models with the same functions h and noise, and as many rows B each: all at once."""

    def __init__(self, terms: Sequence[Term]):
        self.terms, first = terms, terms[0].problem
        self.frame, self.region = first.frame, first.region
        self.branch = Branch(first)
        self.B = np.vstack([term.B for term in terms])
        self.rows = len(terms[0].B)
        self.etas: dict[int, Floats] = {}

    def eta(self, piece: int) -> Floats:
        """The linear predictors (K, M) over the Chebyshev products of a piece."""
        if piece not in self.etas:
            curves = [term.problem.curve for term in self.terms]
            tables = [self.region.scaled(c.eta(piece)) for c in curves if isinstance(c, GlmCurve)]
            keys = [tuple(int(e) for e in key) for key in self.frame.keys[piece]]
            self.etas[piece] = np.array([[float(table.get(key, 0)) for key in keys] for table in tables])
        return self.etas[piece]

    def sensitivity(self, piece: int, u: Interval) -> Jet:
        """sum_k |B_k h|^2 omega_k, divided by the price."""
        parts = self.frame.jets(piece, u)
        n, K, r = len(u.lo), len(self.terms), self.rows
        h = [combined(self.frame.H[piece], part, 2 * UNIT) for part in (parts.value, parts.gradient, parts.hessian)]
        z, dz, ddz = (_split(_joined(combined(self.B, part), n * K * r), r) for part in h)
        gradient = total(z[:, :, None] * dz) * 2.0
        cross = dz[:, :, :, None] * dz[:, :, None, :]
        index, own = np.arange(u.lo.shape[1]), dz.square()
        cross.lo[:, :, index, index], cross.hi[:, :, index, index] = own.lo, own.hi
        hessian = (total(cross) + total(z[:, :, None, None] * ddz)) * 2.0
        p = Jet(total(z.square()), gradient, hessian)
        curve = self.terms[0].problem.curve
        if curve.weight is not None:
            eta = self.eta(piece)
            over = [combined(eta, part, 2 * UNIT) for part in (parts.value, parts.gradient, parts.hessian)]
            p = p * curve.weight.over({"eta": Jet(*(_joined(part, n * K) for part in over))})
        out = Jet(*(total(_split(part, K)) for part in (p.value, p.gradient, p.hessian)))
        return self.branch.over_price(out, u)


def _split(x: Interval, k: int) -> Interval:
    """(m, ...) as (m / k, k, ...)."""
    return Interval(x.lo.reshape(-1, k, *x.lo.shape[1:]), x.hi.reshape(-1, k, *x.hi.shape[1:]))


def _joined(x: Interval, n: int) -> Interval:
    """The first two axes as one."""
    return Interval(x.lo.reshape(n, *x.lo.shape[2:]), x.hi.reshape(n, *x.hi.shape[2:]))


class SumProver(RegionProver):
    """Sums of squares for the sum of polynomial terms with one price."""

    def __init__(self, terms: Sequence[Term], cell: Region | None = None):
        first = terms[0].problem
        super().__init__(first.frame, first.price, cell)
        self.terms, self.cell = terms, cell
        self.each = [RegionProver(term.problem.frame, first.price, cell) for term in terms]

    @cached_property
    def halves(self) -> tuple[SumProver, SumProver]:  # type: ignore[override]
        """The same for the two halves of the box."""
        low, high = RegionProver(self.frame, self.price, self.region).halves
        return SumProver(self.terms, low.region), SumProver(self.terms, high.region)

    def polynomial(self, piece: int, B: Floats) -> tuple[dict[Exponents, float], float]:
        """The coefficients of the sum, and what all are off by; B, the rows of one term, is not used."""
        sums: dict[Exponents, float] = {}
        charge = 0.0
        for prover, term in zip(self.each, self.terms):
            p, own = prover.polynomial(piece, term.B)
            charge += own + len(self.terms) * UNIT * sum(abs(value) for value in p.values())
            for key, value in p.items():
                sums[key] = sums.get(key, 0.0) + value
        return sums, charge * (1.0 + 1e-9)
