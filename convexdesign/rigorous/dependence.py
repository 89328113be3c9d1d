"""Exact linear dependence: arms that do not span R^d lie on coordinates J with the others linear functions of these.

A rank is found modulo a prime, which bounds the rank over the rationals from below, and proven from above by an exact L
with x_R = x_J L for every vector concerned. J depends on the subspace and on the scale of the problem's coordinates alone,
not on the vectors that happened to span it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.balls import nearest
from convexdesign.errors import InputError, SolverError
from convexdesign.rigorous.data import ExactRows
from convexdesign.typing import Floats, Indices

__all__ = ["Dependence", "dependence_of", "find_dependence"]

Row = list[Any]

BLOCK = 4096
# A rank modulo one of these is too small for one problem in 10^17 or so; then the next is tried.
PRIMES = (2**61 - 31, 2**63 - 25, 2**61 - 1)


@dataclass(frozen=True, eq=False)
class Dependence:
    """Coordinates J (r,), the rest R, and exact L with x_R = x_J L for every vector of a subspace of dimension r.

    On that subspace v'A^+ v = v_J' A_J^-1 v_J, so that nothing but v_R = v_J L has to be known of the rest.
    """

    chosen: Indices
    rest: Indices
    L: Any

    @property
    def rank(self) -> int:
        """The dimension r of the subspace."""
        return int(self.chosen.size)

    def functional(self, F: Floats) -> Floats:
        """Doubles G (r, k) with G'x_J ~ F'x for x in the subspace and F (d, k)."""
        L = np.array([[nearest(x) for x in row] for row in self.L.tolist()]).reshape(self.rank, self.rest.size)
        return np.asarray(F[self.chosen] + L @ F[self.rest])

    def volume(self) -> Any:
        """det(TT') for x = T'x_J, a fraction: in an orthonormal basis of the subspace det A = det(A_J) det(TT')."""
        from flint import fmpq_mat

        r = self.rank
        one = fmpq_mat(r, r, [int(a == b) for a in range(r) for b in range(r)])
        return (one + self.L * self.L.transpose()).det()

    def completed(self, rows: Any) -> Any:
        """The vectors T'x_J of the subspace, as rows of fractions (k, d), from rows x_J (k, r)."""
        from flint import fmpq_mat

        k, d = rows.nrows(), self.rank + self.rest.size
        off = (rows * self.L).tolist()
        out = [[None] * d for _ in range(k)]
        for i, row in enumerate(rows.tolist()):
            for c, x in zip((*self.chosen.tolist(), *self.rest.tolist()), (*row, *off[i]), strict=True):
                out[i][c] = x
        return fmpq_mat(k, d, [x for row in out for x in row])

    def holds_for(self, rows: list[Row]) -> bool:
        """Whether every row of exact fractions lies in the subspace."""
        from flint import fmpq_mat

        k, r, m = len(rows), self.chosen.size, self.rest.size
        on = fmpq_mat(k, r, [row[c] for row in rows for c in self.chosen.tolist()])
        off = fmpq_mat(k, m, [row[c] for row in rows for c in self.rest.tolist()])
        return bool(on * self.L == off)

    def first_outside(self, rows: ExactRows, index: Indices | None = None) -> int | None:
        """The first vector outside the subspace, or None."""
        index = np.arange(rows.n) if index is None else index
        for start in range(0, index.size, BLOCK):
            part = index[start : start + BLOCK]
            exact = rows.rationals(part)
            if not self.holds_for(exact):
                return int(next(i for i, row in zip(part, exact) if not self.holds_for([row])))
        return None


def find_dependence(
    arms: ExactRows, support: Indices, held: list[Row] | None, rank: int, basis: Floats | None
) -> Dependence | None:
    """The dependence that all supporting arms and the information held satisfy exactly; None where they span R^d.

    basis (r, d): rows that span about the range of all arms in doubles, where known; they give each coordinate its scale.

    Raises InputError when the numbers are dependent only up to rounding: read exactly, their rank is more than `rank`.
    """

    def blocks() -> Iterator[list[Row]]:
        if held:
            yield held
        for start in range(0, support.size, BLOCK):
            yield arms.rationals(support[start : start + BLOCK])

    for prime in PRIMES:
        kept = _independent(blocks(), prime, arms.d)
        if len(kept) > rank:
            raise InputError(
                f"the measured arms have rank {rank} only up to rounding: read exactly, "
                f"{_outlier(arms, support, held or [], rank)} leaves the span of the others; give coordinates that are "
                "exact (whole numbers, say), or drop columns until the arms span"
            )
        if len(kept) == arms.d:
            return None
        dependence = _on_best_coordinates(kept, prime, arms.d, basis)
        if dependence is None:
            continue
        if dependence.first_outside(arms, support) is None and (not held or dependence.holds_for(held)):
            return dependence
    raise SolverError("the exact rank of the measured arms was not found; rescale their coordinates")


def dependence_of(rows: list[Row], d: int, basis: Floats | None) -> Dependence | None:
    """The dependence that rows of fractions in R^d satisfy; None where they span."""
    for prime in PRIMES:
        kept = _independent(iter([rows]), prime, d)
        if len(kept) == d:
            return None
        dependence = _on_best_coordinates(kept, prime, d, basis)
        if dependence is not None and dependence.holds_for(rows):
            return dependence
    raise SolverError("the exact rank of a matrix was not found; rescale its coordinates")


def _independent(blocks: Iterator[list[Row]], prime: int, d: int) -> list[Row]:
    """Rows that are independent modulo the prime, hence over the rationals, and span all rows modulo it."""
    kept: list[Row] = []
    for block in blocks:
        rows = kept + block
        kept = [rows[i] for i in _pivots(_modulo(rows, prime).transpose())]
        if len(kept) == d:
            break
    return kept


def _modulo(rows: list[Row], prime: int) -> Any:
    from flint import nmod_mat

    # Denominators are products of doubles and of counts below 2^53: so large a prime divides none of them.
    inverse: dict[int, int] = {}
    entries = []
    for row in rows:
        for x in row:
            q = int(x.q)
            if q not in inverse:
                inverse[q] = pow(q, -1, prime)
            entries.append(int(x.p) * inverse[q] % prime)
    return nmod_mat(len(rows), len(rows[0]) if rows else 0, entries, prime)


def _pivots(matrix: Any) -> list[int]:
    """The columns that are not combinations of earlier ones."""
    reduced, rank = matrix.rref()
    entries = [int(x) for x in reduced.entries()]
    width = matrix.ncols()
    found = []
    for k in range(rank):
        row = entries[k * width : (k + 1) * width]
        found.append(next(c for c, x in enumerate(row) if x))
    return found


def _on_best_coordinates(kept: list[Row], prime: int, d: int, basis: Floats | None) -> Dependence | None:
    """The subspace's dependence, on well-conditioned coordinates; None where the prime misleads."""
    from flint import fmpq_mat

    first = _pivots(_modulo(kept, prime))
    if len(first) != len(kept):
        return None
    # In reduced echelon form, which no choice of spanning vectors changes, T has the unit matrix on its first coordinates.
    T = _columns(kept, first).inv() * fmpq_mat(len(kept), d, [x for row in kept for x in row]) if kept else None
    if T is None:
        return Dependence(np.empty(0, dtype=np.intp), np.arange(d), fmpq_mat(0, d))
    entries = T.tolist()
    chosen = _well_conditioned(entries, basis)
    if chosen is not None and chosen != first:
        try:
            T = _columns(entries, chosen).inv() * T
        except ZeroDivisionError:
            chosen = None
    chosen = first if chosen is None else chosen
    rest = [c for c in range(d) if c not in set(chosen)]
    return Dependence(np.array(chosen), np.array(rest, dtype=np.intp), _columns(T.tolist(), rest))


def _columns(rows: list[Row], columns: list[int]) -> Any:
    from flint import fmpq_mat

    return fmpq_mat(len(rows), len(columns), [row[c] for row in rows for c in columns])


def _well_conditioned(T: list[Row], basis: Floats | None) -> list[int] | None:
    """Coordinates on which rows T are far from dependent, each coordinate over its scale; None where doubles cannot tell."""
    import scipy.linalg

    X = np.array([[nearest(x) for x in row] for row in T])
    size = np.abs(X).max(axis=0) if basis is None else np.sqrt(np.square(basis).sum(axis=0))
    X = X / np.where(size > 0, size, 1.0)
    if not np.isfinite(X).all():
        return None
    X = X / np.where(np.abs(X).max(axis=1) > 0, np.abs(X).max(axis=1), 1.0)[:, None]
    Q = np.linalg.qr(X.T)[0]
    return sorted(scipy.linalg.qr(Q.T, mode="r", pivoting=True)[1][: len(T)].tolist())


def _outlier(arms: ExactRows, support: Indices, held: list[Row], rank: int) -> str:
    """What leaves the span of the `rank` vectors that are independent by more than rounding."""
    import scipy.linalg

    index = support[:BLOCK]
    rows = arms.rationals(index) + held
    X = np.array([[nearest(x) for x in row] for row in rows])
    for axis in (1, 0):
        size = np.abs(X).max(axis=axis, keepdims=True)
        X = X / np.where(size > 0, size, 1.0)
    order = scipy.linalg.qr(X.T, mode="r", pivoting=True)[1]
    independent = _pivots(_modulo([rows[i] for i in order], PRIMES[0]).transpose())
    if len(independent) <= rank:
        return "another arm"
    row = int(order[independent[rank]])
    return f"arm {index[row]}" if row < index.size else "the information held"
