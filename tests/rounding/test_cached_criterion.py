"""A criterion with a memory has exactly the values of the one it remembers, with far fewer passes."""

from __future__ import annotations

import numpy as np
import pytest

from convexdesign.rounding import MatrixTargets, Minimax
from convexdesign.rounding.cached_criterion import CachedCriterion


class Counting(MatrixTargets):
    passes = 0

    def worst(self, F, k):
        Counting.passes += 1
        return super().worst(F, k)


@pytest.mark.parametrize("step", [0.01, 1.0])
def test_same_values_along_a_walk(step):
    rng = np.random.default_rng(0)
    T = rng.standard_normal((20_000, 4))
    plain = Minimax(MatrixTargets(T))
    Counting.passes = 0
    remembering = CachedCriterion(Minimax(Counting(T)))
    M = np.eye(4)
    for _ in range(60):
        u = rng.standard_normal(4)
        M = M + step * np.outer(u, u)
        assert remembering.value(M) == pytest.approx(plain.value(M), rel=1e-12)
    assert remembering.value(np.zeros((4, 4))) == np.inf
    if step < 0.1:
        assert Counting.passes <= 20


def test_swaps_see_a_target_that_has_just_become_the_worst():
    rng = np.random.default_rng(1)
    T = np.vstack([np.tile([1.0, 0.0], (600, 1)), [[0.0, 0.9]]])
    criterion = CachedCriterion(Minimax(MatrixTargets(T)))
    assert criterion.value(np.eye(2)) == pytest.approx(1.0)
    M = np.diag([10.0, 1.0])
    assert criterion.value(M) == pytest.approx(0.81)
    arms = rng.standard_normal((3, 2)) / 4
    phi = criterion.swaps(np.diag([10.0**-0.5, 1.0]), arms, arms)
    direct = Minimax(MatrixTargets(T)).value(M - np.outer(arms[0], arms[0]) + np.outer(arms[1], arms[1]))
    assert phi[0, 1] == pytest.approx(direct)
