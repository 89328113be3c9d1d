"""Counts by regret minimisation: near-optimal for any number of pulls above twice the dimension, whatever the support."""

from __future__ import annotations

import numpy as np

from convexdesign.arms.groups import gains
from convexdesign.criteria.exchange import information
from convexdesign.rounding.apportionment import apportion
from convexdesign.rounding.count_limits import Limits
from convexdesign.typing import Counts, Floats

__all__ = ["regret", "regret_guarantee"]


# Pulls chosen one by one; when there are more, the rest is proportional to the weights.
STEPWISE = 10_000


def regret_guarantee(rank: int, total: int) -> float:
    """The least efficiency of `regret`: (1 - sqrt(2 (r - sqrt r) / K))^2 with K = min(N, 10,000); 0 if K <= 2 (r - sqrt r).

    Parameters
    ----------
    rank : int
        The dimension r of the range of the arms.
    total : int
        The number N of pulls.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from convexdesign.rounding import regret_guarantee
    >>> round(regret_guarantee(4, 100), 4)
    0.64
    """
    share = 2.0 * (rank - np.sqrt(rank)) / min(total, STEPWISE)
    return float((1.0 - np.sqrt(share)) ** 2) if share < 1 else 0.0


def regret(arms: Floats, weights: Floats, bounds: Limits, prior: Floats | None = None) -> Counts:
    """N pulls, each the arm with the largest gain for a follow-the-regularised-leader player.

    In coordinates z where prior/N + sum_i w_i z_i z_i' = I, with B = c I + alpha S, S the information so far, c
    such that tr B^-2 = 1, and h = prior/N, one pull goes to the arm of

        max (z'B^-2 z + tr B^-2 h) / (1 + alpha (z'B^-1 z + tr B^-1 h)).

    Guarantee where no limit binds: M(n) >= N (1 - sqrt(2 (r - sqrt r)/N))^2 A(w) for N > 2 (r - sqrt r). Proof: B^-2
    minimises -2 tr A^(1/2) + alpha <S, A> over density matrices A; adding F raises the minimum by at least
    tr B^-1 - tr (B + alpha F)^-1 >= alpha tr(B^-2 F) / (1 + alpha tr(B^-1 F)); the F_i average (over w) to I/1, so the best
    is at least alpha / (1 + alpha sqrt r) (tr B^-2 = 1, tr B^-1 <= sqrt r); the minimum starts at -2 sqrt r and ends
    at most at alpha lambda_min(S) - 2. Hence lambda_min(S) >= N / (1 + alpha sqrt r) - 2 (sqrt r - 1)/alpha,
    largest at the alpha used here.

    More than K = 10,000 pulls: N - K of them in proportion to the weights, and the guarantee is that of K.

    Parameters
    ----------
    arms : array of shape (n, r) or (n, k, r)
        Whitened arms, or groups of k responses, whose zz' is a sum.
    weights : array of shape (n,)
        Nonnegative, with the sum one.
    bounds : Limits
        N, and the least and the most pulls of every arm.
    prior : array of shape (r, r), optional
        The TOTAL information held besides the N pulls.

    Returns
    -------
    array of int64, shape (n,)
        Counts with the sum N.

    References
    ----------
    After Allen-Zhu, Li, Singh and Wang (2017), Near-optimal design of experiments via regret minimization; repeated pulls are
    allowed here, which makes the constants explicit.

    Examples
    --------
    >>> from convexdesign.rounding import limits, regret
    >>> regret(np.eye(2), np.array([0.5, 0.5]), limits(6, 2)).tolist()
    [3, 3]
    """
    if bounds.total > STEPWISE + np.count_nonzero(weights):
        return _proportional_part(arms, weights, bounds, prior)
    N = bounds.total
    r = arms.shape[-1]
    h = np.zeros((r, r)) if prior is None else prior / N
    lam, Q = np.linalg.eigh(h + information(arms, weights))
    root = Q / np.sqrt(np.maximum(lam, 1e-14 * lam[-1]))
    Z, h = arms @ root, root.T @ h @ root
    share = min(2.0 * (r - np.sqrt(r)) / N, 0.81)  # below the guarantee's range, alpha stays moderate
    alpha = (np.sqrt(share) / (1.0 - np.sqrt(share)) if share > 0 else 1e-3) / np.sqrt(r)
    counts = bounds.lower.copy()
    S = information(Z, counts) + counts.sum() * h
    room = counts < bounds.upper
    for _ in range(N - int(counts.sum())):
        s, V = np.linalg.eigh(alpha * S)
        inverse = 1.0 / (s + _shift(s))
        image = gains(Z, V)
        held = np.einsum("ij,ik,kj->j", V, h, V)
        gain = (image @ inverse**2 + held @ inverse**2) / (1.0 + alpha * (image @ inverse + held @ inverse))
        i = int(np.argmax(np.where(room, gain, -1.0)))
        counts[i] += 1
        room[i] = counts[i] < bounds.upper[i]
        z = np.atleast_2d(Z[i])
        S += z.T @ z + h
    return counts


def _proportional_part(arms: Floats, weights: Floats, bounds: Limits, prior: Floats | None) -> Counts:
    """floor((N - K) w_i) pulls, then `regret` for the rest with weights N w_i minus these.

    What the rest guarantees for its share of N A(w) holds for the whole, since the first part is exact.
    """
    N = bounds.total
    head = np.floor((N - STEPWISE) * weights).astype(np.int64)
    head = np.clip(head, bounds.lower, bounds.upper)
    left = N - int(head.sum())
    if not 0 < left <= STEPWISE + weights.size:
        # Limits took over: start from what they force.
        return apportion(weights, bounds)
    rest = np.maximum(N * weights - head, 0.0)
    open_bounds = Limits(left, np.zeros_like(head), np.minimum(bounds.upper - head, left))
    return head + regret(arms, rest / rest.sum(), open_bounds, prior)


def _shift(s: Floats) -> float:
    """c with sum_j (c + s_j)^-2 = 1 and c + min s > 0, by Newton's method on an increasing concave equation."""
    # In g(c) = (sum (c + s_j)^-2)^(-1/2) - 1 Newton is monotone from the left of the root: there g <= 0.
    c = 1.0 - s.min()
    for _ in range(60):
        t = 1.0 / (c + s)
        q = float(t @ t)
        step = (1.0 - q**-0.5) * q**1.5 / float(t @ (t * t))
        c += step
        if abs(step) <= 1e-13 * (1.0 + abs(c)):
            break
    return c
