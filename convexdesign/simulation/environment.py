"""A simulated world that knows the truth: y = x'theta + noise of variance s_x², drawn as sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import generator, real, shown, text_of
from convexdesign.arms.labels import COORDINATES
from convexdesign.arms.read import read_positive, read_rows, read_vector
from convexdesign.errors import InputError
from convexdesign.estimation.observations import Observations, arm_indices, whole_counts
from convexdesign.problem.psd import read_psd
from convexdesign.typing import Counts, Floats, Indices

__all__ = [
    "NOISES",
    "LinearEnvironment",
    "bernoulli_statistics",
    "block_statistics",
    "gaussian_statistics",
    "standard_noise",
]


class LinearEnvironment:
    """Rewards x'theta + e with E e = 0 and a VARIANCE per arm, given as such or by x'Sigma x: exactly one of the two.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    theta : array_like, shape (d,)
        The true coefficients.
    noise_variance : array_like, scalar or shape (n,), optional
        VARIANCES of the noise.
    Sigma : array_like, shape (d, d), optional
        Instead: symmetric positive semidefinite with x'Sigma x > 0 for every arm.
    noise : {"gaussian", "uniform", "symmetric-beta", "bernoulli", "bounded"}
        Gaussian noise is drawn exactly as means and sums of squares, so that 10^10 pulls take milliseconds; the next
        two (strictly sub-Gaussian) reward by reward in blocks. "bernoulli": rewards are one of the two ends of the range,
        drawn as exactly and as fast; the means say their variances, so give none. "bounded": rewards between the ends, by
        beta laws of the means and variances given, also in blocks.
    rng : numpy.random.Generator or int, optional
        A generator or a seed.
    reward_range : tuple of float, optional
        (low, high), of the last two kinds of noise; (0, 1) where it is left out for "bernoulli".

    Raises
    ------
    InputError
        For shapes that do not match, a Sigma that is no covariance, variances that are not positive, and means or
        variances that rewards in the range cannot have.

    Examples
    --------
    >>> import convexdesign as cd
    >>> env = cd.simulation.LinearEnvironment([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], noise_variance=4.0, rng=0)
    >>> obs = env.pull([10**10, 0])
    >>> obs.mean.round(3), (obs.m2 / 10**10).round(3)
    (array([1., 0.]), array([4., 0.]))
    """

    def __init__(
        self,
        arms: Any,
        theta: ArrayLike,
        noise_variance: ArrayLike | None = None,
        Sigma: ArrayLike | None = None,
        noise: str = "gaussian",
        rng: np.random.Generator | int | None = None,
        *,
        reward_range: tuple[float, float] | None = None,
    ) -> None:
        rows = read_rows(arms, "arms")
        self.arms: Floats = np.asarray(rows.values, dtype=float)
        n, d = self.arms.shape
        self.theta = read_vector(theta, "theta", d, rows.columns, COORDINATES)
        self.reward_range = _checked_range(text_of(noise, "noise"), reward_range)
        if noise == "bernoulli":
            if noise_variance is not None or Sigma is not None:
                raise InputError(
                    "noise='bernoulli': the means x'theta say the variances; leave noise_variance and Sigma out"
                )
            noise_variance = self._largest_variances(rows.names)
        elif (noise_variance is None) == (Sigma is None):
            raise InputError("give exactly one of noise_variance (VARIANCES per arm) and Sigma (s_x² = x'Sigma x)")
        self.Sigma = None if Sigma is None else read_psd(Sigma, "Sigma", d, rows.columns)
        if self.Sigma is not None:
            self.Sigma.flags.writeable = False
            noise_variance = _quadratic_form(self.arms, self.Sigma, rows.names)
        remedy = "a noise VARIANCE must be positive"
        variance = read_positive(noise_variance, "noise_variance", n, remedy, rows.names)
        assert variance is not None
        self.noise_variance: Floats = variance
        self.noise = noise
        self._rng = generator(rng)
        self._standard: Standard | None = None
        if noise == "bounded":
            self._shapes = self._beta_shapes(rows.names)
        elif noise != "bernoulli":
            self._standard = standard_noise(noise, self._rng)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return int(self.arms.shape[0])

    @property
    def mean(self) -> Floats:
        """The expected rewards x'theta, shape (n,)."""
        return np.asarray(self.arms @ self.theta)

    def pull(self, counts: ArrayLike) -> Observations:
        """Pull arm i counts[i] times; new independent rewards at every call.

        Parameters
        ----------
        counts : array_like of int, shape (n,)
            Pulls of each arm.

        Returns
        -------
        Observations
            Counts, means and sums of squares per arm.
        """
        whole = whole_counts(counts, "counts", self.n_arms)
        if self.noise == "gaussian":
            return gaussian_statistics(self.mean, self.noise_variance, whole, self._rng)
        if self._standard is not None:
            return block_statistics(self.mean, self.noise_variance, whole, self._standard)
        assert self.reward_range is not None
        low, high = self.reward_range
        if self.noise == "bernoulli":
            found = bernoulli_statistics((self.mean - low) / (high - low), whole, self._rng)
            return Observations(whole, low + (high - low) * found.mean, (high - low) ** 2 * found.m2)
        a, b = self._shapes
        return in_blocks(whole, lambda arms: low + (high - low) * self._rng.beta(a[arms], b[arms]))

    def _largest_variances(self, names: Sequence[str] | None) -> Floats:
        """(m - low)(high - m) of the means m: the variances of rewards of two values, and above all others (n,)."""
        assert self.reward_range is not None
        low, high = self.reward_range
        bad = np.flatnonzero((self.mean <= low) | (self.mean >= high))
        if bad.size:
            name = names[bad[0]] if names else f"arm {bad[0]}"
            raise InputError(
                f"x'theta is {self.mean[bad[0]]:g} for {name}; means of such rewards lie between {low:g} and {high:g}"
            )
        return np.asarray((self.mean - low) * (high - self.mean))

    def _beta_shapes(self, names: Sequence[str] | None) -> tuple[Floats, Floats]:
        """The shapes (n,), (n,) of the beta laws of rewards in the range, with their means and variances."""
        assert self.reward_range is not None
        low, high = self.reward_range
        most = self._largest_variances(names)
        bad = np.flatnonzero(self.noise_variance >= most)
        if bad.size:
            i = bad[0]
            raise InputError(
                f"{names[i] if names else f'arm {i}'}: rewards between {low:g} and {high:g} with mean {self.mean[i]:g} have "
                f"VARIANCES below {most[i]:g}, and noise_variance is {self.noise_variance[i]:g}"
            )
        share, size = (self.mean - low) / (high - low), most / self.noise_variance - 1.0
        return share * size, (1.0 - share) * size

    def rewards(self, arms: ArrayLike) -> Floats:
        """New independent rewards of single pulls.

        Parameters
        ----------
        arms : array_like of int, shape (k,)
            Indices of the arms to pull; an arm may come many times.

        Returns
        -------
        ndarray, shape (k,)
            The rewards, in the order of the pulls.

        Examples
        --------
        >>> import convexdesign as cd
        >>> world = cd.simulation.LinearEnvironment([[1.0], [2.0]], [3.0], noise_variance=1e-12, rng=0)
        >>> world.rewards([1, 0, 1]).round(3)
        array([6., 3., 6.])
        """
        index = arm_indices(arms, self.n_arms)
        if self._standard is None:
            return np.asarray(self._rng.random(index.size) < self.mean[index], dtype=float)
        return np.asarray(self.mean[index] + np.sqrt(self.noise_variance[index]) * self._standard(index.size))


def _checked_range(noise: str, given: Any) -> tuple[float, float] | None:
    """The ends of the rewards; None for noise that has none."""
    if noise not in BOUNDED:
        if given is not None:
            raise InputError(f"reward_range is given, and noise={noise!r} has none; leave it out")
        return None
    if given is None and noise == "bernoulli":
        return 0.0, 1.0
    try:
        low, high = map(real, given)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (low < high and np.isfinite(high - low)):
        raise InputError(f"reward_range is {shown(given)}; give a pair (low, high) of finite numbers, low < high")
    return low, high


def _quadratic_form(X: Floats, Sigma: Floats, names: Sequence[str] | None) -> Floats:
    """x'Sigma x of every row, refused where it is not positive beyond rounding."""
    variance: Floats = np.einsum("ij,jk,ik->i", X, Sigma, X)
    rounding = 1e-14 * np.abs(Sigma).max() * np.einsum("ij,ij->i", X, X)
    bad = np.flatnonzero(variance <= rounding)
    if bad.size:
        name = names[bad[0]] if names else f"arm {bad[0]}"
        raise InputError(
            f"x'Sigma x is {variance[bad[0]]:g} for {name} ({bad.size} arms in all); "
            "every arm needs a positive noise variance"
        )
    return variance


# Draws independent numbers of mean 0 and variance 1.
Standard = Callable[[int], Floats]

NOISES = ("gaussian", "uniform", "symmetric-beta")
# Noise that is known by the range of the rewards.
BOUNDED = ("bernoulli", "bounded")
# Shape of the symmetric beta law: between the uniform law (1) and the Gaussian (infinity).
BETA_SHAPE = 2.0
# Rewards held at once, 8 MB of them.
BLOCK = 2**20


def gaussian_statistics(mean: Floats, variance: Floats, counts: Counts, rng: np.random.Generator) -> Observations:
    """Exactly what counts[i] Gaussian rewards N(mean[i], variance[i]) per arm would give, at a cost free of counts.

    The sample mean is N(mean, variance/c), and independently m2 is variance times chi-square with c - 1 degrees of
    freedom. variance: VARIANCES, shape (n,).
    """
    pulled = counts > 0
    spread = np.sqrt(variance / np.maximum(counts, 1))
    means = np.where(pulled, mean + spread * rng.standard_normal(mean.size), 0.0)
    m2 = np.zeros(mean.size)
    repeated = counts > 1
    m2[repeated] = variance[repeated] * rng.chisquare(counts[repeated] - 1)
    return Observations(counts, means, m2)


def bernoulli_statistics(rates: Floats, counts: Counts, rng: np.random.Generator) -> Observations:
    """Exactly what counts[i] rewards that are 1 with probability rates[i], else 0, would give, at a cost free of counts."""
    mean = rng.binomial(counts, rates) / np.maximum(counts, 1)
    return Observations(counts, mean, counts * mean * (1.0 - mean))


def block_statistics(
    mean: Floats, variance: Floats, counts: Counts, standard: Standard, block: int = BLOCK
) -> Observations:
    """The statistics of single rewards mean[i] + sqrt(variance[i]) e, drawn `block` at a time and merged.

    standard(k) draws k independent e of mean 0 and variance 1. The cost grows with the pulls; the memory does not.
    """
    deviation = np.sqrt(variance)
    return in_blocks(counts, lambda arms: mean[arms] + deviation[arms] * standard(arms.size), block)


def in_blocks(counts: Counts, draw: Callable[[Indices], Floats], block: int = BLOCK) -> Observations:
    """The statistics of single rewards, `block` at a time; draw(arms) gives one of each arm (k,)."""
    n = counts.size
    total = Observations.empty(n)
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]), block):
        stop = min(start + block, int(ends[-1]))
        # Pulls are numbered arm after arm; this block holds numbers start to stop - 1.
        arms = np.repeat(np.arange(n), np.clip(ends, start, stop) - np.clip(ends - counts, start, stop))
        total = total.merge(Observations.from_rewards(n, arms, draw(arms)))
    return total


def standard_noise(name: str, rng: np.random.Generator) -> Standard:
    """A sampler of mean 0 and variance 1: "gaussian", "uniform" on ±sqrt(3), or "symmetric-beta" on ±sqrt(5).

    All three are strictly sub-Gaussian: their moment generating function is at most exp(t²/2). (The paper also names
    the symmetrised gamma, which is not sub-Gaussian, so it is left out.) The beta law is Beta(2, 2), moved and scaled.
    """
    name = text_of(name, "noise")
    if name == "gaussian":
        return lambda k: rng.standard_normal(k)
    if name == "uniform":
        return lambda k: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), k)
    if name == "symmetric-beta":
        # 2 B - 1 has variance 1/(2 a + 1) for B ~ Beta(a, a).
        reach = np.sqrt(2.0 * BETA_SHAPE + 1.0)
        return lambda k: reach * (2.0 * rng.beta(BETA_SHAPE, BETA_SHAPE, k) - 1.0)
    raise InputError(f"noise is {name!r}; choose one of {', '.join((*NOISES, *BOUNDED))}")
