"""Information already held: quadratic forms and rows of A0 that keep their digits, however large or ill-conditioned it is.

Where it was given as counts, A0 = sum c_i y_i y_i' is used through the rows sqrt(c_i) y_i, whose products lose half as many
digits as those of the matrix. Where it was given as a matrix, products that cancel are taken with twice the digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from convexdesign.problem.compensated import congruence, product
from convexdesign.problem.psd import psd_root
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from convexdesign.arms.source import ScaledArms
    from convexdesign.problem.problem import DesignProblem

__all__ = ["precise_prior_vectors", "prior_exactly", "prior_form", "prior_vectors", "spanning_prior_vectors"]


UNIT = 2.0**-53
# Rows of a triangular factor below this share of the largest are the rounding of the others.
FEW_DROPS = 64 * UNIT
# Up to so many entries, rows are used as they are where their rank matters.
MOST_AS_THEY_ARE = 40_000
# A form whose rounding, in sum over its diagonal, may exceed this is taken with twice the digits.
ROUNDED = 1e-13


def prior_form(problem: DesignProblem, columns: Floats) -> tuple[Floats, float]:
    """C'A0C for C (d, k), and a bound on the Frobenius norm of its error."""
    A0 = problem.prior
    if A0 is None:
        return np.zeros((columns.shape[1],) * 2), 0.0
    d, size = columns.shape[0], np.abs(columns)
    if problem.prior_rows is not None:
        rows = problem.prior_rows.take(np.arange(problem.prior_rows.n))
        image = rows @ columns
        off = (d + 8) * UNIT * float(np.linalg.norm(np.abs(rows) @ size))
        whole = float(np.linalg.norm(image))
        return np.asarray(image.T @ image), 2.0 * off * whole + off**2 + len(rows) * UNIT * whole**2
    out = columns.T @ (A0 @ columns)
    bulk = float(np.linalg.norm(size.T @ (np.abs(A0) @ size)))
    if 2 * (d + 4) * UNIT * bulk <= ROUNDED:
        return out, 2 * (d + 4) * UNIT * bulk
    out = prior_exactly(problem, columns)
    return out, 4.0 * UNIT * float(np.linalg.norm(out)) + (2 * (d + 4) * UNIT) ** 2 * bulk


def prior_exactly(problem: DesignProblem, columns: Floats) -> Floats:
    """C'A0C with twice the digits, A0 a matrix as it was given, before it was divided by n_new."""
    assert problem.prior is not None
    if problem.divisor == 1.0:
        return congruence(columns, problem.prior)
    held = np.asarray(problem.stated.prior_information, dtype=float)
    return congruence(columns, (held + held.T) / 2.0) / problem.divisor


def prior_vectors(problem: DesignProblem) -> Floats:
    """Rows k with A0 = sum k k', at most d of them; (0, d) where nothing is held."""
    if problem.prior is None:
        return np.zeros((0, problem.arms.d))
    if problem.prior_rows is None:
        return psd_root(problem.prior)
    return _few(_counted(problem.prior_rows))


def spanning_prior_vectors(problem: DesignProblem) -> Floats:
    """Rows as above, few or many: those that were counted, as they are, where they are not too many."""
    if problem.prior_rows is None or problem.prior_rows.n * problem.arms.d > MOST_AS_THEY_ARE:
        return prior_vectors(problem)
    return _counted(problem.prior_rows)


def _counted(held: ScaledArms) -> Floats:
    return held.take(np.arange(held.n))


def precise_prior_vectors(problem: DesignProblem, basis: Floats) -> Floats:
    """Rows k with W'A0W = sum k k', at most d of them, from products with twice the digits."""
    if problem.prior is None:
        return np.zeros((0, basis.shape[1]))
    if problem.prior_rows is None:
        return psd_root(prior_exactly(problem, basis))
    rows = problem.prior_rows
    return _few(product(rows.arms.take(np.arange(rows.n)), basis) * rows.scale[:, None])


def _few(rows: Floats) -> Floats:
    """As many rows as columns with the same sum of squares; what a triangular factor has of rounding alone is no row.

    Columns are brought to one size and rows taken longest first, so that units and short rows keep their digits.
    """
    if rows.shape[0] <= rows.shape[1]:
        return rows
    size = np.abs(rows).max(axis=0)
    scale = np.where(size > 0, size, 1.0)
    rows = rows / scale
    order = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
    triangle = np.asarray(np.linalg.qr(rows[order], mode="r"))
    length = np.abs(triangle).max(axis=1)
    return triangle[length > FEW_DROPS * length.max(initial=0.0)] * scale
