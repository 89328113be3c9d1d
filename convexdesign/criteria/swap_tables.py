"""Tables of swaps that follow a design from move to move: phi of every exchange of one pull, by rank-two updates.

With C = M^-1 and K = U C U', moving a pull from arm o to arm i changes

    det M by the factor   (1 - K_oo)(1 + K_ii) + K_oi^2,
    C by                  - B S^-1 B',   B = C [o i],   S = [[K_oo - 1, K_oi], [K_oi, K_ii + 1]],

so that U C, and with it every entry of K, is kept up to date at a cost of k r, without an inverse. Of D_s with interest L
the determinant of L'CL is that of N'MN over that of M, up to a constant, N an orthonormal basis of what L leaves out: two such
tables. For the average variance tr(CQ) also U E, E = CQC, is kept. Other criteria are asked anew after every move: which table
is its own, a criterion says by `MatrixCriterion.swap_table`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from convexdesign.criteria.exchange import SINGULAR, MatrixCriterion, information, inverse_factor
from convexdesign.typing import Counts, Floats, Indices

__all__ = [
    "ALL_PAIRS",
    "DeterminantTable",
    "RecomputedTable",
    "SwapTable",
    "TraceTable",
    "shortlist",
    "swap_table",
]

# Arms on each side of a swap that are looked at first where each swap is dear, and the pairs up to which all are.
SHORTLIST = 20
ALL_PAIRS = 10_000


class SwapTable(Protocol):
    """phi of a design and of its neighbours."""

    value: float

    def swaps(self, out: Indices, into: Indices) -> Floats:
        """phi after moving one pull from `out` (a,) to `into` (b,), shape (a, b); infinite where that is not looked at."""
        ...

    def move(self, o: int, i: int) -> None:
        """Make the design the one after that swap."""
        ...

    def shortlist(self, out: Indices, into: Indices) -> tuple[Indices, Indices]:
        """The arms to look at first; all of them where that is cheap."""
        ...


def swap_table(
    arms: Floats, counts: Counts | Floats, criterion: MatrixCriterion, prior: Floats | None = None
) -> SwapTable | None:
    """The table of a design: arms (k, r) or groups (k, l, r), counts (k,), prior (r, r); None where it is singular."""
    M = information(arms, counts, prior)
    F = inverse_factor(M)
    return None if F is None else criterion.swap_table(arms, M, F)


def shortlist(
    criterion: MatrixCriterion, F: Floats, arms: Floats, out: Indices, into: Indices
) -> tuple[Indices, Indices]:
    """The arms on each side of a swap that are worth looking at first; F (r, r) with M^-1 = FF'."""
    # Worth of a pull: the derivative of the criterion, averaged over nearly worst targets.
    G = criterion.cuts(F, SHORTLIST).mean(axis=0)
    worth = ((arms @ G) * arms).reshape(len(arms), -1).sum(axis=1)
    few_out = out[np.argsort(worth[out], kind="stable")[:SHORTLIST]]
    few_into = into[np.argsort(-worth[into], kind="stable")[:SHORTLIST]]
    return few_out, few_into


class _Inverse:
    """U C and the diagonal of K = U C U' for one information matrix."""

    def __init__(self, arms: Floats, F: Floats):
        self.arms = arms
        self.C = F @ F.T
        self.UC = arms @ self.C
        self.d = np.einsum("ij,ij->i", self.UC, arms)

    def determinants(self, out: Indices, into: Indices) -> tuple[Floats, Floats]:
        """The factors of det M (a, b), and K_oi."""
        K = self.UC[out] @ (self.arms if into.size == len(self.arms) else self.arms[into]).T
        factor = (1.0 - self.d[out])[:, None] * (1.0 + self.d[into]) + K * K
        return factor, K

    def move(self, o: int, i: int) -> tuple[Floats, Floats, Floats]:
        """Update; returns B (r, 2), P = U B (k, 2) and S^-1 (2, 2)."""
        B = self.UC[[o, i]].T
        P = self.arms @ B
        S = np.array([[P[o, 0] - 1.0, P[o, 1]], [P[i, 0], P[i, 1] + 1.0]])
        T = np.linalg.inv(S)
        PT = P @ T
        self.UC -= PT @ B.T
        self.C -= B @ T @ B.T
        self.d -= np.einsum("ij,ij->i", PT, P)
        return B, P, T


class _Cheap:
    """Of tables that cost little: every pair is looked at."""

    def shortlist(self, out: Indices, into: Indices) -> tuple[Indices, Indices]:
        return out, into


class DeterminantTable(_Cheap):
    """det(L'M^-1 L)^(1/s) for L (r, s), of arms with one response each; value: at M."""

    def __init__(self, arms: Floats, M: Floats, F: Floats, L: Floats, value: float):
        r, self.s = L.shape
        self.all = _Inverse(arms, F)
        self.rest: _Inverse | None = None
        self.value = value
        if self.s < r:
            N = np.linalg.svd(L.T, full_matrices=True)[2][self.s :].T
            G = inverse_factor(N.T @ M @ N)
            assert G is not None  # a compression of a matrix that is positive definite
            self.rest = _Inverse(arms @ N, G)

    def swaps(self, out: Indices, into: Indices) -> Floats:
        factor, _ = self.all.determinants(out, into)
        good = factor > SINGULAR
        ratio = 1.0 / np.where(good, factor, 1.0)
        if self.rest is not None:
            rest, _ = self.rest.determinants(out, into)
            ratio *= np.maximum(rest, 0.0)
        return np.where(good, self.value * ratio ** (1.0 / self.s), np.inf)

    def move(self, o: int, i: int) -> None:
        self.value = float(self.swaps(np.array([o]), np.array([i]))[0, 0])
        self.all.move(o, i)
        if self.rest is not None:
            self.rest.move(o, i)


class TraceTable(_Cheap):
    """tr(M^-1 Q), of arms with one response each."""

    def __init__(self, arms: Floats, F: Floats, Q: Floats):
        self.all = _Inverse(arms, F)
        self.Q = Q
        self.E = self.all.C @ self.Q @ self.all.C
        self.UE = arms @ self.E
        self.e = np.einsum("ij,ij->i", self.UE, arms)
        self.value = float(np.sum(self.all.C * self.Q))

    def swaps(self, out: Indices, into: Indices) -> Floats:
        factor, K = self.all.determinants(out, into)
        EK = self.UE[out] @ self.all.arms[into].T
        d_out, d_into = self.all.d[out][:, None], self.all.d[into]
        change = self.e[out][:, None] * (1.0 + d_into) - (1.0 - d_out) * self.e[into] - 2.0 * K * EK
        good = factor > SINGULAR
        return np.where(good, self.value + change / np.where(good, factor, 1.0), np.inf)

    def move(self, o: int, i: int) -> None:
        self.value = float(self.swaps(np.array([o]), np.array([i]))[0, 0])
        D, UD = self.UE[[o, i]].T, self.UE @ self.all.arms[[o, i]].T
        B, P, T = self.all.move(o, i)
        PT, inner = P @ T, B.T @ self.Q @ B
        # C'QC' with C' = C - B T B', D = CQB.
        self.UE += PT @ (inner @ T) @ B.T - PT @ D.T - (UD @ T) @ B.T
        self.e = np.einsum("ij,ij->i", self.UE, self.all.arms)


class RecomputedTable:
    """Of any criterion, which is asked anew after every move."""

    def __init__(self, arms: Floats, M: Floats, F: Floats, criterion: MatrixCriterion):
        self.arms, self.M, self.F, self.criterion = arms, M, F, criterion
        self.value = criterion.value(M)

    def swaps(self, out: Indices, into: Indices) -> Floats:
        return self.criterion.swaps(self.F, self.arms[out], self.arms[into])

    def move(self, o: int, i: int) -> None:
        given, taken = np.atleast_2d(self.arms[o]), np.atleast_2d(self.arms[i])
        self.M = self.M - given.T @ given + taken.T @ taken
        F = inverse_factor(self.M)
        self.value = np.inf if F is None else self.criterion.value(self.M)
        self.F = self.F if F is None else F

    def shortlist(self, out: Indices, into: Indices) -> tuple[Indices, Indices]:
        return shortlist(self.criterion, self.F, self.arms, out, into)
