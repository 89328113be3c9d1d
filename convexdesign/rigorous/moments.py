"""M of an average variance tr(A^+ M), exactly: the identity, second moments of a region from its rows, or the matrix given.

A matrix of doubles is seldom semidefinite, or of a rank below d, exactly: 0.1 x 0.1 is rounded. Where M as given is not
semidefinite, or leaves what is measured by no more than that, the proof is for M' = LL' in its place, L the factor that
solvers use, projected: M' is semidefinite, lies in the subspace and differs from M by rounding, and the proof says by how much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.balls import cholesky, midpoints, up
from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.rigorous.data import ExactRows, exact_rationals
from convexdesign.rigorous.dependence import Dependence, dependence_of
from convexdesign.typing import Floats

__all__ = ["Moments", "read_moments"]


BLOCK = 4096
# Entries of M, over the roots of their diagonal entries, that differ by no more than this differ by rounding.
ROUNDING = 1e-12
# What `read_psd` takes for rounding in the least eigenvalue.
INDEFINITE = 1e-8


@dataclass(frozen=True, eq=False)
class Moments:
    """M (d, d) as fractions, its factor L (d, q) in balls with LL' = M, and what M differs from, if from anything given."""

    matrix: Any
    factor: Any
    rounded_by: float = 0.0

    @property
    def rows(self) -> list[list[Any]]:
        """Rows of fractions that span the range of M."""
        rows: list[list[Any]] = self.matrix.tolist()
        return rows

    def on(self, dependence: Dependence | None) -> Any:
        """The block of M on the coordinates J as balls."""
        from flint import arb_mat, fmpq_mat

        if dependence is None:
            return arb_mat(self.matrix)
        keep = dependence.chosen.tolist()
        entries = self.matrix.tolist()
        return arb_mat(fmpq_mat([[entries[a][b] for b in keep] for a in keep]))

    def vectors(self, contrast_matrix: Floats, targets: NDArray[np.intp], vectors: Floats) -> Floats:
        """Rows f_j of doubles, about P l_j for the columns of L, the vectors (k, d) being P a_j, a_j of the contrast matrix."""
        size = np.abs(contrast_matrix).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)[:, None]
        spread = np.zeros((contrast_matrix.shape[1], contrast_matrix.shape[0]))
        spread[targets] = vectors
        mix = np.linalg.pinv(contrast_matrix / size, rcond=1e-13) @ (midpoints(self.factor) / size)
        return np.asarray(mix.T @ spread)


def read_moments(problem: DesignProblem, measured: Dependence | None, basis: Floats | None) -> Moments | None:
    """M for designs that measure a subspace; None where M asks for more than that, so that the average is infinite."""
    matrix = _given(problem)
    rows = matrix.tolist()
    inside = measured is None or measured.holds_for(rows)
    factor = _factor(matrix, dependence_of(rows, len(rows), basis)) if inside else None
    if factor is not None:
        return Moments(matrix, factor)
    if problem.moments is None:
        return None
    return _nearest(problem.contrast_matrix, matrix, measured, INDEFINITE if inside else ROUNDING)


def _given(problem: DesignProblem) -> Any:
    """M as fractions; of a matrix that is symmetric but for rounding, the symmetric part, which is all that tr(A^-1 M) sees."""
    from flint import fmpq_mat

    d = problem.arms.d
    if problem.stated.region is not None:
        return _second_moments(ExactRows(problem.stated.region.source))
    if problem.stated.M is None:
        return fmpq_mat(d, d, [int(a == b) for a in range(d) for b in range(d)])
    M = exact_rationals(np.asarray(problem.stated.M, dtype=float))
    return fmpq_mat([[(M[a][b] + M[b][a]) / 2 for b in range(d)] for a in range(d)])


def _second_moments(points: ExactRows) -> Any:
    """The mean of vv' over all rows."""
    from flint import fmpq, fmpq_mat, fmpz_mat

    d = points.d
    total = fmpq_mat(d, d)
    for start in range(0, points.n, BLOCK):
        index = np.arange(start, min(start + BLOCK, points.n))
        rows, shifts = points.whole(index)
        V = fmpz_mat(rows)
        units = fmpq_mat(d, d, [_power(-shifts[a]) if a == b else 0 for a in range(d) for b in range(d)])
        total += units * fmpq_mat(V.transpose() * V) * units
    return total * fmpq(1, points.n)


def _power(k: int) -> Any:
    from flint import fmpq

    return fmpq(2**k) if k >= 0 else fmpq(1, 2**-k)


def _factor(matrix: Any, own: Dependence | None) -> Any | None:
    """L with LL' = M in balls; None where M is not certainly semidefinite. A symmetric M is so where its regular block is."""
    from flint import arb_mat, fmpq_mat

    if own is None:
        return cholesky(arb_mat(matrix))
    keep = own.chosen.tolist()
    entries = matrix.tolist()
    block = cholesky(arb_mat(fmpq_mat([[entries[a][b] for b in keep] for a in keep])))
    if block is None:
        return None
    one = fmpq_mat(own.rank, own.rank, [int(a == b) for a in range(own.rank) for b in range(own.rank)])
    return arb_mat(own.completed(one)).transpose() * block


def _nearest(contrast_matrix: Floats, matrix: Any, measured: Dependence | None, tolerance: float) -> Moments | None:
    """M' = LL', L the contrast matrix read exactly, moved into the subspace by its coordinates J; None where far from M."""
    from flint import arb_mat, fmpq_mat

    rows = fmpq_mat(exact_rationals(np.ascontiguousarray(contrast_matrix.T)))
    if measured is not None:
        entries = rows.tolist()
        rows = measured.completed(fmpq_mat([[row[c] for c in measured.chosen.tolist()] for row in entries]))
    close = rows.transpose() * rows
    distance = _distance(matrix.tolist(), close.tolist())
    if not distance <= tolerance:
        if measured is None:
            raise InputError(
                "M, read exactly, is not positive semidefinite, and not only by rounding; give second moments that are "
                "exact, or the rows they come from as the region of i_optimal"
            )
        return None
    return Moments(close, arb_mat(rows).transpose(), distance)


def _distance(given: list[list[Any]], other: list[list[Any]]) -> float:
    """The largest difference of two entries over the root of the product of the diagonal entries, from above."""
    from flint import arb

    d = len(given)
    size = [arb(given[a][a] if given[a][a] > 0 else other[a][a]) for a in range(d)]
    worst = 0.0
    for a in range(d):
        for b in range(a, d):
            off = arb(given[a][b] - other[a][b])
            if given[a][b] != other[a][b]:
                scale = (size[a] * size[b]).sqrt()
                worst = max(worst, up(abs(off) / scale) if scale > 0 else np.inf)
    return worst
