"""What is known of every item and arm, with intervals that hold at all times at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import probability, shown, whole
from convexdesign.errors import InputError
from convexdesign.experiment.history import RoundView
from convexdesign.identification import BestArm, HRage, Identifier, MartingaleElimination
from convexdesign.identification.evidence import Evidence, pooled_fit
from convexdesign.identification.intervals import Sequences, evidence_of_rounds, sequences
from convexdesign.typing import Counts, Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Difference", "ExperimentEstimates", "estimates_of"]

# The share of the probability of error that pays for upper ends of variances that are learnt; as martingale elimination has it.
VARIANCE_SHARE = 0.1
# The share of the rest that pays for the means; the other half pays for the differences of all pairs.
MEANS_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Difference:
    """Every item's value less that of one item.

    Parameters
    ----------
    reference : int
        That item.
    estimate : ndarray (m,)
        Estimates now.
    over_time : Sequences
        Intervals after every round, (rounds, m).
    """

    reference: int
    estimate: Floats
    over_time: Sequences

    @property
    def low(self) -> Floats:
        """Lower ends (m,) now."""
        return np.asarray(self.over_time.low[-1])

    @property
    def high(self) -> Floats:
        """Upper ends (m,) now."""
        return np.asarray(self.over_time.high[-1])


@dataclass(frozen=True, eq=False)
class ExperimentEstimates:
    """Values of items, differences, and what the arms gave. All intervals hold together, at all times, at `level`.

    Parameters
    ----------
    level : float
        The probability that none of them, of any item or pair of items, ever misses, if `assumption` is right. It is
        beside the answer's promise, and holds whatever the answer is.
    assumption : str
        What that rests on, in words that follow "if".
    samples : tuple of int
        Results after each round.
    estimate : ndarray (m,)
        Of every item's value z'theta.
    over_time : Sequences
        Their intervals after every round, (rounds, m).
    to_leader : Difference or None
        From the best guess; None for level sets.
    to_control : Difference or None
        From the control; None without one.
    count : ndarray (n,)
        Results of every arm.
    mean : ndarray (n,)
        Of its own results.
    variance : ndarray (n,)
        Sample variances of these, nan below two of them.
    item_names : tuple of str
        What the items are called.
    arm_names : tuple of str
        What the arms are called.
    """

    level: float
    assumption: str
    samples: tuple[int, ...]
    estimate: Floats
    over_time: Sequences
    to_leader: Difference | None
    to_control: Difference | None
    count: Counts
    mean: Floats
    variance: Floats
    item_names: tuple[str, ...]
    arm_names: tuple[str, ...]

    @property
    def low(self) -> Floats:
        """Lower ends (m,) of the items' values now."""
        return np.asarray(self.over_time.low[-1])

    @property
    def high(self) -> Floats:
        """Upper ends (m,) now."""
        return np.asarray(self.over_time.high[-1])

    def to_frame(self) -> pd.DataFrame:
        """Estimates and ends of every item's value, and of its differences to the leader and the control.

        Returns
        -------
        pandas.DataFrame
            One row an item.
        """
        import pandas as pd

        columns: dict[str, Any] = {
            "item": self.item_names,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
        }
        for name, found in (("to_leader", self.to_leader), ("to_control", self.to_control)):
            if found is not None:
                columns |= {name: found.estimate, f"{name}_low": found.low, f"{name}_high": found.high}
        return pd.DataFrame(columns)

    def arms_to_frame(self) -> pd.DataFrame:
        """Numbers, means and sample variances of every arm's own results.

        Returns
        -------
        pandas.DataFrame
            One row an arm.
        """
        import pandas as pd

        return pd.DataFrame({"arm": self.arm_names, "count": self.count, "mean": self.mean, "variance": self.variance})


def estimates_of(
    algorithm: Identifier,
    views: Sequence[RoundView],
    item_names: Sequence[str],
    arm_names: Sequence[str],
    level: float | None = None,
    control: int | None = None,
) -> ExperimentEstimates:
    """The estimates after the rounds that `history` gave. InputError before the first, or for a level that cannot be had."""
    if not views:
        raise InputError("no round is complete, so that there is nothing to estimate yet")
    alpha = algorithm.delta if level is None else 1.0 - probability(level, "level")
    evidence, numbers, means_alpha = _evidence(algorithm, views, alpha)
    items, m = np.asarray(algorithm.items, dtype=float), len(algorithm.items)
    everything = algorithm.observations
    theta = _theta(algorithm, evidence)
    values = items @ theta
    pairs = m > 1
    share = means_alpha * (MEANS_SHARE if pairs else 1.0)
    rest = means_alpha - share
    least, most = _range_of_items(algorithm, items)
    means = sequences(evidence, numbers, items, float(np.log(2 * m / share))).within(least, most)

    def difference(reference: int) -> Difference:
        # Every ordered pair is one event, so that the reference may be chosen when all is seen.
        ends = sequences(evidence, numbers, items - items[reference], float(np.log(m * (m - 1) / rest)))
        ends = ends.within(least - most[reference], most - least[reference])
        return Difference(reference, values - values[reference], ends)

    guess = views[-1].best_guess or (int(np.argmax(values)),)
    leader = difference(guess[0]) if isinstance(algorithm.objective, BestArm) and pairs else None
    chosen = None if control is None else difference(_item(control, m)) if pairs else None
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(everything.count > 0, everything.mean, np.nan)
    return ExperimentEstimates(
        level=1.0 - alpha,
        assumption=algorithm.assumption,
        samples=tuple(view.samples for view in views),
        estimate=values,
        over_time=means,
        to_leader=leader,
        to_control=chosen,
        count=everything.count,
        mean=mean,
        variance=everything.sample_variance(),
        item_names=tuple(item_names),
        arm_names=tuple(arm_names),
    )


def _evidence(algorithm: Identifier, views: Sequence[RoundView], alpha: float) -> tuple[Evidence, list[int], float]:
    """The evidence, how many summaries there were after each round, and what is left of alpha for means."""
    if isinstance(algorithm, MartingaleElimination):
        left = alpha - algorithm.delta_v
        if not left > 0:
            raise InputError(
                f"level is {1.0 - alpha:g}, but the bounds on the variances hold with probability {1.0 - algorithm.delta_v:g} "
                "alone; give a smaller level"
            )
        return algorithm.evidence, [view.summaries for view in views], left
    known, bounds = (getattr(algorithm, name, None) for name in ("known_variances", "variance_bounds"))
    high = np.broadcast_to(np.inf if bounds is None else bounds[1], algorithm.n_arms)
    if known is not None:
        high = np.broadcast_to(np.asarray(known, dtype=float), algorithm.n_arms)
    # H-RAGE takes the noise to be of a law whose variances can be learnt; others hold for all that the bounds describe.
    learns = known is None and isinstance(algorithm, HRage)
    price = VARIANCE_SHARE * alpha if learns else None
    law = algorithm.noise if isinstance(algorithm, HRage) else "gaussian"
    rounds = [view.observations for view in views]
    evidence, numbers = evidence_of_rounds(algorithm.arms, rounds, high, price, law)
    return evidence, numbers, alpha if price is None else alpha - price


def _range_of_items(algorithm: Identifier, items: Floats) -> tuple[Floats, Floats]:
    """Ends (m,) of the range of each item's value: that of the rewards of an arm that is the item; infinite where none is."""
    least, most = np.full(len(items), -np.inf), np.full(len(items), np.inf)
    known = getattr(algorithm, "reward_range", None)
    if known is not None:
        low, high = (np.broadcast_to(np.asarray(end, dtype=float), algorithm.n_arms) for end in known)
        for arm, vector in enumerate(np.asarray(algorithm.arms, dtype=float)):
            same = (items == vector).all(axis=1)
            least[same], most[same] = np.maximum(least[same], low[arm]), np.minimum(most[same], high[arm])
    return least, most


def _theta(algorithm: Identifier, evidence: Evidence) -> Floats:
    """What all results say of theta; martingale elimination has an estimate of its own."""
    if isinstance(algorithm, MartingaleElimination) and algorithm.rounds:
        return algorithm.rounds[-1].theta
    told = algorithm.observations
    fit = pooled_fit(evidence.rows, told.count.astype(float), told.count * told.mean, np.ones(algorithm.n_arms))
    return evidence.space.lift(fit.coefficients)


def _item(control: Any, m: int) -> int:
    number = whole(control)
    if number is None or not 0 <= number < m:
        raise InputError(f"control is {shown(control)}; give the index of an item, 0 to {m - 1}")
    return number
