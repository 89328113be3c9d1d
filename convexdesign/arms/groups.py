"""Arms with several responses: one measurement of arm i returns r numbers at once, with mean X_i'theta and covariance S_i.

Its information is X_i S_i^-1 X_i' = sum_k y_ik y_ik', where y_ik are the rows of L_i^-1 X_i', S_i = L_i L_i': whitening
turns correlated responses into r independent measurements of variance one, which always come together. So such an arm is
a group of ordinary rows under one weight, and whatever is a sum over rows (information, sensitivities, leverages) is for
an arm the sum over its group. Rows of n arms lie below one another, (n r, d), those of one arm next to each other; ordinary
arms are groups of one. So products with matrices know nothing of r, which counts only where numbers per arm meet those per
row: here.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from convexdesign.typing import Floats, Indices

__all__ = [
    "are_groups",
    "as_groups",
    "gains",
    "grouped",
    "repeat_per_response",
    "rows_of_arms",
    "spread",
    "squared_norms",
    "squared_projections",
    "squares",
    "stacked",
    "sum_per_arm",
]

S = TypeVar("S", bound=np.generic)


def rows_of_arms(index: Indices, responses: int) -> Indices:
    """The numbers of the rows (k r,) of the arms at the indices (k,)."""
    return index if responses == 1 else (responses * np.asarray(index)[:, None] + np.arange(responses)).ravel()


def repeat_per_response(values: NDArray[S], rows: Floats) -> NDArray[S]:
    """The number (k,) of every arm for each of its rows (k r, d): a weight counts for all responses."""
    return values if len(values) == len(rows) else np.repeat(values, len(rows) // len(values))


def sum_per_arm(values: Floats, responses: int) -> Floats:
    """The sums over each arm's rows, along the last axis: (..., n) from (..., n r)."""
    return values if responses == 1 else values.reshape(*values.shape[:-1], -1, responses).sum(axis=-1)


def squared_norms(images: Floats, responses: int) -> Floats:
    """The sum of squares of every arm's entries, (k,), from images (k r, l) of its rows."""
    return sum_per_arm(np.einsum("ij,ij->i", images, images), responses)


def squared_projections(rows: Floats, vectors: Floats, responses: int) -> Floats:
    """(b_j'y_i)^2 for every arm and column b_j of the vectors (d, m), summed over responses: (k, m)."""
    squares = (rows @ vectors) ** 2
    return squares if responses == 1 else sum_per_arm(squares.T, responses).T


# ------------------------------------------------------------------ single arms along the first axis
#
# Rounding gives and takes single arms, and numbers them along the first axis: rows (k, d), or groups of rows (k, r, d).


def grouped(rows: Floats, responses: int) -> Floats:
    """The rows (k r, d) as groups (k, r, d); ordinary arms as they are."""
    return rows if responses == 1 else rows.reshape(-1, responses, rows.shape[1])


def as_groups(arms: Floats) -> Floats:
    """Rows (k, d) or groups of them as groups (k, r, d)."""
    return arms if arms.ndim == 3 else arms[:, None]


def are_groups(arms: Floats) -> bool:
    """Whether these are groups of rows (k, r, d), and not rows (k, d)."""
    return arms.ndim == 3


def stacked(rows: Floats) -> Floats:
    """The rows of all arms below one another: (k, d) as it is, (k, r, d) as (k r, d)."""
    return rows if rows.ndim == 2 else rows.reshape(-1, rows.shape[2])


def spread(values: NDArray[S], rows: Floats) -> NDArray[S]:
    """The number (k,) of every arm for each row of `stacked(rows)`: a weight counts for all responses."""
    return values if rows.ndim == 2 else np.repeat(values, rows.shape[1])


def squares(images: Floats) -> Floats:
    """The sum of squares of every arm's entries, (k,), from images (k, l) or (k, r, l)."""
    return np.asarray(np.einsum("ij,ij->i", images, images) if images.ndim == 2 else (images**2).sum(axis=(1, 2)))


def gains(rows: Floats, vectors: Floats) -> Floats:
    """(b_j'y_i)^2 for every arm and column b_j of the vectors (d, m), summed over responses: (k, m)."""
    image = rows @ vectors
    return np.asarray(image**2 if image.ndim == 2 else (image**2).sum(axis=1))
