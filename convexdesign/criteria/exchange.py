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

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import as_groups, spread, stacked
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    from convexdesign.criteria.swap_tables import SwapTable

__all__ = [
    "OUTSIDE",
    "SINGULAR",
    "CovarianceCriterion",
    "MatrixCriterion",
    "group_swaps",
    "information",
    "inverse_factor",
    "measured_range",
    "pair_determinants",
    "pseudo_inverse_factor",
    "span",
    "value_on_range",
]


# A swap that multiplies det M by less than this is treated as making M singular.
SINGULAR = 1e-9
# A target is inside a subspace when no more than this share of its length is outside.
OUTSIDE = 1e-7
# Eigenvalues of an information matrix below this share of the largest are rounding.
RANK_TOLERANCE = 1e-11


class MatrixCriterion(ABC):
    """What rounding asks of a criterion. Of a new one: `value`, `cuts`, `projected`, `wanted`, and `swaps`.

    Examples
    --------
    >>> from convexdesign.rounding import MatrixCriterion, Volume
    >>> isinstance(Volume(np.eye(2)), MatrixCriterion)
    True
    """

    @abstractmethod
    def value(self, M: Floats) -> float:
        """phi(M).

        Parameters
        ----------
        M : array of shape (r, r)
            An information matrix.

        Returns
        -------
        float
            Infinite where M is singular.
        """

    @abstractmethod
    def cuts(self, F: Floats, k: int) -> Floats:
        """Matrices G with 1/phi(M) <= tr(G M) for every M; the first is tight at (FF')^-1.

        Parameters
        ----------
        F : array of shape (r, r)
            A factor of the inverse of the information.
        k : int
            The most matrices.

        Returns
        -------
        array of shape (at most k, r, r)
            The matrices.
        """

    @abstractmethod
    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        """phi(M - oo' + ii'), M = (FF')^-1, for every pair of a row o and a row i.

        Groups of rows give and take all of theirs at once.

        Parameters
        ----------
        F : array of shape (r, r)
            A factor of the inverse of the information.
        out : array of shape (a, r) or (a, k, r)
            What loses a pull.
        into : array of shape (b, r) or (b, k, r)
            What gains one.

        Returns
        -------
        array of shape (a, b)
            Infinite where the swap makes the information singular.
        """

    @abstractmethod
    def projected(self, Q: Floats) -> MatrixCriterion | None:
        """The same criterion of Q'MQ for information M in the range of Q.

        Parameters
        ----------
        Q : array of shape (r, k)
            Orthonormal columns.

        Returns
        -------
        MatrixCriterion or None
            None where it is infinite for every such M.
        """

    @abstractmethod
    def wanted(self, N: Floats) -> Floats:
        """The directions within a subspace that must be measured.

        Parameters
        ----------
        N : array of shape (r, k)
            Orthonormal columns.

        Returns
        -------
        array of shape (k, p)
            Orthonormal columns that span N'v for all v that must be measured.
        """

    def restricted(self, F: Floats, k: int) -> MatrixCriterion:
        """A criterion that is never above this one and equals it at (FF')^-1, but costs only k targets.

        Parameters
        ----------
        F : array of shape (r, r)
            A factor of the inverse of the information.
        k : int
            How many targets it may cost.

        Returns
        -------
        MatrixCriterion
            This one where it is cheap.
        """
        return self

    def swap_table(self, arms: Floats, M: Floats, F: Floats) -> SwapTable:
        """What follows a design from swap to swap.

        Parameters
        ----------
        arms : array of shape (n, r) or (n, k, r)
            What may be pulled.
        M, F : array of shape (r, r)
            The information of the design and a factor of its inverse.

        Returns
        -------
        SwapTable
            One that asks the criterion anew after every move, where it has no table of its own.
        """
        from convexdesign.criteria.swap_tables import RecomputedTable  # which knows criteria

        return RecomputedTable(arms, M, F, self)

    def side_by_side(self, arms: Floats, runs: Indices, prior: Floats) -> Indices | None:
        """Many plans of single runs after descents, where the criterion has a way to make them all at once.

        Parameters
        ----------
        arms : array of shape (k, r)
            What may be pulled.
        runs : array of int, shape (p, n)
            The arms of the n runs of each of p plans.
        prior : array of shape (r, r)
            What is added to the information of every plan, and makes it regular.

        Returns
        -------
        array of int, shape (p, n), or None
            The arms of the runs then; None where there is no such way.
        """
        return None

    def settles(self, M: Floats) -> bool:
        """Whether value(M) is also that of the criterion this one was restricted from.

        Parameters
        ----------
        M : array of shape (r, r)
            An information matrix.

        Returns
        -------
        bool
            True for a criterion that is no restriction.
        """
        return True


@dataclass(frozen=True)
class CovarianceCriterion(MatrixCriterion):
    """phi(M) = g(L'M^-1 L) for L (r, s), g convex, homogeneous of degree one and growing with its psd argument.

    A criterion of this form states g and its gradient, and has all that rounding needs.
    """

    L: Floats

    @abstractmethod
    def of_covariances(self, K: Floats) -> Floats:
        """g(K) for covariances K (p, s, s), shape (p,)."""

    @abstractmethod
    def prices(self, K: Floats) -> Floats:
        """The gradient S (s, s), psd, of g at a positive definite K (s, s)."""

    def value(self, M: Floats) -> float:
        F = inverse_factor(M)
        if F is None:
            return np.inf
        image = F.T @ self.L
        return float(self.of_covariances((image.T @ image)[None])[0])

    def cuts(self, F: Floats, k: int) -> Floats:
        image = F.T @ self.L
        K = image.T @ image
        CL = F @ image
        G: Floats = (CL @ self.prices(K) @ CL.T)[None] / float(self.of_covariances(K[None])[0]) ** 2
        return G

    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        Z = F.T @ self.L
        given, taken = as_groups(out), as_groups(into)
        return group_swaps(F, given, taken, lambda C: self.of_covariances(Z.T @ C @ Z))

    def projected(self, Q: Floats) -> CovarianceCriterion | None:
        inside = Q.T @ self.L
        lost = np.square(self.L).sum() - np.square(inside).sum()
        return replace(self, L=inside) if lost <= OUTSIDE**2 * np.square(self.L).sum() else None

    def wanted(self, N: Floats) -> Floats:
        return span((N.T @ self.L).T, float(np.linalg.norm(self.L, 2)))


def information(arms: Floats, counts: NDArray[Any], prior: Floats | None = None) -> Floats:
    """prior + sum_i n_i u_i u_i' for rows (n, r) or groups of rows (n, k, r); counts or weights (n,)."""
    used = np.flatnonzero(counts != 0)
    U = arms[used]
    M: Floats = (stacked(U) * spread(counts[used], U)[:, None]).T @ stacked(U)
    return M if prior is None else M + prior


def inverse_factor(M: Floats) -> Floats | None:
    """F with M^-1 = F F', or None where M is not numerically positive definite."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diag(L)
    if not np.all(pivots > 1e-6 * np.sqrt(np.diag(M))):  # Cholesky of a singular matrix may succeed on noise
        return None
    from scipy.linalg.lapack import dtrtri  # here, not above: importing the package must not wait for it

    F: Floats = dtrtri(L, lower=1)[0].T
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


def value_on_range(criterion: MatrixCriterion, M: Floats) -> float:
    """phi(M), finite for singular M too where all that is wanted lies in its range: M's inverse there takes the place of M^-1.

    That is the limit of phi from above, since v'M^+v = lim v'(M + eps I)^-1 v for v in the range; elsewhere it is infinite.

    >>> from convexdesign.criteria.worst_target import MatrixTargets, Minimax
    >>> round(value_on_range(Minimax(MatrixTargets(np.array([[1.0, 0.0]]))), np.diag([2.0, 0.0])), 12)
    0.5
    """
    value = criterion.value(M)
    if np.isfinite(value):
        return value
    Q = measured_range(M)
    on_range = criterion.projected(Q) if 0 < Q.shape[1] < M.shape[0] else None
    return np.inf if on_range is None else on_range.value(Q.T @ M @ Q)


def span(rows: Floats, size: float) -> Floats:
    """Orthonormal columns that span the rows (m, k), up to OUTSIDE of the size."""
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(Vt[: int(np.count_nonzero(s > OUTSIDE * size))].T)


def pair_determinants(K_out: Floats, K_into: Floats, K: Floats) -> Floats:
    """det(M - oo' + ii') / det M for all pairs, from K_out = o'Co, K_into = i'Ci and K = o'Ci."""
    ratio: Floats = (1.0 - K_out)[:, None] * (1.0 + K_into)[None, :] + K * K
    return ratio


def group_swaps(F: Floats, out: Floats, into: Floats, values: Callable[[Floats], Floats]) -> Floats:
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
