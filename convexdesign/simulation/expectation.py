"""How many measurements an experiment will need, before it starts: by simulation over plausible gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import generator, real, shown, whole_at_least
from convexdesign.errors import InputError
from convexdesign.identification import AnswerStatus, BestArm, Identifier, LevelSet, true_answer
from convexdesign.identification.objectives import Items
from convexdesign.simulation.environment import LinearEnvironment
from convexdesign.simulation.replication import simulate
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["expected_samples", "plausible_theta"]

# Draws before no parameter is thought to have the gap.
DRAWS = 1000


def expected_samples(
    algorithm: Identifier,
    gaps: Sequence[float],
    noise_variance: ArrayLike | None = None,
    *,
    baseline: float = 0.0,
    runs: int = 20,
    rng: np.random.Generator | int | None = 0,
) -> pd.DataFrame:
    """Simulate an algorithm that was told nothing, for every gap with so many parameters drawn at random.

    Parameters
    ----------
    algorithm : Identifier
        Told nothing; it stays as it is.
    gaps : sequence of float
        What the best item is better by than the second (level sets: how far the item nearest the threshold is from it), in
        units of the rewards. All else about theta is drawn: a Gaussian direction, scaled.
    noise_variance : float or array_like (n,) or None
        VARIANCES of single rewards; None for rewards of two values, whose rates say them.
    baseline : float
        What all arms are worth about; of rewards that are 0 or 1, their usual rate.
    runs : int
        So many for every gap.
    rng : numpy.random.Generator, int or None
        A source of random numbers, or a seed.

    Returns
    -------
    pandas.DataFrame
        Columns gap, runs; mean, median, low and high (the 10 % and 90 % quantiles) of the measurements; right: the share of
        right answers; undecided: that of runs without one.

    Raises
    ------
    InputError
        Where no parameter with such a gap is found, or the algorithm has begun.

    Examples
    --------
    >>> import convexdesign as cd
    >>> algorithm = cd.identification.MartingaleElimination([[1.0, 0.0], [0.0, 1.0]])
    >>> found = cd.simulation.expected_samples(algorithm, [0.5, 1.0], noise_variance=1.0, runs=5)
    >>> bool(found["mean"].iloc[0] > found["mean"].iloc[1])
    True
    """
    import pandas as pd

    if algorithm.begun:
        raise InputError("the algorithm has begun already; give one that was told nothing")
    n_runs, source = whole_at_least(1, runs, "runs"), generator(rng)
    two_valued = getattr(algorithm, "noise", None) == "bernoulli"
    if two_valued != (noise_variance is None):
        raise InputError(
            "rewards of two values have the variances that their rates say; leave noise_variance out"
            if two_valued
            else "give noise_variance=, the VARIANCES of single rewards"
        )
    rows = []
    for gap in gaps:
        outcomes = []
        for _ in range(n_runs):
            theta = plausible_theta(algorithm, gap, source, baseline=baseline, rates=two_valued)
            noise: dict[str, Any] = {"noise": "bernoulli"} if two_valued else {"noise_variance": noise_variance}
            world = LinearEnvironment(algorithm.arms, theta, rng=source, **noise)
            result = simulate(algorithm.copy(), world)
            right = result.answer == true_answer(algorithm.objective, algorithm.items, theta)
            outcomes.append((result.samples, right, result.status is AnswerStatus.UNDECIDED))
        samples, rights, undecided = (np.array(column, dtype=float) for column in zip(*outcomes))
        low, median, high = np.quantile(samples, [0.1, 0.5, 0.9])
        rows.append((float(gap), n_runs, samples.mean(), median, low, high, rights.mean(), undecided.mean()))
    return pd.DataFrame(rows, columns=["gap", "runs", "mean", "median", "low", "high", "right", "undecided"])


def plausible_theta(
    algorithm: Identifier, gap: float, rng: np.random.Generator, *, baseline: float = 0.0, rates: bool = False
) -> Floats:
    """A parameter (d,) drawn at random of which the gap is as given: a Gaussian direction, scaled.

    Around the one under which all arms are worth `baseline`, for the best arm; rates: every arm's mean lies between 0 and 1.
    Raises InputError where there is none.
    """
    wanted = real(gap)
    if not 0 < wanted < np.inf:
        raise InputError(f"gap is {shown(gap)}; give a positive number in units of the rewards")
    arms, items = np.asarray(algorithm.arms, dtype=float), Items(np.asarray(algorithm.items, dtype=float))
    centre = _worth(arms, baseline)
    for theta in _candidates(algorithm, items, centre, wanted, rng):
        means = arms @ theta
        if not rates or (means.min() > 0.0 and means.max() < 1.0):
            return theta
    least = " with all means between 0 and 1; give baseline=, the usual rate" if rates else ""
    raise InputError(f"no parameter was found whose gap is {wanted:g}{least}")


def _worth(arms: Floats, baseline: float) -> Floats:
    """A parameter under which all arms have this mean; zero for zero."""
    if real(baseline) == 0.0:
        return np.zeros(arms.shape[1])
    theta = np.asarray(np.linalg.lstsq(arms, np.full(arms.shape[0], real(baseline)), rcond=None)[0], dtype=float)
    if not np.allclose(arms @ theta, baseline):
        raise InputError(f"baseline is {baseline:g}, but no parameter gives all arms this mean; leave it out")
    return theta


def _candidates(
    algorithm: Identifier, items: Items, centre: Floats, gap: float, rng: np.random.Generator
) -> Iterator[Floats]:
    objective = algorithm.objective
    for _ in range(DRAWS):
        direction = rng.standard_normal(centre.size)
        values = items.values @ direction
        if isinstance(objective, BestArm):
            offset = items.values @ centre
            if np.ptp(offset) > 1e-9 * max(np.abs(offset).max(), 1.0):
                raise InputError("the items are not alike where all arms are worth the baseline; leave it out")
            best = int(np.argmax(values))
            others = values[items.group != items.group[best]]
            if others.size and values[best] > others.max():
                yield centre + direction * gap / (values[best] - others.max())
        else:
            assert isinstance(objective, LevelSet)
            scale = _scale(values[~items.zero], objective.threshold - items.values[~items.zero] @ centre, gap)
            if scale is not None:
                yield centre + scale * direction


def _scale(values: Floats, thresholds: Floats, gap: float) -> float | None:
    """The largest c with min |c values - thresholds| = gap; None where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        candidates = np.concatenate([(thresholds + gap) / values, (thresholds - gap) / values])
    for c in sorted(candidates[np.isfinite(candidates) & (candidates > 0)], reverse=True):
        nearest = float(np.abs(c * values - thresholds).min())
        if abs(nearest - gap) <= 1e-9 * max(gap, 1.0):
            return float(c)
    return None
