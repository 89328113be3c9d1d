"""Intervals for every noise variance at once, from two split stages or replicates, with the data in place of bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation.error_bound import Noise
from convexdesign.estimation.head import HeadPlan
from convexdesign.typing import Counts, Floats

__all__ = ["IntervalBound"]


# Refining stops once a pass lowers no upper end by more than this share; every pass is valid.
SETTLED = 1e-3
MOST_PASSES = 100


@dataclass(frozen=True, eq=False)
class IntervalBound:
    """The deviations of HEAD's variance estimates as functions of the true variances s² (n,), for fixed pulls.

    With stage 1 pulls c (theta by least squares), stage 2 pulls e (Sigma by least squares on phi), u = log(6n/delta),
    G_xy = x'(Σ c yy')^-1 y and W_xy = phi_x'(Σ e phi_y phi_y')^-1 phi_y:

        bias_x(s²) = 2 u Σ_y c_y G_xy² s_y²,
        noise_x(s²) = 2 sqrt(u Σ_y e_y W_xy² s_y⁴) + 2 u max_y |W_xy| s_y² + 2 sqrt(2 u Σ_y e_y W_xy² bias_y s_y²).

    With probability at least 1 - delta, for all arms x: -noise_x <= sigma-hat_x² - s_x² <= bias_x + noise_x, where
    sigma-hat is not clipped. This is `estimation.sharp_error_bound` before every s_y² is replaced by the largest: the
    estimate is s_x² plus (x'(theta-hat - theta))², which lies in [0, bias_x] (Gaussian tail), plus the two sums that
    `noise` bounds (Laurent and Massart 2000, Lemma 1; Gaussian tail given stage 1). For strictly sub-Gaussian noise
    the first term of `noise` grows by sqrt(3/2).
    """

    bias_matrix: Floats  # (n, pulled in stage 1): 2 u c_y G_xy²
    square_matrix: Floats  # (n, pulled in stage 2): e_y W_xy²
    largest: Floats  # (n, pulled in stage 2): |W_xy|
    pulled_1: NDArray[np.intp]
    pulled_2: NDArray[np.intp]
    u: float
    factor: float

    @classmethod
    def of_replicates(cls, rows: Floats, dof: Floats, weights: Floats, delta: float) -> IntervalBound:
        """The deviations of Σ_y k_xy S_y, S_y the sample variance of arm y alone, with k = rows (rows' W rows)^-1 rows' W.

        rows (n, r): phi in coordinates of its span; dof (n,): degrees of freedom of the sample variances, fixed before
        the rewards, as are the weights (n,), the diagonal of W. There is no bias: k reproduces s² = phi'vech(Sigma), and
        S_y is unbiased whatever the means. S_y = s_y² chi²/dof_y, independently, so with probability at least 1 - delta

            |Σ_y k_xy S_y - s_x²| <= 2 sqrt(u Σ_y k_xy² s_y⁴/dof_y) + 2 u max_y |k_xy| s_y²/dof_y,   u = log(2n/delta),

        for all n arms x at once (Laurent and Massart 2000, Lemma 1, for both signs). Gaussian noise.
        """
        pulled = np.flatnonzero(dof > 0)
        root = np.sqrt(weights[pulled])
        Q, R = np.linalg.qr(root[:, None] * rows[pulled])
        k = np.asarray(np.linalg.solve(R.T, rows.T).T @ Q.T * root)
        return cls(
            bias_matrix=np.zeros((rows.shape[0], 0)),
            square_matrix=k**2 / dof[pulled],
            largest=np.abs(k) / dof[pulled],
            pulled_1=np.empty(0, dtype=np.intp),
            pulled_2=pulled,
            u=float(np.log(2.0 * rows.shape[0] / delta)),
            factor=1.0,
        )

    @classmethod
    def of(cls, plan: HeadPlan, stage_1: Counts, stage_2: Counts, delta: float, noise: Noise) -> IntervalBound:
        """The bound for these whole-number pulls (n,) of each stage."""
        u = float(np.log(6.0 * stage_1.size / delta))
        first, second = np.flatnonzero(stage_1), np.flatnonzero(stage_2)
        G = _products(plan.rows_1, stage_1)
        W = _products(plan.rows_2, stage_2)
        return cls(
            bias_matrix=2.0 * u * stage_1[first] * G**2,
            square_matrix=stage_2[second] * W**2,
            largest=np.abs(W),
            pulled_1=first,
            pulled_2=second,
            u=u,
            factor=1.0 if noise == "gaussian" else float(np.sqrt(1.5)),
        )

    def bias(self, variances: Floats) -> Floats:
        """bias_x for true VARIANCES (n,) of at most these, shape (n,)."""
        return np.asarray(self.bias_matrix @ variances[self.pulled_1])

    def noise(self, variances: Floats) -> Floats:
        """noise_x for true VARIANCES (n,) of at most these, shape (n,)."""
        s, a = variances[self.pulled_2], self.bias(variances)[self.pulled_2]
        squares = 2.0 * self.factor * np.sqrt(self.u * (self.square_matrix @ s**2))
        tail = 2.0 * self.u * np.max(self.largest * s, axis=1)
        cross = 2.0 * np.sqrt(2.0 * self.u * (self.square_matrix @ (a * s)))
        return np.asarray(squares + tail + cross)

    def intervals(self, estimates: Floats, low: float, high: float | Floats) -> tuple[Floats, Floats]:
        """Ends (n,), (n,) that hold all s_x² when the event above holds and all lie in [low, high]; high may be inf.

        high: one for all, or one for each arm.

        estimates (n,): the unclipped sigma-hat_x². Both functions grow with s² and scale with it, so with S = max s²
        attained at x: S <= sigma-hat_x² + S noise_x(1), which bounds S wherever noise(1) < 1 everywhere. From any upper
        ends U on, sigma-hat + noise(U) are upper ends again, and sigma-hat - bias(U) - noise(U) lower ends.
        """
        n = estimates.size
        per_unit = self.noise(np.ones(n))
        most = float(np.max(estimates / (1.0 - per_unit))) if per_unit.max() < 1.0 else np.inf
        upper = np.minimum(np.full(n, most), high)
        if not np.isfinite(upper[np.union1d(self.pulled_1, self.pulled_2)]).all():
            return np.full(n, low), upper
        for _ in range(MOST_PASSES):
            refined = np.minimum(upper, estimates + self.noise(np.maximum(upper, 0.0)))
            done = np.all(refined >= (1.0 - SETTLED) * upper)
            upper = refined
            if done:
                break
        ends = np.maximum(upper, 0.0)
        return np.maximum(estimates - self.bias(ends) - self.noise(ends), low), upper


def _products(rows: Floats, counts: Counts) -> Floats:
    """g_x'(Σ c g g')^-1 g_y for all rows x and pulled rows y, shape (n, pulled)."""
    pulled = counts > 0
    R: Floats = np.asarray(np.linalg.qr(np.sqrt(counts[pulled])[:, None] * rows[pulled], mode="r"))
    whitened = np.asarray(np.linalg.solve(R.T, rows.T).T, dtype=float)
    return np.asarray(whitened @ whitened[pulled].T)
