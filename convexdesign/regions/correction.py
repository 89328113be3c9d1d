"""What a solver left of the identity of a sum of squares, taken into the squares by Newton steps.

Interior-point solvers stop where their linear systems lose their digits, with S_k inside the cones but the identity
nu N - p = sum_k <S_k, m_k m_k'> g_k missed by 1e-8 of its largest coefficient. Where p is many times larger elsewhere in the
box than on the region that is too much. Let nu be a little more than the least possible. Then there is room inside the cones:
small eigenvalues of S_k are lifted by a share of it. With S_k = L_k L_k' the step S_k := L_k (1 + D_k) L_k', sum_k |D_k|^2
least among all that restore the identity, is a small linear problem; it stays inside the cones where 1 + D_k does, and after
one or two nothing is left but rounding. Nothing here is trusted: what comes back is repaired like what any solver says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.typing import Floats

if TYPE_CHECKING:
    from convexdesign.regions.sum_of_squares import Bound, Coefficients, SumOfSquaresProgram

__all__ = ["corrected"]

UNIT = 2.0**-53
STEPS = 8
# A step that changes no square by more than this was the last.
SETTLED = 1e-2
# The share of the way to the side of a cone that one step may go.
INSIDE = 0.9
# The share of the room above the least possible that is spent on lifting small eigenvalues first.
ROOM = 0.5
# Operations of one step, and pairs of the largest basis, beyond which it takes longer than it is worth.
MOST_OPERATIONS = 3e9
MOST_PAIRS = 2500


def corrected(
    program: SumOfSquaresProgram, found: Bound, p: Coefficients, N: Coefficients, nu: float, room: float
) -> Bound | None:
    """The squares of a solution moved so that they prove p <= nu N, as nearly as rounding allows; None where they are too many.

    room: by how much nu is above the least possible, about.
    """
    pairs = [len(square.root) * (len(square.root) + 1) // 2 for square in found.squares]
    if max(pairs, default=0) > MOST_PAIRS or sum(pairs) * len(program.keys) ** 2 > MOST_OPERATIONS:
        return None
    floor = ROOM * max(room, 0.0) / max(sum(len(square.root) for square in found.squares), 1)
    roots = [lifted(square.root, floor) for square in found.squares]
    wanted = nu * program.vector(N) - program.vector(p)
    for _ in range(STEPS):
        changes = least_changes(program, roots, wanted)
        if changes is None:
            return None
        levels = [np.linalg.eigh(D) for D in changes]
        lowest = min((float(level[0]) for level, _ in levels if len(level)), default=0.0)
        share = min(1.0, INSIDE / max(-lowest, UNIT))
        roots = [L @ (vectors * np.sqrt(1.0 + share * level)) for L, (level, vectors) in zip(roots, levels)]
        if max((float(np.abs(level).max(initial=0.0)) for level, _ in levels), default=0.0) < SETTLED:
            break
    return replace(found, nu=nu, squares=tuple(replace(s, root=L) for s, L in zip(found.squares, roots)))


def lifted(L: Floats, floor: float) -> Floats:
    """A square root of LL' with no eigenvalue below the floor."""
    vectors, level, _ = np.linalg.svd(L)
    size = np.full(len(L), np.sqrt(floor))
    size[: len(level)] = np.maximum(level, size[: len(level)])
    return np.asarray(vectors * size)


def least_changes(program: SumOfSquaresProgram, roots: list[Floats], wanted: Floats) -> list[Floats] | None:
    """The smallest symmetric D_k with the coefficients of sum_k <L_k (1 + D_k) L_k', m_k m_k'> g_k as wanted."""
    from scipy import sparse

    left, parts = wanted.copy(), []
    for block, L in zip(program.blocks, roots):
        j, i = np.tril_indices(len(L))
        double = np.where(i == j, 1.0, 2.0)
        left -= np.bincount(
            block.cols, weights=((L @ L.T)[i, j] * double)[block.rows] * block.values, minlength=len(left)
        )
        b, a = np.tril_indices(L.shape[1])
        # Of D in an orthonormal basis of symmetric matrices.
        size = np.where(a == b, 0.5, np.sqrt(0.5)) * double[:, None]
        pairs = (L[i][:, a] * L[j][:, b] + L[i][:, b] * L[j][:, a]) * size
        parts.append(sparse.csr_matrix((block.values, (block.cols, block.rows)), shape=(len(left), len(i))) @ pairs)
    change = np.hstack(parts)
    size = np.linalg.norm(change, axis=1)
    felt = size > 0
    if not np.isfinite(change).all():
        return None
    Q, R = np.linalg.qr((change[felt] / size[felt, None]).T)
    every = Q @ np.linalg.lstsq(R.T, left[felt] / size[felt], rcond=1e-14)[0]
    out, start = [], 0
    for L in roots:
        b, a = np.tril_indices(L.shape[1])
        own = every[start : start + len(a)] * np.where(a == b, 1.0, np.sqrt(0.5))
        start += len(a)
        D = np.zeros((L.shape[1], L.shape[1]))
        D[a, b] = D[b, a] = own
        out.append(D)
    return out
