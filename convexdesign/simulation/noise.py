"""Rewards with a given mean and variance per arm, drawn as sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexdesign.errors import InputError
from convexdesign.estimation.observations import Observations
from convexdesign.typing import Counts, Floats

__all__ = ["NOISES", "block_statistics", "gaussian_statistics", "standard_noise"]

# Draws independent numbers of mean 0 and variance 1.
Standard = Callable[[int], Floats]

NOISES = ("gaussian", "uniform", "symmetric-beta")
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


def block_statistics(
    mean: Floats, variance: Floats, counts: Counts, standard: Standard, block: int = BLOCK
) -> Observations:
    """The statistics of single rewards mean[i] + sqrt(variance[i]) e, drawn `block` at a time and merged.

    standard(k) draws k independent e of mean 0 and variance 1. The cost grows with the pulls; the memory does not.
    """
    n = mean.size
    total = Observations.empty(n)
    deviation = np.sqrt(variance)
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]), block):
        stop = min(start + block, int(ends[-1]))
        # Pulls are numbered arm after arm; this block holds numbers start to stop - 1.
        arms = np.repeat(np.arange(n), np.clip(ends, start, stop) - np.clip(ends - counts, start, stop))
        rewards = mean[arms] + deviation[arms] * standard(arms.size)
        total = total.merge(Observations.from_rewards(n, arms, rewards))
    return total


def standard_noise(name: str, rng: np.random.Generator) -> Standard:
    """A sampler of mean 0 and variance 1: "gaussian", "uniform" on ±sqrt(3), or "symmetric-beta" on ±sqrt(5).

    All three are strictly sub-Gaussian: their moment generating function is at most exp(t²/2). (The paper also names
    the symmetrised gamma, which is not sub-Gaussian, so it is left out.) The beta law is Beta(2, 2), moved and scaled.
    """
    if name == "gaussian":
        return lambda k: rng.standard_normal(k)
    if name == "uniform":
        return lambda k: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), k)
    if name == "symmetric-beta":
        # 2 B - 1 has variance 1/(2 a + 1) for B ~ Beta(a, a).
        reach = np.sqrt(2.0 * BETA_SHAPE + 1.0)
        return lambda k: reach * (2.0 * rng.beta(BETA_SHAPE, BETA_SHAPE, k) - 1.0)
    raise InputError(f"noise is {name!r}; choose one of {', '.join(NOISES)}")
