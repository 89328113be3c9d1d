"""Units in which a cone form is fit for a solver: every variable by its limits, every row and cone by its largest entry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from convexdesign.problem.weights import unit_of
from convexdesign.programs.cone_form import ConeForm
from convexdesign.typing import Floats

__all__ = ["Scaling", "scaled"]


# Intervals narrower than this share of their ends are measured from their middle.
NARROW = 0.25


@dataclass(frozen=True, eq=False)
class Scaling:
    """x = middle + unit * y, and rows (b - Ax) * size: A, b are the form's in these units.

    The sizes are alike within a cone, so that s is in K in either unit, and duals are z * size in the form's own.
    """

    A: sparse.csr_matrix
    b: Floats
    middle: Floats
    unit: Floats
    size: Floats


def scaled(form: ConeForm, lo: Floats, hi: Floats) -> Scaling:
    """The scaling that intervals lo, hi of the variables suggest; where there are none, the sizes of the columns do."""
    n = form.n
    ends = np.maximum(np.abs(lo), np.abs(hi))
    narrow = np.isfinite(ends) & (hi - lo < NARROW * ends)
    narrow[:n] = False
    middle = np.zeros(ends.size)
    middle[narrow] = (lo[narrow] + hi[narrow]) / 2
    unit = np.where(narrow, np.maximum((hi - lo) / 2, 1e-12 * ends), ends)
    unit = np.where(np.isfinite(unit) & (unit > 0), unit, 0.0)
    unit[:n] = unit_of(hi[:n])
    A = form.A
    known = unit > 0
    size = _row_sizes(form, _by_columns(A, np.where(known, unit, 0.0)))
    if not known.all():
        # What is left takes its unit from the rows it is in, and these theirs from it where they have nothing else.
        blank = size == 0
        size = np.where(blank, _row_sizes(form, A), size)
        largest = np.asarray(abs(_by_rows(A, 1.0 / np.where(size > 0, size, 1.0))).max(axis=0).todense()).ravel()
        unit = np.where(known, unit, 1.0 / np.where(largest > 0, largest, 1.0))
        size = _row_sizes(form, _by_columns(A, unit))
    unit[n:], size = _power_of_two(unit[n:]), 1.0 / _power_of_two(np.where(size > 0, size, 1.0))
    return Scaling(_by_rows(_by_columns(A, unit), size), size * (form.b - A @ middle), middle, unit, size)


def _row_sizes(form: ConeForm, A: sparse.csr_matrix) -> Floats:
    """The largest entry of every row, and of all rows of a cone together."""
    sizes = np.asarray(abs(A).max(axis=1).todense()).ravel() if A.shape[0] else np.zeros(0)
    for block in form.blocks:
        sizes[block.rows] = sizes[block.rows].max()
    return sizes


def _by_columns(A: sparse.csr_matrix, factors: Floats) -> sparse.csr_matrix:
    return sparse.csr_matrix(A @ sparse.diags(factors))


def _by_rows(A: sparse.csr_matrix, factors: Floats) -> sparse.csr_matrix:
    return sparse.csr_matrix(sparse.diags(factors) @ A)


def _power_of_two(x: Floats) -> Floats:
    """The nearest powers of two, by which numbers are scaled without rounding."""
    return np.asarray(np.exp2(np.round(np.log2(x))))
