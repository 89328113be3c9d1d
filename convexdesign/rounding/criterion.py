"""phi(M): the criteria as functions of an information matrix, with what exchange and outer approximation need.

Everything here works in whitened coordinates: arms are rows u_i of an (n, r) array and a whole-number design has
information M = prior + sum_i n_i u_i u_i'. Arms with several responses are groups of rows (n, k, r), with sum_l u_il u_il' in
place of u_i u_i'. Every criterion is scaled to phi(cM) = phi(M)/c, smaller is better:

    minimax   phi(M) = max_j t_j' M^-1 t_j          (G, XY, level sets, oracles, c; E by the targets on a sphere)
    average   phi(M) = tr(M^-1 Q)                   (A, I, L)
    volume    phi(M) = det(L' M^-1 L)^(1/s)         (D with L = I; D_s with the s columns of interest)

so that a lower bound on the continuous problem divided by (total * phi) is an efficiency. The reciprocals 1/phi are
concave and homogeneous (information functions), which gives for every M0 the cut that outer approximation uses:

    1/phi(M) <= tr(G M)  for every M,   with equality at M0,   G = -grad phi(M0) / phi(M0)^2.

For the minimax G = b b' / (b't)^2 with b = M0^-1 t, the best rescaling of t >= 2 b't - b'Mb.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from convexdesign.arms.groups import spread, stacked
from convexdesign.typing import Floats

__all__ = [
    "AverageVariance",
    "Criterion",
    "MatrixTargets",
    "Minimax",
    "SphereTargets",
    "TargetOracle",
    "Targets",
    "TransformedTargets",
    "Volume",
    "information",
    "inverse_factor",
    "measured_range",
    "pseudo_inverse_factor",
    "value_on_range",
]


# A swap that multiplies det M by less than this is treated as making M singular.
SINGULAR = 1e-9
# A target is inside a subspace when no more than this share of its length is outside.
OUTSIDE = 1e-7
# Eigenvalues of an information matrix below this share of the largest are rounding.
RANK_TOLERANCE = 1e-11
# Targets per swap evaluation: more sharpen the choice of a swap; whether it is taken is decided on all of them.
SWAP_TARGETS = 128
# Numbers that one vectorised evaluation of swaps may hold.
SWAP_BLOCK = 2**20
# Rows per matrix product, so that the intermediate stays in cache.
BLOCK = 16384


class TargetOracle(Protocol):
    """Targets by index, as `convexdesign.problem` keeps them: never listed, asked for the worst."""

    def worst(self, F: Floats, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Indices and values of the k largest |F'v|^2, largest first."""
        ...

    def take(self, index: NDArray[np.int64]) -> Floats:
        """Targets v as rows, shape (k, d)."""
        ...


class Targets(Protocol):
    """What the minimax asks of its targets: the worst ones for a factor F."""

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        """At most k rows t (k, r) with the largest |F't|^2 and these values, largest first."""
        ...

    def pooled(self, F: Floats, k: int) -> Targets:
        """A subset that is cheap to ask: everything, or the k worst for F where that is many."""
        ...


class Criterion(Protocol):
    """What rounding asks of a criterion."""

    def value(self, M: Floats) -> float:
        """phi(M), infinite where M is singular."""
        ...

    def cuts(self, F: Floats, k: int) -> Floats:
        """Up to k matrices G (k, r, r) with 1/phi(M) <= tr(G M) for every M; the first is tight at (FF')^-1."""
        ...

    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        """phi(M - oo' + ii'), M = (FF')^-1, for all rows o of `out` (a, r) and i of `into` (b, r), shape (a, b).

        Groups of rows (a, k, r) and (b, k, r) give and take all of theirs at once.
        """
        ...

    def restricted(self, F: Floats, k: int) -> Criterion:
        """A criterion that is never above this one and equals it at (FF')^-1, but costs only k targets."""
        ...

    def settles(self, M: Floats) -> bool:
        """Whether value(M) is also that of the criterion this one was restricted from."""
        ...

    def projected(self, Q: Floats) -> Criterion | None:
        """The same criterion of Q'MQ for information M in the range of orthonormal Q (r, k), or None if infinite."""
        ...

    def wanted(self, N: Floats) -> Floats:
        """Orthonormal columns (k, p) that span N'v for all v that must be measured; N (r, k) has orthonormal columns."""
        ...


def information(arms: Floats, counts: NDArray[Any]) -> Floats:
    """sum_i n_i u_i u_i' for rows (n, r) or groups of rows (n, k, r); counts or weights (n,)."""
    used = np.flatnonzero(counts)
    U = arms[used]
    M: Floats = (stacked(U) * spread(counts[used], U)[:, None]).T @ stacked(U)
    return M


def inverse_factor(M: Floats) -> Floats | None:
    """F with M^-1 = F F', or None where M is not numerically positive definite."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diag(L)
    if not np.all(pivots > 1e-6 * np.sqrt(np.diag(M))):  # Cholesky of a singular matrix may succeed on noise
        return None
    F: Floats = solve_triangular(L, np.eye(M.shape[0]), lower=True).T
    return F


def measured_range(M: Floats) -> Floats:
    """Orthonormal columns (r, k) that span the range of a psd M, up to rounding."""
    lam, Q = np.linalg.eigh(M)
    return np.asarray(Q[:, lam > max(RANK_TOLERANCE * lam[-1], 0.0)])


def pseudo_inverse_factor(M: Floats) -> Floats:
    """F (r, k) with M^+ = F F', k the rank of M up to rounding."""
    lam, Q = np.linalg.eigh(M)
    keep = lam > max(RANK_TOLERANCE * lam[-1], 0.0)
    return np.asarray(Q[:, keep] / np.sqrt(lam[keep]))


def value_on_range(criterion: Criterion, M: Floats) -> float:
    """phi(M), finite for singular M too where all that is wanted lies in its range: M's inverse there takes the place of M^-1.

    That is the limit of phi from above, since v'M^+v = lim v'(M + eps I)^-1 v for v in the range; elsewhere it is infinite.

    >>> round(value_on_range(Minimax(MatrixTargets(np.array([[1.0, 0.0]]))), np.diag([2.0, 0.0])), 12)
    0.5
    """
    value = criterion.value(M)
    if np.isfinite(value):
        return value
    Q = measured_range(M)
    on_range = criterion.projected(Q) if 0 < Q.shape[1] < M.shape[0] else None
    return np.inf if on_range is None else on_range.value(Q.T @ M @ Q)


def _span(rows: Floats, size: float) -> Floats:
    """Orthonormal columns that span the rows (m, k), up to OUTSIDE of the size."""
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(Vt[: int(np.count_nonzero(s > OUTSIDE * size))].T)


def _inverse_of_product(F: Floats) -> Floats:
    """(FF')^-1."""
    G = np.asarray(np.linalg.inv(F), dtype=float)
    return G.T @ G


def _pair_determinants(K_out: Floats, K_into: Floats, K: Floats) -> Floats:
    """det(M - oo' + ii') / det M for all pairs, from K_out = o'Co, K_into = i'Ci and K = o'Ci."""
    ratio: Floats = (1.0 - K_out)[:, None] * (1.0 + K_into)[None, :] + K * K
    return ratio


def _group_swaps(F: Floats, out: Floats, into: Floats, values: Callable[[Floats], Floats]) -> Floats:
    """`swaps` of groups: values maps inverses C (p, r, r), in coordinates where M is the identity, to phi (p,)."""
    given, taken = (np.einsum("ilr,ils->irs", A @ F, A @ F) for A in (out, into))
    phi = np.empty((len(out), len(into)))
    identity = np.eye(F.shape[1])
    for i, lost in enumerate(given):
        changed = identity - lost + taken
        good = np.linalg.det(changed) > SINGULAR
        changed[~good] = identity
        phi[i] = np.where(good, values(np.linalg.inv(changed)), np.inf)
    return phi


@dataclass(frozen=True)
class MatrixTargets:
    """Targets given as rows of an (m, r) array."""

    rows: Floats

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        q = np.empty(self.rows.shape[0])
        for start in range(0, q.size, BLOCK):
            P = self.rows[start : start + BLOCK] @ F
            q[start : start + BLOCK] = np.einsum("ij,ij->i", P, P)
        top = np.argpartition(q, q.size - k)[q.size - k :] if k < q.size else np.arange(q.size)
        top = top[np.argsort(-q[top], kind="stable")]
        return self.rows[top], q[top]

    def pooled(self, F: Floats, k: int) -> Targets:
        return self if self.rows.shape[0] <= k else MatrixTargets(self.worst(F, k)[0])


@dataclass(frozen=True)
class TransformedTargets:
    """t = B'v for the targets v of an oracle by index: whitening without touching them; B has shape (d, r)."""

    oracle: TargetOracle
    basis: Floats

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        index, values = self.oracle.worst(self.basis @ F, k)
        return self.oracle.take(index) @ self.basis, values

    def pooled(self, F: Floats, k: int) -> Targets:
        return MatrixTargets(self.worst(F, k)[0])


@dataclass(frozen=True)
class ProjectedTargets:
    """Q't for the targets t of another set; Q has shape (r, k) and orthonormal columns."""

    targets: Targets
    Q: Floats

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        T, values = self.targets.worst(self.Q @ F, k)
        return T @ self.Q, values

    def pooled(self, F: Floats, k: int) -> Targets:
        return ProjectedTargets(self.targets.pooled(self.Q @ F, k), self.Q)


@dataclass(frozen=True)
class SphereTargets:
    """t = Hz for every unit vector z: the minimax over them is 1/lambda_min, criterion E. H has shape (r, r)."""

    H: Floats

    def worst(self, F: Floats, k: int) -> tuple[Floats, Floats]:
        _, s, Vt = np.linalg.svd(F.T @ self.H, full_matrices=False)
        return Vt[:k] @ self.H.T, s[:k] ** 2

    def pooled(self, F: Floats, k: int) -> Targets:
        return self


@dataclass(frozen=True)
class Minimax:
    """phi(M) = max_j t_j' M^-1 t_j over the targets of an oracle.

    >>> Minimax(MatrixTargets(np.eye(2))).value(np.diag([1.0, 4.0]))
    1.0
    """

    targets: Targets
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
        if out.ndim == 3:
            Z = T @ F
            return _group_swaps(F, out, into, lambda C: np.einsum("pjr,jr->pj", Z @ C, Z).max(axis=1))
        C = F @ F.T
        TC = T @ C
        K_out, K_into = (np.square(A @ F).sum(axis=1) for A in (out, into))
        K = out @ C @ into.T
        det = _pair_determinants(K_out, K_into, K)
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


@dataclass(frozen=True)
class AverageVariance:
    """phi(M) = tr(M^-1 Q) for a psd Q of shape (r, r)."""

    Q: Floats

    def value(self, M: Floats) -> float:
        F = inverse_factor(M)
        return np.inf if F is None else float(np.sum(F * (self.Q @ F)))

    def cuts(self, F: Floats, k: int) -> Floats:
        C = F @ F.T
        CQ = C @ self.Q
        G: Floats = (CQ @ C / np.trace(CQ) ** 2)[None]
        return G

    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        if out.ndim == 3:
            Q = F.T @ self.Q @ F
            return _group_swaps(F, out, into, lambda C: np.einsum("prs,rs->p", C, Q))
        C = F @ F.T
        E = C @ self.Q @ C
        K_out, K_into = (np.einsum("ir,rs,is->i", A, C, A, optimize=True) for A in (out, into))
        E_out, E_into = (np.einsum("ir,rs,is->i", A, E, A, optimize=True) for A in (out, into))
        K, EK = out @ C @ into.T, out @ E @ into.T
        det = _pair_determinants(K_out, K_into, K)
        safe = np.where(det > SINGULAR, det, 1.0)
        change = (E_out[:, None] * (1.0 + K_into) - (1.0 - K_out)[:, None] * E_into - 2.0 * K * EK) / safe
        return np.where(det > SINGULAR, np.sum(C * self.Q) + change, np.inf)

    def projected(self, Q: Floats) -> AverageVariance | None:
        inside = Q.T @ self.Q @ Q
        return AverageVariance(inside) if np.trace(self.Q) - np.trace(inside) <= OUTSIDE * np.trace(self.Q) else None

    def wanted(self, N: Floats) -> Floats:
        lam, axes = np.linalg.eigh(self.Q)
        return _span((N.T @ (axes * np.sqrt(np.maximum(lam, 0.0)))).T, float(np.sqrt(lam[-1])))

    def restricted(self, F: Floats, k: int) -> AverageVariance:
        return self

    def settles(self, M: Floats) -> bool:
        return True


@dataclass(frozen=True)
class Volume:
    """phi(M) = det(L' M^-1 L)^(1/s) for L of shape (r, s); L = I is criterion D, det(M)^(-1/r).

    >>> Volume(np.eye(2)).value(np.diag([1.0, 4.0]))
    0.5
    """

    L: Floats

    def value(self, M: Floats) -> float:
        F = inverse_factor(M)
        if F is None:
            return np.inf
        sign, logdet = np.linalg.slogdet(self.L.T @ F @ F.T @ self.L)
        return float(np.exp(logdet / self.L.shape[1])) if sign > 0 else np.inf

    def cuts(self, F: Floats, k: int) -> Floats:
        C = F @ F.T
        CL = C @ self.L
        inner = self.L.T @ CL
        s = self.L.shape[1]
        phi = np.exp(np.linalg.slogdet(inner)[1] / s)
        G: Floats = (CL @ np.linalg.solve(inner, CL.T) / (s * phi))[None]
        return G

    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        s = self.L.shape[1]
        if out.ndim == 3:
            Z = F.T @ self.L
            return _group_swaps(F, out, into, lambda C: np.exp(np.linalg.slogdet(Z.T @ C @ Z)[1] / s))
        C = F @ F.T
        CL = C @ self.L
        inner = self.L.T @ CL
        H = CL @ np.linalg.solve(inner, CL.T)
        K_out, K_into = (np.einsum("ir,rs,is->i", A, C, A, optimize=True) for A in (out, into))
        H_out, H_into = (np.einsum("ir,rs,is->i", A, H, A, optimize=True) for A in (out, into))
        K, HK = out @ C @ into.T, out @ H @ into.T
        det = _pair_determinants(K_out, K_into, K)
        # det(L'M^-1L) changes by det(S - Z)/det S with S as in Minimax.swaps and Z = [o i]'H[o i]; det S = -det.
        top = (1.0 - K_out + H_out)[:, None] * (1.0 + K_into - H_into)[None, :] + np.square(K - HK)
        good = (det > SINGULAR) & (top > 0)
        ratio = np.where(good, top, 1.0) / np.where(good, det, 1.0)
        phi = np.exp(np.linalg.slogdet(inner)[1] / s)
        return np.where(good, phi * ratio ** (1.0 / s), np.inf)

    def projected(self, Q: Floats) -> Volume | None:
        inside = Q.T @ self.L
        lost = np.square(self.L).sum() - np.square(inside).sum()
        return Volume(inside) if lost <= OUTSIDE**2 * np.square(self.L).sum() else None

    def wanted(self, N: Floats) -> Floats:
        return _span((N.T @ self.L).T, float(np.linalg.norm(self.L, 2)))

    def restricted(self, F: Floats, k: int) -> Volume:
        return self

    def settles(self, M: Floats) -> bool:
        return True
