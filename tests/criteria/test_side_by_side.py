"""Plans that descend side by side are plans that descend: no run of any of them can go anywhere better."""

import numpy as np
import pytest

from convexdesign.criteria.average import AverageVariance
from convexdesign.criteria.log_det import Volume

RNG = np.random.default_rng(5)
ARMS = RNG.normal(size=(25, 4))
PRIOR = 1e-6 * np.eye(4)
RUNS = RNG.integers(0, 25, (30, 6))


def value(criterion, runs):
    return criterion.value(ARMS[runs].T @ ARMS[runs] + PRIOR)


@pytest.mark.parametrize("s", [4, 2, 1])
def test_no_single_run_can_go_anywhere_better(s):
    criterion = Volume(np.linalg.qr(RNG.normal(size=(4, s)))[0])
    found = criterion.side_by_side(ARMS, RUNS, PRIOR)
    assert found.shape == RUNS.shape
    for before, runs in zip(RUNS, found):
        own = value(criterion, runs)
        assert own <= value(criterion, before) * (1 + 1e-9)
        for k in range(6):
            for arm in range(25):
                moved = runs.copy()
                moved[k] = arm
                assert value(criterion, moved) >= own * (1 - 1e-6)


def test_other_criteria_have_no_such_way():
    assert AverageVariance(np.eye(4)).side_by_side(ARMS, RUNS, PRIOR) is None
