"""How many measurements an experiment will need, before it starts: by simulation over plausible gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import flag, generator, real, shown, whole_at_least
from convexdesign.errors import InputError
from convexdesign.identification import AnswerStatus, BestArm, Identifier, LevelSet, true_answer
from convexdesign.identification.objectives import Items
from convexdesign.simulation.environment import LinearEnvironment
from convexdesign.simulation.replication import simulate
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["expected_samples", "hard_theta", "plausible_theta"]

# Draws before no parameter is thought to have the gap; and of these the ones among which the values lie near enough together.
DRAWS, NEAR_DRAWS = 1000, 200
# Typical cases: the values of items deviate from one another (standard deviation) by at most so many gaps; of level sets,
# from the threshold (root mean square) by at most so many.
SPREAD, LEVEL_SPREAD = 1.0, 2.0
TYPICAL, HARD = "typical", "hard"


def expected_samples(
    algorithm: Identifier,
    gaps: Sequence[float],
    noise_variance: ArrayLike | None = None,
    *,
    baseline: float = 0.0,
    runs: int = 20,
    rng: np.random.Generator | int | None = 0,
    hard: bool = True,
) -> pd.DataFrame:
    """Simulate an algorithm that was told nothing, for every gap with so many parameters drawn at random.

    Two cases. Typical: a Gaussian direction, scaled to the gap, of which the values of the items deviate from one another by
    no more than about the gap (of level sets: from the threshold by two). Hard: all others tie at the value of the second,
    the gap below the best, any of the items (of level sets: every item lies the gap above or below the threshold); where the
    items allow no such tie, the parameter of least squares, scaled to the gap. Truth may lie between, or be easier than both.

    Parameters
    ----------
    algorithm : Identifier
        Told nothing; it stays as it is.
    gaps : sequence of float
        What the best item is better by than the second (level sets: how far the item nearest the threshold is from it), in
        units of the rewards.
    noise_variance : float or array_like (n,) or None
        VARIANCES of single rewards; None for rewards of two values, whose rates say them.
    baseline : float
        What all arms are worth about; of rewards that are 0 or 1, their usual rate.
    runs : int
        So many for every gap and case.
    rng : numpy.random.Generator, int or None
        A source of random numbers, or a seed.
    hard : bool
        Whether the hard case is simulated too.

    Returns
    -------
    pandas.DataFrame
        One row a gap, of the typical case, and below them one a gap of the hard case. Columns gap, runs; mean, median, low and
        high (the 10 % and 90 % quantiles) of the measurements; right: the share of right answers; undecided: that of runs
        without one; guessed: that of best guesses at the budget, which are not promised with delta; case; best, second and
        lowest: the values of items that were drawn (medians over the runs).

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
    noise = _noise(algorithm, noise_variance)
    rows = []
    for case in (TYPICAL, HARD) if flag(hard, "hard") else (TYPICAL,):
        for gap in gaps:
            outcomes = []
            for _ in range(n_runs):
                draw = plausible_theta if case == TYPICAL else hard_theta
                theta = draw(algorithm, gap, source, baseline=baseline, rates="noise" in noise)
                world = LinearEnvironment(algorithm.arms, theta, rng=source, **noise)
                result = simulate(algorithm.copy(), world)
                right = result.answer == true_answer(algorithm.objective, algorithm.items, theta)
                ended = [result.status is way for way in (AnswerStatus.UNDECIDED, AnswerStatus.BEST_GUESS)]
                outcomes.append((result.samples, right, *ended, *_drawn(algorithm, theta)))
            columns = np.array(outcomes, dtype=float)
            samples, rights, undecided, guessed = columns[:, :4].T
            low, median, high = np.quantile(samples, [0.1, 0.5, 0.9])
            shares = [rights.mean(), undecided.mean(), guessed.mean()]
            drawn = np.median(columns[:, 4:], axis=0).tolist()
            rows.append((float(gap), n_runs, samples.mean(), median, low, high, *shares, case, *drawn))
    names = ["gap", "runs", "mean", "median", "low", "high", "right", "undecided", "guessed", "case"]
    return pd.DataFrame(rows, columns=[*names, "best", "second", "lowest"])


def _noise(algorithm: Identifier, noise_variance: ArrayLike | None) -> dict[str, Any]:
    """What the simulated world is told of the noise."""
    law, ends = getattr(algorithm, "noise", None), getattr(algorithm, "reward_range", None)
    two_valued = law == "bernoulli"
    if two_valued != (noise_variance is None):
        raise InputError(
            "rewards of two values have the variances that their rates say; leave noise_variance out"
            if two_valued
            else "give noise_variance=, the VARIANCES of single rewards"
        )
    if law not in ("bernoulli", "bounded") or ends is None:
        return {"noise": "bernoulli"} if two_valued else {"noise_variance": noise_variance}
    low, high = (np.unique(end) for end in ends)
    if low.size > 1 or high.size > 1:
        raise InputError(
            "arms with ranges of rewards of their own are not simulated; give all of them one reward_range"
        )
    world = {"noise": law, "reward_range": (float(low[0]), float(high[0]))}
    return world if two_valued else world | {"noise_variance": noise_variance}


def _drawn(algorithm: Identifier, theta: Floats) -> Floats:
    """The best, the second and the lowest value of different items."""
    items = Items(np.asarray(algorithm.items, dtype=float))
    values = np.sort((items.values @ theta)[items.one_of_each(np.arange(len(items.values)))])[::-1]
    return values[[0, min(1, values.size - 1), -1]]


def plausible_theta(
    algorithm: Identifier, gap: float, rng: np.random.Generator, *, baseline: float = 0.0, rates: bool = False
) -> Floats:
    """A parameter (d,) drawn at random of which the gap is as given: a Gaussian direction, scaled.

    Around the one under which all arms are worth `baseline`, for the best arm; rates: every arm's mean lies in the range of
    rewards. The first direction that is not spread wider than `SPREAD` says, else the least spread of `NEAR_DRAWS`: the top two
    of many Gaussian values are near each other, so that a gap scaled up would bring a spread of many gaps.
    Raises InputError where there is none.
    """
    wanted, ends = _wanted(gap), _ends(algorithm, baseline, rates)
    arms, items = np.asarray(algorithm.arms, dtype=float), Items(np.asarray(algorithm.items, dtype=float))
    centre = _worth(arms, baseline)
    best, least = None, np.inf
    for k, theta in enumerate(_candidates(algorithm, items, centre, wanted, rng)):
        if not _within(arms @ theta, ends):
            continue
        spread = _spread(algorithm, items.values @ theta, items.zero) / wanted
        if spread <= 1.0:
            return theta
        best, least = (theta, spread) if spread < least else (best, least)
        if k >= NEAR_DRAWS and best is not None:
            break
    if best is None:
        raise InputError(_none_found(wanted, ends, baseline))
    return best


def hard_theta(
    algorithm: Identifier, gap: float, rng: np.random.Generator, *, baseline: float = 0.0, rates: bool = False
) -> Floats:
    """A parameter (d,) of which all items but the best, one drawn at random, tie at `baseline`, the gap below it.

    For level sets: of which every item lies the gap above or below the threshold, at random. Where items allow no such tie,
    the parameter of least squares, scaled to the gap. Raises InputError where there is none.
    """
    wanted, ends = _wanted(gap), _ends(algorithm, baseline, rates)
    arms, items = np.asarray(algorithm.arms, dtype=float), Items(np.asarray(algorithm.items, dtype=float))
    centre, objective = _worth(arms, baseline), algorithm.objective
    inverse = np.linalg.pinv(items.values)
    for _ in range(DRAWS):
        if isinstance(objective, BestArm):
            group = items.group[rng.integers(items.group.size)]
            theta = _scaled(centre, inverse @ (items.group == group), items, wanted)
        else:
            assert isinstance(objective, LevelSet)
            side = rng.choice([-1.0, 1.0], size=items.group.size)[items.group]
            tied = inverse @ (objective.threshold + wanted * side)
            values = (items.values @ tied)[~items.zero]
            scale = 1.0
            if np.abs(np.abs(values - objective.threshold) - wanted).max() > 1e-9 * max(wanted, 1.0):
                scale = _scale(values, np.full(values.size, objective.threshold), wanted, rng) or 0.0
            theta = scale * tied if scale else None
        if theta is not None and _within(arms @ theta, ends):
            return theta
    raise InputError(_none_found(wanted, ends, baseline))


def _wanted(gap: float) -> float:
    wanted = real(gap)
    if not 0 < wanted < np.inf:
        raise InputError(f"gap is {shown(gap)}; give a positive number in units of the rewards")
    return wanted


def _ends(algorithm: Identifier, baseline: float, rates: bool) -> tuple[float, float] | None:
    """Between what the means must lie, if anything is known of that."""
    if not rates:
        return None
    ends = getattr(algorithm, "reward_range", None)
    low, high = (0.0, 1.0) if ends is None else (float(np.max(ends[0])), float(np.min(ends[1])))
    usual = real(baseline)
    if not low < usual < high:
        what = "; give baseline=, the usual rate" if usual == 0.0 else ", and so do their means"
        raise InputError(f"baseline is {usual:g}, but rewards lie between {low:g} and {high:g}{what}")
    return low, high


def _within(means: Floats, ends: tuple[float, float] | None) -> bool:
    return ends is None or bool(means.min() > ends[0] and means.max() < ends[1])


def _none_found(gap: float, ends: tuple[float, float] | None, baseline: float) -> str:
    """What to say where no parameter has the gap."""
    if ends is None:
        return f"no parameter was found whose gap is {gap:g}"
    between = f"with all means between {ends[0]:g} and {ends[1]:g}, around {baseline:g}"
    return f"no parameter was found whose gap is {gap:g} {between}; is the gap meant so?"


def _spread(algorithm: Identifier, values: Floats, zero: NDArray[np.bool_]) -> float:
    """How far the values of items lie from one another, or from the threshold, in units of what is typical."""
    if isinstance(algorithm.objective, BestArm):
        return float(values.std()) / SPREAD
    assert isinstance(algorithm.objective, LevelSet)
    return float(np.sqrt(np.mean((values[~zero] - algorithm.objective.threshold) ** 2))) / LEVEL_SPREAD


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
        if isinstance(objective, BestArm):
            theta = _scaled(centre, direction, items, gap)
        else:
            assert isinstance(objective, LevelSet)
            others = items.values[~items.zero]
            scale = _scale(others @ direction, objective.threshold - others @ centre, gap, rng)
            theta = None if scale is None else centre + scale * direction
        if theta is not None:
            yield theta


def _scaled(centre: Floats, direction: Floats, items: Items, gap: float) -> Floats | None:
    """The parameter in a direction from the centre of which the best item is better by the gap; None where two tie."""
    offset = items.values @ centre
    if np.ptp(offset) > 1e-9 * max(np.abs(offset).max(), 1.0):
        raise InputError("the items are not alike where all arms are worth the baseline; leave it out")
    values = items.values @ direction
    best = int(np.argmax(values))
    others = values[items.group != items.group[best]]
    if not others.size or values[best] - others.max() <= 1e-9 * max(np.abs(values).max(), 1e-300):
        return None
    return np.asarray(centre + direction * gap / (values[best] - others.max()), dtype=float)


def _scale(values: Floats, thresholds: Floats, gap: float, rng: np.random.Generator) -> float | None:
    """One of all c > 0 with min |c values - thresholds| = gap, drawn at random; None where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        candidates = np.concatenate([(thresholds + gap) / values, (thresholds - gap) / values])
    # Beyond rounding: where the centre itself has the gap, no scale at all would do.
    least = 1e-6 * gap / max(float(np.abs(values).max(initial=0.0)), 1e-300)
    candidates = candidates[np.isfinite(candidates) & (candidates > least)]
    for c in rng.permutation(candidates):
        nearest = float(np.abs(c * values - thresholds).min())
        if abs(nearest - gap) <= 1e-9 * max(gap, 1.0):
            return float(c)
    return None
