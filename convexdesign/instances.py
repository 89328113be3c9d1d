"""The instances of Weltz et al. (2023), made precise: arms, items, theta, noise and objective of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import flag, generator, numeric, positive, real, real_array, shown, whole_at_least
from convexdesign.arms.blocks import BlockArms
from convexdesign.errors import InputError
from convexdesign.identification.best_arm import BestArm
from convexdesign.identification.level_set import LevelSet
from convexdesign.identification.objectives import Objective, true_answer
from convexdesign.typing import Floats

__all__ = [
    "Instance",
    "experiment_1",
    "experiment_2",
    "multivariate_arms",
    "multivariate_blocks",
    "multivariate_dimension",
    "multivariate_layouts",
    "multivariate_testing",
    "soare",
    "two_spheres",
]

ObjectiveLike = Objective | Literal["best-arm", "level-set"]

# A matrix of layouts above this many numbers (800 MB) is refused; the block generator has no limit.
_MAX_ENTRIES = 10**8


@dataclass(frozen=True, eq=False)
class Instance:
    """A linear bandit whose truth is known: measuring arm x gives x'theta plus noise of variance s_x^2.

    The arrays are read-only.

    Parameters
    ----------
    arms : array, shape (n, d)
        What can be measured.
    items : array, shape (m, d)
        What is asked about.
    theta : array, shape (d,)
        The true coefficients.
    Sigma : array, shape (d, d), or None
        With s_x^2 = x'Sigma x; None where no such matrix exists.
    noise_variance : array, shape (n,)
        Always VARIANCES.
    objective : BestArm or LevelSet
        What is to be found.
    """

    arms: Floats
    items: Floats
    theta: Floats
    Sigma: Floats | None
    noise_variance: Floats
    objective: Objective

    def __post_init__(self) -> None:
        for array in (self.arms, self.items, self.theta, self.Sigma, self.noise_variance):
            if array is not None:
                array.flags.writeable = False

    @property
    def kappa(self) -> float:
        """max s_x^2 / min s_x^2: how unequal the noise is."""
        return float(self.noise_variance.max() / self.noise_variance.min())

    @property
    def answer(self) -> tuple[int, ...]:
        """The items an algorithm should return, as indices in increasing order."""
        return true_answer(self.objective, self.items, self.theta)


def soare(omega: float = 0.5, kappa: float = 20.0, *, objective: ObjectiveLike = "best-arm") -> Instance:
    """Arms = items = e1, e2, (cos omega, sin omega); theta = e1; noise variances (1, kappa, 1).

    Sigma is None: at kappa = 20 no positive semidefinite matrix gives these variances. The level set version has
    threshold .9.

    Parameters
    ----------
    omega : float
        In radians, strictly between 0 and pi/2.
    kappa : float
        The noise variance of the second arm.
    objective : {"best-arm", "level-set"}, BestArm or LevelSet
        What is to be found.

    Returns
    -------
    Instance
        In the plane.

    References
    ----------
    Weltz et al. (2023), section 1.1 and figure 1 (omega = .5, kappa = 20).

    Examples
    --------
    >>> soare().kappa
    20.0
    """
    omega = _angle(omega)
    kappa = positive(kappa, "kappa, a ratio of variances,")
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [np.cos(omega), np.sin(omega)]])
    theta = np.array([1.0, 0.0])
    variance = np.array([1.0, kappa, 1.0])
    return Instance(arms, arms.copy(), theta, None, variance, _objective(objective, 0.9))


def experiment_1(omega: float = 0.02, q: float = 0.4, *, objective: ObjectiveLike = "best-arm") -> Instance:
    """Signal to noise: short informative arms whose noise is short as well; d = 4, Sigma = I, theta = e1.

    The nine arms, in this order: e1, e2, q e3, q e4, e1 cos omega + e_i sin omega (i = 2, 3, 4), .5(e1 + e2) + .1 e3,
    .5(e1 + e2) + .1(e3 + e4). phi of them has rank 9 of 10. The level set version has threshold .95.

    Parameters
    ----------
    omega : float
        In radians, strictly between 0 and pi/2.
    q : float
        The length of the short arms, between 0 and 1.
    objective : {"best-arm", "level-set"}, BestArm or LevelSet
        What is to be found.

    Returns
    -------
    Instance
        In four dimensions.

    References
    ----------
    Weltz et al. (2023), section 5, example 1 (omega = .02, q = .4).

    Examples
    --------
    >>> round(experiment_1().kappa, 2)
    6.25
    """
    omega = _angle(omega)
    if not 0 < real(q) < 1:
        raise InputError(f"q, the length of the short arms, must lie strictly between 0 and 1, got {shown(q)}")
    q = real(q)
    e = np.eye(4)
    bent = [e[0] * np.cos(omega) + e[i] * np.sin(omega) for i in (1, 2, 3)]
    middle = 0.5 * (e[0] + e[1])
    arms = np.array([e[0], e[1], q * e[2], q * e[3], *bent, middle + 0.1 * e[2], middle + 0.1 * (e[2] + e[3])])
    return _with_sigma(arms, e[0].copy(), np.eye(4), _objective(objective, 0.95))


def experiment_2(
    d: int = 3,
    omega: float = 0.02,
    alpha2: float = 1.0,
    beta2: float = 0.2,
    *,
    objective: ObjectiveLike = "best-arm",
) -> Instance:
    """One near-optimal arm and many informative ones of unequal noise; theta = e1.

    Arms, in this order: e1, e1 cos omega + e2 sin omega, e_3 .. e_d, (e_i + e_j)/sqrt 2 for i < j.
    Sigma is diagonal. The level set version has threshold .9.

    Parameters
    ----------
    d : int
        The dimension, at least 3.
    omega : float
        In radians, strictly between 0 and pi/2.
    alpha2 : float
        The variance on the first coordinate and from the fourth on.
    beta2 : float
        The variance on coordinates 2 and 3.
    objective : {"best-arm", "level-set"}, BestArm or LevelSet
        What is to be found.

    Returns
    -------
    Instance
        In d dimensions.

    References
    ----------
    Weltz et al. (2023), section 5, example 2 (d = 3, omega = .02, alpha2 = 1, beta2 = .2).

    Examples
    --------
    >>> experiment_2().arms.shape, round(experiment_2().kappa, 6)
    ((6, 3), 5.0)
    """
    omega = _angle(omega)
    d = whole_at_least(3, d, "d")
    alpha2, beta2 = (
        positive(value, f"{name} is a noise variance and") for name, value in (("alpha2", alpha2), ("beta2", beta2))
    )
    if d * d * (d + 1) // 2 > _MAX_ENTRIES:
        raise InputError(
            f"d = {d} makes {d * (d + 1) // 2} arms of {d} numbers each, too many to hold; choose a smaller d"
        )
    e = np.eye(d)
    bent = e[0] * np.cos(omega) + e[1] * np.sin(omega)
    pairs = [(e[i] + e[j]) / np.sqrt(2) for i, j in combinations(range(d), 2)]
    diagonal = np.full(d, alpha2)
    diagonal[1:3] = beta2
    arms = np.array([e[0], bent, *e[2:], *pairs])
    return _with_sigma(arms, e[0].copy(), np.diag(diagonal), _objective(objective, 0.9))


def multivariate_testing(
    variations: int = 2,
    dimensions: int = 3,
    *,
    theta: ArrayLike | None = None,
    Sigma: ArrayLike | None = None,
    objective: ObjectiveLike = "best-arm",
) -> Instance:
    """Every layout of a page: `dimensions` places, `variations` contents for each, pairs interact.

    Rows as in `multivariate_layouts`; arms = items = all variations**dimensions layouts. The defaults are the paper's.

    Parameters
    ----------
    variations : int
        How many contents there are for each place.
    dimensions : int
        How many places.
    theta : array_like, shape (d,), optional
        By default constant 0 (.005 in the level set version, so that no layout lies on the threshold 0), primary
        effects rising evenly from .01 to .02, and every interaction -.1.
    Sigma : array_like, shape (d, d), optional
        By default diagonal with .3 for the constant, .7 for the first dimension and .001 elsewhere, so that changing
        the first dimension is noisiest.
    objective : {"best-arm", "level-set"}, BestArm or LevelSet
        What is to be found.

    Returns
    -------
    Instance
        All layouts in memory.

    Raises
    ------
    InputError
        Above 10^8 numbers: use `multivariate_arms`.

    References
    ----------
    Weltz et al. (2023), section 5, experiment 3 (two variations, three dimensions: eight arms in R^7).

    Examples
    --------
    >>> multivariate_testing().arms.astype(int)[-1], round(multivariate_testing().kappa, 2)
    (array([1, 1, 1, 1, 1, 1, 1]), 3.35)
    """
    d = multivariate_dimension(variations, dimensions)
    n, primary = _layouts(variations, dimensions), dimensions * (variations - 1)
    if n * d > _MAX_ENTRIES:
        raise InputError(
            f"{variations} variations in {dimensions} dimensions make {n:g} layouts of {d} numbers each; "
            "make them block by block with multivariate_arms"
        )
    goal = _objective(objective, 0.0)
    arms = multivariate_layouts(np.arange(n), variations, dimensions)
    if theta is None:
        constant = 0.005 if isinstance(goal, LevelSet) else 0.0
        theta = np.concatenate([[constant], np.linspace(0.01, 0.02, primary), np.full(d - 1 - primary, -0.1)])
    if Sigma is None:
        Sigma = np.diag([0.3] + [0.7] * (variations - 1) + [1e-3] * (d - variations))
    theta, Sigma = np.array(real_array(theta, "theta")), np.array(real_array(Sigma, "Sigma"))
    if theta.shape != (d,):
        raise InputError(f"theta must have shape ({d},), one effect per column of the layouts, got {theta.shape}")
    if Sigma.shape != (d, d):
        raise InputError(f"Sigma must have shape ({d}, {d}), got {Sigma.shape}")
    return _with_sigma(arms, theta, Sigma, goal)


def multivariate_dimension(variations: int, dimensions: int, *, interactions: bool = True) -> int:
    """d = 1 + m(n-1) + (n-1)^2 m(m-1)/2 for n variations in m dimensions: constant, effects, interactions.

    Parameters
    ----------
    variations : int
        How many contents there are for each place.
    dimensions : int
        How many places.
    interactions : bool
        Whether pairs interact.

    Returns
    -------
    int
        The number of columns of `multivariate_layouts`.

    Examples
    --------
    >>> multivariate_dimension(2, 3), multivariate_dimension(3, 4), multivariate_dimension(4, 10, interactions=False)
    (7, 33, 31)
    """
    levels, places = whole_at_least(2, variations, "variations") - 1, whole_at_least(1, dimensions, "dimensions")
    interactions = flag(interactions, "interactions")
    return 1 + places * levels + (levels**2 * (places * (places - 1) // 2) if interactions else 0)


def multivariate_layouts(indices: ArrayLike, variations: int, dimensions: int, *, interactions: bool = True) -> Floats:
    """The rows of the layouts with these indices, in reference-level coding.

    Layout k writes k in base `variations`, first dimension first: that digit is the variation shown there.
    Columns: 1; an indicator for every dimension and every variation but the first (which is the reference);
    and, with interactions, the products of these indicators for every pair of dimensions.

    Parameters
    ----------
    indices : array_like of int, shape (k,)
        Layouts, counted from 0.
    variations : int
        How many contents there are for each place.
    dimensions : int
        How many places.
    interactions : bool
        Whether pairs interact.

    Returns
    -------
    array, shape (k, d)
        With d = `multivariate_dimension(variations, dimensions, interactions=interactions)`.

    Raises
    ------
    InputError
        For an index of no layout.

    Examples
    --------
    >>> multivariate_layouts([0, 3, 7], 2, 3).astype(int)
    array([[1, 0, 0, 0, 0, 0, 0],
           [1, 0, 1, 1, 0, 0, 1],
           [1, 1, 1, 1, 1, 1, 1]])
    """
    d = multivariate_dimension(variations, dimensions, interactions=interactions)
    k = numeric(indices, "indices")
    variations, dimensions = int(variations), int(dimensions)
    n = _layouts(variations, dimensions)
    if k.ndim != 1 or not np.issubdtype(k.dtype, np.integer):
        raise InputError(f"indices must be a vector of whole numbers, got {k.dtype} of shape {k.shape}")
    if k.size and (k.min() < 0 or k.max() >= n):
        raise InputError(f"layout indices lie in 0 .. {n - 1}, got {k.min()} .. {k.max()}")
    rows = np.zeros((k.size, d))
    rows[:, 0] = 1.0
    levels = variations - 1
    for i in range(dimensions):
        digit = k // variations ** (dimensions - 1 - i) % variations
        other = np.flatnonzero(digit)
        rows[other, i * levels + digit[other]] = 1.0
    if interactions:
        pairs = combinations(range(dimensions), 2)
        main = rows[:, 1 : 1 + dimensions * levels].reshape(k.size, dimensions, levels)
        crossed = rows[:, 1 + dimensions * levels :].reshape(k.size, -1, levels, levels)
        for p, (i, j) in enumerate(pairs):
            np.multiply(main[:, i, :, None], main[:, j, None, :], out=crossed[:, p])
    return rows


def multivariate_blocks(
    variations: int, dimensions: int, block: int = 65_536, *, interactions: bool = True
) -> Iterator[tuple[int, Floats]]:
    """All layouts in pieces.

    Parameters
    ----------
    variations : int
        How many contents there are for each place.
    dimensions : int
        How many places.
    block : int
        The most rows in a piece.
    interactions : bool
        Whether pairs interact.

    Yields
    ------
    tuple
        The index of the first row, and the rows.

    Examples
    --------
    >>> [(start, rows.shape) for start, rows in multivariate_blocks(3, 2, block=5)]
    [(0, (5, 9)), (5, (4, 9))]
    """
    yield from multivariate_arms(variations, dimensions, interactions=interactions, block=block).map(np.asarray)


def multivariate_arms(
    variations: int, dimensions: int, *, interactions: bool = False, block: int | None = None
) -> BlockArms:
    """All layouts as arms that are made block by block and never stored; rows as in `multivariate_layouts`.

    Parameters
    ----------
    variations : int
        How many contents there are for each place.
    dimensions : int
        How many places.
    interactions : bool
        Whether pairs interact. Without, there are only main effects: ten dimensions of four variations make 1,048,576
        layouts in R^31.
    block : int, optional
        The most rows made at once.

    Returns
    -------
    BlockArms
        For a DesignProblem.

    Examples
    --------
    >>> import convexdesign as cd
    >>> design = cd.solve(cd.DesignProblem.g_optimal(multivariate_arms(3, 8)))
    >>> multivariate_arms(3, 8), round(design.value, 4)
    (BlockArms(6561 rows in R^17, at most 30840 at a time), 17.0)
    """
    d = multivariate_dimension(variations, dimensions, interactions=interactions)

    def make(start: int, stop: int) -> Floats:
        return multivariate_layouts(np.arange(start, stop), variations, dimensions, interactions=interactions)

    return BlockArms(_layouts(variations, dimensions), d, make, block=block)


def two_spheres(
    d: int = 15,
    outer: int = 200,
    inner: int = 1800,
    radius: float = 0.1,
    *,
    rng: int | np.random.Generator | None = None,
) -> Instance:
    """Arms uniform on two spheres, first on the unit sphere and then on a smaller one: for variance estimation.

    Sigma = diag(1, .1, 1, .1, ...), theta = (1, ..., 1), arms = items.

    Parameters
    ----------
    d : int
        The dimension.
    outer : int
        How many arms there are on the unit sphere.
    inner : int
        How many on the other.
    radius : float
        Of the other.
    rng : int or numpy.random.Generator, optional
        A seed or a generator.

    Returns
    -------
    Instance
        With outer + inner arms.

    References
    ----------
    Weltz et al. (2023), section 3, figure 2.

    Examples
    --------
    >>> two_spheres(d=3, outer=5, inner=7, rng=0).arms.shape
    (12, 3)
    """
    d, outer, inner = whole_at_least(1, d, "d"), whole_at_least(0, outer, "outer"), whole_at_least(0, inner, "inner")
    if outer + inner == 0:
        raise InputError("outer and inner are both 0: at least one arm is needed")
    radius = positive(radius, "radius")
    if (outer + inner) * d > _MAX_ENTRIES:
        raise InputError(
            f"outer + inner is {shown(outer + inner)}: too many arms of {shown(d)} numbers each; choose fewer"
        )
    gaussian = generator(rng).standard_normal((outer + inner, d))
    arms = gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True)
    arms[outer:] *= radius
    return _with_sigma(arms, np.ones(d), np.diag(np.where(np.arange(d) % 2, 0.1, 1.0)), BestArm())


def _with_sigma(arms: Floats, theta: Floats, Sigma: Floats, objective: Objective) -> Instance:
    variance = np.einsum("ij,jk,ik->i", arms, Sigma, arms)
    if variance.min() <= 0:
        i = int(variance.argmin())
        raise InputError(f"Sigma gives arm {i} the noise variance {variance[i]:g}; it must be positive")
    return Instance(arms, arms.copy(), theta, Sigma, variance, objective)


def _objective(objective: ObjectiveLike, default_threshold: float) -> Objective:
    if isinstance(objective, BestArm | LevelSet):
        return objective
    if isinstance(objective, str) and objective == "best-arm":
        return BestArm()
    if isinstance(objective, str) and objective == "level-set":
        return LevelSet(default_threshold)
    raise InputError(
        f"objective must be 'best-arm', 'level-set', BestArm() or LevelSet(threshold), got {shown(objective)}"
    )


def _layouts(variations: int, dimensions: int) -> int:
    """variations^dimensions, which an index of 64 bits must be able to count."""
    if real(dimensions) * np.log2(real(variations)) >= 63:
        raise InputError(
            f"{shown(variations)} variations in {shown(dimensions)} dimensions make more than 2^63 layouts"
        )
    return int(variations) ** int(dimensions)


def _angle(omega: float) -> float:
    if not 0 < real(omega) < np.pi / 2:
        raise InputError(f"omega is an angle in radians strictly between 0 and pi/2, got {shown(omega)}")
    return real(omega)
