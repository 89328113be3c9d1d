"""What was measured, kept as counts, means and sums of squares: 10^12 pulls cost the same as ten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import instance, numeric, shown, whole
from convexdesign.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Observations", "arm_indices", "whole_counts"]


# More arms than memory holds.
MOST_ARMS = 2**40


@dataclass(frozen=True, eq=False)
class Observations:
    """Per arm the number of pulls, the mean reward and m2 = Σ (y - mean)².

    The arrays are read-only.

    Parameters
    ----------
    count : array of int64, shape (n_arms,)
        Pulls.
    mean : array, shape (n_arms,)
        0 where count is 0, and means nothing there.
    m2 : array, shape (n_arms,)
        0 where count is 0 or 1.

    Raises
    ------
    InputError
        For negative counts, values that are not finite, or an m2 that its count cannot have.

    Examples
    --------
    >>> import convexdesign as cd
    >>> cd.estimation.Observations.from_rewards(3, arms=[0, 0, 2], rewards=[1.0, 3.0, 5.0]).mean
    array([2., 0., 5.])
    """

    count: NDArray[np.int64]
    mean: NDArray[np.float64]
    m2: NDArray[np.float64]

    def __post_init__(self) -> None:
        count = whole_counts(self.count, "count")
        mean, m2 = (np.array(numeric(v, name), dtype=float) for name, v in (("mean", self.mean), ("m2", self.m2)))
        for name, values in (("mean", mean), ("m2", m2)):
            if values.shape != count.shape:
                raise InputError(f"{name} has shape {values.shape}, but count has {count.shape}; one entry per arm")
            seen = np.where(count > 0, values, 0.0)
            bad = np.flatnonzero(~np.isfinite(seen))
            if bad.size:
                raise InputError(f"{name}[{bad[0]}] is {values[bad[0]]}; remove the reward that is not finite")
        bad = np.flatnonzero((count > 0) & ((m2 < 0) | ((count == 1) & (m2 > 0))))
        if bad.size:
            raise InputError(
                f"m2[{bad[0]}] is {m2[bad[0]]:g} at count {count[bad[0]]}; a sum of squared deviations is "
                "nonnegative, and zero for a single pull"
            )
        mean[count == 0] = 0.0
        m2[count == 0] = 0.0
        for name, array in (("count", count), ("mean", mean), ("m2", m2)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def n_arms(self) -> int:
        """The number of arms, pulled or not."""
        return int(self.count.size)

    @property
    def total(self) -> int:
        """The number of pulls over all arms."""
        return int(self.count.sum())

    @classmethod
    def empty(cls, n_arms: int) -> Observations:
        """No pulls yet; merging it changes nothing.

        Parameters
        ----------
        n_arms : int
            How many arms there are.

        Returns
        -------
        Observations
            All zero.
        """
        n_arms = _number_of_arms(n_arms)
        return cls(np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), np.zeros(n_arms))

    @classmethod
    def from_rewards(cls, n_arms: int, arms: ArrayLike, rewards: ArrayLike) -> Observations:
        """Summarise single rewards: rewards[k] was seen on arm arms[k].

        Two passes (means, then deviations from them), so that a mean of 1e6 costs no digits of m2.

        Parameters
        ----------
        n_arms : int
            How many arms there are.
        arms : array_like of int, shape (k,)
            Indices below `n_arms`.
        rewards : array_like, shape (k,)
            In the units of the outcome.

        Returns
        -------
        Observations
            Per arm.
        """
        n_arms = _number_of_arms(n_arms)
        index = arm_indices(arms, n_arms)
        y = np.asarray(numeric(rewards, "rewards"), dtype=float)
        if y.shape != index.shape:
            raise InputError(f"arms and rewards must have one length, got shapes {index.shape} and {y.shape}")
        bad = np.flatnonzero(~np.isfinite(y))
        if bad.size:
            raise InputError(f"rewards[{bad[0]}] is {y[bad[0]]} (arm {index[bad[0]]}); remove it or measure again")
        count = np.bincount(index, minlength=n_arms).astype(np.int64)
        at_least_one = np.maximum(count, 1)
        # Sums are taken about one reward of each arm: constant rewards then give m2 = 0 exactly.
        origin = np.zeros(n_arms)
        origin[index] = y
        mean = origin + np.bincount(index, weights=y - origin[index], minlength=n_arms) / at_least_one
        deviation = y - mean[index]
        drift = np.bincount(index, weights=deviation, minlength=n_arms)
        m2 = np.bincount(index, weights=deviation**2, minlength=n_arms) - drift**2 / at_least_one
        return cls(count, mean, np.where(count > 1, np.maximum(m2, 0.0), 0.0))

    @classmethod
    def from_successes(
        cls, count: ArrayLike, successes: ArrayLike, *, low: ArrayLike = 0.0, high: ArrayLike = 1.0
    ) -> Observations:
        """Rewards of two values, as conversions are: how many there were, and how many of them were the higher one.

        Parameters
        ----------
        count : array_like of int, shape (n_arms,)
            Pulls.
        successes : array_like of int, shape (n_arms,)
            How many of them gave `high`; the others gave `low`.
        low : array_like, scalar or shape (n_arms,)
            The lower value, in the units of the outcome.
        high : array_like, scalar or shape (n_arms,)
            The higher one, a price for example.

        Returns
        -------
        Observations
            Per arm.

        Raises
        ------
        InputError
            Where there are more successes than pulls.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.estimation.Observations.from_successes([32, 32], [2, 4]).m2
        array([1.875, 3.5  ])
        """
        pulls = whole_counts(count, "count")
        number = whole_counts(successes, "successes", pulls.size)
        bad = np.flatnonzero(number > pulls)
        if bad.size:
            raise InputError(f"successes[{bad[0]}] is {number[bad[0]]}, of {pulls[bad[0]]} pulls; correct one of them")
        ends = []
        for name, end in (("low", low), ("high", high)):
            values = np.asarray(numeric(end, name), dtype=float)
            if values.shape not in ((), pulls.shape):
                raise InputError(
                    f"{name} has shape {values.shape}; give one number, or one for each of {pulls.size} arms"
                )
            ends.append(np.broadcast_to(values, pulls.shape))
        width, at_least_one = ends[1] - ends[0], np.maximum(pulls, 1)
        share = number / at_least_one
        return cls(pulls, ends[0] + width * share, width**2 * (number * ((pulls - number) / at_least_one)))

    def merge(self, other: Observations) -> Observations:
        """Both sets of pulls together, as if they had been summarised at once.

        Parameters
        ----------
        other : Observations
            Of the same arms.

        Returns
        -------
        Observations
            All pulls.

        References
        ----------
        Chan, Golub and LeVeque (1983), the pairwise update of means and sums of squares.

        Examples
        --------
        >>> import convexdesign as cd
        >>> Observations = cd.estimation.Observations
        >>> a = Observations.from_rewards(1, [0], [1.0])
        >>> a.merge(Observations.from_rewards(1, [0], [3.0])).m2
        array([2.])
        """
        instance(other, Observations, "other", "give Observations")
        if other.n_arms != self.n_arms:
            raise InputError(f"cannot merge observations of {self.n_arms} arms with {other.n_arms}")
        count = self.count + other.count
        if np.any(count < 0):
            raise InputError(f"arm {int(np.argmax(count < 0))} has more than 2^63 pulls after merging")
        share = other.count / np.maximum(count, 1)
        delta = other.mean - self.mean
        mean = np.where(self.count == 0, other.mean, np.where(other.count == 0, self.mean, self.mean + share * delta))
        m2 = self.m2 + other.m2 + np.where((self.count > 0) & (other.count > 0), delta**2 * self.count * share, 0.0)
        return Observations(count, mean, m2)

    def of_arms(self, arms: ArrayLike) -> Observations:
        """The observations of some arms alone, in the order given.

        Parameters
        ----------
        arms : array_like of int, shape (k,)
            Indices of arms.

        Returns
        -------
        Observations
            Of k arms.
        """
        index = arm_indices(arms, self.n_arms)
        return Observations(self.count[index], self.mean[index], self.m2[index])

    def sample_variance(self) -> NDArray[np.float64]:
        """The sample variance of each arm, m2 / (count - 1).

        Returns
        -------
        array, shape (n_arms,)
            NaN for arms with fewer than two pulls.
        """
        out = np.full(self.n_arms, np.nan)
        np.divide(self.m2, self.count - 1, out=out, where=self.count > 1)
        return out

    def to_frame(self) -> pd.DataFrame:
        """One row an arm: count, mean, m2.

        Returns
        -------
        pandas.DataFrame
            In the order of the arms.
        """
        import pandas as pd

        return pd.DataFrame({"count": self.count, "mean": self.mean, "m2": self.m2}).rename_axis("arm")


def whole_counts(source: Any, what: str, n_arms: int | None = None) -> NDArray[np.int64]:
    """Whole nonnegative numbers, one per arm, as an int64 copy; InputError says which entry is not one."""
    given = numeric(source, what, whole=True)
    if given.ndim != 1 or (n_arms is not None and given.size != n_arms):
        expected = "one entry per arm" if n_arms is None else f"one entry for each of {n_arms} arms"
        raise InputError(f"{what} must be a vector with {expected}, got shape {given.shape}")
    if given.size == 0:
        raise InputError(f"{what} is empty; give the pulls of at least one arm")
    good = (given >= 0) & (given < 2.0**63)
    if given.dtype.kind == "f":
        good &= given == np.floor(given)
    if not good.all():
        at = int(np.argmin(good))
        raise InputError(f"{what}[{at}] is {given[at]}; counts of pulls are whole numbers from 0 to 2^63 - 1")
    return np.array(given, dtype=np.int64)


def _number_of_arms(n_arms: Any) -> int:
    number = whole(n_arms)
    if number is None or not 1 <= number <= MOST_ARMS:
        raise InputError(f"n_arms is {shown(n_arms)}; give the number of arms, a whole number of at least 1")
    return number


def arm_indices(arms: ArrayLike, n_arms: int, what: str = "arms") -> NDArray[np.intp]:
    """Indices below n_arms, or none at all; InputError names the first that is not one."""
    index = numeric(arms, what, whole=True)
    if index.size == 0:
        return np.zeros(0, dtype=np.intp)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise InputError(f"{what} must be a vector of integer indices, got dtype {index.dtype}, shape {index.shape}")
    bad = np.flatnonzero((index < 0) | (index >= n_arms))
    if bad.size:
        raise InputError(f"{what}[{bad[0]}] is {index[bad[0]]}; they are numbered 0 to {n_arms - 1}")
    return index.astype(np.intp)
