"""Tables of swaps: every neighbour of every design on the way is what the criterion says of its own information."""

from __future__ import annotations

import numpy as np
import pytest

from convexdesign.criteria.swap_tables import swap_table
from convexdesign.rounding import AverageVariance, MatrixTargets, Minimax, Volume

RNG = np.random.default_rng(4)
ARMS = RNG.standard_normal((9, 4))
ROOT = RNG.standard_normal((4, 4))
CRITERIA = {
    "D": Volume(np.eye(4)),
    "D_s": Volume(ROOT[:, :2]),
    "A": AverageVariance(ROOT @ ROOT.T),
    "minimax": Minimax(MatrixTargets(ARMS)),
}


@pytest.mark.parametrize("held", [None, np.eye(4)], ids=["nothing held", "information held"])
@pytest.mark.parametrize("name", CRITERIA)
def test_swaps_are_the_criterion_of_the_neighbours(name, held):
    criterion = CRITERIA[name]
    counts = np.array([2, 1, 1, 0, 3, 1, 0, 0, 1])
    table = swap_table(ARMS, counts, criterion, held)
    for o, i in ((0, 3), (4, 6), (1, 7), (5, 1)):
        out, into = np.flatnonzero(counts), np.arange(9)
        phi = table.swaps(out, into)
        for a, arm in enumerate(out):
            for b in into:
                changed = counts.copy()
                changed[arm] -= 1
                changed[b] += 1
                M = (ARMS.T * changed) @ ARMS + (0 if held is None else held)
                value = criterion.value(M)
                assert phi[a, b] == pytest.approx(value, rel=1e-8)
        table.move(o, i)
        counts[o] -= 1
        counts[i] += 1
    assert table.value == pytest.approx(
        criterion.value((ARMS.T * counts) @ ARMS + (0 if held is None else held)), rel=1e-9
    )


def test_singular_designs_have_no_table():
    assert swap_table(ARMS, np.eye(9, dtype=int)[0], CRITERIA["D"]) is None
