"""What a design of less than full rank leaves open: the coordinates whose coefficients it does not tell.

The coefficient of coordinate k is estimable exactly where e_k lies in the range of A(w): where row k of N, an orthonormal
basis of the null space, is zero. A row of length one means that no combination with others is measured either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexdesign.evaluation import Evaluation
from convexdesign.problem import Canonical, DesignProblem
from convexdesign.typing import Floats

__all__ = ["rank_note"]


# Coordinates scaled to size one with less than this of them in the null space are estimable up to rounding.
ALIASED = 1e-6
NAMED = 12


def rank_note(canonical: Canonical, at: Evaluation) -> str:
    """'rank 4 of 5 (columns 1, 3 are aliased)' of the information at given weights; empty where the rank is full.

    >>> import convexdesign as cd
    >>> cd.solve(cd.DesignProblem.d_optimal([[1, -1, -2], [1, 1, 2], [1, 3, 6]])).rank_note
    'rank 2 of 3 (columns 1, 2 are aliased)'
    """
    problem = canonical.given
    d = problem.arms.d
    if at.rank == d:
        return ""
    share = _null_shares(canonical, at)
    lost = np.flatnonzero(share > 1.0 - ALIASED)
    aliased = np.flatnonzero((share > ALIASED) & (share <= 1.0 - ALIASED))
    parts = [
        f"{_listed(problem, columns)} {'is' if columns.size == 1 else 'are'} {what}"
        for columns, what in ((aliased, "aliased"), (lost, "not measured"))
        if columns.size
    ]
    return f"rank {at.rank} of {d}" + (f" ({'; '.join(parts)})" if parts else "")


def _null_shares(canonical: Canonical, at: Evaluation) -> Floats:
    """The lengths (d,) of the rows of an orthonormal basis of the null space of A(w), coordinates scaled to size one."""
    lost = canonical.inverse @ at.null
    kept = np.linalg.svd(lost, full_matrices=True)[0][:, lost.shape[1] :] if lost.size else np.eye(canonical.rank)
    # The size of a coordinate is that over all arms: what these weights leave of it may be rounding alone.
    size = np.abs(canonical.plain.inverse).max(axis=0, initial=0.0)
    measured = (canonical.plain.inverse.T @ kept) / np.where(size > 0, size, 1.0)[:, None]
    null = np.linalg.svd(measured, full_matrices=True)[0][:, at.rank :]
    return np.asarray(np.linalg.norm(null, axis=1))


def _listed(problem: DesignProblem, index: NDArray[np.intp]) -> str:
    columns = problem.rows.columns
    names = [str(k) if columns is None else columns[k] for k in index[:NAMED]]
    noun = "column" if index.size == 1 else "columns"
    return f"{noun} {', '.join(names)}" + ", ..." * (index.size > NAMED)
