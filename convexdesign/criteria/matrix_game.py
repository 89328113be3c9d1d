"""The matrix game between arms and targets: a mix of arms that helps all of several targets, and the targets' multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import squared_projections
from convexdesign.arms.source import Arms, largest
from convexdesign.errors import SolverError
from convexdesign.typing import Floats, Indices

__all__ = ["MixedStrategies", "matrix_game"]


# Arms added at a time, how often at most, and the relative violation that is worth another round.
BATCH = 20
MOST_ROUNDS = 40
PRECISION = 1e-10


@dataclass(frozen=True, eq=False)
class MixedStrategies:
    """A mix z of arms (indices and proportions, sum 1) and multipliers mu >= 0 of the targets, each a proof for the other."""

    arms: Indices
    proportions: Floats
    multipliers: Floats


def matrix_game(
    arms: Arms, vectors: Floats, held: Floats, wanted: Floats, excluded: NDArray[np.bool_]
) -> MixedStrategies:
    """max over mixes z of min_j (sum_i z_i (b_j'y_i)^2 + p_j) / c_j, = min over mu, mu'c = 1, of max_i sum_j mu_j (...).

    vectors b_j (d, m); held p (m,) >= 0; wanted c (m,) > 0; excluded (n,): arms that must not be used. A linear program over
    a few arms, to which all arms are compared and the best added until none is better.
    """
    from scipy.optimize import linprog

    m = held.size
    uniform = 1.0 / (m * wanted)
    chosen = _best(arms, vectors, uniform, excluded)[0]
    for _ in range(MOST_ROUNDS):
        each = squared_projections(arms.take(chosen), vectors, arms.responses) + held
        size = float((each / wanted).max()) or 1.0
        k = chosen.size
        result = linprog(
            np.append(np.zeros(k), -1.0),
            A_ub=np.hstack([-(each / wanted / size).T, np.ones((m, 1))]),
            b_ub=np.zeros(m),
            A_eq=np.append(np.ones(k), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0.0, None)] * k + [(None, None)],
        )
        if result.status != 0:
            raise SolverError(f"the linear program that balances {m} targets failed: {result.message}")
        z = np.maximum(result.x[:k], 0.0)
        mu = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
        mu /= mu.sum()
        best, values = _best(arms, vectors, mu / wanted, excluded)
        reached = size * float(result.x[k])
        new = best[(values + float(mu @ (held / wanted)) > reached * (1.0 + PRECISION)) & ~np.isin(best, chosen)]
        if new.size == 0:
            break
        chosen = np.append(chosen, new)
    used = z > 1e-9 * z.max()
    return MixedStrategies(chosen[used], z[used] / z[used].sum(), mu / wanted)


def _best(arms: Arms, vectors: Floats, multipliers: Floats, excluded: NDArray[np.bool_]) -> tuple[Indices, Floats]:
    """The arms with the largest sum_j mu_j (b_j'y_i)^2, and these sums."""
    keep = multipliers > 0
    values = arms.quadratic(vectors[:, keep] * np.sqrt(multipliers[keep]))
    values[excluded] = -np.inf
    return largest(values, min(BATCH, values.size))
