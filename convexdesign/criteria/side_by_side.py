"""Many plans of n single runs at once: in each every run in turn goes where a determinant gains most, until none moves.

Moving a run from arm o to arm i changes det M by the factor (1 - K_oo)(1 + K_ii) + K_oi^2, K = U M^-1 U' (`swap_tables`). With
all plans side by side a step is a few products of arrays, where one plan alone costs calls: hundreds of random starts take less
time than ten (Cook and Nachtsheim, 1980, for one run at a time).
"""

from __future__ import annotations

import numpy as np

from convexdesign.criteria.exchange import SINGULAR
from convexdesign.typing import Floats, Indices

__all__ = ["determinants_side_by_side"]

SWEEPS = 12
PROGRESS = 1e-9


class _Inverses:
    """M^-1 U' (p, r, k) and the diagonals of K (p, k) of p plans for arms U (k, r)."""

    def __init__(self, arms: Floats, runs: Indices, prior: Floats):
        rows = arms[runs]
        self.arms, self.every = arms, np.arange(len(runs))
        self.CU = np.linalg.inv(np.swapaxes(rows, 1, 2) @ rows + prior) @ arms.T
        self.d = np.sum(self.CU * arms.T, axis=1)

    def factors(self, out: Indices) -> Floats:
        """The factors of det M where the run `out` (p,) of each plan goes to each arm, (p, k)."""
        K = self.CU[self.every, :, out] @ self.arms.T
        own = K[self.every, out][:, None]
        return np.asarray((1.0 - own) * (1.0 + self.d) + K * K)

    def move(self, plans: Indices, out: Indices, into: Indices) -> None:
        """One run of each of some plans moved."""
        m = np.arange(len(plans))
        B = np.stack([self.CU[plans, :, out], self.CU[plans, :, into]], axis=2)
        P = self.arms @ B
        S = np.empty((len(plans), 2, 2))
        S[:, 0], S[:, 1] = P[m, out], P[m, into]
        S[:, 0, 0] -= 1.0
        S[:, 1, 1] += 1.0
        T = np.linalg.inv(S)
        self.CU[plans] -= (B @ T) @ np.swapaxes(P, 1, 2)
        self.d[plans] -= np.sum((P @ T) * P, axis=2)


def determinants_side_by_side(arms: Floats, runs: Indices, L: Floats, prior: Floats) -> Indices:
    """The arms (p, n) of all runs of p plans after descents of det(L'M^-1 L); prior (r, r) makes every M regular."""
    r, s = L.shape
    N = np.linalg.svd(L.T, full_matrices=True)[2][s:].T
    runs = runs.copy()
    for _ in range(SWEEPS):
        # Anew in every sweep: what rounding has left does not add up.
        every = _Inverses(arms, runs, prior)
        rest = _Inverses(arms @ N, runs, N.T @ prior @ N) if s < r else None
        moved = False
        for k in range(runs.shape[1]):
            out = runs[:, k].copy()
            gain = every.factors(out)
            if rest is not None:
                gain = np.where(gain > SINGULAR, gain, 0.0) / np.maximum(rest.factors(out), SINGULAR)
            into = np.argmax(gain, axis=1)
            plans = np.flatnonzero(gain[every.every, into] > 1.0 + PROGRESS)
            if not plans.size:
                continue
            moved = True
            for table in (every, rest):
                if table is not None:
                    table.move(plans, out[plans], into[plans])
            runs[plans, k] = into[plans]
        if not moved:
            break
    return runs
