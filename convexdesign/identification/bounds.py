"""How many samples identification needs: the lower bound, the upper bound of Theorem 2, and what equal noise would cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import probability, real, shown
from convexdesign.arms.labels import COORDINATES
from convexdesign.arms.read import LabelledVectors, read_alike, read_positive, read_rows, read_vector
from convexdesign.errors import InputError
from convexdesign.identification.allocations import Allocation, allocate
from convexdesign.identification.best_arm import BestArm
from convexdesign.identification.objectives import Items, Objective, checked_objective
from convexdesign.typing import Floats

__all__ = ["Complexity", "complexity", "lower_bound", "psi_star", "rho_star", "sharp_lower_bound", "upper_bound"]


# Relative gap of the oracle designs behind the bounds.
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Complexity:
    """psi*, with the true variances, and rho*, with the largest on every arm; 1/kappa <= ratio = psi*/rho* <= 1.

    Both are certified values of designs.

    Parameters
    ----------
    psi_star, rho_star : float
        The values.
    psi_bound, rho_bound : float
        Proven lower bounds on the optimal values.
    kappa : float
        The largest noise variance over the smallest.
    """

    psi_star: float
    rho_star: float
    psi_bound: float
    rho_bound: float
    kappa: float

    @property
    def ratio(self) -> float:
        """psi* / rho*: what accounting for unequal noise saves."""
        return self.psi_star / self.rho_star


def complexity(
    arms: Any, items: Any | None, theta: ArrayLike, objective: Objective, noise_variance: ArrayLike
) -> Complexity:
    """psi*, rho* and kappa of an instance.

    psi* = min over w of max over targets v of |v|²_{A(w)^-1}, v = (z* - z)/((z* - z)'theta) for the best arm and
    z/(z'theta - threshold) for level sets, A(w) = Σ w_i x_i x_i'/s_i². rho* is the same with max s² for all s_i².

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), or None
        What is asked about; the arms where None.
    theta : array_like, shape (d,)
        The true coefficients.
    objective : BestArm or LevelSet
        What is to be found.
    noise_variance : array_like, scalar or shape (n,)
        VARIANCES.

    Returns
    -------
    Complexity
        Values and proven bounds.

    References
    ----------
    Weltz et al. (2023), section 4 and appendix H.

    Examples
    --------
    >>> from convexdesign.instances import soare
    >>> world = soare(kappa=20.0)
    >>> c = complexity(world.arms, None, world.theta, world.objective, world.noise_variance)
    >>> round(c.psi_star, 3), round(c.rho_star, 3), c.kappa
    (266.915, 483.404, 20.0)
    """
    world = _Instance.read(arms, items, theta, objective, noise_variance)
    psi, rho = world.oracle(), world.oracle(heteroskedastic=False)
    kappa = float(world.variance.max() / world.variance.min())
    return Complexity(psi.value, rho.value, psi.bound, rho.bound, kappa)


def psi_star(arms: Any, items: Any | None, theta: ArrayLike, objective: Objective, noise_variance: ArrayLike) -> float:
    """psi* of an instance, see `complexity`.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), or None
        What is asked about; the arms where None.
    theta : array_like, shape (d,)
        The true coefficients.
    objective : BestArm or LevelSet
        What is to be found.
    noise_variance : array_like, scalar or shape (n,)
        VARIANCES.

    Returns
    -------
    float
        The value of a certified design.

    Examples
    --------
    >>> from convexdesign.instances import soare
    >>> world = soare(kappa=20.0)
    >>> round(psi_star(world.arms, None, world.theta, world.objective, world.noise_variance), 3)
    266.915
    """
    return _Instance.read(arms, items, theta, objective, noise_variance).oracle().value


def rho_star(arms: Any, items: Any | None, theta: ArrayLike, objective: Objective, noise_variance: ArrayLike) -> float:
    """rho* of an instance, max s² times the value for noise of variance one, see `complexity`.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), or None
        What is asked about; the arms where None.
    theta : array_like, shape (d,)
        The true coefficients.
    objective : BestArm or LevelSet
        What is to be found.
    noise_variance : array_like, scalar or shape (n,)
        VARIANCES.

    Returns
    -------
    float
        The value of a certified design.

    Examples
    --------
    >>> from convexdesign.instances import soare
    >>> world = soare(kappa=20.0)
    >>> round(rho_star(world.arms, None, world.theta, world.objective, world.noise_variance), 3)
    483.404
    """
    return _Instance.read(arms, items, theta, objective, noise_variance).oracle(heteroskedastic=False).value


def lower_bound(
    arms: Any,
    items: Any | None,
    theta: ArrayLike,
    objective: Objective,
    noise_variance: ArrayLike,
    delta: float,
) -> float:
    """max(0, 2 log(1/(2.4 delta)) psi*): no delta-PAC algorithm takes fewer samples on average, variances known.

    `sharp_lower_bound` is larger. Computed from the certified lower bound on psi*, so that it is a lower bound whatever
    the solver did.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), or None
        What is asked about; the arms where None.
    theta : array_like, shape (d,)
        The true coefficients.
    objective : BestArm or LevelSet
        What is to be found.
    noise_variance : array_like, scalar or shape (n,)
        VARIANCES.
    delta : float
        The probability of an error.

    Returns
    -------
    float
        Samples.

    References
    ----------
    Weltz et al. (2023), Theorem 1 (Gaussian noise).

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.soare()
    >>> I = cd.identification
    >>> round(I.lower_bound(world.arms, None, world.theta, I.BestArm(), world.noise_variance, 0.05))
    1132
    """
    world = _Instance.read(arms, items, theta, objective, noise_variance)
    factor = 2.0 * np.log(1.0 / (2.4 * probability(delta)))
    return float(max(0.0, factor) * world.oracle().bound)


def sharp_lower_bound(
    arms: Any,
    items: Any | None,
    theta: ArrayLike,
    objective: Objective,
    noise_variance: ArrayLike,
    delta: float,
) -> float:
    """max(0, 2 (1 - delta) log((1 - delta)/delta) psi*): as `lower_bound`, and larger for every delta below 1/2.

    Where two items tie, an algorithm that is right with probability 1 - delta on both sides of the tie may answer either with
    probability at most delta, and must go on else. So three events, not two, tell the truth from the cheapest tie.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), or None
        What is asked about; the arms where None.
    theta : array_like, shape (d,)
        The true coefficients.
    objective : BestArm or LevelSet
        What is to be found.
    noise_variance : array_like, scalar or shape (n,)
        VARIANCES.
    delta : float
        The probability of an error.

    Returns
    -------
    float
        Samples.

    References
    ----------
    Section 9.1 of the mathematics page has the proof (Gaussian noise).

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.soare()
    >>> I = cd.identification
    >>> round(I.sharp_lower_bound(world.arms, None, world.theta, I.BestArm(), world.noise_variance, 0.05))
    1493
    """
    world = _Instance.read(arms, items, theta, objective, noise_variance)
    right = 1.0 - probability(delta)
    factor = 2.0 * right * np.log(right / (1.0 - right))
    return float(max(0.0, factor) * world.oracle().bound)


def upper_bound(
    arms: Any,
    items: Any | None,
    theta: ArrayLike,
    objective: Objective,
    noise_variance: ArrayLike,
    delta: float,
    burn_in: int = 0,
) -> float:
    """Theorem 2 with its constants: H-RAGE takes at most this many samples, with probability 1 - delta.

    With L = ceil(log2(4/Delta)) rounds, Delta the smallest gap: burn_in + L (d(d+1)/2 + 1) for rounding up, and
    c L log(8 L² |Z|/delta) psi*, c = 384 for the best arm and 96 for level sets. d is the dimension of the arms; the
    one more pull a round is what Caratheodory's theorem leaves.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), or None
        What is asked about; the arms where None.
    theta : array_like, shape (d,)
        The true coefficients.
    objective : BestArm or LevelSet
        What is to be found.
    noise_variance : array_like, scalar or shape (n,)
        VARIANCES.
    delta : float
        The probability of an error.
    burn_in : int
        Its pulls.

    Returns
    -------
    float
        Samples.

    Raises
    ------
    InputError
        For gaps above 2, which the theorem does not cover: rescale the rewards.

    References
    ----------
    Weltz et al. (2023), Theorem 2 and appendices F and G.

    Examples
    --------
    >>> import convexdesign as cd
    >>> world, I = cd.instances.soare(), cd.identification
    >>> truth = (world.arms, None, world.theta, I.BestArm(), world.noise_variance, 0.05)
    >>> I.lower_bound(*truth) < I.upper_bound(*truth)
    True
    """
    world = _Instance.read(arms, items, theta, objective, noise_variance)
    if not 0 <= real(burn_in) < np.inf:
        raise InputError(f"burn_in is {shown(burn_in)}; give a number of samples, at least 0")
    psi, gaps = world.oracle().value, world.objective.gaps(world.items, world.theta)
    if gaps.max() > 2.0:
        raise InputError(
            f"item {int(np.argmax(gaps))} has gap {gaps.max():g}; Theorem 2 covers gaps up to 2: rescale the rewards"
        )
    rounds = np.ceil(np.log2(4.0 / gaps[gaps > 0].min()))
    constant = 384.0 if isinstance(world.objective, BestArm) else 96.0
    m, d = world.items.values.shape
    confidence = np.log(8.0 * rounds**2 * m / probability(delta))
    return float(real(burn_in) + rounds * (d * (d + 1) / 2 + 1) + constant * rounds * confidence * psi)


@dataclass(frozen=True, eq=False)
class _Instance:
    """What the bounds are about, checked: arms, items, theta (d,), objective and VARIANCES (n,)."""

    arms: LabelledVectors
    items: Items
    theta: Floats
    objective: Objective
    variance: Floats

    @classmethod
    def read(
        cls, arms: Any, items: Any | None, theta: ArrayLike, objective: Objective, noise_variance: ArrayLike
    ) -> _Instance:
        rows = read_rows(arms, "arms")
        n, d = rows.values.shape
        objective = checked_objective(objective)
        asked = rows if items is None else read_alike(rows, items, "items")
        variance = read_positive(noise_variance, "noise_variance", n, "a noise VARIANCE must be positive", rows.names)
        if variance is None:
            raise InputError("noise_variance is None; give the noise VARIANCES, a scalar or one per arm")
        truth = read_vector(theta, "theta", d, rows.columns, COORDINATES)
        return cls(rows, Items(np.asarray(asked.values, dtype=float)), truth, objective, variance)

    def oracle(self, heteroskedastic: bool = True) -> Allocation:
        """The oracle's allocation, for the true variances or with the largest on every arm."""
        variance = self.variance if heteroskedastic else np.full_like(self.variance, self.variance.max())
        problem = self.objective.oracle(self.arms, self.items, self.theta, variance)
        if problem is None:
            raise InputError(
                "there is nothing to identify: give at least two different items (or one that is not zero)"
            )
        return allocate(problem, tol=TOLERANCE)
