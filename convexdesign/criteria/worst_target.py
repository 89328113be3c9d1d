"""phi(M) = max_j t_j'M^-1 t_j over targets that are never listed but asked for the worst, with its cuts and exchange gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import are_groups
from convexdesign.criteria.exchange import (
    OUTSIDE,
    SINGULAR,
    MatrixCriterion,
    group_swaps,
    inverse_factor,
    pair_determinants,
)
from convexdesign.typing import Floats

__all__ = ["MatrixTargets", "Minimax", "SphereTargets", "TargetOracle", "TransformedTargets", "WorstTargets"]


# Targets per swap evaluation: more sharpen the choice of a swap; whether it is taken is decided on all of them.
SWAP_TARGETS = 128
# Numbers that one vectorised evaluation of swaps may hold.
SWAP_BLOCK = 2**20
# Rows per matrix product, so that the intermediate stays in cache.
BLOCK = 16384


class TargetOracle(Protocol):
    """Targets by index, as `convexdesign.problem` keeps them: never listed, asked for the worst."""

    def worst(self, F: Floats, k: int) -> tuple[NDArray[np.int64], Floats]:
        """The targets with the largest |F'v|^2.

        Parameters
        ----------
        F : array of shape (d, k)
            A factor of the inverse of the information.
        k : int
            How many.

        Returns
        -------
        tuple of arrays of shape (k,)
            Their numbers and these squares, largest first.
        """
        ...

    def take(self, index: NDArray[np.int64]) -> Floats:
        """Targets by number.

        Parameters
        ----------
        index : array of int64, shape (k,)
            Their numbers.

        Returns
        -------
        array of shape (k, d)
            One row a target.
        """
        ...


class WorstTargets(Protocol):
    """What the minimax asks of its targets: the worst ones for a factor F."""

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        """The targets with the largest |F't|^2.

        Parameters
        ----------
        F : array of shape (r, r)
            A factor of the inverse of the information.
        k : int
            The most targets.

        Returns
        -------
        tuple of arrays of shape (at most k, r) and (at most k,)
            The targets and these squares, largest first.
        """
        ...

    def pooled(self, F: Floats, k: int) -> WorstTargets:
        """A subset that is cheap to ask: everything, or the k worst for F where that is many.

        Parameters
        ----------
        F : array of shape (r, r)
            A factor of the inverse of the information.
        k : int
            How many are many.

        Returns
        -------
        WorstTargets
            The subset.
        """
        ...


@dataclass(frozen=True)
class MatrixTargets(WorstTargets):
    """Targets given as rows.

    Parameters
    ----------
    rows : array of shape (m, r)
        The targets.
    """

    rows: Floats

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        q = np.empty(self.rows.shape[0])
        for start in range(0, q.size, BLOCK):
            P = self.rows[start : start + BLOCK] @ F
            q[start : start + BLOCK] = np.einsum("ij,ij->i", P, P)
        top = np.argpartition(q, q.size - k)[q.size - k :] if k < q.size else np.arange(q.size)
        top = top[np.argsort(-q[top], kind="stable")]
        return self.rows[top], q[top]

    def pooled(self, F: Floats, k: int) -> WorstTargets:
        return self if self.rows.shape[0] <= k else MatrixTargets(self.worst(F, k)[0])


@dataclass(frozen=True)
class TransformedTargets(WorstTargets):
    """t = B'v for the targets v of an oracle by index: whitening without touching them.

    Parameters
    ----------
    oracle : TargetOracle
        The targets v.
    basis : array of shape (d, r)
        B.
    """

    oracle: TargetOracle
    basis: Floats

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        index, values = self.oracle.worst(self.basis @ F, k)
        return self.oracle.take(index) @ self.basis, values

    def pooled(self, F: Floats, k: int) -> WorstTargets:
        return MatrixTargets(self.worst(F, k)[0])


@dataclass(frozen=True)
class ProjectedTargets(WorstTargets):
    """Q't for the targets t of another set; Q has shape (r, k) and orthonormal columns."""

    targets: WorstTargets
    Q: Floats

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        T, values = self.targets.worst(self.Q @ F, k)
        return T @ self.Q, values

    def pooled(self, F: Floats, k: int) -> WorstTargets:
        return ProjectedTargets(self.targets.pooled(self.Q @ F, k), self.Q)


@dataclass(frozen=True)
class SphereTargets(WorstTargets):
    """t = Hz for every unit vector z: the minimax over them is 1/lambda_min, criterion E.

    Parameters
    ----------
    H : array of shape (r, r)
        The map of the sphere.
    """

    H: Floats

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        _, s, Vt = np.linalg.svd(F.T @ self.H, full_matrices=False)
        return Vt[:k] @ self.H.T, s[:k] ** 2

    def pooled(self, F: Floats, k: int) -> WorstTargets:
        return self


@dataclass(frozen=True)
class Minimax(MatrixCriterion):
    """phi(M) = max_j t_j' M^-1 t_j over the targets of an oracle.

    Parameters
    ----------
    targets : WorstTargets
        The targets t_j.
    made_at : array of shape (r, r), optional
        Of a restriction: the information M0 that it was made at.
    omitted : float
        Of a restriction: a bound on every omitted t' M0^-1 t.

    Examples
    --------
    >>> Minimax(MatrixTargets(np.eye(2))).value(np.diag([1.0, 4.0]))
    1.0
    """

    targets: WorstTargets
    # Of a restriction: the information M0 it was made at, and a bound on every omitted t' M0^-1 t.
    made_at: Floats | None = None
    omitted: float = 0.0

    def value(self, M: Floats) -> float:
        F = inverse_factor(M)
        return np.inf if F is None else float(self.targets.worst(F, 1)[1][0])

    def cuts(self, F: Floats, k: int) -> Floats:
        T, values = self.targets.worst(F, k)
        T = T[values > 0.5 * values[0]]
        b = (T @ F) @ F.T
        b /= np.einsum("jr,jr->j", b, T)[:, None]
        G: Floats = b[:, :, None] * b[:, None, :]
        return G

    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        T, f = self.targets.worst(F, SWAP_TARGETS)
        if are_groups(out):
            Z = T @ F
            return group_swaps(F, out, into, lambda C: np.einsum("pjr,jr->pj", Z @ C, Z).max(axis=1))
        C = F @ F.T
        TC = T @ C
        K_out, K_into = (np.square(A @ F).sum(axis=1) for A in (out, into))
        K = out @ C @ into.T
        det = pair_determinants(K_out, K_into, K)
        P, Q = TC @ out.T, TC @ into.T  # (m, a), (m, b)
        worst = np.full(det.shape, -np.inf)
        # f' = f - [p q] S^-1 [p q]' with S = [[K_out - 1, K], [K, K_into + 1]] and det S = -det.
        safe = np.where(det > SINGULAR, det, 1.0)
        ipp, iqq, ipq = (1.0 + K_into)[None, :] / safe, (1.0 - K_out)[:, None] / safe, 2.0 * K / safe
        step = max(1, SWAP_BLOCK // det.size)
        for j in range(0, f.size, step):
            p, q = P[j : j + step, :, None], Q[j : j + step, None, :]
            new = f[j : j + step, None, None] + (p * ipp - ipq * q) * p - iqq * (q * q)
            np.maximum(worst, new.max(axis=0), out=worst)
        worst[det <= SINGULAR] = np.inf
        return worst

    def projected(self, Q: Floats) -> Minimax | None:
        # The target furthest from the range is the worst one for a factor of the projection beside it.
        beside = np.eye(Q.shape[0]) - Q @ Q.T
        T, outside = self.targets.worst(beside, 1)
        if outside[0] > OUTSIDE**2 * float(np.max(np.square(T).sum())):
            return None
        return Minimax(ProjectedTargets(self.targets, Q))

    def wanted(self, N: Floats) -> Floats:
        # The target with most beside what is spanned so far comes next, until none has any.
        spanned = np.zeros((N.shape[1], 0))
        longest = self.targets.worst(np.eye(N.shape[0]), 1)[1][0]
        for _ in range(N.shape[1]):
            beside = np.eye(N.shape[1]) - spanned @ spanned.T
            T, outside = self.targets.worst(N @ beside, 1)
            if not outside[0] > OUTSIDE**2 * longest:
                break
            spanned = np.linalg.qr(np.column_stack([spanned, beside @ (N.T @ T[0])]))[0]
        return spanned

    def restricted(self, F: Floats, k: int) -> Minimax:
        pool = self.targets.pooled(F, k)
        if pool is self.targets:
            return self
        return Minimax(pool, _inverse_of_product(F), float(pool.worst(F, k)[1][-1]))

    def settles(self, M: Floats) -> bool:
        if self.made_at is None:
            return True
        # t'M^-1 t <= lambda_max(M^-1 M0) t'M0^-1 t for every omitted t.
        F = inverse_factor(M)
        if F is None:
            return False
        grown = float(np.linalg.eigvalsh(F.T @ self.made_at @ F)[-1])
        return grown * self.omitted <= self.value(M)


def _inverse_of_product(F: Floats) -> Floats:
    """(FF')^-1."""
    G = np.asarray(np.linalg.inv(F), dtype=float)
    return G.T @ G
