"""Evidence: what each round says of any direction, the wealth of bets on directions and variances, and the pooled fit.

The wealth of a bet is nonnegative, starts at one, and has expectation at most one under what it bets against, whatever
the data-driven choices were, as long as those used earlier rounds only. By Ville's inequality it ever reaches 1/p with
probability at most p.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations
from convexdesign.estimation.error_bound import Noise
from convexdesign.estimation.row_space import RANK_TOLERANCE, RowSpace, row_space
from convexdesign.typing import Floats

__all__ = [
    "BETS",
    "SCALES",
    "SHARES",
    "Bets",
    "CoordinateFit",
    "Evidence",
    "information_factor",
    "log_variance_wealth",
    "log_wealth",
    "pooled_fit",
    "variance_upper_ends",
]

# Bets for every size of V from the first round's to a million times that, at which most experiments have long ended.
SCALES = np.asarray(16.0 ** np.arange(6) / 16.0, dtype=float)
# What part of the stakes is on each: most where experiments end, at 16 to 65 thousand times the first V.
SHARES = np.array([0.05, 0.15, 0.25, 0.25, 0.2, 0.1])
# Bets on a variance: the best l for k degrees of freedom and threshold a is about sqrt(log(a)/k), so this geometric
# grid serves from two pulls to a hundred million.
BETS = np.asarray(4.0 / 4.0 ** np.arange(9), dtype=float)
# Below 1/3, where strictly sub-Gaussian rewards leave something to win.
SUB_GAUSSIAN_BETS = BETS[BETS < 0.3]


@dataclass(frozen=True, eq=False)
class CoordinateFit:
    """theta-hat of one round, or of all, as b with y'theta-hat = g'b for coordinates g of y; factor F, Cov(g'b) = |F g|².

    within: the coordinates of what the pulls determine, where that is not everything. factor is None where they determine
    nothing that can be relied on; b is then the least such vector.
    """

    coefficients: Floats
    factor: Floats | None
    within: RowSpace | None = field(default=None, kw_only=True)

    def variances(self, coordinates: Floats) -> Floats:
        """Variances of y'theta-hat for coordinates (m, r), shape (m,); infinite where nothing is known."""
        if self.factor is None:
            return np.full(coordinates.shape[0], np.inf)
        image = coordinates @ self.factor.T
        v = np.asarray(np.einsum("ij,ij->i", image, image))
        return v if self.within is None else np.where(self.within.contains(coordinates), v, np.inf)

    def of(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """y'theta-hat and one over its variance, (m,) each, for coordinates (m, r); zeros where y = 0."""
        v = self.variances(coordinates)
        precision = np.divide(1.0, v, out=np.zeros_like(v), where=v > 0)
        return np.asarray(coordinates @ self.coefficients), precision


@dataclass(eq=False)
class Evidence:
    """Round summaries (theta_k, Q_k), from which M(y), V(y) and the wealth of any fixed direction y follow.

    A round with precisions p_x = c_k(x)/U_x has A_k = Σ p_x xx', theta_k = A_k^-1 Σ p_x mean_k(x) x and
    Q_k = A_k^-1: with the weights 1/U_x the bound v_k = y'Q_k y on the variance of y'theta_k is the smallest that weighted
    least squares can have, U being upper bounds. A round contributes nothing to directions that its arms of finite U do not
    determine; which these are is known before its rewards.
    """

    arms: Floats
    space: RowSpace = field(init=False)
    rows: Floats = field(init=False)
    summaries: list[CoordinateFit] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.space = row_space(self.arms)
        self.rows = self.space.coordinates(self.arms)

    def add(self, observations: Observations, upper: Floats) -> CoordinateFit | None:
        """Take in a round whose VARIANCES are at most `upper` (n,), bounds chosen before its rewards; None if nothing."""
        p = np.where(np.isfinite(upper), observations.count / upper, 0.0)
        F, within = information_factor(self.rows, p)
        if F is None:
            return None
        summary = CoordinateFit(F.T @ (F @ (self.rows.T @ (p * observations.mean))), F, within=within)
        self.summaries.append(summary)
        return summary

    def log_wealth(self, directions: Floats, shift: float = 0.0, since: int = 0) -> Floats:
        """The largest log wealth against y'theta + shift <= 0 of rows y (m, d) in the rounds from `since` on; (m,), >= 0."""
        bets = self.bets(directions.shape[0])
        coordinates = self.space.coordinates(directions)
        for summary in self.summaries[since:]:
            bets.take(summary, coordinates, shift)
        return bets.best

    def bets(self, m: int) -> Bets:
        """Bets on m directions that nothing was staked on yet."""
        return Bets(m)


def information_factor(rows: Floats, precisions: Floats) -> tuple[Floats | None, RowSpace | None]:
    """F with F'F = (Σ p_x xx')^-1 for rows x (n, r) and precisions p (n,), and what they determine if not everything.

    There F'F is a generalised inverse, for directions within alone. F is None where nothing can be relied on.
    """
    R: Floats = np.asarray(np.linalg.qr(np.sqrt(precisions)[:, None] * rows, mode="r"))
    if _determined(R):
        return np.asarray(np.linalg.inv(R.T), dtype=float), None
    within = _part_of(rows, precisions)
    if within is None:
        return None, None
    R = np.asarray(np.linalg.qr(np.sqrt(precisions)[:, None] * within.coordinates(rows), mode="r"))
    return (np.linalg.inv(R.T) @ within.basis.T / within.scale, within) if _determined(R) else (None, None)


def _determined(R: Floats) -> bool:
    """Whether a triangular factor (., r) is one of information in all r directions."""
    diagonal = np.abs(np.diag(R))
    return R.shape[0] >= R.shape[1] > 0 and bool(diagonal.min() > 1e-12 * diagonal.max())


def _part_of(rows: Floats, precisions: Floats) -> RowSpace | None:
    """What arms of positive precision span, where that is a part of all; None where it is all, or nothing.

    Rows are coordinates already: to scale their columns by these arms alone would take what rounding left in a column for a
    direction that was measured.
    """
    measured = rows[precisions > 0]
    length = np.linalg.norm(measured, axis=1, keepdims=True)
    directions = measured[length[:, 0] > 0] / length[length[:, 0] > 0]
    if not len(directions):
        return None
    _, values, vectors = np.linalg.svd(directions, full_matrices=False)
    rank = int(np.count_nonzero(values > RANK_TOLERANCE * values[0]))
    whole = rank == rows.shape[1]
    return None if whole else RowSpace(np.ascontiguousarray(vectors[:rank].T), np.ones(rows.shape[1]))


class Bets:
    """Bets on m directions, each against y_k'theta <= 0 in every round k; y_k may be another in every round.

    M = Σ_k y_k'theta_k/v_k and V = Σ_k 1/v_k, (m,) each; `best` (m,): the largest log wealth so far, at least 0. The
    scales of a mixture are fixed by the first v of its direction, hence before any reward that M contains. A round with
    1/v = 0 makes no bet.
    """

    def __init__(self, m: int) -> None:
        self.M, self.V, self.first, self.best = np.zeros((4, m))

    def add(self, estimates: Floats, precision: Floats) -> None:
        """Take in y_k'theta_k and 1/v_k, (m,) each, y_k and v_k chosen before the rewards of round k."""
        # Not in place: a copy of an algorithm in an earlier state keeps its own sums.
        self.M = self.M + estimates * precision
        self.V = self.V + precision
        self.first = np.where(self.first > 0, self.first, precision)
        self.best = np.maximum(self.best, self.log_wealth())

    def take(
        self,
        summary: CoordinateFit,
        coordinates: Floats,
        shift: float = 0.0,
        active: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take in a round, against y'theta + shift <= 0 for coordinates (m, r) of y chosen before it; where active (m,)."""
        estimates, precision = summary.of(coordinates)
        self.add(estimates + shift, precision if active is None else np.where(active, precision, 0.0))

    def log_wealth(self, shift: float | Floats = 0.0) -> Floats:
        """The log wealth (m,) now, or had the bets been against y_k'theta + shift <= 0; 0 where there was no bet.

        shift: one, or one for each direction.
        """
        begun = self.first > 0
        M, V, first = self.M + shift * self.V, self.V, np.where(begun, self.first, 1.0)
        return np.where(begun, log_wealth(M, V, SCALES[:, None] * first, SHARES), 0.0)


def log_wealth(M: Floats, V: Floats, rho: Floats, shares: Floats | None = None) -> Floats:
    """log Σ_j q_j 2 sqrt(rho_j/(V + rho_j)) exp(M²/(2(V + rho_j))) Phi(M/sqrt(V + rho_j)); rho along the first axis.

    M = Σ_k y'theta_k / v_k and V = Σ_k 1/v_k, with v_k a bound on the variance of y'theta_k known before round k. Where
    y'theta <= 0, exp(lambda M - lambda² V / 2) is a supermartingale for every lambda >= 0; this is its mean over
    lambda from half-normal laws with density 2 sqrt(rho/2pi) exp(-rho lambda²/2), and over rho with the probabilities
    q_j = shares, equal ones where these are left out. rho must be fixed before the first reward that M contains. Grows with M.

    >>> float(log_wealth(np.zeros(1), np.zeros(1), np.ones((3, 1)))[0])
    0.0
    """
    from scipy.special import log_ndtr

    total = V + rho
    size = M / np.sqrt(total)
    logs = np.log(2.0) + 0.5 * np.log(rho / total) + 0.5 * size**2 + log_ndtr(size)
    if shares is not None:
        logs = logs + np.log(shares.size * shares).reshape(-1, *[1] * (rho.ndim - 1))
    return _log_mean(logs)


def log_variance_wealth(squares: Floats, dof: Floats, variance: Floats, noise: Noise = "gaussian") -> Floats:
    """log of a bet against the noise VARIANCE being as large as `variance` (n,); zero without degrees of freedom.

    squares: S = Σ_k m2_k and dof = Σ_k max(c_k - 1, 0), both (n,), over rounds whose counts c_k were chosen from earlier
    rounds only. The mean over a grid of l of exp(-l S/s² + dof psi(l)), which is

    - for Gaussian noise a martingale with psi(l) = log(1 + 2l)/2, as m2_k/s² is chi-square given the past;
    - for strictly sub-Gaussian noise a supermartingale with psi(l) = l - 3l². Proof: D = (e_i - e_j)²/2 of two errors has
      mean s² and E D² <= 3 s⁴, so exp(-x) <= 1 - x + x²/2 gives E exp(-aD/s²) <= exp(-a + 3a²/2). m2 of c pulls is the
      average, over all ways to form floor(c/2) disjoint pairs, of Σ D times b = (c - 1)/floor(c/2) <= 2; by
      convexity E exp(-l m2/s²) <= exp(floor(c/2) (-bl + 3b²l²/2)) <= exp(-(c - 1)(l - 3l²)).

    >>> float(log_variance_wealth(np.zeros(1), np.zeros(1), np.ones(1))[0])
    0.0
    """
    logs = _bets(squares / variance, dof, noise)[0]
    return np.asarray(_log_mean(logs))


def variance_upper_ends(
    squares: Floats, dof: Floats, threshold: float, high: float = np.inf, noise: Noise = "gaussian"
) -> Floats:
    """The largest VARIANCES (n,) up to `high` against which the wealth stays below `threshold`; arguments as above.

    If all s_x² <= high, then with probability at least 1 - n/threshold the ends of every round hold s_x² for all n
    arms at once. The equation in t = S/s² is convex and decreasing, and Newton's method from below stays on the side
    where the end is too large rather than too small; it starts where the best single bet alone would suffice.
    """
    goal = np.log(threshold)
    logs, bets = _bets(np.zeros_like(squares), dof, noise)
    t = np.maximum(((logs - np.log(bets.size) - goal) / bets[:, None]).max(axis=0), 0.0)
    for _ in range(60):
        logs, bets = _bets(t, dof, noise)
        value = _log_mean(logs)
        share = np.exp(logs - logs.max(axis=0))
        slope = (share * bets[:, None]).sum(axis=0) / share.sum(axis=0)
        step = np.maximum(value - goal, 0.0) / slope
        t = t + step
        if np.all(step <= 1e-10 * t):
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(t > 0, squares / t, np.inf)
    return np.minimum(ends, high)


def _bets(t: Floats, dof: Floats, noise: Noise) -> tuple[Floats, Floats]:
    """-l t + dof psi(l) for every l of the grid (first axis), and the grid."""
    if noise == "gaussian":
        bets, psi = BETS, np.asarray(0.5 * np.log1p(2.0 * BETS))
    else:
        bets = SUB_GAUSSIAN_BETS
        psi = bets - 3.0 * bets**2
    return np.asarray(-bets[:, None] * t + psi[:, None] * dof), bets


def _log_mean(logs: Floats) -> Floats:
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.mean(np.exp(logs - most), axis=0)))


def pooled_fit(rows: Floats, count: Floats, total: Floats, variances: Floats) -> CoordinateFit:
    """Weighted least squares for arms with coordinates `rows` (n, r), pulled `count` times with rewards that sum to `total`.

    variances (n,): plug-in VARIANCES.
    """
    root = np.sqrt(count / variances)
    scaled = root[:, None] * rows
    wanted = np.divide(root * total, count, out=np.zeros_like(total), where=count > 0)
    Q, R = np.linalg.qr(scaled)
    if _determined(R):
        inverse = np.asarray(np.linalg.inv(R), dtype=float)
        return CoordinateFit(inverse @ (Q.T @ wanted), inverse.T)
    F, within = information_factor(rows, count / variances)
    if F is None:
        return CoordinateFit(np.asarray(np.linalg.lstsq(scaled, wanted, rcond=1e-12)[0], dtype=float), None)
    return CoordinateFit(F.T @ (F @ (scaled.T @ wanted)), F, within=within)
