"""Problems as ugly as users' data: one generator, seeded, that every solver faces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign import DesignProblem


@dataclass(frozen=True)
class Case:
    """A problem with the raw data it was made of, for independent recomputation."""

    name: str
    problem: DesignProblem
    arms: np.ndarray
    variance: np.ndarray
    targets: np.ndarray


def adversarial(seed: int) -> Case:
    """A random problem: the seed chooses arms, targets and noise among degenerate and badly scaled families."""
    rng = np.random.default_rng([20231101, seed])
    family = FAMILIES[seed % len(FAMILIES)]
    arms = family(rng)
    n, d = arms.shape
    variance = np.ones(n)
    noise = rng.integers(4)
    if noise == 1:
        variance = rng.uniform(0.5, 2.0, n)
    elif noise == 2:
        variance = 10.0 ** rng.uniform(-4, 4, n)
    elif noise == 3:
        variance = np.full(n, 10.0 ** rng.uniform(-3, 3))
    if rng.random() < 0.25:
        arms = arms * 10.0 ** rng.uniform(-6, 6, d)
    kind = rng.integers(5)
    if kind == 0 or n < 2:
        return Case(
            f"{family.__name__}/g", DesignProblem.g_optimal(arms, noise_variance=variance), arms, variance, arms
        )
    if kind == 1:
        i, j = np.triu_indices(n, 1)
        targets = arms[i] - arms[j]
        if not np.abs(targets).max() > 1e-9 * np.abs(arms).max():
            targets, problem = arms, DesignProblem.level_set_allocation(arms, noise_variance=variance)
        else:
            problem = DesignProblem.xy_allocation(arms, noise_variance=variance)
        return Case(f"{family.__name__}/xy", problem, arms, variance, targets)
    if kind == 2:
        mix = rng.standard_normal((rng.integers(1, 6), n)) * (rng.random(n) < 0.4)
        mix[:, 0] += 1.0
        targets = mix @ arms
        name, problem = "general", DesignProblem(arms, targets, noise_variance=variance)
    elif kind == 3:
        targets = (rng.standard_normal(n) @ arms)[None, :]
        name, problem = "c", DesignProblem.c_optimal(arms, targets[0], noise_variance=variance)
    else:
        gaps = 10.0 ** rng.uniform(-6, 0, n)
        targets = arms / gaps[:, None]
        name, problem = "gaps", DesignProblem(arms, targets, noise_variance=variance)
    return Case(f"{family.__name__}/{name}", problem, arms, variance, targets)


def adversarial_groups(seed: int) -> Case:
    """The same for arms with two or three responses: rows of the families in groups, their noise alike, apart or correlated.

    arms (n, d, r), filled up by zero columns; variance: covariances (n, r, r).
    """
    rng = np.random.default_rng([20240704, seed])
    family = FAMILIES[seed % len(FAMILIES)]
    rows = family(rng)
    r, d = int(rng.integers(2, 4)), rows.shape[1]
    rows = np.vstack([rows, np.zeros((-len(rows) % r, d))])
    arms = rows[rng.permutation(len(rows))].reshape(-1, r, d).transpose(0, 2, 1)
    n = len(arms)
    if rng.random() < 0.25:
        arms = arms * 10.0 ** rng.uniform(-6, 6, d)[:, None]
    deviation = 10.0 ** (rng.uniform(-2, 2, (n, r)) if rng.random() < 0.5 else np.zeros((n, r)))
    noise = rng.integers(3)
    correlation = np.tile(np.eye(r), (n, 1, 1))
    if noise == 1:
        correlation = np.full((n, r, r), rng.choice([0.5, 0.99, 0.99999, -0.4])) + 0.0
        correlation[:, range(r), range(r)] = 1.0
    elif noise == 2:
        B = rng.standard_normal((n, r, r + 1))
        S = B @ B.transpose(0, 2, 1)
        size = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
        correlation = S / (size[:, :, None] * size[:, None, :])
    covariance = correlation * deviation[:, :, None] * deviation[:, None, :]
    covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
    columns = arms.transpose(0, 2, 1).reshape(-1, d)
    columns = columns[np.abs(columns).max(axis=1) > 0]
    name, kind = f"{family.__name__} in groups of {r}", rng.integers(4)
    if kind == 0:
        problem, targets = DesignProblem.g_optimal(arms, noise_variance=covariance), columns
    elif kind == 1:
        targets = (rng.standard_normal(len(columns)) @ columns)[None, :]
        problem = DesignProblem.c_optimal(arms, targets[0], noise_variance=covariance)
    elif kind == 2 and len(columns) > 2 and np.ptp(columns, axis=0).max() > 1e-9 * np.abs(columns).max():
        i, j = np.triu_indices(len(columns), 1)
        problem, targets = (
            DesignProblem.xy_allocation(arms, columns, noise_variance=covariance),
            columns[i] - columns[j],
        )
    else:
        mix = rng.standard_normal((rng.integers(1, 6), len(columns))) * (rng.random(len(columns)) < 0.4)
        mix[:, 0] += 1.0
        targets = mix @ columns
        problem = DesignProblem(arms, targets, noise_variance=covariance)
    return Case(name, problem, arms, covariance, targets)


def gaussian(rng):
    return rng.standard_normal((rng.integers(2, 40), rng.integers(1, 8)))


def sphere(rng):
    X = rng.standard_normal((rng.integers(5, 40), rng.integers(2, 7)))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def near_collinear(rng):
    d = rng.integers(2, 5)
    base = rng.standard_normal(d)
    return base + 10.0 ** rng.uniform(-5, -1) * rng.standard_normal((rng.integers(d + 1, 20), d))


def duplicates(rng):
    X = rng.standard_normal((rng.integers(2, 8), rng.integers(1, 5)))
    return np.repeat(X, 5, axis=0)[rng.permutation(5 * len(X))]


def proportional(rng):
    X = rng.standard_normal((rng.integers(2, 8), rng.integers(2, 5)))
    return np.vstack([X, X * rng.uniform(-2, 2, (len(X), 1)), 0.5 * X])


def wide(rng):
    n = rng.integers(1, 6)
    return rng.standard_normal((n, n + rng.integers(1, 5)))


def one_arm(rng):
    return rng.standard_normal((1, rng.integers(1, 4)))


def low_rank(rng):
    r, d = rng.integers(1, 4), rng.integers(4, 8)
    return rng.standard_normal((rng.integers(r, 30), r)) @ rng.standard_normal((r, d))


def lattice(rng):
    d = rng.integers(2, 5)
    X = rng.integers(-1, 2, (rng.integers(4, 30), d)).astype(float)
    X[0] = 1.0
    return X


def few_directions(rng):
    """The optimum is often singular: a target is measured best along one arm."""
    d = rng.integers(2, 6)
    return np.vstack(
        [np.eye(d), np.eye(d)[:1] * 1e-3 + np.eye(d)[1:2], rng.standard_normal((rng.integers(0, 6), d)) * 0.1]
    )


def polynomial(rng):
    x = np.linspace(-1, 1, rng.integers(5, 40))
    return np.vander(x, rng.integers(2, 7), increasing=True)


def sizes(rng):
    X = rng.standard_normal((rng.integers(4, 30), rng.integers(2, 6)))
    return X * 10.0 ** rng.uniform(-3, 3, (len(X), 1))


FAMILIES = (
    gaussian,
    sphere,
    near_collinear,
    duplicates,
    proportional,
    wide,
    one_arm,
    low_rank,
    lattice,
    few_directions,
    polynomial,
    sizes,
)
