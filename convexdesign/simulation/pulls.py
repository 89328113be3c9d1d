"""Code that pulls by itself, as most code for a paper does: run(pull, rng) -> answer, beside algorithms that ask and tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import function, numeric
from convexdesign.errors import InputError
from convexdesign.estimation.observations import MOST_ARMS, Observations, arm_indices, whole_counts
from convexdesign.typing import Floats

__all__ = ["Pulls", "PullsItself", "SelfPulling"]


class Pulls:
    """What code that pulls by itself is given: `pull(counts)`, and `pull.rewards(arms)` for single rewards.

    Parameters
    ----------
    environment : object with pull(counts)
        The world; where it has rewards(arms) too, single rewards come from there.

    Examples
    --------
    >>> import convexdesign as cd
    >>> pull = cd.simulation.Pulls(cd.simulation.LinearEnvironment([[1.0], [2.0]], [3.0], noise_variance=1e-12, rng=0))
    >>> pull([5, 0]).mean.round(3)
    array([3., 0.])
    >>> pull.rewards([1, 0, 1]).round(3)
    array([6., 3., 6.])
    >>> pull.samples
    8
    """

    def __init__(self, environment: Any) -> None:
        if not hasattr(environment, "pull"):
            raise InputError("environment has no pull(counts); give a world such as LinearEnvironment")
        self.environment = environment
        self.samples = 0

    def __call__(self, counts: ArrayLike) -> Observations:
        """Pull arm i counts[i] times; `pull(counts)` and `pull.pull(counts)` are the same.

        Parameters
        ----------
        counts : array_like of int, shape (n_arms,)
            Pulls of each arm.

        Returns
        -------
        Observations
            Counts, means and sums of squares per arm.

        Examples
        --------
        >>> import convexdesign as cd
        >>> pull = cd.simulation.Pulls(cd.simulation.LinearEnvironment([[1.0], [2.0]], [3.0], noise_variance=1.0, rng=0))
        >>> pull([5, 2]).total
        7
        """
        whole = whole_counts(counts, "counts")
        observations: Observations = self.environment.pull(whole)
        self.samples += int(whole.sum())
        return observations

    # An environment too: that of algorithms that ask and tell, counted alike.
    pull = __call__

    def rewards(self, arms: ArrayLike) -> Floats:
        """Rewards of single pulls.

        Parameters
        ----------
        arms : array_like of int, shape (k,)
            Indices of the arms to pull, or one; an arm may come many times.

        Returns
        -------
        ndarray, shape (k,)
            The rewards, in the order of the pulls.

        Examples
        --------
        >>> import convexdesign as cd
        >>> pull = cd.simulation.Pulls(cd.simulation.LinearEnvironment([[1.0]], [3.0], noise_variance=1e-12, rng=0))
        >>> pull.rewards([0, 0]).round(3)
        array([3., 3.])
        """
        index = np.atleast_1d(numeric(arms, "arms", whole=True))
        index = arm_indices(index, getattr(self.environment, "n_arms", MOST_ARMS))
        if hasattr(self.environment, "rewards"):
            found: Floats = self.environment.rewards(index)
        else:
            found = self._one_by_one(index)
        self.samples += index.size
        return found

    def _one_by_one(self, index: np.ndarray[Any, Any]) -> Floats:
        """From a world that knows whole numbers of pulls alone: one pull is its own mean."""
        n = getattr(self.environment, "n_arms", None)
        if n is None:
            raise InputError("the environment has neither rewards(arms) nor n_arms; pull it by counts, pull(counts)")
        found = np.empty(index.size)
        for k, i in enumerate(index):
            counts = np.zeros(n, dtype=np.int64)
            counts[i] = 1
            found[k] = self.environment.pull(counts).mean[i]
        return found


class PullsItself:
    """run(pull, rng) -> answer, as an entry of `compare` or the algorithm of `replicate`.

    Parameters
    ----------
    run : callable
        Given `Pulls` and a NumPy Generator of its own; the answer is an index of an item, a sequence of them, or None where
        the run could not decide.

    Examples
    --------
    >>> import numpy as np
    >>> import convexdesign as cd
    >>> X, theta = np.eye(3), np.array([1.0, 0.5, 0.0])
    >>> def equal_numbers(pull, rng):
    ...     return pull([100, 100, 100]).mean.argmax()
    >>> cd.simulation.compare(
    ...     {"equal numbers": cd.simulation.PullsItself(equal_numbers)},
    ...     lambda rng: cd.simulation.LinearEnvironment(X, theta, noise_variance=0.01, rng=rng),
    ...     truth=[0],
    ...     replications=5,
    ... )[["algorithm", "runs", "errors", "mean_samples"]]
           algorithm  runs  errors  mean_samples
    0  equal numbers     5       0         300.0
    """

    def __init__(self, run: Callable[[Pulls, np.random.Generator], Any]) -> None:
        function(run, "run")
        self.run = run

    def __call__(self, rng: np.random.Generator) -> SelfPulling:
        """One run to come, with its generator."""
        return SelfPulling(self.run, rng)


class SelfPulling:
    """One run of code that pulls by itself."""

    def __init__(self, run: Callable[[Pulls, np.random.Generator], Any], rng: np.random.Generator) -> None:
        self._run = run
        self._rng = rng

    def to_the_end(self, environment: Any) -> Any:
        """Its answer in this world."""
        pulls = environment if isinstance(environment, Pulls) else Pulls(environment)
        return self._run(pulls, self._rng)
